"""Accelerate: the library distributes what goes through `prepare()`; change or ask about the rest."""

from functools import partial
from typing import Literal

import libcst as cst

from hackathon.programs.port.edits import Edits
from hackathon.programs.port.functions import Functions, Scope
from hackathon.programs.port.loops import batch_loops, is_loader, iterated
from hackathon.programs.port.names import calls, dotted, method
from hackathon.programs.port.output import Output, lines_of_one
from hackathon.programs.port.rates.accelerate_counts import GATHERS, accelerate_counts
from hackathon.programs.port.rates.rates import PortedProcesses, whole_rates
from hackathon.programs.port.torch_steps import seeded
from hackathon.text.messages import Message


def port_accelerate(edits: Edits, functions: Functions) -> Literal["ported"]:
    """Prepare omitted objects, let one process print and save, and average with the library."""
    for call in functions.calls:
        if functions.imports.full(call.func).endswith(".random_split") and not seeded(functions, call):
            edits.ask(
                call,
                Message(
                    "port.ask_split",
                    "no seed is set: should all processes divide the data in the same way "
                    "(generator=torch.Generator().manual_seed(0))?",
                ),
            )
    name = _accelerator(functions)
    if name is None:
        edits.ask(
            None, Message("port.ask_accelerator", "where is the one Accelerator made? Everything else depends on it.")
        )
        return "ported"
    prepared = _prepared(edits, functions, name)
    _loops(edits, functions, name, prepared)
    for call in functions.backwards:
        target = call.func.value if isinstance(call.func, cst.Attribute) else None
        plain = target is not None and dotted(target) not in (None, name)
        if plain and not call.args and isinstance(functions.program.parents.get(call), cst.Expr):
            assert target is not None
            edits.swap(call, f"{name}.backward({functions.program.text(target)})")
            edits.done(call, Message("port.do_backward", "Accelerate runs the backward pass"), f"{name}.backward(…)")
    _saves(edits, functions, name, prepared)
    sees = partial(_sees, functions, name)
    processes = PortedProcesses(f"{name}.num_processes", sees, f"{name}.print")
    whole_rates(edits, functions, accelerate_counts(functions, name, prepared), processes)
    lines_of_one(edits, functions, f"{name}.is_main_process", Output(sees=sees))
    edits.note(
        None,
        Message(
            "port.note_accelerate_launch",
            "In a job, leave `accelerate launch` out of `command:`; the job starts the processes. The batch size "
            "of a DataLoader is that of one process.",
        ),
    )
    return "ported"


def _accelerator(functions: Functions) -> str | None:
    """Return the name of the only accelerator."""
    names = set()
    for assign in functions.program.everywhere(cst.Assign):
        makes = isinstance(assign.value, cst.Call) and functions.imports.full(assign.value.func).endswith("Accelerator")
        if makes:
            names.add(dotted(assign.targets[0].target) if len(assign.targets) == 1 else None)
    return names.pop() if len(names) == 1 else None


def _sees(functions: Functions, name: str, node: cst.CSTNode) -> bool:
    """Return whether a line sees the accelerator: it is created earlier in the same function or in the module."""
    program, scope = functions.program, functions.scope(node)
    if name.startswith("self.") or (scope is not None and name in functions.parameters(scope)):
        return functions.owner(scope) is not None if name.startswith("self.") else True
    line = program.line(node)
    lines = [program.line(assigned.statement) for assigned in functions.assigned(name, scope)]
    if lines:
        return min(lines) < line
    top = [program.line(assigned.statement) for assigned in functions.assigned(name, None)]
    return bool(top) and scope is not None


def _prepared(edits: Edits, functions: Functions, name: str) -> set[str]:
    """Return the names that go through prepare(); add this file's loaders and model to them."""
    program = functions.program
    names: set[str] = set()
    calls_of = [call for call in functions.calls if dotted(call.func) == f"{name}.prepare"]
    for call in calls_of:
        names |= {dotted(argument.value) or "" for argument in call.args}
        parent = program.parents.get(call)
        if isinstance(parent, cst.Assign):
            target = parent.targets[0].target
            parts = [element.value for element in target.elements] if isinstance(target, cst.Tuple) else [target]
            names |= {dotted(part) or "" for part in parts}
    loaders = {
        dotted(loop.loader): loop
        for loop in batch_loops(program, functions)
        if loop.sources and dotted(loop.loader) is not None
    }
    last = calls_of[-1] if calls_of else None
    for loader, loop in loaders.items():
        if loader in names or loader is None or _made_by_prepare(functions, loader, loop.scope, name):
            continue
        if last is None or not _extends(functions, last, loader):
            edits.ask(
                loop.loop,
                Message(
                    "port.ask_prepare",
                    "{data} does not go through accelerator.prepare(): should each process get its own share of it?",
                ),
                data=loader,
            )
            continue
        _extend(edits, last, loader)
        edits.done(
            last,
            Message("port.do_prepare", "{what} goes through prepare() too: each process gets its share"),
            what=loader,
        )
        names.add(loader)
    return names


