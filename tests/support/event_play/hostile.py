"""What somebody tries who wants to do harm: every system call that could alter what others wrote, or read it."""

import json
import stat
from collections.abc import Iterable
from pathlib import Path

from support.event_play.play import Play

# Runs in the hostile account. stdin: {"alter": folders, "read": folders}; stdout: what succeeded, [call, path] each.
# It knows all names, as if they had been guessed: the test lists them as root.
ATTACK = """
import json, os, sys
told = json.load(sys.stdin)
own = os.path.expanduser("~/mine")
open(own, "w").write("written by somebody else")
done = []


def attempt(name, path, call):
    try:
        result = call()
    except OSError:
        return
    if isinstance(result, int) and not isinstance(result, bool):
        os.close(result)
    done.append([name, path])


def swap(path, name):
    return os.path.join(os.path.dirname(path), name)


def replaced(path, make):
    other = swap(path, ".swap-%d" % os.getpid())
    make(other)
    try:
        os.rename(other, path)
    finally:
        if os.path.lexists(other):
            os.unlink(other)


def from_home(path):
    copy = os.path.expanduser("~/copy")
    open(copy, "w").write("by somebody else")
    os.rename(copy, path)


for path, folder in told["alter"]:
    attempt("chmod", path, lambda: os.chmod(path, 0o777))
    attempt("chown", path, lambda: os.chown(path, os.getuid(), -1))
    attempt("utime", path, lambda: os.utime(path, (0, 0), follow_symlinks=False))
    attempt("setxattr", path, lambda: os.setxattr(path, "user.mine", b"1"))
    attempt("rename", path, lambda: os.rename(path, swap(path, "gone")))
    attempt("move home", path, lambda: os.rename(path, own + "-theirs"))
    attempt("rename over it", path, lambda: from_home(path))
    attempt("rename over it from beside", path, lambda: replaced(path, lambda at: open(at, "w").close()))
    attempt("put a link over it", path, lambda: replaced(path, lambda at: os.symlink("/etc/passwd", at)))
    if folder:
        attempt("rmdir", path, lambda: os.rmdir(path))
        attempt("new file in", path, lambda: os.open(path + "/of-eve", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        attempt("new folder in", path, lambda: os.mkdir(path + "/by-eve"))
        attempt("new link in", path, lambda: os.symlink("/etc/passwd", path + "/link-of-eve"))
    else:
        attempt("open to write", path, lambda: os.open(path, os.O_WRONLY))
        attempt("open to append", path, lambda: os.open(path, os.O_WRONLY | os.O_APPEND))
        attempt("truncate", path, lambda: os.truncate(path, 0))
        attempt("unlink", path, lambda: os.unlink(path))
for path, folder in told["read"]:
    if folder:
        attempt("list", path, lambda: os.listdir(path))
        attempt("look for a guessed name", path, lambda: os.stat(path + "/answers"))
        attempt("go in", path, lambda: os.chdir(path))
    else:
        attempt("stat", path, lambda: os.stat(path))
        attempt("read", path, lambda: os.open(path, os.O_RDONLY))
        attempt("link", path, lambda: os.link(path, swap(own, "hard")))
print(json.dumps(done))
"""
NEW = {"new file in", "new folder in", "new link in"}


def below(*folders: Path) -> list[Path]:
    """Return folders and all that lies in them."""
    return [path for folder in folders for path in (folder, *sorted(folder.rglob("*")))]


def attack(play: Play, role: str, alter: Iterable[Path], read: Iterable[Path] = ()) -> list[tuple[str, Path]]:
    """Return which calls succeeded on paths that a role may not alter or not even read."""
    uid = play.uids[role]

    def told(paths: Iterable[Path]) -> list[tuple[str, bool]]:
        return [(str(path), path.is_dir()) for path in paths if path.lstat().st_uid != uid]

    wanted = json.dumps({"alter": told(alter), "read": told(read)})
    said = play.run(role, play.python, "-c", ATTACK, typed=wanted)
    assert said.code == 0, said.error
    return [(call, Path(path)) for call, path in json.loads(said.out)]


