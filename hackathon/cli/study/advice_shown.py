"""`hackathon results --advice`: what to try, with the expected gain, the command, and how to confirm it."""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.text.messages import _

if TYPE_CHECKING:
    from hackathon.profiling.gains import Attempt
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.record import RunRecord
    from hackathon.runs.status import RunStatus
    from hackathon.runs.study import Study

REPEAT = 3
"""Repeats that are enough to estimate the noise."""


def show_advice(name: str, points: "Sequence[tuple[RunDirectory, int, list[Attempt], bool]]", as_json: bool) -> None:
    """Print what to try at each point: (a run of it, processes, attempts, whether its shares are known)."""

    answers = [_point_json(*point) for point in points]
    if as_json:
        echo_json({"of": name, "points": answers})
        return
    from hackathon.cli.show import printable

    for point in answers:
        click.echo(
            _(
                "{run}, {processes} {processes:process|processes}: what to try, the largest expected gain first",
                run=name,
                processes=point["processes"],
            )
        )
        if not point["advice"]:
            click.echo(
                "  "
                + (
                    _("No advice: no part of a step takes more than it should.")
                    if point["known"]
                    else _(
                        "No advice: where the time of a step goes is not known for this run (hackathon docs "
                        "why-is-it-not-faster)."
                    )
                )
            )
        for number, advice in enumerate(point["advice"], 1):
            click.echo(printable(f"{number}. {advice['message']}"))
            gain = advice["expected"]
            click.echo(
                "   " + printable(_("expected gain: {gain} of a step; {why}", gain=gain["text"], why=gain["why"]))
            )
            if advice["lines"]:
                click.echo("   " + _("the program needs:"))
                for line in advice["lines"].split("\n"):
                    click.echo(f"       {printable(line)}")
            elif advice["environment"]:
                click.echo("   " + _("in project.yaml, below `variables:`"))
                for variable, value in advice["environment"].items():
                    click.echo("       " + printable(f"{variable}: {json.dumps(value, ensure_ascii=False)}"))
            elif advice["command"]:
                click.echo("   " + printable(_("try: {command}", command=advice["command"])))
            elif advice["ruled_out"]:
                click.echo(
                    "   "
                    + printable(
                        _("measured by `hackathon speedup` without a gain: {what}", what=", ".join(advice["ruled_out"]))
                    )
                )
            elif advice["part"] and advice["id"] not in ("straggler", "imbalance"):
                click.echo("   " + _("no parameter of this program acts on it"))
            told_by = _("confirm: {command}; {text}", command=advice["confirm_command"], text=advice["confirm"])
            click.echo("   " + printable(told_by))


def advice_of_run(run: "RunDirectory", status: "RunStatus", as_json: bool) -> None:
    """Print what to try after one run. Raises RequestError if it has not succeeded."""
    _show(run.id, [([run], {}, None)] if status.state == "SUCCEEDED" else [], as_json)


def advice_of_study(study: "Study", states: "list[RunStatus]", as_json: bool) -> None:
    """Print what to try at each point of a study. Raises RequestError if none has succeeded."""
    from hackathon.diagnosis.doubts import judge
    from hackathon.runs.directory import RunDirectory
    from hackathon.scaling.collect import study_results
    from hackathon.scaling.table import series_of

    points: list[tuple[list[RunDirectory], Mapping[str, Any], int | None]] = []
    for series in series_of(study_results(study, states, judge=judge)):
        for point in series["points"]:
            ids = [run["id"] for run in point["runs"] if run["status"] == "SUCCEEDED"]
            if ids:
                runs = [RunDirectory(study.runs_folder / run_id) for run_id in ids]
                points.append((runs, point, series["base_processes"]))
    _show(study.id, points, as_json)


def _show(
    name: str, points: "Sequence[tuple[list[RunDirectory], Mapping[str, Any], int | None]]", as_json: bool
) -> None:
    from hackathon.profiling.gains import advice_on, attempts
    from hackathon.profiling.meters import shares_of_run
    from hackathon.profiling.shares import mean_of_runs
    from hackathon.scaling.evidence import evidence_of, with_efficiency
    from hackathon.text.errors import RequestError

    if not points:
        raise RequestError(
            "gains.needs_measured", "{name} has no advice yet: none of its runs has succeeded", name=name
        )
    rows = []
    for runs, point, base in points:
        processes = runs[0].known().processes or 1
        shares = [run_shares for run in runs if (run_shares := shares_of_run(run.path, processes)) is not None]
        evidence = evidence_of(runs[0], shares=shares[0] if shares else None)
        evidence = with_efficiency(evidence, point, base)
        mean = mean_of_runs(shares) if shares else None
        tried = attempts(advice_on(shares, evidence), mean, evidence)
        rows.append((runs[0], processes, tried, bool(shares)))
    show_advice(name, rows, as_json)


def _point_json(run: "RunDirectory", processes: int, attempts: "list[Attempt]", measured: bool) -> dict[str, Any]:
    return {
        "processes": processes,
        "run": run.id,
        "known": measured,
        "advice": [
            {**attempt.to_json(), "command": command_for(run, attempt), "confirm_command": confirm_command(run)}
            for attempt in attempts
        ],
    }


def confirm_command(run: "RunDirectory") -> str:
    """Return the command that confirms the gain; it has placeholders for runs that do not exist yet."""
    return shlex.join(["hackathon", "compare", run.id[-8:], _("NEW")])


def command_for(run: "RunDirectory", attempt: "Attempt") -> str | None:
    """Return the command that repeats a run with the proposed change; None if no parameter makes it."""
    if not attempt.settings or attempt.environment:
        return None
    record = run.known()
    words = ["hackathon", "submit"]
    if record.recipe and not (run.path.parent.parent / "project.yaml").is_file():
        words.append(record.recipe)
    words += _options(record)
    for name, value in {**_asked(run), **attempt.settings}.items():
        words += ["-p", _setting(name, value)]
    return shlex.join([*words, "--repeat", str(REPEAT)])


def _options(record: "RunRecord") -> list[str]:
    """Return a run's command-line options, and its process count."""
    from hackathon.jobs.resolve import COMMAND_LINE

    words = []
    for field in ("cluster", "queue", "group", "nodes", "processes", "processes_per_node", "launcher"):
        value = getattr(record, field)
        if value and (record.origins.get(field) == COMMAND_LINE or field == "processes"):
            words += [f"--{field.replace('_', '-')}", str(value)]
    return words


def _asked(run: "RunDirectory") -> dict[str, Any]:
    """Return the parameters that a run got from the command line, or from its study."""
    from hackathon.jobs.resolve import COMMAND_LINE

    record = run.known()
    typed = {
        name: value
        for name, value in record.parameters.items()
        if record.origins.get(f"parameters.{name}") == COMMAND_LINE
    }
    return {**typed, **{name: value for name, value in run.settings.items() if name in record.parameters}}


def _setting(name: str, value: Any) -> str:
    from hackathon.jobs.settings import value_text

    return f"{name}={value_text(value)}"
