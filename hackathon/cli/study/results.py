"""`hackathon results`: speed-up and parallel efficiency of a study."""

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import completing, named, runs_folder
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.messages import _

if TYPE_CHECKING:
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.status import RunStatus
    from hackathon.runs.study import Study


@named(
    "results",
    help=_(
        "Show a study: median and spread of repeats, speed-up, parallel efficiency, the 75 % target, and "
        "failed points with their cause. Without a name: the newest study or run.\n"
        "\n"
        "  hackathon results\n"
        "  hackathon results --plot scaling.svg\n"
        "  hackathon results --format csv > scaling.csv\n"
        "  hackathon results --baseline k3x9   compare with a run of another study\n"
        "  hackathon results --expect reference.yaml   compare with expected results"
    ),
)
@click.argument("name", required=False, metavar="[STUDY|RUN]", shell_complete=completing("result"))
@click.option("--format", "form", type=click.Choice(["table", "csv", "json", "md"]), default="table", show_default=True,
              help=_("Output format."))  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help=_("Write a plot to FILE (.svg, .png, or .pdf; a PDF gets a caption file beside it)."),
)
@click.option("--baseline", metavar="RUN", help=_("Use this run as the base."))
@click.option(
    "--metric", metavar="NAME", shell_complete=completing("metric"), help=_("Show this metric instead of the study's.")
)
@click.option("--curve", metavar="METRIC", help=_("Print a metric over time as CSV: step, value."))
@click.option(
    "--suggest",
    is_flag=True,
    help=_(
        "Show the lines of the output that look like a throughput, or else like the time of an epoch or a "
        "step, and the `metrics:` entry that reads each."
    ),
)
@click.option("--advice", is_flag=True, help=_("What to try, with the expected gain of each and the command to type."))
@click.option(
    "--expect",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help=_("Compare with the expected results of this cluster in FILE."),
)
@click.option("--no-ask", is_flag=True, help=_("Do not query the scheduler."))
def command(
    name: str | None,
    form: str,
    as_json: bool,
    plot: Path | None,
    baseline: str | None,
    metric: str | None,
    curve: str | None,
    suggest: bool,
    advice: bool,
    expect: Path | None,
    no_ask: bool,
) -> None:
    from hackathon.cli.named_runs import run_to_read
    from hackathon.cli.run.segments import show_chain, show_curve
    from hackathon.cli.shown import show_run
    from hackathon.runs.chain import newest
    from hackathon.runs.directory import find_runs
    from hackathon.runs.status import status
    from hackathon.runs.study import find_studies, find_study, runs_of

    folder = runs_folder()
    form = "json" if as_json else form
    study = run = None
    if name:
        study = find_study(name, folder.parent, exact=False)
        run = None if study else run_to_read(name, folder)
    else:
        study, run = next(iter(find_studies(folder.parent)), None), newest(_measured(find_runs(folder)))
        if run is not None and study is not None:  # the newest of both; a run of the study stands for the study
            run = None if run.study or run.created < study.record()["created"] else run
        if run is not None and study is not None and form == "table":
            click.echo(
                _("the newest run is shown; newest study: hackathon results {study!q}", study=study.id[-8:]), err=True
            )
    if suggest and not advice and (form not in ("table", "json") or plot or curve or baseline or metric):
        raise RequestError("suggest.alone", "--suggest goes with --json alone")
    of_run = form in ("table", "csv") and not (plot or baseline or metric) and (run is not None or study is None)
    if curve is not None and not advice and not of_run:
        raise RequestError(
            "segments.curve_alone",
            "--curve prints the CSV of one run: no study, other format, --plot, --baseline or --metric",
        )
    if expect is not None and (
        advice or suggest or curve or plot or (run and baseline) or form not in ("table", "json")
    ):
        raise RequestError("reference.alone", "--expect goes with --json, --metric, --baseline and --no-ask")
    if expect is not None and (run is not None or study is not None):
        from hackathon.cli.study import expect as expectations

        if run is not None:
            expectations.of_run(run, expect, form, metric, ask=not no_ask)
        elif study is not None:
            expectations.of_study(
                study, status(runs_of(study), ask=not no_ask), expect, form, metric, _baseline(baseline)
            )
    elif advice:
        if form not in ("table", "json") or plot or curve or suggest:
            raise RequestError(
                "gains.advice_alone", "--advice goes with --json, not with other formats, --plot, --curve or --suggest"
            )
        _advise(study, run, folder, as_json=form == "json", ask=not no_ask)
    elif suggest and (run is not None or study is not None):
        from hackathon.cli.study.suggest import show_suggestions

        runs = [run] if run is not None else runs_of(study) if study is not None else []
        show_suggestions(runs, runs[0].id if run is not None else study.id if study else "", as_json=form == "json")
    elif (run is not None or (study is not None and study.tuned)) and (
        plot or baseline or (form in ("csv", "md") and curve is None)  # a curve is always CSV
    ):
        raise RequestError(
            "cli.of_scaling_study",
            "--plot, --baseline, and the formats csv and md are for scaling studies, not for single runs or tunings",
            hint="Name a scaling study, or use --json.",
        )
    elif run is not None and curve is not None:
        show_curve(run, curve)
    elif run is not None and (run.path / "segment").exists():
        show_chain(run, form, metric, ask=not no_ask)
    elif run is not None:
        show_run(run, status([run], ask=not no_ask)[0], form, metric)
    elif study is not None and study.tuned:
        from hackathon.cli.speed.tune_shown import show_study as show_trials

        show_trials(study, form, ask=not no_ask)
    elif study is not None:
        states = status(runs_of(study), ask=not no_ask)
        show_study(study, states, form, plot=plot, baseline=baseline, metric=metric)
    else:
        raise RequestError(
            "cli.no_study",
            "there is no study in {folder}",
            hint="`hackathon scale --processes 1,2` creates one",
            folder=folder.parent,
        )


