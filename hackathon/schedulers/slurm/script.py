"""How Slurm reads a job script, for the linter and the converter: by sbatch(1) and by tests on Slurm 22.05.8."""

import re
from collections.abc import Iterable, Iterator, Mapping

from hackathon.schedulers.scripts import (
    JobWords,
    Judgement,
    Reading,
    ScriptLanguage,
    ScriptRequest,
    Setting,
    quoted,
    short_clock,
    table,
)
from hackathon.text.numbers import digits
from hackathon.text.units import format_walltime

OPTIONS = table("""
--account -A 1
--acctg-freq 1
--array -a 1
--batch 1
--bb 1
--bbf 1
--begin -b 1
--chdir -D 1
--cluster-constraint 1
--clusters -M 1
--comment 1
--consolidate-segments 0
--constraint -C 1
--container 1
--container-id 1
--contiguous 0
--core-spec -S 1
--cores-per-socket 1
--cpu-freq 1
--cpus-per-gpu 1
--cpus-per-task -c 1
--deadline 1
--delay-boot 1
--dependency -d 1
--distribution -m 1
--error -e 1
--exclude -x 1
--exclusive -1
--export 1
--export-file 1
--external 0
--extra 1
--extra-node-info -B 1
--get-user-env -1
--gid 1
--gpu-bind 1
--gpu-freq 1
--gpus -G 1
--gpus-per-node 1
--gpus-per-socket 1
--gpus-per-task 1
--gres 1
--gres-flags 1
--help -h 0
--hint 1
--hold -H 0
--ignore-pbs 0
--input -i 1
--job-name -J 1
--kill-on-invalid-dep 1
--licenses -L 1
--mail-type 1
--mail-user 1
--mcs-label 1
--mem 1
--mem-bind 1
--mem-per-cpu 1
--mem-per-gpu 1
--mincpus 1
--network 1
--nice -1
--no-kill -k -1
--no-requeue 0
--nodefile -F 1
--nodelist -w 1
--nodes -N 1
--ntasks -n 1
--ntasks-per-core 1
--ntasks-per-gpu 1
--ntasks-per-node --tasks-per-node 1
--ntasks-per-socket 1
--open-mode 1
--oom-kill-step -1
--output -o 1
--overcommit -O 0
--oversubscribe -s 0
--parsable 0
--partition -p 1
--power 1
--prefer 1
--priority 1
--profile 1
--propagate -1
--qos -q 1
--quiet -Q 0
--reboot 0
--requeue 0
--reservation 1
--resv-ports -1
--segment 1
--signal 1
--sockets-per-node 1
--spread-job 0
--stepmgr 0
--switches 1
--test-only 0
--thread-spec 1
--threads-per-core 1
--time -t 1
--time-min 1
--tmp 1
--tres-bind 1
--tres-per-task 1
--uid 1
--usage 0
--use-min-nodes 0
--verbose -v 0
--version -V 0
--wait -W 0
--wait-all-nodes 1
--wckey 1
--wrap 1
--x11 -1
""")
_PLUGIN = (
    r"--(?:container-.+|ear.*|env|entrypoint|image|volume|module|perf|disable-perf.*|no-allocate|gpu-mps|nvmps|dcgm"
    r"|cuda-mps|enable-.+|disable-.+|jobtmp|bee.*|lustre.*|cvmfs|ssh-.+|scratch.*|ntasks-per-tres|cpu-bind"
    r"|spindle.*|use-.+|constraint-.+|mpi|tmpfs.*|datawarp.*|switches-.+|uenv|view|repo|environment)\Z"
)
"""Options of srun that some sites allow, and of plug-ins at known sites (pyxis, shifter, EAR, uenv, …)."""

