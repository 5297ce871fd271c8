"""Parse and remove the prefixes that launchers and loggers put before a line.

Forms, and their sources:

- `[1,0]<stderr>:`, `[prterun-n1-7@1,0]<stdout>:`, `[1,0][n1:7]<stderr>:`, a date before them: Open MPI's and PRRTE's
  `--tag-output`, `--timestamp-output`, `--output tag-detailed` (open-mpi/ompi#7710, openpmix/prrte#1405 and #1406)
- `[1]<stderr>:`, `Thu Nov 19 10:00:00 2026[1]<stderr>:`: horovodrun (horovod/runner/gloo_run.py), PRRTE's `rank`
- `[rank1]:`: PyTorch's excepthook; `[default3]:`: torchrun's tee; `[cli_3]:`: MPICH
- `3: `: `srun --label`; `[3] `: `mpiexec -prepend-rank` of MPICH and Intel MPI
- `[n1:1234]`, `[n1:1234:0:1234]`, `[1700000000.123456] [n1:1234:0]`: Open MPI's and UCX's own messages
- `n1:12:34 [0] NCCL INFO`, `[2026-11-21 10:00:00] n1:12:34 [0] init.cc:573 NCCL WARN`: NCCL (src/debug.cc)
- `E1121 10:00:00.123456 1234 file.cpp:12]`, the same in brackets, `I0000 00:00:1723456789.123456 12 file.cc:1]`: glog,
  PyTorch's c10 without it (no thread there, and a month of one digit is not padded: `E626`), absl
- `(pid=1234) `, `(RayTrainWorker pid=1234, ip=10.0.0.3) `, `(raylet, ip=10.0.0.3) `: Ray (ray-project/ray#31828);
  `(worker6, rank=6, pid=8930, ip=10.42.3.242) `: SkyPilot on Ray (sky/backends/task_codegen.py)
- `node02: `: pdsh, which DeepSpeed starts other nodes with (src/pdsh/dsh.c)
- `2026-11-21 10:00:00,123`, `[2026-11-21 10:00:00]`, `2026-11-21T10:00:00Z`: Python's logging and others;
  `2026-11-21 10:00:00.123456: E tensorflow/`: TensorFlow
"""

import re
import time as clock
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from itertools import islice

from hackathon.schedulers.foreign import DAEMONS
from hackathon.text.printable import without_escapes

DEEPEST = 6
"""Nested prefixes of one line that are removed."""
START = 512
"""Characters at the start of a line that are searched for prefixes."""
SAMPLE = 400
"""Lines that are enough to see whether a launcher labels them."""
_DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Prefixed:
    """A line and the facts in its prefixes."""

    text: str
    """The line without prefixes; a logger's `file:line]` and level word are part of it."""
    rank: int | None = None
    """Rank in the job, as a launcher wrote it.

    A `[Rank 3]` of ProcessGroupNCCL counts only without a better source, because it may be a rank in a smaller group.
    """
    host: str = ""
    pid: int | None = None
    """Process id (glog: of the thread)."""
    time: float | None = None
    """Seconds since 1970; a stamp without a zone is local time."""
    stream: str = ""
    """`stdout` or `stderr`, if the launcher wrote it."""
    source: str = ""
    """Writer of the outermost prefix: openmpi, horovodrun, torchrun, mpich, srun, pdsh, ucx, nccl, ray, glog, logging,
    "".
    """
    level: str = ""
    """Level of a glog stamp: D, I, W, E, F or C."""


