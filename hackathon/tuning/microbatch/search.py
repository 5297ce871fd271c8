"""The split of a batch for a limit of memory: the job that searches it, and the results of its starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from hackathon.access.ownership import foreign, own
from hackathon.runs.directory import RunDirectory
from hackathon.text.errors import RequestError
from hackathon.text.json_fields import listed, mapping_of, text_of
from hackathon.text.numbers import finite, integer
from hackathon.text.paths import shipped
from hackathon.tuning.batches import MEMORY_RULES, cause_of, check_limit
from hackathon.tuning.measurement import STARTING, SingleProcess, SpeedupMeasurement
from hackathon.tuning.microbatch import parts
from hackathon.tuning.slots import read_slots, slot_folders

WRAPPER = ("micro_batches.py", "layer_splits.py")
"""The files with which a program splits its batch; they need PyTorch and nothing of the toolkit."""
LINES = (
    "from micro_batches import MicroBatches",
    "micro = MicroBatches(loss_of)",
    "loss = micro.backward(model, images, labels)  # was: loss = loss_of(model(images), labels); loss.backward()",
)
"""Lines that a program needs for a split from outside."""


@dataclass(frozen=True)
class SplitProbe:
    """One start in micro-batches."""

    parts: int
    size: int | None
    """Samples of the largest micro-batch; None when the program did not report it."""
    kind: str
    """`search`, `confirm` or `speed`."""
    fits: bool
    memory: int | None
    """Bytes."""
    value: float | None
    """Throughput."""
    cause: str = ""
    """Like `BatchProbe.cause`."""
    folder: str = ""

    @property
    def out_of_memory(self) -> bool:
        """Whether it failed for lack of memory."""
        return self.cause in MEMORY_RULES or self.cause == "killed"


@dataclass(frozen=True)
class SplitSpeed:
    """The speed with one number of micro-batches, measured in turn with the others."""

    parts: int
    size: int | None
    rates: tuple[float, ...]
    """Throughput in each round."""
    memory: int | None
    """Peak bytes."""

    @property
    def rate(self) -> float:
        """Median throughput."""
        return median(self.rates)


def starts(fewest: bool) -> int:
    """Return the number of starts for which the job's time is computed."""
    return 5 if fewest else 5 + parts.ROUNDS * parts.CANDIDATES


def fastest(fewest: int, speeds: Sequence[SplitSpeed]) -> int:
    """Return the fewest micro-batches not measurably slower than the fastest; else `fewest`.

    A split counts as slower when each of its rounds is slower than each of the fastest.
    """
    if not any(split.parts == fewest for split in speeds):
        return fewest
    best = max(speeds, key=lambda split: split.rate)
    return min(split.parts for split in speeds if max(split.rates) >= min(best.rates))


