"""The summary of a survey that may be published: closed, and revealing no small group when compared with others.

Two surveys contain the same people's answers if one was collected again: an import with one late answer, or the same
answers with another breakdown. Each summary is safe alone, but their difference reveals the late answer. Respondents
are not recorded, so answers that are equal in all common questions count as one person's. The two surveys are then
treated as one: each of its cells (suppression.py) is a block of one survey crossed with a block of the other, and "took
part only in this survey" is a block, too. The survey that was closed later is published only if each of these cells,
over all and over those who answered a question, contains nobody or at least k respondents. This is checked only if all
but fewer than k answers are the same: one survey contains the other, or at least k different answers are in both.
Surveys in which the same people answered again are not checked, because their answers differ.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hackathon.config.survey import Question
from hackathon.survey.durable import names
from hackathon.survey.records import Answer, Sentence, SurveySummary
from hackathon.survey.statistics import fits
from hackathon.survey.storage import SURVEY_FILE, is_name
from hackathon.survey.summary import summarise, tells_who
from hackathon.survey.texts import cut, read_texts
from hackathon.text.errors import RequestError

if TYPE_CHECKING:
    from hackathon.survey.collection import Collection

Block = tuple[str | None, ...]
"""For each breakdown a published group, or None for the rest; together the cell of a respondent."""


def summary_of(collection: "Collection", *, private: bool = False) -> SurveySummary:
    """Return the summary of a survey: of a closed one as it may be published, with its free answers once reviewed.

    private: the organiser's own view, even of an open survey, with groups of any size and all sentences. Raises
    RequestError for a survey that is not closed, or that would reveal few people when compared with one published
    before; ConfigError for an invalid texts.yaml.
    """
    closed = collection.state == "closed"
    if not collection.survey.anonymous and not private:
        raise RequestError(
            "survey_summary.not_anonymous",
            "survey {name} is not anonymous, so it has no summary to publish",
            hint="for organisers: hackathon survey summary {name!q} --all, and --answers for each answer",
            name=collection.name,
        )
    if not closed and not private:
        raise RequestError(
            "survey_summary.not_closed",
            "survey {name} is not closed: comparing summaries from different days would reveal single answers",
            hint="run `hackathon survey close {name!q}` first; for organisers only: `hackathon survey summary "
            "{name!q} --all`",
            name=collection.name,
        )
    if not private and (other := _refused(collection)):
        raise RequestError(
            "survey_summary.too_like",
            "the summary of survey {name} is withheld: nearly all of its answers are also in survey {other}, "
            "so the difference of the two summaries would reveal single answers",
            hint="publish one of the two; for organisers only: `hackathon survey summary {name!q} --all`",
            name=collection.name,
            other=other,
        )
    survey, answers = collection.survey, collection.answers()
    _, invited = collection.participation()
    reviewed = read_texts(collection.folder, survey)
    texts: Mapping[str, Sequence[Sentence]] | None = reviewed.released if reviewed else None
    if private and texts is None:
        texts = reviewed.sentences if reviewed else cut(survey, answers)
    summary = summarise(collection.name, survey, answers, invited=invited, closed=closed, texts=texts, private=private)
    return replace(summary, reviewed=reviewed is not None and reviewed.reviewed)


def _refused(collection: "Collection") -> str:
    """Return the name of an earlier published survey that prevents a closed one from being published, else "".

    Raises RequestError if a survey cannot be read, because the check is incomplete then.
    """
    beside = collection.folder.parent
    several = [type(collection)(beside / name) for name in names(beside) if is_name(name)]
    return kept_back([collection for collection in several if (collection.folder / SURVEY_FILE).exists()]).get(
        collection.name, ""
    )


def kept_back(collections: Iterable["Collection"]) -> dict[str, str]:
    """Return the surveys of an event that must not be published → the earlier published one that is the reason."""
    closed = [collection for collection in collections if collection.state == "closed" and collection.survey.anonymous]
    closed.sort(key=lambda collection: (collection.turn, collection.closed_folder.stat().st_mtime_ns, collection.name))
    published: list[tuple[SurveySummary, Sequence[Answer]]] = []
    reasons = {}
    for collection in closed:
        answers = collection.answers()
        new = summarise(collection.name, collection.survey, answers, invited=None, closed=True)
        other = next((old.name for old, its in published if subtract(old, its, new, answers)), "")
        if other:
            reasons[collection.name] = other
        else:
            published.append((new, answers))
    return reasons


def subtract(old: SurveySummary, before: Sequence[Answer], new: SurveySummary, after: Sequence[Answer]) -> bool:
    """Return whether the difference of two summaries reveals 1…k−1 respondents.

    before, after: the answers of the summaries.
    """
    k = max(old.survey.smallest_group, new.survey.smallest_group)
    both = _both(old, new)
    opinions = [question for question in both if question.kind != "text" and not tells_who(new.survey, question)]
    if old.survey.audience != new.survey.audience or not opinions or not (old.enough and new.enough):
        return False
    matched, gone, come = _matched(both, before, after)
    holds = not gone or not come
    same = {repr(_key(both, answer)) for answer, _ in matched}
    if min(len(gone), len(come)) >= k or not (holds or len(same) >= k):
        return False
    people: list[tuple[Answer | None, Answer | None]] = [*matched, *((answer, None) for answer in gone)]
    people += [(None, answer) for answer in come]
    for question in (None, *opinions):
        blocks = [groups for summary in (old, new) if (groups := _shown(summary, question)) is not None]
        if len(blocks) < 2:
            continue  # published in one of them only, so there is no difference
        cells: Counter[tuple[Block | None, ...]] = Counter()
        for pair in people:
            if question is None or any(answer and fits(question, answer.values.get(question.id)) for answer in pair):
                cells[tuple(_block(groups, answer) for groups, answer in zip(blocks, pair, strict=True))] += 1
        if min(cells.values(), default=k) < k:
            return True
    return False


def _both(old: SurveySummary, new: SurveySummary) -> list[Question]:
    """Return the questions in both surveys, as the new one words them; they have the same possible answers."""
    before = {question.id: question for question in old.survey.questions}

    def asked(question: Question) -> tuple[str, object]:
        return question.kind, question.levels if question.kind == "rating" else sorted(question.options)

    return [
        question
        for question in new.survey.questions
        if question.id in before and asked(question) == asked(before[question.id])
    ]


def _key(questions: Sequence[Question], answer: Answer) -> list[object]:
    """Return a respondent's answers to these questions; None for an invalid one."""
    pairs = ((question, answer.values.get(question.id)) for question in questions)
    return [
        None if not fits(question, value) else sorted(value) if isinstance(value, tuple) else value
        for question, value in pairs
    ]


