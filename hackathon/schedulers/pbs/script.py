"""How PBS reads a job script, for the linter and the converter: by qsub(1B) and by tests on OpenPBS 23.06."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from hackathon.schedulers.scripts import (
    JobWords,
    Judgement,
    Reading,
    ScriptLanguage,
    ScriptRequest,
    Setting,
    clock,
    quoted,
    short_clock,
    table,
)
from hackathon.text.numbers import digits
from hackathon.text.units import format_walltime

OPTIONS = table("""
-a 1
-A 1
-c 1
-C 1
-e 1
-f 0
-h 0
-I 0
-j 1
-J 1
-k 1
-l 1
-m 1
-M 1
-N 1
-o 1
-p 1
-P 1
-q 1
-r 1
-R 1
-S 1
-u 1
-W 1
-v 1
-V 0
-X 0
-z 0
""")
TORQUE = frozenset(["-t", "-d", "-D", "-w", "-F", "-x", "-n", "-K", "-L", "-Z"])
"""Options of Torque, another PBS: a script for it is not a mistake."""
_FOREIGN = re.compile(r"-l (?:elapstim_req|cpunum_job|gpunum_job|h_rt|s_rt|rscgrp|elapse|nodes-per\w*|time)\Z")
_WALLTIME = re.compile(r"\d+(?::\d*){0,2}(?:\.\d+)?\Z", re.ASCII)
_SIZE = re.compile(r"\d+[kKmMgGtTpP]?[bBwW]?\Z", re.ASCII)
_COUNT = re.compile(r"\d+\Z", re.ASCII)
_SIZES = frozenset({"mem", "vmem", "pmem", "pvmem", "file", "accelerator_memory"})
_COUNTS = frozenset({"ncpus", "mpiprocs", "ompthreads", "ngpus", "naccelerators"})
_OF_CHUNKS = _COUNTS | {
    "mem",
    "vmem",
    "host",
    "arch",
    "vnode",
    "accelerator",
    "accelerator_memory",
    "accelerator_model",
}
"""Resources that belong into a select, where there is one."""
_OF_TORQUE = frozenset(
    {"procs", "gpus", "ppn", "feature", "naccesspolicy", "qos", "advres", "gres", "prologue", "epilogue"}
)
_ATTRIBUTES = frozenset({
    "block", "create_resv_from_job", "depend", "group_list", "max_run_subjobs", "pwd", "release_nodes_on_stageout",
    "run_count", "sandbox", "stagein", "stageout", "tolerate_node_failures", "umask", "cred", "x", "",
})  # fmt: skip
"""Attributes of `-W`; `x` is that of other versions."""
_JOB = r"\d+(?:\[\d*\])?(?:\.[\w.-]+)?(?:@[\w.:-]+)?"
_KIND = (
    r"(?:after|afterok|afternotok|afterany|before|beforeok|beforenotok|beforeany|runone|syncwith|synccount"
    r"|afterstart\w*|afterokarray|afteranyarray|afternotokarray|afterstartarray)"
)
_DEPENDENCIES = re.compile(rf"(?:on:\d+|{_KIND}(?::{_JOB})+)(?:,(?:on:\d+|{_KIND}(?::{_JOB})+))*\Z", re.ASCII)
_VALUES = {
    "-N": r"[\w.+-]{1,230}",
    "-S": r"/[^\s,]*(?:,/[^\s,]*)*",
    "-p": r"[+-]?\d+",
    "-k": r"n|(?=[a-z]*[oe])[oed]{1,3}",
    "-c": r"n|s|[cw](?:=\d+)?",
    "-a": r"(?:\d\d){0,4}(?:[01]\d|2[0-3])[0-5]\d(?:\.[0-5]\d)?",
    "-j": r"oe|eo|n",
    "-r": r"[yn]",
    "-m": r"n|j?[abe]+j?",
    "-W umask": r"\d+",
    "-W block": r"true",
    "-W depend": _DEPENDENCIES.pattern,
}
"""Option → regular expression of the values that are taken."""


def chunks(value: str) -> list[tuple[int, dict[str, str]]] | None:
    """Return (count, resource → value) of each part of `2:ncpus=4:mpiprocs=2+1:ncpus=1`; None for an invalid select."""
    parts = []
    for part in value.split("+"):
        first, *resources = part.split(":")
        count = digits(first)
        if count is None:
            count, resources = 1, [first, *resources]
        pairs = [resource.partition("=") for resource in resources]
        if not all(name and sign for name, sign, _ in pairs):
            return None
        parts.append((count, {name: text for name, _, text in pairs}))
    return parts


def _select(request: ScriptRequest, value: str) -> bool:
    """Read the numbers of a select of equal chunks; return whether all of it was understood."""
    parts = chunks(value)
    if not parts:
        return False
    request.nodes = sum(count for count, _ in parts)
    ranks = [(count, digits(names.get("mpiprocs", ""))) for count, names in parts]
    if all(rank is not None for _, rank in ranks):
        request.processes = sum(count * (rank or 0) for count, rank in ranks)
    names = parts[0][1]
    if len(parts) > 1 or any(not text.isascii() for text in names.values()):
        return False
    request.processes_per_node = digits(names.get("mpiprocs", ""))
    request.threads = digits(names.get("ompthreads", ""))
    request.cores = digits(names.get("ncpus", ""))
    request.gpus = digits(names.get("ngpus", ""))
    request.memory = _with_unit(names.get("mem"))
    return set(names) <= {"mpiprocs", "ompthreads", "ncpus", "ngpus", "mem"}


def _nodes(request: ScriptRequest, value: str) -> bool:
    """Read the numbers of Torque's `2:ppn=4:gpus=1`; return whether all of it was understood."""
    count, *words = value.split(":")
    if digits(count) is None or "+" in value:
        return False
    names = {name: text for name, __, text in (word.partition("=") for word in words)}
    request.nodes = digits(count)
    request.processes_per_node = digits(names.get("ppn", ""))
    request.gpus = digits(names.get("gpus", ""))
    return set(names) <= {"ppn", "gpus"}


