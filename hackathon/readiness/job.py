"""What `hackathon ready` runs in a small job: do the program's packages import, are the data seen from here?

    python hackathon_ready.py          in a folder with wanted.json; standard library, Python 3.6 or newer

Prints one line `HACKATHON_READY {...}`: it says what was found and judges nothing. Ends with 0 when it could look.
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
"""Bytes of the beginning and of the end of a file that its sample consists of."""


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
    """Return `sample` of a file, {"error"} when it cannot be read here."""
    try:
        return sample(path)
    except OSError as error:
        return {"error": str(error.strerror or error)[:200]}


def imported(name: str) -> "dict[str, str]":
    """Return {"version"} of a module that can be imported, {"error"} of one that cannot."""
    try:
        module = importlib.import_module(name)
    except BaseException as error:  # a module may end the program, or raise what it likes
        return {"error": f"{type(error).__name__}: {error}".split("\n")[0][:200]}
    return {"version": str(getattr(module, "__version__", "") or _distribution(name))[:80]}


def _distribution(name: str) -> str:
    try:
        from importlib import metadata

        return metadata.version(name)
    except Exception:  # Python 3.7, or a distribution with another name than its module
        return ""


def _gpus() -> "int | None":
    """Return how many GPUs the framework sees; None where none could tell."""
    torch = sys.modules.get("torch")
    try:
        return int(torch.cuda.device_count()) if torch is not None else None
    except Exception:
        return None


def main() -> None:
    """Look, and print what was found."""
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
