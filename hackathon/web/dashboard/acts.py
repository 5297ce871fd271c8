"""Actions of the dashboard's forms, on the board and with runs, as the account that runs the server.

The commands' own rules decide who may do what: `board.reply` checks the owners of files; `hackathon cancel` and
`hackathon rerun` run unchanged, and only for the account's own runs. A form never contains an account, so nobody can
write in another person's name, and no other account's program runs as a tutor.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hackathon.board.board import SHORT, Board, Post, attach_run, reply
from hackathon.board.entry import LONGEST, Attached, clean_line
from hackathon.board.post import post as write_post
from hackathon.index.catalog import Catalog
from hackathon.index.record import RunEntry
from hackathon.runs.directory import RunDirectory
from hackathon.text.errors import HackathonError, RequestError, UnavailableError
from hackathon.text.messages import N_, _, language
from hackathon.text.paths import child_environment
from hackathon.text.printable import without_escapes
from hackathon.web.dashboard.forms import FormRefused
from hackathon.web.page import sanitize as clean
from hackathon.web.views.board import anchor_of, board_now

_PLEASE_TEXTS = {
    "cancel": N_("Please cancel the run {run}: hackathon cancel {run!q}"),
    "rerun": N_("Please run {run} again: hackathon rerun {run!q}"),
}

REPLIES = ("take", "answer", "solve")
OWN = ("cancel", "rerun")
"""Actions on the account's own runs, after a confirmation."""
ACTS = (*REPLIES, "post", "tell", "attach", *OWN)
FIELDS = frozenset({"token", "back", "act", "post", "run", "text", "sure", "wanted"})
SECONDS = 180.0
"""Seconds that a command about a run may take, because it asks a scheduler."""
_LIKE_THIS = "import sys; from hackathon.cli.main import main; sys.argv[0] = "
"""The beginning of a command in a separate process, which inherits this process's program name."""
SAID = 4000
"""Characters of a command's output that are displayed."""


@dataclass(frozen=True)
class FormWish:
    """The request in a form."""

    act: str
    """One of ACTS."""
    back: str
    """The address of the form's page."""
    post: str = ""
    """A post's id."""
    run: str = ""
    """A run's key."""
    text: str = ""
    sure: bool = False
    """Whether the user confirmed the question."""
    wanted: str = ""
    """The action that a team is asked to take with its run: cancel or rerun."""


@dataclass(frozen=True)
class FormDone:
    """The outcome of a form."""

    said: str
    """The message id without its first part; the next page displays it."""
    anchor: str = ""
    """The anchor on that page; empty: its top."""


def wish_of(pairs: Sequence[tuple[str, str]]) -> tuple[str, FormWish]:
    """Return the token and the request in a form's fields.

    Raises FormRefused for anything that no dashboard form sends.
    """
    fields = dict(pairs)
    if len(fields) != len(pairs) or not FIELDS.issuperset(fields) or fields.get("act") not in ACTS:
        raise FormRefused(400, "broken")
    if len(fields.get("text", "")) > LONGEST:
        raise FormRefused(413, "large")
    texts = {name: fields.get(name, "") for name in ("back", "post", "run", "wanted")}
    text = fields.get("text", "").replace("\r\n", "\n").strip()
    return fields.get("token", ""), FormWish(fields["act"], text=text, sure=fields.get("sure") == "yes", **texts)


def perform(wish: FormWish, source: Catalog) -> FormDone:
    """Carry out a form's request, in the current language. Raises HackathonError; FormRefused for a missing object."""
    if wish.act in REPLIES:
        return _reply(wish, board_now(source))
    if wish.act == "post":
        return _post(wish, source)
    run = run_of(wish, source)
    if wish.act == "attach":
        return _attach(wish, run, source)
    if wish.act == "tell":
        return _tell(wish, run, source)
    if not own(run):
        raise RequestError("act.not_own", "{run} belongs to another account", hint="ask the team to do it", run=run.id)
    _command(run, "cancel" if wish.act == "cancel" else "rerun")
    return FormDone(f"said_{wish.act}")


def run_of(wish: FormWish, source: Catalog) -> RunEntry:
    """Return the run of a form. Raises FormRefused if it is not in the index."""
    run = source.find(wish.run) if wish.run else None
    if run is None:
        raise FormRefused(404, "no_run")
    return run


def own(run: RunEntry) -> bool:
    """Return whether the account of the server owns a run, by the present owner of its directory."""
    return RunDirectory(Path(run.project) / "runs" / run.id).owned()