def open_to_all(play: Play, *folders: Path) -> set[tuple[str, Path]]:
    """Return what everybody may do: make new files of his own where the sticky bit keeps him from all others."""
    sticky = [path for path in below(*folders) if path.is_dir() and path.stat().st_mode & stat.S_ISVTX]
    assert all(path.stat().st_mode & 0o1777 in (0o1777, 0o1733, 0o1770, 0o1773) for path in sticky), sticky
    return {(call, path) for path in sticky for call in NEW}


def take_back(play: Play, role: str, *folders: Path) -> None:
    """Let a role delete what its attacks left where all may write, as its owner may."""
    code = "[os.rmdir(p) if os.path.isdir(p) and not os.path.islink(p) else os.unlink(p) for p in json.loads({!r})]"
    mine = [str(path) for path in below(*folders) if path.lstat().st_uid == play.uids[role] and "eve" in path.name]
    assert play.attempt(role, code.format(json.dumps(mine))) == "done"


def forge(play: Play, role: str, place: Path, name: str, raw: bytes) -> Path:
    """Put a file into a folder that all may write to, as somebody does who does not use this program."""
    path = place / name
    code = f"p = pathlib.Path({str(path)!r}); p.write_bytes({raw!r}); p.chmod(0o644)"
    assert play.attempt(role, code) == "done"
    return path


def processes_tell(play: Play, role: str, pids: Iterable[int], secrets: Iterable[str]) -> list[str]:
    """Return which secrets somebody finds who reads all that `ps`, /proc and open ports tell about processes."""
    code = (
        "import pathlib, sys\n"
        "for pid in sys.argv[1:]:\n"
        "    for name in ('cmdline', 'environ', 'mem', 'maps', 'comm', 'stack', 'status', 'fd', 'cwd', 'root'):\n"
        "        path = pathlib.Path('/proc', pid, name)\n"
        "        try:\n"
        "            print(path.read_bytes() if name not in ('fd', 'cwd', 'root') else list(path.iterdir()))\n"
        "        except OSError as error:\n"
        "            print(name, type(error).__name__)\n"
    )
    words = [str(pid) for pid in pids]
    said = play.run(role, play.python, "-c", code, *words)
    shown = play.run(role, "ps", "axwwe")
    assert said.code == 0 == shown.code, said.error + shown.error
    for name in ("environ", "mem", "fd"):
        assert said.out.count(f"{name} PermissionError") == len(words), said.out
    return [secret for secret in secrets if secret in said.out + shown.out]


def watched(play: Play, role: str, folder: Path) -> str:
    """Return what the kernel says to somebody who wants to be told the names of new files in a folder."""
    code = (
        "import ctypes; libc = ctypes.CDLL(None, use_errno=True); wd = libc.inotify_add_watch(libc.inotify_init(), "
        f"{str(folder)!r}.encode(), 0xfff)\n    if wd < 0: raise OSError(ctypes.get_errno(), 'inotify')"
    )
    return play.attempt(role, code)


def asked(
    play: Play, role: str, address: str, form: dict[str, str] | None = None, headers: dict[str, str] | None = None
) -> tuple[int, str]:
    """Return status and page of a request that a role's account makes over the loopback address."""
    code = (
        "import json, sys, urllib.error, urllib.parse, urllib.request\n"
        "told = json.load(sys.stdin)\n"
        "body = urllib.parse.urlencode(told['form']).encode() if told['form'] is not None else None\n"
        "request = urllib.request.Request(told['address'], body, told['headers'])\n"
        "opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))\n"
        "try:\n    answer = opener.open(request, timeout=300)\n"
        "except urllib.error.HTTPError as error:\n    answer = error\n"
        "print(json.dumps([answer.status, answer.read().decode('utf-8', 'replace')]))\n"
    )
    told = json.dumps({"address": address, "form": form, "headers": headers or {}})
    said = play.run(role, play.python, "-c", code, typed=told)
    assert said.code == 0, said.error
    status, page = json.loads(said.out)
    return int(status), str(page)
