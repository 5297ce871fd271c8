"""The command line is killed at every step of submission, on the real Slurm: at most one job a run, and none lost.

Two projects share one Slurm. In the first, `submit` is killed at each of its steps and at random moments; in the
second, `scale` and then `scale --resume`. Afterwards only commands that a person would type bring all to a known state.
What is true is then read from Slurm itself, by job name, over all states.
"""

import contextlib
import functools
import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hackathon.runs.kill_points import CREATE_STEPS, STEPS, SUBMIT_STEPS
from hackathon.runs.submit import SETTLE
from support.backends import Site, SlurmBackend, until
from support.injected import injected
from support.slurm_lab.lab import SlurmLab
from support.trouble import ask, hidden_in, runs_in, start, write_project

pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.timeout(600)]

TRIALS = 200
"""Kills at least. A window of 1 % of a submission's time, hit at random, is missed by 200 kills in 13 % of all sessions
(0.99^200); every step that is known by name is hit on purpose, at least eight times."""
AT_EACH_STEP = 17
"""Kills of `submit` at each of its seven steps."""
WAITING = 6
"""Kills after a job got into a queue that is stopped: only its name leads to it, as no job script runs."""
AT_RANDOM = 70
"""Kills of `submit --repeat 2` at a random moment; every second one takes the children with it, as a reboot does."""
STUDIES = 6
"""Studies, each killed once at every step of `scale` while it is brought forward by `--resume`."""
POINTS = 4
"""Points of a study: `scale --processes 1,2 --repeat 2`."""
AT_ONCE = 3
"""Command lines at the same time: the machine of CI has two cores."""
_STARTING = threading.Lock()
"""Held while a new study is looked for among the others."""


@dataclass
class World:
    """The two projects, and how often a process was killed at which step."""

    submits: Site
    scales: Site
    kills: Counter[str] = field(default_factory=Counter)
    first_job: int = 0
    """Jobs from this number on are this test's."""


@pytest.fixture
def world(slurm: SlurmLab, tmp_path: Path) -> Iterator[World]:
    backend = SlurmBackend(slurm)
    sites = [Site(backend, tmp_path / name) for name in ("submits", "scales")]
    for site in sites:
        # `true` in the shell's own folder: the jobs cost as little as a job can
        write_project(site.folder, "true", {"environment": []}, walltime=120)
    known = [int(line) for line in slurm.run("squeue", "-h", "-t", "all", "-o", "%A").split()]
    yield World(sites[0], sites[1], first_job=max(known, default=0) + 1)
    backend.stop()


def test_killed_anywhere_there_is_one_job_a_run(world: World, slurm: SlurmLab) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        studies = [pool.submit(_study_killed_at_every_step, world) for _ in range(STUDIES)]
        trials = [(_killed_at, step) for step in (*CREATE_STEPS, *SUBMIT_STEPS) for _ in range(AT_EACH_STEP)]
        slurm.run("scontrol", "update", "partitionname=high", "state=down")  # what is submitted there waits
        trials += [(_killed_while_the_job_waits, "after-scheduler")] * WAITING
        for outcome in [*(pool.submit(trial, world, step) for trial, step in trials), *studies]:
            outcome.result()
        seconds = _seconds_of_a_submission(world)
        for outcome in [pool.submit(_killed_at_random, world, number, seconds) for number in range(AT_RANDOM)]:
            outcome.result()
        last = time.monotonic()

        _status_killed_while_it_finds_jobs(world)
        slurm.run("scontrol", "update", "partitionname=high", "state=up")
        _nothing_is_submitted_twice_in_haste(world)
        until(
            lambda: time.monotonic() - last > SETTLE, "the time a killed submission needs to come to rest", SETTLE + 9
        )
        _bring_to_a_known_state(world, pool)
        _resume_to_the_end(world, pool)

    injected(sum(world.kills.values()))
    assert sum(world.kills.values()) >= TRIALS, world.kills
    assert {step for step in STEPS if world.kills[step] < 4} == {"after-refused"}  # see the next test
    _every_run_has_its_one_job(world, slurm)
    _every_point_has_one_successful_run(world)
    # killed before a run had its name: nothing was submitted, and nothing of it is taken for a run
    partial = hidden_in(world.submits.folder)
    assert len(partial) >= 3 * AT_EACH_STEP and all(name.startswith(".partial-") for name in partial)


