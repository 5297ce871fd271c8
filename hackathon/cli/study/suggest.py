"""`hackathon results --suggest` and `init --from-log`: propose an entry of `metrics:` for a program's output."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.text.errors import RequestError
from hackathon.text.messages import Message, _

if TYPE_CHECKING:
    from hackathon.logs.suggest import Suggestion
    from hackathon.runs.directory import RunDirectory


LOOKED_AT = 3
"""Runs that are searched before a message mentions matching lines.

A study's runs print the same, and so do its ranks, of which the first and the last are read.
"""


def show_suggestions(runs: "Sequence[RunDirectory]", name: str, *, as_json: bool) -> None:
    """Print possible metrics of the first run whose logs contain some; `name`: the requested runs.

    Raises RequestError if no run has any output, or if no line looks like a throughput or a time.
    """
    from hackathon.logs.final import final_numbers

    looked = False
    for run in runs:
        logs = _logs(run)
        looked = looked or bool(logs)
        matches = _found(logs)
        if not matches:
            continue
        try:
            numbers = final_numbers(run.path, run.record(), over=True).values
        except RequestError:  # its pattern is invalid, which may be the reason for the request
            numbers = {}
        if as_json:
            _echo_json(run.id, matches, _rate(numbers))
        else:
            click.echo("\n".join(lines(run.id, matches, numbers)))
        return
    raise RequestError(
        Message(
            "suggest.none",
            "no line of {source} looks like a throughput, or like the time of an epoch or a step",
            hint="print one at regular intervals, e.g. `throughput: 812.3 samples/s`",
        )
        if looked
        else Message("suggest.no_output", "no run of {name} has any output"),
        source=name,
        name=name,
    )


def pointer(runs: "Sequence[RunDirectory]", name: str) -> str:
    """Return where to see measurable lines of runs without a value, or what to print if there are none."""
    if any(_found([*logs[:1], *logs[1:][-1:]]) for logs in map(_logs, runs[:LOOKED_AT])):
        return _(
            "No throughput was found. `hackathon results --suggest {name!q}` shows the lines that could be measured",
            name=name,
        )
    return _(
        "No throughput was found, and no line looks like one: {hint}",
        hint=_("print one at regular intervals, e.g. `throughput: 812.3 samples/s`"),
    )


def _logs(run: "RunDirectory") -> list[Path]:
    from hackathon.logs.metrics import rank_files

    folder = run.path / "logs"
    return [path for path in [*rank_files(folder, ".log"), folder / "job.log"] if path.is_file()]


def _found(logs: Sequence[Path]) -> "list[Suggestion]":
    from hackathon.logs.suggest import suggestions
    from hackathon.logs.suggested_times import NAMES

    ranks = [path for path in logs if path.name != "job.log"]
    matches = suggestions(ranks)
    if not matches or matches[0].name in NAMES:
        shared = suggestions(logs[len(ranks) :])
        if shared and (not matches or shared[0].name not in NAMES):
            return shared
    return matches


def lines(source: str, suggestions: "Sequence[Suggestion]", numbers: Mapping[str, float]) -> list[str]:
    """Return the block for project.yaml; if metrics are read already (`numbers`), it consists of comments."""
    from hackathon.logs.final import metric_unit
    from hackathon.logs.suggest import block

    rates = _rate(numbers)
    notes = [_("{source}: the first entry below goes into project.yaml; the others are alternatives", source=source)]
    notes += [
        _(
            "already read without configuration: {name} = {value} {unit}; an entry for it replaces this reading",
            name=name,
            value=f"{value:g}",
            unit=metric_unit({}, name),
        )
        for name, value in rates.items()
    ]
    if suggestions and suggestions[0].each and suggestions[0].ranks == "first":
        notes.append(_("the unit counts one process: the value is that of one process, not of the whole job"))
    return block(suggestions, notes, active=not rates)


def from_log(path: Path) -> list[str]:
    """Return the block for project.yaml that reads the metrics in a file of a program's output.

    Raises RequestError if no line looks like a throughput or a time.
    """
    from hackathon.logs.formats import read_formats
    from hackathon.logs.suggest import suggestions

    matches = suggestions([path])
    numbers, __ = read_formats([], path, [], processes=1, torn=True)
    if not matches:
        raise RequestError(
            "suggest.none",
            "no line of {source} looks like a throughput, or like the time of an epoch or a step",
            hint="print one at regular intervals, e.g. `throughput: 812.3 samples/s`",
            source=path,
        )
    return lines(path.name, matches, numbers)


def _rate(numbers: Mapping[str, float]) -> dict[str, float]:
    """Return the rates among a run's numbers."""
    from hackathon.logs.words import RATES

    return {name: numbers[name] for name in RATES if name in numbers}


def _echo_json(run: str, suggestions: "Sequence[Suggestion]", rates: Mapping[str, float]) -> None:
    rows: list[dict[str, Any]] = [
        {"name": suggestion.name, "pattern": suggestion.pattern, "unit": suggestion.unit, "reduce": "median",
         "skip_first": suggestion.skip_first, "ranks": suggestion.ranks, "file": suggestion.file,
         "line": suggestion.line, "text": suggestion.text, "values": suggestion.values, "value": suggestion.value}
        for suggestion in suggestions
    ]  # fmt: skip
    echo_json({"run": run, "known": dict(rates), "suggestions": rows})
