"""What starts something on every node, beside srun (`test_scaling_on_slurm.py`), with real torchrun.

pbs_tmrsh is the stand-in on two virtual hosts; ssh is a real sshd on each node of the real Slurm; mpirun starts its
daemons through the real Slurm and the real Grid Engine.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.backends import Backend, Run, Site, SlurmBackend, until
from support.gridengine_lab.backend import GridEngineBackend
from support.gridengine_lab.lab import GridEngineLab
from support.slurm_lab.lab import SlurmLab

BIN = Path(sys.executable).parent
pytestmark = [
    pytest.mark.slow,
    pytest.mark.torch,
    pytest.mark.skipif(not shutil.which("torchrun", path=BIN), reason="no torch"),
]
SSHD = shutil.which("sshd", path="/usr/sbin:/usr/bin")


@pytest.fixture
def ssh_site(slurm: SlurmLab, tmp_path: Path) -> Iterator[Site]:
    """A project whose cluster starts its nodes' processes by ssh; an sshd of the test's own runs on every node."""
    if SSHD is None:
        pytest.skip("no sshd (apt-get install openssh-server)")
    if slurm.network != "netns":
        pytest.skip("the virtual nodes share one network: an sshd is not that of one node")
    backend = SlurmBackend(slurm)
    configuration = ssh_files(tmp_path / "ssh")
    job = slurm.run(
        "sbatch", "--parsable", "-N4", "--ntasks-per-node=1", "-o", "/dev/null", "-D", str(tmp_path),
        "--wrap", f"srun {SSHD} -D -f {configuration / 'sshd_config'}",
    ).strip()  # fmt: skip
    try:
        backend.starter = "ssh"
        backend.extra = {**backend.extra, "environment": [f'PATH="{configuration}:{BIN}:$PATH"']}
        made = Site(backend, tmp_path / "project")
        for name in slurm.names:
            until(lambda name=name: reachable(slurm, configuration, name), f"sshd on {name}")
        yield made
    finally:
        slurm.run("scancel", job)
        backend.stop()


def ssh_files(folder: Path) -> Path:
    """Write keys, the server's configuration and an `ssh` that uses them; return the folder."""
    folder.mkdir(mode=0o700)
    for name in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
    (folder / "sshd_config").write_text(
        f"Port 2222\nHostKey {folder}/host_key\nAuthorizedKeysFile {folder}/authorized_keys\nStrictModes no\n"
        f"PidFile none\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\nPrintMotd no\n"
    )
    (folder / "ssh_config").write_text(
        f"Host *\n Port 2222\n IdentityFile {folder}/user_key\n IdentitiesOnly yes\n StrictHostKeyChecking no\n"
        f" UserKnownHostsFile /dev/null\n LogLevel ERROR\n"
    )
    (folder / "ssh").write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F "{folder}/ssh_config" "$@"\n')
    (folder / "ssh").chmod(0o755)
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd wants it and does not make it
    return folder


def reachable(lab: SlurmLab, folder: Path, name: str) -> bool:
    """Return whether the sshd of a node answers; asked from another node, as a job does."""
    other = next(each for each in lab.names if each != name)
    command = (str(folder / "ssh"), "-o", "BatchMode=yes", name, "hostname")
    return lab.run("srun", "-Q", "-w", other, *command, check=False).strip() == name


def warmed(site: Site) -> None:
    """Let jobs find a torchrun that has imported torch."""
    site.backend.trains = True
    lines = [line.replace(f"{BIN}:", f"{site.backend.programs}:") for line in site.backend.extra.get("environment", [])]
    site.backend.extra = {**site.backend.extra, **({"environment": lines} if lines else {})}


def two_nodes(site: Site, launcher: str = "torchrun") -> Run:
    """Return the ended run of four processes on two nodes that say who they are."""
    warmed(site)
    site.write_project("python program.py ranks", walltime="600s")
    run = site.submit("--processes", "4", "--launcher", launcher)
    assert run.await_end()["exit_code"] == 0, run.log("job")
    started = [run.rank_events(rank)[0] for rank in range(4)]
    hosts = [event["host"] for event in started]
    assert hosts[0] == hosts[1] != hosts[2] == hosts[3]
    if site.backend.node_names:
        assert set(hosts) <= set(site.backend.node_names)
    for rank in range(4):
        seen = json.loads((run.path / f"rank-{rank}.json").read_text())
        assert (seen["RANK"], seen["WORLD_SIZE"], seen["LOCAL_RANK"]) == (str(rank), "4", str(rank % 2))
        assert (seen["LOCAL_WORLD_SIZE"], seen["HK_NODES"]) == ("2", "2")
        # what mpirun said to the process that became torchrun is not said to torchrun's ranks
        assert bool(seen["mpi"]) == (launcher == "mpirun")
        assert f"rank {rank} of 4 on {hosts[rank]}" in run.log(f"rank-{rank}")
        assert [event["event"] for event in run.rank_events(rank)] == ["started", "ended"]
    assert run.has("ranks_started") and site.state(run)["hosts"] == [hosts[0], hosts[2]]
    return run


