"""Which installed packages a job takes something from: its record names them with their versions."""

from collections.abc import Sequence
from pathlib import Path

from hackathon.config import load, plug_ins
from hackathon.config.cluster import Cluster
from hackathon.schedulers.registry import BUILT_IN


def packages_of(
    cluster: Cluster, cluster_file: Path, folders: Sequence[Path], recipe_file: Path | None = None
) -> dict[str, str]:
    """Return `kind name` → package and version, e.g. `clusters kumo` → `hackathon-kumo 1.2`, of what packages bring.

    Raises RequestError for a name that two packages bring.
    """
    packages = {"clusters": load.package_of(cluster_file, folders)}
    names = {"clusters": cluster.name}
    if recipe_file is not None:
        packages["recipes"], names["recipes"] = load.package_of(recipe_file, folders), recipe_file.parent.name
    if cluster.templates is not None:
        packages["templates"], names["templates"] = _package("templates", cluster.templates), cluster.templates
    if cluster.scheduler not in BUILT_IN:
        packages["schedulers"], names["schedulers"] = _package("schedulers", cluster.scheduler), cluster.scheduler
    return {f"{kind} {names[kind]}": package for kind, package in packages.items() if package is not None}


def _package(kind: str, name: str) -> str | None:
    plug_in = plug_ins.find(kind, name)
    return None if plug_in is None else plug_in.package
