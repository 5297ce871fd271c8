"""A page in a real browser while its runs go on: it changes by itself, and leaves alone what the viewer is at."""

import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import ChoiceLoader, DictLoader

from support.pages.dashboard import Served, Told, plain_view, serving

pytest.importorskip("playwright", reason="no Chromium")

from playwright.sync_api import Browser, Page, Route, expect

from hackathon.index.record import RunEntry
from hackathon.web.dashboard import stream
from hackathon.web.dashboard.endpoint import port_door
from hackathon.web.page import pages
from hackathon.web.routing.registry import VIEWS
from support.pages.browser import PATIENCE

pytestmark = pytest.mark.browser
BELOW = "log => log.firstElementChild.getBoundingClientRect().bottom - log.getBoundingClientRect().bottom"
ABOVE = "log => log.firstElementChild.getBoundingClientRect().top - log.getBoundingClientRect().top"
TEMPLATE = """{% extends "layout.html.j2" %}
{% block title %}{{ words }}{% endblock %}
{% block content %}
<h1>{{ heading }}</h1>
<ul id="runs">{% for word in words.split() %}<li>{{ word }}</li>{% endfor %}</ul>
<details id="more"><summary>More</summary><p>{{ words }}</p></details>
{% for word in words.split() %}
<section><h2>Section {{ word }}</h2>
<details id="part-{{ loop.index }}"><summary><code>{{ word }}</code> of {{ words }}</summary>
<p>{{ words }}</p></details>
</section>
{% endfor %}
{% for word in words.split() %}<details class="about"><summary>About</summary>
<form id="form-{{ word }}"><input type="hidden" name="about" value="{{ word }}">
<textarea id="words-{{ word }}" name="text"></textarea></form></details>{% endfor %}
<p id="still">Some words that stay as they are</p>
<p><a id="here" href="?">Link</a></p>
<details class="log log-tail" open><summary>Log</summary>
<pre id="log" class="script" tabindex="0"><code>{% for number in range(200) %}line {{ number }}
{% endfor %}{% for word in words.split() %}{{ "\\n" ~ word }}{% endfor %}</code></pre></details>
<p id="end">{% for number in range(300) %}<br>{{ number }}{% endfor %}</p>
{% endblock %}
"""


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr(stream, "SHORTEST_GAP", 0.0)
    loader = pages.environment().loader
    assert loader is not None
    monkeypatch.setattr(
        pages.environment(), "loader", ChoiceLoader([DictLoader({"live_test.html.j2": TEMPLATE}), loader])
    )
    with plain_view(monkeypatch), tempfile.TemporaryDirectory(prefix="hk-", dir="/tmp") as name:
        monkeypatch.setitem(VIEWS, "now", ("live_test.html.j2", VIEWS["now"][1]))
        monkeypatch.setenv("XDG_RUNTIME_DIR", name)
        with serving(port_door("127.0.0.1", 0), tmp_path) as made:
            yield made


