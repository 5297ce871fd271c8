"""What TensorFlow's profiler writes is read as what it was, and its steps are seen: without TensorFlow."""

import ast
import gzip
import json
import sys
import threading
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.profiling import tensorflow_events, tensorflow_trace
from hackathon.profiling.recorder import Recorder, attach_tensorflow
from hackathon.profiling.tensorflow_events import MARK, Plane, fields, recorded_events, without
from hackathon.profiling.tensorflow_trace import Calls, TensorflowProfiler
from hackathon.profiling.traces.recording import recording
from hackathon.profiling.traces.report import Profile, read_profile
from hackathon.text.messages import speaking

CLOCK = 5_000_000.0
"""Microseconds by which TensorFlow's clock is behind the recorder's."""


# ---- a file as TensorFlow writes it


def varint(value: int) -> bytes:
    found = b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def field(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


class MadePlane:
    """A plane of `xplane.proto`; times in milliseconds."""

    def __init__(self, name: str = "/host:CPU") -> None:
        self.name = name
        self.names: list[str] = []
        self.stats: list[str] = []
        self.lines: dict[str, list[bytes]] = {}

    def event(self, line: str, name: str, begin: float, end: float, /, **stats: int | str) -> None:
        data = field(1, self._number(self.names, name)) + field(2, round(begin * 1e9))
        data += field(3, round((end - begin) * 1e9))
        for key, value in stats.items():
            given = field(4, value) if isinstance(value, int) else field(7, self._number(self.stats, value))
            data += field(4, field(1, self._number(self.stats, key)) + given)
        self.lines.setdefault(line, []).append(field(4, data))

    def wait(self, kernel: str, node: str, begin: float, end: float, key: int, step: int = 1) -> None:
        told: dict[str, int | str] = {"name": node, "kernel_type": kernel, "step_id": step}
        self.event("tf_Compute/1", "ExecutorState::ProcessAsync::Start", begin, begin + 0.01, _p=key, **told)
        self.event("other/9", "ExecutorState::ProcessAsync::Done", end, end + 0.01, _c=key, **told)

    @staticmethod
    def _number(known: list[str], name: str) -> int:
        if name not in known:
            known.append(name)
        return known.index(name) + 1

    def data(self) -> bytes:
        made = field(2, self.name)
        for line, events in self.lines.items():
            made += field(3, field(2, line) + field(3, 1000) + b"".join(events))  # 1000 ns: 0.001 ms
        for number, names in ((4, self.names), (5, self.stats)):
            for place, name in enumerate(names, 1):
                made += field(number, field(1, place) + field(2, field(1, place) + field(2, name)))
        return made

    def plane(self) -> Plane:
        return Plane(memoryview(self.data()))


def marked(steps: int, length: float) -> tuple[MadePlane, list[float]]:
    """Return a plane with the marks of steps that are so long, ms, and their moments on the recorder's clock, µs."""
    made = MadePlane()
    for number in range(steps + 1):
        made.event("python", MARK, number * length, number * length)
    return made, [CLOCK + 1 + 1000 * number * length for number in range(steps + 1)]


def profile_of(made: MadePlane, ends: list[float], folder: Path, rank: int = 0, processes: int = 1) -> Path:
    profiler = TensorflowProfiler(0, len(ends) - 1, rank, processes, None)
    profiler.events = recorded_events([made.plane()], ends, 1)
    path = folder / f"rank-{rank}.json.gz"
    profiler.export_chrome_trace(str(path))
    return path


def shares(*paths: Path) -> tuple[Profile, list[dict[str, float | None]]]:
    found = read_profile(list(paths))
    parts = ("data", "host", "compute", "communication", "waiting")
    return found, [{part: each.share(part) for part in parts} for each in found.shares.ranks]


def test_a_step_has_its_loading_computing_and_the_rest(tmp_path: Path) -> None:
    made, ends = marked(4, 10.0)
    for number in range(4):
        at = 10.0 * number
        made.event("python", "EagerLocalExecute: IteratorGetNext", at, at + 2)
        made.event("python", "EagerLocalExecute: __inference_step_12", at + 4, at + 9)
        made.event("tf_Compute/1", "ExecutorState::Process", at + 4, at + 8, id=7)
        made.event("tf_Compute/1", "net/dense/MatMul:MatMul", at + 4, at + 7)
        made.event("tf_Compute/2", "SGD/update:AssignSubVariableOp", at + 6, at + 8)
        made.event("tf_Compute/2", "ThreadpoolListener::Record", at, at + 9)
    found, ((told),) = shares(profile_of(made, ends, tmp_path))
    assert told == pytest.approx({"data": 0.2, "compute": 0.4, "host": 0.4, "communication": 0, "waiting": 0}, abs=1e-3)
    assert {each.name: each.calls for each in found.operators} == {"MatMul": 1, "AssignSubVariableOp": 1}
    assert found.traces[0].steps[0].number == 1 and len(found.traces[0].steps) == 4


def test_what_the_input_pipeline_computes_is_not_the_step(tmp_path: Path) -> None:
    made, ends = marked(2, 10.0)
    for number in range(2):
        at = 10.0 * number
        made.wait("IteratorGetNext", "IteratorGetNext", at + 1, at + 6, key=number + 1)
        made.event("tf_data_private_threadpool/3", "map:Mul", at, at + 9)
        made.event("tf_Compute/1", "InstantiatedCapturedFunction::Run", at, at + 5, id=99)
        made.event("tf_Compute/2", "ExecutorState::Process", at + 2, at + 5, id=99)
        made.event("tf_Compute/2", "map/decode:DecodeJpeg", at + 2, at + 5)
        made.event("tf_Compute/2", "ExecutorState::Process", at + 5, at + 9, id=1)
        made.event("tf_Compute/2", "conv:Conv2D", at + 5, at + 9)
        made.wait("IteratorGetNext", "inner", at, at + 9, key=50 + number, step=99)
    found, ((told),) = shares(profile_of(made, ends, tmp_path))
    assert [each.name for each in found.operators] == ["Conv2D"]
    # the batch came at 6, but of its last part the program had something to compute
    assert told == pytest.approx({"data": 0.4, "compute": 0.4, "host": 0.2, "communication": 0, "waiting": 0}, abs=1e-3)


def test_the_rank_that_comes_late_is_found_whatever_the_order_of_its_collectives(tmp_path: Path) -> None:
    paths = []
    for rank, late in enumerate((0.0, 5.0)):
        made, ends = marked(5, 20.0)
        for number in range(5):
            at = 20.0 * number
            made.event("tf_Compute/1", "ExecutorState::Process", at, at + 8 + late, id=7)
            made.event("tf_Compute/1", "conv:Conv2D", at, at + 8 + late)
            # gradients of two layers: each rank has them ready in another order
            first, second = ("one", "other")[:: 1 - 2 * rank]
            made.wait("CollectiveReduceV2", f"grad/{first}", at + 8 + late, at + 16, key=10 * number + 1)
            made.wait("CollectiveReduceV2", f"grad/{second}", at + 8.5 + late, at + 16.5, key=10 * number + 2)
        paths.append(profile_of(made, ends, tmp_path, rank, 2))
    found, told = shares(*paths)
    assert told[0]["waiting"] == pytest.approx(5 / 20, abs=0.01)  # until all are in one of the two
    assert told[1]["waiting"] == pytest.approx(0, abs=0.03)
    assert [(each.id, each.rank) for each in found.findings if each.id == "late-rank"] == [("late-rank", 1)]


def test_a_collective_that_the_program_calls_itself_is_communication(tmp_path: Path) -> None:
    paths = []
    for rank in range(2):
        made, ends = marked(3, 10.0)
        for number in range(3):
            made.event("python", "EagerLocalExecute: HorovodAllreduce", 10.0 * number + 4 * rank, 10.0 * number + 8)
        paths.append(profile_of(made, ends, tmp_path, rank, 2))
    told = shares(*paths)[1]
    assert [each["waiting"] for each in told] == pytest.approx([0.4, 0.0], abs=1e-3)
    assert [each["communication"] for each in told] == pytest.approx([0.4, 0.4], abs=1e-3)


def test_advice_is_that_of_the_framework(tmp_path: Path) -> None:
    made, ends = marked(5, 10.0)
    for number in range(5):
        made.event("python", "EagerLocalExecute: IteratorGetNext", 10.0 * number, 10.0 * number + 4)
    (path,) = [profile_of(made, ends, tmp_path)]
    with speaking("en"):
        told = {each.id: each.advice for each in shares(path)[0].findings}
        assert "tf.data.AUTOTUNE" in told["loader"] and "tf.function" in told["host-bound"]
        value = json.loads(gzip.decompress(path.read_bytes()))
        for framework, words in (("chainer", "MultiprocessIterator"), ("torch", "DataLoader"), ([], "DataLoader")):
            path.write_bytes(gzip.compress(json.dumps({**value, "framework": framework}).encode()))
            assert words in next(each.advice for each in shares(path)[0].findings if each.id == "loader")


@pytest.mark.parametrize("newer", [True, False])
def test_what_xla_compiled_is_computing_and_not_the_programs_own(tmp_path: Path, newer: bool) -> None:
    made, ends = marked(2, 10.0)
    for number in range(2):
        at = 10.0 * number
        made.event("python", "EagerLocalExecute: __inference_step_12", at + 1, at + 9)
        if newer:
            made.event("python", "CpuExecutable::ExecuteAsyncOnStream", at + 2, at + 9)
    _, ((told),) = shares(profile_of(made, ends, tmp_path))
    assert told["compute"] == pytest.approx(0.7 if newer else 0.8, abs=1e-3)


def test_kernels_and_copies_of_a_gpu_are_those_of_its_streams(tmp_path: Path) -> None:
    made, ends = marked(2, 10.0)
    gpu = MadePlane("/device:GPU:1")
    for number in range(2):
        at = 10.0 * number
        gpu.event("Stream #14(MemcpyH2D)", "MemcpyH2D", at, at + 1)
        gpu.event("Stream #13(Compute)", "ampere_sgemm_128x64", at + 2, at + 7)
        gpu.event("XLA Ops", "derived", at, at + 10)
        made.event("tf_Compute/1", "conv:Conv2D", at, at + 10)  # launches only
    profiler = TensorflowProfiler(0, 2, 0, 1, None)
    profiler.events = recorded_events([made.plane(), gpu.plane()], ends, 1)
    profiler.export_chrome_trace(str(tmp_path / "rank-0.json.gz"))
    found, ((told),) = shares(tmp_path / "rank-0.json.gz")
    assert found.on_device and [each.name for each in found.kernels] == ["ampere_sgemm_128x64"]
    assert [told["compute"], told["data"]] == pytest.approx([0.5, 0.1], abs=1e-3)


def test_of_too_many_events_the_steps_count_that_have_all_of_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    made, ends = marked(4, 10.0)
    for part in range(40):
        made.event("tf_Compute/1", "conv:Conv2D", float(part), part + 0.9)
    monkeypatch.setattr(tensorflow_events, "MOST", 25)
    found = recorded_events([made.plane()], ends, 1)
    assert [each[1] for each in found if each[1].startswith("ProfilerStep")] == ["ProfilerStep#1", "ProfilerStep#2"]
    monkeypatch.setattr(tensorflow_events, "MOST", 5)
    with pytest.raises(ValueError, match="more than 5 events"):
        recorded_events([made.plane()], ends, 1)


def test_a_file_without_the_programs_thread_is_refused() -> None:
    with pytest.raises(ValueError, match="thread"):
        recorded_events([MadePlane().plane(), MadePlane("/device:GPU:0").plane()], [0.0, 1.0], 1)


@given(st.binary(max_size=60) | st.integers(0, 200).map(lambda cut: marked(1, 1.0)[0].data()[:cut]))
def test_whatever_lies_in_a_file_is_read_or_refused(data: bytes) -> None:
    try:
        list(fields(data))
        plane = Plane(memoryview(data))
    except ValueError:
        return
    for _, events in plane.lines:
        assert all(begin <= end for begin, end, _, _ in events)


@given(*[st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)))] * 2)
def test_stretches_without_others_are_those_moments(spans: list[Any], others: list[Any]) -> None:
    spans, others = ([each for each in some if each[0] < each[1]] for some in (spans, others))
    found = without(spans, others)
    for moment in range(31):
        middle = moment + 0.5
        wanted = sum(begin < middle < end for begin, end in spans)
        if any(begin < middle < end for begin, end in others):
            wanted = 0
        assert sum(begin < middle < end for begin, end in found) == wanted


