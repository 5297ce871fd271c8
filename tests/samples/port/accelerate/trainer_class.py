import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader


class Training:
    def __init__(self, model, data, rate=0.1):
        self.accelerator = Accelerator()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=rate)
        self.loader = DataLoader(data, batch_size=16, shuffle=True)
        self.model, self.optimizer = self.accelerator.prepare(model, self.optimizer)

    def epoch(self, number):
        for x, y in self.loader:
            self.optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(self.model(x), y)
            self.accelerator.backward(loss)
            self.optimizer.step()
        print(number, loss.item())

    def save(self, path):
        self.accelerator.wait_for_everyone()
        torch.save(self.model.state_dict(), path)


if __name__ == "__main__":
    training = Training(torch.nn.Linear(2, 1), torch.load("data.pt"))
    for number in range(3):
        training.epoch(number)
    training.save("model.pt")
