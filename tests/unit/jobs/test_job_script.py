"""What a person may change in `job.sh`, and what templates of a centre may: both are what runs."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from hackathon.cli.main import run

FORMER = {
    "identity-local.sh.j2": """\
HK_RUN=${HACKATHON_SUBMIT_DIR:-$PWD}
HK_JOB_ID=${HACKATHON_JOB_ID:-by-hand.$(hostname).$$}
hk_hosts_of_job() { HK_HOSTS=(of-the-centre); }
""",
    "start-local.sh.j2": """\
# starter: there is one node, this one
hk_on_nodes() {
  echo "starter of the centre"
  HK_NODE_RANK=0 exec bash "$HK_RUN/rank.sh" "$HK_RUN" "$HK_ATTEMPT" "$1"
}
""",
    "launch-torchrun.sh.j2": """\
# launcher: one torchrun on every node; it starts rank.sh for each of its ranks
hk_launch() {
  hk_on_nodes torchrun
}
""",
    "job.sh.j2": """\
{% extends "shipped/job.sh.j2" %}
{% block header %}{{ super() }}#HK of-the-centre
{% endblock %}
{% block record %}{{ super() }}echo "attempt $HK_ATTEMPT"
{% endblock %}
{% block environment %}{{ super() }}echo "recorded $(ls env)"
{% endblock %}
{% block prologue %}
echo "hosts ${HK_HOSTS[*]}"
{% endblock %}
{% block launch %}{{ super() }}echo "launch $HK_LAUNCHER"
{% endblock %}
{% block epilogue %}
echo "code $hk_code"
{% endblock %}
""",
}
"""Templates as they were written before `hackathon.sh` was a file of its own."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a project on this machine, and launchers that print their words."""
    folder = tmp_path / "project"
    folder.mkdir()
    keys = {"name": "mine", "command": "bash program.sh", "cluster": "laptop", "processes": 2}
    (folder / "project.yaml").write_text(json.dumps(keys))
    (folder / "program.sh").write_text('echo "rank $RANK $COLOUR $SHADE"\n')
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("torchrun", "mpirun", "mpiexec", "another"):
        (programs / name).write_text('#!/bin/bash\necho "${0##*/} $*"\n')
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.chdir(folder)
    return folder


def job_log(folder: Path) -> str:
    """Return what the job of a folder of `render --to` wrote."""
    assert subprocess.run(["bash", "job.sh"], cwd=folder).returncode == 0
    (job,) = (folder / "jobs").iterdir()
    return (job / "logs" / "job.log").read_text()


@pytest.mark.parametrize(
    ("launcher", "line", "changed", "words"),
    [
        ("torchrun", "=0\n", "=3 --log-dir='a b'\n", "--max-restarts=3 --log-dir=a b --node-rank=0"),
        ("torchrun", "hk_on_every_node torchrun", "hk_on_every_node another", "another --nnodes=1"),
        ("mpirun", 'rank.sh" "$HK_RUN"', 'rank.sh" --mine "$HK_RUN"', "rank.sh --mine /"),
        ("mpirun", 'hk_mpirun "$HK_PROCESSES" "$HK_PROCESSES_PER_NODE"', "mpirun -np 7", "mpirun -np 7 bash /"),
    ],
)  # fmt: skip
def test_a_changed_launch_line_is_what_runs(project: Path, launcher: str, line: str, changed: str, words: str) -> None:
    assert run(["render", "--launcher", launcher, "--to", "x"]) == 0
    script = Path("x/job.sh").read_text()
    assert script.count(line) == 1
    Path("x/job.sh").write_text(script.replace(line, changed))
    assert words in job_log(project / "x")


def test_changed_values_and_environment_are_what_runs(project: Path) -> None:
    assert run(["render", "--launcher", "local", "--to", "x"]) == 0
    script = Path("x/job.sh").read_text()
    for line, changed in (
        ("HK_PROCESSES=2", "HK_PROCESSES=3"),
        ("HK_ENVIRONMENT=()", "HK_ENVIRONMENT=('export COLOUR=green')"),
        ('    bash "$HK_RUN/rank.sh"', '    SHADE=$number bash "$HK_RUN/rank.sh"'),
    ):
        assert script.count(line) == 1, line
        script = script.replace(line, changed)
    Path("x/job.sh").write_text(script)
    job_log(project / "x")
    (job,) = Path("x/jobs").iterdir()
    logs = [(job / "logs" / f"rank-{rank}.log").read_text() for rank in range(3)]
    assert logs == [f"rank {rank} green {rank}\n" for rank in range(3)]


@pytest.mark.parametrize("names", [*([name] for name in FORMER), list(FORMER)])
def test_templates_of_former_versions_are_what_runs(project: Path, names: list[str]) -> None:
    folder = project / "templates" / "jobs"
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_text(FORMER[name])
    assert run(["render", "--launcher", "torchrun", "--to", "x"]) == 0
    log = job_log(project / "x")
    assert "torchrun --nnodes=1 --nproc-per-node=2" in log and "--max-restarts=0 --node-rank=0 --no-python bash" in log
    assert ("starter of the centre" in log) == ("start-local.sh.j2" in names)
    if "job.sh.j2" in names:
        assert "\n#HK of-the-centre\n" in Path("x/job.sh").read_text()
        host = "of-the-centre" if len(names) > 1 else os.uname().nodename
        lines = ["attempt 1", "recorded job-1.sh", f"hosts {host}", "launch torchrun", "code 0"]
        assert [line for line in log.splitlines() if line in lines] == lines


def test_a_template_that_job_sh_does_not_show_is_checked_as_well(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = project / "templates" / "jobs"
    folder.mkdir(parents=True)
    (folder / "start-local.sh.j2").write_text("echo {{ note }}\n")
    assert run(["render"]) == 2
    assert "start-local.sh.j2:1" in capsys.readouterr().err
