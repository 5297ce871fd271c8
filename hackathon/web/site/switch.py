"""Replace a folder by a new one in one step, so that a killed process leaves either the old or the new one.

DIR/index.html      leads to the site and names its folder; one small file, replaced by rename
DIR/site/           the pages; exchanged with the new ones by one call (renameat2, RENAME_EXCHANGE)
DIR/site-<random>/  if the file system cannot exchange (NFS, some Lustre): a new folder, then index.html is replaced

Other files in DIR stay.
"""

import contextlib
import ctypes
import errno
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

from hackathon.config.trust import writable_folder
from hackathon.text.errors import RequestError
from hackathon.text.files import write_whole

SITE, ENTRY, MARK = "site", "index.html", ".publication"
"""The folder of the pages, the file that leads there, and the file in the folder with the publication's name."""
ABANDONED = 3600.0
"""Seconds after which a killed publication's temporary folder is removed by the next one."""
TEMPORARY = ".publishing-"

_LED = re.compile(r'http-equiv="refresh" content="0; url=(site(?:-[0-9a-f]{8})?)/')
_OWN = re.compile(r"site-[0-9a-f]{8}\Z")
_CANNOT = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM})
_AT_FDCWD, _EXCHANGE = -100, 2


def live_folder(directory: Path) -> Path | None:
    """Return the folder of the published pages; None before the first publication."""
    name = _led(directory)
    folder = directory / name if name else None
    return folder if folder and (folder / MARK).is_file() else None


def publication(folder: Path | None) -> str:
    """Return the random name of the publication in a folder; empty if there is none."""
    try:
        return (folder / MARK).read_text("ascii").strip() if folder else ""
    except (OSError, ValueError):
        return ""


_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'"
"""For the page that leads to the site, which loads nothing."""


@contextmanager
def staging(directory: Path) -> Iterator[Path]:
    """Create an empty folder inside `directory` (renames stay on one file system).

    Remove it and abandoned ones afterwards. Raises RequestError if `directory/site` is not the toolkit's.
    """
    writable_folder(directory)
    if os.path.lexists(directory / SITE) and not (directory / SITE / MARK).is_file():
        raise RequestError(
            "site.foreign_site",
            "{path} was not created by hackathon publish",
            hint="choose another folder with --to, or move that folder away",
            path=directory / SITE,
        )
    folder = directory / f"{TEMPORARY}{os.getpid()}-{os.urandom(4).hex()}"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _clean(directory)


def swap(directory: Path, new: Path, title: str, language: str) -> Path:
    """Publish the pages of `new` in place of the present ones, and return their folder.

    Visitors see either all of the old or all of the new pages. The old pages are in `new` afterwards, or deleted.
    """
    write_whole(new / MARK, os.urandom(8).hex())
    target = directory / SITE
    if not target.exists():
        new.rename(target)
    elif not _exchange(new, target):
        target = directory / f"{SITE}-{os.urandom(4).hex()}"
        new.rename(target)
    entry = _entry(target.name, title, language)
    path = directory / ENTRY
    if not path.is_file() or path.read_bytes() != entry.encode():
        write_whole(path, entry)
    return target


def _entry(folder: str, title: str, language: str) -> str:
    """Return the page that redirects to the site without a script; a reader that does not follow shows a link."""
    address = f"{folder}/index.html"
    return (
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f'<meta http-equiv="refresh" content="0; url={address}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n</head>\n"
        f'<body>\n<main>\n<h1><a href="{address}">{escape(title)}</a></h1>\n</main>\n</body>\n</html>\n'
    )


def _led(directory: Path) -> str:
    try:
        match = _LED.search((directory / ENTRY).read_text("utf-8", "replace")[:2000])
    except OSError:
        return ""
    return match[1] if match else ""


def _exchange(left: Path, right: Path) -> bool:
    """Exchange the names of two folders in one step; return False if kernel, library or file system cannot."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    if call(_AT_FDCWD, os.fsencode(left), _AT_FDCWD, os.fsencode(right), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(right))


def _clean(directory: Path) -> None:
    """Remove the remains of killed publications, and folders of pages that are no longer published."""
    led = _led(directory)
    with contextlib.suppress(OSError):
        for path in list(directory.iterdir()):
            if path.is_symlink() or not path.is_dir():
                continue
            old = path.name.startswith(TEMPORARY) and time.time() - path.stat().st_mtime > ABANDONED
            replaced = led and _OWN.match(path.name) and path.name != led and (path / MARK).is_file()
            if old or (replaced and time.time() - path.stat().st_mtime > ABANDONED):
                shutil.rmtree(path, ignore_errors=True)
