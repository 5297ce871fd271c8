"""Printed throughput: rank 0 alone prints, so that it has to tell the samples of all processes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import libcst as cst

from hackathon.logs.words import ALL, EACH, CustomaryWords
from hackathon.programs.port.edits import Edits
from hackathon.programs.port.functions import DEPTH, Functions, Scope
from hackathon.programs.port.loops import BatchLoop
from hackathon.programs.port.names import argument, dotted
from hackathon.programs.port.torch_setup import AddedNames

_SHOWN, _OTHER = "4321.5", "7"
"""What stands for the number that is looked at, and for each other value of a line."""
_FACTORS = (1.0, 1e3, 1e6)
_ROUNDED = {"round", "int", "float"}
_PIECES, _LETTERS, _WORDS, _VALUES = 100, 2000, 8, 2000
"""Of a printed line: parts and letters; words beside a value that may be its unit; values that its names may have. A
line with more is left as it is."""
_PLACE = re.compile(r"\{[^{}]*\}|%[-+ #0]*[0-9]*(?:\.[0-9]+)?[dfeEgGsri]")
_RATES = ("samples_per_s", "tokens_per_s")
_Written = cst.SimpleString | cst.FormattedStringText


@dataclass(frozen=True)
class _Text:
    """A part of a string of the program, as it is written there."""

    node: _Written
    start: int
    end: int

    @property
    def shown(self) -> str:
        """Its letters; those behind a backslash are blanks, which keeps the places."""
        return re.sub(r"\\.", "  ", _raw(self.node)[self.start : self.end], flags=re.DOTALL)


_Piece = _Text | cst.BaseExpression | str
"""A printed line consists of texts, of values, and of blanks between them."""


def whole_rates(edits: Edits, functions: Functions, words: AddedNames, loops: list[BatchLoop]) -> set[cst.Call]:
    """Let a printed throughput tell the samples of all processes, and say so; ask where it is not known what it counts.

    Return the calls of `len` that count the samples of all processes, as they did before.
    """
    kept: set[cst.Call] = set()
    counting = _Counting(functions, loops)
    inserted: dict[_Written, list[tuple[int, str]]] = {}
    for call in functions.calls:
        if functions.imports.full(call.func) != "print" or functions.target(call) is not None:
            continue
        pieces = list(islice(_printed(call), _PIECES))
        for place, piece in enumerate(pieces):
            if not isinstance(piece, cst.BaseExpression):
                continue
            scope = _read(_line(pieces, place, {}))
            if scope is None or scope == EACH:
                continue
            found = counting.of_printed(piece, functions.scope(call))
            if found == {"own"}:
                _multiply(edits, piece, words.world)
            elif found == {"whole"}:
                kept |= counting.kept
            elif found == {"other"}:
                continue  # of an evaluation: each process sees all its data
            else:
                edits.ask(call, "ask-throughput", world=words.world)
                continue
            total = _said_total(pieces, place) if scope != ALL else None
            if total is not None:
                text, at, more = total
                inserted.setdefault(text.node, []).append((text.start + at, more))
            if total is not None or found == {"own"}:
                shown = functions.program.text(piece)
                edits.done(call, "do-throughput", f"{words.world} * {shown}" if found == {"own"} else "(total)")
    for node, places in inserted.items():
        _insert(edits, node, places)
    return kept


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


class _Counting:
    """What the count of a rate counts: the samples of one process (`own`), those of all (`whole`), those of a loop that
    does not train (`other`), or of both kinds of loops (`mixed`)."""

    def __init__(self, functions: Functions, loops: list[BatchLoop]) -> None:
        self.functions = functions
        self.loops = loops
        self.kept: set[cst.Call] = set()
        """The calls of `len` that tell the samples of all."""
        self._left = 0
        """Values that may still be looked at: names can lead to each other in any number of ways."""
        program = functions.program
        self._bound = [(each, set(_bound(functions, each))) for each in loops]
        self._elsewhere = set(_added(functions, loops))
        """Names, with their functions, that loops add to which do not train."""
        self._sizes = {
            program.text(given.value)
            for each in loops
            for source in each.sources
            if (given := argument(source, "batch_size", 1)) is not None
        }
        self._datasets = {
            name
            for each in loops
            for source in each.sources
            if (given := argument(source, "dataset", 0)) is not None and (name := dotted(given.value)) is not None
        }

    def of_printed(self, value: cst.BaseExpression, scope: Scope) -> set[str]:
        """Return what a printed rate counts; nothing where that is not known."""
        self._left, self.kept = _VALUES, set()
        found = self._of_rate(value, scope, DEPTH)
        return found if self._left > 0 else set()

    def _of_rate(self, value: cst.BaseExpression, scope: Scope, depth: int) -> set[str]:
        if isinstance(value, cst.IfExp):  # `n / seconds if seconds else 0`
            parts = [self._of_rate(each, scope, depth) for each in (value.body, value.orelse) if not _literal(each)]
            return set().union(*parts) if all(parts) else set()
        counts, divided = _factors(value)
        if divided:
            return set().union(*(self._of_count(each, scope, DEPTH) for each in counts))
        (value,) = counts if len(counts) == 1 else (value,)
        found: set[str] = set()
        for given, there in self._values(value, scope) if depth > 0 else ():
            if _literal(given):
                continue  # what it is before the first step
            part = self._of_rate(given, there, depth - 1)
            if not part:
                return set()
            found |= part
        return found

    def _of_count(self, value: cst.BaseExpression, scope: Scope, depth: int) -> set[str]:
        """Return what an expression counts: by the names in it, and by what they were assigned."""
        program = self.functions.program
        found: set[str] = set()
        inside: set[cst.CSTNode] = set()  # parts that are judged already
        for node in program.walk(value):
            if node in inside:
                continue
            if isinstance(node, cst.Call) and dotted(node.func) == "len" and len(node.args) == 1:
                told = self._of_length(node, scope)
                if told:
                    found.add(told)
                    inside |= set(program.walk(node))
                continue
            name = dotted(node) if isinstance(node, cst.Name | cst.Attribute) else None
            if name is None:
                continue
            inside |= set(program.walk(node))
            if program.text(node) in self._sizes:
                found.add("own")
            elif any(scope is loop.scope and bound & set(_prefixes(name)) for loop, bound in self._bound):
                found.add("mixed" if (name, scope) in self._elsewhere else "own")
            elif (name, scope) in self._elsewhere:
                found.add("other")
            elif depth > 0 and isinstance(node, cst.BaseExpression):
                for given, there in self._values(node, scope):
                    found |= self._of_count(given, there, depth - 1)
        return found

    def _of_length(self, call: cst.Call, scope: Scope) -> str:
        what = dotted(call.args[0].value)
        for loop in self.loops:
            name = dotted(loop.loader)
            if name is not None and what in (name, f"{name}.dataset") and scope is loop.scope:
                return "own"
        if what is not None and what in self._datasets:
            self.kept.add(call)
            return "whole"
        return ""

    def _values(self, value: cst.BaseExpression, scope: Scope) -> Iterator[tuple[cst.BaseExpression, Scope]]:
        """Yield what a name was assigned, or what a function of this program returns."""
        functions = self.functions
        name = dotted(value)
        if name is None:
            return
        there = functions.assigned(name, scope) or (functions.assigned(name, None) if scope is not None else [])
        for each in there:
            self._left -= 1
            if self._left <= 0:
                return
            function = functions.target(each.value) if isinstance(each.value, cst.Call) else None
            if function is None and each.index is None:
                yield each.value, functions.scope(each.statement)
            for made in functions.program.find(function, cst.Return) if function is not None else ():
                if made.value is None or functions.scope(made) is not function:
                    continue
                if each.index is None:
                    yield made.value, function
                elif isinstance(made.value, cst.Tuple) and each.index < len(made.value.elements):
                    yield made.value.elements[each.index].value, function
        if not there and scope is not None and name in functions.parameters(scope):
            for call in functions.callers.get(scope, [])[: max(0, self._left)]:
                self._left -= 1
                if (given := functions.passed(call, scope, name)) is not None:
                    yield given, functions.scope(call)


def _literal(value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Integer | cst.Float)


def _prefixes(name: str) -> Iterator[str]:
    """Yield a dotted name and what it is an attribute of: `x.size` and `x`."""
    while name:
        yield name
        name = name.rpartition(".")[0]


def _bound(functions: Functions, loop: BatchLoop) -> Iterator[str]:
    """Yield the names that get their values in a loop over batches."""
    for node in functions.program.walk(loop.loop):
        if isinstance(node, cst.AugAssign | cst.AssignTarget | cst.AnnAssign | cst.For):
            targets: list[cst.BaseExpression] = [node.target]
            while targets:
                target = targets.pop()
                if isinstance(target, cst.Tuple | cst.List):
                    targets += [each.value for each in target.elements]
                elif (name := dotted(target)) is not None:
                    yield name


def _added(functions: Functions, loops: list[BatchLoop]) -> Iterator[tuple[str, Scope]]:
    """Yield the names, with their functions, that loops add to which do not train."""
    program = functions.program
    mine = {node for loop in loops for node in program.walk(loop.loop)}
    trains = {each: bool(functions.reaches(each)) for each in program.find(program.module, cst.For)}
    for each in program.find(program.module, cst.AugAssign):
        if each in mine or (name := dotted(each.target)) is None:
            continue
        around = (above for above in program.above(each) if isinstance(above, cst.For))
        if any(not trains[above] for above in around):
            yield name, functions.scope(each)


def _factors(value: cst.BaseExpression) -> tuple[list[cst.BaseExpression], bool]:
    """Return the factors above the line of a product, and whether anything is below it."""
    if isinstance(value, cst.Call) and dotted(value.func) in _ROUNDED and value.args:
        return _factors(value.args[0].value)
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Multiply):
        left, right = _factors(value.left), _factors(value.right)
        return left[0] + right[0], left[1] or right[1]
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Divide | cst.FloorDivide):
        return _factors(value.left)[0], True
    return [value], False


def _printed(call: cst.Call) -> Iterator[_Piece]:
    """Yield the parts of the line that a print writes."""
    for number, each in enumerate(call.args):
        if each.keyword is None and not each.star:
            yield from [" "] if number else []
            yield from _pieces(each.value)


def _pieces(value: cst.BaseExpression) -> Iterator[_Piece]:
    if isinstance(value, cst.ConcatenatedString):
        yield from _pieces(value.left)
        yield from _pieces(value.right)
    elif isinstance(value, cst.FormattedString):
        for part in value.parts:
            if isinstance(part, cst.FormattedStringText):
                yield _Text(part, 0, len(part.value))
            elif isinstance(part, cst.FormattedStringExpression):
                yield part.expression if part.equal is None else _OTHER
    elif isinstance(value, cst.SimpleString):
        yield _Text(value, 0, len(value.raw_value))
    elif isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Modulo):
        right = value.right
        given = [each.value for each in right.elements] if isinstance(right, cst.Tuple) else [right]
        yield from _filled(value.left, given) or [value]
    elif (
        isinstance(value, cst.Call)
        and isinstance(value.func, cst.Attribute)
        and value.func.attr.value == "format"
        and not any(each.keyword or each.star for each in value.args)
    ):
        yield from _filled(value.func.value, [each.value for each in value.args]) or [value]
    else:
        yield value


def _filled(template: cst.BaseExpression, given: list[cst.BaseExpression]) -> list[_Piece]:
    """Return the parts of a template with its values in their order; [] where they do not go together."""
    texts = list(_pieces(template))
    if not all(isinstance(each, _Text) for each in texts):
        return []
    found: list[_Piece] = []
    waiting = list(given)
    for text in texts:
        assert isinstance(text, _Text)
        start = 0
        for match in _PLACE.finditer(text.shown):
            found += [_Text(text.node, start, match.start()), *waiting[:1]]
            if not waiting:
                return []
            waiting, start = waiting[1:], match.end()
        found.append(_Text(text.node, start, text.end))
    return [] if waiting else found


def _raw(node: _Written) -> str:
    return node.raw_value if isinstance(node, cst.SimpleString) else node.value


def _line(pieces: list[_Piece], place: int, texts: dict[int, str]) -> str:
    """Return a line with one value of interest; `texts`: other letters for some of its parts."""
    found = []
    for number, each in enumerate(pieces):
        if isinstance(each, _Text):
            found.append(texts.get(number, each.shown))
        elif isinstance(each, str):
            found.append(each)
        else:
            found.append(_SHOWN if number == place else _OTHER)
    return "".join(found)


def _read(line: str) -> str | None:
    """Return whose rate the reader of logs takes the number of interest for: `EACH`, `ALL`, "" (not said); or None."""
    if len(line) > _LETTERS:
        return None
    for name, value in CustomaryWords().read(line):
        for scope in ("", EACH, ALL):
            if name in {f"{each}{scope}" for each in _RATES} and value in {float(_SHOWN) * each for each in _FACTORS}:
                return scope
    return None


def _said_total(pieces: list[_Piece], place: int) -> tuple[_Text, int, str] | None:
    """Return where and how to say beside the unit that a rate is that of all, so that the reader of logs knows it."""
    for number, at, more in (*_behind(pieces, place), *_ahead(pieces, place)):
        text = pieces[number]
        assert isinstance(text, _Text)
        shown = text.shown
        if _read(_line(pieces, place, {number: shown[:at] + more + shown[at:]})) == ALL:
            return text, at, more
    return None


def _behind(pieces: list[_Piece], place: int) -> Iterator[tuple[int, int, str]]:
    """Yield the ends of words behind a value, the nearest first."""
    for number in range(place + 1, len(pieces)):
        text = pieces[number]
        if isinstance(text, cst.BaseExpression):
            return
        if isinstance(text, _Text):
            ends = islice(re.finditer(r"\w(?!\w)", text.shown), _WORDS)
            yield from ((number, match.end(), " (total)") for match in ends)


def _ahead(pieces: list[_Piece], place: int) -> Iterator[tuple[int, int, str]]:
    """Yield the beginnings of words before a value, the nearest first."""
    for number in range(place - 1, -1, -1):
        text = pieces[number]
        if isinstance(text, cst.BaseExpression):
            return
        if isinstance(text, _Text):
            starts = [match.start() for match in re.finditer(r"(?<!\w)\w", text.shown)]
            yield from ((number, at, "total ") for at in reversed(starts[-_WORDS:]))


def _insert(edits: Edits, node: _Written, places: list[tuple[int, str]]) -> None:
    raw = _raw(node)
    for at, more in sorted(places, reverse=True):
        raw = raw[:at] + more + raw[at:]
    if isinstance(node, cst.SimpleString):
        raw = f"{node.prefix}{node.quote}{raw}{node.quote}"
    edits.change(node, lambda updated: updated.with_changes(value=raw))
