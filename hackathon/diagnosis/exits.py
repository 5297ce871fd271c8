"""Read which ranks ended and how, as launchers tell it, and which process is which rank.

Forms, and their sources:

- `failed (exitcode: -9) local_rank: 1 (pid: 2766)` and the table of `ChildFailedError`: PyTorch's elastic agent
  (torch/distributed/elastic/multiprocessing/api.py and errors/__init__.py, 1.9 to 2.9)
- `node01:4700:5000 [0] NCCL INFO comm 0x… rank 0 nranks 8 …`, since 2.18 `ncclCommInitRank comm 0x… rank 0 nranks 8`:
  NCCL (src/init.cc)
- `Process name: [[18392,1],1]`: Open MPI; `RANK 1 PID 12 RUNNING AT`: MPICH; `srun: error: n1: task 1: Exited`: Slurm
- `Process 1 exit with status code 3.`: Horovod (runner/gloo_run.py)
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from hackathon.diagnosis.findings import Evidence
from hackathon.diagnosis.log_tails import End, TailLine, Traceback, first_told
from hackathon.logs.values import whole

_RANK = re.compile(r"^\s*rank\s*: (?P<rank>\d{1,7}) \(local_rank: (?P<local>\d{1,5})\)")
_CODE = re.compile(r"^\s*exitcode\s*: (?P<code>-?\d{1,4}) \(pid: (?P<pid>\d{1,9})\)")
_HOST = re.compile(r"^\s*host\s*: (?P<host>\S+)")
_TABLE = re.compile(r"Root Cause \(first observed failure\)")
_COMMUNICATOR = re.compile(r"\bcomm 0x[0-9a-f]+ rank (?P<rank>\d{1,7}) n[Rr]anks (?P<ranks>\d{1,7}) ")
# the elastic agent's table; Open MPI and horovodrun, below the name of the first process; horovodrun; srun
_STATUS = re.compile(
    r"^\s*exitcode\s*: (?P<elastic>\d{1,3}) \(pid: (?P<pid>\d{1,9})\)|^\s*Exit code:\s+(?P<first>\d{1,3})\b"
    r"|\bProcess (?P<rank>\d{1,7}) exit with status code (?P<gloo>\d{1,3})\b"
    r"|\btask (?P<task>\d{1,7}): Exited with exit code (?P<srun>\d{1,3})\b"
)
_SIGNALLED = re.compile(r"Sending process (\d{1,9}) closing signal")
# `srun: error: n1: tasks 0,2-3: Exited with exit code 1`; horovodrun
_LISTED = re.compile(
    r"\bsrun: (?:error: )?\S+: tasks? (?P<tasks>\d{1,7}(?:[,-]\d{1,7})*): \w"
    r"|^Process (?P<process>\d{1,7}) exit with status"
)
# What Slurm writes first decides: after it has stopped a step, it reports the tasks that it killed itself.
_STEP_REPORT = re.compile(
    r"\bsrun: error: \S+: task (?P<killed>\d{1,7}): Killed\b|\bsrun: (?:error: )?\S+: tasks? \d|\bslurmstepd: "
    r"|\bsrun: (?:Job step|Force Term|forcing|Terminating|interrupt|First task|got SIG|error: (?:Node|Timed))"
)
SHELLS = 126
"""Exit codes from here on are a shell's: no such command, a signal."""
_PID = re.compile(r"\(pid: (?P<pid>\d{1,9})\)|received by PID (?P<other>\d{1,9})")
_STOPPED = -15
"""Exit code of a process that the launcher itself stops."""
# Text of an event → exit codes of a process that ends this way. A shell adds 128 to a signal.
_KINDS = (
    (
        re.compile(r"terminate called|what\(\): |SIGABRT|\bAborted\b|Assertion .* failed|double free|corrupted "),
        (-6, 134),
    ),
    (re.compile(r"SIGSEGV|Segmentation fault"), (-11, 139)),
    (re.compile(r"SIGBUS|Bus error"), (-7, 135)),
    (re.compile(r"SIGKILL|exitcode: -9|\bKilled\b"), (-9, 137)),
)


