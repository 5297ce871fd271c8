"""How `hackathon try` says what it understood: of each run, what to mend, and what a study would cost."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.program_findings import COLORS, Reports
from hackathon.text.messages import message
from hackathon.text.units import format_size

if TYPE_CHECKING:
    from hackathon.jobs.plan import Plan
    from hackathon.jobs.resolve import Sources
    from hackathon.rehearsal.understood import Quantity, Understood
    from hackathon.rehearsal.verdict import RehearsalFinding

OWN_WORDS = ("meter", "pattern", "words")
"""Ways to tell a metric that have a text of their own; others are titles of formats."""
WRITTEN = 5
"""Files and folders that are named of what a run's program wrote."""
SHOWN = 120
"""Letters of a log's line that are shown."""


def show_rehearsal(
    sources: "Sources",
    reports: Reports,
    seen: "Sequence[Understood]",
    found: "Sequence[RehearsalFinding]",
    ready: bool,
) -> None:
    """Print everything, the verdict last."""
    from hackathon.cli.program_findings import show_reports
    from hackathon.cli.show import printable

    show_reports(reports)
    for each in seen:
        click.echo()
        for line in _lines(each):
            click.echo(printable(line))
    if found:
        click.echo()
    for finding in found:
        severity = click.style(message(f"lint.{finding.severity}"), fg=COLORS[finding.severity])
        place = finding.path + (f":{finding.line}" if finding.line else "")
        click.echo(
            f"{printable(place)}{': ' if place else ''}{severity}: {printable(finding.message)} [{finding.rule}]"
        )
        if finding.advice:
            click.echo(f"    {printable(finding.advice)}")
    _show_suggestion(seen, found)
    click.echo()
    if not ready:
        click.echo(message("rehearsal.not_ready" if seen else "rehearsal.not_run"))
        return
    click.echo(click.style(message("rehearsal.ready"), bold=True))
    for line in _study_lines(sources):
        click.echo(line)


def show_json(
    sources: "Sources",
    reports: Reports,
    seen: "Sequence[Understood]",
    found: "Sequence[RehearsalFinding]",
    ready: bool,
) -> None:
    """Print everything as JSON: the findings in the shape that checks share."""

    from hackathon.cli.program_findings import as_json

    files: dict[str, list[dict[str, Any]]] = {}
    for finding in found:
        files.setdefault(finding.path, []).append(finding.as_json())
    study = _study(sources) if ready else None
    value = {
        "schema_version": 1,
        "ready": ready,
        "runs": [_run_json(each) for each in seen],
        "files": [
            *as_json(reports),
            *({"path": path, "dialect": None, "findings": listed} for path, listed in files.items()),
        ],
        "study": _study_json(study[1]) if study else None,
    }
    echo_json(value)


def _lines(seen: "Understood") -> Iterator[str]:
    """Yield what is known of one run, a line each."""
    why = f" – {message(f'rehearsal.ended_{seen.ended}')}" if seen.ended else ""
    yield message("rehearsal.run", processes=seen.processes, run=seen.run.id[-8:], state=seen.state.state, why=why)
    yield "  " + message(
        "rehearsal.ranks", began=seen.ranks, processes=seen.processes, hosts=", ".join(seen.hosts) or "–"
    )
    rates = [each for each in seen.metrics if each.name == seen.metric]
    for metric in [*rates, *(each for each in seen.metrics if each.name != seen.metric)][:6]:
        line = f"  {metric.name} {metric.value:.6g} {metric.unit}".rstrip()
        if metric.place is not None:
            told = metric.place.by
            by = message(f"rehearsal.by_{told}") if told in OWN_WORDS else told
            place = f"{metric.place.file}:{metric.place.line}"
            line += (
                "   ← " + message("rehearsal.known", value=place, about=by) + ": " + metric.place.text.strip()[:SHOWN]
            )
        yield line
    yield "  " + message("rehearsal.step", what=_said(seen.step, _step))
    yield "  " + message("rehearsal.batch", what=_batch(seen))
    yield "  " + message("rehearsal.memory", what=_said(seen.memory, "{:,.0f} MiB".format))
    if seen.written:
        names = [f"{name} ({format_size(size)})" for name, size in seen.written[:WRITTEN]]
        yield "  " + message("rehearsal.written", files=", ".join([*names, *(["…"] if seen.written[WRITTEN:] else [])]))
    if seen.processes > 1:
        key = next((f"data_{each.id.replace('-', '_')}" for each in seen.doubts if each.id in _DATA), "data_unknown")
        yield "  " + message("rehearsal.data", what=message(f"rehearsal.{key}"))


