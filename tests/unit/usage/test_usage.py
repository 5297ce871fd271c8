"""What teams used: lives of jobs, days, sums against budgets, tables; by records that lie or are torn."""

import csv
import io
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.access.permissions import user_name
from hackathon.config.event import Budget, Event, EventCluster, Member, Team
from hackathon.index.store import default_path
from hackathon.runs.lives import LIMIT, MARKERS, SCHEDULER, Life
from hackathon.schedulers.reports import Charge, JobAccounting
from hackathon.usage.days import by_day, zone
from hackathon.usage.tables import COLUMNS, csv_text, notes, table, to_json
from hackathon.usage.usage import Usage, usage
from support.runs import FakeScheduler, sealed, without_rights, write

NOW = 1_548_400_000.0  # 2019-01-25 07:06:40 UTC
CLUSTER = """
name: lab
scheduler: fake
node: {cores: 4, gpus: 2}
rates: {per_node_hour: 1, per_gpu_hour: 2}
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def event_of(*names: str, **changes: Any) -> Event:
    clusters = {"lab": EventCluster(budget=Budget(node_hours=10.0, gpu_hours=10.0, tokens=100.0))}
    return Event(title="t", **{"clusters": clusters, "teams": [Team(name) for name in names], **changes})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "event" / "templates" / "clusters"
    place.mkdir(parents=True)
    (place / "lab.yaml").write_text(CLUSTER)
    return tmp_path / "event"


def run_in(
    project: Path, name: str, *, events: list[tuple[str, int, float]] = (), final: dict[str, Any] | None = None,  # type: ignore[assignment]
    client: dict[str, Any] | None = None, **record: Any,
) -> Path:  # fmt: skip
    """Write a run as toolkit and job leave it; events are (kind, attempt, time)."""
    run = project / "runs" / f"20190124-120000-small-1p-{name:a<8}"
    whole = {"nodes": 1, "gpus_per_node": 2, "processes_per_node": 2, "walltime": 3600, "cluster": "lab",
             "scheduler": "fake", "team": None, "processes": 2 * record.get("nodes", 1), **record}  # fmt: skip
    write(run / "request.json", whole)
    facts = {"created": {"t": NOW - 9000}, "submitted": {"job_id": name, "t": NOW - 8999, "scheduler": "fake",
             "cluster": "lab"}, "submitting": {"t": NOW - 9000}, **(client or {})}  # fmt: skip
    for fact, value in facts.items():
        if value is not None:
            write(run / "client" / f"{fact}.json", value)
    if events:
        (run / "events").mkdir()
        lines = [{"event": kind, "attempt": number, "t": moment, "exit_code": 0} for kind, number, moment in events]
        (run / "events" / "job.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        write(run / "claim" / "job_id", name)
        (run / "claim" / "job_id").write_text(name)
    if final is not None:
        write(run / "final.json", {"job_id": name, "attempt": 1, **final})
    return run


def told(folder: Path, event: Event, **options: Any) -> Usage:
    return usage(event, folder, now=NOW, **options)


def only(found: Usage) -> Any:
    """Return the one sum over all."""
    (one,) = found.sums()
    return one


# ---- lives


def test_sealed_run_counts_nodes_gpus_and_tokens(folder: Path) -> None:
    run_in(folder / "aurora", "one", final=sealed(NOW - 7200, NOW - 3600), nodes=3)
    found = told(folder, event_of("aurora", "borealis"))
    (aurora, borealis) = found.sums("team")
    assert (aurora.spent.node_hours, aurora.spent.gpu_hours, aurora.spent.tokens) == (3.0, 6.0, 15.0)
    assert (aurora.jobs, aurora.basis, aurora.known) == (1, MARKERS, True)
    assert {each.kind: each.left for each in aurora.amounts} == {"node_hours": 7.0, "gpu_hours": 4.0, "tokens": 85.0}
    assert (borealis.team, borealis.jobs, borealis.spent.node_hours, borealis.basis) == ("borealis", 0, 0.0, "")
    whole = only(found)
    assert {each.kind: (each.used, each.budget) for each in whole.amounts} == {
        "node_hours": (3.0, 20.0), "gpu_hours": (6.0, 20.0), "tokens": (15.0, 200.0)
    }  # fmt: skip


def test_every_life_of_a_requeued_job_counts(folder: Path) -> None:
    events = [
        ("started", 1, NOW - 5000),
        ("ended", 1, NOW - 4900),
        ("started", 2, NOW - 4000),
        ("ended", 2, NOW - 3800),
    ]
    run_in(folder / "aurora", "again", events=events)
    final = {**sealed(NOW - 4000, NOW - 3800), "attempt": 2}
    run_in(folder / "aurora", "closed", events=events, final=final)
    assert only(told(folder, event_of("aurora"))).spent.node_hours * 3600 == pytest.approx(2 * (100 + 200))


def test_life_without_an_end_counts_to_the_next_one(folder: Path) -> None:
    """A node died: its life can have lasted until the job began again, and no longer than its walltime."""
    run_in(folder / "aurora", "a", events=[("started", 1, NOW - 900), ("started", 2, NOW - 500), ("ended", 2, NOW)])
    found = told(folder, event_of("aurora"))
    assert only(found).spent.node_hours * 3600 == pytest.approx(400 + 500)
    assert only(found).basis == "mixed" and found.rows[0].bases == (MARKERS, LIMIT)


def test_running_counts_until_now_and_is_marked(folder: Path) -> None:
    run_in(folder / "aurora", "going", events=[("started", 1, NOW - 600)], nodes=2)
    found = only(told(folder, event_of("aurora")))
    assert found.spent.node_hours * 3600 == pytest.approx(1200) and found.running == 1
    later = only(usage(event_of("aurora"), folder, now=NOW + 100))
    assert later.spent.node_hours * 3600 == pytest.approx(1400)


@pytest.mark.parametrize(
    ("absent", "seconds"), [(None, 3600), (NOW - 8000, 500)], ids=["nobody asked", "its scheduler missed it"]
)
def test_job_that_vanished_counts_to_where_it_can_have_ended(
    folder: Path, absent: float | None, seconds: float
) -> None:
    seen = {"absent_since": absent, "absent_t": absent + 100} if absent else None
    run_in(folder / "aurora", "gone", events=[("started", 1, NOW - 8500)], client={"seen": seen})
    found = told(folder, event_of("aurora"))
    assert only(found).spent.node_hours * 3600 == pytest.approx(seconds)
    assert (only(found).no_end, only(found).running, only(found).basis) == (1, 0, LIMIT)
    assert any("the end of a job is not known" in text for text in notes(found))


def test_killed_job_counts_by_what_the_scheduler_said_when_it_was_asked(folder: Path) -> None:
    seen = {"state": "FAILED", "raw": "FAILED", "start": NOW - 8600, "end": NOW - 8000, "t": NOW - 100, "attempt": 1}
    run_in(folder / "aurora", "killed", events=[("started", 1, NOW - 8599)], client={"seen": seen})
    assert only(told(folder, event_of("aurora"))).spent.node_hours * 3600 == pytest.approx(600)
    assert only(told(folder, event_of("aurora"))).basis == SCHEDULER


def test_uncertain_submission_is_told_and_counts_nothing(folder: Path) -> None:
    run_in(folder / "aurora", "unclear", client={"submitted": None})
    found = told(folder, event_of("aurora"))
    assert (only(found).unclear, only(found).jobs, only(found).spent.node_hours) == (1, 0, 0.0)
    assert found.sums("day")[0].day == "2019-01-25"


def test_waiting_cancelled_and_never_submitted_runs_cost_nothing(folder: Path) -> None:
    run_in(folder / "aurora", "waits")
    run_in(folder / "aurora", "made", client={"submitted": None, "submitting": None})
    run_in(folder / "aurora", "refused", final={"state": "CANCELLED"})
    assert only(told(folder, event_of("aurora"))).jobs == 0


def test_adopted_job_has_its_schedulers_times_and_its_machines_gpus(folder: Path) -> None:
    job = {"state": "SUCCEEDED", "raw": "COMPLETED", "start": NOW - 7200, "end": NOW - 3600, "hosts": ["n1", "n2"]}
    adopted = {"t": NOW - 7200, "job_id": "77", "scheduler": "fake", "cluster": "lab", "job": job}
    for name in ("x", "y"):  # two people took up the same job: it counts once
        run_in(folder / "aurora", name, client={"submitted": None, "submitting": None, "adopted": adopted},
               gpus_per_node=0, nodes=2, walltime=0)  # fmt: skip
    found = told(folder, event_of("aurora"))
    assert (only(found).spent.node_hours, only(found).spent.gpu_hours, only(found).jobs) == (2.0, 4.0, 1)
    assert only(found).basis == SCHEDULER and "already counted" in " ".join(found.problems)


# ---- the scheduler's account


class Accounting(FakeScheduler):
    """The fake scheduler with a bill."""

    def __init__(self, spool: Path, bill: Callable[[list[str]], dict[str, JobAccounting]]) -> None:
        super().__init__(spool)
        self.bill = bill
        self.asked: list[list[str]] = []

    def accounting_argv(self, ids: list[str]) -> list[list[str]]:
        self.asked.append(ids)
        return [["true"]]

    def parse_accounting(self, answers: Any, ids: list[str]) -> dict[str, JobAccounting]:
        return self.bill(ids)


def test_account_takes_the_place_of_markers_and_is_asked_once(folder: Path, tmp_path: Path) -> None:
    run_in(folder / "aurora", "aa", final=sealed(NOW - 7200, NOW - 7000))
    run_in(folder / "aurora", "bb", final=sealed(NOW - 7200, NOW - 7100))
    name = "hk-aaaaaaaa"

    def bill(ids: list[str]) -> dict[str, JobAccounting]:
        good = (Charge(NOW - 7201, NOW - 6901, 300.0, 4, 8, name), Charge(NOW - 6000, NOW - 5950, 50.0, 1, None, name))
        other = JobAccounting((Charge(NOW - 9e6, NOW - 8e6, 1e6, 1, 0, "another-job"),))  # numbers that began anew
        return {job: JobAccounting(good) if job == "aa" else other for job in ids}

    scheduler = Accounting(tmp_path / "spool", bill)
    found = told(folder, event_of("aurora"), ask=True, load=lambda _: scheduler)
    row = only(found)
    assert row.spent.node_hours * 3600 == pytest.approx(4 * 300 + 50 + 100)
    assert row.spent.gpu_hours * 3600 == pytest.approx(8 * 300 + 2 * 50 + 2 * 100)
    assert row.basis == "mixed" and scheduler.asked == [["aa", "bb"]]
    again = told(folder, event_of("aurora"), ask=True, load=lambda _: scheduler)
    assert only(again).spent == row.spent
    assert scheduler.asked == [["aa", "bb"]]  # what is known for good is not asked again
    assert only(told(folder, event_of("aurora"))).spent == row.spent  # and is kept


def test_account_is_asked_for_in_the_dialect_of_the_newest_run(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hackathon.schedulers import registry

    for name, group in (("aa", "old"), ("bb", "new")):
        run_in(folder / "aurora", name, final=sealed(NOW - 7200, NOW - 7000), dialect={"group": group})
    scheduler, asked = Accounting(tmp_path / "spool", lambda ids: {}), []

    def load(name: str, dialect: Any = None) -> FakeScheduler:
        asked.append((name, dialect))
        return scheduler

    monkeypatch.setattr(registry, "load", load)
    told(folder, event_of("aurora"), ask=True)
    assert asked == [("fake", {"group": "new"})] and scheduler.asked == [["aa", "bb"]]


def test_scheduler_that_does_not_answer_is_told_and_markers_count(folder: Path, tmp_path: Path) -> None:
    from hackathon.schedulers.base import SchedulerError

    def bill(ids: list[str]) -> dict[str, JobAccounting]:
        raise SchedulerError("schedulers.server_down", transient=False, command="sacct", code=1, words="down")

    run_in(folder / "aurora", "one", final=sealed(NOW - 7200, NOW - 3600))
    found = told(folder, event_of("aurora"), ask=True, load=lambda _: Accounting(tmp_path / "spool", bill))
    assert only(found).spent.node_hours == 1.0 and only(found).basis == MARKERS
    assert any("accounting is not available" in text for text in found.problems)


ME = user_name(os.geteuid())
MINE, OTHERS = "hk-aaaaaaaa", "hk-bbbbbbbb"
"""Names of the jobs of the runs `aa` and `bb`."""
START = NOW - 7200


def charge(seconds: float, name: str, owner: str = ME, start: float = START) -> Charge:
    return Charge(start, start + seconds, seconds, 1, 0, name, owner)


@pytest.mark.parametrize(
    ("charges", "seconds", "told"),
    [
        ((charge(500, "hk-zzzzzzzz", "nobody-here"),), 200, "job aa, which belongs to nobody-here"),
        ((charge(500, MINE, "nobody-here"),), 200, "belongs to nobody-here"),  # even the name agrees
        ((charge(500, MINE, "99999999"),), 200, "belongs to 99999999"),
        ((charge(500, OTHERS),), 200, "the job of another run (hk-bbbbbbbb)"),
        ((charge(500, OTHERS, ""),), 200, "the job of another run"),
        ((charge(500, "nightly", ""),), 200, "it is not known whose job that is"),
        ((charge(500, "\x1b[31m", ""),), 200, "it is not known whose job that is"),
        ((charge(500, MINE, ""),), 500, "not known whether the jobs of 1 run belong"),
        # no doubt: the run's own, requeued, renamed by a hook of the site or by its owner, an array, without a name
        ((charge(500, MINE),), 500, ""),
        ((charge(500, MINE, str(os.geteuid())),), 500, ""),
        ((charge(100, MINE), charge(300, MINE, start=NOW - 3600)), 400, ""),
        ((charge(500, f"site-{MINE}.gpu"),), 500, ""),
        ((charge(500, "nightly"),), 500, ""),
        ((charge(500, ""),), 500, ""),
        ((charge(500, MINE), charge(500, "training-2")), 1000, ""),  # a heterogeneous job: each part has a name
        # numbers that began anew: what another job of this number used long before the run
        ((charge(500, "old", "nobody-here", NOW - 9e6), charge(300, MINE)), 300, ""),
        ((charge(500, "old", "nobody-here", NOW - 9e6),), 200, ""),
        ((charge(500, "nightly", start=NOW - 9e6),), 200, ""),
    ],
)  # fmt: skip
def test_a_job_counts_for_the_run_whose_it_is(
    folder: Path, tmp_path: Path, charges: tuple[Charge, ...], seconds: float, told: str
) -> None:
    run_in(folder / "aurora", "aa", final=sealed(START, START + 200))
    scheduler = Accounting(tmp_path / "spool", lambda ids: dict.fromkeys(ids, JobAccounting(charges)))
    for ask in (True, False, True):
        found = usage(event_of("aurora"), folder, now=NOW, ask=ask, load=lambda _: scheduler)
        assert only(found).spent.node_hours * 3600 == pytest.approx(seconds)
        assert told in " ".join(found.problems) and bool(found.problems) == bool(told)
        assert "\x1b" not in " ".join(found.problems)
    assert len(scheduler.asked) == 1  # the doubt is kept, too


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_naming_the_job_of_another_team_charges_and_hides_nothing(folder: Path, tmp_path: Path) -> None:
    """Eve's run names Ann's job, from before Ann's run: Ann's team has used it, and Eve's run counts by its records."""
    ann = run_in(folder / "aurora", "aa", final=sealed(START, START + 200))
    eve = run_in(folder / "borealis", "bb", final={**sealed(START, START + 3600), "job_id": "aa"}, nodes=4)
    write(eve / "client" / "created.json", {"t": NOW - 99999})
    for path in [eve, *eve.rglob("*")]:
        os.chown(path, 71002, 71002)
    bill = dict.fromkeys(["aa"], JobAccounting((charge(500, MINE),)))
    asked = told(folder, event_of("aurora", "borealis"), ask=True, load=lambda _: Accounting(tmp_path, lambda _: bill))
    assert [each.spent.node_hours * 3600 for each in asked.sums("team")] == pytest.approx([500, 4 * 3600])
    (doubt,) = asked.problems
    assert eve.name in doubt and f"belongs to {ME}" in doubt and ann.name not in doubt
    unasked = told(folder, event_of("aurora", "borealis"))
    assert [each.jobs for each in unasked.sums("team")] == [1, 1]


