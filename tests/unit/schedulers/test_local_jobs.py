"""Local jobs are run for real: their states, their order, their ends, and what they leave behind (nothing)."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hackathon.schedulers import runner
from hackathon.schedulers.base import SchedulerError, Submission
from hackathon.schedulers.local import state
from hackathon.text.errors import UnavailableError
from support.local_machine import Machine, alive, read_pid, until
from support.paths import ROOT


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    monkeypatch.setenv("HACKATHON_LOCAL_DIR", str(tmp_path / "local"))
    monkeypatch.setenv("HACKATHON_LOCAL_SLOTS_DIR", str(tmp_path / "slots"))
    monkeypatch.setenv("HACKATHON_LOCAL_SLOTS", "4")
    monkeypatch.setenv("HACKATHON_LOCAL_GRACE", "0.3")
    monkeypatch.setenv("HACKATHON_LANG", "en")
    made = Machine(tmp_path)
    yield made
    made.close()


# What a process must do to escape a naive kill: leave the session, lose its parent, ignore TERM.
ESCAPE = """
( setsid bash -c 'trap "" TERM HUP; ( setsid bash -c "trap \\"\\" TERM; echo \\$\\$ >inner; exec sleep 300" & ) ; \\
  echo $$ >outer; while :; do sleep 1; done' & )
until [ -s inner ] && [ -s outer ]; do sleep 0.05; done
"""


def test_job_runs_in_its_directory_and_reports(machine: Machine) -> None:
    before = time.time()
    job_id = machine.submit(
        'pwd; echo "$HACKATHON_JOB_ID $HACKATHON_JOB_NAME $HACKATHON_SUBMIT_DIR"; echo bad >&2; cat'
    )
    ended = machine.reach(job_id, "SUCCEEDED")
    here = machine.folder / "run-0"
    assert (here / "output").read_text() == f"{here}\n{job_id} hk-abcdefgh {here}\nbad\n"
    assert (ended.exit_code, ended.signal, ended.started, ended.name) == (0, None, True, "hk-abcdefgh")
    assert ended.hosts == (os.uname().nodename,)
    assert ended.start and ended.end and before <= ended.start <= ended.end <= time.time()
    assert job_id.endswith(f".{os.uname().nodename}.local")


@pytest.mark.parametrize(("body", "code", "number"), [("exit 7", 7, None), ("kill -KILL $$", None, 9)])
def test_failure_has_its_exit_code_or_signal(machine: Machine, body: str, code: int | None, number: int | None) -> None:
    ended = machine.reach(machine.submit(body), "FAILED")
    assert (ended.exit_code, ended.signal) == (code, number)


def test_script_has_ordinary_signals(machine: Machine) -> None:
    """A blocked or ignored signal of the supervisor would change how programs end."""
    job_id = machine.submit("grep -E 'Sig(Blk|Ign)' /proc/self/status; (yes; echo $? >code) | head -1 >/dev/null")
    machine.reach(job_id, "SUCCEEDED")
    here = machine.folder / "run-0"
    # above 31 lie real-time signals; the C library keeps some for itself, and a process may inherit them ignored
    masks = [int(line.split()[1], 16) & 0x7FFFFFFF for line in (here / "output").read_text().splitlines()]
    assert masks == [0, 0]
    assert (here / "code").read_text() == "141\n"


def test_job_survives_the_command_that_submitted_it(machine: Machine) -> None:
    """Also when the whole session and process group of that command are killed."""
    here = machine.folder / "run"
    here.mkdir()
    (here / "job.sh").write_text("#HK walltime=3600\nuntil [ -e go ]; do sleep 0.05; done; echo done >done\n")
    argv = [sys.executable, "-m", "hackathon.schedulers.local", "submit", "n", str(here), "output", "job.sh"]
    root = ROOT
    shell = subprocess.Popen(
        ["bash", "-c", '"$@" >answer; touch ready; sleep 60', "_", *argv],
        cwd=machine.folder,
        env={**os.environ, "PYTHONPATH": str(root)},
        start_new_session=True,
    )
    until((machine.folder / "ready").exists)
    os.killpg(shell.pid, signal.SIGKILL)
    shell.wait()
    job_id = json.loads((machine.folder / "answer").read_text())["job_id"]
    machine.ids.append(job_id)
    machine.reach(job_id, "RUNNING")
    (here / "go").touch()
    machine.reach(job_id, "SUCCEEDED")
    assert (here / "done").exists()


def test_cancel_kills_what_changed_its_session(machine: Machine) -> None:
    job_id = machine.submit(ESCAPE + "echo $$ >script; wait; sleep 300")
    here = machine.folder / "run-0"
    pids = [read_pid(here / name) for name in ("script", "inner", "outer")]
    assert all(alive(pid) for pid in pids)
    assert runner.cancel(machine.scheduler, job_id) is True
    ended = machine.reach(job_id, "CANCELLED")
    assert not any(alive(pid) for pid in pids)
    assert ended.started is True
    assert ended.reason == "cancelled"
    assert ended.signal == signal.SIGTERM


def test_what_outlives_the_script_is_killed(machine: Machine) -> None:
    job_id = machine.submit(ESCAPE + "exit 3")
    ended = machine.reach(job_id, "FAILED")
    assert ended.exit_code == 3
    assert not any(alive(read_pid(machine.folder / "run-0" / name)) for name in ("inner", "outer"))


def test_term_comes_before_kill(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HACKATHON_LOCAL_GRACE", "200")
    job_id = machine.submit("trap 'echo saved >saved; exit 9' TERM; touch ready; while :; do sleep 0.05; done")
    until((machine.folder / "run-0" / "ready").exists)
    runner.cancel(machine.scheduler, job_id)
    ended = machine.reach(job_id, "CANCELLED")
    assert (machine.folder / "run-0" / "saved").exists()
    assert ended.exit_code == 9
    assert ended.end and ended.start and ended.end - ended.start < 200


def test_script_ends_what_it_started_in_its_own_way(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program whose script passes TERM on is told once."""
    monkeypatch.setenv("HACKATHON_LOCAL_GRACE", "200")
    program = "trap 'echo told >>told; sleep 1; exit 7' TERM; touch ready; while :; do sleep 0.05; done"
    (machine.folder / "program.sh").write_text(program)
    job_id = machine.submit(
        f"bash {machine.folder}/program.sh & child=$!; trap 'kill $child' TERM; wait $child; wait $child; exit $?"
    )
    until((machine.folder / "run-0" / "ready").exists)
    runner.cancel(machine.scheduler, job_id)
    assert machine.reach(job_id, "CANCELLED").exit_code == 7
    assert (machine.folder / "run-0" / "told").read_text() == "told\n"


def test_walltime_ends_the_tree(machine: Machine) -> None:
    for walltime in (1, 10, 60):  # as long as the script needs to start what escapes
        job_id = machine.submit(ESCAPE + "sleep 300", head=f"#HK walltime={walltime}\n#HK processes=2 threads=1\n")
        ended = machine.reach(job_id, "TIMEOUT")
        here = machine.folder / f"run-{len(machine.ids) - 1}"
        if all((here / name).exists() and (here / name).read_text().strip() for name in ("inner", "outer")):
            break
    assert not any(alive(read_pid(here / name)) for name in ("inner", "outer"))
    assert ended.start and ended.end and walltime <= ended.end - ended.start < 250
    assert ended.reason == "walltime reached"


@pytest.mark.slow
def test_slots_are_first_come_first_served(machine: Machine) -> None:
    first = machine.submit("until [ -e go ]; do sleep 0.05; done", head="#HK walltime=3600\n#HK processes=3\n")
    machine.reach(first, "RUNNING")
    large = machine.submit("date +%s.%N >began", head="#HK walltime=3600\n#HK processes=2 threads=2\n")
    until(lambda: machine.state(large).reason == "waiting for free slots")
    small = machine.submit("date +%s.%N >began", head="#HK walltime=3600\n#HK processes=1\n")
    until(lambda: runner.queues(machine.scheduler)[0].queued == 2)
    time.sleep(0.6)  # two rounds of the queue: the small one fits beside the first, and still must not pass
    assert [machine.state(job).state for job in (first, large, small)] == ["RUNNING", "QUEUED", "QUEUED"]
    (machine.folder / "run-0" / "go").touch()
    machine.reach(large, "SUCCEEDED")
    machine.reach(small, "SUCCEEDED")
    began = [float((machine.folder / run / "began").read_text()) for run in ("run-1", "run-2")]
    assert began == sorted(began)


@pytest.mark.slow
def test_job_larger_than_the_machine_runs_alone(machine: Machine) -> None:
    small = machine.submit("until [ -e go ]; do sleep 0.05; done")
    machine.reach(small, "RUNNING")
    large = machine.submit(
        "until [ -e go ]; do sleep 0.05; done", head="#HK walltime=3600\n#HK processes=99 threads=9\n"
    )
    after = machine.submit("true")
    until(lambda: runner.queues(machine.scheduler)[0].queued == 2)
    assert machine.state(large).state == "QUEUED"
    (machine.folder / "run-0" / "go").touch()
    machine.reach(large, "RUNNING")
    time.sleep(0.6)
    assert machine.state(after).state == "QUEUED"
    (machine.folder / "run-1" / "go").touch()
    machine.reach(after, "SUCCEEDED")


def test_cancel_in_the_queue_never_starts_it(machine: Machine) -> None:
    first = machine.submit("sleep 300", head="#HK walltime=3600\n#HK processes=4\n")
    machine.reach(first, "RUNNING")
    waiting = machine.submit("touch began")
    assert runner.cancel(machine.scheduler, waiting) is True
    ended = machine.reach(waiting, "CANCELLED")
    assert ended.started is False
    assert runner.cancel(machine.scheduler, waiting) is False
    assert not (machine.folder / "run-1" / "began").exists()


def test_dead_supervisor_takes_the_script_along(machine: Machine) -> None:
    job_id = machine.submit(
        "setsid sleep 300 & echo $! >left; echo $$ >script; wait", head="#HK walltime=3600\n#HK processes=4\n"
    )
    here = machine.folder / "run-0"
    script, left = read_pid(here / "script"), read_pid(here / "left")
    next_one = machine.submit("true")
    os.kill(machine.supervisor(job_id), signal.SIGKILL)
    until(lambda: not alive(script))
    ended = machine.reach(job_id, "NODE_FAILED")
    assert "supervisor" in ended.reason
    assert ended.started is True
    assert ended.end
    assert not alive(left)
    machine.reach(next_one, "SUCCEEDED")


@pytest.mark.slow
def test_supervisor_that_dies_in_the_queue_never_started_the_job(machine: Machine) -> None:
    first = machine.submit("sleep 300", head="#HK walltime=3600\n#HK processes=4\n")
    machine.reach(first, "RUNNING")
    waiting = machine.submit("touch began")
    until(lambda: runner.queues(machine.scheduler)[0].queued == 1)
    os.kill(machine.supervisor(waiting), signal.SIGKILL)
    ended = machine.reach(waiting, "FAILED")
    assert ended.started is False


def test_restarted_machine_ends_its_jobs(machine: Machine) -> None:
    job_id = machine.submit("echo $$ >script; sleep 300")
    read_pid(machine.folder / "run-0" / "script")
    facts = machine.path(job_id) / "job.json"
    os.kill(machine.supervisor(job_id), signal.SIGKILL)
    facts.write_text(facts.read_text().replace(state.boot(), "another-boot"))
    ended = machine.reach(job_id, "NODE_FAILED")
    assert "restarted" in ended.reason


@pytest.mark.parametrize(
    ("condition", "body", "expected"),
    [("ok", "true", "SUCCEEDED"), ("ok", "false", "CANCELLED"), ("any", "false", "SUCCEEDED")],
)
def test_dependency(machine: Machine, condition: str, body: str, expected: str) -> None:
    first = machine.submit(f"until [ -e go ]; do sleep 0.05; done; {body}")
    second = machine.submit("touch began", after=(condition, first))
    assert machine.state(second).state == "QUEUED"
    until(lambda: machine.state(second).reason == f"waiting for {first}")
    (machine.folder / "run-0" / "go").touch()
    ended = machine.reach(second, expected)
    assert (machine.folder / "run-1" / "began").exists() == (expected == "SUCCEEDED")
    assert ended.started == (expected == "SUCCEEDED")
    if expected == "CANCELLED":
        assert ended.reason == f"{first} did not succeed"


def test_dependency_on_nothing_is_refused(machine: Machine) -> None:
    with pytest.raises(SchedulerError) as caught:
        machine.submit("true", after=("ok", state.job_id(1)))
    assert caught.value.id == "local.unknown_job"
    assert caught.value.exit_code == 2
    assert runner.find(machine.scheduler, "hk-abcdefgh") == []


@pytest.mark.slow
def test_job_may_submit_a_job_that_outlives_it(machine: Machine) -> None:
    here = machine.folder / "run-0"
    here.mkdir()
    (here / "next.sh").write_text("#HK walltime=3600\nuntil [ -e go ]; do sleep 0.05; done\n")
    argv = machine.scheduler.submit_argv(Submission(here / "next.sh", here, "hk-next", here / "next.out"))
    quoted = " ".join(f"'{word}'" for word in argv)
    machine.reach(machine.submit(quoted, directory=here), "SUCCEEDED")
    (second,) = runner.find(machine.scheduler, "hk-next")
    machine.ids.append(second)
    machine.reach(second, "RUNNING")
    (here / "go").touch()
    assert machine.reach(second, "SUCCEEDED").exit_code == 0


def test_output_that_can_not_be_written_is_a_job_that_never_began(machine: Machine) -> None:
    here = machine.folder / "run-0"
    (here / "output").mkdir(parents=True)
    ended = machine.reach(machine.submit("touch began", directory=here), "FAILED")
    assert ended.started is False
    assert "output" in ended.reason
    assert not (here / "began").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another account")
def test_a_folder_whose_name_somebody_took_is_replaced_by_one_of_a_random_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HACKATHON_LOCAL_DIR", raising=False)
    monkeypatch.setattr(state, "TEMPORARY", tmp_path)
    usual = tmp_path / f"hackathon-local-{os.getuid()}"
    usual.mkdir(mode=0o777)
    os.chown(usual, 71002, 71002)
    folder = state.root().parent
    assert folder.name.startswith(f"{usual.name}-") and folder.stat().st_mode & 0o777 == 0o700
    assert list(usual.iterdir()) == []
    usual.rmdir()
    assert state.root().parent == folder, "its jobs are found again, also where the other one has gone"
    os.chown(folder, 71002, 71002)
    with pytest.raises(UnavailableError, match="not private"):
        state.root()
    os.chown(folder, 0, 0)
    usual.mkdir(mode=0o755)  # the user's own, which others can read: that is for the user to mend
    (tmp_path / "config").mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with pytest.raises(UnavailableError, match="not private"):
        state.root()
