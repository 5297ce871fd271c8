"""Values that a shell completes: runs, studies, recipes, clusters, queues, launchers, metrics.

A completer reads files only; it asks no scheduler. A problem completes nothing: the command itself reports it.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from hackathon.text.errors import HackathonError


def complete(kind: str, incomplete: str, runs: Path) -> list[str]:
    """Return the values of a kind (a key of `KINDS`) that begin with a text, or runs of a folder that contain it."""
    try:
        names = list(KINDS[kind](runs))
    except (HackathonError, OSError):
        return []
    starts = [name for name in names if name.startswith(incomplete)]
    if starts or kind not in ("run", "result"):
        return starts
    return [name for name in names if incomplete in name]


def _runs(runs: Path) -> Iterable[str]:
    from hackathon.runs.directory import list_ids

    return list_ids(runs)


def _studies(runs: Path) -> Iterable[str]:
    from hackathon.runs.study import find_studies

    return [study.id for study in find_studies(runs.parent)]


def _results(runs: Path) -> Iterable[str]:
    return [*_studies(runs), *_runs(runs)]


def _recipes(runs: Path) -> Iterable[str]:
    from hackathon.config import load
    from hackathon.config.trust import folders_that_count

    return load.recipe_files(folders_that_count(Path.cwd()))[0]


def _clusters(runs: Path) -> Iterable[str]:
    from hackathon.config.trust import folders_that_count
    from hackathon.schedulers.registry import list_clusters

    return [cluster.name for cluster in list_clusters(folders_that_count(Path.cwd()))[0]]


def _queues(runs: Path) -> Iterable[str]:
    from hackathon.jobs.request import Options
    from hackathon.jobs.sources import find_sources

    return find_sources(None, Options(), foreign="leave").cluster.queues


def _launchers(runs: Path) -> Iterable[str]:
    from hackathon.config.cluster import ALL_LAUNCHERS

    return ALL_LAUNCHERS


def _metrics(runs: Path) -> Iterable[str]:
    """Return the metrics of the project, and those that any project may have."""
    from hackathon.config.load import find_project, load_project
    from hackathon.logs.final import THROUGHPUTS

    folder = find_project(Path.cwd())
    own = load_project(folder).metrics if folder is not None else {}
    return sorted({*own, *THROUGHPUTS})


KINDS: dict[str, Callable[[Path], Iterable[str]]] = {
    "run": _runs,
    "study": _studies,
    "result": _results,
    "recipe": _recipes,
    "cluster": _clusters,
    "queue": _queues,
    "launcher": _launchers,
    "metric": _metrics,
}
"""What a completer completes → the function that lists all values; it gets the folder of runs."""
