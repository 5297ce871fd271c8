"""Determine what a printed rate counts: the samples of one process, of all, or of an evaluation."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

from hackathon.programs.port.functions import DEPTH, Functions, Scope
from hackathon.programs.port.names import dotted

_ROUNDED = {"round", "int", "float"}
_VALUES = 2000
"""Values that the names of a line may have: names can refer to each other in any number of ways."""
Loop = cst.For | cst.While
Home = cst.CSTNode | None
"""The scope of a name: a function, a class for attributes of `self`, None for the module."""


@dataclass(frozen=True)
class KnownCounts:
    """What a port knows about the samples that a program counts."""

    loops: tuple[Loop, ...] = ()
    """The training loops over batches: their own counts are samples of one process."""
    sizes: frozenset[str] = frozenset()
    """Expressions for the samples of one process in one batch."""
    length: Callable[[str, Scope, cst.CSTNode], str] = lambda name, scope, node: ""
    """Returns what a length counts, by name, function and node: `own`, `whole`, `other`, `mixed`; "" if unknown."""
    collects: Callable[[cst.CSTNode], str] = lambda node: ""
    """Returns whether a node is the number of processes (`times`) or a value from all of them (`collected`)."""


class Counting:
    """Determines what a count counts.

    The samples of one process (`own`), those of all (`whole`), those of a loop without training (`other`), a sum over
    the processes (`collected`), or several of these (`mixed`).
    """

    def __init__(self, functions: Functions, counts: KnownCounts) -> None:
        self.functions = functions
        self.counts = counts
        self.kept: set[cst.Call] = set()
        """The calls of `len` that count the samples of all processes."""
        self._left = 0
        program = functions.program
        self._trains = {
            loop: loop in counts.loops or bool(functions.reaches(loop))
            for loop in program.nodes()
            if isinstance(loop, Loop)
        }
        self._collecting = {
            function for function in functions.all if any(counts.collects(node) for node in program.walk(function.body))
        }
        self._bound = [_Bound(self, loop) for loop in counts.loops]
        self._elsewhere = set(self._added()) if counts.loops else set()
        """Names, with their functions, that loops without training increase; empty when those loops are unknown."""

    def of_printed(self, value: cst.BaseExpression, scope: Scope) -> set[str]:
        """Return what a printed rate counts; empty when unknown."""
        self._left, self.kept = _VALUES, set()
        kinds = self._of_rate(value, scope, DEPTH)
        if "times" in kinds and kinds <= {"times", "own"}:
            kinds = {"whole"}  # the program multiplies by itself
        return kinds if self._left > 0 else set()

    def _of_rate(self, value: cst.BaseExpression, scope: Scope, depth: int) -> set[str]:
        if isinstance(value, cst.IfExp):  # `n / seconds if seconds else 0`
            parts = [self._of_rate(part, scope, depth) for part in (value.body, value.orelse) if not _literal(part)]
            return set().union(*parts) if all(parts) else set()
        counts, divisors = _factors(value)
        if any(self.collected(divisor) for divisor in divisors):
            return {"mixed"}  # a mean over the processes, or something else
        if divisors:
            return set().union(*(self._of_count(count, scope, DEPTH) for count in counts))
        factors = [factor for factor in counts if self.counts.collects(factor) != "times"]
        kinds: set[str] = {"times"} if len(factors) < len(counts) else set()
        if len(factors) != 1:
            return set()
        (factor,) = factors
        if factor is not value and depth > 0:
            more = self._of_rate(factor, scope, depth - 1)
            return kinds | more if more else set()
        for before, origin_scope in self._given(factor, scope) if depth > 0 else ():
            if _literal(before):
                continue  # its value before the first step
            part = self._of_rate(before, origin_scope, depth - 1)
            if not part:
                return set()
            kinds |= part
        return kinds

    def _of_count(self, value: cst.BaseExpression, scope: Scope, depth: int) -> set[str]:
        """Return what an expression counts, by its names and their values."""
        program = self.functions.program
        kinds: set[str] = set()
        inside: set[cst.CSTNode] = set()  # parts that are judged already
        for node in program.walk(value):
            if node in inside:
                continue
            kind = self.counts.collects(node)
            if kind:
                kinds.add(kind if kind != "times" or self._is_factor(node, value) else "mixed")
                inside |= set(program.walk(node))
                continue
            if isinstance(node, cst.Call) and dotted(node.func) == "len" and len(node.args) == 1:
                kinds |= self._of_length(node, node.args[0].value, scope, depth) or {"mixed"}
                inside |= set(program.walk(node))
                continue
            name = dotted(node) if isinstance(node, cst.Name | cst.Attribute) else None
            if name is None or not isinstance(node, cst.BaseExpression):
                continue
            inside |= set(program.walk(node))
            bound = self._of_bound(name, scope)
            if program.text(node) in self.counts.sizes:
                kinds.add("own")
            elif bound:
                kinds.add(bound)
            elif (name, scope) in self._elsewhere:
                kinds.add("other")
            elif name.endswith(".shape"):
                kinds |= self._told_length(name.removesuffix(".shape"), scope, node, DEPTH)
            elif depth > 0:
                for origin, origin_scope in self._given(node, scope):
                    kinds |= self._of_count(origin, origin_scope, depth - 1)
        return kinds

    def _is_factor(self, node: cst.CSTNode, top: cst.CSTNode) -> bool:
        """Return whether a part of an expression is a factor of it, in the numerator."""
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
        """Return what a name counts that gets its value in a training loop, "" for other names."""
        kinds = {kind for bound in self._bound if bound.scope is scope for kind in bound.kinds(name)}
        if not kinds:
            return ""
        return "mixed" if len(kinds) > 1 or (name, scope) in self._elsewhere else kinds.pop()

    def _of_length(self, call: cst.Call, value: cst.BaseExpression, scope: Scope, depth: int) -> set[str]:
        source = dotted(value)
        if source is None:
            return self._of_count(value, scope, depth)
        bound = self._of_bound(source, scope)
        kinds = self._told_length(source, scope, call, DEPTH)
        if bound and kinds:  # data and a batch of them have the same name
            return {bound} if self._inside(call) else {"mixed"}
        if kinds == {"whole"}:
            self.kept.add(call)
        if kinds or bound:
            return kinds or {bound}
        for origin, origin_scope in self._given(value, scope) if depth > 0 else ():
            # the arguments of a call do not determine the length of its result
            kinds |= {"mixed"} if isinstance(origin, cst.Call) else self._of_count(origin, origin_scope, depth - 1)
        return kinds

    def _told_length(self, source: str, scope: Scope, node: cst.CSTNode, depth: int) -> set[str]:
        """Return what a length counts, by the name of the measured object, also as a parameter."""
        kind = self.counts.length(source, scope, node)
        if kind or depth <= 0:
            return {kind} if kind else set()
        kinds: set[str] = set()
        for origin, origin_scope, element in self.functions.before(source, scope, None):
            self._left -= 1
            name = dotted(origin) if element is None else None
            part = (
                self._told_length(name, origin_scope, origin, depth - 1)
                if name is not None and self._left > 0
                else set()
            )
            kinds |= part or {""}
        return kinds if "" not in kinds else {"mixed"} if len(kinds) > 1 else set()

    def _inside(self, node: cst.CSTNode) -> bool:
        return any(outer in self.counts.loops for outer in self.functions.program.above(node))

    def _given(self, value: cst.BaseExpression, scope: Scope) -> Iterator[tuple[cst.BaseExpression, Scope]]:
        """Yield the values of a name, or the return values of a function of this program."""
        function = self.functions.target(value) if isinstance(value, cst.Call) else None
        source = dotted(value) if function is None else function
        if source is not None:
            yield from self._before(source, scope, None, DEPTH)

    def _before(
        self, source: str | cst.FunctionDef, scope: Scope, index: int | None, depth: int
    ) -> Iterator[tuple[cst.BaseExpression, Scope]]:
        for origin, origin_scope, element in self.functions.before(source, scope, index):
            self._left -= 1
            if self._left <= 0:
                return
            function = self.functions.target(origin) if isinstance(origin, cst.Call) else None
            if function is not None and depth > 0:
                yield from self._before(function, origin_scope, element, depth - 1)
            elif element is None:
                yield origin, origin_scope
            elif isinstance(origin, cst.Tuple) and element < len(origin.elements):
                yield origin.elements[element].value, origin_scope

    def _added(self) -> Iterator[tuple[str, Scope]]:
        program = self.functions.program
        for addition in program.everywhere(cst.AugAssign):
            if (name := dotted(addition.target)) is None or self._inside(addition):
                continue
            if any(not self._trains[above] for above in program.above(addition) if isinstance(above, Loop)):
                yield name, self.functions.scope(addition)

    def trains(self, loop: Loop) -> bool:
        """Return whether a loop makes training steps."""
        return self._trains[loop]

    def collected(self, value: cst.CSTNode) -> bool:
        """Return whether a value comes from all processes, also through a function of this program."""
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
        assigned: list[tuple[list[str], cst.BaseExpression]] = []
        for node in program.walk(loop):
            if not isinstance(node, cst.AugAssign | cst.Assign | cst.AnnAssign | cst.For):
                continue
            targets = [target.target for target in node.targets] if isinstance(node, cst.Assign) else [node.target]
            names = [name for target in targets for name in _names(target)]
            around = [node for node in (node, *program.above(node)) if isinstance(node, Loop)]
            inner = around[: around.index(loop)] if node is not loop else []
            kind = "own" if all(counting.trains(outer) for outer in inner) else "mixed"
            for name in names:
                self._kinds.setdefault(name, set()).add(kind)
            if not isinstance(node, cst.For) and node.value is not None:
                assigned.append((names, node.value))
        self._collect(counting, assigned)

    def _collect(self, counting: Counting, assigned: list[tuple[list[str], cst.BaseExpression]]) -> None:
        """Find the names that depend on all processes, by their values, until nothing changes."""
        program = counting.functions.program
        waiting = [name for names, value in assigned if counting.collected(value) for name in names]
        uses: dict[str, list[str]] = {}
        for names, value in assigned if waiting else ():
            for used in program.find(value, cst.Name):
                uses.setdefault(used.value, []).extend(names)
        while waiting:
            name = waiting.pop()
            if "collected" not in self._kinds[name]:
                self._kinds[name] = {"collected"}
                waiting += uses.get(name, [])

    def kinds(self, name: str) -> Iterable[str]:
        """Return what a name counts, by itself or by its object: `x.size` and `x`."""
        while name:
            if name in self._kinds:
                return self._kinds[name]
            name = name.rpartition(".")[0]
        return ()


def home(functions: Functions, name: str, scope: Scope) -> Home:
    """Return the scope of a name that is visible in a function."""
    if name.startswith("self."):
        return functions.owner(scope)
    first = name.partition(".")[0]
    while isinstance(scope, cst.FunctionDef):
        if functions.assigned(name, scope) or functions.assigned(first, scope) or first in functions.parameters(scope):
            return scope
        scope = functions.scope(scope)
    return scope


def _literal(value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Integer | cst.Float)


def _names(target: cst.BaseExpression) -> Iterator[str]:
    if isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            yield from _names(element.value)
    elif (name := dotted(target)) is not None:
        yield name


def _factors(value: cst.BaseExpression) -> tuple[list[cst.BaseExpression], list[cst.BaseExpression]]:
    """Return the factors of a product in the numerator, and those in the denominator."""
    if isinstance(value, cst.Call) and dotted(value.func) in _ROUNDED and value.args:
        return _factors(value.args[0].value)
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Multiply):
        left, right = _factors(value.left), _factors(value.right)
        return left[0] + right[0], left[1] + right[1]
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Divide | cst.FloorDivide):
        left = _factors(value.left)
        return left[0], [*left[1], value.right]
    return [value], []
