"""The picture of a scaling study: speed-up and parallel efficiency over processes, as Vega-Lite."""

import base64
import json
import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from hackathon.scaling import draw as drawing
from hackathon.scaling.doubts import believed, is_false
from hackathon.scaling.fonts import has_japanese, needs_japanese, user_folders
from hackathon.scaling.show import label, plain, state
from hackathon.scaling.table import OPEN, SUCCEEDED, TARGET, lower_is_better, points_of, series_of
from hackathon.text.errors import HackathonError, RequestError, UnavailableError
from hackathon.text.files import write_whole
from hackathon.text.messages import _, pgettext, speaking
from hackathon.text.messages import language as current_language
from hackathon.text.paths import child_environment, shipped

SECONDS = 180.0
"""Time limit of a drawing: a cold start of the engine on a busy login node takes several seconds."""
PROGRAM = Path(drawing.__file__)
"""The program of the drawing process."""
PANELS = ("speedup", "efficiency")
COLOURS = ("#0b5cad", "#b45309", "#00806a", "#8a3ffc", "#c0267d", "#5b6675", "#7a8c00", "#0f9ec7", "#9c2b1d", "#4b4b9e")
"""Colours of several series, distinguishable on white and for colour-blind people; the eleventh repeats the first."""


def plot_spec(
    results: Mapping[str, Any], *, title: str | None = None, language: str | None = None, template: Path | None = None
) -> dict[str, Any]:
    """Return the Vega-Lite specification of a study's results, labels in `language` (default: the current one).

    `title` None is the study's id, "" none. Each of several series has a colour and a curve of its own. In the template
    `message:TEXT` is translated, `fill:NAME` a value; the data sets are points, repeats, doubted,
    failed, reference, labels, band. Raises HackathonError for a bad template.
    """
    path = template or shipped("templates", "plots", "scaling.vl.json")
    with speaking(language or current_language()):
        fills = _fills(results, results["study"] if title is None else title)
        spec = filled(path, fills, _datasets(results))
        return coloured(spec) if len(series_of(results)) > 1 else spec


