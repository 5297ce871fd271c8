"""The options, and what cannot go together: recipe.yaml says of each when it pays."""

import argparse
import importlib.util
import shutil
import sys
from pathlib import Path


def parser(description: str) -> argparse.ArgumentParser:
    """Return the parser; recipe.yaml has the same names and defaults."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = made.add_argument
    add("--data", choices=["auto", "digits", "synthetic", "folder"], default="auto", help="what to train on")
    add("--image-folder", default=None, help="your own images: one folder per class")
    add("--model", choices=["auto", "cnn", "resnet18", "resnet50"], default="auto", help="the network")
    add("--batch-size", type=int, default=64, help="samples per process, forward and backward")
    add("--accumulate", type=int, default=1, help="batches per step of the optimizer")
    add("--epochs", type=int, default=20, help="how often all data are seen")
    add("--lr", type=float, default=0.05, help="learning rate for the batches of all processes together")
    add("--warmup-epochs", type=float, default=2, help="epochs in which the learning rate rises to --lr")
    add("--optimizer", choices=["sgd", "lars"], default="sgd", help="sgd with momentum, or LARS for huge batches")
    add("--lars-trust", type=float, default=0.001, help="LARS: size of an update relative to the weights")
    add("--fused", action="store_true", help="sgd: update all weights in one kernel")
    add("--amp", choices=["none", "bf16", "fp16"], default="none", help="mixed precision")
    add("--channels-last", action="store_true", help="images as height × width × channels in memory")
    add("--compile", action="store_true", help="torch.compile")
    add("--workers", type=int, default=0, help="processes that load data, for each training process")
    add("--prefetch", type=int, default=2, help="batches that each worker prepares ahead")
    add("--pin-memory", action="store_true", help="GPU: copy batches while it computes")
    add("--bucket-mb", type=int, default=25, help="MiB of gradients that one all-reduce takes")
    add("--bucket-view", action="store_true", help="gradients lie in the buckets: no copy")
    add("--static-graph", action="store_true", help="the network is the same in every step")
    hooks = ["none", "fp16", "bf16", "powersgd", "int8", "topk", "onebit"]
    add("--hook", choices=hooks, default="none", help="how gradients are sent")
    add("--noise-scale", action="store_true", help="measure how large a batch still pays")
    add("--powersgd-rank", type=int, default=2, help="rank of the compressed gradients")
    add("--powersgd-start", type=int, default=100, help="steps that are sent uncompressed first")
    add("--sync-batchnorm", action="store_true", help="GPU: batch normalisation over all processes")
    add("--image-size", type=int, default=224, help="synthetic and folder: pixels on a side")
    add("--steps-per-epoch", type=int, default=50, help="synthetic images: steps per epoch")
    add("--seed", type=int, default=1, help="of weights, order and dropout")
    add("--deterministic", action="store_true", help="GPU: the same numbers every time, more slowly")
    add("--checkpoint-every", type=int, default=5, help="epochs between checkpoints; 0: only when stopped")
    add("--resume", default="auto", help="auto (what was not finished), no, or a checkpoint's path")
    return made


def options(description: str, gpus: int) -> argparse.Namespace:
    """Return the options; leave with exit code 2 and one line when they cannot go together on this machine."""
    args = parser(description).parse_args()
    why = refusal(complete(args), gpus)
    if why:
        print(f"train.py: {why}", file=sys.stderr, flush=True)
        sys.exit(2)
    return args


def complete(args: argparse.Namespace) -> argparse.Namespace:
    """Fill in what `auto` stands for."""
    if args.data == "auto":
        args.data = "folder" if args.image_folder else "digits"
    if args.model == "auto":
        args.model = "cnn" if args.data == "digits" else "resnet18"
    return args


def refusal(args: argparse.Namespace, gpus: int) -> str | None:
    """Return why these options cannot be, and what to choose instead; None when they can.

    The same for any number of processes, so that the points of a study do not differ.
    """
    folder = Path(args.image_folder or "")
    cases = [
        (args.accumulate < 1, "--accumulate counts batches per step: choose 1 or more"),
        (args.data == "folder" and not args.image_folder,
         "--data folder needs --image-folder with the path of your images"),
        (args.data != "folder" and args.image_folder,
         f"--image-folder is not for --data {args.data}: leave --data out"),
        (args.data == "folder" and not folder.is_dir(),
         f"there is no folder {folder} here: give --image-folder an absolute path that this machine sees"),
        (args.data == "folder" and not importlib.util.find_spec("PIL"),
         "--image-folder needs Pillow to decode images: pip install pillow, or choose --data digits"),
        (args.model == "cnn" and args.data != "digits",
         "the cnn is made for the digits: choose --model resnet18 or resnet50"),
        (args.hook == "powersgd" and args.amp == "fp16",
         "--hook powersgd would keep an overflow of --amp fp16 in its error feedback for ever: choose --amp bf16"),
        (args.hook == "powersgd" and args.powersgd_start < 2,
         "--powersgd-start must be 2 or more, error feedback needs plain steps first: choose a tenth of all steps"),
        (args.noise_scale and args.hook != "none",
         "--noise-scale compares gradients that are sent as they are: leave --hook out"),
        (args.sync_batchnorm and not gpus,
         "--sync-batchnorm is made for GPUs in PyTorch: leave it out, statistics are averaged before a test"),
        (args.sync_batchnorm and args.model == "cnn",
         "--sync-batchnorm: the cnn has no batch normalisation: leave it out or choose --model resnet18"),
        (args.fused and args.optimizer == "lars", "--fused is for sgd: leave it out or choose --optimizer sgd"),
        (args.compile and not gpus and not (shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")),
         "--compile needs a C++ compiler on CPUs: load a module that has g++, or leave --compile out"),
        (args.pin_memory and not gpus, "--pin-memory is for copies to a GPU, and there is none: leave it out"),
        (args.data == "synthetic" and (args.workers or args.pin_memory),
         "synthetic images stay on the device, nothing is loaded: leave --workers and --pin-memory out"),
        (args.prefetch != 2 and not args.workers, "--prefetch is what workers prepare: choose --workers 1 or more"),
    ]  # fmt: skip
    return next((why for wrong, why in cases if wrong), None)
