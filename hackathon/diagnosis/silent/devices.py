"""Silent failures of devices: idle GPUs, sockets instead of InfiniBand, a slow node, slow all-reduces."""

import re
from collections.abc import Mapping
from statistics import median
from typing import Any

from hackathon.diagnosis.facts import FactHit, RunFacts, fact
from hackathon.diagnosis.findings import Evidence
from hackathon.diagnosis.silent import training
from hackathon.diagnosis.silent.data import shown
from hackathon.logs.metrics import rank_files, rank_of
from hackathon.logs.values import number
from hackathon.scaling.cluster_measurements import measured
from hackathon.text.errors import HackathonError

_SOCKETS = re.compile(r"NCCL INFO.*(?:Using network Socket|NET/Socket : Using|via NET/Socket)")
_FAST = re.compile(r"NCCL INFO.*(?:Using network (?!Socket)\w|NET/(?!Socket|Plugin)[\w-]+ : Using|via NET/(?!Socket))")
_FAST_DEVICE = re.compile(r"ib(?:[ps]\w*)?\d+\Z|hfi1_\d+\Z")  # IP over InfiniBand, Omni-Path; mlx5_0 may be Ethernet
_INFINIBAND = re.compile(r"(?i)\b(?:[SDQFEHNX]DR\d*|InfiniBand|Omni-?Path)\b")


