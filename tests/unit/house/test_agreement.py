"""The first test of the house: whoever asks for a number, a unit, a state or a check of a run gets the same answer.

Asked through public entry points alone, over invented run directories: `results` as JSON, CSV and table, `compare`,
`ready`, the site's pages, tables and crates, the dashboard, report and slides. Numbers in JSON and CSV are equal as
floats; on pages the formatted texts are equal. One event, published once, has a team for each kind of trouble.
"""

import itertools
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from hackathon.profiling.sentences import sentences
from hackathon.scaling.doubts import believed
from support.planned_event import (
    LAPTOP,
    STATES,
    TEAM,
    PlannedEvent,
    PlannedLife,
    PlannedProject,
    PlannedRun,
    PlannedStudy,
    WrittenRun,
    planned_events,
    write_event,
)
from support.readers import Readers

EVERYTHING = {"runs": "all", "crates": True, "teams": True, "users": True, "hosts": True, "paths": True, "groups": True}
COUNT = itertools.count()

LONG = {"lines": 2000, "padding": 80, "final": False}
LONG_WITHOUT_END = PlannedEvent(
    studies=(PlannedStudy((
        PlannedRun(1, rates=(100.0,), **LONG), PlannedRun(4, rates=(400.0, 400.0, 200.0), **LONG),
    )),),
)  # fmt: skip
"""More than 64 KiB of metrics and no final line, and a rate that falls towards the end."""
EVERY_STATE = PlannedEvent(
    studies=(PlannedStudy(tuple(
        PlannedRun(size, state, rates=(100.0 * size, 90.0 * size), sealed=sealed, final=False)
        for size, state, sealed in zip(itertools.cycle((1, 2)), STATES, itertools.cycle((True, True, False)))
    )),),
    runs=(
        PlannedRun(1, "LOST"), PlannedRun(1, "FAILED", removed=True), PlannedRun(1, adopted=True, sealed=False),
        PlannedRun(2, lives=(PlannedLife(100.0, ended=False), PlannedLife(300.0))),
    ),
)  # fmt: skip
TOKENS = PlannedEvent(
    studies=(PlannedStudy((
        PlannedRun(1, measured="tokens_per_s", rates=(10.0,)), PlannedRun(2, measured="tokens_per_s", rates=(18.0,)),
        PlannedRun(2, measured="steps_per_s", rates=(5.0,)), PlannedRun(4, measured="samples_per_s", state="FAILED"),
    ), check=False),),
)  # fmt: skip
PRINTED = PlannedEvent(
    studies=(PlannedStudy((
        PlannedRun(1, printed=True, rates=(50.0, 70.0)), PlannedRun(2, rates=(120.0,), accuracy=0.5),
    )),),
)  # fmt: skip
WITH_CAUSES = PlannedEvent(
    studies=(PlannedStudy((
        PlannedRun(4),
        *(PlannedRun(2, "FAILED", lines=600, accuracy=0.5, sealed=sealed) for sealed in (*4 * (True,), False)),
    )),),
)  # fmt: skip
"""Failures, more than three of them, of which a diagnosis knows a cause, and no smaller run that says another."""
SPLIT = PlannedEvent(
    studies=(PlannedStudy((
        PlannedRun(1, split=(0.05, 0.05, 0.9, 0.0, 0.0)),
        PlannedRun(2, rates=(180.0,), split=(0.02, 0.1, 0.5, 0.3, 0.08)),
        PlannedRun(4, rates=(300.0,), split=(0.2, 0.05, 0.4, 0.3, 0.05)),
        PlannedRun(4, "FAILED", split=(0.1, 0.0, 0.5, 0.4, 0.0)),
    )),),
    runs=(PlannedRun(4, "RUNNING", split=(0.3, 0.1, 0.4, 0.2, 0.0)),),
)  # fmt: skip
"""Runs that tell where the time of their steps goes; the last rank is late."""
LARGE = PlannedEvent(studies=(PlannedStudy((PlannedRun(1, rates=(1.9,)), PlannedRun(2, rates=(89050.0,)))),))
"""A speed-up with more digits than are shown of smaller ones."""


