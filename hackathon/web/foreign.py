"""Does a run's folder lead to files of somebody else? Who looks may read more than who made the link."""

import os

READ = ("", "/claim", "/client", "/env", "/events", "/logs", "/metrics", "/telemetry")
"""Folders of a run in which the index, and what finds a run's state, read files by their names."""
MOST = 5000
"""Names of one folder that are looked at."""


def leads_out(run: str) -> bool:
    """Return whether a link in a run's folder leads out of it, to something that is not its owner's.

    What the owner of the folder could have copied there is all that a link may show, as to an adopted job's own folder.
    """
    try:
        root, owner = os.path.realpath(run), os.stat(run).st_uid  # noqa: PTH116 — plain strings: done for every run
    except OSError:
        return False
    return any(_leads_out(f"{run}{name}", root, owner) for name in READ)


def _leads_out(folder: str, root: str, owner: int) -> bool:
    """Return whether a folder is such a link, or has one in it."""
    try:
        if folder != root and os.path.islink(folder) and _is_foreign(folder, root, owner):  # noqa: PTH114
            return True
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number >= MOST:
                    return True  # no run has so many: nobody can say what they are
                if entry.is_symlink() and _is_foreign(entry.path, root, owner):
                    return True
    except OSError:
        pass
    return False


def _is_foreign(path: str, root: str, owner: int) -> bool:
    real = os.path.realpath(path)
    if real == root or real.startswith(f"{root}/"):
        return False
    try:
        return os.stat(real).st_uid != owner  # noqa: PTH116
    except OSError:  # it leads nowhere, or where the owner may not look either
        return False
