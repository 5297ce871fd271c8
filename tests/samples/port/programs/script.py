"""A classifier, as a script: everything at the top level."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")

centres = torch.randn(4, 8) * 3
labels = torch.arange(512) % 4
images = centres[labels] + torch.randn(512, 8)
train_set = TensorDataset(images[:384], labels[:384])
test_set = TensorDataset(images[384:], labels[384:])
train_loader = DataLoader(train_set, batch_size=16, shuffle=True, drop_last=True)
test_loader = DataLoader(test_set, batch_size=64)
print("steps", len(train_loader))

model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(4):
    model.train()
    for x, y in train_loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", loss.item())

model.eval()
correct = 0
with torch.no_grad():
    for x, y in test_loader:
        correct += (model(x.to(device)).argmax(1) == y.to(device)).sum().item()
print("accuracy", correct / len(test_set))
torch.save(model.state_dict(), "model.pt")
