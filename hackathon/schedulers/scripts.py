"""How the job scripts of a scheduler are read and written, for the linter and the converter.

Each scheduler defines one ScriptLanguage in `<name>/script.py`: tables, a function that reads a header into a
ScriptRequest, one that writes it, and one that judges values. No commands are run: scripts can be read on a laptop.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from hackathon.text.numbers import digits

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster

Known = Literal["read", "ignored", "refused", "sometimes", "broken", "unknown"]
"""How a scheduler treats a notation.

`sometimes`: refused on machines whose site says so. `broken`: the script is accepted, and the job fails. `unknown`: not
documented, so the linter is silent.
"""
Effect = Literal["ignored", "refused", "changed"]
Severity = Literal["error", "warning"]


class Setting(NamedTuple):
    """One option of a header: `#PBS -l walltime=1:00,mem=4gb` has two."""

    line: int
    """Counted from 1."""
    key: str
    """The option in its first spelling, with the name inside a list of resources: `-q`, `-l walltime`."""
    written: str
    """The option as written."""
    value: str
    """Without quotation marks; empty for a flag."""


class Judgement(NamedTuple):
    """A setting that the scheduler refuses or misunderstands."""

    rule: str
    line: int
    values: Mapping[str, object] = {}
    """Values for the rule's message."""
    better: tuple[str, str] | None = None
    """(text, replacement) in that line that corrects it."""
    severity: Severity | None = None
    """None: the rule's severity."""
    effect: Effect | None = None
    """None: the rule's effect."""


@dataclass
class ScriptRequest:
    """The request of a header, independent of the scheduler; None: not specified."""

    name: str | None = None
    queue: str | None = None
    account: str | None = None
    nodes: int | None = None
    processes: int | None = None
    """Total number of ranks."""
    processes_per_node: int | None = None
    threads: int | None = None
    """Threads per rank."""
    cores: int | None = None
    """Cores per node."""
    gpus: int | None = None
    """GPUs per node."""
    gpu_type: str | None = None
    gpus_per_process: int | None = None
    """GPUs that each rank has for itself."""
    spread: bool = False
    """`gpus` are those of the whole job, and the header does not give the number of nodes."""
    memory: str | None = None
    """Per node, with its unit (`64G`, `2gb`, `512b`); `0`: all of a node."""
    memory_per_core: str | None = None
    walltime: int | None = None
    """Seconds."""
    output: str | None = None
    """With `%j`, `%x`, `%a` and `%A` for the job's id and name, the task of an array and the array's id."""
    error: str | None = None
    merge: bool | None = None
    """Errors go into the output's file."""
    array: str | None = None
    """`first-last`, with `:step` and `%at once` if specified."""
    after_ok: str | None = None
    """Ids of jobs, joined by `:`, that have to succeed first."""
    after_any: str | None = None
    mail_user: str | None = None
    mail_on: frozenset[str] | None = None
    """Of `begin`, `end`, `fail`."""
    directory: str | None = None
    """Working folder of the job; `.` for the folder of the submission."""
    rerun: bool | None = None
    one_node: bool = False
    """All processes are on one node, which the header says without a number of nodes."""
    placement: str | None = None
    """How PBS distributes chunks: `scatter`, `pack`, …."""
    exclusive: bool | None = None
    variables: str | None = None
    """`NAME=value,…` for the job's environment."""
    inherit: bool | None = None
    """The job gets the whole environment of the submission."""
    taken: set[Setting] = field(default_factory=set)
    """The settings that the fields above contain; a conversion loses the others."""

    def total(self) -> int | None:
        """Return the total number of ranks, if the header specifies it."""
        if self.processes is not None:
            return self.processes
        if self.processes_per_node is not None and self.nodes is not None:
            return self.processes_per_node * self.nodes
        return None

    def per_node(self) -> int | None:
        """Return the ranks per node, if the header specifies them and all nodes have the same number."""
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
    """An unclosed quotation mark, if loose words are refused."""
    spaced_equals: Known = "unknown"
    """`--time = 5`."""
    unknown_options: Known = "unknown"
    carriage_returns: Known = "unknown"
    shebang_first: bool = False
    """A script has to begin with `#!`."""
    mark_hides: bool = False
    """A byte order mark makes the first line a command, and directives behind it are ignored."""
    hash_values: frozenset[str] = frozenset()
    """Options whose value may begin with `#`."""
    opens_output: bool = False
    """The files of the output are opened when the job begins: a missing folder ends it."""
    colon_is_no_command: bool = False
    """A line that begins with `:` does not end the header."""
    continued: bool = False
    r"""A directive whose line ends with `\` continues in the next line, which needs no prefix."""
    whole_script: bool = False
    """Every line is read, also those of here-documents and quoted texts."""
    first_wins: str = r"\Z."
    """Regular expression of settings whose first value counts when they are repeated."""
    last_wins: str = r"\Z."
    """Regular expression of settings whose last value counts."""
    literal: frozenset[str] | None = None
    """Options whose values are names or paths without expansion of shell variables; None: unknown."""


