"""The dashboard's server: routes addresses to cached pages, and has a stream for each viewer.

Addresses: `/<language>/<kind>` and `?key=` for kinds with a key; the language in the address is remembered. `/run/<end
of its id>` leads to a run, in the language that the browser prefers. Files come from a fixed table, never from a path
in a request. Forms are accepted at one address, `/act`.
"""

import asyncio
import contextlib
import functools
import hashlib
import itertools
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, urlencode

from starlette.responses import RedirectResponse, Response

from hackathon.index.catalog import Catalog
from hackathon.index.studies import run_key
from hackathon.runs.states import ENDED, OPEN, SUCCEEDED
from hackathon.scaling.drawer import Drawer
from hackathon.text.errors import HackathonError
from hackathon.text.messages import LANGUAGES, N_, _, speaking
from hackathon.text.paths import shipped
from hackathon.text.printable import printable
from hackathon.web.attention.run_lines import line_of
from hackathon.web.dashboard.access import ACT, BROWSER, SESSION, Access, Receive, Scope, Send
from hackathon.web.dashboard.crowd import raise_open_files, room
from hackathon.web.dashboard.endpoint import Endpoint
from hackathon.web.dashboard.form_page import FormPage, html
from hackathon.web.dashboard.stream import KEPT_PAGES, Address, Pages, Watch, follow, follow_board, in_thread, stream
from hackathon.web.dashboard.uvicorn_server import QuietServer, configuration, preferred
from hackathon.web.page import pages as views
from hackathon.web.page.addresses import Options, known_options
from hackathon.web.page.sanitize import line
from hackathon.web.page.scripts import FILES
from hackathon.web.page.tables import PageOptions
from hackathon.web.routing.registry import VIEWS, values_of
from hackathon.web.views.board import mark_of

_STREAMS_TEXTS = {
    429: N_("Too many pages of the dashboard are open in this browser: close some, or reload this one to update it."),
    503: N_("Too many people follow this dashboard: pages are shown, but this one is not updated by itself."),
}

_PAGE_TEXTS = {
    404: N_("Page not found"),
    500: N_("This page could not be created"),
    504: N_("This page takes too long"),
}

_PAGE_LEAD_TEXTS = {
    404: N_("The run may have been deleted, or the address is incomplete."),
    500: N_("Other pages still work. The cause is shown in the terminal of the dashboard."),
    504: N_("The file system may be slow. Try again in a moment."),
}

TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
KEYED = frozenset({"team", "study", "run", "profile", "speedup", "log", "diff", "survey"})
PARAMETER = {"now": "tutor"}
"""Kinds with an optional key → its name in their addresses."""
SHORT, WALL = "/run/", "/wall"
WARMED = ("now", "teams", "runs", "scaling")
"""Pages that are rendered when a dashboard starts."""
LONGEST_KEY, MOST_FIELDS = 4000, 200
STREAMS = 3
"""Streams are at most 1/STREAMS of all connections, so that pages can still be served."""
EACH, PAGES = 8, 6
"""A browser has at most 1/EACH of all streams, but always PAGES, the most connections that it opens to a server."""
LOOK_AT_DOOR = 5.0
"""Seconds between two checks of the socket, because $XDG_RUNTIME_DIR is removed when a user's last session ends."""


