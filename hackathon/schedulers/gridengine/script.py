"""How Grid Engine reads a job script, for the linter and the converter: by 250 scripts on Grid Engine 8.1.9.

Univa's and Altair's Grid Engine know more options and forms of times: scripts for machines with resource types, which
have one of these, are not judged by 8.1.9 there.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from hackathon.schedulers.scripts import (
    Judgement,
    Reading,
    ScriptLanguage,
    ScriptRequest,
    Setting,
    clock,
    quoted,
    table,
)
from hackathon.text.messages import N_
from hackathon.text.numbers import digits
from hackathon.text.units import format_walltime

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster

OPTIONS = table("""
-@ 1
-a 1
-A 1
-ac 1
-adds 3
-ar 1
-b 1
-bgio 1
-binding 1
-c 1
-C 1
-ckpt 1
-clear 0
-clearp 2
-clears 3
-cwd 0
-dc 1
-dl 1
-e 1
-h 0
-hard 0
-hold_jid 1
-hold_jid_ad 1
-i 1
-j 1
-jc 1
-js 1
-jsv 1
-l 1
-m 1
-M 1
-masterl 1
-masterq 1
-mbind 1
-mods 3
-N 1
-noshell 0
-notify 0
-now 1
-o 1
-ot 1
-P 1
-p 1
-par 1
-pe 2
-pty 1
-q 1
-R 1
-r 1
-rou 1
-S 1
-sc 1
-shell 1
-si 1
-soft 0
-sync 1
-t 1
-tc 1
-tcon 1
-terse 0
-umask 1
-v 1
-V 0
-verify 0
-w 1
-wd 1
-when 1
-xd 1
""")
_TIME = re.compile(r"\d+\Z|\d*:\d*:\d*\Z|(?i:infinity)\Z", re.ASCII)
_NUMBER = re.compile(r"([+-]?(?:0x[0-9a-f]{1,16}|(?:\d+(?:\.\d*)?|\.\d+)(?:e\d+)?))([kKmMgGtT]?)\Z", re.ASCII)
"""Numbers that are also accepted as seconds: `10m` is ten million (`K`, `M`, `G`, `T` are powers of 1024)."""
_POWERS = {letter: base**power for power, pair in enumerate(("kK", "mM", "gG", "tT"), 1)
           for letter, base in zip(pair, (1000, 1024), strict=True)}  # fmt: skip
_MEMORY = re.compile(r"-l (?:mem|virtual|swap)_(?:free|total|used|rsvd)\Z|-l [sh]_(?:vmem|rss|data|stack|core|fsize)\Z")
_TASKS = r"0*[1-9]\d*(?:-\d*)?(?::\d+)?"
_YES = r"(?i:y|yes|n|no)"
_VALUES = {
    "-N": r"(?!\d)(?:(?![/:@*?\\])[!-~])+",
    **dict.fromkeys(("-j", "-r", "-R", "-b", "-now", "-sync", "-shell"), _YES),
    "-m": r"[abens]+",
    "-t": rf"{_TASKS}(?:,{_TASKS})*",
    "-tc": r"\d+",
    "-pe": r"\S+ (?!0+\Z)[\d,-]*\d[\d,-]*",
    "-p": r"0|-0*(?:10[01]\d|102[0-3]|\d{1,3})",  # positive values are for administrators
    "-a": r"(?:\d\d){0,2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])[0-5]\d(?:\.[0-5]\d)?",
    "-w": r"[ewnpv]",
}
"""Option → regular expression of the values that are taken."""


def read(
    settings: Iterable[Setting], types: Mapping[str, int] | None = None, dialect: Mapping[str, object] | None = None
) -> ScriptRequest:
    """Return what a header asks for; the last of several counts, queues and variables add up.

    `types`: resource type of which a job may have several nodes → GPUs of each. `dialect`: that of a machine whose jobs
    request GPUs.
    """
    gpus = None
    request, soft = ScriptRequest(), False
    for setting in settings:
        value, taken = setting.value, True
        soft = setting.key == "-soft" or (soft and setting.key != "-hard")
        match setting.key:
            case key if soft and key.partition(" ")[0] in ("-l", "-q"):
                taken = False  # a soft request
            case "-N":
                request.name = value
            case "-q":
                request.queue = ",".join(filter(None, (request.queue, value)))
            case "-P" | "-g":
                request.account = value
            case "-l h_rt" if _seconds(value):
                request.walltime = _seconds(value)
            case "-pe" if (count := digits(value.split()[-1] if value else "")) is not None:
                request.processes = count
                request.one_node = _ONE_NODE.search(value.split()[0]) is not None
            case "-o" | "-e" if "$" not in _PATH_VARIABLE.sub("", value) and "%" not in value:
                path = _PATH_VARIABLE.sub(lambda match: _PATH_VARIABLES[match[0]], value)
                setattr(request, "output" if setting.key == "-o" else "error", path)
            case "-j":
                request.merge = value.lower() in ("y", "yes")
            case "-cwd":
                request.directory = "."
            case "-wd":
                request.directory = value
            case "-t" if parts := re.fullmatch(r"(\d{1,9})-(\d{1,9})((?::\d+)?)", value):
                first, last = sorted((int(parts[1]), int(parts[2])))
                request.array = f"{first}-{last}{parts[3]}{request.array or ''}"
            case "-tc" if digits(value):
                request.array = f"{request.array or ''}%{value}"
            case "-hold_jid" if re.fullmatch(r"\d+(?:,\d+)*", value):
                request.after_any = value.replace(",", ":")
            case "-M":
                request.mail_user = value
            case "-m" if set(value) <= set("abens"):
                names = {"a": "fail", "b": "begin", "e": "end"}
                request.mail_on = frozenset(names[letter] for letter in value if letter in names)
            case "-r":
                request.rerun = value.lower() in ("y", "yes")
            case "-v":
                request.variables = ",".join(filter(None, (request.variables, value)))
            case "-V":
                request.inherit = True
            case key if dialect and key == f"-l {dialect.get('gpu_resource', 'gpu')}" and digits(value):
                gpus = digits(value)
            case _ if types and setting.key[3:] in types:
                request.nodes, request.gpus = digits(value) or 1, types[setting.key[3:]]
            case _:
                taken = False
        if taken:
            request.taken.add(setting)
    if gpus and dialect and (slots := _slots_of_node(request, dialect)):
        request.gpus = gpus * (slots if dialect.get("gpu_request") == "slot" else 1)
    if request.array:  # `$JOB_ID` is the same in all tasks
        request.output, request.error = (path and path.replace("%j", "%A") for path in (request.output, request.error))
    return request


def _slots_of_node(request: ScriptRequest, dialect: Mapping[str, object]) -> int | None:
    """Return the slots that a job has on a node; None if that is not known."""
    slots = request.processes or 1
    per_node = dialect.get("slots_per_node")
    if slots == 1 or request.one_node:
        return slots
    return min(slots, per_node) if isinstance(per_node, int) else None


def _seconds(value: str) -> int | None:
    return digits(value) or clock(value)


def _odd_seconds(value: str) -> str | None:
    """Return the seconds that Grid Engine reads from a text that is not a time, None when it refuses the text."""
    match = _NUMBER.match(value)
    if not match:
        return None
    written = match[1]
    seconds = int(written, 16) if "x" in written else float(written)
    return f"{seconds * _POWERS.get(match[2], 1):.0f}"


def write(request: ScriptRequest, dialect: Mapping[str, object]) -> tuple[list[str], list[str]]:
    """Return the options for the same request; nodes by the profile's resource type or slots, else slots.

    A group that only the submission command can name is lost.
    """
    kind = request.queue if dialect.get("queue") == "resource" else None
    slots, slots_per_node = request.total(), dialect.get("slots_per_node")
    if isinstance(slots_per_node, int) and request.nodes:
        slots = request.nodes * slots_per_node
    gpus = None if kind else _gpus(request, dialect, slots)
    by_command = dialect.get("group") == "g"
    array, _, at_once = (request.array or "").partition("%")
    output, error = (_path(path or "") for path in (request.output, request.error))
    variables = request.variables
    mail = {"fail": "a", "begin": "b", "end": "e"}
    letters = "".join(sorted(mail[event] for event in request.mail_on or ()))
    lines = [
        request.name and "-N " + re.sub(r"^(?=\d)", "j", re.sub(r"[/:@\\*?\s]", "_", request.name)),
        request.queue and not kind and f"-q {request.queue}",
        request.account and not by_command and f"-P {request.account}",
        f"-l {kind}={request.nodes or 1}" if kind else None,
        f"-pe {dialect.get('pe') or 'mpi'} {slots}" if slots and slots > 1 and not kind else None,
        gpus and f"-l {dialect.get('gpu_resource', 'gpu')}={gpus}",
        request.walltime and f"-l h_rt={format_walltime(request.walltime)}",
        "-cwd" if request.directory in (None, ".") else f"-wd {request.directory}",
        output and f"-o {output}",
        "-j y" if request.merge or (request.merge is None and not request.error) else None,
        error and not request.merge and f"-e {error}",
        array and not array.startswith("0") and f"-t {array}",
        array and not array.startswith("0") and at_once and f"-tc {at_once}",
        request.after_any and f"-hold_jid {request.after_any.replace(':', ',')}",
        request.mail_user and f"-M {request.mail_user}",
        f"-m {letters or 'n'}" if request.mail_on is not None else None,
        request.rerun is not None and f"-r {'y' if request.rerun else 'n'}",
        variables and f"-v {quoted(variables)}",
        request.inherit and "-V",
    ]  # fmt: skip
    lost = [name for name in ("gpus", "threads", "memory", "exclusive", "after_ok") if getattr(request, name)]
    if gpus:
        lost.remove("gpus")
    lost += ["array"] if array.startswith("0") else []
    lost += ["nodes"] if (request.nodes or 1) > 1 and not kind and not slots_per_node else []
    lost += ["account"] if by_command and request.account else []
    if kind:
        lost = [name for name in lost if name not in ("gpus", "threads", "exclusive")]
    return [str(line) for line in lines if line], lost


def _gpus(request: ScriptRequest, dialect: Mapping[str, object], slots: int | None) -> int | None:
    """Return N of `-l gpu=N` for the request's GPUs of a node; None if it has none or no number requests them."""
    if not request.gpus or dialect.get("gpu_request", "none") == "none":
        return None
    if dialect["gpu_request"] != "slot":
        return request.gpus
    of_node = (slots or 1) // (request.nodes or 1)
    return request.gpus // of_node if of_node and request.gpus % of_node == 0 else None


