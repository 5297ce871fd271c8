"""Failures that print nothing, found in records of the shape that real runs write, at three strengths each."""

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hackathon.config.load import load_recipe
from hackathon.config.rule_files import load_rule_file
from hackathon.diagnosis import facts
from hackathon.diagnosis.checks import find_check
from hackathon.diagnosis.facts import FactHit, RunFacts
from hackathon.diagnosis.silent import training
from hackathon.scaling import cluster_measurements as measured
from hackathon.text.files import write_json
from hackathon.text.messages import speaking
from support.paths import ROOT
from support.recorded_run import RecordedRun as Run
from support.recorded_run import T

RULES = {rule.id: rule for rule in load_rule_file(ROOT / "templates/rules/silent.yaml")}


def found(run: Run) -> dict[str, FactHit]:
    """Return rule → its first hit, for all rules of silent failures."""
    hits = {}
    for rule in RULES.values():
        check = find_check(rule.fact)
        assert check is not None, rule.fact
        for hit in check(RunFacts(run.path), rule.thresholds)[:1]:
            hits[rule.id] = hit
            _texts(rule.id, run, hit)
    return hits


def _texts(rule_id: str, run: Run, hit: FactHit) -> None:
    """All texts of a finding must be complete in both languages."""
    rule = RULES[rule_id]
    values = RunFacts(run.path).numbers | hit.values
    for text in (rule.title, rule.advice, *(cause.text for cause in rule.causes)):
        assert isinstance(text, dict)
        assert len({each.format(**values) for each in text.values()}) == 2
    if hit.evidence is not None:
        assert (run.path / hit.evidence.file).exists()
        if hit.evidence.line is not None:
            line = (run.path / hit.evidence.file).read_text().splitlines()[hit.evidence.line - 1]
            assert line.strip()[:500] == hit.evidence.text


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Run]:
    def make(processes: int = 2, **options: Any) -> Run:
        return Run(tmp_path / f"runs/20261121-185440-own-{processes}p-abcdefgh", processes, **options)

    return make


def falling(count: int = 18, seed: int = 1) -> list[float]:
    noise = random.Random(seed)
    return [2.3 * math.exp(-0.15 * at) * (1 + 0.1 * noise.random()) + 0.05 for at in range(count)]


Make = Callable[..., Run]


# ---- nothing wrong ----
@pytest.mark.parametrize("processes", [1, 2, 4])
def test_healthy_run_gives_nothing(make: Make, processes: int) -> None:
    run = make(processes)
    for rank in range(processes):
        run.saw(rank, f"{rank}a", f"{rank}b", f"{rank}c", f"{rank}d")
        run.meter(rank, falling(seed=rank), device="cpu")
        run.final(rank, accuracy=0.98)
    assert found(run) == {}


def test_run_without_records_gives_nothing(make: Make) -> None:
    assert found(make(2)) == {}


