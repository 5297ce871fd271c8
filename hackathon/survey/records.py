"""What an answer is, and what a summary says: the records between collecting, counting, tables and pages."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hackathon.config.survey import Question, Survey

Value = int | float | str | tuple[str, ...]
"""rating: int 1…levels; choice: str, a key of `options`; choices: tuple of them; number: float or int; text: str."""


@dataclass(frozen=True)
class Answer:
    """What one respondent said; who and when is not in it."""

    values: Mapping[str, Value]
    """Question's id → value; questions without an answer are left out."""


@dataclass(frozen=True)
class Share:
    """A share of answers with its 95 % interval (Wilson 1927)."""

    count: int
    of: int
    low: float
    """0…1."""
    high: float
    """0…1."""

    @property
    def value(self) -> float:
        """Return count ÷ of, 0…1; 0 of nothing."""
        return self.count / self.of if self.of else 0.0


@dataclass(frozen=True)
class ItemSummary:
    """One question over all respondents, or those of one group. Without `shown` all but the question is empty."""

    question: Question
    n: int
    """Who answered it; 0 without `shown`."""
    missing: int
    """Who answered the questionnaire and not this question; 0 without `shown`."""
    shown: bool
    """Whether n is large enough, and suppression leaves it."""
    counts: tuple[int, ...] = ()
    """rating: per level from 1; choice, choices: per option in their order; else empty."""
    mean: float | None = None
    """rating, number. Of levels it comes second: that they are equally far from each other is an assumption."""
    median: float | None = None
    quartiles: tuple[float, float] | None = None
    """The first and the third, as `statistics.quartiles`."""
    top: Share | None = None
    """rating: the two highest levels; of fewer than four levels the highest."""
    bottom: Share | None = None
    """rating: the two lowest levels; of fewer than four levels the lowest."""
    on_target: Share | None = None
    """rating: on the middle level(s) for `middle`, the best levels, as many as in `top`, for `high` and `low`."""
    too_low: int = 0
    """rating with target `middle`: below the middle."""
    too_high: int = 0
    """rating with target `middle`: above the middle."""


@dataclass(frozen=True)
class GroupSummary:
    """The respondents who gave one answer to a breakdown's question."""

    value: str
    """A key of the question's options; empty: those who did not answer it."""
    n: int
    items: tuple[ItemSummary, ...]


@dataclass(frozen=True)
class Breakdown:
    """Results told apart by one choice question; groups that may not be told are not in it."""

    question: Question
    groups: tuple[GroupSummary, ...]
    withheld: bool
    """Whether some respondents are in no group that is told, so that nobody can be recognised.

    How many groups they are, and how large each is, is not told; together they are no fewer than the smallest group.
    """


@dataclass(frozen=True)
class Sentence:
    """A sentence of a free answer, as reviewed."""

    text: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class FreeText:
    """The free answers to one question."""

    question: Question
    n: int
    """Who wrote something; 0 where they are too few to be told."""
    sentences: tuple[Sentence, ...] = ()
    """In shuffled order."""


@dataclass(frozen=True)
class SurveySummary:
    """All that may be said about a survey's answers."""

    name: str
    """The survey's folder's name."""
    survey: Survey
    n: int
    """Respondents."""
    invited: int | None
    closed: bool
    items: tuple[ItemSummary, ...]
    """All questions but text, in their order."""
    breakdowns: tuple[Breakdown, ...] = ()
    texts: tuple[FreeText, ...] = field(default=())
    reviewed: bool = False
    """Whether somebody has read and released the sentences of `texts`; without it there are none in them."""
    private: bool = False
    """Made for the organiser's own eyes: nothing is held back, and it must not be published."""

    @property
    def response_rate(self) -> float | None:
        """Return respondents ÷ invited, None when it is not known how many were, or when more answered."""
        return self.n / self.invited if self.invited and not self.crowded else None

    @property
    def crowded(self) -> bool:
        """Return whether more answered than were asked, so that the number of those is wrong."""
        return bool(self.invited) and self.n > (self.invited or 0)

    @property
    def enough(self) -> bool:
        """Return whether there are respondents enough for anything to be told."""
        return self.private or self.n >= self.survey.smallest_group