_TIME = re.compile(r"\d+(?::\d+){0,2}\Z|\d+-\d+(?::\d+){0,2}\Z|(?i:infinite|unlimited)\Z", re.ASCII)
_COUNT = re.compile(r"0*[1-9]\d*[kKmM]?\Z", re.ASCII)
_NODES = re.compile(r"\d+[kKmM]?(?:-\d+[kKmM]?)?(?:[,:].*)?\Z", re.ASCII)
_SIZE = re.compile(r"\d+[kKmMgGtT]?[bB]?\Z", re.ASCII)
_ARRAY = re.compile(r"[\d,:\-]+(?:%\d+)?\Z", re.ASCII)
_VALUES = {
    "--time": _TIME, "--time-min": _TIME, "--nodes": _NODES, "--ntasks": _COUNT, "--ntasks-per-node": _COUNT,
    "--cpus-per-task": _COUNT, "--mem": _SIZE, "--mem-per-cpu": _SIZE, "--mem-per-gpu": _SIZE, "--array": _ARRAY,
    "--exclusive": re.compile(r"(?:user|mcs|topo)?\Z"), "--open-mode": re.compile(r"(?:append|truncate)\Z"),
    "--mail-type": re.compile(r"(?i:(?:NONE|BEGIN|END|FAIL|REQUEUE|ALL|INVALID_DEPEND|STAGE_OUT|TIME_LIMIT\w*"
                              r"|ARRAY_TASKS)(?:,|\Z))+\Z"),
}  # fmt: skip
_MAIL = {"ALL": ("begin", "end", "fail"), "NONE": (), "BEGIN": ("begin",), "END": ("end",), "FAIL": ("fail",)}
_LONG_DAYS = 14400
"""A plain number from here on is unlikely to mean minutes: ten days."""


def seconds(text: str) -> int | None:
    """Return seconds of `5` (minutes), `M:S`, `H:M:S`, `D-H`, `D-H:M`, `D-H:M:S`; None for anything else."""
    if len(text) > 40 or not _TIME.match(text) or not text[0].isdigit():
        return None
    days, dash, time = text.rpartition("-")
    parts = [int(part) for part in time.split(":")]
    if dash:
        hours, minutes, rest_seconds = (*parts, 0, 0)[:3]
        return ((int(days) * 24 + hours) * 60 + minutes) * 60 + rest_seconds
    if len(parts) == 3:
        return (parts[0] * 60 + parts[1]) * 60 + parts[2]
    return parts[0] * 60 + (parts[1] if len(parts) == 2 else 0)


def read(settings: Iterable[Setting]) -> ScriptRequest:
    """Return the request of a header; of a repeated option the last one counts."""
    request = ScriptRequest()
    total_gpus = None
    for setting in settings:
        value, taken = setting.value, True
        match setting.key:
            case "--job-name":
                request.name = value
            case "--partition":
                request.queue = value
            case "--account":
                request.account = value
            case "--nodes" if digits(value) is not None:
                request.nodes = digits(value)
            case "--ntasks" if digits(value) is not None:
                request.processes = digits(value)
            case "--ntasks-per-node" if digits(value) is not None:
                request.processes_per_node = digits(value)
            case "--cpus-per-task" if digits(value) is not None:
                request.threads = digits(value)
            case "--gpus-per-node" | "--gpus-per-task" | "--gpus" if match := _GPU_COUNT.fullmatch(value):
                count, request.gpu_type = digits(match[2]), match[1] or request.gpu_type
                if setting.key == "--gpus-per-node":
                    request.gpus = count
                elif setting.key == "--gpus-per-task":
                    request.gpus_per_process = count
                else:
                    total_gpus = count
            case "--gres" if match := re.fullmatch(r"gpu(?::([A-Za-z][\w.-]*))?(?::(\d+))?", value):
                request.gpus, request.gpu_type = digits(match[2] or "1"), match[1] or request.gpu_type
            case "--mem" if _SIZE.match(value):
                request.memory = _with_unit(value)
            case "--mem-per-cpu" if _SIZE.match(value):
                request.memory_per_core = _with_unit(value)
            case "--time" if seconds(value) is not None:
                request.walltime = seconds(value)
            case "--output" | "--error" if "%" not in re.sub("%[jxaA]", "", value):
                setattr(request, setting.key[2:], value)
            case "--array" if re.fullmatch(r"\d+-\d+(?::\d+)?(?:%\d+)?", value):
                request.array = value
            case "--dependency" if match := re.fullmatch(r"after(ok|any):([\w.:]+)", value):
                setattr(request, f"after_{match[1]}", match[2])
            case "--mail-user":
                request.mail_user = value
            case "--mail-type":
                parts = value.upper().split(",")
                taken = all(part in _MAIL for part in parts)
                events = {word for part in parts for word in _MAIL.get(part, ())}
                request.mail_on = frozenset((request.mail_on or frozenset()) | events)
            case "--chdir":
                request.directory = value
            case "--requeue" | "--no-requeue":
                request.rerun = setting.key == "--requeue"
            case "--exclusive" if not value:
                request.exclusive = True
            case "--export":
                parts = value.split(",")
                request.inherit = "ALL" in parts
                request.variables = ",".join(part for part in parts if part not in ("ALL", "NONE")) or None
            case _:
                taken = False
        if taken:
            request.taken.add(setting)
    if total_gpus is not None:
        share, remainder = divmod(total_gpus, request.nodes or 1)
        if remainder or request.gpus not in (None, share):  # no equal number of GPUs per node
            request.taken = {setting for setting in request.taken if setting.key != "--gpus"}
        elif request.gpus is None:
            request.gpus, request.spread = share, request.nodes is None and total_gpus > 1
    return request


