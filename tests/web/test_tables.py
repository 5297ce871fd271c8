"""Every table is sorted, filtered and turned over by options of its page's address, and by nothing else in them."""

import re
import tempfile
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.index.catalog import Catalog
from hackathon.index.record import RunEntry
from hackathon.text.messages import speaking
from hackathon.text.paths import shipped
from hackathon.web.dashboard.endpoint import socket_door
from hackathon.web.dashboard.server import address_of, address_to
from hackathon.web.page.addresses import OPTIONS, known_options
from hackathon.web.page.commands import COMMANDS, is_command, pieces
from hackathon.web.page.pages import Site, environment, render
from hackathon.web.page.scripts import FILES
from hackathon.web.page.tables import ABSENT, PER_PAGE, TABLES, PageOptions, is_option, ordered, value_of
from hackathon.web.routing.registry import VIEWS, values_of
from support.pages.dashboard import Served, Told, serving
from support.pages.rendered import HOSTILE, Page, read

KEY = "/p//study-1"
BLOCK = """{% call listed("points") %}<div class="scroll" aria-label="Points &amp; more">
<table class="points"><caption>All</caption>
<thead><tr><th scope="col"><span class="spoken">Tick</span></th><th scope="col">Name</th><th scope="col" class="n">Value
<span class="unit">[s]</span></th></tr></thead>
<tbody>
{% for name, value in rows %}
<tr><td class="tick">x</td><th scope="row">{{ name }}</th><td class="n">{{ value }}</td></tr>
{% endfor %}
</tbody></table></div>{% endcall %}"""
CELLS = st.text(
    st.characters(codec="utf-8", exclude_characters="\r") | st.sampled_from("0123456789,.-–<>&\"' aB日本"), max_size=12
)


def shown(rows: list[tuple[str, str]], *options: tuple[str, str], live: bool = True) -> str:
    """Return the table of a test as a reader gets it who asked for it so."""
    site = Site("Event", live=live, scripts=["some.js"])
    asked = PageOptions("/en/study?key=a%20b", options) if live else None
    return environment().from_string(BLOCK).render(site=site, asked=asked, rows=rows)


def names(page: str) -> list[str]:
    return [unescape(name) for name in re.findall(r'<th scope="row">(.*?)</th>', page, re.DOTALL)]


def runs_of(count: int, **more: Any) -> list[RunEntry]:
    return [
        RunEntry(
            f"run-{place}", "/p", name=f"try {place}", study="study-1", processes=1, created=1e9 + place,
            value=None if place % 10 == 3 else float(place * 7 % count),
            state="FAILED" if place % 10 == 3 else "SUCCEEDED", **more,
        )
        for place in range(count)
    ]  # fmt: skip


def study_page(count: int, *options: tuple[str, str], language: str = "en") -> str:
    """Return the page of a study of so many runs, as a dashboard makes it."""
    source = Catalog(tuple(runs_of(count)), live=True, now=2e9)
    with speaking(language):
        found = values_of("study", KEY, source, known_options("study", options))
    assert found is not None

    def link(kind: str, key: str) -> str:
        return address_to(language, kind, key)

    asked = PageOptions(address_to(language, "study", KEY), known_options("study", options))
    template, values = found
    return render(template, Site("Event", live=True), language, link, here="study", asked=asked, **values)


def test_a_table_is_sorted_filtered_and_turned_over() -> None:
    rows = [(f"run {place}", f"{place:,}.5 s" if place % 7 else "–") for place in range(120)]
    whole = shown(rows)
    assert names(whole) == [name for name, _ in rows[:PER_PAGE]], "the order in which they were made, 50 of them"
    assert "Page 1 of 3" in whole and "points.page=2#list-points" in whole and "aria-sort" not in whole
    last = shown(rows, ("points.sort", "-3"), ("points.page", "3"))
    assert names(last) == ["run 2", "run 1", *(f"run {7 * n}" for n in range(18))], "those without a value: last"
    assert last.count('aria-sort="descending"') == 1 and "points.sort=3#list-points" in last
    assert 'rel="prev"' in last and 'rel="next"' not in last
    first = shown(rows, ("points.sort", "3"))
    assert names(first)[:2] == ["run 1", "run 2"] and 'aria-sort="ascending"' in first
    found = shown(rows, ("points.find", "RUN 11"), ("points.sort", "-2"))
    assert names(found) == [f"run {n}" for n in (119, 118, 117, 116, 115, 114, 113, 112, 111, 110, 11)]
    assert "11 of 120" in found and 'value="RUN 11"' in found and 'class="pages"' not in found
    none = shown(rows, ("points.find", "nothing has this"))
    assert names(none) == [] and "0 of 120" in none and "<thead>" in none and "Show all" in none
    page = Page(found)
    assert ("key", "a b") in [(each.get("name"), each.get("value")) for each in page.named("input")]
    assert [each.get("aria-label") for each in page.named("form")] == ["Filter: Points & more"]


