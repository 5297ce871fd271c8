"""How the job scripts of a scheduler are written and read: what the linter and the converter of scripts know.

Each scheduler says it in `<name>/script.py` as one ScriptLanguage: tables, a function that reads a header into a
ScriptRequest, one that writes it, and one that judges values. Nothing here runs a command. A language may exist before
its scheduler does: scripts can be read on a laptop.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from hackathon.text.numbers import digits

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster

Known = Literal["read", "ignored", "refused", "sometimes", "broken", "unknown"]
"""What a scheduler does with a way of writing. `sometimes`: refused on machines that say so. `broken`: it accepts the
script, and the job fails. `unknown`: nobody has recorded it, so nothing is said about it."""
Effect = Literal["ignored", "refused", "changed"]
Severity = Literal["error", "warning"]


class Setting(NamedTuple):
    """One option of a header: `#PBS -l walltime=1:00,mem=4gb` has two."""

    line: int
    """Counted from 1."""
    key: str
    """The option in its first spelling, with the name inside a list of resources: `-q`, `-l walltime`."""
    written: str
    """The option as it stands there."""
    value: str
    """Without quotation marks; empty for a flag."""


class Judgement(NamedTuple):
    """What a scheduler does with a setting that is not as it should be."""

    rule: str
    line: int
    values: Mapping[str, object] = {}
    """What the message of the rule needs."""
    better: tuple[str, str] | None = None
    """(text, replacement) in that line, which mends it."""
    severity: Severity | None = None
    """None: that of the rule."""
    effect: Effect | None = None
    """None: that of the rule."""


@dataclass
class ScriptRequest:
    """What a header asks for, in no scheduler's words; None: it does not say."""

    name: str | None = None
    queue: str | None = None
    account: str | None = None
    nodes: int | None = None
    processes: int | None = None
    """Ranks in all."""
    processes_per_node: int | None = None
    threads: int | None = None
    """Threads a rank."""
    cores: int | None = None
    """Cores of a node."""
    gpus: int | None = None
    """GPUs of a node."""
    spread: bool = False
    """`gpus` are those of the whole job, and the header does not say on how many nodes."""
    memory: str | None = None
    """Of a node, as written."""
    walltime: int | None = None
    """Seconds."""
    output: str | None = None
    error: str | None = None
    merge: bool | None = None
    """Errors go into the output's file."""
    array: str | None = None
    """`first-last`, `:step` and `%at once` where given."""
    after_ok: str | None = None
    """Ids of jobs, joined by `:`, that have to succeed first."""
    after_any: str | None = None
    mail_user: str | None = None
    mail_on: frozenset[str] | None = None
    """Of `begin`, `end`, `fail`."""
    directory: str | None = None
    """Where the job begins; `.` for the folder of the submission."""
    rerun: bool | None = None
    exclusive: bool | None = None
    variables: str | None = None
    """`NAME=value,…` for the job's environment."""
    inherit: bool | None = None
    """The whole environment of the submission goes along."""
    taken: set[Setting] = field(default_factory=set)
    """The settings that the fields above hold; a conversion loses the others."""

    def total(self) -> int | None:
        """Return the ranks in all, where the header says them."""
        if self.processes is not None:
            return self.processes
        if self.processes_per_node is not None and self.nodes is not None:
            return self.processes_per_node * self.nodes
        return None

    def per_node(self) -> int | None:
        """Return the ranks of a node, where the header says them and every node has as many."""
        if self.processes_per_node is not None:
            return self.processes_per_node
        if self.processes is not None and self.nodes and self.processes % self.nodes == 0:
            return self.processes // self.nodes
        return None


@dataclass(frozen=True)
class Reading:
    """Where and how a scheduler reads directives."""

    behind_commands: Known = "unknown"
    indented: Known = "unknown"
    trailing_comment: Known = "unknown"
    comment_in_word: bool = False
    """Whether `#` begins a comment in the middle of a word, too."""
    loose_words: Known = "unknown"
    """A word that is neither an option nor its value."""
    open_quotes: Known = "refused"
    """A quotation mark that is not closed, where loose words are refused."""
    spaced_equals: Known = "unknown"
    """`--time = 5`."""
    unknown_options: Known = "unknown"
    full_width: Known = "refused"
    carriage_returns: Known = "unknown"
    shebang_first: bool = False
    """A script has to begin with `#!`."""
    colon_is_no_command: bool = False
    """A line that begins with `:` does not end the header."""
    continued: bool = False
    """A directive whose line ends with `\\` goes on in the next line, which needs no prefix."""
    whole_script: bool = False
    """Every line is read, also those of here-documents and of texts in quotation marks."""
    first_wins: str = r"\Z."
    """Regular expression of settings of which the first value counts when they are repeated."""
    last_wins: str = r"\Z."
    """Regular expression of settings of which the last value counts."""
    literal: frozenset[str] | None = None
    """Options whose values are names or paths in which a shell's variables are not expanded; None: unknown."""


