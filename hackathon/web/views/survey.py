"""The page of a closed survey: participation, the result of each item, by group if allowed, and free answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hackathon.index.catalog import Catalog
from hackathon.survey.records import Breakdown, FreeText, ItemSummary, Share, SurveySummary
from hackathon.text.messages import N_, NP_, _, language, localized
from hackathon.web.page.figures import Figure, drawn
from hackathon.web.page.sanitize import line
from hackathon.web.page.survey_words import ItemView, ShareView
from hackathon.web.views.published_surveys import published

if TYPE_CHECKING:
    from hackathon.config.survey import Question

_SHARE_TEXTS = {
    "on_target": N_("In the middle"),
    "top": N_("Highest two levels"),
    "bottom": N_("Lowest two levels"),
    "top_one": N_("Highest level"),
    "bottom_one": N_("Lowest level"),
    "told": N_("{share} ({count} of {of})"),
}

_TAG_TEXTS = {
    "thanks": N_("What was good"),
    "request": N_("Requests"),
    "difficulty": NP_("survey_page", "Difficulties"),
    "": N_("Other remarks"),
}

TAGS = ("thanks", "request", "difficulty")
"""Tags of a questionnaire without its own, in the order of a page."""
LONGEST = 2000
"""Characters of a free answer's sentence that are displayed."""


@dataclass(frozen=True)
class GroupView:
    """The respondents with one answer."""

    label: str
    n: int
    items: tuple[ItemView, ...]


@dataclass(frozen=True)
class BreakdownView:
    """Results by the answers to one question."""

    title: str
    groups: tuple[GroupView, ...]
    withheld: bool


@dataclass(frozen=True)
class TagView:
    """Sentences with one tag."""

    name: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class TextsView:
    """The free answers to one question."""

    title: str
    n: int
    tags: tuple[TagView, ...]


@dataclass(frozen=True)
class SurveyView:
    """One closed survey."""

    name: str
    title: str
    n: int
    invited: int | None
    audience: str
    smallest: int
    """The least size of a group in a breakdown."""
    ratings: tuple[ItemView, ...]
    others: tuple[ItemView, ...]
    """choice, choices, number."""
    breakdowns: tuple[BreakdownView, ...]
    texts: tuple[TextsView, ...]
    more: tuple[tuple[str, str], ...] = ()
    """(key, title) of the event's other closed surveys."""

    @property
    def rate(self) -> float | None:
        """Share of the invited who answered, 0…1.

        None if the number of invited is unknown, or smaller than that of answers.
        """
        return self.n / self.invited if self.invited and self.n <= self.invited else None

    @property
    def levels(self) -> int:
        """The most levels of a rating item: columns of the table."""
        return max((len(item.counts) for item in self.ratings), default=0)


def values(source: Catalog, key: str) -> dict[str, Any] | None:
    """Return the values of a survey's page; None on the dashboard, and for an unpublished survey."""
    if source.live:
        return None
    all_of_them = published(source)
    summary = next((entry for entry in all_of_them if entry.name == key), None)
    if summary is None:
        return None
    more = tuple((entry.name, line(localized(entry.survey.title, entry.name), 200))
                 for entry in all_of_them if entry.name != key)  # fmt: skip
    figures, problem = drawn(survey_figures(summary), source.memory)
    return {"view": survey_view(summary, more), "figures": figures, "problem": problem}


def survey_view(summary: SurveySummary, more: Sequence[tuple[str, str]] = ()) -> SurveyView:
    """Return a summary for a page or a report, in the current language, every text cleaned.

    It includes free answers only after their review, and no suppressed results.
    """
    items = [_item(item) for item in summary.items]
    order = [*summary.survey.tags, *TAGS]
    return SurveyView(
        name=summary.name,
        title=line(localized(summary.survey.title, summary.name), 200),
        n=summary.n,
        invited=summary.invited,
        audience=summary.survey.audience,
        smallest=summary.survey.smallest_group,
        ratings=tuple(item for item in items if item.kind == "rating"),
        others=tuple(item for item in items if item.kind != "rating"),
        breakdowns=tuple(
            _breakdown(breakdown) for breakdown in summary.breakdowns if breakdown.groups or breakdown.withheld
        ),
        texts=tuple(_texts(text, order) for text in summary.texts if text.sentences) if summary.reviewed else (),
        more=tuple(more),
    )


