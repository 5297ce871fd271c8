"""Insert tokens into a page's forms, and answer forms.

A page is rendered once for all viewers; parts that differ between answers are placeholders of random characters. The
browser is redirected to a page with the outcome of the form, so that reloading it sends nothing again.
"""

import asyncio
import contextlib
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol
from urllib.parse import parse_qs

from markupsafe import escape
from starlette.responses import RedirectResponse, Response

from hackathon.text.errors import HackathonError
from hackathon.text.messages import N_, _, ngettext, speaking
from hackathon.web.dashboard.access import SESSION, Receive, Scope
from hackathon.web.dashboard.acts import OWN, FormDone, FormWish, own, perform, run_of, wish_of
from hackathon.web.dashboard.form_guard import FormGuard
from hackathon.web.dashboard.forms import FormRefused, check_type, pairs_of, read_body
from hackathon.web.dashboard.stream import Address, Pages, in_thread
from hackathon.web.page import sanitize as clean
from hackathon.web.page.pages import span

if TYPE_CHECKING:
    from collections.abc import Callable

    from hackathon.web.page.addresses import Options

_SAID_TEXTS = {
    "take": N_("You have taken this request. The team sees it."),
    "answer": N_("Your answer was sent."),
    "solve": N_("It is marked as solved."),
    "post": N_("Your post is on the board."),
    "tell": N_("The team was asked on the board."),
    "attach": N_("The request is about this run now."),
    "cancel": N_("Cancellation was requested."),
    "rerun": N_("It was submitted again."),
    "take_before": N_("Somebody else had taken this request before you."),
    "solve_before": N_("Somebody else had closed it before you. What you wrote was kept."),
}

_REFUSED_TEXTS = {
    "broken": N_("This form is incomplete."),
    "token": N_("This page is too old, or it belongs to another dashboard. Load it again, then send the form."),
    "large": N_("The text is too long."),
    "no_run": N_("The run no longer exists."),
    "no_post": N_("The post is not on the board."),
}
"""What is wrong with a form → message."""

LARGEST = (1 << 20) + (400 << 10)
"""Bytes of a form: the longest text of a post, in a form's encoding."""
SECONDS = 40.0
"""Seconds that a form may take to arrive over a slow connection."""
FIELDS = 20
SAID = ("take", "answer", "solve", "post", "tell", "attach", "cancel", "rerun", "take_before", "solve_before")
"""Outcomes that a page can display; other texts in an address are ignored."""


class PageMaker(Protocol):
    """The part of the dashboard that forms need."""

    pages: Pages

    def rendered(self, template: str, language: str, revision: str = "", **values: object) -> bytes: ...


