"""Gradients of a batch computed in micro-batches, one after another: less memory, the same gradient.

    from micro_batches import MicroBatches
    micro = MicroBatches(loss_of)
    loss = micro.backward(model, images, labels)       # in the place of loss_of(model(images), labels).backward()

HACKATHON_MICRO_BATCHES says how a batch is cut: `4` into four as even parts as possible, `40,40,20` into these sizes;
without it the batch stays whole. `hackathon microbatch` finds the number for a limit of memory. The file needs PyTorch
and nothing else of the toolkit; with `layer_splits.py` beside it, single convolutions can be split, too.
"""

import json
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.parallel import DistributedDataParallel

try:
    import layer_splits
except ImportError:  # a program that copied this file alone
    layer_splits = None

VARIABLE, REPORT = "HACKATHON_MICRO_BATCHES", "micro_batches.json"
"""What says how a batch is cut, and the file of the run that says how one was."""


class MicroBatches:
    """Forward and backward of a batch in micro-batches; the gradients add up to the whole batch's.

    `loss_of(output, targets)` returns a scalar. What is exact (up to rounding), for any sizes of the parts:

    - `nn.CrossEntropyLoss` and `nn.NLLLoss`, also with class weights, `ignore_index` and label smoothing: the sum of a
      part is divided by the weights of the whole batch's targets, as the mean over the whole batch does;
    - any other mean over samples that all count alike, which most losses are: a part counts by its samples;
    - a sum (`reduction="sum"`): parts add up;
    - a mean that counts in another way, such as a function with `ignore_index` or a mask, with `count`: a function that
      returns by how much its targets count, `count=lambda labels: (labels != -100).sum()`.

    Not exact: a loss that compares samples with each other (contrastive losses), and batch normalisation, whose
    statistics are a part's. Dropout draws other random numbers. Modules of both kinds are named in a warning.
    """

    def __init__(
        self,
        loss_of: Callable[[Any, Any], torch.Tensor],
        parts: int | Sequence[int] | None = None,
        *,
        count: Callable[[Any], Any] | None = None,
        reduction: str | None = None,
    ) -> None:
        """`parts`: their number or their sizes, default HACKATHON_MICRO_BATCHES; `reduction`: `mean` or `sum`.

        Raises ValueError for parts that are none.
        """
        self._loss_of, self._count = loss_of, count
        self._parts = read_parts(os.environ.get(VARIABLE, "1")) if parts is None else _checked(parts)
        self._sum = (reduction or getattr(loss_of, "reduction", "mean")) == "sum"
        self._largest, self._ready = 0, False

    def backward(
        self,
        model: nn.Module,
        inputs: Any,
        targets: Any,
        *,
        share: float = 1.0,
        scale: Callable[[torch.Tensor], torch.Tensor] | None = None,
        precision: Callable[[], Any] = nullcontext,
        last: bool = True,
    ) -> torch.Tensor:
        """Add the gradient of `share` × the loss to the weights' gradients; return `share` × the loss, detached.

        `inputs` and `targets`: tensors, or tuples, lists and dictionaries of them, with a sample per row. `scale` is a
        GradScaler's; `precision` makes the context of forward. With DistributedDataParallel the gradients are averaged
        over the processes in the last part only; not even then unless this is the `last` batch of a step.
        """
        total = _rows(inputs)
        sizes = sizes_of(total, self._parts)
        if total > self._largest:
            self._largest = total
            _report(total, sizes, _told(model, sizes))
        measuring = self._prepared(model)
        weigh = self._weights(targets, total) if len(sizes) > 1 else _whole(self._loss_of)
        loss, begin = None, 0
        for number, size in enumerate(sizes):
            some, wanted = (_cut(each, begin, begin + size, total) for each in (inputs, targets))
            begin += size
            quiet = not (last and number == len(sizes) - 1) and isinstance(_wrapped(model), DistributedDataParallel)
            with _wrapped(model).no_sync() if quiet else nullcontext():
                with precision(), measuring or nullcontext():
                    part = weigh(model(some), wanted, size)
                    part = part if share == 1 else share * part
                (scale(part) if scale is not None else part).backward()
            loss = part.detach() if loss is None else loss + part.detach()
        if measuring is not None:
            layer_splits.report(measuring)
        return loss

    def first(self, batch: tuple[Any, Any]) -> tuple[Any, Any]:
        """Return the first part of (inputs, targets): what is computed of it beforehand needs no more memory."""
        total = _rows(batch[0])
        end = sizes_of(total, self._parts)[0]
        return _cut(batch[0], 0, end, total), _cut(batch[1], 0, end, total)

    def _prepared(self, model: nn.Module) -> Any:
        """Split single layers before the first batch, where the environment says so; return what is to be measured."""
        if self._ready or layer_splits is None:
            return None
        self._ready = True
        return layer_splits.from_environment(getattr(_wrapped(model), "module", _wrapped(model)))

    def _weights(self, targets: Any, total: int) -> Callable[[Any, Any, int], torch.Tensor]:
        """Return the function (output, targets, samples) → what a part adds to the loss of the whole batch."""
        loss_of = self._loss_of
        count = self._count or _counted(loss_of)
        if self._sum:
            return _whole(loss_of)
        if count is None:
            return lambda output, wanted, size: loss_of(output, wanted) * (size / total)
        whole = count(targets)

        def weighed(output: Any, wanted: Any, size: int) -> torch.Tensor:
            mine = count(wanted)
            if float(mine) == 0:  # its mean is 0 ÷ 0; the graph stays, for the other processes wait for its gradients
                return sum(each.sum() * 0 for each in _tensors(output))
            return loss_of(output, wanted) * (mine / whole)

        return weighed


