"""Print a forecast to a terminal."""

from collections.abc import Iterable, Mapping
from typing import Any

from hackathon.prediction.forecast import Forecast
from hackathon.prediction.outlook import IN_NODE
from hackathon.prediction.training import RANGE
from hackathon.scaling.show import MODE_TEXTS, number, percent
from hackathon.text.columns import aligned
from hackathon.text.messages import N_, NP_, _
from hackathon.text.printable import printable
from hackathon.text.units import format_walltime

_BASIS_TEXTS = {
    "measured": NP_("predict", "measured"),
    "in_node": N_("inside a node"),
    "sizes": N_("measured sizes"),
    "across_nodes": N_("across nodes"),
    "history": N_("other studies"),
    "physics": N_("measured network"),
    "baseline": N_("constant efficiency"),
}

_COLUMN_TEXTS = {
    "processes": N_("processes"),
    "value": N_("value"),
    "interval": N_("90 % interval"),
    "range": N_("range"),
    "efficiency": N_("efficiency"),
    "seconds": N_("time"),
    "tokens": N_("tokens"),
    "basis": N_("basis"),
}

_FLAG_TEXTS = {
    "slow": N_("{processes} {processes:process|processes}: {size} – slower than the other sizes allow"),
    "fast": N_("{processes} {processes:process|processes}: {size} – faster than the other sizes allow"),
    "inconsistent": N_("{processes} {processes:process|processes}: {size} – contradicts another size; measure again"),
    "retrograde": N_("{processes} {processes:process|processes}: {size} – slower than the next smaller size"),
    "superlinear": N_("{processes} {processes:process|processes}: {size} – more than linear speed-up"),
    "duplicate": N_("{processes} {processes:process|processes}: {size} – measured twice with the same repeat"),
}

_LAW_TEXTS = {
    "amdahl": N_("Amdahl {value}"),
    "gustafson": N_("Gustafson {value}"),
    "usl": N_("USL {value}"),
    "constant_efficiency": N_("constant efficiency {value}"),
}

_TRAINING_BASIS_TEXTS = {
    "given": N_("epochs as given"),
    "measured": N_("samples as measured at this batch"),
    "critical-batch": N_("samples by the critical batch size"),
    "range": N_("bounds of the samples"),
}

MOST_SHAPES = 4
WIDTH = 200
EVEN = 0.35
"""Half of an interval relative to its value up to which it is printed as ±; beyond it both ends are printed."""


def lines(forecast: Forecast) -> list[str]:
    """Return a table of the predictions, then remarks: flags, warnings, advice, other laws."""
    series, document = forecast.series, forecast.json
    mode = _(MODE_TEXTS[series.mode])
    title = _(
        "{series} · {mode} · efficiency against {base} {base:process|processes}",
        series=printable(series.name or _("prediction")),
        mode=mode,
        base=document["base_processes"],
    )
    table = _table(forecast.predictions, series.unit)
    return [title, *table, *_training(forecast), *_notes(forecast), *_advice(forecast)]


def _training(forecast: Forecast) -> list[str]:
    """Return one line about the time of a training: time and cost at each size, and the basis of its samples."""
    trainings = [
        (prediction["processes"], prediction["training"])
        for prediction in forecast.predictions
        if prediction["training"] is not None
    ]
    if not trainings:
        return []
    parts = []
    for processes, training in trainings:
        seconds, tokens = training["seconds"], training["tokens"]
        words = {
            "processes": processes, "time": _time(seconds["value"]), "low": _time(seconds["low"]),
            "high": _time(seconds["high"]), "margin": _time((seconds["high"] - seconds["low"]) / 2),
        }  # fmt: skip
        even = training["basis"] != RANGE and (seconds["high"] - seconds["low"]) / 2 < EVEN * seconds["value"]
        cost = _(", {tokens} tokens", tokens=number(tokens["value"], 3)) if tokens is not None else ""
        parts.append(
            _(
                N_("{processes} {processes:process|processes} in {time} ± {margin}")
                if even
                else N_("{processes} {processes:process|processes} in {low} to {high}"),
                **words,
            )
            + cost
        )
    bases = dict.fromkeys(training["basis"] for _, training in trainings)
    why = "; ".join(_(_TRAINING_BASIS_TEXTS[basis]) for basis in bases)
    return [_("training: {parts} ({basis})", parts="; ".join(parts), basis=why)]


