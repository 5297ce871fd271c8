"""A private Grid Engine with several virtual nodes on this machine, for tests and for trying things by hand.

    PYTHONPATH=tests python -m support.gridengine_lab.lab start /tmp/lab      # then: . /tmp/lab/env.sh; qhost
    PYTHONPATH=tests python -m support.gridengine_lab.lab stop /tmp/lab

A login host with the master and three execution hosts, each with its own network, host name and /dev/shm; execution
hosts have their own process numbers too. Names and ports are seen in these networks alone, so labs do not meet. The
commands in `bin` run on the login host.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from xml.etree import ElementTree

from support.gridengine_lab import files
from support.gridengine_lab.files import LOGIN, LOGIN_NUMBER, PROGRAMS, Layout
from support.patience import STRETCH
from support.virtual_nodes import network, processes
from support.virtual_nodes.daemons import Daemons
from support.virtual_nodes.network import NEW_NODE, SEARCH, LabError, best_network

NEEDED = ("sge_qmaster", "sge_execd", "sge_shepherd", "qsub", "qacct", "spooldefaults")
CLIENTS = ("qsub", "qstat", "qdel", "qacct", "qhost", "qconf", "qmod", "qalter", "qhold", "qrls", "qrsh", "qselect")
MASTER = "qmaster"


def missing() -> str | None:
    """Return why the lab can not run on this machine, or None when it can."""
    absent = [name for name in NEEDED if not (PROGRAMS / name).exists()]
    if absent:
        packages = "gridengine-master gridengine-exec gridengine-client"
        return f"not installed: {', '.join(absent)} (apt-get install {packages})"
    return None if os.getuid() == 0 and best_network() == "netns" else "its hosts need root and network namespaces"


class GridEngineLab:
    """A Grid Engine of its own; a context manager."""

    def __init__(self, directory: Path | str, hosts: int = 3) -> None:
        self.directory = Path(directory).resolve()
        self._daemons = Daemons(self.directory)
        self.layout = Layout(self.directory, "", hosts)
        self._bridge = ""

    @property
    def environment(self) -> dict[str, str]:
        """What a person's commands need; `bin` has to come first on PATH too."""
        return {"SGE_ROOT": str(self.layout.root), "SGE_CELL": "default",
                "SGE_QMASTER_PORT": "6444", "SGE_EXECD_PORT": "6445"}  # fmt: skip

    @property
    def commands(self) -> Path:
        """The folder of qsub, qstat and the others."""
        return self.directory / "bin"

    @property
    def names(self) -> list[str]:
        """The names of the execution hosts."""
        return self.layout.names

    def start(self) -> "GridEngineLab":
        """Start all and wait until every host takes jobs; on failure nothing is left running. Raises LabError."""
        if self._daemons.record.exists():
            raise LabError(f"{self.directory} already holds a lab: stop it first")
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End every daemon and every job and remove the network; harmless when nothing runs."""
        if not self.directory.exists():
            return
        self._daemons.recall()
        # a host's jobs end with its first process; the login host comes last
        for name in sorted(self._daemons.names(), key=lambda name: (name == LOGIN, name == MASTER)):
            self._daemons.end(name, at_once=True)
        if bridge := self._daemons.facts.get("bridge"):
            network.remove(bridge)
        self._daemons.record.unlink(missing_ok=True)

    def kill_master(self) -> None:
        """Let the master die at once; jobs go on."""
        self._daemons.end(MASTER, at_once=True)

    def restore_master(self) -> None:
        """Start the master again and wait until it answers."""
        self._start_master()

    def kill_host(self, number: int) -> None:
        """Let a host die: its daemon and everything that runs there is gone at once, without a word."""
        self._daemons.end(f"ge{number}", at_once=True)

    def restore_host(self, number: int) -> None:
        """Start a host again and wait until it takes jobs."""
        self._start_host(number)
        self._wait_up([f"ge{number}"])

    def run(self, *command: str, timeout: float = 60, check: bool = True, folder: Path | None = None) -> str:
        """Return what a command printed on the login host. Raises LabError, TimeoutExpired."""
        environment = {**os.environ, **self.environment, "PATH": f"{self.commands}:{SEARCH}", "LC_ALL": "C"}
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, timeout=STRETCH * timeout, check=False
        )
        if check and done.returncode:
            raise LabError(f"{' '.join(command)}: exit {done.returncode}: {done.stdout}{done.stderr}".strip())
        return done.stdout

    def on_host(self, name: str, *command: str) -> str:
        """Return what a command printed on an execution host."""
        words = ["nsenter", f"--target={self._first_process(name)}", "--net", "--uts", "--mount", "--pid", *command]
        return subprocess.run(words, capture_output=True, text=True, timeout=STRETCH * 60, check=True).stdout

    # ---- jobs, as the scheduler itself has them

    def jobs(self, first: int = 1) -> dict[str, set[str]]:
        """Return name → ids of the jobs from a number on, those that are there and those that were.

        One that was deleted in the queue leaves nothing.
        """
        there = ElementTree.fromstring(self.run("qstat", "-xml", "-u", "*")).iter("job_list")
        rows = [(row.findtext("JB_name", ""), row.findtext("JB_job_number", "")) for row in there]
        found: dict[str, set[str]] = {}
        for name, number in [*rows, *((row[4], row[5]) for row in self.accounted())]:
            if int(number) >= first:
                found.setdefault(name, set()).add(number)
        return found

    def last_job(self) -> int:
        """Return the number of the newest job, 0 before the first."""
        return max((int(number) for ids in self.jobs().values() for number in ids), default=0)

    def refuse(self, refused: bool) -> None:
        """Let the verifier refuse every job, or no more."""
        if refused:
            (self.directory / "refuse").touch()
        else:
            (self.directory / "refuse").unlink(missing_ok=True)

    def accounted(self) -> list[list[str]]:
        """Return the rows of the accounting (accounting(5)): 5th the name, 6th the id, 12th `failed`, 13th the code."""
        path = self.layout.common / "accounting"
        lines = path.read_text(errors="replace").splitlines() if path.exists() else []
        return [line.split(":") for line in lines if line and not line.startswith("#")]

    def state(self, job_id: str) -> str:
        """Return the letters of a job's state, empty when it has left."""
        there = ElementTree.fromstring(self.run("qstat", "-xml", "-u", "*"))
        found = [row for row in there.iter("job_list") if row.findtext("JB_job_number") == job_id]
        return found[0].findtext("state", "") if found else ""

    def script(self, job_id: str) -> Path:
        """Return where a job's script is kept when it has begun."""
        return self.directory / "scripts" / job_id

    def signal(self, job_id: str, name: str) -> None:
        """Send a signal to a running job's script alone."""
        (path,) = (self.directory / "spool" / "execd").glob(f"*/active_jobs/{job_id}.1/job_pid")
        self.on_host(path.parts[-4], "kill", f"-{name}", path.read_text().strip())

    def clear(self) -> None:
        """End all jobs and wait until they are gone."""

        def gone() -> bool:
            return not self.run("qstat", "-u", "*")

        if not gone():
            self.run("qdel", "-u", "*", check=False)
        if not processes.until(gone, STRETCH * 120):
            raise LabError(f"jobs are left: {self.run('qstat', '-u', '*')}")

    def __enter__(self) -> "GridEngineLab":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # ---- starting

    def _start(self) -> None:
        for part in ("log", "bin", "scripts", "spool/qmaster/job_scripts", "spool/execd"):
            (self.directory / part).mkdir(parents=True, exist_ok=True)
        self.directory.chmod(0o755)
        bridge, subnet = network.make_bridge()
        self._daemons.facts = {"bridge": bridge}
        self._daemons.remember()
        self._bridge, self.layout = bridge, Layout(self.directory, subnet, self.layout.hosts)
        (self.directory / "hosts").write_text(files.hosts(self.layout))
        self._start_login()
        self._write_cell()
        self._start_master()
        self._configure("-Msconf", "scheduler", files.scheduler(self.run("qconf", "-ssconf")))
        for name, text in files.queues(self.layout).items():
            self._configure("-Aq", name, text)
        for number in range(1, self.layout.hosts + 1):
            self._start_host(number)
        self._wait_up(self.names)

    def _write_cell(self) -> None:
        layout = self.layout
        layout.common.mkdir(parents=True)
        (layout.root / "util").symlink_to(files.SHARE / "util")
        for name in ("bin", "utilbin", "lib"):
            (layout.root / name).mkdir()
            (layout.root / name / files.ARCHITECTURE).symlink_to(PROGRAMS)
        (layout.common / "act_qmaster").write_text(f"{LOGIN}\n")
        (layout.common / "bootstrap").write_text(files.bootstrap(layout))
        for name, text in (("verifier", files.verifier(layout)), ("prolog", files.prolog(layout))):
            (self.directory / name).write_text(text)
            (self.directory / name).chmod(0o755)
        defaults = self.directory / "defaults"
        defaults.mkdir()
        (defaults / "configuration").write_text(files.configuration(layout))
        steps = [f"{PROGRAMS}/spoolinit classic libspoolc '{layout.common};{layout.spool}' init"]
        words = [f"configuration {defaults}/configuration", "managers root", "operators root"]
        for kind, found in files.objects(layout).items():
            (defaults / kind).mkdir()
            for name, text in found.items():
                (defaults / kind / name).write_text(text)
            words.append(f"{kind} {defaults / kind}")
        steps += [f"{PROGRAMS}/spooldefaults {each}" for each in words]
        done = subprocess.run(
            [*self._login(), "env", *(f"{key}={value}" for key, value in self.environment.items()), "bash", "-ec",
             "\n".join(steps)],
            capture_output=True, text=True, check=False, timeout=STRETCH * 60,
        )  # fmt: skip
        if done.returncode:
            raise LabError(f"the cell could not be written: {done.stdout}{done.stderr}")

    def _configure(self, option: str, name: str, text: str) -> None:
        path = self.directory / "defaults" / name
        path.write_text(text)
        self.run("qconf", option, str(path))

    def _login(self) -> list[str]:
        """Return the words before a command that is to run on the login host."""
        return ["nsenter", f"--target={self._daemons.pid(LOGIN)}", "--net", "--uts", "--mount"]

    def _start_login(self) -> None:
        network.make_node(self._bridge, LOGIN_NUMBER, self.layout.address(LOGIN_NUMBER))
        alone = ["unshare", "--uts", "--mount"]
        self._spawn_first(LOGIN, LOGIN_NUMBER, alone, ["sleep", "infinity"])
        enter = " ".join(self._login())
        for name in CLIENTS:
            path = self.commands / name
            path.write_text(files.command(self.layout, enter, name, self.environment))
            path.chmod(0o755)
        lines = [f"export {key}='{value}'\n" for key, value in self.environment.items()]
        (self.directory / "env.sh").write_text("".join([*lines, f'export PATH="{self.commands}:$PATH"\n']))
        self._daemons.wait(LOGIN, lambda: self._named(self._daemons.pid(LOGIN), LOGIN))

    def _start_master(self) -> None:
        words = [*self._login(), str(PROGRAMS / "sge_qmaster")]
        self._daemons.spawn(MASTER, words, {**self.environment, "SGE_ND": "1"})
        self._daemons.wait(MASTER, lambda: LOGIN in self.run("qconf", "-ss", timeout=10, check=False))

    def _start_host(self, number: int) -> None:
        network.make_node(self._bridge, number, self.layout.address(number))
        self._spawn_first(f"ge{number}", number, NEW_NODE, [str(PROGRAMS / "sge_execd")])

    def _spawn_first(self, name: str, number: int, spaces: list[str], daemon: list[str]) -> None:
        enter = network.enter_namespace(self._bridge, number)
        first = Path(processes.__file__).resolve()
        inside = [sys.executable, "-S", "-E", str(first), name, str(self.directory / "hosts")]
        # jobs inherit the environment of the execution daemon: root may use Open MPI, whatever the number of cores
        mpi = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_mpi_yield_when_idle": "1"}  # fmt: skip
        self._daemons.spawn(name, [*enter, *spaces, *inside, *daemon], {**self.environment, **mpi, "SGE_ND": "1"})

    def _wait_up(self, names: list[str]) -> None:
        def up() -> bool:
            rows = [line.split() for line in self.run("qstat", "-f", "-q", "main.q", check=False).splitlines()]
            known = {row[0].partition("@")[2]: row for row in rows if row and row[0].startswith("main.q@")}
            return all(name in known and len(known[name]) == 5 and known[name][3] != "-NA-" for name in names)

        self._daemons.wait("/".join(names), up)

    def _first_process(self, name: str) -> int:
        """Return the first process of a host: the child of `unshare`."""
        pid = self._daemons.pid(name)
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])

    @staticmethod
    def _named(pid: int, name: str) -> bool:
        words = ["nsenter", f"--target={pid}", "--uts", "--mount", "grep", "-qs", name, "/etc/hosts"]
        return subprocess.run(words, check=False, capture_output=True).returncode == 0


def main(arguments: list[str]) -> int:
    """`start DIR`, `stop DIR`."""
    match arguments:
        case ["start", directory]:
            if reason := missing():
                print(reason, file=sys.stderr)
                return 3
            began = time.monotonic()
            Path(directory).mkdir(parents=True, exist_ok=True)
            lab = GridEngineLab(directory).start()
            print(f"ready after {time.monotonic() - began:.1f} s: . {lab.directory}/env.sh")
        case ["stop", directory]:
            GridEngineLab(directory).stop()
        case _:
            print((__doc__ or "").strip(), file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
