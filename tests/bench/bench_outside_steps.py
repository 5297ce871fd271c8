"""Processor time of a step of an own program with the recorder of `templates/jobs/steps.py`, as a ratio to without.

    python tests/bench/bench_outside_steps.py [--pairs 41] [--milliseconds 10] [--seconds 1.5]

Needs torch. A step is a batch of a DataLoader and a DDP model over gloo with one process. Blocks with and without the
recorder take turns in random order, and each pair gives one ratio. The processor time of all threads is counted, the
recorder's own too, so other users of the machine hardly matter. A block with it begins anew, and what a run's first
seconds cost weighs the more the shorter the block is: it samples often, and has to find out how long a step is.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch
import torch.distributed as dist
from bench_step_time import overhead
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

RECORDER = Path(__file__).resolve().parents[2] / "templates" / "jobs" / "steps.py"


def load() -> dict[str, Any]:
    """Return what the recorder defines."""
    names: dict[str, Any] = {"__name__": "recorder"}
    exec(compile(RECORDER.read_text(), "<frozen importlib hackathon>", "exec"), names)
    return names


class Program:
    """A training program that makes so many steps at a time."""

    def __init__(self, width: int, steps: int) -> None:
        data = TensorDataset(torch.randn(steps * 32, 256), torch.randint(10, (steps * 32,)))
        self.loader = DataLoader(data, batch_size=32)
        layers = [torch.nn.Linear(256, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU()]
        self.model = DistributedDataParallel(torch.nn.Sequential(*layers, torch.nn.Linear(width, 10)))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.001)

    def train(self) -> float:
        """Return the processor time of an epoch, s."""
        begin = time.process_time()
        for batch, labels in self.loader:
            loss = torch.nn.functional.cross_entropy(self.model(batch), labels)
            self.optimizer.zero_grad()
            torch.autograd.backward(loss)
            self.optimizer.step()
        return time.process_time() - begin


def recorded(names: dict[str, Any], program: Program, folder: str) -> float:
    """Return the processor time of an epoch with the recorder, s."""
    recorder = names["Recorder"](f"{folder}/rank-0.json")
    for name in names["ATTACHED"]:
        if name in sys.modules:
            names["attach"](recorder, name, sys.modules[name])
    try:
        return program.train()
    finally:
        assert recorder.blocks
        recorder.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=41, help="interleaved pairs (at least 11)")
    parser.add_argument("--milliseconds", type=float, default=10.0, help="processor time of a bare step, about")
    parser.add_argument("--seconds", type=float, default=1.5, help="processor time of a block, about")
    options = parser.parse_args()
    if options.pairs < 11:
        parser.error("at least 11 pairs")
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    names, order = load(), random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=0, world_size=1)
        width, program = 64, Program(64, 20)
        while program.train() / 20 < options.milliseconds / 1000:
            width = int(width * 1.25)
            program = Program(width, 20)
        steps = max(20, int(1000 * options.seconds / options.milliseconds))
        program = Program(width, steps)
        program.train()
        ratios, bare = [], []
        for _ in range(options.pairs):
            times = [0.0, 0.0]
            for which in order.sample([0, 1], 2):
                times[which] = recorded(names, program, folder) if which else program.train()
            ratios.append(times[1] / times[0])
            bare.append(times[0] / steps)
        dist.destroy_process_group()
    print(overhead(bare, ratios, steps))


if __name__ == "__main__":
    main()