WORDS = st.sampled_from(["", "NaN", "x", "cpu", "1e3"])
ODD = st.none() | st.booleans() | st.integers(-3, 10**12) | st.floats() | WORDS
ODD_OR_MORE = ODD | st.lists(ODD, max_size=3) | st.dictionaries(st.sampled_from(["metric", "at_least", "lr"]), ODD)
KEYS = [
    "t", "step", "seconds", "samples", "samples_per_s", "loss", "device", "data", "final", "warmup", "gap", "lr",
    "gradient_bytes", "accuracy", "data_share", "communication_share",
]  # fmt: skip
FIELDS = ["processes", "nodes", "cluster", "recipe", "check", "study", "parameters", "metrics", "metric", "origins"]


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    request=st.dictionaries(st.sampled_from(FIELDS), ODD_OR_MORE),
    lines=st.lists(st.dictionaries(st.sampled_from(KEYS), ODD_OR_MORE, max_size=8), max_size=12),
    environment=st.dictionaries(st.sampled_from(["gpus", "packages", "interfaces"]), ODD_OR_MORE),
    row=st.lists(st.sampled_from(["", "gpu", "0", "1", "x", "97", "9000", "-1"]), max_size=8),
)
def test_records_of_any_shape_do_no_harm(
    request: dict[str, Any], lines: list[dict[str, Any]], environment: dict[str, Any], row: list[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    run = Run(tmp_path_factory.mktemp("odd") / "run", 2)
    record = json.loads((run.path / "request.json").read_text())
    (run.path / "request.json").write_text(json.dumps(record | request))
    for rank in range(2):
        run.add(f"metrics/rank-{rank}.jsonl", *lines)
    (run.path / "env/n1.json").write_text(json.dumps(environment))
    (run.path / "telemetry/n1.csv").write_text("t,kind,index,utilisation_percent,memory_mib\n" + ",".join(row) + "\n")
    for rule in RULES.values():
        check = find_check(rule.fact)
        assert check is not None
        assert isinstance(check(RunFacts(run.path), rule.thresholds), list)


def test_of_a_long_training_both_ends_are_held(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make(1)
    run.meter(0, [2.0 - at / 2000 for at in range(2000)] + [math.nan] * 5)
    monkeypatch.setattr(facts, "METRICS", 1 << 20)
    held = RunFacts(run.path).metrics[0]
    assert 500 < len(held) < 700
    assert (held[0]["step"], held[-1]["step"]) == (10, 10 + 25 * 2005)
    assert sum("gap" in line for line in held) == 1
    split = training.split(RunFacts(run.path), 0)
    assert split.steps == 25 * round(split.seconds)  # the hole counts nowhere
    hit = found(run)["silent-nan-loss"]
    assert hit.evidence is not None and hit.evidence.line == 2002
    assert hit.values["of"] == "5"


# ---- every rank reads the same data ----
@pytest.mark.parametrize(
    ("beginnings", "expected"),
    [
        ("aaaa", (0, 1, 2, 3)),  # nobody has a share
        ("abab", (0, 2)),  # shares by the local rank, on two nodes
        ("abcb", None),  # two of four: too little to say so
        ("abcd", None),
    ],
)
def test_same_data(make: Make, beginnings: str, expected: tuple[int, ...] | None) -> None:
    run = make(4)
    for rank, letter in enumerate(beginnings):
        run.saw(rank, *(f"{letter}{number}" for number in range(4)))
        run.meter(rank, falling(seed=rank))
    hit = found(run).get("silent-same-data")
    assert (hit.ranks if hit else None) == expected
    assert set(found(run)) <= {"silent-same-data"}


def test_one_batch_again_and_again_is_a_measurement(make: Make) -> None:
    run = make(2)
    for rank in range(2):
        run.saw(rank, "a", "a", "a", "a")
    assert found(run) == {}


OWN = "import torch\nloss = model(batch)\nprint('epoch', epoch, 'loss', loss.item())\n"


@pytest.mark.parametrize(
    ("others", "program", "expected"),
    [
        ("2.3026 1.9011 1.4242 0.8127 0.5514 0.3301", OWN, True),
        ("2.3026 1.9011 1.4242 0.8127", OWN, True),
        ("2.3026 1.9011 1.4242", OWN, False),  # too few to say so
        ("2.3026 1.9011 1.4242 0.8127 0.5514 0.3302", OWN, False),
        ("2.3026 1.9011 1.4242 0.8127 0.5514 0.3301", OWN + "dist.all_reduce(loss)\n", False),
        ("2.3 1.9 1.4 0.8 0.5 0.3", OWN, False),  # two digits agree by chance
        ("2.3026 1.9011 1.4242 0.8127 0.5514 0.3301", "", False),  # no program to look at
    ],
)
def test_same_loss_of_a_program_without_meter(make: Make, others: str, program: str, expected: bool) -> None:
    run = make(2)
    if program:
        run.program(program)
    first = others[:-1] + "1" if others.endswith("0.3302") else others
    run.log(0, *(f"epoch {epoch} loss {value}" for epoch, value in enumerate(first.split())))
    run.log(1, *(f"epoch {epoch} loss {value}" for epoch, value in enumerate(others.split())))
    assert ("silent-same-loss" in found(run)) == expected


def test_same_test_loss_is_healthy(make: Make) -> None:
    run = make(2)
    run.program(OWN)
    for rank in range(2):
        tested = (2.3026, 1.9011, 1.4242, 0.8127, 0.5514)
        run.log(rank, *(f"epoch {epoch}: Test set: Average loss: {value}" for epoch, value in enumerate(tested)))
    assert found(run) == {}


# ---- the loss ----
NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        ([NAN] * 12, True),
        ([INF, NAN], True),
        ([NAN], False),  # the last one alone may be the start of a recovery, as with loss scaling
        ([INF, 0.4, 0.3], False),
    ],
)
@pytest.mark.parametrize("metered", [True, False])
def test_nan_loss(make: Make, tail: list[float], expected: bool, metered: bool) -> None:
    run = make(2)
    if metered:
        run.meter(0, falling())
        run.meter(1, falling()[:6] + tail)
    else:
        run.log(0, *(f"step {n}: loss={value:.4f}" for n, value in enumerate(falling())))
        run.log(1, *(f"step {n}: loss={value:.4f}" for n, value in enumerate(falling()[:6] + tail)))
    hits = found(run)
    assert set(hits) == ({"silent-nan-loss"} if expected else set())
    if expected:
        hit = hits["silent-nan-loss"]
        assert hit.ranks == (1,) and hit.evidence is not None
        # the warm-up's line is the first of the Meter's file, and its loss is the same as the next one's
        assert hit.evidence.line == (8 if metered else 7)
        assert hit.values["before"].startswith("1.") and hit.values["last_good"].startswith(" (before: 1.")
        assert hit.values["at_step"] == (f" at step {hit.values['step']}" if metered else "")


def test_nan_at_the_end_of_a_long_log(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make(1)
    monkeypatch.setattr(training, "LOGS", 1 << 20)
    run.log(
        0, *(f"step {n}: loss={1 / n:.4f}" for n in range(1, 20000)), "step 20000: loss=nan", "step 20001: loss=nan"
    )
    hit = found(run)["silent-nan-loss"]
    assert hit.evidence is not None
    assert (hit.evidence.text, hit.evidence.line) == ("step 20000: loss=nan", None)


def flat(count: int, noise: float, drift: float, value: float = 2.3026) -> list[float]:
    rolls = random.Random(2)
    values = [value * (1 + rolls.gauss(0, noise)) for _ in range(count)]
    return [each * (1 - drift * at / count) for at, each in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (flat(20, 0, 0), True),
        (flat(20, 0.004, 0.001), True),
        (flat(20, 0.004, 0.03), False),  # it falls, slowly
        (flat(20, 0.05, 0), False),  # it has been learned, and batches differ
        (flat(6, 0, 0), False),  # too short
    ],
)
def test_flat_loss(make: Make, values: list[float], expected: bool) -> None:
    run = make(1)
    run.meter(0, values)
    assert ("silent-flat-loss" in found(run)) == expected


def test_flat_loss_that_goes_on_with_a_checkpoint_is_not_judged(make: Make) -> None:
    run = make(1)
    run.meter(0, flat(20, 0.004, 0), first_step=5000)
    assert found(run) == {}


def test_flat_loss_with_a_fulfilled_check_is_fine(make: Make) -> None:
    run = make(1, check={"metric": "accuracy", "at_least": 0.9, "at_most": None})
    run.meter(0, flat(20, 0.004, 0))
    assert "silent-flat-loss" in found(run)
    run.final(accuracy=0.95)
    assert found(run) == {}


def test_a_loss_that_falls_by_more_than_its_error_is_not_flat(make: Make) -> None:
    """A thousand classes from scratch: the loss falls by half a percent, and clearly."""
    noise = random.Random(7)
    run = make(1)
    run.log(0, *(f"step {n} loss {6.93 - 0.0003 * n + noise.gauss(0, 0.01):.4f}" for n in range(150)))
    assert "silent-flat-loss" not in found(run)


@pytest.mark.parametrize(("count", "expected"), [(120, True), (100, True), (99, False)])
def test_flat_loss_in_a_log(make: Make, count: int, expected: bool) -> None:
    run = make(1)
    run.log(0, *(f"Epoch {n}, train loss: {value:.5f}" for n, value in enumerate(flat(count, 0.003, 0))))
    assert ("silent-flat-loss" in found(run)) == expected


# ---- waiting for data ----
@pytest.mark.parametrize(
    ("share", "seconds", "expected"),
    [(0.9, 1.0, True), (0.35, 1.0, True), (0.25, 1.0, False), (0.9, 0.1, False)],
)
def test_starved(make: Make, share: float, seconds: float, expected: bool) -> None:
    run = make(2)
    run.meter(0, falling(), shares={"data": 0.02, "communication": 0.5, "compute": 0.48}, seconds=seconds)
    run.meter(1, falling(seed=2), shares={"data": share, "compute": 1 - share}, seconds=seconds)
    hits = found(run)
    assert set(hits) == ({"silent-starved"} if expected else set())
    if expected:
        assert hits["silent-starved"].ranks == (1,)
        assert hits["silent-starved"].values["share"] == f"{100 * share:.0f}"


@pytest.mark.parametrize(
    ("busy", "looks", "expected"), [(4, 40, True), (22, 20, True), (35, 40, False), (4, 12, False)]
)
def test_idle_gpu_of_a_program_without_meter(make: Make, busy: int, looks: int, expected: bool) -> None:
    run = make(1)
    run.gpus("n1", [[(100, 10)]] + [[(busy, 9000)]] * looks)
    assert set(found(run)) == ({"silent-idle-gpu"} if expected else set())


# ---- GPUs ----
@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        ([(97, 30000), (0, 4), (0, 4), (0, 4)], "1"),
        ([(97, 9000), (88, 9000), (0, 4), (0, 4)], "2"),
        ([(97, 9000), (97, 9000), (88, 9000), (0, 4)], None),
        ([(97, 9000), (0, 700), (0, 4), (0, 4)], None),  # neither idle nor at work: somebody's, or a context
        ([(97, 9000), (90, 9000), (91, 9000), (93, 9000)], None),
    ],
)
def test_all_ranks_on_one_gpu_by_telemetry(make: Make, gpus: list[tuple[int, int]], expected: str | None) -> None:
    run = make(4)
    run.gpus("n1", [gpus] * 5)
    hit = found(run).get("silent-shared-gpu")
    assert (hit.values["used"] if hit else None) == expected


