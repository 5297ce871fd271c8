"""A program in an image by the real Charliecloud, whose image is a folder made of this machine's own programs, and
through the real srun, with a stand-in for pyxis.
"""

import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.backends import LocalBackend, Site, SlurmBackend
from support.container_stub.command import install
from support.paths import TESTS
from support.root_filesystem import write_root
from support.slurm_lab.lab import SlurmLab

RUN = shutil.which("ch-run")
TORCH = importlib.util.find_spec("torch")
PLAIN = """
import json, os, sys, time
import hackathon_runtime
with open(f"{os.environ['HK_RUN']}/seen-{os.environ['RANK']}.json", "w") as stream:
    data = os.listdir(os.environ["DATA"])
    json.dump({"environment": dict(os.environ), "root": os.listdir("/"), "data": data}, stream)
print(f"throughput: {100 + int(os.environ['RANK']):.1f} samples/s", flush=True)
"""
TRAINING = """
import os, torch, torch.distributed
torch.distributed.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(30):
    optimizer.zero_grad()
    model(torch.rand(8, 4)).sum().backward()
    optimizer.step()
print("inside", os.environ["CH_RUNNING"], "throughput: 100.0 samples/s total", flush=True)
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root file system, with a torchrun that starts the module of torch."""
    if RUN is None:
        pytest.skip("no Charliecloud (apt-get install charliecloud)")
    folder = write_root(tmp_path_factory.mktemp("image") / "root")
    torchrun = folder / "usr/local/bin/torchrun"
    torchrun.write_text('#!/bin/sh\nexec python -m torch.distributed.run "$@"\n')
    torchrun.chmod(0o755)
    works = subprocess.run([RUN, str(folder), "--", "true"], env={**os.environ, "USER": "me"}, capture_output=True)
    if works.returncode:
        pytest.skip(f"Charliecloud does not work on this machine: {works.stderr.decode()[-200:]}")
    return folder


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    backend = LocalBackend(tmp_path)
    yield Site(backend, tmp_path / "project")
    backend.stop()


def contained(site: Site, image: Path, program: str, **keys: object) -> None:
    site.write_project("python own.py", image=str(image), processes=2, **keys)
    (site.folder / "own.py").write_text(program)
    site.write_profile(container={"runtime": "charliecloud"}, environment=["export CONDA_PREFIX=/of/the/node"])


def test_ranks_run_in_a_real_image(site: Site, image: Path) -> None:
    data = site.folder.parent / "data"
    data.mkdir()
    (data / "sample").touch()
    contained(site, image, PLAIN, image_binds=[str(data)], variables={"DATA": str(data)})
    run = site.submit()
    assert run.await_end()["exit_code"] == 0, run.log("job") + run.log()
    for rank in (0, 1):
        inside = json.loads((run.path / f"seen-{rank}.json").read_text())
        assert inside["environment"]["RANK"] == str(rank) and inside["environment"]["CH_RUNNING"]
        assert "CONDA_PREFIX" not in inside["environment"] and inside["data"] == ["sample"]
        assert not {"home", "opt", "var"} & set(inside["root"]), "these are not in the image"
        assert (run.path / "stacks" / f"rank-{rank}.txt").exists(), "the recorder is in the image"
    assert [event["event"] for event in run.rank_events(1)] == ["started", "ended"]


@pytest.mark.torch
@pytest.mark.skipif(TORCH is None, reason="no torch")
def test_torchrun_trains_in_a_real_image_and_its_steps_are_recorded(site: Site, image: Path) -> None:
    assert TORCH is not None and TORCH.origin is not None
    packages = str(Path(TORCH.origin).parent.parent)
    contained(
        site, image, TRAINING, launcher="torchrun", image_binds=[packages], variables={"PYTHONPATH": packages},
        walltime="5m",
    )  # fmt: skip
    run = site.submit()
    assert run.await_end()["exit_code"] == 0, run.log("job") + run.log()
    assert "inside" in run.log() and "throughput" in run.log("rank-1")
    for rank in (0, 1):
        assert (run.path / "steps" / f"rank-{rank}.json").stat().st_size
    assert b"100 samples/s" in site.run("results")


