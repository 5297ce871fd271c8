"""Rules about values that all processes of a step share, or that differ between them."""

import re

from hackathon.programs.scripts.launches import (
    JobShape,
    Launch,
    set_nowhere,
    step_of,
    swapped,
    value_of,
)
from hackathon.programs.scripts.look import ScriptLook
from hackathon.programs.scripts.shell import LITERAL
from hackathon.programs.scripts.values import ShellValues

_DRAWN = re.compile(rf"{LITERAL}\{{?RANDOM\b|{LITERAL}\(\s*(?:date|shuf|uuidgen|python\S*)\b|{LITERAL}\$")
"""A value that differs wherever a shell expands it."""
_MEETING = ("rdzv_id", "rdzv-id", "rdzv_endpoint", "rdzv-endpoint", "master_port", "master-port", "main_process_port")
_PORTS = ("master_port", "master-port", "main_process_port")
_IDLE = frozenset({"echo", "wait", "exit", "sleep", "date"})
_PROGRAM = re.compile(r"(?:\S*/)?(?:python[\d.]*|bash|sh|Rscript|julia)\Z|\S+\.py\Z")


_OWN_NAME = re.compile(rf"\bMASTER_ADDR=[\"']?\\?(?:{LITERAL}\(hostname\b|{LITERAL}\{{?\w*(?:HOSTNAME|NODENAME)\b)")
_OF_NODE = re.compile(r"\$\{?(\w*TMPDIR|\w*LOCALDIR|LOCAL_?SCRATCH|\w+_JOB_TMP)\b")
"""Folders that each node of a job has for itself."""
_FOLDER_OPTIONS = {"tar": ("-C", "--directory"), "unzip": ("-d",), "bsdtar": ("-C",)}


def check_steps(look: ScriptLook, every: list[Launch], shape: JobShape, values: ShellValues) -> None:
    """Report values that are the same where each process needs its own, that differ where all need the same, or that
    nobody sets."""
    _addresses(look, every, shape, values)
    _option_variables(look)
    _staged(look, every, shape)
    _blocking(look)
    for launch in every:
        step = step_of(launch.starter, shape) if launch.starter else shape
        _meetings(look, launch, step)
        _node_ranks(look, launch, step)
        _own_name(look, launch, step)
        _programs_file(look, launch)
    _process_ranks(look, every, shape, values)


def _addresses(look: ScriptLook, every: list[Launch], shape: JobShape, values: ShellValues) -> None:
    """Report an address that is the list of all nodes."""
    nodes = shape.nodes or 1
    text = "\n".join(look.source.lines)
    for name, line in values.lines.items():
        raw = look.line(line)
        value = rf"=[\"']?(?:{look.language.job.all_nodes})[\"']?\s*(?:#.*)?\Z"
        if nodes < 2 or not re.search(rf"\b{name}{value}", raw):
            continue
        whole = re.compile(rf"\$(?:{name}\b|\{{{name}\}})(?!\[)")
        addressed = any(
            whole.search(word)
            for launch in every if launch.inner
            for option, word in _pairs(launch)
            if re.search(r"addr|endpoint|main_process_ip", option)
        )  # fmt: skip
        if name == "MASTER_ADDR" and re.search(rf"\$\{{{name}[%#\[]|\b(?:read|mapfile|readarray|for)\b.*{name}", text):
            continue
        if name == "MASTER_ADDR" or addressed:
            first = look.language.job.first_node
            better = f"{raw[: raw.index(f'{name}=')]}{name}={first}" if first else None
            look.add("address-of-all", line, better, variable=name, nodes=nodes)


def _pairs(launch: Launch) -> list[tuple[str, str]]:
    """Return the options of a launcher as the script writes them, with their values."""
    pairs = []
    words = launch.command.marked
    for at, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option.startswith("-"):
            pairs.append((option, value if equals else words[at + 1] if at + 1 < len(words) else ""))
    return pairs


