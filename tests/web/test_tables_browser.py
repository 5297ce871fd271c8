"""Tables sorted, filtered and turned over in headless Chromium: with and without JavaScript, on a server and a site."""

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
from playwright.sync_api import Browser, Page, expect

from hackathon.board.board import open_board
from hackathon.board.directory import make_place
from hackathon.board.post import post
from hackathon.config.event import Event, Team
from hackathon.index.catalog import Catalog
from hackathon.index.record import CauseText, RunEntry
from hackathon.web.dashboard.endpoint import port_door
from hackathon.web.page.pages import Site, environment, render
from hackathon.web.page.scripts import FILES
from hackathon.web.page.tables import SEARCHED, ordered, value_of
from hackathon.web.site.build import POLICY
from support.pages.browser import DESKTOP, PHONE, Look, Visitor, axe_problems, html_problems, looks, picture
from support.pages.dashboard import Told, serving

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
MIDDLE = {"width": 1024, "height": 800}
WIDE = {"width": 1440, "height": 900}
LOOKS = {
    "en": (Look(WIDE), Look(WIDE, "dark")),
    "ja": (Look(MIDDLE), Look(DESKTOP, media="print"), Look(PHONE)),
}
AXE = {"en": {"study": "colours", "runs": "colours"}, "ja": dict.fromkeys(("study", "now", "runs", "board"), "all")}
"""Language → page → what axe looks at in the last look; test_browser.py lets it look at every view."""
STUDY = "/en/study?key=%2Fp%2F%2Fstudy-1"
ADVICE = "Run `hackathon check`, then `python -m pip install 'numpy<2'`. Do not `import numpy` before."
NASTY = (
    ("n10", "1,234 ± 5", "0:02:20"), ("n2", "−5", "48:00:00"), ("Node-3", "–", "2026-03-01 10:15 JST"),
    ("<b>x</b>", "75 %", ""), ("日本", "1e3 s", "2026-02-28 09:00 JST"), ("–", "0.25", "1 / 3"),
    ("a  b", "0.5", "10 / 12"), ("?", "3.20 ×", "2 / 3"), ("0007", "1234567", "k3x9"), ("7 try", "-0.1", "k10"),
    ("12", "2 GiB", "0:00:59"), ("[removed]", "1,2", "–"),
)  # fmt: skip
BLOCK = """{% extends "layout.html.j2" %}{% block content %}<h1>Nodes</h1>
{% call listed("hosts") %}<div class="scroll" tabindex="0" role="region" aria-label="Nodes"><table>
<caption class="spoken">Nodes</caption>
<thead><tr><th scope="col"><span class="spoken">Number</span></th><th scope="col">Name</th>
<th scope="col" class="n">Value
<span class="unit">[s]</span></th><th scope="col">Time</th></tr></thead>
<tbody>
{% for row in rows %}
<tr><td>{{ loop.index0 }}</td><th scope="row">{{ row[0] }}</th><td class="n">{{ row[1] }}</td><td>{{ row[2] }}</td></tr>
{% endfor %}
</tbody></table></div>{% endcall %}{% endblock %}"""


@dataclass(frozen=True)
class Place:
    """A served event."""

    origin: str
    enter: str
    watch: Told
    runs: tuple[RunEntry, ...]

    def address(self, path: str) -> str:
        return f"{self.origin}{path}"


def _runs(now: float) -> list[RunEntry]:
    """Return a study of 130 runs, one of two series, 14 runs that go on, and one that failed."""
    common: dict[str, Any] = {"project": "/p", "team": "aurora", "user": "u1", "cluster": "local", "nodes": 1}
    many = [
        RunEntry(
            f"20260301-100000-train-4p-a{place:03d}", name=f"try {place}", study="study-1", processes=4,
            created=now - 90000 + place, ended=now - 80000 + place, unit="samples/s",
            value=None if place % 10 == 3 else float(place * 7 % 130),
            state="FAILED" if place % 10 == 3 else "SUCCEEDED", **common,
        )
        for place in range(130)
    ]  # fmt: skip
    series = [
        RunEntry(
            f"20260301-110000-train-{count}p-b{place}{count}", name="grid", study="study-2", processes=count,
            settings={"lr": lr}, created=now - 90000, ended=now - 80000, value=100.0 * count**power, state="SUCCEEDED",
            **common,
        )
        for place, (lr, power) in enumerate(((0.1, 0.9), (0.2, 0.7)))
        for count in (1, 2, 4)
    ]  # fmt: skip
    going = [
        RunEntry(
            f"20260302-110000-train-8p-c{place:03d}", name=f"going {place}", processes=8, state="RUNNING",
            created=now - 700, started=now - 60 * (place + 1), progress=now - 1, value=float(10 * place), **common,
        )
        for place in range(14)
    ]  # fmt: skip
    told = CauseText("A package is missing", ADVICE, "ModuleNotFoundError", "logs/rank-0.log:3")
    failed = RunEntry(
        "20260302-120000-train-1p-dddd", name="broken", processes=1, state="FAILED", created=now - 900,
        started=now - 800, ended=now - 700, part="env", rule="module-not-found", told={"en": told, "ja": told},
        **common,
    )  # fmt: skip
    return [failed, *going, *series, *many]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, warm_cache: Path) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("event")
    make_place(folder / "shared", "sticky")
    for number in range(3):
        post(
            open_board(folder / "shared", folder),
            f"Question {number}\nabout NCCL {('ring', 'tree', 'net')[number]}",
            kind="ask",
        )
    now = time.time()
    event = Event("Event", teams=[Team("aurora"), Team("boreas")], shared="shared")
    runs = tuple(_runs(now))
    told = Told(Catalog(runs, event=event, event_folder=folder, live=True, now=now))
    door = tmp_path_factory.mktemp("door")
    door.chmod(0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(door))
        patch.delenv("HACKATHON_SHARED", raising=False)
        with serving(port_door("127.0.0.1", 0), warm_cache / "hackathon" / "drawings", told) as served:
            origin = f"http://127.0.0.1:{served.door.port}"
            yield Place(origin, f"{origin}/enter?token={served.door.token}", told, runs)


