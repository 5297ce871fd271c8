"""Find a program's outputs: files in a run's directory that are neither its source nor the toolkit's."""

import hashlib
import re
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hackathon.access.guarded_folder import ENTRIES, FolderEntry
from hackathon.jobs.script import SCRIPTS
from hackathon.runs.directory import RunDirectory
from hackathon.runs.source.selection import SIZE_LIMIT
from hackathon.runs.source.snapshot import RUNTIME
from hackathon.text.json_fields import mapping_of

MOST_FILES, MOST_SECONDS = 10_000, 10.0
"""Limits of a quick search."""
SOURCE = "source"
RECORD = "outputs.json"
TOOLKIT = frozenset({
    "request.json", *SCRIPTS, SOURCE, "source.json", "source.diff", "source.sha256", "client", "claim",
    "events", "logs", "metrics", "telemetry", "stacks", "steps.py", "steps", "profiler", "profile", "env", "stop",
    "segment", "complete", "failed", "preflight.json", "final.json", RECORD, "plan.json", "layers.json",
    "micro_batches.json", "__pycache__",
})  # fmt: skip
"""Names at the top of a run's directory that belong to the toolkit, its recipes and the scheduler."""
_TEMPORARY = re.compile(r"\..+\.(?:tmp|new)")
"""Temporary files of a killed writer of the toolkit."""
CACHES = frozenset({
    "__pycache__", ".cache", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".ipynb_checkpoints", ".triton",
    ".inductor", ".nv", ".cupy", ".numba_cache", ".hypothesis", ".matplotlib", ".git",
})  # fmt: skip
"""Folders whose content a program can create again."""
_CACHE = re.compile(r"torchinductor_.+|(?:triton|inductor|cuda|numba|xla|torch_extensions|compile)_?cache")
_CACHE_MARKS = ("CACHEDIR.TAG", "pyvenv.cfg")
"""Files that mark their folder as a cache (bford.info/cachedir) or a Python environment."""


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file that a program wrote."""

    path: str
    """Relative to the run's directory, with `/` between its parts."""
    size: int
    """Size in bytes."""
    modified: float
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """The outputs of a run's program."""

    files: tuple[OutputFile, ...] = ()
    """Sorted by path."""
    complete: bool = True
    """Whether these are all: no limit was reached, and every folder was readable."""

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(output.size for output in self.files)


def walk(run: RunDirectory, most_files: int | None = MOST_FILES, most_seconds: float | None = MOST_SECONDS) -> Outputs:
    """Return the outputs of a run's program; None: without a limit.

    Folders near the top come first; links are neither followed nor listed; caches are left out. A source file counts
    when its content differs from the record.
    """
    end = None if most_seconds is None else time.monotonic() + most_seconds
    outputs: list[OutputFile] = []
    complete = True
    with run.held():
        search = _Search(run, None if most_files is None else ENTRIES)
        for output in search.outputs():
            late = end is not None and time.monotonic() > end
            if late or (output is not None and len(outputs) == most_files):
                complete = False
                break
            if output is not None:
                outputs.append(output)
    return Outputs(tuple(sorted(outputs, key=lambda output: output.path)), complete and search.read_all)


class _Search:
    """A search through one run's directory."""

    def __init__(self, run: RunDirectory, most_entries: int | None) -> None:
        self.job_name = run.job_name
        self.files = run.files
        self.source = RecordedSource(run)
        self.most_entries = most_entries
        self.read_all = True
        """Whether every folder was readable, with all its names."""

    def outputs(self) -> Iterator[OutputFile | None]:
        """Yield the outputs folder by folder; None after each folder, so that the caller can check the time."""
        waiting = deque(["", f"{SOURCE}/"] if self.source.copied else [""])
        while waiting:
            folder = waiting.popleft()
            try:
                entries = self.files.entries(folder, self.most_entries)
            except OSError:
                self.read_all = False
                continue
            self.read_all = self.read_all and len(entries) != self.most_entries
            if self._is_cache(folder, entries):
                continue
            for name, kind, state in entries:
                path = f"{folder}{name}"
                if not folder and self._is_of_toolkit(name):
                    continue
                if kind == "folder" and name not in CACHES and not _CACHE.fullmatch(name):
                    waiting.append(f"{path}/")
                elif state is None or name.endswith(".pyc") or name.startswith(".nfs"):
                    continue
                elif not self.source.is_unchanged(path, state.st_ctime_ns):
                    yield OutputFile(path, state.st_size, state.st_mtime)
            yield None

    def _is_cache(self, folder: str, entries: Sequence[FolderEntry]) -> bool:
        """Return whether a folder is marked as a cache and contains no file of the source."""
        marked = folder not in ("", f"{SOURCE}/") and any(entry.name in _CACHE_MARKS for entry in entries)
        return marked and not self.source.has(folder)

    def _is_of_toolkit(self, name: str) -> bool:
        """Return whether a name at the top of the directory belongs to the toolkit or the scheduler."""
        return name in TOOLKIT or name.startswith(self.job_name) or _TEMPORARY.fullmatch(name) is not None


class RecordedSource:
    """The source of a run as recorded in `source.json`, for comparison with the files."""

    def __init__(self, run: RunDirectory) -> None:
        self.files = run.files
        record = self.files.json("source.json", errors="surrogateescape")
        self.copied = not record.get("in_place") and not run.known().in_place and self.files.is_folder(SOURCE)
        """Whether `source/` is this run's own; otherwise it is not read."""
        self.hashes = {**_texts(record, "files"), **_texts(record, "added")}
        """Path below `source/` → SHA-256."""
        self.links = {**_texts(record, "links"), **_texts(record, "outside")}
        """Path below `source/` → target of the link."""
        self._with_added = "added" in record
        try:
            self._recorded_at = self.files.stat("source.json").st_ctime_ns
        except OSError:
            self._recorded_at = 0

    def has(self, folder: str) -> bool:
        """Return whether a file below a folder (`source/lib/`) is part of the source."""
        inner = folder.removeprefix(f"{SOURCE}/")
        return folder != inner and any(name.startswith(inner) for name in self.hashes)

    def is_unchanged(self, path: str, changed_at: int) -> bool:
        """Return whether a file is part of the source and unchanged.

        `changed_at`: time of its last status change, in ns. Files that are older than the record are not read.
        """
        name = path.removeprefix(f"{SOURCE}/")
        if name == path:
            return False
        if name not in self.hashes:
            return not self._with_added and name.rpartition("/")[2] == RUNTIME
        return changed_at <= self._recorded_at or self.has_recorded_content(name)

    def has_recorded_content(self, name: str) -> bool:
        """Return whether a file of the source (path below `source/`) has the recorded hash."""
        try:
            with self.files.open(f"{SOURCE}/{name}") as stream:
                size = stream.seek(0, 2)
                stream.seek(0)
                return size <= SIZE_LIMIT and hashlib.file_digest(stream, "sha256").hexdigest() == self.hashes[name]
        except OSError:
            return False


def _texts(record: Mapping[str, Any], field: str) -> dict[str, str]:
    return {name: text for name, text in mapping_of(record.get(field)).items() if isinstance(text, str)}
