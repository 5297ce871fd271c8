"""The PBS stand-in itself: it really runs scripts, and answers as the samples say."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import pbs
from support.patience import STRETCH, until


class Site:
    """A stand-in server with its state in a folder."""

    def __init__(self, folder: Path) -> None:
        self.state, self.work, self.home = folder / "state", folder / "work", folder / "home"
        self.work.mkdir()
        self.home.mkdir()
        self.environment = {**pbs.environment(self.state), "HOME": str(self.home)}

    def run(self, *words: str, timeout: float = 30) -> subprocess.CompletedProcess[bytes]:
        limit = STRETCH * timeout
        return subprocess.run(words, env=self.environment, cwd=self.work, capture_output=True, timeout=limit)

    def script(self, body: str, *directives: str) -> str:
        path = self.work / "job.sh"
        path.write_text("\n".join(["#!/bin/bash", *(f"#PBS {line}" for line in directives), body, ""]))
        return "job.sh"

    def submit(self, body: str, *directives: str, options: tuple[str, ...] = ()) -> str:
        answer = self.run("qsub", *options, self.script(body, *directives))
        assert answer.returncode == 0, answer.stderr
        return answer.stdout.decode().strip()

    def attributes(self, job_id: str) -> dict[str, str]:
        text = self.run("qstat", "-x", "-f", "-w", job_id).stdout.decode("utf-8", "replace")
        return dict(line.strip().split(" = ", 1) for line in text.splitlines() if " = " in line)

    def wait(self, job_id: str, letter: str = "F") -> dict[str, str]:
        return until(lambda: (found := self.attributes(job_id)).get("job_state") == letter and found)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    pbs.stop(made.state)


def test_script_runs_as_pbs_runs_it(site: Site) -> None:
    body = 'pwd; echo $PBS_O_WORKDIR; echo $PBS_JOBID; cat $PBS_NODEFILE; echo $NCPUS; echo "[$FOREIGN]"; echo bad >&2'
    site.environment["FOREIGN"] = "yes"
    job_id = site.submit(body, "-l select=2:ncpus=4:mpiprocs=2", "-l place=scatter", "-j oe", options=("-o", "out.txt"))
    found = site.wait(job_id)
    assert found["Exit_status"] == "0" and found["exec_host"] == "pn01/0*4+pn02/0*4"
    assert (site.work / "out.txt").read_text().split("\n")[:-1] == [
        str(site.home), str(site.work), job_id, "pn01", "pn01", "pn02", "pn02", "4", "[]", "bad",
    ]  # fmt: skip
    assert (site.work / "out.txt").stat().st_mode & 0o777 == 0o600


def test_first_resource_wins_and_command_line_beats_directives(site: Site) -> None:
    job_id = site.submit(
        "true\n#PBS -N late", "-N a", "-N b", "-l select=1:ncpus=2", "-l select=1:ncpus=3", "-q h-small",
        options=("-q", "workq"),
    )  # fmt: skip
    found = site.wait(job_id)
    assert (found["Job_Name"], found["Resource_List.select"], found["queue"]) == ("b", "1:ncpus=2", "workq")


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("-q", "nosuch"), 170, "Unknown queue"),
        (("-q", "disabled"), 173, "Queue is not enabled"),
        (("-q", "h-small", "-l", "walltime=02:00:00"), 188, "Job violates queue"),
        (("-l", "select=1:nosuch=1"), 187, "Unknown resource: nosuch"),
        (("-l", "walltime=1d"), 166, "Illegal attribute or resource value Resource_List.walltime"),
        (("-W", "group_list=nosuchgrp"), 197, "Bad GID"),
        (("-N", "a/b"), 2, "illegal -N value"),
        (("-l", "ncpus=2", "-l", "select=1:ncpus=1"), 5, "cannot be used with"),
    ],
)
def test_refusals(site: Site, options: tuple[str, ...], code: int, words: str) -> None:
    answer = site.run("qsub", *options, site.script("true"))
    assert answer.returncode == code and words in answer.stderr.decode() and not answer.stdout


def test_trailing_comment_and_windows_line_ends_are_refused(site: Site) -> None:
    answer = site.run("qsub", site.script("true", "-l walltime=00:00:44 # trailing comment"))
    assert (answer.returncode, b"directive error" in answer.stderr) == (1, True)
    (site.work / "job.sh").write_bytes(b"#!/bin/bash\r\ntrue\r\n")
    assert site.run("qsub", "job.sh").returncode == 1


def test_walltime_kills_and_says_so(site: Site) -> None:
    pbs.configure(site.state, kill_delay=0.2)
    job_id = site.submit("sleep 60", "-l walltime=1", "-j oe")
    found = site.wait(job_id)
    assert found["Exit_status"] == "-29" and found["comment"].endswith("exceeded resource walltime")
    assert "=>> PBS: job killed: walltime" in (site.work / f"job.sh.o{job_id.split('.')[0]}").read_text()


def test_qdel_of_a_running_job_gives_271_though_it_traps_term(site: Site) -> None:
    pbs.configure(site.state, kill_delay=0.3)
    job_id = site.submit("trap 'exit 0' TERM; touch $PBS_O_WORKDIR/up; while :; do sleep 0.1; done")
    until((site.work / "up").exists)
    assert site.run("qdel", job_id).returncode == 0
    assert site.wait(job_id)["Exit_status"] == "271"
    assert site.run("qdel", job_id).returncode == 35
    assert site.run("qdel", "9999").returncode == 153


def test_dependencies(site: Site) -> None:
    first = site.submit("until [ -e $PBS_O_WORKDIR/go ]; do sleep 0.05; done; exit 3")
    never = site.submit("true", options=("-W", f"depend=afterok:{first}"))
    after = site.submit("true", options=("-W", f"depend=afterany:{first}"))
    assert site.attributes(never)["job_state"] == "H"
    (site.work / "go").touch()
    assert "Exit_status" not in site.wait(never) and site.wait(after)["Exit_status"] == "0"


def test_impossible_request_stays_queued(site: Site) -> None:
    job_id = site.submit("true", "-l select=1:ncpus=100")
    found = until(lambda: (now := site.attributes(job_id)).get("comment", "").startswith("Can Never Run") and now)
    assert found["job_state"] == "Q"
    assert site.run("qdel", job_id).returncode == 0
    assert site.attributes(job_id)["substate"] == "91"


def test_tmrsh_passes_words_and_exit_codes(site: Site) -> None:
    body = (
        "export FOO=local\npbs_tmrsh pn02 sh -c 'echo \"$PBS_JOBID $PWD [$FOO]\"; exit 7'; echo rc=$?\n"
        "echo in | pbs_tmrsh pn01 cat; echo rc=$?; pbs_tmrsh pn03 true; echo rc=$?"
    )
    job_id = site.submit(body, "-l select=2:ncpus=1", "-l place=scatter", options=("-o", "out.txt"))
    site.wait(job_id)
    assert (site.work / "out.txt").read_text().splitlines() == [
        f"{job_id} {site.home} []", "rc=7", "rc=0", "rc=255",
    ]  # fmt: skip


def test_output_is_overwritten_and_a_missing_folder_loses_it(site: Site) -> None:
    (site.work / "out.txt").write_text("mine")
    site.wait(site.submit("echo new", options=("-o", "out.txt")))
    assert (site.work / "out.txt").read_text() == "new\n"
    assert site.wait(site.submit("echo new", options=("-o", "/nonexistent/x")))["Exit_status"] == "0"


def test_server_without_history_says_so_with_exit_code_0(site: Site) -> None:
    pbs.configure(site.state, history=False)
    job_id = site.submit("true")
    for words in (("qstat", "-x", "-f", "-w", job_id), ("qselect", "-x", "-N", "job.sh")):
        answer = site.run(*words)
        assert (answer.returncode, answer.stdout) == (0, b"")
        assert b"PBS is not configured to maintain job history" in answer.stderr


def test_queue_that_was_never_enabled_has_no_such_line(site: Site) -> None:
    pbs.configure(site.state, queues={"workq": {}, "closed": {"enabled": None}})
    first, second = site.run("qstat", "-Q", "-f").stdout.decode().split("\n\n")[:2]
    assert "enabled = True" in first and "enabled" not in second
    assert site.run("qsub", "-q", "closed", site.script("true")).returncode == 173


def test_each_id_is_a_connection(site: Site) -> None:
    ids = [site.submit("true") for _ in range(3)]
    before = len((site.state / "connections").read_text()) if (site.state / "connections").exists() else 0
    site.run("qstat", "-x", "-f", *ids)
    site.run("qstat", "-x", "-f")
    assert len((site.state / "connections").read_text()) - before == 3 + 1


def test_faults(site: Site) -> None:
    job_id = site.submit("true")
    site.wait(job_id)
    pbs.break_command(site.state, "qstat", "down", 1)
    assert site.run("qstat", job_id).returncode == 255
    assert site.run("qstat", job_id).returncode == 35
    pbs.break_command(site.state, "qdel", "down")
    assert site.run("qdel", job_id).returncode == 162
    pbs.mend(site.state)
    pbs.break_command(site.state, "mom", "prologue", 1)
    assert site.wait(site.submit("true"), "H")["Exit_status"] == "-3"
    pbs.break_command(site.state, "qsub", "accept_then_down", 1)
    assert site.run("qsub", "-N", "lost", site.script("true")).returncode == 162
    assert len(site.run("qselect", "-x", "-N", "lost").stdout.split()) == 1


def test_dead_node_leaves_the_job_running(site: Site) -> None:
    pbs.break_command(site.state, "mom", "dead", 1)
    job_id = site.submit("sleep 60")
    site.wait(job_id, "R")
    until(lambda: site.run("qdel", job_id).returncode == 222)
    assert site.attributes(job_id)["job_state"] == "R"