def test_killed_after_a_refusal_the_run_can_be_submitted_again(world: World, slurm: SlurmLab) -> None:
    site = world.submits
    slurm.run("scontrol", "update", "partitionname=short", "state=inactive")
    try:
        for _ in range(4):
            _kill_by_fault(world, site, "after-refused", "submit", "--queue", "short", "--walltime", "60")
        assert world.kills["after-refused"] == 4
        states = _states(site)
        assert [(state["state"], state["cause"]) for state in states] == [("FAILED", "refused")] * 4
        assert "Required partition not available" in states[0]["reason"]
    finally:
        slurm.run("scontrol", "update", "partitionname=short", "state=up")
    for run in runs_in(site.folder):
        assert ask(site, "submit", "--again", run.name).code == 0
    waited = ask(site, "status", "--wait", "--json").json()["runs"]
    assert [state["state"] for state in waited] == ["SUCCEEDED"] * 4
    _every_run_has_its_one_job(world, slurm)


# ---- kills


def _kill_by_fault(world: World, site: Site, step: str, *words: str) -> int:
    """Run a command that is to kill itself at a step and return its exit code."""
    process = start(site, *words, HACKATHON_FAULT=step)
    _, err = process.communicate(timeout=120)
    assert b"Traceback" not in err, err
    if process.returncode == -signal.SIGKILL:
        world.kills[step] += 1
    return process.returncode


def _killed_at(world: World, step: str) -> None:
    assert _kill_by_fault(world, world.submits, step, "submit") == -signal.SIGKILL


def _killed_while_the_job_waits(world: World, step: str) -> None:
    assert _kill_by_fault(world, world.submits, step, "submit", "--queue", "high") == -signal.SIGKILL


def _seconds_of_a_submission(world: World) -> float:
    """Return how long one `submit --repeat 2` takes while others run, as the random kills do."""
    began = time.monotonic()
    assert ask(world.submits, "submit", "--repeat", "2").code == 0
    return time.monotonic() - began


def _killed_at_random(world: World, number: int, seconds: float) -> None:
    """Kill a submission between the loading of its modules and its end."""
    process = start(world.submits, "submit", "--repeat", "2")
    wait = random.Random(number).uniform(0.2, 1.2) * seconds * 1.2
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(wait)
    children = _children(process.pid) if number % 2 else []
    if process.poll() is None:
        world.kills["random"] += 1
    for pid in [process.pid, *children]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    _, err = process.communicate()
    assert b"Traceback" not in err, err


def _children(pid: int) -> list[int]:
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(word) for word in path.read_text().split()]
    return found


