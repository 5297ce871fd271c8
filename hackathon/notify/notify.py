"""Send notifications to a chat when a run ends or fails, somebody asks for help, or a problem is solved.

Text from logs and from other people is cleaned of secrets and mentions; see `webhook.neutral`.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hackathon.board.entry import Attached, clean, clean_line
from hackathon.board.post import finding_of
from hackathon.notify import webhook
from hackathon.notify.outbox import Notice, Sent, gather
from hackathon.notify.webhook import DEAD, LATER, SENT, Delivery
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.messages import _, language

if TYPE_CHECKING:
    from hackathon.board.board import Board
    from hackathon.board.people import People
    from hackathon.runs.directory import RunDirectory

APART = 1.1
"""Seconds between two messages."""
FEW = 5
"""Messages of one pass; more notices than this go out as one list."""
LISTED = 20
"""Lines of such a list."""
BACK_OFF, LONGEST_BACK_OFF = 5.0, 600.0
"""Seconds to wait after the first failure, doubled after each further one, and the longest wait."""
LONG = 400
"""Characters of a text that a person wrote."""


@dataclass
class Passed:
    """The outcome of one pass of a relay."""

    sent: list[str] = field(default_factory=list)
    """Keys of the notices that were sent."""
    refused: list[str] = field(default_factory=list)
    """Keys of the notices that the server will never accept."""
    waiting: int = 0
    """Number of notices still to be sent."""
    what: str = ""
    """Why they wait."""
    until: float = 0.0
    """When to try again, in seconds since 1970."""

    def to_json(self) -> dict[str, Any]:
        """Return the pass as JSON values."""
        return {"sent": self.sent, "refused": self.refused, "waiting": self.waiting, "what": self.what or None}


def text_of(notice: Notice, people: "People | None" = None, pages: str = "") -> str:
    """Return the text of a message about a notice, in the current language.

    `pages` is the dashboard's address, for a link. The link contains only the random end of a run's or a post's id, so
    it reveals no folder.
    """
    text = _run_text(notice, people) if notice.run is not None else _post_text(notice, people)
    return f"{text}\n{link_of(notice, pages)}" if pages else text


def link_of(notice: Notice, pages: str) -> str:
    """Return the address of the page that a notice is about."""
    from urllib.parse import quote

    base = pages.rstrip("/")
    if notice.run is not None:
        return f"{base}/run/{quote(notice.run.id.rpartition('-')[2], safe='')}"
    assert notice.post is not None
    return f"{base}/{language()}/board#post-{quote(notice.post.short, safe='')}"


def line_of(notice: Notice, people: "People | None" = None) -> str:
    """Return a notice in one line."""
    return text_of(notice, people).split("\n", 1)[0]


def _said(text: str) -> str:
    """Return a text by other people, made safe to send."""
    from hackathon.diagnosis.scrub import scrub

    return webhook.neutral(scrub(clean(text)))


def _who(run: "RunDirectory", people: "People | None") -> str:
    """Return the name and the team of a run's owner."""
    from hackathon.board.people import People

    event_people = people or People(None)
    try:
        account = event_people.account(run.path.stat().st_uid)
    except OSError:
        account = "?"
    # not scrubbed: the account of a person without a name is what the message is to tell
    person = webhook.neutral(event_people.shown(account))
    team = "" if event_people.team(account) else _said(clean_line(run.known().team))
    return ", ".join(part for part in (person, team) if part)


def _run_text(notice: Notice, people: "People | None") -> str:
    run, state = notice.run, notice.status
    assert run is not None
    assert state is not None
    if notice.kind == "run-ended":
        return _("✓ {who}: run {run} has finished", who=_who(run, people), run=_said(run.id))
    try:
        finding = finding_of(run, state)
    except (HackathonError, OSError):
        finding = None  # a notice without a cause is still useful
    if finding is None or not finding.part:
        why = _said(state.explanation)
        about = f"{state.state}, {why}" if why else state.state
        lines = _finding_lines(finding) if finding else []
        first = _("✗ {who}: run {run} failed: {state}", who=_who(run, people), run=_said(run.id), state=about)
        return "\n".join([first, *lines])
    first = _(
        "✗ {who}: run {run} failed ({state}): [{part}] {text}",
        who=_who(run, people),
        run=_said(run.id),
        state=state.state,
        part=finding.part,
        text=_said(finding.message),
    )
    return "\n".join([first, *_finding_lines(finding)])


def _finding_lines(finding: Attached) -> list[str]:
    lines = []
    if finding.file:
        location = finding.file if finding.line is None else f"{finding.file}:{finding.line}"
        rank = _("rank {rank}", rank=finding.rank) if finding.rank is not None else ""
        lines.append(_said(" ".join(part for part in (location, rank, finding.host) if part)))
    if finding.text:
        from hackathon.diagnosis.scrub import scrub

        lines.append(webhook.code(scrub(finding.text)))
    if finding.advice:
        lines.append(_said(finding.advice.strip()[:LONG]))
    return lines


