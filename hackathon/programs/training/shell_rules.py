"""Rules about a shell script that a project's command starts: it runs once for each rank."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hackathon.programs.scripts.body_rules import downloads
from hackathon.programs.scripts.findings import Edit
from hackathon.programs.scripts.shell import LONGEST, Command, scan
from hackathon.programs.training.launchers import joined, launched, started
from hackathon.programs.training.rules import FileLook
from hackathon.programs.training.situation import TrainingSituation
from hackathon.schedulers.foreign import TASK_VARIABLES

if TYPE_CHECKING:
    from hackathon.schedulers.scripts import Severity

_SETS = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)
_BEFORE = frozenset({"exec", "time", "nohup", "export", "env"})
_OWN = frozenset({"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK"})
_FIXED = re.compile(r"[\w.:,-]+")
_RANKS = rf"\$\{{?(?:RANK|LOCAL_RANK|WORLD_SIZE|OMPI_|PMIX?_|MPI_|TORCHELASTIC_|HK_|(?:{'|'.join(TASK_VARIABLES)})_)"
_ASKS = re.compile(rf"(?m)(?:^|[;\s])(?:if|elif|case|\[\[?|test)\s[^;\n]*{_RANKS}")
_UNSET = re.compile(rf"-z\s+[\"']?{_RANKS}")
_ENDS = re.compile(
    r"(?m)(?:^|;|&&|\|\||\bthen\b|\belse\b|\{|\))[^\S\n]*(?:exit\b(?![^\S\n]+[1-9])|exec[^\S\n]+(?!\d*[<>&])\S)"
)


class ScriptCommand(NamedTuple):
    """A command of a script without its variable assignments."""

    command: Command
    sets: tuple[tuple[str, str], ...]
    words: tuple[str, ...]
    sure: bool
    """Whether it always runs: it is in no `if`, loop, function or bracket."""

    @property
    def line(self) -> int:
        """Its line."""
        return self.command.line


def script_commands(lines: Sequence[str]) -> Iterator[ScriptCommand]:
    """Yield the commands of a script in order."""
    script = scan(tuple(lines))
    choices = set(_chosen(lines, script.outside))
    for command in script.commands:
        sets, words = _parts(command)
        yield ScriptCommand(command, tuple(sets), words, command.line not in choices and not command.depth)


def check_shell(look: FileLook, situation: TrainingSituation) -> list[str]:
    """Check a script; return the Python files that it starts, as written there."""
    programs, moves = [], False
    for command, sets, words, sure in script_commands(look.lines):
        moves |= command.words[:1] == ("cd",)
        for name, value in sets if sure else ():
            _variable(look, command, name, value, situation)
        if sure:
            _launch(look, command, words)
        if words[:1] == ("cd",) and sure and words[1:2] and re.match(r"/|~|\$\{?HOME\b", words[1]):
            look.add("folder-in-script", command.line, folder=words[1])
        if situation.offline and words and downloads(words[0].rpartition("/")[2], words[1:], command.raw):
            look.add("download-in-job", command.line, what=words[0], cluster=situation.cluster)
        for word in words if situation.visible else ():
            path = word.rpartition("=")[2]
            if situation.hides(path):
                look.add("path-not-visible", command.line, path=path, cluster=situation.cluster,
                         visible=", ".join(situation.visible))  # fmt: skip
        inner = launched(words)
        start = started(inner.program if inner else words)
        if start.kind == "python" and _FIXED.fullmatch(start.file.replace("/", ".")):
            programs.append(start.file)
    return [] if moves else programs


def _parts(command: Command) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """Return the variables that a command sets and its other words."""
    words = list(command.words)
    sets = []
    exported = words[:1] == ["export"]
    while words and (words[0] in _BEFORE or _SETS.fullmatch(words[0])):
        match = _SETS.fullmatch(words.pop(0))
        if match:
            sets.append((match["name"], match["value"]))
    return sets, () if exported else tuple(words)


def own_gpus(lines: Sequence[str]) -> bool:
    """Return whether a script gives its rank some of the GPUs: `CUDA_VISIBLE_DEVICES=$LOCAL_RANK`."""
    return any(
        name == "CUDA_VISIBLE_DEVICES" and re.match(r"\$(?!\{?CUDA_)", value)
        for command in script_commands(lines) for name, value in command.sets
    )  # fmt: skip


def _variable(look: FileLook, command: Command, name: str, value: str, situation: TrainingSituation) -> None:
    if not _FIXED.fullmatch(value):
        return
    if name in _OWN:
        plain = re.fullmatch(rf"(\s*)(?:export\s+)?{name}=[\"']?{re.escape(value)}[\"']?\s*", command.raw)
        edits = (Edit(command.line, (f'{plain[1]}export {name}="${{{name}:-{value}}}"',)),) if plain else ()
        severity: Severity | None = "warning" if situation.meets(name) else None
        look.add("address-in-script", command.line, *edits, severity=severity, name=name, value=value)
    elif name == "CUDA_VISIBLE_DEVICES" and value != "-1":
        look.add("devices-in-script", command.line, value=value)


def _launch(look: FileLook, command: Command, words: tuple[str, ...]) -> None:
    launch = launched(words)
    if launch is None:
        return
    edits: tuple[Edit, ...] = ()
    old = re.sub(r"[\"']", "", command.raw)
    if launch.rest and " ".join(words) in " ".join(old.split()) and command.raw.rstrip()[-1:] != "\\":
        start = command.raw.find(words[0])
        tail = " ".join(command.raw[start:].split())
        if tail == " ".join(words):
            edits = (Edit(command.line, (command.raw[:start] + joined(launch.rest),)),)
    look.add("launcher-in-script", command.line, *edits, launcher=launch.launcher, key=launch.key)


def _chosen(lines: Sequence[str], outside: frozenset[int]) -> Iterator[int]:
    """Yield the lines that may never run: inside `if` and `case`, and after an exit for ranks of a launcher."""
    depth, begin, gone = 0, 1, False
    for number, line in enumerate(lines, 1):
        if number in outside or len(line) > LONGEST:
            continue
        word = line.strip()
        if re.match(r"(?:if|case)\b", word) or re.search(r"&&|\|\|", word):
            yield number
        begin = begin if depth else number
        depth += len(re.findall(r"(?:^|;)\s*(?:if|case)\s", line))
        if depth or gone:
            yield number
        depth = max(0, depth - len(re.findall(r"(?:^|;)\s*(?:fi|esac)\b", line)))
        gone |= not depth and _leaves([line for line in lines[begin - 1 : number] if len(line) <= LONGEST])


def _leaves(block: Sequence[str]) -> bool:
    """Return whether a script ends in a block that tests the rank, if there may be one."""
    text = "\n".join(block)
    unset = _UNSET.search(text) and not re.search(r"\b(?:else|elif)\b|\|\|", text)
    return bool(_ASKS.search(text) and _ENDS.search(text)) and not unset
