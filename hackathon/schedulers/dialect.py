"""The dialect: how one site's scheduler is used, and what that means for checks, costs and scripts.

A scheduler's `dialect.py` defines a frozen dataclass below Dialect. Its fields are the keys of a profile's `dialect:`;
their docstrings are the help of `hackathon schema cluster`. (No `from __future__ import annotations` there: the types
are read at runtime.) `render` and `check` import the dialects' modules, so these import only this module.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from hackathon.config.cluster import SCHEDULER_LAUNCHERS
from hackathon.config.records import rebuild
from hackathon.text.units import format_walltime

if TYPE_CHECKING:  # `render` reads no nodes
    from hackathon.schedulers.reports import NodeGroup

TOKEN = r"[A-Za-z0-9_.,:=@+/-]{1,200}"
"""Form of a header value without a pattern of its own: it means nothing to a shell and starts no directive."""


@dataclass(frozen=True)
class Header:
    """The numbers and names of a request for the header."""

    queue: str | None
    group: str | None
    reservation: str | None
    nodes: int
    processes: int
    processes_per_node: int
    threads: int
    """Threads per process."""
    gpus_per_node: int
    """GPUs per node that the processes use; 0 for none."""
    walltime: int
    """Seconds."""
    memory: int | None = None
    """Bytes of main memory per node; None: the site's default."""
    partition: str | None = None
    """The partition that the queue stands for; "" for none, None for the one of the queue's name."""
    qos: str | None = None
    constraint: str | None = None
    node_gpus: int | None = None
    """GPUs of a node; None: not known."""

    @property
    def mebibytes(self) -> int | None:
        """`memory` in MiB, rounded up."""
        return None if self.memory is None else -(-self.memory // 2**20)


@dataclass(frozen=True)
class JobAllocation:
    """The resources of a running job."""

    job: str
    """Its id."""
    nodes: int
    cores: int
    """Cores per node, at least."""
    gpus: int
    """GPUs per node."""


@dataclass(frozen=True)
class Dialect:
    '''A dialect without keys, whose hooks do nothing: for a scheduler that is the same at all sites.

    Example of a subclass:

        @dataclass(frozen=True)
        class KumoDialect(Dialect):
            account: Literal["project", "none"] = "none"
            """`project`: jobs must have `--project=`, the account to charge."""

            @property
            def wants_group(self) -> bool:
                return self.account == "project"

            def directives(self, header: Header) -> dict[str, Any]:
                return {**super().directives(header), "project": header.group if self.wants_group else None}
    '''

    patterns: ClassVar[Mapping[str, str]] = {
        "queue": r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,62}",
        "group": r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}",
        "reservation": r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,62}",
    }
    """Field of the header → regular expression for its complete value; other fields must match TOKEN.

    A profile's `patterns` can only narrow them. A subclass adds its own: `{**Dialect.patterns, "place": "[a-z:=]+"}`.
    """
    task_variables: ClassVar[tuple[str, ...]] = ()
    """Prefixes of variables of one node or task; ranks on other nodes must not get them."""
    own_account: ClassVar[bool] = True
    """Whether a job runs as the account that submits it, so that this account owns its files."""
    file_names: ClassVar[tuple[str, ...]] = ()
    """Names of the files that the scheduler reads in place of a header (`Scheduler.files`)."""
    this_machine: ClassVar[bool] = False
    """Whether jobs run on the machine of the commands: then its cores and GPUs are those of the jobs."""

    hosts_command: ClassVar[str] = ""
    """Shell command that prints the hosts of a job, one per line (`render --essence`).

    Example: `cat "$KUMO_HOSTFILE"`.
    """
    id_variable: ClassVar[str] = ""
    """The variable with the id of a job. Example: `KUMO_JOB`."""
    task_identity: ClassVar[tuple[str, str, str]] = ("", "", "")
    """Variables of the scheduler's own launcher: number of the node, rank, local rank.

    Example: `("KUMO_NODE", "KUMO_RANK", "KUMO_LOCAL")`.
    """

    asks_memory: ClassVar[bool] = False
    """Whether the header requests main memory per node (`Header.memory`), by the same option at every site."""

    requeue_options: ClassVar[tuple[str, str] | None] = None
    """Options of the header: the scheduler may, and may not, start the job again after a preemption or a node failure.

    None: it has no such option. Example: `("--again", "--not-again")`.
    """

    sends_xcpu: ClassVar[bool] = False
    """Whether every process of a job gets SIGXCPU at the walltime, some seconds before SIGKILL. Example: PJM.

    The script then keeps it from the processes that it started, and sends them TERM instead.
    """

    sites_are_alike: ClassVar[bool] = True
    """Whether a shipped profile with the scheduler's name fits an unknown machine.

    Example: False for Grid Engine, whose parallel environments have other names at each site.
    """

    inherits_path: ClassVar[bool] = True
    """Whether a job has the PATH of its submission.

    Example of one that does not: a server that starts jobs with a login shell's PATH, so that an activated environment
    is not active in them.
    """

    # ---- hooks of checks and costs

    @property
    def wants_group(self) -> bool:
        """Whether a request without a group to charge is refused. Example: a site that requires `-P`."""
        return False

    @property
    def whole_nodes(self) -> bool:
        """Whether a job gets and is charged for all GPUs of its nodes, whatever it requests.

        Example: `return self.gpu_request == "none"` if only jobs smaller than a node request GPUs.
        """
        return True

    def keys_for_gpus(self, nodes: "NodeGroup") -> Mapping[str, str]:
        """Return the keys of a profile for nodes whose GPUs the scheduler counts: jobs get those that they request.

        Example: `return {"gpu_request": "gres"}`.
        """
        return {}

    @classmethod
    def keys_to_scatter(cls) -> Mapping[str, str]:
        """Return the keys of a profile for a machine whose queues may put several nodes of a job on one host.

        Example: `return {"place": "scatter"}`.
        """
        return {}

    def gives_nodes(self, queue: str | None, nodes: int, gpus_per_node: int) -> bool:
        """Return whether a job that uses so many GPUs per node gets all of them in this queue.

        Example: a machine with queues for whole nodes and one for single GPUs, `return queue != "share"`.
        """
        return self.whole_nodes

    @property
    def reservation_is_queue(self) -> bool:
        """Whether a reservation is requested like a queue. Example: PBS, `#PBS -q R123`."""
        return False

    def has_launcher(self, launcher: str) -> bool:
        """Return whether a launcher can start ranks; False for a launcher of another scheduler.

        Example: srun's scheduler supports every launcher, `return True`.
        """
        return launcher not in SCHEDULER_LAUNCHERS

    @property
    def inside_allocation(self) -> bool:
        """Whether jobs are parts of an allocation that the user already has.

        Such jobs cost nothing themselves, and their status needs no shared server, so it may be read every few seconds.
        Example: `return self.cores_each > 0` if each job gets some of the allocation's cores.
        """
        return False

    @classmethod
    def allocation_of(cls, environment: Mapping[str, str]) -> "JobAllocation | None":
        """Return the job of a process with this environment, if steps of it can be started individually; or None.

        Raises ValueError with the job's id when the environment does not describe its resources. Example: a scheduler
        whose `step --of JOB` runs a command on a part of a job reads `KUMO_JOB` and `KUMO_CORES`.
        """
        return None

    # ---- hooks of scripts

    @property
    def reserved_exit_codes(self) -> frozenset[int]:
        """Exit codes with a special meaning for the scheduler, which a job must not return.

        The script ends with 1 instead; its `ended` event has the program's code. Example: Grid Engine reruns a job that
        ends with 99 forever, and holds one that ends with 100: `return frozenset({99, 100})`.
        """
        return frozenset()

    def command_options(self, header: Header) -> list[str]:
        """Return options that only a submission command can have, for `Submission.options` and `shell`.

        Each must match TOKEN. Example: TSUBAME's `qsub -g GROUP`: `return ["-g", header.group] if header.group else
        []`.
        """
        return []

    def directives(self, header: Header) -> dict[str, Any]:
        """Return the values of `directive.NAME` in `header.sh.j2`; it omits None and "".

        Raises RequestError for a request that this site's scheduler or this dialect does not support. A subclass adds
        its own names. Example: `{**super().directives(header), "project": header.group}`.
        """
        return {
            "queue": (self.reservation_is_queue and header.reservation) or header.queue,
            "nodes": header.nodes,
            "processes": header.processes,
            "processes_per_node": header.processes_per_node,
            "threads": header.threads,
            "walltime": format_walltime(header.walltime),
            "seconds": header.walltime,
            "reservation": header.reservation,
        }

    @property
    def mpi_from_job(self) -> bool:
        """Whether a job has mpirun options for the placement of ranks, instead of a file of hosts.

        `hosts.sh.j2` then puts them into the array HK_MPI_OF_JOB. Example: a site where users type
        `mpirun $KUMO_MPI`: `return True`, and `read -r -a HK_MPI_OF_JOB <<<"${KUMO_MPI:-}"` in the template.
        """
        return False

    @classmethod
    def template_folders(cls) -> list[Path]:
        """Return the folders of `header.sh.j2` and the other templates, those of the dialect and of its parents."""
        modules = [sys.modules[kind.__module__] for kind in cls.__mro__ if issubclass(kind, Dialect)]
        return [Path(module.__file__).parent for module in modules[:-1] if module.__file__]

    # ---- created from the values of a profile or a run's record

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Return the dialect with these values; invalid values of another toolkit version are ignored.

        Values of profiles were checked before (`registry.py`).
        """
        readable = {}
        for entry in fields(cls):
            try:
                readable[entry.name] = rebuild(entry.type, values[entry.name])
            except (KeyError, ValueError):
                continue
        return cls(**readable)
