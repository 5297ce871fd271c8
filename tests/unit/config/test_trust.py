"""Which events and projects count: own, trusted, ignored, a team's; and the verb that says so."""

import json
import os
import pwd
import stat
from pathlib import Path

import pytest

from hackathon.access.ownership import look
from hackathon.access.trust_record import IGNORE, TRUST, remember
from hackathon.cli.main import run
from hackathon.config import load
from hackathon.config.trust import (
    UntrustedEventError,
    event_that_counts,
    folders_that_count,
    look_at_project,
    trusted_event,
)
from hackathon.jobs.places import ForeignError, around
from hackathon.text.paths import user_cache
from support.accounts import open_folder as open_folder  # a fixture

EVE, MATE, ORGANISER = 71002, 71003, 71004

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="two users need root and useradd")


@pytest.fixture
def top(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for events, and settings of the user's own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(open_folder / "settings"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(open_folder / "caches"))
    return open_folder


def event_in(folder: Path, owner: int, teams: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hackathon.yaml").write_text(f"title: Test\n{teams}")
    for path in (folder, folder / "hackathon.yaml"):
        os.chown(path, owner, owner)
    return folder


def project_in(folder: Path, owner: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "project.yaml").write_text("name: x\ncommand: sh run.sh\n")
    for path in (folder, folder / "project.yaml"):
        os.chown(path, owner, owner)
    return folder


def test_only_an_event_that_counts_is_taken(top: Path) -> None:
    assert trusted_event(top) is None and event_that_counts(top) is None
    outer = event_in(top / "outer", 0)
    place = project_in(outer / "own", 0)
    found = trusted_event(place)
    assert found is not None and (found.folder, found.record.title) == (outer, "Test")
    inner = event_in(outer / "scratch", EVE, "teams: [{name: A}, {name: B}]\n")
    below = project_in(inner / "work", 0)
    with pytest.raises(UntrustedEventError) as refused:
        trusted_event(below)
    assert "2 teams: A, B." in refused.value.message and f"hackathon trust {inner};" in (refused.value.hint or "")
    assert event_that_counts(below) is None and load.find_event(below) == inner
    assert folders_that_count(below) == [below]
    asked = trusted_event(below, asked=True)
    assert asked is not None and asked.folder == inner
    remember(look(inner / "hackathon.yaml"), IGNORE)
    found = trusted_event(below)
    assert found is not None and found.folder == outer and load.find_event(below) == outer
    remember(look(inner / "hackathon.yaml"), TRUST)
    found = trusted_event(below)
    assert found is not None and found.folder == inner and folders_that_count(below) == [below, inner]


def test_a_broken_or_closed_event_of_another_is_asked_about_all_the_same(top: Path) -> None:
    place = event_in(top / "event", EVE)
    for text in ("", "title: [", "teams: 3\n", "\x1b]0;x\x07: 1\n", "title: x\nteams: [{name: '\x07'}]\n"):
        (place / "hackathon.yaml").write_text(text)
        with pytest.raises(UntrustedEventError) as refused:
            trusted_event(place)
        assert "\x1b" not in refused.value.message and "\x07" not in refused.value.message
    (place / "hackathon.yaml").unlink()
    os.mkfifo(place / "hackathon.yaml")
    assert trusted_event(place) is None  # and nobody waits for it


def test_files_of_others_beside_an_event_that_counts(top: Path) -> None:
    event = event_in(top / "event", ORGANISER)
    remember(look(event / "hackathon.yaml"), TRUST)
    jobs = event / "templates" / "jobs"
    jobs.mkdir(parents=True)
    (jobs / "job.sh.j2").write_text("x")
    for owner, counts in ((0, True), (ORGANISER, True), (EVE, False)):
        for path in (jobs.parent, jobs, jobs / "job.sh.j2"):
            os.chown(path, owner, owner)
        assert (event in around(None, event, "leave").folders) == counts
    with pytest.raises(ForeignError, match="templates"):
        around(None, event, "refuse")
    left = around(None, event, "leave")
    assert [each.path.name for each in left.left_out] == ["templates"]
    assert around(None, event, "take").folders == [event]


def test_a_project_counts_for_its_team_only(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"root": 0, "mate": MATE, "eve": EVE}
    known = pwd.getpwnam
    monkeypatch.setattr(
        pwd, "getpwnam", lambda name: pwd.struct_passwd((name, "x", names[name], names[name], "", "/", ""))
        if name in names else known(name),
    )  # fmt: skip
    teams = "teams: [{name: A, members: [{user: root}, {user: mate}]}, {name: B, members: [{user: eve}]}]\n"
    event = event_in(top / "event", ORGANISER, teams)
    places = {owner: project_in(event / str(owner), owner) for owner in (0, MATE, ORGANISER, EVE)}
    with pytest.raises(UntrustedEventError):
        around(places[MATE], places[MATE], "refuse")
    remember(look(event / "hackathon.yaml"), TRUST)
    for owner in (0, MATE, ORGANISER):
        assert around(places[owner], top, "refuse").folders == [places[owner], event]
    with pytest.raises(ForeignError, match=r"project\.yaml"):
        around(places[EVE], top, "refuse")
    assert around(places[EVE], top, "leave").folders == [event]
    # its rules count for a run of the same account, and for nobody else's
    run = project_in(top / "run", EVE)
    assert look_at_project(places[EVE], trusted_event(event), run).foreign is None
    assert look_at_project(places[EVE], trusted_event(event), places[0]).foreign is not None
    remember(look(places[EVE] / "project.yaml"), TRUST)
    assert around(places[EVE], top, "refuse").folders == [places[EVE], event]


def test_the_verb_writes_lists_and_removes(
    top: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HACKATHON_LANG", "en")
    event = event_in(top / "event", EVE)
    monkeypatch.chdir(event)
    assert run(["trust", "--list"]) == 0 and run(["trust", "--remove"]) == 2 and run(["trust", "--list", "x"]) == 2
    assert run(["trust", str(top / "nothing")]) == 2
    capsys.readouterr()
    assert run(["trust"]) == 0
    said = capsys.readouterr()
    assert str(event) in said.out and f"belongs to {EVE}" in said.err
    assert run(["trust", "--list", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["entries"]
    assert (entry["path"], entry["owner"], entry["answer"]) == (str(event), EVE, "trust")
    assert trusted_event(event) is not None
    assert run(["trust", "--remove", str(event / "hackathon.yaml")]) == 0
    with pytest.raises(UntrustedEventError):
        trusted_event(event)
    os.chown(event, 0, 0)
    os.chown(event / "hackathon.yaml", 0, 0)
    assert run(["trust", str(event)]) == 0 and "needs no trust" in capsys.readouterr().out
    assert run(["trust", "--list", "--json"]) == 0 and json.loads(capsys.readouterr().out)["entries"] == []


def test_a_cache_of_another_account_is_not_used(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = top / "caches" / "hackathon"
    assert user_cache() == folder
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    assert user_cache() == folder and stat.S_IMODE(folder.stat().st_mode) == 0o755  # closed, as it is the user's
    os.chown(folder, EVE, EVE)
    with pytest.raises(RuntimeError):
        user_cache()
    project = project_in(top / "own", 0)
    assert load.load_project(project).name == "x"  # read without it
    os.chown(folder, 0, 0)
    folder.rename(top / "mine")
    folder.symlink_to(top / "mine")
    assert user_cache() == folder
    os.chown(folder, EVE, EVE, follow_symlinks=False)
    with pytest.raises(RuntimeError):
        user_cache()
