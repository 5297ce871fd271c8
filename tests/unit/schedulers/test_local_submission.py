"""Submitting local jobs: refusals, hostile words, two at once, a kill at any moment, ids of other machines."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hackathon.schedulers import runner
from hackathon.schedulers.base import CommandOutput, SchedulerError, Submission
from hackathon.schedulers.local import directives, slots, state
from hackathon.schedulers.local.commands import Local
from hackathon.text.errors import RequestError, UnavailableError
from support.local_machine import Machine, until
from support.paths import ROOT


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    monkeypatch.setenv("HACKATHON_LOCAL_DIR", str(tmp_path / "local"))
    monkeypatch.setenv("HACKATHON_LOCAL_SLOTS_DIR", str(tmp_path / "slots"))
    monkeypatch.setenv("HACKATHON_LOCAL_SLOTS", "64")
    monkeypatch.setenv("HACKATHON_LOCAL_GRACE", "0.3")
    monkeypatch.setenv("HACKATHON_LANG", "en")
    made = Machine(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"#!/bin/bash\n#HK walltime=600\n#HK processes=4 threads=2\necho\n", (600, 4, 2)),
        (b"# comment\n\n#HK walltime=5\necho\n#HK processes=x\n", (5, 1, 1)),
        ("#HK walltime=5\n# 日本語\n#HK threads=3".encode("euc-jp"), (5, 1, 3)),
    ],
)
def test_directives(head: bytes, expected: tuple[int, int, int]) -> None:
    found = directives.parse(head)
    assert (found.walltime, found.processes, found.threads) == expected
    assert found.slots == expected[1] * expected[2]


@pytest.mark.parametrize(
    "line",
    ["walltime=0", "walltime=-5", "walltime=1e3", "walltime=٣", "walltime", "nodes=2 walltime=5",
     "walltime=5 walltime=5", "walltime=99999999999", "walltime=5 processes=", "walltime=5 processes=$(id)", "",
     "processes=2"],
)  # fmt: skip
def test_unclear_directives_are_refused(line: str) -> None:
    with pytest.raises(RequestError) as caught:
        directives.parse(f"#!/bin/bash\n#HK {line}\n".encode())
    assert caught.value.exit_code == 2


def test_word_glued_to_the_prefix_is_refused() -> None:
    with pytest.raises(RequestError):
        directives.parse(b"#HKwalltime=5\n")


def test_refused_script_makes_no_job(machine: Machine) -> None:
    with pytest.raises(SchedulerError) as caught:
        machine.submit("true", head="#HK walltime=soon\n")
    assert caught.value.id == "local.directive"
    assert (caught.value.transient, caught.value.exit_code) == (False, 2)
    assert "line 2" in caught.value.message.lower()
    assert "walltime=soon" in caught.value.message
    assert runner.find(machine.scheduler, "hk-abcdefgh") == []


def test_missing_script_is_refused(machine: Machine) -> None:
    with pytest.raises(SchedulerError) as caught:
        runner.submit(machine.scheduler, Submission(machine.folder / "no", machine.folder, "n", machine.folder / "o"))
    assert caught.value.id == "local.no_script"


@pytest.mark.parametrize("name", ["it's \"; touch x; $(touch x)", "a\nb", "--help", "", "名 caf\udce9"])
def test_names_are_only_names(machine: Machine, name: str) -> None:
    job_id = machine.submit('printf %s "$HACKATHON_JOB_NAME" >name', name=name)
    assert machine.reach(job_id, "SUCCEEDED").name == name
    assert runner.find(machine.scheduler, name) == [job_id]
    assert runner.find(machine.scheduler, name + "x") == []
    assert os.fsdecode((machine.folder / "run-0" / "name").read_bytes()) == name


def test_path_that_is_not_utf8(machine: Machine) -> None:
    directory = Path(os.fsdecode(os.fsencode(machine.folder) + b"/run \xff\xfe'\n"))
    job_id = machine.submit("pwd -P", directory=directory)
    machine.reach(job_id, "SUCCEEDED")
    assert (directory / "output").read_bytes() == os.fsencode(directory) + b"\n"


def test_folder_of_the_user_takes_no_module_away(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = machine.folder / "trap"
    (trap / "hackathon").mkdir(parents=True)
    for name in ("json.py", "signal.py", "hackathon/__init__.py"):
        (trap / name).write_text("raise SystemExit('the wrong module')\n")
    monkeypatch.setenv("PYTHONPATH", str(trap))
    monkeypatch.chdir(trap)
    machine.reach(machine.submit("true", directory=trap), "SUCCEEDED")


def test_edited_script_does_not_change_a_queued_job(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HACKATHON_LOCAL_SLOTS", "1")
    first = machine.submit("until [ -e go ]; do sleep 0.05; done")
    second = machine.submit("touch old")
    (machine.folder / "run-1" / "job.sh").write_text("#HK walltime=3600\ntouch new\n")
    (machine.folder / "run-0" / "go").touch()
    machine.reach(first, "SUCCEEDED")
    machine.reach(second, "SUCCEEDED")
    assert (machine.folder / "run-1" / "old").exists()


@pytest.mark.slow
def test_submissions_at_the_same_moment_have_their_own_numbers(machine: Machine) -> None:
    (machine.folder / "job.sh").write_text("#HK walltime=3600\ntrue\n")
    submission = Submission(machine.folder / "job.sh", machine.folder, "hk-many", machine.folder / "output")
    argv = machine.scheduler.submit_argv(submission)
    together = [subprocess.Popen(argv, stdout=subprocess.PIPE) for _ in range(4)]
    ids = [json.loads(child.communicate()[0])["job_id"] for child in together]
    machine.ids += ids
    assert len(set(ids)) == 4
    assert sorted(runner.find(machine.scheduler, "hk-many")) == sorted(ids)
    for job_id in ids:
        machine.reach(job_id, "SUCCEEDED")


@pytest.mark.slow
def test_killed_submission_leaves_no_job_or_one_that_is_found(machine: Machine) -> None:
    """SIGKILL after a random time; every script that ever ran belongs to a job that its name finds.

    The time goes up and down with what was found, so that the kills come about when the job is made, on any machine.
    """
    seed = int(time.time())
    dice = random.Random(seed)
    print("seed", seed)
    outcomes, span = set(), 0.06
    for trial in range(40):
        directory = machine.folder / f"trial-{trial}"
        directory.mkdir()
        (directory / "job.sh").write_text("#HK walltime=3600\ntouch ran\n")
        submission = Submission(directory / "job.sh", directory, f"hk-{trial}", directory / "output")
        child = subprocess.Popen(machine.scheduler.submit_argv(submission), stdout=subprocess.DEVNULL)
        time.sleep(span * dice.uniform(0.5, 1.5))
        child.kill()
        child.wait()
        found = runner.find(machine.scheduler, f"hk-{trial}")
        machine.ids += found
        assert len(found) <= 1
        if found:
            until(lambda job=found[0]: machine.state(job).state not in state.OPEN)  # type: ignore[misc]
            ended = machine.state(found[0])
            assert ended.state == ("SUCCEEDED" if (directory / "ran").exists() else "FAILED")
            assert ended.started == (directory / "ran").exists()
        else:
            assert not (directory / "ran").exists()
        outcomes.add(bool(found))
        span *= 0.8 if found else 1.25
    assert outcomes == {True, False}


@pytest.mark.parametrize("step", ["state.create", "supervisor.launch"])
def test_kill_between_the_steps_of_submission(machine: Machine, step: str) -> None:
    directory = machine.folder / "run"
    directory.mkdir()
    (directory / "job.sh").write_text("#HK walltime=3600\ntouch ran\n")
    program = (
        "import os, sys; from hackathon.schedulers.local import state, supervisor, __main__ as command\n"
        f"owner, name = {step.split('.')[0]}, {step.split('.')[1]!r}\n"
        "before = getattr(owner, name)\n"
        "def die(*words):\n"
        "    if name == 'create': before(*words)\n"
        "    os.kill(os.getpid(), 9)\n"
        "setattr(owner, name, die)\n"
        f"command.main(['submit', 'hk-step', {str(directory)!r}, 'output', 'job.sh'])\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    (job_id,) = runner.find(machine.scheduler, "hk-step")
    ended = machine.state(job_id)
    assert (ended.state, ended.started) == ("FAILED", False)
    assert not (directory / "ran").exists()


def test_job_of_another_machine_is_neither_cancelled_nor_lost(machine: Machine) -> None:
    other = "12.login3.example.org.local"
    with pytest.raises(SchedulerError) as caught:
        runner.cancel(machine.scheduler, other)
    assert caught.value.id == "local.other_host"
    assert (caught.value.transient, caught.value.exit_code) == (False, 2)
    assert "login3.example.org" in caught.value.message
    assert "login3.example.org" in (caught.value.hint or "")
    found = runner.status(machine.scheduler, [other, state.job_id(1)])
    assert (found.jobs[other].state, found.jobs[other].raw) == ("UNKNOWN", "other host")
    assert found.jobs[other].reason == "login3.example.org"
    assert state.job_id(1) not in found.jobs


@pytest.mark.parametrize(
    "text", ["", "12", "12.local", "x.host.local", "-1.host.local", "12.host", "٣.host.local", "1..local"]
)
def test_not_an_id(machine: Machine, text: str) -> None:
    with pytest.raises(SchedulerError) as caught:
        runner.cancel(machine.scheduler, text)
    assert caught.value.id == "schedulers.not_an_id"
    assert runner.status(machine.scheduler, [text]).jobs[text].state == "UNKNOWN"


def test_directory_of_somebody_else_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "local"
    monkeypatch.setenv("HACKATHON_LOCAL_DIR", str(place))
    (tmp_path / "real").mkdir(mode=0o700)
    place.symlink_to(tmp_path / "real")
    with pytest.raises(UnavailableError):
        state.root()
    place.unlink()
    place.mkdir()
    place.chmod(0o755)
    with pytest.raises(UnavailableError):
        state.root()
    place.chmod(0o700)
    assert state.root().is_dir()
    if os.getuid() == 0:
        os.chown(place, 12345, 12345)
        with pytest.raises(UnavailableError):
            state.root()


def test_queue_passes_over_what_others_put_there(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HACKATHON_LOCAL_SLOTS", "1")
    place = slots.place()
    slots.prepare(place)
    os.mkfifo(place / "000000000001.1")
    (place / "000000000002.1").symlink_to("/dev/zero")
    (place / "000000000003.1").write_text("99999999 runs  \n")  # the place of a dead supervisor
    (place / "notes.txt").write_text("hello")
    machine.reach(machine.submit("true"), "SUCCEEDED")
    assert not (place / "000000000003.1").exists()
    assert (place / "notes.txt").exists()


def test_slots_directory_must_be_sticky(tmp_path: Path) -> None:
    if os.getuid():
        pytest.skip("needs root to make a directory of another user")
    place = tmp_path / "slots"
    place.mkdir()
    os.chown(place, 12345, 12345)
    place.chmod(0o777)
    with pytest.raises(UnavailableError) as caught:
        slots.prepare(place)
    assert caught.value.id == "local.slots_directory"
    place.chmod(0o1777)
    slots.prepare(place)


@pytest.mark.parametrize(
    "stdout", ["", "garbage", "[]", '{"jobs": 3}', '{"jobs": {"1.a.local": {"state": "SLEEPING"}}}']
)
def test_garbage_is_never_an_absent_job(stdout: str) -> None:
    with pytest.raises(SchedulerError):
        Local().parse_status([CommandOutput(("python",), 0, stdout, "")], ["1.a.local"])
    with pytest.raises(SchedulerError):
        Local().parse_submit(CommandOutput(("python",), 0, stdout, ""))
    with pytest.raises(SchedulerError):
        Local().parse_status([CommandOutput(("python",), 1, stdout, "Traceback")], ["1.a.local"])


def test_command_is_light() -> None:
    program = "import sys; import hackathon.schedulers.local.__main__; print(*sys.modules)"
    root = str(ROOT)
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], env={"PYTHONPATH": root}, capture_output=True, text=True, check=True
    )
    heavy = {"click", "jinja2", "yaml", "rich", "asyncio", "subprocess", "argparse", "inspect", "socket"}
    assert not heavy & set(done.stdout.split())