def _post_of(wish: FormWish, board: Board) -> Post:
    post = next((post for post in board.posts if post.id == wish.post), None)
    if post is None:
        raise FormRefused(404, "no_post")
    return post


def _attach(wish: FormWish, run: RunEntry, source: Catalog) -> FormDone:
    """Say which run a request is about, unless it is about it already."""
    board = board_now(source)
    post = _post_of(wish, board)
    folder = Path(run.project) / "runs" / run.id
    if post.guessed or (post.run, post.folder) != (clean_line(run.id), clean_line(str(folder))):
        attach_run(board, post, run.id, folder, attached(run))
    return FormDone("said_attach", anchor_of(post.short))


def _reply(wish: FormWish, board: Board) -> FormDone:
    post = _post_of(wish, board)
    anchor, key = anchor_of(post.short), f"said_{wish.act}"
    before = {"take": post.taken, "solve": post.solved}.get(wish.act)
    if before is not None:
        key = f"said_{wish.act}_before" if before.uid != os.geteuid() else key
        if not wish.text:  # two identical actions at the same moment count as one; a typed text is kept
            return FormDone(key, anchor)
    if wish.act == "answer" and not wish.text:
        raise RequestError(
            "board.no_text", "the text is empty", hint="pass it as an argument, or pass `-` to read standard input"
        )
    reply(board, post, wish.act, wish.text)
    return FormDone(key, anchor)


def _post(wish: FormWish, source: Catalog) -> FormDone:
    board = board_now(source)
    run = run_of(wish, source) if wish.run else None
    written = write_post(
        board,
        wish.text,
        run=run.id if run is not None else "",
        folder=Path(run.project) / "runs" / run.id if run is not None else None,
        finding=attached(run) if run is not None else None,
    )
    return FormDone("said_post", anchor_of(written.entry.id[-SHORT:]))


def _tell(wish: FormWish, run: RunEntry, source: Catalog) -> FormDone:
    """Ask a team to act on its run: in an answer to its request about it, else in a post."""
    if wish.wanted not in OWN:
        raise FormRefused(400, "broken")
    board = board_now(source)
    words = "\n\n".join(filter(None, [_(_PLEASE_TEXTS[wish.wanted], run=clean_line(run.id)), wish.text]))
    about = [post for post in board.of("ask") if post.run == run.id and not post.solved]
    if about:
        reply(board, about[-1], "answer", words)
        return FormDone("said_tell", anchor_of(about[-1].short))
    folder = Path(run.project) / "runs" / run.id
    written = write_post(board, words, run=run.id, folder=folder, finding=attached(run))
    return FormDone("said_tell", anchor_of(written.entry.id[-SHORT:]))


def attached(run: RunEntry) -> Attached | None:
    """Return a run's cause in the form that a post carries; None for a run without a diagnosis."""
    diagnosis = run.told_in(language())
    if diagnosis is None:
        return None
    file, __, number = diagnosis.place.rpartition(":")
    return Attached(
        rule=clean_line(run.rule),
        part=clean_line(run.part),
        level="root",
        message=clean_line(diagnosis.message),
        advice=diagnosis.advice[:LONGEST],
        file=clean_line(file if number.isdecimal() else diagnosis.place),
        line=int(number) if number.isdecimal() and len(number) < 10 else None,
        text=clean_line(diagnosis.evidence),
        rank=run.rank,
        host=clean_line(run.host),
        said={
            code: (clean_line(translation.message), translation.advice[:LONGEST])
            for code, translation in (run.told or {}).items()
        },
    )


def _command(run: RunEntry, verb: str) -> None:
    """Run a command about one of the account's own runs, in its project's folder.

    Raises HackathonError with the command's output.
    """
    environment = {**child_environment(), "HACKATHON_LANG": language(), "NO_COLOR": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", f"{_LIKE_THIS}{sys.argv[0]!r}; main()", verb, "--", run.id],
            cwd=run.project, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise UnavailableError(
            "act.no_answer",
            "the command about {run} did not finish in time; it is not known whether it worked",
            run=run.id,
        ) from None
    except OSError as error:
        raise HackathonError("act.command_failed", "{reason}", run=run.id, reason=error.strerror or error) from None
    if done.returncode:
        output = without_escapes((done.stderr or done.stdout).decode("utf-8", "replace")).strip()
        raise HackathonError("act.command_failed", "{reason}", run=run.id, reason=clean.block(output[-SAID:], SAID))
