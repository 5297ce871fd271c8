"""A GPT, cut into stages that compute one after another on several processes (AutoParallel), learns a novel.

    python train.py                                         alone
    torchrun --nproc-per-node 4 train.py --batch-size 4     four stages (also: mpirun -np 4 python train.py)
    torchrun --nproc-per-node 4 train.py --batch-size 4 --stages 2     two stages with two replicas each

model.py is written for one GPU. Where it is cut, a plan says: --plan FILE, or it is made here. Read main() first.
"""

import argparse
import math
import sys

import pipeline
import torch
from data import Synthetic, Text
from hackathon_runtime import Meter, Stopper, identity
from model import GPT, PRESETS, Shape, loss_of


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", choices=["text", "synthetic"], default="text", help="what to train on")
    add("--model", choices=list(PRESETS), default="tiny", help="how large the network is")
    add("--layers", type=int, default=0, help="number of layers; 0: the model's")
    add("--heads", type=int, default=0, help="heads of the attention; 0: the model's")
    add("--width", type=int, default=0, help="length of the vector of a token; 0: the model's")
    add("--sequence", type=int, default=0, help="tokens in a sequence; 0: the model's")
    add("--dropout", type=float, default=0.0, help="the same numbers for any plan")
    add("--batch-size", type=int, default=16, help="sequences of a step per process")
    pipeline.add_options(parser)
    add("--steps", type=int, default=400, help="steps of the optimizer")
    add("--lr", type=float, default=0.005, help="highest learning rate")
    add("--warmup-steps", type=int, default=30, help="steps in which the learning rate rises to --lr")
    add("--weight-decay", type=float, default=0.1, help="of matrices")
    add("--clip", type=float, default=1.0, help="largest norm of the gradient; 0: any")
    add("--seed", type=int, default=1, help="of weights, order and dropout")
    add("--checkpoint-every", type=int, default=100, help="steps between checkpoints; 0: only when stopped")
    add("--resume", default="auto", help="auto (what was not finished), no, or a checkpoint's path")
    args = parser.parse_args()
    for name, value in zip(("layers", "heads", "width", "sequence"), PRESETS[args.model], strict=True):
        setattr(args, name, getattr(args, name) or value)
    return args


def main() -> None:
    args, me = options(), identity()
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    sequences = args.batch_size * me.world_size
    if sequences % args.micro_batches or args.width % args.heads:
        print(
            f"train.py: {sequences} sequences cannot be cut into {args.micro_batches} micro-batches"
            if sequences % args.micro_batches else
            f"train.py: --width {args.width} cannot be divided among {args.heads} heads", file=sys.stderr,
        )  # fmt: skip
        sys.exit(2)
    device = pipeline.connect(me, gpus)
    data = {"text": Text, "synthetic": Synthetic}[args.data](args.sequence, sequences, args.seed)
    torch.manual_seed(args.seed)
    net = GPT(Shape(args.layers, args.heads, args.width, args.sequence, data.vocabulary, args.dropout))
    plan = pipeline.plan_of(args, me, net, loss_of, data.batch(0), device)
    pipeline.told(plan, me)

    with pipeline.ending_all(me):
        model = pipeline.AutoParallel(
            net, loss=loss_of, optimizer=lambda parameters: make_optimizer(parameters, args), example=data.batch(0),
            plan=plan, schedule=args.schedule, precision=None if args.precision == "fp32" else args.precision,
            max_grad_norm=args.clip or None, seed=args.seed, device=device,
        )  # fmt: skip
        train(model, data, args, me, device, plan)


def train(model: pipeline.AutoParallel, data, args: argparse.Namespace, me, device: torch.device, plan: dict) -> None:
    """Train, test, and tell the numbers."""
    meter = Meter(unit="tokens", every_steps=25, show=True)
    done = pipeline.load(model, args.resume, args.steps, me)
    should_stop = Stopper(lambda number: pipeline.from_rank_zero(number, device))
    tokens = args.batch_size * me.world_size * args.sequence
    stopped = False
    for step in range(done, args.steps):
        with meter.phase("data"):
            batch = data.batch(step)
        with meter.phase("compute"):
            set_learning_rate(model.optimizer, args, step)
            loss = model.step(batch)
        done = step + 1
        meter.step(tokens=tokens, step=done, loss=loss)
        stopped = should_stop()
        if stopped or (args.checkpoint_every and (done % args.checkpoint_every == 0 or done == args.steps)):
            with meter.phase("pause"):  # stopped: the walltime is nearly over, and the next job goes on from here
                meter.flush()
                pipeline.save(model, me)
        if stopped:
            break
    numbers = {**pipeline.facts(model, plan, me, device), "stopped": stopped}
    with meter.phase("pause"):
        if args.data == "text" and not stopped:
            nats = evaluate(model, data)
            numbers |= {"bits_per_byte": nats / math.log(2), "perplexity": math.exp(nats)}
    rate = meter.final(**numbers).get("tokens_per_s")
    if seconds := pipeline.compared(plan, rate and tokens / rate):
        meter.final(**numbers, **seconds)


def make_optimizer(parameters, args: argparse.Namespace) -> torch.optim.Optimizer:
    """Return AdamW with GPT-3's numbers (Brown et al. 2020, appendix B); only matrices decay."""
    matrices = [each for each in parameters if each.dim() > 1]
    others = [each for each in parameters if each.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": args.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=args.lr, betas=(0.9, 0.95))


def set_learning_rate(optimizer: torch.optim.Optimizer, args: argparse.Namespace, step: int) -> None:
    """Rise to --lr in even steps, then fall to a tenth of it along half a cosine."""
    if step < args.warmup_steps:
        rate = args.lr * (step + 1) / args.warmup_steps
    else:
        part = (step - args.warmup_steps) / max(1, args.steps - args.warmup_steps)
        rate = args.lr * (0.55 + 0.45 * math.cos(math.pi * part))
    for group in optimizer.param_groups:
        group["lr"] = rate


def evaluate(model: pipeline.AutoParallel, data: Text) -> float:
    """Return the mean loss in nats a byte on the text to test with."""
    model.eval()
    losses = [model.evaluate(batch).item() for batch in data.test()]
    model.train()
    return math.fsum(losses) / len(losses)


if __name__ == "__main__":
    main()
    pipeline.leave()
