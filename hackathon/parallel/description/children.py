"""A model that cannot be captured, described as a chain of modules that run unchanged.

It is built on the CPU, because code that reads values needs them.
"""

import copy
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_flatten, tree_map_only

from hackathon.parallel.description.built import Built
from hackathon.parallel.description.measure import Signature, Times
from hackathon.parallel.description.refusal import CaptureRefusal, refusal_of
from hackathon.parallel.description.work import fact_of, facts_in, look, with_facts
from hackathon.parallel.live.capture import named_state
from hackathon.parallel.modules.chain import ModuleChain
from hackathon.text.messages import Message


class _Loss(nn.Module):
    """The loss as the last module of the chain."""

    def __init__(self, built: Built) -> None:
        super().__init__()
        self.inside = built.loss if isinstance(built.loss, nn.Module) else None
        self.__dict__["built"] = built

    def forward(self, output: Any) -> Any:
        built: Built = self.__dict__["built"]
        assert built.loss is not None
        return built.loss(output) if built.target is None else built.loss(output, built.target)


class _Apart(nn.Module):
    """A module that changes its input in place, which the first of a chain could not do with a leaf."""

    def __init__(self, inside: nn.Module) -> None:
        super().__init__()
        self.inside = inside

    def forward(self, value: Any) -> Any:
        return self.inside(tree_map_only(torch.Tensor, lambda tensor: tensor.clone(), value))


def _changes_its_input(module: nn.Module, value: tuple[Any, ...]) -> bool:
    inputs = with_facts(value, lambda fact: fact.made("cpu").detach())
    before = [(tensor, tensor._version) for tensor in tree_flatten(inputs)[0] if isinstance(tensor, torch.Tensor)]
    with torch.enable_grad():  # a module may compute gradients itself
        module(*inputs)
    return any(tensor._version != version for tensor, version in before)


def as_chain(built: Built) -> ModuleChain | None:
    """Return a model as a chain of modules; None if it is not one, or is not called with exactly one argument."""
    return None if built.kwargs or len(built.args) != 1 else ModuleChain.of(built.model, built.loss)


