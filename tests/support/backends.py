"""What the tests over all back-ends share: a back-end to run on, and a project driven through the command line."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support import pbs, pjm, stubs, warm
from support.kubernetes_emulator import cluster as kubernetes
from support.paths import ROOT, TESTS
from support.patience import PATIENCE, STRETCH, until
from support.slurm_lab.lab import SlurmLab

SLURM = pytest.param("slurm", marks=pytest.mark.slurm)
GRID_ENGINE = pytest.param("gridengine", marks=[pytest.mark.gridengine, pytest.mark.slow])
FIRST = ("local", "pbs", SLURM)
"""Those of the core of the tests; the others come with what is slow, for each of them takes a minute."""


def names(*dialects: str) -> list[Any]:
    """Return what the fixture `backend` takes: the core's back-ends, further dialects as slow ones, Grid Engine."""
    return [*FIRST, *(pytest.param(name, marks=pytest.mark.slow) for name in dialects), GRID_ENGINE]


NAMES = names("miyabi", "pjm", "nqsv", "kubernetes", "kumo")
"""What the fixture `backend` takes for every test."""
WITH_SITES = names("miyabi", "pjm", "nqsv", "kubernetes", "kumo", "wisteria")
"""The same for tests of what a site's own commands change."""
PROGRAM = Path(__file__).with_name("backend_program.py")
NQSV = Path(__file__).with_name("nqsv_stub")
LONG = STRETCH * PATIENCE
"""Seconds after which a command hangs."""
GRACE = 40
"""Seconds between TERM and KILL, which only a program that hangs uses up: a machine under load may stand still."""


