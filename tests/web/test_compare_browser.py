"""Runs found, ticked and compared, and logs searched, in headless Chromium: without JavaScript first, then with it."""

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright")
pytest.importorskip("vl_convert")
from playwright.sync_api import Browser, expect

from hackathon.index.record import RunEntry
from hackathon.web.dashboard.endpoint import port_door
from support.pages.browser import DESKTOP, PHONE, Look, Visitor, html_problems, looks
from support.pages.dashboard import Told, serving
from support.samples.rich_runs import source_of, write_rich

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
MIDDLE = {"width": 1024, "height": 800}
WIDE = {"width": 1440, "height": 900}
LOOKS = {
    "en": (Look(WIDE), Look(WIDE, "dark", axe="colours")),
    "ja": (Look(MIDDLE), Look(DESKTOP, media="print"), Look(PHONE, axe="all")),
}
PRINTED = "".join(f"step {10 * n} loss: {2.0 / (1 + n):.4f} throughput: {900 + n % 7} samples/s\n" for n in range(60))


@dataclass(frozen=True)
class Place:
    """A served event of one team."""

    origin: str
    enter: str
    runs: tuple[RunEntry, ...]
    """Newest first: one that goes on, one of an own program, one that failed, two that succeeded."""

    def address(self, path: str) -> str:
        return f"{self.origin}{path}"


def _own_program(run: Path) -> None:
    """Take what a Meter wrote out of a run, and let it print its numbers."""
    (run / "metrics/rank-0.jsonl").unlink()
    (run / "logs/rank-0.log").write_text(PRINTED)


