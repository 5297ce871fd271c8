"""The first test of the house: whoever asks for a number, a unit, a state or a check of a run gets the same answer.

Asked through public entry points alone, over invented run directories: `results` as JSON, CSV and table, `compare`,
`ready`, the site's pages, tables and crates, the dashboard, report and slides. Numbers in JSON and CSV are equal as
floats; on pages the formatted texts are equal.
"""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings

from hackathon.profiling.sentences import sentences
from hackathon.scaling.doubts import believed
from support.planned_event import (
    STATES,
    PlannedEvent,
    PlannedLife,
    PlannedRun,
    PlannedStudy,
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


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


@settings(
    max_examples=4, deadline=None, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(plan=planned_events())
@example(plan=LONG_WITHOUT_END)
@example(plan=EVERY_STATE)
@example(plan=TOKENS)
@example(plan=PRINTED)
@example(plan=WITH_CAUSES)
@example(plan=LARGE)
@example(plan=SPLIT)
def test_all_readers_tell_the_same(place: Path, plan: PlannedEvent) -> None:
    all_readers_tell_the_same(read(place, plan))


def read(place: Path, plan: PlannedEvent) -> Readers:
    """Write an event and return its readers."""
    folder = place / f"event-{next(COUNT)}"
    plan = PlannedEvent(**{**vars(plan), "publish": EVERYTHING})
    return Readers(write_event(folder / "planned", plan), folder)


def all_readers_tell_the_same(readers: Readers) -> None:
    """Hold every reader's answers against `hackathon results --json`."""
    wanted = {study: readers.results(study) for study in readers.event.studies}
    for study, results in wanted.items():
        study_is_the_same(readers, study, results)
    runs_are_the_same(readers, wanted)
    team_is_the_same(readers, wanted)


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
        missing = [remark for remark in remarks if remark not in page.items]
        assert not missing, (missing, page.items)
    values = {
        size: [run["value"] for run in point["runs"] if run["status"] == "SUCCEEDED" and run["value"] is not None]
        for size, point in points.items()
    }
    for point in readers.compared(study, study):
        if point["speed"] is not None:
            assert point["speed"]["name"] == results["metric"]
            assert sorted(point["speed"]["old"]) == sorted(values[point["processes"]])
            assert point["speed"]["unit"] == results["unit"]


def runs_are_the_same(readers: Readers, wanted: dict[str, dict[str, Any]]) -> None:
    """Compare single runs: their states, numbers and checks."""
    in_studies = {
        run["id"]: (run, found) for found in wanted.values() for point in found["points"] for run in point["runs"]
    }
    ready = readers.ready()
    for written in readers.event.runs:
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


def team_is_the_same(readers: Readers, wanted: dict[str, dict[str, Any]]) -> None:
    """Compare the largest speed-up where a team is summed up in one number."""
    best = max(
        (
            point for found in wanted.values() for point in believed(found["points"])
            if point["processes"] > found["base_processes"]
        ),
        key=lambda point: point["speedup"], default=None,
    )  # fmt: skip
    pages = [readers.site_page("team-aurora").text, readers.dashboard("team", "aurora").text]
    report, slides = readers.report(), readers.slides()
    if best is None:
        return
    # three digits, and never fewer than a whole number has
    rounded = f"{best['speedup']:,.0f}" if best["speedup"] >= 999.5 else f"{best['speedup']:.3g}"
    percent = f"{100 * best['efficiency']:.1f} %"
    for line in sentences(best["processes"], best["shares"]):
        assert line in report, (line, report)
    for text in (*pages, report, slides):
        assert f"{rounded} ×" in text.replace("× ", "×").replace(" ×", " ×"), (rounded, text[:3000])
        assert percent in text, (percent, text[:3000])


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


def test_a_long_run_without_a_final_line_has_one_speed_up(place: Path) -> None:
    readers = read(place, LONG_WITHOUT_END)
    study = readers.event.studies[0]
    assert [point["speedup"] for point in readers.results(study)["points"]] == [1.0, 4.0]
    assert [(cell(row["speedup"]), cell(row["efficiency"])) for row in readers.site_csv(study)] == [
        (1.0, 1.0),
        (4.0, 1.0),
    ]


def test_the_sites_study_says_whether_the_check_passed(place: Path) -> None:
    readers = read(place, PRINTED)
    study = readers.event.studies[0]
    checks = readers.site_json(study)["checks"]
    assert checks["passed"] is False
    assert checks == readers.results(study)["checks"]


def test_the_throughput_that_is_told_is_the_same_for_all(place: Path) -> None:
    readers = read(place, TOKENS)
    study = readers.event.studies[0]
    results = readers.results(study)
    assert (results["metric"], results["unit"]) == ("tokens_per_s", "tokens/s")
    assert readers.site_json(study) == told_once(results)
    assert [point["speed"]["name"] for point in readers.compared(study, study)[:1]] == ["tokens_per_s"]


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
