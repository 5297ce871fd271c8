"""The survey of the event, as organiser and participants work with it."""

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml

from support.event_2019 import COUNTS, MEANS
from support.event_play.answers import ANSWERS, fill_in, google_forms, typed
from support.event_play.play import PATIENCE, Play
from support.event_play.teams import write
from support.pages.browser import PATIENCE as BROWSER_PATIENCE
from support.pages.browser import chromium

NAME = "after"
WITHDRAWN = "Chainer の開発者から"
"""The beginning of a sentence that the organiser takes out before it is published: it tells whom it is from."""


def questions(play: Play) -> list[dict[str, Any]]:
    """Return the questions as the organiser's survey.yaml has them."""
    path = play.event / "surveys" / NAME / "survey.yaml"
    found: list[dict[str, Any]] = yaml.safe_load(path.read_text("utf-8"))["questions"]
    return found


def open_survey(play: Play, tokens: int) -> list[str]:
    """Make, check and open the questionnaire; return its tokens."""
    play.done("kanri", "survey", "new", NAME, at=play.event)
    play.done("kanri", "survey", "check", NAME, at=play.event)
    said = play.done("kanri", "survey", "open", NAME, "--tokens", str(tokens), at=play.event)
    made = said.out.split()
    assert len(set(made)) == tokens
    assert all(re.fullmatch(r"[a-z2-7]{16}", token) for token in made)
    return made


@contextmanager
def served(play: Play) -> "Iterator[tuple[str, subprocess.Popen[str]]]":
    """Serve the form in the organiser's account; yield its address and the process."""
    play.log.append(f"kanri: hackathon survey serve {NAME} --port 0")
    process = play.start(
        "kanri", "hackathon-apart", "survey", "serve", NAME, "--port", "0", at=play.event, PYTHONUNBUFFERED="1"
    )
    try:
        assert process.stdout is not None
        said = ""
        while (found := re.search(r"http://127\.0\.0\.1:\d+/", said)) is None:
            line = process.stdout.readline()
            assert line, said + (process.stderr.read() if process.stderr else "")
            said += line
        yield found[0], process
    finally:
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, out + error


def counted(play: Play) -> int:
    """Return how many answers count, as the organiser sees it."""
    said = play.done("kanri", "survey", "check", NAME, at=play.event)
    found = re.search(r"answers: (\d+)", said.out)
    assert found, said.out
    return int(found[1])


def by_form(play: Play, tokens: list[str], address: str) -> None:
    """Give the answers of the form, each with a token of its own."""
    said = [each for each in ANSWERS if each.way == "form"]
    with chromium() as browser:
        for token, each in zip(tokens, said, strict=True):
            page = fill_in(browser, f"{address}?t={token}", each, "comments")
            assert "ありがとうございました" in page, page
            again = browser.new_page()
            again.set_default_timeout(BROWSER_PATIENCE)
            again.goto(f"{address}?t={token}")
            assert again.query_selector("form input[type=radio]") is None
            again.close()


def by_terminal(play: Play, roles: list[str], first: int = 0) -> None:
    """Give the answers of the terminal from one on, each in a participant's own account."""
    said = [each for each in ANSWERS if each.way == "terminal"][first:]
    for role, each in zip(roles, said, strict=False):
        told = play.terminal(role, "survey", "answer", NAME, at=play.event, typed=typed(questions(play), each))
        assert told.code == 0, told.out


def by_file(play: Play) -> None:
    """Import what Google Forms exported, as Excel saved it; a second time it counts nothing."""
    path = play.home("kanri") / "アンケート（回答） - フォームの回答 1.csv"
    path.write_bytes(google_forms(questions(play)))
    play.give(path, "kanri")
    before = counted(play)
    for _ in range(2):
        play.done("kanri", "survey", "import", NAME, str(path), at=play.event)
        assert counted(play) == before + sum(each.way == "csv" for each in ANSWERS)


def close(play: Play) -> None:
    """Close the survey, look at its counts, and release what was written after having read it."""
    assert play.cli("kanri", "survey", "summary", NAME, at=play.event).code == 2  # not before it is closed
    play.done("kanri", "survey", "close", NAME, at=play.event)
    told = json.loads(play.done("kanri", "survey", "summary", NAME, "--format", "json", at=play.event).out)
    assert (told["n"], told["invited"], told["reviewed"]) == (11, 11, False)
    items = {each["question"]["id"]: each for each in told["items"]}
    for name, counts in COUNTS.items():
        assert items[name]["counts"] == list(counts)
        assert f"{items[name]['mean']:.1f}" == f"{MEANS[name]:.1f}"
    path = play.event / "surveys" / NAME / "texts.yaml"
    text = path.read_text("utf-8")
    assert "reviewed: false" in text
    start = text.index(f'  - text: "{WITHDRAWN}')
    end = text.index("tags:", start)
    text = text[:start] + text[text.index("\n", end) + 1 :]
    write(play, "kanri", path, text.replace("reviewed: false", "reviewed: true"))
    told = json.loads(play.done("kanri", "survey", "summary", NAME, "--format", "json", at=play.event).out)
    assert told["reviewed"]
    left = list((play.event / "surveys" / NAME).rglob("*.json"))
    assert not [path for path in left if path.parent.name in ("answers", "imports", "box")]
    everything = "".join(path.read_text("utf-8") for path in left)
    assert not [role for role in play.uids if role != "kanri" and play.account(role) in everything.replace("\\", "")]
