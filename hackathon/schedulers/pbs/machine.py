"""What `qstat -Q -f` and `pbsnodes -a -F json` say of queues and nodes."""

import json
import re
from typing import Any

from hackathon.schedulers.base import CommandOutput
from hackathon.schedulers.pbs import text
from hackathon.schedulers.pbs.parse import failed
from hackathon.schedulers.reports import NodeGroup, QueueInfo
from hackathon.schedulers.words import garbage, grouped, printable
from hackathon.text.numbers import digits

_SIZE = re.compile(r"(\d{1,15})([kmgtp]?)(b|w)?\Z", re.IGNORECASE | re.ASCII)
_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


def queues(answer: CommandOutput) -> list[QueueInfo]:
    """Return queues with their limits where the server tells them (`resources_max`). No server is without a queue."""
    if answer.exit_code:
        raise failed(answer)
    infos = [_queue(block.name, block.attributes) for block in text.blocks(answer.stdout, "Queue:")]
    if not infos:
        raise garbage(answer)
    return infos


def _queue(name: str, attributes: dict[str, str]) -> QueueInfo:
    counts = dict(re.findall(r"(\w+):(\d+)", attributes.get("state_count", "")))
    # a queue that was created but never enabled has no such line
    enabled = attributes.get("enabled") == "True" and attributes.get("started") == "True"
    place = attributes.get("resources_default.place", "")
    return QueueInfo(
        name,
        enabled=enabled,
        nodes=digits(attributes.get("resources_max.nodect", "")),
        walltime=text.seconds(attributes.get("resources_max.walltime", "")),
        running=digits(counts.get("Running", "")),
        queued=digits(counts.get("Queued", "")),
        note=printable(attributes.get("route_destinations", "")),
        min_nodes=digits(attributes.get("resources_min.nodect", "")),
        scatters=None if attributes.get("queue_type") == "Route" else "scatter" in place,
    )


def nodes(answer: CommandOutput) -> list[NodeGroup]:
    """Return the hosts by their shape. The virtual nodes of a host are combined.

    JSON has an end, so truncated output raises SchedulerError, as does all other invalid output.
    """
    if answer.exit_code:
        raise failed(answer)
    try:
        listed = json.loads(answer.stdout, strict=False)["nodes"]
        hosts: dict[str, list[dict[str, Any]]] = {}
        for name, node in listed.items():
            hosts.setdefault(str(node.get("resources_available", {}).get("host", name)), []).append(node)
        groups = [_host(parts) for parts in hosts.values()]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        groups = []
    if not groups:
        raise garbage(answer)
    return grouped(groups)


def _host(parts: list[dict[str, Any]]) -> NodeGroup:
    """Return one host from its virtual nodes; `ncpus` may count hardware threads."""
    resources = [part.get("resources_available", {}) for part in parts]
    queues = dict.fromkeys(str(part["queue"]) for part in parts if "queue" in part)
    sizes = [size_in_bytes(str(resource["mem"])) for resource in resources if "mem" in resource]
    models = {str(resource["gpu_model"]) for resource in resources if "gpu_model" in resource}
    cpus = [digits(str(resource["ncpus"])) or 0 for resource in resources if "ncpus" in resource]
    gpus = [digits(str(resource["ngpus"])) or 0 for resource in resources if "ngpus" in resource]
    return NodeGroup(
        1,
        queues=tuple(queues),
        cpus=sum(cpus) or None,
        memory=_coarse(sum(size for size in sizes if size is not None)) or None,
        gpus=sum(gpus) if gpus else None,
        gpu=models.pop() if len(models) == 1 else "",
    )


def _coarse(size: int) -> int:
    """Return bytes rounded down to GiB: equal nodes report a few kB more or less."""
    return size >> 30 << 30 if size >= 2**30 else size


def size_in_bytes(size: str) -> int | None:
    """Return the bytes of `64gb` or `263868404kb`: PBS's units are powers of 1024, and a word has 8 bytes."""
    match = _SIZE.match(size)
    if not match:
        return None
    return int(match[1]) * (8 if (match[3] or "").lower() == "w" else 1) << 10 * _POWER[match[2].lower()]
