"""Training programs of many shapes, each run by two ranks with the recorder: one process forks all of them.

    python recorded_programs.py OUT with|without SHAPE...

Writes `OUT/SHAPE/steps/rank-N.json` as a run has it, and `OUT/SHAPE/losses-N.txt`: the losses of programs that `train`.
"""

import atexit
import os
import shutil
import sys
import time
import traceback
from contextlib import nullcontext
from itertools import islice
from pathlib import Path

import torch
import torch._dynamo  # these are imported once, not by each rank
import torch.distributed as dist
import torch.distributed.fsdp
import torch.distributed.tensor.parallel
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset
from torch.utils.data.distributed import DistributedSampler

RANKS, STEPS = 2, 40
RECORDER = Path(__file__).resolve().parents[2] / "templates" / "jobs" / "steps.py"

LOSSES: list[str] = []


def data(samples: int) -> TensorDataset:
    return TensorDataset(torch.randn(samples, 8), torch.randint(0, 4, (samples,)))


def train(
    model: torch.nn.Module, batches: "DataLoader[tuple[torch.Tensor, torch.Tensor]]", seconds: float = 0.0
) -> None:
    """Train for an epoch; `seconds`: of other work in each step, for of short steps the recorder leaves most out."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in batches:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        time.sleep(seconds)
        optimizer.step()
        LOSSES.append(loss.item().hex())


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


def evaluation_exchanges(rank: int) -> None:
    """As `unwrapped`, but the evaluation after each epoch adds up the losses of all ranks."""
    meet(rank)
    model = torch.nn.Linear(8, 4)
    for _ in range(6):
        train(model, DataLoader(data(STEPS * 8), batch_size=8), 0.02)
        for x, y in DataLoader(data(24), batch_size=8):
            dist.all_reduce(torch.nn.functional.cross_entropy(model(x), y).detach())


def evaluation_exchanges_ddp(rank: int) -> None:
    """As `evaluation_exchanges`, with DDP."""
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


def wgan(rank: int) -> None:
    """Five steps of one optimizer for each step of the other: a round reads six batches."""
    meet(rank)
    critic, generator = (DistributedDataParallel(torch.nn.Linear(8, 4)) for _ in range(2))
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in (critic, generator)]
    for number, (x, y) in enumerate(DataLoader(data(6 * STEPS * 8), batch_size=8)):
        model, optimizer = (critic, optimizers[0]) if number % 6 < 5 else (generator, optimizers[1])
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def micro_steps(rank: int) -> None:
    """Four batches of a DataLoader for each step of the optimizer."""
    meet(rank)
    model = DistributedDataParallel(torch.nn.Linear(8, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for number, (x, y) in enumerate(DataLoader(data(4 * STEPS * 8), batch_size=8), 1):
        with model.no_sync() if number % 4 else nullcontext():
            torch.nn.functional.cross_entropy(model(x), y).backward()
        if number % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()


def evaluated(rank: int) -> None:
    """After every second step a few large batches of another DataLoader are evaluated, not to its end."""
    meet(rank)
    model = DistributedDataParallel(torch.nn.Linear(8, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    test = DataLoader(data(640), batch_size=64)
    for number, (x, y) in enumerate(DataLoader(data(STEPS * 8), batch_size=8)):
        model.train()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        if number % 2:
            model.eval()
            with torch.inference_mode():
                for batch, _ in islice(test, 3):
                    model.module(batch)


def scaled(rank: int) -> None:
    """A GradScaler leaves out every fifth step: a gradient overflows."""
    meet(rank)
    model = DistributedDataParallel(torch.nn.Linear(8, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    for number, (x, y) in enumerate(DataLoader(data(STEPS * 8), batch_size=8)):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y) * (float("inf") if number % 5 == 4 else 1.0)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def compiled(rank: int) -> None:
    """The model is compiled, for the graph alone where there is no compiler."""
    meet(rank)
    backend = "inductor" if shutil.which("g++") else "aot_eager"
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
    train(torch.compile(DistributedDataParallel(model), backend=backend), DataLoader(data(STEPS * 8), batch_size=8))


def profiled(rank: int) -> None:
    """The program has torch's profiler of its own."""
    meet(rank)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        train(DistributedDataParallel(torch.nn.Linear(8, 4)), DataLoader(data(STEPS * 8), batch_size=8))


def same(samples: int = STEPS * 8) -> TensorDataset:
    """The same data on all ranks."""
    generator = torch.Generator().manual_seed(7)
    return TensorDataset(
        torch.randn(samples, 8, generator=generator), torch.randint(0, 4, (samples,), generator=generator)
    )


