"""Read a run's training from its records: losses, the split of its time, its hosts' GPUs, its study."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from statistics import median_high
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, proxy

from hackathon.diagnosis.facts import RunFacts
from hackathon.diagnosis.findings import Evidence
from hackathon.logs.lines import Splitter
from hackathon.logs.metrics import LONGEST, rank_files, rank_of
from hackathon.logs.patterns import may_never_end, may_take_long
from hackathon.logs.readers import NUMBER
from hackathon.logs.search_limit import SearchLimit, TooLongError, can_interrupt
from hackathon.logs.values import number
from hackathon.runs.record import RunRecord
from hackathon.text.files import open_regular, read_json

LOGS = 32 << 20
"""Bytes read from a run's logs for one check, about: the beginning and the end of each."""
SECONDS = 5.0
"""Processor seconds for a run's own pattern in all its logs."""
_LOSS_NAME = re.compile(r"(?i)(?:.*[_/])?loss\Z")
_OTHERS_LOSS = re.compile(r"(?i)(?:val|test|eval|dev)")
_PRINTED = re.compile(rf"(?i)(?<![a-z])loss[\"']?(?:\s+is)?\s*[:=]?\s*({NUMBER})(?![\w.])")


class Loss(NamedTuple):
    """A loss that a rank recorded."""

    step: int | None
    """None for a printed loss: its line does not give the step in a known form."""
    value: float
    place: Callable[[], Evidence]
    """Creates its evidence. Most losses never need it."""
    of_training: bool = True
    """False for a loss labelled as a test's, a mean or one over all ranks."""

    @property
    def evidence(self) -> Evidence:
        """Its location."""
        return self.place()


@dataclass
class Split:
    """How a rank's time is split after the warm-up."""

    steps: int = 0
    seconds: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)
    """Phase → seconds."""
    per_step: list[float] = field(default_factory=list)
    """Seconds per step without communication, for each interval."""

    def share(self, phase: str) -> float | None:
        """Return a phase's share of the time, None when the program does not record it."""
        return self.phases[phase] / self.seconds if phase in self.phases and self.seconds > 0 else None


_losses: WeakKeyDictionary[RunFacts, dict[int, list[Loss]]] = WeakKeyDictionary()


