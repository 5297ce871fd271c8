"""Pictures of a run's measurements over time: its metrics, and the use of its devices."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.index.numbers import gpu_memory
from hackathon.index.record import RunEntry
from hackathon.logs.values import number
from hackathon.logs.words import EACH
from hackathon.scaling.plot import filled
from hackathon.scaling.show import number as shown
from hackathon.text.messages import N_, _
from hackathon.text.paths import shipped
from hackathon.web.page.figures import Figure
from hackathon.web.progress.run_curves import (
    LARGEST,
    ChartWish,
    Points,
    RunCurves,
    axis_of,
    smoothed,
    thinned,
    title_of,
)

_TELEMETRY_TEXTS = {
    ("gpu", "utilisation"): N_("GPU utilisation [%]"),
    ("gpu", "memory"): N_("Memory of a GPU [GiB]"),
    ("gpu", "power"): N_("Power of a GPU [W]"),
    ("cpu", "utilisation"): N_("CPU utilisation [%]"),
    ("cpu", "memory"): N_("Main memory [GiB]"),
    ("cpu", "power"): N_("Power [W]"),
}

POINTS, BUCKETS = 240, 96
"""The most points of a metric's curve, and of a device's curve."""
ROWS = 12
"""Rows of the table beside a picture."""
WIDE, NARROW = 440, 300
"""Widths of pictures in rows of two and of three, so that their texts have the same size."""
MOST_TELEMETRY = 2 << 20
"""Bytes at the end of one host's telemetry that are read."""
HOSTS, LINES = 64, 8
"""The most hosts that are read, and the number up to which each has a line."""
STEP, STEPS = 15.0, 120
"""Seconds by which an unfinished run's curves grow; doubled until there are at most STEPS steps.

With every new line they would be drawn again for every viewer.
"""
FAR = 3600.0
"""Seconds around a run in which its measurements must lie.

Otherwise a clock is wrong, and they get their own time axis.
"""
_MIB = 1024.0
MEASURES = ("utilisation", "memory", "power")


@dataclass(frozen=True)
class Host:
    """The use of one host's devices during the run; None is not measured."""

    name: str
    devices: int
    utilisation: float | None
    """Mean, percent."""
    memory: float | None
    """The peak of one device, GiB."""
    power: float | None
    """Mean of one device, W."""


@dataclass(frozen=True)
class Span:
    """The time range of a run's pictures, in seconds since 1970."""

    begin: float
    end: float

    @property
    def unit(self) -> tuple[str, float]:
        """The unit of the axis (a message's id) and its seconds."""
        length = self.end - self.begin
        if length < 180:
            return N_("seconds since the start"), 1.0
        return (N_("minutes since the start"), 60.0) if length < 3 * 3600 else (N_("hours since the start"), 3600.0)


def progress(
    curves: RunCurves,
    run: RunEntry,
    wish: ChartWish,
    *,
    ended: float | None,
    failed: bool,
    going: bool,
) -> list[Figure]:
    """Return pictures of a run's metric, loss and other values; empty without any curve.

    `failed`: the end is marked. `going`: the run is unfinished, and the curves end at the last full STEP.
    """
    width = NARROW if len(curves.lines) == 3 else WIDE
    figures = []
    for order, (name, points) in enumerate(curves.lines):
        own = run.unit if name.removesuffix(EACH) == run.metric else ""
        title, label = title_of(name, own), f"progress-{order}"
        if curves.x == "time":
            near = _near(points, run.started, ended)
            near = _settled(near, run.started) if going else near
            span = _span(near, run.started, ended)
            end = [ended] if failed and ended is not None and span.begin <= ended <= span.end else []
            axis, seconds = span.unit
            placed = [((x - span.begin) / seconds, y) for x, y in near]
            ends = [(moment - span.begin) / seconds for moment in end]
            domain = [0.0, (span.end - span.begin) / seconds]
        else:
            axis, placed, ends = axis_of(curves.x), points, []
            domain = [min(x for x, _ in points), max(x for x, _ in points)]
        figures.append(
            _progress_figure(label, name, title, axis, smoothed(placed, wish.smooth), domain, ends, width, wish)
        )
    return figures


