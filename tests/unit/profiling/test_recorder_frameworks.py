"""What the recorder counts, with stand-ins for frameworks, also for those that are not what it expects."""

import json
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from hackathon.profiling.outside import seen
from support.paths import ROOT

RECORDER = ROOT / "templates" / "jobs" / "steps.py"


@pytest.fixture
def names() -> dict[str, Any]:
    """What the recorder defines."""
    defined: dict[str, Any] = {"__name__": "recorder"}
    exec(compile(RECORDER.read_text(), "<frozen importlib hackathon>", "exec"), defined)
    defined["MARK_SECONDS"] = 0.0  # all steps are recorded
    return defined


@pytest.fixture
def recorder(names: dict[str, Any], tmp_path: Path) -> Any:
    return names["Recorder"](str(tmp_path / "rank-0.json"))


def record(recorder: Any) -> dict[str, Any]:
    recorder.write()
    value = json.loads(Path(recorder.path).read_text())
    recorder.stop()
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize(
    ("calls", "rounds"),
    [
        ("A" * 40, 40),
        ("AB" * 40, 40),
        ("AAAAAB" * 30, 30),  # WGAN: five steps of the critic
        ("BAAAAA" * 30, 30),
        ("A" * 39 + "B" + "A" * 60, 99),  # one step of another optimizer
        (("A" * 40 + "B") * 6, 240),  # too rarely for a round
        ("A" * 20 + "B" * 20, 40),  # one after the other
    ],
)
def test_a_round_of_several_optimizers_is_a_step_of_the_slowest(recorder: Any, calls: str, rounds: int) -> None:
    optimizers = {"A": object(), "B": object()}
    for call in calls:
        recorder.stepped(optimizers[call], "torch", lambda: "cpu")
    assert abs(recorder.steps - rounds) <= 1
    recorder.stop()


def test_steps_that_a_grad_scaler_leaves_out_are_counted_apart(names: dict[str, Any], recorder: Any) -> None:
    class GradScaler:
        def step(self, optimizer: object, finite: bool) -> None:
            if finite:
                recorder.stepped(optimizer, "torch", lambda: "cpu")

    optimizer, scaler = object(), GradScaler()
    names["attach_scaler"](recorder, SimpleNamespace(GradScaler=GradScaler))
    recorder.thread = names["get_ident"]()
    for number in range(20):
        scaler.step(optimizer, number % 5 != 4)
    value = record(recorder)
    assert (value["steps"], value["skipped"]) == (16, 4)


