"""How commands print and check chains of runs (`submit --segments`)."""

from typing import TYPE_CHECKING

import click

from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, _

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.status import RunStatus
    from hackathon.runs.submit import Outcomes

_SKIPPED_TEXTS = {
    "complete": N_("training is already complete"),
    "failed": N_("not started: a previous segment failed"),
    "lost": N_("not started: the first segment does not exist"),
}


def refuse_repeat(segments: int, repeat: int) -> None:
    """Raise RequestError for several chains at once."""
    if segments > 1 and repeat > 1:
        raise RequestError(
            "segments.with_repeat", "--segments and --repeat cannot be combined", hint="submit the chain several times"
        )


def refuse_for_study(_context: click.Context, _option: click.Parameter, value: object) -> None:
    """Raise RequestError if `scale` is called with segments (a click callback)."""
    if value is not None:
        raise RequestError(
            "segments.not_for_studies",
            "a scaling study measures single runs; they cannot have segments",
            hint="a run of a few minutes is enough to measure; for long training: hackathon submit --segments N",
        )


def place(run: "RunDirectory") -> str:
    """Return `segment 2 of 3: nothing left to do`; empty for a run outside a chain."""
    from hackathon.runs.chain import segment_of

    segment = segment_of(run)
    if segment is None:
        return ""
    text = _("segment {number} of {of}", number=segment.number, of=segment.of)
    return f"{text}: {_(_SKIPPED_TEXTS[segment.skipped])}" if segment.skipped else text


def with_followers(runs: "Sequence[RunDirectory]") -> "list[RunDirectory]":
    """Return the runs with all segments that follow them, last segments first."""
    from hackathon.runs.chain import chain_of

    segments: dict[str, RunDirectory] = {}
    for run in runs:
        following = chain_of(run)
        # last first, so that no segment starts while the others are cancelled
        for segment in reversed(following[following.index(run) :]):
            segments.setdefault(segment.id, segment)
    return list(segments.values())


def verdict(run: "RunDirectory", states: "Sequence[RunStatus]") -> tuple[str, bool]:
    """Return the state of a chain in words, from its segments' states, and whether it has failed."""
    from hackathon.runs.chain import is_complete

    if is_complete(run):
        return _("training is complete"), False
    if any(state.open or state.state == "CREATED" for state in states):
        return _("training continues in the next segment"), False
    return _("training is not complete, and no segments are left"), True


def show_chain(run: "RunDirectory", form: str, metric: str | None = None, ask: bool = True) -> None:
    """Print the latest numbers and the state of a chain; exit code 1 if it ended without being complete."""
    from hackathon.cli.shown import show_run
    from hackathon.runs.chain import chain_of, is_complete, speaking
    from hackathon.runs.status import status

    runs = chain_of(run)
    states = status(runs, ask=ask)
    words, failed = verdict(run, states)
    last = speaking(run)
    more = {"segment": runs.index(last) + 1, "segments": len(runs), "complete": is_complete(run)}
    state = next(state for state in states if state.run_id == last.id)
    try:
        show_run(last, state, form, metric, more)
    except click.exceptions.Exit:  # a segment that reached its walltime did its part
        pass
    click.echo(f"{place(last)}: {words}", err=True)
    if failed:
        raise click.exceptions.Exit(1)


def show_curve(run: "RunDirectory", metric: str) -> None:
    """Print a metric over the steps of a run's complete chain as CSV. Raises RequestError if there is none."""
    from hackathon.logs.metrics import joined_series
    from hackathon.runs.chain import chain_of

    curves = joined_series([segment.path for segment in chain_of(run)])
    if metric not in curves:
        raise RequestError(
            "segments.no_curve",
            "no values of {metric!r} over time in {run}; available: {names}",
            metric=metric,
            run=run.id,
            names=", ".join(sorted(curves)) or "–",
        )
    click.echo(f"step,{metric}")
    for step, value in curves[metric]:
        click.echo(f"{step:.15g},{value!r}")


def show_submitted(runs: "Sequence[RunDirectory]", outcomes: "Outcomes", waiting: bool, as_json: bool) -> None:
    """Print the submitted segments of a chain, or its numbers after waiting; exit code 1 if it is not complete."""
    from hackathon.cli.run.diagnose import show_cause
    from hackathon.cli.run.wait import wait
    from hackathon.cli.shown import finish, show_tail
    from hackathon.runs.chain import is_complete, speaking

    failed = any(outcome.error is not None for outcome in outcomes)
    if failed or not (waiting and as_json):
        finish(outcomes, False, as_json and not waiting, len(runs))
    if not waiting:
        return
    states = wait(runs)
    if not is_complete(runs[0]):
        last = speaking(runs[0])
        state = next(state for state in states if state.run_id == last.id)
        show_tail(last.path, state.first_rank)
        show_cause(last, state)
    show_chain(runs[0], "json" if as_json else "table")
