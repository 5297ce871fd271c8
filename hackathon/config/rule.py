"""A tutor's knowledge of a failure, as data: `templates/rules/*.yaml`."""

from dataclasses import dataclass, field
from typing import Literal

from hackathon.config.records import Text

Part = Literal[
    "gpu", "cuda", "nccl", "rendezvous", "gloo", "mpi", "horovod", "chainermn", "tensorflow", "framework", "data",
    "numerics", "filesystem", "hardware", "env", "scheduler", "silent",
]  # fmt: skip
"""The part in which a failure occurs."""
Level = Literal["root", "likely", "secondary", "benign"]
LEVELS: tuple[Level, ...] = ("root", "likely", "secondary", "benign")
"""Meaning of a message: it names the cause; is probably near it; follows from another failure; is harmless."""
EXCEPTION = "log:exception"
"""The fact that an exception ended a rank and no rule finds its words in the log. The patterns of a rule with this fact
are compared with the exception alone: `Name: message « statement`, from its beginning."""
FIRST_EVENT = "log:first-event"
"""The fact that no rule finds a cause, and the log has an event. A rule's patterns are searched for in its line."""
ANY_EXCEPTION = "python-exception"
"""The rule for exceptions of which nothing is known; whoever `follows` it follows every exception."""


@dataclass(frozen=True)
class Pattern:
    """Words to search for: either `text` or `regex`."""

    text: str = ""
    """Words as in the log; each space matches any white space, even if a launcher wrapped the line."""
    regex: str = ""
    """A regular expression; named groups fill `{name}` in the texts. No look-around, no back reference, no anchor."""
    ignore_case: bool = False
    """Whether case is ignored."""


@dataclass(frozen=True)
class Cause:
    """A possible cause and how to check for it."""

    text: Text
    """The possible cause."""
    check: str = ""
    """One command to type, if there is one. `{name}` is a word of its own, without quotes: its value is quoted."""


@dataclass(frozen=True)
class Example:
    """Lines of a log that the rule has to recognise."""

    text: str
    """The lines."""
    source: str = ""
    """Their source: an address, or the program, its version and its file."""


@dataclass(frozen=True)
class Rule:
    """One failure that can be recognised."""

    id: str
    """Its name: words joined by `-`."""
    part: Part
    """The part in which the failure occurs."""
    level: Level
    """How close its message is to the cause."""
    title: Text
    """Its meaning in one line; `{name}` is filled in from the pattern's groups and the run's numbers."""
    patterns: list[Pattern] = field(default_factory=list)
    """Any one of them is enough."""
    unless: list[Pattern] = field(default_factory=list)
    """A match is ignored if one of these is in the same line or the few lines after it."""
    fact: str = ""
    """Instead of patterns: the name of a check of the run's own records, e.g. `state:TIMEOUT` or `silent:same-data`.

    `log:exception` and `log:first-event` also take patterns: of the exception that ended a rank, of the first event.
    """
    guess: bool = False
    """Its patterns are common words, which tell what the message is about: the cause stays unknown."""
    thresholds: dict[str, float] = field(default_factory=dict)
    """Numbers that the check compares with."""
    where: list[Literal["rank", "job", "scheduler"]] = field(default_factory=list)
    """Logs to search; empty: all."""
    causes: list[Cause] = field(default_factory=list)
    """The possible causes, the most frequent first."""
    advice: Text = ""
    """The remedy."""
    follows: list[str] = field(default_factory=list)
    """Ids of rules that are the cause of this failure if they match too."""
    references: list[str] = field(default_factory=list)
    """Further reading."""
    sample: Example | None = None
    """An example with its source."""
    variants: list[Example] = field(default_factory=list)
    """The same failure with another wording: other versions, other launchers."""


@dataclass(frozen=True)
class RuleFile:
    """A file of rules."""

    rules: list[Rule]
    """The rules; each replaces the rule with its id further along the search path."""


def tells_failures_apart(rule: str) -> bool:
    """Return whether two runs in which this rule gives the cause failed for the same reason."""
    return rule not in (ANY_EXCEPTION, "first-event") and not rule.startswith(("exception-", "event-"))
