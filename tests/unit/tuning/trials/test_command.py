"""`hackathon tune` up to the first job: wrong requests end with 2 and say what to do; nothing is submitted."""

import json
import sys
from pathlib import Path

import pytest

from hackathon.cli.main import run
from hackathon.runs.study import TUNE, Point, Study, add_trial, create_study
from hackathon.text.errors import RequestError
from hackathon.tuning.trials.ledger import plan_of, trials_of
from hackathon.tuning.trials.objective import AFTER, Objective
from hackathon.tuning.trials.plan import TuningPlan
from hackathon.tuning.trials.result import as_json
from hackathon.tuning.trials.space import LOG, Dimension
from support.runs import project, request
from support.tuning_study import RecordedTrial, recorded_study

PROJECT = """
name: toy
command: python train.py --lr {lr} --batch {batch}
cluster: laptop
walltime: 600s
parameters: {lr: {default: 0.1, type: float}, batch: {default: 8, type: int}}
metrics: {accuracy: {pattern: 'accuracy ([0-9.]+)'}}
"""
GOOD = ("--space", "lr=log:1e-3:1", "--objective", "accuracy@2min", "--sampler", "random")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "project.yaml").write_text(PROJECT)
    (tmp_path / "train.py").write_text("")
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int) -> str:
    assert run(["tune", *words]) == code
    return " ".join(capsys.readouterr().err.split())


def test_a_dry_run_shows_what_it_would_do(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, *GOOD, "--dry-run", code=0)
    assert "maximise accuracy@120s over lr=log:0.001:1.0" in text and "at most 30 jobs" in text
    assert "walltime 00:07:00" in text and not (folder / "studies").exists() and not (folder / "runs").exists()
    text = said(capsys, *GOOD, "--dry-run", "--minimise", "--trials", "3", "--walltime", "180s", code=0)
    assert "minimise" in text and "at most 3 jobs" in text and "00:03:00" in text
    text = said(capsys, *GOOD[:4], "--sampler", "grid", "--space", "batch=1,2", "--dry-run", code=0)
    assert "at most 10 jobs" in text


def test_a_metric_that_the_project_declares_as_a_time_is_minimised(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declared = "step_time: {pattern: 'step_time ([0-9.]+)', unit: s}"
    (folder / "project.yaml").write_text(PROJECT.replace("metrics: {", f"metrics: {{{declared}, "))
    words = [word.replace("accuracy", "step_time") for word in GOOD]
    assert "minimise step_time@120s" in said(capsys, *words, "--dry-run", code=0)
    assert "maximise step_time@120s" in said(capsys, *words, "--dry-run", "--maximise", code=0)
    assert "maximise accuracy@120s" in said(capsys, *GOOD, "--dry-run", code=0)


@pytest.mark.parametrize(
    ("words", "reason", "remedy"),
    [
        ((), "--objective is missing", "time-to:accuracy:0.95"),
        (("--objective", "accuracy"), "--space is missing", "lr, batch"),
        ((*GOOD, "--space", "batch=lin:1:2"), "whole numbers", "batch=int:1:2"),
        ((*GOOD, "-p", "lr=1"), "in --space and in -p", ""),
        ((*GOOD, "--walltime", "60s"), "ends before", "Leave --walltime out"),
        ((*GOOD, "--tokens", "5"), "no price in tokens", "--trials 20"),
        (("--resume", "--objective", "loss"), "own space and objective", "Leave out"),
        (("--resume",), "no tuning study", ""),
        (("--resume", "--stopper", "none"), "--stopper: fixed when the tuning began", "--concurrent"),
        (("--resume", "-p", "lr=1"), "fixed when the tuning began", "--concurrent"),
        ((*GOOD, "--delta", "0.9"), "--delta", ""),
        ((*GOOD, "--stopper", "x"), "--stopper", ""),
    ],
)  # fmt: skip
def test_wrong_requests_end_with_two(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], reason: str, remedy: str
) -> None:
    text = said(capsys, *words, code=2)
    assert reason in text and remedy in text and not (folder / "studies").exists()


def test_a_program_with_errors_is_not_started(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "train.py").unlink()
    text = said(capsys, *GOOD, "--yes", code=2)
    assert "not submitted: the program has 1 error" in text and "--force" in text
    assert "train.py, which does not exist" in text and not (folder / "studies").exists()
    assert "at most 30 jobs" in said(capsys, *GOOD, "--dry-run", code=0), "a dry run shows it all the same"


def test_inside_an_allocation_trials_share_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = (*GOOD, "--inside-allocation", "--dry-run")
    for name, value in {"JOB_ID": "17", "JOB_NUM_NODES": "2", "JOB_CPUS_PER_NODE": "8(x2)"}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    assert "a step of Slurm job 17 (2 nodes) with 4 cores and 0 GPUs" in said(capsys, *here, code=0)
    assert "1 core and" in said(capsys, *here, "--concurrent", "16", code=0)
    assert "--concurrent 16" in said(capsys, *here, "--concurrent", "17", code=2)
    assert "nothing beyond it" in said(capsys, *here, "--tokens", "3", code=2)