def test_heads_offer_numbers_with_the_largest_first_and_words_from_the_first() -> None:
    page = Page(shown([("b", "1"), ("a", "2")]))
    links = [each["href"] for each in page.named("a")]
    assert links == [
        "/en/study?key=a%20b&points.sort=2#list-points", "/en/study?key=a%20b&points.sort=-3#list-points",
    ], "a head that is only read out is none"  # fmt: skip
    assert not page.named("form"), "two rows need no search"
    assert "<a" not in shown([("b", "1")]), "and one row no order"


def test_what_nobody_can_mean_changes_nothing() -> None:
    rows = [(f"run {place}", str(place)) for place in range(60)]
    plain = names(shown(rows))
    for options in (
        ("points.sort", "1"), ("points.sort", "-9"), ("points.sort", "99"), ("other.sort", "-3"), ("points.page", "1"),
    ):  # fmt: skip
        assert names(shown(rows, options)) == plain, options
    assert names(shown(rows, ("points.page", "999999"))) == [name for name, _ in rows[PER_PAGE:]]
    asked = [
        ("points.sort", "0"), ("points.sort", "--3"), ("points.sort", "-100"), ("points.sort", "٣"),
        ("points.page", "0"),
        ("points.page", "1" * 7), ("points.page", "-1"), ("points.find", ""), ("points.find", "x" * 201),
        ("points0.sort", "3"), ("points100.sort", "3"), ("nothing.sort", "3"), ("points.order", "3"),
        ("points.sort.x", "3"),
        ("teams.sort", "3"), ("sort", "3"), ("POINTS.sort", "3"), ("", "3"), (".sort", "3"),
    ]  # fmt: skip
    assert known_options("study", tuple(asked)) == ()
    good = (("points.sort", "-3"), ("runs.find", "日本 <b>"), ("trials.page", "2"))
    assert known_options("study", good) == good and known_options("teams", good) == ()
    assert known_options("cluster", (("queues12.sort", "1"),)) == (("queues12.sort", "1"),)


def test_options_of_tables_come_back_from_their_address_and_views_do_not_see_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = (("overview.sort", "-3"), ("team", "a"), ("overview.find", "a&b=#?%"))
    path, _, query = address_to("ja", "scaling", "", asked).partition("?")
    assert address_of(path, query.encode()) == ("scaling", "", "ja", asked)
    given: list[object] = []
    monkeypatch.setattr(
        "hackathon.web.views.scaling.values", lambda source, key, options=(): given.append(options) or {}
    )
    values_of("scaling", "", Catalog(live=True), asked)
    values_of("scaling", "", Catalog(live=True), asked[:1])
    assert given == [(("team", "a"),), ()]


def test_tables_of_one_page_do_not_meddle_with_each_other() -> None:
    page = study_page(130, ("runs.sort", "-3"), ("runs.page", "2"))
    read(page)
    runs = page[page.index('id="list-runs"') :]
    values = re.findall(r'<td class="n">(\d+)<span class="under">', runs) or re.findall(r'<td class="n">(\d+)', runs)
    assert len(values) == PER_PAGE and [int(each) for each in values] == sorted(map(int, values), reverse=True)
    assert "Page 2 of 3" in runs
    links = [unescape(each) for each in re.findall(r'href="([^"]*runs\.page=[^"]*)"', page)]
    assert links and all("runs.sort=-3" in each and "key=%2Fp%2F%2Fstudy-1" in each for each in links)
    assert 'hreflang="ja"' not in page, "languages are the server's"
    japanese = study_page(130, ("runs.find", "run-11"), language="ja")
    assert "130 件中 11 件" in japanese and japanese.count("<form") == 2, "the field stands beside the form of ticks"
    Nested().feed(japanese)


class Nested(Page):
    """Fails where a form stands in a form."""

    def __init__(self) -> None:
        self.depth = 0
        super().__init__("")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.depth += tag == "form"
        assert self.depth < 2

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag == "form"


