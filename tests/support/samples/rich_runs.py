"""Invented runs with all that a run's page can show: long curves, telemetry of several hosts, checkpoints, a diff."""

import json
import math
import os
from pathlib import Path
from typing import Any

from hackathon.index.catalog import Catalog
from hackathon.index.projects import ProjectFolder
from hackathon.index.reader import summarise
from hackathon.index.record import RunEntry
from hackathon.runs.directory import RunDirectory
from hackathon.runs.status import status
from support.samples.runs import HOSTS, START, Sample, write_run

TRAIN = "import torch\n\n\ndef main() -> None:\n    lr = {lr}\n    train(lr)\n\n\nmain()\n"
DIGEST = f"sha256:{'46f5' * 16}"
EVIDENCE = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.90 GiB total capacity; "
    "13.11 GiB already allocated; 1.02 GiB free; 13.77 GiB reserved in total by PyTorch)"
)


def write_rich(
    project: Path, number: int = 0, *, failed: bool = False, lr: float = 0.1, parent: str = "", **words: Any
) -> Path:
    """Write a run of four processes on two hosts, twenty minutes long, and return its folder."""
    state = {"state": "FAILED", "reason": "rank 1 ended with exit code 1", "exit_code": 1} if failed else {}
    sample = Sample(4, None if failed else 4460.0 + 100 * number, **{**state, **words})
    run = write_run(project / "runs", sample, number)
    begin = START + 240 * number + 60
    request = json.loads((run / "request.json").read_text())
    request["parameters"]["lr"] = lr
    (run / "request.json").write_text(json.dumps({**request, "parent": parent or None}, ensure_ascii=False))
    final = json.loads((run / "final.json").read_text())
    final |= {"ended": begin + 1200, "t_created": begin - 60, "t_started": begin, "t_ended": begin + 1200}
    (run / "final.json").write_text(json.dumps({**final, "attempt": 1, "hosts": list(HOSTS[:2])}))
    text = TRAIN.format(lr=lr)
    (run / "source" / "train.py").write_text(text)
    source = json.loads((run / "source.json").read_text())
    source |= {"digest": f"{number:064x}", "files": {"train.py": f"{hash(text) & (1 << 64) - 1:064x}"}}
    (run / "source.json").write_text(json.dumps(source))
    (run / "source.diff").write_text(
        "diff --git a/train.py b/train.py\n--- a/train.py\n+++ b/train.py\n@@ -5 +5 @@\n"
        f"-    lr = 0.01\n+    lr = {lr}\n"
    )
    _metrics(run, begin, failed, 4460.0 + 100 * number)
    _telemetry(run, begin)
    _events(run, begin, failed)
    if failed:
        log = "".join(f"step {step} loss {2.3 / (1 + step / 40):.4f}\n" for step in range(0, 400, 10))
        (run / "logs/rank-1.log").write_text(f"{log}Traceback (most recent call last):\n{EVIDENCE}\n")
    return run


def source_of(project: Path, **more: Any) -> Catalog:
    """Return the source of views for all runs of a project, newest first, as the index would make it."""
    runs = [RunDirectory(path) for path in sorted((project / "runs").iterdir(), reverse=True)]
    states = status(runs, ask=False, write=False)
    belongs = ProjectFolder(project, more.pop("team", "aurora"))
    summaries: list[RunEntry] = [summarise(belongs, run, state) for run, state in zip(runs, states, strict=True)]
    return Catalog(tuple(summaries), (belongs,), now=START + 7200, **more)


def _metrics(run: Path, begin: float, failed: bool, rate: float) -> None:
    lines = []
    for i in range(240):
        speed = rate * (0.5 if i < 3 else 1 + 0.02 * math.sin(i / 5))
        line = {"t": begin + 20 + i * 4.9, "attempt": 1, "step": 10 * i, "samples": 640, "samples_per_s": speed}
        lines.append({**line, "loss": 2.3 / (1 + i / 10), "accuracy": 1 - 0.9 / (1 + i / 20)})
    if not failed:
        lines.append(
            {
                "t": begin + 1199,
                "attempt": 1,
                "final": True,
                "samples_per_s": rate,
                "accuracy": 0.978,
                "weights": DIGEST,
            }
        )
    (run / "metrics/rank-0.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def _telemetry(run: Path, begin: float) -> None:
    for order, host in enumerate(HOSTS[:2]):
        rows = ["t,kind,index,utilisation_percent,memory_mib,power_w"]
        for i in range(0, 1200, 15):
            for device in (0, 1):
                use = 0 if i < 30 else min(100, 82 + 9 * math.sin(i / 60 + device) - 25 * order)
                rows.append(f"{begin + i},gpu,{device},{use:.0f},{9000 + 300 * device + 2 * i},{60 + use * 1.8:.1f}")
            rows.append(f"{begin + i},cpu,0,{20 + order},{64000 + i},")
        (run / f"telemetry/{host}.csv").write_text("\n".join(rows) + "\n")


def _events(run: Path, begin: float, failed: bool) -> None:
    head = {"attempt": 1, "host": HOSTS[0]}
    code = 1 if failed else 0
    job = [
        {"t": begin, "event": "started", **head, "job_id": "482310"},
        {"t": begin + 9, "event": "ranks_started", **head, "seconds": 8.4},
        {"t": begin + 600, "event": "warned", **head, "about": "network", "text": "NCCL uses sockets, not InfiniBand"},
        {"t": begin + 1200, "event": "ended", **head, "exit_code": code, "signal": None},
    ]
    (run / "events/job.jsonl").write_text("".join(json.dumps(each) + "\n" for each in job))
    for rank in range(4):
        own = {"attempt": 1, "host": HOSTS[rank // 2], "rank": rank}
        events = [{"t": begin + 8 + rank / 10, "event": "started", **own}]
        if rank == 0:
            events.append({"t": begin + 500, "event": "checkpoint", **own, "path": "checkpoints/step-1000"})
        ended = {"exit_code": code if rank == 1 else 15 if failed else 0, "signal": None}
        if failed and rank != 1:
            events.append({"t": begin + 1198, "event": "told", **own})
        events.append({"t": begin + 1197 + rank / 10, "event": "ended", **own, **ended})
        (run / f"events/rank-{rank}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events))
    os.utime(run)
