"""What a job sees of programs that have no line for it: what it tells, what it does not, and whatever lies there."""

import ast
import json
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.profiling.meters import shares_of_run
from hackathon.profiling.outside import outside_shares, seen
from hackathon.profiling.points import point_json, run_json
from hackathon.profiling.sentences import sentences
from hackathon.profiling.shares import RunShares
from hackathon.rehearsal.understood import Quantity, understand
from hackathon.runs.directory import RunDirectory
from hackathon.runs.status import status
from hackathon.text.messages import _, speaking
from support.paths import ROOT
from support.planted_steps import healthy, plant
from support.samples.runs import Sample, write_run

RECORDER = ROOT / "templates" / "jobs" / "steps.py"
PARTS = {"data": 0.1, "compute": 0.4, "communication": 0.2, "rest": 0.3, "cpu": 0.3}


def block(first: int, *, step: float = 0.1, waits: float = 0.02, **parts: float) -> dict[str, Any]:
    """Return eight steps in a row; `parts` in shares of the time."""
    spent = {name: share * 8 * step for name, share in {**PARTS, **parts}.items()}
    return {
        "first": first, "last": first + 7, "seconds": 8 * step, "parts": spent, "collectives": [[waits]] * 8,
    }  # fmt: skip


def file(**fields: Any) -> dict[str, Any]:
    """Return what a recorder writes of 32 steps."""
    return {
        "schema_version": 1, "framework": "torch", "device": "cpu", "steps": 40,
        "seen": {"data": 32, "communication": 32, "forward": 32, "backward": 32},
        "samples": {"compute": 200, "host": 200, "idle": 0}, "blocks": [block(4 + 8 * each) for each in range(4)],
    } | fields  # fmt: skip


def write(run: Path, *ranks: dict[str, Any]) -> Path:
    (run / "steps").mkdir(parents=True, exist_ok=True)
    for rank, each in enumerate(ranks):
        (run / "steps" / f"rank-{rank}.json").write_text(json.dumps(each))
    return run


def shares_in(run: Path, *ranks: dict[str, Any], processes: int = 0) -> RunShares:
    found = outside_shares(write(run, *ranks), processes or len(ranks))
    assert found is not None
    return found


def unknown(shares: RunShares) -> dict[str, str]:
    (told,) = {each.unknown for each in shares.ranks}
    return dict(told)


def test_ranks_that_exchange_nothing_in_their_steps_wait_for_nobody(tmp_path: Path) -> None:
    silent = file(blocks=[block(4, communication=0.0, rest=0.5) | {"collectives": [[]] * 8}])
    shares = shares_in(tmp_path, silent, silent)
    assert {(rank.communication, rank.waiting) for rank in shares.ranks} == {(0.0, 0.0)}
    assert "waiting" not in unknown(shares)


def test_each_part_is_told_and_the_rest_is_divided_as_the_samples_are(tmp_path: Path) -> None:
    late = file(blocks=[block(4 + 8 * each, waits=0.005, communication=0.05, rest=0.45) for each in range(4)])
    shares = shares_in(tmp_path, file(), late)
    first, second = shares.ranks
    assert first.steps == 32 and first.seconds == pytest.approx(0.1)
    assert [first.share(part) for part in ("data", "compute", "host")] == pytest.approx([0.1, 0.55, 0.15])
    assert [first.share(part) for part in ("communication", "waiting")] == pytest.approx([0.05, 0.15])
    assert second.share("waiting") == 0 and first.unknown == second.unknown == ()
    told = point_json([shares])
    assert told is not None and (told["basis"], told["late_rank"]) == ("sampled", 1)
    with speaking("en"):
        assert "(seen from outside, host and compute by samples)" in sentences(2, told)[0]
    with speaking("ja"):
        assert "（外から記録、ホストと計算はサンプリング）" in sentences(2, told)[0]
    again = RunShares.from_fields(json.loads(json.dumps(asdict(shares))))
    assert again == shares and run_json(again) == run_json(shares)


