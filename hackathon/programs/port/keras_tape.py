"""A custom training loop with TensorFlow → Horovod: its tape averages the gradients."""

import libcst as cst

from hackathon.programs.port.functions import Scope
from hackathon.programs.port.head import Head
from hackathon.programs.port.keras_program import KerasProgram, Shares
from hackathon.programs.port.loops import iterated
from hackathon.programs.port.names import argument, calls, dotted, method
from hackathon.text.messages import Message


def port_tapes(keras: KerasProgram, head: Head, hvd: str, share: Shares) -> dict[cst.For, bool]:
    """Wrap the only tape, share the data, and start all processes with the same weights.

    Return the loops over batches, and whether each process has its share of the data there.
    """
    edits, functions, program = keras.edits, keras.functions, keras.program
    gradients = [call for call in functions.calls if method(call) == "gradient"]
    tape, item = keras.tapes[0], keras.tapes[0].items[0]
    name = dotted(item.asname.name) if item.asname is not None else None
    persistent = isinstance(item.item, cst.Call) and argument(item.item, "persistent", 0) is not None
    if len(keras.tapes) != 1 or len(gradients) != 1 or name is None or persistent:
        edits.ask(
            tape,
            Message(
                "port.ask_tape",
                "gradients of this tape: which ones are for an update? Put hvd.DistributedGradientTape(…) around "
                "the tape, or Horovod's optimizer, not both.",
            ),
        )
        return {}
    if any(gradients[0] is call for call in calls(program, tape.body)):
        edits.ask(
            tape,
            Message(
                "port.ask_tape",
                "gradients of this tape: which ones are for an update? Put hvd.DistributedGradientTape(…) around "
                "the tape, or Horovod's optimizer, not both.",
            ),
        )
        return {}
    text = f"{name} = {hvd}.DistributedGradientTape({name})\n"
    edits.put_after(tape, text)
    edits.done(tape, Message("port.do_tape", "Horovod's tape averages gradients over the processes"), text)
    functions.train_by(gradients)
    loops = [loop for loop in program.everywhere(cst.For) if functions.reaches(loop.body)]
    batches = [loop for loop in loops if not _counts(loop) and not _holds(keras, loop, loops)]
    shared = {loop: share.dataset(iterated(loop), functions.scope(loop)) for loop in batches}
    if not batches:
        edits.ask(
            gradients[0],
            Message(
                "port.ask_keras_data",
                "{data}: how does each process get its own share, with the same number of batches for all?",
            ),
            data="?",
        )
    _alike(keras, head, hvd, gradients[0], batches)
    return shared


def _counts(loop: cst.For) -> bool:
    value = iterated(loop)
    return isinstance(value, cst.Call) and dotted(value.func) == "range"


def _holds(keras: KerasProgram, loop: cst.For, loops: list[cst.For]) -> bool:
    """Return whether a loop contains the one over batches."""
    inside = set(keras.program.walk(loop.body))
    return any(inner in inside for inner in loops)


def _alike(keras: KerasProgram, head: Head, hvd: str, gradient: cst.Call, batches: list[cst.For]) -> None:
    """Broadcast rank 0's weights and optimizer state once, after the first step, when all variables exist."""
    edits, functions, program = keras.edits, keras.functions, keras.program
    updates = [call for call in functions.calls if method(call) == "apply_gradients"]
    scope = functions.scope(gradient)
    variables = gradient.args[1].value if len(gradient.args) > 1 else None
    model = variables.value if isinstance(variables, cst.Attribute) else None
    optimizer = updates[0].func.value if len(updates) == 1 and isinstance(updates[0].func, cst.Attribute) else None
    if len(batches) != 1 or model is None or optimizer is None or functions.scope(updates[0]) is not scope:
        edits.ask(
            gradient,
            Message(
                "port.ask_alike",
                "when have all variables been made? There, once: hvd.broadcast_variables(model.variables, "
                "root_rank=0), and the optimizer's too.",
            ),
        )
        return
    loop = batches[0]
    steps = functions.reaches(loop.body)
    names = [_seen(keras, part, scope, steps[0]) for part in (model, optimizer)]
    statement = program.statement(steps[0])
    if None in names or len(steps) != 1 or program.parents.get(statement) is not loop.body:
        edits.ask(
            gradient,
            Message(
                "port.ask_alike",
                "when have all variables been made? There, once: hvd.broadcast_variables(model.variables, "
                "root_rank=0), and the optimizer's too.",
            ),
        )
        return
    done, helper = head.named("ALIKE"), head.named("start_alike")
    head.block(f"{done} = []")
    head.definition(
        f"def {helper}(model, optimizer):\n"
        f"    if not {done}:\n"
        f"        {hvd}.broadcast_variables(model.variables, root_rank=0)\n"
        f"        {hvd}.broadcast_variables(optimizer.variables(), root_rank=0)\n"
        f"        {done}.append(True)"
    )
    last: cst.CSTNode = statement
    if scope is functions.scope(loop):  # the update is in the loop itself
        last = program.statement(updates[0])
        if program.parents.get(last) is not loop.body:
            edits.ask(
                gradient,
                Message(
                    "port.ask_alike",
                    "when have all variables been made? There, once: hvd.broadcast_variables(model.variables, "
                    "root_rank=0), and the optimizer's too.",
                ),
            )
            return
    text = f"{helper}({', '.join(str(name) for name in names)})\n"
    edits.put_after(last, text)
    edits.done(last, Message("port.do_alike", "after the first step all processes get the weights of rank 0"), text)


def _seen(keras: KerasProgram, node: cst.BaseExpression, scope: Scope, step: cst.Call) -> str | None:
    """Return the loop's name for an object of the function that makes a step."""
    functions = keras.functions
    name = dotted(node)
    if name is None or functions.scope(step) is scope:
        return name
    if functions.target(step) is not scope or scope is None:
        return None
    if name in functions.parameters(scope):
        passed = functions.passed(step, scope, name)
        return dotted(passed) if passed is not None else None
    if name.startswith("self.") or functions.assigned(name, scope):
        return None
    inner = functions.assigned(name, functions.scope(step)) and functions.scope(scope) is not functions.scope(step)
    return None if inner else name
