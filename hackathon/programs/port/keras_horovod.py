"""Keras → Horovod: `fit`, or a loop with a GradientTape."""

import libcst as cst

from hackathon.programs.port.head import Head
from hackathon.programs.port.keras_program import KerasProgram, Shares, keras_name
from hackathon.programs.port.keras_tape import port_tapes
from hackathon.programs.port.names import argument, dotted, method, pure
from hackathon.programs.port.output import lines_of_one
from hackathon.programs.port.rates.keras_counts import keras_counts
from hackathon.programs.port.rates.rates import PortedProcesses, whole_rates

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
        edits.ask(keras.tapes[0], "port.ask_tape")
    elif keras.tapes:
        loops = port_tapes(keras, head, hvd, share)
    else:
        for call in keras.compiles:
            _optimizer(keras, call, tf, hvd)
        if not keras.compiles and keras.fits:
            edits.ask(keras.fits[0], "port.ask_compile")
        for call in keras.fits:
            _fit(keras, call, hvd, share)
    whole_rates(edits, functions, keras_counts(keras, loops), PortedProcesses(f"{hvd}.size()"))
    guard = f"{hvd}.rank() == 0"
    lines_of_one(edits, functions, guard, keras.output(_HARMLESS))
    keras.quiet(guard)
    _reloads(keras, hvd)
    edits.done(head.put(), "port.do_horovod", start)
    edits.note(None, "port.note_batch")
    edits.note(None, "port.note_horovod")


def _optimizer(keras: KerasProgram, call: cst.Call, tf: str, hvd: str) -> None:
    edits, functions = keras.edits, keras.functions
    optimizer = argument(call, "optimizer", 0)
    if any(arg.star for arg in call.args):
        edits.ask(call, "port.ask_compile")
        return
    if optimizer is None:
        edits.put_argument(call, "optimizer", f'{hvd}.DistributedOptimizer({tf}.keras.optimizers.get("rmsprop"))')
        edits.done(call, "port.do_optimizer", what="rmsprop")
        return
    origins = [origin for origin, _ in functions.origins(optimizer.value, functions.scope(call))]
    if len(origins) == 1 and isinstance(origins[0], cst.SimpleString):
        text = f"{hvd}.DistributedOptimizer({tf}.keras.optimizers.get({keras.program.text(origins[0])}))"
        edits.swap(optimizer.value, text)
        edits.done(call, "port.do_optimizer", text, what=keras.program.text(origins[0]))
    elif origins and all(isinstance(origin, cst.Call) and _makes_optimizer(keras, origin) for origin in origins):
        for origin in origins:
            if origin not in edits.replaced:
                edits.wrap(origin, f"{hvd}.DistributedOptimizer({{}})")
                edits.done(
                    origin, "port.do_optimizer", f"{hvd}.DistributedOptimizer(…)", what=keras.program.text(origin)
                )
    else:
        edits.ask(call, "port.ask_keras_optimizer", what=keras.program.text(optimizer.value))


def _makes_optimizer(keras: KerasProgram, call: cst.Call) -> bool:
    name = keras_name(keras.functions, call.func)
    return name.startswith("optimizers.") and name.rpartition(".")[2][:1].isupper() and "schedules" not in name


def _fit(keras: KerasProgram, call: cst.Call, hvd: str, share: Shares) -> None:
    edits, functions = keras.edits, keras.functions
    if not keras.plain(call):
        edits.ask(call, "port.ask_fit")
        return
    arrays, x = keras.arrays(call), argument(call, "x", 0)
    if arrays is None or x is None:
        edits.ask(call, "port.ask_keras_data", data=keras.program.text(x.value) if x is not None else "?")
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
            edits.done(steps, "port.do_steps", f"steps_per_epoch={text}")
        else:
            edits.ask(call, "port.ask_fit")
    if argument(call, "validation_data") is not None:
        edits.note(call, "port.note_evaluation")
    _callbacks(keras, call, hvd)


def _callbacks(keras: KerasProgram, call: cst.Call, hvd: str) -> None:
    """Put Horovod's callbacks first, and give the writing ones only to rank 0."""
    edits, program, scope = keras.edits, keras.program, keras.functions.scope(call)
    first = [f"{hvd}.callbacks.BroadcastGlobalVariablesCallback(0)", f"{hvd}.callbacks.MetricAverageCallback()"]
    callbacks = argument(call, "callbacks")
    if callbacks is None or program.text(callbacks.value) == "None":
        edits.put_argument(call, "callbacks", f"[{', '.join(first)}]")
        edits.done(call, "port.do_callbacks", ", ".join(first))
        return
    callback_list = keras.literal(callbacks.value, scope)
    if callback_list is None or any(isinstance(element, cst.StarredElement) for element in callback_list.elements):
        edits.ask(call, "port.ask_callbacks", what=program.text(callbacks.value))
        return
    if callback_list in edits.replaced:
        return
    kinds = [keras.kind_of_callback(element.value, scope) for element in callback_list.elements]
    unsure = next((element for element, kind in zip(callback_list.elements, kinds, strict=True) if kind is None), None)
    if unsure is not None:
        edits.ask(call, "port.ask_callback", what=program.text(unsure.value))
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
    edits.done(call, "port.do_callbacks", ", ".join(first))
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
            edits.done(statement, "port.do_save", f"if {hvd}.rank() == 0:")
        elif kind != "all":
            edits.ask(addition, "port.ask_callback", what=program.text(addition.args[0].value))


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
            keras.edits.ask(call, "port.ask_reload", barrier=f'{hvd}.allreduce(0, name="saved")')