def _option_variables(look: ScriptLook) -> None:
    """Report a variable that the scheduler sets for an option that the header does not have."""
    text = "\n".join(look.source.lines)
    counts = {setting.key for setting in look.settings} & {"--nodes", "--ntasks", "--gres", "--ntasks-per-node"}
    for name, option in look.language.job.of_option.items() if counts else ():
        if look.setting(option) or len(look.parts) > 1:
            continue
        # a script that tests the variable, sets it or gives a default knows that it may be empty
        tested = rf"\b{name}=|\$\{{{name}:?[-+=?]|-[nzv]\s+[\"']?\$?\{{?{name}\b|(?:\[|(?<!\$)\(\(|\bif\b).*{name}\b"
        if re.search(tested, text):
            continue
        for command in look.shell.commands:
            if command.words[0] in ("echo", "printf"):
                continue
            if any(re.search(rf"\$\{{?{name}\b", word) for word in command.marked):
                line = next(
                    (at for at in range(command.line, command.end + 1) if re.search(rf"\b{name}\b", look.line(at))),
                    command.line,
                )
                gpus = look.request.gpus if option == "--gpus-per-node" else None
                better = f"{look.language.prefix} {option}={gpus}" if gpus else None
                look.add("variable-of-option", line, better, variable=name, option=option)
                break


def _meetings(look: ScriptLook, launch: Launch, step: JobShape) -> None:
    """Report ports and names of a meeting that each node draws for itself, and ports that nobody sets."""
    layer = launch.inner
    if layer is None:
        return
    for name in _PORTS + _MEETING[2:4]:
        value = layer.call.options.get(name, "")
        port = re.fullmatch(r"(?:.*:)?\$\{?(\w+)\}?", value)
        if port and (":" in value or name in _PORTS) and not layer.later and set_nowhere(look, port[1]):
            better = f"export {port[1]}=29500\n{look.line(launch.command.line)}"
            look.add("port-unset", launch.command.line, better, variable=port[1])
            break
    if not launch.starter or (step.nodes or 1) < 2:
        return
    for name in _MEETING:
        value = layer.call.options.get(name, "")
        if layer.later and _DRAWN.search(value):
            common = "1" if name in _MEETING[:2] else "29500"
            line, corrected = swapped(look, launch.command, r"\\?\$\{?RANDOM\}?", common)
            look.add("drawn-apart", line, corrected, option=f"--{name}", nodes=step.nodes)
            return


def _node_ranks(look: ScriptLook, launch: Launch, step: JobShape) -> None:
    """Report the number of a node that is the same on all nodes."""
    layer, command = launch.inner, launch.command
    if layer is None or not launch.starter or command.loop or (step.nodes or 1) < 2:
        return
    rank = value_of(layer.call, "node_rank", "node-rank", "machine_rank") or ""
    if not rank.isdigit() or value_of(layer.call, "rdzv_backend", "rdzv-backend") not in (None, "static", ""):
        return
    option = r"--(?:node[_-]rank|machine_rank)"
    number = look.language.job.node_number
    raw, better = look.line(command.line), None
    written = re.search(rf"({option})[ =]\d+", raw)
    if written and number and "bash -c '" in raw:
        better = raw.replace(written[0], f"{written[1]}=${number}", 1)
    elif written and number and 'bash -c "' in raw:
        better = raw.replace(written[0], f"{written[1]}=\\${number}", 1)
    what = written[0] if written else f"--node_rank={rank}"
    look.add("rank-same", command.line, better, what=what, starter=launch.starter.launcher)


def _own_name(look: ScriptLook, launch: Launch, step: JobShape) -> None:
    """Report an address that each process sets to the name of its own node."""
    match = _OWN_NAME.search(launch.text)
    if match is None or launch.starter is None or (step.nodes or 1) < 2:
        return
    if re.search(r"\bif\b|\[|\bcase\b|&&", launch.text[: match.start()]):
        return  # the first process alone may do so
    raw = look.line(launch.command.line)
    written = re.search(r"MASTER_ADDR=[^\s;&'\"]+\)?", raw)
    first = look.language.job.first_node
    better = f"export MASTER_ADDR={first}\n{raw.replace(written[0], 'MASTER_ADDR', 1)}" if first and written else None
    what = match[0].replace(LITERAL, "$") + (")" if "(" in match[0] else "")
    look.add("meets-nobody", launch.command.line, better, what=what, nodes=step.nodes)


