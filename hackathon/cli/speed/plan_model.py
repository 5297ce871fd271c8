"""`hackathon plan model.py:build`: the graph of a user's model, and what it is planned for where no file says it."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.text.messages import message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hackathon.parallel.plan.devices import Devices
    from hackathon.parallel.plan.graph import Graph

ASSUMED_BANDWIDTH = 10_000_000_000
"""Bytes per second between two devices where nobody says it: about a PCI Express 3.0 slot. The user is told."""
PER_DEVICE = 4
"""Micro-batches for each device without --micro-batches: a pipeline then hardly waits (Huang et al. 2019, GPipe)."""
SECONDS = 20.0
"""Seconds that measuring may take."""


@dataclass(frozen=True)
class ModelOptions:
    """Options that belong to `model.py:build` alone."""

    batch: int | None = None
    """Samples of a step."""
    bandwidth: int | None = None
    """Bytes per second between two devices."""
    peak_tflops: float | None = None
    memory_bandwidth: int | None = None
    """Bytes per second of the memory of a device."""
    again: bool = False

    def given(self) -> str | None:
        """Return the first of the options that is given, None without one."""
        return next((f"--{name.replace('_', '-')}" for name, value in self.__dict__.items() if value), None)


def what_to_plan(
    model: str | None, options: ModelOptions, graph: Path | None, devices: Path | None, cluster: str | None,
    micro_batches: int | None, gpus: int | None, memory: int | None,
) -> tuple["Graph", "Devices", int]:  # fmt: skip
    """Return graph, devices and number of micro-batches that the options of `hackathon plan` ask for.

    Raises RequestError for options that lack something or contradict each other.
    """
    from hackathon.cli.speed.plan_machine import devices_asked
    from hackathon.parallel.plan.devices import devices_of
    from hackathon.parallel.plan.graph import read_graph
    from hackathon.text.errors import RequestError

    if model is None:
        if (unused := options.given()) is not None:
            raise RequestError("capture.only_with_model", name=unused)
    elif graph is not None:
        raise RequestError("capture.both", model=model)
    elif options.bandwidth and (devices or cluster):
        raise RequestError("capture.bandwidth_twice")
    needed: dict[str, object] = {"--graph": graph, "--devices": devices or cluster, "--micro-batches": micro_batches}
    for name, value in needed.items():
        if value is None and model is None:
            raise RequestError("plan.needs_option", name=name)
    if devices or cluster:
        place = devices_asked(cluster, devices, gpus, memory)
    else:
        place = devices_of(devices_without_file(gpus, memory, options.bandwidth), "--gpus, --memory")
    if model is not None:
        count, samples = micro_batches_of(micro_batches, options.batch, place.count)
        return graph_asked(model, samples, cluster, options), place, count
    assert graph is not None and micro_batches is not None
    return read_graph(graph), place, micro_batches


def micro_batches_of(asked: int | None, batch: int | None, devices: int) -> tuple[int, int | None]:
    """Return (micro-batches of a step, samples of each; None: as many as the model's function gives).

    Raises RequestError for a batch that they do not divide.
    """
    from hackathon.text.errors import RequestError

    if asked is None:
        most = PER_DEVICE * devices
        asked = most if batch is None else max(each for each in range(1, min(most, batch) + 1) if batch % each == 0)
        click.echo(message("capture.micro_batches", count=asked, per=PER_DEVICE), err=True)
    if batch is None:
        return asked, None
    if batch % asked:
        raise RequestError("capture.batch_not_divided", batch=batch, count=asked)
    return asked, batch // asked


def graph_asked(model: str, samples: int | None, cluster: str | None, given: ModelOptions) -> "Graph":
    """Return the graph of a model, and say on standard error where its times are from. Raises RequestError."""
    from hackathon.parallel.source.child import users_python
    from hackathon.parallel.source.graphs import model_graph
    from hackathon.profiling import device_probe

    python = users_python(os.environ)
    options = {
        "samples": samples, "seconds": SECONDS, "probe": str(Path(device_probe.__file__).resolve()),
        "peaks": _peaks(cluster, given.peak_tflops, given.memory_bandwidth),
    }  # fmt: skip
    graph, told, kept = model_graph(model, python, options, again=given.again)
    _show(told, kept, len(graph.operators))
    return graph


def _peaks(cluster: str | None, tflops: float | None, bandwidth: int | None) -> dict[str, Any] | None:
    """Return the peaks of the device that is planned for: of the options, else of the cluster; None: measure here."""
    from hackathon.config.trust import folders_that_count
    from hackathon.schedulers import profiles
    from hackathon.text.errors import RequestError

    rates = {} if tflops is None else {"fp32": tflops * 1e12}
    if cluster is not None:
        profile = profiles.load_cluster(cluster, folders_that_count(Path.cwd()))
        if not rates:
            rates = {name: float(value) * 1e12 for name, value in profile.peak_tflops.items()}
        if bandwidth is None and profile.memory_gb_s is not None:
            bandwidth = int(profile.memory_gb_s * 1e9)
    if rates and bandwidth:
        return {"flops_per_s": rates, "bytes_per_s": bandwidth}
    if tflops is not None or bandwidth is not None:
        lacking = "--memory-bandwidth" if rates else "--peak-tflops"
        raise RequestError("capture.half_peaks", name=lacking)
    if rates:
        click.echo(message("capture.no_memory_bandwidth", cluster=cluster), err=True)
    return None


def _show(told: "Mapping[str, Any]", kept: bool, operators: int) -> None:
    """Say on standard error what was captured, and what the times of operators are worth."""
    from hackathon.text.printable import printable
    from hackathon.text.units import format_size

    if told.get("level") == "modules":
        why = {name: printable(str(value)) for name, value in dict(told["why"]).items()}
        click.echo(message("capture.modules", **why), err=True)
    click.echo(message("capture.operators" if told.get("level") != "modules" else "capture.children", count=operators,
                       samples=told.get("samples") or "?"), err=True)  # fmt: skip
    speeds = ", ".join(f"{each['rate'] / 1e12:.4g} TFLOP/s {each['name']}" for each in _rates(told))
    memory = f"{format_size(float(told['bytes_per_s']))}/s"
    if told.get("device") is None:
        click.echo(message("capture.roofline", peaks=speeds, memory=memory), err=True)
    else:
        click.echo(
            message("capture.measured", device=printable(str(told["device"])), measured=told["measured"],
                    count=told["signatures"], peaks=speeds, memory=memory), err=True,
        )  # fmt: skip
        whole = told.get("whole")
        if whole:
            sums = whole["forward_sum"] + whole["backward_sum"]
            click.echo(message("capture.whole", seconds=f"{whole['forward'] + whole['backward']:.4g}",
                               sum=f"{sums:.4g}"), err=True)  # fmt: skip
    if told.get("unseen"):
        click.echo(message("capture.unseen", count=told["unseen"]), err=True)
    if kept:
        click.echo(message("capture.kept"), err=True)


def _rates(told: "Mapping[str, Any]") -> list[dict[str, Any]]:
    return [{"name": name, "rate": float(rate)} for name, rate in dict(told["flops_per_s"]).items()]


def devices_without_file(gpus: int | None, memory: int | None, bandwidth: int | None) -> dict[str, Any]:
    """Return devices as the options alone say them; a bandwidth that nobody says is assumed, and that is said."""
    from hackathon.text.errors import RequestError
    from hackathon.text.units import format_size

    for name, given in {"--gpus": gpus, "--memory": memory}.items():
        if given is None:
            raise RequestError("capture.needs_devices", name=name)
    if bandwidth is None:
        click.echo(message("capture.assumed_bandwidth", bandwidth=format_size(ASSUMED_BANDWIDTH)), err=True)
    return {"count": gpus, "memory": memory, "bandwidth": bandwidth or ASSUMED_BANDWIDTH}
