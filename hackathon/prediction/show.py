"""A forecast as lines of text for a terminal."""

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

MOST_SHAPES = 4
WIDTH = 200
EVEN = 0.35
"""Half of an interval relative to its value up to which it is told as ±; beyond it both ends are told."""


def lines(found: Forecast) -> list[str]:
    """Return a table of the predictions, then what is to be said: flags, warnings, advice, other laws."""
    series, told = found.series, found.json
    mode = message(f"scaling.mode_{series.mode}")
    title = message(
        "predict.title", series=printable(series.name or message("predict.unnamed")), mode=mode,
        base=told["base_processes"],
    )  # fmt: skip
    return [title, *_table(found.predictions, series.unit), *_training(found), *_notes(found), *_advice(found)]


def _training(found: Forecast) -> list[str]:
    """Return one line about the time of a training: what each size takes and costs, and what its samples rest on."""
    told = [(each["processes"], each["training"]) for each in found.predictions if each["training"] is not None]
    if not told:
        return []
    parts = []
    for processes, made in told:
        seconds, tokens = made["seconds"], made["tokens"]
        words = {
            "processes": processes, "time": _time(seconds["value"]), "low": _time(seconds["low"]),
            "high": _time(seconds["high"]), "margin": _time((seconds["high"] - seconds["low"]) / 2),
        }  # fmt: skip
        even = made["basis"] != RANGE and (seconds["high"] - seconds["low"]) / 2 < EVEN * seconds["value"]
        cost = message("predict.training_tokens", tokens=number(tokens["value"], 3)) if tokens is not None else ""
        parts.append(message("predict.training_even" if even else "predict.training_between", **words) + cost)
    bases = dict.fromkeys(made["basis"] for _, made in told)
    why = "; ".join(message(f"predict.training_basis_{basis.replace('-', '_')}") for basis in bases)
    return [message("predict.training_line", parts="; ".join(parts), basis=why)]


def _table(predictions: Iterable[Mapping[str, Any]], unit: str) -> list[str]:
    """Return the table; columns that nobody knows anything for are left out."""
    predictions = list(predictions)
    keys = ["processes", "value", "interval", "efficiency"]
    keys += [key for key in ("seconds", "tokens") if any(each[key] is not None for each in predictions)]
    heads = [message(f"predict.column_{key}") for key in (*keys, "basis")]
    validated = [each["level"] is not None for each in predictions]
    if not all(validated):
        heads[2] = message("predict.column_range")
    heads[1] += f" [{printable(unit)}]" if unit else ""
    rows = [heads]
    mark = "" if all(validated) else message("predict.nine_of_ten")
    for each in predictions:
        cells = {
            "processes": str(each["processes"]),
            "value": number(each["value"]),
            "interval": f"{number(each['low'])} – {number(each['high'])}{mark if each['level'] is not None else ''}",
            "efficiency": percent(each["efficiency"]),
            "seconds": _time(each["seconds"]),
            "tokens": number(each["tokens"], 3),
        }
        rows.append([*(cells[key] for key in keys), _basis(each)])
    return aligned(rows, WIDTH)


def _basis(prediction: Mapping[str, Any]) -> str:
    """Return what a prediction rests on; nobody says "inside a node" where its size is not known."""
    unknown = any(each.startswith("node-boundary-unknown:") for each in prediction["warnings"])
    key = "sizes" if unknown and prediction["basis"] == IN_NODE else prediction["basis"].replace("-", "_")
    return message(f"predict.basis_{key}")


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return format_walltime(round(seconds)) if seconds >= 60 else f"{number(seconds, 3)} s"


def _notes(found: Forecast) -> list[str]:
    """Return the flags, and each warning once with the sizes that it is about."""
    told = [
        message(f"predict.flag_{flag.kind}", processes=flag.processes, size=f"{100 * flag.size:+.1f} %")
        for flag in found.flags
    ]
    about: dict[str, list[int]] = {}
    for each in found.predictions:
        for warning in each["warnings"]:
            about.setdefault(warning, []).append(each["processes"])
    everywhere = len(found.predictions)
    for warning, sizes in about.items():
        text = warning.partition(": ")[2]
        told.append(text if len(sizes) == everywhere else f"{', '.join(map(str, sizes))}: {text}")
    return [f"- {line}" for line in told]


def _advice(found: Forecast) -> list[str]:
    predictions, told = found.predictions, found.json
    last = max(range(len(predictions)), key=lambda place: predictions[place]["processes"])
    shapes = ", ".join(
        f"{each['name']} {percent(each['weight'])}" for each in predictions[last]["shapes"][:MOST_SHAPES]
    )
    processes = predictions[last]["processes"]
    made = [message("predict.shapes_line", processes=processes, shapes=shapes)]
    laws = [
        message(f"predict.law_{law}", value=number(values[last]))
        for law, values in told["beside"].items()
        if values[last] is not None
    ]
    made.append(message("predict.beside", processes=processes, laws=", ".join(laws)))
    best = told["advice"] or {}
    for key, identifier in (("largest", "predict.largest_good"), ("cheapest", "predict.cheapest")):
        size = best.get(key)
        if size is not None:
            share, efficiency = percent(best["target"]), percent(size["efficiency"])
            made.append(message(identifier, target=share, processes=size["processes"], efficiency=efficiency))
    if told["next_run"] is not None:
        run = told["next_run"]
        before, after = (f"{100 * run[key]:.0f} %" for key in ("half_width_before", "half_width_after"))
        minutes = round(run["seconds"] / 60)
        made.append(
            message("predict.next_run", processes=run["processes"], minutes=minutes, before=before, after=after)
        )
    return [f"- {line}" for line in made]