class FormPage:
    """Forms of one dashboard. Its methods are called in the event loop's thread."""

    def __init__(
        self,
        host: PageMaker,
        writes: bool,
        address_of: "Callable[[str, bytes], Address | None]",
        address_to: "Callable[[str, str, str, Options], str]",
    ) -> None:
        """Create it; `address_of` parses an address (None for an unknown one), `address_to` is its inverse."""
        self._host, self.writes, self._address_of, self._address_to = host, writes, address_of, address_to
        self._guard = FormGuard()
        self._turn = asyncio.Lock()
        self.token_mark, self.said_mark = (f"{name}-{secrets.token_hex(16)}" for name in ("token", "said"))

    def filled(self, page: bytes, session: str, query: bytes, language: str) -> bytes:
        """Return a page with a token for its forms, and with the outcome of the last form."""
        if not self.writes:
            return page
        outcome = parse_qs(query.decode("latin-1")).get("said", [""])[0]
        with speaking(language):
            words = str(escape(_(_SAID_TEXTS[outcome]))) if outcome in SAID else ""
        token = self._guard.token(session)
        return page.replace(self.token_mark.encode(), token.encode()).replace(self.said_mark.encode(), words.encode())

    async def take(self, scope: Scope, receive: Receive) -> Response | None:
        """Return the answer to a form: the next page, a question, or an error about the input.

        None if the sender disconnected before the form was complete.
        """
        session = scope.get(SESSION, "")
        try:
            check_type(scope)
            body = await read_body(receive, LARGEST, SECONDS)
            if body is None:
                return None
            token, wish = wish_of(pairs_of(body, FIELDS))
            path, __, query = wish.back.partition("?")
            back = self._address_of(path, query.encode("utf-8", "surrogateescape"))
            if back is None:
                raise FormRefused(400, "broken")
        except FormRefused as refused:
            return self._plain(refused)
        wish = replace(wish, back=self._address_to(back[2], back[0], back[1], back[3]))
        try:
            if not self._guard.knows(token, session):
                raise FormRefused(403, "token")
            if wish.act in OWN and not wish.sure:
                return await self._question(wish, back[2], session)
            done = await self._guard.once(token, body, lambda: self._perform(wish, back[2]))
        except FormRefused as refused:
            return self._failed(wish, back[2], session, refused.status, _REFUSED_TEXTS[refused.what])
        except HackathonError as error:
            return self._failed(wish, back[2], session, 409, error)
        return RedirectResponse(_with_said(wish.back, done), 303)

    async def _perform(self, wish: FormWish, language: str) -> FormDone:
        """Carry out the request."""

        def work() -> FormDone:
            with speaking(language):
                return perform(wish, self._host.pages.watch.source())

        try:
            # one form at a time, so that the second of two equal requests sees the first one's effect;
            # a slow action is about one run, and blocks no other form
            async with contextlib.nullcontext() if wish.act in OWN else self._turn:
                done: FormDone = await in_thread(work)
                return done
        finally:
            self._host.pages.changed()

    async def _question(self, wish: FormWish, language: str, session: str) -> Response:
        run = run_of(wish, self._host.pages.watch.source())
        if not await in_thread(lambda: own(run)):
            raise HackathonError(
                "act.not_own", "{run} belongs to another account", hint="ask the team to do it", run=run.id
            )
        with speaking(language):
            about = ngettext(
                "{name} on {cluster}, {processes} process, walltime {walltime}",
                "{name} on {cluster}, {processes} processes, walltime {walltime}",
                run.processes,
                name=clean.line(run.name),
                cluster=clean.line(run.cluster),
                processes=run.processes,
                walltime=span(run.walltime),
            )
        page = self._host.rendered(
            "act.html.j2", language, wish=clean.value(wish), key=wish.run, back=wish.back, run=clean.line(run.id),
            about=about, problem="", hint="",
        )  # fmt: skip
        return html(self.filled(page, session, b"", language))

    def _failed(
        self, wish: FormWish, language: str, session: str, status: int, error: HackathonError | str
    ) -> Response:
        """Return a page with the error and the user's input."""
        with speaking(language):
            if isinstance(error, HackathonError):
                problem, hint = error.message, error.hint or ""
            else:
                problem, hint = _(error), ""
        page = self._host.rendered(
            "act.html.j2", language, wish=clean.value(wish), key="", back=wish.back, run="", about="",
            problem=clean.block(problem), hint=clean.block(hint),
        )  # fmt: skip
        return html(self.filled(page, session, b"", language), status)

    def _plain(self, refused: FormRefused) -> Response:
        words = {400: "not a form of this page", 408: "too slow", 413: "too long", 415: "not a form of this page"}
        return Response(f"{words[refused.status]}\n", refused.status, {"connection": "close"}, "text/plain")


def _with_said(back: str, done: FormDone) -> str:
    """Return the address of the form's page, with the outcome."""
    anchor = f"#{done.anchor}" if done.anchor else ""
    return f"{back}{'&' if '?' in back else '?'}said={done.said.removeprefix('said_')}{anchor}"


def html(body: bytes, status: int = 200) -> Response:
    """Return a page as an answer."""
    return Response(body, status, media_type="text/html")
