"""The data: a novel whose bytes are the tokens, or random tokens to measure with."""

from collections.abc import Iterator

import torch
from novel import novel

Batch = tuple[torch.Tensor, torch.Tensor]


class Text:
    """Batches of a novel.

    A step's batch depends on seed and step alone: each rank draws the places of all ranks' sequences and reads its own
    share. So a training can be cut and taken up at any step and by any number of processes.
    """

    vocabulary = 256

    def __init__(self, sequence: int, sequences: int, seed: int, rank: int, world_size: int, device) -> None:
        """`sequences` are those of this rank in a step."""
        self._train, self._test = (part.to(device) for part in novel())
        self._sequence, self._sequences, self._seed = sequence, sequences, seed
        self._rank, self._world_size, self._device = rank, world_size, device
        if len(self._test) <= sequence:
            raise SystemExit(f"a sequence of {sequence} bytes is longer than the text to test with: lower --sequence")

    def batches(self, step: int, parts: int) -> Iterator[Batch]:
        """Yield this rank's share of a step in `parts` parts, each as (tokens, the tokens that follow them)."""
        generator = torch.Generator().manual_seed(self._seed * 1_000_003 + step)
        total = self._sequences * self._world_size
        starts = torch.randint(len(self._train) - self._sequence, (total,), generator=generator)
        own = starts[self._rank * self._sequences : (self._rank + 1) * self._sequences].to(self._device)
        for places in own.chunk(parts):
            yield self._windows(self._train, places)

    def test(self, size: int) -> Iterator[tuple[torch.Tensor, torch.Tensor, int]]:
        """Yield this rank's share of the test text: (tokens, followers, how many sequences of these count).

        All ranks yield equally often and equally much, for to compute with shards takes all of them; what is there only
        to fill up does not count.
        """
        starts = torch.arange(0, len(self._test) - self._sequence, self._sequence, device=self._device)
        for first in range(0, len(starts), size * self._world_size):
            own = starts[first + self._rank * size :][:size]
            filled = torch.cat([own, starts[: size - len(own)]])
            yield *self._windows(self._test, filled), len(own)

    def _windows(self, text: torch.Tensor, starts: torch.Tensor) -> Batch:
        places = starts[:, None] + torch.arange(self._sequence, device=self._device)
        return text[places], text[places + 1]


class Synthetic:
    """Random tokens, the same in every step; the vocabulary is GPT-2's, rounded up to a multiple of 128."""

    vocabulary = 50304

    def __init__(self, sequence: int, sequences: int, seed: int, rank: int, world_size: int, device) -> None:
        generator = torch.Generator().manual_seed(seed + rank)
        tokens = torch.randint(self.vocabulary, (sequences, sequence + 1), generator=generator).to(device)
        self._batch = tokens[:, :-1], tokens[:, 1:]

    def batches(self, step: int, parts: int) -> Iterator[Batch]:
        """Yield the tokens in `parts` parts."""
        yield from zip(*(each.chunk(parts) for each in self._batch), strict=True)
