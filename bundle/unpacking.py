"""What the bundle does seldom: unpack itself, find a Python that fits, and say what is wrong. Parses under Python 3.6."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

import contents

TEXTS = {
    "no_python": (
        "error: this bundle does not run with {have} ({path}).\n"
        "hint: it holds packages for {fitting}. Start it with one of these, for example after `module load python/3.12`:\n"
        "  python3.12 {archive}",
        "エラー: このバンドルは {have}（{path}）では動きません。\n"
        "ヒント: 使える Python: {fitting}。`module load python/3.12` などのあと、対応する Python で起動してください:\n"
        "  python3.12 {archive}",
    ),
    "old_libc": (
        "error: the bundle needs glibc {needed}, this machine has {have}.\n"
        "hint: install from a wheelhouse instead: docs/how-to/install.md",
        "エラー: バンドルには glibc {needed} が必要ですが、このマシンは {have} です。\n"
        "ヒント: ホイールハウスからインストールしてください: docs/how-to/install.ja.md",
    ),
    "no_place": (
        "error: the bundle cannot be unpacked:\n{reasons}\n"
        "hint: give a folder of your own that programs may run from: export XDG_CACHE_HOME=/path/to/folder",
        "エラー: バンドルを展開できません:\n{reasons}\n"
        "ヒント: 書き込みと実行のできる自分のフォルダを指定してください: export XDG_CACHE_HOME=/path/to/folder",
    ),
    "others": ("it is not your own folder, or others may write in it", "自分のフォルダではないか、他人が書き込めます"),
    "noexec": ("programs may not run from it (noexec)", "プログラムの実行が禁止されています（noexec）"),
}
PREFIX = ".new-"
OLD = 24 * 3600
"""Seconds after which a folder that an interrupted start left half unpacked is deleted."""


def _say(key, **values):
    """Return a text in the user's language."""
    language = os.environ.get("HACKATHON_LANG") or os.environ.get("LC_ALL") or os.environ.get("LANG") or ""
    return TEXTS[key][language.startswith("ja")].format(**values)


def _fail(key, code, **values):
    text = _say(key, **values) + "\n"
    # an old Python in a C locale would fail at Japanese letters
    getattr(sys.stderr, "buffer", sys.stderr).write(text.encode("utf-8", "replace"))
    sys.exit(code)


def other_python(archive, tag):
    """Go on under a Python on PATH that the bundle has packages for; say which would fit when there is none."""
    version = "import sys; print('cp{}{}{}'.format(*sys.version_info[:2], getattr(sys, 'abiflags', '')))"
    here = tag.partition("-")[2]
    names = sorted({each.partition("-")[0] for each in contents.COMPILED if each.endswith("-" + here)}, key=len)
    for name in reversed(names):
        python = shutil.which("python{}.{}".format(name[2], name[3:]))
        try:
            # pyenv puts a python3.12 on PATH that only says that another version is chosen
            found = python and subprocess.check_output([python, "-I", "-S", "-c", version], stderr=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError):
            continue
        if found and found.decode().strip() == name:
            sys.stdout.flush()
            os.execv(python, [python, "-I", "-S", archive, *sys.argv[1:]])
    fitting = " · ".join(
        "CPython {} ({})".format(
            ", ".join("{}.{}".format(each[2], each[3:].partition("-")[0]) for each in some), machine
        )
        for machine, some in _by_machine().items()
    )
    have = "Python {}.{}.{} ({})".format(*sys.version_info[:3], tag)
    _fail("no_python", 3, have=have, path=sys.executable, fitting=fitting, archive=archive)


def _by_machine():
    """Return `linux-x86_64` → the tags of that machine."""
    found = {}
    for each in sorted(contents.COMPILED):
        found.setdefault(each.partition("-")[2], []).append(each)
    return found


def unpack(archive, tag, places, name):
    """Return the folder `name` with the toolkit below the first of some places that can hold it.

    It appears whole, by a rename; of two starts at the same time the second takes what the first made.
    """
    _check_libc(tag)
    reasons = []
    for place in places:
        try:
            return _unpack(archive, tag, place, name)
        except (OSError, ValueError) as error:
            reasons.append("  {}: {}".format(place, getattr(error, "strerror", None) or error))
    return _fail("no_place", 3, reasons="\n".join(reasons))


def _unpack(archive, tag, place, name):
    for each in (os.path.dirname(place), place):
        os.makedirs(each, mode=0o700, exist_ok=True)
        status = os.lstat(each)
        if status.st_uid != os.geteuid():
            raise ValueError(_say("others"))
        if status.st_mode & 0o022:
            os.chmod(each, status.st_mode & 0o755)
    if os.statvfs(place).f_flag & getattr(os, "ST_NOEXEC", 0):
        raise ValueError(_say("noexec"))
    _forget(place)
    target, made = os.path.join(place, name), tempfile.mkdtemp(prefix=PREFIX, dir=place)
    try:
        with zipfile.ZipFile(archive) as bundle:
            for part in ("common.zip", tag + ".zip"):
                with bundle.open(part) as stream, zipfile.ZipFile(stream) as files:
                    for each in files.infolist():
                        path = files.extract(each, made)
                        if each.external_attr >> 16 & 0o100:
                            os.chmod(path, 0o755)
        try:
            os.rename(made, target)
        except OSError:
            state = os.lstat(target)  # another start was first, or something else has this name
            if state.st_mode & 0o170022 != 0o040000 or state.st_uid != os.geteuid():
                raise ValueError(_say("others")) from None
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return target


def _forget(place):
    """Delete what interrupted starts left half unpacked."""
    for each in os.listdir(place):
        path = os.path.join(place, each)
        try:
            if each.startswith(PREFIX) and time.time() - os.lstat(path).st_mtime > OLD:
                shutil.rmtree(path, ignore_errors=True)
        except OSError:
            pass  # another start was faster


def _check_libc(tag):
    try:
        have = os.confstr("CS_GNU_LIBC_VERSION") or "another C library"
    except (ValueError, OSError):
        have = "another C library"
    needed = contents.COMPILED[tag]
    if needed:
        try:
            good = tuple(int(part) for part in have.split()[-1].split(".")[:2]) >= tuple(needed)
        except ValueError:
            good = False
        if not good:
            _fail("old_libc", 3, needed=".".join(str(part) for part in needed), have=have)


def start_again(archive, folder, mark):
    """Put a damaged folder away and start once more: somebody, or a cleaner of old files, deleted a part of it."""
    away = tempfile.mkdtemp(prefix=PREFIX, dir=os.path.dirname(folder))
    try:
        os.rename(folder, os.path.join(away, "damaged"))
    except OSError:
        pass  # another start was faster
    shutil.rmtree(away, ignore_errors=True)
    os.environ[mark] = "1"
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-I", "-S", archive, *sys.argv[1:]])