def test_texts_of_others_stay_texts() -> None:
    rows = [(f"{place} {HOSTILE}", HOSTILE) for place in range(12)]
    for options in ((), (("points.find", HOSTILE[:150]),), (("points.sort", "-2"), ("points.find", "<script>"))):
        page = shown(rows, *options)
        tags = {tag for tag, _ in Page(page).tags}
        assert not tags & {"script", "img"}
        assert not [name for _, each in Page(page).tags for name in each if name.startswith("on")]
        assert names(page)[0].startswith(("0 <script>", "11 <script>"))
    hidden = shown([("a", "1"), ("b", "2")] * 10, ("points.find", '"><script>alert(1)</script>'))
    assert "<script" not in hidden and names(hidden) == []
    assert names(shown([("</tr></table><td>", "1"), ("a", "2")], ("points.sort", "-3"))) == ["a", "</tr></table><td>"]


@given(st.lists(st.tuples(CELLS, CELLS), min_size=2, max_size=8), st.sampled_from(["2", "-2", "3", "-3"]))
@settings(max_examples=60, deadline=None)
def test_any_rows_are_all_there_in_one_order(rows: list[tuple[str, str]], sort: str) -> None:
    page = shown(rows, ("points.sort", sort))
    cells = re.findall(r'<th scope="row">(.*?)</th><td class="n">(.*?)</td>', page, re.DOTALL)
    got = [(unescape(name), unescape(value)) for name, value in cells]
    assert sorted(got) == sorted(rows)
    values = [value_of(" ".join((name if sort.endswith("2") else value).split())) for name, value in got]
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=sort.startswith("-")) and values[: len(known)] == known, "absent ones: last"


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_two_texts_have_an_order(one: str, other: str) -> None:
    first, second = value_of(one), value_of(other)
    assert (first is None) == (one.strip() in ABSENT)
    if first is not None and second is not None:
        assert (first < second) + (second < first) + (first == second) == 1


def test_numbers_are_sorted_as_numbers_and_digits_in_names_too() -> None:
    for texts in (
        ("−5", "-1.5 %", "0", "0.25", "0.5", "1e+01", "75 %", "1,234 ± 5", "1,234,000", "2e6", "k3", "名前"),
        ("1 process", "2 processes", "16 processes"),
        ("0:00:59", "0:02:20", "0:10:00", "48:00:00"),
        ("2026-02-28 09:00 JST", "2026-03-01 10:15 JST", "2026-11-01 00:00 JST"),
        ("n2", "n10", "node-3", "node-003a", "node-20"),
        ("1 / 3", "2 / 3", "10 / 12"),
        ("7", "9" * 5000, "k8", "k" + "9" * 5000),
    ):
        assert ordered(reversed(texts), value_of, descending=False) == list(texts)
        assert ordered(texts, value_of, descending=True) == list(reversed(texts))
    assert ordered(["–", "2", "", "1"], value_of, descending=True) == ["2", "1", "–", ""]
    assert ordered(["–", "2", "", "1"], value_of, descending=False) == ["1", "2", "–", ""]
    assert ordered([("a", 1), ("b", 1), ("c", 2)], lambda row: row[1], descending=True)[1:] == [("a", 1), ("b", 1)]


def test_a_cell_may_say_its_order() -> None:
    block = BLOCK.replace('<td class="n">{{ value }}', '<td class="n" data-order="{{ value }}">{{ value|length }}')
    rows = [("a", "3"), ("b", ""), ("c", "20")]
    made = environment().from_string(block).render(
        site=Site("Event", live=True), asked=PageOptions("/en/study", [("points.sort", "-3")]), rows=rows
    )  # fmt: skip
    assert names(made) == ["c", "a", "b"]


def test_where_no_server_answers_the_table_is_as_it_was_made() -> None:
    rows = [(f"run {place}", str(place)) for place in range(120)]
    page = shown(rows, live=False)
    assert names(page) == [name for name, _ in rows] and "<a" not in page and "<form" not in page
    assert page.count('<table data-list="Filter"') == 1
    plain = environment().from_string(BLOCK).render(site=Site("t"), asked=None, rows=rows)
    assert "data-list" not in plain, "a page without scripts"