_ONE_NODE = re.compile(r"(?i)smp|shm|share|open_?mp|omp(?!i)|thread|multicore")
_PATH_VARIABLES = {"$JOB_ID": "%j", "$JOB_NAME": "%x", "$TASK_ID": "%a"}
_PATH_VARIABLE = re.compile(r"\$(?:JOB_ID|JOB_NAME|TASK_ID)")
"""They end with their last letter, whatever follows: `$JOB_ID_$TASK_ID`."""


def _path(path: str) -> str:
    """Return a path with Grid Engine's words for its placeholders: all tasks of an array have the array's id."""
    for name, placeholder in (*_PATH_VARIABLES.items(), ("$JOB_ID", "%A")):
        path = path.replace(placeholder, name)
    return path


def judge(settings: list[Setting], newer: bool = False) -> Iterator[Judgement]:
    """Yield what Grid Engine refuses, and what means something else than it seems to.

    `newer`: it is a relative of 8.1.9 that takes more forms of times.
    """
    for option in settings:
        value = option.value
        bad, better = False, None
        match option.key:
            case "-l h_rt" | "-l s_rt" if not (_TIME.match(value) or (newer and re.fullmatch(r"[\d:]+", value))):
                turned = re.fullmatch(r"(\d{1,9})\s*([dhms])\w*", value)
                units = {"d": 86400, "h": 3600, "m": 60, "s": 1}
                better = (value, format_walltime(int(turned[1]) * units[turned[2]])) if turned else None
                seconds = _odd_seconds(value)
                bad = seconds is None
                if seconds is not None:
                    yield Judgement("read-as", option.line, {"value": f"{option.key[3:]}={value}", "seconds": seconds},
                                    better)  # fmt: skip
            case "-j":
                bad, better = not re.fullmatch(_YES, value), (value, "y")
            case "-l slots" | "-l s":
                bad = True
            case key if _MEMORY.match(key):
                bad = bool(value) and not _NUMBER.match(value)
                better = (value, value[:-1].upper()) if re.fullmatch(r"(?i)\d+[kmgt]b", value) else None
            case key if key in _VALUES:
                bad = not re.fullmatch(_VALUES[key], value)
            case "-l walltime" | "-l select" | "-l mpiprocs" | "-l nodes" | "-l elapstim_req" | "-l rscgrp":
                turned_time = (f"{option.key[3:]}={value}", f"h_rt={value}")
                yield Judgement("unknown-resource", option.line, {"name": option.key[3:]},
                              turned_time if option.key in ("-l walltime", "-l elapstim_req") else None)  # fmt: skip
        if bad:
            yield Judgement("bad-value", option.line, {"option": option.key, "value": value}, better)


