"""Runs of `hackathon speedup` and `hackathon profile` as these commands leave them, with what they keep."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hackathon.profiling.traces import stored
from hackathon.profiling.traces.report import read_profile
from hackathon.tuning import batches, result
from hackathon.tuning.batches import BatchProbe, FakePrediction, LargestBatch
from hackathon.tuning.noise import NoiseScale
from hackathon.tuning.options import NotTried, Option
from hackathon.tuning.result import SpeedupResult, together
from hackathon.tuning.slots import TrainingStart
from hackathon.tuning.verdict import compare, winners
from support.samples.runs import START, Sample, write_run
from support.traces import gloo_traces

OPTIONS = (
    Option("bf16", "precision", "rounding", {"amp": "bf16"}),
    Option("loader workers=4", "loader", "nothing", {"workers": 4}),
    Option("channels_last", "layout", "rounding", {"channels_last": True}),
    Option("torch.compile", "compile", "rounding", {"compile": True}),
)
FACTORS = (1.42, 1.2, 1.0, 0.8)
LEFT = (
    NotTried("fused optimizer", "lines", "optimizer = torch.optim.SGD(model.parameters(), lr=lr, fused=True)"),
    NotTried("fp16", "gpu"), NotTried("TF32", "gpu"), NotTried("cudnn.benchmark", "there"),
)  # fmt: skip
GIB = 1 << 30


def speedup_result(run: str, rounds: int = 9) -> SpeedupResult:
    """Return a table in which two options win, also together, one does nothing, one is slower and one failed."""
    options = (*OPTIONS, Option("broken", "memory", "nothing", {"recompute": True}))
    starts = []
    for number in range(rounds):
        base = 1000 + 10 * (number % 3)
        losses = {float(step): 2 / (step + 1) + 0.01 * (number % 2) for step in range(12)}
        shares = {"data": 0.2, "compute": 0.7, "other": 0.1}
        starts.append(TrainingStart(0, number, base, "samples_per_s", "samples/s", losses=losses, shares=shares))
        for arm, factor in enumerate(FACTORS, 1):
            noise = 0.01 * ((number + arm) % 5 - 2)
            value = base * (factor + noise)
            starts.append(TrainingStart(arm, number, value, "samples_per_s", "samples/s", losses=losses))
        starts.append(TrainingStart(len(options), number, None, failed=True, folder=f"slots/{number:04d}"))
    compared = compare(starts, options, len(options) + 1)
    both = together(winners(compared.rows))
    second = [
        TrainingStart(arm, number, 1000 * (1.66 if arm else 1), "samples_per_s", "samples/s", losses={1.0: 1.0})
        for number in range(rounds)
        for arm in (0, 1)
    ]
    return SpeedupResult(run, f"{run}-2", compared, compare(second, [both], len(options) + 1), LEFT)


def largest_batch() -> LargestBatch:
    """Return a search that found 96, recommends 91, and measured what lowers memory."""
    tried = ((32, True, 4), (64, True, 6), (97, False, 8), (96, True, 8))
    probes = [
        BatchProbe(batch, "search", fits, memory * GIB, 20.0, "" if fits else "job-out-of-memory", f"slots/{n:04d}")
        for n, (batch, fits, memory) in enumerate(tried)
    ]
    probes += [BatchProbe(91, "confirm", True, 7 * GIB, 60.0), BatchProbe(45, "accumulate", True, 5 * GIB, 20.0)]
    return LargestBatch("batch_size", 32, 8 * GIB, 97, 96, 91, True, tuple(probes),
                        fake=FakePrediction(97, points=((32, 3 * GIB), (64, 5 * GIB), (97, 7 * GIB))),
                        noise=NoiseScale(None, 32, 512), virtual=True)  # fmt: skip


def write_speedup(runs: Path, number: int = 50, *, batch: bool = False, name: str = "train") -> Path:
    """Write a run of `hackathon speedup`, of `--largest-batch` with `batch`, and return it."""
    run = write_run(runs, Sample(1, None, tags=("speedup",)), number, name=name, start=START)
    if batch:
        keep(run, batches.FACT, largest_batch().as_json())
    else:
        keep(run, result.FACT, speedup_result(run.name).as_json())
    return run


def write_profile(runs: Path, traces: Path, number: int = 60, *, parent: str = "", name: str = "train") -> Path:
    """Write a run of `hackathon profile` with four ranks of which one is late, and return it; `parent`: a run's id."""
    run = write_run(runs, Sample(4, None, tags=("try", "profile")), number, name=name)
    if parent:
        request = json.loads((run / "request.json").read_text())
        (run / "request.json").write_text(json.dumps({**request, "parent": parent}))
    profile = read_profile([trace.write(traces) for trace in gloo_traces(4, {2: 12.0})])
    keep(run, stored.FACT, stored.stored(profile))
    return run


def keep(run: Path, name: str, value: Mapping[str, Any]) -> None:
    """Write a fact of the client."""
    (run / "client" / f"{name}.json").write_text(json.dumps(value, allow_nan=False))
