"""The functions of a program, their callers, and the values of names, by name, also in its own other files."""

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from hackathon.programs.port.names import Imports, argument, calls, dotted, method
from hackathon.programs.port.source import SingleGpuProgram

DEPTH = 5
"""Calls that are followed from a function to its callers."""
Scope = cst.FunctionDef | cst.Module | None
"""A function; None: the started file itself; a module: another file of the program."""


@dataclass(frozen=True)
class Assigned:
    """A value that a name gets."""

    statement: cst.Assign | cst.AnnAssign
    value: cst.BaseExpression
    index: int | None
    """Index of the element of the value, None: the whole value."""


class Functions:
    """The call graph of a program."""

    def __init__(self, program: SingleGpuProgram, imports: Imports) -> None:
        self.program = program
        self.imports = imports
        self.all = list(program.everywhere(cst.FunctionDef))
        self.classes = {owner.name.value: owner for owner in program.everywhere(cst.ClassDef)}
        self._scopes: dict[cst.CSTNode, Scope] = {}
        self._defined: dict[tuple[SingleGpuProgram, str], list[cst.FunctionDef | cst.ClassDef]] = {}
        self._owner = {function: self._class_around(function) for function in self.all}
        free = [function for function in self.all if self._owner[function] is None]
        for function in free:
            self._defined.setdefault((program.home(function), function.name.value), []).append(function)
        for owner in program.everywhere(cst.ClassDef):
            home = program.home(owner), owner.name.value
            if not any(isinstance(other, cst.FunctionDef) for other in self._defined.get(home, ())):
                self._defined.setdefault(home, []).append(owner)
        self.calls = list(program.everywhere(cst.Call))
        self._assigned: dict[str, list[tuple[Assigned, Scope]]] = {}
        for assign in program.nodes():
            if isinstance(assign, cst.Assign | cst.AnnAssign) and assign.value is not None:
                self._note(assign, assign.value)
        self._targets = {call: self._called(call) for call in self.calls}
        self.callers: dict[cst.FunctionDef, list[cst.Call]] = {}
        for call, target in self._targets.items():
            if target is not None:
                self.callers.setdefault(target, []).append(call)
        self.handed = {
            call: functions
            for call in self.calls
            if (functions := {f for arg in call.args if isinstance(f := self._handed(arg.value), cst.FunctionDef)})
        }
        """Call → the functions of this program that it gets as arguments."""
        self.backwards = [call for call in self.calls if self._is_backward(call)]
        self.trains = self._training()

    def train_by(self, steps: list[cst.Call]) -> None:
        """Use other calls than `.backward()` as training steps, such as `tape.gradient(…)`."""
        self.backwards = steps
        self.trains = self._training()

    def _is_backward(self, call: cst.Call) -> bool:
        # `def backward(ctx, …)` of an autograd function is not the `.backward()` of a loss
        return method(call) == "backward" and dotted(call.func) != "super.backward"

    def _class_around(self, function: cst.FunctionDef) -> cst.ClassDef | None:
        for node in self.program.above(function):
            if isinstance(node, cst.FunctionDef):
                return None
            if isinstance(node, cst.ClassDef):
                return node
        return None

    def scope(self, node: cst.CSTNode) -> Scope:
        """Return the function around a node, else its file."""
        if node not in self._scopes:
            self._scopes[node] = next(
                (node for node in self.program.above(node) if isinstance(node, cst.FunctionDef)), self.file_scope(node)
            )
        return self._scopes[node]

    def file_scope(self, node: cst.CSTNode | None) -> cst.Module | None:
        """Return the file of a node as a scope."""
        home = self.program.home(node)
        return None if home is self.program else home.module

    def home(self, scope: Scope) -> SingleGpuProgram:
        """Return the file of a scope."""
        return self.program.home(scope)

    def owner(self, scope: Scope) -> cst.ClassDef | None:
        """Return the class of a method."""
        return self._owner.get(scope) if isinstance(scope, cst.FunctionDef) else None

    def target(self, call: cst.Call) -> cst.FunctionDef | None:
        """Return the function of this program that a call certainly runs, else None."""
        return self._targets.get(call)

    def definition(self, node: cst.BaseExpression, home: SingleGpuProgram) -> cst.FunctionDef | cst.ClassDef | None:
        """Return the only function or class of this program that a name means in a file."""
        name = dotted(node)
        if name is None:
            return None
        file, last = self.resolved(home, name)
        functions = self._defined.get((file, last), [])
        return functions[0] if len(functions) == 1 else None

    def resolved(self, file: SingleGpuProgram, name: str) -> tuple[SingleGpuProgram, str]:
        """Return the file that defines a dotted name, and its name there."""
        for _ in range(DEPTH):
            parts = name.split(".")
            for count in range(len(parts), 0, -1):
                binding = file.bindings.get(".".join(parts[:count]))
                if binding is not None and (binding.name or count < len(parts)):
                    file, name = binding.file, ".".join(filter(None, (binding.name, *parts[count:])))
                    break
            else:
                star = next((other for other in file.stars if (other, name) in self._defined), None)
                if (file, name) in self._defined or star is None:
                    return file, name
                return star, name
        return file, name

    def _called(self, call: cst.Call) -> cst.FunctionDef | None:
        home = self.program.home(call)
        defined = self.definition(call.func, home)
        if isinstance(defined, cst.ClassDef):
            functions = self._methods(defined, "__init__")
            return functions[0] if len(functions) == 1 else None
        if defined is not None:
            return defined
        if isinstance(call.func, cst.Attribute):
            owner = self._class_of(call.func.value)
            functions = self._methods(owner, call.func.attr.value) if owner is not None else []
            return functions[0] if len(functions) == 1 else None
        return None

    def _handed(self, value: cst.BaseExpression) -> cst.FunctionDef | cst.ClassDef | None:
        return self.definition(value, self.program.home(value)) if isinstance(value, cst.Name) else None

    def _methods(self, owner: cst.ClassDef, name: str, depth: int = DEPTH) -> list[cst.FunctionDef]:
        """Return the methods of a name in a class, else in its base classes."""
        own = [function for function in self.all if self._owner[function] is owner and function.name.value == name]
        for base in owner.bases if not own and depth else ():
            parent = self.definition(base.value, self.program.home(owner))
            if isinstance(parent, cst.ClassDef) and parent is not owner:
                own += self._methods(parent, name, depth - 1)
        return own

    def _class_of(self, receiver: cst.BaseExpression) -> cst.ClassDef | None:
        """Return the class of an object in this program: `self`, `Trainer(…)`, or a name with such a value."""
        if isinstance(receiver, cst.Name) and receiver.value == "self":
            return self.owner(self.scope(receiver))
        if isinstance(receiver, cst.Name):
            values = [
                assignment.value
                for assignment in self.assigned(receiver.value, self.scope(receiver))
                if assignment.index is None
            ]
            classes = {self._made(value) for value in values}
            return classes.pop() if len(classes) == 1 else None
        return self._made(receiver)

    def _made(self, value: cst.BaseExpression) -> cst.ClassDef | None:
        made = self.definition(value.func, self.program.home(value)) if isinstance(value, cst.Call) else None
        return made if isinstance(made, cst.ClassDef) else None

    def _training(self) -> set[cst.FunctionDef]:
        functions = {scope for call in self.backwards if isinstance(scope := self.scope(call), cst.FunctionDef)}
        while True:
            more = {
                scope
                for call, target in self._targets.items()
                if target in functions and isinstance(scope := self.scope(call), cst.FunctionDef)
            }
            more |= {
                scope
                for call, handed in self.handed.items()
                if handed & functions and isinstance(scope := self.scope(call), cst.FunctionDef)
            }
            if more <= functions:
                return functions
            functions |= more

    def reaches(self, node: cst.CSTNode) -> list[cst.Call]:
        """Return the calls below a node that are, or lead to, a backward pass."""
        below = calls(self.program, node)
        return [call for call in below if self.trains_by(call)]

    def trains_by(self, call: cst.Call) -> bool:
        """Return whether a call is, or leads to, a backward pass; also by a function that it gets: a closure."""
        return (
            call in self.backwards
            or self._targets.get(call) in self.trains
            or bool(self.handed.get(call, set()) & self.trains)
        )

    def parameters(self, function: cst.FunctionDef | cst.Module) -> list[str]:
        """Return the names of a function's parameters in order, without `self`; a file has none."""
        if isinstance(function, cst.Module):
            return []
        names = [parameter.name.value for parameter in (*function.params.posonly_params, *function.params.params)]
        if self._owner.get(function) is not None:
            names = names[1:]
        return names + [parameter.name.value for parameter in function.params.kwonly_params]

    def calls_of(self, scope: Scope) -> list[cst.Call]:
        """Return the calls of a function; none of a file."""
        return self.callers.get(scope, []) if isinstance(scope, cst.FunctionDef) else []

    def passed(self, call: cst.Call, function: cst.FunctionDef | cst.Module, name: str) -> cst.BaseExpression | None:
        """Return the argument of a call for a parameter."""
        names = self.parameters(function)
        passed = argument(call, name, names.index(name) if name in names else None)
        return passed.value if passed is not None else None

    def assigned(self, name: str, scope: Scope) -> list[Assigned]:
        """Return the values of a dotted name in a function; attributes of `self`: anywhere in the class."""
        owner = self.owner(scope) if name.startswith("self.") else None
        return [
            assigned
            for assigned, origin_scope in self._assigned.get(name, [])
            if (self.owner(origin_scope) is owner if owner is not None else origin_scope is scope)
        ]

    def _note(self, node: cst.Assign | cst.AnnAssign, value: cst.BaseExpression) -> None:
        scope = self.scope(node)
        for target in [target.target for target in node.targets] if isinstance(node, cst.Assign) else [node.target]:
            name = dotted(target)
            if name is not None:
                self._assigned.setdefault(name, []).append((Assigned(node, value, None), scope))
            for index, element in enumerate(target.elements if isinstance(target, cst.Tuple | cst.List) else ()):
                name = dotted(element.value)
                if name is not None:
                    self._assigned.setdefault(name, []).append((self._element(node, value, index), scope))

    def _element(self, node: cst.Assign | cst.AnnAssign, value: cst.BaseExpression, index: int) -> Assigned:
        if isinstance(value, cst.Tuple) and index < len(value.elements):
            return Assigned(node, value.elements[index].value, None)
        return Assigned(node, value, index)

    def origins(
        self, value: cst.BaseExpression, scope: Scope, index: int | None = None
    ) -> Iterator[tuple[cst.BaseExpression, Scope]]:
        """Yield the expressions that a value may come from: through names, parameters, and return values.

        `index`: the element of the value, None: all of it.
        """
        return self._origins(value, scope, index, DEPTH, {})

    def _origins(
        self,
        value: cst.BaseExpression,
        scope: Scope,
        index: int | None,
        depth: int,
        followed: dict[tuple[object, ...], int],
    ) -> Iterator[tuple[cst.BaseExpression, Scope]]:
        if depth < 0:
            return
        if isinstance(value, cst.Tuple) and index is not None:
            if index < len(value.elements):
                yield from self._origins(value.elements[index].value, scope, None, depth, followed)
            return
        if isinstance(value, cst.IfExp):
            yield from self._origins(value.body, scope, index, depth - 1, followed)
            yield from self._origins(value.orelse, scope, index, depth - 1, followed)
            return
        function = self.target(value) if isinstance(value, cst.Call) else None
        name = dotted(value)
        source = function if function is not None and function.name.value != "__init__" else name
        if source is None:
            yield value, scope
            return
        # follow names that lead to each other once, or again over a shorter path
        if followed.get((source, scope, index), -1) >= depth:
            return
        followed[source, scope, index] = depth
        for origin, origin_scope, element in self.before(source, scope, index):
            yield from self._origins(origin, origin_scope, element, depth - 1, followed)

    def before(
        self, source: str | cst.FunctionDef, scope: Scope, index: int | None
    ) -> Iterator[tuple[cst.BaseExpression, Scope, int | None]]:
        """Yield the values of a name, or the return values of a function: value, its scope, index of the element."""
        if isinstance(source, cst.FunctionDef):
            for returned in self.program.find(source, cst.Return):
                if returned.value is not None and self.scope(returned) is source:
                    yield returned.value, source, index
            return
        assigned = self.assigned(source, scope)
        if not assigned and scope is not None and source in self.parameters(scope):
            for call in self.calls_of(scope):
                passed = self.passed(call, scope, source)
                if passed is not None:
                    yield passed, self.scope(call), index
            return
        if not assigned:
            file, name = self.resolved(self.home(scope), source)
            assigned = self.assigned(name, None if file is self.program else file.module)
        for assignment in assigned:
            if dotted(assignment.value) != source:
                deeper = assignment.index if assignment.index is not None else index
                # an attribute of `self` has the scope of its assignment, not of its use
                yield assignment.value, self.scope(assignment.statement), deeper
