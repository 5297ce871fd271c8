"""Four clusters with Lightning, from top to bottom."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.cross_entropy(self.layers(x), y)
        self.log("train_loss", loss)
        return loss

    def test_step(self, batch, index):
        x, y = batch
        self.log("accuracy", (self.layers(x).argmax(1) == y).float().mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


L.seed_everything(1)
labels = torch.arange(512) % 4
images = torch.randn(4, 8)[labels] * 3 + torch.randn(512, 8)
train = DataLoader(TensorDataset(images[:384], labels[:384]), batch_size=16, shuffle=True)
test = DataLoader(TensorDataset(images[384:], labels[384:]), batch_size=64)
net = Net()
trainer = L.Trainer(
    max_epochs=4, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False
)
trainer.fit(net, train)
print("steps", trainer.global_step)
score = trainer.test(net, test, verbose=False)[0]["accuracy"]
print("accuracy", score)