def test_the_files_run_in_old_pythons_and_need_no_package() -> None:
    standard = {
        "bisect", "functools", "glob", "gzip", "json", "os", "platform", "re", "shutil", "sys", "tempfile", "threading",
        "time", "typing", "weakref",
    }  # fmt: skip
    for module in (tensorflow_events, tensorflow_trace):
        tree = ast.parse(Path(str(module.__file__)).read_text(), feature_version=(3, 6))
        nodes = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
        names = {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
        assert names | {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)} <= standard


# ---- which calls are steps


class Function:
    """What `tf.function` is to the recorder: its body runs when it is traced, at the first call."""

    def __init__(self, body: Any) -> None:
        self.body, self.traced = body, False

    def __call__(self) -> str:
        if not self.traced:
            self.traced = True
            self.body()
        return "done"


class Optimizer:
    def apply_gradients(self) -> None:
        pass


@pytest.fixture
def world() -> tuple[Any, list[object]]:
    """A module with classes as those of TensorFlow, watched; and what was told to be a step."""
    module: Any = ModuleType("watched")
    for kind in (Function, Optimizer):
        made = type(kind.__name__, (), {k: v for k, v in vars(kind).items() if k not in ("__dict__", "__weakref__")})
        made.__module__ = "watched"
        setattr(module, kind.__name__, made)
    told: list[object] = []
    Calls(told.append).watch(module)
    return module, told