def json_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON-lines file, none when it is not there."""
    if not path.exists():
        return []
    whole = path.read_text().rpartition("\n")[0]  # what stands behind it is a line that is being written
    return [json.loads(line) for line in whole.splitlines()]


class Backend:
    """One scheduler to run jobs on; subclasses say how it is reached and what it knows without the toolkit's help."""

    name = ""
    scheduler = ""
    starter = "local"
    launchers = ("local", "torchrun", "mpirun")
    """The first one starts ranks of a program that knows nothing."""
    node_names: tuple[str, ...] = ()
    """Hosts that a job can have; empty where there is one, with a name that this machine decides."""
    extra: Mapping[str, Any] = {}
    """Further keys of the cluster profile."""
    trains = False
    """Whether jobs are to find a `python` and a `torchrun` that have imported torch (`support.warm`)."""
    waits = True
    """Whether a job can be told to wait for another one; else `keep_waiting` makes it wait."""
    waits_for_success = True
    """Whether a job can be told to start only if another one succeeded."""
    warns = True
    """Whether a program is told before a job that is cancelled is killed."""
    remembers_all = True
    """Whether a job that was cancelled before it began is remembered."""

    def keep_waiting(self, *, wait: bool) -> None:
        """Let all jobs that do not run yet wait, or go on, for a scheduler whose jobs cannot wait for each other."""
        raise NotImplementedError

    @property
    def programs(self) -> str:
        """The folders that come first on the PATH of jobs."""
        folder = str(Path(sys.executable).parent)
        return f"{Path(warm.with_torch()).parent}:{folder}" if self.trains else folder

    def environment(self) -> dict[str, str]:
        """Return the environment of a person who works there."""
        return {**os.environ, "PATH": f"{self.programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}

    def profile(self) -> dict[str, Any]:
        """Return the cluster profile (JSON is YAML)."""
        return {
            "name": "lab",
            "scheduler": self.scheduler,
            "node": {"cores": 4, "gpus": 0},
            "processes_per_node": 2,
            "threads": 1,
            "launchers": list(self.launchers),
            "starter": self.starter,
            "telemetry_seconds": 1,
            # the programs are Python; a job does not get the submitter's PATH everywhere
            "environment": [f'PATH="{self.programs}:$PATH"'],
            **self.extra,
        }

    def jobs_named(self, name: str) -> list[str]:
        """Return the ids of all jobs of a name, as the scheduler itself has them."""
        raise NotImplementedError

    def submitted_script(self, run: "Run") -> bytes:
        """Return the script as the scheduler keeps it."""
        raise NotImplementedError

    def by_hand(self, run: "Run") -> int:
        """Submit a run's script as a person would, wait for its end and return its exit code."""
        raise NotImplementedError

    def signal_script(self, run: "Run") -> None:
        """Send TERM to the job script alone."""
        raise NotImplementedError

    def stop(self) -> None:
        """End what a test left behind."""


class LocalBackend(Backend):
    """No scheduler: a supervisor a job, with its state in the test's own folder."""

    name = scheduler = "local"

    def __init__(self, folder: Path) -> None:
        self.state, self.slots = folder / "local", folder / "slots"

    def environment(self) -> dict[str, str]:
        return {
            **super().environment(),
            "HACKATHON_LOCAL_DIR": str(self.state),
            "HACKATHON_LOCAL_SLOTS_DIR": str(self.slots),
            "HACKATHON_LOCAL_SLOTS": "4",
            "HACKATHON_LOCAL_GRACE": str(GRACE),
        }

    def _jobs(self) -> dict[str, Path]:
        """Return the jobs' folders by their number."""
        return {path.name: path for path in self.state.glob("*/jobs/*")}

    def jobs_named(self, name: str) -> list[str]:
        found = {number: json.loads((path / "job.json").read_text()) for number, path in self._jobs().items()}
        return [f"{number}.{os.uname().nodename}.local" for number, facts in found.items() if facts["name"] == name]

    def _script(self, job_id: str) -> Path:
        return self._jobs()[job_id.partition(".")[0]] / "script"

    def submitted_script(self, run: "Run") -> bytes:
        return self._script(run.job_id).read_bytes()

    def by_hand(self, run: "Run") -> int:
        return subprocess.run(["bash", "job.sh"], cwd=run.path, env=self.environment(), timeout=LONG).returncode

    def signal_script(self, run: "Run") -> None:
        os.kill(self._running(self._script(run.job_id))[0], signal.SIGTERM)

    @staticmethod
    def _running(script: Path) -> list[int]:
        """Return the shells that run a script: it and its subshells, the script itself first."""
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (path / "cmdline").read_bytes() == b"bash\0" + os.fsencode(script) + b"\0":
                    found[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        # a subshell's number may be the lower one: the kernel begins again with low ones
        return sorted(found, key=lambda number: found[number] in found)

    def stop(self) -> None:
        for path in self._jobs().values():
            (path / "cancel").touch()
        until(lambda: not list(self.state.glob("*/supervisors/*")), "the end of all supervisors")


class KumoBackend(LocalBackend):
    """A batch system that does not exist, behind a plug-in that was installed as any other."""

    name = scheduler = "kumo"
    extra: Mapping[str, Any] = {"dialect": {"express": True}, "queues": {"main": {"nodes": 1}, "express": {"nodes": 1}}}

    def __init__(self, folder: Path, plug_ins: Path) -> None:
        super().__init__(folder)
        self.plug_ins = plug_ins

    def environment(self) -> dict[str, str]:
        inherited = super().environment()
        command = TESTS / "support" / "kumo" / "bin"
        return {**inherited, "PATH": f"{command}:{inherited['PATH']}", "PYTHONPATH": f"{ROOT}:{self.plug_ins}"}

    def ask(self, *words: str) -> str:
        """Return what Kumo's command printed."""
        return subprocess.run(words, env=self.environment(), capture_output=True, text=True, check=True).stdout

    def jobs_named(self, name: str) -> list[str]:
        return [job_id.partition(".")[0] for job_id in super().jobs_named(name)]


class SlurmBackend(Backend):
    """The real four-node Slurm of `slurm_lab/`."""

    name = scheduler = "slurm"
    starter = "srun"
    launchers = ("srun", "torchrun", "mpirun", "local")
    extra: Mapping[str, Any] = {"dialect": {"group": "account"}, "queues": {"main": {"nodes": 4}}}

    def __init__(self, lab: SlurmLab) -> None:
        self.lab = lab
        if lab.network != "flat":
            self.node_names = tuple(lab.names)

    def environment(self) -> dict[str, str]:
        return {**super().environment(), **self.lab.environment}

    def jobs_named(self, name: str) -> list[str]:
        queued = self.lab.run("squeue", "-h", "-t", "all", "-n", name, "-o", "%A")
        return sorted(set(queued.split()))

    def submitted_script(self, run: "Run") -> bytes:
        return self.lab.run("scontrol", "write", "batch_script", run.job_id, "-").encode()

    def by_hand(self, run: "Run") -> int:
        command = ["sbatch", "--wait", "--job-name", "by-hand", "--output", "by-hand.log", "job.sh"]
        environment = self.environment()
        return subprocess.run(command, cwd=run.path, env=environment, capture_output=True, timeout=LONG).returncode

    def signal_script(self, run: "Run") -> None:
        self.lab.run("scancel", "--batch", "--signal=TERM", run.job_id)

    def stop(self) -> None:
        self.lab.run("scancel", "--user", self.lab.layout.user)
        until(lambda: not self.lab.run("squeue", "-h"), "an empty queue")


class PbsBackend(Backend):
    """The commands of `pbs_stub`, which answer with OpenPBS's recorded words and really run scripts."""

    name = scheduler = "pbs"
    starter = "pbs_tmrsh"
    node_names = ("pn01", "pn02", "pn03", "pn04")
    extra: Mapping[str, Any] = {"dialect": {"place": "scatter"}, "queues": {"workq": {"nodes": 4}}}

    def __init__(self, folder: Path) -> None:
        self.state, self.home = folder / "pbs", folder / "pbs-home"
        self.home.mkdir(parents=True)
        pbs.configure(self.state, kill_delay=GRACE)

    def environment(self) -> dict[str, str]:
        return {**pbs.environment(self.state, super().environment()), "HOME": str(self.home)}

    def ask(self, *words: str, folder: Path | None = None) -> str:
        """Return what a PBS command printed."""
        return subprocess.run(
            words, env=self.environment(), cwd=folder, capture_output=True, text=True, timeout=LONG, check=True
        ).stdout

    def attributes(self, job_id: str) -> dict[str, str]:
        """Return what `qstat -f` says about a job."""
        lines = self.ask("qstat", "-x", "-f", "-w", job_id).splitlines()
        return dict(line.strip().split(" = ", 1) for line in lines if " = " in line)

    def jobs_named(self, name: str) -> list[str]:
        return self.ask("qselect", "-x", "-N", name).split()

    def submitted_script(self, run: "Run") -> bytes:
        return (self.state / "scripts" / f"{run.job_id}.SC").read_bytes()

    def by_hand(self, run: "Run") -> int:
        job_id = self.ask("qsub", "-N", "by-hand", "-o", "by-hand.log", "job.sh", folder=run.path).strip()
        return int(until(lambda: self.attributes(job_id).get("Exit_status"), "the job that was submitted by hand"))

    def signal_script(self, run: "Run") -> None:
        number = until(lambda: self.attributes(run.job_id).get("session_id"), "the script of the job")
        os.kill(int(number), signal.SIGTERM)

    def stop(self) -> None:
        pbs.stop(self.state)


class MiyabiBackend(PbsBackend):
    """PBS behind the qstat of Miyabi: `miyabi_stub` prints what is on record of it. Miyabi itself was not run."""

    name = "miyabi"
    extra: Mapping[str, Any] = {
        "dialect": {"place": "scatter", "history": "H", "group": "group_list"},
        "queues": {"debug-g": {"nodes": 4}},
    }

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        pbs.configure(self.state, server="opbs", queues={"debug-g": {}}, default_queue="debug-g", groups=["gw25"])

    def environment(self) -> dict[str, str]:
        inherited = super().environment()
        return {**inherited, "PATH": f"{pbs.MIYABI}:{inherited['PATH']}", "HACKATHON_GROUP": "gw25"}

    def ask(self, *words: str, folder: Path | None = None) -> str:
        """Return what a PBS command printed, not the site's."""
        return super().ask(str(pbs.STUBS / words[0]), *words[1:], folder=folder)


class PjmBackend(Backend):
    """The commands of `pjm_stub`, which answer in PJM's recorded words and run scripts. No PJM was at hand."""

    name = scheduler = "pjm"
    starter = "pjrsh"
    node_names = ("wa01", "wa02", "wa03", "wa04")
    extra: Mapping[str, Any] = {"queues": {"small": {"nodes": 4}}}
    waits = waits_for_success = False
    site = False
    """Whether the site has a pjstat of its own."""

    def __init__(self, folder: Path) -> None:
        self.state, self.home = folder / "pjm", folder / "pjm-home"
        self.home.mkdir(parents=True)
        # ports are made from the numbers of jobs: those of tests that run at the same time differ
        pjm.configure(self.state, kill_delay=GRACE, first=49040000 + os.getpid() % 9000)

    def environment(self) -> dict[str, str]:
        return {**pjm.environment(self.state, super().environment(), site=self.site), "HOME": str(self.home)}

    def keep_waiting(self, *, wait: bool) -> None:
        pjm.configure(self.state, stopped=wait)

    def ask(self, *words: str, folder: Path | None = None) -> str:
        """Return what a command of PJM printed, not the site's."""
        command = [str(pjm.STUBS / words[0]), *words[1:]]
        return subprocess.run(
            command, env=self.environment(), cwd=folder, capture_output=True, text=True, timeout=LONG, check=True
        ).stdout

    def record(self, job_id: str) -> dict[str, Any]:
        """Return what the stand-in keeps of a job."""
        found: dict[str, Any] = json.loads((self.state / "jobs" / f"{job_id}.json").read_text())
        return found

    def jobs_named(self, name: str) -> list[str]:
        numbers = [path.stem for path in (self.state / "jobs").glob("*.json")]
        return sorted(number for number in numbers if self.record(number)["name"] == name)

    def submitted_script(self, run: "Run") -> bytes:
        return (self.state / "scripts" / f"{run.job_id}.sh").read_bytes()

    def by_hand(self, run: "Run") -> int:
        job_id = self.ask("pjsub", "-N", "by-hand", "-o", "by-hand.log", "-j", "job.sh", folder=run.path).split()[5]
        until(lambda: self.record(job_id)["st"] == "EXT", "the job that was submitted by hand")
        return int(self.record(job_id)["ec"])

    def signal_script(self, run: "Run") -> None:
        session = self.state / "session" / run.job_id
        until(session.exists, "the script of the job")  # the program may be there before it is written down
        os.kill(int(session.read_text()), signal.SIGTERM)

    def stop(self) -> None:
        pjm.stop(self.state)


class WisteriaBackend(PjmBackend):
    """PJM behind the pjstat of Wisteria, `pjm_site_stub`: no exit codes, names that are cut. Wisteria was not run."""

    name = "wisteria"
    site = True
    extra: Mapping[str, Any] = {"dialect": {"group": "g", "table": "site"}, "queues": {"short-a": {"nodes": 4}}}

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        pjm.configure(self.state, queues={"short-a": {}}, groups=["gv49"])

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "HACKATHON_GROUP": "gv49"}


class NqsvBackend(Backend):
    """The commands of `nqsv_stub`: NEC's NQSV as public records have it. NQSV itself was never run."""

    name = scheduler = "nqsv"
    starter = "mpirun"
    node_names = ("bnode001", "bnode002", "bnode003", "bnode004")
    extra: Mapping[str, Any] = {
        "dialect": {"topology": "openmpi", "host": "nqsv"},
        "mpi": "openmpi",
        "queues": {"gen_S": {"nodes": 4}},
    }
    waits = waits_for_success = warns = remembers_all = False

    def __init__(self, folder: Path) -> None:
        self.state, self.home = folder / "nqsv", folder / "nqsv-home"
        self.home.mkdir(parents=True)

    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in super().environment().items() if not name.startswith("PBS_")}
        return {**stubs.environment(self.state, NQSV, base=inherited), "HOME": str(self.home)}

    def keep_waiting(self, *, wait: bool) -> None:
        stubs.configure(self.state, hosts=[] if wait else list(self.node_names))

    def requests(self) -> dict[str, dict[str, Any]]:
        """Return id → what the stand-in knows of each request, those that qstat forgot too."""
        found = [json.loads(path.read_text()) for path in (self.state / "jobs").glob("*.json")]
        return {f"{each['number']}.nqsv": each for each in found}

    def jobs_named(self, name: str) -> list[str]:
        return sorted(job_id for job_id, each in self.requests().items() if each["name"] == name)

    def submitted_script(self, run: "Run") -> bytes:
        return (self.state / "scripts" / run.job_id.partition(".")[0]).read_bytes()

    def by_hand(self, run: "Run") -> int:
        command = ["qsub", "-N", "by-hand", "job.sh"]
        said = subprocess.run(command, cwd=run.path, env=self.environment(), capture_output=True, text=True, check=True)
        job_id = said.stdout.split()[1]
        return int(until(lambda: self.requests()[job_id]["code"], "the job that was submitted by hand"), 16) >> 8

    def stop(self) -> None:
        stubs.stop(self.state)


