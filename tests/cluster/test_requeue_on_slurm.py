"""`requeue: true` over a real Slurm: a job that is requeued goes on from its newest checkpoint, under the same id."""

import json
from pathlib import Path

import pytest

from support.backends import Site, SlurmBackend, until
from support.slurm_lab.lab import SlurmLab

pytestmark = [pytest.mark.slow, pytest.mark.slurm]
PROGRAM = """
import os, time
from hackathon_runtime import Meter
run, rank, attempt = os.environ["HK_RUN"], int(os.environ["RANK"]), int(os.environ["HK_ATTEMPT"])
place = os.path.join(os.environ["HK_CHECKPOINTS"], "step")
first = int(open(place).read()) if os.path.exists(place) else 0
print("attempt", attempt, "goes on behind step", first, flush=True)
meter = Meter(warmup=0, every_steps=1)
for step in range(first + 1, 31):
    meter.step(samples=1, step=step, loss=1 / step)
    if step % 10 == 0 and rank == 0:
        with open(place + ".partial", "w") as stream:
            stream.write(str(step))
        os.replace(place + ".partial", place)
    if step == 13 and attempt == 1:
        meter.flush()
        open(os.path.join(run, "here-%d" % rank), "w").close()
        time.sleep(900)  # longer than any test
meter.final(accuracy=0.5)
"""


def test_training_goes_on_from_the_checkpoint(slurm: SlurmLab, tmp_path: Path) -> None:
    site = Site(SlurmBackend(slurm), tmp_path / "project")
    shape = {"nodes": 2, "processes_per_node": 1, "processes": 2}
    site.write_project("python steps.py", launcher="srun", walltime="600s", requeue=True, **shape)
    site.write_profile(processes_per_node=1, launchers=["srun"])
    (site.folder / "steps.py").write_text(PROGRAM)
    run = site.submit()
    for rank in (0, 1):
        run.written(f"here-{rank}")
    assert "Requeue=1" in slurm.run("scontrol", "show", "job", run.job_id)
    slurm.run("scontrol", "requeue", run.job_id)
    state = site.await_state(run, "SUCCEEDED", "FAILED", "CANCELLED")
    assert (state["state"], state["attempt"], state["job_id"]) == ("SUCCEEDED", 2, run.job_id)

    assert "attempt 1 goes on behind step 0" in (run.path / "logs" / "attempt-1" / "rank-0.log").read_text()
    assert run.log("rank-0").splitlines()[0] == "attempt 2 goes on behind step 10"
    assert "newest checkpoint" in run.log("job") and "attempt 1," not in run.log("job")
    lines = site.run("results", run.id, "--curve", "loss", "--no-ask").decode().splitlines()[1:]
    assert [float(line.split(",")[0]) for line in lines] == [*range(1, 31)]  # one curve, no step twice
    assert json.loads(site.run("results", run.id, "--json", "--no-ask"))["metrics"]["accuracy"] == 0.5
    shown = site.run("logs", run.id, "--attempt", "1").decode()
    assert "attempt 1 goes on" in shown and "attempt 2 goes on" not in shown

    def lives() -> int:
        return len([line for line in slurm.run("sacct", "-DXnPj", run.job_id, "-o", "State").splitlines() if line])

    until(lambda: lives() == 2, "both lives in the accounting")
    site.backend.stop()
