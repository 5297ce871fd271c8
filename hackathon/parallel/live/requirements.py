"""Refuse unsupported models and options by name, before anything has run."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from hackathon.parallel.description.refusal import CaptureRefusal, refuse_hooks
from hackathon.parallel.live.batches import Inputs
from hackathon.parallel.live.capture import named_state
from hackathon.parallel.live.layout import Layout
from hackathon.parallel.live.plans import RunPlan
from hackathon.parallel.live.run import INTERLEAVED
from hackathon.parallel.live.split import StagePart
from hackathon.parallel.modules.stages import one_argument
from hackathon.parallel.plan.order import rounds_fit
from hackathon.text.errors import RequestError

SCHEDULES = ("1f1b", "gpipe", *INTERLEAVED)
PRECISIONS = {"bf16": torch.bfloat16}
_WRAPPERS = ("DistributedDataParallel", "FullyShardedDataParallel", "DataParallel", "OptimizedModule")


def check_model(model: nn.Module) -> None:
    """Raise RequestError for a model of which a part would silently not run."""
    for name, tensor in named_state(model):
        if isinstance(tensor, (UninitializedParameter, UninitializedBuffer)):
            raise RequestError(
                "auto_parallel.lazy",
                "{name} has no shape yet: run the model once before you give it to AutoParallel",
                name=name,
            )
    for path, module in model.named_modules():
        name = path or type(model).__name__
        if type(module).__name__ in _WRAPPERS:
            raise RequestError(
                "auto_parallel.wrapped",
                "{module} is a {kind}: give AutoParallel the model itself",
                module=name,
                kind=type(module).__name__,
            )
        if isinstance(module, (nn.Embedding, nn.EmbeddingBag)) and module.sparse:
            raise RequestError(
                "auto_parallel.sparse",
                "{module} has sparse gradients, which cannot be summed over stages: use sparse=False",
                module=name,
            )
    for name, tensor in named_state(model):
        if type(tensor).__name__ == "DTensor":
            raise RequestError(
                "auto_parallel.wrapped",
                "{module} is a {kind}: give AutoParallel the model itself",
                module=name,
                kind="DTensor",
            )
        if tensor._backward_hooks or getattr(tensor, "_post_accumulate_grad_hooks", None):
            raise RequestError(
                "auto_parallel.hooked",
                "parameter {module} has hooks, which would not run in the stages",
                hint="Move what they do into forward(), or remove them.",
                module=name,
            )
    # modules of a model on the meta device are initialised, which would overwrite existing values of some
    if any(tensor.is_meta for _, tensor in named_state(model)):
        for name, parameter in model.named_parameters():
            if not parameter.is_meta:
                raise RequestError(
                    "auto_parallel.partly_meta",
                    "{name} has values, but other tensors of the model are on the meta device: build all of "
                    "the model there, or none of it",
                    name=name,
                )


def check_hooks(model: nn.Module) -> None:
    """Raise RequestError for a model whose modules have hooks: a captured graph would not call them."""
    try:
        refuse_hooks(model)
    except CaptureRefusal as refusal:
        values: dict[str, Any] = dict(refusal.values)
        raise RequestError(refusal.id, **values) from None


def check_modules(plan: RunPlan, inputs: Inputs, schedule: str, *, compiler: bool, shard: bool) -> None:
    """Raise RequestError for options that exclude a plan with cuts between unchanged modules."""
    one_argument(inputs)
    options = {
        "compiler=": compiler,
        "shard=True": shard,
        "offload": any(plan.offload),
        # a module's own backward pass cannot be split
        f"schedule={schedule}": INTERLEAVED.get(schedule, False),
    }
    for option, is_used in options.items():
        if is_used:
            raise RequestError(
                "auto_parallel.module_level",
                "the plan cuts between modules, which does not work with {option}",
                option=option,
            )


def check_loss(loss: object) -> None:
    """Raise RequestError for a loss with trainable parameters."""
    if isinstance(loss, nn.Module) and any(parameter.requires_grad for parameter in loss.parameters()):
        raise RequestError(
            "auto_parallel.trained_loss",
            "the loss {name} has parameters of its own: make it part of the model",
            name=type(loss).__name__,
        )


def check_options(schedule: str, precision: str | None) -> None:
    """Raise RequestError for an option that this runtime does not support."""
    if schedule not in SCHEDULES:
        raise RequestError(
            "auto_parallel.schedule",
            "there is no schedule {name}; there are {names}",
            name=schedule,
            names=", ".join(SCHEDULES),
        )
    if precision is not None and precision not in PRECISIONS:
        raise RequestError(
            "auto_parallel.precision",
            "there is no precision {name}; there are None and {names}",
            name=precision,
            names=", ".join(PRECISIONS),
        )


def check_offload(plan: RunPlan, precision: str | None, compiler: str | None) -> None:
    """Raise RequestError for a stage with parameters in main memory and an option that excludes this."""
    for number, offload in enumerate(plan.offload):
        if offload and (precision or compiler):
            # autocast would keep a converted copy of each parameter; a compiled stage does not call the streaming hooks
            raise RequestError(
                "auto_parallel.offload",
                "stage {stage} of the plan keeps its parameters in main memory, which does not work with {option}=",
                stage=number,
                option="precision" if precision else "compiler",
            )


def check_shard(plan: RunPlan, compiler: str | None) -> None:
    """Raise RequestError for a plan or an option that excludes dividing parameters over replicas."""
    for number, (replicas, offload) in enumerate(zip(plan.replicas, plan.offload, strict=True)):
        if replicas > 1 and (offload or compiler):
            # streamed parameters are in main memory already; a compiled stage does not call the gathering hooks
            raise RequestError(
                "auto_parallel.shard",
                "shard=True does not work with {option}, which stage {stage} uses: its replicas cannot divide "
                "its parameters",
                stage=number,
                option="offload" if offload else "compiler=",
            )
        if plan.micro_batches % replicas:
            # each pass gathers over all replicas, so all of them must make equally many
            raise RequestError(
                "auto_parallel.shard_uneven",
                "shard=True: the {micro_batches} micro-batches cannot be divided evenly over the {replicas} "
                "replicas of stage {stage}, which gather the parameters of each pass together",
                stage=number,
                replicas=replicas,
                micro_batches=plan.micro_batches,
            )


def chunks_of(plan: RunPlan, world: int, schedule: str, *, compiler: bool, shard: bool) -> int:
    """Return the number of stages per rank. Raises RequestError if the stages cannot be interleaved over the ranks."""
    if schedule not in INTERLEAVED:
        return 1
    options = {
        "shard=True": shard,
        "offload": any(plan.offload),
        # a compiled stage is one operator of autograd: its backward pass cannot be split
        "compiler=": compiler and INTERLEAVED[schedule],
    }
    for option, is_used in options.items():
        if is_used:
            raise RequestError(
                "auto_parallel.interleaved_option",
                "schedule {schedule} does not work with {option}",
                schedule=schedule,
                option=option,
            )
    stages, replicas = len(plan.replicas), plan.replicas[0]
    if set(plan.replicas) != {replicas}:
        raise RequestError(
            "auto_parallel.interleaved_replicas",
            "schedule {schedule} needs the same number of replicas in all stages; the plan has {replicas}",
            schedule=schedule,
            replicas=", ".join(map(str, plan.replicas)),
        )
    processes = world // replicas
    if world % replicas or stages % processes or stages == processes:
        raise RequestError(
            "auto_parallel.interleaved_stages",
            "schedule {schedule} runs two or more stages in each process, as many in each: {stages} stages "
            "with {replicas} replicas cannot be placed on {given} processes in this way",
            schedule=schedule,
            stages=stages,
            replicas=replicas,
            given=world,
        )
    share = plan.micro_batches // replicas
    if plan.micro_batches % replicas or not rounds_fit(processes, share):
        raise RequestError(
            "auto_parallel.interleaved_micro_batches",
            "schedule {schedule}: {micro_batches} micro-batches cannot be interleaved over {processes} "
            "processes with {replicas} replicas each; a multiple of both numbers' product always can",
            schedule=schedule,
            micro_batches=plan.micro_batches,
            replicas=replicas,
            processes=processes,
        )
    return stages // processes


def check_links(parts: Sequence[StagePart], layout: Layout, device: torch.device) -> None:
    """Raise RequestError if NCCL, which has no tags, would confuse two tensors.

    With several stages per rank, tensors that skip a stage are received in another order than they are sent.
    """
    if layout.chunks == 1 or device.type == "cpu":
        return
    for part in parts:
        for value in part.sends:
            for reader in value.readers:
                if reader != part.number + 1 and (reader - part.number) % layout.distance:
                    raise RequestError(
                        "auto_parallel.interleaved_skip",
                        "on GPUs, an interleaved schedule cannot send a tensor past a stage: stage {reader} "
                        "reads {operator} of stage {stage}",
                        operator=value.name,
                        stage=part.number,
                        reader=reader,
                    )


def check_size(plan: RunPlan, world: int, chunks: int) -> None:
    """Raise RequestError unless there are as many ranks as the plan's replicas of stages, `chunks` stages per rank."""
    needed = sum(plan.replicas) // chunks
    if needed != world:
        raise RequestError(
            "auto_parallel.ranks",
            "the plan needs {needed} processes (replicas per stage: {replicas}), but there are {given}",
            needed=needed,
            given=world,
            replicas=", ".join(map(str, plan.replicas)),
        )