def test_one_gpu_in_two_looks_is_too_short_to_say_so(make: Make) -> None:
    run = make(4)
    run.gpus("n1", [[(97, 30000), (0, 4)]] * 2)
    assert found(run) == {}


@pytest.mark.parametrize(("uuids", "expected"), [("aaaa", "1"), ("abab", "2"), ("abca", None), ("abcd", None)])
def test_all_ranks_on_one_gpu_by_its_own_number(make: Make, uuids: str, expected: str | None) -> None:
    run = make(4)
    run.environment("n1", gpus=["NVIDIA H100, 560.1, 81559 MiB"] * 4)
    for rank, letter in enumerate(uuids):
        # each rank may see one GPU only, which is its number 0 then
        run.meter(rank, falling(seed=rank), device=f"cuda:0 {letter}1b0c-77")
    hit = found(run).get("silent-shared-gpu")
    assert (hit.values["used"] if hit else None) == expected


def test_one_gpu_for_all_that_has_no_other_is_fine(make: Make) -> None:
    run = make(2)
    run.environment("n1", gpus=["NVIDIA H100, 560.1, 81559 MiB"])
    for rank in range(2):
        run.meter(rank, falling(seed=rank), device="cuda:0 a1b0c-77")
    assert found(run) == {}


@pytest.mark.parametrize(
    ("device", "package", "looks", "rows", "expected"),
    [
        ("cpu", "2.13.0+cpu", 0, [], True),
        ("cpu", "2.13.0+cu126", 3, [(0, 4), (0, 4)], True),
        ("", "2.13.0+cu126", 6, [(0, 4), (0, 4)], True),
        ("cpu", "2.13.0+cu126", 2, [(0, 4), (0, 4)], False),
        ("", "2.13.0+cu126", 5, [(0, 4), (0, 4)], False),
        ("cpu", "2.13.0+cu126", 9, [(0, 4), (3, 900)], False),  # the loss was fetched from a GPU
        ("cuda:1", "2.13.0+cu126", 9, [(0, 4), (0, 4)], False),
        ("/job:worker/replica:0/task:0/device:CPU:0", "", 3, [(0, 4)], True),
        ("/job:worker/replica:0/task:0/device:GPU:0", "", 3, [(0, 4)], False),
    ],
)
def test_on_cpu(make: Make, device: str, package: str, looks: int, rows: list[tuple[int, int]], expected: bool) -> None:
    run = make(1)
    run.environment("n1", gpus=["NVIDIA H100, 560.1, 81559 MiB"] * 2, packages={"torch": package} if package else {})
    run.meter(0, falling(), **({"device": device} if device else {}))
    if looks:
        run.gpus("n1", [rows] * looks)
    assert set(found(run)) == ({"silent-on-cpu"} if expected else set())


