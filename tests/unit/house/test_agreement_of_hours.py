"""Whoever asks what a team used gets the same node-hours, GPU-hours and tokens, against the same budget.

Asked through public entry points alone, over invented run directories (good, LOST, cleaned up, adopted, requeued, on
several clusters): `event usage`, the budget that a submission is held against, the pages of teams on dashboard and
site, the site's first page, and the report. Numbers in JSON are equal as floats; on pages the formatted texts are.
"""

import itertools
import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from hackathon.scaling.show import number
from support.planned_event import CLUSTERS, TEAM, PlannedEvent, PlannedLife, PlannedRun, planned_runs, write_event
from support.readers import Readers

KINDS = ("node_hours", "gpu_hours", "tokens")
HEADS = {"Node-hours": "node_hours", "GPU-hours": "gpu_hours", "Tokens": "tokens"}
COUNT = itertools.count()
NODE_BUDGET = {name: {"queue": "debug", "budget": {"node_hours": 1000.0, "tokens": 5000.0}} for name in CLUSTERS}
EVERYTHING = {"runs": "all", "teams": True, "crates": False}
HOUR = PlannedLife(3600.0)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def read(place: Path, *runs: PlannedRun, clusters: dict[str, Any] | None = None) -> Readers:
    """Write an event of one team with these runs, its clusters' profiles, and return its readers."""
    folder = place / f"event-{next(COUNT)}"
    plan = PlannedEvent(runs=runs, publish=EVERYTHING, clusters=NODE_BUDGET if clusters is None else clusters)
    event = write_event(folder / "planned", plan)
    profiles = event.folder / "templates" / "clusters"
    profiles.mkdir(parents=True)
    for name, (scheduler, gpus) in CLUSTERS.items():
        value = {
            "name": name, "scheduler": scheduler, "node": {"cores": 4, "gpus": gpus}, "launchers": ["mpirun"],
            "starter": "mpirun", "queues": {"debug": {"nodes": 4, "walltime": "02:00:00"}},
            "rates": {"per_node_hour": 1, "per_gpu_hour": 2},
        }  # fmt: skip
        (profiles / f"{name}.yaml").write_text(yaml.safe_dump(value))
    return Readers(event, folder)


def used(readers: Readers, by: str = "team") -> dict[str, dict[str, Any]]:
    """Return cluster → row of `event usage --json` of the team, or of all teams together."""
    told = json.loads(readers.command("event", "usage", "--by", by, "--json", "--no-ask", folder=readers.event.folder))
    return {row["cluster"]: row for row in told["rows"] if by == "cluster" or row["team"] == TEAM}


def held_against(readers: Readers, cluster: str) -> dict[str, float]:
    """Return kind → what `hackathon check` says is used of the budget, before a submission."""
    text = readers.command("check", "--cluster", cluster, "--processes", "1", "--walltime", "00:10:00", "--json")
    budget = json.loads(text)["budget"]
    return {each["kind"]: each["used"] for each in budget["amounts"]}


def report_rows(readers: Readers) -> dict[tuple[str, str], dict[str, str]]:
    """Return (first cell, cluster) → kind → text in the report's table of what was used."""
    text = readers.report.splitlines()
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text if "|" in line]
    heads = [line for line in lines if "Node-hours" in line]
    if not heads:
        return {}
    names = [HEADS.get(name, name) for name in heads[0]]
    rows = lines[lines.index(heads[0]) + 2 :]
    return {(row[0], row[1]): dict(zip(names, row, strict=False)) for row in rows}


def all_readers_count_the_same(readers: Readers) -> None:
    """Hold every reader's answers against `hackathon event usage --json`."""
    wanted = used(readers)
    assert wanted.keys() == set(NODE_BUDGET)
    for cluster, row in wanted.items():
        for kind, found in held_against(readers, cluster).items():
            assert round(found, 6) == row[kind], (cluster, kind)
    pages = [readers.dashboard("team", TEAM).text, readers.site_page(f"team-{TEAM}").text]
    lists = [readers.dashboard("teams").text, readers.site_page("teams").text]
    for text in (*pages, *lists):
        assert "no budget is set" not in text
    names = {"node_hours": "node-hours", "gpu_hours": "GPU-hours", "tokens": "tokens"}
    told = sorted(wanted.values(), key=lambda row: (-row["node_hours"], row["cluster"]))
    pages = pages if told[0]["node_hours"] else []  # of a team that ran nothing it says so
    for row in told[:2]:  # a page has tiles for two clusters
        for text in (*pages, *lists):
            tile = text[text.index(f"Node-hours · {row['cluster']} ") :]
            hours = number(row["node_hours"], 3)
            assert tile.startswith(f"Node-hours · {row['cluster']} {hours} of 1,000 (")
            for kind in ("gpu_hours", "tokens"):
                if row[kind]:
                    shown = rf"(?<![\d.,]){re.escape(number(row[kind], 3))} {names[kind]}"
                    assert re.search(shown, tile[:200]), tile[:200]
    home = readers.site_page("index").text
    for kind, name in (("node_hours", "Node-hours"), ("gpu_hours", "GPU-hours"), ("tokens", "Tokens")):
        whole = math.fsum(row[kind] or 0.0 for row in wanted.values())
        if whole:
            assert f"{name} {number(whole, 3)} " in home, (kind, whole, home)
    rows = report_rows(readers)
    for cluster, row in wanted.items():
        if not row["jobs"]:
            continue
        assert used(readers, "cluster")[cluster]["node_hours"] == row["node_hours"]
        for first in (TEAM, "in all"):
            here = [found for (name, at), found in rows.items() if at == cluster and (name == TEAM) == (first == TEAM)]
            for kind in KINDS:
                if row[kind]:
                    assert here[0][kind] == number(row[kind], 3), (first, cluster, kind)