def _of_machine(language: ScriptLanguage, machine: "Cluster") -> ScriptLanguage:
    """Return the language of a machine with a resource for GPUs, or with resource types, whose number counts nodes."""
    if machine.dialect.get("queue") != "resource":
        counts = machine.dialect.get("gpu_request", "none") != "none"
        return replace(language, read=functools.partial(read, dialect=machine.dialect)) if counts else language
    gpus = machine.node.gpus if isinstance(machine.node.gpus, int) else 0
    types = {name: queue.processes_per_node or gpus for name, queue in machine.queues.items() if queue.nodes != 1}
    return replace(
        language,
        read=functools.partial(read, types=types),
        judge=functools.partial(_judge_types, machine=machine),
    )


def _judge_types(settings: list[Setting], machine: "Cluster") -> Iterator[Judgement]:
    """Yield what such a machine refuses: what is over the limits of a type, and a job without a time limit."""
    yield from judge(settings, newer=True)
    times = [setting for setting in settings if setting.key == "-l h_rt"]
    for option in settings:
        name, count = option.key[3:], digits(option.value)
        queue = machine.queues.get(name) if option.key.startswith("-l ") else None
        if queue is None:
            continue
        site = {"site": machine.name}
        slots = next((setting for setting in settings if setting.key == "-pe"), None)
        if slots is not None:
            yield Judgement("slots-beside-type", slots.line, site)
        if queue.nodes and (count or 0) > queue.nodes:
            limit = f"{name}={queue.nodes}"
            yield Judgement("site-limit", option.line, {"what": f"{name}={count}", "limit": limit, **site})
        if not times and "walltime-needed" in machine.scripts.rules:
            yield Judgement("walltime-needed", option.line, site)
        longest = queue.longest(count or 1)
        for time in times:
            if longest and (_seconds(time.value) or 0) > longest:
                limit = f"h_rt={format_walltime(longest)}"
                yield Judgement("site-limit", time.line, {"what": f"h_rt={time.value}", "limit": limit, **site})