def test_on_cpu_where_there_is_no_gpu_is_fine(make: Make) -> None:
    run = make(1)
    run.environment("n1", packages={"torch": "2.13.0+cpu"})
    run.meter(0, falling(), device="cpu")
    assert found(run) == {}


# ---- the network ----
INIT = "n1:2011:2088 [0] NCCL INFO "
BY_SOCKETS = [
    INIT + "Bootstrap : Using ib0:10.0.0.1<0>", INIT + "NET/IB : No device found.",
    INIT + "NET/Socket : Using [0]ib0:10.0.0.1<0>", INIT + "Using network Socket",
]  # fmt: skip
BY_INFINIBAND = [
    INIT + "NET/Plugin: Using internal network plugin.",
    INIT + "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB ib0:10.0.0.1<0>", INIT + "Using network IB",
]  # fmt: skip


@pytest.mark.parametrize(
    ("cluster", "interfaces", "log", "expected"),
    [
        ("reedbush-h", ["lo"], BY_SOCKETS, True),
        ("laptop", ["lo", "eth0", "ib0"], [INIT + "Channel 00/0 : 1[0] -> 0[0] [send] via NET/Socket/0"], True),
        ("laptop", ["lo", "eth0", "mlx5_0"], BY_SOCKETS, False),  # the adapter may be one of Ethernet
        ("reedbush-h", ["ib0"], BY_INFINIBAND, False),
        ("reedbush-h", ["ib0"], [*BY_SOCKETS, *BY_INFINIBAND], False),
        ("reedbush-h", ["ib0"], ["no word of NCCL, but of NET/Socket : Using"], False),
    ],
)
def test_sockets(make: Make, cluster: str, interfaces: list[str], log: list[str], expected: bool) -> None:
    run = make(2, hosts=("n1", "n2"), cluster=cluster)
    run.environment("n1", interfaces=interfaces)
    run.log(0, "training begins")
    run.log(1, *log)
    hits = found(run)
    assert set(hits) == ({"silent-sockets"} if expected else set())


