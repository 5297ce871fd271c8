"""The shares of a run's steps from the recorder's observations of each rank, without a line in the program."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

from hackathon.logs.metrics import rank_files, rank_of
from hackathon.profiling.shares import (
    FEW_SAMPLES,
    HOOKED,
    ON_DEVICE,
    SAMPLED,
    UNSEEN,
    Interval,
    RunShares,
    run_shares,
)
from hackathon.runs.directory import STEPS_FOLDER, guarded
from hackathon.text.files import read_json
from hackathon.text.json_fields import count_of, listed, mapping_of, text_of
from hackathon.text.numbers import finite

RANKS = 4096
"""Ranks whose files are read."""
BLOCKS, STEPS, COLLECTIVES = 256, 64, 64
"""Limits on the blocks of a file, steps of a block and collectives of a step: a recorder writes fewer."""
POINTS = 0.03
"""Standard error of a share of a step up to which samples separate computing from the program's own Python."""
NOTICED = 0.02
"""Share of a step above which the time outside batch, optimizer and collectives must be split."""
_ERRORS = 2
"""Standard errors by which samples must contradict the processor time to take precedence."""


@dataclass(frozen=True)
class Stretch:
    """The times of a rank in some consecutive steps, in seconds."""

    first: int
    last: int
    seconds: float
    parts: Mapping[str, float]
    """`data`, `compute`, `communication`, `rest`, and of the rest the processor time `cpu`."""
    collectives: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Seen:
    """The content of a recorder's file."""

    device: str
    seen: Mapping[str, int]
    """Part → number of entries; `forward`, `backward`: passes of DDP models that began and that ended."""
    samples: Mapping[str, int]
    """Results of samples of the rest: `compute`, `host`, `idle`, `unknown`."""
    blocks: tuple[Stretch, ...]

    @property
    def rest(self) -> float:
        """Share of the time that is in no marked part."""
        return self._sum("rest") / sum(block.seconds for block in self.blocks)

    def _sum(self, part: str) -> float:
        return sum(block.parts.get(part, 0.0) for block in self.blocks)

    def unknown(self, processes: int) -> dict[str, str]:
        """Return part → why it is unknown."""
        reasons = {}
        if not self.seen.get("data"):
            reasons["data"] = UNSEEN
        if self.device not in ("", "cpu"):
            return reasons | dict.fromkeys(("data", "host", "compute", "communication", "waiting"), ON_DEVICE)
        total = sum(self._told)
        few = self.samples.get("unknown", 0) > total or self.rest * self._error > POINTS
        if self.rest >= NOTICED and few:
            reasons["compute"] = reasons["host"] = FEW_SAMPLES
        missed = self.seen.get("forward", 0) > self.seen.get("backward", 0) + 1
        if processes > 1 and (missed or not self.seen.get("communication")):
            reasons["communication"] = reasons["waiting"] = UNSEEN
        return reasons

    def of_rest(self) -> tuple[float, float]:
        """Return the shares of the rest that are computing and the program's own work on a CPU.

        The processor time is split like the samples. More computing counts only if samples show it clearly: the rank
        then waited for a CPU, or for its other threads.
        """
        remainder, samples = self._sum("rest"), self._told
        if remainder <= 0 or not sum(samples):
            return 0.0, 0.0
        cpu, working = min(1.0, self._sum("cpu") / remainder), max(1, samples[0] + samples[1])
        computes, host = cpu * samples[0] / working, cpu * samples[1] / working
        sampled = samples[0] / sum(samples)
        return (sampled if sampled - _ERRORS * self._error > computes else computes), host

    @property
    def _told(self) -> list[int]:
        return [self.samples.get(kind, 0) for kind in ("compute", "host", "idle")]

    @property
    def _error(self) -> float:
        """Standard error of computing's share of the rest, with one more sample of each kind (Agresti, Coull 1998)."""
        number = sum(self._told) + 2
        share = (self._told[0] + 1) / number
        return sqrt(share * (1 - share) / number)


def outside_shares(run: Path, processes: int) -> RunShares | None:
    """Return how the time of a run's steps is split according to its recorders; None without recorded steps."""
    files = rank_files(guarded(run) / STEPS_FOLDER, ".json")[:RANKS]
    ranks = {
        rank: report for file in files if (rank := rank_of(file)) < processes and (report := seen(read_json(file)))
    }
    if not ranks:
        return None
    why: dict[str, str] = {}
    for recording in ranks.values():
        why |= recording.unknown(processes)
    records = {rank: list(_intervals(recording, why)) for rank, recording in ranks.items()}
    sampled = "compute" not in why and any(recording.rest >= NOTICED for recording in ranks.values())
    return run_shares(records, processes, why, SAMPLED if sampled else HOOKED)


def seen(value: object) -> Seen | None:
    """Return the content of a recorder's file, which may be arbitrary JSON; None without steps."""
    record = mapping_of(value)
    if text_of(record.get("framework")) not in ("", "torch"):
        return None  # its recorder counts steps, and does not look into them
    blocks = tuple(_blocks(record.get("blocks")))
    counts = {str(name): count_of(count) for name, count in mapping_of(record.get("seen")).items()}
    samples = {str(name): count_of(count) for name, count in mapping_of(record.get("samples")).items()}
    return Seen(text_of(record.get("device")), counts, samples, blocks) if blocks else None


def _blocks(value: object) -> Iterator[Stretch]:
    after = 0
    for block in map(mapping_of, listed(value)[:BLOCKS]):
        first, last, seconds = count_of(block.get("first")), count_of(block.get("last")), finite(block.get("seconds"))
        if not seconds or seconds <= 0 or not after < first <= last < first + STEPS:
            continue
        parts = {str(name): finite(spent) for name, spent in mapping_of(block.get("parts")).items()}
        times = {name: spent for name, spent in parts.items() if spent is not None and 0 <= spent <= 1.01 * seconds}
        if len(times) < len(parts) or sum(times.values()) - times.get("cpu", 0.0) > 1.01 * seconds:
            continue
        after = last
        yield Stretch(first, last, seconds, times, _collectives(block.get("collectives"), last - first + 1, seconds))


def _collectives(value: object, steps: int, seconds: float) -> tuple[tuple[float, ...], ...]:
    """Return the seconds of each step's collectives; none unless they cover all steps."""
    collectives = []
    for step in listed(value)[:STEPS]:
        spent = [duration for number in listed(step)[:COLLECTIVES] if (duration := finite(number)) is not None]
        if len(spent) != len(listed(step)) or any(not 0 <= number <= seconds for number in spent):
            return ()
        collectives.append(tuple(spent))
    return tuple(collectives) if len(collectives) == steps else ()


def _intervals(rank: Seen, why: Mapping[str, str]) -> Iterator[Interval]:
    """Yield a rank's blocks with the Meter's names, without unknown parts."""
    computes, host = rank.of_rest()
    for block in rank.blocks:
        spent = {name: block.parts.get(name, 0.0) for name in ("data", "compute", "communication")}
        spent["compute"] += computes * block.parts.get("rest", 0.0)
        spent["host"] = host * block.parts.get("rest", 0.0)
        phases = {name: seconds for name, seconds in spent.items() if name not in why}
        yield Interval(block.first, block.last, block.seconds, phases, block.collectives)
