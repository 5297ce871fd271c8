# Copy of recipes/shared/data.py, written by `make recipes`; edit it there.
"""The data: handwritten digits to learn from, or random images in ImageNet's shape to measure with."""

from collections.abc import Iterator

import torch
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

Batch = tuple[torch.Tensor, torch.Tensor]


class Digits:
    """The 1797 handwritten digits that come with scikit-learn (8 × 8 pixels, 10 classes): 1437 to train, 360 to test.

    Every epoch is shuffled anew, the same way on all ranks, and each rank takes its share (DistributedSampler).
    """

    channels, classes = 1, 10

    def __init__(self, batch_size: int, seed: int, rank: int, world_size: int, device: torch.device) -> None:
        from sklearn.datasets import load_digits

        digits = load_digits()
        images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
        labels = torch.tensor(digits.target, dtype=torch.int64)
        order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))  # one split for all seeds
        test, train = order[:360], order[360:]
        share = test[rank::world_size]
        self.test: Batch = (images[share].to(device), labels[share].to(device))
        self.test_size, self.train_size = len(test), len(train)
        dataset = TensorDataset(images[train], labels[train])
        self._sampler = DistributedSampler(dataset, world_size, rank, shuffle=True, seed=seed)
        # a generator of its own: the loader draws a number per epoch, which must not disturb a resumed run's dropout
        self._loader = DataLoader(
            dataset, batch_size, sampler=self._sampler, drop_last=True, generator=torch.Generator().manual_seed(seed)
        )
        self._device = device
        self.steps = len(self._loader)
        if self.steps == 0:
            raise SystemExit(
                f"a process has {len(self._sampler)} digits, fewer than one batch of {batch_size}: "
                "take a smaller --batch-size or fewer processes"
            )

    def epoch(self, number: int, first_step: int = 0) -> Iterator[Batch]:
        """Yield this rank's batches of an epoch, from `first_step` on."""
        self._sampler.set_epoch(number)
        for step, (images, labels) in enumerate(self._loader):
            if step >= first_step:
                yield images.to(self._device), labels.to(self._device)


class Synthetic:
    """One random batch of images in ImageNet's shape (3 × size × size, 1000 classes), again and again."""

    channels, classes = 3, 1000
    test = None

    def __init__(self, batch_size: int, size: int, steps: int, seed: int, rank: int, device: torch.device) -> None:
        generator = torch.Generator().manual_seed(seed + rank)
        images = torch.randn(batch_size, self.channels, size, size, generator=generator)
        labels = torch.randint(self.classes, (batch_size,), generator=generator)
        self._batch = images.to(device), labels.to(device)
        self.steps = steps

    def epoch(self, number: int, first_step: int = 0) -> Iterator[Batch]:
        """Yield the batch for each step from `first_step` on."""
        for _ in range(first_step, self.steps):
            yield self._batch
