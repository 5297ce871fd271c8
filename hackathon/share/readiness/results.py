"""What a project's good runs prove: that its result is right, and how fast one process is."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hackathon.runs.directory import RunDirectory
from hackathon.runs.states import SUCCEEDED
from hackathon.scaling.collect import metric_unit, run_result
from hackathon.scaling.show import check_rule, number
from hackathon.scaling.table import passes
from hackathon.share.entry import clean_line
from hackathon.share.readiness.situation import Item, Situation
from hackathon.text.errors import HackathonError
from hackathon.text.inside import Inside
from hackathon.text.messages import message

MOST_READ = 30
"""Good runs whose numbers are read: logs can be long."""
NOT_TRAINING = frozenset({"preflight", "doctor"})
"""Tags and recipes of jobs that train nothing."""
RATES = ("samples_per_s", "tokens_per_s", "steps_per_s")


@dataclass(frozen=True)
class Check:
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


def check_of(run: Path, record: Mapping[str, Any]) -> Check | None:
    """Return what a successful run's check said, None when nothing could be read. Raises RequestError (a pattern)."""
    result = run_result(run, status=SUCCEEDED)
    rule = record.get("check")
    if isinstance(rule, dict) and isinstance(rule.get("metric"), str):
        value, least, most = result.metrics.get(rule["metric"]), rule.get("at_least"), rule.get("at_most")
        bounds = [each if isinstance(each, (int, float)) else None for each in (least, most)]
        if value is None:
            return None
        shown = check_rule({"metric": rule["metric"], "at_least": bounds[0], "at_most": bounds[1]})
        return Check(rule["metric"], value, bool(passes(value, *bounds)), shown)
    found = [(name, value) for name, value in result.metrics.items() if math.isfinite(value)]
    first = next((pair for pair in found if pair[0] not in RATES), found[0] if found else None)
    return Check(*first, passed=True) if first else None


def rate_of(run: Path, record: Mapping[str, Any]) -> Rate | None:
    """Return the throughput of a successful run of one process, None for another run. Raises RequestError."""
    if record.get("processes") != 1:
        return None
    result = run_result(run, status=SUCCEEDED)
    asked = str(record.get("metric") or RATES[0])
    names = [asked, *(RATES if asked in RATES else ())]
    for name in names:
        value = result.metrics.get(name)
        if value is not None and math.isfinite(value) and value > 0:
            gpus = record.get("gpus_per_node")
            return Rate(name, value, metric_unit(record, name), 1 if isinstance(gpus, int) and gpus else 0)
    return None


def correct(seen: Situation) -> Item:
    """Return the point about the correctness check: the newest good run that passed it."""
    failed: tuple[RunDirectory, Check] | None = None
    any_run = None
    for run, record in good_runs(seen):
        any_run = any_run or run
        try:
            found = check_of(run.path, record)
        except HackathonError:
            continue
        if found is not None and found.passed:
            key = "check_is" if found.rule else "check_read"
            return Item("check", True, _check_text(key, run, found), facts=_check_facts(run, found))
        failed = failed or ((run, found) if found is not None else None)
    if failed is not None:
        run, found = failed
        return Item("check", False, _check_text("check_bad", run, found), f"hackathon logs {run.id[-8:]}",
                    _check_facts(run, found))  # fmt: skip
    if any_run is not None:
        return Item("check", False, message("ready.check_silent", run=any_run.id), message("ready.check_silent_do"))
    return Item(
        "check", False, message("ready.no_good_run", cluster=seen.sources.cluster.name), "hackathon submit --wait"
    )


def baseline(seen: Situation) -> Item:
    """Return the point about the baseline: the newest good run of one process that tells how fast it was."""
    silent = None
    for run, record in good_runs(seen):
        try:
            found = rate_of(run.path, record)
        except HackathonError:
            continue
        if found is not None:
            return _baseline(seen, run, found)
        silent = silent or (run if record.get("processes") == 1 else None)
    if silent is not None:  # running it again would not help
        text = message("ready.baseline_silent", run=silent.id)
        return Item("baseline", False, text, message("ready.baseline_silent_do"))
    return Item("baseline", False, message("ready.baseline_none", cluster=seen.sources.cluster.name),
                "hackathon submit --processes 1 --wait")  # fmt: skip


def _baseline(seen: Situation, run: RunDirectory, found: Rate) -> Item:
    value = f"{number(found.value)} {found.unit or found.metric}"
    facts: dict[str, str | float | bool] = {
        "run": run.id,
        "metric": found.metric,
        "value": found.value,
        "unit": found.unit,
    }
    if not found.gpus:
        return Item("baseline", True, message("ready.baseline_without_gpu", run=run.id, value=value), facts=facts)
    names = gpu_names(run.path)
    if not names and not (seen.told and seen.told.gpus):
        text = message("ready.baseline_no_gpu", run=run.id, value=value)
        return Item("baseline", None, text, message("ready.baseline_no_gpu_do"), facts)
    text = message("ready.baseline_is", run=run.id, value=value, gpu=names[0] if names else "GPU")
    return Item("baseline", True, clean_line(text), facts={**facts, "gpu": names[0] if names else ""})


def gpu_names(run: Path) -> list[str]:
    """Return the names of the GPUs that the nodes of a run listed."""
    inside = Inside(run)
    found = [inside.json(f"env/{name}").get("gpus") for name in inside.names("env")[:100] if name.endswith(".json")]
    lines = (each for names in found if isinstance(names, list) for each in names if isinstance(each, str))
    return [clean_line(each.partition(",")[0]) for each in lines]  # name, driver, memory


def good_runs(seen: Situation) -> Iterator[tuple[RunDirectory, dict[str, Any]]]:
    """Yield the newest successful training runs of the project on this cluster, with their records."""
    wanted = seen.sources.recipe.name if seen.sources.recipe else None
    count = 0
    for run, state in seen.runs:
        record = run.record()
        here = record.get("cluster") == seen.sources.cluster.name and record.get("recipe") == wanted
        if state.state == SUCCEEDED and here and count < MOST_READ and _trains(record):
            count += 1
            yield run, record


def _trains(record: Mapping[str, Any]) -> bool:
    tags = record.get("tags")
    return record.get("recipe") not in NOT_TRAINING and not (
        isinstance(tags, list) and NOT_TRAINING.intersection(str(tag) for tag in tags)
    )


def _check_text(key: str, run: RunDirectory, found: Check) -> str:
    text = message(f"ready.{key}", run=run.id, metric=found.metric, value=number(found.value), rule=found.rule)
    return clean_line(text)


def _check_facts(run: RunDirectory, found: Check) -> dict[str, str | float | bool]:
    value: float | str = found.value if math.isfinite(found.value) else str(found.value)
    return {"run": run.id, "metric": found.metric, "value": value, "rule": found.rule}
