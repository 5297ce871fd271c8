"""The page of the event's clusters: queues and limits, a node's hardware, and the measured network."""

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hackathon.config.cluster import Cluster, Queue
from hackathon.config.event import Budget
from hackathon.index.catalog import Catalog
from hackathon.logs.values import number
from hackathon.runs.states import ENDING, HELD, QUEUED, RUNNING
from hackathon.scaling.cluster_measurements import measured
from hackathon.scaling.plot import filled
from hackathon.scaling.show import number as shown
from hackathon.schedulers.registry import known_dialect, load_cluster
from hackathon.text.errors import HackathonError
from hackathon.text.messages import N_, _, localized
from hackathon.text.numbers import finite
from hackathon.text.paths import shipped
from hackathon.text.told import reworded
from hackathon.text.units import format_moment, format_size, format_walltime
from hackathon.web.page.figures import Figure, drawn
from hackathon.web.progress.occupancy import Occupancy, occupancy
from hackathon.web.views.board import line

KEPT = 60.0
"""Seconds for which a profile is cached without checking its file."""
MOST = 20
"""The most clusters on one page; outside an event they are those of the runs."""
PICTURED = "all-reduce"
"""The operation on which data-parallel training waits."""


@dataclass(frozen=True)
class ClusterFact:
    """One fact about a cluster."""

    term: str
    value: str
    sure: bool = True
    """False if the profile marks it as unverified."""


@dataclass(frozen=True)
class QueueView:
    """One queue and its limits."""

    name: str
    nodes: str
    walltime: str
    note: str
    chosen: bool
    """Whether it is the event's queue."""
    sure_nodes: bool = True
    sure_walltime: bool = True
    running: int | None = None
    """The event's runs in it now; None on a static page."""
    waiting: int | None = None
    all_running: int | None = None
    """Everybody's jobs in it, by the scheduler; None is unknown."""
    all_waiting: int | None = None
    closed: bool = False
    """Whether the scheduler starts no jobs from it now."""


@dataclass(frozen=True)
class Speed:
    """The measurement of one operation on one node layout."""

    nodes: int
    processes: int
    backend: str
    operation: str
    latency: float | None
    """α in µs."""
    bandwidth: float | None
    """B in GB/s."""
    bus: float | None
    """Bus bandwidth of the largest message in GB/s."""
    size: str
    """The size of that message as text."""
    bytes: float | None
    """Its size in bytes."""
    day: str


@dataclass(frozen=True)
class ClusterView:
    name: str
    title: str
    facts: tuple[ClusterFact, ...] = ()
    node: tuple[ClusterFact, ...] = ()
    queues: tuple[QueueView, ...] = ()
    speeds: tuple[Speed, ...] = ()
    figure: Figure | None = None
    unsure: bool = False
    """Whether any of its values is marked as unverified."""
    problem: str = ""
    """Why its profile cannot be read."""
    told: str = ""
    """The time of its scheduler's answer about queues, as a time of day; empty without one."""


@dataclass(frozen=True)
class ClustersView:
    """The page of clusters."""

    clusters: tuple[ClusterView, ...] = ()
    left: int = 0
    live: bool = False
    problems: tuple[str, ...] = ()


def values(source: Catalog, key: str = "") -> dict[str, Any] | None:
    """Return the template's values, figures drawn."""
    view = clusters_view(source)
    figures, __ = drawn([cluster.figure for cluster in view.clusters if cluster.figure], source.memory)
    by_name = {figure.name: figure for figure in figures}
    clusters = [
        replace(cluster, figure=by_name[cluster.figure.name]) if cluster.figure else cluster
        for cluster in view.clusters
    ]
    return {"view": replace(view, clusters=tuple(clusters))}


def clusters_view(source: Catalog) -> ClustersView:
    """Return the clusters of the event, else those of the runs; it does not wait for a scheduler."""
    names = list(source.event.clusters) if source.event is not None else []
    names += sorted({run.cluster for run in source.summaries if run.cluster} - set(names)) if not names else []
    counts = _counts(source) if source.live else None
    profiles = {}
    for name in names[:MOST]:
        with contextlib.suppress(HackathonError):
            profiles[name] = profile(source, name)
    occupancies = occupancy(source, profiles) if source.live else {}
    clusters = tuple(
        _cluster(source, name, number, counts, occupancies.get(name)) for number, name in enumerate(names[:MOST], 1)
    )
    problems = tuple(line(reworded(problem)) for problem in source.problems) if source.live else ()
    return ClustersView(clusters, max(0, len(names) - MOST), source.live, problems)


