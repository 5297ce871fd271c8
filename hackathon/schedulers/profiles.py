"""Profiles of clusters, each with its dialect as a typed record: joins configuration and schedulers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.config import load
from hackathon.config.cluster import Cluster
from hackathon.schedulers import registry
from hackathon.schedulers.dialect import Dialect

if TYPE_CHECKING:
    from hackathon.config.problems import Problem
    from hackathon.schedulers.base import Scheduler


def load_cluster(name: str, folders: Sequence[Path] = ()) -> Cluster:
    """Return the checked profile of a cluster; its `dialect` contains every key of its scheduler's dialect.

    `folders` are searched before the user's and the shipped profiles. Raises ConfigError with all problems of the file,
    RequestError for an unknown name. The dialect of an unavailable scheduler is not checked.
    """
    return load.load_cluster(name, folders, registry.dialect_type)


def load_cluster_file(path: Path) -> Cluster:
    """Return the profile in a file that `config.load.find_cluster` gave, checked as `load_cluster` does."""
    return load.load_cluster_file(path, registry.dialect_type)


def list_clusters(folders: Sequence[Path] = ()) -> "tuple[list[Cluster], list[Problem]]":
    """Return the clusters by name, and the problems of unreadable profiles."""
    return load.list_clusters(folders, registry.dialect_type)


def dialect_of(cluster: Cluster) -> Dialect:
    """Return a cluster's dialect. Raises RequestError when its scheduler is unavailable."""
    return registry.load_dialect(cluster.scheduler, cluster.dialect)


def known_dialect(cluster: Cluster) -> Dialect:
    """Return a cluster's dialect, or one without keys and hooks when its scheduler is unavailable (old runs remain)."""
    kind = registry.dialect_type(cluster.scheduler) or Dialect
    return kind.of(cluster.dialect)


def scheduler_of(cluster: Cluster) -> "Scheduler":
    """Return a cluster's scheduler with its dialect. Raises RequestError when it is unavailable."""
    return registry.load(cluster.scheduler, cluster.dialect)