def coloured(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a specification with a colour for each series; one reference line for each base."""
    for part in spec["hconcat"]:
        for layer in part["layer"]:
            encoding, mark = layer.setdefault("encoding", {}), layer["mark"]
            if layer["data"]["name"] in ("points", "repeats", "band"):
                mark.pop("color", None)
                encoding["color"] = {
                    "field": "series", "type": "nominal", "title": None, "scale": {"range": list(COLOURS)},
                    "legend": {"orient": "bottom", "direction": "vertical", "symbolLimit": 0, "labelLimit": 320,
                               "symbolOpacity": 1},
                }  # fmt: skip
            elif layer["data"]["name"] == "reference":
                encoding["detail"] = {"field": "base"}
    return spec


def filled(
    template: Path, fills: Mapping[str, Any], datasets: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, Any]:
    """Return the specification of a template with these values and data, texts in the current language.

    In it `message:TEXT` is translated, `fill:NAME` a value. Raises HackathonError for a bad template.
    """
    try:
        skeleton = json.loads(template.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise HackathonError(
            "scaling.plot_bad_template",
            "the plot template {path} cannot be read: {reason}",
            path=template,
            reason=error,
        ) from None
    spec: dict[str, Any] = _filled(skeleton, fills)
    spec["datasets"] = {name: list(rows) for name, rows in datasets.items()}
    return spec


def panel(spec: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return one panel of a specification (`speedup`, `efficiency`) as a separate chart, for narrow pages."""
    alone = {key: value for key, value in spec.items() if key not in ("hconcat", "title", "spacing")}
    return {**alone, **spec["hconcat"][PANELS.index(name)]}


def write_plot(spec: Mapping[str, Any], path: Path) -> None:
    """Draw a specification into `path`, .svg (text stays text), .pdf or .png (twice the size), by rename.

    Raises RequestError for another suffix, UnavailableError without vl-convert, HackathonError when the drawing process
    fails, crashes or takes too long; callers continue without the picture.
    """
    suffix = path.suffix.lower().lstrip(".")
    if suffix not in ("svg", "png", "pdf"):
        raise RequestError(
            "scaling.plot_wrong_suffix", "a plot is written as .svg, .pdf or .png, not {path}", path=path
        )
    (picture,) = pictures([spec], suffix)
    try:
        write_whole(path, picture)
    except OSError as error:
        raise HackathonError(
            "scaling.plot_cannot_write", "{path} cannot be written: {reason}", path=path, reason=error.strerror
        ) from None


def plot_study(results: Mapping[str, Any], path: Path, *, title: str | None = None) -> list[str]:
    """Draw a study into `path` and return warnings; Japanese never becomes boxes.

    An SVG keeps its text and names fonts of all systems. A PNG or PDF is drawn on this machine: without a Japanese font
    its labels are English and a title with Japanese characters is omitted, each with a warning. Raises the errors of
    `write_plot`.
    """
    warnings: list[str] = []
    chosen = current_language()
    heading = str(results["study"]) if title is None else title
    if path.suffix.lower() in (".png", ".pdf") and not has_japanese():
        if chosen == "ja":
            warnings.append(
                _("no Japanese font was found, so the labels of the plot are in English")
                + " ("
                + _("put a font such as Noto Sans CJK into ~/.local/share/fonts, or use .svg")
                + ")"
            )
            chosen = "en"
        if needs_japanese(heading):
            warnings.append(_("the title has letters that no installed font supports; it was left out of the plot"))
            heading = ""
        if needs_japanese(f"{results['metric']}{results['unit']}"):
            results = {**results, "metric": "", "unit": ""}
    write_plot(plot_spec(results, title=heading, language=chosen), path)
    return warnings


def order_of(specs: Sequence[Mapping[str, Any]], form: str) -> bytes:
    """Return the input of the drawing process: one line of JSON."""
    order = {
        "charts": [{"spec": spec, "format": form} for spec in specs],
        "fonts": [str(folder) for folder in user_folders()],
    }
    return json.dumps(order, allow_nan=False).encode()


def pictures(specs: Sequence[Mapping[str, Any]], form: str) -> list[bytes]:
    """Return the pictures of some specifications as `svg`, `png` or `pdf`, drawn by one child process.

    Raises UnavailableError without vl-convert and HackathonError when the process fails, is killed or takes too long.
    """
    try:
        # -P: a file `json.py` in the user's folder must not replace the library's.
        child = subprocess.run(
            [sys.executable, "-P", str(PROGRAM)],
            input=order_of(specs, form), capture_output=True, timeout=SECONDS, check=False,
            env=child_environment(),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise _failure(_("the drawing process took longer than {seconds} s", seconds=f"{SECONDS:.0f}")) from None
    except OSError as error:
        raise _failure(str(error.strerror)) from None
    if child.returncode == drawing.MISSING_LIBRARY:
        raise UnavailableError(
            "scaling.plot_missing_library",
            "plots need vl-convert, which is not installed",
            hint="pip install vl-convert-python",
        )
    if child.returncode < 0:
        raise _failure(_("the drawing process was killed by signal {signal}", signal=-child.returncode))
    try:
        answer = json.loads(child.stdout)
        drawn = [base64.b64decode(text) for text in answer["charts"]]
    except (ValueError, KeyError, TypeError):
        drawn = []
    if child.returncode or len(drawn) != len(specs):
        last = child.stderr.decode("utf-8", "replace").strip().splitlines()
        raise _failure(plain(last[-1])[:300] if last else f"exit {child.returncode}")
    return drawn


def _failure(reason: str) -> HackathonError:
    return HackathonError(
        "scaling.plot_failed_to_draw",
        "the plot could not be drawn: {reason}",
        hint="the table is complete without it; --format csv gives the numbers for another program",
        reason=reason,
    )


def _filled(value: Any, fills: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(entry, fills) for key, entry in value.items()}
    if isinstance(value, list):
        return [_filled(entry, fills) for entry in value]
    if isinstance(value, str) and value.startswith("message:"):
        context, bar, text = value.removeprefix("message:").rpartition("|")
        return pgettext(context, text) if bar else _(text)
    if isinstance(value, str) and value.startswith("fill:"):
        return fills.get(value.removeprefix("fill:"))
    return value


def _fills(results: Mapping[str, Any], title: str) -> dict[str, Any]:
    points = points_of(results)
    band = [row for series in series_of(results) for row in _band(series)]
    validated = all(entry["level"] is not None for series in series_of(results) for entry in _next(series))
    sizes = sorted({*(point["processes"] for point in points), *(row["processes"] for row in band)}) or [1]
    bases = _bases(results) or [sizes[0]]
    # A study of one size still needs an axis with two ends.
    low, high = min(sizes), max(max(sizes), 2 * min(sizes))
    speedups = [point["speedup"] for point in points if point["speedup"]]
    speedups += [end / base for base in bases for end in (low, high)]
    speedups += [row[key] for row in band for key in ("slow", "fast")]
    efficiencies = [point["efficiency"] for point in points if point["efficiency"]] + [row["high"] for row in band]
    bottom = 2 ** math.floor(math.log2(min(speedups) * 0.8))
    top = max(max(speedups) * 1.3, bottom * 2)
    steps = range(round(math.log2(bottom)), math.ceil(math.log2(top)) + 1)
    metric = plain(results["metric"]) + (f" [{plain(results['unit'])}]" if results["unit"] else "")
    base = ", ".join(map(str, _bases(results)))
    return {
        "title": plain(title),
        "subtitle": (
            _("{metric} · base: processes = {base} · points: single runs, line: median", metric=metric, base=base)
            if base
            else ""
        )
        + ((_(" · dashed: predicted, 90 %") if validated else _(" · dashed: predicted, a range")) if band else ""),
        "base": bases[0],
        "x_domain": [low / 2**0.15, high * 2**0.15],
        "x_ticks": sizes,
        "speedup_domain": [bottom, top],
        "speedup_ticks": [2.0**step for step in steps],
        "efficiency_domain": [0, min(2.0, max(1.1, 1.05 * max(efficiencies, default=1)))],
    }


def _band(series: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the predicted efficiency and speed-up with intervals, from the largest point to twice its size."""
    base = series["base_processes"]
    measured = believed(series["points"])
    predicted = _next(series)
    if not (base and measured and predicted):
        return []
    last = measured[-1]
    rows = [{"processes": last["processes"], **dict.fromkeys(("efficiency", "low", "high"), last["efficiency"])}]
    rows += [{key: entry[key] for key in ("processes", "efficiency", "low", "high")} for entry in predicted]
    for row in rows:
        share = row["processes"] / base
        row |= {"speedup": row["efficiency"] * share, "slow": row["low"] * share, "fast": row["high"] * share}
    return rows


def _next(series: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the plotted prediction for the next size; none without one."""
    return list(((series.get("fit") or {}).get("predicted") or [])[:1])


def _bases(results: Mapping[str, Any]) -> list[int]:
    """Return the base of each series, each number once."""
    return sorted({series["base_processes"] for series in series_of(results) if series["base_processes"]})


def _datasets(results: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    more_is_better = not lower_is_better(str(results["unit"]))
    series = series_of(results)
    points, repeats, failed, doubted, band = [], [], [], [], []
    for entry in series:
        base = entry["base_processes"]
        own = {"series": label(entry)} if len(series) > 1 else {}
        band += [{**row, **own} for row in _band(entry)]
        for point in entry["points"]:
            size = point["processes"]
            if point["speedup"]:
                points.append(
                    {"processes": size, "speedup": point["speedup"], "efficiency": point["efficiency"], **own}
                )
                if is_false(point["doubts"]):
                    doubted.append({**points[-1], "label": _("not believable")})
                good = [run["value"] for run in point["runs"] if run["status"] == SUCCEEDED and run["value"]]
                for value in good if len(good) > 1 else ():
                    # Speed-up is proportional to the value, or inversely proportional for times.
                    ratio = value / median(good)
                    speedup = point["speedup"] * (ratio if more_is_better else 1 / ratio)
                    repeats.append({"processes": size, "speedup": speedup, "efficiency": speedup * base / size, **own})
            elif point["status"] not in OPEN:
                why = _("not believable") if is_false(point["doubts"]) else state(point["status"])
                failed.append({"processes": size, "label": why, **own})
    sizes = [*(point["processes"] for point in points_of(results)), *(row["processes"] for row in band)] or [1]
    low, high = min(sizes) / 2**0.15, max(max(sizes), 2 * min(sizes)) * 2**0.15
    ends = [
        {"processes": x, "linear": x / base, "target": TARGET * x / base, **({"base": base} if len(series) > 1 else {})}
        for base in _bases(results) or [min(sizes)]
        for x in (low, high)
    ]
    return {
        "points": points, "repeats": repeats, "doubted": doubted, "failed": failed, "reference": ends,
        "labels": ends[1:2], "band": band,
    }  # fmt: skip
