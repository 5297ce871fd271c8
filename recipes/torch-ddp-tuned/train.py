"""Data-parallel training with PyTorch's DistributedDataParallel, with all that makes it faster as options.

    python train.py                                       alone
    torchrun --nproc-per-node 2 train.py --amp bf16       two processes (also: mpirun -np 2 python train.py)

Read main() first: it is the whole story. GPUs are used where there are some. recipe.yaml says when an option pays.
"""

import argparse
import math
import sys

import torch
import torch.distributed as dist
from checkpoint import load, save
from communication import ExposedCommunication, check_gradients, leave
from compression import tolerance
from data import Samples, Synthetic, digits, folder
from hackathon_runtime import Meter, Stopper, identity
from lars import Lars
from learning_rate import set_learning_rate
from noise_scale import NoiseScale
from options import options
from parallel import spread, wrap
from processes import connect, from_rank_zero, over_ranks
from resnet import resnet
from step import Step
from torch import nn


def main() -> None:
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    args, me = options(__doc__, gpus), identity()
    device = connect(me, args.deterministic)
    torch.backends.cudnn.benchmark = not args.deterministic  # try the ways to convolve, for all batches are alike
    data = {"digits": digits, "folder": folder, "synthetic": Synthetic}[args.data](args, me, device)

    torch.manual_seed(args.seed)  # the same weights everywhere
    net = small_cnn() if args.model == "cnn" else resnet(args.model, data.channels, data.classes)
    if args.sync_batchnorm and me.world_size > 1:
        net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    net.to(device, memory_format=torch.channels_last if args.channels_last else torch.preserve_format)
    # One process needs no wrapper: it is what speed-up is compared with and pays nothing for communication.
    model, sent = wrap(net, args) if me.world_size > 1 else (net, None)
    samples = args.batch_size * args.accumulate  # of a process in a step
    noise = NoiseScale(model, samples) if args.noise_scale and me.world_size > 1 else None
    loss_of = nn.CrossEntropyLoss()
    step = Step(make_optimizer(net, args), loss_of, device.type, args.amp, args.accumulate)

    meter = Meter(every_steps=25, show=True)
    rank_sum = int(over_ranks(me.rank + 1, device))
    with step.precision(cache_enabled=False):  # two backwards, each with its own copies of the weights
        difference, largest = check_gradients(model, net, loss_of, step.micro.first(next(data.epoch(0))))
    wrong = not difference <= tolerance(args.hook, me.world_size, args.amp) * largest
    wrong |= rank_sum != me.world_size * (me.world_size + 1) // 2
    if over_ranks(wrong, device):  # found by one, all end: nobody waits for a process that is gone
        meter.final(gradient_check=difference, rank_sum=rank_sum)
        over_ranks(0, device)  # the launcher ends the others when one fails: all have written by now
        sys.exit("gradient check failed: the processes do not train one network together")
    if args.compile:
        model = torch.compile(model)  # around DDP: it splits at the buckets, so that all-reduce and backward overlap

    torch.manual_seed(args.seed + 1 + me.rank)  # from here on each rank has its own dropout
    first_epoch, first_batch = load(net, step, args.resume, args.epochs, samples, me)
    exposed = ExposedCommunication(net, device)
    should_stop = Stopper(lambda number: from_rank_zero(number, device))
    stopped = False
    for epoch in range(first_epoch, args.epochs):
        net.train()
        batches = timed(data.epoch(epoch, first_batch), meter)
        for batch in range(first_batch, data.steps):
            with meter.phase("compute"):
                set_learning_rate(step.optimizer, args, me.world_size, epoch * data.steps + batch, data.steps)
                step.optimizer.zero_grad(set_to_none=True)
                loss = step.backward(model, batches)  # DDP averages the gradients over the processes meanwhile
                waited = exposed.seconds()
                if noise:
                    noise.step()
                step.update()
            meter.move(waited, "compute", "communication")
            passed = epoch * data.steps + batch + 1  # steps of the whole training, also after a resumption
            meter.step(samples=samples * me.world_size, step=passed, epoch=epoch, loss=loss)
            if stopped := should_stop():
                break
        with meter.phase("pause"):
            meter.flush()  # what lies before a checkpoint is on disk, even if the walltime kills this
            if stopped:  # the walltime is nearly over: the next job goes on with the next batch
                save(net, step, samples, me, epoch, batch + 1)
                break
            first_batch = 0
            if args.checkpoint_every and ((epoch + 1) % args.checkpoint_every == 0 or epoch + 1 == args.epochs):
                save(net, step, samples, me, epoch + 1, 0)
    done = epoch if stopped else args.epochs
    numbers = {"gradient_check": difference, "rank_sum": rank_sum, "epochs": done, "stopped": stopped}
    numbers["gradient_bytes"] = sum(each.nbytes for each in net.parameters())
    numbers["sent_bytes"] = sent.bytes if sent else 0.0  # by this process in a step
    with meter.phase("pause"):
        numbers["weight_spread"] = spread(net)
        if data.test_size and not stopped:
            numbers["accuracy"] = evaluate(net, step, data, device)
        if noise and (found := noise.estimate()):
            numbers.update(found.numbers())
    meter.final(**numbers)
    over_ranks(0, device)  # the launcher ends the others when one fails: all have written by now
    if not math.isfinite(numbers["weight_spread"]):
        sys.exit("the weights are not finite, the loss diverged: take a smaller --lr or more --warmup-epochs")
    if not numbers["weight_spread"] <= 1e-4:
        sys.exit("the processes ended with different weights: they did not train one network together")


def small_cnn() -> nn.Sequential:
    """Return a network for 8 × 8 grey images and 10 classes."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.25), nn.Linear(256, 10),
    )  # fmt: skip


def make_optimizer(net: nn.Module, args: argparse.Namespace) -> torch.optim.Optimizer:
    """Return the optimizer that the options name."""
    if args.optimizer == "lars":
        return Lars(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4, trust=args.lars_trust)
    return torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4, fused=args.fused or None)


def timed(batches, meter: Meter):
    """Yield the batches; waiting for one counts as `data`."""
    while True:
        with meter.phase("data"):
            batch = next(batches, None)
        if batch is None:
            return
        meter.saw(*batch)
        yield batch


@torch.no_grad()
def evaluate(net: nn.Module, step: Step, data: Samples, device: torch.device) -> float:
    """Return the accuracy on the samples to test with; every rank looks at its share."""
    for buffer in net.buffers():
        if dist.is_initialized() and buffer.is_floating_point():
            dist.all_reduce(buffer)
            buffer /= dist.get_world_size()
    net.eval()
    right = torch.zeros((), device=device)
    with step.precision():
        for images, labels in data.test():
            right += (net(images).argmax(dim=1) == labels).sum()
    return over_ranks(right.item(), device) / data.test_size


if __name__ == "__main__":
    main()
    leave()
