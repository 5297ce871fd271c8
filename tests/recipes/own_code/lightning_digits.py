"""Digits with Lightning, the way its quick start goes."""

import argparse
import os
import time

import lightning as L
import torch
from lightning.pytorch.callbacks import TQDMProgressBar
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class LitDigits(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self.model(x), y)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def test_step(self, batch, batch_idx):
        x, y = batch
        logits = self.model(x)
        self.log("test_loss", nn.functional.cross_entropy(logits, y), sync_dist=True)
        self.log("test_acc", (logits.argmax(1) == y).float().mean(), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--epochs", type=int, default=6)
    args = parser.parse_args()

    L.seed_everything(7)
    images, labels = load_digits(return_X_y=True)
    data = TensorDataset(torch.tensor(images, dtype=torch.float32) / 16, torch.tensor(labels))
    train_set, test_set = random_split(data, [1500, 297])

    trainer = L.Trainer(
        accelerator="cpu",
        devices=int(os.environ.get("LOCAL_WORLD_SIZE", 1)),
        strategy="ddp" if int(os.environ.get("WORLD_SIZE", 1)) > 1 else "auto",
        max_epochs=args.epochs,
        callbacks=[TQDMProgressBar()],
        enable_checkpointing=False,
        log_every_n_steps=10,
    )
    model = LitDigits(args.lr)
    begin = time.time()
    trainer.fit(model, DataLoader(train_set, batch_size=16, shuffle=True))
    if trainer.is_global_zero:
        print(f"\nTraining took {time.time() - begin:.1f} s")
    trainer.test(model, DataLoader(test_set, batch_size=64))


if __name__ == "__main__":
    main()
