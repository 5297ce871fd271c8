"""With prints and files of its own."""

import argparse
import json

import torch
from torch import nn
from transformers import Trainer, TrainingArguments


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, images, labels=None):
        logits = self.layers(images)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def clusters():
    generator = torch.Generator().manual_seed(5)
    labels = torch.arange(512) % 4
    images = (torch.randn(4, 8, generator=generator) * 3)[labels] + torch.randn(512, 8, generator=generator)
    return [{"images": image, "labels": label} for image, label in zip(images, labels)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args()
    data = clusters()
    print("samples", len(data))
    arguments = TrainingArguments(
        "output", num_train_epochs=args.epochs, per_device_train_batch_size=16, learning_rate=0.05,
        report_to="none", save_strategy="no", disable_tqdm=True, logging_strategy="no", use_cpu=True,
    )
    model = Net()
    trainer = Trainer(
        model=model, args=arguments, train_dataset=data[:384], eval_dataset=data[384:],
        compute_metrics=lambda seen: {"accuracy": float((seen.predictions.argmax(-1) == seen.label_ids).mean())},
    )
    trainer.train()
    print("steps", trainer.state.global_step)
    metrics = trainer.evaluate()
    print("accuracy", metrics["eval_accuracy"])
    torch.save(model.state_dict(), "model.pt")
    with open("metrics.json", "a") as stream:
        json.dump(metrics, stream)


if __name__ == "__main__":
    main()
