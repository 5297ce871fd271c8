"""A plan for exactly the processes of a training program, measured and chosen inside it."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from hackathon.parallel.description.planning import graph_here, link_of_ranks, memory_of, no_plan_fits
from hackathon.parallel.live import batches
from hackathon.parallel.plan.coarsen import Blocks
from hackathon.parallel.plan.devices import Devices
from hackathon.parallel.plan.document import as_json
from hackathon.parallel.plan.plan import make_plan
from hackathon.parallel.plan.request import PlanRequest, PlanResult, impossible
from hackathon.text.errors import HackathonError, RequestError

MEASURING, SEARCHING = 10.0, 5.0
"""Seconds, about: for measuring operators, and for each search."""


def micro_batches_of(samples: int, processes: int) -> int:
    """Return the default micro-batches per step: the most, up to 4 per process, that divide the samples."""
    return max(count for count in range(1, 4 * processes + 1) if samples % count == 0)


def plan_for_ranks(
    model: nn.Module, example: Any, loss: Callable[..., Any] | None, micro_batches: int | None, *,
    device: torch.device, rank: int, processes: int, offload: bool, check: bool,
    precision: torch.dtype | None, longest: float,
) -> dict[str, Any]:  # fmt: skip
    """Return plan.json for all processes: rank 0 measures the operators and plans. All ranks call this.

    `offload`: whether stages may keep parameters in main memory, if nothing else fits. `check`, `precision`, `longest`:
    of the self-check. Raises RequestError on all ranks if no plan fits.
    """
    inputs = batches.inputs_of(example, loss is not None)
    count = micro_batches or micro_batches_of(batches.samples_of(inputs), processes)
    first = batches.even_pieces(inputs, count)[0]
    link = link_of_ranks(device)
    box: list[Any] = [None]
    if rank == 0:
        local_ranks = int(os.environ.get("LOCAL_WORLD_SIZE", processes))
        devices = Devices(
            processes, memory_of(device, local_ranks), link.bandwidth, link.latency, link.bandwidth,
            host_bandwidth=link.host_bandwidth,
        )  # fmt: skip
        try:
            measurement = graph_here(
                model, first, loss, device, MEASURING, check=check, precision=precision, longest=longest
            )  # fmt: skip
            request = PlanRequest(measurement.graph, devices, count, recompute="auto", seconds=SEARCHING)
            box = [best_of_all_ranks(request, offload and not measurement.of_modules) | measurement.about]
        except HackathonError as error:
            box = [(error.id, error.values)]
        except Exception as error:
            box = [error]  # the others must not wait for a plan
    if processes > 1:
        shared = [box[0] if not isinstance(box[0], Exception) else None]
        dist.broadcast_object_list(shared, 0, device=device)
        box = shared if rank else box
    answer = box[0]
    if isinstance(answer, Exception):
        raise answer
    if isinstance(answer, tuple):
        raise RequestError(answer[0], **answer[1])
    if answer is None:
        raise RequestError("auto_parallel.no_plan_made", "rank 0 could not make a plan; the cause is in its output")
    return answer  # type: ignore[no-any-return]


def best_of_all_ranks(request: PlanRequest, offload: bool) -> dict[str, Any]:
    """Return the fastest plan that uses each process.

    The search may leave devices unused; then plans with the same replicas in every stage are compared. If none fits in
    memory, raises RequestError naming the operator that is hardest to place, or saying that there is no such plan.
    """
    count = request.devices.count
    refusal: PlanResult | None = None
    for policy in ("never", "auto") if offload else ("never",):
        candidates: list[tuple[float, int, PlanResult]] = []
        for result in _results(replace(request, offload=policy)):
            if result.plan is None or result.value is None:
                refusal = result
            elif sum(result.plan.replicas) == count:
                candidates.append((result.value, len(candidates), result))
        if candidates:
            return as_json(min(candidates)[2])
    if refusal is None:  # a plan fits, but not with all of the processes
        parts, micro_batches = len(Blocks(request.graph)), request.micro_batches
        raise RequestError(
            "auto_parallel.unused_processes",
            "{count} processes cannot be divided into stages with the same number of replicas: the model has "
            "{parts} parts between which a cut is possible, and a step has {micro_batches} micro-batches",
            hint="Use another number of processes, more micro-batches, or a plan of your own (plan=).",
            count=count,
            parts=parts,
            micro_batches=micro_batches,
        )
    raise no_plan_fits(as_json(refusal)["blocking"], request.devices)


def _results(request: PlanRequest) -> Iterator[PlanResult]:
    count = request.devices.count
    first = make_plan(request)
    yield first
    if first.plan is not None and sum(first.plan.replicas) == count:
        return
    for stages in range(1, count + 1):
        variant = replace(request, stages=stages, replicas=(count // stages,) * stages)
        if count % stages == 0 and impossible(variant) is None:
            yield make_plan(variant)