@pytest.mark.parametrize(
    ("name", "owner", "seconds", "words"),
    [("train", ME, 500, ""), (OTHERS, ME, 500, ""), ("train", "nobody-here", 200, "belongs to nobody-here")],
)
def test_an_adopted_job_counts_for_its_owner(
    folder: Path, tmp_path: Path, name: str, owner: str, seconds: float, words: str
) -> None:
    job = {"state": "SUCCEEDED", "raw": "COMPLETED", "start": START, "end": START + 200, "hosts": ["n1"]}
    adopted = {"t": NOW - 600, "job_id": "77", "scheduler": "fake", "cluster": "lab", "job": job}
    run_in(folder / "aurora", "x", client={"submitted": None, "submitting": None, "adopted": adopted}, walltime=0)
    bill = {"77": JobAccounting((charge(500, name, owner),))}
    found = told(folder, event_of("aurora"), ask=True, load=lambda _: Accounting(tmp_path, lambda _: bill))
    assert only(found).spent.node_hours * 3600 == pytest.approx(seconds)
    assert words in " ".join(found.problems) and bool(found.problems) == bool(words)


@pytest.mark.parametrize(
    ("start", "jobs"), [(START + 10, 1), (START, 1), (START + 3000, 2)], ids=["meanwhile", "a copy", "a number anew"]
)
def test_a_job_that_two_runs_name_counts_once(folder: Path, start: float, jobs: int) -> None:
    for name, begin in (("aa", START), ("bb", start)):
        run_in(folder / "aurora", name, final={**sealed(begin, begin + 600), "job_id": "7"})
    found = told(folder, event_of("aurora"))
    assert (only(found).jobs, only(found).spent.node_hours * 3600) == (jobs, pytest.approx(600 * jobs))
    assert len(found.problems) == 2 - jobs


