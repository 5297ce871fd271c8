"""Jobs that really fail, on this machine and on the real Slurm: `diagnose` names the part and the rank.

All jobs of a back-end are submitted first, each from a project of its own; then every test waits for its job.
"""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.backends import Backend, LocalBackend, Run, Site, SlurmBackend
from support.paths import ROOT
from support.slurm_lab.lab import SlurmLab, missing

pytestmark = pytest.mark.timeout(600)
GLOO = """
import datetime, os, torch, torch.distributed as dist
rank = int(os.environ["RANK"])
dist.init_process_group("gloo", rank=rank, world_size=2, timeout=datetime.timedelta(seconds=180))
"""
MEMORY = """
import os, pathlib, time
if os.environ["RANK"] == "1":
    # a memory limit of its own, as a job has one: the kernel kills what goes beyond
    group = pathlib.Path(os.environ["HK_TEST_CGROUP"])
    group.joinpath("cgroup.procs").write_text(str(os.getpid()))
    hoard = []
    while True:
        hoard.append(bytearray(b"x") * (1 << 20))
time.sleep(600)
"""
HOARD = """
import os, time
hoard = []
for step in range(6000):  # until it is killed, however long that takes
    if os.environ["RANK"] == "1" and step < 100:
        hoard.append(bytearray(b"x") * (4 << 20))
    time.sleep(0.1)
"""
NAN = """
import random
weight, rate = 0.0, 30.0  # far too much
for step in range(1, 401):
    x = random.random() * 10
    error = weight * x - 3 * x
    weight -= rate * error * x
    if step % 20 == 0:
        print(f"step {step}/400 loss: {error * error:.4f} lr: {rate}", flush=True)
"""


@dataclass(frozen=True)
class Failure:
    """A program that fails and what has to be said about it."""

    name: str
    program: str
    parts: tuple[str, ...]
    key: str
    """What the evidence or the message says."""
    rank: int | None = None
    state: str = "FAILED"
    project: dict[str, Any] = field(default_factory=dict)
    needs: str = ""
    """A Python package."""
    program_needed: str = ""
    """A command."""
    backends: tuple[str, ...] = ("local",)
    """Most are on Slurm in test_breakages_on_slurm.py, on two nodes and with the remedy."""


FAILURES = [
    Failure("missing-module", "import nosuchmodule\n", ("env",), "nosuchmodule"),
    Failure(
        "own-mistake",
        GLOO + "if rank == 1:\n    {'adam': 1}['lars']\ndist.all_reduce(torch.ones(4))\n",
        ("framework",), "lars", 1, needs="torch", project={"processes": 2},
    ),
    Failure(
        "deaf-to-the-end-of-another",  # the launcher has to kill it, which is not what went wrong
        "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if os.environ['RANK'] == '1':\n    {'adam': 1}['lars']\ntime.sleep(600)\n",
        ("framework",), "lars", 1, project={"processes": 2}, backends=("local", "slurm"),
    ),
    Failure(
        "port-in-use",
        """
import datetime, os, socket, torch.distributed as dist
rank = int(os.environ["RANK"])
if rank == 0:
    other = socket.socket()
    other.bind(("", int(os.environ["MASTER_PORT"]) + 7000))
    other.listen()
port = int(os.environ["MASTER_PORT"]) + 7000
dist.TCPStore("127.0.0.1" if rank == 0 else os.environ["MASTER_ADDR"], port, 2, rank == 0,
              timeout=datetime.timedelta(seconds=180))
""",
        ("rendezvous",), "in use", 0, needs="torch", project={"processes": 2},
    ),
    Failure(
        "mismatched-collectives",
        GLOO + "dist.all_reduce(torch.ones(4 if rank else 4096))\ndist.all_reduce(torch.ones(4))\n",
        ("gloo", "framework"), "", needs="torch", project={"processes": 2},
    ),
    Failure(
        "segfault",
        "import ctypes, os, time\nif os.environ['RANK'] == '1':\n    ctypes.string_at(0)\ntime.sleep(600)\n",
        ("hardware", "framework"), "", 1, project={"processes": 2},
    ),
    Failure(
        "oom-kill", MEMORY, ("hardware", "scheduler"), "", 1, project={"processes": 2}, backends=("local", "slurm"),
    ),
    Failure(
        "full-disk",
        "import os\nopen(os.environ['HK_TEST_FULL'], 'wb').write(bytes(4 << 20))\n",
        ("filesystem",), "No space left",
    ),
    Failure("nan", NAN, ("numerics",), "loss", state="SUCCEEDED"),
    Failure(
        "slots", "print('never')\n", ("mpi",), "slots",
        project={"command": "mpirun --allow-run-as-root -np 640 python program.py"}, program_needed="mpirun",
        backends=("local", "slurm"),
    ),
    Failure(
        "walltime", "import time\ntime.sleep(500)\n", ("scheduler",), "", state="TIMEOUT", project={"walltime": "10s"}
    ),
]  # fmt: skip


@dataclass
class Campaign:
    """All failing jobs of one back-end."""

    backend: Backend
    sites: dict[str, Site]
    runs: dict[str, Run]


@contextlib.contextmanager
def memory_limit() -> Iterator[Path | None]:
    """Give a control group with little memory, None where this machine lets nobody make one."""
    for top, limit in (("memory", "memory.limit_in_bytes"), ("", "memory.max")):
        group = Path("/sys/fs/cgroup", top, f"hk-test-{os.getpid()}")
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            if (group / limit).exists():
                (group / limit).write_text(str(80 << 20))
                with contextlib.suppress(OSError):
                    (group / "memory.swap.max").write_text("0")
                yield group
                return
        except OSError:
            pass
        finally:
            with contextlib.suppress(OSError):
                group.rmdir()
    yield None


