"""Read the hosts of Grid Engine with their GPUs: `qhost -F -q -xml`, `qconf -sc` and `qconf -se HOST`.

GPUs are a consumable that the site named: an integer complex with a name such as `gpu`, with a number for each host.
complex(5): a request for one with the consumable YES counts for each slot of a job; with JOB it counts once, on the
job's first host; with HOST (Univa's and Altair's Grid Engine) once on each host.
"""

import re
from typing import NamedTuple

from hackathon.schedulers.base import CommandOutput
from hackathon.schedulers.gridengine.refusals import failed
from hackathon.schedulers.reports import NodeGroup
from hackathon.schedulers.words import garbage, grouped, printable
from hackathon.text.numbers import digits

HOSTS = ["qhost", "-F", "-q", "-xml"]
COMPLEXES = ["qconf", "-sc"]
MOST_HOSTS = 40
"""Busy hosts that are queried individually; the others have the GPUs of an equal host."""

_COUNTS = {"YES": "slot", "JOB": "job", "HOST": "host"}
_NAME = re.compile(r"(?i)(?:n|num_?|nvidia_?)?(?:gpus?|cudas?)(?:_?(?:cards?|devices?|count|num|all))?")
_MODEL = re.compile(r"(?i)gpus?[_.-]?(?:[avhpbklt]\d{1,4}\w*|rtx\w*|gtx\w*|mi\d+\w*|tesla\w*|titan\w*)")
_NUMBERS = frozenset({"INT", "RSMAP", "DOUBLE"})
_HOST = re.compile(r"<host name='([^'<>]*)'>(.*?)</host>", re.DOTALL)
_VALUE = re.compile(r"<hostvalue name='(\w+)'>([^<]*)</hostvalue>")
_RESOURCE = re.compile(r"<resourcevalue name='([^'<>]*)' dominance='(\w\w)'>([^<]*)</resourcevalue>")
_QUEUE = re.compile(r"<queue name='([^'<>]*)'>(.*?)</queue>", re.DOTALL)
_USED = re.compile(r"name='slots_used'>(\d+)<")
_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)([KMGTP]?)\Z", re.ASCII)
_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}


class ExecutionHost(NamedTuple):
    """An execution host."""

    name: str
    cpus: int | None
    cores: int | None
    memory: int | None
    """Bytes, rounded to GiB."""
    queues: tuple[str, ...]
    idle: bool
    """Whether no slot is in use: then all of its consumables are free."""
    resources: dict[str, float]
    """Name of a consumable of the host → amount that is free."""


def follow_ups(answers: list[CommandOutput]) -> list[list[str]]:
    """Return the query for the configured GPUs of each busy host."""
    counted = gpu_consumables(answers[1])
    busy = [host.name for host in _hosts(answers[0]) if not host.idle and counted.keys() & host.resources.keys()]
    return [["qconf", "-se", name] for name in busy[:MOST_HOSTS]]


def nodes(answers: list[CommandOutput]) -> list[NodeGroup]:
    """Return the hosts by their shape. GPUs are not known where no consumable, or more than one, may stand for them.

    Raises SchedulerError for a truncated list.
    """
    hosts = _hosts(answers[0])
    counted = gpu_consumables(answers[1])
    configured = {answer.argv[-1]: _configured(answer) for answer in answers[2:] if not answer.exit_code}
    totals: dict[str, dict[str, int]] = {}
    for host in hosts:
        free = {name: round(host.resources[name]) for name in counted.keys() & host.resources.keys()}
        totals[host.name] = free if host.idle else {**free, **configured.get(host.name, {})}
    known = {host.name for host in hosts if host.idle} | configured.keys()
    groups = []
    # where no host has them, a queue may have them, or the whole machine
    some = any(totals.values())
    for host in hosts:
        names = sorted(counted.keys() & host.resources.keys())
        sizes = {
            totals[other.name].get(name)
            for name in names
            for other in hosts
            if other.name in known and (other == host or (host.name not in known and other[1:5] == host[1:5]))
        }
        one = len(names) == 1 and len(sizes) == 1
        gpus = sizes.pop() if one else None
        groups.append(
            NodeGroup(
                1, host.queues, cores=host.cores, cpus=host.cpus, memory=host.memory,
                gpus=gpus if one else 0 if some and not names else None,
                gpu_request=counted[names[0]] if gpus else "", gpu_resource=", ".join(names) if gpus != 0 else "",
            )
        )  # fmt: skip
    return grouped(groups)


def gpu_consumables(answer: CommandOutput) -> dict[str, str]:
    """Return name → how requests count (`slot`, `job`, `host`) of the consumables that are GPUs by their names."""
    counted = {}
    for line in answer.stdout.splitlines() if not answer.exit_code else ():
        words = line.split()
        if len(words) < 8 or line.startswith("#"):
            continue
        name, shortcut, kind, __, requestable, consumable = words[:6]
        alike = any(pattern.fullmatch(word) for pattern in (_NAME, _MODEL) for word in (name, shortcut))
        if alike and kind in _NUMBERS and requestable != "NO" and consumable in _COUNTS:
            counted[printable(name)] = _COUNTS[consumable]
    return counted


def _hosts(answer: CommandOutput) -> list[ExecutionHost]:
    if answer.exit_code:
        raise failed(answer)
    if not answer.stdout.rstrip().endswith("</qhost>"):
        raise garbage(answer)
    hosts = []
    for name, text in _HOST.findall(answer.stdout):
        values = dict(_VALUE.findall(text))
        cpus, cores = digits(values.get("num_proc", "")), digits(values.get("m_core", ""))
        if name == "global" or cpus is None:  # a host that does not answer tells nothing
            continue
        queues = _QUEUE.findall(text)
        free = {resource: float(amount) for resource, level, amount in _RESOURCE.findall(text)
                if level == "hc" and re.fullmatch(r"\d{1,9}(?:\.\d+)?", amount)}  # fmt: skip
        used = [digits(match[1]) for __, queue in queues if (match := _USED.search(queue))]
        hosts.append(
            ExecutionHost(
                name, cpus, cores or None, _bytes(values.get("mem_total", "")),
                tuple(printable(queue) for queue, __ in queues), bool(used) and not any(used), free,
            )
        )  # fmt: skip
    return hosts


def _configured(answer: CommandOutput) -> dict[str, int]:
    """Return the amounts of a host's `complex_values`, such as `gpu=4,slots=64` and `gpu=4(0 1 2 3)`."""
    text = answer.stdout.replace("\\\n", " ")
    match = re.search(r"^complex_values\s+(.*)$", text, re.MULTILINE)
    pairs = re.findall(r"([\w.-]+)=(\d{1,9})(?:\.0*)?(?:\([^)]*\))?\s*(?:,|\Z)", match[1].strip() if match else "")
    return {name: int(amount) for name, amount in pairs}


def _bytes(size: str) -> int | None:
    match = _SIZE.match(size)
    return round(float(match[1]) * 1024 ** _POWER[match[2]]) >> 30 << 30 or None if match else None
