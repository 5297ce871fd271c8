"""Read how a job script starts processes: starters, launchers, and both in each other."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hackathon.programs.scripts.look import ScriptLook
from hackathon.programs.scripts.shell import LITERAL, Command
from hackathon.programs.scripts.values import ShellValues, commands_of
from hackathon.programs.training.launchers import LauncherCall, launcher_call
from hackathon.text.numbers import digits

STARTERS = frozenset({"srun", "mpirun"})
"""Launchers that start a command several times, on all nodes."""
_WRAPPERS = re.compile(
    r"(?:\S*/)?(?:\S*(?:wrapper|affinity)\S*|singularity|apptainer|shifter|podman-hpc|enroot|numactl|nsys|ncu|nvprof|taskset|timeout|stdbuf|nice"
    r"|catchsegv|conda|micromamba|mamba|uv|poetry|unbuffer|dlprof)\Z"
)
_BEFORE = frozenset({"exec", "time", "nohup", "env", "command", "then", "eval", "sudo"})
_SHELL = re.compile(r"(?:\S*/)?(?:bash|sh|zsh)\Z")
_PROGRAM = re.compile(r"(?:\S*/)?(?:python[\d.]*|bash|sh|torchrun|deepspeed|horovodrun)\Z|\S+\.py\Z")
_REMOTE = re.compile(r"(?:\S*/)?(?:ssh|pdsh|clush|pbsdsh|pjrsh|blaunch|pbs_tmrsh)\Z")
_OPTION_OF_SSH = frozenset(["-o", "-p", "-i", "-l", "-F", "-w", "-g"])
DEPTH = 6
"""Starters inside each other that are followed."""


class LaunchLayer(NamedTuple):
    """A launcher in a command."""

    call: LauncherCall
    later: bool
    """Whether the shell of a step reads it, not that of the batch script."""


class Launch(NamedTuple):
    """A command that starts processes."""

    command: Command
    layers: tuple[LaunchLayer, ...]
    """The outer one first."""
    program: tuple[str, ...]
    """What the innermost starts."""
    remote: str
    """The command that takes it to another host, such as ssh; empty for none."""
    text: str
    """The expanded text that another shell reads; empty without one."""

    @property
    def starter(self) -> LauncherCall | None:
        """The outer launcher if it starts its command on all nodes."""
        return self.layers[0].call if self.layers and self.layers[0].call.launcher in STARTERS else None

    @property
    def inner(self) -> LaunchLayer | None:
        """The launcher of a training."""
        layer = self.layers[-1] if self.layers else None
        return layer if layer and layer.call.launcher not in STARTERS else None


@dataclass(frozen=True)
class JobShape:
    """What a header asks for; None where it does not say that."""

    nodes: int | None
    processes: int | None
    per_node: int | None
    gpus: int | None
    """Of a node."""


def shape_of(look: ScriptLook) -> JobShape:
    """Return the shape of a script's job."""
    request = look.request
    nodes, total, per_node = request.nodes, request.total(), request.per_node()
    if len(look.parts) > 1:
        return JobShape(None, None, None, None)
    if nodes is None and total and request.processes_per_node and total % request.processes_per_node == 0:
        nodes = total // request.processes_per_node
    if look.language.job.default_nodes and nodes and total is None:
        total, per_node = nodes, 1
    if nodes is None and total == 1:
        nodes, per_node = 1, 1
    gpus = request.gpus if not request.spread or nodes else None
    if gpus is None and request.gpus_per_process and per_node:
        gpus = request.gpus_per_process * per_node
    return JobShape(nodes, total, per_node, gpus)


def step_of(call: LauncherCall, shape: JobShape) -> JobShape:
    """Return the shape of a step: the starter's own numbers, else those of the job."""

    def number(*names: str) -> tuple[bool, int | None]:
        texts = [call.options[name] for name in names if name in call.options]
        return bool(texts), digits(texts[0], 7) if texts else None

    nodes, total, per_node = shape.nodes, shape.processes, shape.per_node
    if call.launcher == "srun":
        own = re.match(r"\$\{?\w*JOB_?ID\}?\Z", call.options.get("jobid", "$JOBID"))
        if not own or {"het-group", "pack-group", "multi-prog"} & call.options.keys():
            return JobShape(None, None, None, None)
        has_nodes, own_nodes = number("N", "nodes")
        has_total, own_total = number("n", "ntasks")
        has_share, share = number("ntasks-per-node")
        if has_nodes:
            nodes = own_nodes
        listed = call.options.get("w", call.options.get("nodelist"))
        if listed is not None and not has_nodes:
            nodes = None
        if has_total:
            total = own_total
            nodes = min(nodes, total) if nodes and total else nodes
        elif has_share or has_nodes:
            total = None
        if has_share:
            per_node = share
        elif has_total or has_nodes:
            per_node = total // nodes if total and nodes and total % nodes == 0 else None
        if has_nodes and own_nodes == 1 and not has_total:
            per_node = shape.per_node if not has_share else share
        return JobShape(
            nodes, total if total else per_node * nodes if per_node and nodes else None, per_node, shape.gpus
        )
    has_total, own_total = number("np", "n", "c")
    has_share, share = number("npernode", "ppn", "perhost", "N")
    by_resource = re.match(r"ppr:(\d{1,6}):node", call.options.get("map-by", ""))
    if by_resource:
        has_share, share = True, int(by_resource[1])
    total = own_total if has_total else total
    per_node = share if has_share else total // nodes if total and nodes and total % nodes == 0 else None
    hosts = {"host", "H", "hosts", "hostfile", "machinefile", "f"} & call.options.keys()
    if hosts and not has_share and not has_total:
        per_node = None
    if has_total and own_total == 1:
        nodes, per_node = 1, 1
    return JobShape(nodes, total, per_node, shape.gpus)


