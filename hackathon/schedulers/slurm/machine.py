"""Parse partitions and nodes from `sinfo`, as a real 22.05 printed it (`samples/sinfo_*`)."""

import re

from hackathon.schedulers.base import CommandOutput
from hackathon.schedulers.reports import NodeGroup, QueueInfo
from hackathon.schedulers.slurm.parse import FIELD, failed
from hackathon.schedulers.words import garbage, grouped, printable
from hackathon.text.numbers import digits

QUEUE_FIELDS = ("%R", "%a", "%D", "%l", "%F", "%s")
"""Partition, whether it is up, nodes, longest time, nodes allocated/idle/other/total, nodes of a job."""
NODE_FIELDS = ("%R", "%D", "%c", "%m", "%X", "%Y", "%Z", "%G")
"""Partition, nodes, CPUs, MiB, sockets, cores per socket, threads per core, generic resources."""

_DURATION = re.compile(r"(?:(\d{1,5})-)?(?:(\d{1,5}):)?(\d{1,5}):(\d{2})\Z", re.ASCII)
_SIZES = re.compile(r"(\d{1,9})(?:-(\d{1,9}|infinite))?\Z", re.ASCII)
_GPU = re.compile(r"gpu(?::(?P<model>[A-Za-z][\w.-]*))?(?::(?P<count>\d{1,6}))?(?:\(.*\))?\Z", re.ASCII)
_UNSET = 1
"""RealMemory of a node without configured memory (slurm.conf(5))."""


def queues(answer: CommandOutput) -> list[QueueInfo]:
    """Return partitions; `note` has nodes allocated/idle/other/total."""
    infos = []
    for name, state, count, longest, note, sizes in _rows(answer, len(QUEUE_FIELDS)):
        size, job = _number(answer, count), _SIZES.match(sizes)
        if not job:
            raise garbage(answer)
        most = int(job[2] or job[1]) if job[2] != "infinite" else size
        infos.append(
            QueueInfo(
                name,
                enabled=state == "up",
                nodes=min(most, size),
                walltime=seconds_of(longest),
                note=printable(note),
                min_nodes=int(job[1]),
                size=size,
            )
        )
    return infos


def nodes(answer: CommandOutput) -> list[NodeGroup]:
    """Return the nodes by their shape. If only CPUs are configured, each has its own socket, so cores are unknown."""
    groups = []
    for queue, count, cpus, memory, sockets, cores, threads, resources in _rows(answer, len(NODE_FIELDS)):
        gpus, model = _gpus(resources)
        mebibytes = _number(answer, memory)
        per_socket, per_core = _number(answer, cores), _number(answer, threads)
        groups.append(
            NodeGroup(
                _number(answer, count),
                queues=(queue,),
                cores=_number(answer, sockets) * per_socket if max(per_socket, per_core) > 1 else None,
                cpus=_number(answer, cpus),
                memory=mebibytes * 2**20 if mebibytes > _UNSET else None,
                gpus=gpus,
                gpu=model,
            )
        )
    return grouped(groups, max)


def _gpus(resources: str) -> tuple[int, str]:
    """Return the number and the model of GPUs in `gpu:a100:4(S:0-1),nvme:1`; "" for several models."""
    matches = [match for word in re.split(r",(?![^(]*\))", resources) if (match := _GPU.match(word))]
    models = {match["model"] or "" for match in matches}
    return sum(int(match["count"] or 1) for match in matches), models.pop() if len(models) == 1 else ""


def _rows(answer: CommandOutput, count: int) -> list[list[str]]:
    """Return the fields of every line. Raises SchedulerError for a truncated line, whose numbers may be wrong."""
    if answer.exit_code:
        raise failed(answer)
    *lines, last = answer.stdout.split("\n")
    rows = [line.split(FIELD) for line in lines if line.strip() and not line.startswith("CLUSTER:")]
    if last or any(len(row) != count for row in rows):
        raise garbage(answer)
    return rows


def _number(answer: CommandOutput, text: str) -> int:
    number = digits(text, 11)
    if number is None:
        raise garbage(answer)
    return number


def seconds_of(text: str) -> int | None:
    """Return seconds of `1-00:00:00`, `1:00:00` or `30:00`; None for infinite and UNLIMITED."""
    match = _DURATION.match(text)
    if not match:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
