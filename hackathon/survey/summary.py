"""Summarise the answers of a survey: all questions over all respondents, breakdowns, free answers."""

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from hackathon.config.survey import Question, Survey
from hackathon.survey.records import (
    Answer,
    Breakdown,
    FreeText,
    GroupSummary,
    ItemSummary,
    Sentence,
    SurveySummary,
    Value,
)
from hackathon.survey.statistics import fits, item
from hackathon.survey.suppression import Said, all_large, choose, crossed

NO_ANSWER = ""
"""The group of those who did not answer a breakdown's question."""


def summarise(
    name: str,
    survey: Survey,
    answers: Sequence[Answer],
    *,
    invited: int | None,
    closed: bool,
    texts: Mapping[str, Sequence[Sentence]] | None = None,
    private: bool = False,
) -> SurveySummary:
    """Return the publishable results of answers; the same answers in any order give the same results.

    texts: question's id → reviewed and released sentences; None before the review. private: for the organiser only,
    with groups of any size; it must not be published.
    """
    k = 1 if private else survey.smallest_group
    base = SurveySummary(name, survey, len(answers), invited, closed, (), reviewed=texts is not None, private=private)
    questions = [question for question in survey.questions if question.kind != "text"]
    if len(answers) < k or not answers:
        return replace(base, items=tuple(_untold(question) for question in questions))
    return replace(
        base,
        items=tuple(_whole(survey, question, answers, k) for question in questions),
        breakdowns=_breakdowns(survey, questions, answers, k),
        texts=tuple(
            _text(question, answers, k, (texts or {}).get(question.id, ()))
            for question in survey.questions
            if question.kind == "text"
        ),
    )


def tells_who(survey: Survey, question: Question) -> bool:
    """Return whether the answers to a question are groups of people, not opinions."""
    return question.kind in ("choice", "choices") and (
        question.id in survey.breakdowns or question.options_from is not None
    )


def _whole(survey: Survey, question: Question, answers: Sequence[Answer], k: int) -> ItemSummary:
    """Return a question over all respondents."""
    summary = item(question, _values(question, answers))
    if summary.n < k:
        return _untold(question)
    if tells_who(survey, question) and not all_large(list(_groups(question, answers).values()), k):
        return _untold(question)
    return summary


def _breakdowns(
    survey: Survey, questions: Sequence[Question], answers: Sequence[Answer], k: int
) -> tuple[Breakdown, ...]:
    """Return the breakdowns in their order, each as far as it is compatible with those before it."""
    everybody = (1 << len(answers)) - 1
    cells = [everybody]
    answers_by_question = {
        question.id: _said(question, answers, everybody) for question in questions if not tells_who(survey, question)
    }
    # an item without published numbers has nothing to break down
    item_cells = {
        identifier: [everybody] for identifier, sets in answers_by_question.items() if sets.answered.bit_count() >= k
    }
    items = [question for question in questions if question.id in answers_by_question]
    breakdowns = []
    for question in dict.fromkeys(survey.breakdowns):
        asked_for = next(
            (candidate for candidate in questions if candidate.id == question and candidate.kind == "choice"), None
        )
        if asked_for is None:
            continue
        groups = _groups(asked_for, answers)
        names = choose(groups, cells, k)
        blocks = {value: groups[value] for value in names}
        cells = crossed(cells, list(blocks.values()))
        groups_by_item: dict[str, tuple[str, ...]] = {}
        for identifier, its_cells in item_cells.items():
            groups_by_item[identifier] = choose(groups, its_cells, k, names, answers_by_question[identifier])
            item_cells[identifier] = crossed(its_cells, [groups[value] for value in groups_by_item[identifier]])
        breakdowns.append(
            Breakdown(
                asked_for,
                tuple(
                    _group(
                        value,
                        _members(mask, answers),
                        items,
                        {identifier for identifier, values in groups_by_item.items() if value in values},
                    )
                    for value, mask in blocks.items()
                ),
                withheld=sum(mask.bit_count() for mask in blocks.values()) < len(answers),
            )
        )
    return tuple(breakdowns)


def _group(
    value: str, members: Sequence[Answer], items: Sequence[Question], identifiers: Container[str]
) -> GroupSummary:
    summaries = tuple(
        item(question, _values(question, members)) if question.id in identifiers else _untold(question)
        for question in items
    )
    return GroupSummary(value, len(members), summaries)


def _members(mask: int, answers: Sequence[Answer]) -> list[Answer]:
    return [answer for number, answer in enumerate(answers) if mask >> number & 1]


def _groups(question: Question, answers: Sequence[Answer]) -> dict[str, int]:
    """Return the groups of a question as bit masks over the answers; those without an answer are a group, too.

    For several choices each combination is a group.
    """
    keys = list(question.options) if question.kind == "choice" else []
    groups: dict[str, int] = dict.fromkeys([*keys, NO_ANSWER], 0)
    for number, value in enumerate(_values(question, answers)):
        key = NO_ANSWER
        if isinstance(value, str) and fits(question, value):
            key = value
        elif isinstance(value, tuple) and fits(question, value):
            key = json.dumps(sorted(set(value)))
        groups[key] = groups.get(key, 0) | 1 << number
    if question.required and not groups[NO_ANSWER]:
        del groups[NO_ANSWER]  # there was no other possibility
    return groups


def _values(question: Question, answers: Sequence[Answer]) -> list[Value | None]:
    return [answer.values.get(question.id) for answer in answers]


def _said(question: Question, answers: Sequence[Answer], everybody: int) -> Said:
    """Return who answered a question, and who gave each answer; for several choices: who chose each and who did not."""
    same: dict[Value | None, int] = {}
    for number, value in enumerate(_values(question, answers)):
        fitting = value if fits(question, value) else None
        for option in fitting if isinstance(fitting, tuple) else (fitting,):
            same[option] = same.get(option, 0) | 1 << number
    answered = everybody & ~same.get(None, 0)
    # a group in which nobody chose an option agrees on not choosing it
    complements = (
        [answered & ~mask for value, mask in same.items() if value is not None] if question.kind == "choices" else []
    )
    return Said(answered, tuple(mask for mask in (*same.values(), *complements) if mask != everybody))


def _untold(question: Question) -> ItemSummary:
    return ItemSummary(question, 0, 0, False)


def _text(question: Question, answers: Sequence[Answer], k: int, sentences: Sequence[Sentence]) -> FreeText:
    wrote = sum(fits(question, value) for value in _values(question, answers))
    return FreeText(question, wrote if wrote >= k else 0, tuple(sentences))
