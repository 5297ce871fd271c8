"""Done when: usage equals the sum of the scheduler's own accounting on the real Slurm, within one second a job."""

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hackathon.index.projects import Bounds, ProjectFolder
from hackathon.index.uses import read_uses
from hackathon.runs.lives import LIMIT, MARKERS, SCHEDULER, Held
from support.backends import Run, Site, SlurmBackend, until
from support.patience import STRETCH
from support.slurm_lab.lab import SlurmLab

pytestmark = pytest.mark.slurm
LATE = STRETCH * 3.0
"""Seconds between Slurm's clock and a script's own markers: Slurm counts whole seconds, from the moment it gave the
nodes to the moment it has them back, or to a requeue, after which the script still has to die. Measured: 0.0 to 1.1 s
on a quiet machine, 3.2 s on a busy one."""
PROFILE = {"dialect": {"gpu_request": "gpus-per-node"}, "node": {"cores": 4, "gpus": 2}, "processes_per_node": 1,
           "rates": {"per_node_hour": 2, "per_gpu_hour": 3}}  # fmt: skip


@dataclass(frozen=True)
class Billed:
    """One record of sacct."""

    seconds: int
    nodes: int
    gpus: int


class Event:
    """Two teams with a project each, and what sacct has about their jobs."""

    def __init__(self, lab: SlurmLab, folder: Path) -> None:
        self.lab, self.folder, self.backend = lab, folder, SlurmBackend(lab)
        folder.mkdir()
        teams = [{"name": "aurora"}, {"name": "北"}, {"name": "silent"}]
        clusters = {"lab": {"budget": {"node_hours": 10, "gpu_hours": 1, "tokens": 100}}}
        (folder / "hackathon.yaml").write_text(json.dumps({"title": "t", "teams": teams, "clusters": clusters}))
        self.aurora, self.north = (self._site(name) for name in ("aurora", "北"))
        templates = folder / "templates" / "clusters"
        templates.mkdir(parents=True)
        (templates / "lab.yaml").write_text(json.dumps({**self.backend.profile(), **PROFILE}))
        self.more = {"XDG_CACHE_HOME": str(folder / "cache"), "HACKATHON_LANG": "en"}

    def _site(self, name: str) -> Site:
        site = Site(self.backend, self.folder / name)
        site.write_project("sleep {seconds}", parameters={"seconds": "2"}, walltime="120s")
        site.write_profile(**PROFILE)
        return site

    def usage(self, *words: str) -> dict[str, Any]:
        """Return what `event usage --json` says."""
        site = Site(self.backend, self.folder, self.more)
        found: dict[str, Any] = json.loads(site.run("event", "usage", "--json", *words))
        return found

    def bill(self, jobs: list[str]) -> dict[str, list[Billed]]:
        """Return job → the records of all its lives, when accounting has the end of every one."""
        found: dict[str, list[Billed]] = {}
        form = "--format=JobID,State,End,ElapsedRaw,AllocNodes,AllocTRES"

        def over() -> bool:
            found.clear()
            lines = self.lab.run("sacct", "-X", "-D", "-n", "-P", "-j", ",".join(jobs), form).splitlines()
            for line in lines:
                job, state, end, seconds, nodes, resources = line.split("|")
                if end == "Unknown" or state in ("RUNNING", "PENDING", "COMPLETING"):
                    return False
                gpus = re.search(r"gres/gpu=(\d+)", resources)
                billed = Billed(int(seconds), int(nodes), int(gpus[1]) if gpus else 0)
                found.setdefault(job.split("_")[0], []).append(billed)
            return set(found) == set(jobs)

        until(over, f"the accounts of {jobs}", 120)
        return found

    def uses(self, *, ask: bool) -> dict[str, Held]:
        """Return job → the lives of its run until now."""
        projects = [ProjectFolder(site.folder) for site in (self.aurora, self.north)]
        read, problems = read_uses(projects, Bounds([(self.folder, "")]), now=time.time(), ask=ask)
        assert not problems
        return {use.job_id: use.held(time.time()) for each in read for use in each.uses}


