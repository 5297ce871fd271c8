"""Cache rendered pages while they are fresh, and notify viewers when their page has changed.

Fifty viewers of one page cost one rendering. A stream does not report "something changed somewhere" but "your page has
changed": the server renders it first, and notifies only if its content differs. A viewer's request then finds it ready,
and unchanged pages stay.
"""

import asyncio
import contextlib
import hashlib
import re
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from hackathon.index.catalog import Catalog
from hackathon.web.dashboard.access import Receive, Send
from hackathon.web.page.addresses import PageAddress

KEPT_PAGES = 400
"""Pages that are cached; the one without requests for the longest time is dropped first."""
OLDEST = 30.0
"""Seconds after which a page is rendered again without any change, because it contains ages."""
STALE = 5.0
"""A page younger than this, or than two gaps, is served at once while a newer one is being rendered."""
SHORTEST_GAP, LONGEST_GAP = 1.0, 4.0
"""Limits of the seconds between two renderings of a page."""
SHARE = 4
"""All watched pages together are rendered for at most 1/SHARE of the time."""
WORKERS = 4
"""Renderings at a time, so that one that waits for a slow file system does not block the others."""
LONGEST_RENDERING = 60.0
FIRST_LOOK = 60.0
"""Seconds that the first pages wait for the first runs."""
BOARD = 1.0
"""Seconds between two checks of the board for new entries."""
HEARTBEAT = 15.0
"""Seconds after which a silent stream sends a comment, which detects dead connections."""
RETRY = 2000
"""Milliseconds after which a browser reconnects."""
_MAIN = re.compile(rb"<main\b.*</main>", re.DOTALL)

Address = PageAddress


class Watch(Protocol):
    """The part of hackathon.index.watcher.Watcher that the server needs."""

    @property
    def version(self) -> int: ...
    def source(self) -> Catalog: ...
    def wait(self, version: int, timeout: float) -> int: ...
    def stop(self) -> None: ...


@dataclass(frozen=True)
class RenderedPage:
    """A rendered page; `body` None: the page does not exist."""

    body: bytes | None
    version: int
    """The version of the runs in it, or an earlier one."""
    changed: int
    """The number of the rendering that gave it this content."""
    made: float
    cost: float
    """Seconds of the rendering."""
    written: int = 0
    """Pages.written at its start."""


class Pages:
    """Pages rendered in separate threads, each at most once at a time, and cached while they are fresh.

    All methods are called in the event loop's thread.
    """

    def __init__(
        self,
        watch: Watch,
        render: Callable[[Address, Catalog, int], bytes | None],
        failed: Callable[[Address, BaseException], None] = lambda address, error: None,
    ) -> None:
        """Create it; `render` gets a number for the viewers' streams; `failed` gets the exceptions of `render`."""
        self.watch, self.render, self.failed = watch, render, failed
        self.nonce = secrets.token_hex(4)
        """Distinguishes this server from an earlier one, whose numbers a browser may remember."""
        self.version = watch.version
        self.written = 0
        """How often a change besides the runs was observed: on the board."""
        self.closing = asyncio.Event()
        self.streams = 0
        self._kept: dict[Address, RenderedPage] = {}
        self._running: dict[Address, asyncio.Task[RenderedPage]] = {}
        self._places = asyncio.Semaphore(WORKERS)
        # Not the version of the runs: a page ages without a new one, and may show an unpublished state.
        self._renderings = 0
        self._news = asyncio.Event()

    async def get(self, address: Address) -> RenderedPage:
        """Return a page for display: fresh, or a few seconds old while a fresh one is being rendered.

        Raises the exceptions of the rendering, and TimeoutError if it takes too long.
        """
        page = self._kept.get(address)
        if page is None:
            return await self.fresh(address)
        age, gap = time.monotonic() - page.made, self.gap(page)
        if age > (OLDEST if page.version == self.version else max(STALE, 2 * gap)):
            return await self.fresh(address)
        if page.version != self.version and age > gap:
            self._start(address)
        return page

    async def fresh(self, address: Address) -> RenderedPage:
        """Return a page with the newest state, rendered now unless it exists or is in progress."""
        page = self._kept.get(address)
        if page and page.version == self.version and time.monotonic() - page.made <= OLDEST:
            return page
        return await asyncio.wait_for(asyncio.shield(self._start(address)), LONGEST_RENDERING)

    def gap(self, page: RenderedPage) -> float:
        """Return the seconds between two renderings of a page; longer for slow pages."""
        return min(LONGEST_GAP, max(SHORTEST_GAP, page.cost * SHARE * max(1, min(self.streams, len(self._kept)))))

    def told(self, version: int) -> None:
        """Record a new version of the runs, and wake the streams."""
        if version != self.version:
            self.version = version
            self._wake()

    def changed(self) -> None:
        """Record a change besides the runs; earlier renderings are not served any more."""
        self.written += 1
        self._kept.clear()
        self._running.clear()  # renderings in progress may show the former state
        self._wake()

    def close(self) -> None:
        """End all streams."""
        self.closing.set()
        self._wake()

    async def news(self, seconds: float) -> None:
        """Wait until the state has changed, the server is closing, or the seconds are over."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), seconds)

    async def _first_look(self) -> None:
        """Wait for the first refresh of the runs, because an empty page before it would be wrong."""
        end = time.monotonic() + FIRST_LOOK
        while self.version == 0 and time.monotonic() < end and not self.closing.is_set():
            await self.news(end - time.monotonic())

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def _start(self, address: Address) -> "asyncio.Task[RenderedPage]":
        task = self._running.get(address)
        if task is None:
            task = self._running[address] = asyncio.create_task(self._make(address))
            task.add_done_callback(lambda done: self._made(address, done))
        return task

    def _made(self, address: Address, task: "asyncio.Task[RenderedPage]") -> None:
        current = self._running.get(address) is task
        if current:
            del self._running[address]
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            self.failed(address, error)
            return
        if not current:  # the board changed meanwhile
            return
        self._kept.pop(address, None)
        self._kept[address] = task.result()
        while len(self._kept) > KEPT_PAGES:
            del self._kept[next(iter(self._kept))]

    async def _make(self, address: Address) -> RenderedPage:
        async with self._places:
            await self._first_look()
            version, written, begun = self.version, self.written, time.monotonic()
            self._renderings += 1
            number = self._renderings
            before = self._kept.get(address)
            body = await in_thread(lambda: self.render(address, self.watch.source(), number))
            now = time.monotonic()
            same = before is not None and content_of(before.body) == content_of(body)
            return RenderedPage(body, version, before.changed if same and before else number, now, now - begun, written)


def content_of(body: bytes | None) -> bytes | None:
    """Return a digest of a page's content, without head and foot, which contain the time of rendering."""
    if body is None:
        return None
    match = _MAIN.search(body)
    return hashlib.sha256(match[0] if match else body).digest()


