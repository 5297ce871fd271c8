"""The data: handwritten digits, a folder of a team's own images, or random images to measure with."""

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path

import torch
from hackathon_runtime import Identity
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset, TensorDataset

Batch = tuple[torch.Tensor, torch.Tensor]
IMAGES = {".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp"}


class Share(DistributedSampler):
    """A rank's share of the data, shuffled anew every epoch, the same way on all ranks; from `first` on."""

    first = 0

    def __iter__(self) -> Iterator[int]:
        return itertools.islice(super().__iter__(), self.first, None)


class Samples:
    """Samples to learn from and samples to test with, brought to the device in batches."""

    def __init__(
        self, train: Dataset, test: Dataset, shape: tuple[int, int], args: argparse.Namespace, me: Identity,
        device: torch.device,
    ) -> None:  # fmt: skip
        self.channels, self.classes = shape
        self.test_size, self._args, self._device = len(test), args, device
        self._share = Share(train, me.world_size, me.rank, shuffle=True, seed=args.seed)
        loading = {"num_workers": args.workers, "pin_memory": args.pin_memory}
        if args.workers:
            loading["prefetch_factor"] = args.prefetch
        self._test = DataLoader(Subset(test, range(me.rank, len(test), me.world_size)), args.batch_size, **loading)
        # a generator of its own: the loader draws a number per epoch, which must not disturb a resumed run's dropout;
        # one for each rank, for it seeds the workers, which cut and mirror images
        self._train = DataLoader(
            train, args.batch_size, sampler=self._share, drop_last=True, persistent_workers=args.workers > 0,
            generator=torch.Generator().manual_seed(args.seed + me.rank), **loading,
        )  # fmt: skip
        self.steps = len(self._train) // args.accumulate
        if self.steps == 0:
            raise SystemExit(
                f"a process has {len(self._share)} samples, fewer than {args.accumulate} × {args.batch_size} for one "
                "step: take a smaller --batch-size or --accumulate, fewer processes or --data synthetic"
            )

    def epoch(self, number: int, first_step: int = 0) -> Iterator[Batch]:
        """Yield this rank's batches of an epoch, from a step on; a step may have several batches."""
        self._share.set_epoch(number)
        self._share.first = first_step * self._args.accumulate * self._args.batch_size
        return map(self._place, self._train)

    def test(self) -> Iterator[Batch]:
        """Yield this rank's share of the samples to test with."""
        return map(self._place, self._test)

    def _place(self, batch: Batch) -> Batch:
        """Bring a batch to the device; pinned memory is copied while the device computes."""
        return place(batch[0], self._device, self._args), batch[1].to(self._device, non_blocking=True)


def place(images: torch.Tensor, device: torch.device, args: argparse.Namespace) -> torch.Tensor:
    """Return the images on the device; bytes become numbers there, for they are a quarter as much to move."""
    layout = torch.channels_last if args.channels_last else torch.preserve_format
    images = images.to(device, non_blocking=True, memory_format=layout)
    return (images.float() - 115) / 58 if images.dtype == torch.uint8 else images


def digits(args: argparse.Namespace, me: Identity, device: torch.device) -> Samples:
    """Return the 1797 handwritten digits of scikit-learn (8 × 8 pixels, 10 classes): 1437 to train, 360 to test."""
    from sklearn.datasets import load_digits

    loaded = load_digits()
    images = torch.tensor(loaded.images, dtype=torch.float32)[:, None] / 16
    labels = torch.tensor(loaded.target, dtype=torch.int64)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))  # one split for all seeds
    train, test = (TensorDataset(images[part], labels[part]) for part in (order[360:], order[:360]))
    return Samples(train, test, (1, 10), args, me, device)


def folder(args: argparse.Namespace, me: Identity, device: torch.device) -> Samples:
    """Return the images under `--image-folder`: one folder per class, in `train` and `val` (or `test`) or without them.

    Without a part to test with, every fifth image of each class is kept for that.
    """
    root = Path(args.image_folder)
    parts = root / "train" if (root / "train").is_dir() else root
    classes = sorted(each.name for each in parts.iterdir() if each.is_dir())
    train = _files(parts, classes)
    held = [root / name for name in ("val", "test") if parts != root and (root / name).is_dir()]
    if held:
        test = _files(held[0], classes)
    else:
        test, train = train[::5], [file for number, file in enumerate(train) if number % 5]
    if len(classes) < 2 or not test:
        raise SystemExit(f"{parts} has {len(classes)} folders with {len(train)} images: it needs one folder per class")
    sets = (Images(train, args.image_size, True), Images(test, args.image_size, False))
    return Samples(*sets, (3, len(classes)), args, me, device)


def _files(parts: Path, classes: list[str]) -> list[tuple[Path, int]]:
    """Return the images of each class with the class's number, the same order on every rank."""
    return [
        (path, number)
        for number, name in enumerate(classes)
        for path in sorted((parts / name).rglob("*"))
        if path.suffix.lower() in IMAGES
    ]


class Images(Dataset):
    """Image files as bytes of 3 × size × size: to learn, a random part and its mirror image, else the middle."""

    def __init__(self, files: list[tuple[Path, int]], size: int, learn: bool) -> None:
        self._files, self._size, self._learn = files, size, learn

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, number: int) -> tuple[torch.Tensor, int]:
        import numpy
        from PIL import Image, ImageOps

        path, label = self._files[number]
        chance = torch.rand(4).tolist() if self._learn else [1.0, 0.5, 0.5, 0.0]
        with Image.open(path) as image:
            image.draft("RGB", (self._size * 2, self._size * 2))  # JPEG: decode no more than is needed
            side = min(image.size) * (0.5 + chance[0] / 2)
            left, top = (chance[1] * (image.width - side), chance[2] * (image.height - side))
            box = (left, top, left + side, top + side)
            part = image.convert("RGB").resize((self._size,) * 2, Image.Resampling.BILINEAR, box)
        part = ImageOps.mirror(part) if chance[3] > 0.5 else part
        return torch.from_numpy(numpy.array(part)).permute(2, 0, 1).contiguous(), label


class Synthetic:
    """One random batch of images in ImageNet's shape (3 × size × size, 1000 classes), again and again."""

    channels, classes, test_size = 3, 1000, 0

    def __init__(self, args: argparse.Namespace, me: Identity, device: torch.device) -> None:
        generator = torch.Generator().manual_seed(args.seed + me.rank)
        images = torch.randn(args.batch_size, 3, args.image_size, args.image_size, generator=generator)
        labels = torch.randint(self.classes, (args.batch_size,), generator=generator)
        self._batch = place(images, device, args), labels.to(device)
        self.steps = args.steps_per_epoch

    def epoch(self, number: int, first_step: int = 0) -> Iterator[Batch]:
        """Yield the batch without end."""
        return itertools.repeat(self._batch)
