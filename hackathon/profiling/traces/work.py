"""Compute an operator's work from shapes in a trace: its FLOPs and the bytes that it reads and writes. Pure.

It counts like torch's own counter: matrix products, convolutions and attention, with a multiplication and an addition
as two FLOPs (torch.utils.flop_counter). Bytes are those of the operands and the result, each once: a cache can save
some, a second pass can cost more.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

SIZES = {"double": 8, "float": 4, "c10::BFloat16": 2, "c10::Half": 2, "long int": 8, "int": 4, "bool": 1}
"""Type of an input in a trace → bytes of an element."""
NAMES = {"double": "fp64", "float": "fp32", "c10::BFloat16": "bf16", "c10::Half": "fp16"}
"""Type of an input in a trace → its name in a cluster's profile."""
LARGEST = 10**12
"""Highest plausible number of elements along a dimension."""
DIMENSIONS = 8
ATTENTION = re.compile(r"aten::_scaled_dot_product_(?:flash|efficient|cudnn)_attention(?:_for_cpu)?(_backward)?\Z")
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Work:
    """The work of one call of an operator."""

    flops: float
    bytes: float
    precision: str
    """`fp32`, `bf16` …, that of its first input."""


def work_of(name: str, arguments: Mapping[str, Any]) -> Work | None:
    """Return an operator's work; None for an operator that is not counted or has no recorded shapes."""
    rule = _RULES.get(name) or (_attention if ATTENTION.match(name) else None)
    if rule is None:
        return None
    shapes, kinds, words = _shapes(arguments.get("Input Dims")), arguments.get("Input type"), _words(arguments)
    if shapes is None or not isinstance(kinds, list) or not kinds:
        return None
    precision, size = NAMES.get(str(kinds[0])), SIZES.get(str(kinds[0]))
    if precision is None or size is None:
        return None
    try:
        counts = rule(name, shapes, words)
    except (IndexError, ValueError, ZeroDivisionError):
        return None
    if counts is None:
        return None
    flops, elements = counts
    if not 0 <= flops < 1e30 or not 0 <= elements < 1e30:
        return None
    return Work(float(flops), float(elements) * size, precision)


def _shapes(value: Any) -> list[Shape] | None:
    """Return the shape of each input, () for one that is not a tensor; None unless it is a list of shapes."""
    if not isinstance(value, list):
        return None
    shapes: list[Shape] = []
    for shape in value:
        # the trace reader parses every number as a float
        if isinstance(shape, list) and len(shape) <= DIMENSIONS and all(_is_size(size) for size in shape):
            shapes.append(tuple(int(size) for size in shape))
        else:
            shapes.append(())
    return shapes


def _is_size(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= LARGEST and value % 1 == 0


def _words(arguments: Mapping[str, Any]) -> list[str]:
    value = arguments.get("Concrete Inputs")
    return [str(word)[:100] for word in value[:32]] if isinstance(value, list) else []


def _numbers(words: Sequence[str], at: int) -> list[int]:
    return [int(digits) for digits in re.findall(r"-?\d{1,9}", words[at])]


def _matrices(a: Shape, b: Shape) -> tuple[int, int] | None:
    """Return (FLOPs, elements) of a product of two matrices."""
    if len(a) != 2 or len(b) != 2 or a[1] != b[0]:
        return None
    return 2 * a[0] * a[1] * b[1], prod(a) + prod(b) + a[0] * b[1]


def _mm(name: str, shapes: list[Shape], words: list[str]) -> tuple[int, int] | None:
    return _matrices(shapes[0], shapes[1])


def _addmm(name: str, shapes: list[Shape], words: list[str]) -> tuple[int, int] | None:
    counts = _matrices(shapes[1], shapes[2])
    return (counts[0], counts[1] + prod(shapes[0])) if counts and shapes[0] else counts


def _bmm(name: str, shapes: list[Shape], words: list[str]) -> tuple[int, int] | None:
    a, b = shapes[1:3] if name.endswith("baddbmm") else shapes[:2]
    if len(a) != 3 or len(b) != 3 or a[0] != b[0]:
        return None
    counts = _matrices(a[1:], b[1:])
    return (a[0] * counts[0], a[0] * counts[1]) if counts else None


def _convolution(name: str, shapes: list[Shape], words: list[str]) -> tuple[int, int] | None:
    """Count a forward pass: input, weight, bias, stride, padding, dilation, transposed, output padding, groups."""
    inputs, weight = shapes[0], shapes[1]
    if words[6].lower() != "false" or len(inputs) != len(weight) or len(inputs) < 3:
        return None  # the result's shape of a transposed one is not computed
    stride, padding, dilation = (_numbers(words, at) for at in (3, 4, 5))
    spatial = [
        (size + 2 * pad - dilate * (kernel - 1) - 1) // step + 1
        for size, kernel, step, pad, dilate in zip(inputs[2:], weight[2:], stride, padding, dilation, strict=True)
    ]
    if any(size < 0 for size in spatial):
        return None
    result = inputs[0] * weight[0] * prod(spatial)
    return 2 * result * prod(weight[1:]), prod(inputs) + prod(weight) + result


def _convolution_backward(name: str, shapes: list[Shape], words: list[str]) -> tuple[int, int] | None:
    """Count a backward pass: gradient of the result, input, weight, …, transposed at 7, required gradients at 10."""
    gradient, inputs, weight = shapes[:3]
    if words[7].lower() != "false" or len(gradient) < 3 or len(inputs) != len(weight):
        return None
    flags = [word.lower() == "true" for word in re.findall(r"[A-Za-z]+", words[10])]
    count = sum(flags[:2])
    read = (
        count * (prod(gradient)) + flags[0] * (prod(weight) + prod(inputs)) + flags[1] * (prod(inputs) + prod(weight))
    )
    return count * 2 * prod(gradient) * prod(weight[1:]), read


def _attention(name: str, shapes: list[Shape], words: list[str]) -> tuple[int, int] | None:
    """Count two products for forward; five for backward: the scores again, and a gradient for each operand of both."""
    match = ATTENTION.match(name)
    backward = match is not None and bool(match[1])
    query, key, value = shapes[1:4] if backward else shapes[:3]
    if not len(query) == len(key) == len(value) == 4 or query[3] != key[3] or key[2] != value[2]:
        return None
    scores = 2 * query[0] * query[1] * query[2] * key[2] * query[3]
    weighted = 2 * query[0] * query[1] * query[2] * key[2] * value[3]
    result = prod(query[:3]) * value[3]
    operands = prod(query) + prod(key) + prod(value)
    if backward:
        return 3 * scores + 2 * weighted, 2 * operands + 2 * result
    return scores + weighted, operands + result


_RULES = {
    "aten::mm": _mm, "aten::addmm": _addmm, "aten::bmm": _bmm, "aten::baddbmm": _bmm,
    "aten::convolution": _convolution, "aten::convolution_backward": _convolution_backward,
}  # fmt: skip