async def in_thread(work: Callable[[], Any]) -> Any:
    """Return the result of `work` in a thread that does not block the end of the process (a hanging file system)."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def done(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except Exception as caught:
            error = caught
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(done, result, error)

    threading.Thread(target=run, name="page", daemon=True).start()
    return await future


def follow(pages: Pages, loop: asyncio.AbstractEventLoop) -> threading.Thread:
    """Start the thread that passes every new version to the pages; one for all viewers."""

    def run() -> None:
        version = pages.version
        while not pages.closing.is_set():
            version = pages.watch.wait(version, 1.0)
            try:
                loop.call_soon_threadsafe(pages.told, version)
            except RuntimeError:  # the loop was closed
                return

    thread = threading.Thread(target=run, name="follow", daemon=True)
    thread.start()
    return thread


def follow_board(pages: Pages, loop: asyncio.AbstractEventLoop, look: Callable[[Catalog], object]) -> threading.Thread:
    """Start the thread that notifies the pages when the result of `look`, the state of the board, changes."""

    def run() -> None:
        mark = look(pages.watch.source())
        while not pages.closing.is_set():
            time.sleep(BOARD)
            try:
                before, mark = mark, look(pages.watch.source())
                if mark != before:
                    loop.call_soon_threadsafe(pages.changed)
            except RuntimeError:  # the loop was closed
                return

    thread = threading.Thread(target=run, name="board", daemon=True)
    thread.start()
    return thread


async def stream(pages: Pages, address: Address, revision: str, receive: Receive, send: Send) -> None:
    """Send an event after each change of a page since `revision` (`<nonce>.<rendering>`), until the viewer disconnects.

    Also if it cannot be rendered any more, and when it can be again, so that no viewer trusts an outdated page.
    """
    headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    pages.streams += 1
    # the connection is watched in parallel, because a send to a viewer that is gone may block for ever
    works = (_send(pages, address, revision, send), _gone(receive), pages.closing.wait())
    tasks: list[asyncio.Future[Any]] = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        pages.streams -= 1
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    with contextlib.suppress(OSError, TimeoutError):
        await asyncio.wait_for(send({"type": "http.response.body", "body": b"", "more_body": False}), 1.0)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(pages: Pages, address: Address, revision: str, send: Send) -> None:
    async def write(text: str) -> None:
        await send({"type": "http.response.body", "body": text.encode(), "more_body": True})

    await write(f"retry: {RETRY}\n\n")
    nonce, _, number = revision.partition(".")
    rendering = int(number) if nonce == pages.nonce and number.isascii() and number.isdigit() else -1
    spoken, stale = time.monotonic(), False
    while True:
        try:
            page: RenderedPage | None = await pages.fresh(address)
        except Exception:  # the next version may be better
            page = None
        if stale != (page is None):
            stale, spoken = page is None, time.monotonic()
            await write(f"event: {'stale' if stale else 'fresh'}\ndata: \n\n")
        if page is not None and page.changed > rendering:
            rendering, spoken = page.changed, time.monotonic()
            await write(f"id: {pages.nonce}.{rendering}\nevent: changed\ndata: {rendering}\n\n")
        await asyncio.sleep(pages.gap(page) if page else LONGEST_GAP)
        while True:
            if time.monotonic() >= spoken + HEARTBEAT:
                await write(": still here\n\n")
                spoken = time.monotonic()
            if page is None or (page.version, page.written) != (pages.version, pages.written):
                break
            if time.monotonic() >= page.made + OLDEST:
                break
            await pages.news(max(0.01, min(spoken + HEARTBEAT, page.made + OLDEST) - time.monotonic()))
