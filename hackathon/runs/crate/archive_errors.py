"""Errors of reading a foreign archive: zipfile and tarfile let errors of lower libraries through."""

import struct
import tarfile
import zipfile
import zlib

try:
    from lzma import LZMAError
except ImportError:  # a Python built without it raises NotImplementedError or RuntimeError
    LZMAError = zlib.error  # type: ignore[misc, assignment]

ARCHIVE_ERRORS = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, LZMAError, EOFError, NotImplementedError, RuntimeError,
    ValueError, OverflowError, struct.error,
)  # fmt: skip
"""Without OSError, which may also concern the disk that is written to."""
