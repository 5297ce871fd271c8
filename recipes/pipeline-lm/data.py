"""The data: a novel whose bytes are the tokens, or random tokens to measure with; each process reads the same."""

from collections.abc import Iterator

import torch
from novel import novel

Batch = tuple[torch.Tensor, torch.Tensor]


class Text:
    """Batches of a novel.

    A step's batch depends on seed, step and its size alone, so a training can be cut and taken up at any step.
    """

    vocabulary = 256

    def __init__(self, sequence: int, sequences: int, seed: int) -> None:
        """`sequences` are those of a step, of all processes together."""
        self._train, self._test = novel()
        self._sequence, self._sequences, self._seed = sequence, sequences, seed
        if len(self._test) <= sequence * sequences:
            raise SystemExit(f"{sequences} sequences of {sequence} bytes are longer than the text to test with")

    def batch(self, step: int) -> Batch:
        """Return a step's (tokens, the tokens that follow them)."""
        generator = torch.Generator().manual_seed(self._seed * 1_000_003 + step)
        return self._windows(
            self._train, torch.randint(len(self._train) - self._sequence, (self._sequences,), generator=generator)
        )

    def test(self) -> Iterator[Batch]:
        """Yield the text to test with in batches of a step's size; what is left at its end is not used."""
        starts = torch.arange(0, len(self._test) - self._sequence, self._sequence)
        for own in starts.split(self._sequences):
            if len(own) == self._sequences:
                yield self._windows(self._test, own)

    def _windows(self, text: torch.Tensor, starts: torch.Tensor) -> Batch:
        places = starts[:, None] + torch.arange(self._sequence)
        return text[places], text[places + 1]


class Synthetic:
    """Random tokens, the same in every step; the vocabulary is GPT-2's, rounded up to a multiple of 128."""

    vocabulary = 50304

    def __init__(self, sequence: int, sequences: int, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        tokens = torch.randint(self.vocabulary, (sequences, sequence + 1), generator=generator)
        self._batch = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    def batch(self, step: int) -> Batch:
        """Return the tokens."""
        return self._batch
