"""A scheduler command that is missing, hangs, prints garbage or fails for a while: what the CLI says and keeps.

For Slurm a few lines of bash stand in, for PBS the stand-in of `tests/support/pbs_stub` with its fault switches. Exit
code 3: try again; 2: the request was refused. UNCERTAIN where the job may be in the queue, and only there.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import pbs
from support.backends import Backend, PbsBackend, Site, until
from support.injected import injected
from support.trouble import Said, Stand, ask, in_both_languages, later, runs_in, start, write_project

SECONDS, LONGER, PATIENT = "1.5", "20", "200"
"""HACKATHON_SCHEDULER_TIMEOUT: where the first command hangs, where others have to do their work before one does, and
where none hangs: on a machine under load a good command takes a while, too."""
SBATCH = """
number=$(($(cat "$0.number" 2>/dev/null || echo 100) + 1))
echo "$number" >"$0.number"
for word; do [ "$before" = --job-name ] && name=$word; before=$word; done
echo "$number $name" >>"${0%/*}/jobs"
"""
SQUEUE = r"""
while read -r number name; do
  case " $* " in
  *" --name=$name "*) echo "$number" ;;
  *" -j "*"$number"*)
    printf '%s\x1fPENDING\x1fNone\x1f\x1fN/A\x1fN/A\x1f1\x1f%s\x1f%s\x1e\n' "$number" "$(id -un)" "$name" ;;
  esac
done < <(cat "${0%/*}/jobs" 2>/dev/null)
"""
DOWN = 'echo "{}: error: Unable to contact slurm controller (connect failure)" >&2; exit 1'
FAULTS = {
    "hang": "exec sleep 3600",
    "garbage": "echo '<html><body>502 Bad Gateway</body></html>'",
    "non_utf8": r"printf '\xfe\xffmH\x80\x81: \xc3\x28\n'",
    "down": DOWN,
}
NAMES = {"slurm": ("sbatch", "squeue", "scancel"), "pbs": ("qsub", "qstat", "qdel")}


class FakeSlurm(Backend):
    """`sbatch`, `squeue`, `sacct` and `scancel` of a few lines: jobs wait for ever."""

    name = scheduler = "slurm"

    def __init__(self, folder: Path) -> None:
        self.stand = Stand(folder / "slurm")
        self.mend()

    def environment(self) -> dict[str, str]:
        return self.stand.environment()

    def mend(self) -> None:
        """Make all commands work."""
        self.stand.write("sbatch", SBATCH + 'echo "$number"')
        self.stand.write("squeue", SQUEUE)
        self.stand.write("sacct", "")
        self.stand.write("scancel", "")

    def spoil(self, command: str, fault: str) -> None:
        """Let a command be missing, hang, print garbage, or accept a job and then not answer."""
        if fault == "missing":
            (self.stand.folder / command).unlink()
        elif fault.startswith("accept_then_"):
            self.stand.write(command, SBATCH + FAULTS[fault.removeprefix("accept_then_")].format(command))
        else:
            self.stand.write(command, FAULTS[fault].format(command))

    def queued(self) -> dict[str, str]:
        """Return job name → number of all jobs."""
        path = self.stand.folder / "jobs"
        return dict(reversed(line.split()) for line in path.read_text().splitlines()) if path.exists() else {}


class SpoiltPbs(PbsBackend):
    """The PBS stand-in; its queue is stopped, so that jobs wait."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        pbs.configure(self.state, queues={"workq": {"started": False}})
        self.tools = Stand(folder / "pbs-bin")
        self.mend()

    def environment(self) -> dict[str, str]:
        kept = self.tools.environment()
        return {**super().environment(), "PATH": f"{self.tools.folder}:{kept['PATH']}"}

    def mend(self) -> None:
        """Make all commands work."""
        pbs.mend(self.state)
        for path in pbs.STUBS.iterdir():
            target = self.tools.folder / path.name
            if path.is_file() and not target.exists():
                target.symlink_to(path)

    def spoil(self, command: str, fault: str) -> None:
        """Let a command be missing, or have a fault of the stand-in."""
        if fault == "missing":
            (self.tools.folder / command).unlink()
        else:
            pbs.break_command(self.state, command, fault)

    def queued(self) -> dict[str, str]:
        """Return job name → id of all jobs."""
        jobs = [json.loads(path.read_text()) for path in (self.state / "jobs").glob("*.json")]
        return {job["attributes"]["Job_Name"]: f"{job['number']}.pbslogin" for job in jobs}


