"""`hackathon compare`: compare two results, with a verdict."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import completing, named, runs_folder
from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, _, ngettext

if TYPE_CHECKING:
    from hackathon.profiling.outcomes import Change
    from hackathon.runs.crate.archive import Crate
    from hackathon.scaling.compare import ComparedPoint, Difference, Result

_METHOD_TEXTS = {
    "welch": N_("noise: 95 % interval from the spread of the repeats on both sides (Welch)"),
    "prediction": N_("noise: 95 % interval for one more run, from the repeats of one side; repeat the other one too"),
    "tolerance": N_("noise: not measured, one run each; up to {tolerance} % counts as the same (--tolerance)"),
}

_SAYS_TEXTS = {
    "same": N_("The same within the noise."),
    "faster": N_("Faster, with the same accuracy."),
    "slower": N_("Slower."),
    "different": N_("The accuracy is different."),
    "failed": N_("The new run did not succeed."),
    "unknown": N_("Cannot compare: the two have no metric in common."),
}

_VERDICT_TEXTS = {
    "same": N_("same"),
    "faster": N_("faster"),
    "slower": N_("slower"),
    "different": N_("different accuracy"),
    "failed": N_("failed"),
    "unknown": N_("unknown"),
}


@named(
    "compare",
    help=_(
        "Compare the result of NEW with that of OLD: the same within the noise of the repeats, faster, slower, "
        "or different in accuracy. Each is a run, a study, or an RO-Crate; several runs separated by commas "
        "are repeats.\n"
        "\n"
        "  hackathon compare k3x9 7qpm\n"
        "  hackathon compare published.zip 7qpm\n"
        "  hackathon compare a1,a2,a3 b1,b2,b3 --json"
    ),
)
@click.argument("old", metavar="OLD", shell_complete=completing("result"))
@click.argument("new", metavar="NEW", shell_complete=completing("result"))
@click.option(
    "--metric",
    metavar="NAME",
    shell_complete=completing("metric"),
    default="",
    help=_("Metric to compare (default: the old run's)."),
)
@click.option("--tolerance", metavar="PERCENT", type=click.FloatRange(0, 100), default=5.0, show_default=True,
              help=_("Difference up to which single runs count as the same."))  # fmt: skip
@click.option("--no-ask", is_flag=True, help=_("Do not query the scheduler."))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(old: str, new: str, metric: str, tolerance: float, no_ask: bool, as_json: bool) -> None:
    from hackathon.scaling.compare import GOOD, compare, overall

    folder = runs_folder()
    sides = [
        [result for part in text.split(",") if part for result in _side(part, not no_ask, metric)]
        for text in (old, new)
    ]
    metrics = sorted({name for side in sides for result in side for name in result.metrics})
    if metric and metrics and metric not in metrics:
        raise RequestError(
            "compare.no_metric",
            "neither side has the metric {metric}",
            hint="available: {known}",
            metric=metric,
            known=", ".join(metrics),
        )
    sides[0] = _with_evidence(sides[0], sides[1], folder)
    points = compare(
        *sides, metric=metric, tolerance=tolerance / 100, changes=lambda former, other: _changes(former, other, folder)
    )
    if not points:
        sizes = [", ".join(_places(side)) or "–" for side in sides]
        raise RequestError(
            "compare.no_common",
            "{old} ran with {old_sizes} processes, {new} with {new_sizes}: they have no process count in common",
            hint="`hackathon rerun RUN --processes N` creates a run of the same size",
            old=old,
            new=new,
            old_sizes=sizes[0],
            new_sizes=sizes[1],
        )
    verdict = overall(points)
    if as_json:
        answer = {"old": [result.id for result in sides[0]], "new": [result.id for result in sides[1]],
                  "verdict": verdict, "tolerance": tolerance / 100,
                  "points": [_point_json(point) for point in points]}  # fmt: skip
        echo_json(answer)
    else:
        _show(points, verdict, tolerance)
    if verdict not in GOOD:
        raise click.exceptions.Exit(1)


def _point_json(point: "ComparedPoint") -> dict[str, Any]:
    from dataclasses import asdict, replace

    return {**asdict(replace(point, tried=())), "tried": [outcome.to_json() for outcome in point.tried]}


def _with_evidence(old: "list[Result]", new: "list[Result]", folder: Path) -> "list[Result]":
    """Return the old side with the gain that its advice could promise, from the data before the new side."""
    from dataclasses import replace

    from hackathon.jobs.settings import settings_text
    from hackathon.runs.directory import RunDirectory, list_ids
    from hackathon.scaling.evidence import evidence_of

    ids = set(list_ids(folder))
    first = min((result.id for result in new if result.id in ids), default="")
    points: set[tuple[int, str]] = set()
    results = []
    for result in old:
        point = result.processes, settings_text(result.settings)
        # one run per point: repeats agree, and each reads all runs of the project
        if result.id in ids and result.state == "SUCCEEDED" and point not in points:
            points.add(point)
            evidence = evidence_of(RunDirectory(folder / result.id), before=first, shares=result.shares)
            results.append(replace(result, evidence=evidence))
        else:
            results.append(result)
    return results


def _changes(old: "Result", new: "Result", folder: Path) -> "list[Change]":
    """Return the differences between the runs of two results; empty for a run of a crate."""
    from hackathon.runs.directory import RunDirectory, list_ids
    from hackathon.scaling.evidence import changes, program_digest

    ids = set(list_ids(folder))
    if old.id not in ids or new.id not in ids:
        return []
    former, other = RunDirectory(folder / old.id), RunDirectory(folder / new.id)
    return changes(former.known(), other.known(), (program_digest(former), program_digest(other)))


def _places(side: "list[Result]") -> list[str]:
    """Return the points of one side: `4`, or with settings `4 [lr=0.1]`."""
    from hackathon.jobs.settings import settings_text

    points = sorted({(result.processes, settings_text(result.settings)) for result in side})
    return [f"{size} [{text}]" if text else str(size) for size, text in points]


def _side(text: str, ask: bool, metric: str) -> "list[Result]":
    """Return the results that one word names: a crate, a study's runs or one run. `metric` replaces their own."""
    from hackathon.cli.named_runs import run_to_read
    from hackathon.runs.crate.archive import is_crate, read_crate
    from hackathon.runs.status import status
    from hackathon.runs.study import find_study, runs_of

    if is_crate(text):
        return [_of_crate(read_crate(text), metric)]
    folder = runs_folder()
    study = find_study(text, folder.parent, exact=False)
    runs = runs_of(study) if study is not None else [run_to_read(text, folder)]
    states = status(runs, ask=ask)
    return [_of_run(run.path, state.state, metric) for run, state in zip(runs, states, strict=True)]


