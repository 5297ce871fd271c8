"""What AutoParallel does not do is refused by name when a model is handed over; so are batches that do not fit."""

import errno
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import re

import torch
from torch import fx, nn
from torch.optim import LBFGS, SGD, lr_scheduler

from hackathon.parallel import AutoParallel
from hackathon.parallel.description.choice import best_of_all_ranks, micro_batches_of
from hackathon.parallel.live import checkpoint, requirements
from hackathon.parallel.live.capture import capture
from hackathon.parallel.live.layout import Layout
from hackathon.parallel.live.plans import run_plan
from hackathon.parallel.live.split import StagePart, Value
from hackathon.parallel.plan.devices import devices_of
from hackathon.parallel.plan.graph import graph_of
from hackathon.parallel.plan.request import PlanRequest
from hackathon.text.errors import RequestError
from support.paths import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.torch]
BATCH = (torch.randn(4, 3), torch.randn(4, 2))
LOSS = nn.functional.mse_loss


class Net(nn.Module):
    """Two layers, with dropout between them if there is to be some."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.first, self.last, self.dropout = nn.Linear(3, 4), nn.Linear(4, 2), dropout

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        if self.dropout:
            x = nn.functional.dropout(x, self.dropout, self.training)
        return self.last(x)  # type: ignore[no-any-return]


def plan(model: nn.Module | None = None, **changes: Any) -> dict[str, Any]:
    """Return a plan of one stage for a model, or the default one, with some fields of the stage or the plan changed."""
    captured = capture(model or Net(), (BATCH[0][:2],), {}, LOSS, BATCH[1][:2], evaluation=False)
    stage = {"operators": list(captured.operators), "replicas": 1} | {
        key: changes.pop(key) for key in list(changes) if key in ("operators", "replicas", "recompute", "offload")
    }
    return {"schema_version": 1, "micro_batches": 2, "stages": [stage]} | changes


def checked_links(reader: int, device: str) -> None:
    """Check two processes with two stages each, of which the first sends a tensor to another."""
    value = Value("relu", 0, (reader,), (2,), (1,), torch.float32, True)
    part = StagePart(0, fx.GraphModule({}, fx.Graph()), ("relu",), (), (), (value,), (), (), (), False)
    requirements.check_links([part], Layout((1,) * 4, 2), torch.device(device))


def four_stages() -> dict[str, Any]:
    return {"stages": [{"operators": [name], "replicas": 1} for name in "abcd"]}


def in_two(replicas: list[int]) -> dict[str, Any]:
    """Return a plan of two stages."""
    names = list(capture(Net(), (BATCH[0][:2],), {}, LOSS, BATCH[1][:2], evaluation=False).operators)
    stages = [
        {"operators": each, "replicas": count} for each, count in zip((names[:1], names[1:]), replicas, strict=True)
    ]
    return {"schema_version": 1, "micro_batches": 2, "stages": stages}


def sgd(parameters: Any) -> Any:
    return SGD(parameters, 0.1)


def made(model: nn.Module | None = None, **changes: Any) -> AutoParallel:
    options: dict[str, Any] = {"loss": LOSS, "optimizer": sgd, "example": BATCH, "plan": None, "seed": 1} | changes
    if "plan" not in changes:
        options["plan"] = plan()
    return AutoParallel(model or Net(), **options)


def hooked() -> nn.Module:
    model = Net()
    model.first.register_forward_hook(lambda *given: None)
    return model


def with_lock() -> nn.Module:
    model = Net()
    model.lock = threading.Lock()  # type: ignore[assignment]
    return model


class Branching(nn.Module):
    """A model that asks for the value of a tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(Net(), Asking())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)  # type: ignore[no-any-return]


