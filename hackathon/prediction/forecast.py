"""Predictions of one series at the requested sizes, as `hackathon predict --json` prints them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hackathon.prediction.advice import advice
from hackathon.prediction.flags import flags, good_rows, outliers
from hackathon.prediction.history import HISTORY
from hackathon.prediction.least_squares import non_negative
from hackathon.prediction.mixture import weights
from hackathon.prediction.next_run import next_run
from hackathon.prediction.outlook import ACROSS_NODES, BASELINE, IN_NODE, MEASURED, Outlook, outlook
from hackathon.prediction.physics import PHYSICS, Physics
from hackathon.prediction.rows import STRONG, TIMES, Flag, MeasuredSize, Series
from hackathon.prediction.training import GIVEN, RANGE, Goal, Training, ValueRange, training
from hackathon.scaling.table import TARGET
from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, _

_RANGE_TEXTS = {
    "boundary": N_(
        "a range, not a 90 % interval: no row tells what the step to several nodes costs; in public studies it was "
        "nothing to 71 % of the rate"
    ),
    "simulated": N_(
        "a range, not a 90 % interval: predictions from a measured network were only tested in a simulation"
    ),
    "rows": N_("a range, not a 90 % interval: rows of this table contradict each other"),
    "few": N_("a range, not a 90 % interval: that takes three sizes that can be used"),
    "below": N_("a range, not a 90 % interval: smaller than all that was measured"),
    "strong": N_("a range, not a 90 % interval: in strong scaling it held in only seven to eight of ten new studies"),
    "layout": N_("a range, not a 90 % interval: a node may end on the way to this size"),
    "far": N_("a range, not a 90 % interval: it was validated up to four times the largest measured size"),
}

_WARNING_TEXTS = {
    "single-runs": N_("from single runs and no study"),
    "batch-range": N_(
        "no run tells how many samples the training needs at this batch: from the same number of samples to the "
        "same number of steps as at the nearest batch; three batches that reach the target would tell"
    ),
    "epochs-kept": N_(
        "the same epochs at a larger batch: whether the accuracy stays the same is not known; --critical-batch or "
        "a study whose runs reach a target tells more"
    ),
    "weak-assumed": N_("the table names no mode; weak scaling is assumed"),
    "job-time": N_("the times fall with more processes, so they are taken as those of a fixed amount of work"),
    "doubted": N_("points whose results cannot be believed were not used"),
    "outlier": N_("not used, because it cannot be true beside the others: {rows} processes"),
    "inconsistent": N_("one of these contradicts the others, measure them again: {rows} processes"),
    "retrograde": N_("slower than the next smaller size: {rows} processes"),
    "super-linear": N_("more than linear speed-up, so the smallest size may be slow: {rows} processes"),
    "node-boundary-unknown": N_(
        "it is not known how many processes a node holds; add a column nodes or --processes-per-node"
    ),
    "one-row": N_("only {processes} {processes:process|processes} measured: constant efficiency, a wide interval"),
    "below": N_(
        "smaller than the smallest measured size ({processes} {processes:process|processes}): its efficiency is assumed"
    ),
    "cluster-unknown": N_(
        "the history has several clusters and the table names none, so all of them count; add a column cluster"
    ),
    "physics": N_("from the loss inside the node and the measured network of the cluster, with overlap unknown"),
    "physics-step": N_(
        "from computing, the bytes of the gradients and the measured all-reduce of the cluster, with overlap in "
        "part unknown"
    ),
    "network-unknown": N_(
        "the network was not measured for such sizes; this would tell: hackathon clusters measure {cluster!q}"
    ),
    "extrapolation": N_("{times} times the largest measured size ({largest} processes)"),
    "below-target": N_("efficiency below {percent} %"),
}

SCHEMA_VERSION = 1
LARGEST = 10**9
"""Processes that are predicted at most."""
LEVEL = 0.9
"""Level of a validated interval."""
LEAST_ROWS = 3
"""Good rows from which the level was validated."""
FAR = 4
"""Multiple of the largest measured size beyond which a prediction is labelled an extrapolation."""
CONTRADICTING = ("slow", "fast", "inconsistent", "superlinear")
"""Flags of rows that contradict the others."""
Price = Callable[[int, float, int | None], tuple[float | None, float | None]]
"""Processes, cost relative to the base's, nodes → seconds and tokens of a run; None means unknown."""
TokensOf = Callable[[int], float]
"""Nodes → tokens per second of a job."""


