"""The linter's Slurm rows against the real server: refused if and only if sbatch refuses, else the same attributes."""

import re
import subprocess
from pathlib import Path

import pytest

from hackathon.programs.scripts.lint import lint, looked_at
from hackathon.programs.scripts.source import script_text
from support.lint_data import raw_of, recorded, twins
from support.slurm_lab.lab import SlurmLab

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(300)]

LINES = """
--time＝5|--job-name=“abc”|--job-name =x|--time|--node=1|--cpus=2|--gpu=1|-N2|--nodes=abc|--ntasks=abc
--mem=abc|--mem=1TB|--array=a|--job-name="abc|--foo=1|--time=1:2:3:4|--time=90m|--output=~/x.out
-n 2 -c 1 -J foo|--mail-type=FOO|--tasks-per-node=2|--mem=16 GB|--exclusive user|-H -Jab|--time=1-0
--time=1-12|--time=0-1:30|--export=ALL,A=1|--time=|--cpus-per-task=0|--nodes=2 --ntasks-per-node
--ntasks=0|-t5|--mem-per-cpu=1.5G|--open-mode=foo|--requeue=1|--time 5 --nice|--time=01:30|--time=3600
-p main -t 00:07:00|-N 2 --ntasks-per-node 2|-q debug|--comment="a = b"|--jo=x|--time= 5|--time =5|-J a#b
--exclusive|--gres=gpus:1|--gres=gpu:1|-l nodes=2|-P x|--walltime=5|five|--mail-type=BEGIN,END|-N 1-2
--mem=0
"""
"""One directive each, behind `#SBATCH `."""
ELSEWHERE = {"pbs_group.sh"}
"""Refused for a partition that this machine does not have, which no script tells."""


def cases() -> list[tuple[str, bytes]]:
    found = [(each.name, each.raw) for each in recorded("slurm_directives.txt") if each.name not in ELSEWHERE]
    for each in twins():
        if each.dialect == "slurm":
            found += [(f"{each.rule} bad", each.bad), (f"{each.rule} good", each.good)]
    options = [option for line in LINES.strip().splitlines() for option in line.split("|")]
    return found + [(option, raw_of(f"#!/bin/bash\n#SBATCH {option}\nhostname\n")) for option in options]


SITE = re.compile(rb"-[AC] |gpus?:|--account|container-image|-p opt|--gpus|-q regular|-q h-debug")
"""What depends on the machine: accounts, features, GPUs of the partition."""


def test_the_server_says_the_same(slurm: SlurmLab, tmp_path: Path) -> None:
    wrong = []
    for name, raw in cases():
        report = lint(script_text(raw, name), "slurm")
        refused = any(each.effect == "refused" and each.severity == "error" for each in report.findings)
        script = tmp_path / "job.sh"
        script.write_bytes(raw)
        answer = subprocess.run(
            ["sbatch", "--hold", "--parsable", "job.sh"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        said = (answer.returncode != 0, answer.stderr.strip()[:200])
        if SITE.search(raw) and refused != said[0]:
            continue
        if refused != said[0]:
            wrong.append(f"{name}: linter {[each.rule for each in report.findings]}, sbatch {said}")
        elif not refused:
            wrong += _differences(
                name, raw, slurm.run("scontrol", "-o", "show", "job", answer.stdout.strip().split(";")[0])
            )
    slurm.run("scancel", "--state=PENDING")
    assert wrong == []


def _differences(name: str, raw: bytes, shown: str) -> list[str]:
    """Return where the job has other attributes than the linter reads in the header."""
    look = looked_at(script_text(raw, name), "slurm")
    assert look is not None
    request = look.request
    if any(each.rule in ("partly-obeyed", "two-dialects") for each in lint(script_text(raw, name), "slurm").findings):
        return []
    job = dict(re.findall(r"(\w+)=(\S*)", shown))
    wanted = {
        "JobName": request.name,
        "Partition": request.queue,
        "NumTasks": request.processes if request.processes_per_node is None else None,
        "TimeLimit": request.walltime and _minutes(request.walltime),
    }
    if request.nodes is not None:
        wanted["NumNodes"] = str(request.nodes)
        job["NumNodes"] = job["NumNodes"].split("-")[0]
    return [
        f"{name}: {key} {job.get(key)}, read as {value}"
        for key, value in wanted.items()
        if value is not None and job.get(key) != str(value).split()[0]
    ]


def _minutes(seconds: int) -> str:
    """Return a time limit as Slurm shows it, in whole minutes."""
    minutes = -(-seconds // 60)
    days, minutes = divmod(minutes, 1440)
    return (f"{days}-" if days else "") + f"{minutes // 60:02d}:{minutes % 60:02d}:00"
