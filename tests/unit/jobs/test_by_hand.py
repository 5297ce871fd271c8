"""Scripts that people submit themselves: the folder of `render --to`, the lone script, the short one, and bindings."""

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import hackathon.config.cluster
from hackathon.cli.main import run
from hackathon.config import load
from hackathon.config.cluster import ALL_LAUNCHERS
from hackathon.jobs.check import CheckError, check
from hackathon.jobs.essence import essence
from hackathon.jobs.render import render
from hackathon.jobs.request import Options
from hackathon.jobs.resolve import Sources, resolve
from hackathon.runs.source.snapshot import take
from hackathon.schedulers import registry
from hackathon.text.errors import RequestError

PROGRAM = """\
import os
from pathlib import Path

names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "COLOUR")
Path(f"rank-{os.environ['RANK']}").write_text(" ".join(os.environ[name] for name in names))
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a project on this machine with two ranks that write down who they are."""
    folder = tmp_path / "it's $(touch pwned) mine"
    folder.mkdir()
    keys = {"cluster": "laptop", "launcher": "local", "processes": 2, "variables": {"COLOUR": "$HK_PROJECT"}}
    (folder / "project.yaml").write_text(json.dumps({"name": "mine", "command": "python program.py", **keys}))
    (folder / "program.py").write_text(PROGRAM)
    monkeypatch.chdir(folder)
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("exists", [False, True])
def test_folder_holds_what_a_job_needs(project: Path, capsys: pytest.CaptureFixture[str], exists: bool) -> None:
    if exists:
        Path("x").mkdir()
    assert run(["render", "--to", "x"]) == 0
    assert "cd x" in capsys.readouterr().out
    assert {"job.sh", "hackathon.sh", "rank.sh", "source", "request.json"} <= set(names(project / "x"))
    assert json.loads(Path("x/request.json").read_text())["processes"] == 2
    assert [name for name in names(project) if name.startswith(".")] == []
    assert set(take(project).files) == {"project.yaml", "program.py"}, "the folder is no source of later runs"