def tell(watch: Told, *names: str) -> None:
    watch.tell(*(RunEntry(name, "/team") for name in names))


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """One window for all tests, which takes half a second to open."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    made = context.new_page()
    made.said = []  # type: ignore[attr-defined]
    made.on("console", lambda line: made.said.append(line.text))  # type: ignore[attr-defined]
    made.on("pageerror", lambda error: made.said.append(str(error)))  # type: ignore[attr-defined]
    yield made
    context.close()


@pytest.fixture
def page(tab: Page, served: Served) -> Iterator[Page]:
    tab.said.clear()  # type: ignore[attr-defined]
    tab.goto(f"http://localhost:{served.door.port}/enter?token={served.door.token}")
    yield tab
    tab.unroute_all()
    tab.goto("about:blank")


def test_a_page_changes_by_itself_and_leaves_the_viewer_s_things_alone(page: Page, served: Served) -> None:
    assert page.url == f"http://localhost:{served.door.port}/en/now"
    expect(page.locator("#runs li")).to_have_text(["none"])
    page.evaluate("window.mark = 1; document.getElementById('still').mark = 2")
    log = page.locator("#log")
    # the end of a log is in view, and stays in view
    assert log.evaluate(BELOW) < 8
    page.locator("#more summary").click()
    page.locator("#here").focus()
    tell(served.watch, "a", "b", "c")
    expect(page.locator("#runs li")).to_have_text(["run-a", "run-b", "run-c"])
    expect(page).to_have_title("run-a run-b run-c")
    assert page.evaluate("window.mark") == 1  # no reload
    assert page.evaluate("document.getElementById('still').mark") == 2
    assert page.locator("#more").get_attribute("open") is not None
    assert page.evaluate("document.activeElement.id") == "here"
    assert log.evaluate(BELOW) < 8
    assert log.inner_text().endswith("\nrun-a\nrun-b\nrun-c")
    # who reads further up is not pulled down
    log.evaluate("log => { log.scrollTop = -1000; }")
    below = log.evaluate(BELOW)
    assert below > 900
    before = log.evaluate(ABOVE)
    tell(served.watch, "c")
    expect(page.locator("#runs li")).to_have_text(["run-c"])
    assert abs(log.evaluate(ABOVE) - before) < 2
    assert page.said == []  # type: ignore[attr-defined]


@pytest.mark.slow
def test_what_is_in_view_stays_in_view(page: Page, served: Served) -> None:
    page.locator("#still").evaluate("each => each.scrollIntoView()")
    before = page.locator("#still").evaluate("each => each.getBoundingClientRect().top")
    tell(served.watch, *(f"x{number}" for number in range(40)))
    expect(page.locator("#runs li")).to_have_count(40)
    assert abs(page.locator("#still").evaluate("each => each.getBoundingClientRect().top") - before) < 2


@pytest.mark.slow
def test_what_is_open_stays_open_when_others_come_in_before_it_or_go(page: Page, served: Served) -> None:
    """Telemetry that begins is a new section above the logs; each log after it is still the same log."""
    tell(served.watch, "b", "d")
    section = page.locator("section", has=page.get_by_role("heading", name="Section run-d"))
    section.locator("summary").click()
    section.evaluate("each => { each.mark = 3; }")
    opened = "all => all.filter(each => each.open).map(each => each.querySelector('code').textContent)"
    for names in ("abcd", "cde", "d", "xyd"):
        tell(served.watch, *names)
        expect(page.locator("section h2")).to_have_text([f"Section run-{each}" for each in names], timeout=PATIENCE)
        assert page.locator("section details").evaluate_all(opened) == ["run-d"]
        assert section.evaluate("each => each.mark") == 3
        numbers = page.locator("section details").evaluate_all("all => all.map(each => each.id)")
        assert numbers == [f"part-{number + 1}" for number in range(len(names))]


@pytest.mark.slow
def test_a_selection_is_kept_until_it_is_let_go(page: Page, served: Served) -> None:
    page.evaluate("getSelection().selectAllChildren(document.getElementById('still'))")
    tell(served.watch, "a")
    page.wait_for_timeout(1500)
    expect(page.locator("#runs li")).to_have_text(["none"])
    page.evaluate("getSelection().removeAllRanges()")
    expect(page.locator("#runs li")).to_have_text(["run-a"])


@pytest.mark.slow
def test_what_is_typed_moves_with_its_form(page: Page, served: Served) -> None:
    tell(served.watch, "a", "b", "c")
    expect(page.locator("#runs li")).to_have_count(3)
    for name in "abc":
        page.locator(f"#form-run-{name}").evaluate("form => form.closest('details').open = true")
        page.locator(f"#words-run-{name}").fill(f"answer to {name}")
    page.locator("#words-run-b").focus()
    page.locator("#words-run-b").evaluate("field => field.setSelectionRange(3, 6)")
    tell(served.watch, "c", "b", "a")
    expect(page.locator("#runs li")).to_have_text(["run-c", "run-b", "run-a"])
    for name in "abc":
        expect(page.locator(f"#form-run-{name} #words-run-{name}")).to_have_value(f"answer to {name}")
        expect(page.locator(f"#words-run-{name}")).to_be_visible()
    assert page.evaluate("document.activeElement.id") == "words-run-b"
    assert page.evaluate("[document.activeElement.selectionStart, document.activeElement.selectionEnd]") == [3, 6]
    expect(page.locator(".kept")).to_have_count(0)
    assert page.said == []  # type: ignore[attr-defined]


@pytest.mark.slow
def test_what_is_typed_is_kept_when_its_form_goes(page: Page, served: Served) -> None:
    tell(served.watch, "a", "b")
    expect(page.locator("#runs li")).to_have_count(2)
    page.locator("#form-run-a").evaluate("form => form.closest('details').open = true")
    field, kept = page.locator("#words-run-a"), page.locator(".kept")
    field.focus()
    tell(served.watch, "b")
    expect(page.locator("#runs li")).to_have_text(["run-b"])
    expect(kept).to_have_count(0)  # nothing was typed
    tell(served.watch, "a", "b")
    expect(page.locator("#runs li")).to_have_count(2)
    page.locator("#form-run-a").evaluate("form => form.closest('details').open = true")
    field.press_sequentially("half an ")
    tell(served.watch, "b")
    # the page goes on without it
    expect(page.locator("#runs li")).to_have_text(["run-b"])
    expect(page).to_have_title("run-b")
    expect(kept).to_contain_text("what you wrote is kept here")
    page.keyboard.type("answer")  # it still has the focus
    tell(served.watch, "b", "c")
    expect(page.locator("#runs li")).to_have_text(["run-b", "run-c"])
    expect(field).to_have_value("half an answer")
    # it can still be sent, as a part of the form that it was in
    assert field.evaluate("field => [...new FormData(field.form)]") == [["about", "run-a"], ["text", "half an answer"]]
    # when what it was about comes back, it goes back to its place
    tell(served.watch, "a", "c")
    expect(kept).to_have_count(0)
    expect(page.locator("main #form-run-a #words-run-a")).to_have_value("half an answer")
    assert page.evaluate("document.activeElement.id") == "words-run-a"
    tell(served.watch, "c")
    expect(kept).to_have_count(1)
    field.fill("")
    expect(kept).to_have_count(0)
    tell(served.watch, "c", "d")
    expect(page.locator("#runs li")).to_have_text(["run-c", "run-d"])
    expect(kept).to_have_count(0)
    assert page.said == []  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_lost_connection_is_told(page: Page, served: Served) -> None:
    notice = page.locator("#connection")
    expect(notice).to_be_hidden()
    expect(notice).to_have_attribute("role", "status")
    served.close()
    expect(notice).to_be_visible()
    expect(notice).to_have_text(re.compile("^Connection lost"))
    expect(page.locator("#runs li")).to_have_text(["none"])  # what was there stays


@pytest.mark.slow
def test_a_page_whose_key_is_no_more_the_right_one_says_so(page: Page, served: Served) -> None:
    """As after a restart with `--port`, which makes a new key."""
    ended = {"status": 200, "content_type": "text/event-stream", "body": "retry: 100\n\n"}
    page.route("**/stream?*", lambda route: route.fulfill(**ended))
    page.reload()
    page.context.clear_cookies()
    page.unroute("**/stream?*")
    notice = page.locator("#connection")
    expect(notice).to_have_text(
        re.compile("^This page can no longer connect because the dashboard was restarted"), timeout=PATIENCE
    )
    expect(page.locator("#runs li")).to_have_text(["none"])


@pytest.mark.slow
def test_a_page_that_could_not_be_fetched_is_fetched_again(page: Page, served: Served) -> None:
    failures: list[str] = []

    def fail(route: Route) -> None:
        failures.append(route.request.url)
        route.abort() if len(failures) == 1 else route.continue_()

    page.route("**/en/now", fail)
    tell(served.watch, "a")
    expect(page.locator("#runs li")).to_have_text(["run-a"], timeout=PATIENCE)
    assert len(failures) == 2


@pytest.mark.slow
def test_a_page_that_can_not_be_made_says_so(page: Page, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "LONGEST_GAP", 0.2)
    notice = page.locator("#connection")
    monkeypatch.setattr(sys.modules["plain_view"], "values", lambda source, key: 1 / 0)
    tell(served.watch, "a")
    expect(notice).to_have_text(re.compile("out of date"), timeout=PATIENCE)
    expect(page.locator("#runs li")).to_have_text(["none"])


@pytest.mark.slow
def test_markup_in_texts_of_others_stays_text(page: Page, served: Served) -> None:
    tell(served.watch, "<img/src=x/onerror=alert(1)>", "<script>alert(2)</script>")
    expect(page.locator("#runs li")).to_have_count(2)
    assert page.locator("main img, main script").count() == 0
    assert page.said == []  # type: ignore[attr-defined]
