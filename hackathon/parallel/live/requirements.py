"""What the runtime refuses when a model is handed over: each by its name, before anything has run."""

from typing import Any

import torch
from torch import nn
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from hackathon.parallel.description.refusal import CaptureRefusal, refuse_hooks
from hackathon.parallel.live.batches import Inputs
from hackathon.parallel.live.capture import named_state
from hackathon.parallel.live.plans import RunPlan
from hackathon.parallel.modules.stages import one_argument
from hackathon.text.errors import RequestError

SCHEDULES = ("1f1b", "gpipe")
PRECISIONS = {"bf16": torch.bfloat16}
_WRAPPERS = ("DistributedDataParallel", "FullyShardedDataParallel", "DataParallel", "OptimizedModule")


def check_model(model: nn.Module) -> None:
    """Raise RequestError for a model of which a part would silently not run."""
    for name, tensor in named_state(model):
        if isinstance(tensor, (UninitializedParameter, UninitializedBuffer)):
            raise RequestError("auto_parallel.lazy", name=name)
    for path, module in model.named_modules():
        name = path or type(model).__name__
        if type(module).__name__ in _WRAPPERS:
            raise RequestError("auto_parallel.wrapped", module=name, kind=type(module).__name__)
        if isinstance(module, (nn.Embedding, nn.EmbeddingBag)) and module.sparse:
            raise RequestError("auto_parallel.sparse", module=name)
    for name, tensor in named_state(model):
        if type(tensor).__name__ == "DTensor":
            raise RequestError("auto_parallel.wrapped", module=name, kind="DTensor")
        if tensor._backward_hooks or getattr(tensor, "_post_accumulate_grad_hooks", None):
            raise RequestError("auto_parallel.hooked", module=name)


def check_hooks(model: nn.Module) -> None:
    """Raise RequestError for a model whose modules have hooks: a captured graph would not call them."""
    try:
        refuse_hooks(model)
    except CaptureRefusal as refusal:
        values: dict[str, Any] = dict(refusal.values)
        raise RequestError(refusal.id, **values) from None


def check_modules(plan: RunPlan, inputs: Inputs, compiler: str | None) -> None:
    """Raise RequestError for what does not go with a plan that cuts between modules, which run as they are."""
    one_argument(inputs)
    if compiler:
        raise RequestError("auto_parallel.module_level", option="compiler=")
    if any(plan.offload):
        raise RequestError("auto_parallel.module_level", option="offload")


def check_loss(loss: object) -> None:
    """Raise RequestError for a loss that is trained itself."""
    if isinstance(loss, nn.Module) and any(each.requires_grad for each in loss.parameters()):
        raise RequestError("auto_parallel.trained_loss", name=type(loss).__name__)


def check_options(schedule: str, precision: str | None) -> None:
    """Raise RequestError for an option that this runtime does not have."""
    if schedule not in SCHEDULES:
        raise RequestError("auto_parallel.schedule", name=schedule, names=", ".join(SCHEDULES))
    if precision is not None and precision not in PRECISIONS:
        raise RequestError("auto_parallel.precision", name=precision, names=", ".join(PRECISIONS))


def check_offload(plan: RunPlan, precision: str | None, compiler: str | None) -> None:
    """Raise RequestError for a stage with parameters in main memory and an option that does not go with it."""
    for number, offload in enumerate(plan.offload):
        if offload and (precision or compiler):
            # autocast would keep a converted copy of each parameter; a compiled stage does not call what streams them
            raise RequestError("auto_parallel.offload", stage=number, option="precision" if precision else "compiler")


def check_size(plan: RunPlan, world: int) -> None:
    """Raise RequestError unless there are as many ranks as the plan has replicas of stages."""
    needed = sum(plan.replicas)
    if needed != world:
        raise RequestError(
            "auto_parallel.ranks", needed=needed, given=world, replicas=", ".join(map(str, plan.replicas))
        )


def check_compile(draws: bool) -> None:
    """Raise RequestError if the model draws random numbers: a compiled stage cannot be seeded before each of them."""
    if draws:
        raise RequestError("auto_parallel.compiled_dropout")


def check_optimizer(optimizer: object) -> None:
    """Raise RequestError for an optimizer that needs the loss of the whole model several times in a step."""
    if isinstance(optimizer, torch.optim.LBFGS):
        raise RequestError("auto_parallel.optimizer", name="LBFGS")
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise RequestError("auto_parallel.no_optimizer", name=type(optimizer).__name__)
