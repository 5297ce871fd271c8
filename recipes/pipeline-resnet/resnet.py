# Copy of recipes/shared/resnet.py, written by `make recipes`; edit it there.
"""ResNet-18 and ResNet-50 in plain torch.nn (He et al., Deep Residual Learning for Image Recognition, 2015)."""

import torch
from torch import nn


def convolution(inputs: int, outputs: int, size: int, stride: int = 1) -> nn.Sequential:
    """Return a convolution that keeps the image's size (at stride 1), with batch normalisation."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False), nn.BatchNorm2d(outputs)
    )


class Block(nn.Module):
    """A residual block: two 3×3 convolutions, or for deep networks 1×1, 3×3, 1×1 with four times the outputs."""

    def __init__(self, inputs: int, width: int, stride: int, deep: bool) -> None:
        super().__init__()
        outputs = width * 4 if deep else width
        if deep:
            # the stride lies in the 3×3 convolution, as in most implementations since 2016 ("v1.5")
            first, last = convolution(inputs, width, 1), convolution(width, outputs, 1)
            self.body = nn.Sequential(first, nn.ReLU(), convolution(width, width, 3, stride), nn.ReLU(), last)
        else:
            self.body = nn.Sequential(convolution(inputs, width, 3, stride), nn.ReLU(), convolution(width, outputs, 3))
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else convolution(inputs, outputs, 1, stride)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(images) + self.shortcut(images))


def resnet(name: str, channels: int, classes: int) -> nn.Sequential:
    """Return `resnet18` (11.7 million parameters for ImageNet) or `resnet50` (25.6 million)."""
    blocks, deep = {"resnet18": ((2, 2, 2, 2), False), "resnet50": ((3, 4, 6, 3), True)}[name]
    layers = [convolution(channels, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1)]
    inputs = 64
    for stage, count in enumerate(blocks):
        for number in range(count):
            width, stride = 64 * 2**stage, 2 if stage > 0 and number == 0 else 1
            layers.append(Block(inputs, width, stride, deep))
            inputs = width * 4 if deep else width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))