def _advise(study: "Study | None", run: "RunDirectory | None", folder: Path, *, as_json: bool, ask: bool) -> None:
    from hackathon.cli.study.advice_shown import advice_of_run, advice_of_study
    from hackathon.runs.status import status
    from hackathon.runs.study import runs_of

    if run is not None:
        advice_of_run(run, status([run], ask=ask)[0], as_json)
    elif study is not None:
        advice_of_study(study, status(runs_of(study), ask=ask), as_json)
    else:
        raise RequestError(
            "cli.no_study",
            "there is no study in {folder}",
            hint="`hackathon scale --processes 1,2` creates one",
            folder=folder.parent,
        )


def show_study(
    study: "Study",
    states: "list[RunStatus]",
    form: str,
    *,
    plot: Path | None = None,
    baseline: str | None = None,
    metric: str | None = None,
) -> None:
    """Print a study's results and draw its plot; exit code 1 if a point failed."""
    from hackathon.cli.working import working
    from hackathon.jobs.measured import PROJECT
    from hackathon.prediction.results import study_outcome
    from hackathon.scaling.show import render
    from hackathon.scaling.table import failed, points_of

    with working(_("reading the runs of the study")):
        results = study_outcome(study, states, metric=metric, baseline=_baseline(baseline))
        if form in ("table", "md"):  # JSON and CSV are those of the pages
            _tell_causes(results, study, states)
    terminal = sys.stdout.isatty()
    color = terminal and not os.environ.get("NO_COLOR")
    if form == "json":
        echo_json(results)
    else:
        click.echo(
            render(results, form, terminal=terminal, color=color, width=shutil.get_terminal_size().columns), nl=False
        )
    if results["metrics_from"] == PROJECT:
        click.echo(
            _("read with the metrics of project.yaml as they are now, not with those of the time of submission"),
            err=True,
        )
    if form == "table" and any((point["shares"] or {}).get("advice") for point in points_of(results)):
        click.echo(
            _(
                "what each piece of advice can gain, and the command to try it: `hackathon results {name!q} --advice`",
                name=study.id[-8:],
            ),
            err=True,
        )
    if _without_value(results):
        from hackathon.cli.study.suggest import pointer
        from hackathon.runs.study import runs_of

        good = {state.run_id for state in states if state.state == "SUCCEEDED"}
        click.echo(pointer([run for run in runs_of(study) if run.id in good], study.id[-8:]), err=True)
    trouble: HackathonError | None = None
    if plot is not None:
        with working(_("drawing {file}", file=plot)):
            trouble = _draw(results, plot, study)
    if trouble is not None:
        raise trouble
    if failed(results):
        raise click.exceptions.Exit(1)


def _tell_causes(results: dict[str, Any], study: "Study", states: "list[RunStatus]") -> None:
    """Put the cause of each failed run in front of its final state."""
    from hackathon.cli.run.causes import cause_text, causes
    from hackathon.runs.study import runs_of
    from hackathon.scaling.table import points_of

    runs = {run.id: run for run in runs_of(study)}
    pairs = [(runs[state.run_id], state) for state in states if state.run_id in runs]
    findings = causes([run for run, _ in pairs], [state for _, state in pairs])
    for point in points_of(results):
        for run in point["runs"]:
            if run["id"] in findings:
                run["reason"] = cause_text(findings[run["id"]], run.get("reason", ""))


def _measured(runs: "list[RunDirectory]") -> "list[RunDirectory]":
    """Return the runs without those of rehearsals, which were ended early and are not results."""
    return [run for run in runs if not run.known().rehearsal]


def _without_value(results: dict[str, Any]) -> bool:
    """Return whether runs succeeded and none of them printed the metric."""
    from hackathon.runs.states import SUCCEEDED
    from hackathon.scaling.table import points_of

    states = [run["status"] for point in points_of(results) for run in point["runs"]]
    return SUCCEEDED in states and all(point["value"] is None for point in points_of(results))


def _draw(results: dict[str, Any], path: Path, study: "Study") -> HackathonError | None:
    """Draw the plot and return its error; the table is printed before, so that an error costs only the plot."""
    from hackathon.scaling.plot import plot_study

    try:
        warnings = plot_study(results, path)
    except HackathonError as error:
        return error
    for warning in warnings:
        click.echo(f"{_('warning')}: {warning}", err=True)
    click.echo(_("plot written: {file}", file=path), err=True)
    if path.suffix.lower() == ".pdf":
        return _describe(results, path, study)
    return None


def _describe(results: dict[str, Any], plot: Path, study: "Study") -> HackathonError | None:
    """Write the caption of a plot, unless there is one that somebody may have edited; return the error."""
    from hackathon.runs.study import runs_of
    from hackathon.scaling.caption import caption, caption_file, machines_of

    path, text = caption_file(plot), caption(results, machines_of(runs_of(study)))
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        click.echo(_("{file} exists and was not changed; delete it to have it written again", file=path), err=True)
    except OSError as error:
        return HackathonError(
            "scaling.plot_cannot_write", "{path} cannot be written: {reason}", path=path, reason=error.strerror
        )
    else:
        click.echo(_("caption written: {file}", file=path), err=True)
    return None


def _baseline(name: str | None) -> Any:
    if name is None:
        return None
    from hackathon.runs.directory import find_run
    from hackathon.runs.status import status
    from hackathon.scaling.collect import run_result

    run = find_run(name, runs_folder())
    state = status([run])[0]
    return run_result(run.path, status=state.state, reason=state.explanation)