# ---- days


@pytest.mark.parametrize(
    ("name", "start", "end", "days"),
    [
        ("UTC", NOW - 8 * 3600, NOW, {"2019-01-24": 3199, "2019-01-25": 25601}),
        ("Asia/Tokyo", NOW - 3600, NOW, {"2019-01-25": 3600}),
        ("Asia/Tokyo", NOW - 17 * 3600, NOW, {"2019-01-24": 3200, "2019-01-25": 58000}),
        # clocks are put forward on 31 March 2019: that day has 23 hours; back on 27 October: 25
        ("Europe/Berlin", 1553986800.0, 1553986800.0 + 24 * 3600, {"2019-03-31": 23 * 3600, "2019-04-01": 3600}),
        ("Europe/Berlin", 1572127200.0, 1572127200.0 + 26 * 3600, {"2019-10-27": 25 * 3600, "2019-10-28": 3600}),
    ],
)
def test_jobs_over_midnight_are_divided(
    monkeypatch: pytest.MonkeyPatch, name: str, start: float, end: float, days: dict[str, float]
) -> None:
    monkeypatch.setenv("TZ", name)
    time.tzset()
    found = dict(by_day(Life(start, end, end - start, 1, None, MARKERS), float("-inf"), float("inf")))
    assert found == pytest.approx(days, abs=1.5) and sum(found.values()) == pytest.approx(end - start)


