"""The main way over every back-end: a real Slurm and Grid Engine, stand-ins of others, and no scheduler at all.

Each test speaks to the command line as a person does and reads the run's folder as a person can.
"""

import fcntl
import json
import os
import time
from pathlib import Path

import pytest

from support.backends import FIRST, GRID_ENGINE, LONG, SLURM, WITH_SITES, Backend, KumoBackend, Run, Site, names, until
from support.trouble import later, refused_to_wait

everywhere = pytest.mark.parametrize("backend", WITH_SITES, indirect=True)
# what differs from one scheduler to the next, but not between a scheduler and a site's own commands for it
dialects = pytest.mark.parametrize("backend", names("pjm", "nqsv", "kubernetes"), indirect=True)
# what is of the toolkit's own making, with the real schedulers for what they make of it
real = pytest.mark.parametrize("backend", [*FIRST, GRID_ENGINE], indirect=True)
# what the job script and the toolkit do by themselves: a further dialect would run the same lines once more
once = pytest.mark.parametrize("backend", FIRST, indirect=True)
# what the toolkit does alone, whatever the scheduler
local = pytest.mark.parametrize("backend", ["local"], indirect=True)
METRICS = {
    "samples_per_s": {"pattern": "throughput: ([0-9.]+)", "unit": "samples/s", "reduce": "median", "skip_first": 1},
    "accuracy": {"pattern": "test accuracy ([0-9.]+)"},
}
HOSTILE = [
    "two words",
    'it\'s "quoted"',
    "$(touch pwned) `touch pwned`",
    "; touch pwned #",
    "line\nbreak\\n",
    "日本語 ${HOME}",
    "*",
    "-n",
    "{x} %j %s \\",
]


@pytest.fixture
def site(backend: Backend, tmp_path: Path) -> Site:
    """A project `small` whose job measures something."""
    made = Site(backend, tmp_path / "project", walltime="600s")
    made.write_project("python program.py measure", metrics=METRICS)
    return made


def pwned(folder: Path) -> list[str]:
    """Return the traces of shell words in a folder from which a scheduler may be taking what a job has left there."""
    return [name for _, folders, files in os.walk(folder) for name in (*folders, *files) if name.startswith("pwned")]


def released(run: Run, site: Site) -> None:
    (run.path / "release").touch()
    if not site.backend.waits:
        site.backend.keep_waiting(wait=False)


def unlocked(run: Run) -> bool:
    """Return whether the process that held the run's lock is gone."""
    with (run.path / "lock").open("r+") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def blocker(site: Site, command: str = "python program.py hold") -> tuple[Site, Run]:
    """Return another project with a running job, which ends when it is released."""
    other = Site(site.backend, site.folder.parent / "blocker")
    other.write_project(command, walltime="600s")
    run = other.submit()
    run.written("holding")
    return other, run


def behind(site: Site, run: Run) -> list[str]:
    """Return the options of a job that waits for a run of another project: its path is its name."""
    if not site.backend.waits:
        site.backend.keep_waiting(wait=True)
        return []
    target = site.folder / "runs" / run.id
    target.parent.mkdir(exist_ok=True)
    target.symlink_to(run.path)
    return ["--after", f"any:{run.id}"]


def refuses_to_wait(site: Site) -> None:
    """Nothing is submitted where one job cannot wait for another."""
    first = site.submit()
    for words in (("--after", f"ok:{first.id}"), ("--after", f"any:{first.id}"), ("--segments", "2")):
        site.run("submit", *words, code=2)
    first.await_end()
    assert [path.name for path in (site.folder / "runs").glob("2*")] == [first.id]


def missed_for_a_minute(site: Site, run: Run) -> None:
    """Let a minute pass after the first answer that lacks a job: the second one is believed."""
    seen = run.path / "client" / "seen.json"

    def missed() -> bool:
        later()
        site.state(run)
        return "absent_since" in json.loads(seen.read_text())

    until(missed, "an answer without the job")
    kept = json.loads(seen.read_text())
    seen.write_text(json.dumps({**kept, "absent_since": kept["absent_since"] - 61}))
    later()


