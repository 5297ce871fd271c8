"""What the count of a printed rate counts: the samples of one process, those of all, or those of an evaluation."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

from hackathon.programs.port.functions import DEPTH, Functions, Scope
from hackathon.programs.port.names import dotted

_ROUNDED = {"round", "int", "float"}
_VALUES = 2000
"""Values that the names of a line may have: names can lead to each other in any number of ways."""
Loop = cst.For | cst.While
Home = cst.CSTNode | None
"""Where a name lives: a function, a class for attributes of `self`, None for the module."""


@dataclass(frozen=True)
class KnownCounts:
    """What a port knows of the samples that a program counts."""

    loops: tuple[Loop, ...] = ()
    """The loops over batches that train: what they count themselves are the samples of one process."""
    sizes: frozenset[str] = frozenset()
    """Expressions for the samples of one process in one batch."""
    length: Callable[[str, Scope, cst.CSTNode], str] = lambda name, scope, node: ""
    """What the length of something counts, by its name, the function and the place: `own`, `whole`, `other`, `mixed`;
    "" where it is not known."""
    collects: Callable[[cst.CSTNode], str] = lambda node: ""
    """Whether a node is the number of processes (`times`), or its value comes from all of them (`collected`)."""


class Counting:
    """What a count counts: the samples of one process (`own`), those of all (`whole`), those of a loop that does not
    train (`other`), a sum over the processes (`collected`), or of several kinds (`mixed`)."""

    def __init__(self, functions: Functions, counts: KnownCounts) -> None:
        self.functions = functions
        self.counts = counts
        self.kept: set[cst.Call] = set()
        """The calls of `len` that tell the samples of all."""
        self._left = 0
        program = functions.program
        self._trains = {
            each: each in counts.loops or bool(functions.reaches(each))
            for each in program.walk(program.module)
            if isinstance(each, Loop)
        }
        self._collecting = {
            each for each in functions.all if any(counts.collects(node) for node in program.walk(each.body))
        }
        self._bound = [_Bound(self, each) for each in counts.loops]
        self._elsewhere = set(self._added()) if counts.loops else set()
        """Names, with their functions, that loops add to which do not train; none where it is not known which do."""

    def of_printed(self, value: cst.BaseExpression, scope: Scope) -> set[str]:
        """Return what a printed rate counts; nothing where that is not known."""
        self._left, self.kept = _VALUES, set()
        found = self._of_rate(value, scope, DEPTH)
        if "times" in found and found <= {"times", "own"}:
            found = {"whole"}  # the program multiplies by itself
        return found if self._left > 0 else set()

    def _of_rate(self, value: cst.BaseExpression, scope: Scope, depth: int) -> set[str]:
        if isinstance(value, cst.IfExp):  # `n / seconds if seconds else 0`
            parts = [self._of_rate(each, scope, depth) for each in (value.body, value.orelse) if not _literal(each)]
            return set().union(*parts) if all(parts) else set()
        counts, divisors = _factors(value)
        if any(self.collected(each) for each in divisors):
            return {"mixed"}  # a mean of the processes, or whatever its author means
        if divisors:
            return set().union(*(self._of_count(each, scope, DEPTH) for each in counts))
        rest = [each for each in counts if self.counts.collects(each) != "times"]
        found: set[str] = {"times"} if len(rest) < len(counts) else set()
        if len(rest) != 1:
            return set()
        (given,) = rest
        if given is not value and depth > 0:
            more = self._of_rate(given, scope, depth - 1)
            return found | more if more else set()
        for before, there in self._given(given, scope) if depth > 0 else ():
            if _literal(before):
                continue  # what it is before the first step
            part = self._of_rate(before, there, depth - 1)
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
            told = self.counts.collects(node)
            if told:
                found.add(told if told != "times" or self._is_factor(node, value) else "mixed")
                inside |= set(program.walk(node))
                continue
            if isinstance(node, cst.Call) and dotted(node.func) == "len" and len(node.args) == 1:
                found |= self._of_length(node, node.args[0].value, scope, depth) or {"mixed"}
                inside |= set(program.walk(node))
                continue
            name = dotted(node) if isinstance(node, cst.Name | cst.Attribute) else None
            if name is None or not isinstance(node, cst.BaseExpression):
                continue
            inside |= set(program.walk(node))
            bound = self._of_bound(name, scope)
            if program.text(node) in self.counts.sizes:
                found.add("own")
            elif bound:
                found.add(bound)
            elif (name, scope) in self._elsewhere:
                found.add("other")
            elif name.endswith(".shape"):
                found |= self._told_length(name.removesuffix(".shape"), scope, node, DEPTH)
            elif depth > 0:
                for given, there in self._given(node, scope):
                    found |= self._of_count(given, there, depth - 1)
        return found

    def _is_factor(self, node: cst.CSTNode, top: cst.CSTNode) -> bool:
        """Return whether a part of an expression is a factor of it, above the line."""
        while node is not top:
            parent = self.functions.program.parents[node]
            multiplied = isinstance(parent, cst.BinaryOperation) and isinstance(parent.operator, cst.Multiply)
            divided = isinstance(parent, cst.BinaryOperation) and isinstance(
                parent.operator, cst.Divide | cst.FloorDivide
            )
            if not multiplied and not (divided and isinstance(parent, cst.BinaryOperation) and parent.left is node):
                return False
            node = parent
        return True

    def _of_bound(self, name: str, scope: Scope) -> str:
        """Return what a name counts that gets its value in a loop that trains, "" for other names."""
        kinds = {kind for each in self._bound if each.scope is scope for kind in each.kinds(name)}
        if not kinds:
            return ""
        return "mixed" if len(kinds) > 1 or (name, scope) in self._elsewhere else kinds.pop()

    def _of_length(self, call: cst.Call, value: cst.BaseExpression, scope: Scope, depth: int) -> set[str]:
        what = dotted(value)
        if what is None:
            return self._of_count(value, scope, depth)
        bound = self._of_bound(what, scope)
        found = self._told_length(what, scope, call, DEPTH)
        if bound and found:  # data and a batch of them have the same name
            return {bound} if self._inside(call) else {"mixed"}
        if found == {"whole"}:
            self.kept.add(call)
        if found or bound:
            return found or {bound}
        for given, there in self._given(value, scope) if depth > 0 else ():
            # how long something is that a call made, its arguments do not tell
            found |= {"mixed"} if isinstance(given, cst.Call) else self._of_count(given, there, depth - 1)
        return found

    def _told_length(self, what: str, scope: Scope, node: cst.CSTNode, depth: int) -> set[str]:
        """Return what a length counts by the name of what is measured, also as a parameter."""
        told = self.counts.length(what, scope, node)
        if told or depth <= 0:
            return {told} if told else set()
        found: set[str] = set()
        for given, there, element in self.functions.before(what, scope, None):
            self._left -= 1
            name = dotted(given) if element is None else None
            part = self._told_length(name, there, given, depth - 1) if name is not None and self._left > 0 else set()
            found |= part or {""}
        return found if "" not in found else {"mixed"} if len(found) > 1 else set()

    def _inside(self, node: cst.CSTNode) -> bool:
        return any(each in self.counts.loops for each in self.functions.program.above(node))

    def _given(self, value: cst.BaseExpression, scope: Scope) -> Iterator[tuple[cst.BaseExpression, Scope]]:
        """Yield what a name was assigned, or what a function of this program returns."""
        function = self.functions.target(value) if isinstance(value, cst.Call) else None
        what = dotted(value) if function is None else function
        if what is not None:
            yield from self._before(what, scope, None, DEPTH)

    def _before(
        self, what: str | cst.FunctionDef, scope: Scope, index: int | None, depth: int
    ) -> Iterator[tuple[cst.BaseExpression, Scope]]:
        for given, there, element in self.functions.before(what, scope, index):
            self._left -= 1
            if self._left <= 0:
                return
            function = self.functions.target(given) if isinstance(given, cst.Call) else None
            if function is not None and depth > 0:
                yield from self._before(function, there, element, depth - 1)
            elif element is None:
                yield given, there
            elif isinstance(given, cst.Tuple) and element < len(given.elements):
                yield given.elements[element].value, there

    def _added(self) -> Iterator[tuple[str, Scope]]:
        program = self.functions.program
        for each in program.find(program.module, cst.AugAssign):
            if (name := dotted(each.target)) is None or self._inside(each):
                continue
            if any(not self._trains[above] for above in program.above(each) if isinstance(above, Loop)):
                yield name, self.functions.scope(each)

    def trains(self, loop: Loop) -> bool:
        """Return whether a loop makes steps of a training."""
        return self._trains[loop]

    def collected(self, value: cst.CSTNode) -> bool:
        """Return whether a value comes from all processes, also by a function of this program."""
        return any(
            self.counts.collects(node)
            or (isinstance(node, cst.Call) and self.functions.target(node) in self._collecting)
            for node in self.functions.program.walk(value)
        )


class _Bound:
    """The names that get their values in a loop over batches, and what they count."""

    def __init__(self, counting: Counting, loop: Loop) -> None:
        functions, program = counting.functions, counting.functions.program
        self.scope = functions.scope(loop)
        self._kinds: dict[str, set[str]] = {}
        given: list[tuple[list[str], cst.BaseExpression]] = []
        for node in program.walk(loop):
            if not isinstance(node, cst.AugAssign | cst.Assign | cst.AnnAssign | cst.For):
                continue
            targets = [each.target for each in node.targets] if isinstance(node, cst.Assign) else [node.target]
            names = [name for each in targets for name in _names(each)]
            around = [each for each in (node, *program.above(node)) if isinstance(each, Loop)]
            inner = around[: around.index(loop)] if node is not loop else []
            kind = "own" if all(counting.trains(each) for each in inner) else "mixed"
            for name in names:
                self._kinds.setdefault(name, set()).add(kind)
            if not isinstance(node, cst.For) and node.value is not None:
                given.append((names, node.value))
        self._collect(counting, given)

    def _collect(self, counting: Counting, given: list[tuple[list[str], cst.BaseExpression]]) -> None:
        """Find the names that all processes have a part in, by what they are given, again and again."""
        program = counting.functions.program
        waiting = [name for names, value in given if counting.collected(value) for name in names]
        uses: dict[str, list[str]] = {}
        for names, value in given if waiting else ():
            for each in program.find(value, cst.Name):
                uses.setdefault(each.value, []).extend(names)
        while waiting:
            name = waiting.pop()
            if "collected" not in self._kinds[name]:
                self._kinds[name] = {"collected"}
                waiting += uses.get(name, [])

    def kinds(self, name: str) -> Iterable[str]:
        """Return what a name counts, by itself or by what it is an attribute of: `x.size` and `x`."""
        while name:
            if name in self._kinds:
                return self._kinds[name]
            name = name.rpartition(".")[0]
        return ()


def home(functions: Functions, name: str, scope: Scope) -> Home:
    """Return where a name lives that is seen in a function."""
    if name.startswith("self."):
        return functions.owner(scope)
    first = name.partition(".")[0]
    while scope is not None:
        if functions.assigned(name, scope) or functions.assigned(first, scope) or first in functions.parameters(scope):
            return scope
        scope = functions.scope(scope)
    return None


def _literal(value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Integer | cst.Float)


def _names(target: cst.BaseExpression) -> Iterator[str]:
    if isinstance(target, cst.Tuple | cst.List):
        for each in target.elements:
            yield from _names(each.value)
    elif (name := dotted(target)) is not None:
        yield name


def _factors(value: cst.BaseExpression) -> tuple[list[cst.BaseExpression], list[cst.BaseExpression]]:
    """Return the factors of a product above the line, and those below it."""
    if isinstance(value, cst.Call) and dotted(value.func) in _ROUNDED and value.args:
        return _factors(value.args[0].value)
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Multiply):
        left, right = _factors(value.left), _factors(value.right)
        return left[0] + right[0], left[1] + right[1]
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Divide | cst.FloorDivide):
        left = _factors(value.left)
        return left[0], [*left[1], value.right]
    return [value], []