def write(request: ScriptRequest, dialect: Mapping[str, object]) -> tuple[list[str], list[str]]:
    """Return the options for the same request; GPUs by the profile's `gpu_request`, by default per node."""
    gpus: int | str | None = request.gpus if dialect.get("gpu_request") != "none" else None
    # the types of another machine's GPUs are not known
    gpu_type = f"{request.gpu_type}:" if request.gpu_type and not dialect else ""
    gpus = gpus and f"{gpu_type}{gpus}"
    own_gpus = request.gpus_per_process if dialect.get("gpu_request") != "none" else None
    mail = request.mail_on
    export = ",".join(filter(None, ("ALL" if request.inherit is not False else "", request.variables)))
    pairs: list[tuple[str, object]] = [
        ("job-name", request.name),
        ("partition", request.queue),
        ("account", request.account if dialect.get("group") != "none" else None),
        ("nodes", request.nodes),
        ("ntasks", request.processes if request.per_node() is None else None),
        ("ntasks-per-node", request.per_node()),
        ("cpus-per-task", request.threads or _share(request)),
        ("gres" if dialect.get("gpu_request") == "gres" else "gpus-per-node",
         gpus and (f"gpu:{gpus}" if dialect.get("gpu_request") == "gres" else gpus)),
        ("gpus-per-task", own_gpus and f"{gpu_type}{own_gpus}"),
        ("mem", request.memory and _memory(request.memory)),
        ("mem-per-cpu", request.memory_per_core and _memory(request.memory_per_core)),
        ("time", request.walltime and format_walltime(request.walltime)),
        ("output", request.output),
        ("error", request.error if not request.merge else None),
        ("array", request.array),
        ("dependency", ",".join(f"after{kind}:{ids}" for kind, ids in
                                (("ok", request.after_ok), ("any", request.after_any)) if ids)),
        ("mail-user", request.mail_user),
        ("mail-type", None if mail is None else ",".join(sorted(event.upper() for event in mail)) or "NONE"),
        ("chdir", request.directory if request.directory != "." else None),
        ("export", (export or "NONE") if request.variables or request.inherit is False else None),
    ]  # fmt: skip
    lines = [f"--{name}={quoted(str(value))}" for name, value in pairs if value]
    lines += ["--requeue" if request.rerun else "--no-requeue"] if request.rerun is not None else []
    lines += ["--exclusive"] if request.exclusive or dialect.get("exclusive") else []
    return lines, []


def _share(request: ScriptRequest) -> int | None:
    """Return the cores per rank if only those per node are known."""
    ranks = request.per_node() or 1
    return request.cores // ranks if request.cores and request.cores % ranks == 0 else None