@everywhere
def test_from_submit_to_a_sealed_success(site: Site) -> None:
    run = site.submit("--note", "first", "--tag", "night")
    assert run.await_end()["exit_code"] == 0
    found = site.state(run)
    assert (found["state"], found["job_id"], found["exit_code"]) == ("SUCCEEDED", run.job_id, 0)
    assert [each["event"] for each in run.job_events if each["event"] != "ranks_started"] == ["started", "ended"]
    assert run.job_events[0]["job_id"] == run.job_id == (run.path / "claim" / "job_id").read_text().strip()
    assert [each["event"] for each in run.rank_events(0)] == ["started", "ended"]
    assert run.rank_events(0)[-1]["log_bytes"] == (run.path / "logs" / "rank-0.log").stat().st_size > 0
    assert "test accuracy 0.975" in run.log() and "ended with 0" in run.log("job")
    final = json.loads((run.path / "final.json").read_text())
    # the job may begin before the command that submitted it has the scheduler's answer
    assert final["state"] == "SUCCEEDED" and final["t_created"] <= final["t_started"] <= final["t_ended"]
    assert final["t_created"] <= final["t_submitted"]
    assert b"test accuracy 0.975" in site.run("logs", run.id[-8:])
    record = json.loads((run.path / "request.json").read_text())
    assert (record["note"], record["tags"]) == ("first", ["night"])


@pytest.mark.slow
@local
def test_cancel_without_a_name_tells_what_could_be_meant(site: Site) -> None:
    told = site.start("cancel")
    assert b"nothing to cancel" in told.communicate(timeout=LONG)[1] and told.returncode == 2
    site.write_project("python program.py hold")
    run = site.submit()
    run.written("holding")
    told = site.start("cancel")  # nobody is there to be asked
    assert f"hackathon cancel {run.id[-8:]}".encode() in told.communicate(timeout=LONG)[1] and told.returncode == 2
    assert site.state(run)["state"] == "RUNNING"
    released(run, site)
    assert run.await_end()["exit_code"] == 0


@everywhere
def test_exit_code_makes_it_failed(site: Site) -> None:
    site.write_project("python program.py leave 3")
    run = site.submit()
    assert run.await_end()["exit_code"] == 3
    found = site.await_state(run, "FAILED")
    assert (found["exit_code"], found["cause"]) == (3, "exit")
    assert run.rank_events(0)[-1]["exit_code"] == 3


@pytest.mark.slow
@local
def test_waiting_for_a_failure_shows_its_log_and_exits_1(site: Site) -> None:
    site.write_project("python program.py leave 4")
    process = site.start("submit", "--wait")
    stderr = process.communicate(timeout=LONG)[1].decode()
    assert process.returncode == 1 and "about to leave" in stderr and "FAILED" in stderr
    # files that were looked for while the job ran, before they could be there, are no trouble
    assert "cannot be read at the moment" not in stderr


@everywhere
def test_cancel_a_queued_job_and_then_the_running_one(site: Site) -> None:
    """The program of the running one is told once, and has time."""
    other, running = blocker(site, "python program.py term 7")
    queued = site.submit(*behind(site, running))
    assert site.state(queued)["state"] in ("QUEUED", "HELD")
    site.run("cancel", queued.id)
    if not site.backend.remembers_all:
        missed_for_a_minute(site, queued)
    assert site.await_state(queued, "CANCELLED")["t_started"] is None
    if not site.backend.waits:
        site.backend.keep_waiting(wait=False)

    other.await_state(running, "RUNNING")
    assert not unlocked(running)
    other.run("cancel", running.id)
    if site.backend.warns:
        assert json.loads(running.written("told").read_text()) == [15]
    assert other.await_state(running, "CANCELLED")["cause"] == "cancelled"
    until(lambda: unlocked(running), "the program's end")
    assert (running.path / "told").exists() == site.backend.warns
    assert not queued.job_events and not (queued.path / "claim").exists()


