"""The dialect: how one site's scheduler wants to be asked, and what that means for checks, costs and scripts.

A scheduler's `dialect.py` holds a frozen dataclass below Dialect: its fields are the keys of a profile's `dialect:`,
typed, each with a docstring that becomes the reference (no `from __future__ import annotations` there: the types are
read). The modules of dialects are imported by `render` and `check`: they import nothing but this one.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Self

from hackathon.config.cluster import SCHEDULER_LAUNCHERS
from hackathon.config.records import rebuild
from hackathon.text.units import format_walltime

TOKEN = r"[A-Za-z0-9_.,:=@+/-]{1,200}"
"""What a header value may look like that nobody described more closely: nothing here means anything to a shell or
starts another directive."""


@dataclass(frozen=True)
class Header:
    """The numbers and names of a request that a header may have."""

    queue: str | None
    group: str | None
    reservation: str | None
    nodes: int
    processes: int
    processes_per_node: int
    threads: int
    """Threads a process."""
    gpus_per_node: int
    """GPUs of a node that the processes use; 0 for none."""
    walltime: int
    """Seconds."""
    memory: int | None = None
    """Bytes of main memory of each node; None: what the site gives."""

    @property
    def mebibytes(self) -> int | None:
        """`memory` in MiB, rounded up."""
        return None if self.memory is None else -(-self.memory // 2**20)


@dataclass(frozen=True)
class JobAllocation:
    """What a running job has."""

    job: str
    """Its id."""
    nodes: int
    cores: int
    """Of each node, at least."""
    gpus: int
    """Of each node."""


@dataclass(frozen=True)
class Dialect:
    """No keys, and no hook that does anything: what a scheduler without differences between sites has.

    Example of a subclass:

        @dataclass(frozen=True)
        class KumoDialect(Dialect):
            account: Literal["project", "none"] = "none"
            \"\"\"`project`: jobs must say `--project=`, who pays.\"\"\"

            @property
            def wants_group(self) -> bool:
                return self.account == "project"

            def directives(self, header: Header) -> dict[str, Any]:
                return {**super().directives(header), "project": header.group if self.wants_group else None}
    """

    patterns: ClassVar[Mapping[str, str]] = {
        "queue": r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,62}",
        "group": r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}",
        "reservation": r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,62}",
    }
    """Field of the header → regular expression that a value must match whole; others must match TOKEN. A profile's
    `patterns` may only narrow them. A subclass adds its own: `{**Dialect.patterns, "place": "[a-z:=]+"}`."""
    task_variables: ClassVar[tuple[str, ...]] = ()
    """How variables begin that belong to one node or one task, so ranks elsewhere must not get the first node's."""
    own_account: ClassVar[bool] = True
    """Whether a job runs as the account that submits it, so that its files are the job's own."""
    file_names: ClassVar[tuple[str, ...]] = ()
    """Names of the files that the scheduler reads in place of a header (`Scheduler.files`)."""
    this_machine: ClassVar[bool] = False
    """Whether jobs run on the machine where the commands are given: then its cores and GPUs are those of the jobs."""

    hosts_command: ClassVar[str] = ""
    """Shell words that print the hosts of a job, one a line (`render --essence`). Example: `cat "$KUMO_HOSTFILE"`."""
    id_variable: ClassVar[str] = ""
    """The variable with the id of a job. Example: `KUMO_JOB`."""
    task_identity: ClassVar[tuple[str, str, str]] = ("", "", "")
    """The variables in which a task of the scheduler's own launcher finds its node's number, its rank and its rank on
    the node. Example: `("KUMO_NODE", "KUMO_RANK", "KUMO_LOCAL")`."""

    asks_memory: ClassVar[bool] = False
    """Whether the header says how much main memory of a node is asked for (`Header.memory`): the option is the same
    at every site."""

    sends_xcpu: ClassVar[bool] = False
    """Whether the end of the walltime is told to every process of a job by SIGXCPU, some seconds before SIGKILL. The
    script then keeps it from what it started, and sends that TERM in its place. Example: PJM."""

    sites_are_alike: ClassVar[bool] = True
    """Whether a shipped profile of the scheduler's own name fits a machine that nobody named. Example: False for Grid
    Engine, whose parallel environments have names of each site's own."""

    inherits_path: ClassVar[bool] = True
    """Whether a job finds programs by the PATH of who submitted it. Example of one that does not: a server that starts
    jobs with a login's own PATH, so that an activated environment is not active in them."""

    # ---- hooks of checks and costs

    @property
    def wants_group(self) -> bool:
        """Whether a request without a group that pays is refused. Example: a site where `-P` must be given."""
        return False

    @property
    def whole_nodes(self) -> bool:
        """Whether a job holds, and pays for, all GPUs of its nodes, whatever it asks for.

        Example: `return self.gpu_request == "none"` where jobs that need less than a node have to ask for GPUs.
        """
        return True

    def gives_nodes(self, queue: str | None, nodes: int, gpus_per_node: int) -> bool:
        """Return whether a job holds all GPUs of its nodes that uses so many of each, in this queue.

        Example: a machine with queues for whole nodes and one for single GPUs, `return queue != "share"`.
        """
        return self.whole_nodes

    @property
    def reservation_is_queue(self) -> bool:
        """Whether a reservation is asked for as if it were a queue. Example: PBS, `#PBS -q R123`."""
        return False

    def has_launcher(self, launcher: str) -> bool:
        """Return whether ranks can be started by a launcher; not by one that belongs to another scheduler.

        Example: srun's scheduler has every launcher, `return True`.
        """
        return launcher not in SCHEDULER_LAUNCHERS

    @property
    def inside_allocation(self) -> bool:
        """Whether jobs are parts of an allocation that somebody holds already.

        Then they cost nothing themselves, no server that others share is asked about them, and so they may be looked at
        every few seconds. Example: `return self.cores_each > 0` where each job gets some of the allocation's cores.
        """
        return False

    @classmethod
    def allocation_of(cls, environment: Mapping[str, str]) -> "JobAllocation | None":
        """Return the job that a process with this environment runs in, where steps of it can be started one by one.

        Raises ValueError with the job's id where the environment does not say what the job has. Example: a scheduler
        whose `step --of JOB` runs a command on a part of a job reads `KUMO_JOB` and `KUMO_CORES`.
        """
        return None

    # ---- hooks of scripts

    @property
    def reserved_exit_codes(self) -> frozenset[int]:
        """Exit codes that a job must not end with, because they tell the scheduler something else.

        The script ends with 1 instead; its `ended` marker has the program's own code. Example: Grid Engine runs a job
        that ends with 99 again, for ever, and holds one that ends with 100: `return frozenset({99, 100})`.
        """
        return frozenset()

    def command_options(self, header: Header) -> list[str]:
        """Return options that only the command of a submission can have, for `Submission.options` and `shell`.

        Each must match TOKEN. Example: TSUBAME's `qsub -g GROUP`: `return ["-g", header.group] if header.group else
        []`.
        """
        return []

    def directives(self, header: Header) -> dict[str, Any]:
        """Return what `header.sh.j2` knows as `directive.NAME`; None and "" are left out there.

        Raises RequestError for a request that this site's scheduler cannot be asked for, or not as this dialect stands.
        A subclass adds its own words. Example: `{**super().directives(header), "project": header.group}`.
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
        """Whether a job is given mpirun's options that say where ranks run, in place of a file of hosts.

        `hosts.sh.j2` then puts them into the array HK_MPI_OF_JOB. Example: a site where users type
        `mpirun $KUMO_MPI`: `return True`, and `read -r -a HK_MPI_OF_JOB <<<"${KUMO_MPI:-}"` in the template.
        """
        return False

    @classmethod
    def template_folders(cls) -> list[Path]:
        """Return where `header.sh.j2` and the like lie: beside the dialect's module or its parents'."""
        modules = [sys.modules[kind.__module__] for kind in cls.__mro__ if issubclass(kind, Dialect)]
        return [Path(module.__file__).parent for module in modules[:-1] if module.__file__]

    # ---- made from what a profile or a run's record says

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Return the dialect with these values; one that another version of the toolkit wrote and that does not fit is
        left out. Values of profiles were checked when they were read (`profiles.py`)."""
        readable = {}
        for entry in fields(cls):
            try:
                readable[entry.name] = rebuild(entry.type, values[entry.name])
            except (KeyError, ValueError):
                continue
        return cls(**readable)
