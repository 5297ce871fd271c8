"""`survey close` while one system call after the other fails: answers stay, it is open or closed, and goes on."""

import contextlib
import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from hackathon.config.problems import ConfigError
from hackathon.survey.checks import look
from hackathon.survey.collection import Collection, find_collection
from hackathon.survey.dropbox import BOX, drop, published
from hackathon.survey.importing import import_answers
from hackathon.text.errors import HackathonError
from support.failing import READING, WRITING, failing
from support.survey.event import make_event

pytestmark = pytest.mark.slow
WANTED = ["by box", "by form", "by import"]
MOST = 2000
"""Calls of one closing at most: more, and the test would go on for ever."""


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An event with a survey that has an answer through each channel."""
    folder = tmp_path_factory.mktemp("collected") / "event"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
        patch.setattr("hackathon.board.people.People.account", lambda self, uid: "bob")
        survey = make_event(folder)
        tokens = survey.open(4)
        survey.accept({"words": "by form"}, tokens[0])
        file = folder / "answers.csv"
        file.write_text(f"token,level,team,kind,used,size,words\n{tokens[1]},3,,,,,by import\n")
        import_answers(survey, [file])
        box = survey.box()
        assert box is not None
        drop(box, published(box), {"words": "by box"}, tokens[2])
    return folder


@pytest.fixture(autouse=True)
def known(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setattr("hackathon.board.people.People.account", lambda self, uid: "bob")


def again(collected: Path, folder: Path) -> Collection:
    """Return the survey in a fresh copy of the event."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(collected, folder)
    return find_collection("after", folder)


def words_of(survey: Collection) -> list[str]:
    return sorted(str(each.values["words"]) for each in survey.answers())


@pytest.mark.parametrize(
    ("code", "names", "lasting"),
    [
        (errno.ESTALE, READING, True),
        (errno.ENOENT, ("open", "stat", "lstat"), False),
        (errno.ENOSPC, (*WRITING, "open"), True),
    ],
    ids=["stale-for-a-while", "half-visible-once", "full-for-a-while"],
)
def test_each_call_of_closing_fails(
    collected: Path, tmp_path: Path, code: int, names: tuple[str, ...], lasting: bool
) -> None:
    folder = tmp_path / "event"
    for at in range(1, MOST):
        survey = again(collected, folder)
        said = ""
        with failing(folder, at, code, names, lasting=lasting) as fault:
            try:
                survey.close()
            except HackathonError as error:
                said = str(error)
        if not fault.refused:
            break
        what = (at, fault.refused[0], said)
        later = find_collection("after", folder)
        assert later.state in ("open", "closed"), what
        assert words_of(later) == WANTED, what
        later.close()
        assert later.state == "closed" and words_of(later) == WANTED, what
        _nothing_left(later, what)
    assert 20 < at < MOST - 1
    print(f"{at - 1} calls failed with {errno.errorcode[code]}")


@pytest.mark.parametrize(
    ("code", "names"),
    [(errno.ESTALE, READING), (errno.ENOENT, ("open", "stat", "lstat")), (errno.ENOSPC, (*WRITING, "open"))],
    ids=["stale", "half-visible", "full"],
)
def test_each_call_of_opening_again_fails(collected: Path, tmp_path: Path, code: int, names: tuple[str, ...]) -> None:
    """Two more tokens are asked for: those that were handed out before still count, and so do the answers."""
    folder = tmp_path / "event"
    for at in range(1, MOST):
        survey = again(collected, folder)
        before = survey.tokens.issued()
        # a questionnaire that was changed after answers came is refused, whatever cannot be read
        (survey.folder / "survey.yaml").write_text((survey.folder / "survey.yaml").read_text() + "invited: 3\n")
        with failing(folder, at, code, names) as fault, contextlib.suppress(HackathonError, OSError, ConfigError):
            survey.open(2)
        if not fault.refused:
            break
        later = find_collection("after", folder)
        assert words_of(later) == WANTED, (at, fault.refused)
        assert before <= later.tokens.issued(), (at, fault.refused)
    assert 5 < at < MOST - 1


def test_a_name_that_is_not_listed_yet_is_not_deleted(
    collected: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file server may list a folder as it was before an answer got its name: in one listing, whichever it is."""
    lists = os.listdir
    for place in ("answers", "imports", "box"):
        for at in range(1, 20):
            survey = again(collected, tmp_path / "event")
            seen: list[str] = []

            def late(folder: Any = ".", place: str = place, at: int = at, seen: list[str] = seen) -> list[str]:
                found = lists(folder)
                path = str(Path(f"/proc/self/fd/{folder}").readlink()) if isinstance(folder, int) else os.fspath(folder)
                if Path(path).name != place:
                    return found
                seen.append(path)
                return [] if len(seen) == at else found

            with monkeypatch.context() as patch, contextlib.suppress(HackathonError):
                patch.setattr(os, "listdir", late)
                survey.close()
            if len(seen) < at:
                break
            later = find_collection("after", tmp_path / "event")
            later.close()
            assert words_of(later) == WANTED, (place, at)
        assert at > 1


def _nothing_left(survey: Collection, what: object) -> None:
    kept = {path.name for path in survey.folder.iterdir()}
    assert kept == {"survey.yaml", "opened.json", "opened.yaml", "locks", "closed"}, what
    box = survey.box()
    assert box is not None and list((box.folder / BOX).iterdir()) == [], what
    tokens = json.loads((survey.closed_folder / "tokens.json").read_text())
    assert (len(tokens["issued"]), len(tokens["spent"])) == (4, 3), what
    assert json.loads((survey.closed_folder / "left-out.json").read_text())["answers"] == [], what
    assert list((survey.closed_folder / "unread").iterdir()) == [], what
    assert look(survey).good, what
