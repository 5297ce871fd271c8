"""Wait until runs have ended, and print changes of state."""

import gc
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from hackathon.cli.show import printable
from hackathon.text.messages import _
from hackathon.text.units import format_age

if TYPE_CHECKING:
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.status import RunStatus

Tick = Callable[[list["RunStatus"], list["RunDirectory"]], bool]


def wait(runs: Sequence["RunDirectory"], tick: Tick | None = None) -> list["RunStatus"]:
    """Return the final states of runs; changes of state go to stderr, on a terminal with one line of progress.

    `tick` is called after every check with the states and the list of runs, to which it may add (a study submits
    further points); while it returns True the wait continues. On Ctrl-C the jobs continue and KeyboardInterrupt is
    raised.
    """
    from hackathon.runs.waiting import watch

    gc.enable()
    begin = time.monotonic()
    words: dict[str, str] = {}
    live = sys.stderr.isatty()
    watched = list(runs)
    problems: set[str] = set()

    def check(states: list["RunStatus"]) -> bool:
        for problem in {state.problem for state in states if state.problem} - problems:
            problems.add(problem)
            _clear(live)
            click.echo(f"{_('warning')}: {problem}", err=True)
        for state in states:
            word = state.state
            if words.get(state.run_id) != word:
                words[state.run_id] = word
                _clear(live)
                click.echo(state_line(state), err=True)
        more = tick(states, watched) if tick is not None else False
        if live:
            counts = Counter(state.state for state in states)
            text = ", ".join(f"{word} {count}" for word, count in counts.items())
            click.echo(f"\r\033[K{format_age(time.monotonic() - begin)}: {text}", nl=False, err=True)
        return more

    try:
        final = watch(watched, check)
    except KeyboardInterrupt:
        _clear(live)
        click.echo(_("stopped waiting; the jobs continue (`hackathon status`, `hackathon cancel`)"), err=True)
        raise
    _clear(live)
    return final


def state_line(state: "RunStatus") -> str:
    """Return a run's state in one line: id, job, state, reason."""
    parts = [state.run_id, state.state]
    if state.job_id:
        parts.append(_("job {job}", job=state.job_id))
    if state.beside_state:
        parts.append(printable(state.beside_state))
    return "  ".join(parts)


def _clear(live: bool) -> None:
    if live:
        click.echo("\r\033[K", nl=False, err=True)
