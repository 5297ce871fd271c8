"""What a tutor knows about a failure, as data: `templates/rules/*.yaml`."""

from dataclasses import dataclass, field
from typing import Literal

from hackathon.config.fields import Text

Part = Literal[
    "gpu", "cuda", "nccl", "rendezvous", "gloo", "mpi", "horovod", "chainermn", "tensorflow", "framework", "data",
    "numerics", "filesystem", "hardware", "env", "scheduler", "silent",
]  # fmt: skip
"""Where a failure lies: "this is an error of this part"."""
Level = Literal["root", "likely", "secondary", "benign"]
"""How much a message says: names the cause; probably near it; follows from a failure elsewhere; harmless."""
LEVELS: tuple[Level, ...] = ("root", "likely", "secondary", "benign")


@dataclass(frozen=True)
class Pattern:
    """Words to look for: either `text` or `regex`."""

    text: str = ""
    """Words as they stand in the log; each space stands for any white space, also where a launcher wrapped the line."""
    regex: str = ""
    """A regular expression; named groups fill `{name}` in the texts. No look-around, no back reference, no anchor."""
    ignore_case: bool = False
    """Whether capitals do not matter."""


@dataclass(frozen=True)
class Cause:
    """One possible cause and how to see whether it is this one."""

    text: Text
    """What may be wrong."""
    check: str = ""
    """One command to type, if there is one. `{name}` stands alone, without quotes: it is filled in quoted."""


@dataclass(frozen=True)
class Example:
    """Lines of a log that the rule has to recognise."""

    text: str
    """The lines."""
    source: str = ""
    """Where they were seen: an address, or the program, its version and its file."""


@dataclass(frozen=True)
class Rule:
    """One failure that can be recognised."""

    id: str
    """Its name: words joined by `-`."""
    part: Part
    """Where the failure lies."""
    level: Level
    """How much its message says about the cause."""
    title: Text
    """What it means in one line; `{name}` is filled in from the pattern's groups and the run's numbers."""
    patterns: list[Pattern] = field(default_factory=list)
    """Any one of them is enough."""
    unless: list[Pattern] = field(default_factory=list)
    """A place that also has one of these, in the same line or the few after it, is not meant."""
    fact: str = ""
    """Instead of patterns: the name of a check of the run's own records, e.g. `state:TIMEOUT` or `silent:same-data`."""
    thresholds: dict[str, float] = field(default_factory=dict)
    """Numbers that the check compares with."""
    where: list[Literal["rank", "job", "scheduler"]] = field(default_factory=list)
    """Logs to look in; empty: all."""
    causes: list[Cause] = field(default_factory=list)
    """The possible causes, the most frequent first."""
    advice: Text = ""
    """What to do."""
    follows: list[str] = field(default_factory=list)
    """Ids of rules that this failure is a consequence of when they are found too."""
    references: list[str] = field(default_factory=list)
    """Where to read on."""
    sample: Example | None = None
    """How it was seen, and where."""
    variants: list[Example] = field(default_factory=list)
    """The same failure in other words: other versions, other launchers."""


@dataclass(frozen=True)
class RuleFile:
    """A file of rules."""

    rules: list[Rule]
    """The rules; one with the id of a rule further along the search path replaces it."""
