"""Rendered pages that are kept while they are fresh, and the stream that tells a viewer when its page has changed.

Fifty viewers of one page cost one rendering. A stream does not say "something changed somewhere" but "the page that you
look at has changed": the server renders it first, and tells when what it shows differs, so that a viewer's request
finds it ready and pages that nothing happened to stay as they are.
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
"""Pages that are kept rendered; the one that nobody asked for longest goes first."""
OLDEST = 30.0
"""Seconds after which a page is rendered anew even if nothing happened: it says how long things take by now."""
STALE = 5.0
"""A page younger than this, or than two gaps, is given out at once while a newer one is being made."""
SHORTEST_GAP, LONGEST_GAP = 1.0, 4.0
"""Bounds of the seconds between two renderings of a page."""
SHARE = 4
"""All watched pages together are rendered for at most 1/SHARE of the time."""
WORKERS = 4
"""Renderings at a time: one that waits for a slow file system does not hold the others up."""
LONGEST_RENDERING = 60.0
FIRST_LOOK = 60.0
"""Seconds that the first pages wait for the first runs."""
BOARD = 1.0
"""Seconds between two looks whether something was written on the board."""
HEARTBEAT = 15.0
"""Seconds after which a silent stream sends a comment, so that dead connections are found."""
RETRY = 2000
"""Milliseconds after which a browser tries to connect again."""
_MAIN = re.compile(rb"<main\b.*</main>", re.DOTALL)

Address = PageAddress


class Watch(Protocol):
    """What the server needs of hackathon.index.watcher.Watcher."""

    @property
    def version(self) -> int: ...
    def source(self) -> Catalog: ...
    def wait(self, version: int, timeout: float) -> int: ...
    def stop(self) -> None: ...


@dataclass(frozen=True)
class RenderedPage:
    """A rendered page; `body` None: there is no such page."""

    body: bytes | None
    version: int
    """The state of the runs that it shows, or one before."""
    changed: int
    """The number of the rendering with which its content became what it is."""
    made: float
    cost: float
    """Seconds that the rendering took."""
    written: int = 0
    """As Pages.written when it was begun."""


class Pages:
    """Pages rendered in threads of their own, each at most once at a time, and kept while they are fresh.

    All methods are called in the event loop's thread.
    """

    def __init__(
        self,
        watch: Watch,
        render: Callable[[Address, Catalog, int], bytes | None],
        failed: Callable[[Address, BaseException], None] = lambda address, error: None,
    ) -> None:
        """`render` gets a number, by which a viewer's stream knows what is seen; `failed` gets what it raises."""
        self.watch, self.render, self.failed = watch, render, failed
        self.nonce = secrets.token_hex(4)
        """Tells this server from the one before it, whose numbers a browser may remember."""
        self.version = watch.version
        self.written = 0
        """How often something besides the runs was seen to change: the board."""
        self.closing = asyncio.Event()
        self.streams = 0
        self._kept: dict[Address, RenderedPage] = {}
        self._running: dict[Address, asyncio.Task[RenderedPage]] = {}
        self._places = asyncio.Semaphore(WORKERS)
        # Not the versions: a page grows older without one, and may show a state that was not told yet.
        self._renderings = 0
        self._news = asyncio.Event()

    async def get(self, address: Address) -> RenderedPage:
        """Return a page to show now: fresh, or a few seconds old while a fresh one is being made.

        Raises what rendering raises, and TimeoutError when it takes too long.
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
        """Return a page that shows the newest state, rendered now unless it is there or on its way."""
        page = self._kept.get(address)
        if page and page.version == self.version and time.monotonic() - page.made <= OLDEST:
            return page
        return await asyncio.wait_for(asyncio.shield(self._start(address)), LONGEST_RENDERING)

    def gap(self, page: RenderedPage) -> float:
        """Return the seconds between two renderings of a page: what is dear is made less often."""
        return min(LONGEST_GAP, max(SHORTEST_GAP, page.cost * SHARE * max(1, min(self.streams, len(self._kept)))))

    def told(self, version: int) -> None:
        """Take note of a new state of the runs, and wake the streams."""
        if version != self.version:
            self.version = version
            self._wake()

    def changed(self) -> None:
        """Take note that something besides the runs has changed: what was rendered before is not shown any more."""
        self.written += 1
        self._kept.clear()
        self._running.clear()  # what is on its way may show the state before
        self._wake()

    def close(self) -> None:
        """End all streams."""
        self.closing.set()
        self._wake()

    async def news(self, seconds: float) -> None:
        """Return when the state has changed, the server is closing, or the seconds are over."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), seconds)

    async def _first_look(self) -> None:
        """Wait until the runs were looked at once: "nobody needs help" must not be said before."""
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
        if not current:  # something was written meanwhile
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
    """Return a digest of what a page shows: not of its head and foot, which name the moment of its making."""
    if body is None:
        return None
    match = _MAIN.search(body)
    return hashlib.sha256(match[0] if match else body).digest()


async def in_thread(work: Callable[[], Any]) -> Any:
    """Return what `work` returns in a thread that the process does not wait for at its end (a hanging file system)."""
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
    """Start the thread that tells the pages of every new state; one for all viewers."""

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
    """Start the thread that tells the pages when what `look` returns is another one: somebody wrote on the board."""

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
    """Send an event each time that a page has changed since `revision` (`<nonce>.<rendering>`), until the viewer goes.

    Also when it cannot be made any more, and when it can again: a viewer must not take an old page for the truth.
    The viewer's going is watched beside the sending: a send to a viewer that is gone may wait for ever.
    """
    headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    pages.streams += 1
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
        except Exception:  # the next state may be better
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
