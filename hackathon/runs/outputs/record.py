"""The record of a program's outputs, `outputs.json`: written when a run is over, read by everybody."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hackathon.runs import chain
from hackathon.runs.directory import RunDirectory, file_mode
from hackathon.runs.markers import read_final
from hackathon.runs.outputs.walk import MOST_FILES, MOST_SECONDS, RECORD, SOURCE, OutputFile, Outputs, walk
from hackathon.text.files import write_json
from hackathon.text.json_fields import listed
from hackathon.text.messages import ngettext
from hackathon.text.numbers import finite, integer
from hackathon.text.units import format_size

VERSION = 1
NAMED = 20
"""Files of one folder that are listed individually."""


@dataclass(frozen=True, slots=True)
class OutputLine:
    """One line of a list of outputs: a file, or a folder with many files."""

    path: str
    """Relative to the run's directory; a folder ends in `/`."""
    files: tuple[OutputFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(output.size for output in self.files)

    @property
    def largest(self) -> OutputFile:
        """The largest of its files."""
        return max(self.files, key=lambda output: output.size)

    @property
    def text(self) -> str:
        """Display text: the file, or the folder with its number of files and the largest one."""
        if not self.path.endswith("/") and self.path:
            return self.path
        largest = self.largest
        inner, size = largest.path.removeprefix(self.path), format_size(largest.size)
        return ngettext(
            "{path} ({count} file, the largest: {largest} {size})",
            "{path} ({count} files, the largest: {largest} {size})",
            len(self.files),
            path=self.path or "./",
            count=len(self.files),
            largest=inner,
            size=size,
        )


def outputs_of(
    run: RunDirectory, *, write: bool = True, most_files: int = MOST_FILES, most_seconds: float = MOST_SECONDS
) -> Outputs:
    """Return the outputs of a run's program: from the record, else by a search.

    If the run is over, its owner records the result; other users, and callers with `write=False`, do not. The limits
    apply to a search without a record.
    """
    recorded = read_record(run)
    if recorded is not None:
        return recorded
    if write and run.owned() and is_over(run):
        return record(run)
    return walk(run, most_files, most_seconds)


def record(run: RunDirectory) -> Outputs:
    """Write `outputs.json` for the user's own finished run; return its content.

    If the directory is not writable (a full disk), only the record is lost.
    """
    outputs = walk(run)
    files = [{"path": file.path, "bytes": file.size, "modified": file.modified} for file in outputs.files]
    with suppress(OSError):
        write_json(run.path / RECORD, {"schema_version": VERSION, "outputs": files, "complete": outputs.complete})
        (run.path / RECORD).chmod(file_mode(run.path / "client"))
        run.files.appeared(RECORD)
    return outputs


def record_if_over(run: RunDirectory) -> None:
    """Write `outputs.json` of a run that was just sealed, unless a later segment still uses its checkpoints."""
    if is_over(run):
        record(run)


def is_over(run: RunDirectory) -> bool:
    """Return whether a run is complete: sealed, and no later segment uses its checkpoints."""
    return read_final(run) is not None and not chain.in_use(run)


def read_record(run: RunDirectory) -> Outputs | None:
    """Return the content of `outputs.json`; None without one, or for one of a newer toolkit.

    Paths that lead out of the run's directory are skipped, because anybody may have written the file.
    """
    value = run.files.json(RECORD, errors="surrogateescape")
    if value.get("schema_version") != VERSION or not isinstance(value.get("outputs"), list):
        return None
    outputs = [output for entry in listed(value["outputs"]) if (output := _output(entry)) is not None]
    return Outputs(tuple(sorted(outputs, key=lambda output: output.path)), value.get("complete") is True)


def _output(value: Any) -> OutputFile | None:
    if not isinstance(value, dict):
        return None
    path, size, modified = value.get("path"), integer(value.get("bytes")), finite(value.get("modified"))
    if not isinstance(path, str) or "\0" in path or size is None or size < 0:
        return None
    if any(part in ("", ".", "..") for part in path.split("/")):
        return None
    return OutputFile(path, size, modified or 0.0)


def lines(files: Sequence[OutputFile], most: int = NAMED) -> list[OutputLine]:
    """Return files one per line, and each folder with more than `most` files as one line; largest first.

    `source/` and the run's directory count as such a folder for the files directly in them.
    """
    return sorted(_lines("", list(files), most), key=lambda line: (-line.size, line.path))


def _lines(folder: str, files: list[OutputFile], most: int) -> list[OutputLine]:
    inside: dict[str, list[OutputFile]] = {}
    direct: list[OutputFile] = []
    for output in files:
        name, slash, __ = output.path[len(folder) :].partition("/")
        if slash:
            inside.setdefault(f"{folder}{name}/", []).append(output)
        else:
            direct.append(output)
    many = [OutputLine(folder, tuple(direct))] if len(direct) > most else []
    listing = many or [OutputLine(output.path, (output,)) for output in direct]
    for inner, below in inside.items():
        if inner == f"{SOURCE}/" or len(below) <= most:
            listing += _lines(inner, below, most)
        else:
            listing.append(OutputLine(inner, tuple(below)))
    return listing