class Asking(nn.Module):
    """The guilty part."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.sum() > 0 else x


def hooked_parameter() -> nn.Module:
    model = Net()
    model.last.bias.register_hook(lambda gradient: gradient)
    return model


def partly_on_meta() -> nn.Module:
    with torch.device("meta"):
        model = Net()
    model.last = nn.Linear(4, 2)
    return model


class TrainedLoss(nn.Module):
    """A loss with a weight of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return LOSS(output, target) * self.weight.sum()


REFUSED: dict[str, tuple[str, Callable[[], Any]]] = {
    "a plan that does not fit": ("infeasible", lambda: made(plan=plan(feasible=False, stages=[]))),
    "more replicas than micro-batches": ("idle_replicas", lambda: made(plan=plan(replicas=3))),
    "processes that are missing": ("ranks", lambda: made(plan=plan(replicas=2))),
    "parameters in main memory, rounded": ("offload", lambda: made(plan=plan(offload=True), precision="bf16")),
    "divided parameters in main memory": (
        "shard", lambda: made(plan=plan(replicas=2, offload=True), shard=True),
    ),
    "divided parameters, compiled": ("shard", lambda: made(plan=plan(replicas=2), compiler="eager", shard=True)),
    "replicas that do not make as many passes": (
        "shard_uneven", lambda: made(plan=plan(replicas=2, micro_batches=3), shard=True),
    ),
    "a tensor past a stage, interleaved on GPUs": ("interleaved_skip", lambda: checked_links(reader=3, device="cuda")),
    "divided and whole parameters at once": (
        "shard_optimizer", lambda: requirements.check_mixed(SGD(Net().parameters(), 0.1, foreach=True)),
    ),
    "interleaved stages, divided": (
        "interleaved_option", lambda: made(schedule="interleaved-1f1b", shard=True),
    ),
    "two backward passes, compiled": (
        "interleaved_option", lambda: made(schedule="interleaved-zero-bubble", compiler="eager"),
    ),
    "interleaved stages with other replicas": (
        "interleaved_replicas", lambda: made(plan=in_two(replicas=[1, 2]), schedule="interleaved-1f1b"),
    ),
    "one stage to interleave": ("interleaved_stages", lambda: made(schedule="interleaved-1f1b")),
    "interleaved stages on too few processes": (
        "interleaved_stages", lambda: made(plan=in_two(replicas=[2, 2]), schedule="interleaved-1f1b"),
    ),
    "micro-batches that make no rounds": (
        "interleaved_micro_batches",
        lambda: requirements.chunks_of(
            run_plan({"schema_version": 1, "micro_batches": 5} | four_stages()), 2, "interleaved-1f1b", compiler=False,
            shard=False,
        ),
    ),
    "a plan of another model": ("plan_unknown", lambda: made(plan=plan(Net(0.5)))),
    "a plan of a smaller model": ("plan_missing", lambda: made(plan=plan(operators=["linear"]))),
    "a hook": ("capture.hook", lambda: made(hooked())),
    "a lock in the model": ("not_copied", lambda: made(with_lock())),
    "a branch on a value": ("capture.not_captured", lambda: made(Branching())),
    "a hook of a parameter": ("hooked", lambda: made(hooked_parameter())),
    "a wrapped model": ("wrapped", lambda: made(nn.DataParallel(Net()))),
    "sparse gradients": ("sparse", lambda: made(nn.Sequential(nn.Embedding(3, 3, sparse=True)))),
    "parameters without shape": ("lazy", lambda: made(nn.Sequential(nn.LazyLinear(3)))),
    "a trained loss": ("trained_loss", lambda: made(loss=TrainedLoss())),
    "no loss": ("no_loss", lambda: made(loss=None, example=BATCH[0])),
    "another schedule": ("schedule", lambda: made(schedule="zero-bubble")),
    "another precision": ("precision", lambda: made(precision="fp16")),
    "dropout in a compiled stage": (
        "compiled_dropout", lambda: made(Net(0.5), plan=plan(Net(0.5)), compiler="aot_eager"),
    ),
    "an optimizer with a closure": ("optimizer", lambda: made(optimizer=lambda p: LBFGS(p))),
    "no optimizer": ("no_optimizer", lambda: made(optimizer=lambda p: None)),
    "a batch without target": ("no_target", lambda: made(example={"x": BATCH[0]})),
    "samples that cannot be divided": ("indivisible", lambda: made(plan=plan(micro_batches=3))),
    "tensors of different lengths": ("uneven_inputs", lambda: made(example=(BATCH[0], BATCH[1][:3]))),
    "another batch": ("other_batch", lambda: made().step((BATCH[0].double(), BATCH[1]))),
    "a smaller batch": ("other_batch", lambda: made().step((BATCH[0][:2], BATCH[1][:2]))),
    "training in evaluation mode": ("evaluating", lambda: made().eval().step(BATCH)),
    "output in training mode": ("training", lambda: made()(BATCH[0])),
    "a state without a parameter": ("state_missing", lambda: made().load_state_dict({})),
    "a state with another parameter": (
        "state_unknown", lambda: made().load_state_dict(Net().state_dict() | {"other": torch.ones(1)}),
    ),
    "a state of another shape": (
        "other_shape", lambda: made().load_state_dict(Net().state_dict() | {"last.bias": torch.ones(3)}),
    ),
    "values beside the meta device": ("partly_meta", lambda: made(partly_on_meta())),
    "a checkpoint that is none": ("no_checkpoint", lambda: made().load("/nowhere")),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_supported_is_refused_by_name(name: str) -> None:
    identifier, call = REFUSED[name]
    with pytest.raises(RequestError) as refused:
        call()
    assert refused.value.id == (identifier if "." in identifier else f"auto_parallel.{identifier}")
    assert refused.value.message and "{" not in refused.value.message
    assert refused.value.hint is None or "{" not in refused.value.hint


def test_each_refusal_has_its_test() -> None:
    elsewhere = {  # in test_live_split.py, test_module_plans.py, tests/cluster/test_partitioned_training.py, and below
        "plan_glued", "plan_backwards", "batches_differ", "statistics", "rank_lost", "not_initialised",
        "evaluation_differs", "output_without_samples", "no_plan_fits", "no_plan_made", "module_level", "module_inputs",
        "module_failed", "handed_on", "handed_changes", "shared_buffer", "unused_processes", "slow_stage",
        "slow_circle",
    }  # fmt: skip
    code = "".join(path.read_text() for path in (ROOT / "hackathon" / "parallel").rglob("*.py"))
    ids = set(re.findall(r'"auto_parallel\.([a-z_]+)",', code))
    assert ids - elsewhere == {identifier for identifier, _ in REFUSED.values() if "." not in identifier}


def test_a_model_that_cannot_be_captured_is_refused_with_module_file_and_line() -> None:
    with pytest.raises(RequestError) as refused:
        made(Branching())
    values = refused.value.values
    assert values["module"] == "inner.1 (Asking)" and values["path"] == __file__
    line = Path(__file__).read_text().splitlines()[int(str(values["line"])) - 1]
    assert "x.sum() > 0" in line


def test_without_a_plan_one_is_made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hackathon.parallel.description.choice.MEASURING", 0.2)
    parallel = made(plan=None, micro_batches=2)
    assert parallel.plan.replicas == (1,) and parallel.plan.micro_batches == 2
    torch.manual_seed(2)
    assert float(parallel.step(BATCH)) > 0
    assert made(plan=None).plan.micro_batches == 4  # of four samples, one in each


def test_tensors_for_the_next_stage_and_for_own_stages_are_sent_on_gpus_too() -> None:
    checked_links(reader=1, device="cuda")
    checked_links(reader=2, device="cuda")  # of the same process
    checked_links(reader=3, device="cpu")


def test_divided_and_whole_parameters_are_taken_one_by_one() -> None:
    optimizer = SGD(Net().parameters(), 0.1)
    requirements.check_mixed(optimizer)
    assert optimizer.param_groups[0]["foreach"] is False


def test_a_plan_made_here_uses_each_process_or_none_fits() -> None:
    rows = [
        {"name": f"o{n}", "forward": 1.0, "backward": 2.0, "parameters": 4e9, "saved": 0, "workspace": 0}
        for n in range(4)
    ]
    edges = [{"from": f"o{n}", "to": f"o{n + 1}", "bytes": 0} for n in range(3)]
    graph = graph_of({"schema_version": 1, "operators": rows, "edges": edges}, "graph.json")
    for memory, stages in ((1e11, {1, 2, 4}), (2e10, {4})):
        devices = devices_of({"count": 4, "memory": memory, "bandwidth": 1e9}, "devices.json")
        found = best_of_all_ranks(PlanRequest(graph, devices, 8, seconds=5.0), False)
        assert sum(each["replicas"] for each in found["stages"]) == 4 and len(found["stages"]) in stages
    devices = devices_of({"count": 4, "memory": 1e9, "bandwidth": 1e9}, "devices.json")
    with pytest.raises(RequestError) as refused:
        best_of_all_ranks(PlanRequest(graph, devices, 8, seconds=5.0), False)
    assert refused.value.id == "auto_parallel.no_plan_fits" and refused.value.values["memory"] == "1"
    assert refused.value.hint is not None and "plan_here also takes recompute=auto" in refused.value.hint
    assert micro_batches_of(24, 2) == 8 and micro_batches_of(7, 1) == 1 and micro_batches_of(9, 4) == 9


@pytest.mark.parametrize(
    ("memory", "micro_batches", "identifier"),
    [(1e11, 2, "unused_processes"), (1e11, 3, None), (1.0, 2, "no_plan_fits"), (1.0, 3, "no_plan_fits")],
)
def test_processes_that_cannot_be_used_are_not_said_to_lack_memory(
    memory: float, micro_batches: int, identifier: str | None
) -> None:
    row = {"name": "o", "forward": 1.0, "backward": 2.0, "parameters": 40, "saved": 0, "workspace": 0}
    graph = graph_of({"schema_version": 1, "operators": [row], "edges": []}, "graph.json")
    devices = devices_of({"count": 3, "memory": memory, "bandwidth": 1e9}, "devices.json")
    request = PlanRequest(graph, devices, micro_batches, seconds=1.0)
    if identifier is None:
        assert [each["replicas"] for each in best_of_all_ranks(request, False)["stages"]] == [3]
        return
    with pytest.raises(RequestError) as refused:
        best_of_all_ranks(request, False)
    assert refused.value.id == f"auto_parallel.{identifier}" and "{" not in refused.value.message
    if identifier == "unused_processes":
        assert refused.value.values == {"count": 3, "parts": 1, "micro_batches": 2}


def test_what_is_supported_is_accepted() -> None:
    first = Net()
    parallel = made(first, plan=plan())
    before = {name: each.clone() for name, each in parallel.state_dict().items()}
    losses = [float(parallel.step(BATCH)) for _ in range(5)]
    assert losses[-1] < losses[0]
    assert any(not torch.equal(before[name], each) for name, each in parallel.state_dict().items())
    parallel.load_state_dict(before)
    assert all(torch.equal(before[name], each) for name, each in parallel.state_dict().items())
    assert float(parallel.eval().evaluate(BATCH)) == pytest.approx(losses[0], rel=1e-5)


def test_the_random_numbers_of_the_program_stay_its_own() -> None:
    parallel = made(Net(0.5), plan=plan(Net(0.5)))
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    parallel.step(BATCH)
    assert torch.equal(torch.rand(2), expected)


def test_evaluating_leaves_the_random_numbers_of_the_program(tmp_path: Path) -> None:
    class Noisy(Net):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(nn.functional.dropout(x, 0.5))  # in evaluation, too

    parallel = made(Noisy(), plan=plan(Noisy()))
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    parallel.eval().evaluate(BATCH)
    assert torch.equal(torch.rand(2), expected)
    # what is drawn depends on the micro-batch and on the step, also on one that was loaded
    first, second = parallel(torch.ones(4, 3)).split(2)
    assert not torch.equal(first, second)
    parallel.train().step(BATCH)
    parallel.save(tmp_path)
    known = parallel.eval()(BATCH[0])
    other = made(Noisy(), plan=plan(Noisy()), seed=2)
    other.load(tmp_path)
    assert torch.equal(other.eval()(BATCH[0]), known)


def test_a_model_on_the_meta_device_that_cannot_be_initialised_is_refused() -> None:
    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.empty(3, 2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x @ self.weight

    with torch.device("meta"):
        model = Own()
    whole = plan(Own())
    with pytest.raises(RequestError) as refused:
        made(model, plan=whole)
    assert refused.value.id == "auto_parallel.not_initialised"
    with torch.device("meta"):
        model = Own()
    parallel = made(model, plan=whole, initialise=lambda module: nn.init.constant_(module.weight, 0.25))
    assert torch.equal(parallel.state_dict()["weight"], torch.full((3, 2), 0.25))


def test_a_buffer_with_values_on_a_model_on_the_meta_device_is_accepted() -> None:
    class Scaled(Net):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("scale", torch.ones(3, device="cpu"), persistent=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x * self.scale)  # type: ignore[operator]

    with torch.device("meta"):
        model = Scaled()
    assert not model.scale.is_meta  # type: ignore[union-attr]
    parallel = made(
        model, plan=plan(Scaled()), initialise=lambda each: each.scale.fill_(1) if isinstance(each, Scaled) else None
    )
    assert float(parallel.step(BATCH)) > 0


class Attending(nn.Module):
    """A module with a weight, a buffer of whole numbers and children of its own, and layers as torch has them."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))
        self.register_buffer("places", torch.arange(3))
        self.enter, self.leave = nn.Linear(3, 4), nn.Linear(4, 2)
        self.layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = self.enter(x + self.places) * self.scale
        return self.leave(self.layer(rows.unsqueeze(1)).squeeze(1))  # type: ignore[no-any-return]


def test_children_of_a_module_with_numbers_of_its_own_are_made_too() -> None:
    def initialise(module: nn.Module) -> None:
        if isinstance(module, Attending):
            nn.init.ones_(module.scale)
            module.places.copy_(torch.arange(3))

    whole = plan(Attending())
    states = []
    for _ in range(2):
        with torch.device("meta"):
            model = Attending()
        states.append(made(model, plan=whole, initialise=initialise).state_dict())
    first, second = states
    assert list(first) == list(Attending().state_dict())
    assert all(each.isfinite().all() and torch.equal(each, second[name]) for name, each in first.items())
    assert first["places"].tolist() == [0, 1, 2] and first["layer.norm1.weight"].eq(1).all()
    # as the modules make themselves, and not the memory as it was
    for name in ("enter.weight", "layer.self_attn.in_proj_weight", "layer.self_attn.out_proj.weight"):
        assert 0 < first[name].abs().max() < 1 and first[name].std() > 0


@pytest.mark.parametrize("forgotten", ["scale", "places"])
def test_numbers_that_initialise_forgets_are_refused(forgotten: str) -> None:
    def initialise(module: nn.Module) -> None:
        if isinstance(module, Attending):
            for name, each in (("scale", module.scale), ("places", module.places)):
                if name != forgotten:
                    each.fill_(0)

    with torch.device("meta"):
        model = Attending()
    with pytest.raises(RequestError) as refused:
        made(model, plan=plan(Attending()), initialise=initialise)
    assert refused.value.id == "auto_parallel.not_initialised" and refused.value.values["module"] == "Attending"


def test_an_example_with_a_loss_that_holds_tensors_is_evaluated_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    loss = nn.CrossEntropyLoss(weight=torch.ones(2))
    batch = (BATCH[0], torch.zeros(4, dtype=torch.long))
    captured = capture(Net(), (batch[0][:2],), {}, loss, batch[1][:2], evaluation=False)
    parallel = made(Net(), loss=loss, example=batch, plan=plan(operators=list(captured.operators)))
    expected = float(parallel.eval().evaluate(batch))
    assert expected > 0
    # no GPU: tensors on the meta device do not go with those of the CPU either
    parallel.device = torch.device("meta")
    monkeypatch.setattr(AutoParallel, "__call__", lambda self, x: torch.empty(len(x), 2, device=self.device))
    assert parallel.evaluate(batch).is_meta


def test_a_checkpoint_with_numbers_of_numpy_can_be_loaded(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    parallel = made()
    parallel.optimizer.param_groups[0]["lr"] = numpy.float64(0.125)
    parallel.optimizer.param_groups[0]["own"] = {"rates": [numpy.float32(0.5)], "pair": (numpy.int64(3), "a")}
    parallel.step(BATCH)
    parallel.save(tmp_path)
    other = made()
    other.load(tmp_path)
    (group,) = other.optimizer.param_groups
    assert type(group["lr"]) is float and group["lr"] == 0.125
    assert group["own"] == {"rates": [0.5], "pair": (3, "a")} and other.steps == 1


def falling(parameters: Any) -> Any:
    optimizer = SGD(parameters, 0.1)
    return optimizer, lr_scheduler.MultiStepLR(optimizer, [2, 3, 3], 0.1)


def falling_later(parameters: Any) -> Any:
    optimizer = SGD(parameters, 0.1)
    parts = [lr_scheduler.MultiStepLR(optimizer, [at], 0.1) for at in (9, 2)]
    return optimizer, lr_scheduler.SequentialLR(optimizer, parts, [1])


def with_words(parameters: Any) -> Any:
    class Rate:
        """A rate with numbers of its own, under words that are digits."""

        def __init__(self) -> None:
            self.rates = {"1": 0.5, "2": 0.25}

        def __call__(self, step: int) -> float:
            return self.rates.get(str(step), 1.0)

    optimizer = SGD(parameters, 0.1)
    return optimizer, lr_scheduler.LambdaLR(optimizer, Rate())


@pytest.mark.parametrize(
    ("optimizer", "rates"),
    [(falling, [0.1, 0.01, 0.0001, 0.0001]), (falling_later, [0.1, 0.1, 0.01]), (with_words, [0.05, 0.025, 0.1])],
)
def test_a_schedule_goes_on_from_a_checkpoint(
    optimizer: Callable[[Any], Any], rates: list[float], tmp_path: Path
) -> None:
    parallel = made(optimizer=optimizer)
    for number, rate in enumerate(rates):
        parallel.step(BATCH)
        assert parallel.optimizer.param_groups[0]["lr"] == pytest.approx(rate)
        parallel.save(tmp_path / str(number))
        parallel = made(optimizer=optimizer)
        parallel.load(tmp_path / str(number))


def test_the_step_of_an_optimizer_is_where_it_computes(tmp_path: Path) -> None:
    """No GPU: the meta device stands for it."""
    parallel = made(optimizer=lambda parameters: torch.optim.Adam(parameters, 0.1))
    parallel.step(BATCH)
    for option in (None, "fused", "capturable"):
        if option:
            parallel.optimizer.param_groups[0][option] = True
        parallel.save(tmp_path)
        with torch.device("meta"):
            named = dict(Net().named_parameters())
        optimizer = torch.optim.Adam(named.values(), 0.1)
        checkpoint.Checkpoint(tmp_path).into_optimizer(optimizer, named)
        for each in named.values():
            state = optimizer.state[each]
            assert state["exp_avg"].is_meta and state["step"].is_meta == (option is not None), option


def test_other_states_than_the_step_are_beside_their_parameter(tmp_path: Path) -> None:
    """Adafactor keeps a number for each row and each column of a matrix."""
    parallel = made(optimizer=lambda parameters: torch.optim.Adafactor(parameters, 0.1))
    parallel.step(BATCH)
    parallel.save(tmp_path)
    with torch.device("meta"):
        named = dict(Net().named_parameters())
    optimizer = torch.optim.Adafactor(named.values(), 0.1)
    checkpoint.Checkpoint(tmp_path).into_optimizer(optimizer, named)
    state = optimizer.state[named["first.weight"]]
    assert state["row_var"].is_meta and state["row_var"].shape == (4, 1) and state["step"].device.type == "cpu"


@pytest.mark.parametrize("sizes", [[100_000], [40_000, 40_000, 10]])
def test_a_file_that_cannot_be_written_is_an_error_of_the_system(sizes: list[int], tmp_path: Path) -> None:
    program = (
        "import resource, sys, torch, pathlib\nfrom hackathon.parallel.live import checkpoint, exchange, layout\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))\n"
        f"state = {{str(at): torch.nn.Parameter(torch.ones(size)) for at, size in enumerate({sizes})}}\n"
        "alone = exchange.Messenger(layout.Layout((1,)), 0, torch.device('cpu'), 1.0)\n"
        "try:\n"
        "    checkpoint.save(pathlib.Path(sys.argv[1]), state, torch.optim.SGD(state.values()), alone, {'step': 1})\n"
        "except OSError as error:\n    print(error.errno)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == [str(errno.EFBIG)], done.stderr
    assert not (tmp_path / checkpoint.INDEX).exists()


def test_a_checkpoint_that_holds_more_than_numbers_is_refused(tmp_path: Path) -> None:
    parallel = made()
    parallel.optimizer.param_groups[0]["own"] = Path("a")
    parallel.save(tmp_path)
    with pytest.raises(RequestError) as refused:
        made().load(tmp_path)
    assert refused.value.id == "auto_parallel.no_checkpoint"


def test_an_output_that_is_not_one_row_per_sample_is_refused() -> None:
    class Turned(Net):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x).t()

    loss: Any = lambda output, target: LOSS(output.t(), target)  # noqa: E731
    captured = capture(Turned(), (BATCH[0][:2],), {}, loss, BATCH[1][:2], evaluation=False)
    parallel = made(Turned(), loss=loss, plan=plan(operators=list(captured.operators)))
    assert parallel.eval()(BATCH[0][:2]).shape == (2, 2)  # one micro-batch need not be joined
    with pytest.raises(RequestError) as refused:
        parallel(torch.randn(5, 3))
    assert refused.value.id == "auto_parallel.output_without_samples"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"schema_version": 2}, "schema_version"), ({"stages": []}, "stages"), ({"stages": {}}, "stages"),
        ({"micro_batches": 0}, "micro_batches"), ({"micro_batches": True}, "micro_batches"),
        ({"stages": [{"operators": []}]}, "stages[0].replicas"),
        ({"stages": [{"operators": [], "replicas": 1}]}, "stages[0].operators"),
        ({"stages": [{"operators": ["a", 3], "replicas": 1}]}, "stages[0].operators[1]"),
        ({"stages": [{"operators": ["a"], "replicas": 1.5}]}, "stages[0].replicas"),
        ({"stages": [{"operators": ["a"], "replicas": 1}, {"operators": ["a"], "replicas": 1}]}, "stages[1].operators"),
    ],
)  # fmt: skip
def test_what_is_no_plan_is_refused_with_its_field(change: dict[str, Any], field: str, tmp_path: Path) -> None:
    value = {"schema_version": 1, "micro_batches": 2, "stages": [{"operators": ["a"], "replicas": 1}]}
    assert run_plan(value).stage_of == {"a": 0}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(value | change))
    with pytest.raises(RequestError) as refused:
        run_plan(file)
    assert refused.value.values["field"] == field


def test_the_package_does_not_load_torch() -> None:
    program = "import sys, hackathon.parallel; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
