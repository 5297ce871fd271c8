"""Ask git about a project's folder. A missing git and a broken or slow repository are never errors."""

import functools
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

TIMEOUT = 30.0
"""Seconds for one git command; after that the folder counts as outside git."""
DIFF_LIMIT = 5_000_000
"""Bytes of a diff that are stored."""
# A hook or an alias may have set these; git would then answer about another repository.
_DROPPED = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE")


def ask(folder: Path, *words: str) -> bytes | None:
    """Return the output of `git <words>` in a folder, None when it fails for any reason."""
    return _ask(folder, [*_QUIET, *_without_filters(folder)], *words)


# Disable commands that a repository's configuration can name, since the folder may be a stranger's copy: a file system
# monitor, and programs that fetch objects of a partial clone.
_QUIET = ("-c", "core.fsmonitor=false", "-c", "protocol.allow=never")


@functools.lru_cache(maxsize=8)  # a submission asks several times
def _without_filters(folder: Path) -> list[str]:
    """Return options that disable filters which the repository itself, not the user, configures."""
    printed = _ask(folder, [], "config", "--local", "--includes", "-z", "--name-only", "--get-regexp", r"^filter\.")
    names = {name.rpartition(".")[0] for name in os.fsdecode(printed or b"").split("\0") if name}
    return [
        word for name in sorted(names) for key in ("clean", "smudge", "process") for word in ("-c", f"{name}.{key}=")
    ]


def _ask(folder: Path, options: Sequence[str], *words: str) -> bytes | None:
    done = _run(folder, options, words)
    return done.stdout if done is not None and done.returncode == 0 else None


def refusal(folder: Path) -> str:
    """Return why git refuses a folder, as git says it; empty if it does not, does not answer, or is missing."""
    done = _run(folder, _QUIET, ("rev-parse", "--git-dir"))
    if done is None or done.returncode == 0:
        return ""
    lines = done.stderr.decode("utf-8", "replace").splitlines()
    return next((line.removeprefix("fatal: ").strip()[:200] for line in lines if line.startswith("fatal: ")), "")


def _run(folder: Path, options: Sequence[str], words: Sequence[str]) -> "subprocess.CompletedProcess[bytes] | None":
    environment = {name: value for name, value in os.environ.items() if name not in _DROPPED}
    argv = ["git", *options, "-C", str(folder), *words]
    try:
        return subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**environment, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1"},
            timeout=TIMEOUT,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None


def tracked(folder: Path) -> bool:
    """Return whether the folder or one above it has a `.git`: only then git is asked at all."""
    try:
        real = folder.resolve()
        return any((parent / ".git").exists() for parent in (real, *real.parents))
    except OSError:
        return False


def files(folder: Path) -> list[str] | None:
    """Return the names of tracked and of untracked, not ignored files below a folder; None when git fails.

    A name that ends in `/` is a nested repository. Names are decoded with surrogateescape.
    """
    printed = ask(folder, "ls-files", "-z", "-co", "--exclude-standard")
    return None if printed is None else [os.fsdecode(name) for name in dict.fromkeys(printed.split(b"\0")) if name]


def facts(folder: Path) -> dict[str, object] | None:
    """Return {commit, branch, dirty} of the folder's repository; None when git fails.

    `commit` is None before the first commit; `dirty` counts untracked files too.
    """
    printed = ask(folder, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--", ".")
    if printed is None:
        return None
    commit, branch, dirty = None, None, False
    for line in printed.decode("utf-8", "replace").split("\0"):
        if line.startswith("# branch.oid "):
            word = line.removeprefix("# branch.oid ")
            commit = None if word == "(initial)" else word
        elif line.startswith("# branch.head "):
            branch = line.removeprefix("# branch.head ")
        elif line and not line.startswith("#"):
            dirty = True
    return {"commit": commit, "branch": branch, "dirty": dirty}


def diff(folder: Path) -> bytes:
    """Return the difference between the folder and its last commit, at most DIFF_LIMIT bytes; empty without one."""
    printed = ask(folder, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--binary", "HEAD", "--", ".")
    return (printed or b"")[:DIFF_LIMIT]
