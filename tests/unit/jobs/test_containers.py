"""A program in a container image: each runtime's command, what the program sees there, what `check` refuses."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hackathon.config.cluster import Cluster, Node
from hackathon.config.project import Project
from hackathon.jobs.check import CheckError, advice, check
from hackathon.jobs.containers import command, container_of, image_of, reference
from hackathon.jobs.image_mpi import mpi_of
from hackathon.jobs.render import render, render_files
from hackathon.schedulers import registry
from support.backends import LocalBackend, Site
from support.container_stub.command import UsageError, install, parsed
from support.paths import RUNTIME, TESTS
from support.runs import request

PROGRAM = """
import glob, json, os, sys, time
import hackathon_runtime
rank = os.environ["RANK"]
with open(f"{os.environ['HK_RUN']}/seen-{rank}.json", "w") as stream:
    json.dump({"environment": dict(os.environ), "folder": os.getcwd(), "executable": sys.executable}, stream)
end = time.monotonic() + 100  # the job's end would end what lists the packages
while not glob.glob(f"{os.environ['HK_RUN']}/env/*.json") and time.monotonic() < end:
    time.sleep(0.05)
print(f"rank {rank}: throughput: {100 + int(rank):.1f} samples/s", flush=True)
"""
VALUE = "a, b:c=d  'e' $ é"
IMAGES = {
    "apptainer": "image.sif", "singularity": "image.sif", "podman": "docker://host.example/team/train:1",
    "podman-hpc": "train:1", "shifter": "docker://team/train:1", "sarus": "team/train:1",
}  # fmt: skip


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    backend = LocalBackend(tmp_path)
    yield Site(backend, tmp_path / "project")
    backend.stop()


def contained(site: Site, runtime: str, **keys: Any) -> Path:
    """Write a project whose program runs in an image by a stand-in; return the stand-in's notes."""
    folder = install(site.folder.parent / "programs", TESTS, runtime)
    site.write_project(
        "python seen.py",
        processes=2,
        image=IMAGES[runtime],
        variables={"MY_VALUE": VALUE.replace("$", "\\$")},
        environment=[f'PATH="{folder}:$PATH"', "export LD_LIBRARY_PATH=/of/the/node CONDA_PREFIX=/of/the/node"],
        **keys,
    )
    (site.folder / "seen.py").write_text(PROGRAM)
    (site.folder / "image.sif").touch()
    data = site.folder.parent / "data of the team"
    data.mkdir(exist_ok=True)
    gpus = {"cores": 4, "gpus": 2, "gpu": "A100"}
    site.write_profile(node=gpus, container={"runtime": runtime, "binds": [str(data)]}, environment=[])
    return folder / "notes.jsonl"


@pytest.mark.parametrize(
    "runtime", ["apptainer", *(pytest.param(name, marks=pytest.mark.slow) for name in IMAGES if name != "apptainer")]
)
def test_ranks_run_in_the_image_with_what_is_theirs(site: Site, runtime: str) -> None:
    notes = contained(site, runtime)
    run = site.submit()
    assert run.await_end()["exit_code"] == 0, run.log("job") + run.log()
    for rank in (0, 1):
        program = json.loads(run.written(f"seen-{rank}.json").read_text())
        inside = program["environment"]
        assert inside["RANK"] == str(rank) and inside["WORLD_SIZE"] == "2" and inside["MY_VALUE"] == VALUE
        assert inside["IN_IMAGE"] and program["folder"] == str(run.path / "source")
        assert not {"CONDA_PREFIX", "LD_LIBRARY_PATH"} & set(inside), "what belongs to the node stays outside"
        assert str(site.folder.parent / "programs") not in inside["PATH"]
        assert (run.path / "stacks" / f"rank-{rank}.txt").read_text().startswith("python "), "the recorder is inside"
        assert f"rank {rank}: throughput" in run.log(f"rank-{rank}")
    recorded = json.loads(next((run.path / "env").glob("*.json")).read_text())
    assert recorded["executable"] == program["executable"], "the image's Python is the one that is recorded"
    first = json.loads(notes.read_text().splitlines()[0])
    assert str(site.folder.parent / "data of the team") in {bind.split(":")[0] for bind in first["binds"]}
    flags = {name for name, _ in first["options"]}
    assert {"apptainer": "--nv", "singularity": "--nv", "podman": "--device", "podman-hpc": "--gpu"}.get(
        runtime, ""
    ) in {*flags, ""}
    assert len((run.path / "job.sh").read_text().splitlines()) <= 90