@given(
    st.floats(1e9, 2e9), st.floats(0, 20 * 86400), st.floats(0, 1), st.floats(-5 * 86400, 25 * 86400)
)  # fmt: skip
def test_days_and_parts_of_the_time_add_up(start: float, length: float, share: float, cut: float) -> None:
    life = Life(start, start + length, length * share, 1, None, SCHEDULER)
    whole = [*by_day(life, float("-inf"), float("inf"))]
    assert sum(seconds for _, seconds in whole) == pytest.approx(life.seconds, abs=1e-3)
    assert all(seconds >= 0 for _, seconds in whole)
    parts = [*by_day(life, float("-inf"), start + cut), *by_day(life, start + cut, float("inf"))]
    assert sum(seconds for _, seconds in parts) == pytest.approx(life.seconds, abs=1e-3)


def test_since_and_until_count_what_lies_between(folder: Path) -> None:
    run_in(folder / "aurora", "one", final=sealed(NOW - 7200, NOW - 3600))
    found = told(folder, event_of("aurora"), since=NOW - 5400, until=NOW - 4500)
    assert only(found).spent.node_hours == pytest.approx(0.25) and only(found).budget is None
    assert told(folder, event_of("aurora"), until=NOW - 7200).rows == ()


def test_zone_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    assert zone(NOW) == "JST (UTC+09:00)"
    monkeypatch.setenv("TZ", "<-0330>3:30")
    time.tzset()
    assert "UTC-03:30" in zone(NOW)


