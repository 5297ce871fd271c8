"""Values of `survey.yaml` that must agree: ids, options, ends and targets, breakdowns."""

import re
from collections.abc import Mapping
from typing import Any

from hackathon.config.problems import shown
from hackathon.config.records import KeyPath, Text
from hackathon.config.report import Report
from hackathon.config.survey import Question, Survey
from hackathon.text.messages import NP_, Message
from hackathon.text.normalise import plain

MOST_QUESTIONS, MOST_OPTIONS, MOST_LEVELS = 200, 500, 11
LONGEST_OPTION, LONGEST_TEXT = 80, 100_000
RESERVED = ("token", "lang")
"""Ids that the form and the files of answers use themselves."""
ONLY_FOR: Mapping[str, tuple[str, ...]] = {
    "levels": ("rating",), "low": ("rating",), "high": ("rating",), "target": ("rating",),
    "options": ("choice", "choices"), "options_from": ("choice", "choices"),
    "least": ("number",), "most": ("number",), "unit": ("number",),
    "longest": ("text",),
}  # fmt: skip
"""Keys that are valid only for some kinds of questions."""
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}\Z", re.ASCII)


def check_survey(survey: Survey, report: Report) -> None:
    """Report the contradictions between the values of a questionnaire."""
    _words(survey.title, ("title",), report)
    if not survey.languages or len(set(survey.languages)) < len(survey.languages):
        report.add(Message("survey_check.languages", "list each language of the form once: ja, en"), ("languages",))
    if not survey.questions:
        report.add(Message("survey_check.no_questions", "there are no questions"), ("questions",))
    elif len(survey.questions) > MOST_QUESTIONS:
        report.add(
            Message("survey_check.many_questions", "{count} questions; the limit is {limit}"),
            ("questions",),
            count=len(survey.questions),
            limit=MOST_QUESTIONS,
        )
    ids: dict[str, str] = {}
    for index, question in enumerate(survey.questions):
        path: KeyPath = ("questions", index)
        _identifier(question.id, ids, path, report)
        _question(question, path, report)
    _breakdowns(survey, report)
    if survey.smallest_group < 2:
        report.add(
            Message(
                "survey_check.smallest_group",
                "a group of one identifies a person: `smallest_group` must be at least 2; 5 or more is recommended",
            ),
            ("smallest_group",),
        )
    for tag, words in survey.tags.items():
        if not tag.strip() or not words or not all(word.strip() for word in words):
            report.add(Message("survey_check.tag", "a tag needs a name and words that are not empty"), ("tags", tag))


def _identifier(identifier: str, ids: dict[str, str], path: KeyPath, report: Report) -> None:
    id_path = (*path, "id")
    if not _ID.match(identifier):
        report.add(
            Message(
                "survey_check.id_signs",
                "{id} is not a valid id: letters, digits, and _, starting with a letter, at most 40",
            ),
            id_path,
            id=shown(identifier),
        )
    elif identifier.lower() in RESERVED:
        report.add(
            Message("survey_check.id_reserved", "the form uses the id {id}; choose another one"), id_path, id=identifier
        )
    elif identifier.lower() in ids:
        report.add(Message("survey_check.id_twice", "another question has the id {id}"), id_path, id=identifier)
    ids.setdefault(identifier.lower(), identifier)


def _question(question: Question, path: KeyPath, report: Report) -> None:
    _words(question.text, (*path, "text"), report)
    for key, kinds in ONLY_FOR.items():
        if key in report.raw_at(path) and question.kind not in kinds:
            report.add(
                Message("survey_check.other_kind", "`{key}` is for {kinds} questions, and this is a {kind} question"),
                (*path, key),
                key=key,
                kinds=", ".join(kinds),
                kind=question.kind,
            )
    if question.kind == "rating":
        _rating(question, path, report)
    elif question.kind in ("choice", "choices"):
        _options(question, path, report)
    elif question.kind == "number":
        if question.least is not None and question.most is not None and question.least >= question.most:
            values = {"least": f"{question.least:g}", "most": f"{question.most:g}"}
            report.add(
                Message("config.parameter_range", "min {least} is greater than max {most}"), (*path, "least"), **values
            )
    elif question.longest > LONGEST_TEXT:
        report.add(Message("config.too_large", "must be at most {limit}"), (*path, "longest"), limit=LONGEST_TEXT)


