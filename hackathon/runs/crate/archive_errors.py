"""What an archive of somebody else may raise while it is read: zipfile and tarfile let out what is below them."""

import struct
import tarfile
import zipfile
import zlib

try:
    from lzma import LZMAError
except ImportError:  # this Python was built without it, and says so with a NotImplementedError or a RuntimeError
    LZMAError = zlib.error  # type: ignore[misc, assignment]

ARCHIVE_ERRORS = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, LZMAError, EOFError, NotImplementedError, RuntimeError,
    ValueError, OverflowError, struct.error,
)  # fmt: skip
"""Without OSError, which may also be of the disk that is written to."""
