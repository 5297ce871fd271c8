"""Read the load of a run's nodes: its telemetry once it has ended, and when its newest number came."""

import math
from collections.abc import Iterable
from itertools import pairwise

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.index.numbers import newest_times
from hackathon.logs.values import number
from hackathon.runs.directory import RunDirectory
from hackathon.runs.lives import RunUse
from hackathon.runs.load import RunLoad
from hackathon.text.json_fields import moment_of

MOST = 2 << 20
"""Bytes of a host's telemetry; of a longer file, the beginning is missing."""
HOSTS = 256
"""The most hosts that are read."""
GAP = 300.0
"""Seconds between two measurements of power beyond which nothing is known of the time between."""
LOOKS = 3
"""Fewest measurements by which a GPU is called unused."""
USED_MIB = 300.0
"""Memory in use of a GPU from which on it is used; a driver alone takes less."""

Reading = tuple[float, float | None, float | None, float | None]
"""Seconds since 1970, utilisation in percent, memory in MiB, power in W."""


def load_of(run: RunDirectory, use: RunUse, before: RunUse | None = None) -> RunLoad:
    """Return the load of a run; of one that has not ended, only its times. `before`: an earlier use of the run."""
    if before is not None and before.load is not None and before.closed and before.attempts == use.attempts:
        return before.load
    output, interval = newest_times(run.path)
    submitted = moment_of(run.client("submitted").get("t"))
    if not use.closed:
        return RunLoad(submitted, output, interval)
    names = [name for name in run.files.names("telemetry") if name.endswith(".csv")]
    if not names or len(names) > HOSTS:
        return RunLoad(submitted, output, interval)
    hosts = [_host(run.files, f"telemetry/{name}") for name in names]
    memory = [host.memory for host in hosts if host.memory is not None]
    complete = len(hosts) >= use.nodes > 0
    gpus = [readings for host in hosts for readings in host.gpus.values()]
    judged = complete and all(host.gpus for host in hosts) and min(map(len, gpus), default=0) >= LOOKS
    whole = judged and all(host.whole for host in hosts)
    energies = [_joules(readings) for readings in gpus]
    return RunLoad(
        submitted,
        output,
        interval,
        gpus=len(gpus) if judged else None,
        gpus_used=sum(map(_used, gpus)) if judged else None,
        kwh=math.fsum(energy for energy in energies if energy is not None) / 3.6e6
        if whole and None not in energies
        else None,
        memory=max(memory) * 1024 * 1024 if complete and memory else None,
    )


class _Host:
    def __init__(self) -> None:
        self.gpus: dict[str, list[Reading]] = {}
        self.memory: float | None = None
        self.whole = True


def _host(files: GuardedFolder, name: str) -> _Host:
    host = _Host()
    ending = files.end(name, MOST)
    if ending is None:
        return host
    raw, size = ending
    host.whole = size <= MOST
    for line in raw.decode("utf-8", "replace").split("\n"):
        fields = line.strip().split(",")
        moment = number(fields[0]) if len(fields) >= 6 else None
        if moment is None or not math.isfinite(moment):
            continue
        busy, memory, power = (_amount(field) for field in fields[3:6])
        if fields[1] == "gpu":
            host.gpus.setdefault(fields[2], []).append((moment, busy, memory, power))
        elif fields[1] == "cpu" and memory is not None:
            host.memory = max(memory, host.memory or 0.0)
    return host


def _amount(text: str) -> float | None:
    value = number(text)
    return value if value is not None and 0.0 <= value < 1e9 else None


def _used(readings: Iterable[Reading]) -> bool:
    return any((busy or 0.0) > 0.0 or (memory or 0.0) >= USED_MIB for _, busy, memory, _ in readings)


def _joules(readings: Iterable[Reading]) -> float | None:
    """Return the energy of one GPU between its measurements; None without two measurements of its power."""
    powers = sorted((moment, power) for moment, _, _, power in readings if power is not None)
    parts = [
        (later - earlier) * (before + after) / 2
        for (earlier, before), (later, after) in pairwise(powers)
        if later - earlier <= GAP
    ]
    return math.fsum(parts) if parts else None