def test_torchrun_is_started_in_the_image_once_on_each_node(site: Site) -> None:
    notes = contained(site, "apptainer", launcher="torchrun")
    torchrun = site.folder.parent / "programs" / "torchrun"
    torchrun.write_text(  # as the real one: its options, then a command for each rank
        f"#!{sys.executable}\n"
        "import os, subprocess, sys\n"
        "at = sys.argv.index('--no-python')\n"
        "assert os.environ['IN_IMAGE']\n"
        "for rank in ('0', '1'):\n"
        "    own = {'RANK': rank, 'LOCAL_RANK': rank, 'WORLD_SIZE': '2', 'LOCAL_WORLD_SIZE': '2'}\n"
        "    subprocess.run(sys.argv[at + 1:], env={**os.environ, **own}, check=True)\n"
    )
    torchrun.chmod(0o755)
    apptainer = site.folder.parent / "programs" / "apptainer"
    text = apptainer.read_text()
    apptainer.write_text(text.replace("CONTAINER_STUB_PATH='", f"CONTAINER_STUB_PATH='{torchrun.parent}:"))
    run = site.submit()
    assert run.await_end()["exit_code"] == 0, run.log("job")
    commands = [json.loads(line)["command"] for line in notes.read_text().splitlines()]
    assert [words[0] for words in commands] == ["torchrun"] and commands[0][-1] == "worker"
    for rank in (0, 1):
        inside = json.loads((run.path / f"seen-{rank}.json").read_text())["environment"]
        assert inside["RANK"] == str(rank) and inside["MY_VALUE"] == VALUE and "CONDA_PREFIX" not in inside


def test_pyxis_is_given_through_srun(tmp_path: Path) -> None:
    container = {
        "runtime": "pyxis",
        "program": None,
        "options": ["--no-container-mount-home"],
        "binds": [],
        "gpus": "nvidia",
    }
    asked = request(
        tmp_path, scheduler="slurm", launcher="srun", starter="srun", image="nvcr.io/nvidia/pytorch:25.01-py3",
        container=container,
    )  # fmt: skip
    script = render(asked, Cluster(name="test", scheduler="slurm", node=Node()))
    assert "HK_IMAGE=nvcr.io#nvidia/pytorch:25.01-py3" in script.job.replace("'", "")
    assert 'srun --kill-on-bad-exit=1 "${hk_words[@]}" "$@"' in script.library
    for text in (script.job, script.library, script.rank):
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)


def test_stand_ins_refuse_what_a_manual_does_not_have() -> None:
    for tool, words in {
        "apptainer": ["exec", "--volume=/a:/a", "image.sif", "true"], "podman": ["run", "--nv", "image", "true"],
        "shifter": ["--bind=/a", "--", "true"], "sarus": ["run", "--volume=/a:/a", "image", "true"],
        "srun": ["--container-bind=/a", "true"],
    }.items():  # fmt: skip
        with pytest.raises(UsageError):
            parsed(tool, words)


@pytest.mark.parametrize(
    ("model", "runtime", "option"),
    [
        ("A100-SXM4-40GB", "apptainer", "--nv"), ("MI250X-GCD-64GB", "apptainer", "--rocm"),
        ("GH200", "podman-hpc", "--gpu"), ("Intel Data Center GPU Max 1550", "apptainer", ""),
    ],
)  # fmt: skip
def test_gpus_of_the_nodes_decide_which_an_image_gets(model: str, runtime: str, option: str) -> None:
    from hackathon.config.cluster import Container

    for count in (0, 4):
        cluster = Cluster(
            name="x", scheduler="slurm", node=Node(gpus=count, gpu=model),
            container=Container(runtime),  # type: ignore[arg-type]
        )  # fmt: skip
        found = container_of(cluster, "image.sif", None)
        assert found is not None
        words = command(found)
        assert [word for word in ("--nv", "--rocm", "--gpu") if word in words] == ([option] if option and count else [])


@pytest.mark.parametrize(
    ("image", "runtime", "name"),
    [
        ("docker://nvcr.io/nvidia/pytorch:24.01", "pyxis", "nvcr.io#nvidia/pytorch:24.01"),
        ("ubuntu:22.04", "pyxis", "ubuntu:22.04"), ("team/train:1", "pyxis", "team/train:1"),
        ("/images/a.sqsh", "pyxis", "/images/a.sqsh"), ("docker://a/b:1", "shifter", "docker:a/b:1"),
        ("docker://a/b:1", "apptainer", "docker://a/b:1"), ("docker://a/b:1", "sarus", "a/b:1"),
    ],
)  # fmt: skip
def test_notation_of_an_image(image: str, runtime: str, name: str) -> None:
    assert reference(image, runtime) == name


