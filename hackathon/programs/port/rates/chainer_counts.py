"""What a program of Chainer counts: `scatter_dataset` replaces the whole data set with a share."""

import libcst as cst

from hackathon.programs.port.functions import Functions, Scope
from hackathon.programs.port.names import argument, calls, dotted, method
from hackathon.programs.port.rates.counting import KnownCounts, Loop, home

Scattered = dict[tuple[str, Scope], tuple[int, bool]]
"""A name and its function → the line at which it becomes a share, and whether a training uses it."""


def chainer_counts(functions: Functions, iterators: list[cst.Call], scattered: Scattered) -> KnownCounts:
    """Return the known facts about a program's samples; `iterators`: those of the training."""
    updates = [call for call in functions.calls if method(call) == "update" and _is_optimizer(functions, call)]
    functions.train_by([*dict.fromkeys([*functions.backwards, *updates])])

    def length(measured: str, scope: Scope, node: cst.CSTNode) -> str:
        lives = home(functions, measured, scope)
        for (name, home_scope), (line, trains) in scattered.items():
            if name != measured or lives is not home(functions, name, home_scope):
                continue
            if not trains:
                return "other"
            if scope is not home_scope:
                return "mixed"  # whether it is already the share depends on the callers of this function
            return "own" if functions.program.line(node) >= line else "whole"
        return ""

    sizes = {
        functions.program.text(size.value)
        for iterator in iterators
        if (size := argument(iterator, "batch_size", 1)) is not None
    }
    return KnownCounts(tuple(_loops(functions)), frozenset(sizes), length)


def _is_optimizer(functions: Functions, call: cst.Call) -> bool:
    """Return whether the object of a method is an optimizer of Chainer."""
    receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
    if receiver is None or dotted(receiver) is None:
        return False
    origins = (origin for origin, _ in functions.origins(receiver, functions.scope(call)))
    return any(
        functions.imports.full(inner.func).startswith("chainer.optimizers.")
        for origin in origins
        for inner in calls(functions.program, origin)
    )


def _loops(functions: Functions) -> list[Loop]:
    """Return the innermost loops with training steps."""
    program = functions.program
    loops: list[Loop] = []
    for loop in program.nodes():
        if not isinstance(loop, Loop) or not functions.reaches(loop.body):
            continue
        through = [functions.target(call) for call in functions.reaches(loop.body)]
        deeper = [loop.body, *(function.body for function in through if function is not None)]
        inner = (below for body in deeper for below in program.walk(body) if isinstance(below, Loop))
        if not any(functions.reaches(below.body) for below in inner):
            loops.append(loop)
    return loops
