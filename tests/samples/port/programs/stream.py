import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __init__(self, samples):
        self.samples = samples
        self.centres = torch.randn(4, 8, generator=torch.Generator().manual_seed(5)) * 3

    def __iter__(self):
        for number in range(self.samples):
            label = number % 4
            yield self.centres[label] + torch.randn(8), label


torch.manual_seed(10)
device = "cuda" if torch.cuda.is_available() else "cpu"
loader = DataLoader(Stream(256), batch_size=16)
test = Stream(128)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(3):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, loss.item())
with torch.no_grad():
    right = sum(int(model(x.to(device)).argmax() == y) for x, y in test)
print("accuracy", right / 128)
