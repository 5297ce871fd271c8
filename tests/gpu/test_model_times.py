"""Times and bytes of a model's operators on a real GPU, against the model as its user runs it."""

import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from hackathon.parallel.description.worker import captured
from hackathon.profiling import device_probe
from support import networks
from support.paths import ROOT

pytestmark = [
    pytest.mark.torch,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]


def test_operators_are_measured_and_memory_is_what_the_gpu_needs(figures: dict[str, Any]) -> None:
    request = {
        "path": str(ROOT / "tests" / "support" / "networks.py"), "function": "gpt_small", "seconds": 30,
        "probe": str(Path(device_probe.__file__)),
    }  # fmt: skip
    graph, told = captured(request)
    assert str(told["device"]).startswith("cuda") and told["measured"] == told["signatures"]
    rows = graph["operators"]
    with torch.device("cuda"):
        built = networks.gpt_small()
    model, (tokens, target), loss = built["model"], built["args"], built["loss"]
    took = []
    for _ in range(6):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        value = loss(model(tokens), target)
        value.backward()
        torch.cuda.synchronize()
        took.append(time.perf_counter() - begin)
        model.zero_grad()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    value = loss(model(tokens), target)
    kept = torch.cuda.memory_allocated() - before
    counted = sum(each["saved"] for each in rows)
    planned = sum(each["forward"] + each["backward"] for each in rows)
    figures |= {"measured_s": min(took), "planned_s": planned, "kept_bytes": kept, "counted_bytes": counted}
    print(figures)
    assert 0.5 < planned / min(took) < 2
    assert 0.7 < counted / kept < 1.3