@pytest.mark.parametrize(("hosts", "ids"), [(100, []), (115, []), (130, ["host-bound"])])
def test_advice_on_samples_needs_more_than_their_error(tmp_path: Path, hosts: int, ids: list[str]) -> None:
    blocks = [block(4 + 8 * each, compute=0.3, communication=0.1, rest=0.5, cpu=0.5) for each in range(4)]
    told = file(blocks=blocks, samples={"compute": 350 - hosts, "host": hosts, "idle": 0})
    found = point_json([shares_in(tmp_path, told, told)])
    assert found is not None and found["host"] == pytest.approx(0.1 * 0.5 * hosts / 350, rel=1e-4)
    assert [each["id"] for each in found["advice"]] == ids


def test_time_without_a_cpu_is_other_unless_samples_say_that_it_computed(tmp_path: Path) -> None:
    waits = [block(4, cpu=0.1)]
    slept = shares_in(tmp_path / "slept", file(blocks=waits, samples={"compute": 100, "host": 0, "idle": 200}))
    assert [slept.ranks[0].share(part) for part in ("compute", "other")] == pytest.approx([0.5, 0.2])
    busy = shares_in(tmp_path / "busy", file(blocks=waits, samples={"compute": 300, "host": 0, "idle": 0}))
    assert [busy.ranks[0].share(part) for part in ("compute", "other")] == pytest.approx([0.7, 0.0])


@pytest.mark.parametrize(
    ("fields", "parts"),
    [
        ({}, {}),
        ({"samples": {"compute": 2, "host": 1, "idle": 0}}, {"compute": "few-samples", "host": "few-samples"}),
        ({"samples": {"unknown": 500}}, {"compute": "few-samples", "host": "few-samples"}),
        ({"seen": {"data": 32}}, {"communication": "unseen", "waiting": "unseen"}),
        ({"seen": {"communication": 9, "data": 9, "forward": 32}}, {"communication": "unseen", "waiting": "unseen"}),
        ({"seen": {"communication": 32}}, {"data": "unseen"}),
        ({"device": "cuda"}, dict.fromkeys(("data", "host", "compute", "communication", "waiting"), "on-device")),
    ],
)
def test_what_cannot_be_seen_is_not_known(tmp_path: Path, fields: dict[str, Any], parts: dict[str, str]) -> None:
    shares = shares_in(tmp_path, file(**fields), file(**fields))
    assert unknown(shares) == parts
    for each in shares.ranks:
        assert all(getattr(each, part) is None for part in parts)
        known = [value for name in (*PARTS, "host", "waiting", "other") if (value := getattr(each, name, None))]
        assert sum(known) == pytest.approx(each.seconds)
    for language in ("en", "ja"):
        with speaking(language):
            assert sentences(2, point_json([shares]))


def test_waiting_needs_all_ranks_and_one_process_has_none(tmp_path: Path) -> None:
    assert unknown(shares_in(tmp_path / "two", file(), processes=2)) == {"waiting": "missing-ranks"}
    alone = shares_in(tmp_path / "one", file(seen={"data": 32}, blocks=[block(4, communication=0.0, rest=0.5)]))
    assert alone.ranks[0].communication == alone.ranks[0].waiting == 0 and unknown(alone) == {}


def test_a_little_rest_needs_no_samples(tmp_path: Path) -> None:
    small = [block(4, compute=0.69, rest=0.01, cpu=0.01)]
    shares = shares_in(tmp_path, file(blocks=small, samples={}), file(blocks=small, samples={}))
    assert unknown(shares) == {} and shares.basis == "hooked"
    with speaking("en"):
        assert sentences(2, point_json([shares]))[0].endswith("(seen from outside)")


