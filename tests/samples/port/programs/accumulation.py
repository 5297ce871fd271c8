import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train_epoch(model, loader, optimizer, device, accumulate):
    model.train()
    optimizer.zero_grad()
    losses = []
    for i, (x, y) in enumerate(loader):
        x, y = x.to(device), y.to(device)
        output = model(x)
        # the mean over the accumulated batches
        loss = nn.functional.cross_entropy(output, y) / accumulate
        loss.backward()
        losses.append(loss.item())
        if (i + 1) % accumulate == 0 or i + 1 == len(loader):
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            optimizer.zero_grad()
    return losses


def main():
    torch.manual_seed(8)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    centres = torch.randn(4, 8) * 3
    labels = torch.arange(512) % 4
    images = centres[labels] + torch.randn(512, 8)
    train_set = TensorDataset(images[:384], labels[:384])
    loader = DataLoader(train_set, batch_size=8, shuffle=True)
    print("steps", len(loader))
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(6):
        losses = train_epoch(model, loader, optimizer, device, 4)
        print(epoch, losses)
    with torch.no_grad():
        right = (model(images[384:].to(device)).argmax(1).cpu() == labels[384:]).sum().item()
    print("accuracy", right / 128)


if __name__ == "__main__":
    main()