def _with_unit(value: str | None) -> str | None:
    """Return a size with its unit: a plain number counts bytes. None for words, which have no fixed size."""
    if value is None or not _SIZE.match(value) or value[-1:] in "wW":
        return None
    return f"{value}b" if value.isdecimal() else value


def read(settings: Iterable[Setting]) -> ScriptRequest:
    """Return the request of a header: the first value of a resource counts, the last of other options."""
    request = ScriptRequest()
    keys: set[str] = set()
    alone: list[Setting] = []
    """Resources of the whole job: those of a node if it has one."""
    for setting in settings:
        value, taken = setting.value, True
        if setting.key.startswith("-l ") and setting.key in keys:
            continue
        keys.add(setting.key)
        match setting.key:
            case "-N":
                request.name = value
            case "-q":
                request.queue = value
            case "-P" | "-W group_list":
                request.account = value
            case "-A" if not {"-P", "-W group_list"} & keys:
                request.account = value
            case "-l select":
                taken = _select(request, value)
            case "-l nodes":
                taken = _nodes(request, value)
            case "-l walltime" if _seconds(value):
                request.walltime = _seconds(value)
            case "-l place":
                parts = value.split(":")
                request.exclusive = "excl" in parts or request.exclusive
                request.placement = next((part for part in parts if part in ("scatter", "free", "pack")), None)
                taken = set(parts) <= {"scatter", "free", "pack", "excl"}
            case "-o" | "-e" if "^" not in value.replace("^array_index^", "") and "%" not in value:
                setattr(request, "output" if setting.key == "-o" else "error", value.replace("^array_index^", "%a"))
            case "-l ncpus" if digits(value) and "-l select" not in keys:
                request.cores, alone = digits(value), [*alone, setting]
            case "-l ngpus" | "-l gpus" if digits(value) is not None and "-l select" not in keys:
                request.gpus, alone = digits(value), [*alone, setting]
            case "-l mem" if _with_unit(value) and "-l select" not in keys:
                request.memory, alone = _with_unit(value), [*alone, setting]
            case "-l procs" if digits(value):
                request.processes = digits(value)
            case "-d":
                request.directory = value
            case "-t" if re.fullmatch(r"\d+-\d+(?:%\d+)?", value):
                request.array = value
            case "-j":
                request.merge = value in ("oe", "eo")
            case "-J" if re.fullmatch(r"\d+-\d+(?::\d+)?(?:%\d+)?", value):
                request.array = value
            case "-W depend" if match := re.fullmatch(r"after(ok|any):([\w.:\[\]]+)", value):
                setattr(request, f"after_{match[1]}", match[2])
            case "-M":
                request.mail_user = value
            case "-m" if set(value) <= set("abe"):
                names = {"a": "fail", "b": "begin", "e": "end"}
                request.mail_on = frozenset(names[letter] for letter in value)
            case "-m" if value == "n":
                request.mail_on = frozenset()
            case "-r" if value in ("y", "n"):
                request.rerun = value == "y"
            case "-v":
                # the last one counts, so no field contains an earlier one
                request.taken -= {other for other in request.taken if other.key == "-v"}
                request.variables = value
            case "-V":
                request.inherit = True
            case _:
                taken = False
        if taken:
            request.taken.add(setting)
    if alone and ("-l select" in keys or (request.nodes or 1) > 1):
        request.taken -= set(alone)
        if "-l select" not in keys:
            request.cores = request.memory = None
    return request


