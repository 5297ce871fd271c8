"""Trains small models in stages, several processes over gloo, and compares them with the plain program.

    python partitioned_ranks.py OUT RANKS SCENARIO… [RANKS SCENARIO…]

The ranks are forked with torch loaded. Each scenario leaves `OUT/RANKS/SCENARIO.json`: what rank 0 measured; a rank
that fails leaves `OUT/RANKS/SCENARIO.rank-<n>.txt`.
"""

import functools
import json
import os
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, ClassVar

import torch
import torch.distributed as dist
import torch.export._trace  # a second of a processor, for all ranks once
from torch import nn
from torch.distributed.fsdp import FSDPModule
from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPParamGroup
from torch.optim import SGD, AdamW
from torch.optim.lr_scheduler import LambdaLR
from torch.utils import _pytree as pytree

from hackathon.parallel import AutoParallel
from hackathon.parallel.description import choice
from hackathon.parallel.live import api, batches
from hackathon.parallel.live.capture import Captured, Traced, capture
from hackathon.parallel.live.checkpoint import load_plain
from hackathon.parallel.live.exchange import Messenger, RankLostError
from hackathon.parallel.live.layout import Layout
from hackathon.parallel.live.run import INTERLEAVED, stage_passes
from hackathon.parallel.live.shards import is_divided, rows
from hackathon.parallel.live.skeleton import Skeleton
from hackathon.parallel.plan.order import BACKWARD, FORWARD, WEIGHT, in_flight, warm_ups
from hackathon.text.errors import HackathonError
from support.cuts import legal_cuts
from support.partitioned_models import NAMES, example, seeding

SEED, STEPS = 11, 3


