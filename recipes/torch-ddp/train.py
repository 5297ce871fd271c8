"""Data-parallel training with PyTorch's DistributedDataParallel: each process has the network and a share of the data.

    python train.py                                       alone
    torchrun --nproc-per-node 2 train.py                  two processes (also: mpirun -np 2 python train.py)

Read main() first: it is the whole story. GPUs are used where there are some.
"""

import argparse
import hashlib
import sys
import warnings

import torch
import torch.distributed as dist
from checkpoint import load, save
from communication import ExposedCommunication, check_gradients, leave
from compression import compress, tolerance
from data import Digits, Synthetic
from hackathon_runtime import Meter, Stopper, identity
from learning_rate import set_learning_rate
from micro_batches import MicroBatches
from noise_scale import NoiseScale
from processes import connect, from_rank_zero, over_ranks
from resnet import resnet
from torch import nn
from torch.nn.parallel import DistributedDataParallel


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
        "--hook", choices=["none", "fp16", "bf16", "powersgd", "int8", "topk", "onebit"], default="none",
        help="how gradients travel between the processes",
    )  # fmt: skip
    parser.add_argument("--noise-scale", action="store_true", help="measure how large a batch still pays")
    parser.add_argument("--image-size", type=int, default=224, help="synthetic images: pixels on a side")
    parser.add_argument("--steps-per-epoch", type=int, default=50, help="synthetic images: steps per epoch")
    parser.add_argument("--seed", type=int, default=1, help="of weights, order and dropout")
    parser.add_argument("--deterministic", action="store_true", help="GPU: the same numbers every time, more slowly")
    parser.add_argument(
        "--checkpoint-every", type=int, default=5, help="epochs between checkpoints; 0: only when stopped"
    )
    parser.add_argument("--resume", default="auto", help="auto (what was not finished), no, or a checkpoint's path")
    args = parser.parse_args()
    if args.model == "auto":
        args.model = "cnn" if args.data == "digits" else "resnet18"
    if args.model == "cnn" and args.data == "synthetic":
        parser.error("the cnn is made for the digits: take --model resnet18 or resnet50 for synthetic images")
    if args.noise_scale and args.hook != "none":
        parser.error("--noise-scale compares gradients that are sent as they are: leave --hook out")
    return args


def main() -> None:
    args, me = options(), identity()
    device = connect(me, args.deterministic)
    if args.data == "digits":
        data = Digits(args.batch_size, args.seed, me.rank, me.world_size, device)
    else:
        data = Synthetic(args.batch_size, args.image_size, args.steps_per_epoch, args.seed, me.rank, device)

    torch.manual_seed(args.seed)  # the same weights everywhere
    net = small_cnn() if args.model == "cnn" else resnet(args.model, data.channels, data.classes)
    net.to(device)
    # One process needs no wrapper: it is what speed-up is compared with and pays nothing for communication. Batch
    # normalisation keeps its statistics per rank while training, evaluate() averages them: else every step would wait.
    warnings.filterwarnings("ignore", "`broadcast_buffers`")  # deprecated, but its successor is too young to rely on
    model = DistributedDataParallel(net, broadcast_buffers=False) if me.world_size > 1 else net
    sent = compress(model, args.hook, seed=args.seed) if me.world_size > 1 else None
    noise = NoiseScale(model, args.batch_size) if args.noise_scale and me.world_size > 1 else None
    loss_of = nn.CrossEntropyLoss()
    micro = MicroBatches(loss_of)  # in parts where HACKATHON_MICRO_BATCHES says so, else at once
    optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)

    meter = Meter(every_steps=25, show=True)
    rank_sum = int(over_ranks(me.rank + 1, device))
    difference, largest = check_gradients(model, net, loss_of, micro.first(next(data.epoch(0))))
    wrong = not difference <= tolerance(args.hook, me.world_size) * largest
    wrong |= rank_sum != me.world_size * (me.world_size + 1) // 2
    if over_ranks(wrong, device):  # found by one, all end: nobody waits for a process that is gone
        meter.final(gradient_check=difference, rank_sum=rank_sum)
        over_ranks(0, device)  # the launcher ends the others when one fails: all have written by now
        sys.exit("gradient check failed: the processes do not train one network together")

    torch.manual_seed(args.seed + 1 + me.rank)  # from here on each rank has its own dropout
    first_epoch, first_batch = load(net, optimizer, args.resume, args.epochs, args.batch_size, me)
    exposed = ExposedCommunication(net, device)
    should_stop = Stopper(lambda number: from_rank_zero(number, device))
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
                optimizer.zero_grad(set_to_none=True)
                loss = micro.backward(model, images, labels)  # DDP averages the gradients over the processes meanwhile
                waited = exposed.seconds()
                if noise:
                    noise.step()
                optimizer.step()
            meter.move(waited, "compute", "communication")
            passed = epoch * data.steps + batch + 1  # steps of the whole training, also after a resumption
            meter.step(samples=args.batch_size * me.world_size, step=passed, epoch=epoch, loss=loss)
            if stopped := should_stop():
                break
        with meter.phase("pause"):
            meter.flush()  # what lies before a checkpoint is on disk, even if the walltime kills this
            if stopped:  # the walltime is nearly over: the next job goes on with the next batch
                save(net, optimizer, args.batch_size, me, epoch, batch + 1)
                break
            first_batch = 0
            if args.checkpoint_every and ((epoch + 1) % args.checkpoint_every == 0 or epoch + 1 == args.epochs):
                save(net, optimizer, args.batch_size, me, epoch + 1, 0)
    done = epoch if stopped else args.epochs
    numbers = {"gradient_check": difference, "rank_sum": rank_sum, "epochs": done, "stopped": stopped}
    numbers["gradient_bytes"] = sum(each.nbytes for each in net.parameters())
    numbers["sent_bytes"] = sent.bytes if sent else 0.0  # by this process in a step
    with meter.phase("pause"):
        numbers["weights"] = weight_digest(net)
        if data.test and not stopped:
            numbers["accuracy"] = evaluate(net, data, device)
        if noise and (found := noise.estimate()):
            numbers.update(found.numbers())
    meter.final(**numbers)


def small_cnn() -> nn.Sequential:
    """Return a network for 8 × 8 grey images and 10 classes."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.25), nn.Linear(256, 10),
    )  # fmt: skip


@torch.no_grad()
def weight_digest(net: nn.Module) -> str:
    """Return the SHA-256 over all parameters, bit by bit: on a CPU a repeated training ends with the same one."""
    total = hashlib.sha256()
    for name, each in net.named_parameters():
        total.update(f"{name} {each.dtype} {tuple(each.shape)}\n".encode())
        total.update(each.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return f"sha256:{total.hexdigest()}"


@torch.no_grad()
def evaluate(net: nn.Module, data: Digits, device: torch.device) -> float:
    """Return the accuracy on the test digits; every rank looks at its share."""
    for buffer in net.buffers():
        if dist.is_initialized() and buffer.is_floating_point():
            dist.all_reduce(buffer)
            buffer /= dist.get_world_size()
    net.eval()
    images, labels = data.test
    return over_ranks((net(images).argmax(dim=1) == labels).sum().item(), device) / data.test_size


if __name__ == "__main__":
    main()
    leave()