def _seconds(value: str) -> int | None:
    return digits(value) or clock(value)


def write(request: ScriptRequest, dialect: Mapping[str, object]) -> tuple[list[str], list[str]]:
    """Return the options for the same request, with the resources that the profile's dialect names."""
    ranks = request.per_node()
    if ranks is None and request.nodes is None:
        ranks = request.processes
    cores = request.cores or (request.threads * (ranks or 1) if request.threads else None)
    # Slurm's `--mem=0` is all of a node's memory; PBS has no equivalent, and 0mb would be no memory
    all_memory = re.fullmatch(r"0+[A-Za-z]*", request.memory or "") is not None
    names = {
        "ncpus": cores if dialect.get("cpu_request") != "none" else None,
        "mpiprocs": ranks,
        "ompthreads": request.threads,
        "ngpus": request.gpus if dialect.get("gpu_request") != "none" else None,
        "mem": request.memory and not all_memory and _memory(request.memory),
    }
    chunk = "".join(f":{name}={value}" for name, value in names.items() if value)
    select = f"{request.nodes or 1}{chunk}" if request.nodes or chunk else None
    group = {"group_list": f"-W group_list={request.account}", "project": f"-P {request.account}",
             "account": f"-A {request.account}"}  # fmt: skip
    depend = ",".join(
        f"after{kind}:{ids}" for kind, ids in (("ok", request.after_ok), ("any", request.after_any)) if ids
    )
    mail = {"fail": "a", "begin": "b", "end": "e"}
    letters = "".join(sorted(mail[event] for event in request.mail_on or ()))
    lines = [
        request.name and f"-N {re.sub(r'[^!-.0-Z^-~]', '_', request.name)}",
        request.queue and f"-q {request.queue}",
        select and f"-l select={select}",
        _place(request, dialect, select is not None),
        request.walltime and f"-l walltime={format_walltime(request.walltime)}",
        request.account and group.get(str(dialect.get("group", "project"))),
        request.output and f"-o {request.output.replace('%a', '^array_index^')}",
        "-j oe" if request.merge or (request.merge is None and not request.error) else None,
        request.error and not request.merge and f"-e {request.error.replace('%a', '^array_index^')}",
        request.array and f"-J {request.array}",
        depend and f"-W depend={depend}",
        request.mail_user and f"-M {request.mail_user}",
        f"-m {letters or 'n'}" if request.mail_on is not None else None,
        f"-r {'y' if request.rerun else 'n'}" if request.rerun is not None else None,
        request.variables and f"-v {quoted(request.variables)}",
        "-V" if request.inherit else None,
    ]
    # omit paths with placeholders that PBS does not have; all other lines stay, whatever is lost
    paths = [name for name in ("output", "error") if "%" in (getattr(request, name) or "").replace("%a", "")]
    lost = paths + (["memory"] if all_memory else [])
    # a select of equal parts needs equally many ranks on all nodes
    lost += ["processes"] if request.processes not in (None, (ranks or 0) * (request.nodes or 1)) else []
    written = [str(line) for line in lines if line]
    return [line for line in written if not any(line.startswith(f"-{name[0]} ") for name in paths)], lost


