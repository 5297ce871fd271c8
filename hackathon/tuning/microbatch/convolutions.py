"""Splits of a program's convolutions: the job that measures their kernels, the plan, the final comparison."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hackathon.runs.directory import RunDirectory
from hackathon.text.json_fields import listed, mapping_of, mappings_of
from hackathon.text.numbers import finite, integer
from hackathon.tuning.measurement import STARTING, SingleProcess, SpeedupMeasurement
from hackathon.tuning.microbatch.layers import Kernel, Kernels, LayerSplit, fastest_split, shared_split
from hackathon.tuning.options import Option
from hackathon.tuning.verdict import OptionRow

MEASURE, VARIABLE, REPORT = "HACKATHON_MEASURE_LAYERS", "HACKATHON_LAYER_SPLITS", "layers.json"
WORTH = 0.05
"""Share of a layer's time that a split must save by the measured kernels; less is noise."""
MOST_BATCH = 1 << 16
FOLDER = "slots/0000"


def comparison_json(row: OptionRow | None) -> dict[str, Any]:
    """Return the verdict of a comparison, and the settings if the splits pay, as JSON values."""
    return {
        "comparison": row.as_json() if row is not None else None,
        "apply": dict(row.settings) if row is not None and row.wins else {},
    }


@dataclass(frozen=True)
class Layer:
    """One measured convolution."""

    name: str
    batch: int
    kernels: Kernels

    @property
    def whole(self) -> Kernel | None:
        """The fastest kernel of the whole batch."""
        return min(self.kernels.get(self.batch, ()), key=lambda kernel: kernel.seconds, default=None)


@dataclass(frozen=True)
class LayerPlan:
    """The convolutions to split."""

    layers: tuple[Layer, ...]
    splits: Mapping[str, LayerSplit]
    """Splits of the layers that gain, by the measured kernels."""
    seconds: float
    """Seconds of all unchanged layers: forward and backward, whole batches."""
    planned: float
    """Seconds of all layers with the splits."""

    @property
    def option(self) -> Option:
        """Return it as an option to compare with the unchanged program.

        The results of the computation stay the same, so no loss is compared.
        """
        sizes = {name: list(split.sizes) for name, split in self.splits.items()}
        return Option("layers", "layers", "nothing", {f"env.{VARIABLE}": json.dumps(sizes, separators=(",", ":"))})

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "layers": [
                {
                    "name": layer.name, "batch": layer.batch, "seconds": layer.whole.seconds if layer.whole else None,
                    "sizes": list(self.splits[layer.name].sizes) if layer.name in self.splits else [layer.batch],
                    "planned_seconds": self.splits[layer.name].seconds if layer.name in self.splits else None,
                }
                for layer in self.layers
            ],
            "seconds": self.seconds, "planned_seconds": self.planned,
        }  # fmt: skip


def kernel_measurement(program: SingleProcess, seconds: int) -> SpeedupMeasurement:
    """Return the job that measures the kernels of a program's convolutions."""
    task = {
        "kind": "comparison", "seconds": seconds, "starting": STARTING, "arms": [[program.command({})]],
        "slots": [{"arm": 0, "round": 0, "variables": {MEASURE: "1"}}],
    }  # fmt: skip
    return program.measurement(task, program.walltime(1, seconds + STARTING))


def read_layers(run: RunDirectory) -> list[Layer]:
    """Return the convolutions that a run measured; none when the program measures nothing."""
    layers = []
    for name, entry in mappings_of(run.files.json(f"{FOLDER}/{REPORT}", 1 << 22)).items():
        batch = integer(entry.get("batch"))
        kernels: dict[int, list[Kernel]] = {}
        for size, measured in mapping_of(entry.get("kernels")).items():
            numbers = [finite(number) for number in listed(measured)]
            if not size.isdecimal() or len(size) > 9 or len(numbers) != 2:
                continue
            seconds, workspace = numbers
            if seconds is not None and workspace is not None and seconds > 0 and workspace >= 0:
                kernels[int(size)] = [Kernel(seconds, int(workspace))]
        if batch is not None and 0 < batch <= MOST_BATCH and batch in kernels:
            layers.append(Layer(name, batch, kernels))
    return layers


def plan_layers(layers: Sequence[Layer], limit: float, shared: bool = False) -> LayerPlan | None:
    """Return the fastest splits for `limit` bytes of workspace: per layer, or for all together if `shared`.

    None when a layer does not fit. Raises the errors of `shared_split`.
    """
    if shared:
        together = shared_split([(layer.kernels, layer.batch) for layer in layers], int(limit))
        best: list[LayerSplit | None] = list(together.layers) if together is not None else [None]
    else:
        best = [fastest_split(layer.kernels, layer.batch, limit) for layer in layers]
    if any(split is None for split in best):
        return None
    splits: dict[str, LayerSplit] = {}
    seconds = planned = 0.0
    for layer, split in zip(layers, best, strict=True):
        kernel = layer.whole
        if kernel is None or split is None:
            continue
        needed = kernel.workspace > limit
        pays = len(split.sizes) > 1 and (needed or shared or split.seconds <= (1 - WORTH) * kernel.seconds)
        if pays:
            splits[layer.name] = split
        seconds += kernel.seconds
        planned += split.seconds if pays else kernel.seconds
    return LayerPlan(tuple(layers), splits, seconds, planned)
