"""Evaluation over stages of modules: the first micro-batch of a shape runs stage by stage, others as a pipeline."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from hackathon.parallel.live import batches
from hackathon.parallel.live.batches import Inputs
from hackathon.parallel.live.inference import Inference
from hackathon.parallel.live.run import Links, Pipeline
from hackathon.parallel.modules.children import TensorForm
from hackathon.parallel.modules.stages import Evaluation, ModuleStages, one_argument


class ModuleInference(Inference):
    """Evaluates a chain of modules whose stages are those of a plan for training."""

    def __init__(self, stages: ModuleStages, pipeline: Pipeline, size: int) -> None:
        """`size`: samples of a micro-batch."""
        self._stages, self._pipeline, self._size = stages, pipeline, size
        self._exchange = pipeline.exchange
        self._known: dict[Any, Evaluation] = {}

    def _outputs(self, group: Sequence[Inputs]) -> tuple[list[list[Any]], pytree.TreeSpec]:
        one_argument(group[0])
        key = batches.signature(group[0])
        outputs: list[list[Any]] = []
        if key not in self._known:
            first = self._stages.evaluation(group[0])
            self._known[key] = Evaluation(first.parts, first.output, [])
            outputs.append(first.leaves)
        evaluation = self._known[key]
        outputs += self._piped(evaluation, group[len(outputs) :])
        return outputs, evaluation.output.spec

    def _piped(self, evaluation: Evaluation, group: Sequence[Inputs]) -> list[list[Any]]:
        """Return, per micro-batch, the leaves of the output."""
        device, last = self._exchange.device, evaluation.parts[-1]
        leaves = [batches.leaves_of(inputs, device) for inputs in group]
        outputs = self._pipeline.infer(evaluation.parts, Links.of(evaluation.parts), leaves)
        rows = []
        for number in range(len(group)):
            source = self._exchange.layout.rank(last.number, number)
            row: list[Any] = []
            for at, form in enumerate(evaluation.output.leaves):
                if not isinstance(form, TensorForm):
                    row.append(form)
                    continue
                if self._exchange.rank == source:
                    tensor = outputs[number][last.number][last.results.index(at)].contiguous()
                else:
                    tensor = torch.empty(form.shape, dtype=form.dtype, device=device)
                self._exchange.broadcast(tensor, source)
                row.append(tensor)
            rows.append(row)
        return rows
