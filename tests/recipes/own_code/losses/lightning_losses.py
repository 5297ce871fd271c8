"""Lightning with DDP; prints each loss in all its bits."""

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 4)
        self.losses = []

    def training_step(self, batch, number):
        loss = torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])
        self.losses.append(loss.item().hex())
        return loss

    def validation_step(self, batch, number):
        torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


lightning.seed_everything(1)
data = TensorDataset(torch.randn(640, 8), torch.randint(0, 4, (640,)))
module = Module()
trainer = lightning.Trainer(
    accelerator="cpu", strategy="ddp", devices=1, num_nodes=2, max_epochs=2, logger=False, enable_checkpointing=False,
    enable_progress_bar=False, enable_model_summary=False,
)  # fmt: skip
trainer.fit(module, DataLoader(data, batch_size=16, shuffle=True), DataLoader(data, batch_size=64))
print(*(f"loss {loss}" for loss in module.losses), sep="\n")
