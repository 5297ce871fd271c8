"""Training programs of many shapes, each run by two ranks with the recorder: one process forks all of them.

    python recorded_programs.py OUT SHAPE...

Writes `OUT/SHAPE/steps/rank-N.json` as a run has it.
"""

import atexit
import os
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset
from torch.utils.data.distributed import DistributedSampler

RANKS, STEPS = 2, 40
RECORDER = Path(__file__).resolve().parents[2] / "templates" / "jobs" / "steps.py"

Step = Callable[[torch.nn.Module, torch.optim.Optimizer, torch.Tensor, torch.Tensor], None]


def data(samples: int) -> TensorDataset:
    return TensorDataset(torch.randn(samples, 8), torch.randint(0, 4, (samples,)))


def train(
    model: torch.nn.Module, batches: "DataLoader[tuple[torch.Tensor, torch.Tensor]]", seconds: float = 0.0
) -> None:
    """Train for an epoch; `seconds`: of other work in each step, for of short steps the recorder leaves most out."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in batches:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        time.sleep(seconds)
        optimizer.step()


def alone(rank: int) -> None:
    """One-GPU program, started twice."""
    train(torch.nn.Linear(8, 4), DataLoader(data(STEPS * 8), batch_size=8, shuffle=True))


def world_of_one(rank: int) -> None:
    """Each process makes a group of its own."""
    dist.init_process_group("gloo", rank=0, world_size=1, init_method=f"file://{os.environ['MEETING']}-{rank}")
    train(DistributedDataParallel(torch.nn.Linear(8, 4)), DataLoader(data(STEPS * 8), batch_size=8))


def unwrapped(rank: int) -> None:
    """The processes meet, but the model is not wrapped."""
    meet(rank)
    train(torch.nn.Linear(8, 4), DataLoader(data(STEPS * 8), batch_size=8))


def evaluated(rank: int) -> None:
    """As `unwrapped`, but the evaluation after each epoch adds up the losses of all ranks."""
    meet(rank)
    model = torch.nn.Linear(8, 4)
    for _ in range(6):
        train(model, DataLoader(data(STEPS * 8), batch_size=8), 0.02)
        for x, y in DataLoader(data(24), batch_size=8):
            dist.all_reduce(torch.nn.functional.cross_entropy(model(x), y).detach())


def evaluated_ddp(rank: int) -> None:
    """As `evaluated`, with DDP."""
    meet(rank)
    model = DistributedDataParallel(torch.nn.Linear(8, 4))
    for _ in range(2):
        train(model, DataLoader(data(STEPS * 8), batch_size=8))
        for x, y in DataLoader(data(24), batch_size=8):
            dist.all_reduce(torch.nn.functional.cross_entropy(model(x), y).detach())


def ddp(rank: int) -> None:
    meet(rank)
    part = data(STEPS * 8 * RANKS)
    train(
        DistributedDataParallel(torch.nn.Linear(8, 4)), DataLoader(part, batch_size=8, sampler=DistributedSampler(part))
    )


def workers(rank: int) -> None:
    """As `ddp`, and processes of their own load the batches; the last batch is smaller."""
    meet(rank)
    part = data(STEPS * 8 * RANKS - 6)
    loader = DataLoader(part, batch_size=8, sampler=DistributedSampler(part), num_workers=2)
    train(DistributedDataParallel(torch.nn.Linear(8, 4)), loader)


class Stream(IterableDataset[tuple[torch.Tensor, torch.Tensor]]):
    def __iter__(self):  # type: ignore[no-untyped-def]
        return ((torch.randn(8), torch.tensor(1)) for _ in range(STEPS * 8))


def stream(rank: int) -> None:
    meet(rank)
    train(DistributedDataParallel(torch.nn.Linear(8, 4)), DataLoader(Stream(), batch_size=8))


class Sentences(Dataset[dict[str, torch.Tensor]]):
    def __len__(self) -> int:
        return STEPS * 4

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"labels": torch.tensor(1), "input_ids": torch.arange(16)}


def tokens(rank: int) -> None:
    """A language model: batches are mappings with `input_ids`."""
    meet(rank)
    model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Embedding(16, 4), torch.nn.Flatten()))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in DataLoader(Sentences(), batch_size=4):
        optimizer.zero_grad()
        model(batch["input_ids"]).sum().backward()
        optimizer.step()


def time_first(rank: int) -> None:
    """A recurrent network: the first dimension of a batch is the time."""
    meet(rank)

    def collate(samples: list[tuple[torch.Tensor, torch.Tensor]]) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.randn(50, len(samples), 8), torch.zeros(len(samples), dtype=torch.long)

    class Last(torch.nn.Linear):
        def forward(self, batch: torch.Tensor) -> torch.Tensor:
            return super().forward(batch[-1])

    train(DistributedDataParallel(Last(8, 4)), DataLoader(data(STEPS * 8), batch_size=8, collate_fn=collate))


def accumulated(rank: int) -> None:
    """No DataLoader: random batches, four at a step, two of them by each rank."""
    meet(rank)
    model = DistributedDataParallel(torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    parts = 4 // RANKS
    for _ in range(STEPS):
        for part in range(parts):
            with model.no_sync() if part < parts - 1 else nullcontext():
                model(torch.randn(6, 8)).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def local_sgd(rank: int) -> None:
    """Weights are averaged every tenth step, without a wrapper."""
    meet(rank)
    model = torch.nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for number, (x, y) in enumerate(DataLoader(data(STEPS * 8), batch_size=8), 1):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        if number % 10 == 0:
            for parameter in model.parameters():
                dist.all_reduce(parameter.data)


def gan(rank: int) -> None:
    """Two models, two optimizers, one batch for both."""
    meet(rank)
    first, second = (DistributedDataParallel(torch.nn.Linear(8, 4)) for _ in range(2))
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in (first, second)]
    for x, y in DataLoader(data(STEPS * 8), batch_size=8):
        for model, optimizer in zip((first, second), optimizers, strict=True):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()


def fsdp(rank: int) -> None:
    from torch.distributed.fsdp import fully_shard

    meet(rank)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 4))
    fully_shard(model)
    train(model, DataLoader(data(STEPS * 8), batch_size=8))


def other_package(rank: int) -> None:
    """Without a group, but with a package by which gradients may travel."""
    sys.modules["mpi4py"] = type(sys)("mpi4py")
    alone(rank)


SHAPES = {
    shape.__name__: shape
    for shape in (
        alone, world_of_one, unwrapped, evaluated, evaluated_ddp, ddp, workers, stream, tokens, time_first, accumulated,
        local_sgd, gan, fsdp, other_package,
    )
}  # fmt: skip


def meet(rank: int) -> None:
    dist.init_process_group("gloo", rank=rank, world_size=RANKS, init_method=f"file://{os.environ['MEETING']}")


def become(shape: str, rank: int, folder: Path) -> None:
    """Be a rank: with the recorder, to the end as an interpreter comes to it."""
    atexit._clear()
    torch.manual_seed(rank)
    os.environ["HK_STEPS"] = str(folder / "steps" / f"rank-{rank}.json")
    os.environ["MEETING"] = str(folder / "meeting")
    exec(compile(RECORDER.read_text(), "<frozen importlib hackathon>", "exec"), {"__name__": "hackathon_steps"})
    SHAPES[shape](rank)
    atexit._run_exitfuncs()


def main(out: Path, shapes: list[str]) -> int:
    """Return how many ranks failed."""
    failed = 0
    for shape in shapes:
        (out / shape / "steps").mkdir(parents=True)
        children = []
        for rank in range(RANKS):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    become(shape, rank, out / shape)
                    code = 0
                except BaseException:
                    traceback.print_exc()
                finally:
                    sys.stderr.flush()
                    os._exit(code)
            children.append(child)
        failed += sum(os.waitpid(child, 0)[1] != 0 for child in children)
    return failed


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
