"""The differences between a recorded request and the one that will be submitted, for users to read first."""

from collections.abc import Mapping
from dataclasses import dataclass

from hackathon.jobs.origins import origin_text
from hackathon.jobs.request import Request
from hackathon.jobs.resolve import COMMAND_LINE
from hackathon.text.messages import _
from hackathon.text.units import format_walltime

COMPARED = (
    "cluster", "scheduler", "queue", "group", "reservation", "partition", "qos", "constraint", "nodes",
    "processes", "processes_per_node", "threads",
    "gpus_per_node", "walltime", "launcher", "starter", "mpi", "mpi_options", "binding", "directives", "memory",
    "gpus_per_process",
    "master_addr_suffix", "scratch", "stop_before", "telemetry_seconds", "image", "container",
)  # fmt: skip


@dataclass(frozen=True)
class RequestChange:
    """One difference between the recorded and the new request, with its reason, in the current language."""

    name: str
    old: str
    new: str
    why: str


def changes(old: Request, new: Request, whys: Mapping[str, str]) -> list[RequestChange]:
    """Return every difference with its reason: the entry of the field in `whys`, else the new cluster."""
    of_cluster = _("from cluster {cluster}", cluster=new.cluster)
    differences = []
    for name in COMPARED:
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            why = _("the target cluster") if name == "cluster" else whys.get(name, of_cluster)
            differences.append(RequestChange(name, _shown(name, before), _shown(name, after), why))
    before_packages, after_packages = old.plug_ins or {}, new.plug_ins or {}
    for name in dict.fromkeys((*before_packages, *after_packages)):
        before, after = before_packages.get(name), after_packages.get(name)
        if before != after:
            why = _("from the installed packages")
            differences.append(RequestChange(name, _shown(name, before), _shown(name, after), why))
    why_given = _("as you asked")
    for name in dict.fromkeys((*old.parameters, *new.parameters)):
        if old.parameters.get(name) != new.parameters.get(name):
            before, after = old.parameters.get(name), new.parameters.get(name)
            why = why_given if new.origins.get(f"parameters.{name}") == COMMAND_LINE else _("the program's default")
            differences.append(RequestChange(f"parameters.{name}", _shown(name, before), _shown(name, after), why))
    return [*differences, *_changed_surroundings(old, new)]


def _changed_surroundings(old: Request, new: Request) -> list[RequestChange]:
    gone = _("specific to {cluster}", cluster=old.cluster)
    differences = [
        RequestChange("environment", line, "–", gone) for line in old.environment if line not in new.environment
    ]
    for number, line in enumerate(new.environment):
        if line not in old.environment:
            differences.append(RequestChange("environment", "–", line, _from(new.origins[f"environment.{number}"])))
    for name in dict.fromkeys((*old.variables, *new.variables)):
        before, after = old.variables.get(name), new.variables.get(name)
        if before != after:
            why = gone if after is None else _from(new.origins[f"variables.{name}"])
            differences.append(RequestChange(f"variables.{name}", _shown(name, before), _shown(name, after), why))
    return differences


def _from(origin: str) -> str:
    return _("from {origin}", origin=origin_text(origin))


def _shown(name: str, value: object) -> str:
    if value is None or value == () or value == "":
        return "–"
    if name in ("walltime", "stop_before") and isinstance(value, int):
        return format_walltime(value)
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