GO_ON = planned_runs().filter(lambda run: not (run.adopted and run.state == "RUNNING"))
"""A job without a walltime counts until now, which is later for the next reader."""
RUNS = st.lists(GO_ON, min_size=1, max_size=6).map(tuple)
MIXED = (
    PlannedRun(2, lives=(HOUR,)),
    PlannedRun(2, "LOST", lives=(HOUR,), nodes=2),
    PlannedRun(2, "FAILED", lives=(HOUR,), removed=True, nodes=2),
    PlannedRun(2, lives=(PlannedLife(900.0, ended=False), PlannedLife(1800.0)), cluster="abci3"),
    PlannedRun(2, "TIMEOUT", lives=(PlannedLife(7200.0),), cluster="reedbush-u", nodes=4),
    PlannedRun(1, adopted=True, lives=(PlannedLife(3000.0),), cluster="abci3"),
    PlannedRun(1, "RUNNING"), PlannedRun(1, "QUEUED"), PlannedRun(1, "UNCERTAIN"), PlannedRun(1, "CREATED"),
)  # fmt: skip


@settings(
    max_examples=8, deadline=None, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(runs=RUNS)
@example(runs=MIXED)
@pytest.mark.slow
def test_all_readers_count_the_same_hours(place: Path, runs: tuple[PlannedRun, ...]) -> None:
    all_readers_count_the_same(read(place, *runs))


def test_lost_and_cleaned_up_runs_are_on_every_account(place: Path) -> None:
    """A good run, a LOST one and one that was cleaned up: 5 node-hours, 10 GPU-hours, everywhere."""
    readers = read(place, *MIXED[:3])
    row = used(readers)["reedbush-h"]
    assert (row["node_hours"], row["gpu_hours"], row["tokens"]) == (5.0, 10.0, 25.0)
    assert held_against(readers, "reedbush-h") == {"node_hours": 5.0, "tokens": 25.0}
    assert "Node-hours · reedbush-h 5 of 1,000 (0.5 %)" in readers.dashboard("team", TEAM).text
    assert [run.plan.removed for run in readers.event.runs] == [False, False, True]


def test_a_budget_in_node_hours_is_shown_where_gpus_were_used(place: Path) -> None:
    budget = {"reedbush-h": {"queue": "debug", "budget": {"node_hours": 10.0}}}
    readers = read(place, MIXED[0], clusters=budget)
    text = readers.dashboard("team", TEAM).text
    assert "no budget is set" not in text
    assert "Node-hours 1 of 10 (10.0 %) 2 GPU-hours" in text


@pytest.mark.slow
def test_the_first_page_sums_all_clusters(place: Path) -> None:
    readers = read(place, MIXED[0], *MIXED[3:6])
    whole = sum(row["node_hours"] for row in used(readers).values())
    assert f"Node-hours {number(whole, 3)} " in readers.site_page("index").text


def test_a_job_that_two_people_took_up_counts_once_for_all_readers(place: Path) -> None:
    readers = read(place, MIXED[0], MIXED[5])
    (first,) = [run.path for run in readers.event.runs if run.plan.adopted]
    shutil.copytree(first, first.with_name(f"{first.name[:-8]}zzzzzzzz"))
    assert used(readers)["abci3"]["node_hours"] == round(3000 / 3600, 6)
    all_readers_count_the_same(readers)


def test_runs_outside_of_the_teams_folder_count_for_their_owners_team(place: Path) -> None:
    import getpass

    readers = read(place, *MIXED[:3])
    text = (readers.event.folder / "hackathon.yaml").read_text()
    event = yaml.safe_load(text)
    event["teams"][0]["members"] = [{"user": getpass.getuser(), "name": "Ada"}]
    (readers.event.folder / "hackathon.yaml").write_text(yaml.safe_dump(event))
    stray = readers.event.folder / "scratch"
    (stray / "runs").mkdir(parents=True)
    good = readers.event.runs[0].path
    shutil.move(good, stray / "runs" / good.name)
    assert used(readers)["reedbush-h"]["node_hours"] == 5.0
    all_readers_count_the_same(readers)
