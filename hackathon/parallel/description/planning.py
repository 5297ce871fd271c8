"""Plan inside the training program: capture its model and measure its operators on the available device."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from hackathon.parallel.description.built import Built, Capture, quiet
from hackathon.parallel.description.children import Chain, as_chain, state_bytes, with_numbers
from hackathon.parallel.description.measure import ROOM, DevicePeaks, free_memory, times_of
from hackathon.parallel.description.refusal import CaptureRefusal, refusal_of, refuse_hooks
from hackathon.parallel.description.walk import Walk
from hackathon.parallel.description.whole import whole_times
from hackathon.parallel.fidelity.self_check import LONGEST, SelfCheck, self_check
from hackathon.parallel.live import batches, seeds
from hackathon.parallel.live.capture import Captured, NoLossError
from hackathon.parallel.plan.devices import Devices
from hackathon.parallel.plan.document import as_json
from hackathon.parallel.plan.graph import Graph, graph_of
from hackathon.parallel.plan.plan import make_plan
from hackathon.parallel.plan.request import PlanRequest, impossible
from hackathon.text.errors import RequestError
from hackathon.text.messages import Message

ROUGH = {"cuda": DevicePeaks({"fp32": 1e13}, 1e12), "cpu": DevicePeaks({"fp32": 5e10}, 1e10)}
"""Peaks for ordering the measurements; for operators too large to measure, measured ones correct them."""
PIECE = 4 * 2**20
"""Bytes of a message that bandwidth is measured with."""
REPEATS = 5
"""Measurements of which the shortest counts."""


@dataclass(frozen=True)
class RankLink:
    """Bytes per second and seconds of latency between ranks, and bytes per second between device and host."""

    bandwidth: float
    latency: float
    host_bandwidth: float


def plan_here(
    model: nn.Module, example: Any, devices: Devices, *, micro_batches: int, replicas: Sequence[int],
    loss: Callable[..., Any] | None = None, recompute: str = "never", offload: str = "never",
    device: torch.device | None = None, seconds: float = 10.0, search_seconds: float | None = 10.0, check: bool = True,
) -> dict[str, Any]:  # fmt: skip
    """Return plan.json for a model, with so many replicas of each stage. One process calls this.

    `example`: the batch of a step. `recompute`, `offload`: never, auto, all. `seconds`: about how long to measure.
    `check`: whether the captured graph is compared with the model; `check` of the plan has the result. Raises
    RequestError if no plan fits, naming the operator that is hardest to place, or if the replicas need more devices or
    micro-batches than there are.
    """
    inputs = batches.even_pieces(batches.inputs_of(example, loss is not None), micro_batches)[0]
    measurement = graph_here(model, inputs, loss, device or torch.device("cpu"), seconds, check=check)
    if measurement.of_modules and offload == "all":
        raise RequestError(
            "auto_parallel.module_level",
            "the plan cuts between modules, which does not work with {option}",
            option="offload",
        )
    request = PlanRequest(
        measurement.graph, devices, micro_batches, stages=len(replicas), replicas=tuple(replicas), recompute=recompute,
        offload="never" if measurement.of_modules else offload, seconds=search_seconds,
    )  # fmt: skip
    plan = as_json(make_plan(request))
    if not plan["feasible"]:
        problem = impossible(request)
        if problem is not None:
            raise RequestError(problem[0], **problem[1])
        raise no_plan_fits(plan["blocking"], devices)
    return plan | measurement.about


def no_plan_fits(blocking: Mapping[str, Any], devices: Devices) -> RequestError:
    """Return the error naming the operator that is hardest to place; `blocking`: as in plan.json."""
    needed, memory = (f"{size / 1e9:.3g}" for size in (blocking["bytes"], devices.memory))
    return RequestError(
        "auto_parallel.no_plan_fits",
        "no plan fits: operator {operator} alone needs {needed} GB, and a device has {memory} GB",
        hint="Use more processes or micro-batches; plan_here also takes recompute=auto and offload=auto.",
        operator=blocking["operator"],
        needed=needed,
        memory=memory,
    )


@dataclass(frozen=True)
class GraphHere:
    """The graph of an available model, and whether it consists of unchanged modules."""

    graph: Graph
    of_modules: bool
    check: SelfCheck | None = None

    @property
    def about(self) -> dict[str, Any]:
        """The plan's entry about the self-check."""
        return {} if self.check is None else {"check": self.check.as_json()}


