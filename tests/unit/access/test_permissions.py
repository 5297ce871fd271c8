"""Who can read what: the computation against the kernel itself, and its edges."""

import contextlib
import json
import os
import random
import struct
from pathlib import Path

import pytest

from hackathon.access.acl import ACCESS_LIST
from hackathon.access.permissions import account, first_closed, group_names, readable
from support.accounts import open_folder as open_folder

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="two users need root")
OWNER, MEMBER, NAMED, OTHER = (61001, {61001}), (61002, {61900, 61950}), (61003, {61003}), (61004, {61004})
GROUP = 61900


def acl(user: int, member: int, other: int, mask: int, users: dict[int, int], groups: dict[int, int]) -> bytes:
    entries = [(0x01, user, 2**32 - 1), *((0x02, bits, who) for who, bits in sorted(users.items()))]
    entries += [(0x04, member, 2**32 - 1), *((0x08, bits, who) for who, bits in sorted(groups.items()))]
    entries += [(0x10, mask, 2**32 - 1), (0x20, other, 2**32 - 1)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def kernel(paths: list[Path], uid: int, gids: set[int]) -> list[bool]:
    """Return whether a process of this user can open and, for a folder, go into each path: the kernel's own answer."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        answers = []
        try:
            os.setgroups(sorted(gids))
            os.setresgid(min(gids), min(gids), min(gids))
            os.setresuid(uid, uid, uid)
            for path in paths:
                try:
                    descriptor = os.open(path, os.O_RDONLY)
                    os.close(descriptor)
                    answers.append(os.access(path, os.R_OK | os.X_OK) if path.is_dir() else True)
                except OSError:
                    answers.append(False)
            os.write(writer, json.dumps(answers).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        raw = stream.read()
    os.waitpid(child, 0)
    return json.loads(raw)


@as_root
def test_the_kernel_agrees(open_folder: Path) -> None:
    chance = random.Random(20190124)
    paths = []
    for number in range(150):
        folder = open_folder / f"folder{number}"
        folder.mkdir()
        plain = folder / "file"
        plain.write_text("x")
        link = folder.with_name(f"link{number}")
        link.symlink_to(chance.choice([f"folder{number}/file", str(plain), f"./folder{number}/../folder{number}"]))
        for path in (plain, folder):
            os.chown(path, OWNER[0], GROUP)
            path.chmod(chance.randrange(0o1000))
            if chance.random() < 0.5:
                bits = [chance.randrange(8) for _ in range(6)]
                raw = acl(*bits[:4], {NAMED[0]: bits[4]}, {61950: bits[5]} if chance.random() < 0.5 else {})
                with contextlib.suppress(OSError):  # a file system without ACLs: the modes are compared all the same
                    os.setxattr(path, ACCESS_LIST, raw)
        paths += [folder, plain, link]
    opened = 0
    for uid, gids in (OWNER, MEMBER, NAMED, OTHER, (0, {0})):
        expected = kernel(paths, uid, gids)
        opened += sum(expected)
        computed = [readable(path, uid, gids) is None for path in paths]
        wrong = [path for path, one, two in zip(paths, expected, computed, strict=True) if one != two]
        assert not wrong, (uid, wrong)
    assert 100 < opened < 2000


@as_root
def test_the_first_closed_component_is_named(open_folder: Path) -> None:
    file = open_folder / "ホーム" / "プロジェクト" / "runs" / "log"
    file.parent.mkdir(parents=True)
    file.write_text("x")
    for folder in (open_folder / "ホーム", open_folder / "ホーム" / "プロジェクト", file.parent):
        folder.chmod(0o755)
    file.chmod(0o644)
    uid, gids = OTHER
    assert readable(file, uid, gids) is None
    (open_folder / "ホーム" / "プロジェクト").chmod(0o700)
    assert readable(file, uid, gids) == open_folder / "ホーム" / "プロジェクト"
    (open_folder / "ホーム" / "プロジェクト").chmod(0o711)
    assert readable(file, uid, gids) is None
    assert readable(file.parent.parent, uid, gids) == file.parent.parent  # it can be passed, not listed
    file.chmod(0o640)
    assert readable(file, uid, gids) == file
    os.chown(file, -1, next(iter(gids)))
    assert readable(file, uid, gids) is None


@as_root
def test_a_folder_is_looked_through(open_folder: Path) -> None:
    top = open_folder / "project"
    (top / "runs" / "one").mkdir(parents=True)
    for folder in (top, top / "runs", top / "runs" / "one"):
        folder.chmod(0o755)
    log = top / "runs" / "one" / "log"
    log.write_text("x")
    log.chmod(0o644)
    (top / "elsewhere").symlink_to("/root/of-nobody")
    assert first_closed(top, *OTHER) is None
    log.chmod(0o600)
    assert first_closed(top, *OTHER) == log
    assert first_closed(log, *OTHER) == log
    assert first_closed(top, *OTHER, most=1) is None  # it stops looking where it was told to


def test_what_is_missing_or_turns_in_a_circle_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        readable(tmp_path / "nothing", 0, {0})
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(OSError, match="circle"):
        readable(tmp_path / "circle", 0, {0})


def test_accounts() -> None:
    root = account("root")
    assert root is not None
    assert root.uid == 0
    assert 0 in root.groups
    assert account("no such account") is None
    assert account("nul\0byte") is None
    assert group_names([0, 4_000_000_000]) == ["root", "4000000000"]
