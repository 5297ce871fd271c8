"""Count the teams that applied, were chosen and took part, and the kinds of people; find tutors by topic."""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hackathon.event.kinds import kinds_of
from hackathon.text.normalise import unspaced

if TYPE_CHECKING:
    from hackathon.config.event import Event, Tutor


@dataclass(frozen=True)
class Participation:
    """The counts for a report."""

    applied: int | None
    """Teams that applied; None if the number is not configured."""
    chosen: int
    """Teams that were chosen."""
    took_part: int
    """Teams that took part."""
    people: int
    """Members of the teams that took part."""
    kinds: tuple[tuple[str, int], ...]
    """(kind, people) in the order of tables, without empty kinds; people without a kind last, as ``."""


def participation(event: "Event") -> Participation:
    """Return the counts of an event; people are the members of the teams that took part."""
    teams = [team for team in event.teams if team.took_part]
    counts = Counter(member.kind for team in teams for member in team.members)
    order = [*kinds_of(event), ""]
    return Participation(
        applied=event.applied,
        chosen=len(event.teams) if event.chosen is None else event.chosen,
        took_part=len(teams),
        people=sum(counts.values()),
        kinds=tuple((kind, counts[kind]) for kind in order if counts[kind]),
    )


def who_knows(event: "Event", word: str) -> "list[Tutor]":
    """Return the tutors for a topic; case, full-width characters and partial words do not matter."""
    needle = unspaced(word)
    return [tutor for tutor in event.tutors if needle and any(needle in unspaced(topic) for topic in tutor.knows)]
