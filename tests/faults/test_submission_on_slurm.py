"""The command line is killed at every step of submission, on the real Slurm: at most one job a run, and none lost.

`KILLS=many` looks for moments that nobody has named yet: 200 kills, two minutes of two cores.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.backends import SlurmBackend
from support.slurm_lab.lab import SlurmLab
from support.submission_kills import (
    Amount,
    World,
    killed_after_a_refusal_the_run_can_be_submitted_again,
    killed_anywhere_there_is_one_job_a_run,
    two_projects,
)

pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.timeout(600)]

FEW = Amount(at_each_step=1, waiting=1, at_random=4, studies=1, least=12)
"""Each step that is known by name, and a few moments in between."""
MANY = Amount(at_each_step=17, waiting=6, at_random=70, studies=6, least=200)
"""A window of 1 % of a submission's time, hit at random, is missed by 200 kills in 13 % of all sessions (0.99^200)."""
AMOUNT = MANY if os.environ.get("KILLS") == "many" else FEW


@pytest.fixture
def world(slurm: SlurmLab, tmp_path: Path) -> Iterator[World]:
    backend = SlurmBackend(slurm)

    def listed() -> list[tuple[int, str, str]]:
        """Return (number, id, name) of all jobs; the controller forgets them sooner than the database does."""
        queue = slurm.run("squeue", "-h", "-a", "-t", "all", "-o", "%A|%j")
        past = slurm.run("sacct", "-X", "-D", "-n", "-P", "-S", "now-1hours", "-E", "now", "-o", "JobID,JobName")
        pairs = [line.partition("|")[::2] for line in (queue + past).splitlines()]
        return [(int(job_id.partition("_")[0]), job_id, name) for job_id, name in pairs]

    first = max((number for number, _, _ in listed()), default=0) + 1

    def jobs() -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for number, job_id, name in listed():
            if number >= first:
                found.setdefault(name, set()).add(job_id)
        return found

    def let(partition: str, state: str) -> str:
        return slurm.run("scontrol", "update", f"partitionname={partition}", f"state={state}")

    yield World(
        *two_projects(backend, tmp_path),
        AMOUNT,
        jobs,
        waits=("--queue", "high"),
        stop_queue=lambda stopped: let("high", "down" if stopped else "up"),
        refuse=lambda refused: let("short", "inactive" if refused else "up"),
        refused=("--queue", "short", "--walltime", "60s"),
        words="Required partition not available",
    )
    backend.stop()


def test_killed_anywhere_there_is_one_job_a_run(world: World) -> None:
    killed_anywhere_there_is_one_job_a_run(world)


def test_killed_after_a_refusal_the_run_can_be_submitted_again(world: World) -> None:
    killed_after_a_refusal_the_run_can_be_submitted_again(world, 4)
