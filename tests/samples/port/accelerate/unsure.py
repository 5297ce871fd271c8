import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, random_split

accelerator = Accelerator()
device = torch.device("cuda")
train, rest = random_split(torch.load("data.pt"), [90, 10])
train, rest = DataLoader(train, 8, shuffle=True), DataLoader(rest, 8)
model = torch.nn.Linear(2, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer, rest = accelerator.prepare(model, optimizer, rest)
for x, y in train:
    loss = torch.nn.functional.cross_entropy(model(x), y)
    accelerator.backward(loss)
    optimizer.step()
right = 0
for x, y in rest:
    right += (model(x).argmax(1) == y).sum().item()
print(right)