def test_folder_moves_and_keeps_its_project(project: Path, tmp_path: Path) -> None:
    """Handed on as a copy elsewhere, the environment's lines still find the project."""
    assert run(["render", "--to", "x"]) == 0
    other = shutil.copytree("x", tmp_path / "of a friend")
    for _ in range(2):
        assert subprocess.run(["bash", "job.sh"], cwd=other).returncode == 0
    jobs = list((other / "jobs").iterdir())
    assert len(jobs) == 2
    for job in jobs:
        seen = [(job / "source" / f"rank-{rank}").read_text() for rank in range(2)]
        assert seen == [f"{rank} 2 {rank} 2 {project}" for rank in range(2)]
    assert names(other / "source") == ["hackathon_runtime.py", "program.py", "project.yaml"]
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--to", "full"], "full"),
        (["--to", "full/program.py"], "program.py"),
        (["--to", "runs/x"], "runs"),
        (["--to", "x", "--essence"], "--to, --essence"),
        (["--essence", "--rank"], "--rank, --essence"),
        (["--to", "x", "--cluster", "kubernetes"], "job.yaml"),
        (["--essence", "--cluster", "kubernetes"], "job.yaml"),
        (["--to", "x", "--binding", "numa"], "local"),
        (["--to", "x", "--binding", "sockets"], "none, numa, cores"),
    ],
)
def test_wrong_usage(project: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    Path("full").mkdir()
    Path("full/program.py").touch()
    before = names(project)
    assert run(["render", *words]) == 2
    assert said in capsys.readouterr().err
    assert names(project) == before and names(project / "full") == ["program.py"]


def test_current_folder_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shell that stands in it would stand in a folder that is gone."""
    Path("x").mkdir()
    monkeypatch.chdir("x")
    assert run(["render", str(project), "--to", "."]) == 2
    assert names(project / "x") == []


def test_nothing_is_left_of_a_folder_that_failed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hackathon.runs.create._write_rest", full)
    before = names(project)
    assert run(["render", "--to", "x"]) == 3
    assert names(project) == before


def test_lone_script_says_what_to_do(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["render"]) == 0
    place = project / "x"
    place.mkdir()
    (place / "job.sh").write_text(capsys.readouterr().out)
    answer = subprocess.run(["bash", "job.sh"], cwd=place, capture_output=True, text=True)
    assert answer.returncode == 2 and answer.stdout == ""
    (line,) = answer.stderr.splitlines()
    remedies = ("hackathon submit", "hackathon render --to DIR", "hackathon render --essence")
    assert "hackathon.sh" in line and "rank.sh" in line and all(remedy in line for remedy in remedies)
    assert names(place) == ["job.sh"]


@pytest.mark.parametrize("missing", ["hackathon.sh", "rank.sh"])
def test_a_folder_without_one_of_its_files_runs_nothing(project: Path, missing: str) -> None:
    assert run(["render", "--to", "x"]) == 0
    Path("x", missing).unlink()
    before = names(project / "x")
    answer = subprocess.run(["bash", "job.sh"], cwd="x", capture_output=True, text=True)
    assert answer.returncode == 2 and missing in answer.stderr
    assert names(project / "x") == before


def test_essence_runs_on_a_laptop(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["render", "--essence"]) == 0
    text = capsys.readouterr().out
    assert "HK_RUN" not in text and "events" not in text and "claim" not in text
    place = tmp_path / "x"
    place.mkdir()
    (place / "job.sh").write_text(text)
    assert subprocess.run(["bash", "job.sh"], cwd=place).returncode == 0
    assert [Path(f"rank-{rank}").read_text() for rank in range(2)] == [
        f"{rank} 2 {rank} 2 {project}" for rank in range(2)
    ]
    assert names(place) == ["job.sh"]
    Path("program.py").write_text("raise SystemExit(5)")
    assert subprocess.run(["bash", "job.sh"], cwd=place).returncode == 5


def test_essence_finds_the_runtime(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`submit` puts it beside a program that imports it."""
    # one write: what two processes print otherwise may lie on one line
    line = 'os.write(1, f"{hackathon_runtime.identity().world_size}\\n".encode())'
    Path("program.py").write_text(f"import os, hackathon_runtime; {line}")
    assert run(["render", "--essence"]) == 0
    answer = subprocess.run(["bash", "-c", capsys.readouterr().out], capture_output=True, text=True)
    assert answer.stdout.split() == ["2", "2"], answer.stderr


@pytest.fixture
def fixed_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hackathon.config.cluster, "cores_here", lambda: 4)
    monkeypatch.setattr(hackathon.config.cluster, "gpus_here", lambda: 0)


def sources(cluster_name: str, launcher: str, **options: str) -> Sources:
    recipe, folder = load.load_recipe("torch-ddp", [])
    cluster = registry.load_cluster(cluster_name, [])
    nodes = 1 if cluster.starter == "local" or launcher == "local" else 2
    group = "pz0425" if registry.known_dialect(cluster).wants_group else None
    wanted = Options(nodes=nodes, launcher=launcher, group=group, processes_per_node=2, **options)
    return Sources(cluster=cluster, options=wanted, recipe=recipe, folder=folder)


@pytest.mark.slow
@pytest.mark.usefixtures("fixed_machine")
def test_shellcheck_finds_nothing(tmp_path: Path) -> None:
    """In the short script of every cluster and launcher, and in that of a folder."""
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    written = []
    for cluster in registry.list_clusters([])[0]:
        for launcher in ALL_LAUNCHERS:
            given = sources(cluster.name, launcher)
            request = replace(resolve(given), environment=(), variables={})
            try:
                check(request, given.cluster)
                text = essence(request, given.cluster, tmp_path)
            except (CheckError, RequestError):
                continue
            path = tmp_path / f"{cluster.name}-{launcher}.sh"
            path.write_text(text)
            written.append(path)
    assert {path.name for path in written} >= {"slurm-srun.sh", "reedbush-h-mpirun.sh", "abci3-torchrun.sh"}
    folder = sources("slurm", "torchrun")
    script = render(resolve(folder), folder.cluster, handed_on=tmp_path)
    for name, text in script.files.items():
        (tmp_path / name).write_text(text)
    # what is to be read by the shell of a rank stands in single quotes; the words of Open MPI may be absent
    written += [tmp_path / name for name in script.files]
    command = ["shellcheck", "--severity=warning", "--format=gcc", *written]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stdout