def test_sockets_inside_one_node_are_no_failure(make: Make) -> None:
    run = make(2, cluster="reedbush-h")
    run.log(0, *BY_SOCKETS)
    assert found(run) == {}


# ---- nodes and all-reduces ----
@pytest.mark.parametrize(
    ("compute", "seconds", "expected"), [(0.95, 2.0, True), (0.65, 2.0, True), (0.5, 2.0, False), (0.95, 0.5, False)]
)
def test_slow_node(make: Make, compute: float, seconds: float, expected: bool) -> None:
    run = make(6, hosts=("n1", "n2", "n3"))
    for rank in range(6):
        share = compute if rank in (2, 3) else 0.4
        run.meter(rank, falling(seed=rank), seconds=seconds, shares={"compute": share, "communication": 1 - share})
    hits = found(run)
    assert set(hits) == ({"silent-slow-node"} if expected else set())
    if expected:
        assert hits["silent-slow-node"].ranks == (2, 3)
        assert hits["silent-slow-node"].values["host"] == "n2"
        assert float(hits["silent-slow-node"].values["ratio"]) == pytest.approx(compute / 0.4, abs=0.1)


def test_nodes_that_are_slow_in_turn_are_healthy(make: Make) -> None:
    run = make(2, hosts=("n1", "n2"))
    for number in range(18):
        for rank in range(2):
            compute = 0.9 if number % 3 == rank else 0.3
            line = {"t": T, "attempt": 1, "step": 25 * (number + 1), "seconds": 2.0, "loss": 1 / (number + 1)}
            shares = {"compute_share": compute, "communication_share": 1 - compute}
            run.add(f"metrics/rank-{rank}.jsonl", line | shares)
    assert found(run) == {}