@fact("silent:shared-gpu")
def shared_gpu(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report ranks of a host that share GPUs while other GPUs are free.

    Source: the GPU numbers that the Meter noted from PyTorch, else nvidia-smi with at least `samples` of each GPU. A
    GPU is in use from `memory` MiB; it is idle if it never had `idle` MiB and never worked. `used`: highest share of
    the usable GPUs in use that is reported.
    """
    on = training.devices(run)
    for host in sorted(set(run.host_of.values())):
        ranks = run.ranks_on[host]
        could = min(len(ranks), training.gpus(run, host))
        numbers = {rank: on[rank].split()[1] for rank in ranks if len(on.get(rank, "").split()) == 2}
        if could < 2 or (numbers and len(numbers) < len(ranks)):
            continue
        used = len(set(numbers.values())) or _in_use(run.gpu_rows.get(host, {}), thresholds)
        if used is None or used > thresholds["used"] * could:
            continue
        evidence = _device_evidence(run, ranks[1]) if numbers else training.telemetry_evidence(run, host)
        values = {"used": str(used), "gpus": str(training.gpus(run, host)), "ranks": str(len(ranks)), "host": host}
        return [FactHit(evidence, values, ranks, len(ranks))]
    return []


def _in_use(rows: Mapping[int, list[tuple[float, float]]], thresholds: Mapping[str, float]) -> int | None:
    """Return how many GPUs of a host are in use, None when some are neither clearly in use nor clearly idle."""
    if any(len(samples) < thresholds["samples"] for samples in rows.values()):
        return None
    busy = sum(max(memory for _, memory in samples) >= thresholds["memory"] for samples in rows.values())
    idle = sum(max(memory for _, memory in samples) < thresholds["idle"] and not any(work for work, _ in samples)
               for samples in rows.values())  # fmt: skip
    return busy if busy and busy + idle == len(rows) else None


@fact("silent:on-cpu")
def on_cpu(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report a program that trains on CPUs although its hosts have GPUs.

    Evidence: a rank's loss is on the CPU and PyTorch has no CUDA, or all GPUs of the host were idle in `samples`
    readings of nvidia-smi. A program that noted no loss needs `unseen` readings and a loss in its log. Idle: never
    `idle` MiB in use, never any work.
    """
    on = training.devices(run)
    for host in sorted(set(run.host_of.values())):
        ranks, count = run.ranks_on[host], training.gpus(run, host)
        noted = [on[rank] for rank in ranks if rank in on]
        if not count or any(not _is_cpu(device) for device in noted):
            continue
        rows = run.gpu_rows.get(host, {})
        looks = min(map(len, rows.values()), default=0)
        packages = run.environments.get(host, {}).get("packages")
        torch = str(packages.get("torch", "")) if isinstance(packages, dict) else ""
        idle = all(memory < thresholds["idle"] and work == 0 for samples in rows.values() for work, memory in samples)
        enough = looks >= thresholds["samples" if noted else "unseen"]
        without_cuda = bool(noted) and torch.endswith("+cpu")
        if not idle or not (enough or without_cuda) or not (noted or any(training.losses(run).values())):
            continue
        evidence = _device_evidence(run, ranks[0]) if noted else training.telemetry_evidence(run, host)
        values = {"gpus": str(count), "host": host, "torch": torch or "?"}
        return [FactHit(evidence, values, ranks, len(ranks))]
    return []


def _is_cpu(device: str) -> bool:
    return device.lower().split(":")[0] == "cpu" or device.upper().rpartition("/DEVICE:")[2].startswith("CPU")


def _device_evidence(run: RunFacts, rank: int) -> Evidence:
    line = next(line for line in run.metrics[rank] if line.get("device"))
    return training.placed(run, training.metered_evidence(run, rank, line))


@fact("silent:sockets")
def sockets(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report NCCL using only sockets between nodes that have InfiniBand or a similar network.

    `nodes`: fewest nodes of a run. The nodes' network is known from `env/<host>.json` and the cluster's profile.
    """
    if run.record.nodes < thresholds["nodes"]:
        return []
    listed = [environment.get("interfaces") for environment in run.environments.values()]
    adapters = [
        str(name)
        for interfaces in listed
        if isinstance(interfaces, list)
        for name in interfaces
        if _FAST_DEVICE.match(str(name))
    ]
    network = _network(run.record.cluster)
    if not adapters and not _INFINIBAND.search(network):
        return []
    first: Evidence | None = None
    files = [*rank_files(run.path / "logs", ".log"), run.path / "logs" / "job.log"]
    for path in files:
        for position, line in training.both_ends(path, training.part(files)):
            if "NCCL INFO" not in line:
                continue
            if _FAST.search(line):
                return []
            if first is None and _SOCKETS.search(line):
                rank = rank_of(path)
                host = run.host_of.get(rank, "")
                first = Evidence(f"logs/{path.name}", position, line[:500], rank if rank >= 0 else None, host)
    if first is None:
        return []
    return [FactHit(first, {"network": network or "?", "adapters": ", ".join(sorted(set(adapters))[:4]) or "–"})]


def _network(cluster: str) -> str:
    from hackathon.schedulers.registry import load_cluster

    try:
        return load_cluster(cluster).node.network or ""
    except HackathonError:
        return ""


@fact("silent:slow-node")
def slow_node(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report a host whose ranks need more time per step without communication than those of other hosts.

    `ratio`: least multiple of the other hosts' median; `lost`: least share of the whole step; `often`: least share of
    intervals in which it is the slowest. Runs with fewer than `steps` or `seconds` after the warm-up, and programs that
    do not separate communication from computing, are not judged.
    """
    splits = {rank: training.split(run, rank) for rank in run.metrics if rank in run.host_of}
    by_host: dict[str, list[int]] = {}
    for rank, split in splits.items():
        if (
            split.steps < thresholds["steps"]
            or split.seconds < thresholds["seconds"]
            or not split.share("communication")
        ):
            return []
        by_host.setdefault(run.host_of[rank], []).append(rank)
    if len(by_host) < 2:
        return []
    count = min(len(split.per_step) for split in splits.values())
    own = {
        host: [median(splits[rank].per_step[at] for rank in ranks) for at in range(count)]
        for host, ranks in by_host.items()
    }
    slowest = max(own, key=lambda host: median(own[host]))
    rivals = [own[host] for host in own if host != slowest]
    typical = median(median(steps) for steps in rivals)
    often = sum(all(own[slowest][at] > steps[at] for steps in rivals) for at in range(count)) / count
    step = median(split.seconds / split.steps for split in splits.values())
    slow = median(own[slowest]) >= typical + max((thresholds["ratio"] - 1) * typical, thresholds["lost"] * step)
    if typical <= 0 or not slow or often < thresholds["often"]:
        return []
    rank = by_host[slowest][0]
    line = [line for _, line in training.intervals(run, rank)][-1]
    values = {
        "host": slowest, "ranks": shown(by_host[slowest]), "own_ms": f"{1000 * median(own[slowest]):.3g}",
        "others_ms": f"{1000 * typical:.3g}", "ratio": f"{median(own[slowest]) / typical:.1f}",
    }  # fmt: skip
    evidence = training.placed(run, training.metered_evidence(run, rank, line))
    return [FactHit(evidence, values, tuple(by_host[slowest]))]


@fact("silent:slow-allreduce")
def slow_allreduce(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report steps that wait much longer for gradients than the cluster's measured all-reduce time.

    The rank with the shortest wait is used, because the others also wait for slow ranks. `ratio`: wait ÷ time of one
    all-reduce of all gradients after computing; `lost`: share of the time lost beyond it. Needs `hackathon clusters
    NAME --measure` with as many nodes and processes, and the final number `gradient_bytes`.
    """
    processes, nodes = run.record.processes, run.record.nodes
    finals = [line for lines in run.metrics.values() for line in lines if number(line.get("gradient_bytes"))]
    splits = [training.split(run, rank) for rank in run.metrics]
    least = min((split.share("communication") or 0.0 for split in splits), default=0.0)
    short = any(split.steps < thresholds["steps"] or split.seconds < thresholds["seconds"] for split in splits)
    if not finals or not least or short:
        return []
    entries = measured(run.record.cluster)
    entry = next((entry for entry in entries if (entry["processes"], entry["nodes"]) == (processes, nodes)), None)
    expected = _allreduce_seconds(entry, float(finals[0]["gradient_bytes"])) if entry else None
    if expected is None:
        return []
    step = median(split.seconds / split.steps for split in splits)
    waits = least * step
    allowed = (step - waits) / (step - waits + expected)
    if waits < thresholds["ratio"] * expected or allowed - (1 - least) < thresholds["lost"]:
        return []
    values = {
        "efficiency": f"{100 * (1 - least):.0f}", "allowed": f"{100 * allowed:.0f}", "waits_ms": f"{1000 * waits:.3g}",
        "expected_ms": f"{1000 * expected:.3g}", "megabytes": f"{float(finals[0]['gradient_bytes']) / 1e6:.3g}",
    }  # fmt: skip
    return [FactHit(None, values)]


def _allreduce_seconds(entry: Mapping[str, Any], size: float) -> float | None:
    """Return the seconds of an all-reduce of `size` bytes: α + bytes ÷ β of the range with this size, or of `large`."""
    fits = entry["operations"].get("all-reduce", {}).get("fits", {})
    lines = [line for line in (fits.get("large"), fits.get("small")) if line]
    line = next((line for line in lines if line["from_bytes"] <= size <= line["to_bytes"]), lines[0] if lines else None)
    return line["alpha_us"] / 1e6 + size / (line["beta_gb_s"] * 1e9) if line and line["beta_gb_s"] > 0 else None
