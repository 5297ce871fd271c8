"""Rules about relative paths: a run works in a copy of the project, which lacks some files and all around it."""

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

from hackathon.programs.training.module import Module, text_value
from hackathon.programs.training.program import TrainingProgram
from hackathon.programs.training.rules import FileLook
from hackathon.programs.training.situation import TrainingSituation

_ABOVE = re.compile(r"(?:\.\./)+[\w.][\w./ -]*")
_BELOW = re.compile(r"(?:\./)?[\w][\w./ -]*")
_READS = frozenset(
    {
        "open", "load", "loadtxt", "genfromtxt", "read_csv", "read_parquet", "read_json", "read_table", "join", "Path",
        "listdir", "scandir", "walk", "glob", "iglob", "memmap", "fromfile", "imread", "load_from_disk", "load_dataset",
        "load_data", "load_state_dict",
    }
)  # fmt: skip
"""Ends of the names of functions that take the path of something to read; classes count, too."""
_WRITES = re.compile(
    r"(?i)(?:^|[._])(?:save\w*|mkdirs?|makedirs|to_csv|to_json|dump|filehandler|summarywriter|\w*logger|\w*writer|rmtree|remove"
    r"|exists|is_?file|is_?dir|access|copy\w*|move|rename|tensorboard|modelcheckpoint|basicconfig|imsave)$"
)
"""Names of functions that write, create or look for a path: the program copes without it."""
_DATA = re.compile(r"(?i)data|train|input|corpus|vocab|root|weights|pretrained|images|dict|words|file|path|dir|folder")
_RESULT = re.compile(r"(?i)out|save|log|ckpt|checkpoint|result|export|dest|target|tmp|cache|resume|model|run|exp")
"""Names of options and variables for what a program reads, and for what it writes."""
LINKED = "exclude: "
"""Key of project.yaml for files that a run links and does not copy."""
_BESIDE = re.compile(r"__file__|dirname|parent|getcwd|get_original_cwd|HACKATHON|environ")
"""Words of an expression whose path does not begin in the current folder."""


def check_paths(program: TrainingProgram, situation: TrainingSituation) -> None:
    """Report paths that lead out of the project, and those that exist in it and not in a run's copy."""
    if situation.in_place:
        return
    written = {os.path.normpath(text) for module in program.modules for text in _written(module)}
    for module in program.modules:
        if situation.copy is not None and (top := situation.copy.lacks(module.name)):
            module.look.add("not-in-copy", 1, path=module.name, exclude=top)
        for node, path in _read(module):
            _judge(program.folder, module.look, node.lineno, path, written, situation)


def check_words(folder: Path, look: FileLook, line: int, situation: TrainingSituation) -> None:
    """Report such paths among the words of the command: `--data ../data`."""
    if situation.in_place:
        return
    option = ""
    for word in situation.words[1:]:
        name, equals, value = word.rpartition("=") if word.startswith("-") else ("", "", word)
        option, before = (word, option) if word.startswith("-") else ("", option)
        path = value if equals or not word.startswith("-") else ""
        if path and not _RESULT.search(name or before) and "/" in path:
            _judge(folder, look, line, path, set(), situation)


def _judge(folder: Path, look: FileLook, line: int, path: str, written: set[str], situation: TrainingSituation) -> None:
    plain = os.path.normpath(path)
    if any(plain == name or plain.startswith(name + "/") for name in written):
        return
    if _ABOVE.fullmatch(path):
        absolute = os.path.normpath(folder / plain)
        look.add("above-project", line, path=path, absolute=absolute)
        return
    if situation.copy is None or not _BELOW.fullmatch(path) or not (folder / plain).exists():
        return
    if top := situation.copy.lacks(plain):
        look.add("not-in-copy", line, replacement=f"{LINKED}[{top}]", path=plain, exclude=top)


def _read(module: Module) -> Iterator[tuple[ast.Constant, str]]:
    """Yield the texts that are paths of something to read."""
    for node in module.nodes:
        text = text_value(node)
        if not isinstance(node, ast.Constant) or not text or len(text) > 300 or "\n" in text:
            continue
        if _is_read(module, node, text):
            yield node, text


def _is_read(module: Module, node: ast.Constant, text: str) -> bool:
    """Return whether a text stands where a program has the path of something that it reads."""
    up = module.parents.get(node)
    if isinstance(up, ast.keyword):
        call = module.parents.get(up)
        if not isinstance(call, ast.Call) or _writes(module, call):
            return False
        name = up.arg or ""
        if name == "default":
            name = next((option for option in map(text_value, call.args) if option), "")
        return bool(_DATA.search(name)) and not _RESULT.search(name)
    if isinstance(up, ast.Call):
        last = module.dotted(up.func).rpartition(".")[2]
        first = bool(up.args) and up.args[0] is node
        if not first or _writes(module, up) or not (last in _READS or last[:1].isupper()):
            return False
        if last == "join" and not module.dotted(up.func).endswith("path.join"):
            return False
        return not (last == "open" and _opens_to_write(up)) and _outer_reads(module, up)
    if isinstance(up, ast.Assign | ast.AnnAssign):
        targets = up.targets if isinstance(up, ast.Assign) else [up.target]
        name = " ".join(module.words(target) for target in targets)
        return bool(_DATA.search(name)) and not _RESULT.search(name) and ("/" in text or "." in text or "data" in name)
    return False


def _outer_reads(module: Module, call: ast.Call) -> bool:
    """Return whether a path that is put together is not written, and begins in the current folder."""
    up = module.parents.get(call)
    if isinstance(up, ast.Call) and (_writes(module, up) or _opens_to_write(up)):
        return False
    if isinstance(up, ast.Assign) and any(_RESULT.search(module.words(target)) for target in up.targets):
        return False
    return not _BESIDE.search(module.words(call))


def _writes(module: Module, call: ast.Call) -> bool:
    return bool(_WRITES.search(module.dotted(call.func)))


def _opens_to_write(call: ast.Call) -> bool:
    """Return whether a call of `open` creates the file."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    modes = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "mode")]
    return function == "open" and any(set(text_value(mode) or "") & set("wax") for mode in modes)


def _written(module: Module) -> Iterator[str]:
    """Yield the texts in calls that write, create or look for a path."""
    for call, name in module.calls:
        if _WRITES.search(name) or _opens_to_write(call):
            for argument in (*call.args, *(word.value for word in call.keywords)):
                yield from (text for part in ast.walk(argument) if (text := text_value(part)))
