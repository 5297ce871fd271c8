"""`hackathon board`: problems and their solutions, shared by all teams of an event."""

from pathlib import Path

import click

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
from hackathon.text.messages import message

MODES = ("sticky", "folders")


@named("board", help=message("help.board_help"), cls=DefaultGroup)
def command() -> None:
    pass


@named("list", help=message("help.board_list_help"), short=message("help.board_list_short"))
@click.option("--part", metavar="PART", default="", help=message("help.option_part"))
@click.option("--rule", metavar="RULE", default="", help=message("help.option_rule"))
@click.option("--unsolved", is_flag=True, help=message("help.option_unsolved"))
@shared_options
def list_posts(part: str, rule: str, unsolved: bool, shared: Path | None, as_json: bool) -> None:
    _listed((), part, rule, unsolved, shared, as_json)


@named("search", help=message("help.board_search_help"), short=message("help.board_search_short"))
@click.argument("words", nargs=-1, required=True, metavar="WORD...")
@click.option("--part", metavar="PART", default="", help=message("help.option_part"))
@click.option("--rule", metavar="RULE", default="", help=message("help.option_rule"))
@click.option("--unsolved", is_flag=True, help=message("help.option_unsolved"))
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
        click.echo(message("board.none_found" if words or part or rule or unsolved else "board.none"), err=True)


@named("show", help=message("help.board_show_help"), short=message("help.board_show_short"))
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


@named("post", help=message("help.board_post_help"), short=message("help.board_post_short"))
@click.argument("text", required=False, metavar="[TEXT|-]")
@click.option("--run", "run", metavar="RUN", help=message("help.option_post_run"))
@click.option("--part", metavar="PART", default="", help=message("help.option_part_of"))
@click.option("--rule", metavar="RULE", default="", help=message("help.option_rule_of"))
@shared_options
def write_post(text: str | None, run: str | None, part: str, rule: str, shared: Path | None, as_json: bool) -> None:
    from typing import get_args

    from hackathon.board.post import finding_of, post
    from hackathon.config.rule import Part

    if part and part not in get_args(Part):
        raise RequestError("board.no_such_part", part=part, parts=" ".join(get_args(Part)))
    board = board_at(shared, quiet=True)
    finding = directory = None
    if run is not None:
        from hackathon.runs.directory import find_run

        directory = find_run(run, runs_folder())
        finding = finding_of(directory)
        if finding is None:
            click.echo(message("board.nothing_diagnosed", run=directory.id), err=True)
    words = text if text is None and finding is not None else text_of(text, message("board.template"))
    written = post(
        board,
        words or "",
        part=part,
        rule=rule,
        run=directory.id if directory else "",
        folder=directory.path if directory else None,
        finding=finding,
    )
    said(written.entry.id, "board.posted", as_json)


@named("answer", help=message("help.board_answer_help"), short=message("help.board_answer_short"))
@click.argument("post", metavar="POST")
@click.argument("text", required=False, metavar="[TEXT|-]")
@shared_options
def answer_post(post: str, text: str | None, shared: Path | None, as_json: bool) -> None:
    from hackathon.board.board import find_post, reply

    board = board_at(shared, quiet=True)
    entry = find_post(board, post)
    words = text_of(text, message("board.template_answer"))
    if not words.strip():
        raise RequestError("board.no_text")
    said(reply(board, entry, "answer", words).entry.id, "board.answered", as_json)


@named("solve", help=message("help.board_solve_help"), short=message("help.board_solve_short"))
@click.argument("post", metavar="POST")
@click.argument("text", required=False, metavar="[TEXT|-]")
@shared_options
def solve_post(post: str, text: str | None, shared: Path | None, as_json: bool) -> None:
    solve(post, None, text, shared, as_json)


@named("init", help=message("help.board_init_help"), short=message("help.board_init_short"))
@click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path), metavar="[DIR]")
@click.option("--mode", type=click.Choice(MODES), default="sticky", help=message("help.option_board_mode"))
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
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
        click.echo(f"{message('cli.warning')}: {message(identifier, **values)}", err=True)
    if commands:
        click.echo(message("board.for_root"), err=True)
        for line in commands:
            click.echo(f"  {line}")
    if directory.problems:
        return FAILED
    click.echo(message("board.made", path=path))
    return 0


def solve(name: str, kind: str | None, text: str | None, shared: Path | None, as_json: bool) -> None:
    """Mark a post or a request (`kind` ask; None: either) as solved, with an optional text, and print the result."""
    from hackathon.board.board import find_post, reply

    board = board_at(shared, quiet=True)
    words = text_of(text) if text is not None else ""
    said(reply(board, find_post(board, name, kind), "solve", words).entry.id, "board.solved", as_json)


def said(identifier: str, key: str, as_json: bool) -> None:
    """Print the id of a new entry."""
    from hackathon.board.board import SHORT

    if as_json:
        echo_json({"id": identifier, "short": identifier[-SHORT:]})
    else:
        click.echo(message(key, name=identifier[-SHORT:]))


for _sub_verb in (list_posts, show_post, write_post, answer_post, solve_post, search_posts, make_board):
    command.add_command(_sub_verb)  # type: ignore[attr-defined]
