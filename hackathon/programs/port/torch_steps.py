"""The training steps: one backward pass each, gradient accumulation, the same end for all processes."""

from itertools import pairwise

import libcst as cst

from hackathon.programs.port.edits import Edits
from hackathon.programs.port.functions import Functions
from hackathon.programs.port.loops import BatchLoop
from hackathon.programs.port.names import argument, calls, dotted, method, pure
from hackathon.programs.port.torch_model import TrainedModel
from hackathon.programs.port.torch_setup import AddedNames
from hackathon.text.messages import Message

_NEVER_DECIDE = frozenset({
    "SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "StepLR", "MultiStepLR",
    "ExponentialLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "LambdaLR", "OneCycleLR", "CyclicLR",
    "LinearLR", "ConstantLR", "PolynomialLR", "SequentialLR", "MultiplicativeLR", "GradScaler",
})  # fmt: skip
"""Optimizers and schedulers that never decide by a loss."""
_SETTINGS = frozenset({
    "args", "opts", "opt", "cfg", "config", "conf", "hparams", "hps", "params", "settings", "options", "flags", "FLAGS",
    "len", "self",
})  # fmt: skip
"""Names of options, which are the same in all processes."""
_PARTS = frozenset({"epoch", "step", "i", "len", "int", "float", "iters", "global_step", "iteration"})
"""Names of counters, and functions of them."""


def steps(edits: Edits, functions: Functions, words: AddedNames, model: TrainedModel, loops: list[BatchLoop]) -> None:
    """Check each training step, and code that depends on the number of processes."""
    program = functions.program
    by_scope: dict[object, list[cst.Call]] = {}
    for backward in functions.backwards:
        by_scope.setdefault(_branch(functions, backward), []).append(backward)
    for branch in by_scope.values():
        again = next((after for before, after in pairwise(branch) if not _forward(model, before, after)), None)
        if again is not None and not model.several:
            edits.ask(
                again,
                Message(
                    "port.ask_backward",
                    "a second backward pass in one step: DistributedDataParallel averages the gradients of one "
                    "pass for each forward. Add the losses and call backward() once?",
                ),
            )
    for loop in loops:
        inner = [backward for backward in functions.backwards if _directly(functions, backward, loop.loop)]
        if len(inner) == 1 and model.sure:
            _accumulate(edits, functions, words, model, loop.loop, inner[0])
        _leaves(edits, functions, loop.loop)
    for item in program.everywhere(cst.Subscript):
        index = item.slice[0].slice
        written = isinstance(program.parents.get(item), cst.AssignTarget | cst.AugAssign)
        if written and isinstance(index, cst.Index) and program.text(index).strip("'\"") == "lr":
            edits.ask(
                item,
                Message(
                    "port.ask_rate",
                    "the learning rate is set by hand: should it follow the batch of all processes, and fewer "
                    "updates for each epoch?",
                ),
            )
    for call in functions.calls:
        if functions.imports.full(call.func) == "torch.nn.DataParallel":
            edits.ask(
                call,
                Message(
                    "port.ask_dataparallel",
                    "DataParallel uses several GPUs from one process: remove it, since each process now has one GPU?",
                ),
            )
        elif method(call) == "step" and call.args and _decides(functions, call):
            edits.ask(
                call,
                Message(
                    "port.ask_step",
                    "`{call}` decides by a value: is it the same in all processes? Otherwise their models drift apart.",
                ),
                call=program.text(call),
            )
        elif functions.imports.full(call.func).endswith(".random_split") and not seeded(functions, call):
            edits.ask(
                call,
                Message(
                    "port.ask_split",
                    "no seed is set: should all processes divide the data in the same way "
                    "(generator=torch.Generator().manual_seed(0))?",
                ),
            )
        elif functions.imports.full(call.func) == "torch.autograd.grad" and not _stays_in_graph(functions, call):
            edits.ask(
                call,
                Message(
                    "port.ask_grad",
                    "torch.autograd.grad: DistributedDataParallel does not average these gradients. Are they for "
                    "an update?",
                ),
            )


def _stays_in_graph(functions: Functions, call: cst.Call) -> bool:
    """Return whether gradients become a term of a loss: its own backward pass is averaged."""
    create = argument(call, "create_graph", 4)
    return create is not None and functions.program.text(create.value) == "True"