@dataclass(frozen=True)
class Exit:
    """The end of a rank."""

    rank: int
    local: int
    code: int | None = None
    pid: int | None = None
    host: str = ""


@dataclass
class Exits:
    """The ends of ranks according to launchers."""

    ranks: dict[int, Exit] = field(default_factory=dict)
    """Rank → its end, for ranks that did not end with status 0."""
    first: int | None = None
    """The rank that failed first."""
    signalled: set[int] = field(default_factory=set)
    """Ids of the processes that the elastic agent signalled because another one had failed."""
    processes: dict[int, set[tuple[str, int]]] = field(default_factory=dict)
    """Process id → (host, rank)."""

    @property
    def failed(self) -> list[Exit]:
        """The ranks that failed and that no launcher stopped."""
        return [end for end in self.ranks.values() if end.code != _STOPPED]

    def rank_of(self, pid: int | None, host: str = "") -> int | None:
        """Return the rank of a process, None when it is not known or two hosts have a process with this id."""
        pairs = self.processes.get(pid, set()) if pid is not None else set()
        if len({rank for _, rank in pairs}) > 1:
            pairs = {(name, rank) for name, rank in pairs if _short(name) == _short(host)}
        ranks = {rank for _, rank in pairs}
        return ranks.pop() if len(ranks) == 1 else None

    def culprit(self, evidence: Evidence, *, exception: bool, explained: frozenset[int] = frozenset()) -> int | None:
        """Return the rank whose end fits an event without a label; None when none or several fit.

        `exception`: the event is a Python exception, which ends a process with status 1. `explained`: ranks whose end
        has another explanation.
        """
        named = _PID.search(evidence.text)
        pid = whole(named["pid"] or named["other"]) if named else evidence.pid
        if (rank := self.rank_of(pid, evidence.host)) is not None:
            return rank
        codes = (1,) if exception else next((codes for words, codes in _KINDS if words.search(evidence.text)), ())
        fitting = [end.rank for end in self.failed if (not codes or end.code in codes) and end.rank not in explained]
        if len(fitting) == 1:
            return fitting[0]
        if self.first in explained or (codes and self.ranks and self.first not in fitting):
            return None
        return self.first

    @property
    def left(self) -> tuple[int, ...]:
        """Ranks that ended with status 0 while others failed: the launcher's table lists all others of their host."""
        by_host: dict[str, list[Exit]] = {}
        for end in self.ranks.values():
            by_host.setdefault(end.host, []).append(end)
        left: list[int] = []
        for ends in by_host.values():
            local = {end.local: end.rank for end in ends}
            shift = {rank - number for number, rank in local.items()}
            # without one that was stopped, the others may have been running still
            if len(shift) == 1 and any(end.code == _STOPPED for end in ends):
                left += [number + min(shift) for number in range(max(local)) if number not in local]
        return tuple(sorted(left))


def left_among(labelled: frozenset[int], exits: Exits) -> tuple[int, ...]:
    """Return the ranks that ended with status 0 while all others, `labelled`, raised exceptions.

    The elastic agent signals the processes that run when one fails. Where as many failed or were signalled as raised
    exceptions, the ranks among them without one were no longer running.
    """
    failed = {end.rank for end in exits.failed}
    one_host = len({end.host for end in exits.ranks.values()}) == 1
    if not (failed and failed <= labelled and one_host and all(end.rank == end.local for end in exits.ranks.values())):
        return ()
    if len({end.pid for end in exits.ranks.values()} | exits.signalled) != len(labelled):
        return ()
    return tuple(rank for rank in range(max(labelled)) if rank not in labelled)


def left_before(exits: Exits, labelled: frozenset[int], lost: frozenset[int], ends: Sequence[End]) -> tuple[int, ...]:
    """Return the ranks that ended with status 0 while all others, `labelled`, raised exceptions.

    `lost`: ranks whose exception says that another rank is gone. mpirun, srun and horovodrun see the ranks of all
    nodes, and name none that ended with status 0: if the first that failed had lost another rank, that one had ended
    with status 0 before. A rank that they name failed or was stopped, whatever it printed.
    """
    if exits.ranks or not labelled <= lost:
        return ()
    lines = [line.read.text for end in ends for line in end.lines]
    if exits.first not in labelled and not any(_names(text, labelled) for text in lines):
        return ()
    left = unlabelled(labelled)
    return () if any(_names(text, left) for text in lines) else left


