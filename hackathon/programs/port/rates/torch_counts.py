"""What a program of PyTorch counts: its DataLoaders get a sampler, its data sets stay whole."""

import libcst as cst

from hackathon.programs.port.functions import Functions, Scope
from hackathon.programs.port.loops import BatchLoop, is_loader
from hackathon.programs.port.names import argument, dotted
from hackathon.programs.port.rates.counting import Home, KnownCounts, home


def torch_counts(functions: Functions, loops: list[BatchLoop]) -> KnownCounts:
    """Return the known facts about the samples of a program ported to DistributedDataParallel."""
    mine = [source for loop in loops for source in loop.sources]
    datasets = dataset_names(functions, mine)
    remaining = [call for call in functions.calls if is_loader(functions, call) and call not in mine]
    # a loop over unknown data may run over any DataLoader
    other = dataset_names(functions, remaining) - datasets if all(loop.sources for loop in loops) else set()

    def length(measured: str, scope: Scope, _node: cst.CSTNode) -> str:
        for loop in loops:
            name = dotted(loop.loader)
            if name is not None and measured in (name, f"{name}.dataset") and scope is loop.scope:
                return "own"  # `len(loader.dataset)` becomes `len(loader.sampler)`
        key = measured, home(functions, measured, scope)
        return "whole" if key in datasets else "other" if key in other else ""

    return KnownCounts(tuple(loop.loop for loop in loops), batch_sizes(functions, mine), length)


def dataset_names(functions: Functions, loaders: list[cst.Call]) -> set[tuple[str, Home]]:
    """Return the names of the DataLoaders' data sets, and their scopes."""
    return {
        (name, home(functions, name, functions.scope(loader)))
        for loader in loaders
        if (dataset := argument(loader, "dataset", 0)) is not None and (name := dotted(dataset.value)) is not None
    }


def batch_sizes(functions: Functions, loaders: list[cst.Call]) -> frozenset[str]:
    """Return the expressions for the batch sizes of DataLoaders."""
    sizes = (argument(loader, "batch_size", 1) for loader in loaders)
    return frozenset(functions.program.text(size.value) for size in sizes if size is not None)