def _going(run: Path, now: float) -> None:
    """Let a run go on: 400 steps asked for, begun 1000 s ago, at step 20 for 520 s, its last rank silent longer."""
    (run / "final.json").unlink()
    request = json.loads((run / "request.json").read_text())
    request["parameters"] = {**request["parameters"], "steps": 400}
    (run / "request.json").write_text(json.dumps({**request, "walltime": 3600}))
    head = {"attempt": 1, "host": "n1"}
    (run / "events/job.jsonl").write_text(json.dumps({"t": now - 1000, "event": "started", **head}) + "\n")
    lines = [{"t": now - 900 + 19 * n, "step": n, "loss": 1 / (n + 1), "attempt": 1} for n in range(21)]
    (run / "metrics/rank-0.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for rank in range(4):
        (run / f"logs/rank-{rank}.log").write_text("".join(f"step {n} of rank {rank}\n" for n in range(20)))
        age = 760.0 if rank == 3 else 520.0
        os.utime(run / f"logs/rank-{rank}.log", (now - age, now - age))
    os.utime(run / "metrics/rank-0.jsonl", (now - 520, now - 520))
    os.utime(run / "logs/job.log", (now - 900, now - 900))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, warm_cache: Path) -> Iterator[Place]:
    project, now = tmp_path_factory.mktemp("event") / "train", time.time()
    for number in range(5):
        run = write_rich(project, number, failed=number == 2, lr=0.1 * (number + 1), note=f"try {number}")
        if number == 3:
            _own_program(run)
        elif number == 4:
            _going(run, now)
    source = source_of(project, live=True)
    runs = tuple(_as_of(now, each) for each in source.summaries)
    told = Told(type(source)(runs, source.projects, live=True, now=now))
    folder = tmp_path_factory.mktemp("door")
    folder.chmod(0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        with serving(port_door("127.0.0.1", 0), warm_cache / "hackathon" / "drawings", told) as served:
            origin = f"http://127.0.0.1:{served.door.port}"
            yield Place(origin, f"{origin}/enter?token={served.door.token}", runs)


def _as_of(now: float, run: RunEntry) -> RunEntry:
    if run.ended is not None and run.state in ("SUCCEEDED", "FAILED"):
        return run
    return replace(run, state="RUNNING", ended=None, started=now - 1000, step=20, walltime=3600)


@contextmanager
def visiting(browser: Browser, place: Place, **how: Any) -> Iterator[Visitor]:
    context = browser.new_context(**{"viewport": DESKTOP, **how})
    try:
        visitor = Visitor(context, place.origin)
        visitor.visit(place.enter)
        yield visitor
    finally:
        context.close()


@pytest.mark.parametrize("script", [False, True], ids=["without scripts", "with scripts"])
def test_ticked_runs_stand_beside_each_other(browser: Browser, place: Place, script: bool) -> None:
    with visiting(browser, place, java_script_enabled=script) as visitor:
        assert visitor.visit(place.address("/en/runs")).problems == []
        page = visitor.page
        expect(page.locator(".all-runs tbody tr")).to_have_count(5)
        page.get_by_role("searchbox").fill("try")
        page.get_by_label("State").select_option("good")
        page.get_by_role("button", name="Search").click()
        expect(page.locator(".all-runs tbody tr")).to_have_count(3)
        assert "find=try" in page.url and "state=good" in page.url
        page.get_by_role("link", name="Measured").click()
        page.wait_for_url(re.compile("-value"))
        expect(page.locator(".all-runs tbody tr td.n:nth-last-of-type(3)")).to_have_count(3)
        for box in page.locator(".all-runs input[name=run]").all():
            box.check()
        page.get_by_role("button", name="Compare the ticked runs").click()
        page.wait_for_url(re.compile(r"/en/compare\?run="))
        expect(page.locator(".key-runs li")).to_have_count(3)
        expect(page.locator("figure.picture").first).to_be_visible()
        # two Meters' curves over time; the printed one has another axis, and the page says so
        assert page.locator(".key-runs li", has_text="without a curve").count() <= 1
        request = page.locator("table.compared", has_text="parameter lr")
        assert {"0.1", "0.2"} <= set(request.locator("tr", has_text="parameter lr").locator("td").all_inner_texts())
        page.locator(".key-runs input[name=run]").last.click()  # uncheck() would click again on the next page
        if not script:
            page.get_by_role("button", name="Show the ticked ones").click()
        expect(page.locator(".key-runs li")).to_have_count(2)
        page.get_by_label("Smoothing").select_option("5")
        page.get_by_label("Horizontal axis").select_option("step") if not script else None
        if not script:
            page.get_by_role("button", name="Show", exact=True).click()
        page.wait_for_url("**smooth=5**")
        assert script or "x=step" in page.url
        assert page.locator(".key-runs li").count() == 2
        assert visitor.problems == []


def test_a_run_says_how_it_stands_and_a_log_is_searched(browser: Browser, place: Place) -> None:
    going, own, failed = place.runs[:3]
    with visiting(browser, place, java_script_enabled=False) as visitor:
        page = visitor.page
        visitor.visit(place.address(f"/run/{going.id[-8:-2]}"))
        assert "/en/run?key=" in page.url
        text = page.locator("main").inner_text()
        assert re.search(r"No output for \d+ min", text) and "step 20 measured" in text
        assert "Step 20 of 400: at this pace it ends at about" in text and "after its walltime" in text
        ranks = page.locator("table", has_text="Last collective")
        assert "13 min ago" in ranks.inner_text()
        expect(ranks.locator("tbody tr")).to_have_count(4)

        visitor.visit(place.address(f"/run/{own.id[-8:]}"))
        assert "These curves come from the lines that the program printed." in page.locator("main").inner_text()
        titles = page.locator("figcaption").all_inner_texts()
        assert "Loss" in titles and "Throughput [samples/s]" in titles
        page.get_by_role("link", name="search in rank-0.log").click() if page.get_by_role(
            "link", name="search in rank-0.log"
        ).is_visible() else visitor.visit(place.address(f"/en/log?key={own.project}//{own.id}|rank-0.log"))
        page.get_by_role("searchbox").fill("STEP 590")
        page.get_by_role("button", name="Search").click()
        expect(page.locator("h2")).to_contain_text("1 line has")
        page.locator("a.number").click()
        page.wait_for_url(re.compile(r"line=60.*#L60$"))
        assert page.locator("mark").inner_text().startswith("step 590 loss")

        visitor.visit(place.address(f"/run/{failed.id[-8:]}"))
        page.locator(".cause .help-place a").click()
        page.wait_for_url(re.compile("line=42"))
        assert "out of memory" in page.locator("mark").inner_text()
        assert visitor.visit(place.address("/run/nothing-has-this")).status == 404
        visitor.visit(place.address("/run/torch"))  # all of them
        assert "/en/runs?find=torch" in page.url


def test_charts_are_downloaded_and_one_line_goes_through_all_of_them(browser: Browser, place: Place) -> None:
    run = place.runs[-1]
    with visiting(browser, place) as visitor:
        page = visitor.page
        visitor.visit(place.address(f"/en/run?key={run.project}//{run.id}"))
        charts = page.locator(".plots").first.locator(".plot")
        expect(charts).to_have_count(3)
        charts.first.hover()
        expect(page.locator(".plots").first.locator(".plot-room svg")).to_have_count(3, timeout=120_000)
        box = charts.first.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2)
        expect(page.locator(".crosshair")).to_have_count(3)
        places = page.evaluate(
            "[...document.querySelectorAll('.crosshair')].map(each => {"
            "const plot = each.parentElement.getBoundingClientRect(), line = each.getBoundingClientRect();"
            "return [(line.left - plot.left) / plot.width, line.height]})"
        )
        assert max(at for at, _ in places) - min(at for at, _ in places) < 0.1 and all(high > 50 for _, high in places)
        page.locator("h1").hover()
        expect(page.locator(".crosshair")).to_have_count(0)
        contents = {}
        for kind in ("CSV", "SVG", "PNG"):
            with page.expect_download() as download:
                page.get_by_role("button", name=f"Download as {kind}: Loss").click()
            contents[kind] = Path(download.value.path()).read_bytes()
            assert download.value.suggested_filename.endswith(f"progress-1.{kind.lower()}")
        rows = contents["CSV"].decode("utf-8-sig").splitlines()
        assert rows[0] == "data,x,y" and len(rows) > 100 and rows[1].startswith("points,")
        assert contents["SVG"].startswith(b"<svg") and b"minutes since the start" in contents["SVG"]
        assert contents["PNG"].startswith(b"\x89PNG") and len(contents["PNG"]) > 3000
        assert visitor.problems == []


