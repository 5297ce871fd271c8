"""The beginning of a ported program: imports, constants, small functions, the joining of processes."""

import libcst as cst

from hackathon.programs.port.edits import Edits
from hackathon.programs.port.functions import Functions
from hackathon.programs.port.output import Output, lines_of_one
from hackathon.programs.port.torch_setup import imported_first, imports_end

_OF_LAUNCHER = {
    "WORLD_SIZE": 'int({os}.environ.get("WORLD_SIZE", "1"))',
    "LOCAL_WORLD_SIZE": 'int({os}.environ.get("LOCAL_WORLD_SIZE", "1"))',
    "RANK": 'int({os}.environ.get("RANK", "0"))',
}
"""Values from launchers for each process; torchrun and the jobs of this toolkit set these variables."""


class Head:
    """Names added after a ported program's imports; the program does not use them otherwise."""

    def __init__(self, edits: Edits, functions: Functions) -> None:
        self.edits = edits
        self.functions = functions
        self._imports: list[str] = []
        self._constants: dict[str, tuple[str, str]] = {}
        self._definitions: list[str] = []
        self._blocks: list[str] = []
        self._names: dict[str, str] = {}

    def fresh(self, name: str) -> str:
        """Return and reserve a name that the program does not have."""
        while name in self.functions.program.identifiers:
            name += "_"
        self.functions.program.identifiers.add(name)
        return name

    def imported(self, full: str, line: str, short: str | None = None) -> str:
        """Return the program's name for an object, which `line` imports unless it is imported at the top already."""
        for name, full_name in self.functions.imports.names.items():
            if full_name == full and imported_first(self.functions, name):
                return name
        plain = short or full.split(".")[-1]
        name = self.fresh(plain)
        if name == plain and short is None:
            self._imports.append(line)
        else:
            self._imports.append(f"{line} as {name}")
        self.functions.imports.names[name] = full
        return name

    def of_launcher(self, name: str) -> str:
        """Return the constant with a number from the launcher: WORLD_SIZE, LOCAL_WORLD_SIZE, RANK."""
        if name not in self._constants:
            os = self._os()
            self._constants[name] = (self.named(name), _OF_LAUNCHER[name].replace("{os}", os))
        return self._constants[name][0]

    def named(self, name: str) -> str:
        """Return a free name for an addition, always the same for the same name."""
        if name not in self._names:
            self._names[name] = self.fresh(name)
        return self._names[name]

    def first_of_ranks(self, output: Output) -> None:
        """Let the launcher's rank 0 print and save."""
        lines_of_one(self.edits, self.functions, f"{self.named('RANK')} == 0", output)
        if any(finding.rule in ("do-print", "do-save") for finding in self.edits.findings):
            self.of_launcher("RANK")

    def _os(self) -> str:
        line = next((line for line in self._imports if line.startswith("import os")), None)
        return line.split()[-1] if line is not None else self.imported("os", "import os")

    def imported_together(self, module: str, names: tuple[str, ...]) -> list[str]:
        """Return the program's names for what one line imports from a module."""
        shorts = [self.fresh(name) for name in names]
        parts = [name if short == name else f"{name} as {short}" for name, short in zip(names, shorts, strict=True)]
        self._imports.append(f"from {module} import {', '.join(parts)}")
        return shorts

    def definition(self, text: str) -> None:
        """Add a function after the imports and constants."""
        if text not in self._definitions:
            self._definitions.append(text)

    def block(self, text: str) -> None:
        """Add statements after the functions."""
        if text not in self._blocks:
            self._blocks.append(text)

    def put(self) -> cst.CSTNode | None:
        """Insert all additions; return the statement next to them."""
        lines = [*self._imports]
        if self._constants:
            order = [name for name in _OF_LAUNCHER if name in self._constants]
            lines += ["", *(f"{self._constants[name][0]} = {self._constants[name][1]}" for name in order)]
        lines += [f"\n\n{definition}" for definition in self._definitions]
        apart = "\n\n" if self._definitions else "\n"
        if self._blocks:
            lines.append(apart + "\n".join(self._blocks))
        text = "\n".join(lines) + "\n"
        if not text.strip():
            return None
        module = self.functions.program.module
        number = imports_end(module)
        if number == 0 and not module.body:
            return None
        anchor = module.body[max(number - 1, 0)]
        around = self.edits.after if number else self.edits.before
        around.setdefault(anchor, [])[:0] = self.edits.statements(text)
        return anchor
