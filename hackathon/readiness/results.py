"""Evidence in a project's successful runs: a correct result, and the speed of one process."""

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
from hackathon.text.messages import _
from hackathon.text.told import Told, tell

MOST_READ = 30
"""Successful runs whose numbers are read, because logs can be long."""
NOT_TRAINING = frozenset({"preflight", "doctor"})
"""Tags and recipes of jobs without a training."""


@dataclass(frozen=True)
class CheckResult:
    """The result of a run's correctness check; without a rule, the number that was read."""

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
    """1, or 0 on a node without GPUs."""


def check_of(run: Path, record: RunRecord) -> CheckResult | None:
    """Return the result of a successful run's check; None if none could be read. Raises RequestError (a pattern)."""
    values = final_numbers(run, record, over=True).values
    rule = record.check
    if rule is not None:
        value, text = values.get(rule.metric), check_rule(rule.to_json())
        return None if value is None else CheckResult(rule.metric, value, bool(rule.passes(value)), text)
    pairs = [(name, value) for name, value in values.items() if math.isfinite(value)]
    first = next((pair for pair in pairs if pair[0] not in THROUGHPUTS), pairs[0] if pairs else None)
    return CheckResult(*first, passed=True) if first else None


def rate_of(run: Path, record: RunRecord) -> Rate | None:
    """Return the throughput of a successful run of one process; None for another run. Raises RequestError."""
    if record.processes != 1:
        return None
    numbers = final_numbers(run, record, over=True)
    if numbers.value is None or numbers.value <= 0:
        return None
    return Rate(numbers.metric, numbers.value, numbers.unit, 1 if record.gpus_per_node else 0)


def correct(situation: Situation) -> ChecklistItem:
    """Return the point about the correctness check: the newest successful run that passed it."""
    failed: tuple[RunDirectory, CheckResult] | None = None
    any_run = None
    for run, record in good_runs(situation):
        any_run = any_run or run
        try:
            check = check_of(run.path, record)
        except HackathonError:
            continue
        if check is not None and check.passed:
            key = "ready.check_is" if check.rule else "ready.check_read"
            return ChecklistItem("check", True, _check_told(key, run, check), facts=_check_facts(run, check))
        failed = failed or ((run, check) if check is not None else None)
    if failed is not None:
        run, check = failed
        look = f"hackathon logs {shlex.quote(run.id[-8:])}"
        return ChecklistItem("check", False, _check_told("ready.check_bad", run, check), look, _check_facts(run, check))
    if any_run is not None:
        silent = tell("ready.check_silent", run=any_run.id)
        return ChecklistItem(
            "check",
            False,
            (silent,),
            _("print the value, and describe it under `metrics:` and `check:` in project.yaml"),
        )
    none = tell("ready.no_good_run", cluster=situation.sources.cluster.name)
    return ChecklistItem("check", False, (none,), "hackathon submit --wait")


def baseline(situation: Situation) -> ChecklistItem:
    """Return the point about the baseline: the newest successful run of one process with a throughput."""
    silent = None
    for run, record in good_runs(situation):
        try:
            rate = rate_of(run.path, record)
        except HackathonError:
            continue
        if rate is not None:
            return _baseline(situation, run, rate)
        silent = silent or (run if record.processes == 1 else None)
    if silent is not None:  # another run would not help
        text = tell("ready.baseline_silent", run=silent.id)
        return ChecklistItem(
            "baseline",
            False,
            (text,),
            _("print the throughput, and describe its line under `metrics:` in project.yaml"),
        )
    none = tell("ready.baseline_none", cluster=situation.sources.cluster.name)
    return ChecklistItem("baseline", False, (none,), "hackathon submit --processes 1 --wait")


def _baseline(situation: Situation, run: RunDirectory, rate: Rate) -> ChecklistItem:
    value = f"{number(rate.value)} {rate.unit or rate.metric}"
    facts: dict[str, str | float | bool] = {
        "run": run.id,
        "metric": rate.metric,
        "value": rate.value,
        "unit": rate.unit,
    }
    if not rate.gpus:
        text = tell("ready.baseline_without_gpu", run=run.id, value=value)
        return ChecklistItem("baseline", True, (text,), facts=facts)
    names = gpu_names(run.path)
    if not names and not (situation.told and situation.told.gpus):
        text = tell("ready.baseline_no_gpu", run=run.id, value=value)
        return ChecklistItem(
            "baseline",
            None,
            (text,),
            _("make sure that the program uses the GPU, then: hackathon submit --processes 1 --wait"),
            facts,
        )
    text = tell("ready.baseline_is", run=run.id, value=value, gpu=names[0] if names else "GPU")
    return ChecklistItem("baseline", True, (text,), facts={**facts, "gpu": names[0] if names else ""})


def gpu_names(run: Path) -> list[str]:
    """Return the names of the GPUs in the records of a run's nodes."""
    inside = files_of(run)
    lists = [inside.json(f"env/{name}").get("gpus") for name in inside.names("env")[:100] if name.endswith(".json")]
    lines = (line for names in lists if isinstance(names, list) for line in names if isinstance(line, str))
    return [clean_line(line.partition(",")[0]) for line in lines]  # name, driver, memory


def good_runs(situation: Situation) -> Iterator[tuple[RunDirectory, RunRecord]]:
    """Yield the newest successful training runs of the project on this cluster, with their records."""
    recipe = situation.sources.recipe.name if situation.sources.recipe else ""
    count = 0
    for run, state in situation.runs:
        record = run.record()
        match = record.cluster == situation.sources.cluster.name and record.recipe == recipe
        if state.state == SUCCEEDED and match and count < MOST_READ and _trains(record):
            count += 1
            yield run, record


def _trains(record: RunRecord) -> bool:
    return record.recipe not in NOT_TRAINING and NOT_TRAINING.isdisjoint(record.tags)


def _check_told(key: str, run: RunDirectory, check: CheckResult) -> tuple[Told]:
    return (tell(key, run=run.id, metric=check.metric, value=number(check.value), rule=check.rule),)


def _check_facts(run: RunDirectory, check: CheckResult) -> dict[str, str | float | bool]:
    value: float | str = check.value if math.isfinite(check.value) else str(check.value)
    return {"run": run.id, "metric": check.metric, "value": value, "rule": check.rule}
