"""How `hackathon try` prints its results: the facts of each run, problems to solve, and the cost of a study."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.program_findings import COLORS
from hackathon.text.messages import N_, _, ngettext
from hackathon.text.units import format_size

if TYPE_CHECKING:
    from hackathon.jobs.plan import Plan
    from hackathon.jobs.resolve import Sources
    from hackathon.programs.training.of_sources import Reports
    from hackathon.rehearsal.comparison import Compared
    from hackathon.rehearsal.understood import Quantity, Understood
    from hackathon.rehearsal.verdict import RehearsalFinding

_ABOUT_TEXTS = {
    "by_meter": N_("told by the Meter"),
    "by_recorder": N_("recorded from outside the program"),
    "by_parameter": N_("from the parameter in project.yaml"),
    "batch_scope": N_("the name of the parameter does not say whether it counts per process or in total"),
    "batch_unknown": N_(
        "no input was recorded, and the program tells it neither by a parameter in project.yaml nor by the Meter"
    ),
    "step_by_meter": N_("told by the Meter, without warm-up"),
    "step_by_rate": N_("from steps/s"),
    "step_by_batch": N_("from the batch and samples/s"),
    "step_by_recorder": N_("recorded from outside the program"),
    "step_unknown": N_("the output has no steps/s, the batch is not known, and no steps could be recorded"),
    "memory_of_gpu": N_("the most on one GPU"),
    "memory_of_node": N_("the most on a node, other programs included"),
    "memory_unknown": N_("the run was too short for a measurement"),
}

ENDED_TEXTS = {
    "steps": N_("ended by `try` after enough values"),
    "seconds": N_("ended by `try` after its time"),
    "silent": N_("ended by `try`: no value of any metric was seen until then"),
    "walltime": N_("ended by its short walltime"),
}

_BY_TEXTS = {
    "meter": N_("Meter of hackathon_runtime"),
    "recorder": N_("recorded from outside the program"),
    "pattern": N_("pattern in `metrics:`"),
    "words": N_("customary words"),
}

OWN_WORDS = ("meter", "recorder", "pattern", "words")
"""Sources of a metric that have their own text; others are titles of formats."""
WRITTEN = 5
"""Outputs of a run that are listed."""
SHOWN = 120
"""Characters of a log line that are displayed."""


def show_rehearsal(
    sources: "Sources",
    reports: "Reports",
    rehearsals: "Sequence[Understood]",
    findings: "Sequence[RehearsalFinding]",
    ready: bool,
    compared: "Compared | None" = None,
) -> None:
    """Print all results, the verdict last."""
    from hackathon.cli.program_findings import show_reports
    from hackathon.cli.show import printable
    from hackathon.programs.scripts.findings import SEVERITY_TEXTS

    show_reports(reports)
    for rehearsal in rehearsals:
        click.echo()
        for line in _lines(rehearsal):
            click.echo(printable(line))
    if compared is not None:
        click.echo()
        click.echo(
            printable(
                _("compared with {name} on 1 process: {what}", name=compared.original, what=compared_text(compared))
            )
        )
    if findings:
        click.echo()
    for finding in findings:
        severity = click.style(_(SEVERITY_TEXTS[finding.severity]), fg=COLORS[finding.severity])
        position = finding.path + (f":{finding.line}" if finding.line else "")
        click.echo(
            f"{printable(position)}{': ' if position else ''}{severity}: {printable(finding.message)} [{finding.rule}]"
        )
        if finding.advice:
            click.echo(f"    {printable(finding.advice)}")
    _show_suggestion(rehearsals, findings)
    click.echo()
    if not ready:
        click.echo(_(_verdict(reports, rehearsals, findings)))
        return
    click.echo(click.style(_("ready"), bold=True))
    for line in _study_lines(sources):
        click.echo(line)


def _verdict(reports: "Reports", rehearsals: "Sequence[Understood]", findings: "Sequence[RehearsalFinding]") -> str:
    """Return why a study cannot start, as a text to translate."""
    if not rehearsals:
        return N_("not ready: nothing was run. Correct the errors above, or run all the same with --force")
    wrong = {finding.rule for finding in findings if finding.severity == "error"}
    if wrong == {"no-throughput"} and not any(report.has_errors for report, _lines in reports):
        return N_("not ready: the program works, and only its throughput is missing; see above how to print it")
    return N_("not ready: correct the errors above, then try again")


def show_json(
    sources: "Sources",
    reports: "Reports",
    rehearsals: "Sequence[Understood]",
    findings: "Sequence[RehearsalFinding]",
    ready: bool,
    compared: "Compared | None" = None,
) -> None:
    """Print all results as JSON: the findings in the form that checks share."""

    from hackathon.cli.program_findings import as_json

    files: dict[str, list[dict[str, Any]]] = {}
    for finding in findings:
        files.setdefault(finding.path, []).append(finding.as_json())
    study = _study(sources) if ready else None
    value = {
        "schema_version": 1,
        "ready": ready,
        "runs": [_run_json(rehearsal) for rehearsal in rehearsals],
        "files": [
            *as_json(reports),
            *({"path": path, "dialect": None, "findings": listed} for path, listed in files.items()),
        ],
        "comparison": compared.as_json() if compared is not None else None,
        "study": _study_json(study[1]) if study else None,
    }
    echo_json(value)


_COMPARED_TEXTS = {
    "equal": N_("the same loss, {before} on average, in each of {steps} steps of {batch} samples"),
    "noise": N_("equal within noise: losses of {before} and {after} ± {error} over {steps} steps of {batch} samples"),
    "loss": N_("differs: losses of {before} and {after} ± {error} over {steps} steps of {batch} samples"),
    "weights": N_("differs: after the same update the ranks have different weights, so the gradients are not averaged"),
    "data": N_("differs: the ranks read the same samples"),
    "failed_original": N_("not known: the run of {name} failed; see hackathon diagnose {first!q}"),
    "failed_ported": N_("not known: the run of the ported program failed; see hackathon diagnose {last!q}"),
    "framework": N_("not compared: losses are recorded in programs with PyTorch only"),
    "no_loss": N_("not known: no loss was recorded (`loss.backward()`)"),
    "few": N_("not known: only {steps} {steps:step|steps}"),
    "no_batch": N_("not known: the samples of a step are not those of a DataLoader"),
    "batch": N_("not known: a step of both processes has {others} samples, one of the original {batch}"),
    "not_finite": N_("not known: a loss is not a number"),
}
"""Reason, or result without one, of a comparison → its text."""


def compared_text(compared: "Compared") -> str:
    """Return the result of a comparison as a phrase."""
    return _(
        _COMPARED_TEXTS[compared.reason or compared.result],
        name=compared.original,
        steps=compared.steps,
        before=f"{compared.before:.4g}",
        after=f"{compared.after:.4g}",
        error=f"{compared.error:.2g}",
        batch=f"{compared.batches[0]:g}",
        others=f"{compared.batches[1]:g}",
        first=compared.runs[0][-8:] if compared.runs else "",
        last=compared.runs[-1][-8:] if compared.runs else "",
    )


def compared_finding(compared: "Compared") -> "RehearsalFinding":
    """Return what to correct before a study of a ported program that trains otherwise than its original."""
    from hackathon.rehearsal.comparison import PROCESSES
    from hackathon.rehearsal.verdict import RehearsalFinding

    return RehearsalFinding(
        "",
        0,
        "ported-differs",
        "error",
        _(
            "the ported program does not train as {name} does: {what}",
            name=compared.original,
            what=compared_text(compared),
        ),
        _(
            "Answer the questions of `hackathon port` first. Look for a learning rate that depends on the number of "
            "processes, a loss that is a sum, a model without DistributedDataParallel, a small batch with BatchNorm. "
            "If the difference is meant: hackathon scale"
        ),
        PROCESSES,
    )


def _lines(rehearsal: "Understood") -> Iterator[str]:
    """Yield the facts of one run, a line each."""
    why = f" – {_(ENDED_TEXTS[rehearsal.ended])}" if rehearsal.ended else ""
    yield ngettext(
        "{processes} process: run {run}, {state}{why}",
        "{processes} processes: run {run}, {state}{why}",
        rehearsal.processes,
        processes=rehearsal.processes,
        run=rehearsal.run.id[-8:],
        state=rehearsal.state.state,
        why=why,
    )
    yield "  " + _(
        "ranks: {began} of {processes} began, on {hosts}",
        began=rehearsal.ranks,
        processes=rehearsal.processes,
        hosts=", ".join(rehearsal.hosts) or "–",
    )
    rates = [metric for metric in rehearsal.metrics if metric.name == rehearsal.metric]
    for metric in [*rates, *(metric for metric in rehearsal.metrics if metric.name != rehearsal.metric)][:6]:
        line = f"  {metric.name} {metric.value:.6g} {metric.unit}".rstrip()
        if metric.place is not None:
            source = metric.place.by
            by = _(_BY_TEXTS[source]) if source in OWN_WORDS else source
            position = f"{metric.place.file}:{metric.place.line}"
            source = _("{value} ({about})", value=position, about=by) + ": " + metric.place.text.strip()[:SHOWN]
            line += "   ← " + (source if metric.place.line else by)
        yield line
    yield "  " + _("time of a step: {what}", what=_said(rehearsal.step, _step))
    yield "  " + _("batch: {what}", what=_batch(rehearsal))
    yield "  " + _("memory: {what}", what=_said(rehearsal.memory, "{:,.0f} MiB".format))
    if rehearsal.written:
        names = [f"{name} ({format_size(size)})" for name, size in rehearsal.written[:WRITTEN]]
        yield "  " + _(
            "files written: {files}", files=", ".join([*names, *(["…"] if rehearsal.written[WRITTEN:] else [])])
        )
    if rehearsal.processes > 1:
        key = next(
            (_DATA[doubt.id] for doubt in rehearsal.doubts if doubt.id in _DATA and doubt.kind not in _GROUPED),
            N_("no sign that ranks read the same samples (`meter.saw(…)` would show it)"),
        )
        yield "  " + _("data of the ranks: {what}", what=_(key))


_DATA = {
    "identical-ranks": N_("the same on all ranks"),
    "no-group": N_("the same on all ranks: the program does not join a process group"),
    "several-worlds": N_("the same in each of several worlds"),
}
_GROUPED = frozenset({"silent", "apart", "around"})
"""Kinds of doubts about processes in one group: a sampler may have divided their data."""


def _step(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 0.9995 else f"{1000 * seconds:.3g} ms"


def _said(quantity: "Quantity", form: Callable[[float], str]) -> str:
    about = _(_ABOUT_TEXTS[quantity.about])
    if quantity.value is None:
        return _("not known: {why}", why=about)
    return _("{value} ({about})", value=form(quantity.value), about=about)


def _batch(rehearsal: "Understood") -> str:
    if rehearsal.batch.value is None:
        return _said(rehearsal.batch, str)
    return _(
        "{total} samples per step, {each} per process ({about})",
        total=f"{rehearsal.batch.value:g}",
        each=f"{rehearsal.batch.value / rehearsal.processes:g}",
        about=_(_ABOUT_TEXTS[rehearsal.batch.about]),
    )


def _show_suggestion(rehearsals: "Sequence[Understood]", findings: "Sequence[RehearsalFinding]") -> None:
    """Print what to add to project.yaml if no throughput was read, or that no line contains one."""
    rules = {finding.rule for finding in findings} & {"no-throughput", "silent"}
    if not rules:
        return
    from hackathon.cli.show import printable
    from hackathon.cli.study.suggest import show_suggestions
    from hackathon.text.errors import RequestError

    runs = [rehearsal.run for rehearsal in rehearsals if rehearsal.throughput is None]
    click.echo()  # the finding above may be about another problem
    try:
        show_suggestions(runs, runs[0].id, as_json=False)
    except RequestError as error:
        click.echo(printable(error.message))


def _study(sources: "Sources") -> "tuple[list[int], Plan] | None":
    """Return the process counts of a first study with its plan: up to two nodes, within the cluster's limits."""
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
        yield _("next: hackathon scale --processes {counts!q} --wait", counts="1,2")
        return
    counts, planned = study
    yield _("next: hackathon scale --processes {counts!q} --wait", counts=",".join(map(str, counts)))
    yield cost_text(planned.cost)


