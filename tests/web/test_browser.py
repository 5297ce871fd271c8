"""Every view in headless Chromium, of the dashboard and of the published site, over an event with real small runs."""

import os
import subprocess
import sys
from collections.abc import Iterator
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
    PICTURES,
    Visit,
    Visitor,
    axe_problems,
    chromium,
    crawl,
    html_problems,
    picture,
)
from support.patience import STRETCH
from support.samples.event import write_event

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(900)]
KINDS = {"now", "teams", "team", "study", "run", "scaling", "board", "cluster", "schedule"}
"""What the dashboard shows; the site has its home in place of `now`, and surveys that are over."""
SITE = KINDS - {"now"} | {"home", "survey"}
MODES = {
    "desktop": {"viewport": DESKTOP},
    "phone": {"viewport": PHONE},
    "dark": {"viewport": DESKTOP, "color_scheme": "dark"},
    "still": {"viewport": DESKTOP, "java_script_enabled": False},
}
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as made:
        yield made


def _environ() -> dict[str, str]:
    foreign = ("HK_", "SLURM_", "OMPI_", "PMI", "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_", "HACKATHON_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return kept | {"HACKATHON_LANG": "en", "OMP_NUM_THREADS": "1"}


def _hackathon(folder: Path, *words: str, expect: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "hackathon", *words],
        cwd=folder, env=_environ(), capture_output=True, text=True, timeout=STRETCH * 400, check=False,
    )  # fmt: skip
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def event(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An event of four teams; one of them has really trained, and really failed."""
    folder = write_event(tmp_path_factory.mktemp("event"), teams=4)
    project = folder / "aurora" / "real"
    project.mkdir()
    (project / "train.py").write_text(PROGRAM)
    _hackathon(project, "init", "--command", "python train.py", "--name", "real", "--cluster", "laptop")
    _hackathon(project, "scale", "--processes", "1,2", "--wait", "--launcher", "local")
    (project / "train.py").write_text("import notthere\n")
    _hackathon(project, "submit", "--wait", "--launcher", "local", expect=1)
    return folder


@contextmanager
def _served(folder: Path) -> Iterator[Way]:
    with browsing.dashboard(folder, _environ(), "--no-ask") as (origin, enter, _):
        yield Way(f"{origin}/en/now", origin, enter)


@pytest.fixture(scope="module")
def dashboard(event: Path) -> Iterator[Way]:
    with _served(event) as way:
        yield way


@pytest.fixture(scope="module")
def site(event: Path, tmp_path_factory: pytest.TempPathFactory) -> Way:
    target = tmp_path_factory.mktemp("site") / "out"
    _hackathon(event, "publish", "--to", str(target), "--no-ask")
    return Way((target / "site" / "index.html").as_uri(), "file://")


def _visits(browser: Browser, way: Way, mode: str, language: str, each: int = 1) -> list[Visit]:
    context = browser.new_context(**MODES[mode])
    try:
        visitor = Visitor(context, way.origin)
        if way.enter:
            visitor.visit(way.enter)
        if way.origin == "file://":
            start = way.start.replace("index.html", f"index.{language}.html" if language != "en" else "index.html")
            visits = crawl(visitor, start, lambda link: (".ja.html" in link) == (language == "ja"), 60, each)
        else:
            start = way.start.replace("/en/", f"/{language}/")
            visits = crawl(visitor, start, lambda link: f"/{language}/" in link, 60, each)
        if PICTURES:
            for kind, visit in {visit.kind: visit for visit in reversed(visits)}.items():
                visitor.visit(visit.address)
                visitor.page.wait_for_timeout(1000)
                picture(visitor.page, f"{'site' if way.origin == 'file://' else 'live'}-{mode}-{language}-{kind}")
        return visits
    finally:
        context.close()


@pytest.mark.parametrize(("mode", "language"), [("desktop", "en"), ("phone", "ja"), ("still", "ja")])
@pytest.mark.parametrize("name", ["dashboard", "site"])
def test_every_view(browser: Browser, request: pytest.FixtureRequest, name: str, mode: str, language: str) -> None:
    way = request.getfixturevalue(name)
    visits = _visits(browser, way, mode, language)
    assert {visit.kind for visit in visits} >= (KINDS if name == "dashboard" else SITE)
    assert {visit.address: visit.status for visit in visits if visit.status != 200} == {}
    assert {visit.address: visit.problems for visit in visits if visit.problems} == {}


@pytest.mark.parametrize("name", ["dashboard", "site"])
def test_html_and_accessibility(browser: Browser, request: pytest.FixtureRequest, name: str, tmp_path: Path) -> None:
    way = request.getfixturevalue(name)
    found = {}
    for mode in ("phone", "dark"):
        context = browser.new_context(**MODES[mode])
        visitor = Visitor(context, way.origin)
        if way.enter:
            visitor.visit(way.enter)

        def look(visit: Visit, mode: str = mode, visitor: Visitor = visitor) -> None:
            if wrong := axe_problems(visitor.page):
                found[f"{mode} {visit.kind}"] = wrong
            # as the server sent it or the file says it: scripts may change what the browser shows
            (tmp_path / f"{visit.kind}.html").write_text(visit.source, "utf-8")

        crawl(visitor, way.start, lambda link: "ja" not in link, 60, 1, look)
        context.close()
    assert found == {}
    assert html_problems(tmp_path) == []


def test_hostile_text_is_only_text(browser: Browser, tmp_path: Path) -> None:
    folder = write_event(tmp_path / "event", teams=2, hostile=HOSTILE)
    target = tmp_path / "out"
    _hackathon(folder, "publish", "--to", str(target), "--no-ask")
    with _served(folder) as live:
        for way in (Way((target / "site" / "index.html").as_uri(), "file://"), live):
            context = browser.new_context(**MODES["desktop"])
            visitor = Visitor(context, way.origin)
            if way.enter:
                visitor.visit(way.enter)

            def look(visit: Visit, visitor: Visitor = visitor) -> None:
                assert visit.problems == [], visit.address
                assert visitor.page.evaluate("window.hit") is None, visit.address
                assert visitor.page.evaluate("document.querySelector('main').offsetHeight") > 100

            visits = crawl(visitor, way.start, lambda link: True, 60, 2, look)
            assert {visit.kind for visit in visits} >= KINDS - {"now"}
            context.close()
