"""The graph of a user's model: from the cache while its inputs are unchanged, else captured."""

import hashlib
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import hackathon
from hackathon.access.private import open_private, private_folder
from hackathon.parallel.plan.graph import Graph, graph_of
from hackathon.parallel.source.child import run_child
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.files import LARGEST, open_regular, write_whole
from hackathon.text.paths import user_cache

KEPT = 40
"""Graphs in the cache, at most; the oldest ones are deleted."""


def split_target(target: str) -> tuple[Path, str]:
    """Return file and function of `model.py:build`. Raises RequestError."""
    file, _, function = target.rpartition(":")
    if not file or not function or not all(part.isidentifier() for part in function.split(".")):
        raise RequestError(
            "capture.model_target", "{target}: must be a file and a function, for example model.py:build", target=target
        )
    path = Path(file)
    if not path.is_file():
        raise RequestError("capture.model_file", "{path}: no such file", path=file)
    return path, function


def model_graph(
    target: str, python: str, options: Mapping[str, Any], *, again: bool = False, trust: bool = False
) -> tuple[Graph, dict[str, Any], bool]:
    """Return the graph of a model, the child's answer, and whether both are from the cache.

    `options`: the child's options besides the function; `shared` in it: folders of modules. `trust`: whether code of
    another account may run. Raises RequestError with the reason.
    """
    path, function = split_target(target)
    for file in () if trust else (path, *map(Path, options.get("shared", ()))):
        if file.stat().st_uid not in (0, os.geteuid()):
            raise RequestError(
                "capture.foreign",
                "{path} belongs to another account, and planning would run it",
                hint="Read it first; --trust then runs it.",
                path=str(file),
            )
    request = {"path": str(path.resolve()), "function": function, **options}
    state = [request, python, os.uname().nodename, str(Path.cwd()), hackathon.__version__]
    folder = _folder()
    key = hashlib.sha256(json.dumps(state).encode()).hexdigest()
    cached = None if again or folder is None else _kept(folder / f"{key}.json")
    if cached is not None:
        return graph_of(cached["graph"], target), cached["told"], True
    if folder is None:
        raise RequestError(
            "capture.no_cache",
            "The cache folder cannot be used: it belongs to another account, is open to others, or cannot be written",
            hint="Set XDG_CACHE_HOME to a folder of your own.",
        )
    began = time.time()
    value, answer = run_child(python, request, folder)
    if not isinstance(value, dict):
        raise HackathonError(
            "capture.child_ended",
            "The process that captures the model ended without an answer (exit code {code})",
            hint="A negative code is a signal; -9 often means that the memory was used up. What the process printed "
            "stands above.",
            code=0,
        )
    graph = graph_of(value, target)
    signs: dict[str, dict[str, str | None]] = {
        "files": {name: digest(Path(name)) for name in answer.get("files", [])},
        "variables": {name: variable(name) for name in answer.get("variables", [])},
        "packages": {name: sign for name in answer.get("packages", []) if (sign := stamp(Path(name)))},
    }
    entry = {"schema_version": 1, **signs, "told": answer["told"], "graph": value}
    with suppress(OSError):
        # the signs are current, but a file that changed during the measurement may be older in the graph
        read = [name for name in (*signs["files"], *signs["packages"]) if Path(name).exists()]
        if any(Path(name).stat().st_ctime >= began for name in read):
            return graph, answer["told"], False
        write_whole(folder / f"{key}.json", json.dumps(entry), 0o600)
        _tidy(folder)
    return graph, answer["told"], False


def digest(path: Path) -> str | None:
    """Return the SHA-256 of a file; above LARGEST its size and time; None when it is unreadable."""
    try:
        with open_regular(path) as stream:
            state = os.fstat(stream.fileno())
            if state.st_size > LARGEST:
                return f"{state.st_size}-{state.st_mtime_ns}"
            return hashlib.sha256(stream.read()).hexdigest()
    except OSError:
        return None


def variable(name: str) -> str | None:
    """Return the SHA-256 of an environment variable, which may be a secret; for "" that of all names."""
    value = os.environ.get(name) if name else "\n".join(sorted({*os.environ} - {"_", "SHLVL", "PWD", "OLDPWD"}))
    return None if value is None else hashlib.sha256(os.fsencode(value)).hexdigest()


def stamp(path: Path) -> str | None:
    """Return size and time of a file of an installed package."""
    try:
        state = path.stat()
    except OSError:
        return None
    return f"{state.st_size}-{state.st_mtime_ns}"


def _folder() -> Path | None:
    """Return the folder of cached graphs, accessible only to the user; None without one."""
    try:
        base = user_cache()
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        return private_folder(base / "graphs")
    except (OSError, RuntimeError):
        return None


def _kept(path: Path) -> dict[str, Any] | None:
    """Return the cached graph, or None without one or if one of its inputs has changed."""
    try:
        stream, _ = open_private(path)
        with stream:
            value = json.loads(stream.read(LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not {"files", "variables", "packages", "told", "graph"} <= value.keys():
        return None
    if not all(isinstance(value[name], dict) for name in ("files", "variables", "packages", "told", "graph")):
        return None
    same = all(digest(Path(name)) == sign for name, sign in value["files"].items())
    same = same and all(variable(name) == sign for name, sign in value["variables"].items())
    same = same and all(stamp(Path(name)) == sign for name, sign in value["packages"].items())
    if not same:
        return None
    with suppress(OSError):
        os.utime(path)
    return value


def _tidy(folder: Path) -> None:
    paths = sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
    for path in paths[KEPT:]:
        path.unlink(missing_ok=True)
