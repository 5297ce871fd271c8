"""`hackathon status`: the states of runs."""

import time
from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import completing, named, runs_folder
from hackathon.cli.run.causes import cause_text, causes, has_failed
from hackathon.text.messages import _, ngettext, pgettext

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hackathon.diagnosis.findings import Finding
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.status import RunStatus

SHOWN = 20
SHOWN_OUTPUTS = 3
"""The most named runs that are printed with their outputs."""
SHOWN_CAUSES = 3
"""Failed runs whose cause is printed after a wait."""


@named(
    "status",
    help=_(
        "Show the states of all open runs and of the newest others, or of the runs and studies given. A part of "
        "a run's id that no other one has names it.\n"
        "\n"
        "  hackathon status\n"
        "  hackathon status k3x9 --wait\n"
        "  hackathon status --all --json"
    ),
)
@click.argument("names", nargs=-1, metavar="[RUN|STUDY]...", shell_complete=completing("result"))
@click.option(
    "--all", "everything", is_flag=True, help=_("All runs, not only the open ones and the newest, 20 in all.")
)
@click.option("--no-ask", is_flag=True, help=_("Do not query the scheduler."))
@click.option("--wait", "waiting", is_flag=True, help=_("Wait until all jobs have finished."))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(names: tuple[str, ...], everything: bool, no_ask: bool, waiting: bool, as_json: bool) -> None:
    from hackathon.runs.status import status

    runs, total = (chosen(names), 0) if names else _to_look_at(everything)
    if waiting:
        from hackathon.cli.run.wait import wait

        states = wait(runs)
    else:
        states = status(runs, ask=not no_ask)
    if not names:
        runs, states = _open_first(runs, states, total if everything else SHOWN)
    findings = causes(runs, states)
    if as_json:
        from dataclasses import asdict

        from hackathon.cli.run.outputs_shown import outputs_json
        from hackathon.runs.chain import segment_of
        from hackathon.runs.outputs.record import outputs_of

        with_outputs = {run.id for run in _with_outputs(names, runs, states)}
        rows = [
            {
                **asdict(state),
                **({"segment": asdict(segment)} if (segment := segment_of(run)) else {}),
                **({"finding": finding.to_json()} if (finding := findings.get(run.id)) else {}),
                **({"outputs": outputs_json(outputs_of(run))} if run.id in with_outputs else {}),
            }
            for run, state in zip(runs, states, strict=True)
        ]
        echo_json({"runs": rows})
        return
    if not states:
        click.echo(_("there are no runs in {folder}", folder=runs_folder()), err=True)
        return
    from hackathon.cli.run.segments import place
    from hackathon.cli.run.status_table import NO_JOB, table_lines
    from hackathon.cli.show import printable
    from hackathon.jobs.settings import settings_text

    head, *lines = table_lines(
        [_("run"), _("state"), _("job"), _("since"), _("reason")],
        [
            [
                state.run_id,
                _state(state),
                state.job_id or NO_JOB,
                _since(state),
                _why(run, state, place(run) or (settings_text(run.settings) if names else ""), findings.get(run.id)),
            ]
            for run, state in zip(runs, states, strict=True)
        ],
        _terminal_columns(),
    )
    click.echo(click.style(head, bold=True))
    for line in lines:
        click.echo(line)
    left_out = max(0, total - len(runs))
    if left_out:
        text = ngettext(
            "{count} older run is left out: --all", "{count} older runs are left out: --all", left_out, count=left_out
        )
        click.echo(text, err=True)
    for run in _with_outputs(names, runs, states):
        from hackathon.cli.run.outputs_shown import show_outputs

        show_outputs(run)
        if text := _efficiency(run):
            click.echo(printable(text))
    for problem in sorted({state.problem for state in states if state.problem}):
        click.echo(f"{_('warning')}: {printable(problem)}", err=True)
    if waiting:
        from hackathon.cli.run.diagnose import show_cause

        failed = [(run, state) for run, state in zip(runs, states, strict=True) if has_failed(state)]
        for run, state in failed[:SHOWN_CAUSES]:
            show_cause(run, state)


