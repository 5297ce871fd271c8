"""The records that collecting, counting, tables and pages share: an answer, and the parts of a summary."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hackathon.config.survey import Question, Survey

Value = int | float | str | tuple[str, ...]
"""rating: int 1…levels; choice: str, a key of `options`; choices: tuple of them; number: float or int; text: str."""


@dataclass(frozen=True)
class Answer:
    """One respondent's answer, without name and time."""

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
        """Return count ÷ of, 0…1; 0 if `of` is 0."""
        return self.count / self.of if self.of else 0.0


@dataclass(frozen=True)
class ItemSummary:
    """One question over all respondents, or those of one group.

    If not `shown`, all fields but the question are empty.
    """

    question: Question
    n: int
    """Respondents who answered it; 0 if not `shown`."""
    missing: int
    """Respondents who answered other questions but not this one; 0 if not `shown`."""
    shown: bool
    """Whether n is large enough, and suppression does not remove it."""
    counts: tuple[int, ...] = ()
    """rating: per level from 1; choice, choices: per option in their order; else empty."""
    mean: float | None = None
    """rating, number. For a rating it is secondary: equal distances between levels are an assumption."""
    median: float | None = None
    quartiles: tuple[float, float] | None = None
    """The first and the third, as in `statistics.quartiles`."""
    top: Share | None = None
    """rating: the two highest levels; with fewer than four levels the highest."""
    bottom: Share | None = None
    """rating: the two lowest levels; with fewer than four levels the lowest."""
    on_target: Share | None = None
    """rating: on the middle level(s) for `middle`; on the best levels, as many as in `top`, for `high` and `low`."""
    too_low: int = 0
    """rating with target `middle`: below the middle."""
    too_high: int = 0
    """rating with target `middle`: above the middle."""


@dataclass(frozen=True)
class GroupSummary:
    """The respondents who gave one answer to a breakdown's question."""

    value: str
    """A key of the question's options; empty for those who did not answer it."""
    n: int
    items: tuple[ItemSummary, ...]


@dataclass(frozen=True)
class Breakdown:
    """Results by the answers to one choice question, without groups that must not be published."""

    question: Question
    groups: tuple[GroupSummary, ...]
    withheld: bool
    """Whether some respondents are in no published group, so that nobody can be recognised.

    The number and the sizes of their groups are not published; together they have at least `smallest_group` members.
    """


@dataclass(frozen=True)
class Sentence:
    """A reviewed sentence of a free answer."""

    text: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class FreeText:
    """The free answers to one question."""

    question: Question
    n: int
    """Respondents with a text; 0 if they are too few to be published."""
    sentences: tuple[Sentence, ...] = ()
    """In shuffled order."""


@dataclass(frozen=True)
class SurveySummary:
    """The publishable results of a survey."""

    name: str
    """The name of the survey's folder."""
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
    """Whether the sentences of `texts` were reviewed and released; otherwise there are none."""
    private: bool = False
    """For the organiser only: nothing is suppressed, and it must not be published."""

    @property
    def response_rate(self) -> float | None:
        """Return respondents ÷ invited; None if the number of invited is unknown, or if more answered."""
        return self.n / self.invited if self.invited and not self.crowded else None

    @property
    def crowded(self) -> bool:
        """Return whether more people answered than were invited, so that the latter number is wrong."""
        return bool(self.invited) and self.n > (self.invited or 0)

    @property
    def enough(self) -> bool:
        """Return whether there are enough respondents to publish anything."""
        return self.private or self.n >= self.survey.smallest_group
