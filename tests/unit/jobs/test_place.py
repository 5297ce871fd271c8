"""Where a job runs comes from the project, also for a recipe that is run inside it; threads fit on the node."""

import json
import os
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest

from hackathon.cli.main import run
from hackathon.jobs.check import CheckError, check
from hackathon.jobs.cost import cost
from hackathon.jobs.essence import essence
from hackathon.jobs.render import render
from hackathon.jobs.request import Options, Request
from hackathon.jobs.resolve import PROJECT, Sources, resolve
from hackathon.jobs.sources import find_sources
from hackathon.schedulers.registry import load_cluster
from hackathon.text.errors import RequestError
from support.profiles import visible_everywhere

PLACE = """name: digits
team: aurora
command: python train.py
cluster: reedbush-l
queue: l-debug
group: gx11
walltime: 00:07:00
launcher: mpirun
threads: 3
variables: {WHAT_RUNS: "1"}
directives: [-m abe]
"""


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "project.yaml").write_text(PLACE)
    (tmp_path / "notes").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _request(target: str | None, options: Options | None = None) -> tuple[Request, Sources]:
    sources = find_sources(target, options or Options())
    return resolve(sources), sources


@pytest.mark.parametrize("below", [".", "notes"])
def test_a_recipe_runs_where_the_project_says(team: Path, monkeypatch: pytest.MonkeyPatch, below: str) -> None:
    monkeypatch.chdir(team / below)
    asked, sources = _request("torch-ddp")
    assert (asked.cluster, asked.queue, asked.group, asked.walltime) == ("reedbush-l", "l-debug", "gx11", 420)
    assert (asked.directives, asked.team, sources.runs) == (("-m abe",), "aurora", team / "runs")
    assert {asked.origins[name] for name in ("cluster", "queue", "group", "walltime")} == {PROJECT}
    assert "#PBS -m abe\n" in render(asked, sources.cluster, sources.template_folders).job
    # what runs is the recipe's affair
    assert (asked.recipe, asked.name, asked.launcher) == ("torch-ddp", "torch-ddp", "torchrun")
    assert asked.threads != 3 and "WHAT_RUNS" not in asked.variables


@pytest.fixture
def event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An event with a team that pays by a group of its own, and the project of a member in the team's folder."""
    visible_everywhere("reedbush-h")
    clusters = {"reedbush-h": {"queue": "h-debug"}, "laptop": {}}
    teams = [{"name": "Aurora", "group": "gz01"}, {"name": "Borealis", "group": "gz02"}]
    (tmp_path / "hackathon.yaml").write_text(json.dumps({"title": "E", "clusters": clusters, "teams": teams}))
    folder = tmp_path / "Aurora" / "train"
    folder.mkdir(parents=True)
    project = {"name": "train", "command": "python train.py", "cluster": "reedbush-h", "walltime": "00:10:00"}
    (folder / "project.yaml").write_text(json.dumps({**project, "framework": "torch"}))
    (folder / "train.py").write_text("import torch.distributed as dist\ndist.init_process_group()\n")
    monkeypatch.chdir(folder)
    return folder


