"""The command line is killed at every step of submission, on the real Grid Engine: one job a run at most, none lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.gridengine_lab.backend import GridEngineBackend
from support.gridengine_lab.lab import GridEngineLab
from support.submission_kills import (
    Amount,
    World,
    killed_after_a_refusal_the_run_can_be_submitted_again,
    killed_anywhere_there_is_one_job_a_run,
    two_projects,
)

pytestmark = [pytest.mark.gridengine, pytest.mark.slow, pytest.mark.timeout(600)]

AMOUNT = Amount(at_each_step=1, waiting=1, at_random=3, studies=1, least=12)
"""Each step that is known by name; `KILLS=many` looks for unknown ones on Slurm."""


@pytest.fixture
def world(gridengine: GridEngineLab, tmp_path: Path) -> Iterator[World]:
    backend = GridEngineBackend(gridengine)
    queues = {"main.q": {"nodes": 1}, "short.q": {"nodes": 1}}
    profile = {**backend.profile(), "dialect": {}, "queues": queues, "telemetry_seconds": 0, "environment": []}
    first = gridengine.last_job() + 1
    yield World(
        *two_projects(backend, tmp_path, **profile),
        AMOUNT,
        lambda: gridengine.jobs(first),
        waits=("--queue", "short.q"),
        stop_queue=lambda stopped: gridengine.run("qmod", "-d" if stopped else "-e", "short.q"),
        refuse=gridengine.refuse,
        refused=(),
        words="Job is rejected. No jobs today.",
    )
    gridengine.refuse(False)
    gridengine.run("qmod", "-e", "short.q", check=False)
    backend.stop()


@pytest.mark.slow
def test_killed_anywhere_there_is_one_job_a_run(world: World) -> None:
    killed_anywhere_there_is_one_job_a_run(world)


def test_killed_after_a_refusal_the_run_can_be_submitted_again(world: World) -> None:
    killed_after_a_refusal_the_run_can_be_submitted_again(world, 2)
