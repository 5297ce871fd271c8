"""The command line is killed at every step of submission, on a real scheduler: at most one job a run, and none lost.

Two projects share one scheduler. In the first, `submit` is killed at each of its steps and at random moments; in the
second, `scale` and then `scale --resume`. Afterwards only commands that a person would type bring all to a known state.
What is true is then read from the scheduler itself, by job name, over all states.
"""

import contextlib
import functools
import json
import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hackathon.runs.submit import SETTLE
from hackathon.text.kill_points import CREATE_STEPS, PUBLISH_STEPS, REPLACE_STEPS, STEPS, SUBMIT_STEPS
from support.backends import Backend, Site, until
from support.injected import injected
from support.patience import STRETCH
from support.trouble import ask, hidden_in, runs_in, start, write_project

POINTS = 4
"""Points of a study: `scale --processes 1,2 --repeat 2`."""
AT_ONCE = 3
"""Command lines at the same time: the machine of CI has two cores."""
_STARTING = threading.Lock()
"""Held while a new study is looked for among the others."""


@dataclass(frozen=True)
class Amount:
    """How often something is killed."""

    at_each_step: int
    """Kills of `submit` at each of its seven steps."""
    waiting: int
    """Kills after a job got into a queue that is stopped: only its name leads to it, as no job script runs."""
    at_random: int
    """Kills of `submit --repeat 2` at a random moment; every second one takes the children too, as a reboot does."""
    studies: int
    """Studies, each killed once at every step of `scale` while it is brought forward by `--resume`."""
    least: int
    """Kills in all, at least."""


@dataclass
class World:
    """The two projects on a scheduler, and how often a process was killed at which step."""

    submits: Site
    scales: Site
    amount: Amount
    jobs: Callable[[], dict[str, set[str]]]
    """Returns name → ids of all jobs of this test, in all states, as the scheduler itself has them."""
    waits: tuple[str, ...]
    """Words of `submit` by which a job waits while `stop_queue` says so."""
    stop_queue: Callable[[bool], object]
    refuse: Callable[[bool], object]
    refused: tuple[str, ...]
    """Words of `submit` that the scheduler refuses while `refuse` says so."""
    words: str
    """What the scheduler says then."""
    kills: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    """How long a `submit --repeat 2` that came to its end took last."""


def two_projects(backend: Backend, folder: Path, **profile: Any) -> tuple[Site, Site]:
    """Return two projects on a back-end whose jobs cost as little as a job can."""
    sites = Site(backend, folder / "submits"), Site(backend, folder / "scales")
    for site in sites:
        # `true` in the shell's own folder
        write_project(site.folder, "true", {"environment": [], **profile}, walltime="120s")
    return sites


def killed_anywhere_there_is_one_job_a_run(world: World) -> None:
    """Kill everywhere, bring all to a known state, and compare with what the scheduler has."""
    amount = world.amount
    with ThreadPoolExecutor(AT_ONCE) as pool:
        studies = [pool.submit(_study_killed_at_every_step, world) for _ in range(amount.studies)]
        trials = [(_killed_at, step) for step in (*CREATE_STEPS, *SUBMIT_STEPS) for _ in range(amount.at_each_step)]
        world.stop_queue(True)
        trials += [(_killed_while_the_job_waits, "after-scheduler")] * amount.waiting
        for outcome in [*(pool.submit(trial, world, step) for trial, step in trials), *studies]:
            outcome.result()
        world.seconds = _seconds_of_a_submission(world)
        for outcome in [pool.submit(_killed_at_random, world, number) for number in range(amount.at_random)]:
            outcome.result()
        last = time.monotonic()

        _status_killed_while_it_finds_jobs(world)
        world.stop_queue(False)
        _nothing_is_submitted_twice_in_haste(world)
        until(
            lambda: time.monotonic() - last > SETTLE, "the time a killed submission needs to come to rest", SETTLE + 9
        )
        _bring_to_a_known_state(world, pool)
        _resume_to_the_end(world, pool)

    injected(sum(world.kills.values()))
    assert sum(world.kills.values()) >= amount.least, world.kills
    few = min(4, amount.at_each_step)
    elsewhere = {"after-trial", *PUBLISH_STEPS, *REPLACE_STEPS}  # test_late_kills.py
    assert {step for step in STEPS if world.kills[step] < few} <= {"after-refused", "after-reserved", *elsewhere}
    assert world.kills["after-refused"] == 0 and world.kills["after-reserved"] >= amount.studies
    _every_run_has_its_one_job(world)
    _every_point_has_one_successful_run(world)
    # killed before a run had its name: nothing was submitted, and nothing of it is taken for a run
    partial = hidden_in(world.submits.folder)
    assert len(partial) >= 3 * amount.at_each_step and all(name.startswith(".partial-") for name in partial)