@pytest.mark.parametrize("backend", names("pjm", "nqsv", "kubernetes", "kumo"), indirect=True)
def test_job_waits_for_the_one_before_it(site: Site) -> None:
    if not site.backend.waits:
        refuses_to_wait(site)
        return
    site.write_project("python program.py hold")
    first = site.submit()
    site.write_project("python program.py measure")
    second = site.submit("--after", f"{'ok' if site.backend.waits_for_success else 'any'}:{first.id}")
    first.written("holding")
    assert site.state(second)["state"] in ("QUEUED", "HELD")
    released(first, site)
    assert second.await_end()["exit_code"] == 0
    assert first.job_events[-1]["t"] <= second.job_events[0]["t"]


@pytest.mark.slow
@real
def test_job_after_a_failed_one_never_starts(site: Site) -> None:
    site.write_project("python program.py hold_and_leave 1")  # one that has failed is refused at once
    first = site.submit()
    if not site.backend.waits_for_success:
        refused_to_wait(site, "submit", "--after", f"ok:{first.id}")
        released(first, site)
        return
    second = site.submit("--after", f"ok:{first.id}")
    released(first, site)
    first.await_end()
    found = site.await_state(second, "CANCELLED", "FAILED", "QUEUED", "HELD")
    if found["state"] in ("QUEUED", "HELD"):  # Slurm leaves it in the queue: DependencyNeverSatisfied
        found = until(lambda: (now := site.state(second)) and (now["reason"] or now["state"] != "QUEUED") and now)
    assert found["state"] != "SUCCEEDED" and found["t_started"] is None
    assert not second.job_events


@real
def test_equal_jobs_are_what_is_rendered_and_one_question_tells_of_all(site: Site) -> None:
    runs = site.submit_all("--repeat", "3", "--walltime", "120s")
    assert len({run.id for run in runs}) == len({run.job_id for run in runs}) == 3
    for run in runs:
        run.await_end()
    rendered = site.run("render", "--walltime", "120s")
    assert {site.backend.submitted_script(run) for run in runs} == {rendered}
    assert {(run.path / "job.sh").read_bytes() for run in runs} == {rendered}
    files = json.loads(site.run("render", "--walltime", "120s", "--all", "--json"))["files"]
    assert {"job.sh", "hackathon.sh", "rank.sh"} <= set(files)
    for name in ("hackathon.sh", "rank.sh"):
        assert {(run.path / name).read_text() for run in runs} == {files[name]}
    text = site.run("status", runs[0].id[-8:], runs[1].id[-8:]).decode()
    assert text.count("SUCCEEDED") == 2 and all(run.id in text and run.job_id in text for run in runs[:2])
    states = {state["run_id"]: state for state in site.states()}
    assert {run.id: (states[run.id]["state"], states[run.id]["job_id"]) for run in runs} == {
        run.id: ("SUCCEEDED", run.job_id) for run in runs
    }
    began = time.time()
    site.run("status", "--no-ask", runs[0].id)
    assert all((run.path / "final.json").stat().st_mtime < began for run in runs)


@local
def test_rerun_submits_the_recorded_script_and_source(site: Site) -> None:
    first = site.submit("--note", "the one")
    first.await_end()
    (site.folder / "program.py").write_text("raise SystemExit('not this one')")
    site.write_profile(threads=2)
    site.run("rerun", first.id)
    path = next(path for path in (site.folder / "runs").glob("2*") if path.name != first.id)
    second = Run(path, "")
    assert second.await_end()["exit_code"] == 0
    for name in ("job.sh", "hackathon.sh", "rank.sh", "source/program.py"):
        assert (second.path / name).read_bytes() == (first.path / name).read_bytes()
    assert json.loads((second.path / "request.json").read_text())["parent"] == first.id


