# Copy of recipes/shared/learning_rate.py, written by `make recipes`; edit it there.
"""The learning rate of each step."""

import argparse
import math

from hackathon_runtime import scaled_learning_rate


def set_learning_rate(optimizer, args: argparse.Namespace, processes: int, step: int, steps: int) -> None:
    """Warm-up from the rate of one process to --lr (linear scaling rule), then half a cosine down to zero."""
    warmup, total = int(args.warmup_epochs * steps), args.epochs * steps
    rate = scaled_learning_rate(args.lr / processes, processes, step, warmup)
    if step >= warmup:
        rate *= (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup))) / 2
    for group in optimizer.param_groups:
        group["lr"] = rate