_DATE = r"(?P<year>\d{4})[-/](?P<month>\d\d)[-/](?P<day>\d\d)[ T_](?P<clock>\d\d:\d\d:\d\d)(?:[.,](?P<part>\d{1,9}))?"
_DATE += r"(?P<zone>Z|[+-]\d\d:?\d\d)?"
_CTIME = r"(?:[A-Z][a-z]{2} (?P<word>[A-Z][a-z]{2}) (?P<day>[ \d]\d) (?P<clock>\d\d:\d\d:\d\d) (?P<year>\d{4}))"
_STREAM = r"<(?P<stream>std(?:out|err|diag))>:?"
_GLOG = r"(?P<level>[DIWEFC])(?:0000 00:00:(?P<epoch>\d{9,11}\.\d{1,6})|(?P<month>\d\d?)(?P<day>\d\d) "
_GLOG += r"(?P<clock>\d\d:\d\d:\d\d)(?:\.(?P<part>\d{1,9}))?) +(?:(?P<pid>\d{1,19}) )?(?=[^\s\]]{1,200}:\d+\])"
# Words that programs write before a number in brackets, and ends of source files: neither is a host.
_NO_HOST = (
    r"(?!(?i:epochs?|steps?|iter(?:ation)?|rank|local_rank|loss|acc(?:uracy)?|gpu|cuda|cpu|device|worker|batch|line|"
    r"pid|tid|id|time|eta|node|task|size|train|eval|test|val|seed|port|fold|trial):)"
    r"(?![\w./-]+\.(?:py|pyx|cc|cpp|cxx|cu|cuh|c|h|hpp|rs|go|java|js|ts|sh|lua|jl|f90):)"
)


def _compiled(source: str, pattern: str) -> tuple[str, re.Pattern[str]]:
    return source, re.compile(pattern, re.ASCII)


# Possible prefixes by the first character other than a space. The order matters.
_BRACKET = (
    _compiled("horovodrun", rf"\[(?P<rank>\d{{1,7}})\]{_STREAM}"),
    _compiled(
        "openmpi",
        rf"\[(?:[\w.@-]{{1,200}}@)?[\w.-]{{1,200}},(?P<rank>\d{{1,7}})\]"
        rf"(?:\[(?P<host>[\w.-]{{1,200}}):(?P<pid>\d{{1,9}}|unknown)\])?{_STREAM}",
    ),
    _compiled("mpich", r"\[cli_(?P<rank>\d{1,7})\]: "),
    _compiled("torchrun", r"\[rank(?P<rank>\d{1,7})\]: ?"),
    _compiled("torchrun", r"\[[A-Za-z_-]{1,40}(?P<rank>\d{1,7})\]:"),
    _compiled("glog", rf"\[{_GLOG}"),
    _compiled("logging", rf"\[{_DATE}(?:\] ?|(?=[ ,])[ ,] ?)"),
    _compiled("ucx", r"\[(?P<epoch>\d{9,11}\.\d{1,9})\] (?=\[[\w.-]{1,200}:\d)"),
    _compiled(
        "openmpi",
        rf"\[{_NO_HOST}(?=[\w.-]*[A-Za-z.])(?P<host>[A-Za-z0-9][\w.-]{{0,199}}):(?P<pid>\d{{2,9}})(?::\d+){{0,2}}\] ?",
    ),
)
_ROUND = (
    _compiled(
        "ray",
        r"\((?:[\w.:<>-]{1,100},? )?(?:rank=(?P<rank>\d{1,7}), )?(?:pid=(?P<pid>\d{1,9})|raylet)"
        r"(?:, ip=(?P<host>[\w.:-]{1,60}))?"
        r"(?:, repr=[^)]{1,100})?\) ?",
    ),
)
# `[0] text`, `[0]: text`, and `[0]:text`, whose frames of a stack begin with two spaces
_LABEL_BRACKET = _compiled("mpich", r"\[(?P<rank>\d{1,7})\](?::(?: (?! File))?| )")
_LABEL = _compiled("srun", r" {0,6}(?P<rank>\d{1,7}): ")
# A host's name has a digit, unlike the first word of most messages.
_HOST_LABEL = re.compile(rf"{_NO_HOST}(?=[\w.-]*\d)(?P<host>[A-Za-z][\w.-]{{1,63}}): ", re.ASCII)
_DIGIT = (_compiled("logging", rf"{_DATE}(?=[^\w.+]|\Z)(?:: | ?- ?| ?\| ?|\s)?"),)
_LETTER = (
    _compiled("glog", _GLOG),
    _compiled("openmpi", rf"{_CTIME}(?=\[(?:[^\]]{{1,300}},)\d{{1,7}}\]|<std)(?:{_STREAM})?"),
    _compiled("horovodrun", rf"{_CTIME}(?=\[\d{{1,7}}\]<std)"),
)
_NCCL = re.compile(
    r"(?P<host>[A-Za-z0-9][\w.-]{0,199}):(?P<pid>\d{1,9}):\d{1,9} \[-?\d{1,4}\] "
    r"(?=(?:\S{1,200}:\d+ )?(?:NCCL )?(?:INFO|WARN|TRACE|ABORT|VERSION|ATTN)\b)",
    re.ASCII,
)
_GROUP_RANK = re.compile(r"(?:\S{1,200}:\d+\] )?\[(?:PG [^\]]{0,80}\(default_pg\) )?Rank (\d{1,7})\]", re.ASCII)
# After a number that may be a program's own: text that follows only a rank's label.
_RANKS_LINE = re.compile(
    rf"Traceback \(most recent call last\):|\*\*\* |(?:{'|'.join(DAEMONS)}|srun|libgomp): |MPI startup\("
    r"|terminate called|Abort\(\d|Fatal (?:Python )?error|Fatal error in "
)
_MONTHS = {
    name: number
    for number, name in enumerate("JanFebMarAprMayJunJulAugSepOctNovDec"[i : i + 3] for i in range(0, 36, 3))
}


