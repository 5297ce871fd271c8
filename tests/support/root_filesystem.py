"""A root file system with bash, the commands of rank.sh and this machine's Python, as a folder that is an image."""

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

COMMANDS = (
    "awk", "basename", "bash", "cat", "chmod", "cp", "cut", "date", "df", "dirname", "du", "env", "find", "flock",
    "grep", "head", "hostname", "id", "kill", "ln", "ls", "mkdir", "mktemp", "mv", "nice", "pgrep", "ps", "readlink",
    "rm", "sed", "seq", "sh", "sleep", "sort", "stat", "tail", "timeout", "touch", "tr", "true", "uname", "wc",
)  # fmt: skip
_LEFT_OUT = ("test", "tests", "idlelib", "tkinter", "lib2to3", "ensurepip", "site-packages", "dist-packages",
             "__pycache__", "config-*", "pydoc_data", "turtledemo")  # fmt: skip
"""Parts of the standard library that no test needs."""
_LIBRARIES = (
    "libstdc++.so.6", "libgcc_s.so.1", "libgomp.so.1", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1",
    "libz.so.1",
)  # fmt: skip
"""What packages in a virtual environment load."""
_ON_PATH = ("/usr/local/bin/python3", "/usr/local/bin/python")
_SHARED_OBJECT = re.compile(r"(?:=>\s*)?(/\S+)\s+\(0x")


def write_root(folder: Path) -> Path:
    """Write a root file system into a folder that does not exist yet, and return it."""
    for name in ("dev", "proc", "sys", "tmp", "etc", "root", "run", "mnt/0"):
        (folder / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):  # as on this machine: the loader's path is written into programs
        if Path(f"/{name}").is_symlink():
            (folder / name).symlink_to(Path(f"/{name}").readlink())
            (folder / f"usr/{name}").mkdir(parents=True, exist_ok=True)
    (folder / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    (folder / "etc/group").write_text("root:x:0:\n")
    (folder / "etc/hosts").touch()
    (folder / "etc/resolv.conf").touch()
    library = Path(sysconfig.get_path("stdlib"))
    shutil.copytree(
        library, folder / library.relative_to("/"), ignore=shutil.ignore_patterns(*_LEFT_OUT), symlinks=True
    )
    programs = {name: Path(found) for name in COMMANDS if (found := shutil.which(name)) is not None}
    python = Path(sys.base_exec_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    objects = [*library.glob("lib-dynload/*.so"), *_also(_LIBRARIES)]
    for path in {*programs.values(), python}:
        _copy(path.resolve(), folder)
    for path in (*programs.values(), python):
        place = folder / path.relative_to("/")
        if not place.exists() and not place.is_symlink():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(path.resolve())
    (folder / "usr/local/bin").mkdir(parents=True)
    for place in (python.with_name("python3"), python.with_name("python"), *map(Path, _ON_PATH)):
        link = folder / place.relative_to("/")
        if not link.exists() and not link.is_symlink():
            link.symlink_to(python)
    for path in _needed([*(path.resolve() for path in programs.values()), python.resolve(), *objects]):
        _copy(path, folder)
    return folder


def _also(names: Iterable[str]) -> list[Path]:
    """Return the paths of libraries, as far as this machine has them."""
    listing = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    return [Path(match[1]) for name in names if (match := re.search(rf"{re.escape(name)} .*=> (\S+)", listing))]


def _needed(programs: Iterable[Path]) -> set[Path]:
    """Return the shared objects of programs, and the programs that are such themselves."""
    paths = [str(path) for path in programs]
    listing = subprocess.run(["ldd", *paths], capture_output=True, text=True).stdout
    return {Path(match[1]) for match in _SHARED_OBJECT.finditer(listing)} | {
        Path(path) for path in paths if ".so" in Path(path).name and "lib-dynload" not in path
    }


def _copy(path: Path, folder: Path) -> None:
    place = folder / path.relative_to("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists():
        shutil.copy(path, place)
