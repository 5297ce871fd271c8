"""The program of the small job of `hackathon ready`: can packages be imported, are the data visible on this node?

    python hackathon_ready.py          in a folder with wanted.json; standard library, Python 3.6 or newer

Prints one line `HACKATHON_READY {...}` with the facts and no verdict. Exits with 0 if all could be checked.
"""

import hashlib
import importlib
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

MARK = "HACKATHON_READY "
SAMPLE = 65536
"""Bytes from the beginning, and from the end, of a file that make up its sample."""


def sample(path: str) -> "list[Any]":
    """Return [size, SHA-256 of the first and the last SAMPLE bytes] of a file. Raises OSError."""
    total = hashlib.sha256()
    with Path(path).open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        total.update(stream.read(SAMPLE))
        if size > SAMPLE:
            stream.seek(max(SAMPLE, size - SAMPLE))
            total.update(stream.read(SAMPLE))
    return [size, total.hexdigest()]


def seen(path: str) -> "list[Any] | dict[str, str]":
    """Return `sample` of a file, or {"error"} if it cannot be read here."""
    try:
        return sample(path)
    except OSError as error:
        return {"error": str(error.strerror or error)[:200]}


def imported(name: str) -> "dict[str, str]":
    """Return {"version"} of a module that can be imported, or {"error"}."""
    try:
        module = importlib.import_module(name)
    except BaseException as error:  # a module may end the program or raise anything
        return {"error": f"{type(error).__name__}: {error}".split("\n")[0][:200]}
    return {"version": str(getattr(module, "__version__", "") or _distribution(name))[:80]}


def _distribution(name: str) -> str:
    try:
        from importlib import metadata

        return metadata.version(name)
    except Exception:  # Python 3.7, or a distribution whose name differs from its module's
        return ""


def _gpus() -> "int | None":
    """Return how many GPUs the framework sees; None if no framework can tell."""
    torch = sys.modules.get("torch")
    try:
        return int(torch.cuda.device_count()) if torch is not None else None
    except Exception:
        return None


def main() -> None:
    """Run the checks and print their results."""
    begin = time.monotonic()
    with Path("wanted.json").open(encoding="utf-8") as stream:
        task = json.load(stream)
    modules = {name: imported(name) for name in task["modules"]}
    report = {
        "python": platform.python_version(),
        "executable": sys.executable,
        "host": platform.node(),
        "modules": modules,
        "files": {path: seen(path) for path in task["files"]},
        "gpus": _gpus(),
        "seconds": round(time.monotonic() - begin, 3),
    }
    print(MARK + json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
