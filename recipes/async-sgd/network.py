"""The network, with all its weights in one vector and all its gradients in another one: what is sent is one tensor."""

import torch
from exchange import HEADER
from torch import nn


class FlatNetwork:
    """A small convolutional network for 8 × 8 grey images and 10 classes; the same weights for a seed."""

    def __init__(self, seed: int, device: torch.device) -> None:
        torch.manual_seed(seed)
        self.net = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.25),
            nn.Linear(256, 10),
        ).to(device)  # fmt: skip
        parts = list(self.net.parameters())
        self.weights = torch.cat([each.detach().reshape(-1) for each in parts])
        self.gradients = torch.zeros_like(self.weights)
        begin = 0
        for each in parts:  # from here on the network's parameters are windows on the vectors
            end = begin + each.numel()
            each.data = self.weights[begin:end].view_as(each)
            each.grad = self.gradients[begin:end].view_as(each)
            begin = end

    @property
    def bytes(self) -> int:
        """Bytes of the gradients."""
        return self.gradients.nbytes

    def message(self) -> torch.Tensor:
        """Return an empty message for weights or gradients, in the memory of the host."""
        return torch.zeros(HEADER + self.weights.numel())

    def take(self, weights: torch.Tensor) -> None:
        """Take weights, and begin with a new gradient."""
        self.weights.copy_(weights)
        self.gradients.zero_()

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the network's output."""
        return self.net(images)

    @torch.no_grad()
    def accuracy(self, images: torch.Tensor, labels: torch.Tensor) -> float:
        """Return the share of images that it knows."""
        self.net.eval()
        return (self.net(images).argmax(dim=1) == labels).float().mean().item()
