"""A ResNet, cut into stages that compute one after another on several processes (AutoParallel), learns digits.

    python train.py                                         alone
    torchrun --nproc-per-node 4 train.py --batch-size 16    four stages (also: mpirun -np 4 python train.py)
    torchrun --nproc-per-node 4 train.py --batch-size 16 --replicas 1,3     two stages, with one and three replicas

model.py is written for one GPU. Where it is cut, a plan says: --plan FILE, or it is made here. Read main() first.
"""

import argparse
import sys

import pipeline
import torch
from data import Digits, Synthetic
from hackathon_runtime import Meter, Stopper, identity
from model import network
from torch import nn


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", choices=["digits", "synthetic"], default="digits", help="what to train on")
    add("--model", choices=["auto", "small", "resnet18", "resnet50"], default="auto", help="the network")
    add("--batch-size", type=int, default=64, help="samples of a step per process")
    pipeline.add_options(parser)
    add("--epochs", type=int, default=10, help="how often all data are seen")
    add("--lr", type=float, default=0.05, help="highest learning rate")
    add("--image-size", type=int, default=224, help="synthetic images: pixels on a side")
    add("--steps-per-epoch", type=int, default=50, help="synthetic images: steps per epoch")
    add("--seed", type=int, default=1, help="of weights and order")
    add("--checkpoint-every", type=int, default=5, help="epochs between checkpoints; 0: only when stopped")
    add("--resume", default="auto", help="auto (what was not finished), no, or a checkpoint's path")
    args = parser.parse_args()
    if args.model == "auto":
        args.model = "small" if args.data == "digits" else "resnet18"
    return args


def main() -> None:
    args, me = options(), identity()
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    samples = args.batch_size * me.world_size
    if samples % args.micro_batches:
        print(f"train.py: {samples} samples cannot be cut into {args.micro_batches} micro-batches", file=sys.stderr)
        sys.exit(2)
    device = pipeline.connect(me, gpus)
    here = torch.device("cpu")
    if args.data == "digits":  # every process reads the same batch: rank 0 of 1
        data = Digits(samples, args.seed, 0, 1, here)
    else:
        data = Synthetic(samples, args.image_size, args.steps_per_epoch, args.seed, 0, here)
    torch.manual_seed(args.seed)
    net, loss = network(args.model, data.channels, data.classes), nn.CrossEntropyLoss()
    example = next(iter(data.epoch(0)))
    plan = pipeline.plan_of(args, me, net, loss, example, device)
    pipeline.told(plan, me)

    with pipeline.ending_all(me):
        model = pipeline.AutoParallel(
            net, loss=loss, optimizer=lambda parameters: make_optimizer(parameters, args, data.steps),
            example=example, plan=plan, schedule=args.schedule,
            precision=None if args.precision == "fp32" else args.precision, seed=args.seed, device=device,
        )  # fmt: skip
        train(model, data, args, me, device, plan)


def make_optimizer(parameters, args: argparse.Namespace, steps: int):
    """Return SGD and its learning rate: it rises for two epochs, then falls along half a cosine."""
    optimizer = torch.optim.SGD(parameters, args.lr, momentum=0.9, weight_decay=5e-4)
    rise = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=2 * steps)
    fall = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(1, (args.epochs - 2) * steps))
    return optimizer, torch.optim.lr_scheduler.SequentialLR(optimizer, [rise, fall], [2 * steps])


def train(model: pipeline.AutoParallel, data, args: argparse.Namespace, me, device: torch.device, plan: dict) -> None:
    """Train, test, and tell the numbers."""
    meter = Meter(unit="samples", show=True)
    steps = args.epochs * data.steps
    done = pipeline.load(model, args.resume, steps, me)
    should_stop = Stopper(lambda number: pipeline.from_rank_zero(number, device))
    samples = args.batch_size * me.world_size
    stopped, loss = False, None
    while done < steps and not stopped:
        epoch, first = divmod(done, data.steps)
        for batch in data.epoch(epoch, first):
            with meter.phase("compute"):
                loss = model.step(batch)
            done += 1
            meter.step(samples=samples, epoch=epoch, loss=loss)
            stopped = should_stop()
            if stopped:
                break
        finished = epoch + 1
        if stopped or (args.checkpoint_every and (finished % args.checkpoint_every == 0 or finished == args.epochs)):
            with meter.phase("pause"):  # stopped: the walltime is nearly over, and the next job goes on from here
                meter.flush()
                pipeline.save(model, me)
    numbers = {**pipeline.facts(model, plan, me, device), "stopped": stopped, "loss": loss}
    with meter.phase("pause"):
        if data.test is not None and not stopped:
            numbers["accuracy"] = evaluate(model, data.test)
    rate = meter.final(**numbers).get("samples_per_s")
    if seconds := pipeline.compared(plan, rate and samples / rate):
        meter.final(**numbers, **seconds)


def evaluate(model: pipeline.AutoParallel, test) -> float:
    """Return the accuracy on the test digits."""
    images, labels = test
    model.eval()
    right = (model(images).argmax(dim=1).cpu() == labels).float().mean().item()
    model.train()
    return right


if __name__ == "__main__":
    main()
    pipeline.leave()