def refusals(tmp_path: Path, image: str | None, *, internet: bool | None = None, **changes: Any) -> set[str]:
    from dataclasses import asdict

    from hackathon.config.cluster import Container

    runtime, mpi = changes.pop("runtime", "apptainer"), changes.pop("mpi", "auto")
    container = {**asdict(Container(runtime, binds=changes.pop("binds", []))), "gpus": "none"} if runtime else None
    cluster = Cluster(name="test", scheduler="pbs", node=Node(), mpi=mpi, starter="mpirun", internet_on_nodes=internet)
    values = {"nodes": 1, "processes": 1, "processes_per_node": 1, "starter": "mpirun", "launcher": "mpirun", **changes}
    asked = request(tmp_path, scheduler="pbs", image=image, container=container, **values)
    try:
        check(asked, cluster)
    except CheckError as error:
        return {violation.id for violation in error.violations if violation.id.startswith("image")}
    return set()


def image_folder(folder: Path, *files: str) -> str:
    for name in ("bin/sh", "usr/bin/env", "usr/lib/libc.so.6", *files):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return str(folder)


@pytest.mark.parametrize(
    ("files", "mpi", "refused"),
    [
        ((), "openmpi", {"image_no_mpi"}),
        (("usr/bin/mpirun",), "openmpi", set()),  # whose it is cannot be seen
        (("usr/lib/x86_64-linux-gnu/libmpi.so.40.30.4",), "openmpi", set()),
        (("usr/lib/x86_64-linux-gnu/openmpi/lib/libmpi.so.40",), "auto", set()),
        (("usr/lib/x86_64-linux-gnu/libmpich.so.12",), "openmpi", {"image_other_mpi"}),
        (("usr/local/mpich/lib/libmpi.so.12",), "mpich", set()),
        (("usr/local/lib/libmpi.so.12",), "auto", set()),
        (("opt/hpcx/ompi/lib/libmpi.so.40",), "mpich", {"image_other_mpi"}),
        (("opt/conda/lib/libmpi.so.40",), "openmpi", set()),
    ],
)
def test_mpi_of_an_image_folder(tmp_path: Path, files: tuple[str, ...], mpi: str, refused: set[str]) -> None:
    image = image_folder(tmp_path / "image", *files)
    assert refusals(tmp_path, image, mpi=mpi) == refused
    assert refusals(tmp_path, image, mpi=mpi, launcher="torchrun") == set()


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("import torch.distributed as dist\ndist.init_process_group('gloo')\n", False),
        ("print('the mpirun of the node starts this')\n", False),
        ("from mpi4py import MPI\n", True),
        ("if True:\n    import horovod.torch as hvd\n", True),
        ('dist.init_process_group(backend="mpi")\n', True),
        ("from helper import train\n", True),
    ],
)
def test_a_program_without_mpi_needs_none_in_its_image(tmp_path: Path, text: str, refused: bool) -> None:
    image = image_folder(tmp_path / "image")
    source = tmp_path / "program"
    source.mkdir()
    (source / "train.py").write_text(text)
    (source / RUNTIME.name).write_bytes(RUNTIME.read_bytes())  # what `submit` puts beside it
    if "helper" in text:
        (source / "helper.py").write_text("from mpi4py import MPI\n")
    asked = {"source": str(source), "framework": None}
    expected = {"image_no_mpi"} if refused else set()
    assert refusals(tmp_path, image, mpi="openmpi", command=("python", "train.py"), **asked) == expected
    chosen = ("python", "train.py", "--backend", "mpi")
    assert refusals(tmp_path, image, mpi="openmpi", command=chosen, **asked) == {"image_no_mpi"}
    # what is not Python is not known, and a framework that meets through MPI is
    assert refusals(tmp_path, image, mpi="openmpi", command=("./solver",), **asked) == {"image_no_mpi"}
    horovod = {**asked, "framework": "horovod"}
    assert refusals(tmp_path, image, mpi="openmpi", command=("python", "train.py"), **horovod) == {"image_no_mpi"}
    other = image_folder(tmp_path / "image", "usr/lib/libmpich.so.12")
    seen = refusals(tmp_path, other, mpi="openmpi", command=("python", "train.py"), **asked)
    assert seen == ({"image_other_mpi"} if refused else set())


