"""A private Slurm with several virtual nodes on this machine, for tests and for trying things by hand.

    PYTHONPATH=tests python -m support.slurm_lab.lab start /tmp/lab      # then: . /tmp/lab/env.sh; sinfo
    PYTHONPATH=tests python -m support.slurm_lab.lab stop /tmp/lab

Each virtual node has its own host name, process numbers and /dev/shm, and with `netns` its own network interface on a
bridge of this lab. Daemons run in the foreground as children, so that every process number is known; what was made is
written down in `lab.json` before it is used, so that `stop` finds it after a crash.
"""

import getpass
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from support.patience import STRETCH
from support.ports import reserve_ports
from support.slurm_lab import files as slurm_files
from support.slurm_lab.files import Layout
from support.slurm_lab.processes import MARK, kill_marked
from support.virtual_nodes import network as virtual_network
from support.virtual_nodes import processes as virtual_processes
from support.virtual_nodes.daemons import Daemons
from support.virtual_nodes.network import NEW_NODE, SEARCH, LabError, best_network

DAEMONS = ("munged", "slurmctld", "slurmd")
DATABASE = ("slurmdbd", "mariadbd", "mariadb-install-db")
CLEAN = {"PATH": SEARCH, "LC_ALL": "C"}
TAKEN, ATTEMPTS = "Address already in use", 5


def missing(accounting: bool = True) -> str | None:
    """Return why the lab can not run on this machine, or None when it can."""
    absent = [name for name in DAEMONS + (DATABASE if accounting else ()) if not shutil.which(name, path=SEARCH)]
    if absent:
        return f"not installed: {', '.join(absent)} (apt-get install slurm-wlm munge slurmdbd mariadb-server)"
    return None


