"""Speed on a GPU: throughput goals, a profile with kernels, a table of speedup, the largest batch by real OOM.

The goals come first, and what starts the program most often last: parts that begin after the budget are not run.
"""

import json
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
IMAGES = ("-p", "data=synthetic", "-p", "model=resnet18", "-p", "image_size=128")
GOALS = {"H100": 2800.0, "H200": 3300.0}
"""Device → images per second of ResNet-50 with bf16 and channels_last; of other devices there is no goal."""
PEAK_TFLOPS = {"H100": 989.0, "H200": 989.0}
"""Device → dense peak in bf16. Source: NVIDIA's data sheet of the SXM modules."""
MFU = 0.45
"""Goal of GPT-2 124M in bf16."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    folder = tmp_path / "project"
    folder.mkdir()
    return Place(folder)


def known(table: dict[str, float]) -> float | None:
    """Return what a table says of this device; None where it does not have it."""
    name = torch.cuda.get_device_name()
    return next((value for key, value in table.items() if key in name), None)


def trained(place: Place, recipe: str, *options: str) -> dict[str, float]:
    """Return the metrics of a run on the GPU."""
    place.good("init", "--recipe", recipe)
    place.good("submit", "--cluster", "laptop", "--processes", "1", "--walltime", "00:05:00", "--wait", *options)
    result = json.loads(place.good("results", place.run().name, "--json"))
    assert result["status"] == "SUCCEEDED"
    found: dict[str, float] = result["metrics"]
    return found


def test_resnet50_reaches_its_throughput(place: Place, figures: dict[str, Any]) -> None:
    options = {"data": "synthetic", "model": "resnet50", "amp": "bf16", "channels_last": "true", "batch_size": "256",
               "epochs": "3", "fused": "true"}  # fmt: skip
    words = [word for name, value in options.items() for word in ("-p", f"{name}={value}")]
    speed = trained(place, "torch-ddp-tuned", *words)["samples_per_s"]
    figures |= {"images_per_s": speed, "goal": known(GOALS)}
    assert speed >= (known(GOALS) or 0.0)


def test_gpt2_reaches_its_utilisation(place: Place, figures: dict[str, Any]) -> None:
    peak = known(PEAK_TFLOPS)
    options = {"data": "synthetic", "model": "gpt2-124m", "precision": "bf16", "compile": "true", "fused": "true",
               "batch_size": "16", "steps": "60", **({"peak_tflops": f"{peak:g}"} if peak else {})}  # fmt: skip
    words = [word for name, value in options.items() for word in ("-p", f"{name}={value}")]
    metrics = trained(place, "torch-fsdp-lm", *words)
    figures |= {"tokens_per_s": metrics["tokens_per_s"], "mfu": metrics.get("mfu"), "goal": MFU if peak else None}
    assert peak is None or metrics["mfu"] >= MFU


def test_a_profile_has_kernels_and_the_use_of_the_device(place: Place, figures: dict[str, Any]) -> None:
    place.good("init", "--recipe", "torch-ddp-tuned")
    words = ("profile", "--json", "--yes", "--cluster", "laptop", "--processes", "1", "-p", "amp=bf16",
             "-p", "channels_last=true", *IMAGES)  # fmt: skip
    found = json.loads(place.good(*words))
    assert found["kernels"] and found["ranks"][0]["devices"] and found["tensor_core_share"] > 0
    roof = found["roofline"]
    assert roof["flops"] > 0 and 0 < roof["mfu"] < 1
    peaks = {name: each["value"] for name, each in roof["peaks"]["flops_per_s"].items()}
    assert {"fp32", "bf16", "fp16"} <= set(peaks)
    # cuDNN convolves fp32 in TF32 from Ampere on; products of matrices do not use it unless they are told to
    assert ("tf32" in peaks) == (torch.cuda.get_device_capability()[0] >= 8)
    assert peaks["fp32"] < peaks.get("tf32", float("inf"))
    figures |= {
        "mfu": roof["mfu"], "tensor_core_share": found["tensor_core_share"],
        "bf16_tflops_by_probe": peaks["bf16"] / 1e12, "tf32_tflops_by_probe": peaks.get("tf32", 0.0) / 1e12,
        "memory_gb_s_by_probe": roof["peaks"]["bytes_per_s"]["value"] / 1e9,
        "overhead": (found["overhead"] or {}).get("share"),
        "operators_of_kernels_known": found["device_operators_known"],
    }  # fmt: skip


def test_a_table_of_speedup_is_measured(place: Place, figures: dict[str, Any]) -> None:
    place.good("init", "--recipe", "torch-ddp-tuned")
    words = ("speedup", "--json", "--yes", "--cluster", "laptop", "--seconds", "5", "--rounds", "3",
             "--try", "amp=bf16", "--try", "channels_last=true", *IMAGES)  # fmt: skip
    found = json.loads(place.good(*words))
    rows = {json.dumps(row["settings"]): row for row in found["options"]}
    assert len(rows) == 2 and all(row["ratio"] and row["pairs"] >= 2 for row in rows.values()), rows
    assert not any(row["failed_log"] for row in rows.values())
    figures |= {f"{name} {value}": row["ratio"] for row in rows.values() for name, value in row["settings"].items()}


def test_the_largest_batch_ends_at_a_real_out_of_memory(place: Place, figures: dict[str, Any]) -> None:
    place.good("init", "--recipe", "torch-ddp-tuned")
    words = ("speedup", "--largest-batch", "--json", "--yes", "--cluster", "laptop",
             "--walltime", "00:15:00", "--seconds", "3",
             "-p", "data=synthetic", "-p", "model=resnet50", "-p", "batch_size=64")  # fmt: skip
    found = json.loads(place.good(*words))
    assert found["largest"] and found["other_failure"] is None and found["memory_of"] == "device_or_resident"
    failed = [each for each in found["probes"] if not each["fits"]]
    assert failed and all(each["batch"] > found["largest"] for each in failed if each["kind"] == "search"), failed
    figures |= {"largest": found["largest"], "predicted": found["predicted"], "recommended": found["recommended"]}
    figures |= {"predicted_by": found["predicted_by"], "starts": len(found["probes"])}
    figures |= {"fake": (found["fake"] or {}).get("reason"), "noise": (found["noise_scale"] or {}).get("at_least")}