def test_a_function_that_applies_gradients_is_a_step_at_each_call(world: tuple[Any, list[object]]) -> None:
    module, told = world
    optimizer = module.Optimizer()
    train, test = module.Function(optimizer.apply_gradients), module.Function(lambda: None)
    assert [train(), test(), train(), test(), train()] == ["done"] * 5
    assert told == [train] * 3
    optimizer.apply_gradients()  # a step of a program that traces nothing
    assert told[3:] == [optimizer]


def test_of_functions_within_each_other_the_outer_one_is_the_step(world: tuple[Any, list[object]]) -> None:
    module, told = world
    inner = module.Function(module.Optimizer().apply_gradients)
    inner()
    outer = module.Function(inner)  # the inner one is traced already: its gradients are not seen to be applied again
    outer(), outer()
    assert told == [inner, outer, outer]


def test_gradients_that_a_thread_of_a_replica_applies_belong_to_the_call(world: tuple[Any, list[object]]) -> None:
    module, told = world

    def replicas() -> None:
        thread = threading.Thread(target=module.Optimizer().apply_gradients)
        thread.start()
        thread.join()

    train = module.Function(replicas)
    train(), train()
    assert told == [train, train]


def test_a_call_that_fails_is_no_step(world: tuple[Any, list[object]]) -> None:
    module, told = world

    def fails() -> None:
        raise ValueError("no batch")

    with pytest.raises(ValueError):
        module.Function(fails)()
    train = module.Function(module.Optimizer().apply_gradients)
    train()
    assert told == [train]


