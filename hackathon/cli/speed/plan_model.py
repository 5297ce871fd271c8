"""`hackathon plan model.py:build`: the graph of a user's model, and defaults for the machine without a file."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.text.messages import N_, _

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hackathon.parallel.plan.devices import Devices
    from hackathon.parallel.plan.graph import Graph
    from hackathon.parallel.plan.request import PlanRequest, PlanResult

_UNCHECKED_TEXTS = {
    "memory": N_(
        "Warning: the self-check was not run. It needs {needed} GB, and {free} GB are free. Run it with a smaller "
        "configuration of the model."
    ),
    "time": N_(
        "Warning: the self-check was not run: it would take {seconds} s, more than {longest} s. Run it with a "
        "smaller configuration of the model."
    ),
    "meta": N_(
        "Warning: the self-check was not run: the model is on the meta device, without numbers. Run it with a "
        "smaller configuration that has some."
    ),
    "failed": N_("Warning: the self-check was not run: the model itself failed with the example: {words}"),
    "off": N_("Warning: the self-check was not run: it is turned off."),
}

ASSUMED_BANDWIDTH = 10_000_000_000
"""The default bandwidth between two devices in bytes/s: about a PCI Express 3.0 slot. A message names it."""
PER_DEVICE = (1, 2, 4)
"""Default numbers of micro-batches per device; with 4 a pipeline is nearly free of bubbles (GPipe, 2019)."""
SECONDS = 20.0
"""Seconds allowed for measuring."""
SCREENING = 2.0
"""Seconds of search for each number of micro-batches; the last search has no limit."""


@dataclass(frozen=True)
class ModelOptions:
    """Options that apply only to `model.py:build`."""

    batch: int | None = None
    """Samples per step."""
    bandwidth: int | None = None
    """Bytes/s between two devices."""
    peak_tflops: float | None = None
    memory_bandwidth: int | None = None
    """Bytes/s of a device's memory."""
    again: bool = False
    trust: bool = False
    """Whether code of another account runs."""

    def given(self) -> str | None:
        """Return the first of the options that is set, None if none is."""
        return next((f"--{name.replace('_', '-')}" for name, value in self.__dict__.items() if value), None)


def what_to_plan(
    model: str | None, options: ModelOptions, graph: Path | None, devices: Path | None, cluster: str | None,
    micro_batches: int | None, gpus: int | None, memory: int | None,
) -> tuple[list[tuple["Graph", int]], "Devices"]:  # fmt: skip
    """Return (graph, number of micro-batches) of each plan to make, and the devices.

    There are several if the number of micro-batches is searched, because each number has its own batch size and graph.
    Raises RequestError for missing or contradictory options.
    """
    from hackathon.cli.speed.plan_machine import devices_asked
    from hackathon.parallel.plan.devices import devices_of
    from hackathon.parallel.plan.graph import read_graph
    from hackathon.text.errors import RequestError

    if model is None:
        if (unused := options.given()) is not None:
            raise RequestError(
                "capture.only_with_model", "{name} needs a model: hackathon plan model.py:build", name=unused
            )
    elif graph is not None:
        raise RequestError("capture.both", "--graph and {model} cannot be used together", model=model)
    elif options.bandwidth and (devices or cluster):
        raise RequestError(
            "capture.bandwidth_twice",
            "--bandwidth cannot be used with --devices or --cluster, which give the bandwidth",
        )
    needed: dict[str, object] = {"--graph": graph, "--devices": devices or cluster, "--micro-batches": micro_batches}
    for name, value in needed.items():
        if value is None and model is None:
            raise RequestError(
                "plan.needs_option",
                "{name} is missing",
                hint="hackathon plan --graph graph.json --devices devices.json --micro-batches 8",
                name=name,
            )
    if devices or cluster:
        hardware = devices_asked(cluster, devices, gpus, memory)
    else:
        hardware = devices_of(devices_without_file(gpus, memory, options.bandwidth), "--gpus, --memory")
    if model is not None:
        counts = micro_batches_of(micro_batches, options.batch, hardware.count)
        return graphs_asked(model, counts, cluster, options), hardware
    assert graph is not None and micro_batches is not None
    return [(read_graph(graph), micro_batches)], hardware


