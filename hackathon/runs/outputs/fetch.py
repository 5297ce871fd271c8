"""Copy outputs of a program from its run's directory."""

import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from hackathon.runs.directory import RunDirectory
from hackathon.runs.outputs.record import outputs_of
from hackathon.runs.outputs.walk import SOURCE, OutputFile, Outputs, walk
from hackathon.text.errors import RequestError
from hackathon.text.messages import _
from hackathon.text.printable import printable

BLOCK = 1 << 20
LISTED = 10
"""Files that an error lists."""


@dataclass(frozen=True)
class Copy:
    """A file to copy."""

    output: OutputFile
    target: Path


@dataclass(frozen=True)
class OutputSelection:
    """The outputs of a run that patterns select."""

    copies: tuple[Copy, ...]
    unmatched: tuple[str, ...]
    """Patterns without a match."""


def all_outputs(run: RunDirectory) -> Outputs:
    """Return the outputs of a run's program; without a complete record, by a search without limits."""
    outputs = outputs_of(run)
    return outputs if outputs.complete else walk(run, None, None)


def choose(outputs: Outputs, patterns: Sequence[str], folder: Path) -> OutputSelection:
    """Return the files that match one of the patterns (all without patterns), each with its target in a folder.

    Files in `source/` go where the program wrote them: `source/model.pt` becomes `model.pt`. The prefix `source/` stays
    only if the program wrote the same name in the run's directory as well.
    """
    outside = {output.path for output in outputs.files if not output.path.startswith(f"{SOURCE}/")}
    copies = []
    for output in outputs.files:
        if patterns and not any(fits(pattern, output.path) for pattern in patterns):
            continue
        inner = output.path.removeprefix(f"{SOURCE}/")
        copies.append(Copy(output, folder / (output.path if inner != output.path and inner in outside else inner)))
    unmatched = [pattern for pattern in patterns if not any(fits(pattern, output.path) for output in outputs.files)]
    return OutputSelection(tuple(copies), tuple(unmatched))


def fits(pattern: str, path: str) -> bool:
    """Return whether a pattern matches a file (path below the run's directory) or a folder that contains it.

    `*` and `?` match within one name, `**` matches any folders. A pattern without `/` matches a name at any depth; one
    with `/` starts in the run's directory or in its `source/`.
    """
    words = [word for word in pattern.split("/") if word not in ("", ".")]
    parts = path.split("/")
    if len(words) == 1 and "/" not in pattern.rstrip("/").removeprefix("./"):
        return any(fnmatchcase(part, words[0]) for part in parts)
    return _begins(parts, words) or (parts[0] == SOURCE and _begins(parts[1:], words))


def _begins(parts: Sequence[str], words: Sequence[str]) -> bool:
    if not words:
        return True
    if words[0] == "**":
        return any(_begins(parts[number:], words[1:]) for number in range(len(parts)))
    return bool(parts) and fnmatchcase(parts[0], words[0]) and _begins(parts[1:], words[1:])


def refuse_existing(copies: Iterable[Copy]) -> None:
    """Raise RequestError when files would be overwritten."""
    existing = [copy.target for copy in copies if os.path.lexists(copy.target)]
    if existing:
        listing = [f"  {printable(str(path))}" for path in existing[:LISTED]]
        more = ["  …"] if len(existing) > LISTED else []
        raise RequestError(
            "outputs.there",
            "{count} {count:file exists|files exist} already; nothing was copied:\n{files}",
            hint="choose another folder with `--to DIR`, or overwrite with `--force`",
            count=len(existing),
            files="\n".join([*listing, *more]),
        )


def fetch(run: RunDirectory, copy: Copy) -> int:
    """Copy one file and return its size; the target appears complete or not at all, and replaces an existing file.

    The file is opened beneath the run's directory, without following links out of it. Raises OSError when it is
    unreadable, RequestError when the target is not writable.
    """
    target = copy.target
    with run.files.open(copy.output.path) as stream:
        partial = target.with_name(f".hackathon-{os.getpid()}-{os.urandom(4).hex()}.tmp")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.is_dir() and not target.is_symlink():
                raise IsADirectoryError(None, _("a folder has this name"))
            with partial.open("xb") as written:
                shutil.copyfileobj(stream, written, BLOCK)
                size = written.tell()
            partial.replace(target)
        except OSError as error:
            raise RequestError(
                "outputs.not_written",
                "{file} cannot be written: {what}",
                hint="choose another folder with `--to DIR`, or free some space",
                file=target,
                what=error.strerror or error,
            ) from error
        finally:
            with suppress(OSError):
                partial.unlink()
    return size


def hidden(copy: Copy, folder: Path) -> bool:
    """Return whether a copy would be hidden at the top of a folder, like a settings file."""
    return copy.target.relative_to(folder).parts[0].startswith(".")
