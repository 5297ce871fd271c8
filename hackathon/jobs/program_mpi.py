"""Whether a program talks through MPI, as far as its Python files tell. Nothing of it runs."""

import re
from collections.abc import Iterator
from pathlib import Path

from hackathon.jobs.request import Request
from hackathon.text.files import open_regular

_FRAMEWORKS = frozenset({"horovod", "chainer"})
"""Frameworks whose ranks meet through MPI when mpirun starts them."""
_USES = re.compile(
    rb"^\s*(?:import|from)\s+(?:mpi4py|mpi4jax|horovod|chainermn)\b|import_module\(\s*[\"'](?:mpi4py|horovod|chainermn)"
    rb"|init_process_group\([^)]*[\"']mpi[\"']|backend[\"']?\s*[=:]\s*[\"']mpi[\"']|MPI\.COMM_WORLD|MPI_Init|deepspeed\.init_distributed",
    re.MULTILINE,
)
"""What a program has that talks through MPI, or may: a module, a backend's name, MPI's own names."""
_LARGEST = 1_000_000
_MOST = 200
"""Limits: bytes of a file, and files of a folder that are read."""


def uses_mpi(request: Request) -> bool | None:
    """Return whether a program uses MPI; None if that is unknown: it is not Python, or a file cannot be read.

    All Python files beside the program count, because it may import them.
    """
    if request.framework in _FRAMEWORKS or "mpi" in request.command:  # `--backend mpi`
        return True
    programs = [word for word in request.command if word.endswith(".py")]
    folder = Path(request.source)
    if not programs or not request.source:
        return None
    try:
        files = {folder / program for program in programs} | {*_beside(folder), *map(Path, request.shared.values())}
        if len(files) > _MOST or any(path.stat().st_size > _LARGEST for path in files):
            return None
        return any(_mentions(path) for path in files)
    except OSError:
        return None


def _mentions(path: Path) -> bool:
    with open_regular(path) as stream:
        text: bytes = stream.read(_LARGEST)
    return _USES.search(text) is not None


def _beside(folder: Path) -> Iterator[Path]:
    """Yield the Python files of a folder and of the packages in it."""
    for path in folder.iterdir():
        if path.suffix == ".py":
            yield path
        elif (path / "__init__.py").is_file():
            yield from path.rglob("*.py")
