"""Rules about a job's surroundings: it has no terminal, no keyboard and no screen."""

import ast
import re

from hackathon.programs.training.module import Module, text_value
from hackathon.programs.training.program import TrainingProgram

_SHELL = frozenset({"os.popen", "subprocess.check_output", "subprocess.getoutput", "subprocess.Popen"})
"""Calls whose output a program reads."""
_SIZE = re.compile(r"\bstty\b")
_CHOICE = re.compile(
    r"isatty|notebook|interactive|jupyter|ipython|display|columns|\bargs\b|\bopts?\b|flags|cfg|config|debug|show|plot|vis"
    r"|verbose|confirm|dry",
    re.I,
)
"""Words of a condition that asks whether somebody sits in front of the program, or for an option."""
_NO_WINDOW = re.compile(
    r"""matplotlib\.use\(\s*['"](?:agg|pdf|svg|cairo|ps)|plt\.switch_backend\(\s*['"]agg|MPLBACKEND""", re.I
)


def check_terminal(program: TrainingProgram) -> None:
    """Report what needs a terminal, a keyboard or a screen, where the program reaches it."""
    windows = not _NO_WINDOW.search(program.text)
    for module in program.modules:
        for call, name in module.calls:
            rule = _rule(module, call, name)
            if rule == "needs-screen" and not windows:
                continue
            if rule and _reached(program, module, call):
                module.look.add(rule, call.lineno, text=ast.unparse(call)[:80])


def _rule(module: Module, call: ast.Call, name: str) -> str:
    """Return the rule that a call breaks, or an empty text."""
    if name in ("input", "getpass.getpass", "builtins.input"):
        return "" if name == "input" and _own(module, "input") else "needs-keyboard"
    if name == "os.get_terminal_size":
        return "needs-terminal"
    if name in _SHELL and _SIZE.search(" ".join(_texts(call))):
        return "needs-terminal"
    return "needs-screen" if name in ("matplotlib.pyplot.show", "cv2.imshow", "cv2.waitKey") else ""


def _texts(call: ast.Call) -> list[str]:
    return [text for node in ast.walk(call) if (text := text_value(node)) is not None]


def _own(module: Module, name: str) -> bool:
    """Return whether the file gives this name a meaning of its own."""
    return (
        bool(module.assigned(name))
        or name in module.aliases
        or any(
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name
            for node in module.nodes
        )
    )


def _reached(program: TrainingProgram, module: Module, call: ast.Call) -> bool:
    """Return whether a job may reach a call: not in a `try`, under a test of the terminal, or in an unused function."""
    if module.tried(call) or any(_CHOICE.search(module.words(test)) for test in module.tests(call)):
        return False
    function = module.function(call)
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return True
    return any(other.function(use) is not function for other, use in program.uses.get(function.name, ()))