def _decides(functions: Functions, call: cst.Call) -> bool:
    """Return whether an optimizer or a scheduler decides by a value: a closure's loss, a measured one."""
    assert isinstance(call.func, cst.Attribute)
    if functions.target(call) is not None:
        return False  # a method of this program
    origins = functions.origins(call.func.value, functions.scope(call))
    makers = {
        functions.imports.full(value.func).rpartition(".")[2] for value, _ in origins if isinstance(value, cst.Call)
    }
    if makers and not makers - _NEVER_DECIDE:
        return False
    if makers & {"LBFGS", "ReduceLROnPlateau"}:
        return True
    name = (dotted(call.func.value) or "").lower()
    named = any(word in name for word in ("opt", "sched", "plateau", "anneal")) and "scal" not in name
    return named and not _counter(functions, call.args[0].value)


def _counter(functions: Functions, value: cst.BaseExpression) -> bool:
    """Return whether a value is computed from counters of loops and numbers only."""
    if not pure(functions.program, value):
        return False
    counted = {
        name.value
        for loop in functions.program.everywhere(cst.For)
        for name in functions.program.find(loop.target, cst.Name)
    }
    return all(name.value in counted | _PARTS for name in functions.program.find(value, cst.Name))


def seeded(functions: Functions, call: cst.Call) -> bool:
    """Return whether all processes split data in the same way."""
    seeds = (
        "torch.manual_seed", "torch.random.manual_seed", "lightning.seed_everything",
        "pytorch_lightning.seed_everything", "lightning.pytorch.seed_everything", "transformers.set_seed",
        "accelerate.utils.set_seed",
    )  # fmt: skip
    return argument(call, "generator", 2) is not None or any(
        functions.imports.full(call.func) in seeds for call in functions.calls
    )


def _branch(functions: Functions, call: cst.Call) -> object:
    """Return the block of a backward pass in which a second pass would follow it; arms of an `if` are separate."""
    for outer in functions.program.above(call):
        if isinstance(outer, cst.If | cst.Else | cst.For | cst.While | cst.FunctionDef):
            return outer
    return None


def _directly(functions: Functions, node: cst.CSTNode, loop: cst.For) -> bool:
    kinds = cst.For | cst.While | cst.FunctionDef
    return next((outer for outer in functions.program.above(node) if isinstance(outer, kinds)), None) is loop


def _accumulate(
    edits: Edits, functions: Functions, words: AddedNames, model: TrainedModel, loop: cst.For, backward: cst.Call
) -> None:
    """Exchange gradients only in the pass before an update: `with model.no_sync()` around the others."""
    program = functions.program
    body = list(loop.body.body)
    line = next((statement for statement in body if backward in set(calls(program, statement))), None)
    updates = [call for call in calls(program, loop.body) if _updates(functions, call)]
    holders = {
        next((statement for statement in body if call in set(calls(program, statement))), None) for call in updates
    }
    if len(holders) != 1 or line is None:
        return
    (holder,) = holders
    if not isinstance(holder, cst.If) or holder is line or body.index(holder) <= body.index(line):
        return  # an update in each step
    test, scope = holder.test, functions.scope(loop)
    if _always_same(functions, test, loop):
        return  # a choice of the program, the same in each step
    first = next(
        (
            statement for statement in body
            if any(model.is_model(call.func, scope) for call in calls(program, statement))
        ), None,
    )  # fmt: skip
    names = {name.value for name in program.find(test, cst.Name)}
    after = [call for call in calls(program, functions.scope(loop) or program.module) if _updates(functions, call)]
    tail = [update for update in after if loop not in set(program.above(update)) and functions.scope(update) is scope]
    changed = {
        dotted(target) or ""
        for statement in body[: body.index(holder)]
        for node in program.find(statement, cst.Assign | cst.AugAssign)  # type: ignore[arg-type]
        for target in ([t.target for t in node.targets] if isinstance(node, cst.Assign) else [node.target])
    }
    if first is None or holder.orelse is not None or not pure(program, test) or names & changed or tail:
        edits.ask(
            backward,
            Message(
                "port.ask_accumulate",
                "gradients are accumulated: which passes may run below `with model.no_sync():`? It is right "
                "without, only slower.",
            ),
        )
        return
    reference = next(program.text(call.func) for call in calls(program, first) if model.is_model(call.func, scope))
    condition = program.text(test)
    head = f"with {words.nullcontext}() if {words.world} == 1 or {condition} else {reference}.no_sync()"
    edits.indented[first] = (line, head)
    edits.done(first, Message("port.do_accumulate", "gradients are exchanged only before an update (no_sync)"), head)


