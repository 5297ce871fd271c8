"""The model: wrapped once, when it is on its device; unwrapped where its own attributes and names are meant."""

from collections.abc import Iterator

import libcst as cst

from hackathon.programs.port.edits import Edits
from hackathon.programs.port.functions import DEPTH, Functions, Scope
from hackathon.programs.port.names import calls, dotted, method
from hackathon.programs.port.torch_detached import only_detached
from hackathon.programs.port.torch_setup import AddedNames
from hackathon.text.messages import Message

_KEPT = {
    "train", "eval", "parameters", "zero_grad", "to", "cuda", "cpu", "half", "float", "requires_grad_", "training",
    "forward", "no_sync", "module", "require_backward_grad_sync",
}  # fmt: skip
"""Attributes that work the same on the wrapper."""
_UNWRAPPED_CALLS = {
    "state_dict", "load_state_dict", "save_pretrained", "named_parameters", "named_modules", "children", "modules",
    "named_children", "buffers", "named_buffers", "apply", "push_to_hub", "resize_token_embeddings",
}  # fmt: skip
"""Calls that are never part of a training step."""


_WHOLE = ("torch.save", "torch.jit.script", "torch.onnx.export", "len", "isinstance", "type", "copy.deepcopy")
"""Functions that need the model itself as their first argument."""
_TAKE_BARE = frozenset({
    "add_graph", "summary", "profile", "trace", "get_model_complexity_info", "FlopCountAnalysis", "AveragedModel",
    "parameter_count", "make_dot", "script",
})  # fmt: skip
"""Functions of others that look into a model, or run it once."""
_TAKE_EITHER = frozenset({
    "print", "str", "repr", "id", "compile", "DistributedDataParallel", "DataParallel", "update_bn", "watch", "hasattr",
    "getattr", "setattr", "append", "info", "debug", "format", "next", "iter", "bool", "DDP",
})  # fmt: skip
"""Functions for which the wrapped model is as good, or that are handled elsewhere."""
_PLAIN = ("init_", "reset", "zero_state", "get_", "set_", "count_", "clear", "num_", "is_")
"""Beginnings of names of methods that change or return something, but do not compute the loss."""