def test_a_torch_program_that_loads_tensorflow_too_is_recorded_as_one_of_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hackathon.profiling.recorder.beside", lambda name: tensorflow_trace)
    monkeypatch.setitem(sys.modules, "tensorflow", ModuleType("tensorflow"))
    module: Any = ModuleType("watched")
    made = type("Optimizer", (), {"apply_gradients": Optimizer.apply_gradients})
    made.__module__, module.Optimizer = "watched", made
    recorder = Recorder(str(tmp_path), 2, 3, False)
    attach_tensorflow(module, recorder)
    recorder.stepped(object())  # of torch
    module.Optimizer().apply_gradients()
    assert recorder.engine == "torch" and len(recorder.ends) == 1
    other = Recorder(str(tmp_path), 2, 3, False)
    attach_tensorflow(module, other)
    config: Any = ModuleType("keras.src.backend.config")
    config.backend = lambda: "jax"
    monkeypatch.setitem(sys.modules, config.__name__, config)
    module.Optimizer().apply_gradients()
    assert not other.ends
    config.backend = lambda: "tensorflow"
    module.Optimizer().apply_gradients()
    assert other.engine == "tensorflow" and len(other.ends) == 1


# ---- the recording


def test_a_recording_leaves_only_its_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    folders: list[Path] = []
    moments = iter(range(100))
    monkeypatch.setattr(tensorflow_trace, "now", lambda: CLOCK + 1 + 500.0 * next(moments))

    class Trace:
        def __init__(self, name: str) -> None:
            assert name == MARK

        def __enter__(self) -> None:
            pass

        def __exit__(self, *_: object) -> None:
            pass

    def stop() -> None:
        made, _ = marked(4, 1.0)
        place = folders[0] / "plugins" / "profile" / "today"
        place.mkdir(parents=True)
        (place / "host.xplane.pb").write_bytes(field(1, made.data()))

    experimental = SimpleNamespace(start=lambda folder: folders.append(Path(folder)), stop=stop, Trace=Trace)
    module: Any = ModuleType("tensorflow")
    module.profiler = SimpleNamespace(experimental=experimental)
    monkeypatch.setitem(sys.modules, "tensorflow", module)
    monkeypatch.setattr(TensorflowProfiler, "convert", staticmethod(tensorflow_events.events_in))
    written: list[str] = []

    def write(profiler: TensorflowProfiler) -> None:
        written.append(str(tmp_path / "rank-1.json.gz"))
        profiler.export_chrome_trace(written[-1])

    profiler = TensorflowProfiler(1, 3, 1, 2, write)
    profiler.start()
    for _ in range(4):
        assert not written
        profiler.step()
    profiler.stop()
    assert len(written) == 1 and not list((tmp_path / "tmp").iterdir())
    value = json.loads(gzip.decompress(Path(written[0]).read_bytes()))
    assert value["distributedInfo"] == {"backend": "tf", "rank": 1, "world_size": 2}
    steps = [each["name"] for each in value["traceEvents"] if each["name"].startswith("ProfilerStep")]
    assert steps == ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"]


