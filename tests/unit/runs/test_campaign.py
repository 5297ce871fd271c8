"""The engine of every submission: what is planned, what a study holds, and what older studies still mean."""

import contextlib
import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hackathon.cli.main import run
from hackathon.jobs.grid import grid, read_axes
from hackathon.jobs.plan import Plan
from hackathon.jobs.render import render
from hackathon.jobs.request import Options
from hackathon.jobs.sources import find_sources
from hackathon.runs.campaign import begin, plan, request_of, resubmit, resume, start, start_in_turn
from hackathon.runs.create import create
from hackathon.runs.directory import find_runs
from hackathon.runs.doctor import trial_launcher
from hackathon.runs.record import StudyPoint
from hackathon.runs.status import status
from hackathon.runs.study import Point, Study, find_studies, runs_of
from hackathon.scaling.collect import study_results
from hackathon.schedulers import registry
from hackathon.schedulers.base import SchedulerError, Submission
from hackathon.text.errors import RequestError
from support.paths import SAMPLES
from support.profiles import visible_everywhere
from support.runs import FakeScheduler, write_event

PROJECT = {
    "name": "toy",
    "command": "python train.py --lr {lr}",
    "cluster": "laptop",
    "parameters": {"lr": {"default": 0.1, "type": "float"}},
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "project.yaml").write_text(json.dumps(PROJECT))
    (folder / "train.py").write_text("print('hello')\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeScheduler:
    made = FakeScheduler(tmp_path / "spool")
    monkeypatch.setattr(registry, "load", lambda name, dialect=None: made)
    return made


def planned(vary: Sequence[str], counts: Sequence[int], repeat: int = 1, **more: Any) -> Plan:
    sources = find_sources(None, Options())
    return plan(sources, grid(sources, read_axes(vary, sources), counts, "weak", repeat), repeat=repeat, **more)


def waits_of(scheduler: FakeScheduler, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str] | None]:
    """Return a list that fills with what the scheduler is told to wait for."""
    waits: list[tuple[str, str] | None] = []
    plain = scheduler.submit_argv

    def submit_argv(submission: Submission) -> list[str]:
        waits.append(submission.after)
        return plain(submission)

    monkeypatch.setattr(scheduler, "submit_argv", submit_argv)
    return waits


def test_a_plan_holds_scripts_and_the_cost_of_all(project: Path) -> None:
    made = planned(["lr=0.1,0.2"], [1, 2], 3)
    assert len(made.jobs) == 4 and len(made.requests) == made.cost.jobs == 12
    for job in made.jobs:
        assert job.script == render(job.request, made.sources.cluster, made.sources.template_folders)
    assert not (project / "runs").exists() and not (project / "studies").exists()


def test_what_refuses_a_plan_sees_all_of_it_and_nothing_is_made(project: Path, scheduler: FakeScheduler) -> None:
    seen: list[int] = []

    def refuse(whole: Plan) -> None:
        seen.append(whole.cost.jobs)
        raise RequestError("usage.refused_small", text="spent")

    with pytest.raises(RequestError):
        planned(["lr=0.1,0.2", "env.X=1,2"], [1, 2], 2, admit=refuse)
    assert seen == [16]
    assert sorted(path.name for path in project.iterdir()) == ["project.yaml", "train.py"]
    assert not list((scheduler.spool / "jobs").iterdir())


def test_a_budget_refuses_a_whole_grid_before_anything_is_submitted(
    project: Path, scheduler: FakeScheduler, capsys: pytest.CaptureFixture[str]
) -> None:
    event = {"title": "t", "teams": [{"name": "aurora"}], "when_spent": "refuse",
             "clusters": {"laptop": {"budget": {"node_hours": 1.0}}}}  # fmt: skip
    (project.parent / "hackathon.yaml").write_text(json.dumps(event))
    (project / "project.yaml").write_text(json.dumps({**PROJECT, "team": "aurora"}))
    # a point takes ten minutes of one node at most: four fit into the hour, eight do not
    assert run(["scale", "--processes", "1,2", "--vary", "lr=0.1,0.2", "--dry-run"]) == 0
    assert run(["scale", "--processes", "1,2", "--vary", "lr=0.1,0.2", "--vary", "env.X=1,2"]) == 2
    assert "1.33" in capsys.readouterr().err
    assert not (project / "runs").exists() and not (project / "studies").exists()
    assert not list((scheduler.spool / "jobs").iterdir())


