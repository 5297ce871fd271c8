"""Data-parallel training with PyTorch and Horovod: each process has the network and a share of the data.

    python train.py                                       alone
    horovodrun -np 2 python train.py                      two processes (also: mpirun -np 2 python train.py)

Read main() first: it is the whole story. GPUs are used where there are some.
"""

import argparse
import math
import sys

import horovod.torch as hvd
import torch
from checkpoint import load, save
from communication import apart, check_gradients, connect, distributed, from_rank_zero, leave, over_ranks
from data import Digits, Synthetic
from hackathon_runtime import Meter, Stopper, identity
from learning_rate import set_learning_rate
from resnet import resnet
from torch import nn


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=["digits", "synthetic"], default="digits", help="what to train on")
    parser.add_argument("--model", choices=["auto", "cnn", "resnet18", "resnet50"], default="auto", help="the network")
    parser.add_argument("--batch-size", type=int, default=64, help="samples per process and step")
    parser.add_argument("--epochs", type=int, default=20, help="how often all data are seen")
    parser.add_argument(
        "--lr", type=float, default=0.05, help="learning rate for the batches of all processes together"
    )
    parser.add_argument(
        "--warmup-epochs", type=float, default=2, help="epochs in which the learning rate rises to --lr"
    )
    parser.add_argument(
        "--compression", choices=["none", "fp16"], default="none", help="how gradients travel between the processes"
    )
    parser.add_argument(
        "--reduction", choices=["average", "adasum"], default="average", help="how gradients are combined"
    )
    parser.add_argument("--image-size", type=int, default=224, help="synthetic images: pixels on a side")
    parser.add_argument("--steps-per-epoch", type=int, default=50, help="synthetic images: steps per epoch")
    parser.add_argument("--seed", type=int, default=1, help="of weights, order and dropout")
    parser.add_argument(
        "--checkpoint-every", type=int, default=5, help="epochs between checkpoints; 0: only when stopped"
    )
    parser.add_argument("--resume", default="auto", help="auto (what was not finished), no, or a checkpoint's path")
    args = parser.parse_args()
    if args.model == "auto":
        args.model = "cnn" if args.data == "digits" else "resnet18"
    if args.model == "cnn" and args.data == "synthetic":
        parser.error("the cnn is made for the digits: take --model resnet18 or resnet50 for synthetic images")
    return args


def main() -> None:
    args, me = options(), identity()
    device = connect(me, args.reduction)
    if args.data == "digits":
        data = Digits(args.batch_size, args.seed, me.rank, me.world_size, device)
    else:
        data = Synthetic(args.batch_size, args.image_size, args.steps_per_epoch, args.seed, me.rank, device)

    torch.manual_seed(args.seed)
    net = small_cnn() if args.model == "cnn" else resnet(args.model, data.channels, data.classes)
    net.to(device)
    loss_of = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    optimizer = distributed(optimizer, net, args.compression, args.reduction)
    torch.manual_seed(args.seed + 1 + me.rank)  # from here on each rank has its own dropout
    first_epoch, first_batch = load(net, optimizer, args.resume, args.epochs, args.batch_size, me)  # all get rank 0's

    meter = Meter(every_steps=25, show=True)
    numbers = {"rank_sum": int(over_ranks(me.rank + 1))}
    adasum = args.reduction == "adasum" and me.world_size > 1
    wrong = numbers["rank_sum"] != me.world_size * (me.world_size + 1) // 2
    if not adasum:  # half precision keeps 11 bits of each rank's gradient, and of their sum
        difference, largest = check_gradients(optimizer, net, loss_of, next(data.epoch(0)))
        numbers["gradient_check"] = difference
        wrong |= not difference <= (5e-3 if args.compression == "fp16" else 1e-3) * largest
    if over_ranks(wrong):  # found by one, all end: nobody waits for a process that is gone
        meter.final(**numbers)
        over_ranks(0)  # the launcher ends the others when one fails: all have written by now
        sys.exit("gradient check failed: the processes do not train one network together")

    should_stop = Stopper(from_rank_zero)
    stopped = False
    for epoch in range(first_epoch, args.epochs):
        net.train()
        batches = data.epoch(epoch, first_batch)
        for batch in range(first_batch, data.steps):
            with meter.phase("data"):
                images, labels = next(batches)
            meter.saw(images, labels)
            with meter.phase("compute"):
                set_learning_rate(optimizer, args, me.world_size, epoch * data.steps + batch, data.steps)
                optimizer.zero_grad()
                loss = loss_of(net(images), labels)
                loss.backward()  # meanwhile Horovod combines the gradients that are there
            with meter.phase("communication"):  # what is left to wait for
                optimizer.step() if adasum else optimizer.synchronize()
            with meter.phase("compute"):
                if not adasum:
                    with optimizer.skip_synchronize():
                        optimizer.step()
            passed = epoch * data.steps + batch + 1  # steps of the whole training, also after a resumption
            meter.step(samples=args.batch_size * me.world_size, step=passed, epoch=epoch, loss=loss.detach())
            if stopped := should_stop():
                break
        with meter.phase("pause"):
            if stopped:  # the walltime is nearly over: the next job goes on with the next batch
                save(net, optimizer, args.batch_size, me, epoch, batch + 1)
                break
            first_batch = 0
            if args.checkpoint_every and ((epoch + 1) % args.checkpoint_every == 0 or epoch + 1 == args.epochs):
                save(net, optimizer, args.batch_size, me, epoch + 1, 0)
    with meter.phase("pause"):
        numbers |= {"epochs": epoch if stopped else args.epochs, "stopped": stopped, "weights_apart": apart(net)}
        if data.test and not stopped:
            numbers["accuracy"] = evaluate(net, data)
    meter.final(**numbers)
    over_ranks(0)  # the launcher ends the others when one fails: all have written by now
    if not math.isfinite(numbers["weights_apart"]):
        sys.exit("the weights are not finite, the loss diverged: take a smaller --lr or more --warmup-epochs")
    if not numbers["weights_apart"] <= 1e-4:
        sys.exit("the processes ended with different weights: they did not train one network together")


def small_cnn() -> nn.Sequential:
    """Return a network for 8 × 8 grey images and 10 classes."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.25), nn.Linear(256, 10),
    )  # fmt: skip


@torch.no_grad()
def evaluate(net: nn.Module, data: Digits) -> float:
    """Return the accuracy on the test digits; every rank looks at its share."""
    for name, buffer in net.named_buffers():  # batch normalisation keeps its statistics per rank while training
        if buffer.is_floating_point():
            hvd.allreduce_(buffer, op=hvd.Average, name=f"buffer {name}")
    net.eval()
    images, labels = data.test
    return over_ranks((net(images).argmax(dim=1) == labels).sum().item()) / data.test_size


if __name__ == "__main__":
    main()
    leave()