class CallbackList:
    """Keras' list of callbacks."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.calls = 0

    def on_epoch_begin(self, epoch: int) -> None:
        pass

    def on_train_batch_end(self, batch: int) -> None:
        self.calls += 1


def model(**attributes: Any) -> Any:
    return SimpleNamespace(optimizer=SimpleNamespace(), **attributes)


def fit(callbacks: CallbackList, batch_size: int | None, epochs: int = 2) -> None:
    """Train as `fit` of Keras 3 does."""
    epoch_iterator = SimpleNamespace(data_adapter=SimpleNamespace(batch_size=batch_size))
    for epoch in range(epochs):
        callbacks.on_epoch_begin(epoch)
        for batch in range(20):
            callbacks.on_train_batch_end(batch)
    del epoch_iterator


def fit_2(callbacks: CallbackList, batch_size: int) -> None:
    """Train as `fit` of Keras 2 does."""
    data_handler = SimpleNamespace(_adapter=SimpleNamespace(batch_size=lambda: batch_size))
    for batch in range(40):
        callbacks.on_train_batch_end(batch)
    del data_handler


def strategy(name: str, workers: int) -> Any:
    return type(name, (), {"extended": SimpleNamespace(_num_workers=workers)})()


@pytest.fixture
def keras(names: dict[str, Any], recorder: Any) -> Any:
    names["attach_keras"](recorder, SimpleNamespace(CallbackList=CallbackList))
    return recorder


def test_keras_steps_and_samples_are_counted(keras: Any) -> None:
    callbacks = CallbackList(model(steps_per_execution=1))
    fit(callbacks, 16)
    value = record(keras)
    assert (value["framework"], value["steps"], callbacks.calls) == ("keras", 40, 40)
    assert value["work"] == [[16, 0, True, 36]]  # without three steps at the start and the first of an epoch
    assert value["group"]["world"] == 0 and value["group"]["collectives"] is None
    assert seen(value) is None


def test_keras_batches_of_unknown_size_are_no_samples(keras: Any) -> None:
    fit(CallbackList(model()), None)
    assert record(keras)["work"] == [[0, 0, False, 36]]


def test_keras_2_tells_its_batch_size_too(keras: Any) -> None:
    fit_2(CallbackList(model(_steps_per_execution=1)), 8)
    assert record(keras)["work"] == [[8, 0, True, 37]]


@pytest.mark.parametrize(("batches", "steps"), [(1, 40), (8, None)])
def test_keras_2_has_a_variable_of_the_strategy(keras: Any, batches: int, steps: int | None) -> None:
    variable = SimpleNamespace(numpy=lambda: batches)  # `int` refuses it
    fit_2(CallbackList(model(_steps_per_execution=variable)), 8)
    assert keras.over == (steps is None)
    assert steps is None or record(keras)["steps"] == steps


def test_keras_accumulates_gradients(keras: Any) -> None:
    accumulating = model()
    accumulating.optimizer.gradient_accumulation_steps = 4
    fit_2(CallbackList(accumulating), 8)
    value = record(keras)
    assert (value["steps"], value["work"]) == (10, [[32, 0, True, 7]])


def test_keras_with_several_batches_in_one_execution_is_not_recorded(keras: Any) -> None:
    callbacks = CallbackList(model(steps_per_execution=8))
    fit(callbacks, 16)
    assert keras.over and callbacks.calls == 40 and not Path(keras.path).exists()


@pytest.mark.parametrize(
    ("name", "workers", "world", "others"),
    [
        ("MultiWorkerMirroredStrategy", 4, 4, []),
        ("MirroredStrategy", 1, 0, []),
        ("_DefaultDistributionStrategy", 1, 0, []),
        ("ParameterServerStrategyV2", 1, 0, ["tensorflow.ParameterServerStrategyV2"]),
    ],
)
def test_a_worker_counts_its_part_of_the_batch(
    keras: Any, name: str, workers: int, world: int, others: list[str]
) -> None:
    fit(CallbackList(model(distribute_strategy=strategy(name, workers))), 32)
    value = record(keras)
    assert value["work"][0][0] == 32 // workers
    assert value["group"]["world"] == world
    assert [other for other in value["group"]["others"] if other.startswith("tensorflow")] == others


def test_chainer_updates_batches_and_communicators_are_counted(names: dict[str, Any], recorder: Any) -> None:
    class GradientMethod:
        target = SimpleNamespace(params=lambda: iter(()))

        def update(self) -> None:
            pass

    class MultiNodeOptimizer:
        communicator = SimpleNamespace(size=4)
        actual = GradientMethod()

        def update(self) -> None:
            self.actual.update()

    class StandardUpdater:
        is_new_epoch = False
        optimizer = MultiNodeOptimizer()

        def get_iterator(self, name: str) -> Any:
            return SimpleNamespace(batch_size={"main": 32}[name])

        def update_core(self) -> None:
            self.optimizer.update()

    names["attach_chainer"](recorder, SimpleNamespace(GradientMethod=GradientMethod))
    names["attach_updater"](recorder, SimpleNamespace(StandardUpdater=StandardUpdater))
    names["attach_chainermn"](recorder, SimpleNamespace(_MultiNodeOptimizer=MultiNodeOptimizer))
    updater = StandardUpdater()
    for number in range(20):
        updater.is_new_epoch = number == 10
        updater.update_core()
    value = record(recorder)
    assert (value["framework"], value["steps"], value["work"]) == ("chainer", 20, [[32, 0, True, 16]])
    assert (value["group"]["world"], value["group"]["collectives"]) == (4, 20)


def test_horovod_tells_its_processes_and_exchanges(
    names: dict[str, Any], recorder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class DistributedOptimizer:
        def __init__(self) -> None:
            self._handles = dict.fromkeys(range(3))

        def synchronize(self) -> None:
            self._handles.clear()

    sizes = cycle([2])

    def size() -> int:
        return next(sizes)

    monkeypatch.setitem(names["sys"].modules, "horovod", ModuleType("horovod"))
    operations: Any = ModuleType("horovod.torch.mpi_ops")
    operations.size = size
    monkeypatch.setitem(names["sys"].modules, "horovod.torch.mpi_ops", operations)
    names["attach_horovod"](recorder, SimpleNamespace(_DistributedOptimizer=DistributedOptimizer))
    optimizer = object()
    for _ in range(10):
        DistributedOptimizer().synchronize()
        recorder.stepped(optimizer, "torch", lambda: "cpu")
    operations.size = None  # it has ended
    group = record(recorder)["group"]
    assert (group["world"], group["collectives"]) == (2, 30)
    assert "horovod" not in group["others"]


class Broken:
    """A class of a framework of which nothing is as expected."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    step = update = update_core = synchronize = wait = phase = _next_index = on_epoch_begin = on_train_batch_end = (
        lambda self: "done"
    )


METHODS = [name for name, value in vars(Broken).items() if callable(value) and name != "__getattr__"]


@pytest.mark.parametrize("shape", ["empty", "broken"])
def test_a_framework_that_is_not_as_expected_goes_on(names: dict[str, Any], recorder: Any, shape: str) -> None:
    kinds: list[type[Broken]] = []

    class Framework(ModuleType):
        def __getattr__(self, name: str) -> Any:
            if shape == "empty" or name.startswith("__"):
                raise AttributeError(name)
            kinds.append(type(name, (Broken,), dict(vars(Broken))))
            setattr(self, name, kinds[-1])
            return kinds[-1]

    for name in names["ATTACHED"]:
        if name != "torch.autograd.profiler":
            names["attach"](recorder, name, Framework(name))
    for kind in kinds:
        framework: Any = kind()
        for method in METHODS:
            call: Callable[[], str] = getattr(framework, method)
            assert call() == "done"
            del call
    assert (shape == "broken") == bool(kinds)
    recorder.leave()


def test_groups_that_fail_leave_the_answer_open(
    names: dict[str, Any], recorder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Distributed(ModuleType):
        def is_initialized(self) -> bool:
            raise RuntimeError

    module = Distributed("torch.distributed.distributed_c10d")
    monkeypatch.setitem(names["sys"].modules, "torch.distributed.distributed_c10d", module)
    for _ in range(10):
        recorder.stepped(recorder, "torch", lambda: "cpu")
    assert record(recorder)["group"]["collectives"] is None
