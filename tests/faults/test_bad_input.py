"""What people write wrongly, and what they write to do harm: refused in words, or passed on as the text that it is.

Through the command line, in both languages. What each reader accepts is tested in tests/unit; here the whole way
counts: exit code, a message that names the place and the way out, no traceback, nothing made and nothing submitted.
"""

import contextlib
import json
import os
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.backends import LONG, LocalBackend, Site, until
from support.paths import ROOT
from support.trouble import Said, ask, in_both_languages, later, runs_in, start, write_project

LOCAL = {"scheduler": "local", "starter": "local", "launchers": ["local"]}
HOSTILE = (
    'it\'s "quoted"',
    "$(touch {mark}) `touch {mark}` ${HOME}",
    "; touch {mark} & | touch {mark} > {mark}",
    "line one\n#PBS -q other\n#SBATCH --wrap=id\ntouch {mark}",
    "学習率を変える　テスト",
    "\\ \\n %j %% {{ 7*7 }} {% raw %}",
    "-rf --help",
    "trailing space ",
)
"""Texts that mean something to a shell, a scheduler's header, a template or a terminal; `{mark}` is a file that nobody
may make."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(LocalBackend(tmp_path), tmp_path / "project")
    write_project(made.folder, "true", LOCAL)
    yield made
    made.backend.stop()


def refused(site: Site, *words: str, named: str, **more: str) -> Said:
    """Return what `check` (or another command) said in English: exit code 2, the word named, nothing made."""
    english, japanese = in_both_languages(site, *(words or ("check",)), code=2, **more)
    assert named in english.err, english.err
    assert named in japanese.err or "°" in named, japanese.err
    assert not (site.folder / "runs").exists()
    return english


def write(site: Site, text: str) -> None:
    (site.folder / "project.yaml").write_text(text)


# ---- files


def test_unknown_key_with_the_near_one_and_its_line(site: Site) -> None:
    write(site, "name: small\ncommand: 'true'\nwalltme: 00:10:00\n")
    said = refused(site, named="walltme")
    assert "did you mean `walltime`?" in said.err and "project.yaml:3" in said.err


@pytest.mark.parametrize(
    "lines",
    [
        ("name: a/b", "processes: many", "nodes: -1", "walltime: soon", "launcher: mpiexec", "parameters: lr"),
        ("name: ''", "processes: [1, 2]", "nodes: 1.5", "walltime: -5"),
        ("name: small", "processes: 0"),
    ],
)
def test_wrong_type_or_value_names_its_key_and_line(site: Site, lines: tuple[str, ...]) -> None:
    write(site, "\n".join(("command: 'true'", *lines, "")))
    said = refused(site, named="processes")
    for number, line in enumerate(lines, 2):
        place = f"project.yaml:{number}: {line.partition(':')[0]}"
        assert (place in said.err) == (line != "name: small"), place


def test_all_mistakes_at_once(site: Site) -> None:
    write(site, "name: small\ncommand: 'true'\nnods: 2\nprocesses: x\nwalltime: y\n")
    said = refused(site, named="nods")
    assert all(f"project.yaml:{line}" in said.err for line in (3, 4, 5))


def test_yaml_tags_are_not_obeyed(site: Site, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    write(site, f"name: !!python/object/apply:os.system ['touch {mark}']\ncommand: 'true'\n")
    refused(site, named="!!python/object" if "!!" in ask(site, "check").err else "python/object")
    assert not mark.exists()


def test_alias_bomb_is_refused_at_once(site: Site) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    write(site, "\n".join([*lines, "name: small", "command: 'true'", ""]))
    refused(site, named="project.yaml")
    # in time of the processor, of which others on this machine take nothing away; the warm Python is no child of ours
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "hackathon", "check"]
    done = subprocess.run(command, cwd=site.folder, env=site.backend.environment(), capture_output=True, timeout=LONG)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 2
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 10


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"- a\n", b"a: [\n", b"name: small\n" * 2])
def test_files_that_are_no_project(site: Site, content: bytes) -> None:
    (site.folder / "project.yaml").write_bytes(content)
    refused(site, named="project.yaml")


def test_missing_files(site: Site, tmp_path: Path) -> None:
    refused(site, "check", "no-such-recipe", named="no-such-recipe")
    refused(site, "check", "--cluster", "reedbusch-h", named="reedbush-h")
    empty = Site(site.backend, tmp_path / "empty")
    empty.folder.mkdir()
    refused(empty, "check", named="project.yaml")
    write(site, "name: small\nrecipe: torch-dpp\n")
    refused(site, "check", named="torch-ddp")


# ---- requests


def test_request_that_no_queue_takes_shows_the_nearest(site: Site) -> None:
    words = ("check", "torch-ddp", "--cluster", "reedbush-h", "--group", "pz0425", "--processes", "400")
    english, japanese = in_both_languages(site, *words, "--walltime", "100h", code=2)
    for said in (english, japanese):
        assert "200" in said.err and "100:00:00" in said.err
        assert "--queue h-regular --nodes 32 --walltime 48:00:00" in said.err
    # and what it offers is taken
    offered = ("--queue", "h-regular", "--nodes", "32", "--walltime", "48:00:00")
    folder = Path("/lustre")  # the profile's nodes see /lustre only; that is no part of this test
    taken = ask(site, "render", "torch-ddp", "--cluster", "reedbush-h", "--group", "pz0425", *offered)
    assert taken.code == 0 or str(folder) in taken.err


def test_value_outside_the_limits_of_each_queue(site: Site) -> None:
    queues = {"small": {"nodes": 2, "walltime": "00:30:00"}, "large": {"min_nodes": 4, "nodes": 8}}
    profile = {**LOCAL, "scheduler": "slurm", "starter": "srun", "launchers": ["srun"], "queues": queues}
    write_project(site.folder, "true", profile, launcher="srun", queue="small")
    said = refused(site, "check", "--nodes", "3", "--walltime", "1h", named="small")
    assert "3 nodes" in said.err and "01:00:00" in said.err
    assert "--queue large --nodes 4 --walltime 01:00:00" in said.err  # the nearest one is in the other queue
    refused(site, "check", "--queue", "large", "--nodes", "2", named="large")
    refused(site, "check", "--queue", "lareg", named="lareg")


def test_launcher_that_is_not_supported(site: Site) -> None:
    assert "local" in refused(site, "check", "--launcher", "srun", named="srun").err
    refused(site, "check", "--launcher", "mpiexec", named="mpiexec")
    refused(site, "submit", "torch-ddp", "--launcher", "horovodrun", named="horovodrun")


@pytest.mark.parametrize(
    ("assignment", "named"),
    [("lr=fast", "lr"), ("lr=nan", "lr"), ("lr=-1", "lr"), ("learning_rate=0.1", "learning_rate"), ("lr", "lr"),
     ("batch=7.5", "batch"), ("batch=0", "batch"), ("mode=quick", "mode"), ("=1", "=1")],
)  # fmt: skip
def test_parameters(site: Site, assignment: str, named: str) -> None:
    parameters = {
        "lr": {"default": 0.1, "type": "float", "min": 0.0, "max": 10.0},
        "batch": {"default": 64, "type": "int", "min": 1},
        "mode": {"default": "fast", "choices": ["fast", "slow"]},
    }
    write_project(site.folder, "echo {lr} {batch} {mode}", LOCAL, parameters=parameters)
    said = ask(site, "check", "-p", assignment)
    assert said.code == 2 and named in said.err
    assert ask(site, "check", "-p", assignment, HACKATHON_LANG="ja").code == 2


# ---- hostile words


def test_hostile_parameters_and_notes_arrive_as_text(site: Site, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    texts = {f"text{number}": text.replace("{mark}", str(mark)) for number, text in enumerate(HOSTILE)}
    note = "\n".join(texts.values())
    program = "import json, os, sys; json.dump(sys.argv[1:], open(os.environ['HK_RUN'] + '/words.json', 'w'))"
    (site.folder / "words.py").write_text(program)
    parameters = {name: {"default": text, "type": "str"} for name, text in texts.items()}
    # the same team's own template, as a centre would write it
    own = site.folder / "templates" / "jobs"
    own.mkdir(parents=True)
    (own / "job.sh.j2").write_text(
        '{% extends "shipped/job.sh.j2" %}\n{% block prologue %}\nprintf \'%s\' "${HK_COMMAND[*]}" >prologue\n'
        "{% endblock %}\n"
    )
    command = "python words.py " + " ".join(f"{{{name}}}" for name in texts)
    write_project(site.folder, command, LOCAL, parameters=parameters, processes=1)
    tags = [word for text in texts.values() for word in ("--tag", text)]
    said = ask(site, "submit", "--wait", "--note", note, *tags)
    assert said.code == 0, said
    (run,) = runs_in(site.folder)
    assert json.loads((run / "words.json").read_text()) == [*texts.values()]
    record = json.loads((run / "request.json").read_text())
    assert (record["note"], record["tags"]) == (note, [*texts.values()])
    prologue = (run / "prologue").read_text()
    assert [text for text in texts.values() if text not in prologue] == []
    # shown without being obeyed: neither by a shell nor by the terminal
    given = [word for name, text in texts.items() for word in ("-p", f"{name}={text}")]
    for words in (("status",), ("results",), ("render", *given)):
        assert ask(site, *words).code == 0
    assert not mark.exists()


@pytest.mark.parametrize("name", ['it\'s $(id) `id`; "x" {{ 7*7 }} 学習', "a\n#PBS -q other", "-rf"])
def test_hostile_names_are_refused_or_harmless(site: Site, name: str) -> None:
    write_project(site.folder, "true", LOCAL, name=name, processes=1)
    said = ask(site, "submit", "--wait")
    if said.code == 2:
        assert "name" in said.err and not (site.folder / "runs").exists()
        return
    assert said.code == 0, said
    (run,) = runs_in(site.folder)
    assert run.name.replace("-", "").replace(".", "").replace("_", "").isalnum() and run.name.isascii()
    assert "#PBS -q other" not in (run / "job.sh").read_text().splitlines()
    assert json.loads((run / "request.json").read_text())["name"] == name


@pytest.mark.parametrize(
    ("option", "value"),
    [*(("--queue", value) for value in ("a b", "x;id", "$(id)", "x\n#PBS -l walltime=99:00:00", "キュー", "-q")),
     ("--group", "x\n#PBS -l walltime=99:00:00"), ("--reservation", "x\n#PBS -l walltime=99:00:00")],
)  # fmt: skip
def test_header_values_are_refused(site: Site, option: str, value: str) -> None:
    write_project(site.folder, "true", {**LOCAL, "scheduler": "pbs"})
    said = ask(site, "render", option, value)
    assert said.code == 2 and said.out == ""


@pytest.mark.parametrize("value", ["{{ name }}", "{% set x = name %}{{ x }}", "{{ ''.__class__ }}"])
def test_own_template_that_writes_values_is_refused(site: Site, value: str) -> None:
    own = site.folder / "templates" / "jobs"
    own.mkdir(parents=True)
    (own / "job.sh.j2").write_text(
        '{% extends "shipped/job.sh.j2" %}\n{% block prologue %}\necho ' + value + "\n{% endblock %}\n"
    )
    said = refused(site, "submit", named="job.sh.j2")
    assert "3" in said.err  # the line


# ---- files that others write


@pytest.mark.slow
def test_torn_metrics_are_passed_over(site: Site) -> None:
    write_project(site.folder, "true", LOCAL, processes=1)
    assert ask(site, "scale", "--processes", "1", "--wait").code in (0, 1)
    (run,) = runs_in(site.folder)
    (run / "metrics").mkdir(exist_ok=True)
    good = '{"t":1.0,"attempt":1,"step":1,"samples":64,"seconds":1.0,"samples_per_s":64.0}\n'
    for torn in (b"", b'{"t":2.0,"attempt":1,"samp', b"\xff\xfe\x00\n", b"[1]\n", b'{"samples_per_s": "fast"}\n'):
        (run / "metrics" / "rank-0.jsonl").write_bytes(good.encode() + torn)
        said = ask(site, "results", "--format", "json")
        assert said.code == 0, said
        assert said.json()["points"][0]["value"] == 64.0


# ---- at the same moment


@pytest.mark.slow
def test_two_processes_submit_in_one_folder_at_the_same_moment(site: Site) -> None:
    processes = [start(site, "submit", "--repeat", "3", "--json") for _ in range(3)]
    found = [process.communicate(timeout=LONG) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], found
    rows = [row for out, _ in found for row in json.loads(out)["runs"]]
    assert len({row["run"] for row in rows}) == len({row["job_id"] for row in rows}) == 9
    assert sorted(row["run"] for row in rows) == [run.name for run in runs_in(site.folder)]


@pytest.mark.slow
def test_two_people_submit_in_one_shared_folder_at_the_same_moment(tmp_path: Path) -> None:
    """Two Unix users, one project of their group: each one's runs are the own ones, and both see all."""
    if os.geteuid() != 0:
        pytest.skip("two users need root")
    python = _python_for_everybody()
    if python is None:
        pytest.skip("other users can not reach this Python or this checkout")
    shared = Path(tempfile.mkdtemp(prefix="hk-shared-"))
    try:
        people = [_Person(shared, python, number) for number in (64001, 64002)]
        write_project(shared / "project", "true", LOCAL, processes=1)
        for path in [shared, *(shared / "project").rglob("*"), shared / "project"]:
            os.chown(path, people[0].uid, 64000)
            path.chmod(0o2775 if path.is_dir() else 0o664)
        assert [each.run("trust", ".").returncode for each in people] == [0, 0]  # the group can change what they run
        said: list[subprocess.CompletedProcess[str]] = []
        threads = [
            threading.Thread(target=lambda each=each: said.append(each.run("submit", "--repeat", "3", "--json")))
            for each in people
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [each.returncode for each in said] == [0, 0], [each.stderr for each in said]
        assert not any("Traceback" in each.stderr for each in said)
        runs = [row["run"] for each in said for row in json.loads(each.stdout)["runs"]]
        assert len(set(runs)) == 6
        assert sorted(runs) == [run.name for run in runs_in(shared / "project")]
        owners = {run.stat().st_uid for run in runs_in(shared / "project")}
        assert owners == {64001, 64002}
        for each in people:  # both see all; nobody writes in the other's
            listed = json.loads(until(lambda each=each: each.run("status", "--all", "--json").stdout))
            assert len(listed["runs"]) == 6
        for each in people:
            each.wait()  # a job that still runs makes and removes files
        for run in runs_in(shared / "project"):
            assert {path.stat().st_uid for path in run.rglob("*")} == {run.stat().st_uid}
            assert not run.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    finally:
        for name in ("person64001", "person64002"):  # what jobs keep on the node's own disk
            shutil.rmtree(f"/tmp/hackathon-{name}", ignore_errors=True)
        shutil.rmtree(shared, ignore_errors=True)


class _Person:
    """A Unix user of the team's group, with a home and a local back-end of the own."""

    def __init__(self, shared: Path, python: tuple[str, str], uid: int) -> None:
        self.folder, self.uid, self.home = shared / "project", uid, shared / f"home-{uid}"
        self.python, packages = python
        self.home.mkdir()
        os.chown(self.home, uid, 64000)
        self.more = {
            "HOME": str(self.home), "USER": f"person{uid}", "LOGNAME": f"person{uid}", "HACKATHON_LANG": "en",
            "PATH": "/usr/bin:/bin", "PYTHONPATH": packages,
            "PYTHONDONTWRITEBYTECODE": "1", "HACKATHON_LOCAL_DIR": str(self.home / "local"),
            "HACKATHON_LOCAL_SLOTS_DIR": str(self.home / "slots"), "HACKATHON_LOCAL_SLOTS": "2",
        }  # fmt: skip

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        command = [self.python, "-m", "hackathon", *words]
        options: dict[str, Any] = {"user": self.uid, "group": 64000, "extra_groups": [64000], "umask": 0o002}
        return subprocess.run(
            command, cwd=self.folder, env=self.more, capture_output=True, text=True, timeout=LONG, **options
        )

    def wait(self) -> None:
        until(lambda: not list((self.home / "local").glob("*/supervisors/*")), "the end of all supervisors")


def _python_for_everybody() -> tuple[str, str] | None:
    """Return an interpreter and a PYTHONPATH that other users can reach: this one, or the system's of this version."""
    packages = [str(ROOT), *(path for path in sys.path if path.endswith("-packages"))]
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        command = [python, "-c", "import click, jinja2, yaml, rich, hackathon"]
        environment = {"PYTHONPATH": ":".join(packages), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
        options: dict[str, Any] = {"user": 64001, "group": 64000, "extra_groups": []}
        with contextlib.suppress(OSError):
            if subprocess.run(command, env=environment, cwd="/", capture_output=True, **options).returncode == 0:
                return python, environment["PYTHONPATH"]
    return None


@pytest.mark.slow
def test_project_edited_while_its_job_is_queued(site: Site) -> None:
    """The job runs what was submitted; `rerun` does so again, whatever the project became."""
    (site.folder / "version.py").write_text("import os\nopen(os.environ['HK_RUN'] + '/version', 'w').write('one')\n")
    write_project(site.folder, "python version.py", LOCAL, processes=1)
    site.more["HACKATHON_LOCAL_SLOTS"] = "1"
    (site.folder / "wait.py").write_text(
        "import os, time\nwhile not os.path.exists(os.environ['HK_GO']): time.sleep(0.05)\n"
    )
    go = site.folder.parent / "go"
    site.more["HK_GO"] = str(go)
    other = Site(site.backend, site.folder.parent / "other", site.more)
    write_project(other.folder, "python wait.py", LOCAL, processes=1)
    shutil.copy(site.folder / "wait.py", other.folder)
    assert ask(other, "submit").code == 0  # it takes the only slot
    until(lambda: list(other.folder.glob("runs/*/events/rank-0.jsonl")), "the job that has the slot")
    assert ask(site, "submit").code == 0
    (site.folder / "version.py").write_text("import os\nopen(os.environ['HK_RUN'] + '/version', 'w').write('two')\n")
    write(site, "name: [broken\n")
    (run,) = runs_in(site.folder)
    (state,) = ask(site, "status", "--json").json()["runs"]
    assert state["state"] == "QUEUED"
    go.touch()
    version = run / "version"
    until(lambda: version.exists() and version.read_text(), "the job that waited")
    assert version.read_text() == "one"
    later()
    assert ask(site, "status", "--wait").code == 0
