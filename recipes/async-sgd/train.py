"""Asynchronous SGD with a parameter server: each process computes gradients and never waits for the other ones.

    python train.py                                       one worker
    torchrun --nproc-per-node 4 train.py                  four workers (also: mpirun -np 4 python train.py)

Every process is a worker. The first one also starts the parameter server, a process of its own on the same node, which
has the weights and applies the gradients (server.py). Read work() first: it is what a worker does.
"""

import argparse
import itertools
import os
import subprocess
import sys
import time

import torch
import torch.distributed as dist
from data import Digits
from exchange import HEADER, STOP, VERSION, Meeting, join, probe, where
from hackathon_runtime import Identity, identity
from network import FlatNetwork
from server import ParameterServer
from torch import nn
from waits import planted


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch-size", type=int, default=16, help="samples of one gradient")
    parser.add_argument("--epochs", type=int, default=20, help="how often all data are seen, by all workers together")
    parser.add_argument("--lr", type=float, default=0.05, help="learning rate of a gradient that is not stale")
    parser.add_argument("--momentum", type=float, default=0.5, help="of the server's updates")
    parser.add_argument(
        "--staleness-aware", choices=["yes", "no"], default="yes",
        help="yes: divide the learning rate of a gradient by its staleness",
    )  # fmt: skip
    parser.add_argument(
        "--staleness-bound", type=int, default=-1,
        help="gradients that a worker may be ahead of the slowest one (stale synchronous parallel); -1: any number",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=1, help="of weights, order and dropout")
    parser.add_argument("--resume", default="auto", help="auto (what was not finished), no, or a checkpoint's path")
    parser.add_argument("--compute-seconds", type=float, default=0.0, help="wait so long in every gradient")
    parser.add_argument("--update-seconds", type=float, default=0.0, help="wait so long in every update")
    parser.add_argument("--jitter", type=float, default=0.0, help="relative standard deviation of both waits")
    parser.add_argument("--serve", default="", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    args, me = options(), identity()
    if args.serve:
        sys.exit(ParameterServer(args, me, where(args.serve)).run())
    server = None
    meeting = Meeting.of(me)
    if me.rank == 0:
        server = subprocess.Popen([sys.executable, __file__, *sys.argv[1:], "--serve", str(meeting)])
    try:
        work(args, me, meeting)
    except RuntimeError as error:  # what torch raises when the other end of a connection is gone
        print(f"rank {me.rank}: the connection to the parameter server broke: {error}", file=sys.stderr, flush=True)
        if server is not None:
            server.kill()
        os._exit(1)  # at once: threads of Gloo may still wait
    if server is not None and (code := server.wait()):
        sys.exit(f"the parameter server ended with exit code {code}")


def work(args: argparse.Namespace, me: Identity, meeting: Meeting) -> None:
    """Compute gradients with the newest weights until the server says that it is enough."""
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    device = torch.device("cuda", me.local_rank % gpus) if gpus else torch.device("cpu")
    if not gpus and "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // me.local_world_size))
    data = Digits(args.batch_size, args.seed, me.rank, me.world_size, device)
    net = FlatNetwork(args.seed, device)
    loss_of = nn.CrossEntropyLoss()
    torch.manual_seed(args.seed + 1 + me.rank)  # each worker has its own dropout
    wait = planted(args.compute_seconds, args.jitter, args.seed + me.rank)

    server = join(meeting, me.rank, me.world_size)
    probe(server)
    gradient, weights = net.message(), net.message()
    dist.recv(weights, server)
    exchanged = 0.0
    batches = itertools.chain.from_iterable(data.epoch(number) for number in itertools.count())
    while not weights[STOP]:
        began = time.perf_counter()
        net.take(weights[HEADER:])
        images, labels = next(batches)
        loss = loss_of(net.forward(images), labels)
        loss.backward()
        gradient[HEADER:].copy_(net.gradients)
        wait()
        computed = time.perf_counter()
        header = [weights[VERSION].item(), loss.item(), len(labels), computed - began, exchanged]
        gradient[: len(header)] = torch.tensor(header)
        dist.send(gradient, server)
        dist.recv(weights, server)
        exchanged = time.perf_counter() - computed
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
