"""`hackathon survey summary`: the results of a survey, as they may be published."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import named
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.messages import N_, _, pgettext

if TYPE_CHECKING:
    from hackathon.survey.collection import Collection
    from hackathon.survey.records import SurveySummary

FORMATS = ("table", "markdown", "csv", "json")


@named(
    "summary",
    help=_(
        "Counts, medians, shares with intervals, free answers. Groups are shown only if no small group can be "
        "derived from the published numbers. Free answers go out once somebody has read "
        "surveys/NAME/texts.yaml and set `reviewed: true`.\n"
        "\n"
        "  hackathon survey summary after\n"
        "  hackathon survey summary after --format markdown --to summary.md --plot summary.svg\n"
        "  hackathon survey summary after --format json --to after.json\n"
        "  hackathon survey summary after --compare ../last-year/after.json"
    ),
)
@click.argument("name", required=False, metavar="[NAME]")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="table",
    help=_("Output format; json can be passed to --compare."),
)
@click.option("--plot", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path),
              help=_("Also plot the ratings: .svg, .png or .pdf."))  # fmt: skip
@click.option("--compare", "other", metavar="OTHER", type=click.Path(path_type=Path),
              help=_("Compare with the folder of another event or a summary in JSON."))  # fmt: skip
@click.option("--to", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path),
              help=_("Output file."))  # fmt: skip
@click.option("--by", metavar="ID", help=_("Show only the breakdown by this question."))
@click.option(
    "--all",
    "private",
    is_flag=True,
    help=_("For organisers only: include open surveys and small groups. Not for publication."),
)
@click.option(
    "--answers", is_flag=True, help=_("Print each answer as a line of CSV; only surveys that are not anonymous.")
)
def command(
    name: str | None, form: str, plot: Path | None, other: Path | None, to: Path | None, by: str | None, private: bool,
    answers: bool,
) -> None:  # fmt: skip
    from hackathon.survey.collection import find_collection
    from hackathon.survey.publication import summary_of

    if other is not None and (plot is not None or by is not None):
        raise RequestError("survey_summary.compare_form", "a comparison cannot be combined with --plot or --by")
    collection = find_collection(name, Path.cwd(), ("open",) if private or answers else ("closed",))
    if answers:
        _print_answers(collection, to)
        return
    summary = summary_of(collection, private=private)
    if collection.survey.anonymous:
        _review(collection)
    if plot is not None:
        from hackathon.survey.chart import write_chart

        for warning in write_chart(summary, plot):
            click.echo(f"{_('warning')}: {warning}", err=True)
        click.echo(pgettext("survey_summary", "written: {file}", file=plot), err=True)
    selected = _only(summary, by) if by is not None else summary
    text = _formed(selected, form) if other is None else _compared(_other(other, summary.name, private), selected, form)
    if to is None:
        click.echo(text, nl=False)
    else:
        _write(to, text, form, private)


def _print_answers(collection: "Collection", to: Path | None) -> None:
    """Print each answer of a survey that is not anonymous as a line of CSV."""
    from hackathon.survey.exchange import answers_csv

    if collection.survey.anonymous:
        raise RequestError(
            "survey_summary.answers_anonymous",
            "survey {name} is anonymous, so single answers are not shown",
            hint="its summary: hackathon survey summary {name!q}",
            name=collection.name,
        )
    text = answers_csv(collection.survey, collection.answers())
    if to is None:
        click.echo(text, nl=False)
    else:
        _write(to, text, "csv", private=True)


def _review(collection: "Collection") -> None:
    """Write the free answers of a closed survey for review, and print a reminder until they are reviewed."""
    from hackathon.cli.show import printable
    from hackathon.survey.sentences import mentions
    from hackathon.survey.texts import TEXTS_FILE, names_of, read_texts, told, write_texts

    if collection.state != "closed":
        return
    path = collection.folder / TEXTS_FILE
    names = names_of(collection.event())
    try:
        write_texts(collection.folder, collection.survey, collection.answers(), names)
    except OSError as error:
        raise HackathonError(
            "survey_summary.cannot_write", "{file} cannot be written: {reason}", file=path, reason=error.strerror
        ) from None
    texts = read_texts(collection.folder, collection.survey)
    if texts is not None and not texts.reviewed:
        click.echo(_("Review the free-text answers, then set `reviewed: true`: {file}", file=path), err=True)
    sentences = [sentence.text for some in (texts.sentences.values() if texts else ()) for sentence in some]
    matches = [some for text in sentences if (some := mentions(text, names))]
    if matches and texts is not None:
        text = printable(told(list(dict.fromkeys(mention for some in matches for mention in some))))
        identifier = (
            N_(
                "reviewed sentences still contain a name, a team, a telephone number or an address: {count} "
                "({file}): {what}"
            )
            if texts.reviewed
            else N_(
                "sentences with a name, a team, a telephone number or an address: {count}; they are marked in {file}"
            )
        )
        click.echo(_(identifier, count=len(matches), file=path, what=text), err=True)


def _only(summary: "SurveySummary", by: str) -> "SurveySummary":
    """Return a summary with one breakdown only."""
    from dataclasses import replace

    breakdowns = tuple(breakdown for breakdown in summary.breakdowns if breakdown.question.id == by)
    if by not in summary.survey.breakdowns:
        available = ", ".join(summary.survey.breakdowns) or "–"
        raise RequestError(
            "survey_summary.no_breakdown",
            "the survey {name} has no breakdown by {by}; it has: {known}",
            hint="define breakdowns in the questionnaire before opening it",
            name=summary.name,
            by=by,
            known=available,
        )
    # the breakdown was computed with all others, so that no choice of breakdowns reveals more
    return replace(summary, items=(), texts=(), breakdowns=breakdowns)


def _formed(summary: "SurveySummary", form: str) -> str:
    from hackathon.survey import tables

    if form == "json":
        from hackathon.survey.exchange import to_json

        return _json(to_json(summary))
    if form == "csv":
        return tables.comma_separated(summary)
    return (tables.markdown if form == "markdown" else tables.text)(tables.tables(summary))


def _compared(old: "SurveySummary", new: "SurveySummary", form: str) -> str:
    from hackathon.survey import comparison, tables

    pairs = comparison.compare(old, new)
    if form == "json":
        return _json(comparison.to_json(old, new, pairs))
    if form == "csv":
        return comparison.comma_separated(pairs)
    rows = comparison.comparison_tables(old, new, pairs)
    return (tables.markdown if form == "markdown" else tables.text)(rows)


def _other(path: Path, name: str, private: bool) -> "SurveySummary":
    """Return the summary in a file, or that of a survey in another event's folder: of this name, or its only one."""
    from hackathon.survey.collection import find_collection, find_collections
    from hackathon.survey.exchange import read_summary
    from hackathon.survey.publication import summary_of

    if not path.is_dir():
        return read_summary(path)
    folder = path.resolve()
    same = any(collection.name == name for collection in find_collections(folder))
    return summary_of(find_collection(name if same else None, folder), private=private)


def _json(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _write(path: Path, text: str, form: str, private: bool) -> None:
    from hackathon.text.files import write_whole

    # Without a byte order mark a spreadsheet reads a UTF-8 CSV file in the system's code page.
    raw = text.encode("utf-8-sig" if form == "csv" else "utf-8", "replace")
    try:
        write_whole(path, raw, 0o600 if private else 0o644)
    except OSError as error:
        raise HackathonError(
            "survey_summary.cannot_write", "{file} cannot be written: {reason}", file=path, reason=error.strerror
        ) from None
    click.echo(pgettext("survey_summary", "written: {file}", file=path), err=True)
