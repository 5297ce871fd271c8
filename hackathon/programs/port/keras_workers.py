"""Keras → MultiWorkerMirroredStrategy: the strategy divides batches and averages gradients; Keras 2's `fit` only."""

import libcst as cst

from hackathon.programs.port.functions import Scope
from hackathon.programs.port.head import Head
from hackathon.programs.port.keras_program import KerasProgram
from hackathon.programs.port.names import argument, dotted, method
from hackathon.programs.port.output import Output, lines_of_one
from hackathon.programs.port.rates.keras_counts import keras_counts
from hackathon.programs.port.rates.rates import PortedProcesses, whole_rates
from hackathon.text.messages import Message


def port_to_workers(keras: KerasProgram) -> None:
    """Make all changes: TF_CONFIG and the strategy, the model in its scope, the batch of all processes."""
    edits, functions = keras.edits, keras.functions
    head = Head(edits, functions)
    for tape in keras.tapes:
        edits.ask(
            tape,
            Message(
                "port.ask_tape_workers",
                "a loop of one's own needs strategy.run and all_reduce, as in the recipe tensorflow-multiworker: "
                "or change it to Horovod (--strategy horovod)?",
            ),
        )
    tf = head.imported("tensorflow", "import tensorflow", "tf")
    os = head.imported("os", "import os")
    identity, tf_config = head.imported_together("hackathon_runtime", ("identity", "tf_config"))
    me, strategy = head.named("me"), head.named("strategy")
    start = (
        f"{me} = {identity}()\n"
        f"if {me}.world_size > 1:\n"
        f'    {os}.environ["TF_CONFIG"] = {tf_config}({me})\n'
        f"    {strategy} = {tf}.distribute.MultiWorkerMirroredStrategy()\n"
        f"else:\n"
        f"    {strategy} = {tf}.distribute.get_strategy()"
    )
    head.block(start)
    for call in keras.compiles:
        _scope(keras, call, strategy)
    for call in keras.fits:
        _fit(keras, call, strategy)
    for call in functions.calls:
        if method(call) in ("save", "save_weights") and dotted(call.func) is not None and _model(keras, call):
            edits.ask(
                call,
                Message(
                    "port.ask_workers_save",
                    "`{call}`: all workers must save, each to its own path; keep only that of the first?",
                ),
                call=keras.program.text(call.func),
            )
    whole_rates(edits, functions, keras_counts(keras, {}), PortedProcesses(f"{strategy}.num_replicas_in_sync"))
    output = Output(harmless=frozenset({"count_params", "result"}), also=lambda call: method(call) == "summary")
    lines_of_one(edits, functions, f"{me}.rank == 0", output)
    keras.quiet(f"{me}.rank == 0")
    edits.done(
        head.put(),
        Message(
            "port.do_workers",
            "the processes join through MultiWorkerMirroredStrategy; without a launcher nothing changes",
        ),
        start,
    )
    edits.note(
        None,
        Message(
            "port.note_workers",
            "fit() over several workers needs Keras 2: with TensorFlow 2.16 or newer, install tf-keras and set "
            "TF_USE_LEGACY_KERAS=1. The program needs hackathon_runtime.py beside it, which hackathon init puts "
            "there. The batch of one process stays as it was; that of all is N times as large, and there are N "
            "times fewer updates.",
        ),
    )


def _model(keras: KerasProgram, call: cst.Call) -> bool:
    """Return whether the object of a method is a model that is compiled or fitted."""
    models = {
        dotted(call.func.value) for call in [*keras.compiles, *keras.fits] if isinstance(call.func, cst.Attribute)
    }
    return isinstance(call.func, cst.Attribute) and dotted(call.func.value) in models