def equal_data(rank: int) -> None:
    """No sampler: all ranks read the same batches."""
    meet(rank)
    train(DistributedDataParallel(torch.nn.Linear(8, 4)), DataLoader(same(), batch_size=8))


def equal_data_fsdp(rank: int) -> None:
    from torch.distributed.fsdp import fully_shard

    meet(rank)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 4))
    fully_shard(model)
    train(model, DataLoader(same(), batch_size=8, num_workers=1))


def whole_data(rank: int) -> None:
    """Each rank reads all samples, in an order of its own."""
    meet(rank)
    loader = DataLoader(same(STEPS * 4), batch_size=8, shuffle=True, generator=torch.Generator().manual_seed(rank))
    model = DistributedDataParallel(torch.nn.Linear(8, 4))
    for _ in range(2):
        train(model, loader)


def own_subset(rank: int) -> None:
    """Each rank reads its part of the data set, without a sampler."""
    meet(rank)
    train(
        DistributedDataParallel(torch.nn.Linear(8, 4)),
        DataLoader(Subset(same(STEPS * 16), range(rank, STEPS * 16, RANKS)), batch_size=8),
    )


class Shard(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """A part of the data that only reading shows to be one."""

    def __len__(self) -> int:
        return STEPS * 8

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.full((8,), index / 100), torch.tensor((index * 7 + 3 * dist.get_rank()) % 4)


def hidden_shard(rank: int) -> None:
    meet(rank)
    train(DistributedDataParallel(torch.nn.Linear(8, 4)), DataLoader(Shard(), batch_size=8))


def slices(rank: int) -> None:
    """All ranks read the same batches, and each one trains with its part."""
    meet(rank)
    model = DistributedDataParallel(torch.nn.Linear(8, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(same(), batch_size=8):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x[rank::RANKS]), y[rank::RANKS]).backward()
        optimizer.step()


class FakeImages(TensorDataset):
    """A stand-in for data."""


def synthetic(rank: int) -> None:
    meet(rank)
    train(DistributedDataParallel(torch.nn.Linear(8, 4)), DataLoader(FakeImages(*same().tensors), batch_size=8))


def constant(rank: int) -> None:
    """All samples are equal."""
    meet(rank)
    part = TensorDataset(torch.zeros(STEPS * 8, 8), torch.zeros(STEPS * 8, dtype=torch.long))
    train(DistributedDataParallel(torch.nn.Linear(8, 4)), DataLoader(part, batch_size=8))


def tensor_parallel(rank: int) -> None:
    """The ranks divide a layer, so they read the same data."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    meet(rank)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 4))
    mesh = init_device_mesh("cpu", (RANKS,), mesh_dim_names=("tp",))
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "1": RowwiseParallel()})
    train(model, DataLoader(same(), batch_size=8))


SHAPES = {
    shape.__name__: shape
    for shape in (
        alone, world_of_one, unwrapped, evaluation_exchanges, evaluation_exchanges_ddp, ddp, workers, stream, tokens,
        time_first, accumulated, local_sgd, gan, fsdp, other_package, wgan, micro_steps, evaluated, scaled, compiled,
        profiled, equal_data, equal_data_fsdp, whole_data, own_subset, hidden_shard, slices, synthetic, constant,
        tensor_parallel,
    )
}  # fmt: skip


def meet(rank: int) -> None:
    dist.init_process_group("gloo", rank=rank, world_size=RANKS, init_method=f"file://{os.environ['MEETING']}")


def become(shape: str, rank: int, folder: Path, recorder: bool) -> None:
    """Be a rank, to the end as an interpreter comes to it."""
    atexit._clear()
    torch.manual_seed(rank)
    os.environ["HK_STEPS"] = str(folder / "steps" / f"rank-{rank}.json")
    os.environ["MEETING"] = str(folder / "meeting")
    if recorder:
        exec(compile(RECORDER.read_text(), "<frozen importlib hackathon>", "exec"), {"__name__": "hackathon_steps"})
    SHAPES[shape](rank)
    (folder / f"losses-{rank}.txt").write_text("\n".join(LOSSES))
    atexit._run_exitfuncs()


def main(out: Path, recorder: bool, shapes: list[str]) -> int:
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
                    become(shape, rank, out / shape, recorder)
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
    sys.exit(main(Path(sys.argv[1]), sys.argv[2] == "with", sys.argv[3:]))
