"""A failed run that no rule explains becomes a rule of the event, after a question and after tests on logs."""

import json
import os
from pathlib import Path

import pytest

from hackathon.access.permissions import user_name
from hackathon.board.directory import make_place
from hackathon.cli.main import run as command
from hackathon.config.rule_files import load_rule_file
from hackathon.diagnosis import diagnose
from hackathon.diagnosis.scan import Scanner

ME = user_name(os.geteuid())
BAD, GOOD = "20190101-090000-own-2p-aaaaaaaa", "20190102-090000-own-2p-bbbbbbbb"
FAILURE = """\
epoch 1
[rank1]: Traceback (most recent call last):
[rank1]:   File "/home/alice/train.py", line 12, in <module>
[rank1]:     lattice.step()
[rank1]: lattice.LatticeError: plaquette 17 drifted by 0.25 on node7, see /scratch/alice/run-3/core.99
"""


@pytest.fixture
def event(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An event with a board, and a project with a run that failed and one that succeeded."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache-of-proposals"))
    make_place(tmp_path / "shared", "sticky")
    (tmp_path / "hackathon.yaml").write_text(f"title: E\nshared: shared\ntutors: [{{user: {ME}}}]\n")
    (tmp_path / "project.yaml").write_text("name: own\ncommand: python train.py\n")
    for name, state, text in ((BAD, "FAILED", FAILURE), (GOOD, "SUCCEEDED", "epoch 1\nall done\n")):
        path = tmp_path / "runs" / name
        (path / "logs").mkdir(parents=True)
        (path / "request.json").write_text(json.dumps({"name": "own", "processes": 2, "scheduler": "local"}))
        (path / "logs" / "rank-1.log").write_text(text)
        (path / "final.json").write_text(json.dumps({"state": state, "cause": "", "job_id": "7", "attempt": 1}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rules_of(event: Path) -> list[Path]:
    return sorted((event / "templates" / "rules").glob("*.yaml"))


def test_a_solved_post_teaches_the_event_its_failure(event: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["board", "post", "The lattice is too old\nsince Monday", "--part", "numerics"]) == 0
    (post,) = json.loads(_json(capsys, "board"))["posts"]
    words = ["board", "solve", post["short"], "Load lattice/2\nand {restart}.", "--run", "aaaaaaaa"]
    assert command(words) == 2  # nobody to ask: nothing is written, the post stays open
    assert "--yes" in capsys.readouterr().err and not rules_of(event)
    assert json.loads(_json(capsys, "board"))["posts"][0]["state"] == "open"
    assert command([*words, "--yes"]) == 0
    shown = capsys.readouterr()
    (path,) = rules_of(event)
    assert str(path) in shown.err and "1 log of successful runs" in shown.err
    (rule,) = load_rule_file(path)
    assert (rule.part, rule.level, rule.title) == ("numerics", "root", "The lattice is too old")
    assert rule.advice == "Load lattice/2 and (restart)."
    assert Scanner([rule]).scan_text(
        "[rank0]: lattice.LatticeError: plaquette 2 drifted by 1e-3 on n1, see /x/y/z.core\n"
    )
    assert not Scanner([rule]).scan_text("[rank0]: lattice.LatticeError: no plaquette\n")
    assert command(["rules", "check", str(path)]) == 0
    (finding, *_) = diagnose([event / "runs" / BAD], folders=[event])  # at once
    assert (finding.rule, finding.level) == (rule.id, "root")
    assert json.loads(_json(capsys, "board"))["posts"][0]["state"] == "solved"
    assert command(["rules", "add", "--run", "aaaaaaaa", "--yes"]) == 2
    assert f"{rule.id} explains" in capsys.readouterr().err


def _json(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert command([*words, "--json"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(("answer", "files"), [("n\n", 0), ("y\n", 1)])
def test_the_rule_is_shown_before_the_question(
    event: Path, answer: str, files: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def confirm(text: str, **_: object) -> bool:
        assert "LatticeError" in capsys.readouterr().err and not rules_of(event)
        asked.append(text)
        return answer == "y\n"

    monkeypatch.setattr("click.confirm", confirm)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert command(["rules", "add", "--run", "aaaaaaaa", "--here", "project", "--advice", "Load lattice/2."]) == 0
    assert len(asked) == 1 and str(event) in asked[0] and len(rules_of(event)) == files


@pytest.mark.parametrize(
    ("log", "good", "words"),
    [
        ("epoch 1\nRuntimeError: CUDA out of memory. Tried to allocate 2 GiB\n", "", "explains"),
        (FAILURE, "lattice.LatticeError: plaquette 1 drifted by 3 on node1, see /a/b/c\n", "healthy log"),
        ("epoch 1\nValueError: 3\n", "", "too much"),
    ],
)
def test_no_rule_is_made_of_what_is_known_healthy_or_too_general(
    event: Path, log: str, good: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (event / "runs" / BAD / "logs" / "rank-1.log").write_text(log)
    with (event / "runs" / GOOD / "logs" / "rank-1.log").open("a") as stream:
        stream.write(good)
    assert command(["rules", "add", "--run", "aaaaaaaa", "--yes"]) == 2
    assert words in capsys.readouterr().err and not rules_of(event)


@pytest.mark.parametrize("options", [[], ["--run", "aaaaaaaa", "--from", "x.log:1"], ["--run", "nothing"]])
def test_wrong_options(event: Path, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["rules", "add", *options]) == 2
    assert capsys.readouterr().err and not rules_of(event)
