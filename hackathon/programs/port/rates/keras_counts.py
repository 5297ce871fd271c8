"""What a program of Keras counts: its arrays stay whole, a loop with a tape sees the share of one process."""

from collections.abc import Iterable, Iterator

import libcst as cst

from hackathon.programs.port.functions import Functions, Scope
from hackathon.programs.port.keras_program import KerasProgram
from hackathon.programs.port.loops import iterated
from hackathon.programs.port.names import argument, dotted, method
from hackathon.programs.port.rates.counting import Home, KnownCounts, home

_Names = set[tuple[str, Home]]
_TESTS = ("evaluate", "predict")


def keras_counts(keras: KerasProgram, loops: dict[cst.For, bool]) -> KnownCounts:
    """Return the known facts about a program's samples.

    `loops`: the training loops over batches, and whether each process has its share there. With `fit` there are none:
    the program shows only the length of its arrays, not its number of batches.
    """
    functions = keras.functions
    trained = {call for loop in loops for call in _slices(keras, iterated(loop), functions.scope(loop))}
    trained_arrays = _arrays(functions, (arg.value for call in trained for arg in call.args[:1]))
    for call in keras.fits:
        if (x := argument(call, "x", 0)) is not None:
            arrays = keras.arrays(call) or [
                arg.value for call in _slices(keras, x.value, functions.scope(call)) for arg in call.args[:1]
            ]
            trained_arrays |= _arrays(functions, arrays)
    # a loop over unknown data may run over any of them
    complete = all(loops.values()) and bool(loops or not keras.tapes)
    other = _tested(keras, trained) - trained_arrays if complete else set()

    def length(measured: str, scope: Scope, _node: cst.CSTNode) -> str:
        for loop, shared in loops.items():
            if measured == dotted(iterated(loop)) and scope is functions.scope(loop):
                return "own" if shared else "mixed"
        key = measured, home(functions, measured, scope)
        return ("whole" if complete else "mixed") if key in trained_arrays else "other" if key in other else ""

    sizes = {
        functions.program.text(size.value)
        for loop in loops
        for call in keras.batched(iterated(loop), functions.scope(loop))
        if (size := argument(call, "batch_size", 0)) is not None
    }
    return KnownCounts(tuple(loops), frozenset(sizes), length)


def _slices(keras: KerasProgram, value: cst.BaseExpression, scope: Scope) -> list[cst.Call]:
    """Return the `from_tensor_slices` calls that a data set starts from."""
    return [base for base, _ in keras.bases(value, scope) if isinstance(base, cst.Call) and keras.is_slices(base)]


def _tested(keras: KerasProgram, trained: set[cst.Call]) -> _Names:
    """Return the names of arrays that the program evaluates, predicts or puts into another data set."""
    functions = keras.functions
    slices = [call for call in functions.calls if keras.is_slices(call) and call not in trained]
    tests = [call for call in functions.calls if method(call) in _TESTS]
    return _arrays(functions, (arg.value for call in (*slices, *tests) for arg in call.args if arg.keyword is None))


def _arrays(functions: Functions, values: Iterable[cst.BaseExpression]) -> _Names:
    """Return the names in the arguments, `x` and `y` in `(x, y)`, and their scopes."""
    return {
        (name, home(functions, name, functions.scope(part)))
        for value in values
        for part in _parts(value)
        if (name := dotted(part)) is not None
    }


def _parts(value: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if isinstance(value, cst.Tuple | cst.List):
        for element in value.elements:
            yield from _parts(element.value)
    else:
        yield value
