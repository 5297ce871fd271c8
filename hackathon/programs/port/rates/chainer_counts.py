"""What a program of Chainer counts: `scatter_dataset` puts a share in the place of the whole data set."""

import libcst as cst

from hackathon.programs.port.functions import Functions, Scope
from hackathon.programs.port.names import argument, calls, dotted, method
from hackathon.programs.port.rates.counting import KnownCounts, Loop, home

Scattered = dict[tuple[str, Scope], tuple[int, bool]]
"""A name and its function → the line before which it becomes a share, and whether a training runs over it."""


def chainer_counts(functions: Functions, iterators: list[cst.Call], scattered: Scattered) -> KnownCounts:
    """Return what is known of the samples of a program; `iterators`: those of the training."""
    updates = [each for each in functions.calls if method(each) == "update" and _is_optimizer(functions, each)]
    functions.train_by([*dict.fromkeys([*functions.backwards, *updates])])

    def length(what: str, scope: Scope, node: cst.CSTNode) -> str:
        lives = home(functions, what, scope)
        for (name, there), (line, trains) in scattered.items():
            if name != what or lives is not home(functions, name, there):
                continue
            if not trains:
                return "other"
            if scope is not there:
                return "mixed"  # whether it is the share already depends on who calls this function, and when
            return "own" if functions.program.line(node) >= line else "whole"
        return ""

    sizes = {
        functions.program.text(given.value)
        for each in iterators
        if (given := argument(each, "batch_size", 1)) is not None
    }
    return KnownCounts(tuple(_loops(functions)), frozenset(sizes), length)


def _is_optimizer(functions: Functions, call: cst.Call) -> bool:
    """Return whether a method is that of an optimizer of Chainer."""
    receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
    if receiver is None or dotted(receiver) is None:
        return False
    made = (each for each, _ in functions.origins(receiver, functions.scope(call)))
    return any(
        functions.imports.full(inner.func).startswith("chainer.optimizers.")
        for each in made
        for inner in calls(functions.program, each)
    )


def _loops(functions: Functions) -> list[Loop]:
    """Return the innermost loops that make steps of a training."""
    program = functions.program
    found: list[Loop] = []
    for each in program.walk(program.module):
        if not isinstance(each, Loop) or not functions.reaches(each.body):
            continue
        through = [functions.target(call) for call in functions.reaches(each.body)]
        deeper = [each.body, *(function.body for function in through if function is not None)]
        inner = (below for body in deeper for below in program.walk(body) if isinstance(below, Loop))
        if not any(functions.reaches(below.body) for below in inner):
            found.append(each)
    return found
