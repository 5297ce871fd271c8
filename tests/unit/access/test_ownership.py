"""Whose files count: owner, modes, lists, sticky folders, links, closed ways; false alarms as hard as hits."""

import grp
import itertools
import os
import pwd
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from hackathon.access import ownership
from hackathon.access.acl import ACCESS_LIST, group_list, packed
from hackathon.access.exposure import can_change
from hackathon.access.ownership import Trusted, foreign, foreign_below, look, own
from hackathon.access.trust_record import IGNORE, TRUST, decided, entries, forget, record_file, remember
from hackathon.text.errors import HackathonError
from support.accounts import open_folder as open_folder  # a fixture

ME, EVE, MATE, NOBODY, TEAM = 71001, 71002, 71003, 65534, 72001

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="two users need root and useradd")

Make = Callable[..., Path]


@pytest.fixture
def make(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Return what makes a file in a folder of its own, each with owner and mode; this process passes for ME."""
    tmp_path = open_folder
    monkeypatch.setattr(os, "geteuid", lambda: ME)

    def made(owner: int = ME, mode: int = 0o644, folder: int = ME, folder_mode: int = 0o755, gid: int = TEAM) -> Path:
        place = tmp_path / f"place{len(list(tmp_path.iterdir()))}"
        place.mkdir()
        path = place / "project.yaml"
        path.write_text("name: x\n")
        for each, user, bits in ((path, owner, mode), (place, folder, folder_mode)):
            os.chown(each, user, gid)
            each.chmod(bits)
        return path

    return made


@pytest.mark.parametrize(
    ("counts", "state"),
    [
        (True, {}),
        (True, {"owner": 0, "folder": 0}),  # a centre's files
        (True, {"mode": 0o400, "folder_mode": 0o700}),
        (True, {"mode": 0o666, "folder_mode": 0o700}),  # nobody else reaches it
        (True, {"folder": 0, "folder_mode": 0o1777}),  # the user's file in /scratch
        (True, {"owner": 0, "folder": 0, "folder_mode": 0o1777}),
        (False, {"owner": EVE}),
        (False, {"owner": EVE, "folder_mode": 0o700}),  # given to the user by somebody who became another
        (False, {"owner": EVE, "folder": 0, "folder_mode": 0o1777}),  # a stranger's file in /scratch
        (False, {"folder": EVE}),  # who owns the folder can put another file in its place
        (False, {"folder": EVE, "folder_mode": 0o1777}),
        (False, {"owner": 0, "folder": EVE}),
        (False, {"folder_mode": 0o777}),
        (False, {"folder_mode": 0o775}),  # a group of others
        (False, {"mode": 0o666}),
        (False, {"mode": 0o664}),
        (False, {"owner": NOBODY}),  # a server that maps root to nobody: anybody's
        (False, {"folder": NOBODY}),
    ],
)
def test_a_file_counts_when_only_the_user_and_root_can_write_or_replace_it(
    make: Make, counts: bool, state: dict[str, int]
) -> None:
    assert (foreign(make(**state), own()) is None) == counts


def test_a_team_may_write_where_the_user_trusts_it(make: Make) -> None:
    team = Trusted(frozenset({ME, MATE}), frozenset({TEAM}))
    assert foreign(make(owner=MATE, mode=0o664, folder=MATE, folder_mode=0o2770), team) is None
    assert foreign(make(owner=EVE, folder=MATE, folder_mode=0o2770), team) is not None
    assert foreign(make(owner=MATE, folder=MATE, folder_mode=0o777), team) is not None
    assert foreign(make(owner=MATE, folder=MATE, folder_mode=0o775, gid=TEAM + 1), team) is not None


def test_an_access_list_is_read_as_the_kernel_does(make: Make) -> None:
    path = make()
    lists = (
        (True, [(EVE, 5)], []),
        (False, [(EVE, 7)], []),
        (False, [], [(TEAM, 7)]),
        (True, [(ME, 7), (0, 7)], []),
    )
    for counts, users, groups in lists:
        os.setxattr(path.parent, ACCESS_LIST, packed(group_list(0o750, users, groups)))
        assert (foreign(path, own()) is None) == counts, (users, groups)
    os.setxattr(path.parent, ACCESS_LIST, packed(group_list(0o700, [(MATE, 7)], [(TEAM, 7)])))
    assert foreign(path, Trusted(frozenset({ME, MATE}), frozenset({TEAM}))) is None


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o604, 0o660, 0o664, 0o646, 0o606, 0o666])
def test_trust_and_doctor_say_the_same_of_who_can_write(make: Make, mode: int) -> None:
    path = make(mode=mode)
    everybody = bool(mode & 0o002)
    some_users = ([], [(EVE, 6)], [(EVE, 4)], [(EVE, 2)], [(EVE, 0), (MATE, 6)])
    for users, groups in itertools.product(some_users, ([], [(TEAM + 1, 6)], [(TEAM, 6)], [(TEAM, 4)])):
        os.setxattr(path, ACCESS_LIST, packed(group_list(mode, users, groups)))
        trust, doctor = own().strangers(look(path).writers), can_change(path)
        assert trust.everybody == doctor.everybody == everybody
        if not everybody:
            assert trust == doctor
            assert trust.users == {who for who, bits in users if bits & 2}, (oct(mode), users)
            writing = {who for who, bits in groups if bits & 2} | ({TEAM} if mode & 0o020 else set())
            assert trust.groups == writing, (oct(mode), groups)


def test_a_group_of_one_is_nobody_else(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(mode=0o664, folder_mode=0o775)  # umask 002, as many systems have it
    members: list[str] = []
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: SimpleNamespace(pw_name={ME: "me", 0: "root"}[uid], pw_uid=uid))
    monkeypatch.setattr(pwd, "getpwnam", lambda name: SimpleNamespace(pw_gid=TEAM))
    monkeypatch.setattr(grp, "getgrgid", lambda gid: SimpleNamespace(gr_name="me", gr_mem=members))
    assert foreign(path, own()) is None
    members.append("eve")
    assert foreign(path, own()) is not None
    members[:] = []
    monkeypatch.setattr(grp, "getgrgid", lambda gid: SimpleNamespace(gr_name="staff", gr_mem=members))
    assert foreign(path, own()) is not None


def test_links_count_with_their_owner_and_with_what_they_lead_to(make: Make, tmp_path: Path) -> None:
    mine, theirs = make(), make(owner=EVE, folder=EVE)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    scratch.chmod(0o1777)
    for owner, target, counts in ((ME, mine, True), (EVE, mine, False), (ME, theirs, False), (0, mine, True)):
        link = scratch / f"{owner}-{target.parent.name}"
        link.symlink_to(target)
        os.chown(link, owner, owner, follow_symlinks=False)
        assert (foreign(link, own()) is None) == counts, (owner, target)
    hard = scratch / "another-name"
    hard.hardlink_to(mine)
    assert foreign(hard, own()) is not None  # anybody could have made that name


def test_no_pipe_and_no_folder_is_taken_for_a_file(make: Make) -> None:
    place = make().parent
    os.mkfifo(place / "hackathon.yaml")
    (place / "folder").mkdir()
    for name in ("hackathon.yaml", "folder", "missing"):
        with pytest.raises(OSError):
            look(place / name)


def test_every_file_among_templates_is_looked_at(make: Make) -> None:
    place = make().parent
    jobs = place / "templates" / "jobs"
    jobs.mkdir(parents=True)
    (jobs / "job.sh.j2").write_text("x")
    for each in (place / "templates", jobs, jobs / "job.sh.j2"):
        os.chown(each, ME, ME)
    names = ("templates", "templates/jobs", "templates/rules")
    assert foreign_below(place, names, own()) is None
    os.chown(jobs / "job.sh.j2", EVE, EVE)
    found = foreign_below(place, names, own())
    assert found is not None and found.path == jobs / "job.sh.j2" and found.owner == EVE
    os.chown(jobs / "job.sh.j2", ME, ME)
    os.chown(jobs, EVE, EVE)
    assert foreign_below(place, names, own()) is not None
    (place / "templates").rename(place / "elsewhere")
    os.chown(place / "elsewhere" / "jobs", ME, ME)
    (place / "templates").symlink_to("elsewhere")
    os.chown(place / "templates", ME, ME, follow_symlinks=False)
    assert foreign_below(place, names, own()) is None
    os.chown(place / "templates", EVE, EVE, follow_symlinks=False)
    assert foreign_below(place, names, own()) is not None


def test_in_a_container_that_maps_nobody_own_files_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    assert own().users == {NOBODY}
    monkeypatch.setattr(ownership, "_mapped", lambda: True)
    assert own().users == frozenset()
    monkeypatch.setattr(os, "geteuid", lambda: ME)
    assert own().users == {ME}


@pytest.fixture
def settings(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(open_folder / "settings"))
    return open_folder / "settings"


def test_trust_lasts_as_long_as_owner_folder_and_writers_do(settings: Path, tmp_path: Path) -> None:
    place = tmp_path / "event"
    place.mkdir()
    path = place / "hackathon.yaml"

    def write(owner: int) -> None:
        path.unlink(missing_ok=True)
        path.write_text("title: x\n")
        path.chmod(0o644)
        for each in (path, place):
            os.chown(each, owner, owner)

    def answer() -> str:
        entry = decided(look(path))
        return entry.answer if entry is not None else ""

    write(EVE)
    assert answer() == ""
    remember(look(path), TRUST)
    assert answer() == TRUST and record_file().stat().st_mode & 0o777 == 0o600
    write(EVE)  # edited: another file of the same owner
    assert answer() == TRUST
    write(MATE)
    assert answer() == ""
    write(EVE)
    place.chmod(0o775)
    assert answer() == TRUST  # its owner's own group
    place.chmod(0o777)
    assert answer() == ""
    place.chmod(0o755)
    place.rename(tmp_path / "old")
    place.mkdir()
    write(EVE)
    assert answer() == ""  # another folder by the same name
    remember(look(path), IGNORE)
    assert answer() == IGNORE and len(entries()) == 1
    assert forget(place) and not forget(place) and answer() == ""


def test_a_bind_mount_is_the_same_folder(settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, other = tmp_path / "event", tmp_path / "mounted"
    for each in (place, other):
        each.mkdir()
        (each / "hackathon.yaml").write_text("title: x\n")
        for inner in (each, each / "hackathon.yaml"):
            os.chown(inner, EVE, EVE)
    remember(look(place / "hackathon.yaml"), TRUST)
    found = look(other / "hackathon.yaml")
    assert decided(found) is None
    mounted = ownership.Look(found.path, found.raw, found.owner, place.stat(), found.writers)
    assert decided(mounted) is not None


def test_a_record_that_others_could_have_written_says_nothing(settings: Path, tmp_path: Path) -> None:
    path = tmp_path / "hackathon.yaml"
    path.write_text("title: x\n")
    os.chown(path, EVE, EVE)
    remember(look(path), TRUST)
    record = record_file()
    record.chmod(0o660)
    assert entries() == []
    record.chmod(0o600)
    assert len(entries()) == 1
    os.chown(record, EVE, EVE)
    assert entries() == []
    os.chown(record, 0, 0)
    for damaged in ("", "{", "[]", '{"entries": [{}]}', '{"entries": 3}', "[" * 5000):
        record.write_text(damaged)
        assert entries() == []


def test_a_home_that_keeps_no_owners_is_told(settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "hackathon.yaml"
    path.write_text("title: x\n")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    with pytest.raises(HackathonError) as failed:
        remember(look(path), TRUST)
    assert failed.value.id == "trust.can_not_write"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(settings))
    monkeypatch.setattr(os, "geteuid", lambda: ME)  # the server gives the file to another account: root squashed
    with pytest.raises(HackathonError) as failed:
        remember(look(path), TRUST)
    assert failed.value.id == "trust.not_kept" and "XDG_CONFIG_HOME" in (failed.value.hint or "")
