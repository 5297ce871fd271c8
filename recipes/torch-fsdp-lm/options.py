"""The options, and what cannot go together: recipe.yaml says of each when it pays."""

import argparse
import shutil
import sys

from model import PRESETS, Shape


def parser(description: str) -> argparse.ArgumentParser:
    """Return the parser; recipe.yaml has the same names and defaults."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = made.add_argument
    add("--data", choices=["text", "synthetic"], default="text", help="what to train on")
    add("--model", choices=list(PRESETS), default="tiny", help="how large the network is")
    add("--layers", type=int, default=0, help="number of layers; 0: the model's")
    add("--heads", type=int, default=0, help="heads of the attention; 0: the model's")
    add("--width", type=int, default=0, help="length of the vector of a token; 0: the model's")
    add("--sequence", type=int, default=0, help="tokens in a sequence; 0: the model's")
    add("--batch-size", type=int, default=16, help="sequences per process, forward and backward")
    add("--accumulate", type=int, default=1, help="batches per step of the optimizer")
    add("--steps", type=int, default=400, help="steps of the optimizer")
    add("--lr", type=float, default=0.005, help="highest learning rate")
    add("--warmup-steps", type=int, default=30, help="steps in which the learning rate rises to --lr")
    add("--weight-decay", type=float, default=0.1, help="of matrices")
    add("--clip", type=float, default=1.0, help="largest norm of the gradient; 0: any")
    add("--precision", choices=["fp32", "bf16"], default="fp32", help="of gathered parameters and computing")
    add("--keep-gathered", action="store_true", help="keep gathered parameters from forward to backward")
    add("--recompute", action="store_true", help="activation checkpointing: backward computes forward again")
    add("--cpu-offload", action="store_true", help="GPU: shards and optimizer in the host's memory")
    add("--compile", action="store_true", help="torch.compile")
    add("--fused", action="store_true", help="update all weights in one kernel")
    add("--peak-tflops", type=float, default=0, help="peak of a process's GPU for the MFU; 0: no MFU")
    add("--seed", type=int, default=1, help="of weights and order")
    add("--deterministic", action="store_true", help="GPU: the same numbers every time, more slowly")
    add("--checkpoint-every", type=int, default=100, help="steps between checkpoints; 0: only when stopped")
    add("--resume", default="auto", help="auto (what was not finished), no, or a checkpoint's path")
    return made


def options(description: str, gpus: int) -> argparse.Namespace:
    """Return the options; leave with exit code 2 and one line when they cannot go together on this machine."""
    args = complete(parser(description).parse_args())
    why = refusal(args, gpus)
    if why:
        print(f"train.py: {why}", file=sys.stderr, flush=True)
        sys.exit(2)
    return args


def complete(args: argparse.Namespace) -> argparse.Namespace:
    """Fill in what 0 leaves to the model."""
    for name, value in zip(("layers", "heads", "width", "sequence"), PRESETS[args.model], strict=True):
        setattr(args, name, getattr(args, name) or value)
    return args


def shape(args: argparse.Namespace, vocabulary: int) -> Shape:
    """Return the network's shape."""
    return Shape(args.layers, args.heads, args.width, args.sequence, vocabulary)


def refusal(args: argparse.Namespace, gpus: int) -> str | None:
    """Return why these options cannot be, and what to choose instead; None when they can.

    The same for any number of processes, so that the points of a study do not differ.
    """
    counts = [args.layers, args.heads, args.width, args.sequence, args.batch_size, args.accumulate, args.steps]
    cases = [
        (min(counts) < 1, "sizes and counts must be 1 or more"),
        (args.width % max(1, args.heads),
         f"--width {args.width} cannot be divided among {args.heads} heads: choose a multiple"),
        (args.cpu_offload and not gpus,
         "--cpu-offload moves shards from a GPU to its host, and there is no GPU: leave it out"),
        (args.peak_tflops < 0, "--peak-tflops is the GPU's peak in TFLOPS, or 0 for no MFU"),
        (args.compile and not gpus and not (shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")),
         "--compile needs a C++ compiler on CPUs: load a module that has g++, or leave --compile out"),
    ]  # fmt: skip
    return next((why for wrong, why in cases if wrong), None)