class Dashboard:
    """The application: pages of all kinds in all languages, files of the table, and the stream."""

    def __init__(self, watch: Watch, title: Callable[[], str], cache: Path, *, writes: bool = False) -> None:
        """Create it; `writes`: forms are displayed and accepted."""
        self.title, self.cache = title, cache
        self.forms = FormPage(self, writes, address_of, address_to)
        self.pages = Pages(watch, self.render, self._failed)
        self.drawer = Drawer()
        self._told: dict[Address, str] = {}
        self._files: dict[str, bytes] = {}
        self._streams: Counter[str] = Counter()
        """Browser → its streams."""
        self._warming: asyncio.Task[None] | None = None

    def warm(self) -> None:
        """Render the menu's pages before the first request, and start the drawing process, in the loop's thread.

        The first viewer then waits for no template, rule or engine.

        It ends by itself after the first refresh of the runs, and with the server.
        """
        self._warming = asyncio.create_task(self._warm())

    async def _warm(self) -> None:
        for language, kind in itertools.product(LANGUAGES, WARMED):
            if self.pages.closing.is_set():
                return
            with contextlib.suppress(Exception):  # a viewer of the page gets the error
                await self.pages.fresh(Address(kind, "", language))
        await in_thread(self.drawer.prepare)
        for key in _looked_at_first(self.pages.watch.source()):
            with contextlib.suppress(Exception):
                await self.pages.fresh(Address("run", key, LANGUAGES[0]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if path == "/stream":
            await self._stream(scope, receive, send)
            return
        if path in ("/", WALL):
            answer: Response = RedirectResponse(f"/{preferred(scope)}{WALL if path == WALL else '/now'}", 303)
        elif path == ACT and scope["method"] == "POST":
            taken = await self.forms.take(scope, receive)
            if taken is None:  # the sender disconnected
                return
            answer = taken
        elif path[1:] in FILES:
            answer = await self._file(path[1:], preferred(scope))
        elif path.startswith(SHORT) and len(path) < LONGEST_KEY:
            answer = self._short(path.removeprefix(SHORT), preferred(scope))
        elif path == "/favicon.ico":  # browsers request it on their own
            answer = Response(status_code=204)
        else:
            answer = await self._page(path, scope["query_string"], preferred(scope), scope.get(SESSION, ""))
        await answer(scope, receive, send)

    async def _page(self, path: str, query: bytes, preferred: str, session: str) -> Response:
        address = address_of(path, query)
        if address is None:
            __, __, tail = path.partition("/")
            code = tail.partition("/")[0]
            if code in LANGUAGES and tail in (code, f"{code}/"):
                return RedirectResponse(f"/{code}/now", 303)
            return self.trouble(404, code if code in LANGUAGES else preferred, session)
        try:
            page = await self.pages.get(address)
        except TimeoutError:
            return self.trouble(504, address[2], session)
        except Exception:
            return self.trouble(500, address[2], session)
        if page.body is None:
            return self.trouble(404, address[2], session)
        return html(self.forms.filled(page.body, session, query, address[2]))

    def _short(self, part: str, language: str) -> Response:
        """Redirect to the run that a part of an id identifies, to the list of possible runs, or to an error page."""
        runs = self.pages.watch.source().named(part)
        if len(runs) == 1:
            return RedirectResponse(address_to(language, "run", run_key(runs[0])), 303)
        if not runs:
            return self.trouble(404, language)
        return RedirectResponse(address_to(language, "runs", "", (("find", part),)), 303)

    async def _file(self, name: str, preferred: str) -> Response:
        if name not in self._files:
            try:
                self._files[name] = await in_thread(lambda: FILES[name](self.cache))
            except (HackathonError, OSError):  # pages work without scripts
                return self.trouble(404, preferred)
        # These belong to the program and contain nothing of the runs, so a browser may cache them.
        headers = {"cache-control": "private, max-age=3600"}
        return Response(self._files[name], headers=headers, media_type=TYPES[Path(name).suffix])

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        fields = parse_qs(scope["query_string"].decode("latin-1"), errors="surrogateescape")
        path, __, query = fields.get("page", [""])[0].partition("?")
        address = address_of(path, query.encode("utf-8", "surrogateescape"))
        if address is None:
            await Response("no such page\n", 404, media_type="text/plain")(scope, receive, send)
            return
        if scope["method"] == "HEAD":
            await Response(media_type="text/event-stream")(scope, receive, send)
            return
        most, browser = room() // STREAMS, scope.get(BROWSER, "")
        refused = 503 if self.pages.streams >= most else 0
        if browser and self._streams[browser] >= max(PAGES, most // EACH):
            refused = 429
        if refused:  # the page tries again by itself
            with speaking(address[2]):
                words = _(_STREAMS_TEXTS[refused])
            await Response(f"{words}\n", refused, {"retry-after": "5"}, "text/plain")(scope, receive, send)
            return
        last = [value.decode("latin-1") for name, value in scope["headers"] if name == b"last-event-id"]
        self._streams[browser] += 1
        try:
            await stream(self.pages, address, last[0] if last else fields.get("seen", [""])[0], receive, send)
        finally:
            self._streams[browser] -= 1
            if not self._streams[browser]:
                del self._streams[browser]

    def _failed(self, address: Address, error: BaseException) -> None:
        """Print an error on the server's terminal, once; a page would reveal folders to its readers."""
        problem = repr(error)
        if self._told.get(address) == problem:
            return
        if len(self._told) > KEPT_PAGES:
            self._told.clear()
        self._told[address] = problem
        text = f"{address}\n{''.join(traceback.format_exception(error))}"
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(printable(text, kept="\n"))  # names of runs must not control the terminal

    def render(self, address: Address, source: Catalog, number: int) -> bytes | None:
        """Return a page, None if the address has none; runs in a thread."""
        kind, key, language, options = Address(*address)
        source.memory.pictures = self.drawer.pictures
        with speaking(language):
            content = values_of(kind, key, source, options)
            if content is None:
                return None
            template, values = content
            if kind == "run" and self.forms.writes:
                values = {**values, "run_line": line_of(source, key), "may_post": bool(mark_of(source))}
        translations = [(other, address_to(other, kind, key, options)) for other in LANGUAGES if other != language]
        revision = f"{self.pages.nonce}.{number}"
        page_options = PageOptions(address_to(language, kind, key), options)
        return self.rendered(template, language, revision, others=translations, here=kind, asked=page_options, **values)

    def rendered(self, template: str, language: str, revision: str = "", **values: Any) -> bytes:
        """Return a page that is the same for all viewers, except for the parts that `FormPage.filled` inserts."""
        with speaking(language):
            title = line(self.title())
        own = [f"/{name}?{_digest(name)}" for name in ("plots.js", "keys.js")]
        scripts = [*own, f"/live.js?seen={revision}"] if revision else []
        scripts.append(f"/tutor.js?{_digest('tutor.js')}")
        style = f"/style.css?{_digest('style.css')}"
        acts, outcome = (self.forms.token_mark, self.forms.said_mark) if self.forms.writes else ("", "")
        site = views.Site(
            title, live=True, masked=False, scripts=scripts, stylesheet=style, policy="", acts=acts, said=outcome
        )

        def link(kind: str, key: str) -> str | None:
            return link_to(language, kind, key)

        page = views.render(template, site, language, link, now=time.time(), **values)
        return page.encode("utf-8", "replace")

    def trouble(self, status: int, language: str, session: str = "") -> Response:
        """Return an error page without names of folders or programs."""
        with speaking(language):
            words = {"heading": _(_PAGE_TEXTS[status]), "words": _(_PAGE_LEAD_TEXTS[status])}
        page = self.rendered("trouble.html.j2", language, **words)
        return html(self.forms.filled(page, session, b"", language), status)


def link_to(language: str, kind: str, key: str = "") -> str | None:
    """Return the address of a page in a language; None if there is none of this kind."""
    if kind == "home":
        return address_to(language, "now", "")
    if kind not in VIEWS or (kind in KEYED) != bool(key and kind not in PARAMETER) or len(key) > LONGEST_KEY:
        return None
    return address_to(language, kind, key)


def address_to(language: str, kind: str, key: str, options: Options = ()) -> str:
    """Return the address of a page."""
    pairs = [(PARAMETER.get(kind, "key"), key), *options] if key else [*options]
    query = urlencode(pairs, quote_via=quote, safe="", errors="surrogateescape")
    return f"/{language}/{kind}{'?' if query else ''}{query}"


def address_of(path: str, query: bytes) -> Address | None:
    """Return (kind, key, language, options) of an address; None for an unknown one."""
    parts = path.split("/")
    if len(parts) != 3 or parts[0] or parts[1] not in LANGUAGES or parts[2] not in VIEWS:
        return None
    try:
        pairs = parse_qsl(query.decode("latin-1"), errors="surrogateescape", max_num_fields=MOST_FIELDS)
    except ValueError:  # more than any page has
        return None
    key = next((value for name, value in pairs if name == "key"), "")
    if (parts[2] in KEYED) != bool(key):
        return None
    key = key or next((value for name, value in pairs if name == PARAMETER.get(parts[2])), "")
    if len(key) > LONGEST_KEY:
        return None
    return Address(parts[2], key, parts[1], known_options(parts[2], tuple(pairs)))


def _looked_at_first(source: Catalog) -> list[str]:
    """Return the newest unfinished run and the newest failed run without a diagnosis.

    Their pages load everything that other pages need.
    """
    newest = sorted(source.summaries, key=lambda run: run.created or 0.0, reverse=True)
    going = [run for run in newest if run.state in OPEN]
    failed = [run for run in newest if run.state in ENDED - {SUCCEEDED} and not run.told]
    return [run_key(run) for run in (*going[:1], *failed[:1])]


@functools.cache
def _digest(name: str) -> str:
    return hashlib.sha256(shipped("templates", "pages", name).read_bytes()).hexdigest()[:12]


def serve(
    door: Endpoint,
    dashboard: Dashboard,
    ready: Callable[[], None] = lambda: None,
    signals: Sequence[signal.Signals] = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP),
) -> None:
    """Serve until one of the signals, or until `dashboard.pages.close` is called in the loop's thread.

    `ready` is called when requests are answered. Streams end at once, so that the server does not wait for them. Raises
    HackathonError if the socket was removed, because no viewer can connect then.
    """
    raise_open_files()
    if not asyncio.run(_serve(door, dashboard, ready, signals)):
        raise HackathonError(
            "dashboard.gone",
            "{path} was deleted, so the dashboard can no longer be reached",
            hint="some machines delete that folder when you log out: choose another path with --socket",
            path=door.path,
        )


async def _serve(
    door: Endpoint, dashboard: Dashboard, ready: Callable[[], None], signals: Sequence[signal.Signals]
) -> bool:
    """Return False if the socket was removed, True after a requested end."""
    loop, pages = asyncio.get_running_loop(), dashboard.pages
    server = QuietServer(configuration(Access(dashboard, door)))

    async def stop() -> bool:
        while not pages.closing.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(pages.closing.wait(), LOOK_AT_DOOR)
            if not pages.closing.is_set() and door.path is not None and not door.path.is_socket():
                pages.close()
                server.should_exit = True
                return False
        server.should_exit = True
        return True

    for number in signals:
        loop.add_signal_handler(number, pages.close)
    stopping = asyncio.create_task(stop())
    follow(pages, loop)
    follow_board(pages, loop, mark_of)
    ready()
    try:
        await server.serve(sockets=[door.listener])
    finally:
        dashboard.drawer.stop()
    return await stopping
