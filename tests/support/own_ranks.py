"""Training programs of others, two ranks over gloo each, without a line of the toolkit, that measure themselves.

    python own_ranks.py OUT SCALE FAULT…

Each fault's ranks are forked, all at once, with torch loaded; they sleep most of the time. The recorder of a job is
laid into each as its sitecustomize does. `OUT/FAULT/steps/rank-<n>.json` is the recorder's, `OUT/FAULT/truth-<n>.json`
what the program itself saw: seconds of each part over its steps, moments of entering and leaving each all-reduce.
"""

import atexit
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # optimizers need it: each rank would spend two seconds on it
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

RECORDER = Path(__file__).resolve().parents[2] / "templates" / "jobs" / "steps.py"
SKIPPED, STEPS, BATCH, RANKS = 3, 40, 4, 2
"""Steps that are not recorded, all steps, samples of a batch, processes."""
STRENGTH = 0.06
"""Seconds that a fault adds to a step of some 0.08 s."""


class Slow(Dataset[Any]):
    """Samples that take their time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds / BATCH

    def __len__(self) -> int:
        return STEPS * BATCH

    def __getitem__(self, index: int) -> Any:
        time.sleep(self.seconds)
        return torch.full((64,), float(index % 7)), index % 4


class Model(torch.nn.Module):
    """A model that computes by sleeping, as if on a CPU of its own, with gradients of so many numbers."""

    def __init__(self, seconds: float, width: int) -> None:
        super().__init__()
        self.seconds = seconds
        self.first, self.last = torch.nn.Linear(64, width), torch.nn.Linear(width, 4)

    def forward(self, batch: Any) -> Any:
        time.sleep(self.seconds)
        return self.last(torch.relu(self.first(batch)))


def busy(seconds: float) -> None:
    """Run Python on a CPU for so long."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def train(fault: str, rank: int, scale: float, out: Path) -> None:
    """Make the steps of one rank."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{out}/meet", rank=rank, world_size=RANKS)
    extra = STRENGTH * scale
    wide = 60_000 if fault == "exposed-communication" else 16
    model: Any = Model(0.06 * scale, wide)
    moment = [0.0]

    def reduce(_: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:  # type: ignore[name-defined]
        future = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
        moment[0] = time.perf_counter()
        return future.then(lambda done: done.value()[0])  # type: ignore[no-any-return]

    if fault != "manual":
        model = DistributedDataParallel(model)
        model.register_comm_hook(None, reduce)  # of the program's own: it tells when the last gradients leave
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
    truth: dict[str, Any] = dict.fromkeys(("data", "host", "compute", "step"), 0.0) | {"entered": [], "left": []}
    batches = iter(DataLoader(Slow(extra if fault == "slow-loader" else 0.004), batch_size=BATCH))
    end = time.perf_counter()
    for number in range(STEPS):
        begin = end
        batch, labels = next(batches)
        loaded = time.perf_counter()
        cpu = time.thread_time()
        busy(extra if fault == "host-bound" else 0.001)
        host = time.thread_time() - cpu
        if fault == "sleep" or (fault == "straggler" and rank == RANKS - 1):
            time.sleep(extra)
        called = time.perf_counter()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(batch), labels)
        torch.autograd.backward(loss)
        if fault == "manual":
            moment[0] = time.perf_counter()
            for each in model.parameters():
                dist.all_reduce(each.grad)
        left = time.perf_counter()
        optimizer.step()
        end = time.perf_counter()
        if number >= SKIPPED:
            truth["data"] += loaded - begin
            truth["host"] += host
            truth["compute"] += moment[0] - called + end - left
            truth["step"] += end - begin
            truth["entered"].append(moment[0])
            truth["left"].append(left)
    (out / f"truth-{rank}.json").write_text(json.dumps(truth))
    del model  # a DDP model that goes after its group may deadlock with Gloo's thread (PyTorch 2.13)
    dist.destroy_process_group()


def become(fault: str, rank: int, scale: float, out: Path) -> None:
    """Be a rank: with the recorder, to the end as an interpreter comes to it."""
    atexit._clear()
    os.environ["HK_STEPS"] = str(out / "steps" / f"rank-{rank}.json")
    exec(compile(RECORDER.read_text(), "<frozen importlib hackathon>", "exec"), {"__name__": "hackathon_steps"})
    train(fault, rank, scale, out)
    atexit._run_exitfuncs()


def main(out: Path, scale: float, faults: list[str]) -> None:
    """Train all faults at once."""
    children = []
    for fault in faults:
        (out / fault / "steps").mkdir(parents=True)
        for rank in range(RANKS):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    become(fault, rank, scale, out / fault)
                    code = 0
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(code)
            children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]) for each in children]
    sys.exit(any(codes))


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:])
