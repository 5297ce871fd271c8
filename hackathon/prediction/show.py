"""Print a forecast to a terminal."""

from collections.abc import Iterable, Mapping
from typing import Any

from hackathon.prediction.forecast import Forecast
from hackathon.prediction.outlook import IN_NODE
from hackathon.prediction.training import RANGE
from hackathon.scaling.show import number, percent
from hackathon.text.columns import aligned
from hackathon.text.messages import message
from hackathon.text.printable import printable
from hackathon.text.units import format_walltime

_MODE_TEXTS = {
    "weak": "scaling.mode_weak",
    "strong": "scaling.mode_strong",
}

_BASIS_TEXTS = {
    "measured": "predict.basis_measured",
    "in_node": "predict.basis_in_node",
    "sizes": "predict.basis_sizes",
    "across_nodes": "predict.basis_across_nodes",
    "history": "predict.basis_history",
    "physics": "predict.basis_physics",
    "baseline": "predict.basis_baseline",
}

_COLUMN_TEXTS = {
    "processes": "predict.column_processes",
    "value": "predict.column_value",
    "interval": "predict.column_interval",
    "range": "predict.column_range",
    "efficiency": "predict.column_efficiency",
    "seconds": "predict.column_seconds",
    "tokens": "predict.column_tokens",
    "basis": "predict.column_basis",
}

_FLAG_TEXTS = {
    "slow": "predict.flag_slow",
    "fast": "predict.flag_fast",
    "inconsistent": "predict.flag_inconsistent",
    "retrograde": "predict.flag_retrograde",
    "superlinear": "predict.flag_superlinear",
    "duplicate": "predict.flag_duplicate",
}

_LAW_TEXTS = {
    "amdahl": "predict.law_amdahl",
    "gustafson": "predict.law_gustafson",
    "usl": "predict.law_usl",
    "constant_efficiency": "predict.law_constant_efficiency",
}

_TRAINING_BASIS_TEXTS = {
    "given": "predict.training_basis_given",
    "measured": "predict.training_basis_measured",
    "critical-batch": "predict.training_basis_critical_batch",
    "range": "predict.training_basis_range",
}

MOST_SHAPES = 4
WIDTH = 200
EVEN = 0.35
"""Half of an interval relative to its value up to which it is printed as ±; beyond it both ends are printed."""


def lines(forecast: Forecast) -> list[str]:
    """Return a table of the predictions, then remarks: flags, warnings, advice, other laws."""
    series, document = forecast.series, forecast.json
    mode = message(_MODE_TEXTS[series.mode])
    title = message(
        "predict.title", series=printable(series.name or message("predict.unnamed")), mode=mode,
        base=document["base_processes"],
    )  # fmt: skip
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
        cost = message("predict.training_tokens", tokens=number(tokens["value"], 3)) if tokens is not None else ""
        parts.append(message("predict.training_even" if even else "predict.training_between", **words) + cost)
    bases = dict.fromkeys(training["basis"] for _, training in trainings)
    why = "; ".join(message(_TRAINING_BASIS_TEXTS[basis]) for basis in bases)
    return [message("predict.training_line", parts="; ".join(parts), basis=why)]


def _table(predictions: Iterable[Mapping[str, Any]], unit: str) -> list[str]:
    """Return the table; columns without any value are omitted."""
    predictions = list(predictions)
    keys = ["processes", "value", "interval", "efficiency"]
    keys += [key for key in ("seconds", "tokens") if any(prediction[key] is not None for prediction in predictions)]
    heads = [message(_COLUMN_TEXTS[key]) for key in (*keys, "basis")]
    validated = [prediction["level"] is not None for prediction in predictions]
    if not all(validated):
        heads[2] = message("predict.column_range")
    heads[1] += f" [{printable(unit)}]" if unit else ""
    rows = [heads]
    mark = "" if all(validated) else message("predict.nine_of_ten")
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
    return message(_BASIS_TEXTS[key])


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return format_walltime(round(seconds)) if seconds >= 60 else f"{number(seconds, 3)} s"


def _notes(forecast: Forecast) -> list[str]:
    """Return the flags, and each warning once with its sizes."""
    notes = [
        message(_FLAG_TEXTS[flag.kind], processes=flag.processes, size=f"{100 * flag.size:+.1f} %")
        for flag in forecast.flags
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
    sentences = [message("predict.shapes_line", processes=processes, shapes=shapes)]
    laws = [
        message(_LAW_TEXTS[law], value=number(values[last]))
        for law, values in document["beside"].items()
        if values[last] is not None
    ]
    sentences.append(message("predict.beside", processes=processes, laws=", ".join(laws)))
    best = document["advice"] or {}
    for key, identifier in (("largest", "predict.largest_good"), ("cheapest", "predict.cheapest")):
        size = best.get(key)
        if size is not None:
            share, efficiency = percent(best["target"]), percent(size["efficiency"])
            sentences.append(message(identifier, target=share, processes=size["processes"], efficiency=efficiency))
    if document["next_run"] is not None:
        run = document["next_run"]
        before, after = (f"{100 * run[key]:.0f} %" for key in ("half_width_before", "half_width_after"))
        minutes = round(run["seconds"] / 60)
        sentences.append(
            message("predict.next_run", processes=run["processes"], minutes=minutes, before=before, after=after)
        )
    return [f"- {line}" for line in sentences]