def _post_text(notice: Notice, people: "People | None") -> str:
    post = notice.post
    assert post is not None

    def name(account: str) -> str:
        return webhook.neutral(people.shown(account) if people else account)

    title = _said(clean_line(post.title))
    part = f"[{webhook.neutral(post.part)}] " if post.part else ""
    if notice.kind == "solved":
        assert post.solved is not None
        lines = [
            _(
                "✓ {title}: marked as solved by {name} (`hackathon board show {post!q}`)",
                title=f"{part}{title}",
                name=name(post.solved.user),
                post=post.short,
            )
        ]
        text = post.solved.text or (post.answers[-1].text if post.answers else "")
        return "\n".join([*lines, *([_said(text[:LONG])] if text.strip() else [])])
    lines = [
        _(
            "? {name} asks for help: {title} (`hackathon ask take {post!q}`)",
            name=name(post.user),
            title=f"{part}{title}",
            post=post.short,
        )
    ]
    if post.text.strip():
        lines.append(_said(post.text.strip()[:LONG]))
    if post.finding:
        finding = post.finding.spoken()
        lines += [] if post.title in (finding.message, post.finding.message) else [_said(finding.message)]
        lines += _finding_lines(finding)
    if post.run:
        lines.append(_("run: {run}", run=_said(post.folder or post.run)))
    return "\n".join(lines)


def messages_of(
    notices: Sequence[Notice], people: "People | None" = None, pages: str = ""
) -> Iterator[tuple[list[Notice], str]]:
    """Yield the messages of one pass: one for each notice if there are few, else one list of all of them."""
    if len(notices) <= FEW:
        yield from (([notice], text_of(notice, people, pages)) for notice in notices)
        return
    lines = [_("{count} events at once:", count=len(notices))]
    # the line that counts the remaining notices must fit, because the end of a longer message is truncated
    room = webhook.LONGEST_TEXT - len(lines[0]) - len("\n" + _("… and {count} more", count=len(notices)))
    for notice in notices[:LISTED]:
        line = f"• {line_of(notice, people)}" + (f" {link_of(notice, pages)}" if pages else "")
        room -= len("\n" + line)
        if room < 0:
            break
        lines.append(line)
    count = len(lines) - 1
    if count < len(notices):
        lines.append(_("… and {count} more", count=len(notices) - count))
    yield list(notices), "\n".join(lines)


class Relay:
    """Sends notices, each once, without exceeding the rate limit."""

    def __init__(
        self,
        address: str,
        sent: Sent,
        *,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
        pages: str = "",
    ) -> None:
        self._address, self._sent = address, sent
        self._clock, self._sleep = clock, sleep
        self._last = 0.0
        self._pages = pages

    def run_once(
        self,
        runs: Iterable["RunDirectory"],
        board: "Board | None",
        *,
        since: float,
        kinds: Sequence[str] = (),
    ) -> Passed:
        """Send the notices from `since` on that were not sent yet; after a failure the others wait.

        Raises RequestError when the server reports that there is no such webhook.
        """
        passed = Passed()
        until, failures = self._sent.paused(self._clock())
        waiting = [
            notice
            for notice in gather(self._sent, runs, board, since=since, now=self._clock())
            if not kinds or notice.kind in kinds
        ]
        if waiting and self._clock() < until:
            return Passed(waiting=len(waiting), what=_("the server asked to wait"), until=until)
        self._sent.forget(self._clock())
        claimed = [notice for notice in waiting if self._sent.claim(notice.key, self._clock())]
        left = [notice.key for notice in claimed]
        try:
            for notices, text in messages_of(claimed, board.people if board else None, self._pages):
                outcome = self._one(text)
                keys = [notice.key for notice in notices]
                if outcome.kind == DEAD:
                    raise RequestError(
                        "notify.dead",
                        "{host} does not know this webhook ({what})",
                        hint="set a new URL: `hackathon notify set`",
                        host=webhook.host_of(self._address),
                        what=outcome.what,
                    )
                if outcome.kind == LATER:
                    wait = _wait(outcome, failures)
                    passed.until, passed.what = self._clock() + wait, outcome.what
                    self._sent.pause(passed.until, failures + 1, self._clock())
                    break
                failures = 0
                self._sent.pause(0.0, 0, self._clock())
                for key in keys:
                    self._sent.done(key)
                    left.remove(key)
                (passed.sent if outcome.kind == SENT else passed.refused).extend(keys)
        finally:
            for key in left:
                self._sent.release(key)
        passed.waiting = len(left)
        return passed

    def _one(self, text: str) -> Delivery:
        """Send one message, at least APART seconds after the one before."""
        wait = self._last + APART - self._clock()
        if 0 < wait <= APART:
            self._sleep(wait)
        outcome = webhook.send(self._address, webhook.payload(text))
        self._last = self._clock()
        return outcome


def _wait(outcome: Delivery, failures: int) -> float:
    """Return the seconds until the next try: the server's Retry-After, else doubled each time plus some jitter."""
    if outcome.wait is not None:
        return max(outcome.wait, APART)
    return float(min(BACK_OFF * 2 ** min(failures, 20), LONGEST_BACK_OFF) * random.uniform(0.8, 1.2))
