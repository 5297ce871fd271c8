import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Clusters(Dataset):
    def __init__(self, first, last):
        generator = torch.Generator().manual_seed(5)
        centres = torch.randn(4, 8, generator=generator) * 3
        self.labels = (torch.arange(512) % 4)[first:last]
        self.images = (centres[torch.arange(512) % 4] + torch.randn(512, 8, generator=generator))[first:last]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.images[index], self.labels[index]


class Trainer:
    def __init__(self, epochs=4, rate=0.05):
        self.epochs = epochs
        self.device = torch.device("cuda:0") if torch.cuda.is_available() else torch.device("cpu")
        self.train_loader = DataLoader(
            Clusters(0, 384),
            batch_size=16,
            shuffle=True,
        )
        self.test_loader = DataLoader(Clusters(384, 512), batch_size=32)
        self.model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
        self.model = self.model.to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=rate, momentum=0.9)
        self.criterion = nn.CrossEntropyLoss()

    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(x.to(self.device)), y.to(self.device))
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self):
        for epoch in range(self.epochs):
            self.model.train()
            losses = []
            for x, y in self.train_loader:
                losses.append(self.step(x, y))
            print("epoch", epoch, losses)

    @torch.no_grad()
    def accuracy(self):
        self.model.eval()
        right = 0
        for x, y in self.test_loader:
            right += int((self.model(x.to(self.device)).argmax(1).cpu() == y).sum())
        return right / len(self.test_loader.dataset)

    def save(self, path):
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}, path)


if __name__ == "__main__":
    torch.manual_seed(0)
    trainer = Trainer()
    print("steps", len(trainer.train_loader))
    trainer.fit()
    score = trainer.accuracy()
    print("accuracy", score)
    trainer.save("trainer.pt")
