"""Which of the things that were found is the cause: one table, without files."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from hackathon.config.rule import Rule
from hackathon.diagnosis.findings import Evidence

_ENDINGS = frozenset({"state:TIMEOUT", "state:CANCELLED"})
_ENDING_WORDS = re.compile(
    r"(?i)due to time limit|walltime|time limit|cancelled at|job killed: wall|jobstep.*cancelled"
)
# What shells and launchers print of a process that was killed: a rank, as they start nothing else.
_KILLED = re.compile(r"line \d+:\s+\d+ Killed\b|: (?:行 \d+|\d+ 行): {1,4}\d+ 強制終了 |exited on signal 9 \(Killed\)")
# Parts that the others stand on: what they say explains what is said above.
_GROUND = ("scheduler", "hardware")
_GENERIC = "log:exception"


@dataclass(frozen=True)
class RulePlace:
    """One place where a rule holds, with all that decides how much it counts."""

    rule: Rule
    evidence: Evidence | None
    values: dict[str, str] = field(default_factory=dict)
    file: int = -1
    """Index of its file, -1 for a fact."""
    offset: int = 0
    count: int = 1
    ranks: tuple[int, ...] = ()
    fact: bool = False
    exception: bool = False
    """The program's last traceback ends with it."""
    own_line: str = ""
    """`train.py:12`: the innermost line of the user's own code in that traceback."""
    weak: bool = False
    """A warning, or a message after which the program went on."""
    far: bool = False
    """Much was printed between it and the end."""
    hang: bool = False
    """It names the ranks that the others waited for."""
    time: float | None = None
    matched: int = 0
    """Letters of the line that the rule's pattern holds: of two rules for one line the more exact one counts."""

    @property
    def rank(self) -> int | None:
        """The rank that it is about, where known."""
        return self.evidence.rank if self.evidence is not None else None

    @property
    def ending(self) -> bool:
        """Whether it says that a job was ended from outside while it ran: whatever kept it running is the cause."""
        text = self.evidence.text if self.evidence is not None else ""
        return self.rule.fact in _ENDINGS or (self.rule.part == "scheduler" and bool(_ENDING_WORDS.search(text)))


@dataclass(frozen=True)
class Circumstances:
    """What is known of the run beside the places."""

    failed: bool = True
    """It failed, or nobody knows."""
    known_failed: bool = False
    """It surely failed."""
    first_rank: int | None = None
    """The rank that failed first by itself."""
    ended: float | None = None
    """When the job was told to end from outside."""
    by_itself: bool = False
    """A rank ended by itself before that."""
    put_down: frozenset[int] = frozenset()
    """Ranks that were told to end because another one had failed, did not, and were killed."""
    only_put_down: bool = False
    """No other rank was killed."""


@dataclass(frozen=True)
class Ranked:
    """All places of one rule, the best one first, and the level after ordering."""

    places: tuple[RulePlace, ...]
    level: str
    band: int


WEAK = 80
"""Bands from here on are not called a root cause: it is not certain that anything is wrong."""
NOT_A_CAUSE = 90
"""Bands from here on are no causes."""
CONSEQUENCE = 91


def order(places: Sequence[RulePlace], about: Circumstances) -> list[Ranked]:
    """Return the rules that hold, the root cause first; benign ones are left out.

    A consequence never stands before what it follows from: rules of the level `secondary`, and rules that name one of
    the found ones in `follows`. Then: the scheduler's own facts; what the rank says that failed first; the exception
    that a traceback ends with; what was written first. Warnings and messages after which the program went on count
    less than a generic exception, which in turn counts less than anything that a rule knows.
    """
    counted = [place for place in places if place.rule.level != "benign"]
    followers = _followers(counted)
    behind = _behind_follower(counted, followers)
    timed = all(place.time is not None for place in counted if not place.fact)
    ended = {(place.file, place.rank) for place in counted if place.exception and place.rule.id not in followers}
    keyed = [
        (
            _key(
                place,
                about,
                follower=place.rule.id in followers,
                behind=id(place) in behind,
                timed=timed,
                ended=(place.file, place.rank) in ended,
            ),
            place,
        )
        for place in counted
    ]
    keyed.sort(key=lambda each: each[0])
    grouped: dict[str, list[tuple[tuple[float, ...], RulePlace]]] = {}
    for each in keyed:
        grouped.setdefault(each[1].rule.id, []).append(each)
    # a warning alone may mean nothing; where something did fail the best of them is the cause
    failing = any(band == CONSEQUENCE and not place.weak for (band, *_), place in keyed) or about.known_failed
    ranked = []
    for number, listed in enumerate(grouped.values()):
        band = int(listed[0][0][0])
        if band >= NOT_A_CAUSE and not about.failed:
            continue  # whatever it was, it did no harm
        certain = band < WEAK or failing
        level = "secondary" if band >= NOT_A_CAUSE else "root" if number == 0 and certain else "likely"
        ranked.append(Ranked(tuple(place for _, place in listed), level, band))
    return ranked