def _staged(look: ScriptLook, every: list[Launch], shape: JobShape) -> None:
    """Report files that are copied to the first node alone, before a step on several nodes."""
    if (shape.nodes or 1) < 2:
        return
    several = [launch for launch in every if launch.starter and (step_of(launch.starter, shape).nodes or 1) > 1]
    last = max((launch.command.line for launch in several), default=0)
    by_srun = any(launch.starter and launch.starter.launcher == "srun" for launch in several)
    text = "\n".join(look.source.lines)
    for command in look.shell.commands:
        program = command.words[0].rpartition("/")[2]
        folder = _OF_NODE.search(_destination(program, command.words[1:]))
        if folder is None or command.line >= last or command.background or command.loop:
            continue
        name = rf"\$\{{?{folder[1]}\b"
        if re.search(rf"\b{folder[1]}=", text):
            return  # it may be a folder that all nodes share
        spreads = rf"\b(?:srun|mpirun|mpiexec\S*|pdsh|clush|ssh|sbcast|pbsdsh|pjrsh)\b[^#]*?{name}"
        if any(re.search(spreads, found[0]) and re.search(r"\b(?:cp|rsync|tar|unzip|mkdir|sbcast|bash|sh)\b", found[0])
               for found in re.finditer(r"(?:[^\n]*\\\n)*[^\n]*", text)):  # fmt: skip
            return
        count = look.language.job.nodes
        plain = command.line == command.end and not re.search(r"[|;&]", look.line(command.line)) and count
        better = f"srun --ntasks={count} --ntasks-per-node=1 {command.raw.strip()}" if plain else None
        look.add("staged-once", command.line, better if by_srun else None,
                 command=command.raw.strip(), nodes=shape.nodes)  # fmt: skip
        return


def _destination(program: str, words: tuple[str, ...]) -> str:
    """Return the folder into which a command puts files; "" for none."""
    plain = [word for word in words if not word.startswith("-")]
    if program in ("cp", "rsync", "scp") and len(plain) > 1:
        return plain[-1]
    for option in _FOLDER_OPTIONS.get(program, ()):
        for at, word in enumerate(words):
            if word == option and at + 1 < len(words):
                return words[at + 1]
            if word.startswith(f"{option}="):
                return word
    return ""


def _blocking(look: ScriptLook) -> None:
    """Report a server in the foreground, behind which the script never goes on."""
    commands = look.shell.commands
    for at, command in enumerate(commands):
        words = command.words
        starts = any(words[here : here + 2] == ("ray", "start") for here in range(len(words)))
        if not starts or "--block" not in words or command.background or command.depth:
            continue
        if any(not later.depth and later.words[0] not in _IDLE for later in commands[at + 1 :]):
            last = look.line(command.end or command.line)
            look.add("never-goes-on", command.end or command.line, f"{last.rstrip()} &", command="ray start --block")
            return


def _programs_file(look: ScriptLook, launch: Launch) -> None:
    """Report `srun --multi-prog` in front of a program."""
    starter = launch.starter
    if starter is None or "multi-prog" not in starter.options or look.told(launch.command.line, "programs-file"):
        return
    word = next(iter(launch.layers[0].call.program), "")
    if _PROGRAM.match(word):
        line, better = swapped(look, launch.command, r"--multi-prog\s+", "")
        look.add("programs-file", line, better, word=word)


def _process_ranks(look: ScriptLook, every: list[Launch], shape: JobShape, values: ShellValues) -> None:
    """Report the rank of one process that all processes get."""
    for name in ("RANK", "LOCAL_RANK"):
        line = values.lines.get(name, 0)
        if name not in values.exported or not values.values.get(name, "").isdigit():
            continue
        for launch in every:
            step = step_of(launch.starter, shape) if launch.starter else shape
            python = launch.program and re.match(r"(?:\S*/)?python[\d.]*\Z", launch.program[0])
            several = (step.per_node if name == "LOCAL_RANK" else step.processes) or 1
            if launch.starter and launch.inner is None and python and several > 1 and launch.command.line > line:
                what = f"{name}={values.values[name]}"
                look.add("rank-same", line, None, what=what, starter=launch.starter.launcher)
                break
