import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.kind = nn.Linear(32, 4)
        self.size = nn.Linear(32, 1)

    def forward(self, x):
        hidden = self.body(x)
        return self.kind(hidden), self.size(hidden).squeeze(1)


def fit(net, loader, device, epochs):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    kinds_loss, size_loss = nn.CrossEntropyLoss(), nn.MSELoss()
    for epoch in range(epochs):
        for x, kind, size in loader:
            optimizer.zero_grad()
            kinds, sizes = net(x.to(device))
            first = kinds_loss(kinds, kind.to(device))
            second = size_loss(sizes, size.to(device))
            loss = first + 0.1 * second
            loss.backward()
            optimizer.step()
        print(f"{epoch}: {first.item()!r} {second.item()!r}")


def main():
    torch.manual_seed(11)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    kinds = torch.arange(512) % 4
    x = (torch.randn(4, 8) * 3)[kinds] + torch.randn(512, 8)
    data = TensorDataset(x[:384], kinds[:384], x[:384].norm(dim=1))
    loader = DataLoader(data, batch_size=16, shuffle=True)
    print("steps", len(loader))
    net = TwoHeads().to(device)
    fit(net, loader, device, 4)
    with torch.no_grad():
        found, _ = net(x[384:].to(device))
    print("accuracy", (found.argmax(1).cpu() == kinds[384:]).float().mean().item())
    print("weights of the first head", net.kind.weight.abs().sum().item())


if __name__ == "__main__":
    main()
