"""The numbers of a survey question, and their format, for pages, Markdown and reports."""

from dataclasses import dataclass

from hackathon.scaling.show import number, percent
from hackathon.text.messages import _


@dataclass(frozen=True)
class ShareView:
    """A share of answers."""

    label: str
    count: int
    of: int
    value: float
    """0…1."""
    low: float
    high: float


@dataclass(frozen=True)
class ItemView:
    """One question over all respondents, or those of one group."""

    id: str
    text: str
    kind: str
    n: int
    missing: int
    shown: bool
    ends: tuple[str, str] = ("", "")
    """rating: the meanings of the lowest and the highest level."""
    target: str = ""
    """rating: `middle`, `high`, `low`."""
    unit: str = ""
    counts: tuple[tuple[str, int], ...] = ()
    """(level or option, count)."""
    mean: float | None = None
    median: float | None = None
    quartiles: tuple[float, float] | None = None
    shares: tuple[ShareView, ...] = ()
    """On target, then the two highest and the two lowest levels."""
    direction: str = ""
    """With target `middle`: on which side the other answers are."""


def quartiles(item: ItemView) -> str:
    """Return the median with the first and third quartile: `3 (3–4)`; – for none."""
    if item.median is None:
        return "–"
    if item.quartiles is None:
        return number(item.median)
    return f"{number(item.median)} ({number(item.quartiles[0])}–{number(item.quartiles[1])})"


def mean_text(item: ItemView) -> str:
    """Return a mean with one digit after the point; – for none."""
    return "–" if item.mean is None else f"{item.mean:.1f}"


def target_share(item: ItemView) -> ShareView | None:
    """Return an item's share on target: on the middle, or at the good end; None if it must not be published."""
    index = {"middle": 0, "high": 0, "low": 1}.get(item.target)
    if not item.shown or not item.n or index is None or len(item.shares) <= index:
        return None
    return item.shares[index]


def target_text(item: ItemView) -> str:
    """Return an item's share on target in words: `63.6 % (7 of 11)`; – if it must not be published."""
    share = target_share(item)
    if share is None:
        return "–"
    return _("{share} ({count} of {of})", share=percent(share.value), count=share.count, of=share.of)