def failing(site: Site) -> Run:
    """Return the ended run of four processes of which the last fails and the others would wait for ever."""
    warmed(site)
    site.write_project("python program.py last_fails 5", walltime="600s")
    run = site.submit("--processes", "4", "--launcher", "torchrun")
    assert run.await_end()["exit_code"] != 0
    assert run.rank_events(3)[-1]["exit_code"] == 5
    assert site.await_state(run, "FAILED")["exit_code"] == run.job_events[-1]["exit_code"]
    until(lambda: all(unlocked(run.path / f"lock-{rank}") for rank in range(3)), "the end of the other ranks")
    return run


def unlocked(path: Path) -> bool:
    import fcntl

    with path.open("r+") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


@pytest.fixture
def tmrsh_site(backend: Backend, tmp_path: Path) -> Site:
    """A project on a stand-in."""
    return Site(backend, tmp_path / "project $(touch pwned) it's")


@pytest.mark.parametrize("backend", ["pbs"], indirect=True)
def test_pbs_tmrsh_ends_all_ranks_when_one_fails(tmrsh_site: Site) -> None:
    failing(tmrsh_site)


@pytest.mark.mpi
@pytest.mark.parametrize("launcher", ["torchrun", "mpirun"])
@pytest.mark.parametrize("backend", ["nqsv"], indirect=True)
def test_mpirun_with_the_options_that_the_job_is_given(tmrsh_site: Site, launcher: str) -> None:
    """NQSV says in a variable where ranks run; the stand-in's options start Open MPI's daemons on its two hosts."""
    run = two_nodes(tmrsh_site, launcher)
    assert not list((run.path / "env").glob("hosts-*"))


@pytest.fixture
def gridengine_site(gridengine: GridEngineLab, tmp_path: Path) -> Iterator[Site]:
    """A project on the real Grid Engine."""
    backend = GridEngineBackend(gridengine)
    yield Site(backend, tmp_path / "project $(touch pwned) it's")
    backend.stop()


@pytest.mark.gridengine
@pytest.mark.mpi
@pytest.mark.slow
def test_torchrun_on_two_nodes_of_grid_engine(gridengine_site: Site) -> None:
    two_nodes(gridengine_site)


@pytest.mark.gridengine
@pytest.mark.mpi
def test_mpirun_on_two_nodes_of_a_parallel_environment(gridengine_site: Site) -> None:
    """Without resource types: the profile names the environment, whose rule is four slots a node."""
    dialect = {"pe": "node", "slots_per_node": 4}
    gridengine_site.backend.extra = {"dialect": dialect, "queues": {"main.q": {"nodes": 3}}}
    two_nodes(gridengine_site, "mpirun")


@pytest.mark.gridengine
@pytest.mark.mpi
@pytest.mark.slow
def test_grid_engine_ends_all_ranks_when_one_fails(gridengine_site: Site) -> None:
    failing(gridengine_site)


WHO = """\
import os, socket
from pathlib import Path

names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "COLOUR")
place = Path("seen", os.environ["RANK"])
place.write_text(" ".join([socket.gethostname(), *(os.environ[name] for name in names)]))
"""


def essence_on_two_nodes(site: Site, launcher: str) -> None:
    """Submit the short script with nothing beside it, and look at what its four ranks were told."""
    warmed(site)
    site.write_project("python who.py", variables={"COLOUR": "pale $HK_NOTHING green"}, processes=4, walltime="600s")
    (site.folder / "who.py").write_text(WHO)
    (site.folder / "seen").mkdir()
    place = site.folder.with_name("elsewhere")
    place.mkdir()
    (place / "job.sh").write_bytes(site.run("render", "--essence", "--launcher", launcher))
    assert site.backend.by_hand(Run(place, "")) == 0, (place / "by-hand.log").read_text()
    seen = [(site.folder / "seen" / str(rank)).read_text().split() for rank in range(4)]
    hosts = [words[0] for words in seen]
    assert hosts[0] == hosts[1] != hosts[2] == hosts[3]
    assert [words[1:4] for words in seen] == [[str(rank), "4", str(rank % 2)] for rank in range(4)]
    assert {tuple(words[4:]) for words in seen} == {(hosts[0], seen[0][5], "pale", "green")}
    assert sorted(path.name for path in place.iterdir() if path.name != "by-hand.log") == ["job.sh"]