def micro_batches_of(count: int | None, batch: int | None, devices: int) -> list[int]:
    """Return the numbers of micro-batches to plan for.

    Raises RequestError for a number that does not divide the batch.
    """
    from hackathon.text.errors import RequestError

    if batch is None:
        return [PER_DEVICE[-1] * devices if count is None else count]
    if count is not None:
        if batch % count:
            raise RequestError(
                "capture.batch_not_divided",
                "A batch of {batch} samples cannot be divided into {count} equal micro-batches",
                batch=batch,
                count=count,
            )
        return [count]
    divisors = [divisor for divisor in range(1, min(PER_DEVICE[-1] * devices, batch) + 1) if batch % divisor == 0]
    return sorted({max(divisor for divisor in divisors if divisor <= times * devices) for times in PER_DEVICE})


def best_of(requests: "Sequence[PlanRequest]") -> "PlanResult":
    """Return the plan with the shortest step; if none fits, the one with the smallest micro-batches.

    The requests differ in the number of micro-batches: each gets a share of the time, and the best one all of it. The
    result of each is printed on standard error.
    """
    from dataclasses import replace

    from hackathon.parallel.plan.plan import make_plan

    def step(result: "PlanResult") -> float:
        micro_batches = result.request.micro_batches
        per_step = micro_batches if result.request.objective == "max-load" else 1
        return float("inf") if result.value is None else result.value * per_step

    def order(result: "PlanResult") -> tuple[float, int]:
        return step(result), -result.request.micro_batches

    if len(requests) == 1:
        return make_plan(requests[0])
    share = [
        replace(request, seconds=SCREENING if request.seconds is None else request.seconds / 4) for request in requests
    ]
    results = [make_plan(request) for request in share]
    chosen = min(range(len(requests)), key=lambda index: order(results[index]))
    results[chosen] = min(
        make_plan(requests[chosen]), results[chosen], key=lambda result: (order(result), result.gap or 0.0)
    )
    summaries = (
        f"{result.request.micro_batches}: " + ("–" if result.value is None else f"{step(result):.4g} s")
        for result in results
    )
    click.echo(
        _(
            "Step by number of micro-batches: {found}. The best one is shown; --micro-batches fixes the number.",
            found=", ".join(summaries),
        ),
        err=True,
    )
    return results[chosen]


def graphs_asked(
    model: str, counts: "Sequence[int]", cluster: str | None, settings: ModelOptions
) -> list[tuple["Graph", int]]:
    """Return the graph of a model for each number of micro-batches, and print the source of its times.

    Raises RequestError.
    """
    from hackathon.parallel.source.child import users_python
    from hackathon.parallel.source.graphs import model_graph
    from hackathon.profiling import device_probe

    python = users_python(os.environ)
    options = {
        "seconds": SECONDS / len(counts), "probe": str(Path(device_probe.__file__).resolve()),
        "peaks": _peaks(cluster, settings.peak_tflops, settings.memory_bandwidth), "shared": _shared_folders(model),
    }  # fmt: skip
    graphs, lines = [], set[str]()
    for count in counts:
        samples = None if settings.batch is None else settings.batch // count
        graph, record, cached = model_graph(
            model, python, {**options, "samples": samples}, again=settings.again, trust=settings.trust
        )
        for line in _told(record, cached, len(graph.operators), count):
            if line not in lines:
                click.echo(line, err=True)
            lines.add(line)
        graphs.append((graph, count))
    return graphs


def _shared_folders(model: str) -> list[str]:
    """Return the folders of a recipe's shared files, for a model in its folder; empty for any other folder."""
    from hackathon.config.load import RECIPE_FILE, load_recipe, shared_files

    folder = Path(model.rpartition(":")[0]).resolve().parent
    if not (folder / RECIPE_FILE).is_file():
        return []
    return list(dict.fromkeys(str(path.parent) for path in shared_files(*load_recipe(folder)).values()))


def _peaks(cluster: str | None, tflops: float | None, bandwidth: int | None) -> dict[str, Any] | None:
    """Return the peaks of the planned device: from the options, else from the cluster; None: measure here."""
    from hackathon.config.trust import folders_that_count
    from hackathon.schedulers import registry
    from hackathon.text.errors import RequestError

    rates = {} if tflops is None else {"fp32": tflops * 1e12}
    if cluster is not None:
        profile = registry.load_cluster(cluster, folders_that_count(Path.cwd()))
        if not rates:
            rates = {name: float(value) * 1e12 for name, value in profile.peak_tflops.items()}
        if bandwidth is None and profile.memory_gb_s is not None:
            bandwidth = int(profile.memory_gb_s * 1e9)
    if rates and bandwidth:
        return {"flops_per_s": rates, "bytes_per_s": bandwidth}
    if tflops is not None or bandwidth is not None:
        lacking = "--memory-bandwidth" if rates else "--peak-tflops"
        raise RequestError(
            "capture.half_peaks",
            "{name} is missing: times need both --peak-tflops and --memory-bandwidth",
            name=lacking,
        )
    if rates:
        click.echo(
            _(
                "The profile of {cluster} has no memory_gb_s, so times are measured on this machine. "
                "--memory-bandwidth adds it.",
                cluster=cluster,
            ),
            err=True,
        )
    return None