def _of_run(run: Path, state: str, metric: str) -> "Result":
    from hackathon.logs.final import final_numbers, metric_unit
    from hackathon.logs.metrics import final_texts
    from hackathon.profiling.meters import shares_of_run
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.states import OPEN
    from hackathon.scaling.compare import Result

    record = RunDirectory(run).record()
    numbers = final_numbers(run, record, over=state not in OPEN)
    name = metric or numbers.metric
    settings = dict(record.study.settings) if record.study else {}
    unit, shares = metric_unit(record.metrics, name), shares_of_run(run, record.processes)
    return Result(run.name, record.processes or 1, state, name, unit, numbers.values, final_texts(run),
                  record.check, record.metric, settings, shares)  # fmt: skip


def _of_crate(crate: "Crate", metric: str) -> "Result":
    """Return the result of a run in a crate; values that are not numbers are ignored."""
    from hackathon.jobs.measured import DEFAULT_METRIC
    from hackathon.jobs.settings import settings_in
    from hackathon.logs.final import metric_unit, throughput
    from hackathon.logs.values import number
    from hackathon.runs.crate.archive import RESULT
    from hackathon.runs.record import RecordedCheck
    from hackathon.scaling.compare import Result
    from hackathon.text.json_fields import count_of, mapping_of, mappings_of, text_of

    result, declared = crate.record(RESULT), mappings_of(crate.record("request.json").get("metrics"))
    metrics = {str(key): number(value) for key, value in mapping_of(result.get("metrics")).items()}
    values = {key: value for key, value in metrics.items() if value is not None}
    # crates of older versions contain the requested metric, not the one that was read
    name = metric or throughput(text_of(result.get("metric")) or DEFAULT_METRIC, declared, values)
    return Result(
        crate.run,
        count_of(result.get("processes")) or 1,
        text_of(result.get("state")),
        name,
        metric_unit(declared, name),
        values,
        {str(key): str(value) for key, value in mapping_of(result.get("texts")).items()},
        RecordedCheck.from_json(result.get("check")),
        text_of(crate.record("request.json").get("metric")),
        settings_in(crate.record("request.json").get("study")),
    )


