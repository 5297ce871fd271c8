"""A GPT that learns a novel byte by byte; each process keeps only a part of every parameter (PyTorch FSDP2).

    python train.py                                       alone
    torchrun --nproc-per-node 2 train.py --batch-size 8   two processes (also: mpirun -np 2 python train.py)

Read main() first: it is the whole story. GPUs are used where there are some. recipe.yaml says when an option pays.
"""

import argparse
import copy
import math
import os
import sys

import torch
import torch.distributed as dist
from checkpoint import load, save
from communication import check_gradients, leave, mean_gradient
from data import Synthetic, Text
from flops import flops_per_token, utilisation
from hackathon_runtime import Meter, Stopper, identity, rendezvous
from model import GPT, loss_of
from options import options, shape
from sharding import DTYPES, ROUNDING, shard
from torch import nn
from torch.distributed.fsdp import FSDPModule


def main() -> None:
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    args, me = options(__doc__, gpus), identity()
    device = connect(me, gpus, args.deterministic)
    make = {"text": Text, "synthetic": Synthetic}[args.data]
    data = make(args.sequence, args.batch_size * args.accumulate, args.seed, me.rank, me.world_size, device)

    torch.manual_seed(args.seed)  # the same weights everywhere
    net = GPT(shape(args, data.vocabulary), args.recompute)
    per_token = flops_per_token(net)
    sample = next(data.batches(0, args.accumulate))
    mean = mean_gradient(copy.deepcopy(net).to(device, DTYPES[args.precision]), loss_of, sample)
    model = shard(net, device, args.precision, args.cpu_offload, args.keep_gathered)
    optimizer = make_optimizer(model, args)

    meter = Meter(unit="tokens", every_steps=25, show=True)
    rank_sum = int(over_ranks(me.rank + 1, device))
    difference, largest = check_gradients(model, loss_of, sample, mean)
    wrong = not difference <= ROUNDING[args.precision] * largest
    wrong |= rank_sum != me.world_size * (me.world_size + 1) // 2
    if over_ranks(wrong, device):  # found by one, all end: nobody waits for a process that is gone
        meter.final(gradient_check=difference, rank_sum=rank_sum)
        over_ranks(0, device)  # the launcher ends the others when one fails: all have written by now
        sys.exit("gradient check failed: the processes do not train one network together")
    loss_in = torch.compile(loss_of) if args.compile else loss_of
    if args.compile:
        for block in model.blocks:
            block.compile()

    done = load(model, optimizer, args.resume, args.steps, me)
    should_stop = Stopper(lambda number: from_rank_zero(number, device))
    tokens = args.batch_size * args.accumulate * args.sequence * me.world_size
    stopped = False
    for step in range(done, args.steps):
        with meter.phase("data"):
            batches = list(data.batches(step, args.accumulate))
        meter.saw(*batches[0])
        with meter.phase("compute"):
            set_learning_rate(optimizer, args, step)
            loss = backward(model, loss_in, batches)  # FSDP averages the gradients over the processes meanwhile
            if args.clip:
                nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        done = step + 1
        meter.step(tokens=tokens, step=done, loss=loss)
        stopped = should_stop()
        if stopped or (args.checkpoint_every and (done % args.checkpoint_every == 0 or done == args.steps)):
            with meter.phase("pause"):  # stopped: the walltime is nearly over, and the next job goes on from here
                meter.flush()  # what lies before a checkpoint is on disk, even if the walltime kills this
                save(model, optimizer, me, done)
        if stopped:
            break
    numbers = {"gradient_check": difference, "rank_sum": rank_sum, "steps": done, "stopped": stopped}
    with meter.phase("pause"):
        if args.data == "text" and not stopped:
            nats = evaluate(model, data, args.batch_size, device)
            numbers |= {"bits_per_byte": nats / math.log(2), "perplexity": math.exp(nats)}
    rate = meter.final(**numbers).get("tokens_per_s")
    if args.peak_tflops and rate:
        mfu = utilisation(rate, per_token, me.world_size, args.peak_tflops)
        meter.final(**numbers, mfu=mfu, peak_tflops=args.peak_tflops, flops_per_token=per_token)


def make_optimizer(net: GPT, args: argparse.Namespace) -> torch.optim.Optimizer:
    """Return AdamW with GPT-3's numbers (Brown et al. 2020, appendix B); only matrices decay."""
    matrices = [each for each in net.parameters() if each.dim() > 1]
    others = [each for each in net.parameters() if each.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": args.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=args.lr, betas=(0.9, 0.95), fused=args.fused or None)


def connect(me, gpus: int, deterministic: bool) -> torch.device:
    """Return this process's device, after joining the others; one process alone is a group too, for FSDP wants one."""
    device = torch.device("cuda", me.local_rank % gpus) if gpus else torch.device("cpu")
    if gpus:
        torch.cuda.set_device(device)
        torch.set_float32_matmul_precision("high")
    elif "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // me.local_world_size))
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
    backend = "cpu:gloo,cuda:nccl" if gpus else "gloo"  # gloo too: what is offloaded to the host meets there
    if me.world_size > 1:
        address, port = rendezvous(me)
        os.environ.setdefault("MASTER_ADDR", address)
        os.environ.setdefault("MASTER_PORT", str(port))
        dist.init_process_group(backend, rank=me.rank, world_size=me.world_size)
    else:
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    return device


def over_ranks(number: float, device: torch.device) -> float:
    """Return the sum of all processes' numbers."""
    box = torch.tensor(float(number), device=device)
    dist.all_reduce(box)
    return box.item()


def from_rank_zero(number: int, device: torch.device) -> int:
    """Return rank 0's number on every rank."""
    box = torch.tensor(number, device=device)
    dist.broadcast(box, 0)
    return int(box.item())


def backward(model: GPT, loss_in, batches) -> torch.Tensor:
    """Leave the mean gradient of the batches, averaged over the processes, in the shards; return this rank's mean loss.

    All batches but the last skip the reduce-scatter: it is linear, and averaging the sum once is enough. Meanwhile
    whole gradients stay in memory.
    """
    total = 0.0
    for number, (tokens, followers) in enumerate(batches, 1):
        if isinstance(model, FSDPModule):
            model.set_requires_gradient_sync(number == len(batches))
        loss = loss_in(model(tokens), followers) / len(batches)
        loss.backward()
        total = total + loss.detach()
    return total


def set_learning_rate(optimizer: torch.optim.Optimizer, args: argparse.Namespace, step: int) -> None:
    """Rise to --lr in even steps, then fall to a tenth of it along half a cosine."""
    if step < args.warmup_steps:
        rate = args.lr * (step + 1) / args.warmup_steps
    else:
        part = (step - args.warmup_steps) / max(1, args.steps - args.warmup_steps)
        rate = args.lr * (0.55 + 0.45 * math.cos(math.pi * part))
    for group in optimizer.param_groups:
        group["lr"] = rate


@torch.no_grad()
def evaluate(model: GPT, data: Text, size: int, device: torch.device) -> float:
    """Return the mean loss in nats a byte on the text to test with; every rank looks at its share."""
    total = count = 0.0
    for tokens, followers, counted in data.test(size):
        scores = model(tokens)
        if counted:
            total += loss_of(scores[:counted], followers[:counted]).item() * counted
            count += counted
    return over_ranks(total, device) / over_ranks(count, device)


if __name__ == "__main__":
    main()
    leave()