def test_every_table_of_rows_is_in_a_block_and_known(tmp_path: Path) -> None:
    """Those without are tables of two sides of one thing, or of a moment after another."""
    told: set[str] = set()
    outside: dict[str, int] = {}
    for path in sorted(shipped("templates", "pages").glob("*.html.j2")):
        text = path.read_text("utf-8")
        told |= set(re.findall(r'{% call listed\("(\w+)"', text))
        inside = sum(block.count("<table") for block in re.findall(r"{% call listed.*?{% endcall %}", text, re.DOTALL))
        if text.count("<table") - inside:
            outside[path.name] = text.count("<table") - inside
    assert told | {"operators", "kernels"} == {name for each in TABLES.values() for name in each}
    assert outside == {
        "compare.html.j2": 1, "diff.html.j2": 1, "parts.html.j2": 1, "plan.html.j2": 3, "run.html.j2": 4,
        "runs.html.j2": 1, "schedule.html.j2": 1, "speedup.html.j2": 1, "survey.html.j2": 3, "team.html.j2": 1,
        "teams.html.j2": 1,
    }  # fmt: skip
    assert set(TABLES) <= set(VIEWS) and not any("." in name for each in OPTIONS.values() for name in each)
    assert all(is_option(kind, f"{name}.sort", "-1") for kind, each in TABLES.items() for name in each)
    assert len(FILES["tables.js"](tmp_path)) < 3000


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    told = Told(Catalog(tuple(runs_of(120)), live=True, now=2e9))
    with (
        tempfile.TemporaryDirectory(prefix="hk-", dir="/tmp") as name,
        serving(socket_door(Path(name) / "s"), tmp_path_factory.mktemp("cache"), told) as made,
    ):
        yield made


def test_a_server_keeps_what_was_asked_in_every_link_of_the_page(served: Served) -> None:
    address = address_to("en", "study", KEY, (("runs.sort", "-3"), ("runs.find", "run-1")))
    page = served.ask(address).body
    links = [unescape(each) for each in re.findall(r'<a href="([^"]*)"[^>]*hreflang="ja"', page)]
    assert links == [address.replace("/en/", "/ja/")]
    assert "of 120" in page and 'aria-sort="descending"' in page
    hostile = "&".join(
        f"runs.{what}={value}"
        for what in ("sort", "find", "page")
        for value in ("%00", "%22%3E%3Cscript%3E", "%ff", "9" * 99)
    )  # fmt: skip
    answer = served.ask(f"{address}&{hostile}")
    assert answer.status == 200 and "<script>" not in answer.body
    stream = served.ask(f"/stream?page={address.replace('&', '%26')}", method="HEAD")
    assert stream.status == 200


def test_commands_are_told_from_other_marked_words() -> None:
    for text in (
        "hackathon check", "python -m pip install 'numpy<2'", "export NCCL_DEBUG=INFO", "find data -type f | head",
        "MPICC=$(which mpicc) pip install mpi4py", "A=1 B=2 srun -N1 hostname", "module avail",
    ):  # fmt: skip
        assert is_command(text), text
    for text in (
        "mpirun", "import torch", "if rank == 0", "--mca btl ^openib", "mpirun … python train.py", "export A=1\nrm x",
        "", "command: python train.py", "x = x", "A=1", "NCCL_DEBUG=INFO", "Missing ranks", "rank", "set_epoch (epoch)",
    ):  # fmt: skip
        assert not is_command(text), text
    assert pieces("Run `hackathon check`, not `rank`.") == [
        ("Run ", ""), ("hackathon check", "command"), (", not ", ""), ("rank", "code"), (".", ""),
    ]  # fmt: skip
    assert pieces("a ` b") == [("a ` b", "")] and pieces("``") == [("", "code")]
    assert all(word.islower() for word in COMMANDS)


@given(st.text(max_size=60))
def test_pieces_lose_nothing_but_the_marks(text: str) -> None:
    whole = "".join(part for part, _ in pieces(text))
    assert whole == (text.replace("`", "") if text.count("`") % 2 == 0 else text)


def test_commands_of_our_own_advice_can_be_copied_on_a_dashboard_alone() -> None:
    source = "{% from 'form_parts.html.j2' import advice with context %}{{ advice(text) }}"
    text = "Run `hackathon check <b>'x'`, not `rank`."
    live = environment().from_string(source).render(site=Site("Event", live=True), text=text)
    page = Page(live)
    (button,) = page.named("button")
    assert button["data-copy"] == "hackathon check <b>'x'" and button["class"] == "copy"
    assert live.startswith("Run <code>hackathon check &lt;b&gt;") and live.endswith("not <code>rank</code>.")
    site = environment().from_string(source).render(site=Site("Event"), text=text)
    assert "button" not in site and site.count("<code>") == 2
    matter = shipped("templates", "pages", "matter.html.j2").read_text("utf-8")
    assert "item.advice|code if item.post else advice(item.advice)" in matter, (
        "what anybody writes on the board has none"
    )