def intervals(run: RunFacts, rank: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (steps since the previous line, line) for each interval of a rank's Meter."""
    before = 0
    for line in run.metrics.get(rank, ()):
        step = line.get("step")
        if isinstance(step, int) and not line.get("final"):
            if not line.get("gap"):
                yield max(0, step - before), line
            before = step


def split(run: RunFacts, rank: int) -> Split:
    """Return how a rank's time is split after the warm-up; an empty split without a Meter."""
    times = Split()
    for steps, line in intervals(run, rank):
        seconds = number(line.get("seconds"))
        if line.get("warmup") or not seconds or not steps:
            continue
        times.steps += steps
        times.seconds += seconds
        fractions = {name[:-6]: number(line[name]) for name in line if name.endswith("_share")}
        shares = {phase: share for phase, share in fractions.items() if share is not None}
        for phase, share in shares.items():
            times.phases[phase] = times.phases.get(phase, 0.0) + share * seconds
        times.per_step.append(seconds * (1 - shares.get("communication", 0.0)) / steps)
    return times


def losses(run: RunFacts) -> dict[int, list[Loss]]:
    """Return each rank's losses by time: those of the Meter, else those in the ranks' logs."""
    if run not in _losses:
        _losses[run] = _read_losses(run)
    return _losses[run]


def _read_losses(run: RunFacts) -> dict[int, list[Loss]]:
    metered = {rank: list(_metered(run, rank)) for rank in run.metrics}
    if any(metered.values()):
        return metered
    pattern = _own_pattern(run.record) or _PRINTED
    files = rank_files(run.path / "logs", ".log")
    limit = SearchLimit(SECONDS)
    return {
        rank_of(path): list(_printed(path, part(files), pattern, run.host_of.get(rank_of(path), ""), limit))
        for path in files
    }


def _metered(run: RunFacts, rank: int) -> Iterator[Loss]:
    facts = proxy(run)  # the cached losses must not keep the run alive
    for _, line in intervals(run, rank):
        name = _loss_name(tuple(line))
        value = number(line[name]) if name is not None else None
        if value is not None:
            yield Loss(line["step"], value, partial(metered_evidence, facts, rank, line))


@lru_cache(maxsize=256)
def _loss_name(names: tuple[str, ...]) -> str | None:
    """Return the field with the training loss in a line; all lines of a Meter have the same fields."""
    return next((name for name in names if _LOSS_NAME.match(name) and not _OTHERS_LOSS.search(name)), None)


def metered_evidence(run: RunFacts, rank: int, line: Mapping[str, Any]) -> Evidence:
    """Return a Meter's line as evidence, without its line number: `placed` finds it when it is needed."""
    return Evidence(
        f"metrics/rank-{rank}.jsonl", None, json.dumps(line)[:500], rank, run.host_of.get(rank, ""),
        number(line.get("t")),
    )  # fmt: skip


def placed(run: RunFacts, evidence: Evidence) -> Evidence:
    """Return the evidence of a Meter's line with its line number; other evidence unchanged, as a log may be huge."""
    if not evidence.file.startswith("metrics/"):
        return evidence
    try:
        with (run.path / evidence.file).open(encoding="utf-8", errors="replace") as stream:
            for position, text in enumerate(stream, start=1):
                if text.rstrip("\n")[:500] == evidence.text:
                    return Evidence(evidence.file, position, evidence.text, evidence.rank, evidence.host, evidence.time)
    except OSError:
        pass
    return evidence


def _own_pattern(record: RunRecord) -> re.Pattern[str] | None:
    for name, entry in record.metrics.items():
        if entry.get("pattern") and _LOSS_NAME.match(name):
            return _compiled(str(entry["pattern"]))
    return None


def _compiled(pattern: str) -> re.Pattern[str] | None:
    """Return a run's own pattern; None when it is invalid or could search forever."""
    try:
        endless = may_never_end(pattern) or (may_take_long(pattern) and not can_interrupt())
        return None if endless else re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return None


def pattern_values(pattern: str, log: Path) -> list[float]:
    """Return the finite numbers that a run's own pattern matches in a log, in order; [] when it takes too long."""
    compiled, limit = _compiled(pattern), SearchLimit(SECONDS)
    if compiled is None:
        return []
    numbers = (
        number(match[1] if compiled.groups else match[0])
        for _, line in both_ends(log, LOGS // 16)
        for match in _matches(compiled, line, limit)
    )
    return [value for value in numbers if value is not None and math.isfinite(value)]


def part(files: Sequence[Path]) -> int:
    """Return how many bytes to read at each end of so many files."""
    return min(LOGS // 16, max(LOGS // 1024, LOGS // (2 * max(1, len(files)))))


def _matches(pattern: re.Pattern[str], line: str, limit: SearchLimit) -> Sequence[re.Match[str]]:
    """Return the matches of a pattern in a line; none once a pattern of the run has taken too long."""
    if pattern is _PRINTED:
        return list(pattern.finditer(line)) if "oss" in line.lower() else ()
    try:
        with limit:
            return list(pattern.finditer(line[:LONGEST]))
    except TooLongError:
        return ()


def _printed(path: Path, most: int, pattern: re.Pattern[str], host: str, limit: SearchLimit) -> Iterator[Loss]:
    rank = rank_of(path)
    for position, line in both_ends(path, most):
        for match in _matches(pattern, line, limit):
            value = number(match[1] if pattern.groups else match[0])
            if value is not None:
                evidence = partial(Evidence, f"logs/{path.name}", position, line.strip()[:500], rank, host)
                of_training = not re.search(r"(?i)\b(?:val|test|eval|dev|avg|average|mean|global|reduced)", line)
                yield Loss(None, value, evidence, of_training)


def both_ends(path: Path, most: int) -> Iterator[tuple[int | None, str]]:
    """Yield (line number, line) of a log; above 2 × `most` bytes only its ends, without numbers."""
    try:
        with open_regular(path) as stream:
            size = stream.seek(0, 2)
            stream.seek(0)
            complete = size <= 2 * most
            yield from enumerate(_lines(stream.read(size if complete else most)), start=1)
            if not complete:
                stream.seek(size - most)
                for line in list(_lines(stream.read(most)))[1:]:
                    yield None, line
    except OSError:
        return


def _lines(block: bytes) -> Iterator[str]:
    splitter = Splitter()
    yield from splitter.feed(block)
    if line := splitter.rest():
        yield line


def gpus(run: RunFacts, host: str) -> int:
    """Return how many GPUs the job had on a host, by telemetry, else by its environment; 0 without any."""
    rows = run.gpu_rows.get(host)
    listed = run.environments.get(host, {}).get("gpus")
    return len(rows) if rows else len(listed) if isinstance(listed, list) else 0


def telemetry_evidence(run: RunFacts, host: str) -> Evidence:
    """Return the last line about a GPU in a host's telemetry as evidence."""
    name = f"telemetry/{host}.csv"
    row: tuple[int | None, str] = (None, "")
    for position, line in both_ends(run.path / name, LOGS // 16):
        row = (position, line) if ",gpu," in line else row
    return Evidence(name, row[0], row[1][:500], host=host)


def devices(run: RunFacts) -> dict[int, str]:
    """Return rank → device of its loss, as the Meter noted it: `cpu`, `cuda:0 <uuid>`, or a framework's own name."""
    return {
        rank: str(line["device"]) for rank, lines in run.metrics.items() for line in lines if line.get("device")
    }  # fmt: skip


def samples_per_step(run: RunFacts) -> float | None:
    """Return the samples (tokens, …) per step over all processes, None when the program does not record them.

    It is the median after the warm-up: the last line often ends with an epoch's smaller batch.
    """
    samples: dict[bool, list[float]] = {False: [], True: []}
    for steps, line in intervals(run, min(run.metrics, default=0)):
        unit = _counted(tuple(line))
        count = number(line[unit]) if unit is not None else None
        if count and steps:
            samples[bool(line.get("warmup"))].append(float(count / steps))
    counts = samples[False] or samples[True]
    return median_high(counts) if counts else None


@lru_cache(maxsize=256)
def _counted(names: tuple[str, ...]) -> str | None:
    """Return the field that counts the unit of a line: `samples` for `samples_per_s`."""
    return next((name[:-6] for name in names if name.endswith("_per_s") and name[:-6] in names), None)


def succeeded(run: RunFacts) -> bool:
    """Return whether a run is known to have succeeded."""
    if run.status is not None:
        return run.status.state == "SUCCEEDED"
    sealed = read_json(run.path / "final.json")
    return isinstance(sealed, dict) and sealed.get("state") == "SUCCEEDED"


def smaller(run: RunFacts) -> RunFacts | None:
    """Return the successful run of the same study with the fewest processes, if it has fewer than this run."""
    own, processes = run.record.study, run.record.processes
    if own is None or not processes:
        return None
    from hackathon.runs.study import FOLDER, Study

    study = Study(run.path.parent.parent / FOLDER / own.id)
    if not (study.path / "study.json").is_file():
        return None
    for point in sorted(study.points(), key=lambda point: point.processes):
        if point.processes >= processes:
            return None
        name = study.run_id(point)
        other = RunFacts(study.runs_folder / name) if name else None
        if other is not None and succeeded(other):
            return other
    return None


def mean(values: list[float]) -> float:
    """Return the mean of the finite values, NaN without any."""
    finite = [value for value in values if math.isfinite(value)]
    return math.fsum(finite) / len(finite) if finite else math.nan
