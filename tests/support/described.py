"""Captures models, plans them, cuts them by their plans, and checks that nothing is lost.

`python -m support.described FILE` does it for all models of a file, also in another Python, and prints name → numbers
as JSON.
"""

import contextlib
import importlib.util
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from hackathon.parallel.description.built import Built, Capture, build
from hackathon.parallel.description.measure import DevicePeaks, times_of
from hackathon.parallel.description.walk import Walk
from hackathon.parallel.live.capture import Captured, capture
from hackathon.parallel.live.split import split
from hackathon.parallel.plan.devices import Devices
from hackathon.parallel.plan.graph import graph_of
from hackathon.parallel.plan.plan import make_plan
from hackathon.parallel.plan.request import PlanRequest

PEAKS = DevicePeaks({"fp32": 1e10}, 1e9)


class Described:
    """A model with its captured graph and graph.json."""

    def __init__(self, function: Callable[[], Any], device: str = "meta") -> None:
        with _still():
            self.built: Built = build(function, Path(__file__), device)
            built = self.built
            if device == "meta":
                self.captured: Captured = Capture.of(built).captured
            else:
                self.captured = capture(
                    built.model, built.args, built.kwargs, built.loss, built.target, evaluation=False
                )
            self.walk = Walk(self.captured)
        times = times_of(self.walk.signatures, self.walk.counts, PEAKS, None, 0.0)
        self.json: dict[str, Any] = self.walk.graph(times)

    def parameters(self) -> float:
        """Return the trainable bytes that graph.json counts, shared ones once."""
        shared = sum((len(each["operators"]) - 1) * each["bytes"] for each in self.json["aliases"])
        return float(sum(each["parameters"] for each in self.json["operators"]) - shared)

    def stages(self, count: int) -> list[list[str]]:
        """Return the stages of a plan with so many stages; a memory that nothing exceeds."""
        devices = Devices(count, 1e18, 1e10, allreduce_bandwidth=1e10)
        request = PlanRequest(graph_of(self.json, "graph"), devices, 4, "max-load", count, (1,), seconds=2.0)
        plan = make_plan(request).plan
        assert plan is not None
        return [[plan.graph.operators[each].name for each in stage.operators] for stage in plan.stages]

    def check(self, stages: list[list[str]]) -> None:
        """Raise AssertionError unless each operator is in one stage, and each parameter and buffer in at least one."""
        listed = [name for stage in stages for name in stage]
        assert sorted(listed) == sorted(self.captured.operators) and len(set(listed)) == len(listed)
        of = {name: number for number, stage in enumerate(stages) for name in stage}
        parts = split(self.captured.train, of)
        assert sorted(name for part in parts for name in part.operators) == sorted(listed)
        aliases = self.captured.aliases
        held = {aliases.get(name, name) for part in parts for name in part.state}
        unused = {name for name in set(aliases.values()) - held if not self._read(name)}
        lost = set(aliases.values()) - held - unused
        assert not lost, lost
        model = self.built.model
        trainable = {id(each): each for each in model.parameters() if each.requires_grad}
        sizes = [each.numel() * each.itemsize for each in trainable.values()]
        assert unused or self.parameters() == sum(sizes)

    def _read(self, name: str) -> bool:
        return any(self.walk.name(node) == name for node in self.walk.tensors if node.users)

    def numbers(self) -> dict[str, float]:
        """Return how many operators there are, and what they take and keep."""
        rows = self.json["operators"]
        return {
            "operators": len(rows), "unseen": len(self.walk.unseen), "parameters": self.parameters(),
            "unused": len({name for name in self.captured.aliases.values() if not self._read(name)}),
            "saved": sum(each["saved"] for each in rows), "forward": sum(each["forward"] for each in rows),
            "backward": sum(each["backward"] for each in rows),
        }  # fmt: skip


def really_kept(built: Built) -> int:
    """Return the bytes that autograd keeps when the model runs as its user wrote it, parameters and buffers apart."""
    model = built.model
    apart = {each.untyped_storage()._cdata for each in (*model.parameters(), *model.buffers())}
    kept: dict[int, torch.Tensor] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.untyped_storage()._cdata not in apart:
            kept[tensor.untyped_storage()._cdata] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda each: each):
        output = model(*built.args, **built.kwargs)
        if built.loss is not None:
            built.loss(output) if built.target is None else built.loss(output, built.target)
    return sum(each.untyped_storage().nbytes() for each in kept.values())


@contextlib.contextmanager
def _still() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def main() -> None:
    """Check all models of a file."""
    spec = importlib.util.spec_from_file_location("networks_of_file", sys.argv[1])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = {}
    for name, function in module.CAPTURED.items():
        described = Described(function)
        described.check(described.stages(3))
        found[name] = described.numbers()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
