"""Turn a ported program's printed throughput into that of all processes."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import libcst as cst

from hackathon.logs.words import ALL, EACH
from hackathon.programs.port.edits import Edits
from hackathon.programs.port.functions import Functions
from hackathon.programs.port.names import dotted
from hackathon.programs.port.rates.counting import Counting, KnownCounts
from hackathon.programs.port.rates.lines import insert, said_total, scope_of
from hackathon.programs.port.rates.templates import Piece, Untold, Written, printed
from hackathon.text.messages import Message

_PIECES = 100
"""Parts of a printed line; longer lines stay unchanged."""


@dataclass(frozen=True)
class PortedProcesses:
    """How a ported program names its number of processes."""

    size: str
    sees: Callable[[cst.CSTNode], bool] = lambda node: True
    """Whether a line sees that name."""
    prints: str = ""
    """A function of the framework that prints in one process, besides `print`."""


def whole_rates(edits: Edits, functions: Functions, counts: KnownCounts, processes: PortedProcesses) -> set[cst.Call]:
    """Make printed throughputs those of all processes, and mark them; ask if the count is unclear.

    Return the calls of `len` that count the samples of all processes, as before.
    """
    unchanged: set[cst.Call] = set()
    counting = Counting(functions, counts)
    inserted: dict[Written, list[tuple[int, str]]] = {}
    for call in functions.calls:
        prints = functions.imports.full(call.func) == "print" and functions.target(call) is None
        if not prints and not (processes.prints and dotted(call.func) == processes.prints):
            continue
        pieces = list(islice(printed(call), _PIECES))
        scopes = [None if isinstance(piece, str) else scope_of(pieces, index) for index, piece in enumerate(pieces)]
        for index, (piece, scope) in enumerate(zip(pieces, scopes, strict=True)):
            if scope is None or scope == EACH or not isinstance(piece, cst.BaseExpression | Untold):
                continue
            kinds = counting.of_printed(piece, functions.scope(call)) if not isinstance(piece, Untold) else set()
            if kinds == {"other"} or (kinds == {"collected"} and scope == ALL):
                continue  # an evaluation, in which each process sees all data; or already the sum of all processes
            own = kinds == {"own"} and processes.sees(call) and _alone(pieces, index)
            if not own and kinds != {"whole"}:
                edits.ask(
                    call,
                    Message(
                        "port.ask_throughput",
                        "only rank 0 prints this throughput: does it count the samples of one process? Then "
                        "multiply it by {world}",
                    ),
                    world=processes.size,
                )
                continue
            if not own:
                unchanged |= counting.kept
            elif isinstance(piece, cst.BaseExpression):
                _multiply(edits, piece, processes.size)
            total = said_total(pieces, index) if scope != ALL else None
            if total is not None:
                text, at, more = total
                inserted.setdefault(text.node, []).append((text.start + at, more))
            if total is not None or own:
                expression = functions.program.text(piece) if isinstance(piece, cst.BaseExpression) else ""
                edits.done(
                    call,
                    Message("port.do_throughput", "the throughput is that of all processes: only rank 0 prints it"),
                    f"{processes.size} * {expression}" if own else "(total)",
                )
    for node, insertions in inserted.items():
        insert(edits, node, insertions)
    return unchanged


def _alone(pieces: list[Piece], index: int) -> bool:
    """Return whether a value appears once in a line: `"{0} samples/s, {0} of 9"` prints one value twice."""
    return sum(piece is pieces[index] for piece in pieces) == 1


def _multiply(edits: Edits, piece: cst.BaseExpression, world: str) -> None:
    tight = isinstance(piece, cst.Name | cst.Attribute | cst.Call | cst.Subscript) or bool(piece.lpar)
    if isinstance(piece, cst.BinaryOperation):
        tight = tight or isinstance(piece.operator, cst.Multiply | cst.Divide)
    if not tight:
        edits.change(piece, _in_brackets)
    # `"%.1f" % speed`: the product comes first
    inside = isinstance(edits.program.parents.get(piece), cst.BinaryOperation)
    edits.wrap(piece, f"({world} * {{}})" if inside else f"{world} * {{}}")


def _in_brackets(updated: cst.CSTNode) -> cst.CSTNode:
    return updated.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