def _matched(
    questions: Sequence[Question], before: Sequence[Answer], after: Sequence[Answer]
) -> tuple[list[tuple[Answer, Answer]], list[Answer], list[Answer]]:
    """Return the pairs of equal answers, and the remaining answers of either side."""
    waiting: defaultdict[str, list[Answer]] = defaultdict(list)
    for answer in before:
        waiting[repr(_key(questions, answer))].append(answer)
    pairs, come = [], []
    for answer in after:
        same = waiting[repr(_key(questions, answer))]
        if same:
            pairs.append((same.pop(), answer))
        else:
            come.append(answer)
    return pairs, [answer for some in waiting.values() for answer in some], come


def _shown(summary: SurveySummary, question: Question | None) -> Mapping[str, frozenset[str]] | None:
    """Return breakdown → its published groups; for a question those with numbers; None for an unpublished question."""
    if question is not None and not any(item.shown for item in summary.items if item.question.id == question.id):
        return None
    return {
        breakdown.question.id: frozenset(
            group.value
            for group in breakdown.groups
            if question is None or any(item.shown for item in group.items if item.question.id == question.id)
        )
        for breakdown in summary.breakdowns
    }


def _block(groups_by_breakdown: Mapping[str, frozenset[str]], answer: Answer | None) -> Block | None:
    if answer is None:
        return None
    values = ((str(answer.values.get(breakdown, "")), groups) for breakdown, groups in groups_by_breakdown.items())
    return tuple(value if value in groups else None for value, groups in values)