def unlabelled(ranks: Collection[int]) -> tuple[int, ...]:
    """Return the ranks below the greatest of `ranks` that are not in it; none where they can be another node's.

    Where more than a third of all ranks, or the first two, are not in the logs, these are not the logs of all nodes.
    """
    last = max(ranks, default=0)
    if 2 * (last + 1 - len(ranks)) > len(ranks) or not {0, 1} & set(ranks):
        return ()
    return tuple(rank for rank in range(last) if rank not in ranks)


def _names(text: str, ranks: Collection[int]) -> bool:
    """Return whether srun or horovodrun tells in a line how one of the ranks ended."""
    match = _LISTED.search(text)
    spans = [part.split("-") for part in (match["tasks"] or match["process"]).split(",")] if match else []
    return any(whole(span[0]) <= rank <= whole(span[-1]) for span in spans for rank in ranks)


def first_exit(ends: Sequence[End], exits: Exits) -> tuple[int, TailLine, int, int] | None:
    """Return (file, line, rank, exit code) of the rank that failed first, if its program chose the exit code.

    1 is that of each exception, whose message may be in another log.
    """
    rank = exits.first
    for number, end in enumerate(ends if rank is not None else ()):
        for line in end.lines:
            match = _STATUS.search(line.read.text)
            if match is None or (match["rank"] or match["task"] or str(rank)) != str(rank):
                continue
            if match["pid"] and ((entry := exits.ranks.get(rank or 0)) is None or str(entry.pid) != match["pid"]):
                continue
            code = whole(match["elastic"] or match["first"] or match["gloo"] or match["srun"])
            return (number, line, rank or 0, code) if 1 < code < SHELLS else None
    return None


def first_killed(ends: Sequence[End]) -> tuple[int, TailLine, int] | None:
    """Return (file, line, rank) of the rank that was killed before srun or Slurm stopped or reported any other."""
    for number, end in enumerate(ends):
        for line in end.lines:
            if match := _STEP_REPORT.search(line.read.text):
                return (number, line, whole(match["killed"])) if match["killed"] else None
    return None


def read_exits(ends: Sequence[End]) -> Exits:
    """Return what launchers tell about the ends of ranks."""
    exits = Exits(first=first_told(ends))
    most = 0
    for end in ends:
        _read_table(end, exits)
        exits.signalled |= {whole(match[1]) for line in end.lines if (match := _SIGNALLED.search(line.read.text))}
        for line in end.lines:
            if line.read.pid is None or not (match := _COMMUNICATOR.search(line.read.text)):
                continue
            if (size := whole(match["ranks"])) > most:  # a communicator of some ranks gives them new numbers
                most, exits.processes = size, {}
            if size == most:
                exits.processes.setdefault(line.read.pid, set()).add((line.read.host, whole(match["rank"])))
    for failed in exits.ranks.values():
        if failed.pid is not None:
            others = {pair for pair in exits.processes.get(failed.pid, set()) if _short(pair[0]) != _short(failed.host)}
            exits.processes[failed.pid] = {*others, (failed.host, failed.rank)}
    return exits


def _read_table(end: End, exits: Exits) -> None:
    """Add the entries of an elastic agent's table of failures."""
    if not any(_TABLE.search(line.read.text) for line in end.lines):
        return
    host = ""
    entry: Exit | None = None
    for line in end.lines:
        text = line.read.text
        if match := _HOST.match(text):
            host = match["host"]
        elif match := _RANK.match(text):
            entry = Exit(whole(match["rank"]), whole(match["local"]), host=host)
        elif entry is not None and (match := _CODE.match(text)):
            exits.ranks[entry.rank] = Exit(entry.rank, entry.local, int(match["code"]), whole(match["pid"]), host)
            entry = None


def labelled_ranks(tracebacks: Iterable[Traceback]) -> frozenset[int]:
    """Return the ranks that have a traceback with a label."""
    return frozenset(traceback.rank for traceback in tracebacks if traceback.rank is not None)


def _short(host: str) -> str:
    return host.partition(".")[0]
