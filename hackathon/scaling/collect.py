"""Compute the results of a study from run directories or from an index of them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.jobs.measured import DEFAULT_METRIC, RUN, study_as_measured
from hackathon.jobs.settings import settings_text
from hackathon.logs.final import RECORDED, THROUGHPUTS, Numbers, final_numbers, metric_unit, throughput
from hackathon.logs.tracked import TRACKER
from hackathon.profiling.meters import shares_of_run
from hackathon.runs.directory import RunDirectory
from hackathon.runs.record import RecordedCheck, RunRecord
from hackathon.scaling.doubts import RunJudgement
from hackathon.scaling.sources import PRINTED, measured_mode, throughput_source
from hackathon.scaling.table import OPEN, SUCCEEDED, RunResult, results
from hackathon.text.errors import RequestError
from hackathon.text.json_fields import mapping_of, mappings_of, text_of

if TYPE_CHECKING:
    from hackathon.runs.status import RunStatus
    from hackathon.runs.study import Study


Judge = Callable[[Path, RunRecord, Numbers], RunJudgement]
"""Returns doubts about a successful run's result, from its folder, record and final numbers."""


def run_result(
    run: Path, *, status: str, reason: str = "", metric: str | None = None, judge: Judge | None = None
) -> RunResult:
    """Return a run's result: the caller's state; sizes, notes and job id from its files; its metrics.

    `judge` returns doubts about a successful run (`hackathon.diagnosis.doubts.judge`). `metric` replaces the request's.
    A running run has its metrics so far in `metrics`, but only a successful one counts in a table. Raises RequestError
    for a metric's pattern that is not a regular expression.
    """
    directory = RunDirectory(run)
    record = directory.known()
    numbers = final_numbers(run, record, over=status not in OPEN, metric=metric or "")
    judged = judge(run, record, numbers) if judge is not None and status == SUCCEEDED else None
    return RunResult(
        id=run.name,
        job_id=directory.job_id(),
        processes=record.processes,
        nodes=record.nodes or 1,
        status=status,
        reason=reason,
        value=numbers.values.get(numbers.metric),
        note=record.note,
        tags=record.tags,
        metrics=numbers.values,
        sure=numbers.sure,
        settings=dict(record.study.settings) if record.study else {},
        doubts=judged.doubts if judged else (),
        work=judged.work if judged else None,
        recorded=numbers.recorded,
        origins=numbers.origins,
        shares=shares_of_run(run, record.processes),
    )


def study_results(
    study: "Study",
    states: Iterable["RunStatus"],
    *,
    metric: str | None = None,
    baseline: RunResult | None = None,
    judge: Judge | None = None,
) -> dict[str, Any]:
    """Return a study's results from its runs' metrics and the caller's states, like `results_of`.

    `judge`: as in `run_result`. Raises the errors of `run_result`, and RequestError for a baseline whose settings no
    series has.
    """
    record = study_as_measured(study.path.parent.parent, study.path, study.record())
    runs = [
        run_result(
            study.runs_folder / state.run_id, status=state.state, reason=state.explanation, metric=metric, judge=judge
        )
        for state in states
    ]
    series = {settings_text(run.settings): run.settings for run in runs}
    if baseline is not None and len(series) > 1 and baseline.settings not in series.values():
        raise RequestError(
            "scaling.baseline_settings",
            "the baseline {run} has settings that no run of the study has",
            hint="settings of the study: {known}",
            run=baseline.id,
            known="; ".join(series),
        )
    return results_of(study.id, record, runs, metric=metric, baseline=baseline)


def results_of(
    study: str,
    record: Mapping[str, Any],
    runs: Iterable[RunResult],
    *,
    metric: str | None = None,
    baseline: RunResult | None = None,
) -> dict[str, Any]:
    """Return the results of a study (`record`: its `study.json`) from all numbers of its runs.

    `metric` replaces the study's own. If the programs of a study by samples/s print only tokens/s or steps/s, those are
    used. A running run has no final number, so it has no value. Points without a run are omitted. `source` is the
    origin of the values (`scaling.sources`); `mode_asked` is the requested mode, if the samples of a step show another.
    """
    ordered = sorted(runs, key=lambda run: run.id)  # an id begins with the time at which the run was created
    request = mapping_of(record.get("base_request"))
    declared = mappings_of(request.get("metrics"))
    own = text_of(record.get("metric")) or text_of(request.get("metric")) or DEFAULT_METRIC
    metrics = {name for run in ordered if run.status == SUCCEEDED for name in run.metrics}
    name = metric or throughput(own, declared, metrics)
    unit = (text_of(record.get("unit")) if name == own else "") or metric_unit(declared, name)
    source = PRINTED
    if metric is None and name in THROUGHPUTS and name not in declared:
        name, source = throughput_source(name, [run for run in ordered if run.status == SUCCEEDED])
        unit = unit if name == own else metric_unit(declared, name)

    def value_of(run: RunResult) -> float | None:
        return (run.recorded if source == RECORDED else run.metrics).get(name)

    def measure(run: RunResult) -> RunResult:
        value = None if run.status in OPEN else value_of(run)
        origin = RECORDED if source == RECORDED else run.origins.get(name, "")
        return replace(run, value=value, source="" if value is None else origin)

    measured = [measure(run) for run in ordered]
    if baseline is not None:
        baseline = replace(baseline, value=value_of(baseline))
    asked = record.get("mode")
    asked = asked if asked in ("weak", "strong") else ""
    mode = measured_mode(asked, measured)
    table = results(
        study,
        mode,
        name,
        unit,
        measured,
        baseline=baseline,
        check=RecordedCheck.from_json(request.get("check")),
    )
    table["metrics_from"] = text_of(record.get("metrics_from")) or RUN
    ended = [run for run in measured if run.value is not None]
    if source == PRINTED and ended and all(run.source == TRACKER for run in ended):
        source = TRACKER
    table["source"] = source
    if mode != asked:
        table["mode_asked"] = asked
    return table