def _always_same(functions: Functions, test: cst.BaseExpression, loop: cst.For) -> bool:
    """Return whether nothing in a loop changes the value of a condition."""
    program = functions.program
    changed = {name.value for name in program.find(loop.target, cst.Name)}
    for node in program.walk(loop.body):
        if isinstance(node, cst.Assign | cst.AugAssign | cst.AnnAssign | cst.NamedExpr | cst.For | cst.CompFor):
            targets = [target.target for target in node.targets] if isinstance(node, cst.Assign) else [node.target]
            changed |= {name.value for target in targets for name in program.find(target, cst.Name)}
    names = {name.value for name in program.find(test, cst.Name)}
    return pure(program, test) and not names & changed


def _forward(model: TrainedModel, before: cst.Call, after: cst.Call) -> bool:
    """Return whether a model is called between two backward passes, so that each has a forward pass of its own."""
    program = model.program
    names = {name for optimizer in model.optimizers for name in model.roots(optimizer)} | {model.name}
    first, last = program.line(before), program.line(after)
    return any(
        dotted(call.func) in names
        for call in model.functions.calls
        if first < program.line(call) <= last and model.functions.scope(call) is model.functions.scope(after)
    )


def _updates(functions: Functions, call: cst.Call) -> bool:
    if method(call) != "step" or not isinstance(call.func, cst.Attribute):
        return False
    name = (dotted(call.func.value) or "").lower()
    return "opt" in name or "scaler" in name or "optim" in name


def _leaves(edits: Edits, functions: Functions, loop: cst.For) -> None:
    """Ask about exits from the loops that may happen in one process only: the others would wait forever."""
    program = functions.program
    around = [loop, *(outer for outer in program.above(loop) if isinstance(outer, cst.For | cst.While))]
    scope = functions.scope(loop)
    for call in functions.calls_of(scope):
        around += [outer for outer in program.above(call) if isinstance(outer, cst.For | cst.While)]
    for enclosing in dict.fromkeys(around):
        for leave in program.find(enclosing, cst.Break):
            tests = [
                above.test for above in program.above(leave)
                if isinstance(above, cst.If) and "__name__" not in program.text(above.test)
            ]  # fmt: skip
            nearest = next((a for a in program.above(leave) if isinstance(a, cst.For | cst.While)), None)
            if nearest is enclosing and not all(_known_everywhere(functions, test, enclosing) for test in tests):
                edits.ask(
                    leave,
                    Message(
                        "port.ask_break",
                        "do all processes leave the loop at the same time? Otherwise the others wait for ever.",
                    ),
                )


def _known_everywhere(functions: Functions, test: cst.BaseExpression, loop: cst.CSTNode) -> bool:
    """Return whether a condition has the same value in all processes: options, counters, constants."""
    program = functions.program
    if not pure(program, test):
        return False
    counted = {
        name.value
        for outer in (loop, *program.above(loop))
        if isinstance(outer, cst.For)
        for name in [*program.find(outer.target, cst.Name)][:1]
    }
    for name in program.find(test, cst.Name):
        word = name.value
        parent = program.parents.get(name)
        if isinstance(parent, cst.Attribute) and parent.attr is name:
            continue
        if word in counted or word.isupper() or word in _SETTINGS:
            continue
        values = functions.assigned(word, functions.scope(name))
        if not values or not all(isinstance(value.value, cst.Integer) for value in values):
            return False
        # a counter of events in this process, such as epochs without a better loss
        for count in program.everywhere(cst.AugAssign):
            if dotted(count.target) == word and any(isinstance(node, cst.If | cst.Else) for node in program.above(count)
                                                    if node in set(program.walk(loop))):  # fmt: skip
                return False
    return True