TWO_PROJECTS = (
    PlannedProject("cumulus", "srgan", (
        PlannedStudy((
            PlannedRun(1, rates=(32.9,), parameters={"lr": 0.1}), PlannedRun(4, rates=(125.9,), parameters={"lr": 0.4}),
        )),
    )),
    PlannedProject("cumulus", "toy", (
        PlannedStudy((PlannedRun(1, rates=(64408.0,)), *2 * (PlannedRun(2, rates=(71300.0,)),))),
    ), (PlannedRun(1, rates=(50000.0,), cluster=LAPTOP, parameters={"lr": 7.0}),) * 3),
)  # fmt: skip
"""A team whose other project has more runs, newer ones, and another unit of magnitude."""
NAMED = (
    PlannedProject("iris", "fast", (PlannedStudy((PlannedRun(1), PlannedRun(4, rates=(390.0,)))),)),
    PlannedProject("iris", "real", (PlannedStudy((PlannedRun(1, rates=(7.0,)), PlannedRun(4, rates=(21.0,)))),)),
)
"""A team for which the event names the slower study."""
ON_A_LAPTOP = (
    PlannedProject("nimbus", "own", (
        PlannedStudy((PlannedRun(1, cluster=LAPTOP), PlannedRun(2, rates=(114.0,), cluster=LAPTOP))),
    )),
    PlannedProject("stratus", "both", (
        PlannedStudy((PlannedRun(1, rates=(10.0,), cluster=LAPTOP), PlannedRun(2, rates=(19.9,), cluster=LAPTOP))),
        PlannedStudy((PlannedRun(1, rates=(10.0,)), PlannedRun(2, rates=(15.0,)))),
    )),
)  # fmt: skip
"""A team that measured on a computer of its own alone, and one that did so too and was faster there."""
NOISY = tuple(PlannedRun(2, rates=(rate,)) for rate in (37.0, 209.0, 381.0))
DOUBTED = (
    PlannedProject("noctua", "noise", (
        PlannedStudy((PlannedRun(1, rates=(100.0,)), PlannedRun(1, rates=(101.0,)), *NOISY)),
    )),
    PlannedProject("vega", "partly", (
        PlannedStudy((
            PlannedRun(1, rates=(100.0,)), PlannedRun(1, rates=(101.0,)), *NOISY,
            PlannedRun(4, rates=(300.0,)), PlannedRun(4, rates=(301.0,)),
        )),
        PlannedStudy((PlannedRun(1, rates=(100.0,)), PlannedRun(4, rates=(190.0,)))),
    )),
)  # fmt: skip
"""A team whose only speed-up is noise by the tool's own words, and one that has an undoubted one beside it."""
TROUBLES = {
    "long": LONG_WITHOUT_END, "states": EVERY_STATE, "tokens": TOKENS, "printed": PRINTED, "causes": WITH_CAUSES,
    "large": LARGE, "split": SPLIT,
}  # fmt: skip
DAMAGED = PlannedProject(
    "corvus", "train", (PlannedStudy(tuple(PlannedRun(size, rates=(90.0 * size,)) for size in (1, 2, 4))),)
)
"""A team of whose study two requests are damaged after the fact, see `damage`."""
SHARED = PlannedEvent(
    projects=(
        *(PlannedProject(name, "train", plan.studies, plan.runs) for name, plan in TROUBLES.items()),
        *TWO_PROJECTS, *NAMED, *ON_A_LAPTOP, *DOUBTED, DAMAGED,
    ),
    main_studies={"iris": "real"},
)  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Readers]:
    """The readers of one event that is published once."""
    place = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(place))
        patch.setenv("NO_COLOR", "1")
        readers = read(place, SHARED)
        damage(readers)
        for study in readers.event.of_team("causes"):
            readers.results(study)  # diagnoses the failures, of which all others tell then
        yield readers


def damage(readers: Readers) -> None:
    """Let one run of a study say no more which study it is of, and another one how many processes it had."""
    _, named, sized = (run for run in readers.event.runs if run.project.parent.name == "corvus")
    for run, field, value in ((named, "study", [[[]]]), (sized, "processes", "")):
        path = run.path / "request.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))


def read(place: Path, plan: PlannedEvent) -> Readers:
    """Write an event and return its readers."""
    folder = place / f"event-{next(COUNT)}"
    plan = PlannedEvent(**{**vars(plan), "publish": EVERYTHING})
    return Readers(write_event(folder / "planned", plan), folder)


