"""What a mean over the processes changes: losses that are sums, statistics of BatchNorm, ranks that a program reads."""

import re
from collections.abc import Iterator

import libcst as cst

from hackathon.programs.port.edits import Edits
from hackathon.programs.port.functions import DEPTH, Functions, Scope
from hackathon.programs.port.names import argument, method
from hackathon.programs.port.torch_data import TrainingData
from hackathon.text.messages import Message

_NORM = re.compile(r"(?:Lazy)?BatchNorm(?:[123]d)?|batch_norm")
_VARIABLE = re.compile(r"(?:[A-Z0-9_]+_)?(?:LOCAL_|LOCAL)?(?:RANK|WORLD_SIZE|PROCID)")
_SMALL = 16
"""Samples of a batch below which statistics of one process are poor."""


def gradients(edits: Edits, functions: Functions, data: TrainingData) -> None:
    """Ask about losses that are sums, and about small batches of BatchNorm."""
    for backward in functions.backwards:
        total = next(_sums(functions, backward), None)
        if total is not None:
            edits.ask(
                backward,
                Message(
                    "port.ask_sum",
                    "`{call}` is a sum over the samples, and DistributedDataParallel averages over the processes: "
                    "multiply the loss by the number of processes, or use the mean?",
                ),
                call=functions.program.text(total),
            )
            break
    _normalized(edits, functions, data)
    _ranked(edits, functions)


def _sums(functions: Functions, backward: cst.Call) -> Iterator[cst.Call]:
    """Yield the calls that make a loss a sum over the samples."""
    value = backward.func.value if isinstance(backward.func, cst.Attribute) else None
    waiting = [(value, functions.scope(backward), DEPTH)] if value is not None else []
    while waiting:
        node, scope, depth = waiting.pop()
        for origin, origin_scope in functions.origins(node, scope):
            if isinstance(origin, cst.BinaryOperation) and depth:
                divided = isinstance(origin.operator, cst.Divide)
                parts = [] if divided else [origin.left, origin.right]
                waiting += [(part, origin_scope, depth - 1) for part in parts]
            elif isinstance(origin, cst.Call) and _is_sum(functions, origin, origin_scope):
                yield origin


def _is_sum(functions: Functions, call: cst.Call, scope: Scope) -> bool:
    """Return whether a call returns a sum over all values: `.sum()`, or a loss with `reduction="sum"`."""
    if functions.imports.full(call.func) == "torch.sum" or (method(call) == "sum" and not call.args):
        return argument(call, "dim") is None and len(call.args) < 2
    makers = [call, *(value for value, _ in functions.origins(call.func, scope) if isinstance(value, cst.Call))]
    for maker in makers:
        reduction, average = argument(maker, "reduction"), argument(maker, "size_average")
        if reduction is not None and functions.program.text(reduction.value).strip("'\"") == "sum":
            return True
        if average is not None and functions.program.text(average.value) == "False":
            return True
    return False


def _normalized(edits: Edits, functions: Functions, data: TrainingData) -> None:
    program = functions.program
    norm = next((node for node in program.everywhere(cst.Name) if _NORM.fullmatch(node.value)), None)
    if norm is None:
        return
    small = next((call for call in data.sampled if 0 < _batch(functions, call) < _SMALL), None)
    if small is not None:
        edits.ask(
            small,
            Message(
                "port.ask_batch_norm",
                "BatchNorm computes its statistics from the {batch} {batch:sample|samples} of one process: should all "
                "processes do that together (torch.nn.SyncBatchNorm.convert_sync_batchnorm(model) before "
                "DistributedDataParallel)?",
            ),
            batch=_batch(functions, small),
        )
    else:
        edits.note(
            norm,
            Message(
                "port.note_batch_norm",
                "BatchNorm computes its statistics from the batch of one process, as in the program of one process. "
                "With few samples for each process, torch.nn.SyncBatchNorm.convert_sync_batchnorm(model) before "
                "DistributedDataParallel lets all processes do that together.",
            ),
        )


def _batch(functions: Functions, loader: cst.Call) -> int:
    """Return the batch size of a DataLoader that is written in the program, also as an option's default; else 0."""
    size = argument(loader, "batch_size", 1)
    if size is None:
        return 1
    values = [value for value, _ in functions.origins(size.value, functions.scope(loader))]
    return int(values[0].value) if len(values) == 1 and isinstance(values[0], cst.Integer) else 0


def _ranked(edits: Edits, functions: Functions) -> None:
    """Ask about a program that reads its rank, although it joins no group."""
    program = functions.program
    for node in program.everywhere(cst.SimpleString):
        reads = isinstance(program.parents.get(node), cst.Index | cst.Arg) and _VARIABLE.fullmatch(node.raw_value)
        if reads:
            edits.ask(
                node,
                Message(
                    "port.ask_rank",
                    "the program reads {variable}: does it divide its work among processes already?",
                ),
                variable=node.raw_value,
            )
            return
