"""What only the user may enter or read is a folder or file of the user's that is closed to others, and no link."""

import os
import stat
from pathlib import Path

import pytest

from hackathon.access.private import NotPrivateError, node_folder, open_private, private_folder

OTHER = 65534
root = pytest.mark.skipif(os.geteuid() != 0, reason="two users need root")


def test_a_folder_is_made_closed_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = private_folder(tmp_path / "a")
        deep = private_folder(tmp_path / "b" / "c", parents=True)
    finally:
        os.umask(before)
    assert stat.S_IMODE(made.stat().st_mode) == stat.S_IMODE(deep.stat().st_mode) == 0o700
    assert private_folder(made) == made and private_folder(deep, parents=True) == deep
    with pytest.raises(FileNotFoundError):
        private_folder(tmp_path / "x" / "y")


@pytest.mark.parametrize("mode", [0o750, 0o705, 0o710, 0o701, 0o720, 0o1777])
def test_a_folder_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(NotPrivateError) as caught:
        private_folder(folder)
    assert not caught.value.foreign and int(caught.value.mode, 8) == mode


@pytest.mark.parametrize("kind", ["file", "link", "nowhere", "pipe"])
def test_what_is_no_folder_is_refused(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "place"
    (tmp_path / "own").mkdir(mode=0o700)
    {
        "file": lambda: place.touch(0o600),
        "link": lambda: place.symlink_to(tmp_path / "own"),
        "nowhere": lambda: place.symlink_to(tmp_path / "gone"),
        "pipe": lambda: os.mkfifo(place, 0o600),
    }[kind]()
    with pytest.raises(NotPrivateError) as caught:
        private_folder(place, parents=kind == "link")
    assert caught.value.foreign


@root
def test_a_folder_or_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir(mode=0o700)
    file.touch(0o600)
    os.chown(folder, OTHER, OTHER)
    os.chown(file, OTHER, OTHER)
    for ask in (lambda: private_folder(folder), lambda: open_private(file)):
        with pytest.raises(NotPrivateError) as caught:
            ask()
        assert caught.value.foreign


def test_a_file_is_read_only_if_nobody_else_can(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("word")
    secret.chmod(0o600)
    stream, written = open_private(secret)
    with stream:
        assert stream.read() == b"word" and written == secret.stat().st_mtime
    for mode in (0o640, 0o604, 0o620):
        secret.chmod(mode)
        with pytest.raises(NotPrivateError):
            open_private(secret)
    secret.chmod(0o600)
    (tmp_path / "link").symlink_to(secret)
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("link", "pipe", "none"):
        with pytest.raises(OSError):
            open_private(tmp_path / name)


def test_the_node_s_folder_is_in_the_runtime_folder_if_that_can_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hackathon.access.private.TEMPORARY", tmp_path / "tmp")
    instead = tmp_path / "tmp" / f"hackathon-{os.geteuid()}"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert node_folder() == tmp_path / "hackathon" and not (tmp_path / "hackathon").exists()
    assert node_folder(len(str(tmp_path / "hackathon"))) == tmp_path / "hackathon"
    assert node_folder(len(str(tmp_path / "hackathon")) - 1) == instead
    for value in ("", "relative", str(tmp_path / "missing")):
        monkeypatch.setenv("XDG_RUNTIME_DIR", value)
        assert node_folder() == instead