@dataclass(frozen=True)
class Knowledge:
    """Facts besides the rows."""

    others: Sequence[Series] = ()
    """Other studies, for memory."""
    per_node: int | None = None
    """Processes of a full node, if the rows have no nodes."""
    physics: Physics | None = None
    """The cluster's network, and the program's traffic on it."""
    price: Price | None = None
    tokens: TokensOf | None = None
    goal: Goal | None = None
    """The goal of a training; None: its time is not requested, or unknown."""


ALONE = Knowledge()


@dataclass(frozen=True)
class Forecast:
    """The predictions of one series."""

    series: Series
    rows: tuple[MeasuredSize, ...]
    """Those that count."""
    flags: tuple[Flag, ...]
    json: dict[str, Any] = field(hash=False)

    @property
    def predictions(self) -> list[dict[str, Any]]:
        """One entry for each size, as JSON."""
        entries: list[dict[str, Any]] = self.json["predictions"]
        return entries


def forecast(series: Series, sizes: Sequence[int], knowledge: Knowledge = ALONE, *, advise: bool = True) -> Forecast:
    """Return the predictions at `sizes`; with `advise` also the most useful next run.

    Raises RequestError without a usable row.
    """
    if max(sizes) > LARGEST:
        raise RequestError(
            "predict.too_large",
            "{processes} processes cannot be predicted, at most {limit}",
            processes=max(sizes),
            limit=LARGEST,
        )
    series = series.placed(knowledge.per_node)
    marks = flags(series)
    series = replace(series, outliers=outliers(marks))
    rows = good_rows(series, marks)
    if not rows:
        raise RequestError(
            "predict.no_good_row",
            "no row of series {series} can be used",
            hint="Measure at least one size.",
            series=series.name or "–",
        )
    looks = {size: outlook(series, rows, size, knowledge.others, knowledge.physics) for size in dict.fromkeys(sizes)}
    general = _general(series, marks)
    if knowledge.others and not series.kin.cluster and len({study.kin.cluster for study in knowledge.others}) > 1:
        general.append(_warning("cluster-unknown"))
    predictions = [_entry(series, rows, marks, size, look, knowledge, general) for size, look in looks.items()]
    open_sizes = [size for size, look in looks.items() if look.basis != MEASURED]
    advised = (
        next_run(series, rows, max(open_sizes), knowledge.others, knowledge.physics) if advise and open_sizes else None
    )
    best = advice(series, rows, list(looks), knowledge.others, knowledge.physics) if advise else None
    document = {
        "schema_version": SCHEMA_VERSION,
        "series": series.name,
        "base_processes": rows[0].processes,
        "predictions": predictions,
        "flags": [flag.to_json() for flag in marks],
        "next_run": advised.to_json() if advised is not None else None,
        "advice": best.to_json() if best is not None else None,
        "beside": beside(series, rows, list(looks)) if len(rows) > 1 else _constant(series, rows, list(looks)),
    }
    return Forecast(series, rows, tuple(marks), document)


def _constant(series: Series, rows: Sequence[MeasuredSize], sizes: Sequence[int]) -> dict[str, list[float | None]]:
    """Return the values beside a prediction from one row, to which no law can be fitted."""
    constant = beside(series, rows, sizes)["constant_efficiency"]
    return {law: constant if law == "constant_efficiency" else [None] * len(sizes) for law in LAWS}


