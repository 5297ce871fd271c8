"""The fastest splits of layers by measured kernels, for a limit of workspace per layer or for all together.

A convolution of n samples equals convolutions of parts of them, and a faster kernel may fit into the workspace only
with fewer samples (Oyama, Ben-Nun, Hoefler, Matsuoka: Accelerating Deep Learning Frameworks with Micro-batches, CLUSTER
2018). Parts run one after another, so a layer needs the largest workspace of its parts; layers with a common limit have
separate workspaces.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hackathon.text.errors import RequestError

MOST_STATES = 100_000
"""Choices that the exact method stores at once; beyond them SciPy's solver takes over."""


@dataclass(frozen=True)
class Kernel:
    """A way to compute a layer for a number of samples, as measured."""

    seconds: float
    workspace: int
    """Bytes."""
    name: str = ""


@dataclass(frozen=True)
class LayerSplit:
    """How one layer is computed."""

    sizes: tuple[int, ...]
    """Samples of its parts, the largest first."""
    seconds: float
    workspace: int
    """Bytes, of the part that needs most."""


@dataclass(frozen=True)
class SharedSplit:
    """How all layers with a common limit are computed."""

    layers: tuple[LayerSplit, ...]
    method: Literal["exact", "milp"]

    @property
    def seconds(self) -> float:
        """Seconds of all layers together."""
        return sum(layer.seconds for layer in self.layers)

    @property
    def workspace(self) -> int:
        """Bytes of all layers together."""
        return sum(layer.workspace for layer in self.layers)


Kernels = Mapping[int, Sequence[Kernel]]
"""Samples → measured kernels."""


def fastest_split(kernels: Kernels, batch: int, limit: float) -> LayerSplit | None:
    """Return the fastest split of a layer whose parts need at most `limit` bytes each; None without one.

    Dynamic programme over the number of samples: time(n) = min over b of time(n − b) + time of b samples. Among equally
    fast splits the one with fewer parts is chosen.
    """
    steps = []
    for size, measured in sorted(kernels.items()):
        fitting = [kernel for kernel in measured if kernel.workspace <= limit]
        if 1 <= size <= batch and fitting:
            steps.append((size, min(fitting, key=lambda kernel: (kernel.seconds, kernel.workspace))))
    best: list[tuple[float, int] | None] = [(0.0, 0)]
    last: list[int] = [-1]
    for samples in range(1, batch + 1):
        fastest: tuple[float, int] | None = None
        chosen = -1
        for number, (size, kernel) in enumerate(steps):
            before = best[samples - size] if size <= samples else None
            if before is None:
                continue
            offered = before[0] + kernel.seconds, before[1] + 1
            if fastest is None or offered < fastest:
                fastest, chosen = offered, number
        best.append(fastest)
        last.append(chosen)
    if best[batch] is None:
        return None
    sizes, workspace, left, seconds = [], 0, batch, 0.0
    while left:
        size, kernel = steps[last[left]]
        sizes.append(size)
        seconds += kernel.seconds
        workspace = max(workspace, kernel.workspace)
        left -= size
    return LayerSplit(tuple(sorted(sizes, reverse=True)), seconds, workspace)


def splits_worth_having(kernels: Kernels, batch: int) -> list[LayerSplit]:
    """Return the Pareto-optimal splits of a layer by time and workspace, the smallest workspace first.

    The workspace of a split is that of one of its kernels, so trying each as a limit yields all.
    """
    splits: list[LayerSplit] = []
    for limit in sorted({kernel.workspace for measured in kernels.values() for kernel in measured}):
        split = fastest_split(kernels, batch, limit)
        if split is not None and (not splits or split.seconds < splits[-1].seconds):
            splits.append(split)
    return splits


def shared_split(layers: Sequence[tuple[Kernels, int]], limit: int) -> SharedSplit | None:
    """Return the fastest splits of all layers, (kernels, samples) each, that together need at most `limit` bytes.

    None when nothing fits. Exact: a multiple-choice knapsack by undominated sums. Beyond MOST_STATES sums by
    `scipy.optimize.milp`; raises RequestError when SciPy is missing then, because the result is unknown.
    """
    choices = [splits_worth_having(kernels, batch) for kernels, batch in layers]
    if any(not splits for splits in choices):
        return None
    chosen = _by_sums(choices, limit)
    if chosen is not None:
        return SharedSplit(chosen, "exact") if len(chosen) == len(layers) else None
    solved = by_milp(choices, limit)
    return SharedSplit(solved, "milp") if solved is not None else None


def _by_sums(choices: Sequence[Sequence[LayerSplit]], limit: int) -> tuple[LayerSplit, ...] | None:
    """Return the choices, () where nothing fits, None for too many sums."""
    states: list[tuple[int, float, tuple[int, ...]]] = [(0, 0.0, ())]
    remaining = [sum(splits[0].workspace for splits in choices[number:]) for number in range(len(choices) + 1)]
    for number, options in enumerate(choices):
        longer = [
            (workspace + split.workspace, seconds + split.seconds, (*chosen, at))
            for workspace, seconds, chosen in states
            for at, split in enumerate(options)
            if workspace + split.workspace + remaining[number + 1] <= limit
        ]
        longer.sort(key=lambda state: (state[0], state[1]))
        states = []
        for state in longer:
            if not states or state[1] < states[-1][1]:
                states.append(state)
        if len(states) > MOST_STATES:
            return None
        if not states:
            return ()
    best = min(states, key=lambda state: state[1])
    return tuple(options[at] for options, at in zip(choices, best[2], strict=True))


def by_milp(choices: Sequence[Sequence[LayerSplit]], limit: int) -> tuple[LayerSplit, ...] | None:
    """Return the choices by SciPy's solver of integer programs (HiGHS); None when nothing fits.

    Raises RequestError without SciPy, and when the solver gives up: the result is then unknown.
    """
    try:
        import numpy as np  # type: ignore[import-not-found, unused-ignore]
        from scipy.optimize import Bounds, LinearConstraint, milp  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        raise RequestError(
            "microbatch.no_scipy",
            "more than {states} choices have to be weighed, which needs SciPy: the best split is not known",
            hint="Install it: pip install scipy",
            states=MOST_STATES,
        ) from None
    least = sum(options[0].workspace for options in choices)
    if least > limit:
        return None
    flat = [(number, split) for number, options in enumerate(choices) for split in options]
    scale = max(max(split.seconds for split in options) for options in choices) * len(choices) or 1.0
    seconds = np.array([split.seconds for _, split in flat]) / scale * 1e6  # the solver's gap is 1e-6 at best
    one_each = np.zeros((len(choices), len(flat)))
    for at, (number, _) in enumerate(flat):
        one_each[number, at] = 1
    workspace = np.array([split.workspace for _, split in flat], dtype=float)
    room = max(1.0, float(limit))
    while True:
        solution = milp(
            seconds, integrality=np.ones(len(flat)), bounds=Bounds(0, 1), options={"mip_rel_gap": 0.0},
            constraints=[LinearConstraint(one_each, 1, 1), LinearConstraint(workspace / max(1.0, limit), -np.inf,
                                                                            room / max(1.0, limit))],
        )  # fmt: skip
        if solution.x is None:
            raise RequestError(
                "microbatch.not_solved", "the solver found no best split: {reason}", reason=solution.message
            )
        taken = [split for (_, split), value in zip(flat, solution.x, strict=True) if value > 0.5]
        if sum(split.workspace for split in taken) <= limit:
            return tuple(taken)
        room = min(room, float(limit)) * (1 - 1e-6)  # the solver exceeded the limit slightly