@dialects
def test_hostile_words_arrive_as_they_are(backend: Backend, tmp_path: Path) -> None:
    site = Site(backend, tmp_path / "日本 $(touch pwned) 'a' \"b\" %j ;&", walltime="600s")
    names = [f"p{number}" for number in range(len(HOSTILE))]
    declared = {name: {"default": "x", "type": "str"} for name in names}
    command = "python program.py arguments " + " ".join(f"{{{name}}}" for name in names)
    variables = {"HOSTILE": "it's $HK_NODES; touch pwned"}
    site.write_project(command, name="数字 $(touch pwned) `x` it's", parameters=declared, variables=variables)
    words = [word for name, value in zip(names, HOSTILE, strict=True) for word in ("-p", f"{name}={value}")]
    run = site.submit(*words, "--note", "$(touch pwned)\n'")
    assert run.await_end()["exit_code"] == 0, run.log("job")
    found = json.loads(run.written("arguments.json").read_text())
    assert found["words"] == HOSTILE
    assert found["variables"]["HOSTILE"] == "it's 1; touch pwned"  # a variable is shell text by contract
    assert found["folder"] == str((run.path / "source").resolve())
    assert site.state(run)["state"] == "SUCCEEDED"
    assert not pwned(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["pbs"], indirect=True)
def test_project_edited_while_its_job_is_queued(site: Site) -> None:
    _, first = blocker(site)
    site.write_project("python program.py version")
    run = site.submit(*behind(site, first))
    program = site.folder / "program.py"
    program.write_text(program.read_text().replace("as submitted", "edited"))
    released(first, site)
    assert run.await_end()["exit_code"] == 0
    assert json.loads((run.path / "version").read_text()) == "as submitted"
    assert not run.has("warned")


@pytest.mark.slow
@local
def test_edited_in_place_is_warned_of(site: Site) -> None:
    _, first = blocker(site)
    site.write_project("python program.py version")
    run = site.submit("--in-place", *behind(site, first))
    program = site.folder / "program.py"
    program.write_text(program.read_text().replace("as submitted", "edited"))
    released(first, site)
    assert run.await_end()["exit_code"] == 0
    assert json.loads((run.path / "version").read_text()) == "edited"
    assert [each["about"] for each in run.job_events if each["event"] == "warned"] == ["source"]


@pytest.mark.parametrize("backend", ["pbs"], indirect=True)
def test_in_place_and_unchanged_is_not_warned_of(site: Site) -> None:
    site.write_project("python program.py version")
    run = site.submit("--in-place")
    assert run.await_end()["exit_code"] == 0 and not run.has("warned")


@pytest.mark.slow
@real
def test_two_people_submit_the_same_run(site: Site) -> None:
    # a CLI that dies after it made the run's folder leaves a run that was never submitted
    site.run("submit", code=None, HACKATHON_FAULT="after-rename")
    path = next((site.folder / "runs").glob("2*"))
    both = [site.start("submit", "--again", path.name, "--json") for _ in range(4)]
    answers = [(*process.communicate(timeout=LONG), process.returncode) for process in both]
    good = [json.loads(stdout) for stdout, _, code in answers if code == 0]
    assert len(good) == 1, answers
    assert {code for _, _, code in answers} == {0, 2}
    run = Run(path, good[0]["runs"][0]["job_id"])
    assert run.await_end()["exit_code"] == 0
    assert site.backend.jobs_named(f"hk-{path.name[-8:]}") == [run.job_id]


@pytest.mark.slow
@real
def test_second_job_of_a_run_ends_at_once(site: Site) -> None:
    site.write_project("python program.py hold")
    run = site.submit()
    run.written("holding")
    until(lambda: run.has("ranks_started"))
    events = run.job_events
    assert site.backend.by_hand(run) == 75
    assert run.job_events == events and (run.path / "claim" / "job_id").read_text().strip() == run.job_id
    assert site.state(run)["state"] == "RUNNING"
    released(run, site)
    assert run.await_end()["exit_code"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["local", SLURM, GRID_ENGINE], indirect=True)