# ---- whose


def test_runs_of_no_team_and_of_a_team_that_disappeared_have_rows(folder: Path) -> None:
    run_in(folder / "aurora", "one", final=sealed(NOW - 7200, NOW - 3600), team="borealis")  # the folder decides
    run_in(folder / "old", "two", final=sealed(NOW - 7200, NOW - 3600), team="=gone|<b>")
    run_in(folder / "stray", "three", final=sealed(NOW - 7200, NOW - 3600))
    run_in(folder / "false", "four", final=sealed(NOW - 7200, NOW - 3600), team="borealis")
    members = [Team("aurora"), Team("borealis", members=[Member("nobody-here")])]
    found = told(folder, event_of(teams=members))
    sums = {(each.team, each.user): each.spent.node_hours for each in found.sums("team")}
    mine = found.rows[0].user
    # who is not a member cannot use up the budget of a team by naming it
    assert sums == {("aurora", None): 1.0, ("borealis", None): 0.0, ("=gone|<b>", None): 1.0, ("", mine): 2.0}
    head, rows = table(found, "team")
    assert head[0] == "team" and any("not in hackathon.yaml" in row[0] for row in rows)
    lines = list(csv.DictReader(io.StringIO(csv_text(found, "team"))))
    assert {line["team"] for line in lines} == {"aurora", "borealis", "'=gone|<b>", ""}
    assert sum(float(line["node_hours"]) for line in lines) == 4.0