def _memory(text: str) -> str:
    """Return a size in Slurm's units; the least one is a KiB."""
    if text[-1:] in "bB" and text[:-1].isdecimal():
        return f"{-(-int(text[:-1]) // 1024)}K"
    return re.sub(r"(?i)(?<=[kmgt])i?b\Z", "", text)


def _with_unit(value: str) -> str:
    """Return a size with its unit: a plain number is in MiB, and 0 is all memory of a node."""
    return f"{value}M" if value.isdecimal() and int(value) else value


def judge(settings: list[Setting]) -> Iterator[Judgement]:
    """Yield what Slurm refuses or misunderstands."""
    keys = {setting.key for setting in settings}
    for option in settings:
        pattern = _VALUES.get(option.key)
        if pattern and not pattern.match(option.value):
            better = re.fullmatch(r"(\d+)\s*([dhm])\w*", option.value) if pattern is _TIME else None
            turned = better and {"d": f"{better[1]}-00:00:00", "h": f"{better[1]}:00:00", "m": better[1]}[better[2]]
            yield Judgement("bad-value", option.line, {"option": option.written, "value": option.value},
                          (option.value, turned) if turned else None)  # fmt: skip
        elif option.key in _MEMORY:
            yield from _small(option, any(_GPUS.match(key) for key in keys))
        elif option.key in ("--output", "--error", "--input") and option.value.startswith("~"):
            here = (option.value, option.value[2:]) if option.value[:2] == "~/" else None
            yield Judgement("output-tilde", option.line, {"path": option.value}, here)
        elif option.key in ("--output", "--error") and _FOLDER.fullmatch(option.value):
            ending = "out" if option.key == "--output" else "err"
            file = f"{option.value.rstrip('/')}/slurm-%j.{ending}"
            rule = "output-folder" if option.value.endswith("/") else "output-folder-name"
            yield Judgement(rule, option.line, {"path": option.value}, (option.value, file))
        elif option.key == "--time":
            yield from short_clock(option, seconds(option.value))
            minutes = digits(option.value)
            if minutes and minutes % 3600 == 0 and (minutes % 1440 or minutes > _LONG_DAYS):
                yield Judgement("bare-minutes", option.line, {"value": minutes, "hours": minutes // 60},
                              (option.value, format_walltime(minutes)))  # fmt: skip
        elif option.key == "--gres" and re.match(r"gpus\b", option.value):
            yield Judgement(
                "bad-value", option.line, {"option": option.written, "value": option.value}, ("gpus", "gpu")
            )
        elif option.key == "--qos" and option.written == "-q" and not keys & _NO_DOUBT:
            yield Judgement("queue-as-qos", option.line, {"value": option.value}, ("-q", "-p"))


def _small(option: Setting, has_gpus: bool) -> Iterator[Judgement]:
    """Yield a judgement on memory without unit that is too little for any program: `--mem=64` are 64 MB."""
    amount = digits(option.value)
    if amount and amount < (1000 if has_gpus else 65):
        yield Judgement("small-memory", option.line, {"value": f"{option.written}={option.value}", "megabytes": amount,
                      "gigabytes": amount}, (option.value, f"{option.value}G"))  # fmt: skip


_FOLDER = re.compile(r".*/|(?:[\w./-]*[/_-])?(?:logs|outputs|results|log_?dir|out_?dir|output_?dir|log_?folder)")
_GPU_COUNT = re.compile(r"(?:([A-Za-z][\w.-]*):)?(\d+)")
_MEMORY = ("--mem", "--mem-per-cpu", "--mem-per-gpu")
_GPUS = re.compile(r"--(?:gpus|gres)")
_NO_DOUBT = frozenset({"--partition", "--constraint", "--account", "--reservation", "--clusters"})
"""Users of one of these with `-q` know Slurm: sites with a QOS for each kind of job require them."""

LANGUAGE = ScriptLanguage(
    name="slurm",
    title="Slurm",
    prefix="#SBATCH",
    options=OPTIONS,
    read=read,
    write=write,
    judge=judge,
    plugin_options=_PLUGIN,
    meant={
        "--walltime": "--time",
        "--job_name": "--job-name",
        "--gpu": "--gpus",
        "--cores": "--cpus-per-task",
        "--cpu-per-task": "--cpus-per-task",
        "--task-per-node": "--ntasks-per-node",
        "--queue": "--partition",
        "--stdout": "--output",
        "--stderr": "--error",
        "--name": "--job-name",
        "--memory": "--mem",
        "--mem-per-task": "--mem-per-cpu",
    },
    separators="hetjob|packjob",
    output_name="slurm-%j.out",
    obeys="#PBS",
    several_queues=True,
    job=JobWords(
        counts={
            "SLURM_NNODES": "nodes",
            "SLURM_JOB_NUM_NODES": "nodes",
            "SLURM_NTASKS": "processes",
            "SLURM_NPROCS": "processes",
            "SLURM_NTASKS_PER_NODE": "per_node",
            "SLURM_GPUS_ON_NODE": "gpus",
            "SLURM_GPUS_PER_NODE": "gpus",
        },
        hosts=r"scontrol\s+show\s+hostnames?\b(?!.*\|\s*(?:head|sed|awk|wc|grep))",
        all_nodes=r"(?:\$\(|`)\s*scontrol\s+show\s+hostnames?(?:\s+[\"']?\$\{?\w+\}?[\"']?)?\s*[)`]"
        r"|\$\{?SLURM_(?:JOB_|STEP_)?NODELIST\}?",
        node_counts=r"scontrol\s+show\s+hostnames?\b.*\|\s*wc\s+-l",
        of_task=r"SLURM_(?:PROCID|NODEID|LOCALID|TASK_PID)",
        step_only=r"SLURM_LAUNCH_NODE_IPADDR|SLURM_SRUN_\w+",
        node_number="SLURM_NODEID",
        nodes="$SLURM_NNODES",
        first_node='$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
        default_nodes=True,
        keeps_functions=False,
        of_option={
            "SLURM_GPUS": "--gpus",
            "SLURM_GPUS_PER_NODE": "--gpus-per-node",
            "SLURM_GPUS_PER_TASK": "--gpus-per-task",
            "SLURM_NTASKS_PER_NODE": "--ntasks-per-node",
            "SLURM_CPUS_PER_TASK": "--cpus-per-task",
        },
        array="--array",
        array_task="SLURM_ARRAY_TASK_ID",
        array_path=("%A_%a", r"%[0-9]*[aAjJ]"),
    ),
    variables=r"(?:SLURMD?|SBATCH)_[A-Z_]+",
    meanings={
        "SLURM_JOB_ID": "id",
        "SLURM_JOBID": "id",
        "SLURM_JOB_NAME": "name",
        "SLURM_SUBMIT_DIR": "folder",
        "SLURM_SUBMIT_HOST": "submit host",
        "SLURM_JOB_PARTITION": "queue",
        "SLURM_ARRAY_TASK_ID": "task",
        "SLURM_ARRAY_JOB_ID": "id of the array",
        "SLURM_ARRAY_TASK_MIN": "first task",
        "SLURM_ARRAY_TASK_MAX": "last task",
        "SLURM_ARRAY_TASK_STEP": "step of tasks",
        "SLURM_NNODES": "nodes",
        "SLURM_JOB_NUM_NODES": "nodes",
        "SLURM_NTASKS": "processes",
        "SLURM_NPROCS": "processes",
        "SLURM_NTASKS_PER_NODE": "processes of a node",
    },
    merges=True,
    of_processes=True,
    submit_folder="SLURM_SUBMIT_DIR",
    group_options={"account": "--account"},
    reading=Reading(
        behind_commands="ignored",
        indented="ignored",
        trailing_comment="read",
        comment_in_word=True,
        loose_words="refused",
        spaced_equals="refused",
        unknown_options="refused",
        carriage_returns="refused",
        shebang_first=True,
        opens_output=True,
        last_wins=r"--(?!verbose|mail-type|export|comment).*",
        literal=frozenset({"--job-name", "--output", "--error", "--input", "--chdir", "--account", "--mail-user"}),
    ),
)
