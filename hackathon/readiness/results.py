"""What a project's good runs prove: that its result is right, and how fast one process is."""

import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hackathon.board.entry import clean_line
from hackathon.logs.final import THROUGHPUTS, final_numbers
from hackathon.readiness.situation import ChecklistItem, Situation
from hackathon.runs.directory import RunDirectory, files_of
from hackathon.runs.record import RunRecord
from hackathon.runs.states import SUCCEEDED
from hackathon.scaling.show import check_rule, number
from hackathon.text.errors import HackathonError
from hackathon.text.messages import message
from hackathon.text.told import Told, tell

MOST_READ = 30
"""Good runs whose numbers are read: logs can be long."""
NOT_TRAINING = frozenset({"preflight", "doctor"})
"""Tags and recipes of jobs that train nothing."""


@dataclass(frozen=True)
class CheckResult:
    """What a run's correctness check said; without a rule, the number that was read."""

    metric: str
    value: float
    passed: bool
    rule: str = ""


@dataclass(frozen=True)
class Rate:
    """The throughput of a run of one process."""

    metric: str
    value: float
    unit: str
    gpus: int
    """1, or 0 on a node without any."""


def check_of(run: Path, record: RunRecord) -> CheckResult | None:
    """Return what a successful run's check said, None when nothing could be read. Raises RequestError (a pattern)."""
    values = final_numbers(run, record, over=True).values
    rule = record.check
    if rule is not None:
        value, shown = values.get(rule.metric), check_rule(rule.to_json())
        return None if value is None else CheckResult(rule.metric, value, bool(rule.passes(value)), shown)
    found = [(name, value) for name, value in values.items() if math.isfinite(value)]
    first = next((pair for pair in found if pair[0] not in THROUGHPUTS), found[0] if found else None)
    return CheckResult(*first, passed=True) if first else None


def rate_of(run: Path, record: RunRecord) -> Rate | None:
    """Return the throughput of a successful run of one process, None for another run. Raises RequestError."""
    if record.processes != 1:
        return None
    found = final_numbers(run, record, over=True)
    if found.value is None or found.value <= 0:
        return None
    return Rate(found.metric, found.value, found.unit, 1 if record.gpus_per_node else 0)


def correct(seen: Situation) -> ChecklistItem:
    """Return the point about the correctness check: the newest good run that passed it."""
    failed: tuple[RunDirectory, CheckResult] | None = None
    any_run = None
    for run, record in good_runs(seen):
        any_run = any_run or run
        try:
            found = check_of(run.path, record)
        except HackathonError:
            continue
        if found is not None and found.passed:
            key = "check_is" if found.rule else "check_read"
            return ChecklistItem("check", True, _check_told(key, run, found), facts=_check_facts(run, found))
        failed = failed or ((run, found) if found is not None else None)
    if failed is not None:
        run, found = failed
        look = f"hackathon logs {shlex.quote(run.id[-8:])}"
        return ChecklistItem("check", False, _check_told("check_bad", run, found), look, _check_facts(run, found))
    if any_run is not None:
        silent = tell("ready.check_silent", run=any_run.id)
        return ChecklistItem("check", False, (silent,), message("ready.check_silent_do"))
    none = tell("ready.no_good_run", cluster=seen.sources.cluster.name)
    return ChecklistItem("check", False, (none,), "hackathon submit --wait")


def baseline(seen: Situation) -> ChecklistItem:
    """Return the point about the baseline: the newest good run of one process that tells how fast it was."""
    silent = None
    for run, record in good_runs(seen):
        try:
            found = rate_of(run.path, record)
        except HackathonError:
            continue
        if found is not None:
            return _baseline(seen, run, found)
        silent = silent or (run if record.processes == 1 else None)
    if silent is not None:  # running it again would not help
        text = tell("ready.baseline_silent", run=silent.id)
        return ChecklistItem("baseline", False, (text,), message("ready.baseline_silent_do"))
    none = tell("ready.baseline_none", cluster=seen.sources.cluster.name)
    return ChecklistItem("baseline", False, (none,), "hackathon submit --processes 1 --wait")


def _baseline(seen: Situation, run: RunDirectory, found: Rate) -> ChecklistItem:
    value = f"{number(found.value)} {found.unit or found.metric}"
    facts: dict[str, str | float | bool] = {
        "run": run.id,
        "metric": found.metric,
        "value": found.value,
        "unit": found.unit,
    }
    if not found.gpus:
        text = tell("ready.baseline_without_gpu", run=run.id, value=value)
        return ChecklistItem("baseline", True, (text,), facts=facts)
    names = gpu_names(run.path)
    if not names and not (seen.told and seen.told.gpus):
        text = tell("ready.baseline_no_gpu", run=run.id, value=value)
        return ChecklistItem("baseline", None, (text,), message("ready.baseline_no_gpu_do"), facts)
    text = tell("ready.baseline_is", run=run.id, value=value, gpu=names[0] if names else "GPU")
    return ChecklistItem("baseline", True, (text,), facts={**facts, "gpu": names[0] if names else ""})


def gpu_names(run: Path) -> list[str]:
    """Return the names of the GPUs that the nodes of a run listed."""
    inside = files_of(run)
    found = [inside.json(f"env/{name}").get("gpus") for name in inside.names("env")[:100] if name.endswith(".json")]
    lines = (each for names in found if isinstance(names, list) for each in names if isinstance(each, str))
    return [clean_line(each.partition(",")[0]) for each in lines]  # name, driver, memory


def good_runs(seen: Situation) -> Iterator[tuple[RunDirectory, RunRecord]]:
    """Yield the newest successful training runs of the project on this cluster, with their records."""
    wanted = seen.sources.recipe.name if seen.sources.recipe else ""
    count = 0
    for run, state in seen.runs:
        record = run.record()
        here = record.cluster == seen.sources.cluster.name and record.recipe == wanted
        if state.state == SUCCEEDED and here and count < MOST_READ and _trains(record):
            count += 1
            yield run, record


def _trains(record: RunRecord) -> bool:
    return record.recipe not in NOT_TRAINING and NOT_TRAINING.isdisjoint(record.tags)


def _check_told(key: str, run: RunDirectory, found: CheckResult) -> tuple[Told]:
    return (tell(f"ready.{key}", run=run.id, metric=found.metric, value=number(found.value), rule=found.rule),)


def _check_facts(run: RunDirectory, found: CheckResult) -> dict[str, str | float | bool]:
    value: float | str = found.value if math.isfinite(found.value) else str(found.value)
    return {"run": run.id, "metric": found.metric, "value": value, "rule": found.rule}