def test_owner_decides_where_the_folder_does_not(folder: Path) -> None:

    me = user_name(os.geteuid())
    run_in(folder / "elsewhere", "one", final=sealed(NOW - 7200, NOW - 3600), team="borealis")
    found = told(folder, event_of(teams=[Team("aurora", members=[Member(me)]), Team("borealis")]))
    assert {each.team: each.spent.node_hours for each in found.sums("team")} == {"aurora": 1.0, "borealis": 0.0}


# ---- bad input


@pytest.mark.parametrize(
    ("record", "start", "end", "hours", "word"),
    [
        ({}, NOW - 100, NOW - 3700, 0.0, "its end is before its start"),
        ({}, NOW + 9e6, NOW + 9e6 + 60, 0.0, "future"),
        ({}, NOW - 9e6, NOW - 100, 1.0, "longer than its walltime"),
        ({"nodes": 10**9}, NOW - 7200, NOW - 3600, 1.0, "impossible number"),
        ({"nodes": -3}, NOW - 7200, NOW - 3600, 1.0, "impossible number"),
        ({"nodes": True}, NOW - 7200, NOW - 3600, 1.0, "impossible number"),
        ({"nodes": "4", "walltime": "x"}, NOW - 7200, NOW - 3600, 1.0, "impossible number"),
    ],
)
def test_records_that_can_not_be_true_are_told(
    folder: Path, record: dict[str, Any], start: float, end: float, hours: float, word: str
) -> None:
    run_in(folder / "aurora", "odd", final=sealed(start, end), **record)
    run_in(folder / "aurora", "good", final=sealed(NOW - 7200, NOW - 3600))
    found = told(folder, event_of("aurora"))
    assert only(found).spent.node_hours == pytest.approx(hours + 1.0)
    assert any(word in text for text in found.problems), found.problems