def plan_of(
    name: str, replicas: list[int], micro_batches: int, samples: int, recompute: bool = False
) -> dict[str, Any]:
    """Return a plan with cuts at even distances, in the form of plan.json."""
    operators, cuts = operators_of(name, samples // micro_batches)
    starts = [0, *(cuts[(at + 1) * len(cuts) // len(replicas) - 1] for at in range(len(replicas) - 1))]
    ends = [*starts[1:], len(operators)]
    stages = [
        {"operators": operators[start:end], "replicas": count, "recompute": recompute}
        for start, end, count in zip(starts, ends, replicas, strict=True)
    ]
    return {"schema_version": 1, "micro_batches": micro_batches, "stages": stages}


class TracedOnce(Skeleton):
    """The copy of one of the example models, which is traced once for all scenarios that train this model.

    Three quarters of the processor time of a scenario goes into tracing, which is the same each time.
    """

    _made: ClassVar[dict[tuple[str, bool], "TracedOnce"]] = {}
    _traces: dict[Any, Traced]

    @classmethod
    def of(cls, model: nn.Module, loss: Any) -> Skeleton:
        """Return the copy of a model: the one of the scenario before, if it had this model."""
        name = NAMES.get(model)
        if name is None:
            return Skeleton(model, loss)
        key = (name, loss is not None)
        if key not in cls._made:
            cls._made[key] = cls(model, loss)
            cls._made[key]._traces = {}
        return cls._made[key]

    def trace(self, args: Any, kwargs: Any, target: Any, *, training: bool) -> Traced:
        key = (batches.signature((args, kwargs, target)), training)
        if key not in self._traces:
            self._traces[key] = super().trace(args, kwargs, target, training=training)
        return self._traces[key]


OWN_TRACES = ("unet-2", "unseeded-2", "replicas-1-3")
"""Scenarios in which each rank traces for itself, as all ranks of a user do."""


@contextmanager
def traced_once() -> Iterator[None]:
    """Let `AutoParallel` take traces of the example models from the scenarios before."""
    real = api.Skeleton
    api.Skeleton = TracedOnce.of  # type: ignore[misc,assignment]
    try:
        yield
    finally:
        api.Skeleton = real  # type: ignore[misc]


@functools.cache
def operators_of(name: str, samples: int) -> tuple[list[str], list[int]]:
    """Return the operators of a model's graph and where it may be cut; a capture takes a second for each scenario."""
    model, batch, loss = example(name, samples)
    (first,) = batches.even_pieces(batches.inputs_of(batch, loss is not None), 1)
    captured = capture(model, first[0], first[1], loss, first[2], evaluation=False)
    return list(captured.operators), list(legal_cuts(captured.train))


class Plain:
    """The same model in one process: a loop with gradient accumulation that knows nothing of stages."""

    def __init__(
        self, name: str, samples: int, optimizer: Callable[[Any], Any], clip: float | None = None,
        precision: torch.dtype | None = None,
    ) -> None:  # fmt: skip
        self.model, self.batch, self.loss = example(name, samples)
        self.optimizer, self.scheduler = optimizer(list(self.model.parameters())), None
        if isinstance(self.optimizer, tuple):
            self.optimizer, self.scheduler = self.optimizer
        self.clip, self.precision, self.steps = clip, precision, 0

    def pieces(self, micro_batches: int) -> list[batches.Inputs]:
        return batches.even_pieces(batches.inputs_of(self.batch, self.loss is not None), micro_batches)

    def step(self, micro_batches: int) -> torch.Tensor:
        self.optimizer.zero_grad()
        losses = []
        for number, (args, kwargs, target) in enumerate(self.pieces(micro_batches)):
            context = nullcontext() if self.precision is None else torch.autocast("cpu", self.precision)
            with seeding(SEED, self.steps, number), context:
                output = self.model(*args, **kwargs)
                loss = self.loss(output, target) if self.loss else output["loss"]
            (loss / micro_batches).backward()
            losses.append(loss.detach().float())
        if self.clip is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()
        if self.scheduler is not None:
            self.scheduler.step()
        self.steps += 1
        return torch.stack(losses)

    def outputs(self, micro_batches: int) -> list[torch.Tensor]:
        """Return the leaves of the output in evaluation mode, computed in the same portions."""
        self.model.eval()
        with torch.no_grad():
            rows = [pytree.tree_flatten(self.model(*a, **k))[0] for a, k, _ in self.pieces(micro_batches)]
        self.model.train()
        return [
            torch.cat(each) if each[0].dim() else torch.stack(each).double().mean().float()
            for each in zip(*rows, strict=True)
        ]


def momentum(parameters: Any) -> Any:
    return SGD(parameters, 0.05, momentum=0.9, weight_decay=0.01)


def adam(parameters: Any) -> Any:
    return AdamW(parameters, 0.01, eps=1e-3)


def scheduled(parameters: Any) -> Any:
    made = SGD(parameters, 0.1)
    return made, LambdaLR(made, lambda step: 1.0 / (1 + step))


def largest(first: Any, second: Any) -> float:
    """Return the largest difference of two lists of tensors; infinite if they do not match."""
    first, second = list(first), list(second)
    if len(first) != len(second) or any(a.shape != b.shape for a, b in zip(first, second, strict=True)):
        return float("inf")
    return max(
        (float((a.double() - b.double()).abs().max()) for a, b in zip(first, second, strict=True) if a.numel()),
        default=0.0,
    )


def compared(
    name: str, replicas: list[int], micro_batches: int, *, samples: int | None = None, recompute: bool = False,
    optimizer: Callable[[Any], Any] = momentum, clip: float | None = None, bf16: bool = False, evaluate: bool = False,
    made: list[AutoParallel] | None = None, **options: Any,
) -> dict[str, Any]:  # fmt: skip
    """Train both, and return how far they are apart: losses, parameters, buffers, evaluation if asked for.

    `made` takes ours. The self-check has tests of its own; what it compares is compared here.
    """
    samples = samples or 2 * micro_batches
    model, batch, loss = example(name, samples)
    plan = plan_of(name, replicas, micro_batches, samples, recompute)
    options |= {"precision": "bf16"} if bf16 else {}
    parallel = AutoParallel(
        model, loss=loss, optimizer=optimizer, example=batch, plan=plan, seed=SEED, max_grad_norm=clip,
        check=False, **options,
    )  # fmt: skip
    if made is not None:
        made.append(parallel)
    plain = Plain(name, samples, optimizer, clip, torch.bfloat16 if bf16 else None)
    first = {key: each.clone() for key, each in plain.model.state_dict().items()}
    losses = []
    for _ in range(STEPS):
        mean = parallel.step(batch)
        expected = plain.step(micro_batches)
        losses.append(max(largest([parallel.losses], [expected]), largest([mean], [expected.mean()])))
    state, expected_state = parallel.state_dict(), plain.model.state_dict()
    parameters = [key for key, _ in plain.model.named_parameters()]
    others = [key for key in expected_state if key not in parameters]
    found = {
        "losses": max(losses),
        "parameters": largest([state[key] for key in parameters], [expected_state[key] for key in parameters]),
        "buffers": largest([state[key] for key in others], [expected_state[key] for key in others]),
        "names": list(state) == list(expected_state),
        "moved": largest([state[key] for key in parameters], [first[key] for key in parameters]),
        "held": sum(each.held for each in parallel._pipeline.stages.values()),
        "in flight": parallel._exchange.objects_of_all(parallel._pipeline.stage.most_held),
        "planned in flight": most_in_flight(parallel._exchange.layout, micro_batches, options["schedule"])
        if options.get("schedule") in INTERLEAVED
        else [
            in_flight(warm_up if options.get("schedule") != "gpipe" else micro_batches, count, micro_batches)
            for warm_up, count in zip(warm_ups(replicas), replicas, strict=True)
            for _ in range(count)
        ],
    }
    args, kwargs, _ = batches.inputs_of(batch, loss is not None)
    if evaluate:
        outputs = pytree.tree_flatten(parallel.eval()(*args, **kwargs))[0]
        found["evaluation"] = largest(outputs, plain.outputs(micro_batches))
        part = pytree.tree_map(lambda each: each[: samples - 1], (args, kwargs))
        found["last"] = largest(
            [leaf for leaf in pytree.tree_flatten(parallel(*part[0], **part[1]))[0] if leaf.dim()],
            [leaf[: samples - 1] for leaf in outputs if leaf.dim()],
        )
        parallel.train()
    return found


def most_in_flight(layout: Layout, micro_batches: int, schedule: str) -> list[int]:
    """Return, per rank, the most micro-batches that its first stage has between forward and the end of backward."""
    found = []
    for rank in range(layout.size):
        held, most = 0, 0
        for kind, stage, _ in stage_passes(layout, rank, micro_batches, schedule):
            if stage == layout.place(rank)[0]:
                held += (kind == FORWARD) - (kind in (BACKWARD, WEIGHT))
                most = max(most, held)
        found.append(most)
    return found


def bytes_of(tensors: list[torch.Tensor]) -> tuple[int, int]:
    """Return how many bytes this rank keeps of some tensors, and how many all of them have."""
    kept = sum(rows(each).numel() * each.element_size() for each in tensors)
    return kept, sum(each.numel() * each.element_size() for each in tensors)


@contextmanager
def gathering(most: list[int]) -> Iterator[None]:
    """Note the bytes of parameters that are gathered, each time when more of them have been."""
    real = FSDPParamGroup.wait_for_unshard
    groups: set[FSDPParamGroup] = set()

    def watched(self: FSDPParamGroup) -> None:
        real(self)
        groups.add(self)
        most.append(sum(
            tensor.untyped_storage().nbytes() for group in groups for each in group.fsdp_params
            for tensor in getattr(each, "all_gather_outputs", [])
        ))  # fmt: skip

    FSDPParamGroup.wait_for_unshard = watched
    try:
        yield
    finally:
        FSDPParamGroup.wait_for_unshard = real


def sharded(name: str, replicas: list[int], micro_batches: int, **options: Any) -> dict[str, Any]:
    """Train with parameters that the replicas of each stage divide, and return also what each rank keeps."""
    made: list[AutoParallel] = []
    most: list[int] = []
    with gathering(most):
        found = compared(name, replicas, micro_batches, shard=True, made=made, **options)
    parallel = made[0]
    own = list(parallel.sharded.parameters.values()) if parallel.sharded else []
    states = [each for one in own for each in parallel.optimizer.state[one].values() if each.shape == one.shape]
    kinds = {"parameters": own, "gradients": [each.grad for each in own], "optimizer": states}
    kept = {kind: bytes_of(tensors) for kind, tensors in kinds.items()}
    names = [name for name, each in parallel._parameters.items() if not is_divided(each)]
    gathered = {"gathered": max(most, default=0), "after": gathered_now(parallel)}
    mine = kept | gathered | {"stage": parallel.stage, "names": names}
    found["kept"] = parallel._exchange.objects_of_all(mine)
    return found


def gathered_now(parallel: AutoParallel) -> int:
    """Return the bytes of parameters that are gathered now, outside any pass."""
    if parallel.sharded is None:
        return 0
    groups = [group for each in parallel.sharded.module.modules() if isinstance(each, FSDPModule)
              for group in each._get_fsdp_state()._fsdp_param_groups]  # fmt: skip
    return sum(tensor.untyped_storage().nbytes() for group in groups for each in group.fsdp_params
               for tensor in each.all_gather_outputs)  # fmt: skip


@contextmanager
def without(kind: str) -> Iterator[None]:
    """Leave out the sums of gradients over replicas of one stage, or over stages with tied weights."""
    real = Messenger.sum

    def planted(self: Messenger, tensor: torch.Tensor, ranks: tuple[int, ...]) -> None:
        if (len(self.layout.stages(ranks)) > 1) != (kind == "tied"):
            real(self, tensor, ranks)

    Messenger.sum = planted  # type: ignore[method-assign]
    try:
        yield
    finally:
        Messenger.sum = real  # type: ignore[method-assign]


def checkpoints(out: Path, shard: tuple[bool, bool, bool] = (False, False, False)) -> dict[str, Any]:
    """Save under one plan; go on under another, and in the plain program; compare with training that never stopped.

    `shard`: whether the replicas divide the parameters, for each of the three plans.
    """
    folder, count = out / f"checkpoint-{sum(shard)}", 6
    divided = iter(shard)

    def made(replicas: list[int]) -> AutoParallel:
        model, batch, _ = example("gpt", 2 * count)
        return AutoParallel(
            model, optimizer=adam, example=batch, plan=plan_of("gpt", replicas, count, 2 * count), seed=SEED,
            shard=next(divided), check=False,
        )  # fmt: skip

    batch = example("gpt", 2 * count)[1]
    first = made([1, 3])
    for _ in range(2):
        first.step(batch)
    first.save(folder)
    whole = first.state_dict()
    first.step(batch)
    expected = first.state_dict()
    second = made([2, 1, 1])
    for each in second.parameters():
        rows(each.detach()).zero_()
    second.load(folder)
    again = second.state_dict()
    second.step(batch)
    found = {"loaded": largest(again.values(), whole.values()), "moved": largest(expected.values(), whole.values())}
    found["other plan"] = largest(second.state_dict().values(), expected.values())
    plain = Plain("gpt", 2 * count, adam)
    with torch.no_grad():
        for each in plain.model.parameters():
            each.zero_()
    plain.steps = load_plain(folder, plain.model, plain.optimizer)
    plain.step(count)
    found["plain"] = largest(plain.model.state_dict().values(), expected.values())
    third = made([2, 2] if shard[2] else [1, 1, 1, 1])
    third.load_state_dict(whole)
    found["state_dict"] = largest(third.state_dict().values(), whole.values())
    model = example("gpt", 2)[0]
    model.load_state_dict(whole)
    return found


def interleaved_checkpoint(out: Path) -> dict[str, Any]:
    """Save where each process runs two stages; go on with one each; compare with training that never stopped."""
    folder, count = out / "checkpoint-interleaved", 4

    def made(replicas: list[int], schedule: str) -> AutoParallel:
        model, batch, _ = example("gpt", 2 * count)
        plan = plan_of("gpt", replicas, count, 2 * count)
        return AutoParallel(model, optimizer=adam, example=batch, plan=plan, seed=SEED, schedule=schedule, check=False)

    batch = example("gpt", 2 * count)[1]
    first = made([1, 1, 1, 1], "interleaved-zero-bubble")
    first.step(batch)
    first.save(folder)
    whole = first.state_dict()
    first.step(batch)
    second = made([1, 1], "1f1b")
    second.load(folder)
    found = {"loaded": largest(second.state_dict().values(), whole.values())}
    second.step(batch)
    found["gone on"] = largest(second.state_dict().values(), first.state_dict().values())
    return found | {"moved": largest(first.state_dict().values(), whole.values())}


def refused(call: Callable[[], Any]) -> str:
    try:
        call()
    except HackathonError as error:
        return error.id
    return "accepted"


def different(out: Path) -> dict[str, Any]:
    """Give the last rank another batch."""
    model, batch, loss = example("chain", 4)
    parallel = AutoParallel(
        model, loss=loss, optimizer=momentum, example=batch, plan=plan_of("chain", [1, 1], 2, 4), seed=SEED, check=False
    )
    own = batch if dist.get_rank() == 0 else (batch[0].flip(0), batch[1])
    return {"told": refused(lambda: parallel.step(own)), "same": refused(lambda: parallel.step(batch))}


def own_plan(out: Path) -> dict[str, Any]:
    """Let the program measure and plan, and compare its training with the plain program."""
    choice.MEASURING = 0.5
    model, batch, loss = example("chain", 8)
    parallel = AutoParallel(model, loss=loss, optimizer=momentum, example=batch, micro_batches=4, seed=SEED)
    plain = Plain("chain", 8, momentum)
    apart = [largest([parallel.step(batch)], [plain.step(4).mean()]) for _ in range(STEPS)]
    return {"apart": max(apart), "processes": sum(parallel.plan.replicas), "micro_batches": parallel.plan.micro_batches}


def unseeded(out: Path) -> dict[str, Any]:
    """Build the model with other numbers on each rank: rank 0's count."""
    model, batch, loss = example("chain", 4)
    expected = {key: each.clone() for key, each in model.state_dict().items()}
    if dist.get_rank():
        with torch.no_grad():
            for each in model.parameters():
                each.fill_(dist.get_rank())
    parallel = AutoParallel(
        model, loss=loss, optimizer=momentum, example=batch, plan=plan_of("chain", [1, 1], 2, 4), seed=SEED
    )
    held = sum(each.numel() for each in model.parameters() if not each.is_meta)
    return {
        "apart": largest(parallel.state_dict().values(), expected.values()),
        "held": held
        == sum(each.numel() for each in parallel.parameters())
        < sum(e.numel() for e in model.parameters()),
    }


class Built(nn.Module):
    """A model that has a weight beside parts which initialise themselves; its output layer is tied."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.empty(4))
        self.mix = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
        self.words = nn.Embedding(7, 4)
        self.lines = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.norm, self.head = nn.BatchNorm1d(4), nn.Linear(4, 7, bias=False)
        self.head.weight = self.words.weight

    def reset_parameters(self) -> None:
        nn.init.uniform_(self.scale, 0.5, 1.5)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        x = self.mix(self.words(text)).mean(1) * self.scale
        for line in self.lines:
            x = x + line(x).relu()
        return self.head(self.norm(x)).logsumexp(-1).mean()  # type: ignore[no-any-return]


@functools.cache
def _captured_on_meta() -> Captured:
    with torch.device("meta"):
        return capture(Built(), (torch.zeros(2, 3, dtype=torch.long),), evaluation=False)


def on_meta(out: Path) -> dict[str, Any]:
    """Build on the meta device under several plans: the numbers are the same, and each rank makes its own only."""
    states, most = [], []
    captured = _captured_on_meta()
    cuts = legal_cuts(captured.train)
    for replicas in ([1, 3], [1, 1, 1, 1], [2, 2]):
        with torch.device("meta"):
            model = Built()
        NAMES[model] = "built"
        batch = (torch.arange(24).reshape(8, 3) % 7,)
        starts = [0, *(cuts[(at + 1) * len(cuts) // len(replicas) - 1] for at in range(len(replicas) - 1))]
        ends = [*starts[1:], len(captured.operators)]
        stages = [
            {"operators": list(captured.operators[a:b]), "replicas": r}
            for a, b, r in zip(starts, ends, replicas, strict=True)
        ]
        plan = {"schema_version": 1, "micro_batches": 4, "stages": stages}
        shard = replicas == [2, 2]  # other stages hold the tied weights, too
        parallel = AutoParallel(model, optimizer=momentum, example=batch, plan=plan, seed=SEED, shard=shard)
        most.append(sum(e.numel() for e in model.parameters() if not e.is_meta))
        start = parallel.state_dict()
        parallel.step(batch)
        states.append([*start.values(), *(v for k, v in parallel.state_dict().items() if "norm" not in k)])
    total = sum(each.numel() for each in model.parameters())
    return {
        "apart": max(largest(states[0], each) for each in states[1:]),
        "numbers": float(start["words.weight"].std()), "finite": all(bool(e.isfinite().all()) for e in start.values()),
        "less": all(each < total for each in most),
    }  # fmt: skip


def dies(out: Path) -> dict[str, Any]:
    """End the rank of stage 2 in the middle of a step, without a word."""
    model, batch, loss = example("chain", 8)
    parallel = AutoParallel(
        model, loss=loss, optimizer=momentum, example=batch, plan=plan_of("chain", [1, 1, 1, 1], 4, 8), seed=SEED,
        timeout=240, check=False,
    )  # fmt: skip
    parallel.step(batch)
    if dist.get_rank() == 2:

        def last(*given: Any) -> Any:
            os._exit(9)

        parallel._pipeline.stage.backward = last  # type: ignore[method-assign]
    began = time.monotonic()
    try:
        parallel.step(batch)
    except RankLostError as error:
        named = {"stage": error.values["stage"], "rank": error.values["rank"], "seconds": time.monotonic() - began}
        (out / f"dies.rank-{dist.get_rank()}.json").write_text(json.dumps(named))
        os._exit(1)
    return {"ended": "never"}


def hangs(out: Path) -> dict[str, Any]:
    """Let the rank of stage 1 stand still in the middle of a step, longer than the time limit."""
    model, batch, loss = example("chain", 4)
    parallel = AutoParallel(
        model, loss=loss, optimizer=momentum, example=batch, plan=plan_of("chain", [1, 1], 2, 4), seed=SEED, timeout=45,
        check=False,
    )  # fmt: skip
    parallel.step(batch)
    dist.barrier()
    if dist.get_rank() == 1:
        while not (out / "hangs.rank-0.json").exists():
            time.sleep(0.1)
        return {}
    try:
        parallel.step(batch)
    except RankLostError as error:
        (out / "hangs.rank-0.json").write_text(json.dumps({"stage": error.values["stage"], "text": error.message}))
        os._exit(1)
    return {"ended": "never"}


SCENARIOS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "chain-2": lambda out: compared("chain", [1, 1], 4, evaluate=True),
    "unet-2": lambda out: compared("unet", [1, 1], 3, evaluate=True),
    "untied-2": lambda out: compared("untied", [1, 1], 4, optimizer=adam),
    "untied-2-gpipe": lambda out: compared("untied", [1, 1], 4, schedule="gpipe"),
    "chain-2-recompute": lambda out: compared("chain", [1, 1], 4, recompute=True),
    "tied-2": lambda out: compared("gpt", [1, 1], 4, evaluate=True),
    "tied-2-broken": lambda out: _under(without("tied"), lambda: compared("gpt", [1, 1], 4)),
    "own-plan-2": own_plan,
    "schedule-2": lambda out: compared("chain", [1, 1], 2, optimizer=scheduled),
    "clip-2": lambda out: compared("gpt", [1, 1], 2, clip=0.05),
    "bf16-2": lambda out: compared("untied", [1, 1], 2, bf16=True),
    "compiled-2": lambda out: compared("unet", [1, 1], 2, compiler="aot_eager"),
    "different-2": different,
    "unseeded-2": unseeded,
    "interleaved-2": lambda out: compared("unet", [1] * 4, 4, evaluate=True, schedule="interleaved-1f1b"),
    "interleaved-2-recompute": lambda out: compared("chain", [1] * 4, 6, schedule="interleaved-1f1b", recompute=True),
    "zero-bubble-2": lambda out: compared("untied", [1] * 6, 4, schedule="interleaved-zero-bubble", optimizer=adam),
    "interleaved-2-checkpoint": interleaved_checkpoint,
    "zero-bubble-4": lambda out: compared("unet", [1] * 8, 8, schedule="interleaved-zero-bubble"),
    "interleaved-2x2": lambda out: compared("gpt", [2] * 4, 8, evaluate=True, schedule="interleaved-1f1b", clip=0.5),
    "zero-bubble-2x2": lambda out: compared("gpt", [2] * 4, 4, schedule="interleaved-zero-bubble", recompute=True),
    "unet-4": lambda out: compared("unet", [1, 1, 1, 1], 5),
    "untied-4": lambda out: compared("untied", [1, 1, 1, 1], 5, evaluate=True, recompute=True),
    "replicas-1-3": lambda out: compared("gpt", [1, 3], 6),
    "replicas-1-2-1": lambda out: compared("unet", [1, 2, 1], 7),
    "replicas-2-1-1": lambda out: compared("gpt", [2, 1, 1], 4, recompute=True, clip=0.5),
    "replicas-broken": lambda out: _under(without("replicas"), lambda: compared("chain", [2, 1, 1], 4)),
    "replicas-tied-broken": lambda out: _under(without("tied"), lambda: compared("gpt", [1, 3], 6)),
    "checkpoints": checkpoints,
    "shard-2": lambda out: sharded("untied", [2], 4, optimizer=adam, clip=0.05),
    "shard-2-bf16": lambda out: sharded("untied", [2], 2, bf16=True),
    "shard-2-2": lambda out: sharded("unet", [2, 2], 4, recompute=True),
    "shard-1-3": lambda out: sharded("gpt", [1, 3], 6, clip=0.1, evaluate=True),
    "shard-checkpoints": lambda out: checkpoints(out, (True, True, True)),
    "meta": on_meta,
    "dies": dies,
    "hangs": hangs,
}


def _under(context: Any, call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    with context:
        return call()


def run(rank: int, out: Path, names: list[str]) -> int:
    """Run scenarios as one rank."""
    torch.set_num_threads(1)
    os.environ["RANK"] = str(rank)
    failed = 0
    for name in names:
        try:
            with nullcontext() if name in OWN_TRACES else traced_once():
                found = SCENARIOS[name](out)
        except Exception:
            (out / f"{name}.rank-{rank}.txt").write_text(traceback.format_exc())
            return 1
        if rank == 0:
            (out / f"{name}.json").write_text(json.dumps(found))
    return failed


def trace_examples(names: list[str]) -> None:
    """Trace the models of these scenarios, before the ranks are forked: micro-batches of two, the last one of one."""
    if "meta" in names:
        _captured_on_meta()
    for name in ("chain", "unet", "untied", "gpt"):
        operators_of(name, 2)
        model, batch, loss = example(name, 2)
        (inputs,) = batches.even_pieces(batches.inputs_of(batch, loss is not None), 1)
        copy = TracedOnce.of(model, loss)
        copy.trace(*inputs, training=True)
        for args, kwargs, _ in (inputs, batches.even_pieces(inputs, 2)[0]):
            copy.trace(args, kwargs, None, training=False)


def main(out: Path, words: list[str], prepare: Callable[[list[str]], None] = lambda _: None) -> None:
    """Run scenarios (`RANKS SCENARIO… RANKS SCENARIO…`), after `prepare` has made what several of them need."""
    groups: dict[int, list[str]] = {}
    for word in words:
        if word.isdigit():
            names = groups.setdefault(int(word), [])
        else:
            names.append(word)
    prepare([name for names in groups.values() for name in names])
    for ranks, names in groups.items():
        (out / str(ranks)).mkdir()
        fork(out / str(ranks), ranks, names)


def fork(out: Path, ranks: int, names: list[str]) -> None:
    """Run scenarios in so many processes."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks)}
    children = []
    for rank in range(ranks):
        child = os.fork()
        if not child:
            code = 1
            try:
                code = run(rank, out, names)
            finally:
                sys.stdout.flush()
                os._exit(code)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    (out / "codes.json").write_text(json.dumps(codes))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:], trace_examples)
