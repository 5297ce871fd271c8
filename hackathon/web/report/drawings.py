"""The charts of a report's documents: drawings for Markdown (SVG), pictures for Word (PNG), from one specification."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hackathon.index.catalog import Catalog
from hackathon.scaling.fonts import has_japanese, needs_japanese
from hackathon.scaling.plot import pictures
from hackathon.survey.records import SurveySummary
from hackathon.text.errors import HackathonError
from hackathon.text.messages import _
from hackathon.web.masking.mask import Mask
from hackathon.web.masking.masked_page import mask_page
from hackathon.web.page.figures import themed
from hackathon.web.report.report import report_figures
from hackathon.web.report.signed_files import MARK, signed


@dataclass(frozen=True)
class Chart:
    """A chart of a report, masked, in one language."""

    file: str
    """The name of its drawing beside the Markdown."""
    title: str
    alt: str
    """A description in words, for readers who cannot see the picture."""
    spec: Mapping[str, Any]
    """Vega-Lite, on white."""
    survey: str = ""
    """The name of the survey whose answers it shows; empty for a chart of the teams."""


def charts_of(source: Catalog, surveys: Sequence[SurveySummary], language: str, ending: str, mask: Mask) -> list[Chart]:
    """Return the charts of the teams' results and of the surveys' ratings in the current language.

    `ending`: the language in the names of files, `.ja`; empty for the first one.
    """
    from hackathon.survey.chart import chart

    figures, _overview = report_figures(source, mask)
    charts = [
        Chart(f"report-{figure.name.replace('all', 'teams', 1)}{ending}.svg", figure.title, figure.alt,
              _on_white(figure.spec))
        for figure in figures
    ]  # fmt: skip
    for summary in surveys:
        picture = chart(summary, language, titled=True)
        if picture is not None:
            spec, alt, *__ = picture
            file = f"report-{_plain(summary.name)}{ending}.svg"
            charts.append(Chart(file, "", mask.text(alt), _on_white(spec), summary.name))
    return charts


def drawn_files(charts: Sequence[Chart], mask: Mask) -> tuple[dict[str, str | bytes], str]:
    """Return file → signed drawing of each chart, and why there are none."""
    raw, problem = _pictures(charts, "svg")
    return {
        chart.file: signed_drawing(svg.decode("utf-8", "replace"), mask)
        for chart, svg in zip(charts, raw, strict=False)
    }, problem  # fmt: skip


def rasters(charts: Sequence[Chart], document: str) -> tuple[dict[str, bytes], str]:
    """Return file of the drawing → the same chart as PNG, for a document, and why some are missing.

    A chart with Japanese words is left out on a machine without a Japanese font, because they would be boxes.
    """
    readable, problem = list(charts), ""
    foreign = [chart for chart in charts if needs_japanese(json.dumps(chart.spec, ensure_ascii=False))]
    if foreign and not has_japanese():
        readable = [chart for chart in charts if chart not in foreign]
        problem = _(
            "{file} is without {count} {count:chart|charts}: no Japanese font was found (put a font such as Noto Sans "
            "CJK into ~/.local/share/fonts)",
            file=document,
            count=len(foreign),
        )
    raw, trouble = _pictures(readable, "png")
    return {chart.file: png for chart, png in zip(readable, raw, strict=False)}, problem or trouble


def signed_drawing(svg: str, mask: Mask) -> str:
    """Return a masked and signed drawing."""
    return signed(mask_page(svg, mask).rstrip() + f"\n<!-- {MARK} -->\n")


def _pictures(charts: Sequence[Chart], form: str) -> tuple[list[bytes], str]:
    if not charts:
        return [], ""
    try:
        return pictures([chart.spec for chart in charts], form), ""
    except HackathonError as error:
        return [], _("the plots could not be drawn: {reason}", reason=error.message)


def _on_white(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {**themed(spec), "background": "#ffffff", "padding": 12}


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "survey"