LANGUAGE = ScriptLanguage(
    name="gridengine",
    title="Grid Engine",
    prefix="#$",
    options=OPTIONS,
    read=read,
    write=write,
    judge=judge,
    style="words",
    lists=frozenset({"-l"}),
    several_queues=True,
    starts_at_home=True,
    site_may_stay=True,
    stays_if=frozenset({"-cwd", "-wd"}),
    submit_folder="SGE_O_WORKDIR",
    first_task=1,
    shared_id=True,
    meanings={
        "JOB_ID": "id",
        "JOB_NAME": "name",
        "SGE_O_WORKDIR": "folder",
        "SGE_O_HOST": "submit host",
        "QUEUE": "queue",
        "SGE_TASK_ID": "task",
        "SGE_TASK_FIRST": "first task",
        "SGE_TASK_LAST": "last task",
        "SGE_TASK_STEPSIZE": "step of tasks",
        "NSLOTS": "processes",
        "NHOSTS": "nodes",
    },
    variables=r"SGE_(?:O_)?[A-Z_]+|PE_HOSTFILE|NSLOTS|NHOSTS",
    shell_option="-S",
    passes_environment="-V",
    exit_codes={
        99: N_("Grid Engine runs the job again, without end"),
        100: N_("Grid Engine keeps the job in the error state (Eqw)"),
    },
    commands={
        r"srun\b": "no-such-launcher",
        r"qsub\b": "submits-in-job",
        r"mpi(?:run|exec)\b.*(?:hostfile|machinefile|-f)[ =]\"?\$\{?PE_HOSTFILE": "hosts-given",
    },
    reading=Reading(
        behind_commands="read",
        indented="ignored",
        trailing_comment="read",
        comment_in_word=True,
        open_quotes="read",
        loose_words="refused",
        spaced_equals="refused",
        unknown_options="refused",
        carriage_returns="broken",
        whole_script=True,
        opens_output=True,
        literal=frozenset({"-v"}),
        last_wins=r"-(?:N|o|pe|l .*)",
    ),
    plugin_options=r"-(?!(?:help|display|inherit|nostdin|version|cwd.*|depend)\Z)[a-z]{4,}\Z",
    of_machine=_of_machine,
)
