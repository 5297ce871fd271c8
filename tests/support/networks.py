"""Models that tests capture, cut and plan: the usual kinds, each by a function that `hackathon plan` calls.

Their default device decides where they are built. Sizes are tiny; the depth of ResNet-50 is the real one.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as functional
from torch import nn

Build = dict[str, Any]


def cross_entropy(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The loss of classifiers and language models."""
    return functional.cross_entropy(output.flatten(0, -2), target.flatten())


def mlp() -> Build:
    """A chain of linear layers."""
    layers = [nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.GELU(), nn.Dropout(0.1), nn.Linear(32, 10)]
    return {"model": nn.Sequential(*layers), "args": (torch.rand(8, 16), torch.randint(10, (8,))),
            "loss": cross_entropy}  # fmt: skip


class Bottleneck(nn.Module):
    """A block of ResNet-50: three convolutions, changed in place by ReLU, beside a short cut."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        after = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(before, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, after, 1, bias=False), nn.BatchNorm2d(after)
        self.relu = nn.ReLU(inplace=True)
        self.short: nn.Module = nn.Identity()
        if stride != 1 or before != after:
            self.short = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += self.short(x)
        return self.relu(y)


class ResNet50(nn.Module):
    """ResNet-50 with another width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
        self.relu, self.pool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        layers, before = [], width
        for number, count in enumerate((3, 4, 6, 3)):
            inner = width << number
            blocks = []
            for at in range(count):
                blocks.append(Bottleneck(before, inner, 2 if number and not at else 1))
                before = 4 * inner
            layers.append(nn.Sequential(*blocks))
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(before, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layers(self.pool(self.relu(self.bn1(self.conv1(x)))))
        return self.head(torch.flatten(functional.adaptive_avg_pool2d(x, 1), 1))


def resnet50(width: int = 2, pixels: int = 32, batch: int = 4) -> Build:
    """ResNet-50 for small images."""
    return {"model": ResNet50(width),
            "args": (torch.rand(batch, 3, pixels, pixels), torch.randint(10, (batch,))),
            "loss": cross_entropy}  # fmt: skip


class Layer(nn.Module):
    """A layer of a transformer, decoder style, with dropout; with `memory` it also reads an encoder."""

    def __init__(self, width: int, heads: int, causal: bool, across: bool = False) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)
        if across:
            self.norm3 = nn.LayerNorm(width)
            self.q, self.kv, self.out2 = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(width, width)

    def _attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Any, causal: bool) -> torch.Tensor:
        def split(x: torch.Tensor) -> torch.Tensor:
            return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        y = functional.scaled_dot_product_attention(split(q), split(k), split(v), attn_mask=mask, is_causal=causal)
        return y.transpose(1, 2).flatten(2)

    def forward(
        self, x: torch.Tensor, memory: torch.Tensor | None = None, mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
        x = x + self.drop(self.out(self._attend(q, k, v, mask, self.causal)))
        if memory is not None:
            k, v = self.kv(memory).chunk(2, -1)
            x = x + self.out2(self._attend(self.q(self.norm3(x)), k, v, None, False))
        return x + self.drop(self.down(functional.gelu(self.up(self.norm2(x)))))


class GPT(nn.Module):
    """A small GPT whose first and last layer share their weight."""

    def __init__(self, vocabulary: int, width: int, heads: int, depth: int, length: int, tied: bool = True) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList(Layer(width, heads, True) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        if tied:
            self.head.weight = self.embed.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens) + self.place(torch.arange(tokens.shape[1], device=tokens.device))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def language_model(vocabulary: int, width: int, heads: int, depth: int, length: int, batch: int) -> Build:
    """A tied GPT of any size."""
    tokens = torch.randint(vocabulary, (batch, length))
    return {"model": GPT(vocabulary, width, heads, depth, length), "args": (tokens, tokens.clone()),
            "loss": cross_entropy}  # fmt: skip


def gpt() -> Build:
    """A tied GPT of 3 layers."""
    return language_model(50, 16, 2, 3, 12, 4)


def gpt_small() -> Build:
    """A tied GPT of 100 M parameters."""
    return language_model(8192, 1024, 16, 8, 512, 4)


def gpt_10b() -> Build:
    """10.6 B parameters: 8 layers of width 10,240."""
    return language_model(50_000, 10_240, 80, 8, 2048, 1)


def gpt_100b() -> Build:
    """101 B parameters: 80 layers of width 10,240."""
    return language_model(50_000, 10_240, 80, 80, 2048, 1)


def gpt_1t() -> Build:
    """1,008 B parameters: 128 layers of width 25,600."""
    return language_model(50_000, 25_600, 200, 128, 2048, 1)


class BERT(nn.Module):
    """An encoder with a mask that answers with a dictionary, its loss among it."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.kind = nn.Embedding(50, 16), nn.Embedding(2, 16)
        self.layers = nn.ModuleList(Layer(16, 2, False) for _ in range(2))
        self.head = nn.Linear(16, 3)

    def forward(
        self, tokens: torch.Tensor, *, mask: torch.Tensor, kinds: torch.Tensor | None = None, labels: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        x = self.embed(tokens)
        if kinds is not None:
            x = x + self.kind(kinds)
        for layer in self.layers:
            x = layer(x, mask=mask[:, None, None, :])
        logits = self.head(x[:, 0])
        return {"loss": functional.cross_entropy(logits, labels), "logits": logits}


def bert() -> Build:
    """BERT with keyword arguments."""
    tokens = torch.randint(50, (4, 10))
    named = {"mask": torch.ones(4, 10, dtype=torch.bool), "kinds": torch.randint(2, (4, 10)),
             "labels": torch.randint(3, (4,))}  # fmt: skip
    return {"model": BERT(), "args": (tokens,), "kwargs": named}


class EncoderDecoder(nn.Module):
    """Encoder and decoder with one embedding, which is the head, too."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.encoder = nn.ModuleList(Layer(16, 2, False) for _ in range(2))
        self.decoder = nn.ModuleList(Layer(16, 2, True, across=True) for _ in range(2))

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        memory = self.embed(source)
        for layer in self.encoder:
            memory = layer(memory)
        x = self.embed(target)
        for layer in self.decoder:
            x = layer(x, memory)
        return functional.linear(x, self.embed.weight)


def encoder_decoder() -> Build:
    """A tied encoder–decoder."""
    tokens = torch.randint(50, (4, 9))
    return {"model": EncoderDecoder(), "args": (tokens, tokens[:, :7].clone(), tokens[:, :7].clone()),
            "loss": cross_entropy}  # fmt: skip


class UNet(nn.Module):
    """Two steps down, two steps up, with skips over the whole model."""

    def __init__(self) -> None:
        super().__init__()

        def block(before: int, after: int) -> nn.Module:
            return nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(inplace=True),
                                 nn.Conv2d(after, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU())  # fmt: skip

        self.down1, self.down2, self.bottom = block(3, 4), block(4, 8), block(8, 16)
        self.up2, self.up1 = nn.ConvTranspose2d(16, 8, 2, 2), nn.ConvTranspose2d(8, 4, 2, 2)
        self.join2, self.join1, self.head = block(16, 8), block(8, 4), nn.Conv2d(4, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.down1(x)
        second = self.down2(functional.max_pool2d(first, 2))
        x = self.up2(self.bottom(functional.max_pool2d(second, 2)))
        x = self.up1(self.join2(torch.cat([x, second], 1)))
        return self.head(self.join1(torch.cat([x, first], 1)))


def unet() -> Build:
    """A U-Net for 16 × 16 pixels."""
    return {"model": UNet(), "args": (torch.rand(2, 3, 16, 16), torch.randint(2, (2, 16, 16))),
            "loss": functional.cross_entropy}  # fmt: skip


class Tagger(nn.Module):
    """A recurrent network."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(30, 8)
        self.lstm = nn.LSTM(8, 12, num_layers=2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(12, 5)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(self.embed(tokens))[0])


def lstm() -> Build:
    """An LSTM over words."""
    tokens = torch.randint(5, (4, 6))
    return {"model": Tagger(), "args": (tokens, tokens.clone()), "loss": cross_entropy}


class Counter(nn.Module):
    """A model that counts its passes in a buffer, has a frozen layer, and one that is used twice."""

    seen: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.first, self.twice, self.frozen = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 6)
        self.frozen.requires_grad_(False)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen += 1
        return self.twice(torch.tanh(self.frozen(self.twice(self.first(x)))))


def counter() -> Build:
    """A buffer that changes, frozen parameters, and a layer that is used twice."""
    return {"model": Counter(), "args": (torch.rand(4, 6), torch.rand(4, 6)), "loss": functional.mse_loss}


# ---- models that cannot be captured


def _observe(module: nn.Module, inputs: Any, output: Any) -> None:
    """Watch a layer."""


def hooked() -> Build:
    """A user's model with a hook."""
    built = gpt()
    built["model"].layers[1].up.register_forward_hook(_observe)
    return built


class Branching(nn.Module):
    """A layer whose way depends on the values of a tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        if y.sum() > 0:  # the value decides
            y = 2 * y
        return y


class Outer(nn.Module):
    """A model with such a layer below."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.ModuleDict({"branch": Branching()})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner["branch"](torch.relu(x))


def branching() -> Build:
    """A model that cannot be captured, and has no chain of children to cut between."""
    return {"model": Outer(), "args": (torch.rand(4, 16),), "loss": lambda output: output.sum()}


def branching_chain() -> Build:
    """A model that cannot be captured, but is a chain of children."""
    layers = [nn.Linear(16, 16), Branching(), nn.Sequential(nn.Linear(16, 32), nn.ReLU()), nn.Linear(32, 10)]
    return {"model": nn.Sequential(*layers), "args": (torch.rand(8, 16), torch.randint(10, (8,))),
            "loss": cross_entropy}  # fmt: skip


def hooked_chain() -> Build:
    """A chain of children, one of which has a hook."""
    built = branching_chain()
    built["model"] = nn.Sequential(built["model"][0], nn.ReLU(inplace=True), built["model"][2:])
    built["model"][0].register_forward_hook(_observe)
    return built


CAPTURED: dict[str, Callable[[], Build]] = {
    each.__name__: each for each in (mlp, resnet50, gpt, bert, encoder_decoder, unet, lstm, counter)
}
