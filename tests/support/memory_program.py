"""A small training in torch whose memory grows with the batch: `python program.py --model cnn --batch-size 8`."""

import argparse
import os
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

MODELS = ("mlp", "cnn", "attention")
FIRST = 8


def make(name: str) -> nn.Module:
    """Return a network."""
    if name == "mlp":
        return nn.Sequential(nn.Flatten(), *(layer for _ in range(6) for layer in (nn.Linear(4096, 4096), nn.ReLU())))
    if name == "cnn":
        layers = [nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()]
        for _ in range(4):
            layers += [nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()]
        return nn.Sequential(*layers, nn.Flatten(), nn.LazyLinear(10))
    layer = nn.TransformerEncoderLayer(64, 4, 256, dropout=0.1, batch_first=True)
    return nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)


def loss_of(name: str, out: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the loss: by a module for one network, by functions for the others."""
    if name == "cnn":
        loss: torch.Tensor = nn.CrossEntropyLoss()(out, labels)
        return loss
    return functional.mse_loss(out.float(), torch.zeros_like(out)) / 2


def main() -> None:
    """Train some steps and tell a throughput after each but the first: by then memory is what it will be."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--steps", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    net = make(args.model)
    shape = (64, 64) if args.model == "attention" else (1, 64, 64)
    with torch.no_grad():
        net(torch.randn(1, *shape)) if args.model != "cnn" else net.eval()(torch.randn(1, *shape))
    net.train()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for step in range(args.steps):
        images, labels = torch.randn(args.batch_size, *shape), torch.randint(10, (args.batch_size,))
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(args.model, net(images), labels)
        loss.backward()
        optimizer.step()
        if "HK_RUN" in os.environ and step:
            with (Path(os.environ["HK_RUN"]) / "metrics" / "rank-0.jsonl").open("a") as stream:
                stream.write('{"samples_per_s": 100.0}\n')


if __name__ == "__main__":
    main()
