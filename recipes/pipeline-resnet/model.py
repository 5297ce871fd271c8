"""The networks, written for one GPU: they know nothing of stages.

`hackathon plan model.py:resnet50 --gpus 4 --memory 16GB --micro-batches 8` plans one of them.
"""

import torch
from resnet import Block, convolution, resnet
from torch import nn


def network(name: str, channels: int, classes: int) -> nn.Sequential:
    """Return `small`, for images of 8 × 8 pixels, or `resnet18`, `resnet50`."""
    if name != "small":
        return resnet(name, channels, classes)
    blocks = [Block(16, 16, 1, False), Block(16, 32, 2, False), Block(32, 64, 2, False)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes)]
    return nn.Sequential(convolution(channels, 16, 3), nn.ReLU(), *blocks, *head)


def _built(name: str, channels: int, classes: int, size: int) -> dict:
    images = torch.zeros(8, channels, size, size)
    target = torch.zeros(8, dtype=torch.long)
    net = network(name, channels, classes)
    return {"model": net, "args": (images,), "loss": nn.CrossEntropyLoss(), "target": target}


def small() -> dict:
    """Return the network for the digits, for micro-batches of 8."""
    return _built("small", 1, 10, 8)


def resnet18() -> dict:
    """Return ResNet-18 for ImageNet, for micro-batches of 8."""
    return _built("resnet18", 3, 1000, 224)


def resnet50() -> dict:
    """Return ResNet-50 for ImageNet, for micro-batches of 8."""
    return _built("resnet50", 3, 1000, 224)