def _study_killed_at_every_step(world: World) -> None:
    """Begin a study and bring it forward, killed at one step after the other; each kill leaves another mess."""
    steps = ["after-reserved", *CREATE_STEPS, *SUBMIT_STEPS]
    words = ("scale", "--processes", "1,2", "--repeat", str(POINTS // 2))
    with _STARTING:
        before = set(_studies(world))
        assert _kill_by_fault(world, world.scales, steps[0], *words) == -signal.SIGKILL
        (study,) = set(_studies(world)) - before
    for step in steps[1:]:
        code = _kill_by_fault(world, world.scales, step, "scale", "--resume", study)
        # when every point is taken, or waits for its fate, there is nothing left to be killed at
        assert code in (-signal.SIGKILL, 0), (step, code)


# ---- what a person does afterwards


def _states(site: Site) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ask(site, "status", "--all", "--json").json()["runs"]
    return found


def _nothing_is_submitted_twice_in_haste(world: World) -> None:
    """Right after the kills `--again` says how long to wait; plain `status` submits nothing."""
    found = _states(world.submits)
    fine = ("CREATED", "UNCERTAIN", "QUEUED", "RUNNING", "ENDING", "SUCCEEDED")
    assert [state for state in found if state["state"] not in fine] == []
    states = {state["run_id"]: state["state"] for state in found}
    newest = max(run for run, state in states.items() if state != "CREATED")
    assert ask(world.submits, "submit", "--again", newest).code == 2


def _status_killed_while_it_finds_jobs(world: World) -> None:
    """`status` writes down a job that it found by name; killed just then, the next one goes on with the next run."""
    for _ in range(WAITING):
        _kill_by_fault(world, world.submits, "after-recovered", "status", "--all", "--json")


def _bring_to_a_known_state(world: World, pool: ThreadPoolExecutor) -> None:
    """Ask, and submit again what never got into the queue."""
    for site in (world.submits, world.scales):
        wanted = ("UNCERTAIN", "CREATED") if site is world.submits else ("UNCERTAIN",)  # a study's others: `--resume`
        again = [state["run_id"] for state in _states(site) if state["state"] in wanted]
        said = list(pool.map(functools.partial(ask, site, "submit", "--again"), again))
        assert not [each for each in said if each.code]
        left = [state for state in _states(site) if state["job_id"] is None and state["run_id"] in again]
        assert not left, left


def _resume_to_the_end(world: World, pool: ThreadPoolExecutor) -> None:
    said = list(pool.map(lambda study: ask(world.scales, "scale", "--resume", study, "--json"), _studies(world)))
    assert [(each.code, each.json()["left"]) for each in said] == [(0, 0)] * STUDIES
    for site in (world.submits, world.scales):
        waited = ask(site, "status", "--all", "--wait", "--json", seconds=200).json()["runs"]
        assert Counter(state["state"] for state in waited) == {"SUCCEEDED": len(runs_in(site.folder))}


# ---- what is true


def _every_run_has_its_one_job(world: World, slurm: SlurmLab) -> None:
    """Slurm's own list, over all states: each job name once, each run's job there, and no job without a run."""

    def listed() -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        queue = slurm.run("squeue", "-h", "-a", "-t", "all", "-o", "%A|%j")
        past = slurm.run("sacct", "-X", "-D", "-n", "-P", "-S", "now-1hours", "-E", "now", "-o", "JobID,JobName")
        for line in (queue + past).splitlines():
            number, _, name = line.partition("|")
            if int(number.partition("_")[0]) >= world.first_job:
                found.setdefault(name, set()).add(number)
        return found

    jobs = listed()
    runs = [run for site in (world.submits, world.scales) for run in runs_in(site.folder)]
    assert {name: ids for name, ids in jobs.items() if len(ids) != 1} == {}
    known = {
        f"hk-{state['run_id'][-8:]}": {state["job_id"]}
        for site in (world.submits, world.scales)
        for state in _states(site)
    }
    assert len(known) == len(runs)
    assert known == jobs
    # the job that took the run is the one that Slurm lists: no second one ever began
    started = [len([line for line in (run / "events" / "job.jsonl").open() if '"started"' in line]) for run in runs
               if (run / "events" / "job.jsonl").exists()]  # fmt: skip
    assert set(started) == {1}


def _every_point_has_one_successful_run(world: World) -> None:
    for study in _studies(world):
        states = ask(world.scales, "status", study, "--json").json()["runs"]
        assert [state["state"] for state in states] == ["SUCCEEDED"] * POINTS
        assert len({state["job_id"] for state in states}) == POINTS
    assert len(runs_in(world.scales.folder)) == STUDIES * POINTS


def _studies(world: World) -> list[str]:
    folder = world.scales.folder / "studies"
    return sorted(path.name for path in folder.glob("[!.]*")) if folder.exists() else []
