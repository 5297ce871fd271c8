"""Options by argparse, two optimizers to choose from."""
from __future__ import annotations

import argparse

import torch
import torch.utils.data as data
from torch import nn


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--optimizer", choices=["sgd", "adam"], default="sgd")
    parser.add_argument("--no-shuffle", dest="shuffle", action="store_false")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--save-model", action="store_true", default=True)
    return parser.parse_args()


def main():
    args = parse()
    torch.manual_seed(4)
    use_cuda = torch.cuda.is_available()
    device = torch.device("cuda" if use_cuda else "cpu")
    kwargs = {"num_workers": 1, "pin_memory": True} if use_cuda else {}
    centres = torch.randn(4, 8) * 3
    labels = torch.arange(512) % 4
    images = centres[labels] + torch.randn(512, 8)
    loader = data.DataLoader(
        data.TensorDataset(images[:384], labels[:384]), batch_size=args.batch_size, shuffle=args.shuffle
    )
    print("steps", len(loader))
    net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    if args.optimizer == "sgd":
        optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
    else:
        optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    if use_cuda:
        net.cuda()
    loss_of = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        for number, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            loss = loss_of(net(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
            if number % 8 == 0:
                print("train", epoch, number, loss.item())
                if args.dry_run:
                    break
    with torch.no_grad():
        predicted = net(images[384:].to(device)).argmax(1).cpu()
    print("accuracy", (predicted == labels[384:]).float().mean().item())
    if args.save_model:
        torch.save(net.state_dict(), "net.pt")


if __name__ == "__main__":
    main()
