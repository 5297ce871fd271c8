"""Implement `hackathon port`: detect the framework, whether the program is distributed already, the changes."""

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import libcst as cst

from hackathon.programs.port.edits import Edits, PortFinding
from hackathon.programs.port.libraries import LIBRARIES, Target, port_library
from hackathon.programs.port.names import Imports, method
from hackathon.programs.port.pytorch import port_pytorch
from hackathon.programs.port.source import SingleGpuProgram
from hackathon.programs.scripts.fixes import put
from hackathon.text.messages import Message

_DISTRIBUTED = {
    "torch.distributed.init_process_group": "PyTorch", "torch.nn.parallel.DistributedDataParallel": "PyTorch",
    "torch.distributed.fsdp.FullyShardedDataParallel": "PyTorch", "torch.distributed.fsdp.fully_shard": "PyTorch",
    "torch.distributed.device_mesh.init_device_mesh": "PyTorch", "torch.distributed.init_device_mesh": "PyTorch",
    "horovod.torch.init": "Horovod", "horovod.tensorflow.init": "Horovod", "horovod.tensorflow.keras.init": "Horovod",
    "horovod.keras.init": "Horovod", "chainermn.create_communicator": "ChainerMN",
    "tensorflow.distribute.MultiWorkerMirroredStrategy": "TensorFlow", "deepspeed.initialize": "DeepSpeed",
    "tensorflow.distribute.experimental.MultiWorkerMirroredStrategy": "TensorFlow",
}  # fmt: skip
"""Calls that show that the program handles several processes."""


@dataclass(frozen=True)
class Ported:
    """A program and the result of porting it."""

    name: str
    framework: str
    """`pytorch`, `lightning`, …; "" when unknown."""
    status: Literal["ported", "distributed", "unknown"]
    before: bytes
    after: bytes
    findings: tuple[PortFinding, ...]
    encoding: str

    @property
    def sure(self) -> bool:
        """Whether no question is open."""
        return self.status != "unknown" and not any(finding.kind == "question" for finding in self.findings)

    @property
    def launcher(self) -> str:
        """The launcher for several processes of the program."""
        asks_mpi = self.framework == "chainer" or any(finding.rule == "do-workers" for finding in self.findings)
        return "mpirun" if asks_mpi else "horovodrun" if self.framework == "keras" else "torchrun"

    def diff(self) -> str:
        """Return the changes as a unified diff."""
        old, new = (source.decode(self.encoding, "surrogateescape") for source in (self.before, self.after))
        lines = difflib.unified_diff(_lines(old), _lines(new), self.name, ported_name(self.name))
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)

    def as_json(self) -> dict[str, object]:
        """Return it in the common format of findings, with the diff."""
        findings = [finding.as_json() for finding in self.findings]
        return {
            "path": self.name, "dialect": self.framework or None, "findings": findings, "status": self.status,
            "sure": self.sure, "diff": self.diff().encode("utf-8", "replace").decode("utf-8"),
        }  # fmt: skip


def _lines(text: str) -> list[str]:
    """Return lines with their ends; only a line feed ends a line, as for `patch`."""
    return [f"{line}\n" for line in text.split("\n")[:-1]] + [last for last in [text.split("\n")[-1]] if last]


def ported_name(name: str) -> str:
    """Return `NAME.ported.py` for `NAME.py`."""
    path = Path(name)
    return str(path.with_name(f"{path.stem}.ported{path.suffix}")) if path.name else name


def port(program: SingleGpuProgram, target: Target = "horovod") -> Ported:
    """Return the distributed program, with a question wherever a change is not safe.

    `target`: the result for a Keras program; other frameworks have only one.
    """
    imports, edits = Imports(program), Edits(program)
    framework, status = _port(program, imports, edits, target)
    after = edits.made()
    findings = tuple(sorted(edits.findings, key=lambda finding: (finding.line, finding.rule)))
    return Ported(program.name, framework, status, program.raw, after, findings, program.module.encoding)


def _port(
    program: SingleGpuProgram, imports: Imports, edits: Edits, target: Target
) -> tuple[str, Literal["ported", "distributed", "unknown"]]:
    for call in program.find(program.module, cst.Call):
        framework = _DISTRIBUTED.get(imports.full(call.func).replace("tf.", "tensorflow.", 1))
        if framework is not None:
            edits.note(
                call,
                Message("port.distributed", "this program is distributed already ({framework})"),
                framework=framework,
            )
            return framework.lower(), "distributed"
    for package, name in (("chainermn", "ChainerMN"), ("horovod", "Horovod")):
        if imports.uses(package):  # the group is joined in another file
            edits.note(
                None, Message("port.distributed", "this program is distributed already ({framework})"), framework=name
            )
            return name.lower(), "distributed"
    own = any(method(call) == "backward" for call in program.find(program.module, cst.Call))
    for library in LIBRARIES:
        if library.name == "keras" and own and imports.uses("torch"):
            continue  # TensorFlow for TensorBoard or data, beside a PyTorch loop
        if library.used(program, imports):
            return library.name, port_library(library, edits, imports, target)
    if imports.uses("torch"):
        return "pytorch", "ported" if port_pytorch(edits, imports) else "unknown"
    edits.ask(None, Message("port.no_framework", "not known: no framework that hackathon port knows is imported"))
    return "", "unknown"


def write(ported: Ported, output: Path | None) -> Path:
    """Write the ported program to a new file and return it; raise RequestError when the file exists."""
    target = output if output is not None else Path(ported_name(ported.name))
    put(target, ported.after.decode("utf-8", "surrogateescape"))
    return target