def _place(request: ScriptRequest, dialect: Mapping[str, object], has_select: bool) -> str | None:
    if request.exclusive:
        return f"-l place={request.placement or 'scatter'}:excl" if has_select else None
    place = request.placement or dialect.get("place")
    return f"-l place={place}" if place and has_select else None


def _memory(text: str) -> str:
    return text.lower() if text[-1:] in "bB" else f"{text.lower()}b" if not text.isdigit() else f"{text}mb"


def judge(settings: list[Setting]) -> Iterator[Judgement]:
    """Yield what PBS refuses or misunderstands."""
    by_key = {setting.key: setting for setting in settings}
    torque = "-l nodes" in by_key
    for option in settings:
        value, bad = option.value, False
        better: tuple[str, str] | None = None
        pattern = _VALUES.get(option.key)
        if pattern is not None:
            bad = not re.fullmatch(pattern, value, re.ASCII)
        match option.key:
            case "-l walltime":
                bad = not _WALLTIME.match(value)
                turned = re.fullmatch(r"(\d{1,9})\s*([dhm])\w*", value)
                if bad and turned:
                    seconds = int(turned[1]) * {"d": 86400, "h": 3600, "m": 60}[turned[2]]
                    better = value, format_walltime(seconds)
                yield from [] if bad else short_clock(option, clock(value))
                if (60 if digits(value) is None else digits(value) or 0) < 60:
                    turn = (value, f"{value}:00:00") if digits(value) else None
                    yield Judgement("bare-seconds", option.line, {"value": value}, turn)
            case "-l select":
                yield from _chunk_values(option)
            case "-j":
                better = (value, "oe") if value == "o" else None
            case "-p":
                bad |= not bad and not -1024 <= int(value) <= 1023
            case "-m":
                bad |= "j" in value and "-J" not in by_key
            case "-I":
                yield Judgement("interactive-option", option.line, {"option": "-I"})
            case "-J":
                match = re.fullmatch(r"(\d{1,9})-(\d{1,9})(?::\d+)?(?:%\d+)?", value)
                bad = not match or int(match[1]) >= int(match[2])
                if not bad and by_key.get("-r", option).value == "n":
                    yield Judgement("array-not-rerunnable", by_key["-r"].line, better=("-r n", "-r y"))
            case "-l place":
                bad = not re.fullmatch(r"(?i:free|pack|scatter|vscatter|excl|exclhost|shared?|group=[\w.-]+)"
                                       r"(?::(?i:excl|exclhost|shared|group=[\w.-]+))*", value)  # fmt: skip
                if "-l select" not in by_key:
                    yield Judgement("place-without-select", option.line)
            case "-l nodes":
                bad = ":gpus=" in value
                if "-l select" in by_key:
                    yield Judgement("resource-beside-select", option.line, {"option": "-l nodes"})
            case "-l nodect" | "-l nchunk":
                yield Judgement("read-only-resource", option.line, {"name": option.key[3:]})
            case "-l max_walltime" if "-l min_walltime" not in by_key:
                yield Judgement("needs-other", option.line, {"option": option.key, "other": "-l min_walltime"})
            case "-v":
                bad = _splits(value)
                if by_key["-v"] is not option:
                    yield Judgement("variables-replaced", option.line, {"value": value, "other": by_key["-v"].line})
            case "-o" | "-e" if match := re.search(r"%[jxAaN]\b", value):
                yield Judgement("placeholder-literal", option.line, {"value": match[0]})
            case _ if _FOREIGN.match(option.key):
                yield Judgement("unknown-resource", option.line, {"name": option.key[3:]}, _like_pbs(option))
            case key if key.startswith("-W ") and key[3:] not in _ATTRIBUTES:
                yield Judgement("unknown-attribute", option.line, {"name": key[3:]})
            case key if key.startswith("-l "):
                yield from _resource(option, by_key, torque)
        if bad:
            yield Judgement("bad-value", option.line, {"option": option.key, "value": value}, better)
        if option.key in ("-o", "-e") and value.startswith("~"):
            yield Judgement("output-tilde", option.line, {"path": value}, severity="warning", effect="changed")