def test_a_former_study_is_told_and_can_be_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = TuningPlan((Dimension("lr", LOG, 1e-2, 4.0),), Objective(AFTER, "accuracy", True, 120.0), "random")
    trials = [RecordedTrial({"lr": lr}, (0.1, value)) for lr, value in ((2.0, 0.9), (0.1, 0.8))]
    study = recorded_study(folder, plan, trials, name="toy", cluster="laptop", parameters={"lr": 0.1, "batch": 8})
    text = said(capsys, *GOOD, "--dry-run", code=0)
    assert f"warm start: 1 configuration and 2 curves of former studies ({study.id[-8:]})" in text
    assert (
        "tried first: lr=0.1" in text
        and "1 of their best configurations lies outside the space and is left out" in text
    )
    assert "warm start" not in said(capsys, *GOOD, "--dry-run", "--no-warm-start", code=0)


def test_a_resumed_tuning_counts_what_it_used_once_and_a_dry_run_adds_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "templates" / "clusters").mkdir(parents=True)
    priced = {"name": "lab", "scheduler": "slurm", "node": {"cores": 4}, "rates": {"per_node_hour": 1.0}}
    (folder / "templates" / "clusters" / "lab.yaml").write_text(json.dumps(priced))
    wanted = Objective(AFTER, "accuracy", True, 120.0)
    plan = TuningPlan((Dimension("lr", LOG, 1e-3, 1.0),), wanted, "random", trials=None, tokens=3.0)
    hour = [0.5] * 359  # a trial of an hour costs one token
    trials = [RecordedTrial({"lr": lr}, hour) for lr in (0.5, 0.1)]
    study = recorded_study(folder, plan, trials, name="toy", cluster="lab", parameters={"lr": 0.1, "batch": 8})
    assert "at most 1 job," in said(capsys, "--resume", study.id, "--dry-run", code=0)
    assert "at most 2 jobs," in said(capsys, "--resume", study.id, "--dry-run", "--tokens", "4", code=0)
    assert "at most 1 job," in said(capsys, "--resume", study.id, "--dry-run", "--tokens", "9", "--trials", "3", code=0)
    assert len(Study(study.path).trials()) == len(list((folder / "runs").iterdir())) == 2
    capsys.readouterr()
    assert run(["results", study.id, "--format", "csv"]) == 2  # it has no table of sizes
    shown = capsys.readouterr()
    assert "not for single runs or tunings" in shown.err and not shown.out
    assert run(["results", study.id, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["study"] == study.id


def test_without_optuna_nothing_begins(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    text = said(capsys, *GOOD[:4], "--yes", code=2)
    assert "pip install optuna" in text and "wheelhouse" in text and "--sampler random" in text
    assert not (folder / "studies").exists()


def test_the_schema_describes_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "tune"]) == 0
    schema = json.loads(capsys.readouterr().out)
    plan = TuningPlan((Dimension("lr", LOG, 0.1, 1.0),), Objective("end", "loss", False), "random")
    assert set(as_json("s", plan, [])) == set(schema["properties"]) == set(schema["required"])


def test_the_command_offers_what_there_is() -> None:
    from hackathon.cli.speed import tune
    from hackathon.tuning.trials.plan import SAMPLERS
    from hackathon.tuning.trials.stopping import DELTA, RULES

    assert tune.SAMPLERS == SAMPLERS and tuple(RULES) == tune.STOPPERS
    assert next(each.default for each in tune.command.params if each.name == "delta") == DELTA


def test_one_of_two_gets_a_number_and_broken_trials_are_passed_over(tmp_path: Path) -> None:
    base = request(project(tmp_path))
    study = create_study(
        tmp_path,
        "t",
        mode="",
        metric="loss",
        unit="",
        points=(),
        base_request=base,
        options={"requests": {}},
        kind=TUNE,
    )
    point = Point(1, 1, key="1-0123abcd", settings={"lr": 0.5})
    assert add_trial(study, 1, point, base, {"sampler": "grid"})
    assert not add_trial(Study(study.path), 1, point, base, {"sampler": "grid"})
    (study.path / "trials" / "00002.json").write_text("")  # it is being written
    (study.path / "trials" / "note.json").write_text("{}")
    again = Study(study.path)
    assert list(again.trials()) == [1, 2] and again.points() == [point] and again.requested(point) == base
    (study.path / "trials" / "00002.json").write_text(json.dumps({"processes": 1, "settings": {"lr": 0.7}}))
    plan = TuningPlan((Dimension("lr", LOG, 0.1, 1.0),), Objective("end", "loss", False), "random")
    known = trials_of(Study(study.path), plan, [], None)
    assert [(each.number, each.progress.state) for each in known] == [(1, "waiting"), (2, "waiting")]
    (study.path / "trials" / "00002.json").write_text(json.dumps({"processes": 1, "key": "../x"}))
    with pytest.raises(RequestError):
        Study(study.path).points()
    with pytest.raises(RequestError):
        plan_of(study)
