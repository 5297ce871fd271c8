"""Generated files that people may edit: written together, and never over an edited file.

Each file contains the digest of its own text, computed with zeros in its place, which detects edits.
"""

import contextlib
import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from hackathon.text.errors import RequestError
from hackathon.text.files import open_regular

LARGEST = 32 << 20
"""Bytes of a file that are read; larger files are not the toolkit's."""
_MARK = re.compile(rb"hackathon-made: ([0-9a-f]{64})")
_ZEROS = "0" * 64
MARK = f"hackathon-made: {_ZEROS}"
"""Must occur once in a text to be signed, in a comment of its format."""


def signed(text: str) -> str:
    """Return a text with its digest in place of MARK's zeros. Raises ValueError unless MARK occurs once."""
    if text.count(MARK) != 1:
        raise ValueError("the mark must stand in the text once")
    return signed_bytes(text.encode("utf-8", "replace")).decode("utf-8")


def signed_bytes(raw: bytes) -> bytes:
    """Return a file's bytes with their digest in place of MARK's zeros. MARK occurs once."""
    return raw.replace(_ZEROS.encode(), hashlib.sha256(raw).hexdigest().encode(), 1)


def unchanged(path: Path) -> bool:
    """Return whether a file is unchanged since this toolkit wrote it."""
    try:
        with open_regular(path) as stream:
            raw = stream.read(LARGEST + 1)
    except OSError:
        return False
    digests = _MARK.findall(raw)
    if len(raw) > LARGEST or len(digests) != 1:
        return False
    digest: bytes = digests[0]
    return hashlib.sha256(raw.replace(digest, _ZEROS.encode(), 1)).hexdigest().encode() == digest


def write_together(folder: Path, files: Mapping[str, str | bytes], *, force: bool = False) -> None:
    """Write signed texts, and pictures named by their content, into a folder: all of them or none.

    Raises RequestError with the names of files that are other people's or were edited (unless `force`), and if the
    folder cannot be written. Each file is renamed to its final name after all of them are on the disk.
    """
    foreign = [
        name for name, content in files.items()
        if os.path.lexists(folder / name) and not (_holds(folder / name, content) or unchanged(folder / name))
    ]  # fmt: skip
    folders = [name for name in files if (folder / name).is_dir()]
    if folders or (foreign and not force):
        raise RequestError(
            "report.not_over",
            "these files were changed since they were created, or were not created by this toolkit: {files}",
            hint="move them away, write elsewhere with --to, or overwrite them with --force",
            files=", ".join(str(folder / name) for name in folders or foreign),
        )
    temporary: dict[str, Path] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            path = folder / f".{name}.{os.getpid()}.{os.urandom(3).hex()}.tmp"
            temporary[name] = path
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(text if isinstance(text, bytes) else text.encode("utf-8", "replace"))
                stream.flush()
                os.fsync(stream.fileno())
        for name, path in temporary.items():
            path.rename(folder / name)
    except OSError as error:
        raise RequestError(
            "web.cannot_write",
            "{path} cannot be written: {reason}",
            hint="choose a folder of your own with --to",
            path=folder,
            reason=error.strerror or error,
        ) from None
    finally:
        for path in temporary.values():
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def _holds(path: Path, content: str | bytes) -> bool:
    """Return whether a file contains a picture already; texts are compared by their signature."""
    if not isinstance(content, bytes):
        return False
    try:
        with open_regular(path) as stream:
            return stream.read(len(content) + 1) == content
    except OSError:
        return False
