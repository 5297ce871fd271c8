"""Hugging Face Trainer: the library distributes by itself; change what every process would repeat."""

from typing import Literal

import libcst as cst

from hackathon.programs.port.edits import Edits
from hackathon.programs.port.functions import Functions
from hackathon.programs.port.head import Head
from hackathon.programs.port.names import argument, dotted, method
from hackathon.programs.port.output import Output
from hackathon.text.messages import Message

_OUTPUT = Output()
_ARGUMENTS = ("TrainingArguments", "Seq2SeqTrainingArguments", "SFTConfig")


def port_trainer(edits: Edits, functions: Functions) -> Literal["ported"]:
    """Let one process print, save, and prepare the data first."""
    head = Head(edits, functions)
    prepared = [call for call in functions.calls if method(call) == "map" and _of_datasets(functions, call)]
    for call in prepared:
        _first(edits, functions, call)
    for call in functions.calls:
        full = functions.imports.full(call.func)
        if method(call) == "train_test_split" and argument(call, "seed") is None and _of_datasets(functions, call):
            edits.ask(
                call,
                Message(
                    "port.ask_split_seed",
                    "`{call}` without a seed: should all processes divide the data in the same way (seed=0)?",
                ),
                call=functions.program.text(call.func),
            )
        elif full in ("torch.cuda.set_device", "torch.nn.DataParallel"):
            edits.ask(
                call,
                Message(
                    "port.ask_library_device",
                    "`{call}` puts everything on one GPU: remove it? The library chooses the device of each process.",
                ),
                call=functions.program.text(call),
            )
    head.first_of_ranks(_OUTPUT)
    start = head.put()
    if start is not None:
        edits.done(
            start,
            Message(
                "port.do_launcher",
                "the program reads from its launcher how many processes there are; without a launcher there is one",
            ),
        )
    edits.note(
        None,
        Message(
            "port.note_trainer_batch",
            "per_device_train_batch_size is that of one process: N processes make a batch N times as large and N "
            "times fewer updates. Often the learning rate is raised with it.",
        ),
    )
    return "ported"


def _of_datasets(functions: Functions, call: cst.Call) -> bool:
    """Return whether the program uses the package datasets at all: `.map` and others may then be its methods."""
    if not functions.imports.uses("datasets") or not isinstance(call.func, cst.Attribute):
        return False
    receiver = functions.program.text(call.func.value).lower()
    return not any(word in receiver for word in ("pool", "executor"))


def _first(edits: Edits, functions: Functions, call: cst.Call) -> None:
    """Let one process of each node map the data, and the others read its cache."""
    program = functions.program
    statement = program.statement(call)
    block = program.parents[statement]
    body = list(block.body) if isinstance(block, cst.Module | cst.IndentedBlock) else []
    name = None
    for line in body[: body.index(statement)]:
        for assign in program.find(line, cst.Assign):
            value = assign.value
            is_arguments = (
                isinstance(value, cst.Call) and functions.imports.full(value.func).rpartition(".")[2] in _ARGUMENTS
            )
            if is_arguments and program.statement(assign) is line:
                name = dotted(assign.targets[0].target)
    under = [item for above in program.above(call) if isinstance(above, cst.With) for item in above.items]
    if any("main_process_first" in program.text(item) or "main_first" in program.text(item) for item in under):
        return
    assigns = isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[0], cst.Assign)
    if name is None or not assigns:
        edits.note(
            call,
            Message(
                "port.note_trainer_data",
                "Every process prepares these data. To let one do it: make the TrainingArguments first, and put "
                "this line below `with args.main_process_first():`.",
            ),
        )
        return
    head = f"with {name}.main_process_first()"
    if statement not in edits.indented:
        edits.indented[statement] = (statement, head)
        edits.done(
            call,
            Message("port.do_data_first", "one process of each node prepares the data; the others read its cache"),
            head,
        )
