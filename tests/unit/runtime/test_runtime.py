"""The runtime beside a training program: who am I, how fast, when to stop; and it never makes a training fail."""

import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.paths import RUNTIME


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("hackathon_runtime_under_test", RUNTIME)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


runtime = _load()


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tests must not depend on the job or the launcher that they run under."""
    for name in list(os.environ):
        if name.startswith(("HK_", "SLURM_", "OMPI_", "PMI", "HOROVOD_")) or name in (
            "RANK",
            "WORLD_SIZE",
            "MASTER_ADDR",
        ):
            monkeypatch.delenv(name)
    yield


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder in ("metrics", "events"):
        (tmp_path / folder).mkdir()
    monkeypatch.setenv("HK_RUN", str(tmp_path))
    return tmp_path


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


class Clock:
    """A clock that goes on only when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def tick(self, seconds: float) -> None:
        self.now += seconds


# ---- the file itself ----
def test_python_3_6_suffices() -> None:
    pytest.importorskip("vermin")
    argv = [sys.executable, "-c", "import vermin; vermin.main()", "-q", "-t=3.6-", "--violations", str(RUNTIME)]
    found = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


def test_describes_the_host(tmp_path: Path) -> None:
    file = tmp_path / "host.json"
    subprocess.run([sys.executable, str(RUNTIME), "environment", str(file)], check=True)
    described = json.loads(file.read_text())
    assert described["python"].split()[0] == sys.version.split()[0]
    assert described["packages"]["pytest"] == pytest.__version__
    assert "lo" in described["interfaces"]
    assert list(tmp_path.iterdir()) == [file]


