"""Small models that are cut into stages in tests: a chain, tied weights with dropout, skips over several stages."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from hackathon.parallel.live.seeds import mixed

WORDS, WIDTH, LENGTH = 13, 8, 6
"""Of the GPT: words, numbers of a word's vector, words of a text."""


class Chain(nn.Module):
    """Linear layers with batch normalisation, an operator in place, and dropout."""

    def __init__(self, dropout: float = 0.3) -> None:
        super().__init__()
        self.first, self.norm = nn.Linear(5, 12), nn.BatchNorm1d(12)
        self.middle, self.drop = nn.Linear(12, 12), nn.Dropout(dropout)
        self.last, self.unused = nn.Linear(12, 3), nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = F.relu(self.norm(self.first(x)), inplace=True)
        hidden = hidden + self.drop(F.gelu(self.middle(hidden)))
        return self.last(hidden)  # type: ignore[no-any-return]


class Block(nn.Module):
    """One layer of a GPT."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.mix, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        heads = [
            each.view(batch, length, 2, width // 2).transpose(1, 2) for each in self.mix(self.before(x)).chunk(3, -1)
        ]
        mixed_ = F.scaled_dot_product_attention(*heads, dropout_p=0.1 if self.training else 0.0, is_causal=True)
        x = x + self.out(mixed_.transpose(1, 2).reshape(batch, length, width))
        return x + F.dropout(self.narrow(F.gelu(self.wide(self.after(x)))), 0.2, self.training)


class GPT(nn.Module):
    """A GPT of two layers; the output layer may share its weights with the embedding. Its output is a mapping."""

    def __init__(self, tied: bool = True) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks, self.norm = nn.ModuleList([Block(), Block()]), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        if tied:
            self.head.weight = self.words.weight
        self.register_buffer("scale", torch.ones(WIDTH), persistent=False)

    def forward(
        self, text: torch.Tensor, weights: torch.Tensor | None = None, labels: torch.Tensor | None = None
    ) -> dict[str, Any]:
        x = self.words(text) + self.places(torch.arange(text.shape[1], device=text.device))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x) * self.scale)
        if weights is not None:
            logits = logits * weights.unsqueeze(-1)
        if labels is None:
            return {"logits": logits}
        return {"loss": F.cross_entropy(logits.flatten(0, 1), labels.flatten()), "logits": logits}


class UNet(nn.Module):
    """Two levels down and up, with skips and batch normalisation."""

    def __init__(self) -> None:
        super().__init__()

        def double(inside: int, outside: int) -> nn.Sequential:
            return nn.Sequential(nn.Conv2d(inside, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU(True))

        self.down1, self.down2, self.bottom = double(1, 4), double(4, 6), double(6, 8)
        self.up2, self.up1 = double(8 + 6, 6), double(6 + 4, 4)
        self.out = nn.Conv2d(4, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.down1(x)
        second = self.down2(F.max_pool2d(first, 2))
        deep = self.bottom(F.max_pool2d(second, 2))
        up = self.up2(torch.cat([F.interpolate(deep, scale_factor=2.0), second], 1))
        up = self.up1(torch.cat([F.interpolate(up, scale_factor=2.0), first], 1))
        return self.out(up)  # type: ignore[no-any-return]


NAMES: WeakKeyDictionary[nn.Module, str] = WeakKeyDictionary()
"""Each model that `example` has returned → its name."""


def example(name: str, samples: int) -> tuple[nn.Module, Any, Any]:
    """Return a model, a batch of so many samples, and its loss: the same numbers each time."""
    torch.manual_seed(7)
    model: nn.Module
    batch: Any
    loss: Any = F.cross_entropy
    if name == "chain":
        model, batch = Chain(), (torch.randn(samples, 5), torch.randint(0, 3, (samples,)))
    elif name == "unet":
        model, batch = UNet(), (torch.randn(samples, 1, 8, 8), torch.randint(0, 2, (samples, 8, 8)))
    else:
        model, text, loss = GPT(name == "gpt"), torch.randint(0, WORDS, (samples, LENGTH)), None
        batch = {"text": text, "weights": torch.rand(samples, LENGTH) + 0.5, "labels": text.roll(-1, 1)}
    NAMES[model] = name
    return model, batch, loss


class _Seeding(TorchDispatchMode):
    """Seeds before each operator that draws random numbers, as the runtime does: it knows of no graph."""

    def __init__(self, seed: int, step: int, micro_batch: int) -> None:
        super().__init__()
        self.numbers, self.count = (seed, step, micro_batch), 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch.Tag.nondeterministic_seeded in func.tags:
            torch.manual_seed(mixed(*self.numbers, self.count))
            self.count += 1
        return func(*args, **(kwargs or {}))


@contextmanager
def seeding(seed: int, step: int, micro_batch: int) -> Iterator[None]:
    """Make a plain program draw the random numbers that the runtime draws."""
    with _Seeding(seed, step, micro_batch):
        yield
