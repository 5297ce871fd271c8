"""What a program of Accelerate counts: `prepare()` divides the batches of a DataLoader, not its data set."""

import re

import libcst as cst

from hackathon.programs.port.functions import Functions, Scope
from hackathon.programs.port.loops import BatchLoop, batch_loops, is_loader
from hackathon.programs.port.names import argument, dotted, method
from hackathon.programs.port.rates.counting import KnownCounts, home
from hackathon.programs.port.rates.torch_counts import batch_sizes, dataset_names

GATHERS = ("gather", "gather_for_metrics", "reduce", "all_reduce", "all_gather", "all_gather_object")
_OF_ALL = re.compile(r"(?i)_*world_?size_*")
_DIVIDES = ("split_batches", "dispatch_batches", "dataloader_config")
"""Options by which a batch size may be that of all processes."""


def accelerate_counts(functions: Functions, name: str, prepared: set[str]) -> KnownCounts:
    """Return the known facts about a program's samples; `prepared`: names that go through `prepare()` of `name`."""
    accelerators = [call for call in functions.calls if functions.imports.full(call.func).endswith("Accelerator")]
    if any(arg.star or argument(call, option) for call in accelerators for arg in call.args for option in _DIVIDES):
        return KnownCounts(collects=_collects)
    loops = batch_loops(functions.program, functions)
    sources = {loop: [*loop.sources, *_through_prepare(functions, loop, name)] for loop in loops}
    mine = [source for loaders in sources.values() for source in loaders]
    datasets = dataset_names(functions, mine)
    remaining = [call for call in functions.calls if is_loader(functions, call) and call not in mine]
    other = dataset_names(functions, remaining) - datasets if all(sources.values()) else set()
    shared = {loop: _is_shared(functions, loop, name, prepared) for loop in loops}

    def length(measured: str, scope: Scope, node: cst.CSTNode) -> str:
        for loop in loops:
            loader = dotted(loop.loader)
            if loader is None or scope is not loop.scope:
                continue
            if measured == loader:  # before prepare() it counts the batches of all processes
                return "mixed" if _is_before_prepare(functions, loop, name, node) else "own"
            if measured == f"{loader}.dataset":
                return "whole" if shared[loop] else "mixed"
        key = measured, home(functions, measured, scope)
        if key in datasets:
            return "whole" if all(shared.values()) else "mixed"
        return "other" if key in other else ""

    return KnownCounts(tuple(loop.loop for loop in loops), batch_sizes(functions, mine), length, _collects)


def _collects(node: cst.CSTNode) -> str:
    """Return whether a node is the number of processes, or part of a sum over them."""
    if isinstance(node, cst.Attribute) and node.attr.value == "num_processes":
        return "times"
    if isinstance(node, cst.Call):
        last = method(node) or dotted(node.func) or ""
        return "times" if last == "get_world_size" else "collected" if last in GATHERS else ""
    is_variable = isinstance(node, cst.SimpleString) and node.raw_value == "WORLD_SIZE"
    return "mixed" if is_variable or (isinstance(node, cst.Name) and _OF_ALL.fullmatch(node.value)) else ""


def _through_prepare(functions: Functions, loop: BatchLoop, name: str) -> list[cst.Call]:
    """Return the DataLoaders passed to `prepare()` for the one of a loop."""
    loaders: list[cst.Call] = []
    for value, scope, element in _prepares(functions, loop, name):
        if element < len(value.args) and not any(arg.star for arg in value.args):
            origins = functions.origins(value.args[element].value, scope)
            loaders += [
                origin for origin, _ in origins if isinstance(origin, cst.Call) and is_loader(functions, origin)
            ]
    return loaders


def _prepares(functions: Functions, loop: BatchLoop, name: str) -> list[tuple[cst.Call, Scope, int]]:
    """Return the calls of `prepare()` that create a loop's iterable: call, its function, index of the argument."""
    waiting, prepares, visited = [(loop.loader, loop.scope)], [], set()
    while waiting:
        value, scope = waiting.pop()
        source = dotted(value)
        if source is None or (source, scope) in visited:
            continue
        visited.add((source, scope))
        for origin, origin_scope, element in functions.before(source, scope, None):
            if isinstance(origin, cst.Call) and (dotted(origin.func) or "").startswith(f"{name}.prepare"):
                prepares.append((origin, origin_scope, element or 0))
            elif element is None:
                waiting.append((origin, origin_scope))
    return prepares


def _is_shared(functions: Functions, loop: BatchLoop, name: str, prepared: set[str]) -> bool:
    return dotted(loop.loader) in prepared or bool(_prepares(functions, loop, name))


def _is_before_prepare(functions: Functions, loop: BatchLoop, name: str, node: cst.CSTNode) -> bool:
    """Return whether a line comes before `prepare()` divides a DataLoader, in the same function."""
    program, loader = functions.program, dotted(loop.loader)
    calls = [
        call
        for call in functions.calls
        if (dotted(call.func) or "").startswith(f"{name}.prepare") and functions.scope(call) is functions.scope(node)
    ]
    assigned = [
        assignment
        for assignment in functions.assigned(loader or "", functions.scope(node))
        if assignment.value in calls
    ]
    lines = [program.line(node.statement) for node in assigned] or [program.line(node) for node in calls]
    return bool(lines) and program.line(node) < max(lines)
