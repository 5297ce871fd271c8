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


def order(matches: Sequence[RulePlace], about: Circumstances) -> list[Ranked]:
    """Return the rules that hold, the root cause first; benign ones are left out.

    A consequence never stands before what it follows from: rules of the level `secondary`, and rules that name one of
    the found ones in `follows`. Then: the scheduler's own facts; what the rank says that failed first; the exception
    that a traceback ends with; what was written first. Warnings and messages after which the program went on count
    less than a generic exception, which in turn counts less than anything that a rule knows.
    """
    counted = [match for match in matches if match.rule.level != "benign"]
    followers = _followers(counted)
    behind = _behind_follower(counted, followers)
    timed = all(match.time is not None for match in counted if not match.fact)
    ended = {(match.file, match.rank) for match in counted if match.exception and match.rule.id not in followers}
    keyed = [
        (
            _key(
                match,
                about,
                follower=match.rule.id in followers,
                behind=id(match) in behind,
                timed=timed,
                ended=(match.file, match.rank) in ended,
            ),
            match,
        )
        for match in counted
    ]
    keyed.sort(key=lambda entry: entry[0])
    grouped: dict[str, list[tuple[tuple[float, ...], RulePlace]]] = {}
    for entry in keyed:
        grouped.setdefault(entry[1].rule.id, []).append(entry)
    # a warning alone may mean nothing; where something did fail the best of them is the cause
    failing = any(band == CONSEQUENCE and not match.weak for (band, *_), match in keyed) or about.known_failed
    ranked = []
    for number, listed in enumerate(grouped.values()):
        band = int(listed[0][0][0])
        if band >= NOT_A_CAUSE and not about.failed:
            continue  # whatever it was, it did no harm
        certain = band < WEAK or failing
        level = "secondary" if band >= NOT_A_CAUSE else "root" if number == 0 and certain else "likely"
        ranked.append(Ranked(tuple(match for _, match in listed), level, band))
    return ranked


def _followers(matches: Sequence[RulePlace]) -> set[str]:
    """Return the ids of rules that are consequences: of their level, or because their cause was found in earnest."""
    # an exception that no rule knows may itself come from another rank's end (`far`)
    earnest = {
        match.rule.id
        for match in matches
        if not match.weak and match.rule.level != "secondary" and not (match.far and match.rule.fact == _GENERIC)
    }
    rules = {match.rule.id: match.rule for match in matches}
    followers = {name for name, rule in rules.items() if rule.level == "secondary"}
    for name, rule in rules.items():
        causes = [other for other in rule.follows if other in earnest and other != name]
        if any(name not in rules[other].follows for other in causes):
            followers.add(name)
    return followers


def _behind_follower(matches: Sequence[RulePlace], followers: set[str]) -> set[int]:
    """Return the identities of places before which the same rank told of a consequence: they may be one themselves."""
    first: dict[tuple[int, int], int] = {}
    for match in matches:
        if match.rule.id in followers and match.rank is not None and match.file >= 0:
            at = (match.file, match.rank)
            first[at] = min(first.get(at, match.offset), match.offset)
    return {
        id(match)
        for match in matches
        if match.rank is not None and (match.file, match.rank) in first and first[match.file, match.rank] < match.offset
    }


def _key(
    match: RulePlace, about: Circumstances, *, follower: bool, behind: bool, timed: bool, ended: bool
) -> tuple[float, ...]:
    """Return what places are compared by, the smallest first.

    `behind`: behind a consequence on the same rank; `timed`: all places have a time; `ended`: its rank ended with an
    exception that is no consequence, to which this place may have led.
    """
    other_rank = about.first_rank is not None and match.rank is not None and match.rank != about.first_rank
    return (
        _band(match, about, follower),
        other_rank,
        match.far and not match.exception,
        behind,
        match.rule.part not in _GROUND,
        match.time if timed and match.time is not None else 0.0,
        match.fact,
        not (match.exception or ended),
        match.file,
        match.offset,
        -match.matched,
    )


def _band(match: RulePlace, about: Circumstances, follower: bool) -> int:
    """Return how near to the cause a place is, 0 the nearest."""
    if follower or _put_down(match, about):
        return CONSEQUENCE
    silent = match.rule.fact.startswith("silent:")
    explains = match.rule.fact.startswith("source:")  # it is here only because it explains another place
    if not about.failed and not silent and not explains and match.rule.part != "numerics":
        return NOT_A_CAUSE  # the run came to its end all the same
    late = about.ended is not None and match.time is not None and match.time >= about.ended
    certain = match.rule.level == "root"
    if match.ending:
        return 62 if about.by_itself else 30
    if match.rule.fact == _GENERIC:
        return WEAK if match.weak else 60
    if silent and about.failed and match.rule.part != "numerics":
        return 70
    if match.weak and match.rule.part != "numerics":
        return 65 if certain else WEAK
    if late and not match.fact:
        return 35
    if match.fact and certain and match.rule.fact.startswith(("state:", "cause:")):
        return 0
    if certain and match.rule.part == "scheduler" and not match.fact:
        return 5
    if match.hang:
        return 20
    if certain:
        return 10
    return 50 if match.fact else 40


def _put_down(match: RulePlace, about: Circumstances) -> bool:
    """Return whether a place tells of ranks that a launcher killed only because another rank had failed."""
    if match.evidence is None or not about.put_down or not _KILLED.search(match.evidence.text):
        return False
    return about.only_put_down if match.rank is None else match.rank in about.put_down
