"""Keras → Horovod: `fit`, or a loop with a GradientTape."""

import libcst as cst

from hackathon.programs.port.head import Head
from hackathon.programs.port.keras_program import KerasProgram, Shares, keras_name
from hackathon.programs.port.keras_tape import port_tapes
from hackathon.programs.port.names import argument, dotted, method, pure
from hackathon.programs.port.output import lines_of_one
from hackathon.programs.port.rates.keras_counts import keras_counts
from hackathon.programs.port.rates.rates import PortedProcesses, whole_rates
from hackathon.text.messages import Message

_HARMLESS = frozenset({"evaluate", "predict", "count_params", "result", "to_json", "get_config"})


def port_to_horovod(keras: KerasProgram) -> None:
    """Make all changes: compile the model with Horovod's optimizer, or use Horovod's tape."""
    edits, functions = keras.edits, keras.functions
    head = Head(edits, functions)
    tf = head.imported("tensorflow", "import tensorflow", "tf")
    package = "horovod.tensorflow" if keras.tapes else "horovod.tensorflow.keras"
    hvd = head.imported(package, f"import {package}", "hvd")
    gpus = head.fresh("gpus")
    start = (
        f"{hvd}.init()\n"
        f'{gpus} = {tf}.config.list_physical_devices("GPU")\n'
        f"if {gpus}:\n"
        f'    {tf}.config.set_visible_devices({gpus}[{hvd}.local_rank() % len({gpus})], "GPU")'
    )
    head.block(start)
    share = Shares(keras, head, hvd)
    loops: dict[cst.For, bool] = {}
    if keras.tapes and keras.fits:
        edits.ask(
            keras.tapes[0],
            Message(
                "port.ask_tape",
                "gradients of this tape: which ones are for an update? Put hvd.DistributedGradientTape(…) around "
                "the tape, or Horovod's optimizer, not both.",
            ),
        )
    elif keras.tapes:
        loops = port_tapes(keras, head, hvd, share)
    else:
        for call in keras.compiles:
            _optimizer(keras, call, tf, hvd)
        if not keras.compiles and keras.fits:
            edits.ask(
                keras.fits[0],
                Message(
                    "port.ask_compile",
                    "where is the model compiled, and with which optimizer? Put hvd.DistributedOptimizer(…) around "
                    "it there.",
                ),
            )
        for call in keras.fits:
            _fit(keras, call, hvd, share)
    whole_rates(edits, functions, keras_counts(keras, loops), PortedProcesses(f"{hvd}.size()"))
    guard = f"{hvd}.rank() == 0"
    lines_of_one(edits, functions, guard, keras.output(_HARMLESS))
    keras.quiet(guard)
    _reloads(keras, hvd)
    edits.done(
        head.put(), Message("port.do_horovod", "the processes join through Horovod, and each takes its own GPU"), start
    )
    edits.note(
        None,
        Message(
            "port.note_batch",
            "The batch size is that of one process: N processes make a batch N times as large and N times fewer "
            "updates. Often the learning rate is raised with it (times N, with a warm-up). Printed training losses "
            "are those of rank 0's share.",
        ),
    )
    edits.note(
        None,
        Message(
            "port.note_horovod",
            "Horovod 0.28 works with TensorFlow up to 2.15 and Keras 2. Start the program with horovodrun or "
            "mpirun; the recipe horovod-keras is a whole program. If the data do not divide evenly, each epoch "
            "leaves out the last samples, fewer than there are processes.",
        ),
    )