@contextmanager
def visiting(browser: Browser, place: Place, **how: Any) -> Iterator[Visitor]:
    context = browser.new_context(**{"viewport": DESKTOP, **how})
    try:
        visitor = Visitor(context, place.origin)
        visitor.visit(place.enter)
        yield visitor
    finally:
        context.close()


def _names(page: Page, table: str = "#list-runs") -> list[str]:
    return [each.split("-")[-1] for each in page.locator(f"{table} tbody th code").all_inner_texts()]


@pytest.mark.parametrize("script", [False, True], ids=["without scripts", "with scripts"])
def test_a_table_of_many_runs_on_a_dashboard(browser: Browser, place: Place, script: bool) -> None:
    with visiting(browser, place, java_script_enabled=script) as visitor:
        page = visitor.page
        assert visitor.visit(place.address(STUDY)).problems == []
        table = page.locator("#list-runs")
        expect(table.locator("tbody tr")).to_have_count(50)
        assert _names(page)[:2] == ["a000", "a001"]
        page.get_by_role("navigation", name="Pages: Runs").get_by_role("link", name="Next").click()
        page.wait_for_url(re.compile(r"runs\.page=2#list-runs$"))
        assert _names(page)[0] == "a050"
        table.get_by_role("link", name="Measured").click()
        value = table.get_by_role("columnheader", name="Measured")
        expect(value).to_have_attribute("aria-sort", "descending")
        assert "runs.page" not in page.url and len(_names(page)) == 50
        values = [float(each.split()[0]) for each in table.locator("tbody td.n:nth-of-type(2)").all_inner_texts()]
        assert values[0] == 129 and values == sorted(values, reverse=True)
        table.get_by_role("link", name="Measured").click()
        expect(value).to_have_attribute("aria-sort", "ascending")
        search = page.get_by_role("search", name="Filter: Runs")
        search.get_by_role("searchbox").fill("a11 succeeded")
        search.get_by_role("button", name="Search").click()
        expect(table.locator("tbody tr")).to_have_count(9)
        assert "9 of 130" in search.inner_text() and "runs.sort=" in page.url
        page.get_by_role("link", name="日本語").click()
        page.wait_for_url(re.compile("/ja/study"))
        assert "runs.sort=" in page.url and "runs.find=" in page.url
        expect(page.locator("#list-runs tbody tr")).to_have_count(0)  # the words of a state are another language's
        page.locator("form.filters a").click()
        expect(page.locator("#list-runs tbody tr")).to_have_count(50)
        page.locator("#list-runs input[name=run]").first.check()
        page.locator("#list-runs input[name=run]").nth(1).check()
        page.get_by_role("button", name="選んだ実行を比較").click()
        page.wait_for_url(re.compile(r"/ja/compare\?"))
        assert page.url.count("run=") == 2
        visitor.visit(place.address("/en/board"))
        assert page.locator("article").count() == 3
        page.get_by_role("searchbox").fill("nccl tree")
        page.get_by_role("button", name="Search").click()
        expect(page.locator("article")).to_have_count(1)
        assert visitor.problems == []


def test_what_was_asked_stays_when_the_page_is_kept_fresh(browser: Browser, place: Place) -> None:
    with visiting(browser, place) as visitor:
        page = visitor.page
        visitor.visit(place.address(f"{STUDY}&runs.sort=-3&runs.find=succeeded"))
        expect(page.locator("#list-runs tbody tr")).to_have_count(50)
        assert _names(page)[0] == "a037", "the largest value"
        best = replace(place.runs[-1], id="20260301-100000-train-4p-z999", value=9999.0, state="SUCCEEDED")
        place.watch.tell(*place.runs, best)
        try:
            expect(page.locator("#list-runs tbody tr").first).to_contain_text("z999", timeout=60_000)
            expect(page.locator("#list-runs tbody tr")).to_have_count(50)
            assert page.locator("[aria-sort=descending]").count() == 1 and "118 of 131" in page.content()
        finally:
            place.watch.tell(*place.runs)
        assert visitor.problems == []


