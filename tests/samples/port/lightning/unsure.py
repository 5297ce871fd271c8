import argparse

import lightning as L
import torch
from torch.utils.data import DataLoader, IterableDataset, random_split


class Lines(IterableDataset):
    def __iter__(self):
        yield from open("lines.txt")


class Net(L.LightningModule):
    def validation_step(self, batch, index):
        self.log(**self.measured(batch))


parser = argparse.ArgumentParser()
parser.add_argument("--devices", type=int, default=1)
args = parser.parse_args()
train, rest = random_split(torch.load("data.pt"), [90, 10])
trainer = L.Trainer(devices=args.devices, max_epochs=3)
trainer.fit(Net().cuda(), DataLoader(train), DataLoader(rest))
print(trainer.test(dataloaders=DataLoader(Lines())))