def killed_after_a_refusal_the_run_can_be_submitted_again(world: World, times: int) -> None:
    """Kill right after the scheduler refused a job; when it refuses no more, the run is submitted."""
    site = world.submits
    world.refuse(True)
    try:
        for _ in range(times):
            _kill_by_fault(world, site, "after-refused", "submit", *world.refused)
        assert world.kills["after-refused"] == times
        states = _states(site)
        assert [(state["state"], state["cause"]) for state in states] == [("FAILED", "refused")] * times
        assert world.words in states[0]["reason"]
    finally:
        world.refuse(False)
    for run in runs_in(site.folder):
        assert ask(site, "submit", "--again", run.name).code == 0
    waited = ask(site, "status", "--wait", "--json").json()["runs"]
    assert [state["state"] for state in waited] == ["SUCCEEDED"] * times
    _every_run_has_its_one_job(world)


# ---- kills


def _kill_by_fault(world: World, site: Site, step: str, *words: str) -> int:
    """Run a command that is to kill itself at a step and return its exit code."""
    process = start(site, *words, HACKATHON_FAULT=step)
    _, err = process.communicate(timeout=STRETCH * 120)
    assert b"Traceback" not in err, err
    if process.returncode == -signal.SIGKILL:
        world.kills[step] += 1
    return process.returncode


def _killed_at(world: World, step: str) -> None:
    assert _kill_by_fault(world, world.submits, step, "submit") == -signal.SIGKILL


def _killed_while_the_job_waits(world: World, step: str) -> None:
    assert _kill_by_fault(world, world.submits, step, "submit", *world.waits) == -signal.SIGKILL


def _seconds_of_a_submission(world: World) -> float:
    """Return how long one `submit --repeat 2` takes while others run, as the random kills do."""
    began = time.monotonic()
    assert ask(world.submits, "submit", "--repeat", "2").code == 0
    return time.monotonic() - began


def _killed_at_random(world: World, number: int) -> None:
    """Kill a submission between the loading of its modules and its end."""
    began = time.monotonic()
    process = start(world.submits, "submit", "--repeat", "2")
    wait = random.Random(number).uniform(0.2, 1.2) * world.seconds * 1.2
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(wait)
        world.seconds = time.monotonic() - began  # with the load of the machine it changes
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
    # HELD: Slurm may put a job back into the queue by itself, to begin two minutes later
    fine = ("CREATED", "UNCERTAIN", "QUEUED", "HELD", "RUNNING", "ENDING", "SUCCEEDED")
    assert [state for state in found if state["state"] not in fine] == []
    states = {state["run_id"]: state["state"] for state in found}
    newest = max(run for run, state in states.items() if state != "CREATED")
    path = world.submits.folder / "runs" / newest / "client" / "submitting.json"
    fact = path.read_text()
    told = json.loads(fact)
    # as if it had just been killed, however long the looks since then took
    path.write_text(json.dumps({**told, "t": told["t"] + 3600, "up": told["up"] + 3600}))
    assert ask(world.submits, "submit", "--again", newest).code == 2
    path.write_text(fact)


def _status_killed_while_it_finds_jobs(world: World) -> None:
    """`status` writes down a job that it found by name; killed just then, the next one goes on with the next run."""
    for _ in range(world.amount.waiting):
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
    told = [(each.code, each.json()["left"], each.json()["held"]) for each in said]
    assert told == [(0, 0, 0)] * world.amount.studies
    for site in (world.submits, world.scales):
        waited = ask(site, "status", "--all", "--wait", "--json", seconds=200).json()["runs"]
        assert Counter(state["state"] for state in waited) == {"SUCCEEDED": len(runs_in(site.folder))}


# ---- what is true


def _every_run_has_its_one_job(world: World) -> None:
    """The scheduler's own list, over all states: each job name once, each run's job there, no job without a run."""
    jobs = world.jobs()
    runs = [run for site in (world.submits, world.scales) for run in runs_in(site.folder)]
    assert {name: ids for name, ids in jobs.items() if len(ids) != 1} == {}
    known = {
        f"hk-{state['run_id'][-8:]}": {state["job_id"]}
        for site in (world.submits, world.scales)
        for state in _states(site)
    }
    assert len(known) == len(runs)
    assert known == jobs
    # The job that took the run is the one that is listed: no second one ever began. The same one may begin twice: Slurm
    # queues a job again when a node that registers just then no longer has it.
    for run in runs:
        path = run / "events" / "job.jsonl"
        events = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        began = {event["job_id"] for event in events if event["event"] == "started"}
        assert began == (known[f"hk-{run.name[-8:]}"] if path.exists() else set()), events


def _every_point_has_one_successful_run(world: World) -> None:
    for study in _studies(world):
        states = ask(world.scales, "status", study, "--json").json()["runs"]
        assert [state["state"] for state in states] == ["SUCCEEDED"] * POINTS, _reserved(world.scales, study)
        assert len({state["job_id"] for state in states}) == POINTS
    assert len(runs_in(world.scales.folder)) == world.amount.studies * POINTS


def _reserved(site: Site, study: str) -> str:
    """Return who has the points of a study, and what is there of runs, for whoever looks for the cause of a failure."""
    points = site.folder / "studies" / study / "points"
    lines = [f"{path.name}: {path.read_text()}" for path in sorted(points.iterdir())]
    lines += sorted(path.name for path in (site.folder / "runs").iterdir())
    return "\n".join(lines)


def _studies(world: World) -> list[str]:
    folder = world.scales.folder / "studies"
    return sorted(path.name for path in folder.glob("[!.]*")) if folder.exists() else []