CASES = [
    pytest.param(backend, failure, id=f"{backend}-{failure.name}", marks=marks)
    for backend, marks in (("local", []), ("slurm", [pytest.mark.slurm, pytest.mark.slow]))
    for failure in FAILURES
    if backend in failure.backends
]


@pytest.fixture(scope="module")
def campaign(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaign]:
    folder = tmp_path_factory.mktemp(request.param)
    backend: Backend
    backend = SlurmBackend(request.getfixturevalue("slurm")) if request.param == "slurm" else LocalBackend(folder)
    backend.trains = True
    made = Campaign(backend, {}, {})
    disk = folder / "disk"
    full = "/dev/full"  # what a virtual node of the lab sees of a disk mounted now is nothing
    if request.param == "local" and small_disk(disk):
        full = f"{disk}/checkpoint.pt"
    with memory_limit() as group:
        for failure in FAILURES:
            if request.param not in failure.backends:
                continue
            site = Site(backend, folder / failure.name)
            keys = {"command": "python program.py", "walltime": "900s", **failure.project}
            site.write_project(keys.pop("command"), **keys)
            site.write_profile(
                queues={"main": {"nodes": 4}, "nosuch": {"nodes": 4}}, launchers=["local"], starter="local",
                environment=[*backend.profile()["environment"], f"export HK_TEST_CGROUP={group} HK_TEST_FULL={full}"],
            )  # fmt: skip
            (site.folder / "program.py").write_text(failure.program)
            if failure.name == "oom-kill" and group is None:
                continue
            made.sites[failure.name] = site
            made.runs[failure.name] = site.submit()
        yield made
        backend.stop()
    if full != "/dev/full":
        subprocess.run(["umount", str(disk)], check=True)


def small_disk(path: Path) -> bool:
    """Mount a disk of one megabyte; return whether this user may."""
    path.mkdir()
    return subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=1777", "tmpfs", str(path)]).returncode == 0


@pytest.mark.parametrize(("campaign", "failure"), CASES, indirect=["campaign"], scope="module")
def test_the_part_and_the_rank_are_named(failure: Failure, campaign: Campaign) -> None:
    if failure.needs:
        pytest.importorskip(failure.needs)
    if failure.program_needed and not shutil.which(failure.program_needed):
        pytest.skip(f"no {failure.program_needed}")
    site = campaign.sites.get(failure.name)
    if site is None:
        pytest.skip("needs root: a control group with little memory")
    run = campaign.runs[failure.name]
    site.await_state(run, failure.state, seconds=240)
    said = json.loads(site.run("diagnose", "--json", "--lang", "ja", run.id))
    assert said["findings"], said
    first = said["findings"][0]
    assert first["part"] in failure.parts and first["level"] == "root", said["findings"]
    evidence = (first["evidence"] or {}).get("text") or ""
    if failure.rank is not None:
        host = run.rank_events(failure.rank)[0]["host"]
        assert (first["evidence"]["rank"], first["evidence"]["host"]) == (failure.rank, host), first
    assert any("぀" <= letter <= "ヿ" for letter in first["message"] + first["advice"]), first
    shown = site.run("diagnose", "--lang", "en", run.id).decode()
    assert failure.key.lower() in f"{shown} {evidence}".lower(), shown
    # a line of evidence has the language of whoever asked first
    assert not any("぀" <= letter <= "ヿ" for letter in shown.replace(evidence, "")), shown


@pytest.mark.slurm
@pytest.mark.slow
def test_a_slurm_that_is_strict_about_memory_and_qos(tmp_path: Path) -> None:
    if reason := missing():
        pytest.skip(f"no real Slurm: {reason}")
    options = {
        "JobAcctGatherParams": "OverMemoryKill",
        "SelectTypeParameters": "CR_CPU_Memory",
        "DefMemPerNode": "100",
        "AccountingStorageEnforce": "associations,qos",
    }
    with (
        tempfile.TemporaryDirectory(prefix="hk-slurm-", dir="/tmp") as folder,
        SlurmLab(folder, options=options) as lab,
    ):
        backend = SlurmBackend(lab)
        site = Site(backend, tmp_path / "project")
        site.write_project("python program.py", walltime="900s", processes=2, nodes=2, processes_per_node=1)
        (site.folder / "program.py").write_text(HOARD)
        run = site.submit()
        site.await_state(run, "FAILED", "OUT_OF_MEMORY", seconds=120)
        first = site.diagnosed(run)
        assert first["part"] in ("scheduler", "hardware"), first
        assert "memory" in first["message"].lower() + first["evidence"]["text"].lower(), first
        assert run.rank_events(1)[0]["host"] in first["evidence"]["text"], first

        # a QOS is asked for as a team would: in a template of its own
        templates = site.folder / "templates" / "jobs"
        templates.mkdir(parents=True)
        header = (ROOT / "hackathon" / "schedulers" / "slurm" / "header.sh.j2").read_text()
        (templates / "scheduler-slurm.sh.j2").write_text(header.rstrip("\n") + "\n#SBATCH --qos=nosuch\n")
        site.run("submit", code=None)
        first = json.loads(site.run("diagnose", "--json"))["findings"][0]
        assert (first["part"], first["level"]) == ("scheduler", "root"), first
        assert "Invalid qos specification" in first["evidence"]["text"], first
        backend.stop()