def _table(predictions: Iterable[Mapping[str, Any]], unit: str) -> list[str]:
    """Return the table; columns without any value are omitted."""
    predictions = list(predictions)
    keys = ["processes", "value", "interval", "efficiency"]
    keys += [key for key in ("seconds", "tokens") if any(prediction[key] is not None for prediction in predictions)]
    heads = [_(_COLUMN_TEXTS[key]) for key in (*keys, "basis")]
    validated = [prediction["level"] is not None for prediction in predictions]
    if not all(validated):
        heads[2] = _("range")
    heads[1] += f" [{printable(unit)}]" if unit else ""
    rows = [heads]
    mark = "" if all(validated) else _(" (90 %)")
    for prediction in predictions:
        noted = mark if prediction["level"] is not None else ""
        cells = {
            "processes": str(prediction["processes"]),
            "value": number(prediction["value"]),
            "interval": f"{number(prediction['low'])} – {number(prediction['high'])}{noted}",
            "efficiency": percent(prediction["efficiency"]),
            "seconds": _time(prediction["seconds"]),
            "tokens": number(prediction["tokens"], 3),
        }
        rows.append([*(cells[key] for key in keys), _basis(prediction)])
    return aligned(rows, WIDTH)


def _basis(prediction: Mapping[str, Any]) -> str:
    """Return the basis of a prediction; without known nodes the text "inside a node" is omitted."""
    unknown = any(warning.startswith("node-boundary-unknown:") for warning in prediction["warnings"])
    key = "sizes" if unknown and prediction["basis"] == IN_NODE else prediction["basis"].replace("-", "_")
    return _(_BASIS_TEXTS[key])


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return format_walltime(round(seconds)) if seconds >= 60 else f"{number(seconds, 3)} s"


def _notes(forecast: Forecast) -> list[str]:
    """Return the flags, and each warning once with its sizes."""
    notes = [
        _(_FLAG_TEXTS[flag.kind], processes=flag.processes, size=f"{100 * flag.size:+.1f} %") for flag in forecast.flags
    ]
    about: dict[str, list[int]] = {}
    for prediction in forecast.predictions:
        for warning in prediction["warnings"]:
            about.setdefault(warning, []).append(prediction["processes"])
    everywhere = len(forecast.predictions)
    for warning, sizes in about.items():
        text = warning.partition(": ")[2]
        notes.append(text if len(sizes) == everywhere else f"{', '.join(map(str, sizes))}: {text}")
    return [f"- {line}" for line in notes]


def _advice(forecast: Forecast) -> list[str]:
    predictions, document = forecast.predictions, forecast.json
    last = max(range(len(predictions)), key=lambda index: predictions[index]["processes"])
    shapes = ", ".join(
        f"{shape['name']} {percent(shape['weight'])}" for shape in predictions[last]["shapes"][:MOST_SHAPES]
    )
    processes = predictions[last]["processes"]
    sentences = [_("shapes at {processes} processes: {shapes}", processes=processes, shapes=shapes)]
    laws = [
        _(_LAW_TEXTS[law], value=number(values[last]))
        for law, values in document["beside"].items()
        if values[last] is not None
    ]
    sentences.append(_("for comparison at {processes} processes: {laws}", processes=processes, laws=", ".join(laws)))
    best = document["advice"] or {}
    for key, identifier in (
        (
            "largest",
            N_("largest size above {target} efficiency: {processes} {processes:process|processes} ({efficiency})"),
        ),
        ("cheapest", N_("cheapest per result: {processes} {processes:process|processes} ({efficiency})")),
    ):
        size = best.get(key)
        if size is not None:
            share, efficiency = percent(best["target"]), percent(size["efficiency"])
            sentences.append(_(identifier, target=share, processes=size["processes"], efficiency=efficiency))
    if document["next_run"] is not None:
        run = document["next_run"]
        before, after = (f"{100 * run[key]:.0f} %" for key in ("half_width_before", "half_width_after"))
        minutes = round(run["seconds"] / 60)
        sentences.append(
            _(
                "next run that helps most: {processes} processes for {minutes} minutes: ±{before} becomes ±{after}",
                processes=run["processes"],
                minutes=minutes,
                before=before,
                after=after,
            )
        )
    return [f"- {line}" for line in sentences]