def test_broken_runs_do_not_hide_the_others(folder: Path, tmp_path: Path) -> None:
    run_in(folder / "aurora", "good", final=sealed(NOW - 7200, NOW - 3600))
    torn = run_in(folder / "aurora", "torn", final=sealed(NOW - 7200, NOW - 3600))
    (torn / "request.json").write_text('{"nodes": 1')
    strange = run_in(folder / "aurora", "strange", client={"seen": None})
    (strange / "final.json").write_text('{"state": ["x"], "t_started": "yesterday", "hosts": 5}')
    pipe = run_in(folder / "aurora", "pipe")
    (pipe / "request.json").unlink()
    os.mkfifo(pipe / "request.json")
    outside = run_in(tmp_path / "outside", "far", final=sealed(NOW - 7200, NOW - 3600))
    (folder / "aurora" / "runs" / "20190124-130000-link-1p-aaaabbbb").symlink_to(outside)
    (folder / "linked").mkdir()
    (folder / "linked" / "runs").symlink_to(tmp_path / "outside" / "runs")
    found = told(folder, event_of("aurora"))
    assert only(found).spent.node_hours == 1.0
    problems = " ".join(found.problems)
    assert "2 runs cannot be read" in problems and "link-1p-aaaabbbb" in problems and "linked/runs" in problems


def test_folder_without_rights_is_told() -> None:
    with without_rights() as place:
        run_in(place / "aurora", "open", final=sealed(NOW - 7200, NOW - 3600))
        run_in(place / "borealis", "closed", final=sealed(NOW - 7200, NOW - 3600))
        (place / "borealis" / "runs").chmod(0)
        os.environ["XDG_CACHE_HOME"] = str(place / "cache")
        found = told(place, event_of("aurora", "borealis"))
        assert only(found).spent.node_hours == 1.0
        assert (found.folders, found.unread) == (2, 1)
        assert any("its runs are not counted" in text for text in found.problems)
        assert any("counted: 1 of 2" in text for text in notes(found))
        (place / "borealis" / "runs").chmod(0o700)


# ---- what is kept


def test_sealed_runs_are_read_once(folder: Path) -> None:
    run = run_in(folder / "aurora", "one", final=sealed(NOW - 7200, NOW - 3600))
    assert only(told(folder, event_of("aurora"))).spent.node_hours == 1.0
    (run / "request.json").write_text("unreadable now")
    assert only(told(folder, event_of("aurora"))).spent.node_hours == 1.0
    default_path().write_text("no database any more")
    found = told(folder, event_of("aurora"))
    assert only(found).spent.node_hours == 0.0 and "cannot be read" in " ".join(found.problems)


def test_run_that_ended_is_read_again_when_it_is_requeued(folder: Path) -> None:
    run = run_in(folder / "aurora", "one", events=[("started", 1, NOW - 900), ("ended", 1, NOW - 800)])
    assert only(told(folder, event_of("aurora"))).spent.node_hours * 3600 == pytest.approx(100)
    with (run / "events" / "job.jsonl").open("a") as stream:
        stream.write(json.dumps({"event": "started", "attempt": 2, "t": NOW - 300}) + "\n")
    found = only(told(folder, event_of("aurora")))
    assert found.spent.node_hours * 3600 == pytest.approx(400) and found.running == 1


