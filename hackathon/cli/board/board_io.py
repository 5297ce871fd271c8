"""Shared parts of the commands of the board: find the board, read texts, print posts."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import LocalizedGroup
from hackathon.cli.show import printable
from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, NP_, Message, _

if TYPE_CHECKING:
    from hackathon.board.board import Board, Post
    from hackathon.board.entry import Attached
    from hackathon.board.people import People
    from hackathon.diagnosis.examine import Diagnosis

_STEP_TEXTS = {
    "answer": N_("{name} answered"),
    "take": N_("{name} took the request"),
    "solve": N_("{name} closed it as solved"),
}

_STATE_TEXTS = {
    "open": NP_("board", "open"),
    "answered": N_("answered"),
    "taken": N_("taken"),
    "solved": N_("solved"),
}

_HEAD_TEXTS = {
    "post": N_("post"),
    "age": N_("age"),
    "by": N_("author"),
    "part": N_("part"),
    "state": N_("state"),
    "title": NP_("board", "title"),
}

Function = TypeVar("Function", bound=Callable[..., Any])
SHOWN_PASSED = 5
READ_AT_MOST = 1_000_000


class DefaultGroup(LocalizedGroup):
    """A noun with an optional first sub-verb: `hackathon board` lists, `hackathon ask TEXT` sends."""

    default = "list"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = 0
        while at < len(args) and args[at].startswith("--lang"):
            at += 1 if "=" in args[at] else 2
        first = args[at] if at < len(args) else None
        completing = ctx.resilient_parsing and first is None
        if not completing and first not in (*self.commands, *ctx.help_option_names):
            self._refuse_slip(ctx, args[at:])
            args = [*args[:at], self.default, *args[at:]]
        return super().parse_args(ctx, args)

    def _refuse_slip(self, ctx: click.Context, words: list[str]) -> None:
        """Refuse a misspelt sub-verb, which would otherwise be read as a text: `ask lits`."""
        import difflib

        near = difflib.get_close_matches(words[0], self.commands, 1, 0.75) if words else []
        if near:
            text = _("There is no command {name!r}.", name=words[0])
            raise click.UsageError(f"{text} {_('Did you mean {name!r}?', name=near[0])}", ctx)


def shared_options(function: Function) -> Function:
    """Add --shared and --json."""
    kind = click.Path(file_okay=False, path_type=Path)
    function = click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))(function)
    return click.option(
        "--shared", type=kind, help=_("The event's shared directory, instead of the one in hackathon.yaml.")
    )(function)


def board_at(shared: Path | None, *, quiet: bool) -> "Board":
    """Return the event's board; problems of its directory or files are printed to stderr."""
    from hackathon.board.board import open_board

    board = open_board(shared)
    if quiet:
        return board
    for identifier, values in board.place.problems:
        click.echo(f"{_('warning')}: {printable(_(identifier, **values))}", err=True)
    if board.passed:
        count = sum(refusal.count for refusal in board.passed)
        click.echo(f"{_('warning')}: " + _("{count} {count:file|files} on the board ignored:", count=count), err=True)
        for refusal in board.passed[:SHOWN_PASSED]:
            line = f"  {refusal.name}  {board.people.account(refusal.uid)}: {refusal.reason}"
            click.echo(printable(line), err=True)
        if len(board.passed) > SHOWN_PASSED:
            click.echo("  …", err=True)
    return board


def echo_board(value: dict[str, Any], board: "Board") -> None:
    """Print JSON with the skipped files of a board and the problems of its directory."""
    passed = [
        {"file": entry.name, "user": board.people.account(entry.uid), "why": entry.why}
        | ({"count": entry.count} if entry.count > 1 else {})
        for entry in board.passed
    ]
    problems = [{"problem": identifier.partition(".")[2], **values} for identifier, values in board.place.problems]
    echo_json({**value, "passed_over": passed, "problems": problems})


def text_of(
    text: str | None,
    template: str = "",
    missing: str = Message(
        "board.no_text", "the text is empty", hint="pass it as an argument, or pass `-` to read standard input"
    ),
) -> str:
    """Return a text: the argument, from stdin for `-`, else from the user's editor on a terminal.

    Raises RequestError (`missing`) if there is none and no terminal to ask on.
    """
    if text == "-":
        raw = sys.stdin.buffer.read(READ_AT_MOST + 1)
        return raw.decode("utf-8", "replace")
    if text is not None:
        return text
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise RequestError(missing)
    return _edited(template)