def with_numbers(built: Built) -> Built:
    """Return a runnable copy on the CPU; tensors on the meta device get artificial numbers."""
    memo: dict[int, Any] = {}

    def number(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.is_meta:
            return tensor.detach().to("cpu", copy=True)
        return torch.full(tensor.shape, 0.02 if tensor.is_floating_point() else 0, dtype=tensor.dtype, device="cpu")

    for root in (built.model, built.loss):
        for _, state in named_state(root) if isinstance(root, nn.Module) else ():
            trained = isinstance(state, nn.Parameter)
            memo[id(state)] = nn.Parameter(number(state), state.requires_grad) if trained else number(state)
    model, loss = copy.deepcopy((built.model, built.loss), memo)
    args, target = tree_map_only(torch.Tensor, number, (built.args, built.target))
    return Built(model, args, built.kwargs, loss, target)


class Chain:
    """The modules of a chain with their work and memory."""

    def __init__(self, built: Built, file: str = "?") -> None:
        """Run each module on the CPU, forward and backward. Raises CaptureRefusal naming the module that fails.

        `file`: is named if no line of the user's code is responsible.
        """
        chain = as_chain(built)
        if chain is None:
            raise CaptureRefusal(
                Message(
                    "capture.no_chain", "The model cannot be captured, and its children cannot be run one after another"
                )
            )
        modules = chain.modules if built.loss is None else (*chain.modules, _Loss(built))
        self.modules = list(zip(chain.operators, modules, strict=True))
        self._paths = (*chain.paths, "")
        self.signatures: list[Signature] = []
        self._changed: set[int] = set()
        value = tree_map_facts(built.args)
        for path, module in zip(self._paths, modules, strict=False):
            before = [(buffer, buffer.clone()) for buffer in module.buffers()]
            try:
                run = _Apart(module) if _changes_its_input(module, value) else module
                work = look(run, value, {}, real=True, parameters=list(module.parameters()))
            except Exception as error:
                raise refusal_of(error, module, file, path) from error
            now = {id(buffer) for buffer in module.buffers()}  # normalisation changes its own without a new version
            self._changed |= {
                id(buffer) for buffer, old in before if id(buffer) not in now or not torch.equal(buffer, old)
            }
            self.signatures.append(Signature(run, value, {}, True, work))
            value = (work.outputs,)

    @property
    def counts(self) -> list[int]:
        """Number of occurrences of each."""
        return [1] * len(self.signatures)

    def graph(self, times: Times) -> dict[str, Any]:
        """Return graph.json with a module for each operator."""
        rows: list[dict[str, Any]] = []
        edges = []
        glued = self._sharing()
        for number, ((name, module), signature) in enumerate(zip(self.modules, self.signatures, strict=True)):
            forward, backward = times.seconds[number]
            row: dict[str, Any] = {"name": name, "module": self._paths[number]}
            row |= {"forward": forward, "backward": backward, "saved": signature.work.kept_inside}
            rows.append(row | {"workspace": signature.work.workspace} | dict(_state(module)))
            outputs = facts_in(signature.work.outputs)
            rows[number]["saved"] += sum(outputs[at].bytes for at in signature.work.kept_outputs)
            if number and signature.work.kept_inputs and None in self.signatures[number - 1].work.same:
                before = facts_in(self.signatures[number - 1].work.outputs)
                ours = set(self.signatures[number - 1].work.kept_outputs)
                rows[number - 1]["saved"] += sum(
                    before[at].bytes for at in signature.work.kept_inputs if at not in ours
                )
            if number + 1 < len(self.modules):
                size = float(sum(fact.bytes for fact in outputs))
                gradient = float(sum(fact.bytes for fact in outputs if fact.gradient))
                after = self.modules[number + 1][0]
                edges.append({"from": name, "to": after, "bytes": size, "gradient_bytes": gradient})
                if len(tree_flatten(signature.work.outputs)[0]) != len(outputs):  # one of them is not a tensor
                    glued.append([name, after])
        return {
            "schema_version": 1, "operators": rows, "edges": edges, "aliases": self._aliases(), "glued": glued,
        }  # fmt: skip

    def _sharing(self) -> list[list[str]]:
        """Return the pairs that must not be separated: from the first to the last module that change one buffer."""
        positions: dict[int, list[int]] = {}
        for number, (_, module) in enumerate(self.modules):
            for buffer in module.buffers():
                positions.setdefault(id(buffer), []).append(number)
        pairs = {pair for key, numbers in positions.items() if key in self._changed
                for pair in pairwise(range(numbers[0], numbers[-1] + 1))}  # fmt: skip
        return [[self.modules[first][0], self.modules[second][0]] for first, second in sorted(pairs)]

    def _aliases(self) -> list[dict[str, Any]]:
        users: dict[int, tuple[int, list[str]]] = {}
        for path, module in self.modules:
            for parameter in module.parameters():
                if parameter.requires_grad:
                    users.setdefault(id(parameter), (fact_of(parameter).bytes, []))[1].append(path)
        return [{"operators": names, "bytes": size} for size, names in users.values() if len(names) > 1]


def tree_map_facts(value: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return inputs with each tensor replaced by its facts."""
    return tuple(fact_of(argument, False) if isinstance(argument, torch.Tensor) else argument for argument in value)


def _state(module: nn.Module) -> Iterator[tuple[str, float]]:
    sizes: Mapping[str, float] = {
        "parameters": sum(fact_of(parameter).bytes for parameter in module.parameters() if parameter.requires_grad),
        "frozen": sum(fact_of(parameter).bytes for parameter in module.parameters() if not parameter.requires_grad),
        "buffers": sum(fact_of(buffer).bytes for buffer in module.buffers()),
    }
    yield from sizes.items()


def state_bytes(model: nn.Module) -> float:
    """Return the bytes of a model's parameters and buffers, each once."""
    return float(sum(fact_of(tensor).bytes for tensor in tree_flatten([*model.parameters(), *model.buffers()])[0]))
