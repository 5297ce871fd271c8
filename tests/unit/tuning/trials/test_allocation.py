"""Trials inside one allocation: what there is, what each gets, and what is refused."""

import os
from pathlib import Path

import pytest

from hackathon.jobs.request import Options
from hackathon.jobs.resolve import resolve
from hackathon.jobs.sources import find_sources
from hackathon.runs.job_times import use_by
from hackathon.runs.states import RunStatus
from hackathon.schedulers.local.dialect import LocalDialect
from hackathon.schedulers.slurm.dialect import cpus_of_nodes
from hackathon.text.errors import RequestError
from hackathon.tuning.trials import allocation
from hackathon.tuning.trials.allocation import Allocation, find_allocation, inside
from hackathon.tuning.trials.reading import GONE, is_gone
from support.runs import new_run, project

SLURM = {"SLURM_JOB_ID": "17", "SLURM_JOB_NUM_NODES": "3", "SLURM_JOB_CPUS_PER_NODE": "72(x2),36"}


def test_slurm_tells_what_the_smallest_node_has() -> None:
    found = find_allocation({**SLURM, "SLURM_GPUS_ON_NODE": "4"})
    assert (found.step_of, found.nodes, len(found.cores), len(found.gpus)) == ("17", 3, 36, 4)
    assert found.most == 12 and found.usual == 12 and found.share(12) == (9, 1) and found.share(3) == (36, 4)
    assert found.share(4) == (18, 2), "two of them share one node"
    assert find_allocation(SLURM).gpus == () and find_allocation(SLURM).usual == 4


@pytest.mark.parametrize("text", ["", "x", "0", "72(x2", "72,", "72(x2)(x3)"])
def test_a_slurm_job_that_does_not_tell_is_refused(text: str) -> None:
    assert cpus_of_nodes(text) == []
    with pytest.raises(RequestError, match="17"):
        find_allocation({**SLURM, "SLURM_JOB_CPUS_PER_NODE": text})


def test_elsewhere_it_is_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocation, "gpus_here", lambda: 2)
    found = find_allocation({})
    assert found.cores == tuple(sorted(os.sched_getaffinity(0))) and found.gpus == ("0", "1") and not found.step_of
    assert find_allocation({"CUDA_VISIBLE_DEVICES": "3, 5"}).gpus == ("3", "5")
    assert find_allocation({"CUDA_VISIBLE_DEVICES": ""}).gpus == ()
    assert find_allocation({"CUDA_VISIBLE_DEVICES": "NoDevFiles"}).gpus == ()


@pytest.mark.parametrize(("gpus", "what"), [((), "cores"), (("0", "1"), "GPUs")])
def test_more_trials_than_units_are_refused(gpus: tuple[str, ...], what: str) -> None:
    with pytest.raises(RequestError, match=what):
        Allocation((0, 1, 2), gpus).share(4)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "project.yaml").write_text("name: toy\ncommand: python train.py\ncluster: slurm\nqueue: main\n")
    return tmp_path


def test_a_share_looks_like_a_small_machine(folder: Path) -> None:
    sources = find_sources(None, Options())
    asked = resolve(inside(sources, Allocation(tuple(range(8)), ("0", "1", "2", "3")), 2))
    assert (asked.scheduler, asked.nodes, asked.processes, asked.threads, asked.gpus_per_node) == ("local", 1, 2, 2, 2)
    assert LocalDialect.of(asked.dialect) == LocalDialect("0-7", 4, "0,1,2,3", 2) and asked.cluster == "slurm"
    cores = resolve(inside(sources, Allocation(tuple(range(8))), 2))
    assert (cores.processes, cores.threads, cores.gpus_per_node) == (1, 4, 0)
    several = resolve(inside(find_sources(None, Options(processes=4)), Allocation(tuple(range(8))), 2))
    assert (several.nodes, several.processes, several.threads) == (1, 4, 1)
    step = inside(sources, Allocation(tuple(range(8)), (), 2, "17"), 4)
    assert resolve(step).dialect == {"cores_each": 4, "gpus_each": 0, "step_of": "17"}
    assert "mpirun" not in step.cluster.launchers
    with pytest.raises(RequestError, match="one node"):
        inside(find_sources(None, Options(nodes=2)), Allocation(tuple(range(8))), 2)


def test_the_allocation_pays_and_its_end_is_the_trials(tmp_path: Path) -> None:
    run = new_run(project(tmp_path), scheduler="local", dialect={"cores_each": 2}, walltime=600)
    state = RunStatus(run.id, "RUNNING", t_started=1000.0)
    assert use_by(run, state).nodes == 0
    assert not is_gone(run, state, 1600.0 + GONE) and is_gone(run, state, 1601.0 + GONE)
    assert not is_gone(run, RunStatus(run.id, "SUCCEEDED", t_started=1000.0), 1e9)
    other = new_run(project(tmp_path), scheduler="local", walltime=600)
    assert use_by(other, state).nodes == 1 and not is_gone(other, state, 1e9)
