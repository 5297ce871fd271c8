"""The project's own Slurm works like one: nodes, jobs, accounting, MPI, a dying node, and nothing left behind."""

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.patience import STRETCH
from support.ports import reserve_ports
from support.slurm_lab.lab import LabError, SlurmLab, missing
from support.slurm_lab.processes import marked
from support.virtual_nodes.network import best_network
from support.virtual_nodes.processes import until

pytestmark = pytest.mark.slurm


@pytest.fixture
def short() -> Iterator[Path]:
    if reason := missing():
        pytest.skip(f"no real Slurm: {reason}")
    directory = Path(tempfile.mkdtemp(prefix="hk-lab-", dir="/tmp"))
    yield directory
    SlurmLab(directory).stop()
    shutil.rmtree(directory, ignore_errors=True)


def test_four_nodes_are_idle_in_three_partitions(slurm: SlurmLab) -> None:
    expected = {(f"node{n}", part, "idle", "4", "gpu:2") for n in (1, 2, 3, 4) for part in ("main", "high", "short")}

    def rows() -> set[tuple[str, ...]]:
        return {tuple(line.split()) for line in slurm.run("sinfo", "-hN", "-o", "%N %R %T %c %G").splitlines()}

    # what other tests ran may still be ending
    assert until(lambda: rows() == expected, 120), rows()


def test_two_node_step_has_two_host_names(slurm: SlurmLab) -> None:
    if slurm.network == "flat":
        pytest.skip("without namespaces all virtual nodes share one host name")
    assert set(slurm.run("srun", "-N2", "hostname").split()) == {"node1", "node2"}


def test_accounting_knows_finished_jobs(slurm: SlurmLab, tmp_path: Path) -> None:
    job = slurm.run("sbatch", "--parsable", "-W", "-D", str(tmp_path), "--wrap", "exit 0").strip()

    def accounted() -> bool:
        return slurm.run("sacct", "-nPXj", job, "-o", "State").strip() == "COMPLETED"

    assert until(accounted, 120)


@pytest.mark.slow
def test_mpirun_and_pmix_add_over_two_nodes(slurm: SlurmLab, tmp_path: Path) -> None:
    compiler = shutil.which("mpicc.openmpi")
    if compiler is None:
        pytest.skip("no mpicc.openmpi")
    (tmp_path / "sum.c").write_text(
        "#include <mpi.h>\n#include <stdio.h>\nint main(void) { int rank, total; MPI_Init(0, 0);"
        "MPI_Comm_rank(MPI_COMM_WORLD, &rank); rank++;"
        'MPI_Allreduce(&rank, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); printf("sum %d\\n", total);'
        "return MPI_Finalize(); }\n"
    )
    subprocess.run([compiler, "-o", "sum", "sum.c"], cwd=tmp_path, check=True)
    # One Open MPI only: an orted of a virtual environment beside the system's mpirun can not talk to it.
    script = "#!/bin/bash\nexport PATH=/usr/bin:/bin\nmpirun.openmpi ./sum\nsrun --mpi=pmix ./sum\n"
    (tmp_path / "job.sh").write_text(script)
    options = ["-W", "-N2", "--ntasks-per-node=2", "-o", str(tmp_path / "out"), "-D", str(tmp_path)]
    slurm.run("sbatch", *options, str(tmp_path / "job.sh"))
    # mpirun's step may still be ending when srun comes: it says so, tries again, and gets through
    said = [line for line in (tmp_path / "out").read_text().splitlines() if not line.startswith("srun: ")]
    assert said == ["sum 10"] * 8


def test_job_too_long_for_its_partition_is_accepted_and_waits(slurm: SlurmLab, tmp_path: Path) -> None:
    job = slurm.run("sbatch", "--parsable", "-p", "short", "-t", "5", "-D", str(tmp_path), "--wrap", "true").strip()
    try:
        assert until(lambda: slurm.run("squeue", "-hj", job, "-o", "%r").strip() == "PartitionTimeLimit", 120)
    finally:
        slurm.run("scancel", job)


@pytest.mark.slow
def test_dead_node_ends_its_job_and_comes_back(slurm: SlurmLab, tmp_path: Path) -> None:
    options = ["--parsable", "--no-requeue", "-w", "node4", "-D", str(tmp_path)]
    job = slurm.run("sbatch", *options, "--wrap", "sleep 300").strip()

    def state(word: str) -> bool:
        return slurm.run("squeue", "-hj", job, "-t", "all", "-o", "%T").strip() == word

    assert until(lambda: state("RUNNING"), 120)
    slurm.kill_node(4)
    began = time.monotonic()
    try:
        assert until(lambda: state("NODE_FAIL"), 240)
        assert time.monotonic() - began < STRETCH * 40
    finally:
        slurm.restore_node(4)
    if slurm.network != "flat":
        assert slurm.run("srun", "-w", "node4", "hostname").strip() == "node4"


@pytest.mark.slow
@pytest.mark.parametrize("network", ["netns", "uts", "flat"])
def test_two_labs_beside_each_other_and_nothing_left(slurm: SlurmLab, short: Path, network: str) -> None:
    if network != "flat" and best_network() not in ("netns", network):
        pytest.skip(f"{network} does not work on this machine")
    with SlurmLab(short, nodes=2, accounting=False, network=network) as lab:
        assert len(lab.run("srun", "-N2", "hostname").split()) == 2
        lab.run("sbatch", "-D", str(short), "--wrap", "setsid sleep 300")
        assert until(lambda: "R" in lab.run("squeue", "-h", "-o", "%t"), 120)
        assert marked(short)
        assert "lab" in slurm.run("sacctmgr", "-nP", "show", "cluster", "format=cluster")
    assert not marked(short)
    assert _interfaces_of(lab) == []


def test_failed_start_leaves_nothing(short: Path) -> None:
    lab = SlurmLab(short, nodes=2, accounting=False, options={"SelectType": "select/does_not_exist"})
    with pytest.raises(LabError, match="slurmctld"):
        lab.start()
    assert not marked(short)
    assert _interfaces_of(lab) == []


@pytest.mark.slow
@pytest.mark.parametrize("accounting", [False, True])
def test_port_that_another_program_took_meanwhile_costs_another_start(
    short: Path, monkeypatch: pytest.MonkeyPatch, accounting: bool
) -> None:
    with contextlib.ExitStack() as stack:
        blocks: list[int] = []

        def taken_once(count: int) -> tuple[int, socket.socket]:
            base, mine = reserve_ports(count)
            if not blocks:
                other = stack.enter_context(socket.socket())
                other.bind(("", base + (2 if accounting else 0)))  # the database's, the controller's
                other.listen()
            blocks.append(base)
            return base, mine

        monkeypatch.setattr("support.slurm_lab.lab.reserve_ports", taken_once)
        with SlurmLab(short, nodes=1, accounting=accounting) as lab:
            assert lab.run("srun", "-N1", "echo", "up").strip() == "up"
    assert len(blocks) == 2 and lab.layout.port == blocks[1] != blocks[0]


def test_two_who_reserve_ports_at_once_get_different_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.ports._RANDOM.sample", lambda population, k: list(population)[:k])
    (first, mine), (second, its) = reserve_ports(5), reserve_ports(5)
    mine.close()
    again, third = reserve_ports(5)
    its.close()
    third.close()
    assert again == first != second


def _interfaces_of(lab: SlurmLab) -> list[str]:
    if lab.network != "netns":
        return []
    words = subprocess.run(["ip", "-o", "addr"], capture_output=True, text=True, check=True).stdout.split()
    return [word for word in words if word.startswith(f"{lab.layout.subnet}.")]
