"""The largest batch of a real torch program, whose first start predicts it with fake tensors, under a real limit."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from hackathon.tuning import driver, fake_step, observer
from hackathon.tuning.batches import FakePrediction
from hackathon.tuning.noise import NoiseScale
from support import memory_program
from support.memory_program import FIRST
from support.patience import STRETCH

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
MORE = 200_000_000
"""Bytes of addresses beside those of the first batch."""


def addresses(command: list[str]) -> int:
    """Return the most bytes of addresses that a program had."""
    most = 0
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while child.poll() is None:
        most = max(most, driver.memory_of(child.pid, True) or 0)
        time.sleep(0.01)
    assert child.returncode == 0
    return most


def patient(file: str | None, *limits: str) -> str:
    """Return the text of a module with these limits as long as those of tests."""
    text = Path(str(file)).read_text()
    for each in limits:
        assert text.count(f"\n{each}\n") == 1, each
        longer = re.sub(r"\d+\.\d+", lambda found: str(STRETCH * float(found[0])), each)
        text = text.replace(f"\n{each}\n", f"\n{longer}\n")
    return text


def searched(folder: Path, model: str, more: int = MORE, seconds: float = 0.5) -> list[dict[str, Any]]:
    """Return what the driver wrote of each start, in their order."""
    (folder / "source").mkdir(parents=True)
    (folder / "source" / "program.py").write_text(Path(memory_program.__file__).read_text())
    program = folder / "source" / "program.py"
    base = addresses([sys.executable, str(program), "--model", model, "--batch-size", str(FIRST)])
    task = {
        "kind": "batches", "mark": "@BATCH@", "first": FIRST, "least": 1, "most": None, "limit": base + more,
        "command": [sys.executable, "program.py", "--model", model, "--steps", "100000", "--batch-size", "@BATCH@"],
        "savers": {}, "seconds": seconds, "starting": 1200, "meter": True, "gpus": 0,
        "observer": {"sitecustomize.py": patient(observer.__file__, "LONGEST = 40.0", "COLLECTING = 20.0"),
                     f"{observer.BESIDE}.py": Path(fake_step.__file__).read_text()},
    }  # fmt: skip
    (folder / "source" / driver.TASK).write_text(json.dumps(task))
    starter = folder / "source" / driver.PROGRAM
    starter.write_text(patient(driver.__file__, "OBSERVED, NOISE = 90.0, 60.0"))
    env = {**os.environ, "HK_RUN": str(folder), "MALLOC_MMAP_THRESHOLD_": "1000000"}  # what is freed goes back
    done = subprocess.run([sys.executable, str(starter)], cwd=folder / "source", env=env, capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    slots = sorted(each for each in (folder / "slots").iterdir() if each.is_dir())
    return [json.loads((each / "slot.json").read_text()) for each in slots]


@pytest.mark.parametrize("model", ["cnn"])
def test_fake_tensors_foretell_the_batch_that_fits(tmp_path: Path, model: str) -> None:
    slots = searched(tmp_path, model)
    first = slots[0]
    told = FakePrediction.from_json(first["predicted"])
    assert told is not None and told.batch is not None, first["predicted"]
    search = [each for each in slots if each["kind"] == "search"]
    largest = max(each["batch"] for each in search if not each["failed"])
    assert any(each["batch"] == largest + 1 and each["failed"] for each in search), "the answer is exact"
    assert abs(told.batch / largest - 1) < 0.1, (told, largest)
    assert slots[1]["batch"] == told.batch, "it is the second start"
    assert not any("predicted" in each for each in slots[1:]) and not first["failed"]
    measured = next(each["memory"] for each in search if each["batch"] == largest)
    predicted = told.memory(largest, FIRST, first["memory"])
    assert predicted is not None and abs(predicted / measured - 1) < 0.05
    noise = NoiseScale.of_norms(first["noise"])
    assert noise is not None and noise.small == FIRST, first["noise"]