def launches(look: ScriptLook, shape: JobShape) -> tuple[list[Launch], ShellValues]:
    """Return the commands that start processes, with the values of their options, and the script's variables."""
    counts = {name: getattr(shape, field) for name, field in look.language.job.counts.items()}
    job = look.language.job
    values = ShellValues(
        {name: count for name, count in counts.items() if count}, job.node_counts, job.hosts, shape.nodes
    )
    result: list[Launch] = []
    for command in look.shell.commands:
        words = values.take(command)
        if words:
            result += _read(Launch(command, (), (), "", ""), words, False, DEPTH)
    return result, values


def _read(launch: Launch, words: Sequence[str], later: bool, depth: int) -> Iterator[Launch]:
    """Yield what a command starts; several launches if a shell reads several commands."""
    words = list(words)
    while words and (words[0] in _BEFORE or re.match(r"\w+=", words[0])):
        words.pop(0)
    if not words or depth == 0:
        return
    call = launcher_call(words)
    name = words[0]
    if call is not None:
        inner = launch._replace(layers=(*launch.layers, LaunchLayer(call, later)), program=call.program)
        program = call.program
        if call.launcher in STARTERS and program:
            is_sure = call.sure and not program[0].startswith("$")  # more options, perhaps
            further = list(_read(inner, program if is_sure else _behind(program), later, depth - 1))
            yield from further
            if further:
                return
        yield inner
    elif _SHELL.match(name) and (text := _text_for_shell(words)):
        yield from _inside(launch._replace(text=text), text, depth)
    elif _REMOTE.match(name):
        at = 1
        while at < len(words) and words[at].startswith("-"):
            at += 2 if words[at] in _OPTION_OF_SSH else 1
        text = " ".join(words[at + 1 :])
        yield from _inside(launch._replace(remote=name.rpartition("/")[2], text=text), text, depth)
    elif _WRAPPERS.match(name):
        behind = _behind(words[1:])
        if behind:
            yield from _read(launch, behind, later, depth - 1)
        elif launch.layers:
            yield launch._replace(program=tuple(words))
    elif launch.layers or launch.remote or _PROGRAM.match(name):
        yield launch._replace(program=tuple(words))


def _behind(words: Sequence[str]) -> list[str]:
    """Return the words from the first program on that runs others or is Python."""
    at = next((at for at, word in enumerate(words) if _PROGRAM.match(word) or launcher_call(words[at : at + 2])), None)
    return list(words[at:]) if at is not None else []


def _text_for_shell(words: list[str]) -> str:
    """Return the text behind `bash -c`; "" without one."""
    at = next((at for at, word in enumerate(words[1:], 1) if re.fullmatch(r"-[a-z]*c[a-z]*", word)), None)
    return words[at + 1] if at is not None and at + 1 < len(words) else ""


def _inside(launch: Launch, text: str, depth: int) -> Iterator[Launch]:
    """Yield the launches of a text that another shell reads."""
    for words in commands_of(text):
        yield from _read(launch, words, True, depth - 1)


def batch_variable(text: str, pattern: str) -> str:
    """Return the first variable of the batch script in a value that matches; "" for none."""
    match = re.search(rf"\$\{{?({pattern})\b", text)
    return match[1] if match else ""


def step_text(text: str) -> str:
    """Return a value for people."""
    return text.replace(LITERAL, "$")


def value_of(call: LauncherCall, *names: str) -> str | None:
    """Return the value of the first of these options that a launcher has."""
    return next((call.options[name] for name in names if name in call.options), None)


def number_of(call: LauncherCall, *names: str) -> int | None:
    """Return the value of the first of these options if it is a number."""
    return digits(value_of(call, *names) or "", 7)


def swapped(look: ScriptLook, command: Command, pattern: str, better: str) -> tuple[int, str | None]:
    """Return a line of a command with another text for the first match of a pattern, and its number.

    `\\1` in the new text stands for the first group of the pattern.
    """

    def new(match: re.Match[str]) -> str:
        return better.replace("\\1", match[1]) if match.re.groups else better

    for number in range(command.line, min(max(command.end, command.line), len(look.source.lines)) + 1):
        line = look.line(number)
        changed = re.sub(pattern, new, line, count=1)
        if changed != line:
            return number, changed
    # the option may stand in a variable: `ARGS="--nnodes 4"`
    before = enumerate(look.source.lines[: command.line - 1], 1)
    others = [number for number, line in before if re.search(pattern, line) and not line.lstrip().startswith("#")]
    if len(others) != 1:
        return command.line, None
    return others[0], re.sub(pattern, new, look.line(others[0]), count=1)


def set_nowhere(look: ScriptLook, name: str) -> bool:
    """Return whether neither a script nor anything that it reads is known to set a variable."""
    text = "\n".join(look.source.lines)
    if not look.directives or re.fullmatch(rf"HOST\w*|{look.language.variables}", name):
        return False
    if re.search(
        rf"\b{name}\b(?:\+?=|[\"']?\]?\s*;?\s*do\b)|\b(?:for|read|select|mapfile|readarray)\b.*\b{name}\b", text
    ):
        return False
    if re.search(rf"\$\{{{name}:?[-=?+]|--export\S*{name}|-v\s\S*{name}", text):
        return False
    return not re.search(r"(?m)^\s*(?:source|\.)\s+(?!\S*(?:activate|conda\.sh|modules?\.sh|profile|bashrc))", text)
