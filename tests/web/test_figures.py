"""Drawings are small, safe and kept; with scripts they become interactive, and stay when anything fails."""

import functools
import hashlib
import http.server
import json
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from hackathon.index.memory import Memory
from hackathon.scaling.plot import PANELS, panel, plot_spec
from hackathon.text.errors import UnavailableError
from hackathon.web.page import figures, scripts
from hackathon.web.page.figures import Figure, drawn
from hackathon.web.page.pages import Site, environment, render
from hackathon.web.page.svg import slim
from support.pages.browser import DESKTOP, Visitor
from support.samples.runs import write_study

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BUDGET = 5_000
"""Bytes of a panel of a study."""
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'</svg></script><!--]]>&lt;b&gt; 日本語"
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:"
WORDS = {
    "svg", "g", "path", "line", "text", "tspan", "rect", "circle", "defs", "clipPath", "linearGradient", "stop",
}  # fmt: skip


def _spec(label: str = "a", **more: Any) -> dict[str, Any]:
    return {
        "width": 200, "height": 120, "data": {"values": [{"x": 1, "y": 2, "t": label}, {"x": 3, "y": 4, "t": "b"}]},
        "layer": [
            {"mark": "line", "encoding": {"y": {"field": "y", "type": "quantitative"}}},
            {"mark": {"type": "point", "tooltip": True}, "encoding": {"y": {"field": "y", "type": "quantitative"}}},
            {"mark": {"type": "text", "dy": -25}, "encoding": {"text": {"field": "t", "type": "nominal"},
                                          "y": {"field": "y", "type": "quantitative"}}},
        ],
        "encoding": {"x": {"field": "x", "type": "quantitative", "title": label, "scale": {"domain": [0, 4]}}}, **more,
    }  # fmt: skip


def _figure(name: str = "one", label: str = "a", **more: Any) -> Figure:
    return Figure(name, "Title", "What is to be seen", _spec(label, **more), ("x", "y"), (("1", "2"), ("3", "4")))


@pytest.fixture(scope="module")
def panels(tmp_path_factory: pytest.TempPathFactory) -> list[Figure]:
    """The two panels of a study with failures, as on its page."""
    pytest.importorskip("vl_convert")
    results = write_study(tmp_path_factory.mktemp("study")).results
    spec = plot_spec(results, title="", language="ja")
    size = {"width": 440, "height": 340, "autosize": {"type": "fit", "contains": "padding"}}
    made = [Figure(name, name, name, {**panel(spec, name), "background": None, **size}) for name in PANELS]
    found, problem = drawn(made, Memory())
    assert problem == ""
    return found


@pytest.mark.slow
def test_panels_are_small_and_hold_nothing_but_shapes(panels: list[Figure]) -> None:
    for figure in panels:
        svg = figure.svg or ""
        assert len(svg.encode()) < BUDGET
        root = ElementTree.fromstring(svg)
        assert {element.tag for element in root.iter()} <= WORDS
        names = {name for element in root.iter() for name in element.attrib}
        assert not names & {"style", "class", "role", "href", "font-family", "onclick"}
        assert not [name for name in names if name.startswith("aria")]
        assert "プロセス数" in svg, "text stays text, so that it shows where the page's letters do"
        texts = [element.text for element in root.iter("text")]
        assert {"1", "2", "4", "8", "16"} <= set(texts)


def test_two_panels_of_a_page_do_not_share_names(panels: list[Figure]) -> None:
    ids = [
        element.attrib["id"] for each in panels for element in ElementTree.fromstring(each.svg or "").iter()
        if "id" in element.attrib
    ]  # fmt: skip
    assert len(ids) == len(set(ids))


@pytest.mark.slow
def test_hostile_texts_stay_text() -> None:
    pytest.importorskip("vl_convert")
    linked = {"mark": {"type": "point", "href": "https://example.org/", "description": HOSTILE}}
    spec = _spec(HOSTILE)
    spec["layer"].append(linked)
    (figure,), problem = drawn([Figure("h", HOSTILE, HOSTILE, spec, (HOSTILE,), ((HOSTILE,),))], Memory())
    assert problem == ""
    root = ElementTree.fromstring(figure.svg or "")
    assert {element.tag for element in root.iter()} <= WORDS
    assert any(HOSTILE[:20] in (element.text or "") for element in root.iter("text"))
    assert "example.org" not in (figure.svg or "")
    html = environment().from_string(
        "{% from 'parts.html.j2' import figure with context %}{{ figure(fig) }}"
    ).render(fig=figure, site=Site("t", scripts=["plots.js"]))  # fmt: skip
    assert html.count("<script") == 1 and html.count("</script") == 1 and "<img" not in html
    written = html.partition(' data-plot="h">')[2].partition("</script>")[0]
    assert json.loads(written)["encoding"]["x"]["title"] == HOSTILE


