"""A training of one linear layer whose steps are as long as its options say, and which notes its own times.

Each step: a batch from a DataLoader that sleeps, Python that sleeps (on rank 1 longer), a product of matrices, and one
all-reduce. All ranks are on one machine, so that their clocks compare.
"""

import argparse
import json
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

BATCH = 8


class Slow(Dataset):
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __len__(self) -> int:
        return 10_000

    def __getitem__(self, number: int) -> torch.Tensor:
        if number % BATCH == 0:
            time.sleep(self.seconds)
        return torch.full((16,), 0.5)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--loader", type=float, default=0.0)
    parser.add_argument("--host", type=float, default=0.0)
    parser.add_argument("--late", type=float, default=0.0)
    parser.add_argument("--size", type=int, default=300)
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    torch.set_num_threads(1)
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", init_method="env://", rank=rank, world_size=world)
    layer = torch.nn.Linear(16, 4, bias=False)  # one gradient: one all-reduce
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
    matrix = torch.rand(args.size, args.size)
    batches = iter(DataLoader(Slow(args.loader), batch_size=BATCH))
    notes = Path(os.environ["HK_RUN"], f"notes-{rank}.jsonl")
    for _ in range(args.steps):
        begin = time.perf_counter()
        batch = next(batches)
        loaded = time.perf_counter()
        time.sleep(args.host + (args.late if rank == 1 else 0.0))
        slept, busy = time.perf_counter(), time.thread_time()
        for _ in range(4):
            torch.mm(matrix, matrix)
        layer(batch).sum().backward()
        entered, busy = time.perf_counter(), time.thread_time() - busy
        dist.all_reduce(layer.weight.grad)
        left = time.perf_counter()
        optimizer.step()
        optimizer.zero_grad()
        with notes.open("a") as stream:
            print(json.dumps([begin, loaded, slept, entered, left, time.perf_counter(), busy]), file=stream)
    print("samples/s: 1", flush=True)


main()