@dataclass(frozen=True)
class ScriptLanguage:
    """The job scripts of one scheduler."""

    name: str
    """As the scheduler is called in profiles."""
    title: str
    """For people."""
    prefix: str
    """How a directive begins."""
    options: Mapping[str, tuple[str, int]]
    """Option as written → (its first spelling, how many values; -1: a value may be glued to it)."""
    read: Callable[[Iterable[Setting]], ScriptRequest]
    write: Callable[[ScriptRequest, Mapping[str, object]], tuple[list[str], list[str]]]
    """Request and the keys of a profile's `dialect:` → options of the header in order, one a line, and names of the
    fields that this scheduler has no words for."""
    judge: Callable[[list[Setting]], Iterable[Judgement]]
    """What is wrong with values, alone or together."""
    reading: Reading = Reading()
    style: Literal["getopt", "words"] = "getopt"
    """`words`: an option is one word, whatever its number of dashes, and its values are the next ones."""
    lists: frozenset[str] = frozenset()
    """Options whose value is a list of `name=value`."""
    plugin_options: str = r"\Z."
    """Regular expression of options that plug-ins of sites or relatives of this scheduler bring."""
    meant: Mapping[str, str] = field(default_factory=dict)
    """Option that does not exist → the one that was meant."""
    stray: str = r"\Z."
    """Regular expression of loose words that lack their option, which is `lists`' first one."""
    obeys: str = ""
    """The prefix of another scheduler that this one obeys, too."""
    several_queues: bool = False
    """A job may name several queues, with commas between them."""
    starts_at_home: bool = False
    """A job begins in the home folder."""
    stays_if: frozenset[str] = frozenset()
    """Settings by which a job begins elsewhere."""
    submit_folder: str = ""
    """The variable with the folder of the submission, for the corrected line."""
    variables: str = ""
    """Regular expression of the variables that this scheduler sets in a job."""
    shell_option: str = ""
    """The option that names another shell than the first line."""
    passes_environment: str = ""
    """The option that takes the whole environment along."""
    group_options: Mapping[str, str] = field(default_factory=dict)
    """Value of a profile's `dialect.group` → the setting that names who pays there."""
    exit_codes: Mapping[int, str] = field(default_factory=dict)
    """Exit codes with a meaning of their own → message id of what happens."""
    colon_id: str = ""
    """The variable with the job's id, where that has a colon."""
    commands: Mapping[str, str] = field(default_factory=dict)
    """Regular expression of a command in the body that does harm here → rule."""
    of_machine: "Callable[[ScriptLanguage, Cluster], ScriptLanguage] | None" = None
    """Return the language as a machine's scheduler reads it; None where it reads the same everywhere."""
    whole_nodes: str = ""
    """How so many whole nodes are asked for: `select={count}`. Then the resource types of other machines are found."""
    signs: str = r"\Z."
    """Regular expression of directives that only this one of two schedulers with the same prefix has."""


def table(text: str) -> dict[str, tuple[str, int]]:
    """Return a table of options from lines `-a --all 1`: spellings, the first counts, and how many values follow."""
    options = {}
    for line in text.strip().splitlines():
        *names, count = line.split()
        options.update({name: (names[0], int(count)) for name in names})
    return options


def clock(text: str) -> int | None:
    """Return seconds of `H:MM:SS` or `MM:SS`, None for anything else."""
    parts = [digits(part) for part in text.split(":")]
    if not 2 <= len(parts) <= 3 or None in parts:
        return None
    seconds = 0
    for part in parts:
        seconds = seconds * 60 + (part or 0)
    return seconds


def short_clock(setting: Setting, seconds: int | None) -> Iterable[Judgement]:
    """Yield a verdict about `01:30`, minutes and seconds, where hours and minutes were likely meant.

    Nobody asks for odd seconds, and a few minutes or exactly whole days of hours are written by people who think that
    it is hours; `10:00` and `30:00` are ten and thirty minutes.
    """
    first, colon, second = setting.value.partition(":")
    if seconds is None or not colon or digits(first) is None or digits(second) is None:
        return
    if int(second) or int(first) < 5 or int(first) in (24, 48, 72, 96, 120, 144, 168):
        hours = f"{int(first):02d}:{second}:00"
        yield Judgement("short-time", setting.line, {"value": setting.value, "minutes": int(first),
                      "seconds": int(second), "hours": hours}, (setting.value, hours))  # fmt: skip