class KubernetesBackend(Backend):
    """Real kubectl against `kubernetes_emulator`, whose pods are processes of this machine: no cluster was asked."""

    name = scheduler = "kubernetes"
    starter = "indexed"
    launchers = ("local", "torchrun")
    waits = waits_for_success = remembers_all = False

    def __init__(self, folder: Path, grace: int = GRACE) -> None:
        if shutil.which("kubectl") is None:
            pytest.skip("kubectl is not installed")
        if not kubernetes.works_here():
            pytest.skip("a pod with a host name of its own does not work on this machine")
        self.cluster = kubernetes.Cluster(folder / "kubernetes")
        self.extra = {
            "dialect": {
                "image": "registry.example.com/torch:2.5", "volume": {"host_path": str(folder), "path": str(folder)},
                "startup": 0, "grace": grace, "validation": False,  # kubectl 1.20 would read the server's schema
            }
        }  # fmt: skip

    def environment(self) -> dict[str, str]:
        return {**super().environment(), **self.cluster.environment}

    def jobs_named(self, name: str) -> list[str]:
        return [f"default/{each['metadata']['name']}" for each in self.cluster.store.found("jobs", "default")
                if each["metadata"]["name"] == name]  # fmt: skip

    def keep_waiting(self, *, wait: bool) -> None:
        self.cluster.full = wait

    def job(self, run: "Run") -> Any:
        """Return a run's Job as the cluster has it."""
        return self.cluster.store.get("jobs", *run.job_id.split("/"))

    def submitted_script(self, run: "Run") -> bytes:
        """There is no copy: the pods run the script where it lies."""
        (container,) = self.job(run)["spec"]["template"]["spec"]["containers"]
        assert container["command"] == ["bash", str(run.path / "job.sh")]
        return (run.path / "job.sh").read_bytes()

    def by_hand(self, run: "Run") -> int:
        return subprocess.run(["bash", "job.sh"], cwd=run.path, env=self.environment(), timeout=LONG).returncode

    def signal_script(self, run: "Run") -> None:
        (pod,) = self.cluster.store.pods_of(self.job(run))
        self.cluster.signal(pod["metadata"]["name"], signal.SIGTERM)

    def stop(self) -> None:
        self.cluster.stop()


