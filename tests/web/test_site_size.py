"""A site is small: pages say nothing twice, and what browsers make of them stays the same."""

import json
import lzma
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.config.load import load_event
from hackathon.index.gather import gather
from hackathon.text.paths import shipped
from hackathon.web.page import plot_forms
from hackathon.web.page.plot_forms import ABSENT, difference, whole
from hackathon.web.site import build as making
from hackathon.web.site.compact import compact
from hackathon.web.site.plot_files import Specs, parted, plot_file
from hackathon.web.site.publish import Published, publish
from support.samples.event import write_event

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow
LIMITS = {
    "study": 17_500, "run": 14_500, "team": 17_000, "index": 26_000, "scaling": 28_000, "survey": 19_000,
    "teams": 9_000, "board": 8_000, "cluster": 6_000, "schedule": 5_000, "js": 8_000, "json": 9_000, "csv": 4_500,
}  # fmt: skip
"""Bytes of one page, and of one file beside the pages, by kind; a site of 8 teams with 22 runs each is under 1.7 MB."""
AS_READ = """text => {
    const seen = [];
    const page = new DOMParser().parseFromString(text, "text/html");
    const walk = (node) => {
        if (node.nodeType === 3) {
            const inside = node.parentElement.closest("pre, script, style, textarea") !== null;
            const said = inside ? node.data : node.data.replace(/[ \\n]+/g, " ").trim();
            if (said) seen.push(said);
        } else if (node.nodeType === 1) {
            const attributes = [...node.attributes].map(each => `${each.name}=${each.value}`).sort();
            seen.push([node.tagName, ...attributes].join("|"));
            node.childNodes.forEach(walk);
            seen.push(`/${node.tagName}`);
        }
    };
    walk(page.documentElement);
    return seen;
}"""


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """Pages before they are made small."""
    return {}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, pages: dict[str, str], warm_cache: Path) -> Published:
    """The site of an event with three teams; `pages` gets its pages as they were before they were made small."""
    pytest.importorskip("vl_convert")
    folder = tmp_path_factory.mktemp("event") / "hackathon-2026"
    write_event(folder, 3)

    def watched(page: str) -> str:
        made = compact(page)
        pages[made] = page
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(warm_cache))
        patch.setenv("HACKATHON_LANG", "en")
        patch.setattr(making, "compact", watched)
        source = gather(folder, load_event(folder), ask=False, index=folder / "runs.sqlite3", diagnose=False)
        found = publish(source, folder.parent / "out", workers=1)
    assert found.warnings == []
    return found


def test_each_kind_of_page_has_a_limit(site: Published) -> None:
    sizes = defaultdict(list)
    for name, size in site.files.items():
        kind = re.split(r"[-.]", name)[0] if name.endswith(".html") else name.rpartition(".")[2]
        if name not in ("vega.js", "forms.js", "plots.js", "results.json", "results.csv") and "/" not in name:
            sizes[kind].append((size, name))
    for kind, limit in LIMITS.items():
        assert sizes[kind], f"no such page: {kind}"
        assert max(sizes[kind])[0] <= limit, max(sizes[kind])
    assert set(sizes) - set(LIMITS) <= {"css"}, "a kind of page without a limit"
    assert site.files["forms.js"] < 21_000 and site.files["plots.js"] < 15_000


def test_a_site_of_three_teams_is_small(site: Published) -> None:
    """Every page in two languages, with its drawings, their data as tables and for zooming, and the scripts."""
    names = [name for name in site.files if not name.endswith((".zip", "vega.js"))]
    raw = [(site.folder / name).read_bytes() for name in names]
    plain, small = sum(map(len, raw)), len(lzma.compress(b"".join(raw)))
    assert (plain < 800_000, small < 60_000) == (True, True), (plain, small, len(names))


def test_a_text_is_told_once(site: Published) -> None:
    """Scripts lie in crates, runs of a study on its page, specifications of pictures in one file for all languages."""
    for name in site.pages:
        text = (site.folder / name).read_text("utf-8")
        assert "application/json" not in text and "#!/bin/bash" not in text, name
        assert ("plots.js" in text) and "<style" not in text
    page = (site.folder / "team-aurora.html").read_text("utf-8")
    assert "torch-ddp, " not in page and "single, 8 processes" in page
    assert "Runs that are on the pages of their studies: 20." in page


@pytest.mark.browser
def test_browsers_make_the_same_of_a_small_page(browser: "Browser", site: Published, pages: dict[str, str]) -> None:
    assert len(pages) == len(site.pages)
    kinds: dict[str, str] = {}
    for name in site.pages:
        kinds.setdefault(re.sub(r"-.*?(?=\.ja|\.html)", "", name), name)
    page = browser.new_page()
    for name in kinds.values():
        text = (site.folder / name).read_text("utf-8")
        before, after = (page.evaluate(AS_READ, each) for each in (parted(pages[text])[0], text))
        assert before == after, name
        assert len(text) < 0.95 * len(pages[text])
    page.close()