def profile(source: Catalog, name: str) -> Cluster:
    """Return a cluster's profile from the event's folder or this machine. Raises HackathonError."""
    key = name, int(source.now // KEPT)
    outcome: Cluster | HackathonError | None = source.memory.recall("profiles", key)
    if outcome is None:
        try:
            outcome = load_cluster(name, [source.event_folder] if source.event_folder else [])
        except HackathonError as error:
            outcome = error
        source.memory.keep("profiles", key, outcome, 64)
    if isinstance(outcome, HackathonError):
        raise outcome
    return outcome


def cores(source: Catalog, name: str) -> int | None:
    """Return the cores of a cluster's node; None if unknown."""
    try:
        cluster = profile(source, name)
    except HackathonError:
        return None
    if isinstance(cluster.node.cores, int):
        return cluster.node.cores
    return os.cpu_count() if known_dialect(cluster).this_machine else None


def _counts(source: Catalog) -> dict[tuple[str, str], list[int]]:
    """Return (cluster, queue) → the event's running and waiting runs in it."""
    counts: dict[tuple[str, str], list[int]] = {}
    for run in source.summaries:
        if run.state in (RUNNING, ENDING, QUEUED, HELD):
            pair = counts.setdefault((run.cluster, run.queue), [0, 0])
            pair[run.state in (QUEUED, HELD)] += 1
    return counts


def _cluster(
    source: Catalog,
    name: str,
    position: int,
    counts: dict[tuple[str, str], list[int]] | None,
    occupancy: Occupancy | None,
) -> ClusterView:
    use = source.event.clusters.get(name) if source.event is not None else None
    facts = []
    if use is not None:
        facts = [ClusterFact(_("The event's queue"), line(use.queue or ""))]
        facts += [ClusterFact(_("Reservation"), line(use.reservation or ""))]
        facts += _budget(use.budget)
    try:
        cluster = profile(source, name)
    except HackathonError as error:
        return ClusterView(line(name), line(name), tuple(fact for fact in facts if fact.value), problem=error.message)
    facts.insert(0, ClusterFact(_("Scheduler"), line(cluster.scheduler)))
    facts.append(ClusterFact(_("Launchers"), ", ".join(cluster.launchers)))
    node = _node(cluster)
    queues = tuple(
        _queue(cluster, key, queue, bool(use and use.queue == key), counts, occupancy)
        for key, queue in cluster.queues.items()
    )
    speeds = tuple(speed for entry in measured(name) for speed in _speeds(entry))
    return ClusterView(
        name=line(name),
        title=line(localized(cluster.title, name)),
        facts=tuple(fact for fact in facts if fact.value),
        node=node,
        queues=queues,
        speeds=speeds,
        figure=_figure(f"bus-{position}", line(localized(cluster.title, name)), speeds),
        told=format_moment(occupancy.moment, "%H:%M") if occupancy is not None else "",
        unsure=not all(
            [*(entry.sure for entry in node), *(entry.sure_nodes and entry.sure_walltime for entry in queues)]
        ),
    )


def _budget(budget: Budget | None) -> list[ClusterFact]:
    if budget is None:
        return []
    parts = {
        N_("{count} node-hours"): budget.node_hours,
        N_("{count} GPU-hours"): budget.gpu_hours,
        N_("{count} tokens"): budget.tokens,
    }
    text = [_(key, count=shown(value)) for key, value in parts.items() if value is not None]
    return [ClusterFact(_("Budget of a team"), ", ".join(text))]


def _node(cluster: Cluster) -> tuple[ClusterFact, ...]:
    node, unsure = cluster.node, cluster.is_unverified
    gpus = f"{node.gpus} × {line(node.gpu)}" if node.gpu and node.gpus else str(node.gpus or "")
    memory = format_size(node.memory).replace(".0 ", " ") if node.memory else ""
    cores = "" if node.cores == "auto" else str(node.cores)
    facts = [
        ClusterFact(_("GPUs"), "" if node.gpus == "auto" else gpus, not (unsure("node.gpus") or unsure("node.gpu"))),
        ClusterFact(_("Cores"), cores, not unsure("node.cores")),
        ClusterFact(_("Memory"), memory, not unsure("node.memory")),
        ClusterFact(_("Network"), line(node.network or ""), not unsure("node.network")),
    ]
    facts += [
        ClusterFact(
            _("Peak of a GPU, {kind}", kind=line(kind)), f"{shown(float(value))} TFLOPS", not unsure("peak_tflops")
        )
        for kind, value in cluster.peak_tflops.items()
    ]
    if cluster.memory_gb_s is not None:
        bandwidth = f"{shown(float(cluster.memory_gb_s))} GB/s"
        facts.append(ClusterFact(_("Memory bandwidth of a GPU"), bandwidth, not unsure("memory_gb_s")))
    return tuple(fact for fact in facts if fact.value)


def _queue(
    cluster: Cluster,
    name: str,
    queue: Queue,
    chosen: bool,
    counts: dict[tuple[str, str], list[int]] | None,
    occupancy: Occupancy | None,
) -> QueueView:
    load = occupancy.queues.get(name) if occupancy is not None else None
    nodes = "–" if queue.nodes is None else f"{queue.min_nodes}–{queue.nodes}"
    running, waiting = (None, None) if counts is None else counts.get((cluster.name, name), [0, 0])
    return QueueView(
        name=line(name),
        nodes=str(queue.nodes) if queue.nodes == queue.min_nodes else nodes,
        walltime=format_walltime(queue.walltime) if queue.walltime else "–",
        note=line(queue.remarks),
        chosen=chosen,
        sure_nodes=not cluster.is_unverified(f"queues.{name}.nodes"),
        sure_walltime=not cluster.is_unverified(f"queues.{name}.walltime"),
        running=running,
        waiting=waiting,
        all_running=load.running if load is not None else None,
        all_waiting=load.queued if load is not None else None,
        closed=load is not None and not load.enabled,
    )


def _speeds(entry: dict[str, Any]) -> list[Speed]:
    """Return the measurement of each operation, tolerating files that people have edited."""
    speeds = []
    for operation, measurement in entry["operations"].items():
        size = finite(number(measurement.get("bytes")))
        speeds.append(
            Speed(
                nodes=entry["nodes"],
                processes=entry["processes"],
                backend=line(str(entry.get("backend", ""))),
                operation=line(str(operation)),
                latency=finite(number(measurement["fits"].get("small", {}).get("alpha_us"))),
                bandwidth=finite(number(measurement["fits"].get("large", {}).get("beta_gb_s"))),
                bus=finite(number(measurement.get("busbw_gb_s"))),
                size=_binary(size) if size else "",
                bytes=size,
                day=line(str(entry.get("date", ""))[:10]),
            )
        )
    return speeds


def _binary(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:g} {unit}"
        size /= 1024
    return f"{size:g} GiB"


def _figure(name: str, title: str, speeds: Sequence[Speed]) -> Figure | None:
    """Return the picture of the bus bandwidths of one operation; None without a measurement."""
    buses = [speed for speed in speeds if speed.bus is not None]
    chosen = PICTURED if any(speed.operation == PICTURED for speed in buses) else buses[0].operation if buses else ""
    points = [(_shape(speed), speed.bus or 0.0) for speed in buses if speed.operation == chosen]
    if not points:
        return None
    rows = [{"label": label, "bandwidth": bus, "shown": shown(bus, 3)} for label, bus in points]
    try:
        spec = filled(shipped("templates", "plots", "measured.vl.json"), {}, {"points": rows})
    except HackathonError:
        return None
    spoken = "; ".join(f"{label}: {shown(bus, 3)}" for label, bus in points)
    return Figure(
        name=name,
        title=_("Bus bandwidth of {operation}", operation=chosen),
        alt=_(
            "Bar chart of the bus bandwidth of {operation} on {cluster} in GB/s: {points}.",
            operation=chosen,
            cluster=title,
            points=spoken,
        ),
        spec=spec,
        columns=(_("Nodes, processes"), _("Bus bandwidth [GB/s]")),
        rows=tuple((label, shown(bus, 3)) for label, bus in points),
    )


def _shape(speed: Speed) -> str:
    key = N_("{nodes} node, {processes} processes") if speed.nodes == 1 else N_("{nodes} nodes, {processes} processes")
    return _(key, nodes=speed.nodes, processes=speed.processes)
