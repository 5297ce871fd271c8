"""The loops of a training: over batches, and over epochs around them."""

from dataclasses import dataclass
from typing import Literal

import libcst as cst

from hackathon.programs.port.functions import DEPTH, Functions, Scope
from hackathon.programs.port.names import dotted, method
from hackathon.programs.port.source import SingleGpuProgram

_WRAPPERS = {"enumerate", "tqdm", "trange", "islice", "track", "progress_bar"}


@dataclass(frozen=True)
class BatchLoop:
    """A loop over the batches of a DataLoader that contains a training step."""

    loop: cst.For
    loader: cst.BaseExpression
    """The iterable, without `enumerate` and similar wrappers."""
    scope: Scope
    sources: tuple[cst.Call, ...]
    """The DataLoader calls that created it; empty: unknown."""


@dataclass(frozen=True)
class EpochPlace:
    """The start of an epoch, and the names of epoch and DataLoader there."""

    kind: Literal["for", "while", "once"]
    statement: cst.CSTNode | None = None
    epoch: str = ""
    loader: str = ""


def is_loader(functions: Functions, node: cst.BaseExpression) -> bool:
    """Return whether an expression creates a DataLoader of torch."""
    return isinstance(node, cst.Call) and functions.imports.full(node.func) in (
        "torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader", "torch_geometric.loader.DataLoader",
        "torch_geometric.data.DataLoader", "torch_geometric.loader.dataloader.DataLoader", "monai.data.DataLoader",
        "dgl.dataloading.GraphDataLoader",
    )  # fmt: skip


def iterated(loop: cst.For) -> cst.BaseExpression:
    """Return the iterable of a loop, without wrappers that only count or show progress."""
    value = loop.iter
    while isinstance(value, cst.Call) and value.args:
        name = (dotted(value.func) or "").split(".")[-1]
        if name not in _WRAPPERS:
            break
        value = value.args[0].value
    return value


def batch_loops(program: SingleGpuProgram, functions: Functions) -> list[BatchLoop]:
    """Return the training loops over batches, in the order of the text."""
    loops = []
    for loop in program.everywhere(cst.For):
        if not functions.reaches(loop.body):
            continue
        value, scope = iterated(loop), functions.scope(loop)
        if is_loader(functions, value):
            sources: tuple[cst.Call, ...] = (value,)  # type: ignore[assignment]
        else:
            origins = functions.origins(value, scope)
            loaders = [origin for origin, _ in origins if is_loader(functions, origin)]
            sources = tuple(dict.fromkeys(loaders))  # type: ignore[arg-type]
        if sources or not _counts(value, functions, loop):
            loops.append(BatchLoop(loop, value, scope, sources))
    return loops


def _counts(value: cst.BaseExpression, functions: Functions, loop: cst.For) -> bool:
    """Return whether a loop around the loop over batches only counts: over epochs, folds, settings."""
    inner = [loop for loop in functions.program.find(loop.body, cst.For) if functions.reaches(loop.body)]
    through = [functions.target(call) for call in functions.reaches(loop.body)]
    deeper = any(
        functions.reaches(loop.body)
        for function in through
        if function is not None
        for loop in functions.program.find(function, cst.For)
    )
    return bool(inner) or deeper


def epoch_place(functions: Functions, loop: BatchLoop) -> list[EpochPlace]:
    """Return where to set the sampler's epoch; `once` when the data are used a single time."""
    name = dotted(loop.loader)
    return _climb(functions, loop.loop, loop.scope, name or "", DEPTH)


def _climb(functions: Functions, node: cst.CSTNode, scope: Scope, loader: str, depth: int) -> list[EpochPlace]:
    child = node
    for outer in functions.program.above(node):
        if isinstance(outer, cst.FunctionDef):
            break
        if isinstance(outer, cst.While):
            return [EpochPlace("while", outer)]
        if isinstance(outer, cst.For) and functions.program.parents.get(child) is outer:
            # several loops may surround the batches: the sampler counts the innermost
            target = outer.target
            if isinstance(target, cst.Tuple) and target.elements:
                target = target.elements[0].value  # type: ignore[assignment]
            if isinstance(target, cst.Name):
                return [EpochPlace("for", _direct(functions, outer, node), target.value, loader)]
            return [EpochPlace("while", outer)]
        child = outer
    epochs: list[EpochPlace] = []
    if isinstance(scope, cst.FunctionDef) and depth > 0:
        for call in functions.calls_of(scope):
            caller = functions.scope(call)
            epochs += _climb(functions, call, caller, _outside(functions, call, scope, loader), depth - 1)
    return epochs or [EpochPlace("once")]


def _direct(functions: Functions, loop: cst.For, node: cst.CSTNode) -> cst.CSTNode:
    """Return the statement in the loop's own body that contains a node."""
    inside = node
    for outer in functions.program.above(node):
        if outer is loop.body:
            return inside
        inside = outer
    return functions.program.statement(node)


def _outside(functions: Functions, call: cst.Call, scope: cst.FunctionDef, loader: str) -> str:
    """Return a caller's name for the DataLoader of a function, "" without one."""
    first, dot, attribute = loader.partition(".")
    if first in functions.parameters(scope):
        passed = functions.passed(call, scope, first)
        name = dotted(passed) if passed is not None else None
        return f"{name}{dot}{attribute}" if name else ""
    if first == "self" and isinstance(call.func, cst.Attribute):
        receiver = dotted(call.func.value)
        return f"{receiver}{dot}{attribute}" if receiver and method(call) else ""
    if functions.assigned(loader, scope):
        return ""  # created inside: its caller does not see it
    return loader