def test_folder_of_a_script_is_submitted_twice(site: Site) -> None:
    """By the scheduler's own command, from inside the folder: nothing of the first job is touched, both are adopted."""
    folder = site.folder.parent / "by hand $(touch pwned) it's"
    site.run("render", "--to", str(folder))
    assert [site.backend.by_hand(Run(folder, "")) for _ in range(2)] == [0, 0]
    jobs = {(path / "claim" / "job_id").read_text().strip(): Run(path, "") for path in (folder / "jobs").iterdir()}
    assert len(jobs) == 2
    for job in jobs.values():
        assert [(each["event"], each["attempt"]) for each in job.rank_events(0)] == [("started", 1), ("ended", 1)]
        assert job.log().count("test accuracy") == 1 and job.job_events[-1]["exit_code"] == 0
    for _ in jobs:
        site.run("adopt", str(folder))
    site.run("adopt", str(folder), code=2)
    assert {(each["job_id"], each["state"]) for each in site.states()} == {(job, "SUCCEEDED") for job in jobs}
    assert not pwned(site.folder.parent)


@pytest.mark.slow
@once
def test_term_to_the_script_reaches_the_program_once(site: Site) -> None:
    site.write_project("python program.py term 7")
    run = site.submit()
    run.written("holding")
    site.backend.signal_script(run)
    assert json.loads(run.written("told").read_text()) == [15]
    assert run.await_end()["signal"] == 15
    assert run.rank_events(0)[-1]["exit_code"] == 7
    assert site.await_state(run, "FAILED")


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["local", SLURM], indirect=True)
def test_stop_file_comes_before_the_walltime(site: Site) -> None:
    site.write_project("python program.py stop")
    run = site.submit("--walltime", "60s")
    assert run.await_end()["exit_code"] == 0
    found = json.loads((run.path / "stopped").read_text())
    # twelve seconds before the end, and the machine may be slow; the deadline is told in whole seconds
    assert found["stop"].strip() == found["deadline"] and found["t"] < float(found["deadline"]) + 1
    assert [each["about"] for each in run.job_events if each["event"] == "warned"] == ["stop"]


@pytest.mark.parametrize("backend", ["pbs"], indirect=True)
def test_what_is_not_utf8_does_no_harm(site: Site) -> None:
    site.write_project("python program.py raw", metrics=METRICS)
    run = site.submit()
    assert run.await_end()["exit_code"] == 0
    assert b"\xff\xfe\x80" in (run.path / "logs" / "rank-0.log").read_bytes()
    shown = site.run("logs", run.id)
    assert b"before" in shown and b"after" in shown and b"\x1b" not in shown


@dialects
def test_all_ranks_of_one_node(site: Site) -> None:
    site.write_project("python program.py ranks")
    run = site.submit("--processes", "2")
    assert run.await_end()["exit_code"] == 0
    seen = [json.loads((run.path / f"rank-{rank}.json").read_text()) for rank in (0, 1)]
    assert [(each["RANK"], each["LOCAL_RANK"]) for each in seen] == [("0", "0"), ("1", "1")]
    assert {(each["WORLD_SIZE"], each["LOCAL_WORLD_SIZE"], each["OMP_NUM_THREADS"]) for each in seen} == {
        ("2", "2", "1")
    }
    assert run.has("ranks_started")
    for rank in (0, 1):
        assert f"rank {rank} of 2 on" in run.log(f"rank-{rank}")
        assert [each["event"] for each in run.rank_events(rank)] == ["started", "ended"]
    assert len(site.state(run)["hosts"]) == 1


@local
def test_small_study(site: Site) -> None:
    found = json.loads(site.run("scale", "--processes", "1,2", "--wait", "--json"))
    assert [(point["processes"], point["value"], point["status"]) for point in found["points"]] == [
        (1, 200.0, "SUCCEEDED"),
        (2, 400.0, "SUCCEEDED"),
    ]
    assert found["points"][1]["speedup"] == 2.0 and found["points"][1]["efficiency"] == 1.0
    assert json.loads(site.run("results", "--json")) == found


