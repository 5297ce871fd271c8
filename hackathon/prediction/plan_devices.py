"""The devices of a cluster for `hackathon plan`: its profile, and measurements by `hackathon clusters measure`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hackathon.config.cluster import Cluster
from hackathon.prediction.network import MeasuredCollective, network_from, ring

_GIGABYTES = re.compile(r"(\d+)\s?(GB|GiB)\b")
UNITS = {"GB": 10**9, "GiB": 1 << 30}


@dataclass
class ClusterDevices:
    """Known fields of devices.json for a cluster, with their origins, and ways to determine the others."""

    values: dict[str, float] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    """Field → `node.gpus` and other keys of the profile, or the id of a run of `clusters measure`."""
    ways: dict[str, str] = field(default_factory=dict)
    """Required but unknown field → the command, or the option, that would supply it."""

    def put(self, name: str, value: float, origin: str) -> None:
        """Store a known field."""
        self.values[name], self.origins[name] = value, origin


def cluster_devices(
    cluster: Cluster, entries: Sequence[Mapping[str, Any]], count: int | None, gpus_here: int
) -> ClusterDevices:
    """Return the known fields of `count` devices of a cluster (None: those of one node).

    A device is a GPU, or a process on nodes without GPUs. `entries`: from `cluster_measurements.measured`; `gpus_here`:
    the GPUs of this machine, for profiles that count them. If the devices fill several nodes, `bandwidth` is the one
    between nodes, so that no transfer takes longer than computed, and `node_bandwidth` the other one.
    """
    devices = ClusterDevices()
    gpus = gpus_here if cluster.node.gpus == "auto" else cluster.node.gpus
    per_node = gpus or (cluster.processes_per_node if cluster.processes_per_node != "auto" else None)
    if per_node is not None:
        devices.put("devices_per_node", per_node, "node.gpus" if gpus else "processes_per_node")
    _memory(devices, cluster, gpus, per_node)
    number = count if count is not None else per_node
    if number is None:
        devices.ways["count"] = "--gpus N"
    else:
        devices.put("count", number, "--gpus" if count is not None else devices.origins["devices_per_node"])
    _network(devices, cluster, entries, gpus, (number or 1) > (per_node or number or 1))
    return devices


def _memory(devices: ClusterDevices, cluster: Cluster, gpus: int, per_node: int | None) -> None:
    if gpus:
        match = _GIGABYTES.search(cluster.node.gpu or "")
        if match:
            devices.put("memory", float(int(match[1]) * UNITS[match[2]]), "node.gpu")
    elif cluster.node.memory is not None and per_node is not None:
        devices.put("memory", float(cluster.node.memory // per_node), "node.memory")
    if "memory" not in devices.values:
        devices.ways["memory"] = "--memory 16GB"


def _network(
    devices: ClusterDevices, cluster: Cluster, entries: Iterable[Mapping[str, Any]], gpus: int, several: bool
) -> None:
    """Add latency and bandwidths. A transfer has the bus bandwidth of the smallest measured group of processes."""
    counted = [entry for entry in entries if (entry.get("device") != "cpu") == bool(gpus)]
    network = network_from(counted)
    runs = {(entry["processes"], entry["hosts"]): str(entry.get("run", "")) for entry in counted}
    inside = sorted(
        (collective for collective in network.measured if collective.hosts == 1),
        key=lambda collective: collective.processes,
    )
    between = sorted(
        (collective for collective in network.measured if collective.hosts > 1),
        key=lambda collective: (collective.hosts, collective.processes),
    )
    chosen = between if several else inside
    if not chosen:
        devices.ways["bandwidth"] = f"hackathon clusters measure {cluster.name} --nodes {2 if several else 1}"
        return
    first, last = chosen[0], chosen[-1]
    origin = runs[first.processes, first.hosts]
    devices.put("bandwidth", _bus(first), origin)
    devices.put("latency", first.line(0)[0] / (2 * (first.processes - 1)), origin)  # a ring has 2(n − 1) turns
    devices.put("allreduce_bandwidth", _bus(last), runs[last.processes, last.hosts])
    if several and inside:
        devices.put("node_bandwidth", _bus(inside[0]), runs[inside[0].processes, 1])
        devices.put("node_allreduce_bandwidth", _bus(inside[-1]), runs[inside[-1].processes, 1])
    elif several:
        devices.ways["node_bandwidth"] = f"hackathon clusters measure {cluster.name} --nodes 1"
    elif between:
        devices.put("internode_bandwidth", _bus(between[0]), runs[between[0].processes, between[0].hosts])


def _bus(measured: MeasuredCollective) -> float:
    """Return bytes per second over one link of the ring."""
    return measured.rate * ring(measured.processes)
