"""The network: a GPT-2 (Radford et al. 2019) in plain torch.nn, written for one GPU. It knows nothing of stages.

`hackathon plan model.py:gpt2_1558m --gpus 8 --memory 16GB --micro-batches 8` plans one of its sizes.
"""

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

PRESETS = {  # layers, heads, width, sequence; those of GPT-2 are named after their number of parameters
    "tiny": (2, 4, 96, 64),
    "gpt2-124m": (12, 12, 768, 1024),
    "gpt2-355m": (24, 16, 1024, 1024),
    "gpt2-774m": (36, 20, 1280, 1024),
    "gpt2-1558m": (48, 25, 1600, 1024),
}


@dataclass(frozen=True)
class Shape:
    """How large the network is."""

    layers: int
    heads: int
    width: int
    sequence: int
    vocabulary: int
    dropout: float = 0.0


class Attention(nn.Module):
    """Causal self-attention with several heads."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads, self.dropout = shape.heads, shape.dropout
        self.qkv = nn.Linear(shape.width, 3 * shape.width)
        self.out = nn.Linear(shape.width, shape.width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return what every position gathered from itself and those before it; batch × sequence × width."""
        batch, length, width = x.shape
        query, key, value = (
            each.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for each in self.qkv(x).split(width, dim=-1)
        )
        dropout = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(query, key, value, dropout_p=dropout, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """One layer: attention, then two linear layers, each added to what came in."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(shape.width), Attention(shape)
        self.norm2 = nn.LayerNorm(shape.width)
        self.up, self.down = nn.Linear(shape.width, 4 * shape.width), nn.Linear(4 * shape.width, shape.width)
        self.dropout = nn.Dropout(shape.dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh")))


class GPT(nn.Module):
    """Tokens in, a score for every possible next token out."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.positions = nn.Embedding(shape.sequence, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
            elif "norm" not in name:  # what is added to the residual stream is smaller the more layers add to it
                residual = name.endswith(("out.weight", "down.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * shape.layers) if residual else 0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return batch × sequence × vocabulary for batch × sequence; the last layer's weights are the embedding's."""
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return functional.linear(self.norm(x), self.tokens.weight)


def loss_of(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the mean cross entropy in nats a token, computed in fp32."""
    return functional.cross_entropy(scores.float().flatten(0, 1), targets.flatten())


# ---- for `hackathon plan model.py:NAME`: one micro-batch of four sequences


def _built(name: str, vocabulary: int = 50304) -> dict:
    net = GPT(Shape(*PRESETS[name], vocabulary))
    tokens = torch.zeros(4, net.shape.sequence, dtype=torch.long)
    return {"model": net, "args": (tokens,), "loss": loss_of, "target": tokens}


def tiny() -> dict:
    """Return the tiny model, whose tokens are bytes."""
    return _built("tiny", 256)


def gpt2_124m() -> dict:
    """Return GPT-2 with 124 million parameters."""
    return _built("gpt2-124m")


def gpt2_355m() -> dict:
    """Return GPT-2 with 355 million parameters."""
    return _built("gpt2-355m")


def gpt2_774m() -> dict:
    """Return GPT-2 with 774 million parameters."""
    return _built("gpt2-774m")


def gpt2_1558m() -> dict:
    """Return GPT-2 with 1558 million parameters."""
    return _built("gpt2-1558m")