@dataclass(frozen=True)
class JobWords:
    """What the commands of a job call its nodes and processes."""

    counts: Mapping[str, str] = field(default_factory=dict)
    """Variable → `nodes`, `processes`, `per_node` or `gpus` (of a node)."""
    all_nodes: str = r"\Z."
    """Regular expression of the names of all nodes, as the value of a variable."""
    node_counts: str = r"\Z."
    """Regular expression of a command that counts the nodes."""
    hosts: str = r"\Z."
    """Regular expression of a command that lists the nodes."""
    of_task: str = r"\Z."
    """Regular expression of variables that differ between the processes of a step, and in the batch script."""
    node_number: str = ""
    """The variable with a node's number, in a process of a step."""
    nodes: str = ""
    """The number of nodes, as a word of a command."""
    first_node: str = ""
    """The name of the first node, as a word of a command."""
    step_only: str = r"\Z."
    """Regular expression of variables that the batch script does not have."""
    default_nodes: bool = False
    """Whether a job with processes or nodes alone has one process for each node."""
    keeps_functions: bool = True
    """Whether a job's shell may know functions such as `conda`: a login shell reads files that define them."""
    array: str = ""
    """The option of an array of jobs."""
    array_task: str = ""
    """The variable with the number of an array's job."""
    array_path: tuple[str, str] = ("", "")
    """The placeholder in a path of output, and a regular expression of placeholders that are enough."""
    of_option: Mapping[str, str] = field(default_factory=dict)
    """Variable → the option without which the scheduler does not set it."""
    slots_by_chunk: bool = False
    """Whether each requested node is one slot of mpirun, if the header does not name a number of processes."""