def test_the_meter_counts_where_it_tells_more(tmp_path: Path) -> None:
    plant(tmp_path / "both", healthy, 2, 0.0)
    write(tmp_path / "both", file(), file())
    measured = shares_of_run(tmp_path / "both", 2)
    assert measured is not None and measured.basis == "measured"
    (tmp_path / "steps only" / "metrics").mkdir(parents=True)
    for rank in range(2):
        line = {"step": 40, "interval": [11, 40], "seconds": 3.0, "attempt": 1, "other_share": 1.0}
        (tmp_path / "steps only" / "metrics" / f"rank-{rank}.jsonl").write_text(json.dumps(line) + "\n")
    write(tmp_path / "steps only", file(), file())
    outside = shares_of_run(tmp_path / "steps only", 2)
    assert outside is not None and outside.basis == "sampled"


def test_a_link_is_no_record(tmp_path: Path) -> None:
    write(tmp_path / "other", file())
    (tmp_path / "run" / "steps").mkdir(parents=True)
    (tmp_path / "run" / "steps" / "rank-0.json").symlink_to(tmp_path / "other" / "steps" / "rank-0.json")
    assert outside_shares(tmp_path / "run", 1) is None and outside_shares(tmp_path / "none", 1) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*file(), *block(4)]), inner, max_size=6)
    ),
    max_leaves=20,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(file(), JSON)) | JSON, st.lists(JSON, max_size=3))
def test_whatever_lies_in_a_file_is_read_or_refused(value: Any, blocks: list[Any]) -> None:
    if isinstance(value, dict):
        value = {**value, "blocks": [block(4), *blocks]}
    found = seen(value)
    if found is not None:
        assert all(0 <= spent < 1e12 for each in found.blocks for spent in (each.seconds, *each.parts.values()))
        assert 0 <= found.rest <= 1.01 and all(0 <= share <= 1 for share in found.of_rest())
        assert set(found.unknown(2)) <= {"data", "host", "compute", "communication", "waiting"}


# ---- the recorder itself, without torch


@pytest.fixture
def recorder() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "recorder"}
    exec(compile(RECORDER.read_text(), "<frozen importlib hackathon>", "exec"), names)
    return names


def test_the_recorder_runs_in_old_pythons_and_needs_no_package() -> None:
    tree = ast.parse(RECORDER.read_text(), feature_version=(3, 6))
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        for name in (
            [each.name for each in node.names] if isinstance(node, ast.Import)
            else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        )
    }  # fmt: skip
    standard = {"functools", "json", "math", "os", "sys", "time", "_thread", "typing", "importlib", "atexit"}
    assert imported == standard | {"resource", "weakref", "binascii", "itertools"}


def steps_of(recorder: Any, names: dict[str, Any], count: int) -> None:
    """Make steps with a batch and a collective in each."""
    for __ in range(count):
        for part in (names["DATA"], names["COMMUNICATION"]):
            recorder.pop(recorder.push(part))
        recorder.stepped(names, "torch", lambda: "cpu")


def test_blocks_are_few_spread_and_common_to_ranks(recorder: dict[str, Any], tmp_path: Path) -> None:
    recorder["MARK_SECONDS"] = 0.0
    kept = []
    for rank, stride in enumerate((1, 4)):  # the second had to spare
        made = recorder["Recorder"](str(tmp_path / f"rank-{rank}.json"))
        made.stride = stride
        steps_of(made, recorder, 5000)
        made.leave()
        found = seen(json.loads(Path(made.path).read_text()))
        assert found is not None and 20 <= len(found.blocks) <= recorder["KEPT"]
        assert found.blocks[0].first <= 12 and found.blocks[-1].last > 4000 and Path(made.path).stat().st_size < 100_000
        assert all(len(step) == 1 for each in found.blocks for step in each.collectives)
        kept.append({each.first for each in found.blocks})
    assert len(kept[0] & kept[1]) >= 10


def test_what_is_between_epochs_belongs_to_no_step(recorder: dict[str, Any], tmp_path: Path) -> None:
    recorder["MARK_SECONDS"] = 0.0
    made = recorder["Recorder"](str(tmp_path / "rank-0.json"))
    for __ in range(3):
        steps_of(made, recorder, 9)
        made.boundary = True
    made.leave()
    found = seen(json.loads(Path(made.path).read_text()))
    assert found is not None
    steps = {step for each in found.blocks for step in range(each.first, each.last + 1)}
    assert {10, 19} & steps == set() and {9, 11, 18, 20} <= steps


