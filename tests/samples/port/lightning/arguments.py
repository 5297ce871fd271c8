import argparse

import pytorch_lightning as pl
import torch
import torchmetrics
from torch import nn
from torch.utils.data import DataLoader, random_split


class Classifier(pl.LightningModule):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.net = nn.Linear(8, 4)
        self.right = torchmetrics.Accuracy(task="multiclass", num_classes=4)

    def _shared(self, batch, stage):
        x, y = batch
        logits = self.net(x)
        loss = nn.functional.cross_entropy(logits, y)
        self.log_dict({f"{stage}_loss": loss})
        return loss, logits, y

    def training_step(self, batch, index):
        return self._shared(batch, "train")[0]

    def validation_step(self, batch, index):
        loss, logits, y = self._shared(batch, "val")
        self.right(logits, y)
        self.log("val_acc", self.right, on_epoch=True)
        self.log(
            "val_margin",
            logits.max(1).values.mean(),
            prog_bar=True,
        )
        self.log("kept", loss, sync_dist=False)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.rate)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=0.1)
    args = parser.parse_args()
    pl.seed_everything(1)
    train, validation = random_split(torch.load("data.pt"), [400, 112])
    model = Classifier(args.lr)
    trainer = pl.Trainer(max_epochs=args.epochs)
    trainer.fit(model, DataLoader(train, 16, shuffle=True), DataLoader(validation, 64))
    trainer.save_checkpoint("last.ckpt")
    torch.save(model.state_dict(), "model.pt")


if __name__ == "__main__":
    main()