def _chunk_values(option: Setting) -> Iterator[Judgement]:
    """Yield what PBS refuses in a select."""
    parts = chunks(option.value)
    wrong = Judgement("bad-value", option.line, {"option": option.key, "value": option.value})
    if parts is None or any(not count for count, _ in parts) or _twice(option.value):
        yield wrong
        return
    pairs = [pair for _, names in parts for pair in names.items()]
    if any(
        (name in _COUNTS and not _COUNT.match(value)) or (name in _SIZES and not _SIZE.match(value))
        for name, value in pairs
    ):
        yield wrong
    for name, value in pairs:
        if name in _OF_TORQUE:
            turned = {"ppn": "mpiprocs", "gpus": "ngpus"}.get(name)
            yield Judgement("unknown-resource", option.line, {"name": name},
                          (f":{name}=", f":{turned}=") if turned else None)  # fmt: skip
        yield from _bytes(option, name, value)


def _twice(select: str) -> bool:
    """Return whether a chunk names a resource twice."""
    for part in select.split("+"):
        names = [resource.partition("=")[0] for resource in part.split(":") if "=" in resource]
        if len(names) != len(set(names)):
            return True
    return False


def _resource(option: Setting, by_key: Mapping[str, Setting], torque: bool) -> Iterator[Judgement]:
    """Yield what PBS refuses in a resource of the whole job."""
    name, value = option.key[3:], option.value
    if name in _OF_CHUNKS and ("-l select" in by_key or "-l place" in by_key):
        yield Judgement("resource-beside-select", option.line, {"option": option.key})
    if (name in _COUNTS and not _COUNT.match(value)) or (name in _SIZES and not _SIZE.match(value)):
        yield Judgement("bad-value", option.line, {"option": option.key, "value": value})
    elif name in _OF_TORQUE and not torque:
        yield Judgement("unknown-resource", option.line, {"name": name})
    yield from _bytes(option, name, value)


def _bytes(option: Setting, name: str, value: str) -> Iterator[Judgement]:
    """Yield a judgement on a size without unit, which is a number of bytes."""
    if name in _SIZES and value.isdecimal() and 0 < (digits(value) or 0) < 1_000_000:
        turned = f"{name}={value}{'gb' if int(value) < 2000 else 'mb'}"
        yield Judgement("bare-bytes", option.line, {"value": f"{name}={value}"}, (f"{name}={value}", turned))