@dataclass
class Run:
    """A run as the tests see it: its folder, read as anyone can read it."""

    path: Path
    job_id: str

    @property
    def id(self) -> str:
        """The run's id."""
        return self.path.name

    @property
    def job_events(self) -> list[dict[str, Any]]:
        """`events/job.jsonl`."""
        return json_lines(self.path / "events" / "job.jsonl")

    def rank_events(self, rank: int) -> list[dict[str, Any]]:
        """`events/rank-<n>.jsonl`."""
        return json_lines(self.path / "events" / f"rank-{rank}.jsonl")

    def has(self, event: str) -> bool:
        """Whether the job wrote this event."""
        return any(each["event"] == event for each in self.job_events)

    def await_end(self) -> dict[str, Any]:
        """Return the job's `ended` event when it is there."""
        until(lambda: self.has("ended"), f"the end of {self.path}")
        return next(each for each in reversed(self.job_events) if each["event"] == "ended")

    def log(self, name: str = "rank-0") -> str:
        """Return a log."""
        return (self.path / "logs" / f"{name}.log").read_text(errors="surrogateescape")

    def written(self, name: str) -> Path:
        """Return a file that the program wrote in the run's folder, as soon as it is there."""
        until((self.path / name).exists, f"{name} of {self.path}; see its logs")
        return self.path / name