def _near(points: Points, began: float | None, ended: float | None) -> Points:
    """Return the points in order of time; only those within the run's own time, if there are any."""
    ordered = sorted(points)
    if began is None:
        return ordered
    own = [point for point in ordered if began - FAR <= point[0] <= (ended or math.inf) + FAR]
    return own if len(own) > 1 else ordered


def _settled(points: Points, began: float | None) -> Points:
    """Return the points up to the last full step since the beginning; all if there are too few."""
    first, last = points[0][0], points[-1][0]
    begin = began if began is not None and abs(first - began) <= FAR else first
    step = STEP
    while (last - begin) / step > STEPS:
        step *= 2
    until = begin + step * int((last - begin) // step)
    settled = [point for point in points if point[0] <= until]
    return settled if len(settled) > 1 else points


def _span(points: Sequence[tuple[float, float]], began: float | None, ended: float | None) -> Span:
    first, last = points[0][0], points[-1][0]
    begin = began if began is not None and abs(first - began) <= FAR else first
    end = ended if ended is not None and abs(ended - last) <= FAR else last
    begin, end = min(begin, first), max(end, last)
    return Span(begin, end if end > begin else begin + 1.0)


def _progress_figure(
    name: str, metric: str, title: str, axis: str, points: Points, domain: Sequence[float], ends: Sequence[float],
    width: int, wish: ChartWish,
) -> Figure:  # fmt: skip
    drawn = thinned(points, POINTS)
    values = [y for _, y in drawn]
    least, most = min(values), max(values)
    spec = filled(
        shipped("templates", "plots", "progress.vl.json"),
        {
            "width": width,
            "x_title": _(axis),
            "x_domain": [domain[0], domain[1] if domain[1] > domain[0] else domain[0] + 1],
            "y_scale": scale_of(metric, least, most, log=wish.log),
            "y_format": "~s" if most >= 1000 else ".4~r",
        },
        {
            "points": [{"x": x, "y": y} for x, y in drawn],
            "last": [{"x": x, "y": y} for x, y in drawn[-1:]],
            "end": [{"x": end} for end in ends],
        },
    )
    numbers = {"first": shown(drawn[0][1]), "last": shown(drawn[-1][1]), "least": shown(least), "most": shown(most)}
    rows = tuple((shown(x, 3), shown(y)) for x, y in thinned(drawn, ROWS))
    alt = _("{title}: first {first}, last {last}, lowest {least}, highest {most}.", title=title, **numbers)
    return Figure(name, title, alt, spec, (_(axis), title), rows)


def scale_of(metric: str, least: float, most: float, *, log: bool = False) -> dict[str, object]:
    """Return the scale of a metric's values: logarithmic if requested and possible, or over many powers of ten."""
    rate = metric.endswith(("_per_s", "_per_sec"))
    if least > 0 and (log or (not rate and most / least > 50)):
        return {"type": "log", "nice": True}
    room = (most - least) * 0.08 or abs(most) * 0.1 or 1.0
    low = 0.0 if rate and least >= 0 else least - room
    return {"domain": [low, most + room], "nice": False}


@dataclass(frozen=True)
class Sample:
    """One line of telemetry: time, device, and its use (percent, GiB, W)."""

    time: float
    device: str
    values: tuple[float | None, float | None, float | None]


def telemetry(
    inside: GuardedFolder, began: float | None, ended: float | None, *, going: bool
) -> tuple[list[Figure], list[Host], str]:
    """Return pictures of the use of a run's devices, the use by host, and their kind: `gpu`, `cpu`, empty without data.

    `going`: as in `progress`.
    """
    names = [name for name in inside.names("telemetry") if name.endswith(".csv")][:HOSTS]
    read = {name.removesuffix(".csv"): list(_samples(inside, f"telemetry/{name}")) for name in names}
    kind = "gpu" if any(kind == "gpu" for samples in read.values() for kind, _ in samples) else "cpu"
    hosts = {host: [sample for device, sample in samples if device == kind] for host, samples in read.items()}
    hosts = {host: samples for host, samples in hosts.items() if samples}
    if not hosts:
        return [], [], ""
    rows = [_host(host, samples) for host, samples in hosts.items()]
    times = sorted((sample.time, 0.0) for samples in hosts.values() for sample in samples)
    times = _near(times, began, ended)
    span = _span(_settled(times, began) if going else times, began, ended)
    sizes = (
        {size / _MIB for host in hosts if (size := gpu_memory(inside, host)) is not None} if kind == "gpu" else set()
    )
    figures = [
        figure
        for order, measure in enumerate(MEASURES)
        if (figure := _telemetry_figure(measure, order, kind, hosts, span, sizes if measure == "memory" else ()))
        is not None
    ]
    return figures, rows, kind


def _samples(inside: GuardedFolder, name: str) -> Iterable[tuple[str, Sample]]:
    ending = inside.end(name, MOST_TELEMETRY)
    for raw in ending[0].decode("utf-8", "replace").split("\n") if ending else ():
        fields = raw.strip().split(",")
        if len(fields) < 6 or fields[1] not in ("gpu", "cpu"):
            continue
        time = number(fields[0])
        if time is None or not math.isfinite(time):
            continue
        use, memory, power = (_in_range(number(field)) for field in fields[3:6])
        yield fields[1], Sample(time, fields[2], (use, None if memory is None else memory / _MIB, power))


def _in_range(value: float | None) -> float | None:
    return value if value is not None and abs(value) < LARGEST else None


def _host(name: str, samples: Sequence[Sample]) -> Host:
    use, memory, power = ([value for sample in samples if (value := sample.values[i]) is not None] for i in range(3))
    return Host(
        name,
        len({sample.device for sample in samples}),
        fmean(use) if use else None,
        max(memory, default=None),
        fmean(power) if power else None,
    )


def _telemetry_figure(
    measure: str, order: int, kind: str, hosts: Mapping[str, Sequence[Sample]], span: Span, sizes: Iterable[float]
) -> Figure | None:
    """Return one quantity over time: the mean of all devices, its range, and single hosts if there are few.

    `sizes`: what the devices have of it, where a line is drawn; each once.
    """
    axis, seconds = span.unit
    width = (span.end - span.begin) / BUCKETS
    of_host: dict[str, dict[int, list[float]]] = {}
    for host, samples in hosts.items():
        for sample in samples:
            value = sample.values[order]
            if value is not None and span.begin <= sample.time <= span.end:
                bucket = min(BUCKETS - 1, int((sample.time - span.begin) / width))
                of_host.setdefault(host, {}).setdefault(bucket, []).append(value)
    buckets = sorted({bucket for series in of_host.values() for bucket in series})
    if len(buckets) < 2:
        return None
    together = {
        bucket: [value for series in of_host.values() for value in series.get(bucket, ())] for bucket in buckets
    }

    def middle(bucket: int) -> float:
        return (bucket + 0.5) * width / seconds

    everything = [
        {"x": middle(bucket), "least": min(values), "mean": fmean(values), "most": max(values)}
        for bucket, values in together.items()
    ]
    few = 1 < len(of_host) <= LINES
    lines = [
        {"x": middle(bucket), "y": fmean(values), "host": host}
        for host, series in (of_host.items() if few else ())
        for bucket, values in sorted(series.items())
    ]
    capacity = [{"y": size, "label": _("capacity {size}", size=shown(size, 3))} for size in sorted(sizes)]
    most = max(point["most"] for point in everything)
    top = max([most, *sizes])
    spec = filled(
        shipped("templates", "plots", "telemetry.vl.json"),
        {
            "x_title": _(axis),
            "x_domain": [0, (span.end - span.begin) / seconds],
            "y_domain": [0, 100 if measure == "utilisation" and most <= 100 else top * 1.1 or 1.0],
        },
        {"all": everything, "hosts": lines, "capacity": capacity},
    )
    title = _(_TELEMETRY_TEXTS[kind, measure])
    mean = fmean(point["mean"] for point in everything)
    least = min(point["least"] for point in everything)
    alt = _(
        "{title} over time: mean {mean}, lowest {least}, highest {most}.",
        title=title,
        mean=shown(mean, 3),
        least=shown(least, 3),
        most=shown(most, 3),
    )
    alt = " ".join([alt, *(str(size["label"]) for size in capacity)])
    columns = (_(axis), _("lowest"), _("mean"), _("highest"))
    picked = everything[:: -(-len(everything) // ROWS)]
    rows = tuple(
        (shown(point["x"], 3), shown(point["least"], 3), shown(point["mean"], 3), shown(point["most"], 3))
        for point in picked
    )
    return Figure(f"telemetry-{measure}", title, alt, spec, columns, rows)