def _terminal_columns() -> int | None:
    """Return the width of the terminal on standard output; None if that is not a terminal."""
    import shutil
    import sys

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _efficiency(run: "RunDirectory") -> str:
    """Return what a run requested beside what it used; empty for a run without a readable record."""
    from dataclasses import replace

    from hackathon.index.load import load_of
    from hackathon.runs.job_times import use_of
    from hackathon.text.errors import HackathonError
    from hackathon.usage.efficiency import efficiency
    from hackathon.usage.rows import Profiles

    try:
        use = use_of(run, time.time())
        return efficiency(run.files, replace(use, load=load_of(run, use)), Profiles([runs_folder().parent]))
    except (HackathonError, OSError):
        return ""


def _with_outputs(
    names: tuple[str, ...], runs: "list[RunDirectory]", states: "list[RunStatus]"
) -> "list[RunDirectory]":
    """Return the runs that are printed with their outputs: those that ended, if a few are named."""
    if not names or len(runs) > SHOWN_OUTPUTS:
        return []
    return [run for run, state in zip(runs, states, strict=True) if not state.open]


def _to_look_at(everything: bool) -> tuple[list["RunDirectory"], int]:
    """Return the newest runs with all older ones that may be open, and the number of all runs."""
    from hackathon.runs.directory import find_runs
    from hackathon.runs.markers import read_final

    runs = find_runs(runs_folder())
    older = runs[SHOWN:] if everything else [run for run in runs[SHOWN:] if read_final(run) is None]
    return [*runs[:SHOWN], *older], len(runs)


def _open_first(
    runs: list["RunDirectory"], states: list["RunStatus"], rows: int
) -> tuple[list["RunDirectory"], list["RunStatus"]]:
    """Return the open runs and, up to so many rows in all, the newest others; the order is else as it was."""
    pairs = sorted(zip(runs, states, strict=True), key=lambda pair: not pair[1].open)
    del pairs[max(rows, sum(state.open for state in states)) :]
    return [run for run, __ in pairs], [state for __, state in pairs]


def chosen(
    names: tuple[str, ...], *, find: "Callable[[str, Path], RunDirectory] | None" = None
) -> list["RunDirectory"]:
    """Return the named runs; a study stands for all of its own.

    `find` returns the run that one name means, by default `run_to_read`.
    """
    from hackathon.cli.named_runs import run_to_read
    from hackathon.runs.study import find_study, runs_of

    folder = runs_folder()
    selected: dict[str, RunDirectory] = {}
    for name in names:
        study = find_study(name, folder.parent, exact=False)
        for run in runs_of(study) if study is not None else [(find or run_to_read)(name, folder)]:
            selected[run.id] = run
    return list(selected.values())


def _ended_by_try(run: "RunDirectory", state: "RunStatus") -> str:
    """Return why `try` ended its own run, as in its report; empty for all others."""
    from hackathon.runs.states import CANCELLED, TIMEOUT

    if state.state not in (CANCELLED, TIMEOUT) or not run.known().rehearsal:
        return ""
    from hackathon.rehearsal.rehearsal import ended_by_us

    return ended_by_us(run, state)


def _state(state: "RunStatus") -> str:
    text = state.state
    if state.attempt > 1:
        text += f" #{state.attempt}"
    return (
        text
        if state.stale_seconds is None
        else f"{text} ({pgettext('cli', '{age} ago', age=_age(state.stale_seconds))})"
    )


def _since(state: "RunStatus") -> str:
    moments = (state.t_ended, state.t_started, state.t_submitted, state.t_created)
    moment = next((candidate for candidate in moments if candidate is not None), None)
    return "–" if moment is None else _age(max(0.0, time.time() - moment))


def _age(seconds: float) -> str:
    from hackathon.text.units import format_age

    return format_age(seconds)


def _why(run: "RunDirectory", state: "RunStatus", position: str, finding: "Finding | None") -> str:
    from hackathon.cli.run.rehearsal_shown import ENDED_TEXTS

    new = not state.state.startswith(state.raw.upper())  # a scheduler's `R` adds nothing to RUNNING
    raw = f"[{state.raw}]" if new and not state.reason and state.open else ""
    by_try = _ended_by_try(run, state)
    if by_try not in ("", "silent"):
        finding = None
    reason = _(ENDED_TEXTS[by_try]) if by_try else state.beside_state
    ended = cause_text(finding, " ".join(part for part in (reason, raw) if part))
    return " ".join(part for part in (position and f"{position};", ended) if part).rstrip(";")
