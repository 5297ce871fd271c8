"""The list of runs, runs beside each other and the pages of logs are made from the index and bounded files."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from hackathon.config.event import Event, Publish
from hackathon.index.catalog import Catalog
from hackathon.index.record import RunEntry
from hackathon.index.studies import by_team
from hackathon.text.messages import speaking
from hackathon.web.listing import log as log_module
from hackathon.web.listing.compare import MOST, compare_page
from hackathon.web.listing.log import END, HITS, LogPage
from hackathon.web.listing.runs import PER_PAGE, ordered, runs_page
from hackathon.web.page.addresses import OPTIONS, known_options, option
from hackathon.web.page.pages import Site, environment, render, style
from hackathon.web.routing.registry import VIEWS, values_of
from support.pages.rendered import Page
from support.samples.rich_runs import source_of, write_rich

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{1234*5678}}"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    project = tmp_path_factory.mktemp("event") / "train"
    for number in range(4):
        write_rich(project, number, failed=number == 2, lr=0.1 * (number + 1), note=f"try {number}")
    return source_of(project, live=True)


def page_of(source: Catalog, kind: str, key: str = "", *options: tuple[str, str]) -> str:
    with speaking("en"):
        found = values_of(kind, key, source, options)
    assert found is not None
    template, values = found

    def link(kind: str, key: str) -> str:
        return f"/en/{kind}" + (f"?key={len(key)}" if key else "")

    return render(template, Site("Event", live=True), "en", link, here=kind, **values)


def test_a_view_its_template_and_its_module_have_one_name() -> None:
    for kind, (template, module) in VIEWS.items():
        assert template == f"{kind}.html.j2" and module.rpartition(".")[2] == kind


def test_options_that_nobody_knows_are_passed_over() -> None:
    asked = (("find", "x"), ("sort", ""), ("team", "y" * 300), ("other", "z"), ("find", "later"))
    assert known_options("runs", asked) == (("find", "x"), ("find", "later"))
    assert known_options("now", asked) == () and option(asked, "find") == "x" and option((), "find", "-") == "-"
    assert len(known_options("compare", (("run", "a"),) * 500)) <= 64
    assert set(OPTIONS) <= set(VIEWS)


def test_runs_are_found_by_words_and_state_and_ordered(source: Catalog) -> None:
    assert [each.row.note for each in runs_page(source).runs] == ["try 3", "try 2", "try 1", "try 0"]
    found = runs_page(source, (("find", "TRY aurora"), ("state", "good"), ("sort", "value")))
    assert [each.row.note for each in found.runs] == ["try 0", "try 1", "try 3"]
    assert (found.count, found.all, found.columns) == (3, 4, ("lr",))
    assert [each.values for each in found.runs] == [("0.1",), ("0.2",), ("0.4",)]
    assert runs_page(source, (("find", "no such words"),)).runs == ()
    assert runs_page(source, (("state", "bad"),)).runs[0].row.state == "FAILED"
    assert runs_page(source, (("sort", "-nothing"), ("page", "x"), ("state", "?"))).count == 4
    assert found.by("value") == "-value" and found.direction("value") == "ascending"
    assert dict(found.asked(page="2")) == {
        "find": "TRY aurora", "team": "", "state": "good", "study": "", "sort": "value", "page": "2",
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["runs", "team"])
def test_the_column_of_ticks_is_left_out_of_print_as_a_whole(source: Catalog, kind: str) -> None:
    text = page_of(source, kind, by_team(source)[0].name if kind == "team" else "")
    rows = [row for row in re.findall(r"<tr>.*?</tr>", text, re.DOTALL) if 'type="checkbox"' in row]
    (head,) = [row for row in re.findall(r"<tr>.*?</tr>", text, re.DOTALL) if '<th scope="col" class="tick"' in row]
    assert len(rows) == 4 and all(row.count('<td class="tick"') == 1 for row in rows)
    assert {row.count("<th ") + row.count("<td") for row in [head, *rows]} == {head.count("<th ")}
    assert re.search(r"@media print \{[^@]*\.tick,[^{]*\{ display: none; \}", style()), "both cells have the class"


def test_runs_without_a_value_stand_at_the_end_in_either_order() -> None:
    runs = [RunEntry(str(place), "/p", value=value) for place, value in enumerate((None, 2.0, float("nan"), 1.0))]
    assert [each.value for each in ordered(runs, "value")][:2] == [1.0, 2.0]
    assert [each.value for each in ordered(runs, "-value")][:2] == [2.0, 1.0]


def test_many_runs_come_in_pages(source: Catalog) -> None:
    first = source.summaries[0]
    runs = tuple(replace(first, id=f"20260301-100000-x-1p-{n:08d}", created=float(n)) for n in range(2 * PER_PAGE + 1))
    many = replace(source, summaries=runs)
    pages = [runs_page(many, (("page", str(number)),)) for number in (1, 2, 3, 4, 0)]
    assert [(page.page, len(page.runs)) for page in pages] == [(1, 50), (2, 50), (3, 1), (3, 1), (1, 50)]
    html = page_of(many, "runs", "", ("page", "2"))
    assert "Page 2 of 3" in Page(html).text and "/en/runs?page=3" in html and "/en/runs?page=1" in html


def test_a_part_of_an_id_names_a_run(source: Catalog) -> None:
    first = source.summaries[0]
    last = first.id.rpartition("-")[2]
    assert source.named(first.id) == source.named(last) == source.named(last[:4].upper()) == [first]
    assert len(source.named("torch-ddp")) == 4 and source.named("ab") == source.named("nothing at all") == []


def test_runs_beside_each_other_show_what_differs(source: Catalog) -> None:
    asked = tuple(("run", each.id.rpartition("-")[2]) for each in source.summaries)
    with speaking("en"):
        view = compare_page(source, (*asked, asked[0], ("run", "nothing-here"), ("x", "step"), ("smooth", "5")))
    assert [each.row.id for each in view.runs] == [each.id for each in source.summaries]
    assert view.unknown == ("nothing-here",) and view.wish.x == "step" and view.wish.smooth == 5
    request = next(part for part in view.parts if part.name == "request")
    assert ("0.4", "0.30000000000000004", "0.2", "0.1") in [row.values for row in request.rows]
    assert request.same > 10
    results = next(part for part in view.parts if part.name == "results")
    rates = next(row for row in results.rows if row.name == "samples_per_s")
    assert rates.best == 0 and rates.worst == 3 and rates.values[0] == "4,760"
    with speaking("en"):
        duration = [row for row in results.rows if row.name == "Duration"]
    assert all((row.best, row.worst) == (-1, -1) for row in duration), "of runs that did different work"
    assert [figure.title for figure in view.figures] == ["Throughput [samples/s]", "Loss", "Accuracy"]
    lines = {each["order"] for each in view.figures[1].spec["datasets"]["points"]}
    assert lines == {0, 1, 2, 3}
    assert max(each["x"] for each in view.figures[1].spec["datasets"]["points"]) == pytest.approx(2390, rel=0.01)


def test_more_runs_than_colours_and_runs_that_are_alike(source: Catalog) -> None:
    first = source.summaries[0]
    runs = tuple(replace(first, id=f"20260301-100000-x-1p-zz{n:06d}") for n in range(MOST + 3))
    with speaking("en"):
        view = compare_page(replace(source, summaries=runs), tuple(("run", each.id) for each in runs))
        assert len(view.runs) == MOST and view.left == 3 and view.figures == ()
        alone = compare_page(source, (("run", first.id),))
    assert len(alone.runs) == 1 and alone.parts == () and alone.figures
    assert "Tick two or more runs" in Page(page_of(source, "compare")).text


def log_of(source: Catalog, run: RunEntry, name: str, *options: tuple[str, str]) -> LogPage | None:
    with speaking("en"):
        found = values_of("log", f"{run.project}//{run.id}|{name}", source, options)
    return found[1]["view"] if found else None


@pytest.fixture
def logged(source: Catalog, tmp_path: Path) -> tuple[Catalog, RunEntry, Path]:
    run = write_rich(tmp_path / "train", 0)
    return (made := source_of(tmp_path / "train", live=True)), made.summaries[0], run / "logs/rank-0.log"


def test_a_log_shows_its_end_the_lines_around_one_and_those_with_words(
    logged: tuple[Catalog, RunEntry, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, run, file = logged
    file.write_text("".join(f"line {n}\n" for n in range(1, 3001)) + "no end")
    end = log_of(source, run, "rank-0.log")
    assert end is not None and len(end.lines) == END and end.lines[-1].text == "no end" and not end.whole
    assert (end.lines[-1].number, end.lines[0].text) == (3001, "line 2502")
    around = log_of(source, run, "rank-0.log", ("line", "1000"))
    assert around is not None and [each.number for each in around.lines if each.hit] == [1000]
    assert (around.lines[0].number, around.lines[-1].number, len(around.lines)) == (850, 1150, 301)
    found = log_of(source, run, "rank-0.log", ("find", "LINE 29"))
    assert found is not None and found.count == len(found.lines) == 111 and found.lines[0].number == 29
    many = log_of(source, run, "rank-0.log", ("find", "line"))
    assert many is not None and many.count == 3000 and len(many.lines) == HITS
    assert log_of(source, run, "rank-0.log", ("line", "99999")).lines[-1].number == 3001  # type: ignore[union-attr]
    assert log_of(source, run, "rank-0.log", ("line", "x" * 20)).lines == end.lines  # type: ignore[union-attr]
    monkeypatch.setattr(log_module, "MOST", 1000)
    short = log_of(source, run, "rank-0.log", ("find", "line 29"))
    assert short is not None and short.partly and 0 < short.count < 111 and short.lines[0].number is None
    monkeypatch.setattr(log_module, "END_BYTES", 100)
    assert log_of(source, run, "rank-0.log").lines[-1].number is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "content",
    [b"", b"\n\n", b"\xff\xfe\x00", b"a\rb\rc\n", b"x" * 200_000, b"\x1b[31mred\x1b[0m\n", HOSTILE.encode() + b"\n"],
    ids=["empty", "blank", "binary", "bar", "long", "colours", "hostile"],
)
def test_any_log_is_shown_as_text(logged: tuple[Catalog, RunEntry, Path], content: bytes) -> None:
    source, run, file = logged
    file.write_bytes(content)
    for options in ((), (("find", "script"),), (("find", HOSTILE[:150]),), (("line", "1"),)):
        view = log_of(source, run, "rank-0.log", *options)
        assert view is not None
        html = page_of(source, "log", f"{run.project}//{run.id}|rank-0.log", *options)
        assert "<script>alert" not in html and "<img" not in html and "\x1b" not in html
        assert "7006652" not in Page(html).text
        assert len(html) < 60_000
    bar = log_of(source, run, "rank-0.log")
    assert bar is not None and (content[:2] != b"a\r" or [each.text for each in bar.lines] == ["c"])


def test_no_file_but_a_log_of_the_run_is_shown(logged: tuple[Catalog, RunEntry, Path], tmp_path: Path) -> None:
    source, run, file = logged
    (tmp_path / "secret.log").write_text("secret")
    (file.parent / "linked.log").symlink_to(tmp_path / "secret.log")
    os.mkfifo(file.parent / "pipe.log")
    for name in ("../request.json", "..%2frequest.json", "/etc/passwd", "request.json", "nothing.log", "", "linked.log",
                 "pipe.log", "../../secret.log"):  # fmt: skip
        assert log_of(source, run, name) is None, name
    assert values_of("log", "rank-0.log", source) is None and values_of("log", "|", source) is None
    published = replace(source, live=False, event=Event("E", publish=Publish(logs=False)))
    assert log_of(published, run, "rank-0.log") is None and log_of(source, run, "rank-0.log") is not None


@pytest.mark.slow
def test_hostile_texts_are_only_texts(source: Catalog) -> None:
    run = replace(source.summaries[0], name=HOSTILE, team=HOSTILE, note=HOSTILE, user=HOSTILE, tags=(HOSTILE,))
    made = replace(source, summaries=(run, *source.summaries[1:]))
    for kind, options in (
        ("runs", (("find", HOSTILE[:150]),)), ("runs", (("team", HOSTILE), ("sort", HOSTILE))), ("runs", ()),
        ("compare", (("run", run.id), ("run", HOSTILE), ("run", made.summaries[1].id))),
    ):  # fmt: skip
        html = page_of(made, kind, "", *options)
        assert "<script>alert" not in html and "<img" not in html


def test_addresses_with_options() -> None:
    asking = environment().filters["asking"]
    assert asking("/en/runs", [("find", "a b&c"), ("team", "")]) == "/en/runs?find=a%20b%26c"
    assert asking("/en/log?key=x", [("line", "3")]) == "/en/log?key=x&line=3"
    assert asking("/en/runs", []) == "/en/runs"


def test_parameters_are_read_once(source: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    first = runs_page(source)
    monkeypatch.setattr("hackathon.web.listing.runs.RunDirectory", lambda *_: pytest.fail("read again"))
    assert json.dumps([each.values for each in runs_page(source).runs]) == json.dumps([e.values for e in first.runs])
