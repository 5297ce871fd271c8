"""Checkpoints by the user's own names: they load under another plan and into the program for one device."""

import json
import pickle
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from hackathon.parallel.live.capture import aliases_of, named_state
from hackathon.parallel.live.exchange import Messenger
from hackathon.parallel.live.shards import Shards, divided_as, is_divided
from hackathon.text.errors import RequestError

INDEX = "index.json"


def save(
    folder: Path, state: Mapping[str, torch.Tensor], optimizer: torch.optim.Optimizer, exchange: Messenger,
    facts: Mapping[str, Any], sharded: Shards | None = None, *, writes: bool = True,
) -> None:  # fmt: skip
    """Write this rank's part; all ranks call this. The index comes last: without it a checkpoint is invalid.

    `writes`: whether this rank writes; if parameters are `sharded`, all replicas send their rows to the one that does.
    Raises OSError, e.g. if the disk is full.
    """
    name = f"part-{exchange.rank}.step-{facts['step']}.pt"
    named = {key: parameter for key, parameter in state.items() if isinstance(parameter, nn.Parameter)}
    if exchange.rank == 0:
        folder.mkdir(parents=True, exist_ok=True)
    exchange.barrier()
    if state:

        def whole(tensor: torch.Tensor) -> torch.Tensor | None:
            value = tensor if sharded is None else sharded.whole(tensor)
            return value.detach().cpu().contiguous() if writes else None

        part = {
            "state": {key: whole(tensor) for key, tensor in state.items()},
            "optimizer": _states(optimizer, named, whole),
            "options": _options(optimizer, named),
        }
        if writes:
            _write(part, folder / f".{name}")
            (folder / f".{name}").replace(folder / name)
    files = [file for file in exchange.objects_of_all(name if state and writes else "") if file]
    if exchange.rank == 0:
        (folder / f".{INDEX}").write_text(json.dumps({"schema_version": 1, **_plain(dict(facts)), "files": files}))
        (folder / f".{INDEX}").replace(folder / INDEX)
        for old in folder.glob("part-*.pt"):
            if old.name not in files:
                old.unlink()
    exchange.barrier()


def _write(part: Mapping[str, Any], path: Path) -> None:
    """Write a part. The file is opened here, because torch reports system errors only for an open file."""
    try:
        with path.open("wb") as file:
            torch.save(part, file)
    except RuntimeError as error:
        if isinstance(error.__context__, OSError):  # torch could not finish the unwritable file
            raise error.__context__ from None
        raise


def _states(
    optimizer: torch.optim.Optimizer, named: Mapping[str, nn.Parameter], gather: Callable[[torch.Tensor], Any]
) -> dict[str, dict[str, Any]]:
    return {
        name: {
            key: gather(value) if isinstance(value, torch.Tensor) else _plain(value)
            for key, value in optimizer.state[parameter].items()
        }
        for name, parameter in named.items() if parameter in optimizer.state
    }  # fmt: skip


def _options(optimizer: torch.optim.Optimizer, named: Mapping[str, nn.Parameter]) -> dict[str, dict[str, Any]]:
    """Return the options of each parameter's group: learning rate, weight decay …"""
    names = {id(parameter): name for name, parameter in named.items()}
    settings = {}
    for group in optimizer.param_groups:
        options = {key: _plain(value) for key, value in group.items() if key not in ("params", "param_names")}
        settings.update({names[id(parameter)]: options for parameter in group["params"] if id(parameter) in names})
    return settings


