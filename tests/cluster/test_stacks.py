"""Ranks say where they are when somebody asks and when they are told to end; nothing else changes."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.backends import Backend, LocalBackend, Site, SlurmBackend, until

STANDS_STILL = """
import multiprocessing, os, sys, threading, time
import torch, torch.distributed as dist

def load():
    if dist.get_rank() == 1:
        open(os.environ["HK_RUN"] + "/stands-still", "w").close(); time.sleep(800)

def tell(main):
    names = []
    while "all_reduce" not in names:
        time.sleep(0.05)
        frame, names = sys._current_frames()[main], []
        while frame:
            names.append(frame.f_code.co_name)
            frame = frame.f_back
    open(os.environ["HK_RUN"] + "/waits", "w").close()

def main():
    dist.init_process_group("gloo")
    helper = multiprocessing.get_context("fork").Process(target=time.sleep, args=(800,), daemon=True)
    helper.start()
    print("step 1 loss 0.5", flush=True)
    if dist.get_rank() == 0:
        threading.Thread(target=tell, args=(threading.main_thread().ident,), daemon=True).start()
    load()
    dist.all_reduce(torch.ones(4))

main()
"""
HANDLES = """
import json, os, signal, sys, time

def handle(number, frame):
    sys.exit(5)

before = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
signal.signal(signal.SIGTERM, handle)
ours = [each for each in sys.path if "hackathon-python" in each]
found = {"default": before, "theirs": os.environ.get("THEIRS"), "path": ours}
with open(os.environ["HK_RUN"] + "/.ready", "w") as stream:
    json.dump(found, stream)
os.rename(os.environ["HK_RUN"] + "/.ready", os.environ["HK_RUN"] + "/ready")
time.sleep(800)
"""


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """A project on the back-end of this name, its two ranks on two nodes where there are nodes."""
    backend: Backend
    backend = SlurmBackend(request.getfixturevalue("slurm")) if request.param == "slurm" else LocalBackend(tmp_path)
    backend.trains = True
    nodes, launcher = (2, "srun") if request.param == "slurm" else (1, "torchrun")
    made = Site(backend, tmp_path / "project")
    made.write_project("python train.py", launcher=launcher, nodes=nodes, processes=2, walltime="900s")
    made.write_profile(processes_per_node=2 // nodes, launchers=["local", "torchrun", "srun"])
    yield made
    backend.stop()


@pytest.mark.torch
@pytest.mark.parametrize("site", ["local", pytest.param("slurm", marks=pytest.mark.slurm)], indirect=True)
@pytest.mark.slow
def test_the_rank_that_stands_still_is_asked_and_named(site: Site) -> None:
    pytest.importorskip("torch")
    (site.folder / "train.py").write_text(STANDS_STILL)
    run = site.submit()
    run.written("stands-still")
    run.written("waits")
    until(lambda: len(list((run.path / "stacks").glob("rank-*.txt"))) == 2, "ranks that can be asked")
    shown = site.run("logs", run.id, "--stacks", "--lang", "en").decode()
    assert "[rank 0]  waits in all_reduce" in shown, shown
    assert shown.partition("[rank 1]")[2].split()[:3] == ["→", "train.py:7", "load"], shown
    assert "Current thread" not in run.log("rank-0") + run.log("rank-1")
    for path in (run.path / "logs").glob("rank-*.log"):  # a minute without a line goes by
        os.utime(path, (time.time() - 60,) * 2)
    site.run("cancel", run.id)
    assert site.await_state(run, "CANCELLED", "FAILED")["state"] == "CANCELLED"
    cause = site.diagnosed(run)
    assert (cause["rule"], cause["ranks"], cause["program"]) == ("hang-stacks", [1], "train.py:7"), cause
    for rank in (0, 1):  # asked, and told to end; of the forked child there is nothing
        assert (run.path / "stacks" / f"rank-{rank}.txt").read_text().count("Current thread") == 2


@pytest.mark.slow
@pytest.mark.parametrize("site", ["local"], indirect=True)
def test_a_program_with_a_handler_and_a_site_of_its_own_keeps_both(site: Site) -> None:
    (site.folder / "train.py").write_text(HANDLES)
    (site.folder / "theirs").mkdir()
    (site.folder / "theirs" / "sitecustomize.py").write_text("import os\nos.environ['THEIRS'] = __file__\n")
    values = json.loads((site.folder / "project.yaml").read_text())
    lines = [f"export PYTHONPATH={site.folder}/theirs"]
    (site.folder / "project.yaml").write_text(
        json.dumps({**values, "environment": lines, "processes": 1, "launcher": "local"})
    )
    run = site.submit()
    found = json.loads(run.written("ready").read_text())
    assert found == {"default": True, "theirs": f"{site.folder}/theirs/sitecustomize.py", "path": []}
    site.run("cancel", run.id)
    run.await_end()
    assert [each.get("exit_code") for each in run.rank_events(0)][-1] == 5
    assert "Current thread" not in (run.path / "stacks" / "rank-0.txt").read_text()
