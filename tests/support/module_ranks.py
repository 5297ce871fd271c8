"""Trains chains of modules that cannot be captured, several processes over gloo, against a plain loop.

    python module_ranks.py OUT RANKS SCENARIO… [RANKS SCENARIO…]

As `partitioned_ranks`, whose processes it uses.
"""

import random
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from hackathon.parallel import AutoParallel
from hackathon.parallel.description import choice
from hackathon.parallel.live import batches
from hackathon.parallel.live.checkpoint import load_plain
from hackathon.parallel.live.seeds import mixed
from support import partitioned_ranks
from support.partitioned_ranks import SEED, STEPS, adam, largest, main, momentum

PATHS = ["0", "1", "2", "3", "4.0", "4.1", "5", "6", "7", "8", "loss"]
"""Of the modules of `deciding`."""


class Deciding(nn.Module):
    """Asks for values: how often a loop runs, and what comes out."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rounds = 0
        while x.abs().mean() > 0.5 and rounds < 3:
            x, rounds = x * 0.8, rounds + 1
        return x if x.sum() > 0 else x.flip(1)


class Skipping(nn.Module):
    """Draws with Python, whether its layer runs, and with torch."""

    def __init__(self) -> None:
        super().__init__()
        self.inside = nn.Linear(12, 12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training or random.random() < 0.5:
            x = x + self.inside(x)
        return x + 0.1 * torch.rand_like(x) if self.training else x


class Parting(nn.Module):
    """Returns several tensors, of which one has no gradient."""

    def forward(self, x: torch.Tensor) -> dict[str, Any]:
        return {"values": (x, x.t().contiguous().t()), "places": x.argmax(1)}


class Joining(nn.Module):
    """Takes them."""

    def forward(self, parts: dict[str, Any]) -> torch.Tensor:
        first, second = parts["values"]
        return first * second.sigmoid() + 0.1 * parts["places"].unsqueeze(1)  # type: ignore[no-any-return]


class Averaging(nn.Module):
    """Puts another tensor into the place of its buffer."""

    mean: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(12))
        self.weight = nn.Parameter(torch.ones(12))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
        return x - self.weight * self.mean


def example(name: str, samples: int) -> tuple[nn.Sequential, Any, Any]:
    """Return a model, a batch and a loss: the same numbers each time."""
    torch.manual_seed(7)
    first, shared = nn.Linear(5, 12), nn.Linear(12, 12)
    layers = {
        "deciding": lambda: [
            first, nn.BatchNorm1d(12), nn.ReLU(inplace=True), Deciding(), nn.Sequential(shared, nn.Dropout(0.3)),
            Skipping(), Parting(), Joining(), nn.Linear(12, 3),
        ],
        "averaging": lambda: [first, Deciding(), Averaging(), nn.Tanh(), nn.Linear(12, 3)],
        "tied": lambda: [first, shared, Deciding(), nn.Dropout(0.2), shared, nn.Linear(12, 12), nn.Linear(12, 3)],
    }[name]()  # fmt: skip
    if name == "tied":
        layers[5].weight = shared.weight
    model = nn.Sequential(*layers)
    if name == "deciding":
        shared.register_forward_hook(lambda module, given, made: made * 1.5)
        model[3].register_full_backward_hook(lambda module, given, made: (given[0] * 0.5,))
    return model, (torch.randn(samples, 5), torch.randint(0, 3, (samples,))), F.cross_entropy


def plan_of(paths: list[str], cuts: list[int], replicas: list[int], micro_batches: int, **more: Any) -> dict[str, Any]:
    """Return a plan whose stages begin at these positions."""
    starts, ends = [0, *cuts], [*cuts, len(paths)]
    stages = [
        {"operators": paths[start:end], "replicas": count, **more}
        for start, end, count in zip(starts, ends, replicas, strict=True)
    ]
    return {"schema_version": 1, "micro_batches": micro_batches, "stages": stages}


def paths_of(model: nn.Sequential) -> list[str]:
    """Return the modules of a model without nested chains, and its loss."""
    return [*map(str, range(len(model))), "loss"]


class Plain:
    """One process with gradient accumulation: it calls the children one after another, and seeds before each."""

    def __init__(self, name: str, samples: int, optimizer: Callable[[Any], Any]) -> None:
        self.model, self.batch, self.loss = example(name, samples)
        self.optimizer, self.steps = optimizer(list(self.model.parameters())), 0
        self.children: list[nn.Module] = []
        for each in self.model:
            self.children += list(each) if isinstance(each, nn.Sequential) else [each]

    def step(self, micro_batches: int, precision: torch.dtype | None = None) -> torch.Tensor:
        self.optimizer.zero_grad()
        losses = []
        for number, (args, _, target) in enumerate(self.pieces(micro_batches)):
            with torch.autocast("cpu", precision) if precision else nullcontext():
                value = args[0]
                for at, child in enumerate(self.children):
                    seed = mixed(SEED, self.steps, number, at)
                    torch.manual_seed(seed)
                    random.seed(seed)
                    value = child(value)
                loss = self.loss(value, target)
            (loss / micro_batches).backward()
            losses.append(loss.detach().float())
        self.optimizer.step()
        self.steps += 1
        return torch.stack(losses)

    def pieces(self, micro_batches: int) -> list[batches.Inputs]:
        return batches.even_pieces(batches.inputs_of(self.batch, True), micro_batches)

    def outputs(self, micro_batches: int) -> torch.Tensor:
        """Return the output in evaluation mode, computed in the same portions."""
        self.model.eval()
        with torch.no_grad():
            rows = [self.model(args[0]) for args, _, _ in self.pieces(micro_batches)]
        self.model.train()
        return torch.cat(rows)


def compared(
    name: str, cuts: list[int], replicas: list[int], micro_batches: int, *, recompute: bool = False,
    optimizer: Callable[[Any], Any] = momentum, bf16: bool = False, schedule: str = "1f1b",
) -> dict[str, Any]:  # fmt: skip
    """Train both, and return how far they are apart."""
    samples = 3 * micro_batches
    model, batch, loss = example(name, samples)
    paths = PATHS if name == "deciding" else paths_of(model)
    plan = plan_of(paths, cuts, replicas, micro_batches, recompute=recompute)
    parallel = AutoParallel(
        model, loss=loss, optimizer=optimizer, example=batch, plan=plan, seed=SEED,
        precision="bf16" if bf16 else None, schedule=schedule,
    )  # fmt: skip
    plain = Plain(name, samples, optimizer)
    first = {key: each.clone() for key, each in plain.model.state_dict().items()}
    own = random.getstate(), torch.random.get_rng_state()
    losses = []
    for _ in range(STEPS):
        mean = parallel.step(batch)
        kept = random.getstate() == own[0] and torch.equal(torch.random.get_rng_state(), own[1])
        expected = plain.step(micro_batches, torch.bfloat16 if bf16 else None)
        random.setstate(own[0])
        torch.random.set_rng_state(own[1])
        losses.append(max(largest([parallel.losses], [expected]), largest([mean], [expected.mean()])))
    state, wanted = parallel.state_dict(), plain.model.state_dict()
    parameters = [key for key, _ in plain.model.named_parameters()]
    others = [key for key in wanted if key not in parameters]
    found = {
        "losses": max(losses), "kept": kept, "names": list(state) == list(wanted),
        "parameters": largest([state[key] for key in parameters], [wanted[key] for key in parameters]),
        "buffers": largest([state[key] for key in others], [wanted[key] for key in others]),
        "moved": largest([state[key] for key in parameters], [first[key] for key in parameters]),
        "held": parallel._pipeline.stage.held,
        "in flight": parallel._exchange.objects_of_all(parallel._pipeline.stage.most_held),
    }  # fmt: skip
    if not bf16:
        outputs = parallel.eval()(batch[0])
        found["evaluation"] = largest([outputs], [plain.outputs(micro_batches)])
        found["again"] = largest([parallel(batch[0])], [outputs])
        found["last"] = largest([parallel(batch[0][: samples - 1])], [outputs[: samples - 1]])
        found["trains"] = all(each.training for each in model.modules())
    return found


def checkpoints(out: Path) -> dict[str, Any]:
    """Save under one plan; go on under another, and in the plain program."""
    folder, count = out / "checkpoint", 4
    batch = example("deciding", 3 * count)[1]

    def made(cut: int) -> AutoParallel:
        model, batch, loss = example("deciding", 3 * count)
        plan = plan_of(PATHS, [cut], [1, 1], count)
        return AutoParallel(model, loss=loss, optimizer=adam, example=batch, plan=plan, seed=SEED)

    first = made(3)
    for _ in range(2):
        first.step(batch)
    first.save(folder)
    whole = first.state_dict()
    first.step(batch)
    expected = first.state_dict()
    second = made(8)
    second.load(folder)
    found = {"loaded": largest(second.state_dict().values(), whole.values())}
    second.step(batch)
    found["other plan"] = largest(second.state_dict().values(), expected.values())
    plain = Plain("deciding", 3 * count, adam)
    plain.steps = load_plain(folder, plain.model, plain.optimizer)
    plain.step(count)
    found["plain"] = largest(plain.model.state_dict().values(), expected.values())
    found["moved"] = largest(expected.values(), whole.values())
    return found


def own_plan(out: Path) -> dict[str, Any]:
    """Let the program measure and plan, and compare its training with the plain program."""
    choice.MEASURING = 0.3
    model, batch, loss = example("deciding", 12)
    parallel = AutoParallel(model, loss=loss, optimizer=momentum, example=batch, micro_batches=4, seed=SEED)
    plain = Plain("deciding", 12, momentum)
    apart = [largest([parallel.step(batch)], [plain.step(4).mean()]) for _ in range(STEPS)]
    return {"apart": max(apart), "processes": sum(parallel.plan.replicas), "names": sorted(parallel.plan.stage_of)}


class Objects(nn.Module):
    """Returns something that is no tensor beside one."""

    def forward(self, x: torch.Tensor) -> Any:
        return x, object()


class First(nn.Module):
    """Takes the first of a tuple."""

    def forward(self, given: Any) -> torch.Tensor:
        return given[0]  # type: ignore[no-any-return]


class Failing(nn.Module):
    """Does not like its input."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise ValueError("not so")


