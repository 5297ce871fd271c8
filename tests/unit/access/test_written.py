"""Folders that are written: whose count, what is made where they are missing, and logs that follow no link."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hackathon.access.ownership import Trusted, own
from hackathon.access.written import FolderOfOthersError, open_log, writable_folder
from support.accounts import open_folder as open_folder  # a fixture

ME, EVE, MATE, TEAM = 71001, 71002, 71003, 72001
MINE = Trusted(frozenset({ME}))
MATES = Trusted(frozenset({ME, MATE}), frozenset({TEAM}))

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="two users need root and useradd")

Make = Callable[..., Path]


@pytest.fixture
def make(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Return what makes a folder in a folder, each with owner and mode; this process passes for ME."""

    def made(owner: int = ME, mode: int = 0o755, above: int = ME, above_mode: int = 0o755) -> Path:
        folder = open_folder / f"place{len(list(open_folder.iterdir()))}" / "runs"
        folder.mkdir(parents=True)
        for path, user, bits in ((folder, owner, mode), (folder.parent, above, above_mode)):
            os.chown(path, user, TEAM)
            path.chmod(bits)
        return folder

    monkeypatch.setattr(os, "geteuid", lambda: ME)
    before = os.umask(0o002)
    yield made
    os.umask(before)


@pytest.mark.parametrize(
    ("refused", "state"),
    [
        (False, {}),
        (False, {"owner": 0, "above": 0}),
        (False, {"above": 0, "above_mode": 0o1777}),  # the user's folder in /scratch
        (False, {"mode": 0o777, "above_mode": 0o700}),  # nobody else reaches it
        (False, {"above": EVE}),  # the leader of a group has made the folder above
        (True, {"owner": EVE, "mode": 0o777, "above": 0, "above_mode": 0o1777}),  # a stranger's runs/ in /scratch
        (True, {"owner": EVE}),
        (True, {"owner": 0, "mode": 0o1777}),  # a name for a file may be taken there
        (True, {"mode": 0o775}),
        (True, {"mode": 0o777}),
        (True, {"above_mode": 0o777}),  # another one can be put in its place
        (True, {"above": 0, "above_mode": 0o775}),
    ],
)
def test_a_folder_of_others_is_refused(make: Make, refused: bool, state: dict[str, int]) -> None:
    folder = make(**state)
    if refused:
        with pytest.raises(FolderOfOthersError) as error:
            writable_folder(folder, MINE)
        assert error.value.foreign.path == folder
    else:
        assert writable_folder(folder, MINE) == folder


def test_a_team_writes_in_one_folder(make: Make) -> None:
    folder = make(owner=MATE, mode=0o2775, above=MATE, above_mode=0o2775)
    with pytest.raises(FolderOfOthersError):
        writable_folder(folder, MINE)
    assert writable_folder(folder, MATES) == folder
    new = writable_folder(folder / "new" / "runs", MATES)
    assert [path.stat().st_mode & 0o7777 for path in (new.parent, new)] == [0o2775] * 2


@pytest.mark.parametrize(("counts", "above_mode"), [(True, 0o2775), (True, 0o2755), (False, 0o3777), (False, 0o1777)])
def test_a_member_of_a_trusted_group_may_have_made_it(make: Make, counts: bool, above_mode: int) -> None:
    """Whoever of two people submits first makes runs/; a stranger may make one where everybody writes."""
    folder = make(owner=EVE, mode=0o2775, above_mode=above_mode)
    of_the_group = Trusted(frozenset({ME}), frozenset({TEAM}))
    if counts:
        assert writable_folder(folder, of_the_group) == folder
    else:
        with pytest.raises(FolderOfOthersError):
            writable_folder(folder, of_the_group)


def test_a_new_folder_is_closed_to_groups_that_are_not_trusted(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all users have one group and umask 002."""
    folder = make()
    monkeypatch.undo()  # a folder that root makes is root's
    os.chown(folder, 0, TEAM)
    folder.chmod(0o2755)
    os.chown(folder.parent, 0, 0)
    new = writable_folder(folder / "envs", own())
    assert new.stat().st_mode & 0o777 == 0o755 and new.stat().st_gid == TEAM


def test_links_count_with_whoever_put_them_there(make: Make) -> None:
    mine, scratch = make(), make(owner=0, mode=0o1777)
    link = scratch / "runs"
    link.symlink_to(mine)
    os.chown(link, EVE, TEAM, follow_symlinks=False)
    with pytest.raises(FolderOfOthersError):
        writable_folder(link, MINE)
    os.chown(link, ME, TEAM, follow_symlinks=False)
    assert writable_folder(link, MINE) == link
    dangling = scratch / "nowhere"
    dangling.symlink_to(mine / "new")
    with pytest.raises(OSError):
        writable_folder(dangling, MINE)
    assert not (mine / "new").exists()
    with pytest.raises(NotADirectoryError):
        (mine / "file").touch()
        writable_folder(mine / "file", MINE)


def test_a_log_goes_through_no_link(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / "link").symlink_to(precious)
    os.link(precious, tmp_path / "name")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "name", "pipe"):
        with pytest.raises(OSError):
            open_log(tmp_path / name)
    assert precious.read_text() == "mine"
    (tmp_path / "log").write_text("old")
    os.close(open_log(tmp_path / "log"))
    assert (tmp_path / "log").read_text() == ""
