"""The recipe preflight on two nodes of the real Slurm, and the job that waits for it, over every back-end."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.backends import FIRST, Backend, LocalBackend, Run, Site, SlurmBackend, names
from support.patience import STRETCH
from support.slurm_lab.lab import SlurmLab
from support.stacks import BUILDING, stack, warm_path
from support.trouble import refused_to_wait

WRONG = {"GLOO_SOCKET_IFNAME": "nosuch"}
"""Variables of a project that no node can obey."""
# Kubernetes refuses a job that waits; how the others wait is in test_backends.py
SLOW = pytest.param("slurm", marks=[pytest.mark.slurm, pytest.mark.slow])
waiting = pytest.mark.parametrize("backend", ["local", SLOW, *names("kubernetes")[len(FIRST) :]], indirect=True)


@pytest.fixture
def site(backend: Backend, tmp_path: Path) -> Site:
    """A project whose job says something and ends; preflights are made with torch."""
    backend.trains = True
    made = Site(backend, tmp_path / "project")
    made.write_project("python program.py measure")
    return made


def preflight_of(site: Site, run: Run) -> Run:
    """Return the preflight that a run waits for, after looking that both name each other."""
    fact = json.loads((run.path / "client" / "after.json").read_text())
    other = site.folder / "runs" / fact["run"]
    record = json.loads((other / "request.json").read_text())
    assert (fact["condition"], record["parent"], record["recipe"]) == ("ok", run.id, "preflight")
    assert other.name < run.id, "the run that waits is the newer one"
    return Run(other, json.loads((other / "client" / "submitted.json").read_text())["job_id"])


def findings(run: Path) -> list[dict[str, Any]]:
    """Return what a preflight found that is not as it should be."""
    report = json.loads((run / "preflight.json").read_text())
    return [each for each in report["findings"] if each["state"] != "ok"]


@pytest.mark.slow
@waiting
def test_the_job_starts_after_a_good_preflight(site: Site) -> None:
    if not site.backend.waits_for_success:
        refused_to_wait(site, "submit", "--preflight", "--processes", "2")
        return
    run = site.submit("--preflight", "--processes", "2")
    ahead = preflight_of(site, run)
    assert run.await_end()["exit_code"] == 0
    assert ahead.job_events[-1]["event"] == "ended" and ahead.job_events[-1]["t"] <= run.job_events[0]["t"]
    mine, its = (json.loads((each.path / "request.json").read_text()) for each in (run, ahead))
    same = ("cluster", "queue", "nodes", "processes", "processes_per_node", "launcher", "environment", "variables")
    assert {name: mine[name] for name in same} == {name: its[name] for name in same}
    assert site.await_state(ahead, "SUCCEEDED")["exit_code"] == 0
    assert not [each for each in findings(ahead.path) if each["state"] == "failed"]
    assert sorted(json.loads((ahead.path / "preflight.json").read_text())["ranks"]) == ["0", "1"]


@pytest.mark.slow
@waiting
def test_the_job_never_starts_after_a_bad_one(site: Site) -> None:
    if not site.backend.waits_for_success:
        refused_to_wait(site, "submit", "--preflight", "--wait")
        return
    site.write_project("python program.py measure", variables=WRONG)
    process = site.start("submit", "--preflight", "--wait")
    stderr = process.communicate(timeout=STRETCH * 120)[1].decode()
    assert process.returncode == 1
    assert "failed: interfaces: GLOO_SOCKET_IFNAME=nosuch" in stderr, "the preflight's last lines are shown"
    (path,) = [path for path in (site.folder / "runs").iterdir() if (path / "client" / "after.json").exists()]
    run = Run(path, json.loads((path / "client" / "submitted.json").read_text())["job_id"])
    ahead = preflight_of(site, run)
    found = site.state(run)
    assert (found["state"], found["cause"], found["t_started"]) == ("CANCELLED", "preflight_failed", None)
    assert ahead.id[-8:] in found["reason"] and "GLOO_SOCKET_IFNAME=nosuch" in found["reason"]
    shown = site.run("status").decode()
    assert f"not started: preflight {ahead.id[-8:]} failed: interfaces: GLOO_SOCKET_IFNAME=nosuch" in shown
    its = site.state(ahead)
    assert its["state"] == "FAILED" and "GLOO_SOCKET_IFNAME=nosuch" in its["reason"]
    assert not run.job_events and not (run.path / "claim").exists()


@pytest.mark.slow
def test_one_preflight_for_a_whole_study(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path)
    backend.trains = True
    site = Site(backend, tmp_path / "project")
    site.write_project("python program.py measure", variables=WRONG)
    answer = json.loads(site.run("scale", "--preflight", "--processes", "1,2", "--repeat", "2", "--json"))
    runs = [Run(site.folder / "runs" / each["run"], each["job_id"]) for each in answer["runs"]]
    ahead = {json.loads((run.path / "client" / "after.json").read_text())["run"] for run in runs}
    assert len(runs) == 4 and len(ahead) == 1 and "preflight-2p" in ahead.pop()
    for run in runs:
        assert "GLOO_SOCKET_IFNAME=nosuch" in site.await_state(run, "CANCELLED")["reason"]
    site.run("scale", "--resume", "--preflight", code=2)
    site.run("submit", "--segments", "2", "--preflight", code=2)
    backend.stop()


# ---- two nodes of the real Slurm ----
HOROVOD = [pytest.mark.slow, pytest.mark.mpi, pytest.mark.timeout(BUILDING)]


@pytest.mark.slow
@pytest.mark.slurm
@pytest.mark.parametrize(
    "launcher",
    [
        "srun",
        pytest.param("mpirun", marks=pytest.mark.mpi),
        pytest.param("torchrun", marks=pytest.mark.torch),
        pytest.param("horovodrun", marks=HOROVOD),
        pytest.param("horovodrun-mpi", marks=HOROVOD),
    ],
)
def test_two_nodes(slurm: SlurmLab, tmp_path: Path, launcher: str) -> None:
    backend = SlurmBackend(slurm)
    backend.trains = launcher == "torchrun"
    site = Site(backend, tmp_path)
    path = backend.environment()["PATH"]
    if launcher.startswith("horovodrun"):
        path = f"{warm_path('horovod-torch')}:{stack('horovod-torch')}/bin:{path}"
    elif not shutil.which(launcher, path=path):
        pytest.skip(f"no {launcher}")
    words = ["submit", "preflight", "--cluster", "slurm", "--nodes", "2", "--launcher", launcher, "--wait"]
    site.run(*words, seconds=240, PATH=path)
    (run,) = (tmp_path / "runs").iterdir()
    report = json.loads((run / "preflight.json").read_text())
    states = {each["check"]: each["state"] for each in report["findings"]}
    assert report["failed"] == 0 and states["ring"] == states["shared"] == states["port"] == "ok", report
    hosts = [report["ranks"][str(rank)]["host"] for rank in range(4)]
    if backend.node_names:
        assert hosts[0] == hosts[1] != hosts[2] == hosts[3]
        assert states["nodes"] == "ok"


@pytest.mark.slow
@pytest.mark.slurm
def test_a_folder_that_each_node_has_for_itself(slurm: SlurmLab, tmp_path: Path) -> None:
    """Every virtual node has its own /dev/shm: there it looks shared to nobody but the ranks of one node."""
    site = Site(SlurmBackend(slurm), tmp_path)
    if slurm.network == "flat":
        pytest.skip("the virtual nodes share one network: they share /dev/shm too")
    words = ["submit", "preflight", "--cluster", "slurm", "--nodes", "2"]
    site.run(*words, "-p", "shared=/dev/shm", "-p", "visible_within=1", "--wait", code=1)
    (run,) = (tmp_path / "runs").iterdir()
    texts = [each["text"]["en"] for each in findings(run) if each["check"] == "shared"]
    assert len(texts) == 4 and texts[0].startswith("rank 0 (") and "what rank 2 (" in texts[0]
    (state,) = site.states(run.name)
    assert state["state"] == "FAILED" and "shared folder: rank 0" in state["reason"]


@pytest.mark.slow
@pytest.mark.slurm
def test_a_node_whose_rank_never_comes(slurm: SlurmLab, tmp_path: Path) -> None:
    """The launcher starts it, and it hangs before it says a word: rank and host are named within the time given."""
    backend = SlurmBackend(slurm)
    if not backend.node_names:
        pytest.skip("the virtual nodes share one network: hosts have no names of their own")
    folder = tmp_path / "spoilt"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import os, sys, time\nif os.environ.get('HK_RANK') == '3' and 'preflight.py' in ' '.join(sys.orig_argv):\n"
        "    time.sleep(1000)\n"
    )
    site = Site(backend, tmp_path)
    words = ["submit", "preflight", "--cluster", "slurm", "--nodes", "2", "-p", "timeout=30", "--wait"]
    site.run(*words, code=1, PYTHONPATH=f"{folder}:{backend.environment()['PYTHONPATH']}")
    (run,) = (tmp_path / "runs").iterdir()
    (found,) = [each for each in findings(run) if each["check"] == "nodes"]
    hosts = [json.loads((run / "preflight.json").read_text())["ranks"][str(rank)]["host"] for rank in (0, 2)]
    assert found["key"] == "nodes_missing" and f"rank 3 ({hosts[1]})" in found["text"]["en"] and hosts[0] != hosts[1]
