"""Profiles of clusters, each with its dialect as its scheduler reads it: configuration and schedulers put together."""

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
    """Return the profile of a cluster, checked; its `dialect` holds every key of its scheduler's dialect.

    `folders` are searched before the user's and the shipped profiles. Raises ConfigError with all problems of the file,
    RequestError when there is no such profile. The dialect of a scheduler that is not there is not checked.
    """
    return load.load_cluster(name, folders, registry.dialect_type)


def load_cluster_file(path: Path) -> Cluster:
    """Return the profile in a file that `config.load.find_cluster` gave, checked as `load_cluster` does."""
    return load.load_cluster_file(path, registry.dialect_type)


def list_clusters(folders: Sequence[Path] = ()) -> "tuple[list[Cluster], list[Problem]]":
    """Return the clusters by name, and the problems of profiles that cannot be read."""
    return load.list_clusters(folders, registry.dialect_type)


def dialect_of(cluster: Cluster) -> Dialect:
    """Return a cluster's dialect. Raises RequestError when its scheduler is not there."""
    return registry.load_dialect(cluster.scheduler, cluster.dialect)


def known_dialect(cluster: Cluster) -> Dialect:
    """Return a cluster's dialect; one without keys and hooks where its scheduler is not there (its runs still are)."""
    kind = registry.dialect_type(cluster.scheduler) or Dialect
    return kind.of(cluster.dialect)


def scheduler_of(cluster: Cluster) -> "Scheduler":
    """Return a cluster's scheduler, which speaks its dialect. Raises RequestError when it is not there."""
    return registry.load(cluster.scheduler, cluster.dialect)
