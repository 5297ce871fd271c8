"""How a site's Grid Engine wants to be asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from hackathon.schedulers.dialect import Dialect, Header

STOPPED = frozenset({99, 100})
"""A job that ends with 99 is run again, for ever; one that ends with 100 stays in the queue in error (Eqw)."""


@dataclass(frozen=True)
class GridEngineDialect(Dialect):
    """Grid Engine's words for who pays, and for nodes."""

    group: Literal["g", "project", "none"] = "none"
    """Who pays: `qsub -g` (Univa's and Altair's Grid Engine at TSUBAME and ABCI; the command says it, not the script),
    `-P`, or nothing."""
    queue: Literal["name", "resource"] = "name"
    """What the profile's queues are: queues, `-q NAME`, or resource types, `-l TYPE=NODES` (TSUBAME, ABCI)."""
    pe: str | None = None
    """The parallel environment that gives whole nodes: its `allocation_rule` is a number of slots a node. Resource
    types need none."""
    slots_per_node: int | None = None
    """Slots of a whole node, as that number says; without it a node has as many slots as processes."""
    history: Literal["qacct", "none"] = "qacct"
    """How ended jobs are asked for: `qacct -j`; `none`, not at all."""

    patterns: ClassVar[Mapping[str, str]] = {
        **Dialect.patterns,
        "resource": r"[A-Za-z][A-Za-z0-9_.]{0,62}=[1-9][0-9]{0,5}",
        "pe": r"[A-Za-z][A-Za-z0-9_.-]{0,62} [1-9][0-9]{0,6}",
    }
    sites_are_alike: ClassVar[bool] = False
    hosts_command: ClassVar[str] = "awk '!seen[$1]++ { print $1 }' \"$PE_HOSTFILE\""
    id_variable: ClassVar[str] = "JOB_ID"
    # `HOSTNAME` and `TMPDIR` are left out everywhere
    task_variables: ClassVar[tuple[str, ...]] = (
        "SGE_TASK", "SGE_JOB_SPOOL", "SGE_BINDING", "SGE_HGR", "NSLOTS", "QUEUE", "REQNAME", "REQUEST", "RESTARTED",
        "PE_HOSTFILE", "PE$", "T4TMPDIR", "SGE_LOCALDIR",
    )  # fmt: skip

    @property
    def wants_group(self) -> bool:
        """Sites that ask who pays refuse a job that does not say so, or give it minutes."""
        return self.group != "none"

    @property
    def reserved_exit_codes(self) -> frozenset[int]:
        """What a job must not end with."""
        return STOPPED

    def command_options(self, header: Header) -> list[str]:
        """Return `-g GROUP`, which scripts cannot hold."""
        return ["-g", header.group] if self.group == "g" and header.group else []

    def directives(self, header: Header) -> dict[str, Any]:
        """Add `resource` or `pe` with a number, and `project`."""
        by_type = self.queue == "resource"
        slots = header.nodes * (self.slots_per_node or header.processes_per_node)
        values = super().directives(header)
        return {
            **values,
            "queue": None if by_type else values["queue"],
            "reservation": header.reservation,
            "resource": f"{header.queue}={header.nodes}" if by_type and header.queue else None,
            "pe": f"{self.pe} {slots}" if self.pe else None,
            "project": header.group if self.group == "project" else None,
        }

    def nodes_of(self, slots: int) -> int | None:
        """Return how many nodes a job's slots are; None where the profile does not tell.

        Resource types smaller than a node have fewer slots, in a number that is not known.
        """
        slots_per_node = self.slots_per_node if self.queue == "name" else None
        return -(-slots // slots_per_node) if slots_per_node else None
