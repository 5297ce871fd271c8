"""The text that the language models learn: a novel whose bytes are the tokens."""

from pathlib import Path

import torch

FILE = Path(__file__).with_name("pride-and-prejudice.txt")


def novel() -> tuple[torch.Tensor, torch.Tensor]:
    """Return (nine tenths to learn from, the last one to test) of Jane Austen's Pride and Prejudice, 684,768 bytes."""
    text = torch.frombuffer(bytearray(FILE.read_bytes()), dtype=torch.uint8)
    cut = len(text) * 9 // 10
    return text[:cut].long(), text[cut:].long()