def _told(record: "Mapping[str, Any]", cached: bool, operators: int, micro_batches: int) -> "Iterator[str]":
    """Yield lines about what was captured, and how reliable the operators' times are."""
    from hackathon.text.printable import printable
    from hackathon.text.units import format_size

    if record.get("level") == "modules":
        why = {name: printable(str(value)) for name, value in dict(record["why"]).items()}
        yield _(
            "The model cannot be captured ({path}:{line}, module {module}: {words}). Cuts are only made "
            "between its children, which run as they are. AutoParallel runs such a plan without offload only.",
            **why,
        )
    kind = (
        N_("Model: {count} modules; {micro_batches} micro-batches of {samples} samples")
        if record.get("level") == "modules"
        else N_("Model: {count} operators; {micro_batches} micro-batches of {samples} samples")
    )
    yield _(kind, count=operators, micro_batches=micro_batches, samples=record.get("samples") or "?")
    speeds = ", ".join(f"{peak['rate'] / 1e12:.4g} TFLOP/s {peak['name']}" for peak in _rates(record))
    memory = f"{format_size(float(record['bytes_per_s']))}/s"
    if record.get("device") is None:
        yield _(
            "Times are estimated from FLOP and bytes for {peaks}, {memory} of memory bandwidth. Nothing was "
            "measured: real times are longer.",
            peaks=speeds,
            memory=memory,
        )
    else:
        device = printable(str(record["device"]))
        counts = {"measured": record["measured"], "count": record["signatures"]}
        yield _(
            "Times: {measured} of {count} kinds of operators measured on {device}, the others estimated from "
            "FLOP and bytes ({peaks}, {memory} of memory bandwidth, measured here).",
            device=device,
            peaks=speeds,
            memory=memory,
            **counts,
        )
        times = record.get("whole")
        if times:
            took, total = times["forward"] + times["backward"], times["forward_sum"] + times["backward_sum"]
            yield _(
                "The whole model took {seconds} s here, its operators one by one {sum} s; times are scaled to "
                "the former.",
                seconds=f"{took:.4g}",
                sum=f"{total:.4g}",
            )
    check = record.get("check")
    if check:
        why, values = check["why_not"], {name: printable(str(value)) for name, value in check["values"].items()}
        identifier = (
            _UNCHECKED_TEXTS[why]
            if why
            else N_("Self-check: the loss and {count} gradients of the captured graph are those of the model.")
        )
        yield _(identifier, count=check["gradients"], **values)
    if record.get("checkpointed"):
        yield _(
            "{count} {count:operator stands|operators stand} in torch.utils.checkpoint: the stages with them "
            "recompute.",
            count=record["checkpointed"],
        )
    if record.get("unseen"):
        yield _("Operators whose work is not known: {count}. They count with no time.", count=record["unseen"])
    if cached:
        yield _("From the cache: nothing has changed. --again captures again.")


def _rates(record: "Mapping[str, Any]") -> list[dict[str, Any]]:
    return [{"name": name, "rate": float(rate)} for name, rate in dict(record["flops_per_s"]).items()]


def devices_without_file(gpus: int | None, memory: int | None, bandwidth: int | None) -> dict[str, Any]:
    """Return devices from the options alone; a missing bandwidth is assumed, and a message says so."""
    from hackathon.text.errors import RequestError
    from hackathon.text.units import format_size

    for name, amount in {"--gpus": gpus, "--memory": memory}.items():
        if amount is None:
            raise RequestError(
                "capture.needs_devices",
                "{name} is missing",
                hint="Give --gpus and --memory, or --devices FILE, or --cluster NAME.",
                name=name,
            )
    if bandwidth is None:
        click.echo(
            _(
                "No bandwidth between devices is given: {bandwidth}/s is assumed. --bandwidth, --devices or "
                "--cluster tell the real one.",
                bandwidth=format_size(ASSUMED_BANDWIDTH),
            ),
            err=True,
        )
    return {"count": gpus, "memory": memory, "bandwidth": bandwidth or ASSUMED_BANDWIDTH}