def test_of_two_optimizers_one_counts(recorder: dict[str, Any], tmp_path: Path) -> None:
    made = recorder["Recorder"](str(tmp_path / "rank-0.json"))
    first, second = object(), object()
    for __ in range(5):
        for each in (first, second):
            made.stepped(each, "torch", lambda: "cpu")
    assert made.steps == 5
    made.leave()


def test_a_marked_call_leaves_no_line_in_a_traceback(recorder: dict[str, Any], tmp_path: Path) -> None:
    class Work:
        def wait(self, fails: bool) -> str:
            told.append("within")
            if fails:
                raise TimeoutError("no answer")
            return "done"

    def lines() -> list[str]:
        try:
            Work().wait(True)
        except TimeoutError as error:
            return [each.name for each in traceback.extract_tb(error.__traceback__)]
        raise AssertionError

    told: list[str] = []
    before, original = lines(), Work.__dict__["wait"]
    made = recorder["Recorder"](str(tmp_path / "rank-0.json"))

    def entered(work: Work) -> Any:
        told.append("entered")
        return lambda: told.append("left")

    recorder["mark"](made, Work, "wait", entered)
    told.clear()
    assert lines() == before and told == ["entered", "within", "left"]
    done = Work().wait(fails=False)  # not within the assertion: that keeps what it has called
    assert done == "done" and told[3:] == ["entered", "within", "left"]
    assert Work.wait is original
    made.stop()
    assert Work.__dict__["wait"] is original


def test_a_failing_mark_does_not_fail_the_call(recorder: dict[str, Any], tmp_path: Path) -> None:
    class Work:
        def wait(self) -> str:
            return "done"

    recorder["mark"](recorder["Recorder"](str(tmp_path / "x")), Work, "wait", lambda work: 1 / 0)
    assert Work().wait() == "done"


def test_the_recorder_stands_back_for_the_meter(recorder: dict[str, Any], tmp_path: Path) -> None:
    class Meter:
        def phase(self, name: str) -> str:
            return name

    class Runtime:
        pass

    runtime: Any = Runtime()
    runtime.Meter = Meter
    made = recorder["Recorder"](str(tmp_path / "rank-0.json"))
    recorder["attach"](made, "hackathon_runtime", runtime)
    steps_of(made, recorder, 4)
    made.write()
    assert Path(made.path).exists() and Meter().phase("data") == "data"
    assert made.over and not Path(made.path).exists()
    steps_of(made, recorder, 4)
    made.leave()
    assert not Path(made.path).exists()


# ---- marks that rest, with what stands for torch


class Range:
    """What torch's `record_function` is to the recorder."""

    entered = 0

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        type(self).entered += 1

    def __exit__(self, *__: object) -> None:
        pass


class Optimizer:
    """Steps as torch's optimizers do, in a range of that name."""

    def __init__(self) -> None:
        parameter = SimpleNamespace(requires_grad=False, device=SimpleNamespace(type="cpu"))
        self.param_groups = [{"params": [parameter]}]

    def step(self, *args: Any, **kwargs: Any) -> None:
        with Range("Optimizer.step#SGD.step"):
            if kwargs.get("fails"):
                raise ValueError
            for hook in list(HOOKS):
                hook(self, args, kwargs)


HOOKS: list[Callable[..., None]] = []
"""Called after each step, as torch's optimizers do."""


def register(hook: Callable[..., None]) -> Any:
    HOOKS.append(hook)
    return SimpleNamespace(remove=lambda: HOOKS.remove(hook))


