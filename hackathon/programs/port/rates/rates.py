"""The throughput that a ported program prints becomes that of all processes."""

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

_PIECES = 100
"""Parts of a printed line. A line with more is left as it is."""


@dataclass(frozen=True)
class PortedProcesses:
    """How a ported program names the number of its processes."""

    size: str
    sees: Callable[[cst.CSTNode], bool] = lambda node: True
    """Whether a line knows that name."""
    prints: str = ""
    """A function of the framework that prints in one process, besides `print`."""


def whole_rates(edits: Edits, functions: Functions, counts: KnownCounts, processes: PortedProcesses) -> set[cst.Call]:
    """Let a printed throughput tell the samples of all processes, and say so; ask where it is not known what it counts.

    Return the calls of `len` that count the samples of all processes, as they did before.
    """
    kept: set[cst.Call] = set()
    counting = Counting(functions, counts)
    inserted: dict[Written, list[tuple[int, str]]] = {}
    for call in functions.calls:
        prints = functions.imports.full(call.func) == "print" and functions.target(call) is None
        if not prints and not (processes.prints and dotted(call.func) == processes.prints):
            continue
        pieces = list(islice(printed(call), _PIECES))
        scopes = [None if isinstance(each, str) else scope_of(pieces, place) for place, each in enumerate(pieces)]
        for place, (piece, scope) in enumerate(zip(pieces, scopes, strict=True)):
            if scope is None or scope == EACH or not isinstance(piece, cst.BaseExpression | Untold):
                continue
            found = counting.of_printed(piece, functions.scope(call)) if not isinstance(piece, Untold) else set()
            if found == {"other"} or (found == {"collected"} and scope == ALL):
                continue  # of an evaluation, where each process sees all its data; or the sum of all processes already
            own = found == {"own"} and processes.sees(call) and _alone(pieces, place)
            if not own and found != {"whole"}:
                edits.ask(call, "ask-throughput", world=processes.size)
                continue
            if not own:
                kept |= counting.kept
            elif isinstance(piece, cst.BaseExpression):
                _multiply(edits, piece, processes.size)
            total = said_total(pieces, place) if scope != ALL else None
            if total is not None:
                text, at, more = total
                inserted.setdefault(text.node, []).append((text.start + at, more))
            if total is not None or own:
                shown = functions.program.text(piece) if isinstance(piece, cst.BaseExpression) else ""
                edits.done(call, "do-throughput", f"{processes.size} * {shown}" if own else "(total)")
    for node, places in inserted.items():
        insert(edits, node, places)
    return kept


def _alone(pieces: list[Piece], place: int) -> bool:
    """Return whether a value stands at one place of a line: `"{0} samples/s, {0} of 9"` has one value at two."""
    return sum(each is pieces[place] for each in pieces) == 1


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
