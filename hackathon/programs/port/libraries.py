"""Programs whose loop is in a library, and frameworks with a way of their own: what is sure, and what to ask."""

from dataclasses import dataclass
from typing import Literal

import libcst as cst

from hackathon.programs.port.edits import Edits
from hackathon.programs.port.names import Imports, dotted, method
from hackathon.programs.port.source import SingleGpuProgram


@dataclass(frozen=True)
class Library:
    """A library that brings its own loop, or its own way to distribute."""

    name: str
    packages: tuple[str, ...]
    calls: tuple[str, ...]
    """Last parts of the names that show that its loop is used; none: the import shows it."""
    distributes: bool
    """Whether it distributes by itself once it is started in several processes."""

    def used(self, program: SingleGpuProgram, imports: Imports) -> bool:
        """Return whether a program leaves its training to it."""
        if not imports.uses(*self.packages):
            return False
        found = (imports.full(each.func).rpartition(".")[2] for each in program.find(program.module, cst.Call))
        return not self.calls or any(each in self.calls for each in found)


LIBRARIES = (
    Library("accelerate", ("accelerate",), ("Accelerator",), True),
    Library("lightning", ("lightning", "pytorch_lightning"), ("Trainer",), True),
    Library("trainer", ("transformers",), ("Trainer", "Seq2SeqTrainer"), True),
    Library("keras", ("keras", "tensorflow"), (), False),
    Library("chainer", ("chainer",), (), False),
)  # fmt: skip


def port_library(library: Library, edits: Edits, imports: Imports) -> Literal["ported", "unknown"]:
    """Say what the library does by itself, and what stands in its way."""
    program = edits.program
    if not library.distributes:
        edits.ask(None, f"not-known-{library.name}")
        return "unknown"
    for call in program.find(program.module, cst.Call):
        last = imports.full(call.func).rpartition(".")[2]
        if last in library.calls and not _in_definition(program, call):
            edits.note(call, f"library-{library.name}")
            if library.name == "lightning":
                _lightning(edits, call)
        if _moves(call):
            edits.ask(call, "ask-library-device", call=program.text(call))
    return "ported"


def _lightning(edits: Edits, call: cst.Call) -> None:
    for each in call.args:
        name = each.keyword.value if each.keyword is not None else ""
        fixed = isinstance(each.value, cst.Integer | cst.List)
        if name in ("devices", "gpus", "num_nodes") and fixed:
            edits.ask(call, "ask-library-devices", argument=edits.program.text(each).rstrip(", "))


def _moves(call: cst.Call) -> bool:
    if method(call) == "cuda":
        return True
    text = call.args[0].value if method(call) == "to" and call.args else None
    return isinstance(text, cst.SimpleString) and text.value.strip("'\"").startswith("cuda")


def _in_definition(program: SingleGpuProgram, call: cst.Call) -> bool:
    return any(isinstance(each, cst.ClassDef) and dotted(call.func) in {b.value for b in program.find(each, cst.Name)}
               and call in [base.value for base in each.bases] for each in program.above(call))  # fmt: skip