def read_prefix(line: str, now: float | None = None, *, labelled: bool = False) -> Prefixed:
    """Return a line without the prefixes of launchers and loggers, with their facts. Never raises.

    `now`: reference for a stamp without a year (seconds since 1970; None: the present). `labelled`: the log's lines
    begin with ranks (`srun --label`, `mpiexec -prepend-rank`); else `3: ` and `[3] ` count only before text that no
    program writes after a number of its own.
    """
    if "\x1b" in line:
        line = without_escapes(line)
    facts = _Facts(now)
    for _ in range(DEEPEST):
        remaining = _step(line, facts, labelled)
        if remaining is None:
            break
        line = remaining
    if not facts.source:
        return Prefixed(line)
    rank = facts.rank
    if rank is None and "Rank " in line[:200] and (match := _GROUP_RANK.match(line)):
        rank = int(match[1])
    return Prefixed(line, rank, facts.host, facts.pid, facts.time, facts.stream, facts.source, facts.level)


def is_labelled(lines: Iterable[str]) -> bool:
    """Return whether a log's lines begin with ranks (`srun --label`) or hosts (pdsh), by its first SAMPLE lines.

    This holds when nearly all begin with a number or with one of few names of hosts, and numbers are repeated: a
    listing with line numbers has each once. The launcher's own messages have no label.
    """
    ranks = (line for line in lines if line.strip() and not line.startswith(("srun: ", *DAEMONS, "hackathon: ")))
    sample = list(islice(ranks, SAMPLE))
    matches = [_LABEL[1].match(line) or _LABEL_BRACKET[1].match(line) for line in sample]
    labels = [int(match["rank"]) for match in matches if match]
    if len(labels) >= 3 and len(labels) >= 0.9 * len(sample) and len(set(labels)) <= 0.75 * len(labels):
        return True
    # pdsh does not label what the launcher prints itself, with the time first
    printed = [line for line in sample if not line.startswith("[20")]
    hosts = [match["host"] for line in printed if (match := _HOST_LABEL.match(line[:START]))]
    return len(hosts) >= 3 and len(hosts) >= 0.9 * len(printed) and len(set(hosts)) <= 0.5 * len(hosts)


