"""PyTorch: one GPU → DistributedDataParallel."""

import libcst as cst

from hackathon.programs.port.edits import Edits
from hackathon.programs.port.functions import Functions
from hackathon.programs.port.names import Imports
from hackathon.programs.port.rates.rates import PortedProcesses, whole_rates
from hackathon.programs.port.rates.torch_counts import torch_counts
from hackathon.programs.port.torch_data import TrainingData
from hackathon.programs.port.torch_gradients import gradients
from hackathon.programs.port.torch_model import TrainedModel
from hackathon.programs.port.torch_output import notebook, only_first
from hackathon.programs.port.torch_setup import AddedNames, devices, set_up
from hackathon.programs.port.torch_steps import steps
from hackathon.text.messages import Message


def port_pytorch(edits: Edits, imports: Imports) -> bool:
    """Make the changes and ask the questions; return False when this file starts no training itself."""
    functions = Functions(edits.program, imports)
    if not functions.backwards:
        edits.ask(
            None,
            Message(
                "port.no_loop",
                "not known: there is no `.backward()` in this program and its own modules. Is the loop in a library?",
            ),
        )
        return False
    if not _started(functions):
        edits.ask(
            None,
            Message(
                "port.not_started",
                "not known: what starts the training was not found. If another program starts it, give that one.",
            ),
        )
        return False
    if (starter := _own_processes(functions)) is not None:
        edits.ask(
            starter,
            Message(
                "port.own_processes",
                "not known: `{call}` trains in processes that the program starts itself. The job starts them: call "
                "the training once, in the program's own process, and port that.",
            ),
            call=edits.program.text(starter.func),
        )
        return False
    words = AddedNames(functions)
    devices(edits, functions, words)
    model = TrainedModel(edits, functions)
    model.wrap(words)
    model.unwrap(words)
    model.handed()
    data = TrainingData(edits, functions, words)
    data.share()
    data.lengths(whole_rates(edits, functions, torch_counts(functions, data.loops), PortedProcesses(words.world)))
    data.others()
    steps(edits, functions, words, model, data.loops)
    only_first(edits, functions, words, model, data)
    gradients(edits, functions, data)
    notebook(edits, functions)
    set_up(edits, functions, words)
    edits.note(
        None,
        Message(
            "port.note_batch",
            "The batch size is that of one process: N processes make a batch N times as large and N times fewer "
            "updates. Often the learning rate is raised with it (times N, with a warm-up). Printed training losses "
            "are those of rank 0's share.",
        ),
    )
    return True


def _started(functions: Functions) -> bool:
    """Return whether the module itself leads to a backward pass."""
    return any(
        not isinstance(functions.scope(call), cst.FunctionDef) and not _in_class(functions, call)
        for call in functions.calls
        if functions.trains_by(call)
    )


def _own_processes(functions: Functions) -> cst.Call | None:
    """Return the call that starts the training in a process of its own."""
    for call, handed in functions.handed.items():
        name = functions.imports.full(call.func)
        if "multiprocessing" in name and name.endswith((".Process", ".spawn")) and handed & set(functions.trains):
            return call
    return None


def _in_class(functions: Functions, node: cst.CSTNode) -> bool:
    return any(isinstance(outer, cst.ClassDef) for outer in functions.program.above(node))