def read_parts(text: str) -> int | list[int]:
    """Return what HACKATHON_MICRO_BATCHES says: a number of parts, or their sizes. Raises ValueError."""
    try:
        numbers = [int(word) for word in text.split(",")]
        return _checked(numbers if "," in text else numbers[0])
    except ValueError:
        raise ValueError(f"{VARIABLE} is a number of parts (4) or their sizes (40,40,20), not {text!r}") from None


def _checked(parts: int | Sequence[int]) -> int | list[int]:
    if isinstance(parts, int):
        if parts < 1:
            raise ValueError("a batch has at least one part")
        return parts
    if not parts or min(parts) < 1:
        raise ValueError("each part of a batch has at least one sample")
    return list(parts)


def sizes_of(total: int, parts: int | Sequence[int]) -> list[int]:
    """Return the sizes of the parts of a batch of `total` samples; those of a number of parts differ by at most one.

    Sizes that do not add up to the batch, such as the last one of an epoch, give as few parts as hold it with none
    above the largest size.
    """
    if isinstance(parts, int):
        number = max(1, min(parts, total))
    elif sum(parts) == total:
        return list(parts)
    else:
        number = max(1, -(-total // max(parts)))
    return [total // number + (each < total % number) for each in range(number)]


def _counted(loss_of: Callable) -> Callable[[Any], Any] | None:
    """Return how a loss that divides by more than the number of samples counts its targets; None for all others.

    With probabilities in the place of classes, the mean of CrossEntropyLoss is one over samples.
    """
    if not isinstance(loss_of, (nn.CrossEntropyLoss, nn.NLLLoss)) or loss_of.reduction != "mean":
        return None
    weight, ignored = loss_of.weight, loss_of.ignore_index

    def count(targets: torch.Tensor) -> torch.Tensor | int:
        if targets.is_floating_point():
            return targets.shape[0]
        kept = targets[targets != ignored]
        return kept.numel() if weight is None else weight.to(kept.device)[kept].sum()

    return count


def _whole(loss_of: Callable) -> Callable[[Any, Any, int], torch.Tensor]:
    return lambda output, wanted, size: loss_of(output, wanted)


def _wrapped(model: nn.Module) -> nn.Module:
    return getattr(model, "_orig_mod", model)  # torch.compile puts its own module around


def _told(model: nn.Module, sizes: Sequence[int]) -> list[str]:
    """Return the names of the modules that do not compute in parts what they compute at once; warn of them."""
    if len(sizes) < 2:
        return []
    named = [(name or type(each).__name__, each) for name, each in _wrapped(model).named_modules()]
    # without running statistics, batch normalisation looks at its batch in evaluation too
    norms = [
        name for name, each in named if isinstance(each, _BatchNorm) and (each.training or each.running_mean is None)
    ]
    drops = [name for name, each in named if isinstance(each, _DropoutNd) and each.training and each.p > 0]
    if norms:
        warnings.warn(
            f"batch normalisation sees {max(sizes)} samples at a time and not the {sum(sizes)} of the batch, so the "
            f"gradient is not the whole batch's: {_some(norms)}; group normalisation does not depend on it",
            stacklevel=3,
        )
    if drops:
        warnings.warn(
            f"dropout draws other random numbers in micro-batches than for a whole batch: {_some(drops)}", stacklevel=3
        )
    return norms


def _some(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _report(total: int, sizes: Sequence[int], norms: Sequence[str]) -> None:
    """Write into the run how the batch is cut; nothing outside one, and nothing in it makes a training fail."""
    if "HK_RUN" not in os.environ or os.environ.get("HK_RANK", "0") != "0":
        return
    told = {"batch": total, "sizes": list(sizes), "batch_normalisation": list(norms)}
    path = os.path.join(os.environ["HK_RUN"], REPORT)
    try:
        with open(path + ".tmp", "w") as stream:
            json.dump(told, stream)
        os.replace(path + ".tmp", path)
    except OSError as error:
        warnings.warn(f"{path} cannot be written: {error}", stacklevel=4)


def _tensors(value: Any) -> Iterable[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _tensors(each)
    elif hasattr(value, "values"):
        for each in value.values():
            yield from _tensors(each)


def _rows(value: Any) -> int:
    rows = next((len(each) for each in _tensors(value) if each.dim()), 0)
    if not rows:
        raise ValueError("micro-batches need a batch: a tensor with a sample per row")
    return rows


def _cut(value: Any, begin: int, end: int, total: int) -> Any:
    """Return rows of all tensors that have as many as the batch; what else there is belongs to every part."""
    if isinstance(value, torch.Tensor):
        return value[begin:end] if value.dim() and len(value) == total else value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_cut(each, begin, end, total) for each in value))
    if isinstance(value, (tuple, list)):
        return type(value)(_cut(each, begin, end, total) for each in value)
    if isinstance(value, dict):
        return {name: _cut(each, begin, end, total) for name, each in value.items()}
    return value