def _measured(processes: int, nodes: int) -> None:
    """Keep what `hackathon clusters laptop --measure` would: 100 MB take 40 µs + 10 ms."""
    line = {"alpha_us": 40.0, "beta_gb_s": 10.0, "from_bytes": 65536, "to_bytes": 2**30, "relative_error": 0.1}
    measured.keep("laptop", [{
        "nodes": nodes, "processes": processes, "hosts": nodes, "where": "between", "backend": "nccl",
        "device": "H100", "launcher": "mpirun", "date": "2026-01-02T03:04:05Z", "run": "r", "job_id": "7",
        "operations": {"all-reduce": {"bytes": 2**30, "busbw_gb_s": 18.0, "latency_us": 13.0, "fits": {"large": line}}},
    }])  # fmt: skip


@pytest.mark.parametrize(
    ("communication", "known", "expected"),
    [(0.9, 4, True), (0.45, 4, True), (0.3, 4, False), (0.9, 8, False), (0.9, 0, False)],
)
def test_slow_allreduce(make: Make, communication: float, known: int, expected: bool) -> None:
    run = make(4, hosts=("n1", "n2"))
    if known:
        _measured(known, 2)
    for rank in range(4):  # rank 3 waits least: what it waits is not for slower ranks
        waits = communication + (0.05 if rank < 3 else 0.0)
        # 80 ms a step
        shares = {"compute": 1 - waits, "communication": waits}
        run.meter(rank, falling(seed=rank), seconds=2.0, shares=shares)
    run.final(0, gradient_bytes=100_000_000)
    hits = found(run)
    assert set(hits) == ({"silent-slow-allreduce"} if expected else set())
    if expected:
        assert hits["silent-slow-allreduce"].values["waits_ms"] == f"{80 * communication:.3g}"
        assert hits["silent-slow-allreduce"].values["expected_ms"] == "10"


# ---- against the smallest run of the study ----
@pytest.fixture
def study(tmp_path: Path) -> Callable[..., Run]:
    """Make the run with `processes` of a study whose run with one process has ended."""
    folder = tmp_path / "studies/20261121-185440-own-abcdefgh"

    def make(processes: int, base: Callable[[Run], None], **record: Any) -> Run:
        (folder / "points").mkdir(parents=True)
        points = [{"processes": count, "repeat": 1} for count in (processes, 1)]
        write_json(folder / "study.json", {"schema_version": 1, "id": folder.name, "mode": "weak", "points": points})
        runs = {}
        for count in (1, processes):
            runs[count] = Run(
                tmp_path / f"runs/20261121-18544{count}-own-{count}p-abcdefgh", count,
                study={"id": folder.name, "processes": count, "repeat": 1}, **record,
            )  # fmt: skip
            (folder / f"points/{count}-1").write_text(f"{runs[count].path.name}\n{{}}\n")
        base(runs[1])
        return runs[processes]

    return make


@pytest.mark.parametrize(
    ("processes", "rate", "expected"),
    [
        (8, 0.1, "silent-learning-rate"),
        (4, 0.1, "silent-learning-rate"),
        (2, 0.1, None),  # little is lost by it
        (8, 0.28, None),  # the square root: Adam's rule
        (8, 0.8, None),
        (8, 6.4, "silent-learning-rate-twice"),
        (2, 0.4, "silent-learning-rate-twice"),
        (2, 0.2, None),
        (8, 1.6, None),
    ],
)
@pytest.mark.parametrize("noted", [True, False])
def test_learning_rate(
    study: Callable[..., Run], processes: int, rate: float, expected: str | None, noted: bool
) -> None:
    record = {} if noted else {"recipe": "torch-ddp", "parameters": {"lr": 0.1}}
    run = study(processes, lambda base: base.meter(0, falling(), **({"lr": 0.1} if noted else {})), **record)
    if not noted:
        request = json.loads((run.path / "request.json").read_text())
        write_json(run.path / "request.json", request | {"parameters": {"lr": rate}})
    for rank in range(processes):
        run.meter(rank, falling(seed=rank), **({"lr": rate} if noted else {}))
    hits = found(run)
    assert set(hits) == ({expected} if expected else set())
    if expected:
        assert hits[expected].values["times"] == str(processes)


