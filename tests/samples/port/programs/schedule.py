import logging

import torch
from torch import nn
from torch.optim import SGD
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset, random_split

EPOCHS = 5

torch.manual_seed(7)
device = "cuda" if torch.cuda.is_available() else "cpu"
centres = torch.randn(4, 8) * 3
labels = torch.arange(512) % 4
images = centres[labels] + torch.randn(512, 8)
train_part, valid_part = random_split(TensorDataset(images, labels), [384, 128])
loaders = DataLoader(train_part, batch_size=16, shuffle=True), DataLoader(valid_part, batch_size=128)
train_loader, valid_loader = loaders
print("steps", len(train_loader))

model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4))
model = model.to(device)
optimizer = SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = OneCycleLR(optimizer, max_lr=0.1, total_steps=EPOCHS * len(train_loader))


def one_epoch():
    losses = []
    for x, y in train_loader:
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses


for epoch in range(EPOCHS):
    model.train()
    losses = one_epoch()
    logging.debug("epoch %d", epoch)
    print(epoch, losses, scheduler.get_last_lr())

model.eval()
for x, y in valid_loader:
    with torch.no_grad():
        accuracy = (model(x.to(device)).argmax(1).cpu() == y).float().mean().item()
print("accuracy", accuracy)
