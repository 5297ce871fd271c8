"""How a form goes in and out: the token that a page gets on its way, and the answer to a form that is sent.

A page is rendered once for all viewers; what differs from answer to answer stands in it as a mark of random letters.
What a form did is told on the page that the browser is led to, so that nothing is sent again by loading it anew.
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
from hackathon.text.messages import message, speaking
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

LARGEST = (1 << 20) + (400 << 10)
"""Bytes of a form: the longest text of a post, as a form writes its letters."""
SECONDS = 40.0
"""How long a form may take to arrive over a bad connection."""
FIELDS = 20
SAID = ("take", "answer", "solve", "post", "tell", "cancel", "rerun", "take_before", "solve_before")
"""What a page can say of the form before: nothing else in an address is shown."""


class PageMaker(Protocol):
    """What is needed of the dashboard."""

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
        """`address_of` returns what an address leads to, None when it is none of ours; `address_to` the way back."""
        self._host, self.writes, self._address_of, self._address_to = host, writes, address_of, address_to
        self._guard = FormGuard()
        self._turn = asyncio.Lock()
        self.token_mark, self.said_mark = (f"{name}-{secrets.token_hex(16)}" for name in ("token", "said"))

    def filled(self, page: bytes, session: str, query: bytes, language: str) -> bytes:
        """Return a page with a token for its forms, and with what became of the form before."""
        if not self.writes:
            return page
        outcome = parse_qs(query.decode("latin-1")).get("said", [""])[0]
        with speaking(language):
            words = str(escape(message(f"act.said_{outcome}"))) if outcome in SAID else ""
        token = self._guard.token(session)
        return page.replace(self.token_mark.encode(), token.encode()).replace(self.said_mark.encode(), words.encode())

    async def take(self, scope: Scope, receive: Receive) -> Response | None:
        """Return the answer to a form: the page that comes next, a question, or what went wrong with what was typed.

        None when its sender has gone before all of it was there.
        """
        session = scope.get(SESSION, "")
        try:
            check_type(scope)
            body = await read_body(receive, LARGEST, SECONDS)
            if body is None:
                return None
            token, wish = wish_of(pairs_of(body, FIELDS))
            path, _, query = wish.back.partition("?")
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
            return self._failed(wish, back[2], session, refused.status, f"act.{refused.what}")
        except HackathonError as error:
            return self._failed(wish, back[2], session, 409, error)
        return RedirectResponse(_with_said(wish.back, done), 303)

    async def _perform(self, wish: FormWish, language: str) -> FormDone:
        """Do it; one form after another, so that two with the same wish see each other's deed."""

        def work() -> FormDone:
            with speaking(language):
                return perform(wish, self._host.pages.watch.source())

        try:
            # what takes long is about one run, and waits for nobody
            async with contextlib.nullcontext() if wish.act in OWN else self._turn:
                done: FormDone = await in_thread(work)
                return done
        finally:
            self._host.pages.changed()

    async def _question(self, wish: FormWish, language: str, session: str) -> Response:
        run = run_of(wish, self._host.pages.watch.source())
        if not await in_thread(lambda: own(run)):
            raise HackathonError("act.not_own", run=run.id)
        with speaking(language):
            about = message(
                "act.about", name=clean.line(run.name), cluster=clean.line(run.cluster), processes=run.processes,
                walltime=span(run.walltime),
            )  # fmt: skip
        page = self._host.rendered(
            "act.html.j2", language, wish=clean.value(wish), key=wish.run, back=wish.back, run=clean.line(run.id),
            about=about, problem="", hint="",
        )  # fmt: skip
        return html(self.filled(page, session, b"", language))

    def _failed(
        self, wish: FormWish, language: str, session: str, status: int, error: HackathonError | str
    ) -> Response:
        """Return a page that says what went wrong, with what was typed."""
        with speaking(language):
            if isinstance(error, HackathonError):
                problem, hint = error.message, error.hint or ""
            else:
                problem, hint = message(error), ""
        page = self._host.rendered(
            "act.html.j2", language, wish=clean.value(wish), key="", back=wish.back, run="", about="",
            problem=clean.block(problem), hint=clean.block(hint),
        )  # fmt: skip
        return html(self.filled(page, session, b"", language), status)

    def _plain(self, refused: FormRefused) -> Response:
        words = {400: "not a form of this page", 408: "too slow", 413: "too long", 415: "not a form of this page"}
        return Response(f"{words[refused.status]}\n", refused.status, {"connection": "close"}, "text/plain")


def _with_said(back: str, done: FormDone) -> str:
    """Return the address of the page that a form stood on, with what became of it."""
    anchor = f"#{done.anchor}" if done.anchor else ""
    return f"{back}{'&' if '?' in back else '?'}said={done.said.removeprefix('said_')}{anchor}"


def html(body: bytes, status: int = 200) -> Response:
    """Return a page as an answer."""
    return Response(body, status, media_type="text/html")