def _plain(value: Any) -> Any:
    """Return a value with numpy's numbers as Python's; torch.load() and JSON do not accept numpy's."""
    if type(value) is dict:
        return {key: _plain(entry) for key, entry in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    numpy = sys.modules.get("numpy")  # without an import of numpy there are no numbers of it
    return value.item() if numpy is not None and isinstance(value, numpy.generic) else value


class Checkpoint:
    """A checkpoint on disk; only the requested parts are read."""

    def __init__(self, folder: Path | str) -> None:
        """Raises RequestError without a complete checkpoint in the folder."""
        self.folder = Path(folder)
        try:
            self.facts: dict[str, Any] = json.loads((self.folder / INDEX).read_text())
            self._parts = [
                torch.load(self.folder / Path(name).name, map_location="cpu", mmap=True, weights_only=True)
                for name in self.facts["files"]
            ]
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, pickle.UnpicklingError) as error:
            raise RequestError(
                "auto_parallel.no_checkpoint",
                "{path}: no whole checkpoint: {reason}",
                path=self.folder,
                reason=str(error).split("\n")[0],
            ) from None

    def _all(self, kind: str) -> dict[str, Any]:
        return {name: value for part in self._parts for name, value in part[kind].items()}

    @property
    def state(self) -> dict[str, torch.Tensor]:
        """Parameters and buffers by canonical name."""
        return self._all("state")

    @property
    def schedule(self) -> Any:
        """The state of the learning-rate schedule; None without one."""
        return _with_milestones(self.facts.get("schedule"))

    def into_optimizer(self, optimizer: torch.optim.Optimizer, named: Mapping[str, nn.Parameter]) -> None:
        """Load an optimizer's states and options; `named`: canonical name → parameter."""
        states, options = self._all("optimizer"), self._all("options")
        names = {id(parameter): name for name, parameter in named.items()}
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                name = names.get(id(parameter))
                if name in options:
                    group.update(options[name])
                counts_there = bool(group.get("fused") or group.get("capturable"))
                if name in states:
                    optimizer.state[parameter] = {
                        key: _beside(parameter, key, value, counts_there) if isinstance(value, torch.Tensor) else value
                        for key, value in states[name].items()
                    }  # fmt: skip


def _with_milestones(value: Any) -> Any:
    """Return a schedule's state in torch's form: JSON converted the step numbers of its milestones to text."""
    if isinstance(value, list):
        return [_with_milestones(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    state = {key: _with_milestones(entry) for key, entry in value.items()}
    steps = state.get("milestones")
    if isinstance(steps, dict) and all(step.isdecimal() for step in steps):
        state["milestones"] = Counter({int(step): count for step, count in steps.items()})
    return state


def _beside(parameter: nn.Parameter, key: str, value: torch.Tensor, counts_there: bool) -> torch.Tensor:
    """Return an optimizer's state on torch's device for it: its parameter's, but the number of steps on the CPU.

    `counts_there`: the number of steps is on the parameter's device, too, for fused and capturable optimizers.
    """
    if value.shape == parameter.shape and is_divided(parameter):
        return divided_as(value, parameter)
    return value.clone() if key == "step" and not counts_there else value.to(parameter.device, copy=True)


def load_plain(folder: Path | str, model: nn.Module, optimizer: torch.optim.Optimizer | None = None) -> int:
    """Load a checkpoint into the program for one device; return the number of steps made.

    Raises RequestError if a parameter or buffer of the model is not in it.
    """
    checkpoint = Checkpoint(folder)
    state, aliases = checkpoint.state, aliases_of(model)
    complete(state, (aliases[name] for name in model.state_dict()), folder)
    model.load_state_dict({name: state[aliases[name]] for name in model.state_dict()})
    if optimizer is not None:
        named = {
            name: tensor
            for name, tensor in named_state(model)
            if isinstance(tensor, nn.Parameter) and aliases[name] == name
        }
        checkpoint.into_optimizer(optimizer, named)
    return int(checkpoint.facts["step"])


def complete(state: Mapping[str, Any], names: Iterable[str], folder: Path | str) -> None:
    """Raise RequestError naming the first missing name."""
    for name in names:
        if name not in state:
            raise RequestError(
                "auto_parallel.no_checkpoint", "{path}: no whole checkpoint: {reason}", path=folder, reason=name
            )
