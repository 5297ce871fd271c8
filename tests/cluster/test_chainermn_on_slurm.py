"""ChainerMN between two nodes of the real Slurm, and a rank that is killed while the other one waits for it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.backends import Site, SlurmBackend
from support.patience import STRETCH
from support.stacks import FOLDER, warm_path

pytestmark = [pytest.mark.slow, pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(900)]
NODES = ("--nodes", "2", "--processes-per-node", "1")
WORDS = (*NODES, "--launcher", "mpirun", "--threads", "1", "--walltime", "00:30:00")
LIMIT = STRETCH * 60.0
"""Seconds from the death of a rank to the end of its job."""
DIES = """        self.epoch += 1
        import os, signal
        if self.epoch == 3 and os.environ["RANK"] == "1":
            os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def site(slurm: Any, tmp_path: Path) -> Iterator[Site]:
    """A project around a copy of the recipe, with the recipe's environment."""
    warm = warm_path("chainermn-mnist")
    backend = SlurmBackend(slurm)
    made = Site(backend, tmp_path, {"HACKATHON_ENVS": str(FOLDER)})
    folder = tmp_path / "digits"
    made.run("init", "--recipe", "chainermn-mnist", "--copy", "--cluster", "slurm", str(folder))
    made.folder = folder
    with (folder / "project.yaml").open("a") as project:
        project.write(f"environment: ['PATH=\"{warm}:$PATH\"']\n")
    yield made
    backend.stop()


def test_two_nodes_learn_together(site: Site) -> None:
    site.run("submit", *WORDS, "-p", "lr=0.2", "--wait", seconds=400)
    (run,) = (site.folder / "runs").iterdir()
    final = json.loads((run / "metrics" / "rank-0.jsonl").read_text().splitlines()[-1])
    assert final["accuracy"] >= 0.97 and final["rank_sum"] == 3 and final["gradient_check"] < 1e-5
    hosts = {json.loads((run / "events" / f"rank-{rank}.jsonl").read_text().splitlines()[0])["host"] for rank in (0, 1)}
    assert len(hosts) == 2


def test_a_killed_rank_ends_the_job_and_is_named(site: Site) -> None:
    program = site.folder / "data.py"
    text = program.read_text()
    assert text.count("        self.epoch += 1\n") == 1
    program.write_text(text.replace("        self.epoch += 1\n", DIES))
    run = site.submit(*WORDS)
    state = site.await_state(run, "FAILED", "SUCCEEDED", "TIMEOUT", "CANCELLED", seconds=300)
    assert state["state"] == "FAILED", state
    died = next(event for event in run.rank_events(1) if event["event"] == "ended")
    assert (died["exit_code"], died["signal"]) == (137, 9)
    ended = run.job_events[-1]
    assert ended["event"] == "ended" and 0 <= ended["t"] - died["t"] < LIMIT
    host = site.backend.node_names[1]
    assert (state["first_rank"], state["first_host"]) == (1, host)
    assert f"rank 1 on {host}" in site.run("status", "--no-ask", run.id).decode()
    cause = site.diagnosed(run)
    assert (cause["part"], cause["evidence"]["rank"], cause["evidence"]["host"]) == ("hardware", 1, host), cause
