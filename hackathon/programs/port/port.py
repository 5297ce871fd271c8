"""Implement `hackathon port`: detect the framework, whether the program is distributed already, the changes."""

import difflib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import libcst as cst

from hackathon.programs.port.edits import Edits, PortFinding
from hackathon.programs.port.joined import joined_by, other_library
from hackathon.programs.port.libraries import LIBRARIES, Library, Target, port_library
from hackathon.programs.port.names import Imports, method
from hackathon.programs.port.pytorch import port_pytorch
from hackathon.programs.port.renamed import importers, module_name, rename_imports
from hackathon.programs.port.source import SingleGpuProgram
from hackathon.programs.scripts.fixes import exists, put
from hackathon.runs.source.program_text import ORIGIN
from hackathon.text.messages import Message


@dataclass(frozen=True)
class PortedFile:
    """A file of a program before and after."""

    name: str
    target: str
    """The new file."""
    before: bytes
    after: bytes
    encoding: str

    def diff(self) -> str:
        """Return the changes as a unified diff."""
        old, new = (source.decode(self.encoding, "surrogateescape") for source in (self.before, self.after))
        lines = difflib.unified_diff(_lines(old), _lines(new), self.name, self.target)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


@dataclass(frozen=True)
class Ported:
    """A program and the result of porting it."""

    name: str
    framework: str
    """`pytorch`, `lightning`, …; "" when unknown."""
    status: Literal["ported", "distributed", "unknown"]
    files: tuple[PortedFile, ...]
    """The started file, then its changed modules."""
    findings: tuple[PortFinding, ...]

    @property
    def before(self) -> bytes:
        """The started file as it is."""
        return self.files[0].before

    @property
    def after(self) -> bytes:
        """The started file with its changes."""
        return self.files[0].after

    @property
    def changes(self) -> bool:
        """Whether there is anything to write."""
        return len(self.files) > 1 or self.after != self.before

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
        """Return the changes of all files as one unified diff."""
        return "".join(file.diff() for file in self.files)

    def as_json(self) -> list[dict[str, object]]:
        """Return the files in the common format of findings, each with its diff."""
        return [
            {
                "path": file.name, "dialect": self.framework or None,
                "findings": [
                    finding.as_json()
                    for finding in self.findings
                    if finding.file == (file.name if file is not self.files[0] else "")
                ],
                "status": self.status, "sure": self.sure,
                "diff": file.diff().encode("utf-8", "replace").decode("utf-8"),
            }
            for file in self.files
        ]  # fmt: skip


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
    parts: dict[SingleGpuProgram, Edits] = {}
    framework, status = _port(program, imports, edits, parts, target)
    touched = edits.files() | {file for file, part in parts.items() if part.files()}
    changed = importers(program, touched) if status == "ported" else set()
    for file in program.files if changed - {program} else ():
        if file in changed:
            rename_imports(parts.get(file, edits), file, changed - {program})
    files = [
        PortedFile(
            file.name, ported_name(file.name) if file is program else module_name(file.name), file.raw,
            file.raw if status != "ported" else parts[file].made() if file in parts else edits.made(file),
            file.module.encoding,
        )
        for file in program.files if file is program or file in changed
    ]  # fmt: skip
    findings = dict.fromkeys(edits.findings)
    for file, part in parts.items():
        name = file.name if file is not program else ""
        findings |= {replace(finding, file=name): None for finding in part.findings}
    order = {file.name: number for number, file in enumerate(program.files)} | {"": -1}
    ordered = sorted(findings, key=lambda finding: (order[finding.file], finding.line, finding.rule))
    return Ported(program.name, framework, status, tuple(files), tuple(ordered))


def _port(
    program: SingleGpuProgram, imports: Imports, edits: Edits, parts: dict[SingleGpuProgram, Edits], target: Target
) -> tuple[str, Literal["ported", "distributed", "unknown"]]:
    joined = joined_by(program, imports)
    if joined is not None:
        framework = joined[1]
        edits.note(
            joined[0],
            Message("port.distributed", "this program is distributed already ({framework})"),
            framework=framework,
        )
        return framework.lower(), "distributed"
    other = other_library(program, imports)
    if other is not None:
        node, package = other
        edits.ask(
            node,
            Message(
                "port.ask_other_library",
                "not known: {package} can distribute a program itself, and hackathon port does not know how. See the "
                "documentation of {package}.",
            ),
            package=package,
        )
        return "", "unknown"
    own = any(method(call) == "backward" for call in program.everywhere(cst.Call))
    for library in LIBRARIES:
        if library.name == "keras" and own and imports.uses("torch"):
            continue  # TensorFlow for TensorBoard or data, beside a PyTorch loop
        if library.used(program, imports):
            return library.name, _by_file(library, program, parts, target)
    if imports.uses("torch"):
        return "pytorch", "ported" if port_pytorch(edits, imports) else "unknown"
    edits.ask(None, Message("port.no_framework", "not known: no framework that hackathon port knows is imported"))
    return "", "unknown"


def _by_file(
    library: Library, program: SingleGpuProgram, parts: dict[SingleGpuProgram, Edits], target: Target
) -> Literal["ported", "distributed", "unknown"]:
    """Port the files that use a library's loop, each for itself; the started file if none does."""
    loops = [file for file in program.files if library.trains(file.alone, Imports(file.alone))]
    if library.name == "lightning":  # a module that only logs has changes, too
        loops += [file for file in program.files if file not in loops and Imports(file.alone).uses(*library.packages)]
    statuses = []
    for file in loops or [program]:
        parts[file] = Edits(file.alone)
        statuses.append(port_library(library, parts[file], Imports(file.alone), target))
        if statuses[-1] == "distributed":
            for other in [other for other in parts if other is not file]:
                del parts[other]
            return "distributed"
    return "ported" if "ported" in statuses else "unknown"


def write(ported: Ported, output: Path | None) -> Path:
    """Write the ported program to new files and return the started one; raise RequestError when one exists."""
    first, *others = ported.files
    target = output if output is not None else Path(first.target)
    for path in (target, *(Path(file.target) for file in others)):
        if path.exists():
            raise exists(path)
    for file in others:
        put(Path(file.target), file.after.decode("utf-8", "surrogateescape"))
    text = first.after.decode("utf-8", "surrogateescape")
    if output is not None and (origin := _origin(Path(first.name), target)):
        text = f"{text.rstrip()}\n\n{origin}\n"
    put(target, text)
    return target


def _origin(original: Path, target: Path) -> str:
    """Return the line that names the original of a new file; empty where the name does, and far from each other."""
    beside = target.resolve().parent
    if not original.is_file() or target.resolve() == Path(ported_name(str(original))).resolve():
        return ""
    path = os.path.relpath(original.resolve(), beside)
    return "" if path.startswith("..") or " " in path else ORIGIN.format(path=path)
