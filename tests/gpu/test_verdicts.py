"""What `profile` says of programs with one planted fault each, and of sound ones, on a real GPU."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.gpu_place import Place

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.torch,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]
WIDTH, LAYERS, BATCH = 4096, 8, 8192

PROGRAM = f"""
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

case = sys.argv[1]
width, layers, batch = (256, 60, 64) if case == "tiny" else ({WIDTH}, {LAYERS}, {BATCH})


class Samples(Dataset):
    def __len__(self):
        return 200 * 8

    def __getitem__(self, index):
        if case == "loader":
            time.sleep(0.01)
        return kept


kept = torch.ones(batch, width * 4) if case == "copies" else torch.ones(batch // 8, 16)
model = torch.nn.Sequential(*(torch.nn.Linear(width, width, bias=False) for _ in range(layers))).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6, foreach=case != "tiny")
workers = 2 if case in ("sound", "waits", "ahead") else 0
loader = DataLoader(Samples(), batch_size=None if case == "copies" else 8, num_workers=workers, pin_memory=workers > 0)
noise = torch.randn(batch, width, device="cuda")
count = 0
for rows in loader:
    rows = rows.to("cuda", non_blocking=workers > 0)
    with torch.autocast("cuda", torch.bfloat16):
        loss = model(noise).float().square().mean() + rows.mean() * 0
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    count += 1
    if case == "waits":
        print("loss", loss.item())
    if case != "ahead":
        torch.cuda.synchronize()
    if count == 5:
        torch.cuda.synchronize()
        begin = time.perf_counter()
    if count == 30:
        torch.cuda.synchronize()
        print("step_s", (time.perf_counter() - begin) / 25, flush=True)
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    folder = tmp_path / "project"
    folder.mkdir()
    return Place(folder).program(PROGRAM)


def profiled(place: Place, case: str) -> dict[str, Any]:
    words = ("--cluster", "laptop", "--processes", "1", "--command", f"python train.py {case}")
    found: dict[str, Any] = json.loads(place.good("profile", "--json", "--yes", *words))
    return found


@pytest.mark.parametrize(
    ("case", "expected"),
    [("loader", ["loader"]), ("copies", ["copies"]), ("tiny", ["host-bound"]), ("sound", []), ("waits", [])],
)
def test_what_is_planted_is_found_and_nothing_else(
    place: Place, case: str, expected: list[str], figures: dict[str, Any]
) -> None:
    found = profiled(place, case)
    figures |= {part: found["step"][part] for part in ("seconds", "data", "host", "compute", "other")}
    assert [each["id"] for each in found["findings"]] == expected, json.dumps(found, indent=1)


def test_of_a_program_ahead_of_its_gpu_the_truth_or_nothing_is_told(place: Place, figures: dict[str, Any]) -> None:
    found = profiled(place, "ahead")
    figures |= {"seconds": found["step"]["seconds"], "remarks": len(found["remarks"])}
    assert found["findings"] == [], json.dumps(found, indent=1)


def test_the_utilisation_is_what_operations_and_the_clock_give(place: Place, figures: dict[str, Any]) -> None:
    found = profiled(place, "sound")
    # not recorded, the same program tells how long its step takes
    command = [sys.executable, "train.py", "sound"]
    told = subprocess.run(command, cwd=place.folder, capture_output=True, text=True, check=True).stdout
    step = next(float(line.split()[-1]) for line in told.splitlines() if line.startswith("step_s"))
    # the gradient of the first layer's input is not needed
    operations = 2 * BATCH * WIDTH * WIDTH * (3 * LAYERS - 1)
    achieved = found["roofline"]["flops_per_s"]
    figures |= {
        "told_tflops": achieved / 1e12,
        "true_tflops": operations / step / 1e12,
        "mfu": found["roofline"]["mfu"],
    }
    assert achieved == pytest.approx(operations / step, rel=0.15)
    assert found["roofline"]["flops"] == pytest.approx(operations, rel=0.01)
