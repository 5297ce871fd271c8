"""Every view in headless Chromium, of the dashboard and of the published site, over an event with real small runs."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("playwright")
pytest.importorskip("vl_convert")
from playwright.sync_api import Browser

from support.pages import browser as browsing
from support.pages.browser import (
    DESKTOP,
    PHONE,
    Look,
    Visit,
    Visitor,
    crawl,
    html_problems,
    looks,
)
from support.patience import STRETCH
from support.samples.event import write_event

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(900)]
KINDS = {"now", "teams", "team", "study", "run", "scaling", "board", "cluster", "schedule"}
"""What the dashboard shows; the site has its home in place of `now`, and surveys that are over."""
SITE = KINDS - {"now"} | {"home", "survey"}
PROGRAM = """
import time
from hackathon_runtime import Meter, identity
me = identity()
meter = Meter(every_steps=4)
for step in range(40):
    time.sleep(0.02)
    meter.step(samples=32 * me.world_size, step=step, loss=2.0 / (step + 1))
meter.final(accuracy=0.98)
"""
HOSTILE = (
    "<script>window.hit=1</script><img src=x onerror=window.hit=2>\"'><svg onload=window.hit=3>"
    "javascript:window.hit=4 {{7*7}} ${7*7} ]]></style><style>*{display:none}</style> \x1b[31m日本語 😀 </title>"
)


@dataclass(frozen=True)
class Way:
    """One of the two ways out."""

    start: str
    origin: str
    enter: str = ""


def _environ(cache: Path) -> dict[str, str]:
    foreign = ("HK_", "SLURM_", "OMPI_", "PMI", "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_", "HACKATHON_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return kept | {"HACKATHON_LANG": "en", "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(cache)}


def _hackathon(cache: Path, folder: Path, *words: str, expect: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "hackathon", *words],
        cwd=folder, env=_environ(cache), capture_output=True, text=True, timeout=STRETCH * 400, check=False,
    )  # fmt: skip
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def event(tmp_path_factory: pytest.TempPathFactory, warm_cache: Path) -> Path:
    """An event of four teams; one of them has really trained, and really failed."""
    folder = write_event(tmp_path_factory.mktemp("event"), teams=4)
    project = folder / "aurora" / "real"
    project.mkdir()
    (project / "train.py").write_text(PROGRAM)
    _hackathon(warm_cache, project, "init", "--command", "python train.py", "--name", "real", "--cluster", "laptop")
    _hackathon(warm_cache, project, "scale", "--processes", "1,2", "--wait", "--launcher", "local")
    (project / "train.py").write_text("import notthere\n")
    _hackathon(warm_cache, project, "submit", "--wait", "--launcher", "local", expect=1)
    return folder


@contextmanager
def _served(cache: Path, folder: Path) -> Iterator[Way]:
    with browsing.dashboard(folder, _environ(cache), "--no-ask") as (origin, enter, _):
        yield Way(f"{origin}/en/now", origin, enter)


@pytest.fixture(scope="module")
def dashboard(event: Path, warm_cache: Path) -> Iterator[Way]:
    with _served(warm_cache, event) as way:
        yield way


@pytest.fixture(scope="module")
def site(event: Path, tmp_path_factory: pytest.TempPathFactory, warm_cache: Path) -> Way:
    target = tmp_path_factory.mktemp("site") / "out"
    _hackathon(warm_cache, event, "publish", "--to", str(target), "--no-ask")
    return Way((target / "site" / "index.html").as_uri(), "file://")


def _crawled(
    browser: Browser,
    way: Way,
    language: str,
    look: Callable[[Visitor, Visit], None],
    each: int = 1,
    script: bool = True,
) -> list[Visit]:
    """Return visits to the pages of a language that links lead to, `each` of a kind."""
    context = browser.new_context(viewport=DESKTOP, java_script_enabled=script)  # type: ignore[arg-type]
    try:
        visitor = Visitor(context, way.origin)
        if way.enter:
            visitor.visit(way.enter)
        if way.origin == "file://":
            start = way.start if language == "en" else way.start.replace("index.html", f"index.{language}.html")
            inside = lambda link: (".ja.html" in link) == (language == "ja")  # noqa: E731
        else:
            start = way.start.replace("/en/", f"/{language}/")
            inside = lambda link: f"/{language}/" in link  # noqa: E731
        return crawl(visitor, start, inside, 60, each, lambda visit: look(visitor, visit))
    finally:
        context.close()


@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_view(browser: Browser, dashboard: Way, site: Way, language: str, tmp_path: Path) -> None:
    """English with scripts, for screen readers and as HTML; Japanese without scripts; both also on a phone.

    The site's pages are made by the dashboard's templates: axe looks at one of each template.
    """
    looked_at: set[str] = set()
    for name, way, kinds in (("dashboard", dashboard, KINDS), ("site", site, SITE)):
        found: dict[str, object] = {}

        def look(visitor: Visitor, visit: Visit, name: str = name, found: dict[str, object] = found) -> None:
            if visit.status != 200 or visit.problems:
                found[visit.address] = (visit.status, visit.problems)
            ways: tuple[Look, ...] = (Look(PHONE),)
            if language == "en" and visit.kind not in looked_at:
                ways = (Look(PHONE, axe="all"), Look(DESKTOP, "dark", axe="colours"))
            looked_at.add(visit.kind)
            found.update(looks(visitor.page, f"{name}-{language}-{visit.kind}", *ways))
            visitor.page.emulate_media(color_scheme="light")
            visitor.page.set_viewport_size(DESKTOP)  # type: ignore[arg-type]
            # as the server sent it or the file says it: scripts may change what the browser shows
            (tmp_path / f"{name}-{visit.kind}.html").write_text(visit.source, "utf-8")

        visits = _crawled(browser, way, language, look, script=language == "en")
        assert {visit.kind for visit in visits} >= kinds
        assert found == {}
    if language == "en":
        assert html_problems(tmp_path) == []


def test_hostile_text_is_only_text(browser: Browser, tmp_path: Path, warm_cache: Path) -> None:
    """One page of each kind on the dashboard, two of each kind on the site, one in Japanese."""
    folder = write_event(tmp_path / "event", teams=2, hostile=HOSTILE)
    target = tmp_path / "out"
    _hackathon(warm_cache, folder, "publish", "--to", str(target), "--no-ask")

    def look(visitor: Visitor, visit: Visit) -> None:
        assert visit.problems == [], visit.address
        assert visitor.page.evaluate("window.hit") is None, visit.address
        assert visitor.page.evaluate("document.querySelector('main').offsetHeight") > 100

    with _served(warm_cache, folder) as live:
        visits = _crawled(browser, live, "en", look)
        assert {visit.kind for visit in visits} >= KINDS
    for language in ("en", "ja"):
        way = Way((target / "site" / "index.html").as_uri(), "file://")
        visits = _crawled(browser, way, language, look, each=2 if language == "en" else 1)
        assert {visit.kind for visit in visits} >= KINDS - {"now"}