def test_the_teams_group_pays_for_its_members_jobs(event: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--processes", "2"]) == 0
    assert "needs a group" not in "".join(capsys.readouterr())
    assert run(["render", "--processes", "2", "--json"]) == 0
    request = json.loads(capsys.readouterr().out)["request"]
    assert (request["group"], request["queue"]) == ("gz01", "h-debug")
    assert (request["origins"]["group"], request["origins"]["queue"]) == ("event", "event")
    assert run(["scale", "--processes", "1,2", "--dry-run", "--json"]) == 0
    assert "needs a group" not in "".join(capsys.readouterr())
    assert run(["render", "--processes", "2"]) == 0
    assert "#PBS -W group_list=gz01" in capsys.readouterr().out


def test_the_scheduler_gets_the_teams_group_and_the_events_queue(
    event: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = tmp_path / "bin"
    commands.mkdir()
    qsub = commands / "qsub"
    # scale submits several at a time: the process number keeps them apart
    qsub.write_text(f'#!/bin/sh\nfor script; do :; done\ncat -- "$script" >{tmp_path}/job-$$\necho $$.server\n')
    qsub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    assert run(["submit", "--processes", "2"]) == 0
    assert run(["scale", "--processes", "1,2"]) == 0
    scripts = [path.read_text() for path in sorted(tmp_path.glob("job-*"))]
    assert len(scripts) == 3
    for script in scripts:
        assert "#PBS -W group_list=gz01\n" in script and "#PBS -q h-debug\n" in script, script[:2000]


def test_a_group_that_somebody_names_goes_before_the_teams(event: Path) -> None:
    assert _request(None, Options(group="gx99", processes=2))[0].group == "gx99"
    assert _request(None, Options(cluster="laptop", processes=2))[0].group is None, "nobody pays for a laptop"
    assert _request(None, Options(cluster="reedbush-l", processes=2))[0].group is None, "no cluster of the event"
    path = event / "project.yaml"
    path.write_text(json.dumps({**json.loads(path.read_text()), "group": "gz77"}))
    assert _request(None, Options(processes=2))[0].group == "gz77"


def test_the_command_line_says_otherwise(team: Path) -> None:
    asked, sources = _request("torch-ddp", Options(cluster="laptop", walltime=60))
    assert (asked.cluster, asked.walltime, asked.origins["walltime"]) == ("laptop", 60, "command line")
    asked, sources = _request("torch-ddp", Options(cluster="reedbush-l", no_project=True))
    assert (asked.queue, asked.group, asked.directives, asked.team) == ("l-small", None, (), None)
    assert sources.runs == team / "runs"


def test_a_project_that_cannot_be_read_is_told_and_can_be_left_out(team: Path) -> None:
    (team / "project.yaml").write_text("name: digits\nqueu: l-debug\n")
    with pytest.raises(RequestError, match="queu"):
        find_sources("torch-ddp", Options())
    assert find_sources("torch-ddp", Options(cluster="laptop", no_project=True)).surrounding is None


def test_an_option_of_the_header_is_no_shell(team: Path) -> None:
    (team / "project.yaml").write_text(PLACE.replace("-m abe", "'-N $(id)'"))
    asked, sources = _request(None)
    with pytest.raises(RequestError, match="directives"):
        render(asked, sources.cluster, sources.template_folders)


@pytest.mark.parametrize(
    ("cluster", "memory", "line"),
    [
        ("slurm", "64 GiB", "#SBATCH --mem=65536M\n"), ("slurm", "1 GB", "#SBATCH --mem=954M\n"),
        ("miyabi-g", "64 GiB", ":ompthreads=72:mem=65536mb\n"), ("slurm", None, None), ("miyabi-g", None, None),
    ],
)  # fmt: skip
def test_memory_is_asked_for_in_the_schedulers_words(team: Path, cluster: str, memory: str | None, line: str) -> None:
    text = f"name: digits\ncommand: python train.py\ncluster: {cluster}\ngroup: gx11\n"
    (team / "project.yaml").write_text(text + (f"memory: {memory}\n" if memory else ""))
    asked, sources = _request(None)
    check(asked, sources.cluster)
    job = render(asked, sources.cluster, sources.template_folders).job
    assert line in job if line else "mem=" not in job.partition("\n\n")[0]
    (team / "project.yaml").write_text(text + "memory: 900 TB\n")
    asked, sources = _request(None)
    if sources.cluster.node.memory and "node.memory" not in sources.cluster.unverified:
        with pytest.raises(CheckError) as caught:
            check(asked, sources.cluster)
        assert [each.id for each in caught.value.violations] == ["memory_over"]


@pytest.mark.parametrize("cluster", ["tsubame4", "wisteria-a", "pegasus"])
def test_memory_that_a_scheduler_has_no_words_for_is_refused(team: Path, cluster: str) -> None:
    """Sites of these schedulers ask in ways of their own."""
    (team / "project.yaml").write_text(
        f"name: digits\ncommand: python train.py\ncluster: {cluster}\ngroup: gx11\nmemory: 8 GB\n"
    )
    asked, sources = _request(None)
    with pytest.raises(CheckError) as caught:
        check(asked, sources.cluster)
    assert [each.id for each in caught.value.violations] == ["memory_unknown"]


@pytest.mark.parametrize(
    ("cluster", "each", "per_node", "line"),
    [
        ("abci3", None, 8, "ngpus=8"), ("abci3", 1, 8, "ngpus=8"), ("abci3", 2, 4, "ngpus=8"),
        ("abci3", 3, 2, "ngpus=6"), ("abci3", 8, 1, "ngpus=8"),
    ],
)  # fmt: skip
def test_several_gpus_for_each_process(team: Path, cluster: str, each: int | None, per_node: int, line: str) -> None:
    text = f"name: digits\ncommand: python train.py\ncluster: {cluster}\ngroup: gx11\n"
    (team / "project.yaml").write_text(text + (f"gpus_per_process: {each}\n" if each else ""))
    asked, sources = _request(None)
    assert (asked.processes_per_node, asked.processes) == (per_node, per_node)
    check(asked, sources.cluster)
    job = render(asked, sources.cluster, sources.template_folders).job
    assert ("HK_GPUS_PER_PROCESS" in job) is ((each or 1) > 1)
    assert cost([asked], sources.cluster).gpu_hours == pytest.approx(8 * asked.walltime / 3600)
    assert asked.gpus_wanted == int(line.partition("=")[2])
    with pytest.raises(RequestError, match="gpus_per_process") if (each or 1) > 1 else nullcontext():
        essence(asked, sources.cluster, team)


@pytest.mark.parametrize(
    ("cluster", "each", "per_node"), [("abci3", 9, None), ("abci3", 4, 3), ("reedbush-u", 2, None)]
)
def test_more_gpus_than_a_node_has_are_refused(team: Path, cluster: str, each: int, per_node: int | None) -> None:
    (team / "project.yaml").write_text(
        f"name: digits\ncommand: python train.py\ncluster: {cluster}\ngroup: gx11\ngpus_per_process: {each}\n"
    )
    asked, sources = _request(None, Options(processes_per_node=per_node))
    with pytest.raises(CheckError, match="GPU") as caught:
        check(asked, sources.cluster)
    assert "gpus_over" in [violation.id for violation in caught.value.violations]


@pytest.mark.parametrize(
    ("visible", "local_rank", "expected"),
    [
        (None, 0, "0,1"), (None, 1, "2,3"), ("4,5,6,7", 1, "6,7"), ("GPU-a,GPU-b,GPU-c,GPU-d", 0, "GPU-a,GPU-b"),
        ("2,3", 1, "2,3"),  # the scheduler gave this rank its own
        ("4,5,6", 1, "4,5,6"),  # too few: the program says so
    ],
)  # fmt: skip
def test_a_rank_sees_only_its_own_gpus(team: Path, visible: str | None, local_rank: int, expected: str) -> None:
    (team / "project.yaml").write_text(
        "name: digits\ncommand: python train.py\ncluster: abci3\ngroup: gx11\ngpus_per_process: 2\n"
    )
    asked, sources = _request(None, Options(processes_per_node=2))
    rank = render(asked, sources.cluster, sources.template_folders).rank
    begin = rank.index('if [ -n "${HK_GPUS_PER_PROCESS:-}" ]')
    block = rank[begin : rank.index("\nfi\n", begin) + 4]
    given = {"LOCAL_RANK": str(local_rank), "HK_GPUS_PER_PROCESS": "2", "HK_PROCESSES_PER_NODE": "2"}
    given |= {"CUDA_VISIBLE_DEVICES": visible} if visible else {}
    script = ["bash", "-c", f'{block}echo "$CUDA_VISIBLE_DEVICES"']
    told = subprocess.run(script, env={"PATH": os.environ["PATH"], **given}, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == expected
    unset = subprocess.run(
        script, env={"PATH": os.environ["PATH"], "LOCAL_RANK": "1", "CUDA_VISIBLE_DEVICES": "0,1"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert unset.stdout.strip() == "0,1"


def test_this_machine_gives_what_it_has(team: Path) -> None:
    (team / "project.yaml").write_text("name: digits\ncommand: python train.py\ncluster: laptop\nmemory: 8 GB\n")
    asked, sources = _request(None)
    check(asked, sources.cluster)


@pytest.mark.parametrize(
    ("cluster", "per_node", "threads"),
    [("abci3", None, 12), ("abci3", 4, 24), ("abci3", 96, 1),
     ("reedbush-u", None, 18), ("reedbush-u", 36, 1), ("reedbush-u", 1, 18)],
)  # fmt: skip
def test_threads_follow_the_processes_of_a_node(cluster: str, per_node: int | None, threads: int) -> None:
    profile = load_cluster(cluster, [])
    cores = profile.node.cores
    assert isinstance(cores, int)
    asked, _ = _request("torch-ddp", Options(cluster=cluster, processes_per_node=per_node, no_project=True))
    assert asked.threads == threads and asked.threads * asked.processes_per_node <= cores


@pytest.mark.parametrize(
    ("cluster", "nodes", "processes", "threads"),
    [("reedbush-u", 1, 36, 1), ("reedbush-u", 2, 36, 2), ("reedbush-u", 1, 2, 18), ("reedbush-u", 1, 1, 18),
     ("abci3", 2, 192, 1), ("abci3", None, 4, 12)],
)  # fmt: skip
def test_threads_follow_nodes_and_processes_given_together(
    cluster: str, nodes: int | None, processes: int, threads: int
) -> None:
    asked, _ = _request("torch-ddp", Options(cluster=cluster, nodes=nodes, processes=processes, no_project=True))
    assert asked.threads == threads


def test_more_threads_than_the_node_has_are_refused() -> None:
    profile = load_cluster("abci3", [])
    fits, _ = _request("torch-ddp", Options(cluster="abci3", group="g", processes_per_node=8, threads=24))
    check(fits, profile)  # hyper-threads
    over, _ = _request("torch-ddp", Options(cluster="abci3", group="g", processes_per_node=8, threads=25))
    with pytest.raises(CheckError) as refused:
        check(over, profile)
    assert [each.id for each in refused.value.violations] == ["cores_over"]
