"""Decide which finding is the cause. One table; no files are read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from hackathon.config.rule import ANY_EXCEPTION, EXCEPTION, Rule
from hackathon.diagnosis.findings import Evidence

_ENDINGS = frozenset({"state:TIMEOUT", "state:CANCELLED"})
_ENDING_WORDS = re.compile(
    r"(?i)due to time limit|walltime|time limit|cancelled at|job killed: wall|jobstep.*cancelled"
)
# Messages of shells and launchers about a killed process, which is a rank: they start nothing else.
_KILLED = re.compile(r"line \d+:\s+\d+ Killed\b|: (?:行 \d+|\d+ 行): {1,4}\d+ 強制終了 |exited on signal 9 \(Killed\)")
# Parts below the others: their messages explain those of the parts above.
_GROUND = ("scheduler", "hardware")
_EXCEPTIONS = (EXCEPTION, "log:exception-in-library", "log:exception-in-loader", "log:exception-own")
GENERIC = frozenset({*_EXCEPTIONS, "log:first-event"})
"""Facts of rules that name an event by its form."""


@dataclass(frozen=True)
class RulePlace:
    """A match of a rule, with everything that decides its rank among the findings."""

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
    """It is the exception that ends the program's last traceback."""
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
    """Characters that the rule's pattern matches: of two rules for one line, the more exact one counts."""
    at_least: bool = False
    """There may be more occurrences than `count`."""

    @property
    def rank(self) -> int | None:
        """The rank concerned, when known."""
        return self.evidence.rank if self.evidence is not None else None

    @property
    def ending(self) -> bool:
        """Whether it reports that a job was stopped from outside: the cause is then what kept the job running."""
        text = self.evidence.text if self.evidence is not None else ""
        return self.rule.fact in _ENDINGS or (self.rule.part == "scheduler" and bool(_ENDING_WORDS.search(text)))


@dataclass(frozen=True)
class Circumstances:
    """Facts about the run that are independent of the matches."""

    failed: bool = True
    """It failed, or its result is unknown."""
    known_failed: bool = False
    """It certainly failed."""
    first_rank: int | None = None
    """The rank that failed first by itself."""
    ended: float | None = None
    """When the job was stopped from outside."""
    by_itself: bool = False
    """A rank ended by itself before that."""
    put_down: frozenset[int] = frozenset()
    """Ranks that were asked to stop because another had failed, did not stop, and were killed."""
    only_put_down: bool = False
    """No other rank was killed."""


@dataclass(frozen=True)
class Ranked:
    """All matches of one rule, the best first, and the rule's level after ordering."""

    places: tuple[RulePlace, ...]
    level: str
    band: int


SURVIVED = 65
"""The band of certain causes after which the program went on, and of warnings of such rules."""
WEAK = 80
"""Bands from here on are not called a root cause: perhaps nothing is wrong."""
NOT_A_CAUSE = 90
"""Bands from here on are not causes."""
CONSEQUENCE = 91


def order(matches: Sequence[RulePlace], about: Circumstances) -> list[Ranked]:
    """Return the rules that match, the root cause first; benign ones are left out.

    Consequences come last: rules of the level `secondary`, and rules whose `follows` names another matching rule. The
    others are ordered by: the scheduler's facts; messages of the rank that failed first; the exception that ends a
    traceback; time. Warnings and messages after which the program went on come after a generic exception, which comes
    after every specific rule.
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
    # a warning alone may mean nothing; if something failed, the best warning is the cause
    failing = any(band == CONSEQUENCE and not match.weak for (band, *_), match in keyed) or about.known_failed
    ranked = []
    for number, listed in enumerate(grouped.values()):
        band = int(listed[0][0][0])
        if band >= NOT_A_CAUSE and not about.failed:
            continue  # it did no harm
        # a message after which the program went on is not a cause while nothing else reports an end
        certain = (band < WEAK and band != SURVIVED) or failing
        level = "secondary" if band >= NOT_A_CAUSE else "root" if number == 0 and certain else "likely"
        ranked.append(Ranked(tuple(match for _, match in listed), level, band))
    return ranked


def _followers(matches: Sequence[RulePlace]) -> set[str]:
    """Return the ids of rules that are consequences: by their level, or because a reliable match is their cause."""
    # a generic exception with `far` may itself follow from another rank's end
    earnest = {
        match.rule.id
        for match in matches
        if not match.weak and match.rule.level != "secondary" and not (match.far and match.rule.fact in _EXCEPTIONS)
    }
    rules = {match.rule.id: match.rule for match in matches}
    followers = {name for name, rule in rules.items() if rule.level == "secondary"}
    exceptions = [name for name, rule in rules.items() if rule.fact in _EXCEPTIONS]
    for name, rule in rules.items():
        named = {*rule.follows, *(exceptions if ANY_EXCEPTION in rule.follows else ())}
        causes = [other for other in named if other in earnest and other != name]
        if any(name not in rules[other].follows for other in causes):
            followers.add(name)
    return followers


def _behind_follower(matches: Sequence[RulePlace], followers: set[str]) -> set[int]:
    """Return the `id()` of matches after a consequence on the same rank: they may be consequences too."""
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
    """Return the sort key of a match; the smallest key is the cause.

    `behind`: it comes after a consequence on the same rank. `timed`: all matches have a time. `ended`: its rank ended
    with an exception that is not a consequence; this match may have led to it.
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
    """Return the distance of a match from the cause; 0 is the nearest."""
    if follower or _put_down(match, about):
        return CONSEQUENCE
    silent = match.rule.part == "silent" or match.rule.fact.startswith("silent:")
    explains = match.rule.fact.startswith("source:")  # it is listed only because it explains another match
    if not about.failed and not silent and not explains and match.rule.part != "numerics":
        return NOT_A_CAUSE  # the run reached its end
    late = about.ended is not None and match.time is not None and match.time >= about.ended
    certain = match.rule.level == "root"
    if match.ending:
        return 62 if about.by_itself else 30
    if match.rule.fact in _EXCEPTIONS:
        return WEAK if match.weak else 10 if certain else 60
    if match.rule.fact in GENERIC:
        return WEAK
    if silent and about.failed and match.rule.part != "numerics":
        return 70
    if match.weak and match.rule.part != "numerics":
        return SURVIVED if certain else WEAK
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
    """Return whether a match is about ranks that a launcher killed only because another rank had failed."""
    if match.evidence is None or not about.put_down or not _KILLED.search(match.evidence.text):
        return False
    return about.only_put_down if match.rank is None else match.rank in about.put_down