PIECES = """
<p>a</p>
<p>b <code>c</code> d</p><p>a</p>text<p>e</p>
<ul>
<li>a</li>
<li><a href="b/">c</a> d</li>
</ul>e
<table>
<caption>c</caption>
<thead><tr><th>a</th></tr></thead>
<tbody>
<tr><td>b</td>
<td> c <span>d</span> e</td></tr></tbody>
</table>
<pre tabindex="0"><code> a
  &#34;b&#34; &lt;i&gt;
</code></pre>
<p>x</p>
<a href="x?a=1&amp;b=2" title="it&#39;s">l</a>
<section><dl><div><dt>a</dt><dd>b</dd></div></dl><p>c</p></section>
<svg viewBox="0 0 1 1"><rect width="5%" height="6"/><text x="1">a b</text></svg>
<div aria-label="a &#34;b&#34; `c` = d" class="x">
<span> a </span> <b>b</b>
</div>
<script>a && "&#39;"</script>
<p>c</p>
"""


@pytest.mark.browser
def test_what_a_page_may_leave_out(browser: "Browser") -> None:
    page = f"<!doctype html>\n<html>\n<head>\n<title>t</title>\n</head>\n<body>\n{PIECES}\n</body>\n</html>\n"
    tab = browser.new_page()
    before, after = (tab.evaluate(AS_READ, each) for each in (page, compact(page)))
    tab.close()
    assert before == after
    assert compact(compact(page)) == compact(page)
    assert "<td>b<td>c <span>d</span> e</table>" in compact(page) and "<p>a</p>text" in compact(page)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.sampled_from("ab=|@-"), max_size=2),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(st.sampled_from("ab=|@-"), max_size=2), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(JSON, JSON)
@settings(max_examples=300, deadline=None)
def test_a_difference_gives_the_value_back(form: Any, value: Any) -> None:
    told = json.loads(json.dumps(apart)) if (apart := difference(form, value)) is not ABSENT else ABSENT
    found = form if told is ABSENT else whole(form, told)
    assert json.dumps(found) == json.dumps(value) or found == value
    assert json.dumps(found, sort_keys=True) == json.dumps(value, sort_keys=True)


def test_every_picture_of_a_site_comes_back_in_every_language(site: Published, pages: dict[str, str]) -> None:
    made = defaultdict(dict)  # type: ignore[var-annotated]
    for page in pages.values():
        language = re.search(r'<html lang="(\w+)"', page)
        title = re.search(r'hreflang="\w+" href="([^".]+)', page)
        assert language and title
        made[title[1]][language[1]] = page
    assert len(made) == len(pages) // 2
    seen = 0
    for name, languages in made.items():
        file = site.folder / f"{name}.js"
        if not file.is_file():
            continue
        told = json.loads(file.read_text("utf-8").removeprefix("window.hackathonPlots=").rstrip(";\n"))
        assert set(told) <= set(re.findall(r'<div class="plot" id="([\w-]+)"', languages["en"]))
        for form, apart, *others in told.values():
            spec = whole(plot_forms.form_of(form), apart)
            layers = json.dumps(spec, ensure_ascii=False)
            assert "message:" not in layers and "fill:" not in layers and "layer" in spec
            other = whole(spec, others[0]["ja"]) if others and "ja" in others[0] else spec
            assert {name: len(rows) for name, rows in spec["datasets"].items()} == {
                name: len(rows) for name, rows in other["datasets"].items()
            }
            seen += 1
    assert seen > 20


def test_a_file_of_pictures_is_small_and_holds_each_language() -> None:
    path = shipped("templates", "plots", "progress.vl.json")
    spec = {name: each for name, each in json.loads(path.read_text("utf-8")).items() if name != "$schema"}
    points = [{"x": number, "y": number / 3} for number in range(50)]
    english = {**spec, "datasets": {"points": points}, "width": 440}
    english["encoding"]["x"]["title"] = "seconds"
    japanese = json.loads(json.dumps(english))
    japanese["encoding"]["x"]["title"] = "秒"
    both: dict[str, Specs] = {"en": {"progress-0": english}, "ja": {"progress-0": japanese}}
    text = plot_file(both)
    told = json.loads(text.removeprefix("window.hackathonPlots=").rstrip(";\n"))
    form, apart, others = told["progress-0"]
    assert form == "progress" and others == {"ja": {"encoding": {"x": {"title": "秒"}}}}
    assert whole(plot_forms.form_of(form), apart) == english
    assert len(text.encode()) < 0.6 * len(json.dumps(english))


@pytest.mark.browser
def test_pictures_come_alive_from_a_file_in_both_languages(browser: "Browser", site: Published) -> None:
    name = next(path.name.partition(".")[0] for path in sorted(site.folder.glob("study-*.html")))
    for language, word in (("", "Processes"), (".ja", "プロセス数")):
        page = browser.new_page()
        said: list[str] = []
        page.on("console", lambda line, said=said: said.append(line.text) if line.type == "error" else None)  # type: ignore[misc]
        page.on("pageerror", lambda error, said=said: said.append(str(error)))  # type: ignore[misc]
        page.goto((Path(site.folder) / f"{name}{language}.html").as_uri())
        page.locator("#efficiency").hover()
        page.wait_for_selector("#efficiency.plot-live .mark-symbol path", timeout=120_000)
        assert word in (page.locator("#efficiency").text_content() or "")
        assert said == []
        page.close()
