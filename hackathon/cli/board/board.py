"""`hackathon board`: problems and their solutions, shared by all teams of an event."""

from pathlib import Path

import click

from hackathon.cli.add_rule import agreed_rule, rule_options, write_agreed
from hackathon.cli.board.board_io import (
    DefaultGroup,
    board_at,
    echo_board,
    echo_post,
    echo_posts,
    shared_options,
    text_of,
)
from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named, runs_folder
from hackathon.text.errors import FAILED, RequestError
from hackathon.text.messages import N_, _

MODES = ("sticky", "folders")


@named(
    "board",
    help=_(
        "Problems and their solutions, shared by all teams of the event. A post belongs to the account that "
        "owns its file; nobody else can change it.\n"
        "\n"
        "  hackathon board                                    list posts\n"
        "  hackathon board --unsolved --part nccl\n"
        "  hackathon board post --run 3f7k                    with the run's diagnosis\n"
        "  hackathon board post 'NCCL hangs on two nodes'\n"
        "  hackathon board answer k7qd 'set NCCL_SOCKET_IFNAME=ib0'\n"
        "  hackathon board solve k7qd\n"
        "  hackathon board search hang nodes\n"
        "  hackathon board init /lustre/gz00/event            organisers, once"
    ),
    cls=DefaultGroup,
)
def command() -> None:
    pass


@named(
    "list",
    help=_("List posts, newest first.\n\n  hackathon board list --unsolved"),
    short=_("List posts, newest first."),
)
@click.option("--part", metavar="PART", default="", help=_("Only this part, for example nccl."))
@click.option("--rule", metavar="RULE", default="", help=_("Only this failure rule."))
@click.option("--unsolved", is_flag=True, help=_("Only unsolved ones."))
@shared_options
def list_posts(part: str, rule: str, unsolved: bool, shared: Path | None, as_json: bool) -> None:
    _listed((), part, rule, unsolved, shared, as_json)


@named(
    "search",
    help=_(
        "Find posts and requests for help that contain all words, also in their answers and findings.\n"
        "\n"
        "  hackathon board search out of memory"
    ),
    short=_("Find posts and requests that contain all words."),
)
@click.argument("words", nargs=-1, required=True, metavar="WORD...")
@click.option("--part", metavar="PART", default="", help=_("Only this part, for example nccl."))
@click.option("--rule", metavar="RULE", default="", help=_("Only this failure rule."))
@click.option("--unsolved", is_flag=True, help=_("Only unsolved ones."))
@shared_options
def search_posts(
    words: tuple[str, ...], part: str, rule: str, unsolved: bool, shared: Path | None, as_json: bool
) -> None:
    _listed(words, part, rule, unsolved, shared, as_json)


def _listed(words: tuple[str, ...], part: str, rule: str, unsolved: bool, shared: Path | None, as_json: bool) -> None:
    from hackathon.board.board import search

    board = board_at(shared, quiet=as_json)
    # a search includes requests for help; the plain list leaves them to `hackathon ask list`
    posts = search(board.posts if words else board.of("post"), words, part=part, rule=rule, unsolved=unsolved)
    if as_json:
        echo_board({"posts": [post.to_json() for post in posts]}, board)
    elif posts:
        echo_posts(posts, board.people)
    else:
        click.echo(_("no post matches") if words or part or rule or unsolved else _("there are no posts yet"), err=True)


@named(
    "show",
    help=_(
        "Show a post or a request with its finding and answers. Any unique part of its name names it.\n"
        "\n"
        "  hackathon board show k7qd"
    ),
    short=_("Show a post with its answers."),
)
@click.argument("post", metavar="POST")
@shared_options
def show_post(post: str, shared: Path | None, as_json: bool) -> None:
    from hackathon.board.board import find_post

    board = board_at(shared, quiet=as_json)
    entry = find_post(board, post)
    if as_json:
        echo_board({"post": entry.to_json()}, board)
    else:
        echo_post(entry, board.people)


@named(
    "post",
    help=_(
        "Write a post; its first line is the title. Without text, your editor opens; with --run, the diagnosis "
        "alone is enough.\n"
        "\n"
        "  hackathon board post 'loss is NaN after 200 steps'\n"
        "  hackathon board post --run 3f7k\n"
        "  hackathon board post --part mpi - < text.txt"
    ),
    short=_("Write a post, optionally with a run's diagnosis."),
)
@click.argument("text", required=False, metavar="[TEXT|-]")
@click.option("--run", "run", metavar="RUN", help=_("Attach this run's diagnosis."))
@click.option("--part", metavar="PART", default="", help=_("Part that the problem is in, for example nccl."))
@click.option("--rule", metavar="RULE", default="", help=_("Failure rule that the problem matches."))
@shared_options
def write_post(text: str | None, run: str | None, part: str, rule: str, shared: Path | None, as_json: bool) -> None:
    from typing import get_args

    from hackathon.board.post import finding_of, post
    from hackathon.config.rule import Part

    if part and part not in get_args(Part):
        raise RequestError(
            "board.no_such_part",
            "there is no part {part!r}",
            hint="one of: {parts}",
            part=part,
            parts=" ".join(get_args(Part)),
        )
    board = board_at(shared, quiet=True)
    finding = directory = None
    if run is not None:
        from hackathon.runs.directory import find_run

        directory = find_run(run, runs_folder())
        finding = finding_of(directory)
        if finding is None:
            click.echo(
                _("no known failure was found in {run}; the post only names the run", run=directory.id), err=True
            )
    words = (
        text
        if text is None and finding is not None
        else text_of(text, _("\n# The first line is the title. Lines that start with `# ` are ignored.\n"))
    )
    written = post(
        board,
        words or "",
        part=part,
        rule=rule,
        run=directory.id if directory else "",
        folder=directory.path if directory else None,
        finding=finding,
    )
    said(written.entry.id, N_("posted: #{name}"), as_json)


