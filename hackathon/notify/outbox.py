"""What is still to be told, and what was told: from run directories and the board, across restarts and relays.

A job writes nothing for this: compute nodes reach no chat, and the end of a run stands in its directory. The outbox is
what those directories and the board say, less what `sent/` remembers. A claim is made before a message goes out, so
that two relays do not send it twice; one that was left behind by a relay that died is taken over.
"""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.text.files import read_json, write_json
from hackathon.text.json_fields import finite, mapping_of
from hackathon.text.uptime import age, stamp

if TYPE_CHECKING:
    from hackathon.board.board import Board, Post
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.states import RunStatus

KINDS = ("run-ended", "run-failed", "asked", "solved")
OLDEST = 7 * 86400.0
"""Seconds after which nobody wants to hear of it any more."""
FORGOTTEN = 3 * OLDEST
"""Seconds after which a record of what was sent goes away; what it is about is too old to be sent again."""
ABANDONED = 600.0
"""Seconds after which a claim counts as left behind by a relay that died."""
UNTRUSTED = 3600.0
"""Seconds that are told of when the clock is before the time from which on there is something to tell: it was set."""
UNSETTLED = 60.0
"""Seconds that a failed run is given until the scheduler says why it failed."""


@dataclass(frozen=True)
class Notice:
    """One thing to tell."""

    key: str
    """What it is about; told once."""
    kind: str
    """One of KINDS."""
    time: float
    run: "RunDirectory | None" = None
    status: "RunStatus | None" = None
    post: "Post | None" = None


class Sent:
    """Memory of what was sent, and until when to wait: small files in one folder of the user's."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "sent"
        self._pause = folder / "pause.json"

    def _path(self, key: str) -> Path:
        return self._folder / hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:32]

    def has(self, key: str) -> bool:
        """Return whether it was sent."""
        return self._path(key).exists()

    def claim(self, key: str, now: float) -> bool:
        """Return whether this relay, and no other, is to send it now."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._path(key).with_suffix(".claim")
        with contextlib.suppress(FileNotFoundError):
            owner = mapping_of(read_json(path))
            if age(path.stat().st_mtime, owner, None if owner else now) > ABANDONED:
                aside = path.with_suffix(f".{os.getpid()}.{os.urandom(3).hex()}")
                path.rename(aside)  # only one of several relays can do this
                aside.unlink()
        try:
            claim = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return False
        try:
            os.write(claim, json.dumps(stamp()).encode())
        finally:
            os.close(claim)
        if self.has(key):  # another one sent it between the look and the claim
            self.release(key)
            return False
        return True

    def done(self, key: str) -> None:
        """Remember that a claimed one was sent, or is never to be sent."""
        path = self._path(key)
        path.with_suffix(".claim").rename(path)

    def release(self, key: str) -> None:
        """Give a claim back: it was not sent."""
        self._path(key).with_suffix(".claim").unlink(missing_ok=True)

    def paused(self, now: float) -> tuple[float, int]:
        """Return until when nothing is sent (seconds since 1970) and how many tries in a row have failed.

        A clock that was set back since makes no pause longer than it was to be.
        """
        value = mapping_of(read_json(self._pause))
        until, wait, failures = finite(value.get("until")) or 0.0, finite(value.get("wait")), value.get("failures")
        if wait is not None and until > now + wait + 1.0:
            until = 0.0
        return until, failures if isinstance(failures, int) else 0

    def pause(self, until: float, failures: int, now: float) -> None:
        """Remember to wait, for this relay and those that are started later; no failures: go on."""
        if not failures:
            self._pause.unlink(missing_ok=True)
            return
        self._pause.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        value: dict[str, Any] = {"until": until, "failures": failures, "wait": until - now}
        write_json(self._pause, value)

    def forget(self, now: float) -> None:
        """Delete records that are too old to matter."""
        with contextlib.suppress(FileNotFoundError):
            for path in self._folder.iterdir():
                with contextlib.suppress(FileNotFoundError):
                    if now - path.stat().st_mtime > FORGOTTEN:
                        path.unlink()


def gather(
    sent: Sent, runs: Iterable["RunDirectory"], board: "Board | None", *, since: float, now: float | None = None
) -> list[Notice]:
    """Return what happened from `since` (seconds since 1970) on and was not sent, the oldest first.

    The scheduler is asked as `status` does: once about all runs that their directories leave open.
    """
    moment = time.time() if now is None else now
    notices = [*_of_runs(sent, list(runs), moment), *(_of_board(sent, board) if board else [])]
    begin = max(since if since <= moment else moment - UNTRUSTED, moment - OLDEST)
    return sorted((notice for notice in notices if notice.time >= begin), key=lambda notice: (notice.time, notice.key))


def _of_runs(sent: Sent, runs: Sequence["RunDirectory"], now: float) -> list[Notice]:
    from hackathon.runs.states import ENDED, SUCCEEDED
    from hackathon.runs.status import status

    runs = [run for run in runs if not sent.has(f"run:{run.id}")]
    notices = []
    for run, state in zip(runs, status(runs), strict=True):
        if state.state not in ENDED:
            continue
        ended = state.t_ended if state.t_ended is not None else run.created
        if state.state != SUCCEEDED and not (state.settled or state.sealed) and now - ended < UNSETTLED:
            continue
        kind = "run-ended" if state.state == SUCCEEDED else "run-failed"
        notices.append(Notice(f"run:{run.id}", kind, ended, run=run, status=state))
    return notices


def _of_board(sent: Sent, board: "Board") -> list[Notice]:
    notices = [Notice(f"asked:{post.id}", "asked", post.time, post=post) for post in board.of("ask")]
    notices += [
        Notice(f"solved:{post.id}", "solved", post.solved.time, post=post) for post in board.posts if post.solved
    ]
    return [notice for notice in notices if not sent.has(notice.key)]