@pytest.mark.usefixtures("fixed_machine")
@pytest.mark.parametrize(
    ("launcher", "binding", "words"),
    [
        ("torchrun", "numa", "--numa-binding=node"),
        ("torchrun", "cores", "--numa-binding=exclusive"),
        ("srun", "numa", "--cpu-bind=ldoms"),
        ("srun", "cores", "--cpu-bind=cores"),
        ("srun", "none", "--cpu-bind=none"),
        ("mpirun", "numa", "--map-by ppr:2:node --bind-to numa"),
        ("mpirun", "cores", "--map-by ppr:2:node:PE=2 --bind-to core"),
        ("mpirun", "none", "--map-by ppr:2:node --bind-to none"),
    ],
)
def test_binding_in_the_words_of_each_launcher(launcher: str, binding: str, words: str) -> None:
    bound, free = sources("slurm", launcher, binding=binding), sources("slurm", launcher)
    request, plain = (replace(resolve(each), threads=2) for each in (bound, free))
    assert request.binding == binding and request.origins["binding"] == "command line" and plain.binding is None
    job, before = render(request, bound.cluster).job, render(plain, free.cluster).job
    (array,) = [line for line in job.splitlines() if line.startswith(("HK_BIND=", "HK_BIND_OPENMPI="))]
    assert array.partition("=")[2] == f"({words})"
    assert "HK_BIND" not in before
    short = essence(request, bound.cluster, Path("/x"))
    assert f" {words} " in short


@pytest.mark.mpi
def test_binding_comes_from_profile_and_project(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = json.loads(Path("project.yaml").read_text())
    Path("project.yaml").write_text(json.dumps({**keys, "launcher": "mpirun", "binding": "numa"}))
    assert run(["render", "--json"]) == 0
    request = json.loads(capsys.readouterr().out)["request"]
    assert (request["binding"], request["origins"]["binding"]) == ("numa", "project.yaml")
    assert run(["render", "--json", "--binding", "cores"]) == 0
    assert json.loads(capsys.readouterr().out)["request"]["binding"] == "cores"
    profile = registry.load_cluster("laptop", [])
    given = Sources(replace(profile, binding="cores"), Options(launcher="mpirun"), project=load.load_project(project))
    found = resolve(replace(given, project=replace(given.project, binding=None) if given.project else None))
    assert (found.binding, found.origins["binding"]) == ("cores", "cluster laptop")


def test_ranks_of_torchrun_are_not_told_who_mpirun_started(project: Path, tmp_path: Path) -> None:
    """A program that prints its environment stands for torchrun, in the agent that mpirun started as its rank 1."""
    request = resolve(Sources(registry.load_cluster("laptop", []), project=load.load_project(project), folder=project))
    place = tmp_path / "x"
    (place / "env").mkdir(parents=True)
    (place / "rank.sh").write_text(render(request, registry.load_cluster("laptop", [])).rank)
    recorded = {"HK_NODES": 2, "HK_PROCESSES": 4, "HK_PROCESSES_PER_NODE": 2, "HK_THREADS": 1, "HK_BIND": "--bound"}
    lines = [f"declare -- {name}={value}" for name, value in recorded.items()]
    (place / "env" / "job-1.sh").write_text("\n".join([*lines, "declare -x OMPI_MCA_btl=self,tcp", ""]))
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "torchrun").write_text('#!/bin/bash\necho "$*"\nenv\n')
    (programs / "torchrun").chmod(0o755)
    told = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_MCA_ess": "pmi", "PMIX_RANK": "1", "PMI_RANK": "1", "PMI_FD": "9"}
    environment = {
        **os.environ,
        **told,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "MASTER_ADDR": "a",
        "MASTER_PORT": "1",
    }
    answer = subprocess.run(
        ["bash", "rank.sh", str(place), "1", "torchrun"], cwd=place, env=environment, capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
    arguments, *variables = answer.stdout.splitlines()
    assert "--node-rank=1" in arguments and "--bound --node-rank=1 --no-python bash" in arguments
    left = [line for line in variables if line.startswith(("OMPI_", "PMIX_", "PMI_"))]
    assert left == ["OMPI_MCA_btl=self,tcp"], "what the environment's own lines say stays"