class TrainedModel:
    """The only model of a program, and its optimizers."""

    def __init__(self, edits: Edits, functions: Functions) -> None:
        self.edits = edits
        self.functions = functions
        self.program = functions.program
        self.optimizers = [call for call in functions.calls if self._is_optimizer(call)]
        self.name: str | None = None
        self.scope: Scope = None
        self.sure = False
        self.several = False
        """Whether it was asked which of several models are trained together, and how their backward passes go."""

    def _is_optimizer(self, call: cst.Call) -> bool:
        full = self.functions.imports.full(call.func)
        return (
            full.startswith("torch.optim.")
            and full.rpartition(".")[2][:1].isupper()
            and not full.startswith(("torch.optim.lr_scheduler", "torch.optim.swa_utils"))
        )

    def roots(self, call: cst.Call) -> set[str]:
        """Return the names of the models whose parameters an optimizer gets."""
        roots = set()
        for inner in calls(self.program, call):
            if method(inner) in ("parameters", "named_parameters") and isinstance(inner.func, cst.Attribute):
                parts = (dotted(inner.func.value) or "").split(".")
                roots.add(".".join(parts[:2] if parts[0] == "self" else parts[:1]))
        if not roots and call.args:
            name = dotted(call.args[0].value)
            values = self.functions.assigned(name, self.functions.scope(call)) if name else []
            for value in values:
                for inner in calls(self.program, value.value):
                    if method(inner) in ("parameters", "named_parameters") and isinstance(inner.func, cst.Attribute):
                        roots.add((dotted(inner.func.value) or "").split(".")[0])
        return roots

    def wrap(self, words: AddedNames) -> None:
        """Wrap the model in DistributedDataParallel, or ask."""
        edits = self.edits
        if not self.optimizers:
            edits.ask(
                self.functions.backwards[0],
                Message(
                    "port.ask_no_optimizer",
                    "no optimizer of torch.optim was found: which model is trained? Wrap it with "
                    "DistributedDataParallel.",
                ),
            )
            return
        targets = {self._target(optimizer) for optimizer in self.optimizers}
        roots = {
            (root, self.functions.scope(optimizer)) for optimizer in self.optimizers for root in self.roots(optimizer)
        }
        if not roots and all(self._in_method(optimizer) for optimizer in self.optimizers):
            roots = {("self", None)}
        if len(roots) != 1 or len(targets) != 1 or None in targets:
            names = ", ".join(sorted({name for name, _ in roots if name}))
            self.several = True
            edits.ask(
                self.optimizers[0],
                Message(
                    "port.ask_models",
                    "several models or optimizers ({names}): which are trained together? Wrap each one with "
                    "DistributedDataParallel; check that each backward pass uses each of its parameters once.",
                ),
                names=names or "?",
            )
            return
        (name, scope), call = roots.pop(), self.optimizers[0]
        if not name or name == "self":
            edits.ask(
                call,
                Message(
                    "port.ask_self_model",
                    "the module makes its own optimizer: where is the object made? Wrap it there with "
                    "DistributedDataParallel.",
                ),
            )
            return
        origin = self._caller(name, scope, call)
        if origin is None and self._wrap_argument(words, name, scope):
            return
        if origin is None:
            edits.ask(
                call,
                Message(
                    "port.ask_where_model",
                    "where is {model} made and on its device? Wrap it there with DistributedDataParallel.",
                ),
                model=name,
            )
            return
        name, scope, at = origin
        position = self._place(name, scope, at)
        if position is None or self._moved_later(name, scope):
            edits.ask(
                at,
                Message(
                    "port.ask_where_model",
                    "where is {model} made and on its device? Wrap it there with DistributedDataParallel.",
                ),
                model=name,
            )
            return
        statement, behind, keeper = position
        for leaving in self.program.find(scope, cst.Return) if scope is not None else ():
            if leaving.value is not None and self._gives(leaving.value, name):
                edits.ask(
                    leaving,
                    Message(
                        "port.ask_returned",
                        "{model} leaves this function wrapped: does its caller use attributes of the model? They "
                        "are in `{model}.module` then.",
                    ),
                    model=name,
                )
        if keeper is not None:
            edits.ask(
                keeper,
                Message(
                    "port.ask_alias",
                    "this keeps {model} as it is before DistributedDataParallel: should it have the wrapped one?",
                ),
                model=name,
            )
        text = f"if {words.world} > 1:\n    {name} = {words.ddp}({name})\n"
        (edits.put_after if behind else edits.put_before)(statement, text)
        edits.done(
            statement,
            Message(
                "port.do_wrap", "DistributedDataParallel around {model}: gradients are averaged over the processes"
            ),
            text,
            model=name,
        )
        self.name, self.scope, self.sure = name, scope, True

    def _in_method(self, node: cst.CSTNode) -> bool:
        scope = self.functions.scope(node)
        return isinstance(scope, cst.FunctionDef) and self.functions.owner(scope) is not None

    def _wrap_argument(self, words: AddedNames, name: str, scope: Scope) -> bool:
        """Wrap a model at the beginning of the only function that gets it, if it does not move later."""
        if not isinstance(scope, cst.FunctionDef) or not isinstance(scope.body, cst.IndentedBlock):
            return False
        if name not in self.functions.parameters(scope) or self.functions.assigned(name, scope):
            return False
        moved = any(method(call) in ("to", "cuda", "half") and self._named(call, name) for call in self.functions.calls)
        if moved or len(self.functions.calls_of(scope)) != 1:
            return False
        first = scope.body.body[0]
        text = f"if {words.world} > 1:\n    {name} = {words.ddp}({name})\n"
        self.edits.put_before(first, text)
        self.edits.done(
            first,
            Message(
                "port.do_wrap", "DistributedDataParallel around {model}: gradients are averaged over the processes"
            ),
            text,
            model=name,
        )
        self.name, self.scope, self.sure = name, scope, True
        return True

    def _named(self, call: cst.Call, name: str) -> bool:
        """Return whether a call moves an object with this name, also as an attribute."""
        receiver = dotted(call.func.value) if isinstance(call.func, cst.Attribute) else None
        return (receiver or "").rpartition(".")[2] == name

    def _gives(self, value: cst.BaseExpression, name: str) -> bool:
        """Return whether a returned value is or contains the model itself."""
        parts = [element.value for element in value.elements] if isinstance(value, cst.Tuple | cst.List) else [value]
        return any(dotted(part) == name for part in parts)

    def _target(self, call: cst.Call) -> str | None:
        parent = self.program.parents.get(call)
        if isinstance(parent, cst.Assign):
            return dotted(parent.targets[0].target)
        return "return" if isinstance(parent, cst.Return) else None

    def _caller(self, name: str, scope: Scope, call: cst.CSTNode) -> tuple[str, Scope, cst.CSTNode] | None:
        """Follow a parameter out of a function that only creates the optimizer."""
        for _ in range(DEPTH):
            if scope is None or name not in self.functions.parameters(scope) or scope in self.functions.trains:
                return name, scope, call
            sites = self.functions.calls_of(scope)
            passed = self.functions.passed(sites[0], scope, name) if len(sites) == 1 else None
            outer = dotted(passed) if passed is not None else None
            if outer is None:
                return None
            name, scope, call = outer, self.functions.scope(sites[0]), sites[0]
        return None

    def _place(self, name: str, scope: Scope, at: cst.CSTNode) -> tuple[cst.CSTNode, bool, cst.CSTNode | None] | None:
        """Return the statement to wrap before or after, and what keeps the bare model until then."""
        statement: cst.CSTNode = self.program.statement(at)
        while True:  # out of `if` and `with`, up to the common block
            block = self.program.parents[statement]
            outer = self.program.parents.get(block)
            if not isinstance(outer, cst.If | cst.Else | cst.With | cst.Try) or self._is_main(outer):
                break
            if any(self._binds(statement, name) for statement in block.body):  # type: ignore[attr-defined]
                break
            statement = self.program.statement(self.program.parents[outer] if isinstance(outer, cst.Else) else outer)
        body = list(block.body)  # type: ignore[attr-defined]
        first = body.index(statement)
        training = next(
            (number for number, line in enumerate(body) if number >= first and self.functions.reaches(line)), len(body)
        )
        movers = [number for number, line in enumerate(body[:training]) if self._binds(line, name)]
        if "." not in name and scope is not None and not self._local(name, scope):
            return None  # a module-level name: an assignment here would create another, local one
        if not movers and scope is None and "." not in name:
            elsewhere = self.functions.assigned(name, None)
            if not elsewhere:
                return None
        last = max(movers, default=-1)
        behind = last >= first
        keeper = next((line for line in body[: max(first, last + 1)] if self._keeps(line, name)), None)
        return (body[last] if behind else statement), behind, keeper

    def _is_main(self, node: cst.CSTNode) -> bool:
        return isinstance(node, cst.If) and "__name__" in self.program.text(node.test)

    def _binds(self, node: cst.CSTNode, name: str) -> bool:
        """Return whether a statement creates the model or moves it to a device."""
        for part in self.program.walk(node):
            if isinstance(part, cst.Assign) and any(dotted(target.target) == name for target in part.targets):
                return True
            moves = isinstance(part, cst.Call) and method(part) in ("to", "cuda", "half")
            if moves and dotted(part.func.value) == name:  # type: ignore[attr-defined]
                return True
        return False

    def _keeps(self, node: cst.CSTNode, name: str) -> bool:
        """Return whether a statement stores the bare model elsewhere: an alias, an object that contains it."""
        for assign in self.program.find(node, cst.Assign):
            targets = {dotted(target.target) for target in assign.targets}
            if name in targets or isinstance(self.program.parents.get(assign), cst.Lambda):
                continue
            if dotted(assign.value) == name:
                return True
            if isinstance(assign.value, cst.Call) and assign.value not in self.optimizers:
                short = (dotted(assign.value.func) or "").rpartition(".")[2]
                if short[:1].isupper() and any(dotted(argument.value) == name for argument in assign.value.args):
                    return True
        return False

    def is_model(self, node: cst.BaseExpression, scope: Scope) -> bool:
        """Return whether an expression is the wrapped model, also as a function's parameter."""
        return self._is_model(node, scope, DEPTH, set())

    def _is_model(
        self, node: cst.BaseExpression, scope: Scope, depth: int, followed: set[tuple[str, Scope, int]]
    ) -> bool:
        name = dotted(node)
        # follow names that lead to each other only once
        if name is None or self.name is None or depth < 0 or (name, scope, depth) in followed:
            return False
        followed.add((name, scope, depth))
        if self.name.startswith("self."):
            if name == self.name and self.functions.owner(scope) is self.functions.owner(self.scope):
                return True
            if "." in name and not name.startswith("self."):
                receiver, _, last = name.rpartition(".")
                assigned = self.functions.assigned(receiver, scope) or self.functions.assigned(receiver, None)
                owner = self.functions.owner(self.scope)
                classes = {
                    dotted(assignment.value.func) for assignment in assigned if isinstance(assignment.value, cst.Call)
                }
                return last == self.name[5:] and owner is not None and owner.name.value in classes
        elif name == self.name and (scope is self.scope or self._shared(name, scope)):
            return True
        for assignment in self.functions.assigned(name, scope):
            moved = isinstance(assignment.value, cst.Call) and method(assignment.value) in ("to", "cuda")
            value = assignment.value.func.value if moved else assignment.value  # type: ignore[attr-defined]
            complete = assignment.index is None and dotted(value) not in (None, name)
            if complete and self._is_model(value, self.functions.scope(assignment.statement), depth - 1, followed):
                return True
        if scope is not None and name in self.functions.parameters(scope):
            return any(
                (passed := self.functions.passed(call, scope, name)) is not None
                and self._is_model(passed, self.functions.scope(call), depth - 1, followed)
                for call in self.functions.calls_of(scope)
            )
        return False

    def _shared(self, name: str, scope: Scope) -> bool:
        """Return whether a name in a function is that of the model's own file."""
        own = not isinstance(self.scope, cst.FunctionDef)
        return own and self.functions.home(scope) is self.functions.home(self.scope) and not self._local(name, scope)

    def _local(self, name: str, scope: Scope) -> bool:
        return scope is not None and (
            name in self.functions.parameters(scope) or bool(self.functions.assigned(name, scope))
        )

    def unwrap(self, words: AddedNames) -> None:
        """Unwrap the model where an attribute of the model itself is meant."""
        if not self.sure:
            return
        for node in self.program.everywhere(cst.Attribute):
            name, scope = node.attr.value, self.functions.scope(node)
            if name in _KEPT or not self.is_model(node.value, scope):
                continue
            parent = self.program.parents.get(node)
            called = isinstance(parent, cst.Call) and parent.func is node
            needs_gradients = called and self._in_step(node) and not (parent and only_detached(self.functions, parent))
            if needs_gradients and name not in _UNWRAPPED_CALLS and not self._plain(name):
                self.edits.ask(
                    node,
                    Message(
                        "port.ask_method",
                        "{call}() goes around DistributedDataParallel, which averages gradients only after a call "
                        "of the model itself: call the model instead?",
                    ),
                    call=self.program.text(node),
                )
                continue
            inner = self.edits.expression(f"{words.unwrapped}({self.program.text(node.value)})")
            self.edits.replaced[node.value] = lambda _, unwrapped=inner: unwrapped  # type: ignore[misc]
            self.edits.done(
                node, Message("port.do_unwrap", "{what}: of the model below the wrapper"), what=self.program.text(node)
            )
        for used, inside in self._whole():
            scope = self.functions.scope(used)
            if not self.is_model(used, scope) and not self._named_alike(used, inside):
                continue
            call = self.program.parents.get(inside)
            state = isinstance(inside, cst.Attribute) and inside.attr.value in _UNWRAPPED_CALLS
            if isinstance(call, cst.Call) and call.func is inside and not state and self._in_step(used):
                self.edits.ask(
                    used,
                    Message(
                        "port.ask_method",
                        "{call}() goes around DistributedDataParallel, which averages gradients only after a call "
                        "of the model itself: call the model instead?",
                    ),
                    call=self.program.text(inside),
                )
                continue
            self.edits.swap(used, f"{words.unwrapped}({self.program.text(used)})")
            self.edits.done(
                used,
                Message("port.do_unwrap", "{what}: of the model below the wrapper"),
                what=self.program.text(inside),
            )

    def _plain(self, name: str) -> bool:
        """Return whether a method of the model certainly needs no gradients: it calls none of the model's layers."""
        methods = [
            function
            for function in self.functions.all
            if function.name.value == name and self.functions.owner(function) is not None
        ]
        if not methods:
            return name.startswith(_PLAIN)
        return not any(
            (
                (dotted(call.func) or "").startswith("self.")
                and (dotted(call.func) or "").count(".") == 1
                and method(call) not in ("parameters", "buffers", "modules", "children", "train", "eval", "state_dict")
            )
            or dotted(call.func) == "self"
            for function in methods
            for call in calls(self.program, function.body)
        )

    def handed(self) -> None:
        """Ask where code outside of the program gets the wrapped model."""
        if not self.sure:
            return
        for call in self.functions.calls:
            scope = self.functions.scope(call)
            full = self.functions.imports.full(call.func)
            last = (method(call) or full).rpartition(".")[2]
            owner = self.functions.definition(call.func, self.program.home(call))
            if (
                owner is not None
                or self.functions.target(call) is not None
                or last in _TAKE_EITHER
                or last in _TAKE_BARE
            ):
                continue
            passed = next((arg for arg in call.args if self.is_model(arg.value, scope)), None)
            if passed is None or passed.value in self.edits.replaced or self._before(call):
                continue
            self.edits.ask(
                call,
                Message(
                    "port.ask_handed",
                    "`{call}` gets {model} wrapped: does it use attributes of the model itself? They are in "
                    "`{model}.module` then.",
                ),
                call=self.program.text(call.func),
                model=self.program.text(passed.value),
            )

    def _before(self, node: cst.CSTNode) -> bool:
        """Return whether a line stands before the one that wraps the model, in the same function."""
        wraps = next((finding.line for finding in self.edits.findings if finding.rule == "do-wrap"), 0)
        return self.functions.scope(node) is self.scope and self.program.line(node) <= wraps

    def _named_alike(self, node: cst.BaseExpression, use: cst.CSTNode) -> bool:
        """Return whether an object with a state may be the model under another name; other objects stay unchanged."""
        last = (dotted(node) or "").rpartition(".")[2].lower()
        if not isinstance(use, cst.Attribute) or use.value is not node:
            return False
        return not any(part in last for part in ("opt", "sched", "scal", "sampler"))

    def _in_step(self, node: cst.CSTNode) -> bool:
        """Return whether a node is in a training step, so that gradients of its calls are needed."""
        around = list(self.program.above(node))
        heads = [self.program.text(item) for block in around if isinstance(block, cst.With) for item in block.items]
        if any(word in head for head in heads for word in ("no_grad", "inference_mode")):
            return False
        loops = (outer for outer in around if isinstance(outer, cst.For | cst.While))
        return self.functions.scope(node) in self.functions.trains or any(
            self.functions.reaches(loop) for loop in loops
        )

    def _moved_later(self, name: str, scope: Scope) -> bool:
        """Return whether the model moves to its device only after the function that creates the optimizer."""
        last = name.rpartition(".")[2]
        moves = [call for call in self.functions.calls if method(call) in ("to", "cuda")]
        mine = {value for value, _ in self.functions.origins(cst.Name(name), scope)} if "." not in name else set()
        for call in moves:
            receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
            if any(value in set(self.program.walk(call)) or call in set(self.program.walk(value)) for value in mine):
                return False
            if self.functions.scope(call) is scope and receiver is not None and dotted(receiver) == name:
                return False
        names = ((dotted(move.func.value) or "") for move in moves if isinstance(move.func, cst.Attribute))
        return any(name.rpartition(".")[2] == last for name in names)

    def _whole(self) -> Iterator[tuple[cst.BaseExpression, cst.CSTNode]]:
        """Yield each expression that is used in a way that only the model itself supports, and its use."""
        for node in self.program.nodes():
            if isinstance(node, cst.Subscript):
                yield node.value, node
            elif isinstance(node, cst.Attribute) and node.attr.value in ("state_dict", "load_state_dict"):
                if not self.is_model(node.value, self.functions.scope(node)) and dotted(node.value) is not None:
                    yield node.value, node
            elif isinstance(node, cst.For | cst.CompFor):
                yield node.iter, node.iter
            elif isinstance(node, cst.Call) and node.args:
                full = self.functions.imports.full(node.func)
                if full in _WHOLE or full.rpartition(".")[2] in _TAKE_BARE or method(node) in _TAKE_BARE:
                    yield node.args[0].value, node.args[0].value