@pytest.mark.slurm
@pytest.mark.parametrize("launcher", ["torchrun", "srun"])
def test_essence_on_two_nodes(slurm: SlurmLab, tmp_path: Path, launcher: str) -> None:
    site = Site(SlurmBackend(slurm), tmp_path / "project it's")
    if not site.backend.node_names:
        pytest.skip("the virtual nodes share one host name")
    essence_on_two_nodes(site, launcher)


@pytest.mark.gridengine
@pytest.mark.mpi
@pytest.mark.parametrize("launcher", ["torchrun", "mpirun"])
def test_essence_on_two_nodes_of_grid_engine(gridengine: GridEngineLab, tmp_path: Path, launcher: str) -> None:
    site = Site(GridEngineBackend(gridengine), tmp_path / "project it's")
    essence_on_two_nodes(site, launcher)
    site.backend.stop()


@pytest.mark.parametrize("backend", ["pbs"], indirect=True)
def test_essence_by_pbs_tmrsh(backend: Backend, tmp_path: Path) -> None:
    essence_on_two_nodes(Site(backend, tmp_path / "project it's"), "torchrun")


@pytest.mark.mpi
@pytest.mark.parametrize("backend", ["local"], indirect=True)
def test_ranks_that_are_bound_share_no_core(backend: Backend, tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core: nothing to share out")
    site = Site(backend, tmp_path / "project")
    site.write_project("python cores.py", processes=2, binding="cores", launcher="mpirun", walltime="600s")
    (site.folder / "cores.py").write_text("import os\nprint(*os.sched_getaffinity(0))\n")
    run = site.submit()
    assert run.await_end()["exit_code"] == 0, run.log("job")
    first, second = (set(run.log(f"rank-{rank}").split()) for rank in range(2))
    assert first and second and not first & second


@pytest.mark.slurm
def test_essence_by_ssh(ssh_site: Site) -> None:
    essence_on_two_nodes(ssh_site, "torchrun")


@pytest.mark.slurm
@pytest.mark.mpi
def test_mpirun_starts_torchrun_on_two_nodes(slurm: SlurmLab, tmp_path: Path) -> None:
    site = Site(SlurmBackend(slurm), tmp_path / "project")
    if not site.backend.node_names:
        pytest.skip("the virtual nodes share one host name")
    site.backend.starter = "mpirun"
    two_nodes(site)


@pytest.mark.slurm
@pytest.mark.parametrize("launcher", ["torchrun", "mpirun"])
def test_ssh_on_two_nodes(ssh_site: Site, launcher: str) -> None:
    ssh_site.folder = ssh_site.folder.with_name("project $(touch pwned) it's")
    if launcher == "mpirun":
        # Open MPI starts its daemons through Slurm inside a job of Slurm, unless it is told to use ssh
        ssh_site.backend.extra = {**ssh_site.backend.extra, "mpi_options": ["--mca", "plm", "rsh"]}
    two_nodes(ssh_site, launcher)


@pytest.mark.slurm
def test_ssh_ends_all_ranks_when_one_fails(ssh_site: Site) -> None:
    failing(ssh_site)


@pytest.mark.slurm
def test_ssh_ends_all_ranks_when_cancelled(ssh_site: Site) -> None:
    """Slurm does not know what sshd started: only the closed connection ends it."""
    ssh_site.write_project("python program.py hold_rank", walltime="600s")
    run = ssh_site.submit("--processes", "4", "--launcher", "torchrun")
    for rank in range(4):
        run.written(f"holding-{rank}")
    ssh_site.run("cancel", run.id)
    assert ssh_site.await_state(run, "CANCELLED")
    until(lambda: all(unlocked(run.path / f"lock-{rank}") for rank in range(4)), "the end of all ranks")


@pytest.mark.parametrize("backend", ["pjm"], indirect=True)
def test_pjrsh_starts_torchrun_on_two_nodes(tmrsh_site: Site) -> None:
    two_nodes(tmrsh_site)


@pytest.mark.parametrize("backend", ["pjm"], indirect=True)
def test_pjrsh_ends_all_ranks_when_one_fails_though_it_always_ends_with_0(tmrsh_site: Site) -> None:
    failing(tmrsh_site)
