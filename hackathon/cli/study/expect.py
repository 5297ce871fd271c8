"""`results --expect`: results beside the expected ones of `reference.yaml`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.text.errors import RequestError
from hackathon.text.messages import _

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.status import RunStatus
    from hackathon.runs.study import Study
    from hackathon.scaling.expectations import ComparedExpectation
    from hackathon.scaling.table import RunResult


def of_study(
    study: "Study", states: "list[RunStatus]", file: Path, form: str, metric: str | None, baseline: "RunResult | None"
) -> None:
    """Print a study's results and their comparison; exit code 1 if one misses its reference."""
    from hackathon.cli.json_output import echo_json
    from hackathon.config.load import load_reference
    from hackathon.prediction.results import study_outcome
    from hackathon.scaling.expectations import compare_study, expectations_of
    from hackathon.scaling.show import render
    from hackathon.text.json_fields import mapping_of, text_of

    if study.tuned:
        raise RequestError("reference.of_tuning", "--expect is for scaling studies and runs, not for tunings")
    cluster = text_of(mapping_of(study.record().get("base_request")).get("cluster"))
    expectations = expectations_of(load_reference(file), cluster)
    results = study_outcome(study, states, metric=metric, baseline=baseline)
    compared = compare_study(expectations, results)
    if form == "json":
        echo_json({**results, "expectations": [entry.to_json() for entry in compared]})
    else:
        click.echo(render(results), nl=False)
    _end(compared, form)


def of_run(run: "RunDirectory", file: Path, form: str, metric: str | None, *, ask: bool) -> None:
    """Print a run's numbers and their comparison; exit code 1 if one misses its reference."""
    from hackathon.cli.shown import show_run
    from hackathon.config.load import load_reference
    from hackathon.diagnosis.doubts import judge
    from hackathon.logs.final import metric_unit
    from hackathon.runs.states import SUCCEEDED
    from hackathon.runs.status import status
    from hackathon.scaling.collect import run_result
    from hackathon.scaling.expectations import compare_run, expectations_of

    record = run.record()
    expectations = expectations_of(load_reference(file), record.cluster)
    (state,) = status([run], ask=ask)
    result = run_result(run.path, status=state.state, reason=state.explanation, metric=metric, judge=judge)
    metrics = result.metrics if state.state == SUCCEEDED else {}
    name = metric or record.metric
    doubts = [doubt.to_json() for doubt in result.doubts]
    compared = compare_run(expectations, result.processes, metrics, name, metric_unit(record.metrics, name), doubts)
    try:
        show_run(run, state, form, metric, {"expectations": [entry.to_json() for entry in compared]})
    except click.exceptions.Exit:  # a failed run has no value, which is a miss
        pass
    _end(compared, form)


def _end(compared: "Sequence[ComparedExpectation]", form: str) -> None:
    if form != "json":
        for entry in compared:
            click.echo(entry.line)
    missed = sum(not entry.met for entry in compared)
    if missed:
        click.echo(_("{missed} of {count} expected results missed", missed=missed, count=len(compared)), err=True)
        raise click.exceptions.Exit(1)
