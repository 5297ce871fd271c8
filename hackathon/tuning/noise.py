"""The gradient noise scale: the batch size above which a larger batch saves few steps.

McCandlish et al. 2018, "An Empirical Model of Large-Batch Training", section 2.2 and appendix A.1: the squared norm of
the gradient of b samples is |G|² + S/b on average. Two batch sizes yield unbiased estimates of both; their ratio
S/|G|², in samples, predicts the critical batch size. It grows during a training.
"""

import math
from dataclasses import dataclass
from typing import Any

from hackathon.text.json_fields import mapping_of
from hackathon.text.numbers import finite, integer


@dataclass(frozen=True)
class NoiseScale:
    """The noise scale at one time of a training."""

    samples: float | None
    """None above the larger batch, where estimates are unreliable: `large` is then its lower bound."""
    small: int
    """Samples of the smaller measured batch."""
    large: int

    @property
    def bound(self) -> float:
        """The noise scale, or its lower bound."""
        return self.large if self.samples is None else self.samples

    def rate_factor(self, first: int, batch: int) -> float:
        """Return the factor of SGD's best learning rate from one batch to another: ε ∝ 1/(1 + noise/batch), eq. 2.6."""
        return (1 + self.bound / first) / (1 + self.bound / batch)

    @classmethod
    def of_norms(cls, value: object) -> "NoiseScale | None":
        """Return it from an observer's file; None unless that has norms of two batches."""
        entry = mapping_of(value)
        small, large = integer(entry.get("small")), integer(entry.get("large"))
        squares, square = finite(entry.get("small_square")), finite(entry.get("large_square"))
        if small is None or large is None or not 0 < small < large or squares is None or square is None or squares <= 0:
            return None
        return cls(noise_scale(small, squares, large, square), small, large)

    @classmethod
    def from_json(cls, value: object) -> "NoiseScale | None":
        """Return it from its JSON values; None for others."""
        entry = mapping_of(value)
        small, large, samples = integer(entry.get("small")), integer(entry.get("large")), finite(entry.get("samples"))
        if small is None or large is None or not 0 < small < large or (samples is not None and samples <= 0):
            return None
        return cls(samples, small, large)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"samples": self.samples, "at_least": self.bound, "small": self.small, "large": self.large}


def noise_scale(small: int, small_square: float, large: int, large_square: float) -> float | None:
    """Return S/|G|² in samples from the mean squared norms of gradients of two batch sizes.

    None above the larger batch, or when these norms do not determine it.
    """
    signal = (large * large_square - small * small_square) / (large - small)
    noise = (small_square - large_square) / (1 / small - 1 / large)
    if signal <= 0:
        return None
    scale = max(0.0, noise) / signal
    return max(scale, 1.0) if math.isfinite(scale) and scale <= large else None