def test_a_signal_reaches_the_program_in_a_real_image(site: Site, image: Path) -> None:
    waits = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('told', flush=True), sys.exit(0)))\n"
        "open(os.environ['HK_RUN'] + '/ready-' + os.environ['RANK'], 'w').close()\n"
        "time.sleep(600)\n"
    )
    contained(site, image, waits)
    run = site.submit()
    for rank in (0, 1):
        run.written(f"ready-{rank}")
    site.run("cancel", run.id)
    run.await_end()
    assert "told" in run.log("rank-0") and "told" in run.log("rank-1")


@pytest.mark.mpi
@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun")
def test_mpirun_and_an_image_without_mpi(site: Site, image: Path, tmp_path: Path) -> None:
    contained(site, image, f"{PLAIN}\nif False:\n    import mpi4py\n", variables={"DATA": "/tmp"})
    refused = json.loads(site.run("check", "--json", "--launcher", "mpirun", code=2))
    assert [violation["id"] for violation in refused["violations"]] == ["image_no_mpi"]
    # a library whose MPI nobody can start: check lets it pass, and the job finds the other MPI
    library = image / "usr/local/lib/libmpi.so.12"
    library.parent.mkdir(exist_ok=True)
    library.touch()
    try:
        run = site.submit("--launcher", "mpirun")
        assert run.await_end()["exit_code"] == 0, run.log("job") + run.log()
        warned = [event["text"] for event in run.job_events if event["event"] == "warned"]
        assert any("MPICH" in text and "Open MPI" in text for text in warned), warned
    finally:
        library.unlink()


@pytest.mark.mpi
@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun")
def test_a_program_without_mpi_runs_under_the_mpirun_of_the_node(site: Site, image: Path) -> None:
    contained(site, image, PLAIN, variables={"DATA": "/tmp"})
    site.run("check", "--launcher", "mpirun")
    run = site.submit("--launcher", "mpirun")
    assert run.await_end()["exit_code"] == 0, run.log("job") + run.log()
    ranks = [json.loads((run.path / f"seen-{rank}.json").read_text())["environment"]["RANK"] for rank in (0, 1)]
    assert ranks == ["0", "1"]


@pytest.mark.slurm
@pytest.mark.parametrize("launcher", ["srun", "torchrun"])
def test_srun_starts_the_ranks_in_the_image_of_pyxis(slurm: SlurmLab, tmp_path: Path, launcher: str) -> None:
    backend = SlurmBackend(slurm)
    folder = install(tmp_path / "programs", TESTS, "srun")
    site = Site(backend, tmp_path / "project")
    torchrun = folder / "torchrun"
    torchrun.write_text('#!/bin/sh\nfor word; do shift; [ "$word" != --no-python ] || break; done\n'
                        'RANK=$SLURM_PROCID LOCAL_RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=1 exec "$@"\n')  # fmt: skip
    torchrun.chmod(0o755)
    try:
        site.write_project(
            "python own.py", image="team/train:1", processes=2, nodes=2, launcher=launcher, walltime="3m",
            variables={"DATA": "/tmp"}, environment=[f'export LD_LIBRARY_PATH=/of/the/node PATH="{folder}:$PATH"'],
        )  # fmt: skip
        (site.folder / "own.py").write_text(PLAIN)
        for name in ("srun", "inside"):  # in the image torchrun is on the path
            text = (folder / name).read_text()
            (folder / name).write_text(text.replace("CONTAINER_STUB_PATH='", f"CONTAINER_STUB_PATH='{folder}:"))
        site.write_profile(processes_per_node=1, container={"runtime": "pyxis"})
        run = site.submit()
        assert run.await_end()["exit_code"] == 0, run.log("job") + run.log("scheduler")
        for rank in (0, 1):
            inside = json.loads((run.path / f"seen-{rank}.json").read_text())["environment"]
            assert inside["RANK"] == str(rank) and inside["IN_IMAGE"] == "team/train:1"
            assert "LD_LIBRARY_PATH" not in inside
            assert (run.path / "stacks" / f"rank-{rank}.txt").exists()
        noted = json.loads((folder / "notes.jsonl").read_text().splitlines()[0])
        assert str(run.path) in {bind.split(":")[0] for bind in noted["binds"]}
    finally:
        backend.stop()
