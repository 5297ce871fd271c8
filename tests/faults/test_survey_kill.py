"""SIGKILL at every step of taking answers and of closing: no confirmed answer is lost, and a token counts once."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hackathon.survey import closing as folding
from hackathon.survey import collection as collection_module
from hackathon.survey import dropbox, importing
from hackathon.survey.checks import look
from hackathon.survey.collection import Collection
from hackathon.survey.dropbox import BOX
from hackathon.survey.tokens import TokenError
from hackathon.text.errors import RequestError
from support.injected import injected
from support.paths import ROOT, TESTS
from support.patience import PATIENCE, STRETCH
from support.survey.event import make_event

CHILD = """
import sys
from pathlib import Path
from hackathon.board.people import People
from hackathon.survey.collection import Collection
from hackathon.survey.dropbox import drop, published
from hackathon.survey.importing import import_answers
People.account = lambda self, uid: "bob"  # a participant, whoever runs the tests
survey, verb = Collection(Path(sys.argv[1])), sys.argv[2]
if verb == "open":
    print("\\n".join(survey.open(3)))
elif verb == "accept":
    for token in sys.argv[3:]:
        survey.accept({"words": token}, token)
        print(token, flush=True)
elif verb == "drop":
    box = survey.box()
    drop(box, published(box), {"words": "dropped"})
elif verb == "import":
    import_answers(survey, [Path(sys.argv[3])])
elif verb == "close":
    print("begun", flush=True)
    survey.close()
    print("closed", flush=True)