def train(names: dict[str, Any], path: Path, steps: int, each: Callable[[int], list[Optimizer]], rest: bool) -> Any:
    """Return the recorder after so many steps; `each` says whose optimizers step in each."""
    made = names["Recorder"](str(path))
    names["attach_profiler"](made, SimpleNamespace(record_function=Range))
    if rest:
        names["attach_optimizer"](made, SimpleNamespace(register_optimizer_step_post_hook=register))
    for number in range(steps):
        with Range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
            pass
        for optimizer in each(number):
            optimizer.step()
    return made


def blocks_of(made: Any) -> list[tuple[int, int]]:
    return [(each["first"], each["last"]) for each in made.blocks]


@pytest.mark.parametrize("optimizers", [1, 2, 3])
def test_the_same_steps_are_recorded_where_marks_rest(recorder: Any, tmp_path: Path, optimizers: int) -> None:
    recorder["MARK_SECONDS"] = 1.0  # as few steps as possible are recorded
    chain = [Optimizer() for _ in range(optimizers)]
    plain = Range.__dict__["__enter__"], Range.__dict__["__exit__"]
    kept = []
    for rest in (True, False):
        made = train(recorder, tmp_path / "rank-0.json", 1700, lambda __: chain, rest)
        assert (made.asleep > 0) == rest and (Range.__dict__["__enter__"] is plain[0]) == rest
        made.write()
        assert json.loads(Path(made.path).read_text())["steps"] == 1700
        kept.append(blocks_of(made))
        made.stop()
        assert (Range.__dict__["__enter__"], Range.__dict__["__exit__"]) == plain
    assert kept[0] == kept[1] and len(kept[0]) == 4 and kept[0][-1] == (1540, 1547), kept


def test_marks_do_not_rest_where_steps_differ(recorder: dict[str, Any], tmp_path: Path) -> None:
    recorder["MARK_SECONDS"] = 1.0
    first, second = Optimizer(), Optimizer()
    kept = []
    for rest in (True, False):
        made = train(
            recorder, tmp_path / "rank-0.json", 700, lambda number: [first, second][: 2 - number % 3 % 2], rest
        )  # fmt: skip
        assert made.asleep == 0
        kept.append(blocks_of(made))
        made.stop()
    assert kept[0] == kept[1] and len(kept[0]) >= 2


def test_a_rehearsal_tells_how_long_a_step_took(tmp_path: Path) -> None:
    made = write_run(tmp_path / "runs", Sample(2, 100.0))
    for each in (made / "metrics").iterdir():
        each.unlink()
    run = RunDirectory(made)
    (state,) = status([run], ask=False)
    assert understand(run, state).step == Quantity(None, "step_unknown")
    write(made, file(), file(blocks=[block(4, step=0.2)]))
    found = understand(run, state).step
    assert found.value == pytest.approx(0.15) and found.about == "step_by_recorder"
    for language in ("en", "ja"):
        with speaking(language):
            assert _(f"rehearsal.about_{found.about}")


def test_a_call_that_fails_is_no_step_while_marks_rest(recorder: dict[str, Any], tmp_path: Path) -> None:
    recorder["MARK_SECONDS"] = 1.0
    optimizer = Optimizer()
    made = train(recorder, tmp_path / "rank-0.json", 100, lambda __: [optimizer], True)
    before = made.asleep
    with pytest.raises(ValueError):
        optimizer.step(fails=True)
    assert made.asleep == before > 0
    optimizer.step()
    assert made.asleep == before - 1
    made.stop()


def test_every_moment_is_as_likely_to_be_looked_at(recorder: dict[str, Any], tmp_path: Path) -> None:
    made = recorder["Recorder"](str(tmp_path / "rank-0.json"))
    made.random = 7
    gaps = [made._gap(0.05) for _ in range(4000)]
    assert fmean(gaps) == pytest.approx(0.05, rel=0.05)
    moments = [sum(gaps[:number]) % 0.01 for number in range(0, 4000, 4)]  # of steps of 10 ms
    for part in range(4):
        assert sum(part <= 400 * each < part + 1 for each in moments) / len(moments) == pytest.approx(0.25, abs=0.05)