def _entry(
    series: Series, rows: Sequence[MeasuredSize], marks: Sequence[Flag], size: int, look: Outlook, knowledge: Knowledge,
    general: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    cost = math.exp(look.log_cost)
    ends = [series.value(size / math.exp(bound), size) for bound in look.bounds]
    value = look.row.value if look.row and look.row.value is not None else series.value(size / cost, size)
    nodes = look.row.nodes if look.row else math.ceil(size / series.per_node) if series.per_node else None
    unknown = _not_validated(series, rows, marks, size, look)
    trained = _training(series, knowledge, size, ValueRange(value, min(ends), max(ends)), nodes)
    seconds, tokens = (knowledge.price or _own_time(series))(size, cost / rows[0].cost, nodes)
    return {
        "processes": size,
        "value": value,
        "low": min(ends),
        "high": max(ends),
        "efficiency": rows[0].cost / cost,
        "level": LEVEL if unknown is None else None,
        "basis": look.basis,
        "seconds": seconds,
        "tokens": tokens,
        "shapes": [{"name": name, "weight": weight} for name, weight in weights(look.components).items()],
        "warnings": [
            *_warnings(series, rows, size, look, knowledge),
            *([_range_warning(unknown)] if unknown is not None and unknown != MEASURED else []),
            *_batch_warning(trained, knowledge.goal),
            *general,
        ],
        "training": trained.to_json() if trained is not None else None,
    }


def _not_validated(
    series: Series, rows: Sequence[MeasuredSize], marks: Sequence[Flag], size: int, look: Outlook
) -> str | None:
    """Return why the reliability of such an interval is unknown; None if studies of other sources confirmed it."""
    reasons = {
        MEASURED: look.basis == MEASURED,
        "boundary": look.crossing and look.basis not in (HISTORY, PHYSICS),
        "simulated": look.basis == PHYSICS,
        "rows": any(flag.kind in CONTRADICTING for flag in marks),
        "few": look.basis != HISTORY and len(rows) < LEAST_ROWS,
        "below": size < rows[0].processes,
        "strong": series.mode == STRONG,
        "layout": look.basis != HISTORY and series.per_node is None,
        "far": size > FAR * rows[-1].processes,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _range_warning(reason: str) -> str:
    return f"not-validated: {_(_RANGE_TEXTS[reason])}"


def _training(series: Series, knowledge: Knowledge, size: int, value: ValueRange, nodes: int | None) -> Training | None:
    """Return the time of a training at a size; None if it is not requested or its steps are unknown."""
    goal = knowledge.goal
    if goal is None:
        return None
    batch, epoch = goal.batch_at(size), goal.epoch or 1.0
    rates = sorted(series.samples_per_second(bound, size, batch, epoch) for bound in (value.low, value.high))
    rate = ValueRange(series.samples_per_second(value.value, size, batch, epoch), rates[0], rates[1])
    if not all(0 < number < math.inf for number in (rate.low, rate.value, rate.high)):
        return None
    return training(goal, size, rate, knowledge.tokens(nodes) if knowledge.tokens is not None and nodes else None)


def _batch_warning(trained: Training | None, goal: Goal | None) -> list[str]:
    """Return the warning on the samples that a training needs at its batch."""
    if trained is None or goal is None:
        return []
    unchanged = (
        trained.basis == GIVEN and goal.critical is None and goal.batch_at(trained.processes) > goal.needs[0].batch
    )
    return [_warning("batch-range")] if trained.basis == RANGE else [_warning("epochs-kept")] if unchanged else []


def _own_time(series: Series) -> Price:
    """Return the price of a series without a study: its values, if they are times."""

    def price(processes: int, cost: float, nodes: int | None) -> tuple[float | None, float | None]:
        if series.meaning not in TIMES:
            return None, None
        base = series.rows[0]
        rate = processes / (cost * base.cost)
        return series.value(rate, processes) * series.second, None

    return price


def _general(series: Series, marks: Sequence[Flag]) -> list[str]:
    """Return the warnings for all sizes."""
    warnings = [f"{note}: {_(_WARNING_TEXTS[note])}" for note in series.notes]
    kinds: dict[str, list[int]] = {}
    for flag in marks:
        kinds.setdefault(flag.kind, []).append(flag.processes)
    outliers = sorted(kinds.get("slow", []) + kinds.get("fast", []))
    for name, sizes in (
        ("outlier", outliers), ("inconsistent", kinds.get("inconsistent")), ("retrograde", kinds.get("retrograde")),
        ("super-linear", kinds.get("superlinear")),
    ):  # fmt: skip
        if sizes:
            warnings.append(_warning(name, rows=", ".join(map(str, sizes))))
    return warnings


def _warnings(
    series: Series, rows: Sequence[MeasuredSize], size: int, look: Outlook, knowledge: Knowledge
) -> list[str]:
    """Return the warnings for one prediction: `id: sentence`."""
    warnings: list[str] = []
    largest = rows[-1].processes
    if look.basis == MEASURED:
        return warnings
    if look.crossing:
        text = (
            N_("no run of the program is on several nodes; all are inside one ({per_node} processes)")
            if look.basis == PHYSICS
            else N_(
                "all measured sizes are inside one node ({per_node} processes); the network between nodes is not "
                "measured"
            )
        )
        warnings.append(f"node-boundary: {_(text, per_node=series.per_node or 0)}")
    elif series.per_node is None:
        warnings.append(_warning("node-boundary-unknown"))
    if look.basis == BASELINE:
        warnings.append(_warning("one-row" if len(rows) == 1 else "below", processes=rows[0].processes))
    if look.basis == PHYSICS:
        complete = knowledge.physics is not None and knowledge.physics.whole
        warnings.append(_warning("physics-step" if complete else "physics"))
    physics = knowledge.physics
    sends = physics is not None and physics.gradient_bytes and physics.batch
    if sends and physics is not None and look.basis in (IN_NODE, ACROSS_NODES, BASELINE) and size > rows[0].processes:
        warnings.append(_warning("network-unknown", cluster=series.kin.cluster or "NAME"))
    if size > FAR * largest:
        warnings.append(_warning("extrapolation", times=f"{size / largest:.3g}", largest=largest))
    if rows[0].cost / math.exp(look.log_cost) < TARGET:
        warnings.append(_warning("below-target", percent=f"{100 * TARGET:.0f}"))
    return warnings


def _warning(name: str, **values: object) -> str:
    return f"{name}: {_(_WARNING_TEXTS[name], **values)}"


# ---- what the well-known laws say, beside a prediction

LAWS = ("amdahl", "gustafson", "usl", "constant_efficiency")


def beside(series: Series, rows: Sequence[MeasuredSize], sizes: Sequence[int]) -> dict[str, list[float | None]]:
    """Return law → the value that it gives at each size, in the series' unit; None where it cannot be fitted.

    Amdahl (AFIPS 1967): cost = a + b·(n−1). Gustafson (CACM 31(5), 1988): rate per process = a + b/n. Universal
    scalability law (Gunther 1993): cost = a + b·(n−1) + c·n(n−1). n: multiples of the smallest good size; relative
    errors are made small, coefficients are not negative. Constant efficiency: that of the largest good row.
    """
    base, last = rows[0].processes, rows[-1]
    multiples = [row.processes / base for row in rows]
    values: dict[str, list[float | None]] = {}
    constant = [1.0] * len(rows)
    linear = [n - 1 for n in multiples]
    quadratic = [n * (n - 1) for n in multiples]
    for law, columns in (("amdahl", [constant, linear]), ("usl", [constant, linear, quadratic])):
        relative = [[x / row.cost for x, row in zip(column, rows, strict=True)] for column in columns]
        fit = non_negative(relative, constant)
        values[law] = []
        for size in sizes:
            n = size / base
            cost = fit.value([1.0, n - 1, n * (n - 1)][: len(columns)]) if fit else 0.0
            values[law].append(series.value(size / cost, size) if cost > 0 else None)
    per_process = [1 / row.cost for row in rows]
    shrinking = [1 / n for n in multiples]
    fit = non_negative([[x / y for x, y in zip(c, per_process, strict=True)] for c in (constant, shrinking)], constant)
    values["gustafson"] = []
    for size in sizes:
        rate = size * fit.value([1.0, base / size]) if fit else 0.0
        values["gustafson"].append(series.value(rate, size) if rate > 0 else None)
    values["constant_efficiency"] = [series.value(size / last.cost, size) for size in sizes]
    return {law: values[law] for law in LAWS}