class Positive(nn.Module):
    """Returns as many numbers as are positive."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[x > 0]


def refusals(out: Path) -> dict[str, Any]:
    """Return what each rank is told of stages that cannot be run."""
    norm, batch, loss = nn.BatchNorm1d(5), (torch.randn(4, 5), torch.randint(0, 3, (4,))), F.cross_entropy

    def line(outside: int = 5) -> nn.Module:
        return nn.Linear(5, outside)  # a model belongs to AutoParallel afterwards: each has layers of its own

    models = {
        "objects": ([line(), Objects(), First(), line(3)], 2),
        "objects in one stage": ([line(), Objects(), First(), line(3)], 3),
        "statistics": ([norm, line(), norm, line(3)], 1),
        "failing": ([line(), line(3), Failing()], 1),
        "shapes": ([line(), Positive(), line(3)], 2),
    }  # fmt: skip
    found = {}
    for name, (layers, cut) in models.items():
        model = nn.Sequential(*layers)
        plan = plan_of(paths_of(model), [cut], [1, 1], 2)

        def made(model: nn.Module = model, plan: Any = plan) -> Any:
            return AutoParallel(model, loss=loss, optimizer=momentum, example=batch, plan=plan, seed=SEED, timeout=240)

        told = partitioned_ranks.refused(made)
        both: list[Any] = [None, None]
        dist.all_gather_object(both, told)
        found[name] = both
    return found


partitioned_ranks.SCENARIOS.update(
    {
        "in place": lambda out: compared("deciding", [2], [1, 1], 4),
        "mapping": lambda out: compared("deciding", [7], [1, 1], 4, optimizer=adam),
        "loss alone": lambda out: compared("deciding", [10], [1, 1], 3),
        "gpipe": lambda out: compared("deciding", [4], [1, 1], 2, schedule="gpipe"),
        "interleaved": lambda out: compared("deciding", [2, 4, 7], [1, 1, 1, 1], 4, schedule="interleaved-1f1b"),
        "recompute": lambda out: compared("deciding", [2], [1, 1], 4, recompute=True),
        "bf16": lambda out: compared("deciding", [7], [1, 1], 2, bf16=True),
        "averaging": lambda out: compared("averaging", [2], [1, 1], 4),
        "tied": lambda out: compared("tied", [3], [1, 1], 4),
        "checkpoints of modules": checkpoints,
        "own plan": own_plan,
        "refusals": refusals,
        "replicas": lambda out: compared("deciding", [4], [1, 2], 5),
        "tied replicas": lambda out: compared("tied", [3], [2, 1], 4, recompute=True),
    }
)

if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