@pytest.fixture(params=["slurm", "pbs"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    backend = FakeSlurm(tmp_path) if request.param == "slurm" else SpoiltPbs(tmp_path)
    made = Site(backend, tmp_path / "project", {"HACKATHON_SCHEDULER_TIMEOUT": PATIENT})
    write_project(made.folder, "true", {"scheduler": backend.scheduler, "starter": "local"})
    yield made
    backend.stop()


def spoil(site: Site, verb: str, fault: str, seconds: str = SECONDS) -> str:
    """Spoil the command behind `submit`, `status` or `cancel` and return its name; one that hangs gets some seconds."""
    assert isinstance(site.backend, FakeSlurm | SpoiltPbs)
    injected()
    command = NAMES[site.backend.scheduler][("submit", "status", "cancel").index(verb)]
    site.backend.spoil(command, fault)
    if fault.endswith("hang"):
        site.more["HACKATHON_SCHEDULER_TIMEOUT"] = seconds
    return command


def mend(site: Site) -> None:
    assert isinstance(site.backend, FakeSlurm | SpoiltPbs)
    site.backend.mend()
    site.more["HACKATHON_SCHEDULER_TIMEOUT"] = PATIENT
    later()


def queued(site: Site) -> dict[str, str]:
    assert isinstance(site.backend, FakeSlurm | SpoiltPbs)
    return site.backend.queued()


def only_run(site: Site) -> Path:
    (run,) = runs_in(site.folder)
    return run


def state_of(site: Site, *options: str) -> dict[str, Any]:
    said = ask(site, "status", "--json", *options)
    assert said.code == 0, said
    (state,) = said.json()["runs"]
    return dict(state)


def long_ago(run: Path, name: str = "submitting", seconds: float = 3600) -> None:
    """Move a fact into the past and forget that the job was looked for: the time that a person would wait."""
    path = run / "client" / f"{name}.json"
    fact = json.loads(path.read_text())
    path.write_text(json.dumps({**fact, "t": fact["t"] - seconds, "up": fact["up"] - seconds}))
    (run / "client" / "seen.json").unlink(missing_ok=True)


def words_of(said: Said, command: str) -> None:
    """A message names the command or the server, and says what to do."""
    assert command in said.err or "server of the scheduler does not answer" in said.err, said.err
    assert "hint: " in said.err, said.err


# ---- submit


def test_submit_without_the_command(site: Site) -> None:
    command = spoil(site, "submit", "missing")
    said = ask(site, "submit")
    assert said.code == 3 and f"`{command}` was not found on this machine" in said.err
    words_of(said, command)
    # it is sure that nothing was submitted, so the run waits to be submitted as it is
    state = state_of(site)
    assert (state["state"], state["cause"], state["job_id"]) == ("FAILED", "refused", None)
    mend(site)
    assert ask(site, "submit", "--again", only_run(site).name).code == 0
    assert list(queued(site)) == [f"hk-{only_run(site).name[-8:]}"]
    assert state_of(site)["state"] == "QUEUED"


@pytest.mark.parametrize(
    ("site", "fault"),
    [("slurm", "hang"), ("slurm", "garbage"), ("slurm", "non_utf8"), ("slurm", "down")],
    indirect=["site"],
)
def test_submit_without_a_clear_answer_is_uncertain(site: Site, fault: str) -> None:
    command = spoil(site, "submit", fault)
    said = ask(site, "submit")  # a command that hangs does so for longer than this one may take
    assert said.code == 3
    words_of(said, command)
    run = only_run(site)
    assert f"it is unclear whether {run.name[-8:]} reached the queue" in said.err
    assert state_of(site)["state"] == "UNCERTAIN"
    # not submitted again without --again, nor with it as long as the first one may still arrive
    long_ago(run, seconds=-3600)  # as if it had just been, however long the looks since then took
    haste = ask(site, "submit", "--again", run.name)
    assert haste.code == 2 and "is being submitted" in haste.err
    assert not queued(site)
    mend(site)
    long_ago(run, seconds=2 * 3600)
    assert ask(site, "submit", "--again", run.name).code == 0
    assert list(queued(site)) == [f"hk-{run.name[-8:]}"]
    assert state_of(site)["job_id"] == queued(site)[f"hk-{run.name[-8:]}"]


@pytest.mark.parametrize("site", ["pbs"], indirect=True)
def test_a_connection_that_never_came_about_leaves_no_doubt(site: Site) -> None:
    spoil(site, "submit", "down")
    said = ask(site, "submit")
    assert said.code == 3 and "does not answer" in said.err and "it is unclear" not in said.err
    state = state_of(site, "--no-ask")
    assert (state["state"], state["cause"], state["job_id"]) == ("FAILED", "refused", None)
    mend(site)
    assert ask(site, "submit", "--again", only_run(site).name).code == 0
    assert list(queued(site)) == [f"hk-{only_run(site).name[-8:]}"]


@pytest.mark.parametrize("fault", [pytest.param("accept_then_hang", marks=pytest.mark.slow), "accept_then_down"])
def test_submit_whose_answer_was_lost_is_found_by_name(site: Site, fault: str) -> None:
    spoil(site, "submit", fault, LONGER)
    assert ask(site, "submit").code == 3
    run = only_run(site)
    (job,) = queued(site).values()
    mend(site)
    state = state_of(site)
    assert (state["state"], state["job_id"]) == ("QUEUED", job)
    again = ask(site, "submit", "--again", run.name)
    assert again.code == 2 and f"was already submitted: job {job}" in again.err
    assert len(queued(site)) == 1


def test_a_clear_refusal_is_the_request_s_fault(site: Site) -> None:
    write_project(site.folder, "true", {"scheduler": site.backend.scheduler, "starter": "local"}, queue="nowhere")
    if isinstance(site.backend, FakeSlurm):
        site.backend.stand.write("sbatch", 'echo "sbatch: error: invalid partition specified: nowhere" >&2; exit 1')
    english, japanese = in_both_languages(site, "submit", code=2)
    assert "does not know this queue" in english.err and "キュー" in japanese.err
    assert {state["state"] for state in ask(site, "status", "--json").json()["runs"]} == {"FAILED"}


def test_nothing_hangs_about_after_a_time_out(site: Site) -> None:
    spoil(site, "submit", "hang")
    said, japanese = in_both_languages(site, "submit", code=3)
    assert f"did not answer within {SECONDS} s" in said.err and "HACKATHON_SCHEDULER_TIMEOUT=" in said.err
    assert "応答しません" in japanese.err
    mark = os.fsencode(str(site.folder.parent))

    def left() -> list[str]:
        return [path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if mark in _bytes(path)]

    until(lambda: not left(), "the end of the command that hung")


@pytest.mark.parametrize(
    ("site", "value"), [("slurm", value) for value in ("soon", "0", "1e9", "nan")], indirect=["site"]
)
def test_a_time_limit_that_is_none_is_refused(site: Site, value: str) -> None:
    said = ask(site, "submit", HACKATHON_SCHEDULER_TIMEOUT=value)
    assert said.code == 2 and "HACKATHON_SCHEDULER_TIMEOUT" in said.err and not queued(site)


@pytest.mark.slow
def test_a_command_whose_parent_was_killed_ends_by_itself(site: Site) -> None:
    """Otherwise it could submit the job after somebody looked for it in vain and submitted it again."""
    command = spoil(site, "submit", "hang", LONGER)
    mark = os.fsencode(str(site.folder.parent))

    def hanging() -> list[int]:
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            if mark in _bytes(path) and b"-m" not in _bytes(path.with_name("cmdline")).split(b"\0")[1:2]:
                found.append(int(path.parent.name))
        return found

    process = start(site, "submit")
    until(lambda: [each for each in hanging() if each != process.pid], f"a {command} that hangs")
    process.kill()
    process.communicate()
    assert hanging()
    until(lambda: not hanging(), f"the end of the {command} without a parent", float(LONGER) + 10)


# ---- status


@pytest.mark.parametrize(
    ("site", "fault"),
    [*(("slurm", fault) for fault in ("missing", "hang", "garbage", "non_utf8", "down")), ("pbs", "down")],
    indirect=["site"],
)
def test_status_without_an_answer_is_the_last_one_with_its_age(site: Site, fault: str) -> None:
    assert ask(site, "submit").code == 0
    command = spoil(site, "status", fault)
    plain = ask(site, "status")
    assert plain.code == 0 and "QUEUED (" in plain.out and "warning: " in plain.err
    assert command in plain.err or "server of the scheduler does not answer" in plain.err
    mend(site)
    state = state_of(site)
    assert (state["state"], state["stale_seconds"], state["problem"]) == ("QUEUED", None, "")


def test_a_short_trouble_is_not_even_seen(site: Site) -> None:
    """Questions are asked again; submissions never are."""
    assert ask(site, "submit").code == 0
    injected()
    if isinstance(site.backend, FakeSlurm):
        once = f'[ -e "$0.was" ] || {{ touch "$0.was"; {DOWN.format("squeue")}; }}\n'
        site.backend.stand.write("squeue", once + SQUEUE)
    else:
        pbs.break_command(site.backend.state, "qstat", "down", 1)  # type: ignore[attr-defined]
    state = state_of(site)
    assert (state["state"], state["stale_seconds"], state["problem"]) == ("QUEUED", None, "")


@pytest.mark.slow
def test_lost_needs_two_good_answers_a_minute_apart(site: Site) -> None:
    assert ask(site, "submit").code == 0
    run = only_run(site)
    _forget_job(site)
    assert state_of(site)["state"] == "QUEUED"  # once not seen is nothing yet
    _a_minute_passes(run)
    spoil(site, "status", "garbage")
    assert state_of(site)["state"] == "QUEUED"  # no answer is not absence
    mend(site)
    _forget_job(site)
    lost = state_of(site)
    assert (lost["state"], lost["cause"], lost["sealed"]) == ("LOST", "lost", False)
    # and it is no end: the job's own word counts when it comes
    (run / "claim").mkdir()
    (run / "claim" / "job_id").write_text(str(lost["job_id"]))
    (run / "events").mkdir(exist_ok=True)
    (run / "events" / "job.jsonl").write_text(
        f'{{"t":{time.time()},"event":"started","attempt":1,"host":"n1"}}\n'
        f'{{"t":{time.time()},"event":"ended","attempt":1,"host":"n1","exit_code":0,"signal":null}}\n'
    )
    assert state_of(site)["state"] == "SUCCEEDED"


# ---- cancel


@pytest.mark.slow
@pytest.mark.parametrize(
    ("site", "fault"),
    [*(("slurm", fault) for fault in ("missing", "garbage", "down")), ("pbs", "down"), ("pbs", "garbage")],
    indirect=["site"],
)
def test_cancel_without_an_answer_can_be_repeated(site: Site, fault: str) -> None:
    assert ask(site, "submit").code == 0
    run = only_run(site)
    command = spoil(site, "cancel", fault, LONGER)  # it asks first whose job it is
    said = ask(site, "cancel", run.name)
    if fault == "garbage":
        # a command that ends with 0 has done it, whatever else it prints
        assert said.code == 0
    else:
        assert said.code == 3
        words_of(said, command)
    mend(site)
    assert state_of(site)["state"] == "QUEUED" if site.backend.scheduler == "slurm" else True
    assert ask(site, "cancel", run.name).code == 0
    if site.backend.scheduler == "pbs":
        assert state_of(site)["state"] == "CANCELLED"


@pytest.mark.slow
def test_cancel_is_not_believed_before_the_scheduler_says_so(site: Site) -> None:
    assert ask(site, "submit").code == 0
    spoil(site, "cancel", "down")
    assert ask(site, "cancel", only_run(site).name).code == 3
    assert not (only_run(site) / "client" / "cancelled.json").exists()
    mend(site)
    assert state_of(site)["state"] == "QUEUED"


# ---- helpers


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _forget_job(site: Site) -> None:
    injected()
    if isinstance(site.backend, FakeSlurm):
        (site.backend.stand.folder / "jobs").unlink(missing_ok=True)
    else:
        for path in (site.backend.state / "jobs").glob("*.json"):  # type: ignore[attr-defined]
            path.unlink()


def _a_minute_passes(run: Path) -> None:
    """Move everything that was seen 100 s into the past."""
    path = run / "client" / "seen.json"
    seen = json.loads(path.read_text())
    times = ("t", "since", "absent_t", "absent_since")
    moved = {name: value - 100 if name in times else value for name, value in seen.items()}
    path.write_text(json.dumps(moved))
    for name in ("submitting", "submitted", "created"):
        fact = json.loads((run / "client" / f"{name}.json").read_text())
        (run / "client" / f"{name}.json").write_text(json.dumps({**fact, "t": fact["t"] - 200}))
    later()