def _edited(template: str) -> str:
    """Return the text from $VISUAL, $EDITOR or vi, without the template's lines that begin with `#`."""
    import shlex
    import subprocess
    import tempfile

    words = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.txt"
        path.write_text(template, encoding="utf-8")
        try:
            subprocess.run([*words, str(path)], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise RequestError(
                "board.no_editor", "editor {editor} failed", hint="set EDITOR to another editor", editor=words[0]
            ) from error
        text = path.read_text(encoding="utf-8", errors="replace")
    return "\n".join(line for line in text.splitlines() if not line.startswith("# "))


def solved_before(diagnosis: "Diagnosis", board: "Board | None") -> "list[Post]":
    """Return solved posts like a diagnosis's cause, or like the informative lines of a failure without a rule."""
    if board is None:
        return []
    from hackathon.board.board import similar
    from hackathon.diagnosis.findings import Finding

    causes = [finding for finding in diagnosis.findings[:1] if finding.level != "secondary"]
    findings = [*causes, *(Finding("", "", "", "", line, "") for line in diagnosis.unknown)]
    posts = {post.id: post for finding in findings for post in similar(finding, board)}
    return list(posts.values())


def board_if_any() -> "Board | None":
    """Return the event's board; None when there is none or it cannot be read: a diagnosis does not depend on it."""
    from hackathon.board.directory import find_shared
    from hackathon.text.errors import HackathonError

    try:
        shared = find_shared(None, os.environ, Path.cwd())  # most have none, and what reads boards is not loaded then
        from hackathon.board.board import open_board

        return open_board(shared)
    except (HackathonError, OSError):
        return None


def echo_similar(posts: "Sequence[Post]") -> None:
    """Print solved posts that may be about the same failure."""
    if posts:
        click.echo(_("similar problems, solved:"))
    for post in posts:
        click.echo(printable(f"  {_('{title} (`hackathon board show {name!q}`)', title=post.title, name=post.short)}"))
        if post.solved and post.solved.text:
            click.echo(printable(f"    → {post.solved.text.splitlines()[0]}"))


def echo_posts(posts: "Sequence[Post]", people: "People") -> None:
    """Print posts as a table, newest first."""
    from hackathon.cli.show import echo_table

    heads = ("post", "age", "by", "part", "state", "title")
    echo_table(
        [_(_HEAD_TEXTS[head]) for head in heads],
        [
            [
                post.short,
                _age(post.time),
                people.name(post.user),
                post.part or "–",
                state_text(post, people),
                post.title[:80],
            ]
            for post in reversed(posts)
        ],
    )


def state_text(post: "Post", people: "People") -> str:
    """Return a post's state in words, with the tutor's name for a request that is taken."""
    if post.state == "taken" and post.taken:
        return _("taken by {name}", name=people.name(post.taken.user))
    return _(_STATE_TEXTS[post.state])


def echo_post(post: "Post", people: "People") -> None:
    """Print a post with its finding and its answers."""
    click.echo(click.style(printable(post.title), bold=True) + f"  [{printable(state_text(post, people))}]")
    about = [people.shown(post.user), _ago(post.time), f"#{post.short}"]
    about += [_("part {part}", part=post.part)] if post.part else []
    about += [_("rule {rule}", rule=post.rule)] if post.rule else []
    click.echo(printable(" · ".join(about)))
    if post.future:
        click.echo(_("(its date was later than the clock of the file system)"))
    if post.run:
        key = N_("run (guessed): {run}") if post.guessed else N_("run: {run}")
        click.echo(printable(_(key, run=post.folder or post.run)))
    if post.finding:
        _echo_finding(post.finding.spoken())
    if post.text:
        click.echo()
        _echo_text(post.text)
    steps = [*post.answers, *(step for step in (post.taken, post.solved) if step)]
    for step in sorted(steps, key=lambda entry: (entry.time, entry.id)):
        title = _(_STEP_TEXTS[step.kind], name=people.shown(step.user))
        click.echo()
        click.echo(printable(f"── {title} · {_ago(step.time)} · #{step.id[-8:]}"))
        if step.text:
            _echo_text(step.text)


def _echo_finding(finding: "Attached") -> None:
    click.echo(printable(_("diagnosis: {text}", text=finding.message)))
    if finding.file:
        position = finding.file if finding.line is None else f"{finding.file}:{finding.line}"
        rank = _("rank {rank}", rank=finding.rank) if finding.rank is not None else ""
        about = ", ".join(detail for detail in (rank, finding.host) if detail)
        click.echo(
            printable(
                f"  {position}" + (f" ({about})" if about else "") + (f": {finding.text}" if finding.text else "")
            )
        )


def _echo_text(text: str) -> None:
    for line in text.split("\n"):
        click.echo(printable(line.expandtabs(4)))


def _age(moment: float) -> str:
    from hackathon.text.units import format_age

    return format_age(max(0.0, time.time() - moment))


def _ago(moment: float) -> str:
    return _("{age} ago", age=_age(moment))