@pytest.fixture
def event(slurm: SlurmLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = Event(slurm, tmp_path / "event")
    yield made
    made.backend.stop()


def total(bills: dict[str, list[Billed]], jobs: list[str]) -> tuple[int, int]:
    """Return (node-seconds, GPU-seconds)."""
    billed = [each for job in jobs for each in bills[job]]
    return sum(each.seconds * each.nodes for each in billed), sum(each.seconds * each.gpus for each in billed)


def began(run: Run) -> Run:
    until(lambda: run.has("started"), f"the start of {run.path}")
    return run


def by_team(told: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["team"]: row for row in told["rows"]}


def check_sums(event: Event, told: dict[str, Any], bills: dict[str, list[Billed]], teams: dict[str, list[str]]) -> None:
    """What is told by team is what sacct has, to the rounding of JSON."""
    for team, jobs in teams.items():
        row = by_team(told)[team]
        nodes, gpus = total(bills, jobs)
        assert row["node_hours"] * 3600 == pytest.approx(nodes, abs=0.01)
        assert row["gpu_hours"] * 3600 == pytest.approx(gpus, abs=0.01)
        assert row["tokens"] == pytest.approx((2 * nodes + 3 * gpus) / 3600, abs=1e-4)
        assert row["basis"] == "scheduler" and row["jobs"] == len(jobs)
        assert row["left"]["tokens"] == pytest.approx(100 - row["tokens"], abs=1e-5)


@pytest.mark.slow
def test_usage_is_what_accounting_says(event: Event, slurm: SlurmLab, tmp_path: Path) -> None:
    aurora, north = event.aurora, event.north
    two_nodes = aurora.submit("--processes", "2", "-p", "seconds=4")
    fails = aurora.submit("-p", "seconds=never")
    # they do not end by themselves before they are ended below
    long = ("--walltime", "600s", "-p", "seconds=500")
    cancelled, killed = (began(each) for each in aurora.submit_all("--repeat", "2", *long))
    waits = north.submit("-p", "seconds=1", "--after", f"any:{killed.path}")
    slurm.run("scancel", waits.job_id)
    again = north.submit("-p", "seconds=3")
    array = slurm.run(
        "sbatch", "--parsable", "-N1", "--array=1-3", "-D", str(tmp_path), "--wrap", "sleep 2", "--gpus-per-node=1"
    ).strip()
    north.run("adopt", array, "--cluster", "lab")
    aurora.run("cancel", cancelled.id)
    # the shell of the job script is gone without a word: it writes no `ended`
    slurm.run("scancel", "--batch", "--signal=KILL", killed.job_id)
    began(again)
    slurm.run("scontrol", "requeue", again.job_id)
    going = event.usage("--no-ask")
    assert by_team(going)["aurora"]["running"] + by_team(going)["北"]["running"] >= 1
    held = by_team(going)["北"]
    until(lambda: not slurm.run("squeue", "-h"), "an empty queue")

    teams = {
        "aurora": [two_nodes.job_id, fails.job_id, cancelled.job_id, killed.job_id],
        "北": [again.job_id, array],
    }
    bills = event.bill([*teams["aurora"], *teams["北"], waits.job_id])
    assert len(bills[again.job_id]) == 2 and len(bills[array]) == 3  # two lives, three elements
    assert {each.nodes for each in bills[two_nodes.job_id]} == {2} and bills[two_nodes.job_id][0].gpus == 2
    assert held["running"] <= 1

    # by the runs' own markers, where the job lived to write them: near to the scheduler's, every life
    uses = event.uses(ask=False)
    for run in (two_nodes, fails, cancelled, again):
        lives, billed = uses[run.job_id].lives, bills[run.job_id]
        assert lives[-1].basis == MARKERS and len(lives) == len(billed), run.id
        for life, each in zip(lives, billed, strict=True):
            assert life.nodes == each.nodes
            if life.basis == LIMIT:  # a requeue may kill the script before it can say so
                assert life.seconds >= each.seconds
                continue
            assert abs(life.seconds - each.seconds) <= LATE, (run.id, lives, billed)
    # without `ended` the scheduler's word counts as soon as anybody has asked for the run's state
    assert uses[killed.job_id].state == "running" and not killed.has("ended")
    aurora.run("status", killed.id)
    (life,) = event.uses(ask=False)[killed.job_id].lives
    assert life.basis == SCHEDULER and abs(life.seconds - bills[killed.job_id][0].seconds) <= 1.0
    assert event.uses(ask=False)[waits.job_id].lives == ()

    # asked, it is what accounting says, job by job and in sum
    for job, use in event.uses(ask=True).items():
        assert [(life.seconds, life.nodes) for life in use.lives] == [
            (each.seconds, each.nodes) for each in bills[job] if each.nodes
        ]
    told = event.usage()
    check_sums(event, told, bills, teams)
    assert by_team(told)["silent"]["node_hours"] == 0 and by_team(told)["silent"]["left"]["node_hours"] == 10
    days = event.usage("--by", "team,day")
    assert sum(row["node_hours"] for row in days["rows"]) == pytest.approx(
        sum(row["node_hours"] for row in told["rows"]), abs=1e-5
    )


@pytest.mark.slow
def test_requests_are_held_against_the_budget(event: Event) -> None:
    """Really submitted and really refused."""
    hours = {"node_hours": 1.5}
    value = json.loads((event.folder / "hackathon.yaml").read_text())
    value |= {"clusters": {"lab": {"budget": hours}}, "when_spent": "refuse"}
    (event.folder / "hackathon.yaml").write_text(json.dumps(value))
    site = event.aurora
    hour = ("submit", "--walltime", "01:00:00")
    first = began(site.submit(*hour[1:], "-p", "seconds=3000"))  # it does not end while the next command asks
    process = site.start(*hour, "-p", "seconds=1")  # an hour at most, and half of one is free
    _, stderr = process.communicate(timeout=STRETCH * 60)
    assert process.returncode == 2 and "--walltime 00:30:00" in stderr.decode()
    assert len(list((site.folder / "runs").iterdir())) == 1
    site.run("cancel", first.id)
    site.await_state(first, "CANCELLED")
    site.submit(*hour[1:], "-p", "seconds=1")  # what the first one did not use is free again
    event.north.submit(*hour[1:], "-p", "seconds=1")  # another team has its own budget


@pytest.mark.slow
def test_timeout_and_dead_node(event: Event, slurm: SlurmLab) -> None:
    """A job that its walltime ends, and one whose node dies and that is run again on another."""
    late = began(event.aurora.submit("--walltime", "60s", "-p", "seconds=300"))
    node = late.job_events[0]["host"]
    event.north.write_profile(**{**PROFILE, "threads": 4})  # a node of its own
    doomed = began(event.north.submit("--walltime", "120s", "-p", "seconds=40"))
    other = doomed.job_events[0]["host"]
    assert slurm.network == "flat" or node != other
    slurm.kill_node(int(other.removeprefix("node")))
    try:
        assert event.north.await_state(doomed, "SUCCEEDED", "NODE_FAILED", "FAILED", seconds=240)
        assert event.aurora.await_state(late, "TIMEOUT", seconds=180)
    finally:
        slurm.restore_node(int(other.removeprefix("node")))
    teams = {"aurora": [late.job_id], "北": [doomed.job_id]}
    bills = event.bill([late.job_id, doomed.job_id])
    check_sums(event, event.usage(), bills, teams)
    (life,) = event.uses(ask=False)[late.job_id].lives
    assert abs(life.seconds - bills[late.job_id][0].seconds) <= LATE
