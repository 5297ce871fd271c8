"""Nobody makes the account that makes an event's directories change another file: by links, by renaming meanwhile."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hackathon.access.permissions import ENTER, READ, WRITE, account
from hackathon.board.directory import make_place
from hackathon.cli.main import run
from hackathon.config.event import Event, Member, Team, Tutor
from hackathon.event.directories import DirectoriesMade, make_event, wanted_folders
from hackathon.event.files import write_event
from hackathon.text.errors import HackathonError, RequestError

NESTED = """\
title: T
teams:
  - {name: A, members: [{user: root}]}
  - {name: B, members: [{user: daemon}], folders: [A/work/cron.d]}
"""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def swapping(monkeypatch: pytest.MonkeyPatch, function: str, name: str, other: Path) -> None:
    """Put a link to another directory or file in the place of what was just made, or renamed to, by a name."""
    real: Callable[..., Any] = getattr(os, function)

    def swapped(*arguments: Any, **more: Any) -> None:
        real(*arguments, **more)
        made = Path(arguments[-1] if function == "rename" else arguments[0])
        if made.name == name:
            folder = more.get("dst_dir_fd", more.get("dir_fd"))
            os.rename(made, f"{made}.away", src_dir_fd=folder, dst_dir_fd=folder) if function == "mkdir" else os.unlink(
                made, dir_fd=folder
            )
            os.symlink(other, made, dir_fd=folder)

    monkeypatch.setattr(os, function, swapped)


def test_a_link_on_the_way_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    event, other = tmp_path / "event", tmp_path / "etc"
    (event / "A").mkdir(parents=True)
    (event / "hackathon.yaml").write_text(NESTED)
    (other / "cron.d").mkdir(parents=True, mode=0o755)
    (event / "A" / "work").symlink_to(other)  # as a member of A can do
    before = (other / "cron.d").lstat()
    outcome = make_event(NESTED, event, os.geteuid())
    assert {each.wanted.path.name: each.state for each in outcome.folders}["cron.d"] == "missing" and outcome.failed
    after = (other / "cron.d").lstat()
    assert (after.st_mode, after.st_ctime_ns) == (before.st_mode, before.st_ctime_ns)


@as_root
def test_another_folder_in_the_place_of_the_event_is_left_alone(tmp_path: Path) -> None:
    event, other = tmp_path / "event", tmp_path / "etc"
    other.mkdir()
    event.symlink_to(other)  # put there by the organiser after root has read hackathon.yaml
    make_event("title: T\nteams: [{name: A, members: [{user: root}]}]\n", event, 12345)
    assert list(other.iterdir()) == []


def test_what_is_put_in_the_place_of_a_new_folder_is_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "shadow"
    other.write_text("secret")
    other.chmod(0o600)
    swapping(monkeypatch, "mkdir", "event", other)
    with pytest.raises(HackathonError):
        write_event(tmp_path / "event" / "hackathon.yaml", "title: T\n", os.geteuid())
    monkeypatch.undo()
    (tmp_path / "event").unlink()
    swapping(monkeypatch, "mkdir", "entries", other)
    with pytest.raises(HackathonError):
        make_place(tmp_path / "shared", "sticky")
    assert mode(other) == 0o600


def test_what_is_put_in_the_place_of_hackathon_yaml_is_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tmp_path / "hackathon.yaml", tmp_path / "shadow"
    other.write_text("secret")
    other.chmod(0o600)
    path.write_text("title: T\n")
    path.chmod(0o666)
    swapping(monkeypatch, "rename", "hackathon.yaml", other)
    write_event(path, "title: U\n", os.geteuid())
    assert (mode(other), other.read_text()) == (0o600, "secret")
    monkeypatch.undo()
    with pytest.raises(RequestError) as caught:
        write_event(path, "title: V\n", os.geteuid())
    assert caught.value.id == "event.no_plain_file" and path.is_symlink() and other.read_text() == "secret"


def test_hackathon_yaml_keeps_owner_and_mode(tmp_path: Path) -> None:
    path = tmp_path / "hackathon.yaml"
    path.write_text("title: T\n")
    path.chmod(0o640)
    write_event(path, "title: U\n", os.geteuid())
    assert mode(path) == 0o640 and path.read_text() == "title: U\n" and list(tmp_path.iterdir()) == [path]


def test_an_event_named_by_a_way_back_gets_all_its_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("event", "here"):
        (tmp_path / name).mkdir()
    (tmp_path / "event" / "hackathon.yaml").write_text("title: T\nteams: [{name: A, members: [{user: root}]}]\n")
    monkeypatch.chdir(tmp_path / "here")
    assert run(["event", "init", "../event"]) == 0
    assert (tmp_path / "event" / "A").is_dir()
    assert run(["event", "show", "../event"]) == 0
    capsys.readouterr()
    run(["event", "check", "../event", "--json"])
    assert json.loads(capsys.readouterr().out)["event"] == str(tmp_path / "event")


def test_no_folder_has_a_name_that_hides_what_an_administrator_reads(tmp_path: Path) -> None:
    names = ["チーム　一", "👩\u200d💻", "a\\nrm -rf x", "b\\e[2K", "c\\u202Ed", "e\\u2028f"]
    teams = "".join(f'- {{name: "{name}", members: [{{user: user{at}}}]}}\n' for at, name in enumerate(names))
    (tmp_path / "hackathon.yaml").write_text(f"title: T\nteams:\n{teams}")
    outcome = make_event(f"title: T\nteams:\n{teams}", tmp_path, os.geteuid())
    assert [each.wanted.team for each in outcome.folders if each.wanted.team] == names[:2]
    assert sum(identifier == "event.folder_steers" for identifier, _ in outcome.notes) == 4


@pytest.mark.parametrize("where", ["team", "event"])
def test_a_member_who_is_a_tutor_too_may_write(tmp_path: Path, where: str) -> None:
    """An entry of a list for one user goes before those for the user's groups, so that reading would be all."""
    member, tutor = account("daemon"), account("bin")
    assert member is not None and tutor is not None
    own = ["daemon", "bin"] if where == "team" else []
    others = [] if own else [Tutor("daemon"), Tutor("bin")]

    def made(group: str | None) -> tuple[dict[int, int], list[str]]:
        event = Event("T", teams=[Team("A", group=group, members=[Member("daemon")], tutors=own)], tutors=others)
        outcome = DirectoriesMade()
        (folder,) = (each for each in wanted_folders(event, tmp_path, 12345, outcome) if each.team)
        users = {uid: may for uid, may in folder.users if uid != 12345}
        return users, [identifier for identifier, _ in outcome.notes]

    assert made("daemon") == ({tutor.uid: READ | ENTER}, [])
    assert made(None) == ({member.uid: READ | WRITE | ENTER, tutor.uid: READ | ENTER}, [])
    # who is not in the team's group is told of, and reads as a tutor
    assert made("bin") == ({member.uid: READ | ENTER, tutor.uid: READ | ENTER}, ["event.not_in_group"])
