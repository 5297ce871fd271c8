"""The generic profile does not know the nodes: `check` asks the scheduler once a day, and `render` never does."""

import json
from pathlib import Path

import pytest

from hackathon.cli.main import run
from hackathon.schedulers import known_nodes
from hackathon.schedulers.registry import load_cluster
from hackathon.schedulers.slurm.parse import FIELD

ROWS = (
    ("main", "4", "8", "16000", "2", "4", "1", "gpu:a100:4"),
    ("main", "2", "16", "32000", "2", "8", "1", "(null)"),
    ("small", "1", "4", "8000", "1", "4", "1", "(null)"),
)


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project for the shipped profile, and the file in which a `sinfo` notes that it was called."""
    (tmp_path / "project.yaml").write_text("name: own\ncommand: python train.py\ncluster: slurm\nthreads: 1\n")
    (tmp_path / "train.py").write_text("print('500 samples/s')\n")
    (tmp_path / "rows").write_text("".join(FIELD.join(row) + "\n" for row in ROWS))
    program = tmp_path / "bin" / "sinfo"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho called >>{tmp_path}/calls\ncat {tmp_path}/rows\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "calls"


def told(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """Return the ids of what `check` refuses."""
    run(["check", "--json", *words])
    return [each["id"] for each in json.loads(capsys.readouterr().out)["violations"]]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("--queue", "main", "--nodes", "6"), []),
        (("--queue", "main", "--nodes", "7"), ["nodes_over"]),
        (("--nodes", "8"), ["nodes_over"]),
        (("--queue", "small", "--nodes", "2"), ["nodes_over"]),
        (("--queue", "mian"), ["queue_unknown"]),
        (("--queue", "main", "--processes-per-node", "16"), []),
        (("--queue", "main", "--processes-per-node", "17"), ["cores_over"]),
        (("--queue", "small", "--processes-per-node", "2", "--threads", "3"), ["cores_over"]),
    ],
)
def test_what_no_node_has_is_refused(
    calls: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], wanted: list[str]
) -> None:
    assert told(capsys, *words) == wanted


@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        (("--queue", "main", "--nodes", "8"), "--queue main --nodes 6 "),
        (("--queue", "small", "--nodes", "2"), "--queue main --nodes 2 "),
        (("--nodes", "8"), "--nodes 7 "),
        (("--queue", "mian"), "--queue main --nodes 1 "),
        (("--queue", "mian", "--nodes", "50"), "--queue main --nodes 6 "),
    ],
)
def test_the_nearest_request_is_one_that_is_accepted(
    calls: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], nearest: str
) -> None:
    assert run(["check", *words]) == 2
    (told,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("nearest"))
    assert told.partition(": ")[2].startswith(nearest)
    assert run(["check", *told.partition(": ")[2].split()]) == 0


def test_a_queue_of_the_profile_that_has_no_nodes_is_not_the_nearest(
    calls: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = calls.parent / "templates" / "clusters" / "far.yaml"
    profile.parent.mkdir(parents=True)
    profile.write_text(
        "name: far\nscheduler: slurm\nnode: {cores: 4}\nprocesses_per_node: 1\nstarter: srun\n"
        "queues: {gone: {nodes: 9}, small: {nodes: 9}, main: {nodes: 3}}\n"
    )
    from hackathon.jobs.check import nearest
    from hackathon.jobs.request import Options
    from hackathon.jobs.resolve import resolve
    from hackathon.jobs.sources import find_sources

    sources = find_sources(None, Options(cluster="far", queue="gone", nodes=9))
    told = nearest(resolve(sources), sources.cluster, known_nodes.known_nodes(load_cluster("slurm", [])))
    assert told is not None and (told.queue, told.nodes) == ("main", 3)


def test_memory(calls: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (calls.parent / "project.yaml").open("a") as project:
        project.write("memory: 20 GiB\n")
    assert told(capsys, "--queue", "main") == []
    assert told(capsys, "--queue", "small") == ["memory_over"]


def test_gpus_that_the_profile_does_not_ask_for_are_told(calls: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--queue", "main"]) == 0
    assert "the nodes have 4 GPUs" in capsys.readouterr().err
    assert run(["check", "--queue", "small"]) == 0
    assert "GPUs" not in capsys.readouterr().err


def test_the_scheduler_is_asked_once_and_never_by_render(
    calls: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["render"]) == 0 and not calls.exists()
    before = capsys.readouterr().out
    told(capsys)
    told(capsys, "--nodes", "2")
    assert calls.read_text().count("called") == 1
    assert run(["render"]) == 0 and capsys.readouterr().out == before
    monkeypatch.setattr(known_nodes, "KEPT", 0.0)
    told(capsys)
    assert calls.read_text().count("called") == 2


@pytest.mark.parametrize("rows", ["garbage\n", ""])
def test_no_answer_refuses_nothing(calls: Path, capsys: pytest.CaptureFixture[str], rows: str) -> None:
    (calls.parent / "rows").write_text(rows)
    assert told(capsys, "--queue", "anything", "--nodes", "900") == []
    (calls.parent / "bin" / "sinfo").unlink()
    assert told(capsys, "--queue", "anything", "--nodes", "900") == []


@pytest.mark.parametrize(
    ("message", "noted"),
    [
        ("sinfo: fatal: Could not establish a configuration source", True),
        ("slurm_load_partitions: Unable to contact slurm controller (connect failure)", False),
    ],
)
def test_a_machine_without_a_cluster_is_noted(
    calls: Path, capsys: pytest.CaptureFixture[str], message: str, noted: bool
) -> None:
    """The commands of Slurm alone choose its profile: the first `check` says that no job can be submitted from here."""
    (calls.parent / "bin" / "sinfo").write_text(f"#!/bin/sh\necho '{message}' >&2\nexit 1\n")
    assert run(["check"]) == 0
    error = capsys.readouterr().err
    assert ("no cluster is configured on this machine" in error) == noted
    assert ("--cluster laptop" in error) == noted
