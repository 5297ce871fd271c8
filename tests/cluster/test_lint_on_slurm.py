"""The linter's Slurm rows against the real server: refused if and only if sbatch refuses, else the same attributes."""

import os
import re
from pathlib import Path

import pytest

from hackathon.schedulers.scripts import ScriptRequest
from support.lint_server import Server, differing
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
SITE = re.compile(rb"-[AC] |gpus?:|--account|container-image|-p opt|--gpus|-q regular|-q h-debug|--nodelist")
"""What depends on the machine: accounts, features, GPUs of the partition, names of nodes."""


@pytest.mark.slow
def test_the_server_says_the_same(slurm: SlurmLab, tmp_path: Path) -> None:
    def shown(job_ids: list[str]) -> list[str]:
        lines = slurm.run("scontrol", "-o", "show", "job").splitlines()
        # an array's first line is that of its tasks that wait
        jobs = {re.split("[= ]", line)[1]: line for line in lines} | {
            found[1]: line for line in lines if (found := re.search(r"ArrayJobId=(\d+)", line))
        }
        return [jobs[job_id.split(";")[0]] for job_id in job_ids]

    submit = ["sbatch", "--hold", "--parsable", "job.sh"]
    # refused for a partition that this machine does not have, which no script tells
    server = Server("slurm", submit, os.environ, SITE, shown, _differences, frozenset({"pbs_group.sh"}))
    lines = "\n".join(f"#SBATCH {option}" for line in LINES.strip().splitlines() for option in line.split("|"))
    found = server.disagreements(tmp_path, lines)
    slurm.run("scancel", "--state=PENDING")
    assert "\n".join(found) == ""


def _differences(request: ScriptRequest, shown: str) -> list[str]:
    """Return where the job has other attributes than the linter reads in the header."""
    job = dict(re.findall(r"(\w+)=(\S*)", shown))
    wanted = {
        "JobName": request.name and request.name.split()[0],
        "Partition": request.queue,
        "NumTasks": request.processes if request.processes_per_node is None else None,
        "TimeLimit": request.walltime and _minutes(request.walltime),
        "NumNodes": request.nodes,
    }
    job["NumNodes"] = job["NumNodes"].split("-")[0]
    return differing(job, wanted)


def _minutes(seconds: int) -> str:
    """Return a time limit as Slurm shows it, in whole minutes."""
    minutes = -(-seconds // 60)
    days, minutes = divmod(minutes, 1440)
    return (f"{days}-" if days else "") + f"{minutes // 60:02d}:{minutes % 60:02d}:00"