def graph_here(
    model: nn.Module, inputs: batches.Inputs, loss: Callable[..., Any] | None, device: torch.device, seconds: float, *,
    check: bool, precision: torch.dtype | None = None, longest: float = LONGEST,
) -> GraphHere:  # fmt: skip
    """Return the graph of a model with inputs of one micro-batch, measured on a device for about so many `seconds`.

    A model that cannot be captured is described by its modules if it is a chain of them: copies are measured on the
    CPU. So is one whose graph does not train like the model (`check`: see `self_check`). Raises RequestError with
    module, file and line for any other. The program's random state is preserved.
    """
    built = Built(model, *inputs[:2], loss, inputs[2])
    with seeds.programs_numbers_kept():
        try:
            refuse_hooks(model)
            with quiet():
                capture = Capture.of(built)
                checked = SelfCheck(why_not="off")
                if check:
                    checked = self_check(capture, lambda: built, device=device, precision=precision, longest=longest)
        except NoLossError as error:
            raise RequestError(
                "auto_parallel.no_loss",
                "the model returns {kind}, which holds no loss: give loss=, or return a scalar named loss",
                kind=str(error),
            ) from None
        except Exception as error:
            refusal, cause = refusal_of(error, model), error
        else:
            value, _ = measured_graph(capture.captured, ROUGH[device.type], str(device), seconds)
            return GraphHere(graph_of(value, "graph.json"), False, checked)
        try:
            if as_chain(built) is None:
                raise refusal
            value, _ = measured_modules(built, lambda: with_numbers(built), refusal, ROUGH["cpu"], "cpu", seconds)
        except CaptureRefusal as module_refusal:
            values: dict[str, Any] = dict(module_refusal.values)
            raise RequestError(module_refusal.id, **values) from cause
    return GraphHere(graph_of(value, "graph.json"), True)


def measured_modules(
    outline: Built, numbers: Callable[[], Built], why: CaptureRefusal, peaks: DevicePeaks, device: str | None,
    seconds: float, file: str = "?",
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    """Return graph.json of the modules of a chain, and the origin of its times.

    `outline`: a chain, possibly on the meta device; `numbers` creates the one that runs, on the CPU; `why`: the reason
    why it was not captured. Raises CaptureRefusal for one that does not fit in memory or whose modules fail.
    """
    if 4 * state_bytes(outline.model) > ROOM * free_memory("cpu"):
        raise CaptureRefusal(
            Message(
                "capture.chain_too_large",
                "{path}:{line}: module {module} cannot be captured: {words}. Its children cannot be measured "
                "either: the model does not fit in the memory of this machine",
            ),
            **why.reason,
        )
    built = numbers()
    try:
        chain = Chain(built, file)
    except CaptureRefusal:
        if why.id == "capture.checkpoint":  # torch measures no gradients through such a checkpoint
            raise why from None
        raise
    times = times_of(chain.signatures, chain.counts, peaks, device, seconds)
    basis = {**times.basis, "level": "modules", "unseen": 0, "samples": built.samples, "why": why.reason}
    return chain.graph(times), basis


def measured_graph(
    captured: Captured, peaks: DevicePeaks, device: str | None, seconds: float
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return graph.json of a captured model, and the origin of its times.

    `device`: where to measure, for about so many `seconds`; None: only estimated from `peaks`.
    """
    walk = Walk(captured, flash=device != "cpu")
    state = sum({id(tensor): tensor.numel() * tensor.dtype.itemsize for tensor in walk.tensors.values()}.values())
    needs = 2.0 * state + sum(entry.saved + entry.workspace for entry in walk.entries)
    times = times_of(
        walk.signatures, walk.counts, peaks, device, seconds,
        lambda device, free: whole_times(captured.train, needs, device, free),
    )  # fmt: skip
    return walk.graph(times), {**times.basis, "level": "operators", "unseen": len(walk.unseen)}


def memory_of(device: torch.device, processes_of_node: int) -> float:
    """Return the bytes of memory of a device; of a CPU the share of one of the processes on this node."""
    if device.type == "cuda":
        return float(torch.cuda.get_device_properties(device).total_memory)
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / processes_of_node


def link_of_ranks(device: torch.device) -> RankLink:
    """Measure how fast the first and the last rank talk to each other, and a device to its host. All ranks call this.

    All ranks call this. A single rank sends nothing: its bandwidth is that to its host.
    """
    host = _host_bandwidth(device)
    if not dist.is_initialized() or dist.get_world_size() == 1:
        return RankLink(host, 0.0, host)
    small, large = (torch.zeros(size, dtype=torch.uint8, device=device) for size in (8, PIECE))
    _there_and_back(small)  # the first message makes the connection
    latency = min(_there_and_back(small) for _ in range(REPEATS)) / 2
    seconds = min(_there_and_back(large) for _ in range(REPEATS)) / 2
    link = torch.tensor([latency, PIECE / max(seconds - latency, 1e-9), host], dtype=torch.float64, device=device)
    dist.broadcast(link, 0)
    latency, bandwidth, host = link.tolist()
    return RankLink(bandwidth, latency, host)


def _there_and_back(message: torch.Tensor) -> float:
    """Return the seconds of a message from the first rank to the last one and back."""
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    begin = time.perf_counter()
    if rank == 0:
        dist.send(message, last)
        dist.recv(message, last)
        if message.device.type == "cuda":
            torch.cuda.synchronize(message.device)
    elif rank == last:
        dist.recv(message, 0)
        dist.send(message, 0)
    return time.perf_counter() - begin


def _host_bandwidth(device: torch.device) -> float:
    cuda = device.type == "cuda"
    source = torch.zeros(16 * PIECE, dtype=torch.uint8, pin_memory=cuda)
    target = torch.empty_like(source, device=device)
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        target.copy_(source, non_blocking=True)
        if cuda:
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - begin)
    return 16 * PIECE / min(times)
