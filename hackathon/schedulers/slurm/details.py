"""What Slurm recorded of one job: `scontrol show job`, and `sacct` for a job that the controller has forgotten."""

import re
from collections.abc import Iterable

from hackathon.schedulers.base import CommandOutput
from hackathon.schedulers.reports import JobDetails
from hackathon.schedulers.slurm.bill import GPUS
from hackathon.schedulers.slurm.machine import seconds_of
from hackathon.schedulers.slurm.parse import FIELD
from hackathon.text.numbers import digits
from hackathon.text.units import parse_size

FIELDS = ("JobID", "NNodes", "NTasks", "AllocTRES", "TimelimitRaw", "Partition", "Account", "QOS", "WorkDir")
"""Fields of `sacct`; NTasks are those of a step, TimelimitRaw is in minutes."""

_MEMORY = re.compile(r"(?:\A|,)mem=(\d{1,12}(?:\.\d+)?[KMGTP]?)(?:,|\Z)", re.ASCII)
_PER_NODE = re.compile(r"gres(?:/|:)gpu(?::[\w.-]+)*?[:=](\d{1,6})\b|\bgres(?:/|:)gpu(?=,|\Z)", re.ASCII)
_OUTPUT = re.compile(r" StdOut=(/.*?)(?: [A-Z][A-Za-z]*=|\s*\Z)")
_NAMES = frozenset({"(null)", "N/A", "None", ""})


def details(answers: Iterable[CommandOutput], job_id: str) -> JobDetails:
    """Return what the answers of scontrol and sacct say; scontrol's counts, while it has one."""
    for answer in answers:
        if answer.exit_code == 0 and answer.argv[0] == "scontrol" and answer.stdout.startswith("JobId="):
            return _of_controller(answer.stdout, job_id)
        if answer.exit_code == 0 and answer.argv[0] == "sacct" and answer.stdout.strip():
            return _of_accounting(answer.stdout, job_id)
    return JobDetails()


def _of_controller(text: str, job_id: str) -> JobDetails:
    """Return one job; of an array's elements the first, without a file of output, of which each has its own."""
    line, end, further = text.partition("\n")
    head = line.partition(" NodeList=")[0]
    shape = line[len(head) :]  # behind the names that people choose

    def value(name: str, part: str = shape) -> str:
        texts = re.findall(rf"(?<=\s){name}=(\S+)(?=\s)", part)
        # the job's name is in front of the head's fields, its comment behind those of the shape
        text = texts[-1 if part is head else 0] if texts else ""
        return "" if text in _NAMES else text

    # a job that waits has a range, of which both ends are the same where it asked for a number
    least, _, most = value("NumNodes").partition("-")
    nodes, resources = digits(least) if most in ("", least) else None, value("TRES")
    asked = " ".join(value(name) for name in ("TresPerNode", "TresPerJob", "TresPerTask", "Gres"))
    output = _OUTPUT.search(line) if not further.strip() else None
    return JobDetails(
        nodes=nodes,
        processes=digits(value("NumTasks")) or None,
        threads=digits(value("CPUs/Task")),
        gpus_per_node=_gpus(resources, value("TresPerNode"), nodes, none=bool(end) and "gpu" not in asked),
        # where Slurm does not manage memory, only the request tells
        memory=_memory(resources, nodes) or _memory(f"mem={value('MinMemoryNode')}", 1),
        walltime=seconds_of(value("TimeLimit", head)),
        queue=value("Partition", head),
        group=value("Account", head),
        qos=value("QOS", head),
        output=output[1].replace("%j", job_id).replace("%J", job_id) if output else None,
    )


def _of_accounting(text: str, job_id: str) -> JobDetails:
    rows = [line.split(FIELD) for line in text.split("\n")[:-1]]
    jobs = [row for row in rows if len(row) == len(FIELDS) and "." not in row[0]]
    if not jobs:
        return JobDetails()
    # each element of an array and each life of a requeued job has a row; the steps behind it belong to it
    name, count, _tasks, resources, minutes, queue, group, qos, folder = jobs[-1]
    tasks = [
        digits(row[2]) or 0
        for row in rows
        if len(row) == len(FIELDS) and re.match(rf"{re.escape(name)}\.\d+\Z", row[0])
    ]
    nodes, limit = digits(count) or None, digits(minutes)
    return JobDetails(
        nodes=nodes,
        processes=max(tasks, default=0) or None,
        gpus_per_node=_gpus(resources, "", nodes, none=False),
        memory=_memory(resources, nodes),
        walltime=limit * 60 if limit else None,
        queue=queue,
        group=group,
        qos=qos,
        output=f"{folder}/slurm-{job_id}.out" if folder.startswith("/") and name == job_id else None,
    )


def _gpus(resources: str, per_node: str, nodes: int | None, *, none: bool) -> int | None:
    """Return the GPUs of each node; None where they are not counted or differ. `none`: a job without a total has 0."""
    total = GPUS.search(resources)
    if total and nodes and int(total[1]) % nodes == 0:
        return int(total[1]) // nodes
    if match := _PER_NODE.search(per_node):
        return int(match[1] or 1)
    return 0 if none and not total else None


def _memory(resources: str, nodes: int | None) -> int | None:
    match = _MEMORY.search(resources)
    if not match or not nodes:
        return None
    size = match[1] if match[1][-1].isalpha() else f"{match[1]}M"
    return parse_size(f"{size}iB") // nodes or None
