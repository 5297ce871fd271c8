"""`hackathon ask`: ask a tutor for help, with the last diagnosis and the paths to look at."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.board.board import said, solve
from hackathon.cli.board.board_io import DefaultGroup, board_at, echo_board, echo_posts, shared_options, text_of
from hackathon.cli.options import named, runs_folder
from hackathon.text.messages import N_, _

if TYPE_CHECKING:
    from hackathon.board.ask import GuessedRun
    from hackathon.runs.directory import RunDirectory


class AskGroup(DefaultGroup):
    """`hackathon ask TEXT` is `hackathon ask send TEXT`."""

    default = "send"


@named(
    "ask",
    help=_(
        "Ask a tutor for help. The request includes a run, its diagnosis, and where to look. Without --run it is "
        "guessed: your running job without progress, your newest failure, then your team's; the words of your text "
        "choose among causes.\n"
        "\n"
        "  hackathon ask 'it hangs after the first epoch'\n"
        "  hackathon ask --run 3f7k                  the diagnosis is enough\n"
        "  hackathon ask list                        tutors: open requests\n"
        "  hackathon ask take k7qd\n"
        "  hackathon ask close k7qd 'wrong interface'"
    ),
    cls=AskGroup,
)
def command() -> None:
    pass


@named(
    "send",
    help=_("Send a request for help; `send` may be omitted.\n\n  hackathon ask 'it hangs after the first epoch'"),
    short=_("Send a request for help (the default)."),
)
@click.argument("text", required=False, metavar="[TEXT|-]")
@click.option("--run", "name", metavar="RUN", help=_("Run that the request is about (default: guessed)."))
@click.option("--no-run", is_flag=True, help=_("The request is not about a run."))
@shared_options
def send(text: str | None, name: str | None, no_run: bool, shared: Path | None, as_json: bool) -> None:
    from hackathon.board.ask import run_in_trouble
    from hackathon.board.post import finding_of, post, step_time_of
    from hackathon.text.errors import HackathonError

    board = board_at(shared, quiet=True)
    run: RunDirectory | None = None
    guess: GuessedRun | None = None
    if text is not None:
        text = text_of(text)
    if name is not None:
        from hackathon.runs.directory import find_run

        run = find_run(name, runs_folder())
    elif not no_run:
        guess = run_in_trouble(runs_folder(), text or "")
        run = guess.run if guess else None
    finding = guess.finding if guess else None
    try:
        if run and finding is None and not (guess and guess.still):
            finding = finding_of(run) or step_time_of(run)
    except HackathonError as error:  # a broken run directory is one more reason to ask for help
        click.echo(f"{_('warning')}: {error.message}", err=True)
    words = (
        text
        if text is None and finding is not None
        else text_of(text, _("\n# The first line is the title. Lines that start with `# ` are ignored.\n"))
    )
    written = post(
        board, words or "", kind="ask", run=run.id if run else "", folder=run.path if run else None, finding=finding,
        guessed=guess is not None,
    )  # fmt: skip
    if run and not as_json:
        about = _("no progress") if guess and guess.still else _("no known failure was found")
        if finding:
            about = f"[{finding.part}] {finding.message}" if finding.part else finding.message
        key = N_("about run {run} (guessed): {about}") if guess else N_("about run {run}: {about}")
        click.echo(_(key, run=run.id, about=about))
        if guess:
            click.echo(_("another run: hackathon ask --run RUN, or --no-run"), err=True)
    said(written.entry.id, N_("request sent to the tutors: #{name}"), as_json)


@named(
    "list",
    help=_("List open requests, newest first.\n\n  hackathon ask list\n  hackathon board show k7qd"),
    short=_("List open requests."),
)
@click.option("--all", "everything", is_flag=True, help=_("Include closed requests."))
@shared_options
def list_requests(everything: bool, shared: Path | None, as_json: bool) -> None:
    board = board_at(shared, quiet=as_json)
    posts = [post for post in board.of("ask") if everything or not post.solved]
    if as_json:
        echo_board({"requests": [post.to_json() for post in posts]}, board)
    elif posts:
        echo_posts(posts, board.people)
    else:
        click.echo(_("no open requests"), err=True)


@named(
    "take",
    help=_(
        "Take a request, so that other tutors know. Only for tutors listed in hackathon.yaml.\n"
        "\n"
        "  hackathon ask take k7qd"
    ),
    short=_("Tutors: take a request."),
)
@click.argument("request", metavar="REQUEST")
@shared_options
def take(request: str, shared: Path | None, as_json: bool) -> None:
    from hackathon.board.board import find_post, reply
    from hackathon.cli.board.board_io import echo_post

    board = board_at(shared, quiet=True)
    post = find_post(board, request, "ask")
    if post.taken and not as_json:
        click.echo(_("already taken by {name}", name=board.people.shown(post.taken.user)), err=True)
    written = reply(board, post, "take").entry.id
    if not as_json:
        echo_post(post, board.people)
        click.echo()
    said(written, N_("you took the request: #{name}"), as_json)


@named(
    "close",
    help=_(
        "Close a request as solved, and say what solved it. Only its author and tutors listed in "
        "hackathon.yaml can do this.\n"
        "\n"
        "  hackathon ask close k7qd 'wrong interface'"
    ),
    short=_("Close a request as solved."),
)
@click.argument("request", metavar="REQUEST")
@click.argument("text", required=False, metavar="[TEXT|-]")
@shared_options
def close(request: str, text: str | None, shared: Path | None, as_json: bool) -> None:
    solve(request, "ask", text, shared, as_json)


for _sub_verb in (send, list_requests, take, close):
    command.add_command(_sub_verb)  # type: ignore[attr-defined]