def _rating(question: Question, path: KeyPath, report: Report) -> None:
    raw = report.raw_at(path)
    if raw.get("target") is None:
        report.add(
            Message(
                "survey_check.no_target",
                "set `target` of {id} to the levels that are good: middle (short–long), high, or low",
            ),
            path,
            id=question.id,
        )
    if not 2 <= question.levels <= MOST_LEVELS:
        report.add(
            Message("survey_check.levels", "a rating has 2 to {limit} levels"), (*path, "levels"), limit=MOST_LEVELS
        )
    for key, text in (("low", question.low), ("high", question.high)):
        if key in raw:
            _words(text, (*path, key), report)
        else:
            report.add(
                Message("survey_check.no_end", "set `{key}`: the meaning of that end of {id}"),
                path,
                id=question.id,
                key=key,
            )
    same = {word for word in _plain(question.low) if word} & set(_plain(question.high))
    if same:
        report.add(
            Message("survey_check.same_ends", "both ends are called {name}"),
            (*path, "high"),
            name=shown(next(iter(same))),
        )


def _options(question: Question, path: KeyPath, report: Report) -> None:
    has_options = "options" in report.raw_at(path)
    if question.options_from is not None:
        if has_options:
            report.add(
                Message("survey_check.options_both", "either `options` or `options_from`, not both"),
                (*path, "options_from"),
            )
        return
    if len(question.options) < 2:
        report.add(
            Message(
                "survey_check.no_options", "{id} needs at least two `options`, or `options_from`: teams, kinds or days"
            ),
            (*path, "options") if has_options else path,
            id=question.id,
        )
    if len(question.options) > MOST_OPTIONS:
        report.add(
            Message("survey_check.many_options", "at most {limit} options"), (*path, "options"), limit=MOST_OPTIONS
        )
    owner: dict[str, str] = {}
    for value, label in question.options.items():
        option_path = (*path, "options", value)
        if not value.strip() or value != value.strip() or len(value) > LONGEST_OPTION or not value.isprintable():
            report.add(
                Message(
                    "survey_check.option_signs",
                    "{name} is not a valid value of an option: 1 to {limit} characters, no spaces around them, no "
                    "control characters",
                ),
                option_path,
                name=shown(value),
                limit=LONGEST_OPTION,
            )
        _words(label, option_path, report)
        # answers from other programs contain an option's label, so labels must be unique
        for word in {*_plain(value), *_plain(label)} - {""}:
            if owner.setdefault(word, value) != value:
                report.add(
                    Message(
                        "survey_check.option_twice", "{name} also stands for option {other}: answers would be ambiguous"
                    ),
                    option_path,
                    name=shown(word),
                    other=shown(owner[word]),
                )


def _breakdowns(survey: Survey, report: Report) -> None:
    kinds = {question.id: question.kind for question in survey.questions}
    choices = [identifier for identifier, kind in kinds.items() if kind == "choice"]
    ids: set[str] = set()
    for index, identifier in enumerate(survey.breakdowns):
        entry_path: KeyPath = ("breakdowns", index)
        if identifier in ids:
            report.add(
                Message("survey_check.breakdown_twice", "{id} appears twice in the breakdowns"),
                entry_path,
                id=shown(identifier),
            )
        elif identifier not in kinds:
            report.unknown(
                entry_path,
                identifier,
                choices,
                Message("survey_check.no_breakdown", "there is no question {name}; choice questions: {known}"),
                Message("survey_check.no_breakdown_near", "there is no question {name}; did you mean `{near}`?"),
            )
        elif kinds[identifier] != "choice":
            report.add(
                Message(
                    "survey_check.breakdown_kind",
                    "breakdowns are possible only by `choice` questions; {id} is a {kind} question",
                ),
                entry_path,
                id=identifier,
                kind=kinds[identifier],
            )
        ids.add(identifier)


def _words(text: Text, path: KeyPath, report: Report) -> None:
    """Report a text without letters, in any of its languages."""
    texts = text.values() if isinstance(text, dict) else (text,)
    if not texts or not all(wording.strip() for wording in texts):
        report.add(Message("survey_check.no_words", NP_("survey_check", "the text is empty")), path)


def _plain(text: Any) -> list[str]:
    texts = text.values() if isinstance(text, dict) else (text,)
    return [plain(str(wording)) for wording in texts]