class SlurmLab:
    """A Slurm of its own; a context manager. `accounting` adds MariaDB and slurmdbd (about 10 s more)."""

    def __init__(
        self,
        directory: Path | str,
        nodes: int = 4,
        cpus: int = 4,
        gpus: int = 2,
        accounting: bool = True,
        network: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = Path(directory).resolve()
        self.network = network or best_network()
        if len(os.fsencode(self.directory)) > 90:
            raise LabError(f"{self.directory} is too long for a unix socket")
        self.accounting = accounting
        self._shape = (nodes, cpus, gpus)
        self._options = dict(options or {})
        self._daemons = Daemons(self.directory)
        self._bridge = ""
        self._ports: socket.socket | None = None
        """What keeps other labs from our block of ports."""
        self.layout = self._lay_out("", 0)

    @property
    def environment(self) -> dict[str, str]:
        """What a client needs to talk to this Slurm."""
        return {"SLURM_CONF": str(self.layout.conf)}

    @property
    def names(self) -> list[str]:
        """The nodes' names."""
        return self.layout.names

    def start(self) -> "SlurmLab":
        """Start all daemons and wait until every node is idle; on failure nothing is left running. Raises LabError."""
        if self._daemons.record.exists():
            raise LabError(f"{self.directory} already holds a lab: stop it first")
        attempts = ATTEMPTS
        while True:
            attempts -= 1
            try:
                self._start()
                return self
            except BaseException as error:
                self.stop()
                # any program can take a free port before the daemon has it
                if not attempts or TAKEN not in str(error):
                    raise

    def stop(self) -> None:
        """End every daemon and every job of this lab and remove its network; harmless when nothing runs."""
        if not self.directory.exists():
            return
        self._recall()
        for name in sorted(self._daemons.names(), key=lambda name: (not name.startswith("node"), _rank(name))):
            # killing `unshare` kills the node's first process, and with it everything in its process namespace
            self._daemons.end(name, at_once=name.startswith("node"))
        kill_marked(self.directory)
        if self._bridge:
            virtual_network.remove(self._bridge)
            self._bridge = ""
        if self._ports:
            self._ports.close()
            self._ports = None
        self._daemons.record.unlink(missing_ok=True)

    def kill_node(self, number: int) -> None:
        """Let a node die: its daemon and everything that runs there is gone at once, without a word."""
        self._daemons.end(f"node{number}", at_once=True)
        if self.network == "flat":
            kill_marked(self.directory, node=f"node{number}")

    def restore_node(self, number: int) -> None:
        """Start the daemon of a node again and wait until it is idle."""
        if self.network == "netns":
            virtual_network.make_node(self._bridge, number, self.layout.address(number))
        self._start_node(number)
        self._wait_idle({f"node{number}"})

    def run(self, *command: str, timeout: float = 60, check: bool = True) -> str:
        """Return what a client command printed. Raises CalledProcessError, TimeoutExpired."""
        environment = {**os.environ, **self.environment, **CLEAN}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=STRETCH * timeout, check=False
        )
        if check and done.returncode:
            raise LabError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def __enter__(self) -> "SlurmLab":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # ---- starting

    def _lay_out(self, subnet: str, port: int) -> Layout:
        nodes, cpus, gpus = self._shape
        host = socket.gethostname().split(".")[0]
        return Layout(
            self.directory, nodes, cpus, gpus, self.accounting, self.network, port, host, subnet, getpass.getuser(),
            self._options,
        )  # fmt: skip

    def _start(self) -> None:
        for part in ("etc", "log", "pid", "state"):
            (self.directory / part).mkdir(parents=True, exist_ok=True)
        self.directory.chmod(0o755)
        subnet = ""
        if self.network == "netns":
            self._bridge, subnet = virtual_network.make_bridge()
        port, self._ports = reserve_ports(3 + self.layout.nodes)
        self.layout = self._lay_out(subnet, port)
        self._remember()
        self._write_files()
        self._start_munge()
        if self.accounting:
            self._start_accounting()
        self._spawn("slurmctld", ["slurmctld", "-D", "-f", str(self.layout.conf)])
        self._daemons.wait("slurmctld", lambda: "UP" in self.run("scontrol", "ping", timeout=10, check=False))
        for number in range(1, self.layout.nodes + 1):
            if self.network == "netns":
                virtual_network.make_node(self._bridge, number, self.layout.address(number))
            self._start_node(number)
        self._wait_idle(set(self.names))

    def _write_files(self) -> None:
        layout, etc = self.layout, self.directory / "etc"
        layout.conf.write_text(slurm_files.slurm_conf(layout))
        (etc / "gres.conf").write_text(slurm_files.gres_conf(layout))
        (etc / "mpi.conf").write_text(slurm_files.mpi_conf())
        # slurmd always loads a cgroup plug-in; this one starts where nothing is mounted.
        (etc / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        (etc / "hosts").write_text(slurm_files.hosts(layout))
        (etc / "task_prolog").write_text(slurm_files.task_prolog(layout))
        (etc / "task_prolog").chmod(0o755)
        for name in self.names:
            (self.directory / f"spool.{name}").mkdir(exist_ok=True)
            temporary = self.directory / f"tmp.{name}"
            temporary.mkdir(exist_ok=True)
            temporary.chmod(0o1777)
        lines = [f"export {key}='{value}'\n" for key, value in self.environment.items()]
        (self.directory / "env.sh").write_text("".join(lines))

    def _start_munge(self) -> None:
        key, log = self.directory / "etc" / "munge.key", self.directory / "log" / "munged.log"
        key.unlink(missing_ok=True)
        descriptor = os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(secrets.token_bytes(1024))
        self.layout.socket.unlink(missing_ok=True)
        state = self.directory / "state"
        options = {"key-file": key, "socket": self.layout.socket, "log-file": log, "seed-file": state / "munge.seed"}
        options["pid-file"] = self.directory / "pid" / "munged.pid"
        flags = [f"--{name}={value}" for name, value in options.items()]
        self._spawn("munged", ["munged", "--foreground", "--force", "--num-threads=4", *flags])
        self._daemons.wait("munged", self.layout.socket.exists)

    def _start_accounting(self) -> None:
        data, password = self.directory / "mysql", secrets.token_hex(16)
        port, user = self.layout.port + 2, self.layout.user
        login = ["mariadb", "--no-defaults", "-uroot", "-S", str(data / "s")]
        # A server that starts deletes the temporary tables of every other server that shares its folder for them.
        temporary = self.directory / "sql"
        temporary.mkdir(exist_ok=True)
        if not (data / "mysql").is_dir():
            done = subprocess.run(
                ["mariadb-install-db", "--no-defaults", f"--datadir={data}", f"--tmpdir={temporary}", f"--user={user}",
                 "--skip-test-db", "--auth-root-authentication-method=normal"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                timeout=STRETCH * 120,
            )  # fmt: skip
            if done.returncode:
                raise LabError(f"mariadb-install-db: exit {done.returncode}: {done.stdout.decode(errors='replace')}")
        self._spawn("mariadbd", [
            "mariadbd", "--no-defaults", f"--datadir={data}", f"--user={user}", "--bind-address=127.0.0.1",
            f"--port={port}", f"--socket={data}/s", f"--pid-file={self.directory}/pid/mariadbd.pid",
            f"--tmpdir={temporary}",
            "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900",
        ])  # fmt: skip
        self._daemons.wait("mariadbd", lambda: _succeeds([*login, "-e", "select 1"]))
        accounts = [f"slurm@'{host}' identified by '{password}'" for host in ("127.0.0.1", "localhost")]
        grant = [f"create or replace user {a}; grant all on slurm_acct_db.* to {a.split()[0]};" for a in accounts]
        subprocess.run([*login, "-e", " ".join(grant)], check=True, capture_output=True, timeout=STRETCH * 60)
        conf = self.directory / "etc" / "slurmdbd.conf"
        conf.touch(0o600)
        conf.write_text(slurm_files.slurmdbd_conf(self.layout, password))
        self._spawn("slurmdbd", ["slurmdbd", "-D"])
        self._daemons.wait("slurmdbd", lambda: _succeeds(["sacctmgr", "-n", "-i", "show", "cluster"], self.environment))
        if "lab" not in self.run("sacctmgr", "-nP", "show", "cluster", "lab", "format=cluster"):
            self.run("sacctmgr", "-iQ", "add", "cluster", "lab")
            self.run("sacctmgr", "-iQ", "add", "account", "proj1", "cluster=lab", "Description=p", "Organization=lab")
            self.run("sacctmgr", "-iQ", "add", "user", user, "account=proj1", "cluster=lab", check=False)

    def _start_node(self, number: int) -> None:
        name = f"node{number}"
        (self.directory / "pid" / f"slurmd.{name}.pid").unlink(missing_ok=True)
        daemon = ["slurmd", "-D", "-f", str(self.layout.conf), "-N", name]
        if self.network == "flat":
            self._spawn(name, daemon)
            return
        enter = virtual_network.enter_namespace(self._bridge, number) if self.network == "netns" else []
        first = Path(virtual_processes.__file__).resolve()
        inside = [sys.executable, "-S", "-E", str(first), name, str(self.directory / "etc" / "hosts")]
        self._spawn(name, [*enter, *NEW_NODE, *inside, *daemon])

    def _wait_idle(self, names: set[str]) -> None:
        def idle() -> bool:
            return names <= set(self.run("sinfo", "-hN", "-p", "main", "-t", "idle", "-o", "%N", check=False).split())

        self._daemons.wait("/".join(sorted(names)), idle)

    def _spawn(self, name: str, argv: list[str]) -> None:
        """Start a daemon; its environment carries the mark by which it is found again."""
        self._daemons.spawn(name, argv, {**os.environ, **self.environment, MARK: str(self.directory), **CLEAN})

    # ---- memory between two commands

    def _remember(self) -> None:
        facts = {"bridge": self._bridge, "network": self.network, "shape": self._shape}
        self._daemons.facts = facts | {"accounting": self.accounting, "port": self.layout.port}
        self._daemons.remember()

    def _recall(self) -> None:
        """Take over what another process started in this directory."""
        self._daemons.recall()
        self._bridge = self._daemons.facts.get("bridge", self._bridge)
        self.network = self._daemons.facts.get("network", self.network)


def _succeeds(argv: list[str], extra: Mapping[str, str] | None = None) -> bool:
    environment = {**os.environ, **(extra or {})}
    try:
        return not subprocess.run(argv, env=environment, capture_output=True, check=False, timeout=5).returncode
    except subprocess.TimeoutExpired:
        return False


def _rank(name: str) -> int:
    order = ("slurmctld", "slurmdbd", "mariadbd", "munged")
    return order.index(name) if name in order else -1


def main(arguments: list[str]) -> int:
    """`start DIR [netns|uts|flat]`, `stop DIR`."""
    match arguments:
        case ["start", directory, *network]:
            if reason := missing():
                print(reason, file=sys.stderr)
                return 3
            began = time.monotonic()
            Path(directory).mkdir(parents=True, exist_ok=True)
            lab = SlurmLab(directory, network=network[0] if network else None).start()
            print(f"ready after {time.monotonic() - began:.1f} s ({lab.network}): . {lab.directory}/env.sh")
        case ["stop", directory]:
            SlurmLab(directory, network="flat").stop()
        case _:
            print((__doc__ or "").strip(), file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
