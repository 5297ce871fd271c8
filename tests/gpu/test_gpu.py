"""What needs a GPU, in one command of minutes: `make test-gpu`. CI has none and never runs it.

Each test prints its figures; `GPU_FIGURES=FILE` gathers them as lines of JSON.
"""

import csv
import json
import os
from pathlib import Path
from typing import Any

import pytest

from support.gpu_place import Place

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.timeout(500),
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]

OUT_OF_MEMORY = """
import torch
free, _ = torch.cuda.mem_get_info()
kept = torch.empty(int(free * 0.9), dtype=torch.uint8, device="cuda")
more = torch.empty(int(free * 0.5), dtype=torch.uint8, device="cuda")
"""
ONE_GPU_FOR_ALL = """
import torch
import torch.distributed as dist
torch.cuda.set_device(0)
dist.init_process_group("nccl")
value = torch.ones(1, device="cuda")
dist.all_reduce(value)
print("sum", value.item())
"""
NO_SUCH_GPU = """
import torch
torch.zeros(1, device=f"cuda:{torch.cuda.device_count()}")
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    folder = tmp_path / "project"
    folder.mkdir()
    return Place(folder)


def _tell(**figures: Any) -> None:
    line = json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__, **figures})
    print(line)
    if os.environ.get("GPU_FIGURES"):
        with Path(os.environ["GPU_FIGURES"]).open("a") as stream:
            stream.write(line + "\n")


def _telemetry(run: Path) -> list[dict[str, str]]:
    rows = []
    for file in (run / "telemetry").glob("*.csv"):
        with file.open() as stream:
            rows += [row for row in csv.DictReader(stream) if row["kind"] == "gpu"]
    return rows


@pytest.mark.parametrize(
    ("recipe", "options"),
    [
        ("torch-ddp", ()),
        ("torch-ddp", ("-p", "data=synthetic", "-p", "epochs=20")),
        ("torch-ddp-tuned", ()),
        ("torch-fsdp-lm", ()),
        ("pipeline-lm", ()),
        ("pipeline-lm", ("-p", "offload=all")),
    ],
    ids=["ddp-digits", "ddp-images", "ddp-tuned", "fsdp-lm", "pipeline", "pipeline-offload"],
)
def test_a_recipe_trains_on_the_gpu(
    place: Place, recipe: str, options: tuple[str, ...], request: Any, figures: dict[str, Any]
) -> None:
    place.good("init", "--recipe", recipe)
    place.good("submit", "--cluster", "laptop", "--processes", "1", "--walltime", "00:08:00", "--wait", *options)
    run = place.run()
    result = json.loads(place.good("results", run.name, "--json"))
    throughput = {name: value for name, value in result["metrics"].items() if name.endswith("_per_s")}
    assert result["status"] == "SUCCEEDED" and throughput and min(throughput.values()) > 0
    assert not result["check"] or result["check"]["passed"] or options, result["check"]
    # the GPU itself tells that it was used, not only the program
    rows = _telemetry(run)
    assert rows and max(float(row["memory_mib"]) for row in rows) > 100
    (facts,) = (json.loads(file.read_text()) for file in (run / "env").glob("*.json"))
    assert torch.cuda.get_device_name().split()[-1] in json.dumps(facts)
    busiest = max(float(row["utilisation_percent"]) for row in rows)
    figures |= throughput
    _tell(test=request.node.callspec.id, **throughput, busiest_percent=busiest, metrics=result["metrics"])


def test_the_collective_library_of_the_gpu_is_measured(place: Place) -> None:
    place.good("init", "--recipe", "allreduce")
    place.good("submit", "--cluster", "laptop", "--processes", "1", "--walltime", "00:05:00", "--wait")
    log = place.good("logs", place.run().name)
    assert "nccl" in log.lower(), log


@pytest.mark.parametrize(
    ("program", "processes", "rule"),
    [
        (OUT_OF_MEMORY, 1, "gpu-out-of-memory"),
        (ONE_GPU_FOR_ALL, 2, "nccl-duplicate-gpu"),
        (NO_SUCH_GPU, 1, "gpu-invalid-number"),
    ],
    ids=["out-of-memory", "one-gpu-for-all", "no-such-gpu"],
)
def test_a_failure_of_the_gpu_is_recognised(place: Place, program: str, processes: int, rule: str) -> None:
    place.program(program)
    number = str(processes)
    words = ("--processes", number, "--processes-per-node", number, "--walltime", "00:05:00", "--wait")
    # by force: `check` finds that all processes would use one GPU
    done = place.call("submit", "--force", "--cluster", "laptop", *words)
    assert done.returncode == 1, done.stdout + done.stderr
    found = json.loads(place.call("diagnose", place.run().name, "--json").stdout)
    assert found["findings"] and found["findings"][0]["rule"] == rule, json.dumps(found, indent=1)


def test_doctor_sees_the_gpu(place: Place) -> None:
    told = place.call("doctor", "--cluster", "laptop", "--json").stdout
    assert torch.cuda.get_device_name().split()[-1] in told, told
