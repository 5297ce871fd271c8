"""Which notices are still to be sent, and which were sent, across restarts and relays.

Jobs write nothing for this, because compute nodes cannot reach a chat; the end of a run is recorded in its directory.
The outbox is the events in those directories and on the board, minus the records in `sent/`. A relay claims a notice
before it sends it, so that two relays do not send it twice. A claim left behind by a relay that died is taken over.
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
from hackathon.text.json_fields import mapping_of
from hackathon.text.numbers import finite
from hackathon.text.uptime import age, stamp

if TYPE_CHECKING:
    from hackathon.board.board import Board, Post
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.states import RunStatus

KINDS = ("run-ended", "run-failed", "asked", "solved")
OLDEST = 7 * 86400.0
"""Seconds after which a notice is too old to be of interest."""
FORGOTTEN = 3 * OLDEST
"""Seconds after which a record of a sent notice is deleted; the notice itself is too old to be sent again by then."""
ABANDONED = 600.0
"""Seconds after which a claim counts as left behind by a relay that died."""
UNTRUSTED = 3600.0
"""Seconds to look back when the clock is earlier than `since`, because it was set back."""
UNSETTLED = 60.0
"""Seconds to wait after a run failed until the scheduler reports why."""


@dataclass(frozen=True)
class Notice:
    """One event to report."""

    key: str
    """Identifies the event, so that it is reported once."""
    kind: str
    """One of KINDS."""
    time: float
    run: "RunDirectory | None" = None
    status: "RunStatus | None" = None
    post: "Post | None" = None


class Sent:
    """Records which notices were sent, and until when to wait: small files in one folder of the user's."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "sent"
        self._pause = folder / "pause.json"

    def _path(self, key: str) -> Path:
        return self._folder / hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:32]

    def has(self, key: str) -> bool:
        """Return whether the notice was sent."""
        return self._path(key).exists()

    def claim(self, key: str, now: float) -> bool:
        """Return whether this relay, and no other, sends the notice now."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._path(key).with_suffix(".claim")
        with contextlib.suppress(FileNotFoundError):
            owner = mapping_of(read_json(path))
            if age(path.stat().st_mtime, owner, None if owner else now) > ABANDONED:
                aside = path.with_suffix(f".{os.getpid()}.{os.urandom(3).hex()}")
                path.rename(aside)  # only one of several relays succeeds in this
                aside.unlink()
        try:
            claim = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return False
        try:
            os.write(claim, json.dumps(stamp()).encode())
        finally:
            os.close(claim)
        if self.has(key):  # another relay sent it between the check and the claim
            self.release(key)
            return False
        return True

    def done(self, key: str) -> None:
        """Record that a claimed notice was sent, or must never be sent."""
        path = self._path(key)
        path.with_suffix(".claim").rename(path)

    def release(self, key: str) -> None:
        """Give a claim back, because the notice was not sent."""
        self._path(key).with_suffix(".claim").unlink(missing_ok=True)

    def paused(self, now: float) -> tuple[float, int]:
        """Return until when nothing is sent (seconds since 1970) and how many tries in a row have failed."""
        value = mapping_of(read_json(self._pause))
        until, wait, failures = finite(value.get("until")) or 0.0, finite(value.get("wait")), value.get("failures")
        # the clock was set back, which must not make the pause longer
        if wait is not None and until > now + wait + 1.0:
            until = 0.0
        return until, failures if isinstance(failures, int) else 0

    def pause(self, until: float, failures: int, now: float) -> None:
        """Record a pause, for this relay and later ones; zero failures end it."""
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
    """Return the events from `since` (seconds since 1970) on that were not sent, the oldest first.

    The scheduler is asked once, about all runs whose state their directories leave open.
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
