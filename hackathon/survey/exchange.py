"""Convert a summary to JSON values, and back for comparisons with another event."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hackathon.config.records import rebuild
from hackathon.config.survey import Question, Survey
from hackathon.survey.records import Answer, GroupSummary, ItemSummary, Share, SurveySummary, Value
from hackathon.survey.statistics import item
from hackathon.text.csv_cells import harmless
from hackathon.text.errors import RequestError
from hackathon.text.files import read_json
from hackathon.text.messages import localized
from hackathon.text.numbers import finite

SCHEMA_VERSION = 1
MOST_ANSWERS = 100_000
"""The most answers of one question in a file that is read."""


def to_json(summary: SurveySummary) -> dict[str, Any]:
    """Return a summary as JSON values; unpublished values are null or left out."""
    return {
        "schema_version": SCHEMA_VERSION,
        "survey": summary.name,
        "title": summary.survey.title,
        "publishable": summary.closed and not summary.private,
        "closed": summary.closed,
        "smallest_group": summary.survey.smallest_group,
        "n": summary.n,
        "invited": summary.invited,
        "response_rate": summary.response_rate,
        "intervals": "95 %, Wilson 1927",
        "quartiles": "Hyndman and Fan 1996, type 7",
        "items": [{"question": asdict(entry.question), **_numbers(entry)} for entry in summary.items],
        "breakdowns": [
            {
                "question": breakdown.question.id,
                "withheld": breakdown.withheld,
                "groups": [_group(group) for group in breakdown.groups],
            }
            for breakdown in summary.breakdowns
        ],
        "texts": [
            {
                "question": asdict(text.question),
                "n": text.n or None,
                "sentences": [{"text": sentence.text, "tags": list(sentence.tags)} for sentence in text.sentences],
            }
            for text in summary.texts
        ],
        "reviewed": summary.reviewed,
    }


def _group(group: GroupSummary) -> dict[str, Any]:
    return {
        "value": group.value or None,
        "n": group.n,
        "items": [{"question": entry.question.id, **_numbers(entry)} for entry in group.items],
    }


def _numbers(summary: ItemSummary) -> dict[str, Any]:
    if not summary.shown:
        return {"shown": False}
    shares = {"top": summary.top, "bottom": summary.bottom, "on_target": summary.on_target}
    return {
        "shown": True,
        "n": summary.n,
        "missing": summary.missing,
        **({} if summary.question.kind == "number" else {"counts": list(summary.counts)}),
        **(
            {}
            if summary.mean is None
            else {"median": summary.median, "quartiles": summary.quartiles, "mean": summary.mean}
        ),
        **{name: _share(share) for name, share in shares.items() if share is not None},
        **(
            {"too_low": summary.too_low, "too_high": summary.too_high}
            if summary.question.kind == "rating" and summary.question.target == "middle"
            else {}
        ),
    }


def _share(share: Share) -> dict[str, Any]:
    return {"count": share.count, "of": share.of, "share": share.value, "low": share.low, "high": share.high}


def read_summary(path: Path) -> SurveySummary:
    """Return the event-wide part of a summary in a JSON file; numbers of ratings are recomputed from their counts.

    Raises RequestError for a file that is not a summary, or of a later version.
    """
    value = read_json(path)
    if not isinstance(value, dict) or "schema_version" not in value or not isinstance(value.get("items"), list):
        raise RequestError(
            "survey_summary.no_summary",
            "{file} is not a summary of a survey",
            hint="give the folder of another event, or the output of `hackathon survey summary --format json`",
            file=path,
        )
    if value["schema_version"] != SCHEMA_VERSION:
        raise RequestError(
            "survey_summary.other_version",
            "{file} is a summary of version {version}, which this program does not support",
            file=path,
            version=str(value["schema_version"])[:20],
        )
    try:
        items = tuple(_item(record) for record in value["items"])
        n, invited = _checked_count(value["n"]), value.get("invited")
        survey = rebuild(Survey, {"title": value.get("title") or "", "questions": []})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise RequestError(
            "survey_summary.bad_summary", "{file} is damaged: {reason}", file=path, reason=str(error)[:200]
        ) from None
    return SurveySummary(
        str(value.get("survey", "")), survey, n, invited if isinstance(invited, int) else None, True, items,
        private=value.get("publishable") is not True,
    )  # fmt: skip


def _item(value: Mapping[str, Any]) -> ItemSummary:
    question: Question = rebuild(Question, value["question"])
    if value.get("shown") is not True:
        return ItemSummary(question, 0, 0, False)
    n, missing = _checked_count(value["n"]), _checked_count(value["missing"])
    if question.kind == "number":
        low, high = (_checked_number(quartile) for quartile in value["quartiles"])
        mean, median = _checked_number(value["mean"]), _checked_number(value["median"])
        return ItemSummary(question, n, missing, True, mean=mean, median=median, quartiles=(low, high))
    counts = tuple(_checked_count(count) for count in value["counts"])
    if len(counts) != (question.levels if question.kind == "rating" else len(question.options)):
        raise ValueError(f"counts of {question.id}")
    if question.kind != "rating":
        return ItemSummary(question, n, missing, True, counts)
    _checked_count(sum(counts))
    return item(question, [level for level, count in enumerate(counts, 1) for _ in range(count)] + [None] * missing)


def _checked_number(value: Any) -> float:
    number = finite(value)
    if number is None:
        raise ValueError("no number")
    return number


def _checked_count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_ANSWERS:
        raise ValueError(f"no count: {str(value)[:40]}")
    return value


def answers_csv(survey: Survey, answers: Sequence[Answer]) -> str:
    """Return each answer as a line of CSV, sorted by the chosen options; only for a survey that is not anonymous."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([harmless(localized(question.text)) for question in survey.questions])
    rows = [[_cell(question, answer.values.get(question.id)) for question in survey.questions] for answer in answers]
    writer.writerows(sorted(rows, key=lambda row: [str(cell) for cell in row]))
    return stream.getvalue()


def _cell(question: Question, value: Value | None) -> str | int | float:
    if value is None:
        return ""
    if isinstance(value, (int, float)):
        return value
    chosen = value if isinstance(value, tuple) else (value,)
    return harmless("; ".join(localized(question.options.get(option, option)) for option in chosen))
