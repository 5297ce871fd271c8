"""Compiled Jinja templates, stored in a folder that only the user can read and write."""

import hashlib
import io
import os
from contextlib import suppress
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket, BytecodeCache

from hackathon.access.private import open_private, private_folder
from hackathon.text.files import write_whole

_KEPT = 400
"""The most compiled templates in a folder."""


def private_cache(folder: Path, version: str) -> "PrivateCache | None":
    """Return a cache for compiled templates in a folder of the user's; None if the folder is not private.

    `version`: the compiler's; code of another version is not loaded.
    """
    try:
        return PrivateCache(private_folder(folder, parents=True), version)
    except (OSError, RuntimeError):
        return None


class PrivateCache(BytecodeCache):
    """Compiled templates by their source.

    They are code that runs, so only the user's own files that others cannot read or write are loaded. This is checked
    on the opened descriptor, so it does not matter who can rename folders above.
    """

    def __init__(self, folder: Path, version: str) -> None:
        self._folder, self._version = folder, version.encode()

    def get_bucket(self, environment: jinja2.Environment, name: str, filename: str | None, source: str) -> Bucket:
        """Return the bucket of a template, with its code if this very text was compiled before."""
        parts = (self._version, jinja2.__version__.encode(), name.encode(), (filename or "").encode(), source.encode())
        digest = hashlib.sha256()
        for part in parts:
            digest.update(b"%d:%s" % (len(part), part))
        key = digest.hexdigest()
        bucket = Bucket(environment, key, key)
        self.load_bytecode(bucket)
        return bucket

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load the code of a template, if it exists and no other account can have written it."""
        try:
            stream, _ = open_private(self._folder / bucket.key)
        except OSError:
            return
        with stream:
            raw = stream.read()
        # a torn or foreign file is like a missing one; its content decides which exception is raised
        with suppress(Exception):
            bucket.load_bytecode(io.BytesIO(raw))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Store the code of a template; a full or read-only disk is not an error."""
        with suppress(OSError):
            write_whole(self._folder / bucket.key, bucket.bytecode_to_string(), 0o600)
            self._tidy()

    def _tidy(self) -> None:
        with os.scandir(self._folder) as entries:
            files = [entry for entry in entries if entry.is_file(follow_symlinks=False)]
        if len(files) > _KEPT:
            for entry in sorted(files, key=lambda file: file.stat(follow_symlinks=False).st_mtime)[: len(files) // 2]:
                Path(entry.path).unlink(missing_ok=True)