def _show(points: "list[ComparedPoint]", verdict: str, tolerance: float) -> None:
    from hackathon.cli.show import echo_table, printable
    from hackathon.jobs.settings import value_text
    from hackathon.profiling.sentences import change_sentences

    speed = next((point.speed for point in points if point.speed), None)
    quality = next((point.quality for point in points if point.quality), None)
    texts = sorted({name for point in points for name in point.texts})
    names = list(dict.fromkeys(name for point in points for name in point.settings))
    head = [*names, _("processes")]
    for difference in (speed, quality):
        if difference is not None:
            head += [f"{difference.name} {_('old')}", _("new"), _("change")]
    rows = []
    for point in points:
        row = [*(value_text(point.settings.get(name, "–")) for name in names), str(point.processes)]
        row += _cells(point.speed) if speed is not None else []
        row += _cells(point.quality) if quality is not None else []
        row += [_equal(point.texts.get(name)) for name in texts]
        rows.append([*row, _(_VERDICT_TEXTS[point.verdict])])
    echo_table([*head, *texts, _("verdict")], rows)
    for point in points:
        for line in change_sentences(point.processes, *point.shares):
            click.echo(line)
        for outcome in point.tried:
            click.echo(
                ngettext(
                    "{processes} process, {text}",
                    "{processes} processes, {text}",
                    point.processes,
                    processes=point.processes,
                    text=printable(outcome.message),
                )
            )
    methods = dict.fromkeys(
        difference.method for point in points for difference in (point.speed,) if difference is not None
    )
    for method in methods:
        click.echo(_(_METHOD_TEXTS[method], tolerance=f"{tolerance:g}"), err=True)
    if any(point.passed is False for point in points):
        click.echo(_("the new result fails the check that the old one passed"), err=True)
    diverged = dict.fromkeys(name for point in points for name in point.diverged)
    if diverged:
        click.echo(
            _(
                "a new run ended with {names} that is NaN or infinite: its training diverged",
                names=", ".join(map(printable, diverged)),
            ),
            err=True,
        )
    unseen = any(point.quality is None and not point.texts.get("weights") for point in points)
    click.echo(
        _(
            N_("Faster. Accuracy was not compared: it was not recorded on both sides.")
            if verdict == "faster" and unseen
            else _SAYS_TEXTS[verdict]
        )
    )
    if points and all(point.texts.get("weights") for point in points):
        click.echo(_("The weights are identical, bit for bit: both trained the same network."))


def _cells(difference: "Difference | None") -> list[str]:
    from statistics import fmean

    from hackathon.scaling.show import number

    if difference is None:
        return ["–", "–", "–"]
    change = "–" if difference.change is None else f"{100 * difference.change:+.2f} %"
    if difference.low is not None and difference.high is not None and difference.method != "tolerance":
        change += f" [{100 * difference.low:+.2f}, {100 * difference.high:+.2f}]"
    values = []
    for side in (difference.old, difference.new):
        mean = fmean(side)
        count = f" (n={len(side)})" if len(side) > 1 else ""
        values.append(f"{number(mean) if math.isfinite(mean) else mean} {difference.unit}".strip() + count)
    return [*values, change]


def _equal(same: bool | None) -> str:
    return "–" if same is None else (_("equal") if same else _("not equal"))