def test_learning_rate_of_own_code_that_did_not_note_it_is_unknown(study: Callable[..., Run]) -> None:
    run = study(8, lambda base: base.meter(0, falling()), parameters={"lr": 0.1})
    for rank in range(8):
        run.meter(rank, falling(seed=rank))
    assert found(run) == {}


def test_learning_rate_in_strong_scaling_stays(study: Callable[..., Run]) -> None:
    run = study(8, lambda base: base.meter(0, falling(), lr=0.1))
    for rank in range(8):
        run.meter(rank, falling(seed=rank), lr=0.1, batch=8)
    assert found(run) == {}


@pytest.mark.parametrize(
    ("processes", "accuracy", "changed", "expected"),
    [(8, 0.91, "", True), (4, 0.96, "", True), (2, 0.91, "", False), (8, 0.98, "", False), (8, 0.91, "epochs", False)],
)
def test_default_learning_rate_of_a_recipe(
    make: Make, processes: int, accuracy: float, changed: str, expected: bool
) -> None:
    defaults = {name: parameter.default for name, parameter in load_recipe("torch-ddp")[0].parameters.items()}
    run = make(
        processes, recipe="torch-ddp", parameters=defaults | ({changed: 3} if changed else {}),
        check={"metric": "accuracy", "at_least": 0.97, "at_most": None},
    )  # fmt: skip
    for rank in range(processes):
        run.meter(rank, falling(seed=rank))
        run.final(rank, accuracy=accuracy)
    assert set(found(run)) == ({"silent-learning-rate"} if expected else set())


@pytest.mark.parametrize(
    ("processes", "accuracy", "loss", "expected"),
    [
        (4, 0.245, 1.0, ("0.98", "÷")),
        (2, 0.485, 1.2, ("0.98", "÷")),
        (4, 3.92, 1.0, ("0.98", "×")),
        (4, 0.26, 1.0, None),  # not near enough
        (4, 0.245, 20.0, None),  # it has not learned
        (4, 0.97, 1.0, None),
    ],
)
@pytest.mark.parametrize("metered", [True, False])
def test_metric_against_the_smallest_run(
    study: Callable[..., Run], processes: int, accuracy: float, loss: float,
    expected: tuple[str, str] | None, metered: bool,
) -> None:  # fmt: skip
    def fill(run: Run, rank: int, value: float, factor: float) -> None:
        losses = [each * factor for each in falling(seed=rank)]
        if metered:
            run.meter(rank, losses)
            run.final(rank, accuracy=value)
        else:
            run.log(rank, *(f"step {n}: loss={each:.4f}" for n, each in enumerate(losses)), f"test accuracy {value}")

    metrics = {} if metered else {"accuracy": {"pattern": "test accuracy ([0-9.]+)", "reduce": "last"}}
    run = study(processes, lambda base: fill(base, 0, 0.98, 1.0), metrics=metrics)
    for rank in range(processes):
        fill(run, rank, accuracy, loss)
    hits = found(run)
    assert set(hits) == ({"silent-metric-count"} if expected else set())
    if expected:
        values = hits["silent-metric-count"].values
        assert (values["expected"], values["sign"]) == expected


@pytest.mark.parametrize(
    ("accuracy", "loss", "expected"),
    [
        (0.2450, 1, True),
        (0.2426, 1, True),
        (0.2420, 1, False),
        (0.2510, 1, False),
        (0.2450, 20, False),
        (3.92, 1, True),
    ],
)
@pytest.mark.parametrize("whole", [1, 100])
def test_metric_against_its_own_check(make: Make, accuracy: float, loss: float, expected: bool, whole: int) -> None:
    run = make(4, check={"metric": "accuracy", "at_least": 0.97 * whole, "at_most": None})
    for rank in range(4):
        run.meter(rank, [each * loss for each in falling(seed=rank)])
        run.final(rank, accuracy=accuracy * whole)
    assert set(found(run)) == ({"silent-metric-count"} if expected else set())


def test_texts_are_in_both_languages() -> None:
    for rule in RULES.values():
        for text in (rule.title, rule.advice, *(cause.text for cause in rule.causes)):
            assert isinstance(text, dict) and set(text) == {"en", "ja"} and text["en"] != text["ja"]
    with speaking("ja"):
        assert any("ぁ" <= letter <= "ん" for rule in RULES.values() for letter in str(rule.title))