def check_compile(draws: bool) -> None:
    """Raise RequestError if the model draws random numbers: a compiled stage cannot be seeded before each of them."""
    if draws:
        raise RequestError(
            "auto_parallel.compiled_dropout",
            "compiler= does not go with a model that draws random numbers in training, such as dropout: each "
            "of these operators is seeded, which a compiled stage cannot do",
        )


def check_optimizer(optimizer: object) -> None:
    """Raise RequestError for an optimizer that needs the loss of the whole model several times in a step."""
    if isinstance(optimizer, torch.optim.LBFGS):
        raise RequestError(
            "auto_parallel.optimizer",
            "the optimizer {name} evaluates the whole model several times in a step, which stages cannot do",
            name="LBFGS",
        )
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise RequestError(
            "auto_parallel.no_optimizer",
            "optimizer= returned {name}: it must return an optimizer, or an optimizer and a learning-rate schedule",
            name=type(optimizer).__name__,
        )


def check_mixed(optimizer: torch.optim.Optimizer) -> None:
    """Make an optimizer process parameters individually: some are divided, others not.

    Raises RequestError if impossible.
    """
    for group in optimizer.param_groups:
        for option in ("foreach", "fused"):
            if group.get(option):
                raise RequestError(
                    "auto_parallel.shard_optimizer",
                    "the optimizer has {option}, which cannot take both divided and whole parameters: with "
                    "shard=True this stage has both, tied weights say",
                    option=f"{option}=True",
                )
        if "foreach" in group:
            group["foreach"] = False
