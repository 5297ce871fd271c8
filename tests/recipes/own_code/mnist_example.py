"""Digits the way PyTorch's MNIST example prints: Train Epoch, Test set."""

import argparse
import gc

import torch
import torch.distributed as dist
import torch.distributed.nn  # before the process group: its default arguments would keep that one
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def train(args, model, train_loader, optimizer, epoch):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        if batch_idx % args.log_interval == 0:
            done, total = batch_idx * len(data), len(train_loader.dataset)
            percent = 100.0 * batch_idx / len(train_loader)
            print(f"Train Epoch: {epoch} [{done}/{total} ({percent:.0f}%)]\tLoss: {loss.item():.6f}")


def test(model, images, labels):
    model.eval()
    with torch.no_grad():
        output = model(images)
        loss = F.nll_loss(output, labels).item()
        correct = output.argmax(1).eq(labels).sum().item()
    total = len(labels)
    print(f"\nTest set: Average loss: {loss:.4f}, Accuracy: {correct}/{total} ({100.0 * correct / total:.0f}%)\n")


def run(args):
    torch.manual_seed(1)
    images, labels = load_digits(return_X_y=True)
    images, labels = torch.tensor(images, dtype=torch.float32) / 16, torch.tensor(labels)
    data = TensorDataset(images[:1500], labels[:1500])
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=16, sampler=sampler)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10), nn.LogSoftmax(1))
    model = DistributedDataParallel(model)
    optimizer = optim.SGD(model.parameters(), lr=args.lr)
    for epoch in range(1, args.epochs + 1):
        sampler.set_epoch(epoch)
        train(args, model, loader, optimizer, epoch)
        if dist.get_rank() == 0:
            test(model.module, images[1500:], labels[1500:])
        dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--log-interval", type=int, default=10)
    args = parser.parse_args()

    dist.init_process_group("gloo")
    run(args)
    gc.collect()  # a DDP model that is still there keeps Gloo's threads (PyTorch issue 190489)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