class _Facts:
    """The facts of one line's prefixes so far; the outermost takes precedence."""

    __slots__ = ("exact", "host", "level", "now", "pid", "rank", "source", "stream", "time")

    def __init__(self, now: float | None) -> None:
        self.now = now
        self.rank: int | None = None
        self.exact = False
        self.pid: int | None = None
        self.time: float | None = None
        self.host = self.stream = self.source = self.level = ""

    def take(self, source: str, match: re.Match[str]) -> None:
        groups = match.groupdict()
        self.source = self.source or source
        # PyTorch's own label is the rank; a launcher around torchrun counts the nodes
        exact = match[0].startswith("[rank")
        if groups.get("rank") and (self.rank is None or (exact and not self.exact)):
            self.rank, self.exact = int(groups["rank"]), exact
        if not self.host and groups.get("host") and groups["host"] != "unknown":
            self.host = groups["host"]
        if self.pid is None and (pid := groups.get("pid")) and pid != "unknown":
            self.pid = int(pid)
        self.stream = self.stream or groups.get("stream") or ""
        self.level = self.level or groups.get("level") or ""
        # A logger's stamp is finer than the launcher's, and earlier: the innermost counts.
        moment = _moment(groups, self.now)
        if moment is not None:
            self.time = moment


def _step(line: str, facts: _Facts, labelled: bool | None) -> str | None:
    """Return the line without its outermost prefix, None without one; `labelled` None: labels do not count."""
    first = line[:1]
    if not first:
        return None
    start = line[:START]
    forms: tuple[tuple[str, re.Pattern[str]], ...] = ()
    if first == "[":
        forms = _BRACKET
    elif first == "(":
        forms = _ROUND
    elif first.isdigit():
        forms = _DIGIT
    elif first.isupper():
        forms = _LETTER
    for source, pattern in forms:
        if match := pattern.match(start):
            facts.take(source, match)
            remaining = line[match.end() :]
            return _unspaced(remaining) if match.groupdict().get("stream") else remaining
    if labelled is not None and (first in "[ " or first.isdigit()):
        source, pattern = _LABEL_BRACKET if first == "[" else _LABEL
        if (match := pattern.match(start)) and (labelled or _only_a_ranks(line[match.end() :])):
            if facts.rank is None:
                facts.take(source, match)
                return line[match.end() :]
            return None
    if labelled and not facts.source and first.isalpha() and (match := _HOST_LABEL.match(start)):
        facts.take("pdsh", match)
        return line[match.end() :]
    if " [" in start and first.isalnum() and (match := _NCCL.match(start)):
        facts.take("nccl", match)
        return line[match.end() :]
    return None


def _only_a_ranks(text: str) -> bool:
    if _RANKS_LINE.match(text):
        return True
    return bool(text) and text[0] != " " and not text[0].isdigit() and _step(text, _Facts(0.0), None) is not None


def _unspaced(text: str) -> str:
    """Return the rest without the space that some launchers put after their tag; programs indent by even numbers."""
    spaces = len(text) - len(text.lstrip(" "))
    return text[1:] if spaces % 2 else text


def _moment(groups: dict[str, str], now: float | None) -> float | None:
    try:
        if epoch := groups.get("epoch"):
            return float(epoch)
        if not groups.get("clock"):
            return None
        part = float(f"0.{groups['part']}") if groups.get("part") else 0.0
        month = _MONTHS[groups["word"]] + 1 if groups.get("word") else int(groups["month"])
        day = int(groups["day"])
        if groups.get("year"):
            return _seconds(int(groups["year"]), month, day, groups["clock"], groups.get("zone") or "") + part
        present = clock.time() if now is None else now
        year = clock.localtime(present).tm_year
        if _seconds(year, month, day, groups["clock"], "") > present + _DAY:
            year -= 1
        return _seconds(year, month, day, groups["clock"], "") + part
    except (KeyError, ValueError, OverflowError, OSError):
        return None


@lru_cache(maxsize=4096)
def _seconds(year: int, month: int, day: int, time: str, zone: str) -> float:
    """Return seconds since 1970. Raises ValueError or OverflowError for an invalid time."""
    hour, minute, second = int(time[:2]), int(time[3:5]), int(time[6:])
    if zone:
        hours = 0 if zone == "Z" else int(zone[:3])
        minutes = 0 if zone == "Z" else int(zone[0] + zone[-2:])
        offset = timezone(timedelta(hours=hours, minutes=minutes)) if zone != "Z" else UTC
        return datetime(year, month, day, hour, minute, min(second, 59), tzinfo=offset).timestamp()
    return datetime(year, month, day, hour, minute, min(second, 59)).timestamp()
