"""The runner: processes, time limits, retries, environment, cache. The commands are small scripts on PATH."""

import json
import os
import stat
import sys
import time
from pathlib import Path

import pytest

from hackathon.schedulers import cache, runner
from hackathon.schedulers.base import JobState, SchedulerError, Submission
from hackathon.schedulers.pbs.commands import Pbs
from hackathon.schedulers.slurm.commands import Slurm
from support.patience import until

LONG = 1e5
"""Seconds for which an answer is fresh, however long a test takes."""


class Commands:
    """A folder of commands that comes first on PATH; `calls` has a line for every call."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "calls"

    def write(self, name: str, body: str) -> None:
        path = self.folder / name
        path.write_text(f'#!/bin/bash\necho "{name} $*" >> "{self.log}"\n{body}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    @property
    def calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Commands(folder)


QSTAT = 'for id; do [[ $id == -* ]] || printf "Job Id: %s\\n    job_state = R\\n\\n" "$id"; done'


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def test_answer_has_both_streams_and_the_exit_code(tmp_path: Path) -> None:
    said = runner.run(["bash", "-c", r"printf 'a\xff'; echo b >&2; pwd; cat; exit 3"], cwd=tmp_path)
    assert (said.exit_code, said.stderr) == (3, "b\n")
    assert said.stdout.encode("utf-8", "surrogateescape") == b"a\xff" + os.fsencode(tmp_path) + b"\n"


def test_words_are_never_read_by_a_shell() -> None:
    assert runner.run(["printf", "%s", "$(id); `id` | x"]).stdout == "$(id); `id` | x"


def test_a_missing_command_is_the_environments_fault() -> None:
    with pytest.raises(SchedulerError) as caught:
        runner.run(["qsub-that-is-not-there"])
    assert caught.value.id == "schedulers.command_missing" and caught.value.hint
    assert caught.value.exit_code == 3 and not caught.value.transient


@pytest.mark.parametrize("argv", [["/"], ["true", "a\0b"], ["true", "x" * 200_000]])
def test_a_command_that_can_not_start(argv: list[str]) -> None:
    with pytest.raises(SchedulerError) as caught:
        runner.run(argv)
    assert caught.value.id == "schedulers.command_unusable" and caught.value.message


def test_timeout_kills_the_whole_group(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    pid.touch()
    script = f"sleep 1000 & echo $! > {pid}; wait"
    for seconds in (0.5, 5.0, 50.0):  # as long as the shell needs to tell whom it started
        began = time.monotonic()
        with pytest.raises(SchedulerError) as caught:
            runner.run(["bash", "-c", script], timeout=seconds)
        assert caught.value.id == "schedulers.timeout" and caught.value.transient
        assert time.monotonic() - began < 500
        if pid.read_text().endswith("\n"):
            break
    child = int(pid.read_text())
    until(lambda: gone(child))


def test_a_process_that_keeps_the_pipe_does_not_hold_the_answer() -> None:
    said = runner.run(["bash", "-c", "echo 7; sleep 100 & exit 0"], timeout=90)  # waiting for it would be a timeout
    assert said.stdout == "7\n"


def test_output_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "OUTPUT_LIMIT", 100_000)
    with pytest.raises(SchedulerError) as caught:
        runner.run(["yes"], timeout=300)
    assert caught.value.id == "schedulers.too_much_output"


def test_environment_drops_what_changes_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SBATCH_PARTITION", "SQUEUE_FORMAT", "SACCT_FORMAT", "SLURM_JOB_ID", "PBS_DPREFIX", "QSUB_X"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm.conf")
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")
    kept = runner.child_environment(Slurm())
    assert not {"SBATCH_PARTITION", "SQUEUE_FORMAT", "SACCT_FORMAT", "SLURM_JOB_ID", "PBS_DPREFIX", "QSUB_X"} & set(
        kept
    )
    assert (kept["SLURM_CONF"], kept["LC_ALL"], kept["SLURM_TIME_FORMAT"]) == ("/etc/slurm.conf", "C", "%s")
    # what sbatch is given, the job gets
    given = runner.child_environment(Slurm(), submission=True)
    assert given["LC_ALL"] == "ja_JP.UTF-8" and "SLURM_TIME_FORMAT" not in given
    assert "SLURM_TIME_FORMAT" not in runner.child_environment(Pbs())


def test_questions_are_asked_again_and_submissions_are_not(commands: Commands, tmp_path: Path) -> None:
    down = 'echo "Connection refused" >&2; exit 255'
    commands.write("qstat", f'[ $(grep -c qstat "{commands.log}") -lt 3 ] && {{ {down}; }}; {QSTAT}')
    assert runner.status(Pbs(), ["1.s"], delays=(0, 0)).jobs["1.s"].state == "RUNNING"
    assert len(commands.calls) == 3
    commands.write("qsub", down)
    with pytest.raises(SchedulerError):
        runner.submit(Pbs(), Submission(tmp_path / "job.sh", tmp_path, "hk-a", tmp_path / "o"))
    assert sum(call.startswith("qsub") for call in commands.calls) == 1


def test_a_clear_no_is_not_asked_again(commands: Commands) -> None:
    commands.write("qselect", 'echo "qselect: Unauthorized Request" >&2; exit 159')
    with pytest.raises(SchedulerError) as caught:
        runner.find(Pbs(), "hk-a", delays=(0, 0))
    assert caught.value.id == "schedulers.not_authorised"
    assert len(commands.calls) == 2  # with and without history, each once


def test_a_hanging_question_is_not_asked_again(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    commands.write("qstat", "sleep 60")
    run, asked = runner.run, list[object]()  # not what the command notes: it may be killed before it does
    monkeypatch.setattr(runner, "run", lambda argv, **more: (asked.append(argv), run(argv, **more))[1])
    with pytest.raises(SchedulerError):
        runner.status(Pbs(), ["1.s"], timeout=0.3, delays=(0, 0))
    assert len(asked) == 1


LISTED = "for n in $(seq {} {}); do printf 'Job Id: %s.s\n    job_state = {}\n\n' $n; done"


def test_hundreds_of_ids_go_in_few_calls_without_ids(commands: Commands) -> None:
    """Each id would be a connection of its own, from a reserved port."""
    commands.write("qstat", LISTED.format(1, 1000, "R"))
    ids = [f"{number}.s" for number in range(1, 1001)]
    answer = runner.status(Pbs(), [*ids, *ids])
    assert len(answer.jobs) == 1000 and set(answer.asked) == set(ids)
    assert len(commands.calls) == 3 and not any(".s" in call for call in commands.calls)


def test_list_of_ended_jobs_that_is_too_long_is_replaced(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    past = 'case "$*" in "-f -w") ' + LISTED.format(1, 20, "R") + ' ;; "-x -f -w") yes ;; *) '
    commands.write("qstat", past + LISTED.format(21, 40, "F") + " ;; esac")
    monkeypatch.setattr(runner, "OUTPUT_LIMIT", 100_000)
    jobs = runner.status(Pbs(), [f"{number}.s" for number in range(1, 41)]).jobs
    assert (jobs["1.s"].state, jobs["40.s"].state, len(commands.calls)) == ("RUNNING", "FINISHED", 3)


def test_follow_up_reaches_servers_without_history(commands: Commands) -> None:
    refuse = '[[ " $* " == *" -x "* ]] && { echo "qstat: PBS is not configured to maintain job history" >&2; exit 36; }'
    commands.write("qstat", f"{refuse}; {QSTAT}")
    assert runner.status(Pbs(), ["1.s"]).jobs["1.s"].state == "RUNNING"


def test_a_missing_sacct_does_not_hide_squeue(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    commands.write("squeue", r"printf '5\x1fRUNNING\x1fNone\x1fn1\x1f1\x1fN/A\x1f1\x1falice\x1fhk-a\x1e\n'")
    monkeypatch.setenv("PATH", str(commands.folder))  # no sacct, also where Slurm is installed
    jobs = runner.status(Slurm(), ["5", "6"]).jobs
    assert jobs["5"].state == "RUNNING" and jobs["6"].state == "UNKNOWN"


def test_cache_asks_only_for_what_is_not_fresh(commands: Commands) -> None:
    commands.write("qstat", QSTAT + '\n[[ "$*" == *absent* ]] && echo "qstat: Unknown Job Id 9.absent" >&2; exit 0')
    first = runner.status_cached(Pbs(), "site", ["1.s", "2.s"], LONG)
    again = runner.status_cached(Pbs(), "site", ["2.s", "1.s", "3.s"], LONG)
    assert [call.split("-w ")[1] for call in commands.calls] == ["1.s 2.s", "3.s"]
    assert again.jobs["1.s"] == first.jobs["1.s"] and again.asked["1.s"] == first.asked["1.s"]
    runner.status_cached(Pbs(), "other site", ["1.s"], LONG)
    assert len(commands.calls) == 3
    runner.status_cached(Pbs(), "site", ["1.s"], max_age=0)
    assert len(commands.calls) == 4
    runner.forget(Pbs(), "site", ["2.s"])
    runner.status_cached(Pbs(), "site", ["2.s", "1.s"], LONG)
    assert commands.calls[-1].endswith(" 2.s") and len(commands.calls) == 5


def test_cache_remembers_absence(commands: Commands) -> None:
    commands.write("qstat", 'echo "qstat: Unknown Job Id 9.s" >&2; exit 153')
    began = time.time()
    for _ in range(2):
        answer = runner.status_cached(Pbs(), "site", ["9.s"], LONG)
        assert answer.jobs == {} and began <= answer.asked["9.s"] <= time.time()
    assert len(commands.calls) == 1


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"jobs": 3}', '{"jobs": {"1.s": {"t": "x"}}}', '{"jobs": {"1.s": {"t": 9e99, "job": {}}}}'],
)
def test_a_broken_cache_is_passed_over(commands: Commands, content: str) -> None:
    commands.write("qstat", QSTAT)
    path = cache.cache_file("pbs", "site")
    path.parent.mkdir(parents=True)
    path.write_text(content)
    assert runner.status_cached(Pbs(), "site", ["1.s"]).jobs["1.s"].state == "RUNNING"
    assert json.loads(path.read_text())["jobs"]["1.s"]["job"]["state"] == "RUNNING"


def test_a_cache_that_can_not_be_written_is_passed_over(commands: Commands, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    commands.write("qstat", QSTAT)
    assert runner.status_cached(Pbs(), "site", ["1.s"]).jobs["1.s"].state == "RUNNING"


def test_cache_keeps_every_field(commands: Commands) -> None:
    state = JobState("FAILED", "F", "why \udcff", 3, 9, True, "n", "alice", ("a", "b"), False, 1.0, 2.0)
    path = cache.cache_file("pbs", "a/../b")
    assert path.parent == cache.cache_file("pbs", "x").parent
    cache.write(path, {"1": (100.0, state), "2": (100.0, None)})
    assert cache.read(path, 110.0, 30) == {"1": (100.0, state), "2": (100.0, None)}
    assert cache.read(path, 131.0, 30) == {} == cache.read(path, 50.0, 30)


@pytest.mark.parametrize(
    ("active", "first"), [({}, True), ({"VIRTUAL_ENV": "/e"}, False), ({"CONDA_PREFIX": "/c"}, False)]
)
def test_programs_of_an_environment_that_is_not_activated(
    active: dict[str, str], first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    for name, value in active.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setattr(sys, "prefix", "/place/.venv")
    monkeypatch.setattr(sys, "argv", ["/place/.venv/bin/hackathon", "submit"])
    path = runner.child_environment(submission=True)["PATH"]
    assert path == ("/place/.venv/bin:/usr/bin" if first else "/usr/bin")
    assert runner.child_environment()["PATH"] == "/usr/bin"


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("/place/.venv/bin/hackathon", True),
        (".venv/bin/hackathon", True),
        ("/place/.venv/lib/python3.12/site-packages/hackathon/__main__.py", True),
        ("/home/you/bin/hackathon", False),  # a link: jobs take the python of the PATH
        ("hackathon", False),
    ],
)
def test_only_who_types_the_environments_own_file_means_its_programs(
    name: str, first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setattr(sys, "prefix", "/place/.venv")
    monkeypatch.setattr(sys, "argv", [name, "submit"])
    monkeypatch.setattr(os, "getcwd", lambda: "/place")
    assert runner.child_environment(submission=True)["PATH"].startswith("/place/.venv/bin:") is first


def test_a_home_behind_a_link_is_the_same_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lustre" / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / "home").symlink_to(tmp_path / "lustre")
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "home" / ".venv"))
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "lustre" / ".venv" / "bin" / "hackathon"), "submit"])
    assert runner.child_environment(submission=True)["PATH"].startswith(f"{sys.prefix}/bin:")