@dataclass(frozen=True)
class BatchSplit:
    """The split of a batch for a limit of memory."""

    batch: int | None
    """Samples of the whole batch in a process; None when the program does not split its batch."""
    limit: int | None
    parts: int | None
    """The recommended micro-batches: the fastest that fit (see `fastest`); None: none fits, or unknown."""
    fewest: int | None
    """The fewest micro-batches that fitted in a start."""
    sizes: tuple[int, ...]
    planned: int | None
    """Predicted peak bytes of the fewest, by the line through two starts that fit; None without a line."""
    measured: int | None
    """Peak bytes of the longer start with the fewest."""
    unit: str
    metric: str
    probes: tuple[SplitProbe, ...]
    batch_normalisation: tuple[str, ...] = ()
    """Modules whose result depends on the split."""
    virtual: bool = False
    """Whether memory means address space, like its limit."""
    speeds: tuple[SplitSpeed, ...] = ()
    """Speeds of the compared splits, the fewest micro-batches first; none without printed throughput."""

    @property
    def other_failure(self) -> SplitProbe | None:
        """A start that failed for another reason than memory: then the result is unknown."""
        return next((probe for probe in self.probes if not probe.fits and not probe.out_of_memory), None)

    @property
    def uses_wrapper(self) -> bool:
        """Whether any start reported how it splits its batch."""
        return any(probe.size for probe in self.probes)

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings for this split; none for a whole batch."""
        return {f"env.{parts.VARIABLE}": str(self.parts)} if self.parts is not None and self.parts > 1 else {}

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "schema_version": 1, "batch": self.batch, "limit_bytes": self.limit,
            "memory_of": "addresses" if self.virtual else "device_or_resident",
            "micro_batches": self.parts, "fewest_micro_batches": self.fewest, "sizes": list(self.sizes),
            "planned_bytes": self.planned, "measured_bytes": self.measured,
            "batch_normalisation": list(self.batch_normalisation), "metric": self.metric, "unit": self.unit,
            "probes": [
                {
                    "micro_batches": probe.parts, "size": probe.size, "kind": probe.kind, "fits": probe.fits,
                    "memory_bytes": probe.memory, "value": probe.value, "cause": probe.cause or None,
                }
                for probe in self.probes
            ],
            "speeds": [
                {
                    "micro_batches": split.parts, "size": split.size, "rates": list(split.rates), "rate": split.rate,
                    "memory_bytes": split.memory,
                }
                for split in self.speeds
            ],
            "apply": dict(self.settings),
        }  # fmt: skip


def split_measurement(program: SingleProcess, limit: int | None, seconds: int, fewest: bool) -> SpeedupMeasurement:
    """Return the job that searches the split; `limit`: bytes of address space of each start.

    With `fewest` no speeds are compared. Raises the errors of `check_limit`.
    """
    check_limit(program, limit)
    task = {
        "kind": "micro", "command": program.command({}), "limit": limit, "seconds": seconds, "starting": STARTING,
        "fewest": fewest,
    }  # fmt: skip
    return program.measurement(task, program.walltime(starts(fewest), seconds), (parts.PROGRAM, Path(parts.__file__)))


def read_split(run: RunDirectory) -> BatchSplit | None:
    """Return the result of a search; None before its end."""
    summary = run.files.json("slots/micro.json")
    if not summary:
        return None
    task = run.files.json("source/hackathon_speedup.json", 1 << 22)
    values = {slot.folder: slot for slot in read_slots(run)}
    reports = {folder: run.files.json(f"{folder}/{parts.REPORT}") for folder in slot_folders(run)}
    probes = tuple(_probe(run, folder, reports[folder], values[folder].value) for folder in reports)
    best = next((probe for probe in reversed(probes) if probe.kind == "confirm" and probe.fits and probe.size), None)
    speeds = _speeds(probes)
    chosen = fastest(best.parts, speeds) if best is not None else None
    report = next((reports[probe.folder] for probe in reversed(probes) if probe.parts == chosen and probe.size), {})
    first = next(iter(values.values()), None)
    return BatchSplit(
        batch=next((integer(mapping_of(report).get("batch")) for report in reports.values() if report), None),
        limit=integer(summary.get("limit")),
        parts=chosen,
        fewest=best.parts if best is not None else None,
        sizes=tuple(size for size in map(integer, listed(report.get("sizes"))) if size is not None),
        planned=integer(summary.get("planned")) if best is not None else None,
        measured=best.memory if best is not None else None,
        unit=first.unit if first is not None else "",
        metric=first.metric if first is not None else "",
        probes=probes,
        batch_normalisation=tuple(name for name in map(text_of, listed(report.get("batch_normalisation"))) if name),
        virtual=task.get("limit") is not None,
        speeds=speeds,
    )


def _speeds(probes: Sequence[SplitProbe]) -> tuple[SplitSpeed, ...]:
    """Return the speeds of splits that were measured in two rounds at least and never failed."""
    speeds = []
    for count in sorted({probe.parts for probe in probes if probe.kind == "speed"}):
        rounds = [probe for probe in probes if probe.kind == "speed" and probe.parts == count]
        rates = tuple(probe.value for probe in rounds if probe.fits and probe.value is not None)
        if len(rates) == len(rounds) > 1:
            memory = max((probe.memory for probe in rounds if probe.memory is not None), default=None)
            speeds.append(SplitSpeed(count, rounds[0].size, rates, memory))
    return tuple(speeds)


def _probe(run: RunDirectory, folder: str, report: Mapping[str, Any], value: float | None) -> SplitProbe:
    slot = run.files.json(f"{folder}/slot.json")
    failed = slot.get("failed") is True
    sizes = [size for size in map(integer, listed(report.get("sizes"))) if size is not None]
    return SplitProbe(
        parts=integer(slot.get("parts")) or 0,
        size=max(sizes, default=None),
        kind=text_of(slot.get("kind")),
        fits=not failed,
        memory=integer(slot.get("memory")),
        value=finite(value) if value is not None else None,
        cause=cause_of(run, folder, slot) if failed else "",
        folder=folder,
    )


def place_wrapper(folder: Path) -> list[Path]:
    """Write the wrapper's files into a folder, unless they exist; return their paths.

    Raises RequestError over another file, and when another account controls the folder.
    """
    from hackathon.text.files import open_regular, write_whole

    missing = []
    for name in WRAPPER:
        path, content = folder / name, shipped("recipes", "shared", name).read_text("utf-8")
        if path.is_symlink() or foreign(folder, own()) is not None:
            raise RequestError(
                "speedup.not_own",
                "{path} belongs to somebody else, is a link, or can be replaced by others: it is not written",
                path=path,
            )
        if not path.exists():
            missing.append((path, content))
            continue
        with open_regular(path) as stream:
            if stream.read(1 << 20).decode("utf-8", "replace") != content:
                raise RequestError("microbatch.other_file", "{path} is another file: nothing was written", path=path)
    for path, content in missing:
        write_whole(path, content, 0o644)
    return [folder / name for name in WRAPPER]
