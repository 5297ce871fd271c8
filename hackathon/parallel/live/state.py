"""The ranks of parameters and buffers, and how a rank obtains its own."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from hackathon.parallel.live import seeds
from hackathon.parallel.live.capture import Traced, named_state
from hackathon.parallel.live.exchange import Messenger
from hackathon.parallel.live.shards import Shards, divided_as, is_divided, rows
from hackathon.parallel.modules.chain import ModuleChain
from hackathon.text.errors import RequestError


@dataclass(frozen=True)
class Holding:
    """The state of the model by canonical names (a tied parameter's first), and the stages of each."""

    aliases: Mapping[str, str]
    stages: Mapping[str, tuple[int, ...]]
    kept: tuple[str, ...]
    """Names in the model's own state_dict(), in its order."""

    @classmethod
    def of(
        cls, model: nn.Module, aliases: Mapping[str, str], traced: Traced | ModuleChain, stage_of: Mapping[str, int]
    ) -> "Holding":  # fmt: skip
        """Return the holders: each stage has its operators' state, the first stage also the unread state."""
        readers: dict[str, set[int]] = {name: set() for name in aliases.values()}
        for operator, names in traced.reads.items():
            for name in names:
                if name in aliases:
                    readers[aliases[name]].add(stage_of[operator])
        saved = tuple(name for name in model.state_dict(keep_vars=True) if name in aliases)
        return cls(aliases, {name: tuple(sorted(stages or {0})) for name, stages in readers.items()}, saved)

    def of_stage(self, stage: int) -> list[str]:
        """Return the canonical names of a stage's state."""
        return [name for name, stages in self.stages.items() if stage in stages]

    def owner(self, name: str) -> int:
        """Return the stage that owns a parameter or buffer: the first that has it."""
        return self.stages[name][0]


def take(
    model: nn.Module, holding: Holding, stages: Iterable[int], exchange: Messenger, seed: int,
    initialise: Callable[[nn.Module], None] | None, device: torch.device,
) -> dict[str, torch.Tensor]:  # fmt: skip
    """Return this rank's state by canonical name, on a `device`; the model releases the rest.

    For a model with numbers, all ranks get those of rank 0. For a model on the meta device, each module with some of
    the stages' parameters is created here and initialised with its own seed, so that no number depends on the plan.
    """
    tensors = {name: tensor for name, tensor in named_state(model) if holding.aliases[name] == name}
    names = {name for stage in stages for name in holding.of_stage(stage)}
    if any(tensor.is_meta for tensor in tensors.values()):
        _made(model, holding, names, device, seed, initialise)
        tensors = {name: tensor for name, tensor in named_state(model) if holding.aliases[name] == name}
        mine = {name: tensors[name] for name in names}
    else:
        mine = {}
        for name, tensor in tensors.items():
            moved = tensor.detach().to(exchange.device)
            message = moved.contiguous()
            exchange.broadcast(message, 0)
            if name in names:
                tensor.data = (moved if message is moved else moved.copy_(message)).to(device)
                mine[name] = tensor
    _give_up(model, holding.aliases, names)
    return mine


def _give_up(model: nn.Module, aliases: Mapping[str, str], names: set[str]) -> None:
    """Keep only the shapes of other stages' state in the user's model."""
    for path, module in model.named_modules():
        prefix = f"{path}." if path else ""
        for table in (module._parameters, module._buffers):
            for name, tensor in list(table.items()):
                if tensor is None or aliases.get(prefix + name) in names or tensor.is_meta:
                    continue
                empty = torch.empty_like(tensor, device="meta")
                table[name] = nn.Parameter(empty, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else empty


def replace(model: nn.Module, aliases: Mapping[str, str], tensors: Mapping[str, nn.Parameter]) -> None:
    """Replace the model's parameters, by canonical name."""
    for path, module in model.named_modules():
        prefix = f"{path}." if path else ""
        for name in module._parameters:
            if aliases.get(prefix + name) in tensors:
                module._parameters[name] = tensors[aliases[prefix + name]]


def _made(
    model: nn.Module, holding: Holding, names: set[str], device: torch.device, seed: int,
    initialise: Callable[[nn.Module], None] | None,
) -> None:  # fmt: skip
    """Create the required modules of a meta model. Raises RequestError if one cannot be created.

    Parents come before their children, which are still on the meta device then: a parent's changes to its children's
    numbers have no effect, in any stage.
    """
    tensors: dict[str, torch.Tensor] = {}
    for number, (path, module) in enumerate(model.named_modules()):
        prefix = f"{path}." if path else ""
        own = {**module._parameters, **module._buffers}
        first = [
            prefix + name
            for name, tensor in own.items()
            if tensor is not None and holding.aliases[prefix + name] == prefix + name
        ]
        if not names.intersection(first):
            continue
        before = {name: tensor for name, tensor in own.items() if tensor is not None and prefix + name not in first}
        module.to_empty(device="cpu", recurse=False)
        with seeds.own_random_numbers(True), torch.no_grad():
            torch.manual_seed(seeds.mixed(seed, number))
            if not _initialised(module, {name[len(prefix) :] for name in first}, initialise):
                raise RequestError(
                    "auto_parallel.not_initialised",
                    "{module} was built on the meta device, and neither reset_parameters() nor initialise= "
                    "gives it all its numbers",
                    module=path or type(model).__name__,
                )
        for parameter in (*module._parameters.values(), *module._buffers.values()):
            if parameter is not None:
                parameter.data = parameter.data.to(device)  # not module.to(): children are still on the meta device
        for name in before:  # tied: the first module with it determines its numbers
            table = module._parameters if name in module._parameters else module._buffers
            table[name] = tensors.get(holding.aliases[prefix + name], before[name])
        tensors |= {name: {**module._parameters, **module._buffers}[name[len(prefix) :]] for name in first}
    for path, module in model.named_modules():
        prefix = f"{path}." if path else ""
        for table in (module._parameters, module._buffers):
            for name, tensor in list(table.items()):
                if tensor is not None and holding.aliases[prefix + name] in tensors:
                    table[name] = tensors[holding.aliases[prefix + name]]


def _initialised(module: nn.Module, names: set[str], initialise: Callable[[nn.Module], None] | None) -> bool:
    """Initialise a module's own parameters and buffers; return whether each of `names` has all its numbers."""
    blank: dict[str, tuple[torch.Tensor, int]] = {}
    for name, tensor in {**module._parameters, **module._buffers}.items():
        if tensor is not None:
            tensor.fill_(float("nan") if tensor.is_floating_point() or tensor.is_complex() else 0)
            blank[name] = (tensor, tensor._version)
    # torch's own modules have either name
    reset = getattr(module, "reset_parameters", None) or getattr(module, "_reset_parameters", None)
    if reset is not None:
        reset()
    if initialise is not None:
        initialise(module)

    def written(name: str, now: torch.Tensor) -> bool:
        if now.is_floating_point() or now.is_complex():
            return not now.isnan().any()
        before, version = blank.get(name, (None, 0))
        # integers have no NaN: if they are the same zeros, they were not written
        return before is not now or now._version != version or now.numel() == 0 or bool(now.any())

    tensors = {**module._parameters, **module._buffers}
    return all(written(name, tensor) for name, tensor in tensors.items() if name in names and tensor is not None)


def under_all_names(tensors: Mapping[str, torch.Tensor], aliases: Mapping[str, str]) -> dict[str, torch.Tensor]:
    """Return each name, tied ones included, of the tensors by canonical name."""
    return {name: tensors[first] for name, first in aliases.items() if first in tensors}


def gathered(
    mine: Mapping[str, torch.Tensor], names: Iterable[str], holding: Holding, shapes: Mapping[str, torch.Tensor],
    exchange: Messenger, sharded: Shards | None = None,
) -> dict[str, torch.Tensor]:  # fmt: skip
    """Return the complete state on the CPU of every rank, by canonical name."""
    tensors = {}
    for name in names:
        source = exchange.layout.rank(holding.owner(name), 0)
        shape = shapes[name]
        share = mine[name] if holding.owner(name) in exchange.layout.own(exchange.rank) else None
        if share is not None and sharded is not None:
            share = sharded.whole(share)
        tensor = (
            share.detach().contiguous().to(exchange.device, copy=True) if exchange.rank == source and share is not None
            else torch.empty(shape.shape, dtype=shape.dtype, device=exchange.device)
        )  # fmt: skip
        exchange.broadcast(tensor, source)
        tensors[name] = tensor.cpu()
    return tensors


def put(mine: Mapping[str, torch.Tensor], state: Mapping[str, torch.Tensor], names: Sequence[str]) -> None:
    """Copy numbers into this rank's state. Raises RequestError for a different shape."""
    with torch.no_grad():
        for name in names:
            if state[name].shape != mine[name].shape:
                raise RequestError(
                    "auto_parallel.other_shape",
                    "{name} has shape {given}, but the model's has {wanted}",
                    name=name,
                    given=tuple(state[name].shape),
                    wanted=tuple(mine[name].shape),
                )
            value = divided_as(state[name], mine[name]) if is_divided(mine[name]) else state[name]
            rows(mine[name].detach()).copy_(rows(value))
