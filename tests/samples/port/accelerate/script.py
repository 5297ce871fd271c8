"""Four clusters with Accelerate, from top to bottom."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
accelerator = Accelerator(cpu=True)
labels = torch.arange(512) % 4
images = torch.randn(4, 8)[labels] * 3 + torch.randn(512, 8)
loader = DataLoader(TensorDataset(images[:384], labels[:384]), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = accelerator.prepare(model, optimizer)
steps = 0
for epoch in range(4):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x.to(accelerator.device)), y.to(accelerator.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
    print("epoch", epoch, loss.item())
print("steps", steps)
with torch.no_grad():
    right = (model(images[384:].to(accelerator.device)).argmax(1).cpu() == labels[384:]).float().mean()
print("accuracy", right.item())
torch.save(model.state_dict(), "model.pt")
