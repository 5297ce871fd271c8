"""What `hackathon plan` reads from a cluster, and writes into a project."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.text.messages import _

if TYPE_CHECKING:
    from hackathon.parallel.plan.devices import Devices
    from hackathon.parallel.plan.request import PlanResult

SIZES = ("memory",)
RATES = ("bandwidth", "allreduce_bandwidth", "internode_bandwidth", "node_bandwidth", "node_allreduce_bandwidth")


def devices_asked(cluster: str | None, file: Path | None, gpus: int | None, memory: int | None) -> "Devices":
    """Return the devices of a file, or of a cluster; the file has priority over the cluster.

    Raises RequestError with the unknown values and how to measure them.
    """
    from hackathon.parallel.plan.devices import devices_of, read_devices
    from hackathon.parallel.plan.fields import read_object

    if cluster is None:
        assert file is not None
        return read_devices(file).overridden(gpus, memory)
    overrides = read_object(file) if file is not None else {}
    if memory is not None:
        overrides["memory"] = memory
    values = _known(cluster, overrides, gpus)
    return devices_of(values, _("cluster {cluster}", cluster=cluster))


def _known(name: str, overrides: dict[str, Any], gpus: int | None) -> dict[str, Any]:
    from hackathon.config.cluster import gpus_here
    from hackathon.config.trust import folders_that_count
    from hackathon.prediction.plan_devices import cluster_devices
    from hackathon.scaling.cluster_measurements import measured
    from hackathon.schedulers import registry
    from hackathon.text.errors import RequestError

    cluster = registry.load_cluster(name, folders_that_count(Path.cwd()))
    count = overrides.get("count") if gpus is None else gpus
    number = count if isinstance(count, int) and count > 0 else None  # errors in the file are reported later
    hardware = cluster_devices(cluster, measured(cluster.name), number, gpus_here())
    values = {**hardware.values, **overrides, **({"count": gpus} if gpus is not None else {})}
    lacking = {name: way for name, way in hardware.ways.items() if name not in values}
    needed = [name for name in ("count", "memory", "bandwidth") if name in lacking]
    if needed:
        remedies = "; ".join(f"{name}: {lacking[name]}" for name in needed)
        raise RequestError(
            "plan.cluster_not_known",
            "Not known of cluster {cluster}: {names}",
            hint="{ways}. Or give the values in a file with --devices.",
            cluster=cluster.name,
            names=", ".join(needed),
            ways=remedies,
        )
    _show(cluster.name, values, {**hardware.origins, **dict.fromkeys(overrides, _("--devices"))}, lacking)
    return values


def _show(cluster: str, values: dict[str, Any], origins: dict[str, str], lacking: dict[str, str]) -> None:
    """Print on standard error the known values and their sources."""
    from hackathon.text.printable import printable
    from hackathon.text.units import format_size

    def shown(name: str, value: object) -> str:
        if isinstance(value, (int, float)) and name in SIZES + RATES and 0 <= value < 1e30:
            return format_size(int(value)) + ("/s" if name in RATES else "")
        return printable(f"{value:.3g} s" if name == "latency" and isinstance(value, float) else str(value))

    click.echo(_("Devices of cluster {cluster}:", cluster=cluster), err=True)
    for name, value in values.items():
        origin = printable(origins.get(name, "--gpus"))
        click.echo(f"  {printable(name)}: {shown(name, value)}  ({origin})", err=True)
    for name, way in lacking.items():
        click.echo("  " + _("{name}: not known; {way}", name=name, way=way), err=True)


def apply_plan(result: "PlanResult", text: str, cluster: str | None, yes: bool) -> None:
    """Write plan.json, nodes and processes into the project around the current folder, after the user agreed."""
    from hackathon.cli.speed.measuring import apply_to_project
    from hackathon.jobs.request import Options
    from hackathon.jobs.sources import find_sources
    from hackathon.parallel.plan.placement import job_shape

    assert result.plan is not None
    sources = find_sources(None, Options(cluster=cluster))
    profile, project = sources.cluster, sources.project
    assert project is not None
    processes = result.plan.devices_used
    gpus = profile.node.gpu_count
    usual = gpus or (profile.processes_per_node if profile.processes_per_node != "auto" else processes)
    nodes, per_node = job_shape(processes, result.request.devices.devices_per_node or usual)
    settings: dict[str, Any] = {"job.nodes": nodes, "job.processes": processes}
    if project.processes_per_node is not None:
        settings["job.processes_per_node"] = per_node
    path = sources.runs.parent / "plan.json"
    if sources.recipe is not None and "plan" in sources.recipe.parameters:
        # the job runs in a copy of the program's folder, which contains the plan only if that folder is the project
        settings["parameters.plan"] = path.name if sources.folder == path.parent else str(path)
    apply_to_project(sources, settings, yes, {path: text})
