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
    """One question over all respondents, or those of one group. Without `shown` all but question and n is empty."""

    question: Question
    n: int
    """Who answered it."""
    missing: int
    """Who answered the questionnaire and not this question."""
    shown: bool
    """Whether n is large enough, and suppression leaves it."""
    counts: tuple[int, ...] = ()
    """rating: per level from 1; choice, choices: per option in their order; else empty."""
    mean: float | None = None
    """rating, number."""
    median: float | None = None
    quartiles: tuple[float, float] | None = None
    """The first and the third."""
    top: Share | None = None
    """rating: the two highest levels."""
    bottom: Share | None = None
    """rating: the two lowest levels."""
    on_target: Share | None = None
    """rating: on the middle level(s) for `middle`, the two best levels for `high` and `low`."""
    too_low: int = 0
    """rating with target `middle`: below the middle."""
    too_high: int = 0
    """rating with target `middle`: above the middle."""


@dataclass(frozen=True)
class GroupSummary:
    """The respondents who gave one answer to a breakdown's question."""

    value: str
    """A key of the question's options."""
    n: int
    items: tuple[ItemSummary, ...]


@dataclass(frozen=True)
class Breakdown:
    """Results told apart by one choice question; groups that may not be told are not in it."""

    question: Question
    groups: tuple[GroupSummary, ...]
    withheld: bool
    """Whether groups were left out so that nobody can be recognised; how many and how large is not told."""


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
    """Who wrote something."""
    sentences: tuple[Sentence, ...] = ()
    """In shuffled order."""


@dataclass(frozen=True)
class Summary:
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
    """Whether somebody has read and released the sentences of `texts`."""