_DATA = ("identical-ranks", "no-group", "several-worlds")


def _step(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 0.9995 else f"{1000 * seconds:.3g} ms"


def _said(quantity: "Quantity", form: Callable[[float], str]) -> str:
    about = message(f"rehearsal.about_{quantity.about}")
    if quantity.value is None:
        return message("rehearsal.not_known", why=about)
    return message("rehearsal.known", value=form(quantity.value), about=about)


def _batch(seen: "Understood") -> str:
    if seen.batch.value is None:
        return _said(seen.batch, str)
    return message(
        "rehearsal.batch_is",
        total=f"{seen.batch.value:g}",
        each=f"{seen.batch.value / seen.processes:g}",
        about=message(f"rehearsal.about_{seen.batch.about}"),
    )


def _show_suggestion(seen: "Sequence[Understood]", found: "Sequence[RehearsalFinding]") -> None:
    """Print what to put into project.yaml where no throughput was read, or that no line could give one."""
    rules = {each.rule for each in found} & {"no-throughput", "silent"}
    if not rules:
        return
    from hackathon.cli.show import printable
    from hackathon.cli.study.suggest import show_suggestions
    from hackathon.text.errors import RequestError

    runs = [each.run for each in seen if each.throughput is None]
    click.echo()  # the finding above may be about something else
    try:
        show_suggestions(runs, runs[0].id, as_json=False)
    except RequestError as error:
        click.echo(printable(error.message))


def _study(sources: "Sources") -> "tuple[list[int], Plan] | None":
    """Return the process counts of a first study with its plan: up to two nodes, as far as the cluster allows."""
    from hackathon.jobs.plan import plan_jobs
    from hackathon.jobs.resolve import points, resolve
    from hackathon.text.errors import HackathonError

    try:
        usual = resolve(sources)
        most = 4 if usual.starter == "local" else 2 * usual.processes_per_node
        counts = [1]
        while counts[-1] * 2 <= most:
            counts.append(counts[-1] * 2)
        return counts, plan_jobs(sources, points(sources, counts, "weak"), script=False)
    except HackathonError:
        return None


def _study_lines(sources: "Sources") -> Iterator[str]:
    from hackathon.cli.show import cost_text

    study = _study(sources)
    if study is None:
        yield message("rehearsal.next", counts="1,2")
        return
    counts, planned = study
    yield message("rehearsal.next", counts=",".join(map(str, counts)))
    yield cost_text(planned.cost)


def _study_json(planned: "Plan") -> dict[str, Any]:
    from dataclasses import asdict

    points = [{"processes": each.processes, "nodes": each.nodes, "queue": each.queue, "walltime": each.walltime}
              for each in planned.requests]  # fmt: skip
    return {"points": points, "cost": asdict(planned.cost)}


def _run_json(seen: "Understood") -> dict[str, Any]:
    def quantity(value: "Quantity") -> dict[str, Any]:
        return {"value": value.value, "basis": value.about}

    return {
        "run": seen.run.id, "processes": seen.processes, "state": seen.state.state, "ended": seen.ended or None,
        "ranks": seen.ranks, "hosts": list(seen.hosts), "metric": seen.metric,
        "metrics": [
            {
                "name": each.name, "value": each.value if math.isfinite(each.value) else None, "unit": each.unit,
                "file": each.place.file if each.place else None, "line": each.place.line if each.place else None,
                "by": each.place.by if each.place else None,
            }
            for each in seen.metrics
        ],
        "seconds_per_step": quantity(seen.step), "samples_per_step": quantity(seen.batch),
        "memory_mib": quantity(seen.memory), "doubts": [each.to_json() for each in seen.doubts],
        "written": [{"path": name.removeprefix("source/"), "bytes": size} for name, size in seen.written],
    }  # fmt: skip
