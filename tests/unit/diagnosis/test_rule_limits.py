"""Rules of one project cost that project only: what does not end is ended, and no pipe holds up who reads them."""

import os
from pathlib import Path

import pytest

from hackathon.cli.main import run as command
from hackathon.config.event import Event, Team
from hackathon.config.rule_files import load_rules
from hackathon.diagnosis import scan
from hackathon.diagnosis.examine import diagnose_files
from hackathon.index import gather as gathering
from support.samples.runs import one_run

SLOW = """
rules:
  - {id: slow-one, part: data, level: root, title: A slow one, patterns: [{regex: 'CUDA out (a*a*a*a*)*b'}]}
  - {id: slow-two, part: data, level: root, title: B, unless: [{regex: 'a*a*a*a*b'}], patterns: [{text: of memory}]}
"""
MANY = "a" * 3000
LOG = f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\nCUDA out {MANY}\nof memory {MANY}\n"


def _rules(folder: Path, text: str = SLOW) -> Path:
    place = folder / "templates" / "rules"
    place.mkdir(parents=True)
    (place / "own.yaml").write_text(text)
    return place


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "RULE_SECONDS", 0.3)


@pytest.mark.slow
def test_a_rule_that_does_not_end_costs_itself_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _rules(tmp_path)
    (tmp_path / "rank-0.log").write_text(LOG)
    found = diagnose_files([tmp_path / "rank-0.log"], rules=load_rules([tmp_path])[0])
    assert found.root is not None and found.root.part == "gpu"
    assert set(found.slow) == {"slow-one", "slow-two"}
    (tmp_path / "project.yaml").write_text("name: train\nteam: aurora\nrecipe: torch-ddp\ncluster: laptop\n")
    monkeypatch.chdir(tmp_path)
    assert command(["diagnose", "rank-0.log"]) in (0, 1)
    told = capsys.readouterr()
    assert f"rule slow-one in {folder / 'own.yaml'} took too long" in told.err


def test_pipes_in_the_place_of_rules_are_refused(tmp_path: Path) -> None:
    place = _rules(tmp_path, "rules: []\n")
    os.mkfifo(place / "pipe.yaml")
    rules, problems = load_rules([tmp_path])
    assert rules and [str(each.file) for each in problems] == [str(place / "pipe.yaml")]
    assert "not a regular file" in str(problems[0])


@pytest.mark.slow
def test_a_project_with_slow_rules_hides_no_cause_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its runs are the newest, and each takes longer than all the time that there is."""
    event = Event(title="E", teams=[Team(name="evil"), Team(name="good")])
    for number in (1, 2, 3):
        run = one_run(tmp_path / "evil", "FAILED", number)
        (run / "logs" / "rank-0.log").write_text(LOG)
    good = one_run(tmp_path / "good", "FAILED", 0)
    (good / "logs" / "rank-0.log").write_text(LOG.splitlines()[0] + "\n")
    asked: list[str] = []

    class Slow(gathering.Examiner):
        """Takes for ever for one team, as a log or a rule of it may bring about."""

        def cause(self, run, *values, timeout=None, **options):  # type: ignore[no-untyped-def]
            asked.append(run.parent.parent.name)
            if "evil" in asked[-1]:
                clock[0] += timeout
                return None
            return super().cause(run, *values, **options)

    clock = [0.0]
    monkeypatch.setattr(gathering, "Examiner", Slow)
    monkeypatch.setattr(gathering, "time", type("Clock", (), {"monotonic": lambda: clock[0], "time": lambda: 0.0}))
    found = gathering.gather(tmp_path, event, ask=False, index=tmp_path / "private" / "index.sqlite3")
    assert {run.team: run.part for run in found.summaries} == {"evil": "", "good": "gpu"}
    assert asked[:2] in (["evil", "good"], ["good", "evil"])
    assert any(str(tmp_path / "evil") in problem for problem in found.problems)
