"""The devices of a plan: devices.json, read and validated."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hackathon.parallel.plan.fields import FieldReader, read_object

MOST_DEVICES = 1_000_000


@dataclass(frozen=True)
class Devices:
    """Equal devices: bytes of memory of each, bytes/s between them, seconds of latency of a transfer."""

    count: int
    memory: float
    bandwidth: float
    latency: float = 0.0
    allreduce_bandwidth: float = 0.0
    host_bandwidth: float | None = None
    optimizer_bytes_per_parameter_byte: float = 2.0
    devices_per_node: int | None = None
    internode_bandwidth: float | None = None
    node_bandwidth: float | None = None
    """Inside a node; then `bandwidth` is that between nodes."""
    node_allreduce_bandwidth: float | None = None

    def __post_init__(self) -> None:
        """Use the bandwidth between two devices if that of an all-reduce is missing."""
        object.__setattr__(self, "allreduce_bandwidth", self.allreduce_bandwidth or self.bandwidth)

    def overridden(self, count: int | None, memory: float | None) -> "Devices":
        """Return the same devices with another count or memory, as given by --gpus and --memory."""
        changes: dict[str, Any] = {}
        if count is not None:
            changes["count"] = count
        if memory is not None:
            changes["memory"] = memory
        return replace(self, **changes)

    def as_json(self) -> dict[str, Any]:
        """Return the fields as in devices.json, without the unknown ones."""
        return {name: value for name, value in self.__dict__.items() if value is not None}


def read_devices(path: Path) -> Devices:
    """Return the devices in a file. Raises RequestError naming file and field."""
    return devices_of(read_object(path), str(path))


def devices_of(value: Mapping[str, Any], file: str) -> Devices:
    """Return the devices in a JSON object. Raises RequestError naming the wrong field."""
    reader = FieldReader(file)
    reader.known(value, ("schema_version", *Devices.__dataclass_fields__), "")
    reader.version(value)
    bandwidth = reader.number(value, "bandwidth", "", positive=True)

    def optional(name: str) -> float | None:
        return reader.number(value, name, "", positive=True) if value.get(name) is not None else None

    return Devices(
        count=reader.count(value, "count", "", MOST_DEVICES),
        memory=reader.number(value, "memory", "", positive=True),
        bandwidth=bandwidth,
        latency=reader.number(value, "latency", "", 0.0),
        allreduce_bandwidth=reader.number(value, "allreduce_bandwidth", "", bandwidth, positive=True),
        host_bandwidth=optional("host_bandwidth"),
        optimizer_bytes_per_parameter_byte=reader.number(value, "optimizer_bytes_per_parameter_byte", "", 2.0),
        devices_per_node=(
            reader.count(value, "devices_per_node", "", MOST_DEVICES)
            if value.get("devices_per_node") is not None
            else None
        ),
        internode_bandwidth=optional("internode_bandwidth"),
        node_bandwidth=optional("node_bandwidth"),
        node_allreduce_bandwidth=optional("node_allreduce_bandwidth"),
    )