def test_keys_lead_through_pages_and_can_be_switched_off(browser: Browser, place: Place) -> None:
    with visiting(browser, place) as visitor:
        page = visitor.page
        visitor.visit(place.address("/en/teams"))
        # the second letter counts for a moment only, which does not pass here
        page.evaluate("() => { const now = Date.now(); Date.now = () => now; }")
        page.keyboard.press("g")
        page.keyboard.press("r")
        page.wait_for_url("**/en/runs")
        page.keyboard.press("j")
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.closest('tr').rowIndex") == 2
        page.keyboard.press("k")
        assert page.evaluate("document.activeElement.closest('tr').rowIndex") == 1
        page.keyboard.press("/")
        page.keyboard.type("try gr")  # in a field, letters are letters
        assert page.evaluate("document.activeElement.value") == "try gr" and page.url.endswith("/en/runs")
        page.get_by_label("Keyboard shortcuts").uncheck()
        page.reload()
        page.keyboard.press("g")
        page.keyboard.press("t")
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement === document.body") and page.url.endswith("/en/runs")


def test_pages_are_sound_at_every_width(browser: Browser, place: Place, tmp_path: Path) -> None:
    ids = "&".join(f"run={each.id[-8:]}" for each in place.runs)
    key = f"{place.runs[0].project}//{place.runs[0].id}"
    pages = {
        "runs": "/{}/runs?sort=-value", "compare": "/{}/compare?" + ids, "run": "/{}/run?key=" + key,
        "log": "/{}/log?key=" + f"{key}|rank-0.log&find=step",
        "own": "/{}/run?key=" + f"{place.runs[1].project}//{place.runs[1].id}",
    }  # fmt: skip
    found: dict[str, object] = {}
    for language, ways in LOOKS.items():
        with visiting(browser, place) as visitor:
            for name, path in pages.items():
                visit = visitor.visit(place.address(path.format(language)))
                if name == "own":  # another run, of the same template
                    ways = tuple(replace(way, axe="") for way in ways)
                found |= looks(visitor.page, f"compare-{language}-{name}", *ways)
                if visitor.problems or visit.status != 200:
                    found[f"{language} {name}"] = (visit.status, list(visitor.problems))
                if language == "en":
                    (tmp_path / f"{name}.html").write_text(visit.source, "utf-8")
    assert found == {}
    assert html_problems(tmp_path) == []
