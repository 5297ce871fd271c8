"""Which MPI a container image has, as far as its folder or its labels tell. Nothing of the image runs."""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

LABEL = "hackathon.mpi"
"""The label of an image with its MPI: `openmpi 4.1`, `mpich 4.0` or `none`."""
_FOLDERS = ("bin", "usr/bin", "usr/local/bin", "lib", "lib64", "usr/lib", "usr/lib64", "usr/local/lib")
_LIBRARY = re.compile(r"(libmpi|libmpich|libmpi_cray)\.so(\.(\d+))?")
_SECONDS = 20
_MOST = 20_000
"""Most entries of an image's folder that are read."""


def mpi_of(image: str, container: Mapping[str, Any]) -> str | None:
    """Return `openmpi`, `mpich`, `other` or `none`; None if that is unknown."""
    path = Path(image)
    try:
        status = path.stat()
    except (OSError, ValueError):
        return _by_label(image, container["runtime"], container["program"], 0)
    if path.is_dir():
        return _by_files(path)
    return _by_label(image, container["runtime"], container["program"], status.st_mtime_ns)


def _by_files(root: Path) -> str | None:
    read = 0
    libraries: set[str] = set()
    for folder in _searched(root):
        try:
            names = os.listdir(folder)  # noqa: PTH208 — names are all that is needed
        except OSError:
            continue
        read += len(names)
        if read > _MOST:
            return None
        if {"mpirun", "mpiexec"}.intersection(names) and not libraries:
            libraries.add("other")
        for name in names:
            if match := _LIBRARY.match(name):
                # libmpi.so.40 is Open MPI 2 to 5, and .12 what MPICH and its relatives agreed upon
                kind = "mpich" if match[1] != "libmpi" or match[3] == "12" else "openmpi" if match[3] == "40" else ""
                libraries.add(kind or "other")
    return next((kind for kind in ("openmpi", "mpich", "other") if kind in libraries), "none" if read else None)


def _searched(root: Path) -> Iterator[Path]:
    """Yield the folders of programs and libraries, with one level below each, and packages in `opt`."""
    for name in _FOLDERS:
        folder = root / name
        yield folder
        if "lib" in name:
            for inner in _below(folder):
                yield inner
                yield inner / "lib"  # lib64/openmpi/lib of Red Hat
                yield from (package / "lib" for package in _below(inner))
    for package in (*_below(root / "opt"), *_below(root / "usr/local"), *_below(root / "opt/conda/envs")):
        yield package / "bin"
        yield package / "lib"
        for inner in _below(package):
            yield inner / "bin"
            yield inner / "lib"


def _below(folder: Path) -> list[Path]:
    try:
        return [entry for entry in folder.iterdir() if entry.is_dir() and not entry.is_symlink()]
    except OSError:
        return []


@lru_cache(maxsize=16)
def _by_label(image: str, runtime: str, program: str | None, _changed: int) -> str | None:
    """Return the MPI that an image's label names, None without a label or without the runtime on this machine."""
    name = program or runtime
    argv = {
        "apptainer": [name, "inspect", "--json", "--labels", image],
        "singularity": [name, "inspect", "--json", "--labels", image],
        "podman": [name, "image", "inspect", "--format", "{{json .Labels}}", image.removeprefix("docker://")],
        "podman-hpc": [name, "image", "inspect", "--format", "{{json .Labels}}", image.removeprefix("docker://")],
    }.get(runtime)
    if argv is None or (runtime in ("apptainer", "singularity") and not image.startswith("/")):
        return None  # it would be fetched
    try:
        answer = subprocess.run(argv, capture_output=True, timeout=_SECONDS, stdin=subprocess.DEVNULL, check=True)
        labels = _labels(json.loads(answer.stdout))
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    words = str(labels.get(LABEL, "")).lower().replace("open mpi", "openmpi").split()
    if not words:
        return None
    return words[0] if words[0] in ("openmpi", "mpich", "none") else "other"


def _labels(value: Any) -> Mapping[str, Any]:
    """Return the labels in the answer of a runtime: Apptainer's lie below `data.attributes.labels`."""
    for key in ("data", "attributes", "labels"):
        if isinstance(value, dict) and isinstance(value.get(key), dict):
            value = value[key]
    return value if isinstance(value, dict) else {}
