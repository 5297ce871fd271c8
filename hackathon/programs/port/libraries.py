"""Detect the framework of a program: those with their own loop or their own way to distribute."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import libcst as cst

from hackathon.programs.port.accelerate import port_accelerate
from hackathon.programs.port.chainer import port_chainer
from hackathon.programs.port.edits import Edits
from hackathon.programs.port.functions import Functions
from hackathon.programs.port.keras_horovod import port_to_horovod
from hackathon.programs.port.keras_program import KerasProgram
from hackathon.programs.port.keras_workers import port_to_workers
from hackathon.programs.port.lightning import port_lightning
from hackathon.programs.port.names import Imports, dotted, method
from hackathon.programs.port.source import SingleGpuProgram
from hackathon.programs.port.trainer import port_trainer
from hackathon.text.messages import Message

Status = Literal["ported", "distributed", "unknown"]
Target = Literal["horovod", "multiworker"]
"""Result of porting a Keras program."""


@dataclass(frozen=True)
class Library:
    """A library with its own loop, or its own way to distribute."""

    name: str
    packages: tuple[str, ...]
    calls: tuple[str, ...]
    """Ends of function names that show that its loop is used; empty: the import is enough."""

    def used(self, program: SingleGpuProgram, imports: Imports) -> bool:
        """Return whether a program leaves its training to it."""
        if not imports.uses(*self.packages):
            return False
        return not self.calls or any(True for _ in self.uses(program, imports))

    def trains(self, program: SingleGpuProgram, imports: Imports) -> bool:
        """Return whether the loop of the library is used in a file."""
        if self.name == "keras":
            return self.used(program, imports) and any(
                method(call) in ("fit", "train_on_batch", "fit_generator")
                or imports.full(call.func).endswith("GradientTape")
                for call in program.everywhere(cst.Call)
            )
        if self.name == "chainer":
            return self.used(program, imports) and any(
                imports.full(call.func).startswith("chainer.optimizers.") for call in program.everywhere(cst.Call)
            )
        return self.used(program, imports)

    def uses(self, program: SingleGpuProgram, imports: Imports) -> list[cst.Call]:
        """Return the calls of its loop, also by this program's subclasses of the library's classes."""
        own = {owner.name.value for owner in program.everywhere(cst.ClassDef)}

        def is_of_library(function: cst.BaseExpression) -> bool:
            full = imports.full(function)
            last = full.rpartition(".")[2]
            return last in self.calls and (last not in own or full.partition(".")[0] in self.packages)

        derived = {
            owner.name.value
            for owner in program.everywhere(cst.ClassDef)
            if any(is_of_library(base.value) for base in owner.bases)
        }
        return [
            call for call in program.everywhere(cst.Call) if is_of_library(call.func) or dotted(call.func) in derived
        ]


LIBRARIES = (
    Library("accelerate", ("accelerate",), ("Accelerator",)),
    Library("lightning", ("lightning", "pytorch_lightning", "lightning_fabric"), ("Trainer", "LightningCLI", "Fabric")),
    Library("trainer", ("transformers", "trl"), ("Trainer", "Seq2SeqTrainer", "SFTTrainer")),
    Library("keras", ("keras", "tensorflow"), ()),
    Library("chainer", ("chainer",), ()),
)  # fmt: skip
_PORTS: dict[str, Callable[[Edits, Functions], Literal["ported", "distributed"]]] = {
    "accelerate": port_accelerate, "lightning": port_lightning, "trainer": port_trainer,
}  # fmt: skip
_NOTES = {
    "accelerate": Message(
        "port.library_accelerate",
        "Accelerate distributes what goes through accelerator.prepare(). Start the program with torchrun or "
        "accelerate launch.",
    ),
    "lightning": Message(
        "port.library_lightning",
        "Lightning distributes the model and the data itself: no sampler and no wrapper of your own is needed. The "
        "batch size is that of one process.",
    ),
    "trainer": Message(
        "port.library_trainer",
        "Trainer distributes the model and the data itself when the program is started with torchrun, or by a job "
        "of this toolkit.",
    ),
}


def port_library(library: Library, edits: Edits, imports: Imports, target: Target) -> Status:
    """Make the changes for a library's programs and ask where unsure."""
    functions = Functions(edits.program, imports)
    if library.name in ("keras", "chainer"):
        status = _keras(edits, functions, target) if library.name == "keras" else port_chainer(edits, functions)
        if status == "ported":
            _downloads(edits, functions)
        return status
    status = _PORTS[library.name](edits, functions)
    if status == "distributed":
        return status
    used = library.uses(edits.program, imports)
    edits.note(used[0] if used else None, _NOTES[library.name])
    for call in functions.calls:
        if _moves(call) or (imports.full(call.func) == "torch.device" and "cuda" in edits.program.text(call)):
            edits.ask(
                call,
                Message(
                    "port.ask_library_device",
                    "`{call}` puts everything on one GPU: remove it? The library chooses the device of each process.",
                ),
                call=edits.program.text(call),
            )
    return status


def _downloads(edits: Edits, functions: Functions) -> None:
    """Remark that data sets are downloaded by every process."""
    for call in functions.calls:
        full = functions.imports.full(call.func)
        of_keras = full.endswith(".load_data") and ".datasets." in full
        if of_keras or full.startswith("chainer.datasets.get_") or full == "tensorflow_datasets.load":
            edits.note(
                call,
                Message(
                    "port.note_download",
                    "`{call}` downloads data that are missing, in every process: run it once before the job, where "
                    "there is an internet connection.",
                ),
                call=full,
            )
            return


def _keras(edits: Edits, functions: Functions, target: Target) -> Status:
    keras = KerasProgram(edits, functions)
    own = [call for call in functions.calls if method(call) in ("train_on_batch", "fit_generator")]
    if not keras.fits and not keras.tapes and not own:
        edits.ask(
            None,
            Message(
                "port.no_loop_keras",
                "not known: this file neither fits a Keras model nor has a loop with tf.GradientTape. Give the "
                "program that trains.",
            ),
        )
        return "unknown"
    keras.ask_fixed()
    (port_to_horovod if target == "horovod" else port_to_workers)(keras)
    return "ported"


def _moves(call: cst.Call) -> bool:
    if method(call) == "cuda":
        return True
    text = call.args[0].value if method(call) == "to" and call.args else None
    return isinstance(text, cst.SimpleString) and text.value.strip("'\"").startswith("cuda")