def _optimizer(keras: KerasProgram, call: cst.Call, tf: str, hvd: str) -> None:
    edits, functions = keras.edits, keras.functions
    optimizer = argument(call, "optimizer", 0)
    if any(arg.star for arg in call.args):
        edits.ask(
            call,
            Message(
                "port.ask_compile",
                "where is the model compiled, and with which optimizer? Put hvd.DistributedOptimizer(…) around it "
                "there.",
            ),
        )
        return
    if optimizer is None:
        edits.put_argument(call, "optimizer", f'{hvd}.DistributedOptimizer({tf}.keras.optimizers.get("rmsprop"))')
        edits.done(
            call, Message("port.do_optimizer", "{what}: gradients are averaged over the processes"), what="rmsprop"
        )
        return
    origins = [origin for origin, _ in functions.origins(optimizer.value, functions.scope(call))]
    if len(origins) == 1 and isinstance(origins[0], cst.SimpleString):
        text = f"{hvd}.DistributedOptimizer({tf}.keras.optimizers.get({keras.program.text(origins[0])}))"
        edits.swap(optimizer.value, text)
        edits.done(
            call,
            Message("port.do_optimizer", "{what}: gradients are averaged over the processes"),
            text,
            what=keras.program.text(origins[0]),
        )
    elif origins and all(isinstance(origin, cst.Call) and _makes_optimizer(keras, origin) for origin in origins):
        for origin in origins:
            if origin not in edits.replaced:
                edits.wrap(origin, f"{hvd}.DistributedOptimizer({{}})")
                edits.done(
                    origin,
                    Message("port.do_optimizer", "{what}: gradients are averaged over the processes"),
                    f"{hvd}.DistributedOptimizer(…)",
                    what=keras.program.text(origin),
                )
    else:
        edits.ask(
            call,
            Message(
                "port.ask_keras_optimizer",
                "{what}: where is this optimizer made? Put hvd.DistributedOptimizer(…) around it there.",
            ),
            what=keras.program.text(optimizer.value),
        )


def _makes_optimizer(keras: KerasProgram, call: cst.Call) -> bool:
    name = keras_name(keras.functions, call.func)
    return name.startswith("optimizers.") and name.rpartition(".")[2][:1].isupper() and "schedules" not in name


def _fit(keras: KerasProgram, call: cst.Call, hvd: str, share: Shares) -> None:
    edits, functions = keras.edits, keras.functions
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
            data=keras.program.text(x.value) if x is not None else "?",
        )
    elif arrays:
        for array in arrays:
            share.array(array)
    else:
        share.dataset(x.value, functions.scope(call))
    steps = argument(call, "steps_per_epoch")
    if steps is not None and keras.program.text(steps.value) != "None":
        if pure(keras.program, steps.value):
            text = f"max(1, ({keras.program.text(steps.value)}) // {hvd}.size())"
            edits.put_argument(call, "steps_per_epoch", text)
            edits.done(
                steps,
                Message("port.do_steps", "the steps of an epoch are shared among the processes"),
                f"steps_per_epoch={text}",
            )
        else:
            edits.ask(
                call,
                Message(
                    "port.ask_fit",
                    "the arguments of fit() are not sure: which data, steps and callbacks does each process get?",
                ),
            )
    if argument(call, "validation_data") is not None:
        edits.note(
            call,
            Message(
                "port.note_evaluation",
                "Every process evaluates all of these data: the result is right, but not faster.",
            ),
        )
    _callbacks(keras, call, hvd)