@pytest.mark.parametrize("task", [0, 1])
def test_only_the_first_of_several_workers_is_recorded(
    task: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others can die of it: their steps are timed, and a note says why there is no trace."""
    started: list[str] = []
    module: Any = ModuleType("tensorflow")
    module.__version__ = "2.21.0"
    module.profiler = SimpleNamespace(
        experimental=SimpleNamespace(start=started.append, stop=lambda: None, Trace=lambda name: nullcontext())
    )
    context: Any = ModuleType("tensorflow.python.eager.context")
    worker = SimpleNamespace(job_name="worker", task_index=task)
    known = SimpleNamespace(_collective_leader="/job:worker/replica:0/task:0", _collective_ops_server_def=worker)
    context.context = lambda: known
    monkeypatch.setitem(sys.modules, "tensorflow", module)
    monkeypatch.setitem(sys.modules, "tensorflow.python.eager.context", context)
    monkeypatch.setenv("HK_RANK", str(task))
    monkeypatch.setattr(TensorflowProfiler, "convert", staticmethod(lambda *_: [("cpu_op", "a", 0.0, 1.0, 1, {})]))
    recorder = Recorder(str(tmp_path), 2, 3, False)
    recorder.engine, recorder.other_profiler = "tensorflow", TensorflowProfiler
    for _ in range(recorder.needed + 4):
        recorder.stepped(module)
    assert recorder.state == "complete" and len(started) == (task == 0)
    assert (tmp_path / f"rank-{task}.json.gz").exists() == (task == 0)
    told = recording(task, json.loads((tmp_path / f"rank-{task}.info.json").read_text()))
    assert told.complete and len(told.plain) == 6 and len(told.recorded) == (3 if task == 0 else 0)
    if task:
        assert json.loads((tmp_path / "rank-1.note.json").read_text())["reason"] == "follower"