def _splits(value: str) -> bool:
    """Return whether a list of variables has a piece without a name: `A="x,y"` sends A and y."""
    pieces = value.split(",")
    names = [piece.partition("=")[0].strip() for piece in pieces]
    if any(name and not re.fullmatch(r"[A-Za-z_][\w.()%]*", name) for name in names):
        return True
    return any("=" not in piece and piece.islower() and not piece.endswith("_proxy") and "=" in before
               for before, piece in itertools.pairwise(pieces))  # fmt: skip


def _like_pbs(setting: Setting) -> tuple[str, str] | None:
    """Return the PBS form of another scheduler's option."""
    name = setting.key[3:]
    is_time = name in ("elapstim_req", "h_rt", "elapse", "time")
    return (f"{name}={setting.value}", f"walltime={setting.value}") if is_time else None


_LANGUAGE = ScriptLanguage(
    name="pbs",
    title="PBS",
    prefix="#PBS",
    options=OPTIONS,
    read=read,
    write=write,
    judge=judge,
    lists=frozenset({"-l", "-W"}),
    starts_at_home=True,
    stays_if=frozenset({"-W sandbox"}),
    job=JobWords(
        hosts=r"(?:cat|sort|uniq)\b[^|]*PBS_NODEFILE(?!.*\|\s*(?:head|sed|awk|wc|grep))",
        node_counts=r"PBS_NODEFILE.*(?:uniq|sort\s+-u).*\|\s*wc\s+-l|(?:uniq|sort\s+-u)\s.*PBS_NODEFILE.*\|\s*wc\s+-l",
        first_node='$(head -n 1 "$PBS_NODEFILE")',
        array="-J",
        array_task="PBS_ARRAY_INDEX",
        slots_by_chunk=True,
    ),
    submit_folder="PBS_O_WORKDIR",
    variables=r"PBS_[A-Z_]+",
    meanings={
        "PBS_JOBID": "id",
        "PBS_JOBNAME": "name",
        "PBS_O_WORKDIR": "folder",
        "PBS_O_HOST": "submit host",
        "PBS_QUEUE": "queue",
        "PBS_ARRAY_INDEX": "task",
        "PBS_ARRAY_ID": "id of the array",
        "PBS_NODEFILE": "hosts",
    },
    shell_option="-S",
    passes_environment="-V",
    group_options={"group_list": "-W group_list", "project": "-P", "account": "-A"},
    reservations=r"[RSM]\d+(?:\.\S+)?",
    reading=Reading(
        behind_commands="ignored",
        indented="read",
        trailing_comment="refused",
        loose_words="refused",
        spaced_equals="refused",
        unknown_options="refused",
        carriage_returns="refused",
        colon_is_no_command=True,
        continued=True,
        first_wins=r"-l .*",
        last_wins=r"-[NoeqjPAMSmkpra]|-W (?:umask|group_list|block|sandbox)",
        literal=frozenset({"-N", "-o", "-e", "-v"}),
        mark_hides=True,
        hash_values=frozenset({"-C"}),
    ),
    plugin_options="(?:" + "|".join(sorted(TORQUE)) + r")\Z",
    relatives_differ=lambda settings: all(setting.key != "-l nodes" for setting in settings),
    commands={r"srun\b": "no-such-launcher", r"pbsdsh\b": "hides-failures"},
    whole_nodes="select={count}",
    signs=r"-l\s*(?:select|nodes|walltime|place|ncpus|mem)\b|-W\s|-j\s*(?:oe|eo)\b|-P\s|-V\b|mpiprocs|-J\s",
)  # fmt: skip

LANGUAGE = replace(
    _LANGUAGE,
    relatives=replace(
        _LANGUAGE,
        options={**OPTIONS, "-t": ("-t", 1), "-d": ("-d", 1)},
        meanings={
            **_LANGUAGE.meanings,
            "PBS_ARRAYID": "task",
            "PBS_NUM_NODES": "nodes",
            "PBS_NP": "processes",
            "PBS_NUM_PPN": "processes of a node",
        },
    ),
)
"""With Torque, another PBS, as its relative."""
