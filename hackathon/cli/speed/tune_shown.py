"""How `hackathon tune` prints changes of trials, the table, the best trial, and the final line."""

import gc
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.text.messages import _

if TYPE_CHECKING:
    from hackathon.runs.study import Study
    from hackathon.tuning.trials.ledger import Trial
    from hackathon.tuning.trials.plan import TuningPlan
    from hackathon.tuning.trials.tuner import Tuner

PAUSE = 1.0
"""Seconds between two checks of the trials; the scheduler itself is asked at most every 30 s."""
SHARE = 4.0
"""The pause after a slow check, as a multiple of its duration."""
ELSEWHERE = frozenset({"runs.submitted_already", "runs.submitting_now", "runs.uncertain"})
"""Errors of a submission that another tuner of the same study is making at this moment."""
AGAIN = 15.0
"""Seconds until a scheduler that did not answer is asked again."""


def watch(tuner: "Tuner") -> "list[Trial]":
    """Run the trials until none is left, and return them; changes go to stderr.

    On Ctrl-C the jobs continue, and KeyboardInterrupt is raised. Raises HackathonError.
    """
    from hackathon.cli.budget import event_line
    from hackathon.runs.status import status
    from hackathon.runs.study import runs_of
    from hackathon.text.errors import UNAVAILABLE, HackathonError

    gc.enable()
    study = tuner.campaign.study
    event_line(tuner.campaign.sources)
    texts: dict[int, str] = {}
    try:
        while True:
            begin = time.monotonic()
            states = status(runs_of(study))
            trials = tuner.look(states)
            try:
                if tuner.end_due(trials):
                    trials = tuner.look(states)
                _show_changes(trials, tuner.plan, texts)
                added = tuner.add(trials)
                failure = tuner.submit(states).failure
                if failure is not None and failure.id not in ELSEWHERE:
                    raise failure
            except HackathonError as error:
                if error.exit_code != UNAVAILABLE:
                    raise
                click.echo(f"{_('warning')}: {error.message}", err=True)
                time.sleep(AGAIN)
                continue
            if not added and tuner.done(trials):
                return trials
            time.sleep(max(PAUSE, SHARE * (time.monotonic() - begin)))
    except KeyboardInterrupt:
        click.echo(
            _(
                "The jobs continue. To resume: hackathon tune --resume {study!q}    End them with: hackathon "
                "cancel {study!q}",
                study=study.id[-8:],
            ),
            err=True,
        )
        raise


def _show_changes(trials: "Sequence[Trial]", plan: "TuningPlan", texts: dict[int, str]) -> None:
    from hackathon.cli.show import printable
    from hackathon.jobs.settings import settings_text
    from hackathon.tuning.trials.objective import shown_value
    from hackathon.tuning.trials.result import state_text

    for trial in trials:
        text = state_text(trial)
        if texts.get(trial.number) == text:
            continue
        texts[trial.number] = text
        value = trial.progress.value
        parts = [_("trial {number}", number=trial.number), settings_text(trial.settings), text]
        if value is not None:
            parts.append(shown_value(plan.objective, value))
        click.echo(printable("  ".join(parts)), err=True)


def show_json(study: str, plan: "TuningPlan", trials: "Sequence[Trial]") -> None:
    """Print the study as JSON."""

    from hackathon.tuning.trials.result import as_json

    echo_json(as_json(study, plan, trials))


def show_table(study: str, plan: "TuningPlan", trials: "Sequence[Trial]") -> None:
    """Print the trials, the best one first, and a line with their cost."""
    from hackathon.cli.show import echo_table, printable
    from hackathon.tuning.trials.result import best_line, comparison_line, summary, table

    head, rows = table(plan, trials)
    echo_table([printable(cell) for cell in head], [[printable(cell) for cell in row] for row in rows])
    click.echo(printable(best_line(plan, trials)))
    if line := comparison_line(plan, trials):
        click.echo(printable(line))
    click.echo(summary(plan, trials))


def show_study(study: "Study", form: str, *, ask: bool = True) -> None:
    """Print the present state of a tuning study, for `hackathon results`.

    Raises RequestError; exit code 1 without a result.
    """
    from hackathon.runs.status import status
    from hackathon.runs.study import runs_of
    from hackathon.tuning.trials.ledger import plan_of, read_trials
    from hackathon.tuning.trials.outcome import best

    plan = plan_of(study)
    trials = read_trials(study, plan, status(runs_of(study), ask=ask))
    (show_json if form == "json" else show_table)(study.id, plan, trials)
    if best(trials, plan) is None and not any(trial.place for trial in trials):
        raise click.exceptions.Exit(1)
