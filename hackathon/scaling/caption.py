"""The caption of a study's plot, as Markdown: what is shown, of how many runs, on which machine, and the doubts."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.scaling.doubts import merged
from hackathon.scaling.show import MODE_TEXTS, basis, doubt_mark, doubt_text, label, plain, state
from hackathon.scaling.table import SUCCEEDED, TARGET, points_of, series_of
from hackathon.text.markdown import escaped
from hackathon.text.messages import _

if TYPE_CHECKING:
    from hackathon.runs.directory import RunDirectory

HOSTS = 8
"""Hosts of a run whose devices are read."""


def caption_file(plot: Path) -> Path:
    """Return the file of a plot's caption: `fig.caption.md` beside `fig.pdf`."""
    return plot.with_name(f"{plot.stem}.caption.md")


def machines_of(runs: Iterable["RunDirectory"]) -> list[str]:
    """Return the clusters of runs, with the names of the GPUs that their hosts listed."""
    devices: dict[str, dict[str, None]] = {}
    for run in runs:
        names = devices.setdefault(run.known().cluster, {})
        for file in [name for name in run.files.names("env") if name.endswith(".json")][:HOSTS]:
            listed = run.files.json(f"env/{file}").get("gpus")
            for text in listed if isinstance(listed, list) else ():
                names[plain(str(text).partition(",")[0])[:80]] = None
    return [f"{plain(name)} ({', '.join(gpus)})" if gpus else plain(name) for name, gpus in devices.items() if name]


def caption(results: Mapping[str, Any], machines: Sequence[str]) -> str:
    """Return the caption of the plot of a study's results."""
    mode = _(MODE_TEXTS[results["mode"]]) if results.get("mode") else _("scaling")
    metric = plain(results["metric"]) + (f" [{plain(results['unit'])}]" if results["unit"] else "")
    lines = [
        _(
            "**{study}.** Speed-up and parallel efficiency over the number of processes, {mode}, by {metric}.",
            study=escaped(plain(results["study"])),
            mode=mode,
            metric=escaped(metric),
        ),
        "",
        _(
            "Line: median of the successful runs of a size; points: single runs. Grey: linear speed-up; second line: "
            "an efficiency of {target} %.",
            target=f"{100 * TARGET:.0f}",
        ),
        *([_("Dashed: predicted, with an interval.")] if _predicted(results) else []),
        *(escaped(text) for text in basis(results)),
        "",
        _("Machine: {machines}", machines=escaped("; ".join(machines)) if machines else _("not known")),
    ]
    series = series_of(results)
    for entry in series:
        lines += ["", escaped(label(entry)) if len(series) > 1 else "", *_sizes(entry)]
    doubts = [
        f"- {_('{count} {count:process|processes}', count=point['processes'])}: "
        f"{escaped(f'{doubt_mark([doubt])}: {doubt_text(doubt)}')}"
        for point in points_of(results)
        for doubt in merged(point["doubts"])
    ]
    lines += ["", _("Doubts:") if doubts else _("Doubts: none were found in the records of the runs."), "", *doubts]
    return "\n".join(_without_double_blanks(lines)) + "\n"


def _sizes(series: Mapping[str, Any]) -> list[str]:
    base = series["base_processes"]
    texts = []
    for point in series["points"]:
        good = sum(run["status"] == SUCCEEDED and run["value"] is not None for run in point["runs"])
        ends = [state(run["status"]) for run in point["runs"] if run["status"] != SUCCEEDED]
        counted = _("{count} {count:process|processes}", count=point["processes"])
        texts.append(f"{counted}: n = {good}" + (f" ({', '.join(sorted(set(ends)))}: {len(ends)})" if ends else ""))
    first = _("Base: {count} {count:process|processes}.", count=base) if base else _("Base: not known.")
    return [f"{first} {_('Successful runs: {sizes}.', sizes='; '.join(texts))}"]


def _predicted(results: Mapping[str, Any]) -> bool:
    return any((entry.get("fit") or {}).get("predicted") for entry in series_of(results))


def _without_double_blanks(lines: Sequence[str]) -> list[str]:
    return [line for number, line in enumerate(lines) if line or (number and lines[number - 1])]