@pytest.mark.slow
@local
def test_a_failed_point_of_a_study_is_told_with_its_cause(site: Site) -> None:
    (site.folder / "program.py").write_text(
        "import os\nif os.environ['RANK'] == '1':\n    import no_such_package\nprint('throughput: 5 samples/s')\n"
    )
    words = ("scale", "--processes", "1,2", "--wait", "--launcher", "local")
    assert b"FAILED \xe2\x80\x93 environment: The Python module no_such_package" in site.run(*words, code=1)
    told = site.run("results", code=1).decode()
    assert "no_such_package" in told and "program.py:3; rank 1" in told and "exit code 1" in told


@pytest.mark.parametrize(
    "backend", [name for name in names("pjm", "wisteria", "nqsv", "kubernetes") if name != SLURM], indirect=True
)
def test_walltime_ends_it(site: Site) -> None:
    walltime(site, "3s", "30s", "300s")


@pytest.mark.slow
@pytest.mark.slurm
@pytest.mark.parametrize("backend", ["slurm"], indirect=True)
def test_walltime_on_slurm_counts_in_minutes(site: Site) -> None:
    walltime(site, "60s", "300s")


def holds(site: Site, run: Run) -> bool:
    """Return whether the program holds its lock before the walltime ends the job."""
    begun = (run.path / "holding").exists
    until(lambda: begun() or site.state(run)["state"] in ("TIMEOUT", "FAILED"), "the program or the job's end")
    return begun()


def walltime(site: Site, *limits: str) -> None:
    """The job is ended, the program with it, and the state says why.

    `limits`: the next one is for a machine under load, where the program does not even begin within the former.
    """
    site.write_project("python program.py hold")
    runs = (site.submit("--walltime", limit) for limit in limits)
    run = next(run for run in runs if holds(site, run))
    assert site.await_state(run, "TIMEOUT", seconds=180)["cause"] == "walltime"
    until(lambda: unlocked(run), "the program's end")


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["kumo"], indirect=True)
def test_job_does_not_end_with_a_code_that_its_scheduler_reserves(site: Site) -> None:
    """Kumo would run it again; the run's own record has the program's code."""
    site.write_project("python program.py leave 99")
    run = site.submit()
    assert run.await_end()["exit_code"] == 99
    found = site.await_state(run, "FAILED")
    assert (found["exit_code"], found["cause"]) == (99, "exit")
    assert isinstance(site.backend, KumoBackend)
    ask = site.backend.ask
    shown = until(lambda: "|X:FAILED|" in (text := ask("kumo", "show")) and text)
    assert f"{run.job_id}|X:FAILED|hk-{run.id[-8:]}|" in shown and "|1|None|" in shown


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["kumo"], indirect=True)
def test_dialect_and_patterns_of_a_strangers_scheduler(site: Site) -> None:
    """Its keys are checked as the toolkit's own are, and its words reach the header, the schema and the check."""
    assert b"#KUMO class main\n" in site.run("render") and b"#KUMO project" not in site.run("render")
    site.write_profile(queues={}, dialect={"express": True, "pays": "project"})
    assert b"#KUMO class express\n#KUMO project p1\n" in site.run("render", "--group", "p1")
    site.run("check", code=2)  # nobody says who pays
    site.write_profile(dialect={"expres": True, "pays": "me"})
    process = site.start("check")
    words = process.communicate(timeout=LONG)[1].decode()
    assert process.returncode == 2 and "lab.yaml:1: dialect.expres: " in words and "`express`" in words
    assert "dialect.pays" in words and "project, none" in words
    schema = json.loads(site.run("schema", "cluster"))
    assert schema["$defs"]["KumoDialect"]["properties"]["pays"]["enum"] == ["project", "none"]
    site.write_profile()
    assert site.run("shell", "--dry-run").startswith(b"kumo run class main limit 00:10:00 ")