def survey_figures(summary: SurveySummary, prefix: str = "survey") -> list[Figure]:
    """Return the picture of a survey's rating items, not drawn yet; empty if none may be published."""
    from hackathon.survey.chart import chart

    picture = chart(summary, language())
    if picture is None:
        return []
    spec, alt, columns, rows = picture
    return [Figure(f"{prefix}-ratings", _("Answers by level"), alt, spec, columns, rows)]


def _item(item: ItemSummary) -> ItemView:
    question = item.question
    return ItemView(
        id=question.id,
        text=_text_of(question),
        kind=question.kind,
        n=item.n,
        missing=item.missing,
        shown=item.shown,
        ends=(line(localized(question.low), 60), line(localized(question.high), 60)),
        target=question.target or "",
        unit=line(localized(question.unit), 40),
        counts=tuple(zip(_labels(question), item.counts, strict=False)),
        mean=item.mean,
        median=item.median,
        quartiles=item.quartiles,
        shares=_shares(item),
        direction=_direction(item),
    )


def _text_of(question: "Question") -> str:
    return line(localized(question.text, question.id), 300)


def _labels(question: "Question") -> list[str]:
    if question.kind == "rating":
        return [str(level) for level in range(1, question.levels + 1)]
    return [line(localized(label, value), 200) for value, label in question.options.items()]


def _shares(item: ItemSummary) -> tuple[ShareView, ...]:
    if item.question.kind != "rating":
        return ()
    shares = [("on_target", item.on_target)] if item.question.target == "middle" else []
    shares += [("top", item.top), ("bottom", item.bottom)]
    single = item.question.levels < 4  # then the highest and the lowest level are single
    return tuple(
        _share(f"{name}_one" if single and name != "on_target" else name, share)
        for name, share in shares
        if share is not None
    )


def _share(name: str, share: Share) -> ShareView:
    return ShareView(_(_SHARE_TEXTS[name]), share.count, share.of, share.value, share.low, share.high)


def _direction(item: ItemSummary) -> str:
    """Return on which side those off the middle are, in the words of the item's ends."""
    question = item.question
    if question.target != "middle" or not item.shown or not item.n or not (item.too_low or item.too_high):
        return ""
    low, high = (line(localized(end), 60) for end in (question.low, question.high))
    return _(
        "{below} towards “{low}”, {above} towards “{high}”",
        low=low or 1,
        below=item.too_low,
        high=high or question.levels,
        above=item.too_high,
    )


def _breakdown(breakdown: Breakdown) -> BreakdownView:
    labels = {value: line(localized(label, value), 200) for value, label in breakdown.question.options.items()}
    labels[""] = _("no answer")
    return BreakdownView(
        title=_text_of(breakdown.question),
        groups=tuple(
            GroupView(
                labels.get(group.value) or line(group.value, 200),
                group.n,
                tuple(_item(item) for item in group.items),
            )
            for group in breakdown.groups
        ),
        withheld=breakdown.withheld,
    )


def _texts(answers: FreeText, tags: Sequence[str]) -> TextsView:
    """Return sentences by tag; one with several tags is listed with the first, those without a tag come last."""
    by_tag: dict[str, list[str]] = {}
    for sentence in answers.sentences:
        by_tag.setdefault(sentence.tags[0] if sentence.tags else "", []).append(line(sentence.text, LONGEST))
    order = sorted(by_tag, key=lambda tag: (tag == "", tags.index(tag) if tag in tags else len(tags)))
    return TextsView(
        _text_of(answers.question), answers.n, tuple(TagView(_tag(tag), tuple(by_tag[tag])) for tag in order)
    )


def _tag(tag: str) -> str:
    text = _TAG_TEXTS.get(tag)
    return _(text) if text else line(tag, 60)