def test_a_budget_refuses_the_job_of_doctor(
    project: Path, scheduler: FakeScheduler, capsys: pytest.CaptureFixture[str]
) -> None:
    event = {"title": "t", "teams": [{"name": "aurora"}], "when_spent": "refuse",
             "clusters": {"laptop": {"budget": {"node_hours": 0.01}}}}  # fmt: skip
    (project.parent / "hackathon.yaml").write_text(json.dumps(event))
    (project / "project.yaml").write_text(json.dumps({**PROJECT, "team": "aurora"}))
    assert run(["doctor", "--job"]) == 2
    assert "0.01" in capsys.readouterr().err
    assert not (project / "runs").exists() and not list((scheduler.spool / "jobs").iterdir())


def test_the_job_of_doctor_runs_where_the_project_s_jobs_run(
    project: Path, scheduler: FakeScheduler, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its queue, group, memory and header, but not its program or its number of processes."""
    visible_everywhere("reedbush-h")
    place = {"cluster": "reedbush-h", "queue": "h-short", "group": "gi99", "memory": "8 GiB", "nodes": 4}
    (project / "project.yaml").write_text(json.dumps({**PROJECT, **place, "directives": ["-m n"]}))
    monkeypatch.setattr("hackathon.runs.doctor.scheduler_of", lambda cluster: scheduler)
    monkeypatch.setattr("hackathon.runs.doctor.LONGEST_START", 0.0)
    run(["doctor", "--job", "--walltime", "60s"])
    (made,) = find_runs(project / "runs")
    header = [line for line in (made.path / "job.sh").read_text().splitlines() if line.startswith("#PBS")]
    assert {"#PBS -q h-short", "#PBS -W group_list=gi99", "#PBS -m n"} <= set(header)
    assert any(line.startswith("#PBS -l select=2:") and line.endswith(":mem=8192mb") for line in header)
    assert made.request().command == ("hostname",)


@pytest.mark.parametrize("name", [cluster.name for cluster in registry.list_clusters([])[0]])
def test_the_job_of_doctor_uses_a_launcher_that_the_cluster_offers(name: str) -> None:
    """Polaris has torchrun alone, and `local` would start nothing on a second node."""
    cluster = registry.load_cluster(name)
    launcher = trial_launcher(cluster)
    assert launcher in cluster.launchers
    assert (launcher == "local") == (cluster.starter == "local")
    assert launcher != "torchrun" or set(cluster.launchers) <= {"torchrun", "local"}


def test_the_job_of_doctor_is_not_refused_on_a_cluster_with_torchrun_alone(
    project: Path, scheduler: FakeScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "project.yaml").write_text(json.dumps({**PROJECT, "cluster": "polaris", "group": "catalyst"}))
    monkeypatch.setattr("hackathon.runs.doctor.scheduler_of", lambda cluster: scheduler)
    monkeypatch.setattr("hackathon.runs.doctor.LONGEST_START", 0.0)
    run(["doctor", "--job", "--walltime", "60s"])
    (made,) = find_runs(project / "runs")
    request = made.request()
    assert (request.cluster, request.launcher, request.nodes) == ("polaris", "torchrun", 2)


def test_what_waits_for_the_success_of_a_failed_run_is_refused(
    project: Path, scheduler: FakeScheduler, capsys: pytest.CaptureFixture[str]
) -> None:
    start(planned([], [1]))
    (first,) = find_runs(project / "runs")
    assert run(["submit", "--after", f"ok:{first.id}"]) == 0, "it may still succeed"
    write_event(first, {"t": time.time(), "event": "started", "attempt": 1, "host": "a"})
    write_event(first, {"t": time.time(), "event": "ended", "attempt": 1, "exit_code": 1})
    scheduler.say("1", "FAILED")
    capsys.readouterr()
    for words in (["--after", first.id], ["--after", f"ok:{first.id}", "--dry-run"]):
        assert run(["submit", *words]) == 2
        assert f"run {first.id[-8:]} has not succeeded (FAILED)" in capsys.readouterr().err
    assert len(scheduler.jobs()) == 2 == len(find_runs(project / "runs"))
    assert run(["submit", "--after", f"any:{first.id}"]) == 0


def test_every_point_of_a_grid_is_submitted_once_and_few_at_a_time(project: Path, scheduler: FakeScheduler) -> None:
    campaign = begin(planned(["lr=0.2,0.1", "env.X=a"], [1, 2], 2), note="n", tags=["t"])
    study = campaign.study
    assert study.record()["schema_version"] == 2
    assert [(point.settings["lr"], point.processes, point.repeat) for point in study.points()] == [
        (0.2, 1, 1), (0.2, 1, 2), (0.2, 2, 1), (0.2, 2, 2), (0.1, 1, 1), (0.1, 1, 2), (0.1, 2, 1), (0.1, 2, 2),
    ]  # fmt: skip
    assert len({point.name for point in study.points()}) == 8
    assert len(campaign.advance(3)) == 3 and len(runs_of(study)) == 3
    assert campaign.advance(3) == []
    assert len(campaign.advance()) == 5
    assert campaign.advance() == [] and campaign.rest(status(runs_of(study))).jobs == ()
    for made, point in zip(runs_of(study), study.points(), strict=True):
        assert made.record().raw["study"] == point.to_json(study.id)
        request = made.request()
        assert (request.processes, request.variables["X"]) == (point.processes, "a")
        assert request.parameters["lr"] == point.settings["lr"] and request == request_of(study, point)
        assert (made.note, made.tags) == ("n", ("t",))


def test_the_status_of_a_study_names_the_settings(
    project: Path, scheduler: FakeScheduler, capsys: pytest.CaptureFixture[str]
) -> None:
    study = begin(planned(["lr=0.2,0.1"], [1])).study
    assert run(["scale", "--resume", study.id]) == 0
    broken = runs_of(study)[0]
    write_event(broken, {"t": time.time(), "event": "started", "attempt": 1})
    write_event(broken, {"t": time.time(), "event": "ended", "attempt": 1, "exit_code": 3})
    capsys.readouterr()
    assert run(["status", study.id]) == 0
    said = capsys.readouterr().out
    assert said.count("lr=0.2") == said.count("lr=0.1") == 1 and "FAILED" in said, said


def test_a_dry_run_of_a_resumed_study_submits_nothing(
    project: Path, scheduler: FakeScheduler, capsys: pytest.CaptureFixture[str]
) -> None:
    study = begin(planned([], [1, 2])).study
    assert run(["scale", "--resume", study.id, "--dry-run"]) == 0
    assert "2 jobs" in capsys.readouterr().err and not runs_of(study) and not scheduler.jobs()
    assert run(["scale", "--resume", study.id, "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["processes"] for each in told["points"]] == [1, 2] and told["cost"]["jobs"] == 2
    assert run(["scale", "--resume", study.id]) == 0 and len(runs_of(study)) == 2
    capsys.readouterr()
    assert run(["scale", "--resume", study.id, "--dry-run"]) == 0
    assert "0 jobs" in capsys.readouterr().err and len(scheduler.jobs()) == 2


@pytest.mark.parametrize(
    "words",
    [("--processes", "1"), ("-p", "lr=0.3"), ("--walltime", "60s"), ("--cluster", "laptop"), ("--in-place",),
     ("--repeat", "2"), ("--note", "x"), ("--tag", "x"), ("--mode", "strong"), ("--vary", "lr=1")],
)  # fmt: skip
def test_a_resumed_study_takes_no_other_plan(
    project: Path, scheduler: FakeScheduler, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    study = begin(planned([], [1, 2])).study
    assert run(["scale", "--resume", study.id, *words]) == 2
    assert "--resume" in capsys.readouterr().err and not runs_of(study) and not scheduler.jobs()
    assert run(["scale", "--resume", study.id, "--no-project", "--force", "--max-queued", "1", "--mode", "weak"]) == 0
    assert len(runs_of(study)) == 1


def test_a_dry_run_of_what_is_submitted_again_submits_nothing(
    project: Path, scheduler: FakeScheduler, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HACKATHON_WALLTIME", "120")
    job = planned([], [1]).jobs[0]
    made = create(job.request, job.script, runs_folder=project / "runs")
    capsys.readouterr()
    assert run(["submit", "--again", made.id, "--dry-run"]) == 0
    assert capsys.readouterr().out == job.script.job
    for words in (["--walltime", "60s"], ["-p", "lr=1"], ["--note", "x"], ["--segments", "2"], ["--after", made.id],
                  ["--in-place"], ["--preflight"], ["toy"]):  # fmt: skip
        assert run(["submit", "--again", made.id, *words]) == 2
        assert "--again submits a run as it was made" in capsys.readouterr().err
    assert not scheduler.jobs() and not made.submitting()[0]
    waited: list[str] = []
    monkeypatch.setattr("hackathon.cli.run.wait.wait", lambda runs: waited.extend(each.id for each in runs) or [])
    assert run(["submit", "--again", made.id, "--wait", "--trust", "--json"]) == 0
    assert len(scheduler.jobs()) == 1 and waited == [made.id]
    capsys.readouterr()
    assert run(["submit", "--again", made.id, "--dry-run"]) == 2, "it was submitted"
    assert not capsys.readouterr().out


@pytest.mark.parametrize("kind", ["one", "repeated", "chain", "preflight"])
def test_what_was_refused_waits_all_the_same_when_it_is_submitted_again(
    project: Path, scheduler: FakeScheduler, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    waits = waits_of(scheduler, monkeypatch)
    whole = plan(find_sources(None, Options()), repeat=2 if kind == "repeated" else 1, preflight=kind == "preflight")
    (scheduler.spool / "refuse").write_text("no")
    with contextlib.suppress(SchedulerError):  # a preflight's is raised at once
        start(whole, after=("any", "7"), segments=2 if kind == "chain" else 1)
    (scheduler.spool / "refuse").unlink()
    waits.clear()
    made = find_runs(project / "runs")[::-1]
    assert len(made) == (2 if kind in ("repeated", "chain") else 1)
    for each in made:
        assert resubmit(each).failure is None
    wanted = [("any", "7")] if kind != "chain" else [("any", "7"), ("any", str(made[0].job_id()))]
    assert list(dict.fromkeys(waits)) == wanted


def test_a_resumed_grid_submits_what_was_meant_then(project: Path, scheduler: FakeScheduler) -> None:
    first = begin(planned(["lr=0.2,0.1"], [1]))
    assert len(first.advance(1)) == 1
    (project / "project.yaml").write_text(json.dumps({**PROJECT, "walltime": "60s"}))
    again = resume("", None, Options(), project)
    assert again.study == first.study
    rest = again.rest(status(runs_of(again.study)))
    assert [job.settings for job in rest.jobs] == [{"lr": 0.1}]
    assert len(again.advance()) == 1
    assert [run.request().walltime for run in runs_of(again.study)] == [600, 600]


def test_jobs_in_turn_wait_for_the_one_before(
    project: Path, scheduler: FakeScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = waits_of(scheduler, monkeypatch)
    outcomes = start_in_turn(planned([], [1, 2, 4]), tags=["measure"])
    assert [outcome.run.request().processes for outcome in outcomes] == [1, 2, 4]
    first, second, _ = (str(outcome.job_id) for outcome in outcomes)
    assert list(dict.fromkeys(waits)) == [None, ("any", first), ("any", second)]


def test_after_a_failure_no_further_job_of_a_turn_is_begun(project: Path, scheduler: FakeScheduler) -> None:
    (scheduler.spool / "refuse").write_text("no")
    outcomes = start_in_turn(planned([], [1, 2]))
    assert outcomes.failure is not None and outcomes.failure.id == "schedulers.over_limit"
    assert [outcome.job_id for outcome in outcomes] == [None] and len(find_runs(project / "runs")) == 1


def test_repeats_of_one_job_share_its_program(project: Path, scheduler: FakeScheduler) -> None:
    sources = find_sources(None, Options())
    outcomes = start(plan(sources, repeat=2), parent="p", facts={"origin": {"kind": "run"}})
    assert len(outcomes) == 2 and outcomes.failure is None
    for outcome in outcomes:
        assert outcome.run.parent == "p" and outcome.run.client("origin") == {"kind": "run"}


# ---- studies that an older toolkit made


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study of sizes, recorded with the toolkit before points had settings: two of its four points are submitted."""
    folder = tmp_path / "toy"
    shutil.copytree(SAMPLES / "studies" / "by_process_count", folder)
    monkeypatch.chdir(folder)
    return folder


def test_an_old_study_is_read_as_it_was(old: Path) -> None:
    (study,) = find_studies(old)
    assert study.points() == [Point(1, 1), Point(1, 2), Point(2, 1), Point(2, 2)]
    assert [point.name for point in study.points()] == ["1-1", "1-2", "2-1", "2-2"]
    assert [run.study for run in runs_of(study)] == [StudyPoint(study.id, 1, 1), StudyPoint(study.id, 1, 2)]
    found = study_results(study, status(runs_of(study), ask=False))
    then = json.loads((old / "results.json").read_text())
    for point in then["points"]:  # this toolkit asks whether they may be believed, and where the time of a step goes
        point |= {"doubts": [], "shares": None, "metric_source": "pattern"}
        point["runs"] = [{**run, "doubts": [], "shares": None, "metric_source": "pattern"} for run in point["runs"]]
    assert {name: found[name] for name in then} == then
    assert set(found) - set(then) == {"series", "metrics_from", "source"}
    names = ("base_processes", "points", "checks", "fit")
    assert found["series"] == [{"settings": {}, **{name: then[name] for name in names}}]


def test_an_old_study_is_resumed(old: Path, scheduler: FakeScheduler) -> None:
    before = {run.id for run in find_runs(old / "runs")}
    campaign = resume("", None, Options(), old)
    assert [job.request.processes for job in campaign.rest(status(runs_of(campaign.study), ask=False)).jobs] == [2, 2]
    outcomes = campaign.advance()
    assert len(outcomes) == 2 and outcomes.failure is None
    assert sorted(path.name for path in (campaign.study.path / "points").iterdir()) == ["1-1", "1-2", "2-1", "2-2"]
    fresh = [run for run in find_runs(old / "runs") if run.id not in before]
    assert sorted((run.record().raw["study"] for run in fresh), key=lambda point: point["repeat"]) == [
        {"id": campaign.study.id, "processes": 2, "repeat": 1}, {"id": campaign.study.id, "processes": 2, "repeat": 2},
    ]  # fmt: skip
    assert campaign.advance() == []


@pytest.mark.parametrize("key", ["../1", "1-1", "1-XYZ", "", "1/2", "1-12345678x"])
def test_the_key_of_a_point_is_never_a_path(old: Path, key: str) -> None:
    (study,) = find_studies(old)
    record = json.loads((study.path / "study.json").read_text())
    record["points"][0]["key"] = key
    (study.path / "study.json").write_text(json.dumps(record))
    if key == "":
        assert Study(study.path).points()[0].name == "1-1"
        return
    with pytest.raises(RequestError):
        Study(study.path).points()
