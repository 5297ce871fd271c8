"""The counts of each rank's recorder: steps, samples and tokens, process groups and their collectives.

The recorder (`templates/jobs/steps.py`) runs inside the program and writes one file per rank. Runs of an older toolkit,
and of programs that it does not support, have no such files or no such fields: their counts are unknown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from hackathon.logs.metrics import rank_files, rank_of
from hackathon.runs.directory import STEPS_FOLDER, guarded
from hackathon.text.files import read_json
from hackathon.text.json_fields import count_of, listed, mapping_of, text_of
from hackathon.text.numbers import finite

RANKS = 64
"""Most ranks whose files are read, evenly spread: all ranks of a training do the same."""
BLOCKS, WORKLOADS, LISTS = 256, 64, 64
"""Most blocks, workloads and checksums of a file that are read; a recorder writes fewer."""
APART = 1.5
"""Factor between a printed throughput and the recorded one up to which the recorder confirms it."""
COMPARED = 20
"""Recorded steps of each rank from which a printed throughput is compared with the recorded one."""
EQUAL_BATCHES = 4
"""Least batches that ranks must have in common, with several contents, to have read the same data."""
PAUSED = 2.0
"""Factor between the time that passed between two blocks and that of their own steps above which there was a pause."""
CLAIMED = 0.9
"""Least share of the steps with batches of a DataLoader for a throughput in samples."""


@dataclass(frozen=True)
class DataRecording:
    """The data of a rank's training, as its DataLoader drew it in the first epoch."""

    size: int
    """Samples of the data set."""
    epoch: int | None
    """Samples drawn in the epoch; None if it did not end."""
    largest: int
    """Samples of the largest batch."""
    dataset: int | None
    """Checksum of the attributes of the data set; None if they do not show what it consists of."""
    lists: tuple[int, ...]
    """Checksums of the first lists of indices."""
    batches: Mapping[str, int]
    """Number of a batch → checksum of its first values."""
    synthetic: bool
    """Whether the data set is called so: a benchmark trains with it as if each rank had data of its own."""
    divided: bool
    """Whether the model took only a part of each batch."""

    def is_drawn_as(self, other: "DataRecording") -> bool:
        """Return whether enough first lists of indices are known, and are the same."""
        return len(self.lists) >= EQUAL_BATCHES and self.lists == other.lists


@dataclass(frozen=True)
class RankRecording:
    """The counts of one rank's recorder."""

    steps: int
    """Number of measured steps."""
    seconds: float
    """Time of as many steps at the mean speed of the run: most recorded steps are of its beginning."""
    timed: int | None = None
    """Steps after the first ones of which that speed is the mean; None in files of an older recorder."""
    samples: float = 0.0
    """Median samples of a step; 0 if the recorder saw no input."""
    tokens: float = 0.0
    batches: bool = False
    """Whether the samples are counted from batches of a DataLoader, not from the input of a model."""
    world: int | None = None
    """Processes of the default process group; 0 without a group, None if the recorder did not look."""
    collectives: int | None = None
    """Collectives in `looks` steps, in all process groups; None if a group does not count them."""
    looks: int = 0
    inside: int = 0
    """Collectives in `plain` recorded steps in which no DataLoader ended: an evaluation is in none of them."""
    plain: int = 0
    others: tuple[str, ...] = ()
    """Packages in the process that can exchange gradients without torch.distributed."""
    parts: bool = False
    """Whether a process group has several processes, but not all of them."""
    replicas: int = 0
    """Processes among which DDP copies, or FSDP divides, one model; 0 without such a wrapper."""
    data: "DataRecording | None" = None
    """The data that the rank read; None without a DataLoader of indices."""

    @property
    def steps_per_s(self) -> float:
        """Steps per second."""
        return self.steps / self.seconds

    def reads_as(self, other: "RankRecording") -> bool:
        """Return whether two ranks read the same batches: same lists of samples, same contents.

        False where that is not proved: without such records, and for data that is the same in every batch, or synthetic
        unless both models took only a part of each batch.
        """
        own, theirs = self.data, other.data
        if own is None or theirs is None or own.size != theirs.size:
            return False
        if (own.synthetic or theirs.synthetic) and not (own.divided and theirs.divided):
            return False
        if not own.is_drawn_as(theirs):
            return False
        shared = own.batches.keys() & theirs.batches.keys()
        equal = all(own.batches[number] == theirs.batches[number] for number in shared)
        return equal and len(shared) >= EQUAL_BATCHES and len({own.batches[number] for number in shared}) > 1