@named(
    "answer",
    help=_("Answer a post or a request for help.\n\n  hackathon board answer k7qd 'use srun --mpi=pmix'"),
    short=_("Answer a post or a request."),
)
@click.argument("post", metavar="POST")
@click.argument("text", required=False, metavar="[TEXT|-]")
@shared_options
def answer_post(post: str, text: str | None, shared: Path | None, as_json: bool) -> None:
    from hackathon.board.board import find_post, reply

    board = board_at(shared, quiet=True)
    entry = find_post(board, post)
    words = text_of(text, _("\n# Your answer. Lines that start with `# ` are ignored.\n"))
    if not words.strip():
        raise RequestError(
            "board.no_text", "the text is empty", hint="pass it as an argument, or pass `-` to read standard input"
        )
    said(reply(board, entry, "answer", words).entry.id, N_("answered: #{name}"), as_json)


@named(
    "solve",
    help=_(
        "Close a post as solved, and say what solved it. Only its author and tutors listed in hackathon.yaml "
        "can do this.\n"
        "\n"
        "  hackathon board solve k7qd 'a smaller batch'\n"
        "  hackathon board solve k7qd 'load gcc/12' --run 3f7k      and teach `hackathon diagnose` this failure"
    ),
    short=_("Close a post as solved."),
)
@click.argument("post", metavar="POST")
@click.argument("text", required=False, metavar="[TEXT|-]")
@click.option(
    "--run",
    "run",
    metavar="RUN",
    help=_("Propose a rule for this run's failure, with the post's part, title, and solution."),
)
@rule_options
@shared_options
def solve_post(
    post: str, text: str | None, run: str | None, scope: str, yes: bool, shared: Path | None, as_json: bool
) -> None:
    if run is None:
        solve(post, None, text, shared, as_json)
        return
    from typing import cast, get_args

    from hackathon.board.board import find_post, reply
    from hackathon.config.rule import Part
    from hackathon.runs.directory import find_run

    board = board_at(shared, quiet=True)
    words = text_of(text) if text is not None else ""
    entry = find_post(board, post)
    part = cast(Part, entry.part) if entry.part in get_args(Part) else None
    answers = [answer.text for answer in entry.answers]
    advice = " ".join((words or (answers[-1] if answers else "")).split())
    agreed = agreed_rule(
        find_run(run, runs_folder()), yes=yes, part=part, title=entry.title, advice=advice, scope=scope
    )
    said(reply(board, entry, "solve", words).entry.id, N_("closed as solved: #{name}"), as_json)
    if agreed is not None:
        write_agreed(agreed)


@named(
    "init",
    help=_(
        "Create the event's board in a directory that all participants can reach, or check an existing one. "
        "`sticky`: one directory of mode 1777. `folders`: a folder for each user of hackathon.yaml, created by "
        "root.\n"
        "\n"
        "  hackathon board init /lustre/gz00/event\n"
        "  hackathon board init /lustre/gz00/event --mode folders"
    ),
    short=_("Create or check the event's board."),
)
@click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path), metavar="[DIR]")
@click.option("--mode", type=click.Choice(MODES), default="sticky", help=_("How posts are separated."))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def make_board(folder: Path | None, mode: str, as_json: bool) -> int:
    import os

    from hackathon.access.safe_directories import acting_as
    from hackathon.board.directory import find_shared, make_place
    from hackathon.board.people import People
    from hackathon.config.trust import trusted_event
    from hackathon.event.directories import owner_of

    event = trusted_event(Path.cwd())
    people = People(event.record if event else None)
    path = find_shared(folder, os.environ, Path.cwd())
    # a folder named in the organiser's file is created with the organiser's rights, even by root
    with acting_as(owner_of(event.folder) if event is not None and folder is None else 0):
        directory, commands = make_place(path, mode, people.known())
    if as_json:
        problems = [{"problem": identifier.partition(".")[2], **values} for identifier, values in directory.problems]
        echo_json({"shared": str(path), "mode": directory.mode, "problems": problems, "commands": commands})
        return FAILED if problems else 0
    for identifier, values in directory.problems:
        click.echo(f"{_('warning')}: {_(identifier, **values)}", err=True)
    if commands:
        click.echo(_("only root can create folders for other users; ask an administrator to run:"), err=True)
        for line in commands:
            click.echo(f"  {line}")
    if directory.problems:
        return FAILED
    click.echo(_("the board is ready; add `shared: {path}` to hackathon.yaml", path=path))
    return 0


def solve(name: str, kind: str | None, text: str | None, shared: Path | None, as_json: bool) -> None:
    """Mark a post or a request (`kind` ask; None: either) as solved, with an optional text, and print the result."""
    from hackathon.board.board import find_post, reply

    board = board_at(shared, quiet=True)
    words = text_of(text) if text is not None else ""
    said(reply(board, find_post(board, name, kind), "solve", words).entry.id, N_("closed as solved: #{name}"), as_json)


def said(identifier: str, key: str, as_json: bool) -> None:
    """Print the id of a new entry."""
    from hackathon.board.board import SHORT

    if as_json:
        echo_json({"id": identifier, "short": identifier[-SHORT:]})
    else:
        click.echo(_(key, name=identifier[-SHORT:]))


for _sub_verb in (list_posts, show_post, write_post, answer_post, solve_post, search_posts, make_board):
    command.add_command(_sub_verb)  # type: ignore[attr-defined]
