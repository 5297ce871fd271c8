"""What a program of PyTorch counts: its DataLoaders get a sampler, its data sets stay whole."""

import libcst as cst

from hackathon.programs.port.functions import Functions, Scope
from hackathon.programs.port.loops import BatchLoop, is_loader
from hackathon.programs.port.names import argument, dotted
from hackathon.programs.port.rates.counting import Home, KnownCounts, home


def torch_counts(functions: Functions, loops: list[BatchLoop]) -> KnownCounts:
    """Return what is known of the samples of a program that is ported to DistributedDataParallel."""
    mine = [source for each in loops for source in each.sources]
    whole = dataset_names(functions, mine)
    rest = [each for each in functions.calls if is_loader(functions, each) and each not in mine]
    # a loop over data that are not known may run over any DataLoader
    other = dataset_names(functions, rest) - whole if all(each.sources for each in loops) else set()

    def length(what: str, scope: Scope, _node: cst.CSTNode) -> str:
        for loop in loops:
            name = dotted(loop.loader)
            if name is not None and what in (name, f"{name}.dataset") and scope is loop.scope:
                return "own"  # `len(loader.dataset)` becomes `len(loader.sampler)`
        key = what, home(functions, what, scope)
        return "whole" if key in whole else "other" if key in other else ""

    return KnownCounts(tuple(each.loop for each in loops), batch_sizes(functions, mine), length)


def dataset_names(functions: Functions, loaders: list[cst.Call]) -> set[tuple[str, Home]]:
    """Return the names of the data sets of DataLoaders, and where they live."""
    return {
        (name, home(functions, name, functions.scope(each)))
        for each in loaders
        if (given := argument(each, "dataset", 0)) is not None and (name := dotted(given.value)) is not None
    }


def batch_sizes(functions: Functions, loaders: list[cst.Call]) -> frozenset[str]:
    """Return the expressions for the batch size of DataLoaders."""
    given = (argument(each, "batch_size", 1) for each in loaders)
    return frozenset(functions.program.text(each.value) for each in given if each is not None)
