"""A small text-free classifier with the Hugging Face Trainer: the model returns a loss, the Trainer does the rest."""

import argparse

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments


class Digits(Dataset):
    def __init__(self, images, labels):
        self.images, self.labels = images, labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return {"pixels": self.images[index], "labels": self.labels[index]}


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))

    def forward(self, pixels, labels=None):
        logits = self.layers(pixels)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def compute_metrics(prediction):
    return {"accuracy": float(np.mean(prediction.predictions.argmax(-1) == prediction.label_ids))}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--epochs", type=float, default=6)
    parser.add_argument("--output_dir", default="output")
    args = parser.parse_args()

    images, labels = load_digits(return_X_y=True)
    images, labels = torch.tensor(images, dtype=torch.float32) / 16, torch.tensor(labels)
    trainer = Trainer(
        model=Classifier(),
        args=TrainingArguments(
            output_dir=args.output_dir,
            learning_rate=args.lr,
            num_train_epochs=args.epochs,
            per_device_train_batch_size=16,
            logging_steps=20,
            eval_strategy="epoch",
            save_strategy="no",
            report_to="none",
            use_cpu=True,
        ),
        train_dataset=Digits(images[:1500], labels[:1500]),
        eval_dataset=Digits(images[1500:], labels[1500:]),
        compute_metrics=compute_metrics,
    )
    trainer.train()


if __name__ == "__main__":
    main()