def _followers(places: Sequence[RulePlace]) -> set[str]:
    """Return the ids of rules that are consequences: of their level, or because their cause was found in earnest."""
    # an exception that no rule knows may itself come from another rank's end (`far`)
    earnest = {
        place.rule.id
        for place in places
        if not place.weak and place.rule.level != "secondary" and not (place.far and place.rule.fact == _GENERIC)
    }
    rules = {place.rule.id: place.rule for place in places}
    found = {name for name, rule in rules.items() if rule.level == "secondary"}
    for name, rule in rules.items():
        causes = [other for other in rule.follows if other in earnest and other != name]
        if any(name not in rules[other].follows for other in causes):
            found.add(name)
    return found


def _behind_follower(places: Sequence[RulePlace], followers: set[str]) -> set[int]:
    """Return the identities of places before which the same rank told of a consequence: they may be one themselves."""
    first: dict[tuple[int, int], int] = {}
    for place in places:
        if place.rule.id in followers and place.rank is not None and place.file >= 0:
            at = (place.file, place.rank)
            first[at] = min(first.get(at, place.offset), place.offset)
    return {
        id(place)
        for place in places
        if place.rank is not None and (place.file, place.rank) in first and first[place.file, place.rank] < place.offset
    }


def _key(
    place: RulePlace, about: Circumstances, *, follower: bool, behind: bool, timed: bool, ended: bool
) -> tuple[float, ...]:
    """Return what places are compared by, the smallest first.

    `behind`: behind a consequence on the same rank; `timed`: all places have a time; `ended`: its rank ended with an
    exception that is no consequence, to which this place may have led.
    """
    other_rank = about.first_rank is not None and place.rank is not None and place.rank != about.first_rank
    return (
        _band(place, about, follower),
        other_rank,
        place.far and not place.exception,
        behind,
        place.rule.part not in _GROUND,
        place.time if timed and place.time is not None else 0.0,
        place.fact,
        not (place.exception or ended),
        place.file,
        place.offset,
        -place.matched,
    )


def _band(place: RulePlace, about: Circumstances, follower: bool) -> int:
    """Return how near to the cause a place is, 0 the nearest."""
    if follower or _put_down(place, about):
        return CONSEQUENCE
    silent = place.rule.fact.startswith("silent:")
    explains = place.rule.fact.startswith("source:")  # it is here only because it explains another place
    if not about.failed and not silent and not explains and place.rule.part != "numerics":
        return NOT_A_CAUSE  # the run came to its end all the same
    late = about.ended is not None and place.time is not None and place.time >= about.ended
    certain = place.rule.level == "root"
    if place.ending:
        return 62 if about.by_itself else 30
    if place.rule.fact == _GENERIC:
        return WEAK if place.weak else 60
    if silent and about.failed and place.rule.part != "numerics":
        return 70
    if place.weak and place.rule.part != "numerics":
        return 65 if certain else WEAK
    if late and not place.fact:
        return 35
    if place.fact and certain and place.rule.fact.startswith(("state:", "cause:")):
        return 0
    if certain and place.rule.part == "scheduler" and not place.fact:
        return 5
    if place.hang:
        return 20
    if certain:
        return 10
    return 50 if place.fact else 40


def _put_down(place: RulePlace, about: Circumstances) -> bool:
    """Return whether a place tells of ranks that a launcher killed only because another rank had failed."""
    if place.evidence is None or not about.put_down or not _KILLED.search(place.evidence.text):
        return False
    return about.only_put_down if place.rank is None else place.rank in about.put_down