@pytest.mark.slow
@settings(
    max_examples=4, deadline=None, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(plan=planned_events())
def test_all_readers_tell_the_same_of_any_event(place: Path, plan: PlannedEvent) -> None:
    readers = read(place, plan)
    results = {study: readers.results(study) for study in readers.event.studies}
    for study, told in results.items():
        study_is_the_same(readers, study, told)
    runs_are_the_same(readers, readers.event.runs, results)
    team_is_the_same(readers, TEAM, results)


@pytest.mark.slow
@pytest.mark.parametrize("team", TROUBLES)
def test_all_readers_tell_the_same(shared: Readers, team: str) -> None:
    results = {study: shared.results(study) for study in shared.event.of_team(team)}
    for study, told in results.items():
        study_is_the_same(shared, study, told)
    runs_are_the_same(shared, [run for run in shared.event.runs if run.project.parent.name == team], results)
    team_is_the_same(shared, team, results)


def told_once(results: dict[str, Any]) -> dict[str, Any]:
    """Return results as a site gives them: one series beside the head alone, and no shares of single runs."""
    (alone,) = results["series"]
    assert {name: told for name, told in alone.items() if name != "settings"} == {
        name: results[name] for name in alone if name != "settings"
    }, "what is left out stands beside it"
    found = json.loads(json.dumps({name: told for name, told in results.items() if name != "series"}))
    for run in (run for point in found["points"] for run in point["runs"]):
        del run["shares"]
    return found


def study_is_the_same(readers: Readers, study: str, results: dict[str, Any]) -> None:
    """Compare a study in every form that has all its points."""
    assert readers.site_json(study) == told_once(results)
    table = readers.results_csv(study)
    assert readers.site_csv(study) == table
    points = {point["processes"]: point for point in results["points"]}
    for row in table:
        point = points[int(row["processes"])]
        for name in ("value", "speedup", "efficiency"):
            assert cell(row[name]) == point[name], (name, row)
        assert (row["unit"], row["metric"], row["status"]) == (results["unit"], results["metric"], point["status"])
        assert row["doubts"] == ";".join(each["id"] for each in point["doubts"])
    in_json, in_csv = readers.site_all()
    for rows in (in_json, in_csv):
        found = {int(row["processes"]): row for row in rows if row["study"] == study}
        assert set(found) == set(points)
        for size, row in found.items():
            for name in ("value", "speedup", "efficiency"):
                assert cell(row[name]) == points[size][name], (name, row)
            assert (row["unit"], row["metric"]) == (results["unit"], results["metric"])
            assert row["status"] == points[size]["status"]
            assert row["doubts"] == ";".join(each["id"] for each in points[size]["doubts"])
    cells, remarks = readers.results_table(study)
    for page in (readers.site_page(f"study-{study}"), readers.dashboard("study", readers.key(study))):
        shown = [[*row[:5], row[-2], row[-1]] for row in page.tables["points"][1:]]
        assert [[each[i].replace(" ▼", "") for i in range(7)] for each in shown] == [
            [each[i].replace(" ▼", "") for i in range(7)] for each in cells
        ]
        # the split of the steps is the description of its chart, and advice stands below the chart
        told = [*page.items, *page.descriptions, page.text]
        missing = [remark for remark in remarks if not any(remark in text for text in told)]
        assert not missing, (missing, told)
    values = {
        size: [run["value"] for run in point["runs"] if run["status"] == "SUCCEEDED" and run["value"] is not None]
        for size, point in points.items()
    }
    for point in readers.compared(study, study):
        if point["speed"] is not None:
            assert point["speed"]["name"] == results["metric"]
            assert sorted(point["speed"]["old"]) == sorted(values[point["processes"]])
            assert point["speed"]["unit"] == results["unit"]


def runs_are_the_same(readers: Readers, runs: Iterable[WrittenRun], wanted: dict[str, dict[str, Any]]) -> None:
    """Compare single runs of one project: their states, numbers and checks."""
    runs = list(runs)
    in_studies = {
        run["id"]: (run, found) for found in wanted.values() for point in found["points"] for run in point["runs"]
    }
    ready = readers.ready(runs[0].project) if runs else {}
    for written in runs:
        if written.plan.removed:
            continue
        told = readers.results(written.id)
        page = readers.dashboard("run", readers.key(written.id))
        missing = [line for line in sentences(told["processes"], told["shares"]) if line not in page.items]
        assert not missing, (missing, page.items)
        assert told["status"] in page.text
        if written.id in in_studies:
            run, found = in_studies[written.id]
            assert run["status"] == told["status"]
            assert run["shares"] == (told["shares"] if told["status"] == "SUCCEEDED" else None)
            over = written.plan.state not in ("RUNNING", "QUEUED", "HELD", "CREATED", "UNCERTAIN")
            if over and run["value"] is not None:
                assert told["metrics"][found["metric"]] == run["value"]
            checked = {each["id"]: each for each in (found["checks"] or {}).get("runs", ())}
            if written.id in checked:
                assert checked[written.id]["passed"] == told["check"]["passed"]
                assert checked[written.id]["value"] == told["check"]["value"]
        crate = readers.crate(written.id)
        if crate is not None:
            assert crate["metrics"] == told["metrics"]
            assert crate["state"] == told["status"]
            assert crate["processes"] == told["processes"]
            for found in (each for run, each in in_studies.values() if run["id"] == written.id):
                if crate["metric"] == found["metric"]:
                    assert crate["unit"] == found["unit"]
        for name, text in lines(readers.command("results", written.id, "--no-ask")).items():
            assert page.facts[name] == text.partition(" ")[0], name
        for item in ("baseline", "check"):
            facts = ready[item]
            if facts.get("run") == written.id and "value" in facts:
                assert told["metrics"][facts["metric"]] == facts["value"]
        if ready["check"].get("run") == written.id and told["check"]:
            assert ready["check"]["ok"] == told["check"]["passed"]


def team_is_the_same(readers: Readers, team: str, wanted: dict[str, dict[str, Any]]) -> None:
    """Compare the main study where a team is summed up in one number."""
    best = max(
        (
            point for found in wanted.values() for point in believed(found["points"])
            if point["processes"] > found["base_processes"]
        ),
        key=lambda point: (not point["doubts"], point["speedup"]), default=None,
    )  # fmt: skip
    page, dashboard = readers.site_page(f"team-{team}").text, readers.dashboard("team", team).text
    if best is None:
        return
    for line in sentences(best["processes"], best["shares"]):
        assert line in readers.report_of(team), (line, readers.report_of(team))
    for text in (page, dashboard, readers.report_of(team), readers.slides(team)):
        number_is_told(text, best["speedup"], best["efficiency"])


def number_is_told(text: str, speedup: float, efficiency: float) -> None:
    # three digits, and never fewer than a whole number has
    rounded = f"{speedup:,.0f}" if speedup >= 999.5 else f"{speedup:.3g}"
    assert f"{rounded} ×" in text or f"{rounded} times as fast" in text, (rounded, text[:3000])
    assert f"{100 * efficiency:.1f} %" in text, (efficiency, text[:3000])


def cell(value: object) -> float | None:
    """Return the number in a cell of CSV or JSON, None for an empty one."""
    return None if value in ("", None) else float(str(value))


def lines(table: str) -> dict[str, str]:
    """Return name → shown value of a table that `hackathon results RUN` prints."""
    found = {}
    for line in table.splitlines()[2:]:
        if line.startswith(("⚠", "to be checked", "note on ")):  # a doubt about the result, how sure a number is
            continue
        if re.match(r"\d+ process", line):  # where the time of a step goes
            continue
        name, _, rest = line.partition(" ")
        found[name] = " ".join(rest.split("✓")[0].split("✗")[0].split())
    return found


def test_a_long_run_without_a_final_line_has_one_speed_up(shared: Readers) -> None:
    (study,) = shared.event.of_team("long")
    assert [point["speedup"] for point in shared.results(study)["points"]] == [1.0, 4.0]
    assert [(cell(row["speedup"]), cell(row["efficiency"])) for row in shared.site_csv(study)] == [
        (1.0, 1.0),
        (4.0, 1.0),
    ]


def test_the_sites_study_says_whether_the_check_passed(shared: Readers) -> None:
    (study,) = shared.event.of_team("printed")
    checks = shared.site_json(study)["checks"]
    assert checks["passed"] is False
    assert checks == shared.results(study)["checks"]


def test_the_throughput_that_is_told_is_the_same_for_all(shared: Readers) -> None:
    (study,) = shared.event.of_team("tokens")
    results = shared.results(study)
    assert (results["metric"], results["unit"]) == ("tokens_per_s", "tokens/s")
    assert shared.site_json(study) == told_once(results)
    assert [point["speed"]["name"] for point in shared.compared(study, study)[:1]] == ["tokens_per_s"]


def texts_of(readers: Readers, team: str) -> dict[str, str]:
    """Return every text that sums a team up."""
    return {
        "page": readers.site_page(f"team-{team}").text, "dashboard": readers.dashboard("team", team).text,
        "report": readers.report_of(team), "slides": readers.slides(team),
    }  # fmt: skip


def rows_of(readers: Readers, team: str) -> dict[str, list[str]]:
    """Return the first line of a team in every table of teams: on the site, the dashboard, and in the report."""
    tables = {
        "teams": readers.site_page("teams").tables["points"], "dashboard": readers.dashboard("teams").tables["points"],
        "scaling": readers.site_page("scaling").tables["overview"],
        "report": [
            [cell.strip() for cell in line.split("|")[1:-1]]
            for line in readers.report.partition("## Results of the teams")[2].partition("###")[0].splitlines()
        ],
    }  # fmt: skip
    lines = {name: [row for row in rows if row and row[0].split(" ")[0] == team] for name, rows in tables.items()}
    return {name: rows[0] for name, rows in lines.items() if rows}  # the hours of the teams come later


def main_in_csv(readers: Readers, team: str) -> dict[str, tuple[str, ...]]:
    """Return study → (main, compared) of a team in the table of all results."""
    _, rows = readers.site_all()
    return {row["study"]: (row["main"], row["compared"]) for row in rows if row["team"] == team}


def test_a_team_with_two_projects_is_summed_up_by_one_of_them(shared: Readers) -> None:
    srgan, toy = shared.event.of_team("cumulus")
    assert main_in_csv(shared, "cumulus") == {srgan: ("yes", "yes"), toy: ("no", "yes")}
    texts = texts_of(shared, "cumulus")
    for text in texts.values():
        number_is_told(text, 125.9 / 32.9, 125.9 / 32.9 / 4)
        assert "32.9" in text and "125.9" in text
    result = next(line for line in texts["report"].splitlines() if "**Result**" in line)
    done = next(line for line in texts["report"].splitlines() if "**What was done**" in line)
    other = next(line for line in texts["report"].splitlines() if "“toy”" in line)
    slides = "".join(line for line in texts["slides"].splitlines() if "“toy”" not in line)
    for text in (result, done, slides):
        assert "64,408" not in text and "71,300" not in text and "50,000" not in text, text
    assert "32.9 to 125.9" in done and "learning rate: 0.1 → 0.4" in done and "reedbush-h" in result
    assert "64,408 → 71,300" in other and "“toy”" in texts["slides"]
    for page in (shared.site_page("team-cumulus"), shared.dashboard("team", "cumulus")):
        assert page.facts["lr"] == "0.4" and "Other projects" in page.text
    for row in rows_of(shared, "cumulus").values():
        assert any("3.83" in cell for cell in row), row


def test_the_study_that_the_event_names_is_the_main_one(shared: Readers) -> None:
    fast, real = shared.event.of_team("iris")
    assert main_in_csv(shared, "iris") == {fast: ("no", "yes"), real: ("yes", "yes")}
    for text in texts_of(shared, "iris").values():
        number_is_told(text, 3.0, 0.75)
    for row in rows_of(shared, "iris").values():
        assert any(cell.startswith("3 ×") or cell.startswith("3.00 ×") for cell in row), row


@pytest.mark.slow
def test_what_was_measured_on_a_laptop_is_told_as_not_compared_everywhere(shared: Readers) -> None:
    (own,) = shared.event.of_team("nimbus")
    assert main_in_csv(shared, "nimbus") == {own: ("yes", "no")}
    home = shared.site_page("index").text
    assert "nimbus Measured on the team’s own computer, not compared: 1.14 × with 2 processes" in home
    for text in (*texts_of(shared, "nimbus").values(), shared.site_page("scaling").text):
        assert "1.14" in text and "not compared" in text, text[:2000]
    rows = rows_of(shared, "nimbus")
    assert set(rows) == {"teams", "dashboard"}, "no table compares it"
    assert all(any("1.14 ×" in cell and "not compared" in cell for cell in row) for row in rows.values())
    laptop, machine = shared.event.of_team("stratus")
    assert main_in_csv(shared, "stratus") == {laptop: ("no", "no"), machine: ("yes", "yes")}
    for text in texts_of(shared, "stratus").values():
        number_is_told(text, 1.5, 0.75)
    for text in (shared.report, home, shared.site_page("teams").text):
        assert "This machine" not in text and f"· {LAPTOP}" not in text and f"| {LAPTOP} |" not in text


def test_teams_and_runs_are_counted_once(shared: Readers) -> None:
    plans = shared.event.runs
    counted = [
        run for run in plans if run.plan.cluster != LAPTOP and run.plan.state != "CREATED" and not run.plan.removed
    ]
    apart = [run for run in plans if run.plan.cluster == LAPTOP]
    good = [run for run in counted if run.plan.state == "SUCCEEDED"]
    home, site = shared.site_page("index").text, shared.site_page("teams")
    live, report = shared.dashboard("teams"), shared.report
    assert f"Runs {len(counted)} {len(good)} succeeded {len(apart)} runs on own computers not counted" in home
    for page in (site, live):
        assert f"Runs {len(counted)} " in page.text
        rows = [row[1] for row in page.tables["points"][1:]]
        told = [re.search(r"(\d+) of (\d+) succeeded", row) for row in rows]
        assert sum(int(each[2]) for each in told if each) == len(counted)
        assert sum(int(each[1]) for each in told if each) == len(good)
    measured = {row["team"] for row in shared.site_all()[1] if (row["main"], row["compared"]) == ("yes", "yes")}
    assert "nimbus" not in measured
    assert f"{len(measured)} with measurements" in home and f"{len(measured)} teams measured" in report
    in_report = [row for row in report.splitlines() if row.count("|") == 7 and row.split("|")[1].strip() in measured]
    assert len(in_report) == len(measured)


def test_a_run_that_cannot_be_read_has_a_row_that_says_so(shared: Readers) -> None:
    (study,) = shared.event.of_team("corvus")
    lost = next(run.id for run in shared.event.runs if run.study == study and run.plan.processes == 4)
    told = shared.results(study)
    assert [point["processes"] for point in told["points"]] == [1, 2]
    assert told["unreadable"] == [{"id": lost, "status": "SUCCEEDED"}]
    assert [(row["processes"], row["status"]) for row in shared.results_csv(study) if row["run"] == lost] == [
        ("", "UNREADABLE")
    ]
    cells, remarks = shared.results_table(study)
    pages = (shared.site_page(f"study-{study}"), shared.dashboard("study", shared.key(study)))
    for rows in (cells, *(page.tables["points"][1:] for page in pages)):
        assert [row[0] for row in rows] == ["1", "2", "–"] and "run cannot be read" in rows[-1], rows
    (remark,) = [remark for remark in remarks if lost in remark]
    assert all(remark in page.items and "have not run yet" not in page.text for page in pages)


@pytest.mark.parametrize(("team", "speedup", "doubted"), [("noctua", 209 / 100.5, True), ("vega", 1.9, False)])
def test_a_doubted_point_leads_nowhere_without_its_mark(
    shared: Readers, team: str, speedup: float, doubted: bool
) -> None:
    rounded = f"{speedup:.3g}"
    for name, text in texts_of(shared, team).items():
        words = 300 if name == "report" else 110
        place = re.search(rf"{re.escape(rounded)} (×|times as fast).{{0,{words}}}", text, re.DOTALL)
        assert place is not None, (name, text[:2000])
        assert ("to be checked" in place[0]) == doubted, (name, place[0])
    for name, row in rows_of(shared, team).items():
        (cell,) = [cell for cell in row if f"{rounded} ×" in cell]
        assert ("to be checked" in cell) == doubted, (name, row)
    home = shared.site_page("index").text
    card = home[home.index(f"{team} Processes") :][:90]
    assert f"{rounded} ×" in card and ("to be checked" in card) == doubted


@pytest.mark.slow
@pytest.mark.parametrize(("state", "heading"), [
    ("SUCCEEDED", "Parameters of the newest successful run"),
    ("FAILED", "Parameters of the newest run (no run has succeeded)"),
])  # fmt: skip
def test_parameters_are_those_of_the_run_that_is_named(place: Path, state: str, heading: str) -> None:
    good, bad = {"lr": 0.25}, {"lr": 0.75}
    runs = (PlannedRun(1, state, parameters=good), PlannedRun(1, "FAILED", parameters=bad))
    page = read(place, PlannedEvent(runs=runs)).dashboard("team", "aurora")
    assert heading in page.text
    assert page.facts["lr"] == ("0.25" if state == "SUCCEEDED" else "0.75")


def test_a_log_that_is_too_long_to_be_read_is_said_to_be(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("hackathon.index.numbers", "hackathon.web.views.run_view"):
        monkeypatch.setattr(f"{name}.MOST_LOGS", 50)
    readers = read(place, PRINTED)
    said = "Not all of its files could be read, so numbers may be missing."
    printed, metered = (readers.dashboard("run", readers.key(run.id)).text for run in readers.event.runs)
    assert said in printed
    assert said not in metered
    assert said in readers.dashboard("study", readers.key(readers.event.studies[0])).text
