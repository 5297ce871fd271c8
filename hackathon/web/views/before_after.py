"""Before and after: a team's first measurement, its best later one, and the changes between them."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hackathon.index.record import RunEntry, parts_of
from hackathon.index.studies import StudyRuns, results_of, run_key
from hackathon.runs.directory import RunDirectory
from hackathon.runs.record import RunRecord
from hackathon.scaling.doubts import is_false
from hackathon.scaling.table import SUCCEEDED, lower_is_better, per_process, points_of
from hackathon.web.page.sanitize import line

FIELDS = ("recipe", "cluster", "queue", "launcher", "starter", "mpi", "processes_per_node", "threads", "gpus_per_node")
"""Fields of a request that are compared besides the parameters."""
SHOWN = 20
"""The most parameters and fields that a page lists."""
_PER_STEP = re.compile(r"step|iter|batch|\bits?\b|ステップ|反復|バッチ", re.IGNORECASE)


@dataclass(frozen=True)
class Measurement:
    """One measurement: a point of a study, or a single run."""

    value: float
    """The median of a point's repeats."""
    unit: str
    metric: str
    processes: int
    nodes: int
    repeats: int
    run: str
    """The key of a run's page: the run itself, or the first one of the point."""
    run_id: str
    study: str = ""
    """The key of the study's page; empty for a single run."""
    name: str = ""
    created: float | None = None


@dataclass(frozen=True)
class Changed:
    """One difference."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class BeforeAfter:
    """Two measurements of the same program by the same metric."""

    before: Measurement
    after: Measurement
    speedup: float | None
    """The ratio of the later to the earlier speed.

    None for a metric of single steps, whose size may have changed, and for one of single processes at two sizes.
    """
    changed: tuple[Changed, ...] = ()
    more: int = 0
    """Differences that are not listed."""


def change(
    runs: Sequence[RunEntry], studies: Iterable[StudyRuns], leading: RunEntry | None = None
) -> BeforeAfter | None:
    """Return the first measurement, if possible on one process, and the best later one.

    The latter is the point of `leading`, a run of the main study, if set; the first measurement then is of its program
    on its cluster. Otherwise it is the best later measurement of the program with the most runs. None without two
    measurements.
    """
    good = [run for run in runs if run.state == SUCCEEDED and run.value is not None]
    kinds = Counter(map(_kind, good))
    if not kinds:
        return None
    kind = _kind(leading) if leading is not None else max(kinds, key=lambda kind: (kinds[kind], kind))
    sides = sorted(_sides(kind, good, studies), key=lambda side: (side.created or 0.0, side.run_id))
    after = next((side for side in sides if leading is not None and side.run_id == leading.id), None)
    if after is not None:
        sides = [side for side in sides if side is not after and _is_earlier(side, after)]
    before = next((side for side in sides if side.processes == 1), next(iter(sides), None))
    if before is None:
        return None
    less = lower_is_better(before.unit)
    if after is None:
        later = sides[sides.index(before) + 1 :]
        if not later:
            return None
        after = min(later, key=lambda side: side.value if less else -side.value)
    alike = before.processes == after.processes or not per_process(before.unit)
    comparable = alike and before.value > 0 and after.value > 0 and not _PER_STEP.search(before.unit)
    ratio = (before.value / after.value if less else after.value / before.value) if comparable else None
    changed = _changed(_record(before), _record(after))
    return BeforeAfter(before, after, ratio, tuple(changed[:SHOWN]), max(0, len(changed) - SHOWN))


def _kind(run: RunEntry) -> tuple[str, ...]:
    """Return the properties that two measurements must share to be comparable."""
    return (run.project, run.name, run.cluster, run.metric, run.unit)


def _is_earlier(side: Measurement, after: Measurement) -> bool:
    """Return whether a measurement preceded another one, or is a smaller size of its study."""
    if side.study and side.study == after.study:
        return side.processes < after.processes
    return (side.created or 0.0) < (after.created or 0.0)


def _sides(kind: tuple[str, ...], good: Sequence[RunEntry], studies: Iterable[StudyRuns]) -> list[Measurement]:
    by_id = {(run.project, run.id): run for run in good if _kind(run) == kind}
    sides = [_side(run, run.value, 1, "") for run in by_id.values() if not run.study and not run.is_false]
    for study in studies:
        for point in points_of(results_of(study)):
            runs = [run for entry in point["runs"] if (run := by_id.get((study.project, entry["id"]))) is not None]
            if runs and point["value"] is not None and not is_false(point["doubts"]):
                sides.append(_side(runs[0], point["value"], point["spread"]["n"], study.key))
    return sides


def _side(run: RunEntry, value: float | None, repeats: int, study: str) -> Measurement:
    return Measurement(
        value=value or 0.0,
        unit=line(run.unit, 40),
        metric=line(run.metric, 60),
        processes=run.processes,
        nodes=run.nodes,
        repeats=repeats,
        run=run_key(run),
        run_id=run.id,
        study=study,
        name=line(run.name, 100),
        created=run.created,
    )


def _record(side: Measurement) -> RunRecord:
    project, identifier = parts_of(side.run)
    return RunDirectory(Path(project) / "runs" / identifier).known()


def _changed(before: RunRecord, after: RunRecord) -> list[Changed]:
    """Return the differences of two requests; empty if one cannot be read."""
    if not before.readable or not after.readable:
        return []
    pairs: list[tuple[str, object, object]] = [(name, getattr(before, name), getattr(after, name)) for name in FIELDS]
    old, new = before.parameters, after.parameters
    pairs += [(name, old.get(name), new.get(name)) for name in dict.fromkeys([*old, *new])]
    return [Changed(line(str(name), 60), shown(was), shown(now)) for name, was, now in pairs if was != now]


def shown(value: object) -> str:
    """Return a value of a request as a short text; – for None."""
    return "–" if value is None or value == "" else line(str(value), 200)
