#!/usr/bin/env python
# functions: train, test, main
import os

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)
        self.fc1 = nn.Linear(8, 32)
        self.fc2 = nn.Linear(32, 4)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(self.norm(x))))


def train(model, device, train_loader, optimizer, epoch):
    model.train()
    total = 0.0
    for batch_idx, (data, target) in enumerate(train_loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(data)
        if batch_idx % 10 == 0: print(f"epoch {epoch} [{batch_idx * len(data)}/{len(train_loader.dataset)}] {loss.item()!r}")
    return total / len(train_loader.dataset)


def test(model, device, test_loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for data, target in test_loader:
            output = model(data.to(device))
            correct += output.argmax(dim=1).eq(target.to(device)).sum().item()
    return correct / len(test_loader.dataset)


def loaders():
    generator = torch.Generator().manual_seed(5)
    centres = torch.randn(4, 8, generator=generator) * 3
    labels = torch.arange(512) % 4
    images = centres[labels] + torch.randn(512, 8, generator=generator)
    train_set, test_set = TensorDataset(images[:384], labels[:384]), TensorDataset(images[384:], labels[384:])
    return DataLoader(train_set, batch_size=16, shuffle=True), DataLoader(test_set, batch_size=64)


def main():
    torch.manual_seed(3)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train_loader, test_loader = loaders()
    print("steps", len(train_loader))
    model = Net()
    model.to(device)
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    best = 0.0
    for epoch in range(1, 5):
        average = train(model, device, train_loader, optimizer, epoch)
        accuracy = test(model, device, test_loader)
        print("average", average, "test", accuracy)
        if accuracy >= best:
            best = accuracy
            torch.save(model.state_dict(), "best.pt")  # the best one so far
    model.load_state_dict(torch.load("best.pt", map_location=device))
    accuracy = test(model, device, test_loader)
    print("accuracy", accuracy)
    os.remove("best.pt.old") if os.path.exists("best.pt.old") else None


if __name__ == "__main__":
    main()
