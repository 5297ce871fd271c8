"""Whose a run is: the team's in whose folder it really lies, whatever links others make to it."""

import os
from pathlib import Path

import pytest

from hackathon.config.event import Event, Team
from hackathon.index.gather import gather
from hackathon.usage.usage import usage
from support.runs import NOBODY
from support.samples.runs import one_run


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A file for the index in a folder of its own."""
    return tmp_path / "private" / "index.sqlite3"


@pytest.mark.parametrize("kind", ["project", "runs", "run", "team"])
@pytest.mark.parametrize("first", ["alpha", "beta"])
def test_a_link_to_another_teams_runs_gives_nobody_anything(tmp_path: Path, store: Path, kind: str, first: str) -> None:
    """`beta/mine -> ../alpha/train`: the runs stay alpha's, whichever team the event names first."""
    event_folder = tmp_path / "event"
    run = one_run(event_folder / "alpha" / "train")
    links = {
        "project": ("beta/mine", "../alpha/train"),
        "runs": ("beta/mine/runs", "../../alpha/train/runs"),
        "run": (f"beta/mine/runs/{run.name}", f"../../../alpha/train/runs/{run.name}"),
        "team": ("beta", "alpha"),
    }
    link = event_folder / links[kind][0]
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(links[kind][1])
    names = ["alpha", "beta"] if first == "alpha" else ["beta", "alpha"]
    event = Event(title="x", teams=[Team(name) for name in names])
    found = gather(event_folder, event, ask=False, index=store, diagnose=False)
    assert [(each.team, each.id) for each in found.entries] == [("alpha", run.name)]
    assert any(str(link) in problem and ("alpha" in problem) for problem in found.problems)
    assert [(each.project.team, each.use.id) for each in usage(event, event_folder).runs] == [("alpha", run.name)]


def test_the_folder_in_which_a_team_s_folder_lies_takes_no_runs_of_it(tmp_path: Path, store: Path) -> None:
    event = Event(title="x", teams=[Team("all", folders=["."]), Team("beta", folders=["deep/beta"])])
    run, other = one_run(tmp_path / "deep" / "beta" / "train"), one_run(tmp_path / "train", number=1)
    found = gather(tmp_path, event, ask=False, index=store, diagnose=False)
    assert {each.id: each.team for each in found.entries} == {run.name: "beta", other.name: "all"}


def test_a_link_of_the_owner_to_a_folder_of_no_team_is_followed(tmp_path: Path, store: Path) -> None:
    """Runs on another part of the event's disk, as teams with little room have them."""
    run = one_run(tmp_path / "scratch" / "alpha")
    (tmp_path / "alpha" / "train").mkdir(parents=True)
    (tmp_path / "alpha" / "train" / "runs").symlink_to(tmp_path / "scratch" / "alpha" / "runs")
    event = Event(title="x", teams=[Team("alpha"), Team("beta")])
    (tmp_path / "beta").mkdir()
    found = gather(tmp_path, event, ask=False, index=store, diagnose=False)
    assert [(each.team, each.id) for each in found.entries] == [("alpha", run.name)]
    if os.geteuid() == 0:  # somebody else's link to it
        for path in (run.parent, run):
            os.chown(path, NOBODY, NOBODY)
        (tmp_path / "alpha" / "train" / "runs").unlink()
        (tmp_path / "beta" / "mine").symlink_to(tmp_path / "scratch" / "alpha")
        os.chown(tmp_path / "beta" / "mine", NOBODY + 1, -1, follow_symlinks=False)
        os.chown(tmp_path / "scratch" / "alpha", NOBODY, -1)
        found = gather(tmp_path, event, ask=False, index=store, diagnose=False)
        assert [(each.team, each.id) for each in found.summaries] == []
