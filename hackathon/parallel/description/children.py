"""A model that cannot be captured, as a chain of modules: the children of `nn.Sequential`, run as the user wrote them.

It is built on the CPU, for code that looks at values cannot run without them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_flatten

from hackathon.parallel.description.built import Built
from hackathon.parallel.description.measure import Signature, Times
from hackathon.parallel.description.refusal import CaptureRefusal
from hackathon.parallel.description.work import TensorFact, fact_of, facts_in, look


def chain_of(model: nn.Module, prefix: str = "") -> list[tuple[str, nn.Module]]:
    """Return the modules that a model calls one after another, with their paths; [] if it is no `nn.Sequential`."""
    if type(model) is not nn.Sequential:
        return []
    found = []
    for name, child in model.named_children():
        path = f"{prefix}{name}"
        found += chain_of(child, f"{path}.") or [(path, child)]
    return found


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


class Chain:
    """The modules of a chain with what each does and keeps."""

    def __init__(self, built: Built) -> None:
        """Run each module once on the CPU, forward and backward. Raises what the modules raise."""
        self.modules = chain_of(built.model)
        if not self.modules or built.kwargs or len(built.args) != 1:
            raise CaptureRefusal("capture.no_chain")
        if built.loss is not None:
            self.modules = [*self.modules, ("loss", _Loss(built))]
        self.signatures: list[Signature] = []
        value = tree_map_facts(built.args)
        for _, module in self.modules:
            work = look(module, value, {}, real=True, held=list(module.parameters()))
            self.signatures.append(Signature(module, value, {}, True, work))
            value = (work.outputs,)

    @property
    def counts(self) -> list[int]:
        """How often each occurs."""
        return [1] * len(self.signatures)

    def graph(self, times: Times) -> dict[str, Any]:
        """Return graph.json with a module for each operator."""
        rows: list[dict[str, Any]] = []
        edges = []
        glued = []
        for number, ((path, module), each) in enumerate(zip(self.modules, self.signatures, strict=True)):
            forward, backward = times.seconds[number]
            row: dict[str, Any] = {"name": path, "module": "" if isinstance(module, _Loss) else path}
            row |= {"forward": forward, "backward": backward, "saved": each.work.kept_inside}
            rows.append(row | {"workspace": each.work.workspace} | dict(_state(module)))
            outputs = facts_in(each.work.outputs)
            rows[number]["saved"] += sum(outputs[at].bytes for at in each.work.kept_outputs)
            if number and each.work.kept_inputs and None in self.signatures[number - 1].work.same:
                before = facts_in(self.signatures[number - 1].work.outputs)
                ours = set(self.signatures[number - 1].work.kept_outputs)
                rows[number - 1]["saved"] += sum(before[at].bytes for at in each.work.kept_inputs if at not in ours)
            if number + 1 < len(self.modules):
                size = float(sum(fact.bytes for fact in outputs))
                gradient = float(sum(fact.bytes for fact in outputs if fact.gradient))
                after = self.modules[number + 1][0]
                edges.append({"from": path, "to": after, "bytes": size, "gradient_bytes": gradient})
                if not isinstance(each.work.outputs, TensorFact):
                    glued.append([path, after])
        return {
            "schema_version": 1, "operators": rows, "edges": edges, "aliases": self._aliases(), "glued": glued,
        }  # fmt: skip

    def _aliases(self) -> list[dict[str, Any]]:
        users: dict[int, tuple[int, list[str]]] = {}
        for path, module in self.modules:
            for each in module.parameters():
                if each.requires_grad:
                    users.setdefault(id(each), (fact_of(each).bytes, []))[1].append(path)
        return [{"operators": names, "bytes": size} for size, names in users.values() if len(names) > 1]


def tree_map_facts(value: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return inputs with what is known of each tensor in its place."""
    return tuple(fact_of(each, False) if isinstance(each, torch.Tensor) else each for each in value)


def _state(module: nn.Module) -> Iterator[tuple[str, float]]:
    sizes: Mapping[str, float] = {
        "parameters": sum(fact_of(each).bytes for each in module.parameters() if each.requires_grad),
        "frozen": sum(fact_of(each).bytes for each in module.parameters() if not each.requires_grad),
        "buffers": sum(fact_of(each).bytes for each in module.buffers()),
    }
    yield from sizes.items()


def state_bytes(model: nn.Module) -> float:
    """Return the bytes of a model's parameters and buffers, each once."""
    return float(sum(fact_of(each).bytes for each in tree_flatten([*model.parameters(), *model.buffers()])[0]))