def _site(folder: Path, rows: tuple[tuple[str, str, str], ...]) -> None:
    """Write a page of a site with one table, and the files beside it."""
    from jinja2 import ChoiceLoader, DictLoader

    made = environment()
    loader = made.loader
    assert loader is not None
    made.loader = ChoiceLoader([loader, DictLoader({"tables-of-a-test.html.j2": BLOCK})])
    try:
        site = Site("Site", scripts=["plots.js", "tables.js"], stylesheet="style.css", policy=POLICY)
        page = render("tables-of-a-test.html.j2", site, "en", lambda kind, key: None, rows=rows)
    finally:
        made.loader = loader
    (folder / "page.html").write_text(page, "utf-8")
    for name in ("style.css", "plots.js", "tables.js"):
        (folder / name).write_bytes(FILES[name](folder))


def test_a_site_sorts_as_the_server_does_and_is_whole_without_scripts(browser: Browser, tmp_path: Path) -> None:
    assert len(NASTY) > SEARCHED
    _site(tmp_path, NASTY)
    for script in (False, True):
        context = browser.new_context(viewport=DESKTOP, java_script_enabled=script)
        visitor = Visitor(context, tmp_path.as_uri())
        assert visitor.visit(f"{tmp_path.as_uri()}/page.html").problems == []
        page = visitor.page
        order = page.locator("tbody td:first-child")
        assert order.all_inner_texts() == [str(number) for number in range(len(NASTY))]
        if not script:
            assert page.locator("main a, main input").count() == 0
            context.close()
            continue
        assert page.locator("thead a").count() == 3, "a head that is only read out is none"
        for column in range(3):
            cells = [" ".join(row[column].split()) for row in NASTY]
            for click in range(2):
                head = page.locator("thead th").nth(column + 1)
                head.locator("a").press("Enter") if click else head.locator("a").click()
                descending = head.get_attribute("aria-sort") == "descending"
                assert descending == ((column == 1) != bool(click)) or column != 1
                wanted = ordered(range(len(cells)), lambda n, cells=cells: value_of(cells[n]), descending=descending)
                assert order.all_inner_texts() == [str(number) for number in wanted], (column, descending)
                assert page.locator("[aria-sort]").count() == 1 and page.locator("thead .arrow").count() == 1
        page.get_by_label("Filter").fill("JST 日")
        expect(page.locator("tbody tr:visible")).to_have_count(1)
        page.get_by_label("Filter").fill("")
        expect(page.locator("tbody tr:visible")).to_have_count(len(NASTY))
        assert page.url.endswith("page.html") and visitor.problems == [] and axe_problems(page) == []
        picture(page, "tables-site")
        context.close()


def test_commands_in_advice_have_a_button_that_copies(browser: Browser, place: Place) -> None:
    with visiting(browser, place, permissions=["clipboard-read", "clipboard-write"]) as visitor:
        page = visitor.page
        visitor.visit(place.address("/en/now"))
        matter = page.locator(".matter", has_text="A package is missing")
        matter.locator("summary").click()
        advice = matter.locator(".help-advice")
        assert advice.locator("code").all_inner_texts() == [
            "hackathon check", "python -m pip install 'numpy<2'", "import numpy",
        ]  # fmt: skip
        buttons = advice.locator("button.copy")
        expect(buttons).to_have_count(2)
        page.evaluate("() => { window.setTimeout = () => 0; }")  # the word stays until it was seen
        buttons.nth(1).click()
        expect(buttons.nth(1)).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == "python -m pip install 'numpy<2'"
        assert visitor.problems == []
    with visiting(browser, place, java_script_enabled=False) as visitor:
        visitor.visit(place.address("/en/now"))
        assert visitor.page.locator(".help-advice button.copy:visible").count() == 0


def test_pages_with_tables_are_sound_at_every_width(browser: Browser, place: Place, tmp_path: Path) -> None:
    pages = {
        "study": STUDY.replace("/en/", "/{}/") + "&runs.sort=-3&runs.page=2&points.sort=1",
        "team": "/{}/team?key=aurora&runs.sort=2&studies.sort=-3", "teams": "/{}/teams?teams.sort=-1",
        "now": "/{}/now?well.sort=-7&well.find=going", "runs": "/{}/runs?sort=-value&page=2",
        "board": "/{}/board?find=question", "scaling": "/{}/scaling?references.sort=-2&overview.sort=-4",
    }  # fmt: skip
    found: dict[str, object] = {}
    for language, ways in LOOKS.items():
        with visiting(browser, place) as visitor:
            for name, path in pages.items():
                visit = visitor.visit(place.address(path.format(language)))
                last = replace(ways[-1], axe=AXE[language].get(name, ""))  # type: ignore[arg-type]
                found |= looks(visitor.page, f"tables-{language}-{name}", *ways[:-1], last)
                if visitor.problems or visit.status != 200:
                    found[f"{language} {name}"] = (visit.status, list(visitor.problems))
                if language == "en":
                    (tmp_path / f"{name}.html").write_text(visit.source, "utf-8")
    assert found == {}
    _site(tmp_path, NASTY)  # with the page of a site
    assert html_problems(tmp_path) == []
