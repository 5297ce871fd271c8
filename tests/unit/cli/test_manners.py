"""What several commands share: they ask before node-hours are used, complete values, and say what Ctrl-C leaves."""

import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from hackathon.cli.main import build, run
from hackathon.cli.named_runs import run_to_read
from hackathon.runs.campaign import Campaign
from hackathon.runs.directory import find_runs
from hackathon.runs.study import find_studies
from hackathon.schedulers import registry
from hackathon.text.errors import RequestError
from support.runs import FakeScheduler

Answer = Callable[[str], list[str]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project for a cluster that charges node-hours."""
    folder = tmp_path / "toy"
    folder.mkdir()
    values = {"name": "toy", "command": "python train.py", "cluster": "slurm", "queue": "debug"}
    (folder / "project.yaml").write_text(json.dumps(values))
    (folder / "train.py").write_text("print('hello')\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    made = FakeScheduler(tmp_path / "spool")
    made.this_machine = False
    monkeypatch.setattr(registry, "load", lambda name, dialect=None: made)
    return folder


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Let somebody at a terminal give an answer; the returned list fills with the questions."""

    def terminal(word: str) -> list[str]:
        questions: list[str] = []

        def prompt(text: str, default: bool | None = False, **options: object) -> bool:
            questions.append(text)
            return bool(default) if not word else word == "y"

        monkeypatch.setattr("sys.stdin.isatty", lambda: True)
        monkeypatch.setattr(click, "confirm", prompt)
        return questions

    return terminal


SEVERAL = [["scale", "--processes", "1,2"], ["submit", "--repeat", "2"], ["submit", "--segments", "2"]]


@pytest.mark.parametrize("words", SEVERAL)
def test_several_runs_are_asked_for_once(project: Path, answer: Answer, words: list[str]) -> None:
    questions = answer("n")
    assert run(words) == 130
    assert questions == ["Submit 2 runs?"]
    assert not find_studies(project) and not find_runs(project / "runs")
    questions = answer("")
    assert run(words) == 0
    assert questions == ["Submit 2 runs?"] and len(find_runs(project / "runs")) == 2


@pytest.mark.parametrize("words", [["submit"], *([*words, "--yes"] for words in SEVERAL), [*SEVERAL[0], "--json"],
                                   [*SEVERAL[1], "--json"], [*SEVERAL[0], "--dry-run"]])  # fmt: skip
def test_these_are_not_asked_for(project: Path, answer: Answer, words: list[str]) -> None:
    questions = answer("n")
    assert run(words) == 0
    assert questions == []


@pytest.mark.parametrize("words", SEVERAL)
def test_a_script_goes_on(project: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)
    assert run(words) == 0
    assert len(find_runs(project / "runs")) == 2


def test_a_user_may_choose_not_to_be_asked(project: Path, answer: Answer, tmp_path: Path) -> None:
    settings = tmp_path / "config" / "hackathon" / "config.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text("confirm: false\n")
    assert answer("n") == [] and run(SEVERAL[0]) == 0


def test_a_resumed_study_was_confirmed_already(project: Path, answer: Answer) -> None:
    assert run([*SEVERAL[0], "--max-queued", "1", "--yes"]) == 0
    questions = answer("n")
    assert run(["scale", "--resume"]) == 0
    assert questions == []


def test_an_interrupted_submission_says_how_to_go_on(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Campaign, "advance", interrupted)
    assert run(SEVERAL[0]) == 130
    (study,) = find_studies(project)
    assert f"hackathon scale --resume {study.id[-8:]}" in capsys.readouterr().err


def test_an_interrupted_doctor_names_its_job(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hackathon.runs.status.status", interrupted)
    assert run(["doctor", "--job"]) == 130
    (job,) = find_runs(project / "runs")
    assert f"job {job.job_id()} goes on; end it with: hackathon cancel {job.id[-8:]}" in capsys.readouterr().err


def completed(words: list[str], incomplete: str) -> list[str]:
    """Return what a shell shows for the last word of a command line."""
    from click.shell_completion import BashComplete

    completer = BashComplete(build(), {}, "hackathon", "_HACKATHON_COMPLETE")
    return [item.value for item in completer.get_completions(words, incomplete)]


def test_values_are_completed(project: Path) -> None:
    assert run([*SEVERAL[0], "--yes"]) == 0
    runs = [item.id for item in find_runs(project / "runs")]
    (study,) = find_studies(project)
    assert completed(["logs"], "") == runs
    assert completed(["logs"], runs[0][-8:]) == runs[:1]
    assert completed(["results"], study.id[:12]) == [study.id, *(name for name in runs if name[:12] == study.id[:12])]
    assert "torch-ddp" in completed(["render"], "torch-d")
    assert completed(["submit", "--cluster"], "reedbush-") == ["reedbush-h", "reedbush-l", "reedbush-u"]
    assert completed(["scale", "--launcher"], "torch") == ["torchrun"]
    assert completed(["results", "--metric"], "samples") == ["samples_per_s"]


def test_completing_a_broken_project_shows_nothing(project: Path) -> None:
    (project / "project.yaml").write_text("name: [")
    assert completed(["results", "--metric"], "") == []
    assert completed(["submit", "--queue"], "") == []


def test_of_several_runs_the_newest_studys_is_read_and_none_is_ended(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert run([*SEVERAL[0], "--yes"]) == 0
    newest = next(iter(find_studies(project)))
    capsys.readouterr()
    point = run_to_read("2p", project / "runs").study
    assert point is not None and point.id == newest.id
    assert "names several runs" in capsys.readouterr().err
    assert run(["cancel", "2p"]) == 2
    with pytest.raises(RequestError, match="4 runs match"):  # the newest study has two of them
        run_to_read("toy", project / "runs")