def _study_json(planned: "Plan") -> dict[str, Any]:
    from dataclasses import asdict

    points = [{"processes": request.processes, "nodes": request.nodes, "queue": request.queue,
               "walltime": request.walltime} for request in planned.requests]  # fmt: skip
    return {"points": points, "cost": asdict(planned.cost)}


def _run_json(rehearsal: "Understood") -> dict[str, Any]:
    def quantity(value: "Quantity") -> dict[str, Any]:
        return {"value": value.value, "basis": value.about}

    return {
        "run": rehearsal.run.id, "processes": rehearsal.processes, "state": rehearsal.state.state,
        "ended": rehearsal.ended or None, "ranks": rehearsal.ranks, "hosts": list(rehearsal.hosts),
        "metric": rehearsal.metric, "metrics": [
            {
                "name": metric.name, "value": metric.value if math.isfinite(metric.value) else None,
                "unit": metric.unit, "file": metric.place.file if metric.place else None,
                "line": metric.place.line if metric.place else None, "by": metric.place.by if metric.place else None,
            }
            for metric in rehearsal.metrics
        ],
        "seconds_per_step": quantity(rehearsal.step), "samples_per_step": quantity(rehearsal.batch),
        "memory_mib": quantity(rehearsal.memory), "doubts": [doubt.to_json() for doubt in rehearsal.doubts],
        "written": [{"path": name.removeprefix("source/"), "bytes": size} for name, size in rehearsal.written],
    }  # fmt: skip