def recordings(run: Path, processes: int) -> dict[int, RankRecording]:
    """Return rank → its recorder's counts, for at most RANKS ranks; empty unless each of those has such a file."""
    files = {
        rank: path for path in rank_files(guarded(run) / STEPS_FOLDER, ".json") if (rank := rank_of(path)) < processes
    }
    if processes < 1 or len(files) < processes:
        return {}
    chosen = sorted(files)[:: -(-processes // RANKS)]
    ranks = {rank: recording for rank in chosen if (recording := recording_of(read_json(files[rank])))}
    return ranks if len(ranks) == len(chosen) else {}


@dataclass(frozen=True, order=True)
class _Block:
    """Steps in a row that were recorded."""

    first: int
    last: int
    seconds: float
    at: float
    """When it began, s on a clock of the rank; 0 in files of an older recorder."""

    @property
    def mean(self) -> float:
        """Seconds of a step."""
        return self.seconds / (self.last - self.first + 1)


def _measured(record: Mapping[str, Any]) -> tuple[int, float]:
    """Return the number of recorded steps, and the time of as many at the mean speed of the run; zeros without any.

    The recorder times all steps without an evaluation. In files of an older one, those between two blocks count with
    the time that passed.
    """
    timed = mapping_of(record.get("timed"))
    steps, seconds = count_of(timed.get("steps")), finite(timed.get("seconds"))
    blocks = []
    for block in map(mapping_of, listed(record.get("blocks"))[:BLOCKS]):
        first, last, spent = count_of(block.get("first")), count_of(block.get("last")), finite(block.get("seconds"))
        if spent and spent > 0 and 0 < first <= last:
            blocks.append(_Block(first, last, spent, finite(block.get("at")) or 0.0))
    recorded = sum(block.last - block.first + 1 for block in blocks)
    if steps and seconds and seconds > 0:
        return recorded or steps, seconds / steps * (recorded or steps)
    if not blocks:
        return 0, 0.0
    blocks.sort()
    after = max(0, count_of(record.get("steps")) - blocks[-1].last)
    steps, seconds = recorded + after, sum(block.seconds for block in blocks) + after * blocks[-1].mean
    for before, following in pairwise(blocks):
        between = max(0, following.first - before.last - 1)
        steps, seconds = steps + between, seconds + _between(before, following, between)
    return recorded, seconds / steps * recorded


def _between(block: _Block, following: _Block, steps: int) -> float:
    """Return the seconds of the steps between two blocks: what passed, if no pause (an evaluation) is seen in it."""
    expected = steps * (block.mean + following.mean) / 2
    passed = following.at - block.at - block.seconds
    return passed if block.at and following.at and expected / PAUSED < passed < expected * PAUSED else expected


def recording_of(value: object) -> RankRecording | None:
    """Return the counts in a recorder's file; None without a measured step. Invalid fields are ignored."""
    record = mapping_of(value)
    steps, seconds = _measured(record)
    if not seconds:
        return None
    samples, tokens, batches = _work(record.get("work"))
    group = mapping_of(record.get("group"))
    collectives = group.get("collectives")
    return RankRecording(
        steps=steps,
        seconds=seconds,
        timed=count_of(mapping_of(record["timed"]).get("steps")) if "timed" in record else None,
        samples=samples,
        tokens=tokens,
        batches=batches,
        world=count_of(group.get("world")) if group else None,
        collectives=count_of(collectives) if isinstance(collectives, int) else None,
        looks=count_of(group.get("steps")),
        inside=count_of(group.get("inside")),
        plain=count_of(group.get("plain")),
        others=tuple(text_of(name) for name in listed(group.get("others"))),
        parts=group.get("parts") is True,
        replicas=count_of(record.get("replicas")),
        data=_data(mapping_of(record.get("data"))),
    )


def _data(value: Mapping[str, object]) -> DataRecording | None:
    size = count_of(value.get("size"))
    if not size:
        return None
    epoch, dataset = value.get("epoch"), value.get("set")
    batches = mapping_of(value.get("batches"))
    return DataRecording(
        size=size,
        epoch=count_of(epoch) if isinstance(epoch, int) else None,
        largest=count_of(value.get("largest")),
        dataset=dataset if isinstance(dataset, int) else None,
        lists=tuple(number for number in listed(value.get("lists"))[:LISTS] if isinstance(number, int)),
        batches={str(name): number for name, number in list(batches.items())[:LISTS] if isinstance(number, int)},
        synthetic=value.get("synthetic") is True,
        divided=value.get("divided") is True,
    )


def _work(value: object) -> tuple[float, float, bool]:
    """Return the median samples and tokens of a step, and whether they come from a DataLoader."""
    workloads = []
    for entry in listed(value)[:WORKLOADS]:
        fields = listed(entry)
        if len(fields) == 4 and (times := count_of(fields[3])):
            workloads.append((count_of(fields[0]), count_of(fields[1]), fields[2] is True, times))
    total = sum(times for *_, times in workloads)
    if not total:
        return 0.0, 0.0, False
    claimed = sum(times for *_, batches, times in workloads if batches)
    samples = _weighted_median([(samples, times) for samples, _, _, times in workloads])
    tokens = _weighted_median([(tokens, times) for _, tokens, _, times in workloads])
    return samples, tokens, claimed >= CLAIMED * total


def _weighted_median(values: Sequence[tuple[int, int]]) -> float:
    half, below, middle = sum(times for _, times in values) / 2, 0, 0
    for value, times in sorted(values):
        if below < half:
            middle = value
        below += times
    return float(middle)


def rates(ranks: Mapping[int, RankRecording], processes: int) -> dict[str, float]:
    """Return the throughput of all processes by metric name: steps/s, and samples/s and tokens/s if known.

    Samples are known if each rank draws its batches from a DataLoader. If only some ranks were read, the others count
    with their mean. What several ranks read counts once (`_readers`).
    """
    if not ranks:
        return {}
    every = list(ranks.values())
    numbers = {}
    readers = _readers(every, processes)
    if readers and all(rank.batches and rank.samples for rank in every):
        numbers["samples_per_s"] = sum(share * rank.samples * rank.steps_per_s for rank, share in readers)
        if all(rank.tokens for rank in every):
            numbers["tokens_per_s"] = sum(share * rank.tokens * rank.steps_per_s for rank, share in readers)
    return numbers | {"steps_per_s": median(rank.steps_per_s for rank in every)}


def _readers(ranks: Sequence[RankRecording], processes: int) -> list[tuple[RankRecording, float]]:
    """Return (rank, how many times its work counts), one rank for all that read the same batches as it.

    Such ranks take slices of a batch, share one model, or do the same work twice: in each case the step trains with
    one batch. Empty where only some ranks were read, and a part of these read the same: then the others are unknown.
    """
    readers: list[RankRecording] = []
    for rank in ranks:
        if not any(rank.reads_as(reader) for reader in readers):
            readers.append(rank)
    if len(readers) == 1 and len(ranks) > 1:
        return [(readers[0], 1.0)]
    if len(ranks) < processes and (len(readers) < len(ranks) or any(rank.parts for rank in ranks)):
        return []
    return [(rank, processes / len(ranks)) for rank in readers]


def contradicts(metric: str, printed: float | None, recorded: float | None) -> bool:
    """Return whether a printed throughput is far above the recorded one.

    A lower one does not contradict it: means often include the start, evaluations, or the end of an epoch.
    Steps are not compared: what a program calls a step may be a part of one.
    """
    return metric != "steps_per_s" and printed is not None and bool(recorded) and printed > APART * (recorded or 0.0)


def confirms(printed: float, recorded: float) -> bool:
    """Return whether the recorder counted about the throughput that was printed."""
    return recorded / APART <= printed <= recorded * APART


def is_comparable(ranks: Mapping[int, RankRecording]) -> bool:
    """Return whether enough steps were recorded to compare their rate with a printed one."""
    return all(rank.steps >= COMPARED for rank in ranks.values())


def work_of_step(ranks: Mapping[int, RankRecording], processes: int) -> float | None:
    """Return the samples of a step over all processes; None if a rank's input is unknown."""
    readers = _readers(list(ranks.values()), processes)
    if not readers or not all(rank.samples for rank in ranks.values()):
        return None
    return sum(share * rank.samples for rank, share in readers)
