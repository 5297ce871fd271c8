"""A small training loop that reports the way torchtitan does: its logger, its words, its colours."""

import argparse
import gc
import logging
import time

import torch
import torch.distributed as dist
import torch.distributed.nn  # before the process group: its default arguments would keep that one
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel

logger = logging.getLogger()


def init_logger():
    logger.setLevel(logging.INFO)
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("[titan] %(asctime)s - %(name)s - %(levelname)s - %(message)s"))
    logger.addHandler(handler)


class Color:
    red, green, orange, turquoise = "\033[31m", "\033[32m", "\033[38;2;180;60;0m", "\033[38;2;54;234;195m"
    blue, cyan, magenta, reset = "\033[34m", "\033[36m", "\033[35m", "\033[39m"


class Model(nn.Module):
    """Reads the 64 pixels of a digit as 64 tokens and predicts each pixel from those before it."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(18, 32)
        self.rnn = nn.GRU(32, 64, batch_first=True)
        self.head = nn.Linear(64, 17)

    def forward(self, tokens):
        return self.head(self.rnn(self.embedding(tokens))[0])


def run(args):
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    pixels = torch.tensor(load_digits().data, dtype=torch.long)
    start = torch.full((len(pixels), 1), 17)
    inputs, labels = torch.cat([start, pixels[:, :-1]], 1), pixels
    model = DistributedDataParallel(Model())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    parameters = sum(p.numel() for p in model.parameters())
    peak_flops = 1e12

    generator = torch.Generator().manual_seed(rank)
    color, ntokens, time_last_log = Color, 0, time.perf_counter()
    begin, all_tokens = time.perf_counter(), 0
    for step in range(1, args.steps + 1):
        batch = torch.randint(len(inputs), (16,), generator=generator)
        loss = nn.functional.cross_entropy(model(inputs[batch]).flatten(0, 1), labels[batch].flatten())
        optimizer.zero_grad()
        loss.backward()
        grad_norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        ntokens += labels[batch].numel()
        all_tokens += labels[batch].numel()
        if step == 1 or step % args.log_freq == 0:
            average = loss.detach().clone()
            dist.all_reduce(average)
            time_delta = time.perf_counter() - time_last_log
            tps = ntokens / time_delta
            flops = 6 * parameters * tps
            logger.info(
                f"{color.red}step: {step:2}  "
                f"{color.green}loss: {average.item() / world:7.4f}  "
                f"{color.orange}grad_norm: {grad_norm.item():7.4f}  "
                f"{color.turquoise}memory: {0.0:5.2f}GiB({0.0:.2f}%)  "
                f"{color.blue}tps: {round(tps):,}  "
                f"{color.cyan}tflops: {flops / 1e12:,.2f}  "
                f"{color.magenta}mfu: {100 * flops / peak_flops:.2f}%{color.reset}"
            )
            ntokens, time_last_log = 0, time.perf_counter()
    logger.info(f"Training completed: {world * all_tokens} tokens in {time.perf_counter() - begin:.3f} seconds")
    dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--log_freq", type=int, default=10)
    args = parser.parse_args()

    init_logger()
    dist.init_process_group("gloo")
    run(args)
    gc.collect()  # a DDP model that is still there keeps Gloo's threads (PyTorch issue 190489)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