# ---- identity ----
OPENMPI = {
    "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
}  # fmt: skip
SLURM = {
    "SLURM_PROCID": "3", "SLURM_NTASKS": "4", "SLURM_STEP_NUM_TASKS": "4", "SLURM_LOCALID": "1", "SLURM_NODEID": "1",
    "SLURM_STEP_NUM_NODES": "2", "SLURM_STEP_TASKS_PER_NODE": "2(x2)",
}  # fmt: skip
TF_CLUSTER = {"chief": ["a:1"], "worker": ["a:2", "b:1", "b:2"], "ps": ["c:1"]}


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, (0, 1, 0, 1, 1, "alone")),
        (
            {"HK_RANK": "3", "HK_PROCESSES": "4", "HK_LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "HK_NODES": "2"},
            (3, 4, 1, 2, 2, "toolkit"),
        ),
        (
            {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "GROUP_WORLD_SIZE": "2"},
            (3, 4, 1, 2, 2, "torchrun"),
        ),
        ({"HOROVOD_RANK": "1", "HOROVOD_SIZE": "2", "HOROVOD_LOCAL_RANK": "1"}, (1, 2, 1, 2, 1, "horovodrun")),
        (OPENMPI, (3, 4, 1, 2, 2, "openmpi")),
        ({"PMI_RANK": "3", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"}, (3, 4, 1, 2, 2, "pmi")),
        ({"PMI_RANK": "1", "PMI_SIZE": "2"}, (1, 2, 1, 2, 1, "pmi")),
        ({"PMI_RANK": "3", "PMI_SIZE": "4", **SLURM}, (3, 4, 1, 2, 2, "slurm")),
        ({"PMIX_RANK": "3", **SLURM}, (3, 4, 1, 2, 2, "pmix")),
        ({"PMIX_RANK": "3"}, (0, 1, 0, 1, 1, "alone")),  # a rank without the size of its world is none
        (SLURM, (3, 4, 1, 2, 2, "slurm")),
        ({**SLURM, "SLURM_STEP_TASKS_PER_NODE": "1,3"}, (3, 4, 1, 3, 2, "slurm")),
        # a batch script without srun: NTASKS is the job's, but nobody else is there
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_LOCALID": "0"}, (0, 1, 0, 1, 1, "alone")),
        # mpirun's daemon is a Slurm task; the ranks below it are Open MPI's
        ({**SLURM, **OPENMPI, "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2"}, (3, 4, 1, 2, 2, "openmpi")),
        ({"RANK": "1", "WORLD_SIZE": "2", **OPENMPI}, (1, 2, 1, 2, 1, "torchrun")),
        ({"HK_RANK": "0", "HK_PROCESSES": "1", **SLURM}, (0, 1, 0, 1, 1, "toolkit")),
        (
            {"TF_CONFIG": json.dumps({"cluster": TF_CLUSTER, "task": {"type": "chief", "index": 0}})},
            (0, 4, 0, 2, 2, "tf_config"),
        ),
        (
            {"TF_CONFIG": json.dumps({"cluster": TF_CLUSTER, "task": {"type": "worker", "index": 2}})},
            (3, 4, 1, 2, 2, "tf_config"),
        ),
        (
            {"TF_CONFIG": json.dumps({"cluster": TF_CLUSTER, "task": {"type": "ps", "index": 0}})},
            (0, 1, 0, 1, 1, "alone"),
        ),
        ({"TF_CONFIG": "{"}, (0, 1, 0, 1, 1, "alone")),
        ({"RANK": "4", "WORLD_SIZE": "4"}, (0, 1, 0, 1, 1, "alone")),
        ({"RANK": "x", "WORLD_SIZE": "4"}, (0, 1, 0, 1, 1, "alone")),
        ({"RANK": "", "WORLD_SIZE": "", "PMI_RANK": "1", "PMI_SIZE": "2"}, (1, 2, 1, 2, 1, "pmi")),
    ],
)  # fmt: skip
def test_identity(environ: dict[str, str], expected: tuple[int, int, int, int, int, str]) -> None:
    found = runtime.identity(environ)
    assert (*found[:5], found.source) == expected
    assert found.host


@given(
    st.dictionaries(
        st.sampled_from(
            [name for row in runtime._SOURCES for entry in row[1:] for name in entry.split()] + ["TF_CONFIG"]
        ),
        st.one_of(
            st.integers(-3, 70).map(str), st.text(max_size=6), st.sampled_from(["٣", "1e3", "[]", "null", "9" * 30])
        ),
    )
)
def test_identity_is_always_possible(environ: dict[str, str]) -> None:
    found = runtime.identity(environ)
    assert 0 <= found.rank < found.world_size
    assert found.nodes >= 1 and found.local_world_size >= 1 and found.local_rank >= 0


@pytest.mark.parametrize(
    ("environ", "address"),
    [
        ({"MASTER_ADDR": "node7"}, "node7"),
        ({}, "127.0.0.1"),
        ({**SLURM, "SLURM_STEP_NODELIST": "node[003-007,9],other"}, "node003"),
        ({**SLURM, "SLURM_STEP_NODELIST": "a-1.site,b"}, "a-1.site"),
    ],
)
def test_rendezvous(environ: dict[str, str], address: str) -> None:
    me = runtime.identity(environ)
    assert runtime.rendezvous(me, environ) == runtime.rendezvous(me, environ)
    assert runtime.rendezvous(me, environ)[0] == address
    assert 20000 <= runtime.rendezvous(me, environ)[1] < 30000
    assert runtime.rendezvous(me, {**environ, "MASTER_PORT": "1234"})[1] == 1234


def test_rendezvous_needs_an_address_over_nodes() -> None:
    with pytest.raises(ValueError, match="MASTER_ADDR"):
        runtime.rendezvous(runtime.identity(OPENMPI), OPENMPI)


TOOLKIT = {
    "HK_RANK": "3", "HK_PROCESSES": "4", "HK_LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "HK_NODES": "2",
    "MASTER_ADDR": "a", "MASTER_PORT": "20007",
}  # fmt: skip


@pytest.mark.parametrize(
    ("environ", "workers"),
    [
        ({**TOOLKIT, "HK_NODELIST": "a b.site"}, ["a:20007", "a:20624", "b.site:21241", "b.site:21858"]),
        ({"MASTER_PORT": "29500"}, ["127.0.0.1:29500"]),
        # the ports stay below the ephemeral ones, also behind the highest
        ({"HK_RANK": "0", "HK_PROCESSES": "2", "MASTER_PORT": "29900"}, ["127.0.0.1:29900", "127.0.0.1:20517"]),
        (
            {**SLURM, "SLURM_STEP_NODELIST": "n[09-10]-ib", "MASTER_PORT": "20000"},
            ["n09-ib:20000", "n09-ib:20617", "n10-ib:21234", "n10-ib:21851"],
        ),
        (
            {**SLURM, "SLURM_STEP_TASKS_PER_NODE": "1,3", "SLURM_STEP_NODELIST": "n[7,9]", "MASTER_PORT": "20000"},
            ["n7:20000", "n9:20617", "n9:21234", "n9:21851"],
        ),
        (
            {**SLURM, "SLURM_STEP_NODELIST": "n[1-2,04],x,y[5]", "SLURM_STEP_TASKS_PER_NODE": "1(x4),0",
             "SLURM_STEP_NUM_NODES": "5", "SLURM_NODEID": "3", "MASTER_PORT": "20000"},
            ["n1:20000", "n2:20617", "n04:21234", "x:21851"],
        ),
    ],
)  # fmt: skip
def test_tf_config_is_made_of_the_nodes(environ: dict[str, str], workers: list[str]) -> None:
    me = runtime.identity(environ)
    made = json.loads(runtime.tf_config(me, environ))
    assert made == {"cluster": {"worker": workers}, "task": {"type": "worker", "index": me.rank}}
    again = runtime.identity({"TF_CONFIG": json.dumps(made)})
    assert (again.rank, again.world_size) == (me.rank, me.world_size)


def test_every_rank_makes_the_same_cluster_with_its_own_place() -> None:
    made = []
    for rank in range(4):
        environ = {**TOOLKIT, "HK_RANK": str(rank), "HK_LOCAL_RANK": str(rank % 2), "HK_NODELIST": "a b"}
        made.append(json.loads(runtime.tf_config(runtime.identity(environ), environ)))
    assert [each["task"]["index"] for each in made] == [0, 1, 2, 3]
    assert len({json.dumps(each["cluster"]) for each in made}) == 1
    assert len(set(made[0]["cluster"]["worker"])) == 4


def test_tf_config_of_somebody_else_is_kept_only_where_nothing_nearer_says_who_we_are() -> None:
    text = json.dumps({"cluster": TF_CLUSTER, "task": {"type": "worker", "index": 2}})
    environ = {"TF_CONFIG": text}
    assert runtime.tf_config(runtime.identity(environ), environ) == text
    environ = {**TOOLKIT, "HK_NODELIST": "a b", "TF_CONFIG": text}  # from the submitter's shell, the same on all ranks
    assert json.loads(runtime.tf_config(runtime.identity(environ), environ))["task"]["index"] == 3


@pytest.mark.parametrize("more", [{}, {"HK_NODELIST": "a"}, {"HK_NODELIST": "a b c"}])
def test_tf_config_needs_the_nodes(more: dict[str, str]) -> None:
    environ = {**TOOLKIT, **more}
    with pytest.raises(ValueError, match="HK_NODELIST"):
        runtime.tf_config(runtime.identity(environ), environ)


# ---- the meter ----
def _train(meter: Any, clock: Clock, steps: int, seconds: Callable[[int], float] = lambda step: 0.1) -> None:
    for step in range(steps):
        with meter.phase("data"):
            clock.tick(seconds(step) * 0.2)
        with meter.phase("compute"):
            clock.tick(seconds(step) * 0.7)
        meter.move(seconds(step) * 0.1, "compute", "communication")
        clock.tick(seconds(step) * 0.1)
        meter.step(samples=8, loss=float(step))


def test_meter_leaves_out_warm_up_and_splits_time(run: Path) -> None:
    clock = Clock()
    meter = runtime.Meter(warmup=10, every_steps=20, clock=clock, cpu_clock=lambda: 0.0)
    _train(meter, clock, 70, lambda step: 5.0 if step < 10 else 0.2 if 30 <= step < 50 else 0.1)
    result = meter.final(accuracy=0.97)
    assert result["samples_per_s"] == pytest.approx(80.0)  # the median of 80, 40, 80
    assert result["accuracy"] == 0.97
    shares = {name: result[f"{name}_share"] for name in ("data", "compute", "communication", "other")}
    assert shares == pytest.approx({"data": 0.2, "compute": 0.6, "communication": 0.1, "other": 0.1})
    *intervals, final = _lines(run / "metrics" / "rank-0.jsonl")
    assert [line["step"] for line in intervals if "warmup" in line][-1] == 10
    assert [line["step"] for line in intervals if "warmup" not in line] == [30, 50, 70]
    assert [line["samples"] for line in intervals[-3:]] == [160] * 3
    assert [line["seconds"] for line in intervals[-3:]] == pytest.approx([2.0, 4.0, 2.0])
    assert [line["interval"] for line in intervals[-4:]] == [[9, 10], [11, 30], [31, 50], [51, 70]]
    assert not any("collectives" in line for line in intervals)  # alone
    assert [line["loss"] for line in intervals[-3:]] == [29.0, 49.0, 69.0]
    assert final["final"] is True and final["samples_per_s"] == result["samples_per_s"] and final["attempt"] == 1


def test_collectives_of_each_step_are_kept(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in TOOLKIT.items():
        monkeypatch.setenv(name, value)
    clock = Clock()
    meter = runtime.Meter(warmup=1, every_steps=70, clock=clock)
    for step in range(141):
        clock.tick(0.001)
        for _ in range(step % 3):
            with meter.phase("communication"):
                clock.tick(0.002)
        meter.move(0.0005, "other", "communication")
        meter.step(samples=1)
    meter.final()
    rank = int(TOOLKIT["HK_RANK"])
    *intervals, _ = _lines(run / "metrics" / f"rank-{rank}.jsonl")
    assert [line["interval"] for line in intervals] == [[1, 1], [2, 71], [72, 141]]
    assert [len(line["collectives"]) for line in intervals] == [1, 64, 64]
    assert intervals[1]["collectives"][:3] == [[0.002, 0.0005], [0.002, 0.002, 0.0005], [0.0005]]
    assert len(json.dumps(intervals[1])) < 4096


def test_work_on_the_cpu_outside_all_phases_is_the_host_s() -> None:
    clock, busy = Clock(), Clock()
    meter = runtime.Meter(warmup=0, clock=clock, cpu_clock=busy)
    for _ in range(3):
        clock.tick(0.2)  # not on a CPU
        with meter.phase("compute"):
            clock.tick(0.4)
            busy.tick(0.4)
        clock.tick(0.4)
        busy.tick(0.3)
        meter.step(samples=1)
    result = meter.final()
    shares = {name: result[f"{name}_share"] for name in ("host", "compute", "other")}
    assert shares == pytest.approx({"host": 0.3, "compute": 0.4, "other": 0.3}, abs=1e-5)


def test_without_a_clock_of_the_thread_nothing_is_said_of_the_host() -> None:
    clock = Clock()
    meter = runtime.Meter(warmup=0, clock=clock, cpu_clock=None)
    _train(meter, clock, 5)
    assert "host_share" not in meter.final()


def test_pause_is_not_training_time() -> None:
    clock = Clock()
    meter = runtime.Meter(warmup=0, every_steps=10, every_seconds=1000, clock=clock)
    for _ in range(3):
        _train(meter, clock, 7)
        with meter.phase("pause"):
            clock.tick(500)
            with meter.phase("data"):
                clock.tick(0.07)
    result = meter.final()
    assert result["samples_per_s"] == pytest.approx(80, rel=0.1)
    assert "pause_share" not in result
    assert sum(result[name] for name in result if name.endswith("_share")) == pytest.approx(1.0, abs=1e-5)


def test_time_belongs_to_the_innermost_phase() -> None:
    clock = Clock()
    meter = runtime.Meter(warmup=0, clock=clock)
    with meter.phase("outer"):
        clock.tick(1)
        with meter.phase("inner"):
            clock.tick(2)
        clock.tick(1)
    meter.step(samples=1)
    result = meter.final()
    assert (result["outer_share"], result["inner_share"]) == (0.5, 0.5)


def test_long_steps_are_reported_by_time_and_other_units_count(run: Path) -> None:
    clock = Clock()
    meter = runtime.Meter(unit="tokens", warmup=1, every_steps=50, every_seconds=10, clock=clock)
    for _ in range(5):
        clock.tick(6)
        meter.step(tokens=600)
    assert meter.final()["tokens_per_s"] == 100
    assert [line["step"] for line in _lines(run / "metrics" / "rank-0.jsonl")[:-1]] == [1, 3, 5]


def test_only_warm_up_gives_no_throughput() -> None:
    clock = Clock()
    meter = runtime.Meter(warmup=10, clock=clock)
    _train(meter, clock, 9)
    assert "samples_per_s" not in meter.final()


def test_few_writes_and_all_lines(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, opened = Clock(), []
    meter = runtime.Meter(warmup=0, every_steps=1, write_seconds=5, clock=clock)
    real = os.open
    monkeypatch.setattr(os, "open", lambda *args, **more: opened.append(args) or real(*args, **more))
    _train(meter, clock, 500)
    meter.final()
    monkeypatch.undo()
    assert len(opened) <= 12  # 50 seconds
    assert len(_lines(run / "metrics" / "rank-0.jsonl")) == 501


def test_lines_arrive_when_the_program_ends_without_final(run: Path) -> None:
    program = (
        "from hackathon_runtime import Meter\n"
        "meter = Meter(warmup=0, every_steps=1)\nmeter.step(samples=1)\nraise SystemExit(3)"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=RUNTIME.parent, env={**os.environ}, check=False)
    assert ended.returncode == 3
    assert _lines(run / "metrics" / "rank-0.jsonl")[0]["samples"] == 1


class Tensor:
    """What frameworks have: turns into a number, and that costs something."""

    reads = 0

    def __float__(self) -> float:
        Tensor.reads += 1
        return 0.5


class Broken:
    def __float__(self) -> float:
        raise RuntimeError("only one element tensors can be converted")

    def __str__(self) -> str:
        return "broken"


def test_tensors_are_read_only_for_lines(run: Path) -> None:
    meter = runtime.Meter(warmup=0, every_steps=10)
    for _ in range(20):
        meter.step(samples=1, loss=Tensor())
    assert Tensor.reads == 2


class OnGpu:
    """What a tensor on a GPU has: it must be fetched before its bytes can be read."""

    device = "cuda:1"

    def __init__(self, content: bytes) -> None:
        self._content = content

    def cpu(self) -> memoryview:
        return memoryview(self._content)


def test_first_batches_are_noted_by_their_bytes(run: Path) -> None:
    meter = runtime.Meter(warmup=0)
    for number in range(10):
        meter.saw({"images": OnGpu(b"%d" % number), "labels": [3, 5]})
    meter.flush()
    again = runtime.Meter(warmup=0)
    for number in (0, 1, 2, 33):
        again.saw((memoryview(b"%d" % number), [3, 5]))
    again.saw(Broken())
    again.flush()
    first, second = [line["data"] for line in _lines(run / "metrics/rank-0.jsonl")]
    assert len(set(first)) == 4 and all(len(each) == 8 for each in first)
    assert second[:3] == first[:3] and second[3] != first[3]


def test_device_is_noted_once(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Cuda:
        @staticmethod
        def get_device_properties(device: str) -> Any:
            return type("Properties", (), {"uuid": f"number-of-{device}"})

    monkeypatch.setitem(sys.modules, "torch", type("Torch", (), {"cuda": Cuda}))
    meter = runtime.Meter(warmup=0, every_steps=1)
    for loss in (0.5, OnGpu(b""), OnGpu(b"")):
        meter.step(samples=1, loss=loss)
    meter.final()
    assert [line.get("device") for line in _lines(run / "metrics/rank-0.jsonl")] == [
        None,
        "cuda:1 number-of-cuda:1",
        None,
        None,
    ]


def test_a_gpu_of_another_framework_does_not_end_the_training(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Cuda:
        @staticmethod
        def get_device_properties(device: str) -> Any:
            raise AssertionError("Torch not compiled with CUDA enabled")

    monkeypatch.setitem(sys.modules, "torch", type("Torch", (), {"cuda": Cuda}))
    meter = runtime.Meter(warmup=0, every_steps=1)
    meter.step(samples=1, loss=OnGpu(b""))
    meter.final()
    assert _lines(run / "metrics/rank-0.jsonl")[0]["device"] == "cuda:1"


def test_what_is_not_finite_or_no_number_becomes_text(run: Path) -> None:
    meter = runtime.Meter(warmup=0)
    meter.final(a=math.nan, b=math.inf, c=-math.inf, d=Broken(), e="text", f=True, g=None, h="\ud800")
    line = _lines(run / "metrics" / "rank-0.jsonl")[0]
    assert [line[name] for name in "abcdefg"] == ["NaN", "Infinity", "-Infinity", "broken", "text", True, None]
    assert "NaN" not in json.dumps({k: v for k, v in line.items() if k != "a"})


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.floats(0, 1e4), st.floats(allow_nan=True)), max_size=60),
    st.integers(0, 9),
)
def test_meter_keeps_all_samples_whatever_comes(steps: list[tuple[int, float, float]], warmup: int) -> None:
    clock = Clock()
    lines: list[dict[str, Any]] = []
    meter = runtime.Meter(warmup=warmup, every_steps=3, every_seconds=50, clock=clock)
    meter._lines.append = lines.extend
    for samples, seconds, loss in steps:
        clock.tick(seconds + 1e-3)
        meter.step(samples=samples, loss=loss)
    meter.final()
    assert sum(line["samples"] for line in lines if "final" not in line) == sum(step[0] for step in steps)
    assert all(("warmup" in line) == (line["step"] <= warmup) for line in lines if "final" not in line)
    json.dumps(lines, allow_nan=False)


def test_shows_lines_on_rank_zero_only_when_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for rank, show, expected in (("0", True, True), ("1", True, False), ("0", False, False)):
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setenv("WORLD_SIZE", "2")
        clock = Clock()
        meter = runtime.Meter(warmup=0, show=show, clock=clock)
        clock.tick(1)
        meter.step(samples=5, loss=0.25)
        meter.final()
        shown = capsys.readouterr().out
        assert ("samples_per_s 5" in shown and "loss 0.25" in shown) == expected
        assert bool(shown) == expected


# ---- files that can not be written ----
def test_missing_folder_warns_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HK_RUN", str(tmp_path / "gone"))
    meter = runtime.Meter(warmup=0, every_steps=1, write_seconds=0)
    for _ in range(5):
        meter.step(samples=1)
    assert "samples_per_s" in meter.final()
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1 and "training goes on" in captured.err
    assert not (tmp_path / "gone").exists()


def test_full_disk_warns_once_and_lines_stay_whole(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A disk that fills up takes a part of a line, then refuses, later has room: no line is glued to the torn one."""
    meter = runtime.Meter(warmup=0, every_steps=1, write_seconds=0)
    real, room = os.write, [250]

    def write(target: int, data: bytes) -> int:
        if room[0] <= 0:
            raise OSError(28, "No space left on device")
        taken = real(target, data[: room[0]])
        room[0] -= taken
        return taken

    monkeypatch.setattr(os, "write", write)
    for _ in range(6):
        meter.step(samples=1)
    room[0] = 10**9
    meter.step(samples=1)
    meter.final(accuracy=0.5)
    monkeypatch.undo()
    assert capsys.readouterr().err.count("training goes on") == 1
    whole = []
    for text in (run / "metrics" / "rank-0.jsonl").read_text().splitlines():
        try:
            whole.append(json.loads(text))
        except ValueError:
            whole.append(None)
    assert whole.count(None) == 1  # the torn one
    assert whole[-2]["step"] == 7 and whole[-1]["accuracy"] == 0.5


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_really_full_device(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "metrics" / "rank-0.jsonl").symlink_to("/dev/full")
    runtime.Meter(warmup=0).final(accuracy=1.0)
    assert "No space left" in capsys.readouterr().err


def test_goes_on_behind_a_torn_line_of_a_former_attempt(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = run / "metrics" / "rank-0.jsonl"
    file.write_text('{"step": 1}\n{"step": 2, "sam')
    monkeypatch.setenv("HK_ATTEMPT", "2")
    runtime.Meter().final(accuracy=0.9)
    first, torn, last = file.read_text().splitlines()
    assert (json.loads(first)["step"], torn) == (1, '{"step": 2, "sam')
    assert json.loads(last)["attempt"] == 2


def test_outside_the_toolkit_no_file_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    meter = runtime.Meter(warmup=0)
    meter.step(samples=1)
    assert meter.final()["samples_per_s"] > 0
    runtime.checkpoint_written("x.pt")
    assert not runtime.Stopper()()
    assert runtime.deadline() is None
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr() == ("", "")


# ---- events ----
def test_events_of_a_rank(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HK_RANK", "1")
    monkeypatch.setenv("HK_PROCESSES", "2")
    monkeypatch.setenv("HK_ATTEMPT", "3")
    monkeypatch.setenv("HK_HOST", "node7")
    runtime.checkpoint_written(run / "checkpoints" / '日本 "x".pt')
    runtime.checkpoint_written("/elsewhere/last.pt")
    runtime.log_event("warned", what="a\nb", loss=math.nan)
    first, second, third = _lines(run / "events" / "rank-1.jsonl")
    assert {**first, "t": 0} == {
        "t": 0, "event": "checkpoint", "attempt": 3, "host": "node7", "path": 'checkpoints/日本 "x".pt',
    }  # fmt: skip
    assert second["path"] == "/elsewhere/last.pt"
    assert (third["what"], third["loss"]) == ("a\nb", "NaN")


# ---- learning rate ----
def test_linear_scaling_with_warm_up() -> None:
    rates = [runtime.scaled_learning_rate(0.1, 4, step, 10) for step in range(12)]
    assert (
        rates[0] == pytest.approx(0.1)
        and rates[5] == pytest.approx(0.25)
        and rates[10] == rates[11] == pytest.approx(0.4)
    )
    assert rates == sorted(rates)
    assert runtime.scaled_learning_rate(0.1, 8, 0, 0) == pytest.approx(0.8)
    assert {runtime.scaled_learning_rate(0.1, 1, step, 10) for step in range(20)} == {0.1}


# ---- the end of the walltime ----
def test_deadline_of_job_and_of_stop_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HK_DEADLINE", "1700000000")
    assert runtime.deadline() == 1700000000
    monkeypatch.setenv("HK_STOP", str(tmp_path / "stop"))
    assert runtime.deadline() == 1700000000
    (tmp_path / "stop").write_text("1700000100.5\n")
    assert runtime.deadline() == 1700000100.5
    (tmp_path / "stop").write_text("")
    assert runtime.deadline() == 1700000000
    monkeypatch.setenv("HK_DEADLINE", "soon")
    assert runtime.deadline() is None


def test_stop_file_is_looked_for_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop, clock, looks = tmp_path / "stop", Clock(), []
    monkeypatch.setenv("HK_STOP", str(stop))
    real = os.path.exists
    monkeypatch.setattr(os.path, "exists", lambda path: looks.append(path) or real(path))
    should_stop = runtime.Stopper(clock=clock)
    for _ in range(10000):
        clock.tick(0.001)
        assert not should_stop()
    assert len(looks) <= 10 + 11  # ten seconds, and the doubling at the start
    stop.write_text("0")
    steps = 0
    while not should_stop():
        clock.tick(0.001)
        steps += 1
    assert steps <= 1100
    assert should_stop()


def test_first_look_is_at_the_first_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stop").touch()
    monkeypatch.setenv("HK_STOP", str(tmp_path / "stop"))
    assert runtime.Stopper()()


@given(st.lists(st.floats(1e-5, 30), min_size=1, max_size=300), st.integers(0, 250), st.integers(2, 4))
def test_all_ranks_stop_at_the_same_step(times: list[float], appears: int, ranks: int) -> None:
    """Rank 0 decides; ranks that look at other files or have other clocks never leave alone."""
    clocks = [Clock() for _ in range(ranks)]
    told: list[int] = []
    stoppers = []
    exists = [False]
    real = os.path.exists
    for rank in range(ranks):
        os.environ.update({"RANK": str(rank), "WORLD_SIZE": str(ranks), "HK_STOP": "/stop/of/this/test"})

        def broadcast(number: int, rank: int = rank) -> int:
            if rank == 0:
                told.append(number)
            return told[-1]

        stoppers.append(runtime.Stopper(broadcast, clock=clocks[rank]))
    os.path.exists = lambda path: exists[0]
    try:
        for step, seconds in enumerate(times):
            exists[0] = step >= appears
            answers = []
            for rank, stopper in enumerate(stoppers):
                clocks[rank].tick(seconds * (1 + rank))
                answers.append(stopper())
            assert len(set(answers)) == 1
            if answers[0]:
                assert step >= appears
                break
    finally:
        os.path.exists = real
        for name in ("RANK", "WORLD_SIZE", "HK_STOP"):
            del os.environ[name]


def test_several_processes_without_a_broadcast_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="broadcast"):
        runtime.Stopper()


def _oldest_python() -> str | None:
    """Return a Python 3.6 that starts (the shims of pyenv do only for the chosen version)."""
    found = [shutil.which("python3.6"), *Path.home().glob(".pyenv/versions/3.6*/bin/python")]
    for each in filter(None, found):
        if subprocess.run([each, "-V"], capture_output=True, check=False).returncode == 0:
            return str(each)
    return None


def test_runs_under_python_3_6(run: Path) -> None:
    program = (
        "from hackathon_runtime import *\nmeter = Meter(warmup=0)\n"
        "with meter.phase('data'): pass\n"
        "meter.step(samples=2, loss=float('nan'))\nStopper()()\ncheckpoint_written('x')\n"
        "print(identity().rank)\nmeter.final(accuracy=1)"
    )
    python = _oldest_python()
    if python is None:
        pytest.skip("no Python 3.6 on this machine")
    done = subprocess.run([python, "-c", program], cwd=RUNTIME.parent, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
    assert [line.get("loss") for line in _lines(run / "metrics" / "rank-0.jsonl")] == ["NaN", None]