@pytest.mark.parametrize(
    ("labels", "mpi", "refused"),
    [
        ({"hackathon.mpi": "none"}, "auto", {"image_no_mpi"}),
        ({"hackathon.mpi": "Open MPI 4.1.6"}, "openmpi", set()),
        ({"hackathon.mpi": "mpich 4.1"}, "openmpi", {"image_other_mpi"}),
        ({"hackathon.mpi": "mvapich2"}, "openmpi", set()),
        ({"org.label-schema.version": "1"}, "openmpi", set()),
        (None, "openmpi", set()),
    ],
)
def test_mpi_by_an_image_s_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, labels: dict[str, str] | None, mpi: str, refused: set[str]
) -> None:
    image = tmp_path / "image.sif"
    image.touch()
    programs = tmp_path / "programs"
    programs.mkdir()
    answer = json.dumps({"data": {"attributes": {"labels": labels}}, "type": "container"}) if labels else "broken"
    (programs / "apptainer").write_text(f"#!/bin/sh\ntest \"$1\" = inspect || exit 1\necho '{answer}'\n")
    (programs / "apptainer").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    assert refusals(tmp_path, str(image), mpi=mpi) == refused


def test_images_that_cannot_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    (tmp_path / "a.sif").touch()
    sif, gone = str(tmp_path / "a.sif"), str(tmp_path / "b.sif")
    other: dict[str, Any] = {"launcher": "torchrun"}
    assert refusals(tmp_path, sif, **other) == set()
    assert refusals(tmp_path, None, **other) == set()
    assert refusals(tmp_path, gone, **other) == {"image_missing"}
    assert refusals(tmp_path, "/only/on/nodes/a.sif", **other) == set()
    assert refusals(tmp_path, "team/train:1", **other) == {"image_form"}
    assert refusals(tmp_path, "docker://team/train:1", **other) == set()
    assert refusals(tmp_path, "docker://team/train:1", internet=False, **other) == {"image_online"}
    assert refusals(tmp_path, sif, runtime="sarus", **other) == {"image_form"}
    assert refusals(tmp_path, "team/train:1", runtime="sarus", internet=False, **other) == set()
    assert refusals(tmp_path, sif, runtime="", **other) == {"image_runtime"}
    assert refusals(tmp_path, sif, binds=["/a,b", "c"], **other) == {"image_bind"}
    assert refusals(tmp_path, sif, launcher="horovodrun") == {"image_horovodrun"}
    assert refusals(tmp_path, "a:1", runtime="pyxis", launcher="mpirun") == {"image_pyxis"}
    assert mpi_of(sif, {"runtime": "apptainer", "program": None}) is None


def test_an_image_that_nodes_would_fetch_is_named(tmp_path: Path) -> None:
    container = {"runtime": "apptainer", "program": None, "options": [], "binds": [], "gpus": "none"}
    notes = advice(request(tmp_path, image="docker://team/train:1", container=container))
    assert any("apptainer pull image.sif docker://team/train:1" in note for note in notes)
    assert not any("pull" in note for note in advice(request(tmp_path, image="/a.sif", container=container)))


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="no shellcheck (apt-get install shellcheck)")
@pytest.mark.parametrize("runtime", ["apptainer", "podman", "shifter", "sarus", "charliecloud", "pyxis"])
def test_scripts_with_an_image_have_no_fault_that_shellcheck_knows(tmp_path: Path, runtime: str) -> None:
    container = {"runtime": runtime, "program": None, "options": [], "binds": ["/data"], "gpus": "none"}
    for launcher in ("srun",) if runtime == "pyxis" else ("mpirun",):
        asked = request(
            tmp_path, scheduler="slurm", launcher=launcher, starter="srun", image="a:1", container=container
        )
        script = render(asked, Cluster(name="test", scheduler="slurm", node=Node()))
        for name, text in script.files.items():
            (tmp_path / name).write_text(text)
        answer = subprocess.run(
            ["shellcheck", "--severity=warning", *script.files], cwd=tmp_path, capture_output=True, text=True
        )
        assert answer.returncode == 0, answer.stdout


def test_a_scheduler_whose_jobs_are_images_gets_the_project_s_one(tmp_path: Path) -> None:
    cluster = registry.load_cluster("mn2-like", [])
    project = Project(name="digits", command="python train.py", image="docker://team/train:7")
    image, container, dialect = image_of(cluster, project, "docker://team/train:7", tmp_path)
    assert (image, container) == (None, None)
    asked = request(tmp_path, scheduler=cluster.scheduler, cluster=cluster.name, dialect=dialect)
    (manifest,) = render_files(asked, cluster, tmp_path / "runs").values()
    assert 'image: "team/train:7"' in manifest
