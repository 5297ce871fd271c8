"""With a data module and callbacks."""

from pathlib import Path

from lightning.pytorch import LightningDataModule, LightningModule, Trainer
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch import nn, optim
from torch.utils.data import DataLoader
from torchvision.datasets import MNIST
from torchvision.transforms import ToTensor


class Digits(LightningDataModule):
    def prepare_data(self):
        MNIST("data", download=True)

    def setup(self, stage):
        self.train, self.rest = MNIST("data", transform=ToTensor()), MNIST("data", train=False, transform=ToTensor())

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=64, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.rest, batch_size=256)


class Model(LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
        self.losses = []

    def training_step(self, batch, index):
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def validation_step(self, batch, index):
        self.losses.append(nn.functional.cross_entropy(self.net(batch[0]), batch[1]))

    def on_validation_epoch_end(self):
        self.log("val_loss", sum(self.losses) / len(self.losses), prog_bar=True)
        self.losses.clear()

    def configure_optimizers(self):
        return optim.SGD(self.parameters(), lr=0.1)


def run(folder):
    callbacks = [ModelCheckpoint(monitor="val_loss"), EarlyStopping("val_loss")]
    trainer = Trainer(max_epochs=10, accelerator="gpu", devices=[0], strategy="auto", callbacks=callbacks, num_nodes=1)
    trainer.fit(Model(), datamodule=Digits())
    print(f"best: {trainer.checkpoint_callback.best_model_path}")


run(Path("out"))