def test_what_was_cleaned_up_was_used_all_the_same(folder: Path) -> None:
    from hackathon.runs.clean import candidates, remove

    project = folder / "aurora"
    failed = {**sealed(NOW - 7200, NOW - 3600), "state": "FAILED"}
    run = run_in(project, "one", final=failed)
    events = [
        ("started", 1, NOW - 9000),
        ("ended", 1, NOW - 8900),
        ("started", 2, NOW - 7200),
        ("ended", 2, NOW - 3600),
    ]
    run_in(project, "two", final={**failed, "attempt": 2}, events=events)
    before = only(told(folder, event_of("aurora"))).spent
    assert before.node_hours * 3600 == pytest.approx(3600 + 3700)
    remove(candidates(project, failed=True), project)
    assert not run.exists() and [path.name for path in (project / "runs").iterdir()] == [".removed"]
    assert only(told(folder, event_of("aurora"))).spent == before
    default_path().unlink()
    found = told(folder, event_of("aurora"))
    assert only(found).spent == before and not found.problems


# ---- tables


def test_tables_say_the_same(folder: Path) -> None:
    for number in range(5):
        start = NOW - 86400 * number - 5000
        run_in(
            folder / ("aurora" if number % 2 else "北"),
            f"r{number}",
            final=sealed(start, start + 1800),
            nodes=number + 1,
        )
    found = told(folder, event_of("aurora", "北", "silent"))
    whole = only(found).spent
    for by in ("team", "day", "team,day", "user", "cluster"):
        lines = list(csv.DictReader(io.StringIO(csv_text(found, by))))
        value = json.loads(json.dumps(to_json(found, by)))
        assert value["schema_version"] == 1 and len(value["rows"]) == len(lines)
        assert sum(float(line["node_hours"]) for line in lines) == pytest.approx(whole.node_hours, abs=1e-5)
        assert sum(row["gpu_hours"] for row in value["rows"]) == pytest.approx(whole.gpu_hours, abs=1e-5)
        assert tuple(lines[0]) == COLUMNS
        head, rows = table(found, by)
        assert all(len(row) == len(head) for row in rows)
    assert [row[0] for row in table(found, "team")[1]][::3] == ["aurora", "北", "silent"]
    assert [line["day"] for line in csv.DictReader(io.StringIO(csv_text(found, "day")))] == [
        "2019-01-21", "2019-01-22", "2019-01-23", "2019-01-24", "2019-01-25"
    ]  # fmt: skip


def test_event_without_clusters_or_runs_still_lists_its_teams(folder: Path) -> None:
    found = told(folder, event_of("aurora", "borealis", clusters={}))
    assert [(each.team, each.cluster, each.jobs) for each in found.sums("team")] == [
        ("aurora", "", 0),
        ("borealis", "", 0),
    ]
    assert len(table(found, "team")[1]) == 2 and found.sums() == [] and table(found, "cluster")[1] == []


def test_pages_and_usage_reckon_alike(folder: Path) -> None:
    """The pages' sums over what the index has are those of usage."""
    from hackathon.index.catalog import Catalog
    from hackathon.index.index import Index
    from hackathon.index.projects import ProjectFolder, bounds_of
    from hackathon.usage.usage import Ledger

    profile = folder / "templates" / "clusters" / "lab.yaml"
    profile.write_text(CLUSTER + "dialect: {gpu_request: gres}\n")
    project = ProjectFolder(folder / "aurora", "aurora")
    run_in(project.path, "one", final=sealed(NOW - 7200, NOW - 3600), nodes=3)
    run_in(project.path, "two", events=[("started", 1, NOW - 600)], nodes=2)
    events = [("started", 1, NOW - 900), ("ended", 1, NOW - 800), ("started", 2, NOW - 300), ("ended", 2, NOW - 50)]
    run_in(project.path, "again", events=events, processes=1, processes_per_node=1)
    event = event_of("aurora")
    index = Index([project], folder / "index.db", bounds_of(folder, event, []))
    try:
        index.refresh()
        source = Catalog(index.summaries, [project], event, folder, now=NOW)
        (use,) = Ledger(source).of(source.entries).of_team("aurora")
    finally:
        index.close()
    (mine,) = told(folder, event).sums("team")
    assert use == mine and [each.kind for each in use.amounts] == ["node_hours", "gpu_hours", "tokens"]