def _scope(keras: KerasProgram, call: cst.Call, strategy: str) -> None:
    """Create and compile the model below `with strategy.scope():`."""
    edits, functions, program = keras.edits, keras.functions, keras.program
    statement, scope = program.statement(call), functions.scope(call)
    name = dotted(call.func.value) if isinstance(call.func, cst.Attribute) else None
    block = program.parents[statement]
    body = list(block.body) if isinstance(block, cst.Module | cst.IndentedBlock) else []
    last = body.index(statement)
    makers = [
        number for number, line in enumerate(body[:last])
        if any(dotted(target.target) == name for assign in program.find(line, cst.Assign) for target in assign.targets)
    ]  # fmt: skip
    if name is None or not makers or any(not isinstance(body[number], cst.SimpleStatementLine) for number in makers):
        edits.ask(
            call,
            Message(
                "port.ask_workers_scope", "where is {model} made? Make and compile it below `with {strategy}.scope():`."
            ),
            model=name or "?",
            strategy=strategy,
        )
        return
    first = min(makers)
    optimizer = argument(call, "optimizer", 0)
    for value, origin_scope in functions.origins(optimizer.value, scope) if optimizer is not None else ():
        own = program.statement(value)
        if origin_scope is scope and isinstance(value, cst.Call) and own in body:
            first = min(first, body.index(own))
        elif origin_scope is not scope:
            edits.ask(
                call,
                Message(
                    "port.ask_workers_scope",
                    "where is {model} made? Make and compile it below `with {strategy}.scope():`.",
                ),
                model=name,
                strategy=strategy,
            )
            return
    returned = _returned(keras, name, scope)
    if returned:  # the whole function creates the model, so call it below the scope
        for site in functions.calls_of(scope):
            line = program.statement(site)
            edits.indented[line] = (line, f"with {strategy}.scope()")
            edits.done(
                site,
                Message("port.do_workers_scope", "{model} is made and compiled in the strategy's scope"),
                f"with {strategy}.scope():",
                model=name,
            )
        return
    edits.indented[body[first]] = (statement, f"with {strategy}.scope()")
    edits.done(
        call,
        Message("port.do_workers_scope", "{model} is made and compiled in the strategy's scope"),
        f"with {strategy}.scope():",
        model=name,
    )


def _returned(keras: KerasProgram, name: str, scope: Scope) -> bool:
    if scope is None or not keras.functions.calls_of(scope):
        return False
    return any(
        leaving.value is not None and dotted(leaving.value) == name for leaving in keras.program.find(scope, cst.Return)
    )


def _fit(keras: KerasProgram, call: cst.Call, strategy: str) -> None:
    """Make the batch size that of all processes together: the strategy divides it."""
    edits, functions, program = keras.edits, keras.functions, keras.program
    if not keras.plain(call):
        edits.ask(
            call,
            Message(
                "port.ask_fit",
                "the arguments of fit() are not sure: which data, steps and callbacks does each process get?",
            ),
        )
        return
    arrays, x = keras.arrays(call), argument(call, "x", 0)
    if arrays is None or x is None:
        edits.ask(
            call,
            Message(
                "port.ask_keras_data",
                "{data}: how does each process get its own share, with the same number of batches for all?",
            ),
            data=program.text(x.value) if x is not None else "?",
        )
        return
    size = f"{strategy}.num_replicas_in_sync"
    if arrays:
        batch_size = argument(call, "batch_size", 2)
        if batch_size is not None and batch_size.keyword is None:
            edits.wrap(batch_size.value, f"({{}}) * {size}")
        else:
            text = program.text(batch_size.value) if batch_size is not None else "32"
            edits.put_argument(
                call, "batch_size", f"{text if text.isidentifier() or text.isdigit() else f'({text})'} * {size}"
            )
        edits.done(
            call,
            Message("port.do_workers_batch", "the batch is now that of all processes; the strategy divides it"),
            f"… * {size}",
        )
        return
    bases = keras.bases(x.value, functions.scope(call))
    batches = keras.batched(x.value, functions.scope(call))
    if (
        not bases
        or not all(keras.is_slices(base) and keras.once(origin_scope) for base, origin_scope in bases)
        or len(batches) != 1
    ):
        edits.ask(
            call,
            Message(
                "port.ask_keras_data",
                "{data}: how does each process get its own share, with the same number of batches for all?",
            ),
            data=program.text(x.value),
        )
        return
    batch = argument(batches[0], "batch_size", 0)
    if batch is None:
        edits.ask(
            call,
            Message(
                "port.ask_keras_data",
                "{data}: how does each process get its own share, with the same number of batches for all?",
            ),
            data=program.text(x.value),
        )
        return
    simple = isinstance(batch.value, cst.Integer | cst.Name | cst.Attribute)
    edits.wrap(batch.value, f"{{}} * {size}" if simple else f"({{}}) * {size}")
    edits.done(
        batches[0],
        Message("port.do_workers_batch", "the batch is now that of all processes; the strategy divides it"),
        f"… * {size}",
    )
    if argument(call, "steps_per_epoch") is not None:
        edits.ask(
            call,
            Message(
                "port.ask_fit",
                "the arguments of fit() are not sure: which data, steps and callbacks does each process get?",
            ),
        )
