"""The files of an event's report: Markdown, HTML and docx in each language, and the drawings for Markdown."""

import base64
import functools
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.index.catalog import Catalog
from hackathon.index.published import without_hidden
from hackathon.survey.records import SurveySummary
from hackathon.text.endings import plain_style
from hackathon.text.messages import _, localized, speaking, worded
from hackathon.text.paths import shipped
from hackathon.web.masking.event_mask import mask_of
from hackathon.web.masking.masked_page import mask_page
from hackathon.web.masking.names import named
from hackathon.web.page import pages
from hackathon.web.page.figures import drawn
from hackathon.web.page.markdown import render_markdown
from hackathon.web.page.photographs import Picture, read_picture
from hackathon.web.page.survey_words import mean_text, quartiles, target_text
from hackathon.web.report import drawings
from hackathon.web.report.report import ReportView, figures_of_surveys, report_figures, report_view
from hackathon.web.report.sentences import words_of
from hackathon.web.report.signed_files import MARK, signed
from hackathon.web.report.word import check_word, word_document

if TYPE_CHECKING:
    from jinja2 import Environment

    from hackathon.usage.usage import Usage

POLICY = "policy"
"""Placeholder in the template for the page's policy."""
FIRST = "en"
"""The language whose files have the plain names."""


def report_files(
    source: Catalog,
    languages: Sequence[str],
    *,
    surveys: Sequence[SurveySummary] = (),
    usage: "Usage | None" = None,
    title: str = "",
    word: bool = False,
) -> tuple[dict[str, str | bytes], list[str]]:
    """Return name → signed text of a report's files, masked by the event's publish rules, and the problems.

    `report.md` and `report.html` are English, `report.<language>.…` the others. Markdown refers to the drawings
    `report-<chart>….svg` beside it; HTML and docx embed theirs. With `word` there is a docx of the Markdown, too;
    raises RequestError where python-docx is missing.
    """
    if word:
        check_word()
    assert source.event is not None
    article = source.event.report
    rules = source.event.publish
    source = without_hidden(source)
    photographs = _photographs(source)
    mask = mask_of(source, [named(run_folder(run.project, run.id)) for run in source.summaries], rules)
    files: dict[str, str | bytes] = {name: picture.raw for _, name, picture in photographs}
    troubles: list[str] = []
    for language in languages:
        ending = "" if language == FIRST else f".{language}"
        with speaking(language), worded(plain_style) if article.style == "plain" else nullcontext():
            pictures = [(localized(caption), name) for caption, name, _ in photographs]
            unmasked = report_view(source, surveys, usage=usage, title=title, pictures=pictures)
            view: ReportView = mask.value(unmasked)
            view = replace(view, photographs=tuple(
                replace(photograph, file=name) for photograph, (_, name) in zip(view.photographs, pictures, strict=True)
            ))  # fmt: skip
            figures, trouble = _drawn(source, surveys)
            troubles += [trouble] if trouble else []
            charts = drawings.charts_of(source, surveys if _allowed(source) else (), language, ending, mask)
            drawn_files, other = drawings.drawn_files(charts, mask)
            troubles += [other] if other else []
            files |= drawn_files
            charts = [chart for chart in charts if chart.file in drawn_files]
            values = {"view": view, "mark": MARK}
            masked = _masks(source)
            words = words_of(
                view,
                masked=masked,
                pictures={chart.survey: (chart.alt, chart.file) for chart in charts if chart.survey},
            )
            teams = [chart for chart in charts if not chart.survey]
            text = render_markdown(
                "report.md.j2", language, words=words, charts=teams, repeated=figures["overview"].repeated, **values
            )
            files[f"report{ending}.md"] = signed(text)
            if word:
                rasters, other = drawings.rasters(charts, f"report{ending}.docx")
                troubles += [other] if other else []
                raw = {name: picture.raw for _, name, picture in photographs} | rasters
                files[f"report{ending}.docx"] = word_document(text, raw, view.title)
            page = _page(language, {**values, "words": words_of(view, masked=masked), "shown": figures})
            # inserted after masking, because a digest or an encoded picture may look like a path
            page = mask_page(page, mask).replace(f'content="{POLICY}"', f'content="{_policy()}"', 1)
            for __, name, picture in photographs:
                page = page.replace(f'src="{name}"', f'src="{_as_letters(picture)}"', 1)
            files[f"report{ending}.html"] = signed(page)
    return files, list(dict.fromkeys(troubles))


def _photographs(source: Catalog) -> list[tuple[object, str, Picture]]:
    """Return (caption, name of the published file, picture) of the event's photographs.

    The name contains a digest of the content, so that different pictures have different names. Raises RequestError for
    a picture that must not be published.
    """
    assert source.event is not None
    if source.event_folder is None:
        return []
    photographs: list[tuple[object, str, Picture]] = []
    for photograph in source.event.report.photographs:
        picture = read_picture(source.event_folder, photograph.file)
        digest = hashlib.sha256(picture.raw).hexdigest()[:8]
        photographs.append((photograph.caption, f"report-photograph-{digest}{picture.suffix}", picture))
    return photographs


def _as_letters(picture: Picture) -> str:
    return f"data:{picture.media_type};base64,{base64.b64encode(picture.raw).decode()}"


def run_folder(project: str, identifier: str) -> Path:
    """Return the folder of a project's run."""
    return Path(project) / "runs" / identifier


def _allowed(source: Catalog) -> bool:
    return source.event is not None and source.event.publish.surveys


def _masks(source: Catalog) -> bool:
    assert source.event is not None
    rules = source.event.publish
    return not (rules.users and rules.hosts and rules.paths)


def _drawn(source: Catalog, surveys: Sequence[SurveySummary]) -> tuple[dict[str, Any], str]:
    """Return the report's drawn pictures: of all teams, of each survey; and why some are missing."""
    figures, view = report_figures(source)
    by_survey = figures_of_surveys(surveys) if _allowed(source) else {}
    drawings, problem = drawn([*figures, *(figure for group in by_survey.values() for figure in group)], source.memory)
    queue = iter(drawings)
    teams = [next(queue) for _ in figures]
    by_name = {name: [next(queue) for _ in group] for name, group in by_survey.items()}
    trouble = _("the plots could not be drawn: {reason}", reason=problem) if problem else ""
    return {"teams": teams, "overview": view, "surveys": by_name}, trouble


def _page(language: str, values: Mapping[str, Any]) -> str:
    page: str = environment().get_template("report.html.j2").render(language=language, style=_style(), **values)
    return page


@functools.cache
def environment() -> "Environment":
    """Return the environment of pages with the report's templates in front."""
    from jinja2 import FileSystemLoader

    loader = FileSystemLoader([shipped("templates", "report"), shipped("templates", "pages")])
    templates = pages.environment().overlay(loader=loader)
    templates.filters = {**templates.filters, "mean": mean_text, "quartiles": quartiles, "on_target": target_text}
    return templates


@functools.cache
def _style() -> str:
    return shipped("templates", "report", "report.css").read_text(encoding="utf-8")


@functools.cache
def _policy() -> str:
    source = pages.allowed(_style())
    return f"default-src 'none'; style-src {source}; img-src data:; base-uri 'none'; form-action 'none'"
