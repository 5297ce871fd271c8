"""`hackathon standup`: the members' reports, as one page for the daily status meeting."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.board.board import said
from hackathon.cli.board.board_io import DefaultGroup, board_at, echo_board, shared_options, text_of
from hackathon.cli.options import named
from hackathon.cli.show import printable
from hackathon.text.messages import N_, _

if TYPE_CHECKING:
    from hackathon.board.people import People
    from hackathon.board.standup import Round, StandupReport

_SECTION_TEXTS = {
    "progress": N_("Progress"),
    "goals": N_("Goals"),
    "problems": N_("Problems"),
    "solved": N_("Solved (useful for others)"),
}

SECTIONS = ("progress", "goals", "problems", "solved")


class StandupGroup(DefaultGroup):
    """`hackathon standup` is `hackathon standup write`."""

    default = "write"


@named(
    "standup",
    help=_(
        "Report your status: progress, goals, problems, and what you solved that may help others. Your last "
        "report of the day counts. Without options, your editor opens.\n"
        "\n"
        "  hackathon standup --progress '4 GPUs: 3.7x' --goals '16 GPUs' --problems 'loss is NaN'\n"
        "  hackathon standup show                    all teams on one page\n"
        "  hackathon standup show --day 2019-01-24 --lang ja"
    ),
    cls=StandupGroup,
)
def command() -> None:
    pass


@named(
    "write",
    help=_("Write your report; `write` may be omitted.\n\n  hackathon standup --progress '4 GPUs: 3.7x'"),
    short=_("Write your report (the default)."),
)
@click.option("--progress", metavar="TEXT", default="", help=_("What you have achieved."))
@click.option("--goals", metavar="TEXT", default="", help=_("Your next goals."))
@click.option("--problems", metavar="TEXT", default="", help=_("What blocks you."))
@click.option("--solved", metavar="TEXT", default="", help=_("What you solved that may help others."))
@shared_options
def write(progress: str, goals: str, problems: str, solved: str, shared: Path | None, as_json: bool) -> None:
    from hackathon.board.standup import NO_REPORT, report

    board = board_at(shared, quiet=True)
    sections = {"progress": progress, "goals": goals, "problems": problems, "solved": solved}
    if not any(sections.values()):
        sections = parted(text_of(None, _template(), NO_REPORT))
    said(report(board, sections).entry.id, N_("status report posted: #{name}"), as_json)


def _template() -> str:
    heads = [f"[{_(_SECTION_TEXTS[section])}]\n\n" for section in SECTIONS]
    return ("# " + _("Write under each heading; leave a section empty to skip it.") + "\n") + "".join(heads)


def parted(text: str) -> dict[str, str]:
    """Return the sections of an edited template, in either language; text before the first heading is progress."""
    from hackathon.text.messages import LANGUAGES, speaking

    heads: dict[str, str] = {}
    for language in LANGUAGES:
        with speaking(language):
            heads.update({f"[{_(_SECTION_TEXTS[section])}]": section for section in SECTIONS})
    sections: dict[str, list[str]] = {section: [] for section in SECTIONS}
    at = "progress"
    for line in text.splitlines():
        if line.strip() in heads:
            at = heads[line.strip()]
        else:
            sections[at].append(line)
    return {name: "\n".join(lines).strip() for name, lines in sections.items()}


@named(
    "show",
    help=_(
        "Show the last report of each member since 06:00 of the previous day, by team, and what was solved.\n"
        "\n"
        "  hackathon standup show --lang ja"
    ),
    short=_("Show the reports of all teams."),
)
@click.option("--day", metavar="YYYY-MM-DD", help=_("Day of the report (default: today)."))
@shared_options
def show(day: str | None, shared: Path | None, as_json: bool) -> None:
    from hackathon.board.standup import morning_round

    board = board_at(shared, quiet=as_json)
    page = morning_round(board, day)
    if as_json:
        echo_board(page.to_json(), board)
    else:
        _echo_page(page, board.people)


def _echo_page(page: "Round", people: "People") -> None:
    click.echo(click.style(_("Daily status report, {day}", day=page.day), bold=True))
    for team, reports in page.teams.items():
        click.echo()
        click.echo(click.style(f"■ {printable(team) if team else _('no team')}", bold=True))
        for report in reports:
            _echo_report(report)
        if page.silent.get(team):
            names = ", ".join(printable(name) for name in page.silent[team])
            click.echo("  " + _("no report yet: {names}", names=names))
    for title, posts in ((N_("Solved since yesterday"), page.solved), (N_("Not solved yet"), page.waiting)):
        if posts:
            click.echo()
            click.echo(click.style(f"■ {_(title)}", bold=True))
        for post in posts:
            part = f"[{post.part}] " if post.part else ""
            click.echo(printable(f"  #{post.short} {part}{post.title} – {people.shown(post.user)}"))
            if post.solved and post in page.solved and post.solved.text:
                click.echo(printable(f"    → {post.solved.text.splitlines()[0]}"))


def _echo_report(report: "StandupReport") -> None:
    click.echo(f"  {printable(report.name)}")
    for section in SECTIONS:
        lines = report.sections.get(section, "").splitlines()
        if lines:
            click.echo(f"    {_(_SECTION_TEXTS[section])}: {printable(lines[0])}")
            for line in lines[1:]:
                click.echo(f"      {printable(line)}")


for _sub_verb in (write, show):
    command.add_command(_sub_verb)  # type: ignore[attr-defined]
