"""The order of matters: what loses node-hours first, then budgets, requests, failures and long waits."""

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hackathon.access.permissions import user_name
from hackathon.board.board import open_board, reply
from hackathon.board.directory import make_place
from hackathon.board.post import post
from hackathon.config.cluster import Rates
from hackathon.config.event import Budget, Event, EventCluster, Member, Team, Tutor
from hackathon.index.catalog import Catalog
from hackathon.index.record import RunEntry, key_of
from hackathon.runs.lives import RunUse
from hackathon.text.messages import speaking
from hackathon.usage.overrun import RunningJob, overruns, used_up_at
from hackathon.usage.usage import Amount, Ledger
from hackathon.web.attention.now import now_view
from hackathon.web.attention.urgency import lost_per_hour, urgency
from hackathon.web.views.trouble import KINDS
from support.pages.rendered import page, read

NOW = 1_772_420_400.0
"""2026-03-02 12:00 in Japan."""
HOUR = 3600.0
ME = user_name(os.geteuid())


@pytest.fixture(autouse=True)
def japan(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def run(number: int, team: str, **values: Any) -> RunEntry:
    """Return a job that goes on well for 20 minutes, or what `values` say, with the use that follows from them."""
    usual: dict[str, Any] = {
        "id": f"20260302-1130{number:02d}-net-4p-abcdef{number:02d}", "project": f"/event/{team}/net", "team": team,
        "name": "net", "user": "ada", "cluster": "reedbush-h", "queue": "h-debug", "processes": 4, "nodes": 2,
        "gpus": 4, "walltime": 36000, "state": "RUNNING", "created": NOW - 1800, "submitted": NOW - 1800,
        "started": NOW - 1200, "progress": NOW - 5, "interval": 2.0, "gpu_percent": 92.0,
    }  # fmt: skip
    entry = RunEntry(**{**usual, **values})
    return replace(
        entry,
        use=RunUse(
            entry.id, entry.cluster, "pbs", f"{number}", team, 0, entry.nodes, 2, 2, entry.walltime,
            entry.created or NOW, state=entry.state,
            attempts=() if entry.started is None else ((entry.started, entry.ended),),
        ),
    )  # fmt: skip


def catalog(*runs: RunEntry, **values: Any) -> Catalog:
    return Catalog(summaries=runs, now=NOW, live=True, **values)


def event_of(*names: str, hours: float | None = None, **budget: float) -> Event:
    limits = Budget(node_hours=hours, **budget)
    return Event("E", teams=[Team(name) for name in names], clusters={"reedbush-h": EventCluster(budget=limits)})


STILL: dict[str, Any] = {"progress": NOW - 1000}
FAILED: dict[str, Any] = {"state": "FAILED", "ended": NOW - 600}


def test_a_job_that_does_nothing_loses_its_nodes() -> None:
    hung = run(1, "a", nodes=8)
    assert lost_per_hour("stands", [hung]) == lost_per_hour("idle", [hung]) == 8
    assert lost_per_hour("stands", [hung, replace(hung, nodes=3)]) == 11
    assert lost_per_hour("stands", [replace(hung, nodes=0)]) == 1, "a running job has a node"
    for kind in KINDS:
        if kind not in ("stands", "idle"):
            assert lost_per_hour(kind, [hung]) == 0
    for state in ("QUEUED", "FAILED", "SUCCEEDED", "LOST"):
        assert lost_per_hour("stands", [replace(hung, state=state)]) == 0


def test_cost_decides_before_kind() -> None:
    assert urgency("idle", 16) < urgency("stands", 2) < urgency("budget", 0) < urgency("asked", 0)
    assert urgency("asked", 8) < urgency("stands", 2), "a request about a job that hangs costs as much as the job"
    kinds = ["waits", "asked", "failed", "budget"]
    assert sorted(kinds, key=lambda kind: urgency(kind, 0)) == ["budget", "asked", "failed", "waits"]


def test_matters_are_in_the_order_of_their_cost() -> None:
    runs = [
        run(1, "a", state="QUEUED", started=None, submitted=NOW - 7200),
        run(2, "b", **FAILED),
        run(3, "c", nodes=2, **STILL),
        run(4, "d", nodes=16, gpu_percent=3.0),
        run(5, "e", nodes=4, **STILL),
        run(6, "f", memory_percent=99.0),
    ]
    items = now_view(catalog(*runs)).items
    assert [(item.team, item.kind, item.lost_per_hour) for item in items] == [
        ("d", "idle", 16), ("e", "stands", 4), ("c", "stands", 2), ("b", "failed", 0), ("a", "waits", 0),
        ("f", "memory", 0),
    ]  # fmt: skip


def test_an_expensive_matter_is_not_among_those_left_out() -> None:
    failures = [replace(run(1, f"t{n}", **FAILED), id=f"run-{n}", rule=f"r{n}") for n in range(230)]
    view = now_view(catalog(*failures, run(2, "hung", nodes=8, **STILL)))
    assert view.items[0].team == "hung" and (len(view.items), view.left, view.count) == (200, 31, 231)


@pytest.fixture
def asked(tmp_path: Path) -> Event:
    """Return an event in which two requests are open, the older one about nothing, the newer about a job that hangs."""
    make_place(tmp_path / "shared", "sticky")
    (tmp_path / "hackathon.yaml").write_text(
        f"title: E\nshared: shared\ntutors: [{{user: {ME}}}]\nteams: [{{name: a, members: [{{user: {ME}}}]}}]\n"
    )
    board = open_board(tmp_path / "shared", tmp_path)
    post(board, "older: how do I plot?", kind="ask")
    hung = run(1, "a")
    post(board, "newer: it hangs", kind="ask", run=hung.id, folder=Path("/event/a/net/runs") / hung.id)
    teams = [Team("a", members=[Member(ME, name="Ada")], seat="table 3"), Team("b")]
    return Event("E", teams=teams, tutors=[Tutor(ME)], shared="shared")


def test_a_request_about_a_job_that_hangs_comes_first(asked: Event, tmp_path: Path) -> None:
    hung, other = run(1, "a", nodes=8, **STILL), run(2, "b", nodes=2, **STILL)
    looked = catalog(hung, other, run(3, "b", **FAILED), event=asked, event_folder=tmp_path)
    items = now_view(looked).items
    assert [item.message.split(":")[0] for item in items[:1]] == ["newer"]
    assert [item.kind for item in items] == ["asked", "stands", "asked", "failed"]
    assert [item.lost_per_hour for item in items] == [8, 2, 0, 0]
    calm = now_view(replace(looked, summaries=(run(1, "a"),))).items
    assert [item.message.split(":")[0] for item in calm] == ["older", "newer"], "without a loss, by age"
    board = open_board(tmp_path / "shared", tmp_path)
    reply(board, board.of("ask")[0], "take")
    calm = now_view(replace(looked, summaries=(run(1, "a"),))).items
    assert [item.message.split(":")[0] for item in calm] == ["newer", "older"], "who is helped can wait"


def ended(number: int, team: str, hours: float, nodes: int = 2) -> RunEntry:
    begin = NOW - 600 - hours * HOUR
    return run(
        number,
        team,
        nodes=nodes,
        state="SUCCEEDED",
        created=begin,
        submitted=begin,
        started=begin,
        ended=NOW - 600,
        walltime=10**6,
    )


def test_a_budget_that_is_used_up_or_will_be_today_is_a_matter() -> None:
    runs = [
        ended(1, "over", 15.0),  # 30 of 20 node-hours
        ended(2, "soon", 9.0),  # 18 of 20, and 4 nodes run on
        run(3, "soon", nodes=4, started=NOW - 900, created=NOW - 900, submitted=NOW - 900),  # 1 more so far
        ended(4, "later", 1.0),
        run(5, "later", nodes=1),
        ended(6, "short", 9.5),  # 19 of 20, and a job of one node that ends in 40 minutes
        run(7, "short", nodes=1, walltime=3600),
    ]
    looked = catalog(*runs, event=event_of("over", "soon", "later", "short", hours=20.0))
    assert [(match.team, match.moment) for match in overruns(looked)] == [("over", None), ("soon", NOW + HOUR / 4)]
    view = now_view(looked)
    assert [(item.team, item.kind) for item in view.items] == [("over", "budget"), ("soon", "budget")]
    assert view.items[0].message == "30 of 20 node-hours on reedbush-h used (150.0 %)"
    assert view.items[1].message == (
        "19 of 20 node-hours on reedbush-h used (95.0 %); running jobs use up the rest at 12:15"
    )
    assert [line.run_id for line in view.items[1].runs] == [runs[2].id] and not view.items[0].runs
    assert view.headline == "2 budgets at the limit"
    text = read(page("now", looked)).text
    assert "running jobs use up the rest at 12:15" in text and "budget" in text
    with speaking("ja"):
        assert "ノード時間" in now_view(looked).items[0].message
    assert not now_view(replace(looked, team="later")).items, "a participant reads their own budget only"


def test_a_budget_comes_after_what_is_lost_and_before_requests(asked: Event, tmp_path: Path) -> None:
    budget = {"reedbush-h": EventCluster(budget=Budget(node_hours=20.0))}
    looked = catalog(
        run(1, "a"), ended(2, "b", 12.0), run(3, "b", **STILL), run(4, "b", **FAILED),
        event=replace(asked, clusters=budget), event_folder=tmp_path,
    )  # fmt: skip
    assert [item.kind for item in now_view(looked).items] == ["stands", "budget", "asked", "asked", "failed"]


def test_events_without_budgets_and_teams_without_use_have_no_such_matter() -> None:
    runs = [ended(1, "a", 99.0)]
    for event in (None, Event("E", teams=[Team("a")]), event_of("a"), event_of("b", hours=20.0)):
        assert overruns(catalog(*runs, event=event)) == []
    zero = event_of("a", "b", hours=0.0)
    assert overruns(catalog(*runs, event=zero)) == [], "a budget of nothing has no share"
    queued = run(2, "a", state="QUEUED", started=None)
    assert overruns(catalog(queued, event=event_of("a", hours=1.0))) == [], "when it starts is not known"


@pytest.mark.parametrize(
    ("jobs", "hours"),
    [
        ([], None),
        ([(2, 4, 10.0)], 5.0),
        ([(2, 4, 5.0)], 5.0),
        ([(2, 4, 4.9)], None),
        ([(2, 4, 1.0), (1, 2, 20.0)], 8.0),  # 3 an hour for one hour, then 1
        ([(1, 2, float("inf"))], 10.0),  # without a known walltime it goes on
    ],
)
def test_the_moment_when_running_jobs_use_up_the_rest(jobs: list[tuple[int, int, float]], hours: float | None) -> None:
    going = [RunningJob(nodes, gpus, NOW + HOUR * until) for nodes, gpus, until in jobs]
    moment = used_up_at(Amount("node_hours", 10.0, 20.0), going, NOW, None)
    assert moment == (None if hours is None else pytest.approx(NOW + hours * HOUR, abs=1.0))
    twice = used_up_at(Amount("gpu_hours", 0.0, 20.0), going, NOW, None)
    assert twice == moment
    tokens = Rates(per_node_hour=1, per_gpu_hour=0.5)
    assert used_up_at(Amount("tokens", 0.0, 20.0), going, NOW, tokens) == moment
    assert used_up_at(Amount("tokens", 0.0, 20.0), going, NOW, None) is None


def test_budgets_have_the_sums_of_event_usage_at_every_look(tmp_path: Path) -> None:
    """The use of closed runs is kept between two looks; a requeue, a job counted twice and a new budget count."""
    runs = [ended(n, team, 0.3 + n / 7, nodes=n % 3 + 1) for n, team in enumerate(("a", "b", "c") * 4)]
    runs += [run(20, "a"), run(21, "b", state="LOST", ended=None), run(22, "c", nodes=3)]
    looked = catalog(*runs, event=event_of("a", "b", "c", hours=0.01, gpu_hours=0.01))
    for source in (looked, looked, replace(looked, now=NOW + 60)):
        totals = {total.team: total for total in Ledger(source).of(source.entries).sums("team")}
        found = overruns(source)
        assert len(found) == 6
        for match in found:
            assert match.amount.used == pytest.approx(totals[match.team].spent.of(match.amount.kind), rel=1e-12)
    first = {match.team: match.amount.used for match in overruns(looked)}
    use = runs[0].use
    assert use is not None
    began = use.attempts[0][0]
    again = replace(runs[0], use=replace(use, attempts=((began, began + 60.0),)))
    shorter = {match.team: match.amount.used for match in overruns(replace(looked, summaries=[again, *runs[1:]]))}
    assert shorter["a"] < first["a"] and shorter["b"] == first["b"]
    double = {key_of(runs[1].project, runs[1].id): "another"}
    assert {m.team: m.amount.used for m in overruns(replace(looked, doubles=double))}["b"] < first["b"]
    assert overruns(replace(looked, event=event_of("a", "b", "c", hours=1e6))) == []