def test_what_is_no_drawing_is_refused() -> None:
    for text in ("", "no", "<svg>", "<html/>", "<svg xmlns='http://www.w3.org/2000/svg'/><svg/>"):
        with pytest.raises(ValueError, match="no SVG"):
            slim(text)
    kept = slim(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" style="x" onload="y"><script>z</script>'
        '<foreignObject><p>q</p></foreignObject><g><a href="javascript:1"><text style="w">t</text></a></g></svg>'
    )
    assert kept == '<svg viewBox="0 0 9 9" width="9"><text>t</text></svg>'


def test_what_looks_alike_is_told_once() -> None:
    dot = "M3,0A3,3,0,1,1,-3,0A3,3,0,1,1,3,0"
    dots = "".join(f'<path transform="translate({x},2)" d="{dot}" fill="#0b5cad"/>' for x in (1, 5, 9))
    faint = "".join(f'<path transform="translate({x},8)" d="{dot}" fill="#0b5cad" opacity="0.5"/>' for x in (1, 5, 9))
    rings = "".join(f'<path transform="translate({x},4)" d="{dot}" stroke="#111" opacity="0.5"/>' for x in (1, 5, 9))
    bars = "".join(f'<path d="M{x},5h8v2h-8Z" fill="#b45309"/>' for x in (0, 9))
    lines = "".join(f'<g clip-path="url(#{c})"><path d="M0,-1L9,0.5" stroke="#{c}{c}{c}"/></g>' for c in "abc")
    cuts = "".join(
        f'<clipPath id="{c}"><rect width="{w}" height="9"/></clipPath>' for c, w in zip("abc", "998", strict=True)
    )
    text = "".join(f'<text font-size="{size}px" transform="translate(1.4,2.6)">t</text>' for size in (11, 11, 12))
    inside = f'<g fill="none">{lines}{dots}{faint}{rings}{bars}{text}</g><defs>{cuts}</defs>'
    found = slim(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 99 9">{inside}</svg>')
    assert '<path stroke="#0b5cad" stroke-width="6" stroke-linecap="round" d="M1,2h0M5,2h0M9,2h0"/>' in found
    assert found.count("<circle") == 6, "dots through which one sees, and rings, stay what they are"
    assert '<g fill="#0b5cad" fill-opacity="0.5"><circle cx="1" cy="8" r="3"/>' in found
    assert '<g stroke="#111" stroke-opacity="0.5"><circle cx="1" cy="4" r="3"/>' in found
    assert '<path d="M0,5h8v2h-8ZM9,5h8v2h-8Z" fill="#b45309"/>' in found
    assert found.count("<clipPath") == 2 and found.count('clip-path="url(#a)"') == 1 and "url(#b)" not in found
    assert 'd="M0-1L9,.5"' in found and '<text x="1" y="3">t</text>' in found
    assert found.startswith('<svg viewBox="0 0 99 9" width="99" font-size="11">') and found.count("font-size") == 2


@pytest.mark.slow
@pytest.mark.browser
def test_a_slim_drawing_looks_as_the_engines(browser: "Browser") -> None:
    pytest.importorskip("vl_convert")
    from hackathon.scaling.plot import pictures

    spec = _spec("a", background=None)
    spec["layer"].append({"mark": {"type": "point", "filled": True, "opacity": 1, "dx": 0}, "encoding": {
        "y": {"field": "y", "type": "quantitative"}}})  # fmt: skip
    (raw,) = pictures([spec], "svg")
    small = slim(raw.decode()).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    # a page's style sheet gives the fonts; without one the two would have this machine's default and its sans-serif
    pair = [re.sub("<svg [^>]*>", r"\g<0><style>text { font-family: sans-serif }</style>", each, count=1)
            for each in (raw.decode(), small)]  # fmt: skip
    look = """async ([raw, small]) => {
        const drawn = async (text) => {
            const image = new Image();
            image.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
            await image.decode();
            const canvas = Object.assign(document.createElement("canvas"), { width: 300, height: 220 });
            const context = canvas.getContext("2d");
            context.fillStyle = "#fff";
            context.fillRect(0, 0, 300, 220);
            context.drawImage(image, 0, 0);
            return context.getImageData(0, 0, 300, 220).data;
        };
        const [one, other] = [await drawn(raw), await drawn(small)];
        const ink = one.filter((each) => each < 128).length;
        return [ink, one.filter((each, place) => Math.abs(each - other[place]) > 100).length];
    }"""
    page = browser.new_page()
    ink, apart = page.evaluate(look, pair)
    page.close()
    assert ink > 600
    assert apart < 0.3 * ink, (ink, apart, "but for letters, which lie up to half a pixel beside")


def test_a_drawing_is_kept_and_made_again_when_it_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(specs: list[dict[str, Any]], form: str) -> list[bytes]:
        calls.append(len(specs))
        return [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {len(calls)} 1"/>'.encode() for _ in specs]

    monkeypatch.setattr(figures, "pictures", counted)
    cache = tmp_path / "new" / "drawings"

    def memory_in(folder: Path) -> Memory:
        memory = Memory()
        memory.folder = folder
        return memory

    def again() -> str:
        (figure,), problem = drawn([_figure()], memory_in(cache))
        assert problem == ""
        return figure.svg or ""

    first = again()
    assert again() == first and calls == [1], "the folder had it"
    (file,) = cache.iterdir()
    assert oct(cache.stat().st_mode & 0o777) == "0o700"
    for damage in (b"", b"\xff\xfe", file.read_bytes()[:-3], b"0" * 64 + b"\n<svg><script/></svg>"):
        file.write_bytes(damage)
        before = len(calls)
        assert again() != first and len(calls) == before + 1
    drawn([_figure("b", "b"), _figure("c", "c"), _figure("d", "b")], memory_in(cache))
    assert calls[-1] == 2, "one process for all, each specification once"
    (tmp_path / "file").write_text("")
    (figure,), problem = drawn([_figure()], memory_in(tmp_path / "file"))
    assert figure.svg and not problem, "a folder that can not be written costs the cache, not the drawing"


def test_without_the_engine_the_numbers_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(specs: object, form: str) -> list[bytes]:
        raise UnavailableError("scaling.plot_missing_library")

    monkeypatch.setattr(figures, "pictures", missing)
    (figure,), problem = drawn([_figure()], Memory())
    assert figure.svg is None and problem
    html = environment().from_string("{% from 'parts.html.j2' import figure %}{{ figure(fig) }}").render(fig=figure)
    assert '<details class="data" open>' in html and "<td" in html and "<svg" not in html


def test_the_files_beside_the_pages(tmp_path: Path) -> None:
    for name in ("style.css", "plots.js"):
        assert len(scripts.FILES[name](tmp_path)) > 1000
    style = scripts.FILES["style.css"](tmp_path).decode()
    assert "http" not in style and "url(" not in style and "@import" not in style
    assert "http" not in scripts.FILES["plots.js"](tmp_path).decode().replace("http: nothing", "")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory, warm_cache: Path) -> Path:
    """A folder that holds the bundle."""
    pytest.importorskip("vl_convert")
    folder, cache = tmp_path_factory.mktemp("bundle"), warm_cache / "hackathon" / "drawings"
    scripts.FILES["vega.js"](cache)
    for file in cache.glob("vega-*.js"):
        shutil.copy2(file, folder)
    assert b"hackathonPlot" in scripts.FILES["vega.js"](folder)
    return folder


@pytest.mark.slow
def test_the_bundle_is_made_once_and_again_when_it_is_damaged(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file,) = bundle.iterdir()
    whole = scripts.vega_bundle(bundle)
    assert 500_000 < len(whole) < 1_500_000
    monkeypatch.setattr(scripts, "_bundle", lambda: b"made again")
    assert scripts.vega_bundle(bundle) == whole
    # who publishes it passes the notices of its licences on
    assert whole.startswith(b"/*!") and b"University of Washington Interactive Data Lab" in whole.partition(b"*/")[0]
    kept = file.read_bytes()
    file.write_bytes(kept[:-1])
    assert scripts.vega_bundle(bundle) == b"made again"
    file.write_bytes(kept)
    assert hashlib.sha256(scripts.vega_bundle(bundle)).digest() == hashlib.sha256(whole).digest()


class _Handler(http.server.SimpleHTTPRequestHandler):
    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def site(tmp_path: Path, bundle: Path, panels: list[Figure]) -> Iterator[tuple[str, Path]]:
    """An address and the folder that lies there: a page with the two panels and a hostile one."""
    (hostile,), _ = drawn([_figure("hostile", HOSTILE)], Memory())
    curve = {
        "width": 300, "height": 200, "data": {"values": [{"x": 1, "y": 1}, {"x": 2, "y": 0.25}, {"x": 3, "y": 0.2}]},
        "mark": "line", "encoding": {"x": {"field": "x", "type": "quantitative", "title": "seconds"},
                                     "y": {"field": "y", "type": "quantitative", "title": None}},
    }  # fmt: skip
    (line,), _ = drawn([Figure("line", "Loss", "It falls.", curve)], Memory())
    environment()  # made before its loader is extended
    text = (
        '{% extends "layout.html.j2" %}{% from "parts.html.j2" import figure with context %}'
        "{% block content %}<h1>Plots</h1><div class='plots'>"
        "{% for each in figures %}{{ figure(each) }}{% endfor %}</div>{% endblock %}"
    )
    from jinja2 import ChoiceLoader, DictLoader

    made = environment()
    loader = made.loader
    assert loader is not None
    made.loader = ChoiceLoader([loader, DictLoader({"plots-of-a-test.html.j2": text})])
    try:
        page = render(
            "plots-of-a-test.html.j2", Site("t", scripts=["plots.js"], stylesheet="style.css", policy=POLICY), "en",
            lambda kind, key: None, figures=[*panels, hostile, line],
        )  # fmt: skip
    finally:
        made.loader = loader
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    (tmp_path / "favicon.ico").write_bytes(b"")
    for name in ("style.css", "plots.js", "vega.js"):
        (tmp_path / name).write_bytes(scripts.FILES[name](bundle))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Handler, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", tmp_path
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
def test_plots_come_alive_under_the_policy_and_ask_nobody(browser: "Browser", site: tuple[str, Path]) -> None:
    """From a server with the policy as a header, and from a file with it in the page."""
    address, folder = site
    for origin in (folder.as_uri(), address):
        context = browser.new_context(viewport=DESKTOP)
        visitor = Visitor(context, origin)
        visitor.visit(f"{origin}/page.html")
        page = visitor.page
        assert page.locator("#efficiency svg").count() == 1
        assert page.locator(".plot-live").count() == 0, "Vega is not loaded before somebody points at a plot"
        for name in ("efficiency", "hostile"):
            page.locator(f"#{name}").hover()
            page.wait_for_selector(f"#{name}.plot-live", timeout=120_000)
            page.wait_for_selector(f"#{name} .mark-symbol path")
        assert page.locator("#efficiency svg").count() == 1, "it took the place of the drawing"
        if origin != address:  # what follows does not depend on where the page is from
            assert visitor.problems == []
            context.close()
            continue
        page.locator("#hostile .mark-symbol path").first.hover(force=True)
        page.wait_for_selector(".plot-note:not([hidden])", timeout=60_000)
        assert page.locator(".plot-note img, .plot-note script").count() == 0
        page.locator("#line").hover()
        page.locator("#line .mark-symbol path").nth(1).hover(force=True)
        page.wait_for_function("() => document.querySelector('.plot-note').textContent === 'seconds2Loss0.25'")
        page.evaluate("scrollTo(0, 0)")
        box = page.locator("#efficiency").bounding_box()
        assert box is not None
        before = page.locator("#efficiency .mark-line path").last.get_attribute("d")
        page.mouse.move(box["x"] + 200, box["y"] + 150)
        page.mouse.wheel(0, 60)
        page.wait_for_function("() => scrollY > 40", timeout=60_000)
        assert page.locator("#efficiency .mark-line path").last.get_attribute("d") == before, "it scrolls"
        page.keyboard.down("Control")
        page.mouse.wheel(0, -300)
        page.wait_for_function(
            "before => [...document.querySelectorAll('#efficiency .mark-line path')].at(-1)"
            ".getAttribute('d') !== before",
            arg=before, timeout=60_000,
        )  # fmt: skip
        page.keyboard.up("Control")
        # A page that is kept fresh puts new numbers in: the drawing is still again, until somebody points at it.
        page.evaluate(
            "() => document.querySelector('#efficiency .plot-room').replaceWith("
            "document.createElementNS('http://www.w3.org/2000/svg', 'svg'))"
        )
        page.locator("#hostile").hover()
        page.locator("#efficiency").hover(force=True)
        page.wait_for_selector("#efficiency .plot-room .mark-symbol path", timeout=120_000)
        assert visitor.problems == []
        context.close()


@pytest.mark.slow
def test_the_drawing_stays_when_vega_can_not_be_had(browser: "Browser", site: tuple[str, Path]) -> None:
    address, folder = site
    (folder / "vega.js").write_text("throw new Error('broken');")
    page = browser.new_page(viewport=DESKTOP)
    page.goto(f"{address}/page.html")
    with page.expect_response("**/vega.js", timeout=60_000):
        page.locator("#efficiency").hover()
    page.wait_for_timeout(300)
    assert page.locator("#efficiency svg text").count() > 5
    assert page.locator(".plot-room").count() == 0
    page.close()