@dataclass
class Site:
    """A project on a back-end, and the command line in it."""

    backend: Backend
    folder: Path
    more: dict[str, str] = field(default_factory=dict)
    """Further environment variables."""
    walltime: str = "60s"
    """Seconds that a project asks for unless it says otherwise; on a machine under load a minute is soon over."""

    def write_project(self, command: str, **keys: Any) -> None:
        """Write `project.yaml`, its program and the profile of the cluster `lab`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "program.py").write_bytes(PROGRAM.read_bytes())
        values = {"name": "small", "command": command, "cluster": "lab", "walltime": self.walltime, "processes": 1}
        (self.folder / "project.yaml").write_text(json.dumps({**values, **keys}))
        self.write_profile()

    def write_profile(self, **keys: Any) -> None:
        """Write the profile of the cluster `lab`, with other values where given."""
        clusters = self.folder / "templates" / "clusters"
        clusters.mkdir(parents=True, exist_ok=True)
        (clusters / "lab.yaml").write_text(json.dumps({**self.backend.profile(), **keys}))

    def choose_programs(self) -> None:
        """Let a project for a shipped profile, whose nodes have a PATH of their own, find the back-end's programs."""
        with (self.folder / "project.yaml").open("a") as stream:
            stream.write(f"environment: {json.dumps(self.backend.profile()['environment'])}\n")

    def start(self, *words: str, **more: str) -> "subprocess.Popen[bytes]":
        """Start `python -m hackathon …` in the project."""
        return subprocess.Popen(
            [warm.with_toolkit(), "-m", "hackathon", *words],
            cwd=self.folder,
            env={**self.backend.environment(), **self.more, **more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *words: str, code: int | None = 0, seconds: float = 120, **more: str) -> bytes:
        """Return what a command wrote to stdout; it must end with `code` (None: any)."""
        process = self.start(*words, **more)
        try:
            stdout, stderr = process.communicate(timeout=STRETCH * seconds)
        except BaseException:
            process.kill()
            process.communicate()
            raise
        assert code in (None, process.returncode), (words, process.returncode, stdout.decode(), stderr.decode())
        return stdout

    def submit(self, *words: str, **more: str) -> Run:
        """Return the run that `submit` made."""
        return self.submit_all(*words, **more)[0]

    def submit_all(self, *words: str, **more: str) -> list[Run]:
        """Return the runs that `submit` made."""
        rows = json.loads(self.run("submit", "--json", *words, **more))["runs"]
        return [Run(Path(row["path"]), row["job_id"]) for row in rows]

    def states(self, *names: str) -> list[dict[str, Any]]:
        """Return what `status --json` says about these runs."""
        found: list[dict[str, Any]] = json.loads(self.run("status", "--json", *names))["runs"]
        return found

    def state(self, run: Run) -> dict[str, Any]:
        """Return what `status --json` says about a run."""
        return self.states(run.id)[0]

    def diagnosed(self, run: Run) -> dict[str, Any]:
        """Return what `diagnose --json` names as the cause."""
        found: list[dict[str, Any]] = json.loads(self.run("diagnose", "--json", run.id))["findings"]
        assert found and found[0]["level"] == "root", found
        return found[0]

    def await_state(self, run: Run, *wanted: str, seconds: float = PATIENCE) -> dict[str, Any]:
        """Return the run's status when it has one of these states.

        A FAILED that is not settled may become another of them, TIMEOUT say: the scheduler has yet to tell.
        """
        found: dict[str, Any] = {}

        def there() -> bool:
            found.update(self.state(run))
            return found["state"] in wanted and (found["settled"] or found["state"] != "FAILED" or len(wanted) == 1)

        try:
            until(there, f"{wanted}", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {found}") from error
        return found