def _callbacks(keras: KerasProgram, call: cst.Call, hvd: str) -> None:
    """Put Horovod's callbacks first, and give the writing ones only to rank 0."""
    edits, program, scope = keras.edits, keras.program, keras.functions.scope(call)
    first = [f"{hvd}.callbacks.BroadcastGlobalVariablesCallback(0)", f"{hvd}.callbacks.MetricAverageCallback()"]
    callbacks = argument(call, "callbacks")
    if callbacks is None or program.text(callbacks.value) == "None":
        edits.put_argument(call, "callbacks", f"[{', '.join(first)}]")
        edits.done(
            call,
            Message(
                "port.do_callbacks",
                "all processes start with the weights of rank 0 and average their metrics; rank 0 alone writes",
            ),
            ", ".join(first),
        )
        return
    callback_list = keras.literal(callbacks.value, scope)
    if callback_list is None or any(isinstance(element, cst.StarredElement) for element in callback_list.elements):
        edits.ask(
            call,
            Message(
                "port.ask_callbacks",
                "{what}: which callbacks are these? All processes need Horovod's callbacks first; those that write "
                "belong to rank 0.",
            ),
            what=program.text(callbacks.value),
        )
        return
    if callback_list in edits.replaced:
        return
    kinds = [keras.kind_of_callback(element.value, scope) for element in callback_list.elements]
    unsure = next((element for element, kind in zip(callback_list.elements, kinds, strict=True) if kind is None), None)
    if unsure is not None:
        edits.ask(
            call,
            Message(
                "port.ask_callback",
                "{what}: does every process need this callback? One that stops the training must do so in all "
                "processes at once.",
            ),
            what=program.text(unsure.value),
        )
    of_one = [
        program.text(element.value)
        for element, kind in zip(callback_list.elements, kinds, strict=True)
        if kind == "one"
    ]
    every = [number for number, kind in enumerate(kinds) if kind != "one"]
    added = [edits.expression(text) for text in first]

    def change(updated: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(updated, cst.List)
        return updated.with_changes(elements=_elements(updated, added, every))

    edits.change(callback_list, change)
    if of_one:
        edits.wrap(callback_list, f"{{}} + ([{', '.join(of_one)}] if {hvd}.rank() == 0 else [])")
    edits.done(
        call,
        Message(
            "port.do_callbacks",
            "all processes start with the weights of rank 0 and average their metrics; rank 0 alone writes",
        ),
        ", ".join(first),
    )
    name = dotted(callbacks.value)
    for addition in keras.functions.calls:
        if method(addition) not in ("append", "extend", "insert") or name is None or dotted(addition.func) is None:
            continue
        statement = program.statement(addition)
        if not isinstance(addition.func, cst.Attribute) or dotted(addition.func.value) != name or not addition.args:
            continue
        kind = keras.kind_of_callback(addition.args[0].value, scope) if method(addition) == "append" else None
        if kind == "one" and isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
            edits.guarded.add(statement)
            edits.done(statement, Message("port.do_save", "only rank 0 saves"), f"if {hvd}.rank() == 0:")
        elif kind != "all":
            edits.ask(
                addition,
                Message(
                    "port.ask_callback",
                    "{what}: does every process need this callback? One that stops the training must do so in all "
                    "processes at once.",
                ),
                what=program.text(addition.args[0].value),
            )


def _elements(before: cst.List, added: list[cst.BaseExpression], kept_numbers: list[int]) -> list[cst.BaseElement]:
    """Return a list's elements with others before them, in the same layout: one per line, or all on one line."""
    old = list(before.elements)
    plain = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    between = next((element.comma for element in old[:-1] if isinstance(element.comma, cst.Comma)), plain)
    last = old[-1].comma if old else cst.MaybeSentinel.DEFAULT
    elements = [cst.Element(element) for element in added] + [old[element] for element in kept_numbers]
    return [element.with_changes(comma=between) for element in elements[:-1]] + [elements[-1].with_changes(comma=last)]


def _reloads(keras: KerasProgram, hvd: str) -> None:
    """Ask about reading a file that rank 0 may be writing: only the owner knows which processes get there."""
    after = min((keras.program.line(fit) for fit in keras.fits), default=0)
    for call in keras.functions.calls:
        reads = method(call) == "load_weights" or keras_name(keras.functions, call.func) == "models.load_model"
        if reads and keras.program.line(call) > after and keras.functions.scope(call) in {
            keras.functions.scope(fit) for fit in keras.fits
        }:  # fmt: skip
            keras.edits.ask(
                call,
                Message(
                    "port.ask_reload",
                    "rank 0 may still be writing this file: do all processes come here? Then call {barrier} before it.",
                ),
                barrier=f'{hvd}.allreduce(0, name="saved")',
            )