def _made_by_prepare(functions: Functions, loader: str, scope: Scope, name: str) -> bool:
    assigned = list(functions.assigned(loader, scope)) or list(functions.assigned(loader, None))
    return any(
        isinstance(assignment.value, cst.Call) and (dotted(assignment.value.func) or "").startswith(f"{name}.prepare")
        for assignment in assigned
    ) or (scope is not None and loader in functions.parameters(scope))


def _extends(functions: Functions, call: cst.Call, loader: str) -> bool:
    """Return whether `a, b = accelerator.prepare(a, b)` can include this loader: it is created earlier in the block."""
    program = functions.program
    parent = program.parents.get(call)
    if not isinstance(parent, cst.Assign) or len(parent.targets) != 1:
        return False
    target = parent.targets[0].target
    names = (
        [dotted(element.value) for element in target.elements] if isinstance(target, cst.Tuple) else [dotted(target)]
    )
    if len(names) != len(call.args) or any(argument.star or argument.keyword for argument in call.args):
        return False
    assigned = functions.assigned(loader, functions.scope(call))
    block = program.parents[program.statement(call)]
    return len(assigned) == 1 and all(
        program.parents[program.statement(assignment.statement)] is block
        and program.line(assignment.statement) < program.line(call)
        for assignment in assigned
    )


def _extend(edits: Edits, call: cst.Call, name: str) -> None:
    assign = edits.program.parents[call]
    assert isinstance(assign, cst.Assign)
    call_of_name = edits.expression(f"f({name})")
    assert isinstance(call_of_name, cst.Call)
    (extra,) = call_of_name.args
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))

    def arguments(updated: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(updated, cst.Call)
        args = list(updated.args)
        args[-1] = args[-1].with_changes(comma=comma)
        return updated.with_changes(args=[*args, extra])

    def targets(updated: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(updated, cst.AssignTarget)
        target = updated.target
        if isinstance(target, cst.Tuple):
            elements = list(target.elements)
            elements[-1] = elements[-1].with_changes(comma=comma)
        else:
            elements = [cst.Element(target, comma=comma)]
        return updated.with_changes(target=cst.Tuple([*elements, cst.Element(extra.value)], lpar=[], rpar=[]))

    edits.change(call, arguments)
    edits.change(assign.targets[0], targets)


def _loops(edits: Edits, functions: Functions, name: str, prepared: set[str]) -> None:
    """Ask about loops that see one process's share of prepared data without gathering results."""
    program = functions.program
    for loop in program.everywhere(cst.For):
        value = iterated(loop)
        origins = [origin for origin, _ in functions.origins(value, functions.scope(loop))]
        shared = dotted(value) in prepared or any(
            isinstance(origin, cst.Call) and dotted(origin.func) == f"{name}.prepare" for origin in origins
        )
        if shared and not functions.reaches(loop.body) and not _gathers(functions, loop.body):
            edits.ask(
                loop,
                Message(
                    "port.ask_gather",
                    "each process sees its share of these data: gather the results with {name}.gather_for_metrics(…)?",
                ),
                name=name,
            )
        if is_loader(functions, value) and functions.reaches(loop.body):
            edits.ask(
                loop,
                Message(
                    "port.ask_prepare",
                    "{data} does not go through accelerator.prepare(): should each process get its own share of it?",
                ),
                data=program.text(value),
            )


def _gathers(functions: Functions, body: cst.CSTNode) -> bool:
    """Return whether the code below a node, or a function that it calls, gathers results of all processes."""
    inside = [
        body,
        *(function for call in calls(functions.program, body) if (function := functions.target(call)) is not None),
    ]
    return any(method(call) in GATHERS for node in inside for call in calls(functions.program, node))


def _saves(edits: Edits, functions: Functions, name: str, prepared: set[str]) -> None:
    """Save the unwrapped model with the library's own function, in one process."""
    program = functions.program
    for call in functions.calls:
        if not isinstance(call.func, cst.Attribute) or method(call) not in ("state_dict", "save_pretrained"):
            continue
        owner = dotted(call.func.value)
        last = owner.lower() if owner is not None else ""
        if owner not in prepared or any(word in last for word in ("opt", "sched", "loader")):
            continue
        if _sees(functions, name, call):
            edits.swap(call.func.value, f"{name}.unwrap_model({owner})")
            edits.done(
                call, Message("port.do_unwrap", "{what}: of the model below the wrapper"), what=program.text(call.func)
            )
