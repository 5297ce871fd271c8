"""`hackathon ready`: a checklist of the team's project with evidence, posted for the organisers before the event."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import completing, named, option_trust, site_options
from hackathon.cli.show import encodes, printable
from hackathon.jobs.request import Options
from hackathon.text.messages import N_, _, ngettext

if TYPE_CHECKING:
    from hackathon.board.board import Board
    from hackathon.jobs.places import Foreign
    from hackathon.readiness.situation import ChecklistItem, Situation
    from hackathon.runs.directory import RunDirectory

_STATE_TEXTS = {
    "ok": N_("OK"),
    "bad": N_("NOT OK"),
    "unknown": N_("could not be checked"),
}

MARKS = {True: ("✓", "ok", "green"), False: ("✗", "bad", "red"), None: ("–", "unknown", "yellow")}


@named(
    "ready",
    help=_(
        "Run this before the event, in your own account and in your team's project. It checks, with evidence: "
        "login, imports of the environment, data visible from a compute node, a job of under 60 s, the "
        "correctness check, the one-process baseline, and access for tutors. It submits one small job, waits "
        "for it, and posts the result on the event's board for the organisers.\n"
        "\n"
        "hackathon ready                 the project here, on its cluster\n"
        "hackathon ready --no-job        check again without a job: the last result counts\n"
        "hackathon ready --no-post       do not post the result"
    ),
)
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]")
@click.option(
    "--cluster",
    metavar="NAME",
    shell_complete=completing("cluster"),
    help=_("Cluster profile (`hackathon clusters` lists them)."),
)
@click.option("--queue", metavar="NAME", help=_("Queue, partition, resource group or resource type."))
@site_options
@click.option("--no-job", is_flag=True, help=_("Do not submit a job; use the last result."))
@click.option("--no-post", is_flag=True, help=_("Do not post the result on the board."))
@click.option(
    "--shared",
    type=click.Path(file_okay=False, path_type=Path),
    help=_("The event's shared directory, instead of the one in hackathon.yaml."),
)
@option_trust
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(
    target: str | None,
    no_job: bool,
    no_post: bool,
    shared: Path | None,
    foreign: "Foreign",
    as_json: bool,
    **values: Any,
) -> None:
    from hackathon.board.directory import find_people
    from hackathon.cli.budget import admit
    from hackathon.jobs.sources import find_sources
    from hackathon.readiness.checklist import items
    from hackathon.readiness.collected import post
    from hackathon.readiness.probe import submit_probe
    from hackathon.readiness.situation import situation, wanted_by
    from hackathon.text.errors import HackathonError

    sources = find_sources(target, Options(**values), foreign=foreign)
    board, why = _board(shared, sources.runs.parent)
    event = find_people(board.place, sources.runs.parent) if board is not None else None
    request = wanted_by(sources)
    job = refused = None
    if not no_job:
        try:
            outcomes = submit_probe(replace(sources, event=sources.event or event), request[1], admit)
            if outcomes.failure is not None:
                raise outcomes.failure
            job = outcomes[0].run
            _await(job)
        except HackathonError as error:
            refused = error
    state = situation(sources, event=event, job=job, refused=refused, wanted=request)
    checklist = items(state)
    if not as_json:
        _echo(state, checklist)
    posted = failure = None
    if board is not None and not no_post:
        try:
            posted = post(board, state, checklist).entry.id
        except HackathonError as error:
            failure, why = error, error.message
    if as_json:
        _echo_json(state, checklist, posted, why)
    elif posted is not None:
        click.echo(_("posted on the event's board as {id}", id=posted), err=True)
    elif not no_post and failure is None:
        click.echo(f"{_('warning')}: {_('not posted: {why}', why=printable(why))}", err=True)
    if failure is not None:
        raise failure
    if not all(item.ok for item in checklist):
        raise click.exceptions.Exit(1)


def _board(shared: Path | None, start: Path) -> "tuple[Board | None, str]":
    """Return the event's board, or None and the reason. Raises HackathonError if a named board cannot be used."""
    from hackathon.board.board import open_board
    from hackathon.text.errors import HackathonError

    try:
        return open_board(shared, start), ""
    except HackathonError as error:
        if shared is not None:
            raise
        return None, error.message


def _await(run: "RunDirectory") -> None:
    from hackathon.cli.run.wait import wait

    click.echo(
        _(
            "submitted a short job that checks the compute node: {run} (job {job}). If you press Ctrl-C, it "
            "continues; see its result later with `hackathon ready --no-job`",
            run=run.id,
            job=run.job_id(),
        ),
        err=True,
    )
    wait([run])


def _echo(state: "Situation", checklist: "Sequence[ChecklistItem]") -> None:
    from hackathon.readiness.collected import ITEM_TEXTS

    values = {"project": state.project, "cluster": state.sources.cluster.name}
    if state.team is not None:
        head = _("Readiness: {team}: {project} on {cluster}", team=state.team.name, **values)
    else:
        head = _("Readiness: {project} on {cluster}", **values)
    click.echo(click.style(printable(head), bold=True))
    plain = bool(os.environ.get("NO_COLOR")) or not encodes("✓✗→–")
    for item in checklist:
        mark, word, color = MARKS[item.ok]
        label = f"[{_(_STATE_TEXTS[word])}]" if plain else click.style(mark, fg=color)
        click.echo(f"{label} {_(ITEM_TEXTS[item.name])}: {printable(item.evidence)}")
        if item.remedy:
            click.echo(f"    {'->' if plain else '→'} {printable(item.remedy)}")
    left = sum(not item.ok for item in checklist)
    click.echo(
        ngettext(
            "{count} of {total} item left: fix them from the top, then run `hackathon ready` again",
            "{count} of {total} items left: fix them from the top, then run `hackathon ready` again",
            len(checklist),
            count=left,
            total=len(checklist),
        )
        if left
        else _("everything is ready")
    )


def _echo_json(state: "Situation", checklist: "Sequence[ChecklistItem]", posted: str | None, why: str) -> None:
    value = {
        "account": state.account.user,
        "team": state.team.name if state.team else None,
        "project": str(state.project),
        "cluster": state.sources.cluster.name,
        "ready": all(item.ok for item in checklist),
        "items": [
            {"name": item.name, "ok": item.ok, "evidence": item.evidence, "remedy": item.remedy, "facts": item.facts}
            for item in checklist
        ],
        "posted": posted,
        "not_posted": why or None,
    }
    echo_json(value)