"""


def start(survey: Collection, *words: str, fault: str = "") -> "subprocess.Popen[str]":
    """Return a process of its own that does something with a survey, and dies at a step."""
    places = [str(TESTS), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "HACKATHON_FAULT": fault}
    command = [sys.executable, "-c", CHILD, str(survey.folder), *words]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def killed(survey: Collection, *words: str, fault: str) -> None:
    """Do something in a process that is killed at a step; fails when the step is not reached."""
    child = start(survey, *words, fault=fault)
    _, error = child.communicate(timeout=STRETCH * PATIENCE)
    assert child.returncode == -signal.SIGKILL, error
    injected()


def done(survey: Collection, *words: str) -> str:
    """Do something in a process of its own and return what it printed."""
    child = start(survey, *words)
    out, error = child.communicate(timeout=STRETCH * PATIENCE)
    assert child.returncode == 0, error
    return out


def words_of(survey: Collection) -> list[str]:
    """Return the answers that count."""
    return sorted(str(each.values["words"]) for each in survey.answers())


@pytest.fixture
def survey(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Collection:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setattr("hackathon.board.people.People.account", lambda self, uid: "bob")
    return make_event(tmp_path / "event")


@pytest.mark.parametrize("step", collection_module.OPEN_STEPS)
def test_killed_while_it_is_opened(survey: Collection, step: str) -> None:
    killed(survey, "open", fault=step)
    assert survey.state == "open"
    assert len(survey.tokens.issued()) == (3 if step == "after-tokens" else 0)
    (token, *_) = survey.open(2)
    survey.accept({"words": "x"}, token)
    box = survey.box()
    assert box is not None and dropbox.published(box).digest == survey.digest
    assert look(survey).good


@pytest.mark.parametrize("step", collection_module.ACCEPT_STEPS)
def test_killed_while_an_answer_is_taken(survey: Collection, step: str) -> None:
    """The answer is on the disk first: at worst its writer, who got no confirmation, may answer again."""
    (token,) = survey.open(1)
    killed(survey, "accept", token, fault=step)
    assert words_of(survey) == [token]
    if step == "after-answer":
        assert survey.token_state(token) == "unused"
        survey.accept({"words": "again"}, token)
        assert words_of(survey) == sorted(["again", token])
    with pytest.raises(TokenError):
        survey.accept({"words": "once more"}, token)
    survey.close()
    assert len(survey.answers()) == 1 + (step == "after-answer")


@pytest.mark.parametrize("step", dropbox.DROP_STEPS)
def test_killed_while_an_answer_is_dropped(survey: Collection, step: str) -> None:
    survey.open(0)
    killed(survey, "drop", fault=step)
    assert words_of(survey) == ([] if step == "after-hidden" else ["dropped"])
    assert look(survey).good
    done(survey, "drop")
    survey.close()
    assert words_of(survey) == ["dropped"]
    box = survey.box()
    assert box is not None and list((box.folder / BOX).iterdir()) == []


def test_killed_while_a_file_is_imported(survey: Collection) -> None:
    tokens = survey.open(2)
    file = survey.event_folder / "answers.csv"
    file.write_text("token,level,team,kind,used,size,words\n" + "".join(f"{each},3,,,,,w\n" for each in tokens))
    killed(survey, "import", str(file), fault=importing.IMPORT_STEPS[0])
    assert words_of(survey) == ["w", "w"]
    again = importing.import_answers(survey, [file])
    assert (again.counted, again.known) == (0, 2)
    with pytest.raises(TokenError):
        survey.accept({"words": "by form"}, tokens[0])
    survey.close()
    assert words_of(survey) == ["w", "w"]
    assert survey.token_state(tokens[1]) == "spent"


@pytest.mark.parametrize("step", folding.CLOSE_STEPS)
def test_killed_while_it_is_closed(survey: Collection, step: str) -> None:
    tokens = survey.open(5)
    for token in tokens[:3]:
        survey.accept({"words": token}, token)
    done(survey, "drop")
    (survey.answers_folder / f"{'0' * 32}.json").write_text("{half")
    wanted = sorted([*tokens[:3], "dropped"])
    killed(survey, "close", fault=step)
    closed = step in folding.CLOSE_STEPS[folding.CLOSE_STEPS.index("after-folded") :]
    assert survey.state == ("closed" if closed else "open")
    assert words_of(survey) == wanted
    # nothing gets in between, whoever comes
    with pytest.raises(RequestError) as caught:
        survey.accept({"words": "late"}, tokens[4])
    assert caught.value.id == ("survey.closed" if closed else "survey.closing")
    assert ("survey.closing" in [each.id for each in look(survey).troubles]) == (step != "after-cleaned")
    survey.close()
    survey.close()
    assert survey.state == "closed" and words_of(survey) == wanted
    assert [path.name for path in (survey.closed_folder / "unread").iterdir()] == [f"001-{'0' * 32}.json"]
    kept = {path.name for path in survey.folder.iterdir()}
    assert kept == {"survey.yaml", "opened.json", "opened.yaml", "locks", "closed"}
    box = survey.box()
    assert box is not None and list((box.folder / BOX).iterdir()) == []


@pytest.mark.parametrize("trial", [1, 4])
def test_killed_at_any_moment(survey: Collection, trial: int) -> None:
    """Who was told that the answer is stored finds it among the answers, whenever the server died."""
    tokens = survey.open(60)
    child = start(survey, "accept", *tokens)
    confirmed = []
    assert child.stdout is not None
    for line in child.stdout:
        confirmed.append(line.strip())
        if len(confirmed) == 3 + 7 * trial:
            child.kill()
            injected()
    child.wait(STRETCH * PATIENCE)
    found = words_of(survey)
    assert set(confirmed) <= set(found)
    assert len(set(found)) == len(found)
    for token in tokens:
        with contextlib.suppress(TokenError):
            survey.accept({"words": token}, token)
    assert set(words_of(survey)) == set(tokens)
    assert len(words_of(survey)) <= len(tokens) + 1


@pytest.mark.slow
@pytest.mark.parametrize("trial", [0, 2])
def test_closing_is_killed_while_others_answer(survey: Collection, trial: int) -> None:
    tokens = survey.open(80)
    answering = [start(survey, "accept", *tokens[at::2]) for at in (0, 1)]
    for child in answering:
        assert child.stdout is not None and child.stdout.readline()
    closing = start(survey, "close")
    assert closing.stdout is not None and closing.stdout.readline() == "begun\n"
    time.sleep(0.004 * trial)
    closing.kill()
    injected()
    closing.communicate()
    survey.close()
    confirmed = set()
    for at, child in enumerate(answering):
        assert child.stdout is not None and child.stderr is not None
        confirmed.update([tokens[at], *child.stdout.read().split()])
        error = child.stderr.read()
        refused = re.search(r"RequestError: survey after is (?:being )?closed", error)
        assert child.wait(STRETCH * PATIENCE) == 0 or refused, error
    found = words_of(survey)
    assert confirmed == set(found) and len(found) == len(confirmed)
    kept = json.loads((survey.closed_folder / "tokens.json").read_text())
    assert len(kept["spent"]) == len(found)
