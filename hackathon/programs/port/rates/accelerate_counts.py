"""What a program of Accelerate counts: `prepare()` divides the batches of a DataLoader, its data set stays whole."""

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
    """Return what is known of the samples of a program; `prepared`: names that go through `prepare()` of `name`."""
    made = [each for each in functions.calls if functions.imports.full(each.func).endswith("Accelerator")]
    if any(each.star or argument(call, option) for call in made for each in call.args for option in _DIVIDES):
        return KnownCounts(collects=_collects)
    loops = batch_loops(functions.program, functions)
    sources = {each: [*each.sources, *_through_prepare(functions, each, name)] for each in loops}
    mine = [source for found in sources.values() for source in found]
    whole = dataset_names(functions, mine)
    rest = [each for each in functions.calls if is_loader(functions, each) and each not in mine]
    other = dataset_names(functions, rest) - whole if all(sources.values()) else set()
    shared = {each: _is_shared(functions, each, name, prepared) for each in loops}

    def length(what: str, scope: Scope, node: cst.CSTNode) -> str:
        for loop in loops:
            loader = dotted(loop.loader)
            if loader is None or scope is not loop.scope:
                continue
            if what == loader:  # before prepare() it counts the batches of all
                return "mixed" if _is_before_prepare(functions, loop, name, node) else "own"
            if what == f"{loader}.dataset":
                return "whole" if shared[loop] else "mixed"
        key = what, home(functions, what, scope)
        if key in whole:
            return "whole" if all(shared.values()) else "mixed"
        return "other" if key in other else ""

    return KnownCounts(tuple(each.loop for each in loops), batch_sizes(functions, mine), length, _collects)


def _collects(node: cst.CSTNode) -> str:
    """Return whether a node is the number of processes, or takes part in a sum over them."""
    if isinstance(node, cst.Attribute) and node.attr.value == "num_processes":
        return "times"
    if isinstance(node, cst.Call):
        last = method(node) or dotted(node.func) or ""
        return "times" if last == "get_world_size" else "collected" if last in GATHERS else ""
    told = isinstance(node, cst.SimpleString) and node.raw_value == "WORLD_SIZE"
    return "mixed" if told or (isinstance(node, cst.Name) and _OF_ALL.fullmatch(node.value)) else ""


def _through_prepare(functions: Functions, loop: BatchLoop, name: str) -> list[cst.Call]:
    """Return the DataLoaders that `prepare()` was given for the one of a loop."""
    found: list[cst.Call] = []
    for value, scope, element in _prepares(functions, loop, name):
        if element < len(value.args) and not any(each.star for each in value.args):
            origins = functions.origins(value.args[element].value, scope)
            found += [each for each, _ in origins if isinstance(each, cst.Call) and is_loader(functions, each)]
    return found


def _prepares(functions: Functions, loop: BatchLoop, name: str) -> list[tuple[cst.Call, Scope, int]]:
    """Return the calls of `prepare()` that make what a loop runs over: call, its function, which argument."""
    waiting, found, seen = [(loop.loader, loop.scope)], [], set()
    while waiting:
        value, scope = waiting.pop()
        what = dotted(value)
        if what is None or (what, scope) in seen:
            continue
        seen.add((what, scope))
        for given, there, element in functions.before(what, scope, None):
            if isinstance(given, cst.Call) and (dotted(given.func) or "").startswith(f"{name}.prepare"):
                found.append((given, there, element or 0))
            elif element is None:
                waiting.append((given, there))
    return found


def _is_shared(functions: Functions, loop: BatchLoop, name: str, prepared: set[str]) -> bool:
    return dotted(loop.loader) in prepared or bool(_prepares(functions, loop, name))


def _is_before_prepare(functions: Functions, loop: BatchLoop, name: str, node: cst.CSTNode) -> bool:
    """Return whether a line comes before `prepare()` gives a DataLoader its share, in the same function."""
    program, loader = functions.program, dotted(loop.loader)
    calls = [
        each
        for each in functions.calls
        if (dotted(each.func) or "").startswith(f"{name}.prepare") and functions.scope(each) is functions.scope(node)
    ]
    assigned = [each for each in functions.assigned(loader or "", functions.scope(node)) if each.value in calls]
    lines = [program.line(each.statement) for each in assigned] or [program.line(each) for each in calls]
    return bool(lines) and program.line(node) < max(lines)