@dataclass(frozen=True)
class ScriptLanguage:
    """The job scripts of one scheduler."""

    name: str
    """The scheduler's name in profiles."""
    title: str
    """Display name."""
    prefix: str
    """Prefix of a directive."""
    options: Mapping[str, tuple[str, int]]
    """Option as written → (its first spelling, number of values; -1: a value may follow without a space)."""
    read: Callable[[Iterable[Setting]], ScriptRequest]
    write: Callable[[ScriptRequest, Mapping[str, object]], tuple[list[str], list[str]]]
    """Request and keys of a profile's `dialect:` → header options in order, and names of unsupported fields."""
    judge: Callable[[list[Setting]], Iterable[Judgement]]
    """Yields wrong values, alone or in combination."""
    reading: Reading = Reading()
    style: Literal["getopt", "words"] = "getopt"
    """`words`: an option is one word, with any number of dashes, and its values are the next ones."""
    lists: frozenset[str] = frozenset()
    """Options whose value is a list of `name=value`."""
    plugin_options: str = r"\Z."
    """Regular expression of options from plug-ins of sites or from relatives of this scheduler."""
    relatives_differ: "Callable[[list[Setting]], bool]" = lambda settings: False
    """Return whether nothing in a header shows that it is for such a relative."""
    meant: Mapping[str, str] = field(default_factory=dict)
    """Option that does not exist → the one that was meant."""
    separators: str = r"\Z."
    """Regular expression of loose words that begin the next component of a heterogeneous job."""
    stray: str = r"\Z."
    """Regular expression of loose words that lack their option, which is the first of `lists`."""
    obeys: str = ""
    """The prefix of another scheduler that this one accepts, too."""
    reservations: str = r"\Z."
    """Regular expression of names that stand for a reservation in place of a queue."""
    output_name: str = ""
    """A name for the output's file in a folder, with the job's id."""
    several_queues: bool = False
    """A job may name several queues, separated by commas."""
    merges: bool = False
    """Errors go into the output's file unless the header names one for them."""
    starts_at_home: bool = False
    """A job starts in the home folder."""
    site_may_stay: bool = False
    """Whether sites commonly let jobs start in the folder of the submission."""
    stays_if: frozenset[str] = frozenset()
    """Settings by which a job starts elsewhere."""
    submit_folder: str = ""
    """The variable with the folder of the submission, for the corrected line."""
    variables: str = ""
    """Regular expression of the variables that this scheduler sets in a job."""
    meanings: Mapping[str, str] = field(default_factory=dict)
    """Variable → what it holds in each job: the same word means the same value under another scheduler.

    The first variable with a meaning is the one that a converted script has. `hosts`: a file with one line per
    process; `nodes file`: one with one line per node.
    """
    shared_id: bool = False
    """All tasks of an array have the same id in `meanings`."""
    of_processes: bool = False
    """A job may request GPUs for each process, memory for each core, and all memory of a node."""
    gives_nodes: bool = False
    """A job gets its nodes as a whole."""
    first_task: int = 0
    """The least number of an array's task."""
    relatives: "ScriptLanguage | None" = None
    """The language with the options and variables of this scheduler's relatives, to convert their scripts."""
    shell_option: str = ""
    """The option that names another shell than the first line."""
    passes_environment: str = ""
    """The option that passes the whole environment to the job."""
    group_options: Mapping[str, str] = field(default_factory=dict)
    """Value of a profile's `dialect.group` → the setting that names the account to charge."""
    exit_codes: Mapping[int, str] = field(default_factory=dict)
    """Exit codes with a special meaning → message id of what happens."""
    colon_id: str = ""
    """The variable with the job's id, if that contains a colon."""
    commands: Mapping[str, str] = field(default_factory=dict)
    """Regular expression of a command in the body that does harm here → rule."""
    of_machine: "Callable[[ScriptLanguage, Cluster], ScriptLanguage] | None" = None
    """Return the language as a machine's scheduler reads it; None where it reads the same everywhere."""
    whole_nodes: str = ""
    """How so many whole nodes are asked for: `select={count}`. Then the resource types of other machines are found."""
    job: JobWords = JobWords()
    signs: str = r"\Z."
    """Regular expression of directives that only this one of two schedulers with the same prefix has."""


def quoted(value: str) -> str:
    """Return a value as one word: a space ends a word, and for some schedulers `#` begins a comment inside of one."""
    if not re.search(r"[\s#\"']", value):
        return value
    return f"'{value}'" if '"' in value else f'"{value}"'


def table(text: str) -> dict[str, tuple[str, int]]:
    """Return a table of options from lines `-a --all 1`: spellings (the first is canonical), number of values."""
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
    """Yield a judgement on `01:30` (minutes and seconds) if hours and minutes were probably meant.

    Nobody requests odd seconds; and people who write a few minutes, or exactly whole days in hours, think of hours.
    `10:00` and `30:00` are ten and thirty minutes.
    """
    first, colon, second = setting.value.partition(":")
    if seconds is None or not colon or digits(first) is None or digits(second) is None:
        return
    if int(second) or int(first) < 5 or int(first) in (24, 48, 72, 96, 120, 144, 168):
        hours = f"{int(first):02d}:{second}:00"
        yield Judgement("short-time", setting.line, {"value": setting.value, "minutes": int(first),
                      "seconds": int(second), "hours": hours}, (setting.value, hours))  # fmt: skip
