import argparse

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset


def evaluate(accelerator, model, loader):
    model.eval()
    right = total = 0
    for x, y in loader:
        guesses, wanted = accelerator.gather_for_metrics((model(x).argmax(1), y))
        right += int((guesses == wanted).sum())
        total += len(wanted)
    return right / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--precision", default="no")
    args = parser.parse_args()
    accelerator = Accelerator(mixed_precision=args.precision)
    set_seed(1)
    data = TensorDataset(*torch.load("data.pt"))
    train, test = DataLoader(data, 16, shuffle=True), DataLoader(data, 64)
    model = torch.nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    model, optimizer, train, test = accelerator.prepare(model, optimizer, train, test)
    for epoch in range(4):
        model.train()
        for x, y in train:
            optimizer.zero_grad()
            accelerator.backward(F.cross_entropy(model(x), y))
            optimizer.step()
        accuracy = evaluate(accelerator, model, test)
        accelerator.print(epoch, accuracy)
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        torch.save(accelerator.unwrap_model(model).state_dict(), "model.pt")


if __name__ == "__main__":
    main()
