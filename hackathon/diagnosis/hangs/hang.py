"""Find the rank that the others waited for, from watchdog messages and from each rank's progress.

The messages are those of PyTorch's ProcessGroupNCCL.cpp, TraceUtils.h and ProcessGroupGloo.cpp, its flight recorder's
analysis (tools/flight_recorder), Horovod's stall_inspector.cc and, before 0.16, operations.cc.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from hackathon.diagnosis.exits import unlabelled
from hackathon.diagnosis.log_tails import End
from hackathon.diagnosis.scan import LogFile
from hackathon.logs.values import whole

WORDS = re.compile(
    r"(?i)collective operation timeout|last enqueued|missing ranks|monitoredbarrier|stalled (?:ranks|ops)|lagging"
    r"|timed? ?out|didn.?t join collective|stall|watchdog|waiting for remainder of ranks|hang|deadlock"
)
"""Words of lines about waiting."""
MOST_RANKS = 1 << 20
"""Upper limit of rank numbers: a log or a request may contain any number."""
QUIET, QUIET_LINES = 30.0, 4
"""A run hangs after so many seconds without metrics, and so many times the usual pause between two lines."""
_TIMEOUT = re.compile(
    r"(?:\[(?:PG [^\]]*? )?Rank (?P<rank>\d+)\] )?.{0,40}?Watchdog caught collective operation timeout: "
    r"Work\w*\((?:SeqNum=(?P<seq>\d+), )?OpType=(?P<op>\w+)"
    r"(?:, (?:NumelIn=(?P<numel>\d+)|TensorShape=\[(?P<shape>[^\]]*)\]))?"
)
_LAST = re.compile(
    r"\[(?:PG [^\]]*? )?Rank (?P<rank>\d+)\].*?last enqueued(?: NCCL)? work: (?P<enqueued>-?\d+), "
    r"(?:last started(?: NCCL)? work: -?\d+, )?last completed(?: NCCL)? work: -?\d+"
)
_NEVER = re.compile(r"ranks \[(?P<ranks>[\d, ]+)\] are the lagging ranks")
_NOT_JOINED = re.compile(r"\[(?P<ranks>[\d, ]+)\] finished collective (?:#|seq: )\d+, but didn.?t join collective")
_RECORDER = re.compile(r"[Mm]issing ranks:? \{(?P<ranks>[\d, ]+)\}")
_MISSING = re.compile(r"\[missing ranks: ?(?P<ranks>\d+(?:, ?\d+)*)")
_READY = re.compile(r"\[ready ranks: ?(?P<ranks>\d+(?:, ?\d+)*)\]")
_STALLED_HEAD = re.compile(r"(?:Stalled|Missing) ranks:")
_STALLED = re.compile(r"^\s*(?P<rank>\d+)!?: \[(?P<what>[^\]]+)\]?")
_BARRIER = re.compile(r"Ranks? (?P<ranks>\d+(?:, ?\d+)*) failed to pass monitoredBarrier")


@dataclass(frozen=True)
class Hang:
    """Ranks that did not join a collective that others waited in."""

    missing: tuple[int, ...]
    operation: str = ""
    """Name of the collective, e.g. `ALLREDUCE`; for Horovod the tensor's name."""
    number: int | None = None
    """Its sequence number in the process group."""
    mismatched: bool = False
    """The ranks called another collective instead."""
    library: str = ""
    """Source: `nccl`, `gloo` or `horovod`; empty when the ranks' metrics show the hang."""


@dataclass
class _Watched:
    """State of one rank according to its watchdog."""

    enqueued: int | None = None
    waits_in: int | None = None
    """Number of the collective that timed out."""
    what: tuple[str, str] = ("", "")
    """Its name and its size."""


def find_hang(
    ends: Sequence[End],
    files: Sequence[LogFile],
    processes: int | None = None,
    steps: Mapping[int, float] | None = None,
    others: Collection[int] = (),
) -> Hang | None:
    """Return the ranks that the others waited for, None when nothing shows a hang.

    `processes`: number of ranks; None: the ranks in the logs. `steps`: rank → last step by its own metrics. `others`:
    ranks that exist, although no line may have their label.
    """
    named: Counter[int] = Counter()
    library = ""
    tensors: dict[int, str] = {}
    ready: set[int] = set()
    watched: dict[int, _Watched] = defaultdict(_Watched)
    ranks = {file.rank for file in files if file.rank is not None} | set(others)
    waiting: set[int] = set()
    for end, file in zip(ends, files, strict=True):
        stalled = 0
        for line in end.lines:
            text = line.read.text
            rank = line.read.rank if line.read.rank is not None else file.rank
            if rank is not None:
                ranks.add(rank)
            stalled = 64 if _STALLED_HEAD.search(text) else stalled - 1
            if stalled > 0 and (match := _STALLED.match(text)):
                library = "horovod"
                named[whole(match["rank"])] += 1
                tensors.setdefault(whole(match["rank"]), match["what"].partition(",")[0])
                continue
            if not WORDS.search(text):
                continue
            if rank is not None and "Timed out waiting" in text:
                waiting.add(rank)
            for pattern in (_NEVER, _NOT_JOINED, _RECORDER, _MISSING, _BARRIER):
                for match in pattern.finditer(text):
                    library = {_MISSING: "horovod", _BARRIER: "gloo"}.get(pattern, "nccl")
                    for missing in _numbers(match["ranks"]):
                        named[missing] += 1
                        tensors.setdefault(missing, _tensor(text))
            for match in _READY.finditer(text):
                ready |= set(_numbers(match["ranks"]))
            _watch(watched, text, rank)
    hang = _named(named, tensors)
    if hang is not None:
        return replace(hang, library=library)
    everyone = ranks | set(range(min(processes or 0, MOST_RANKS)))
    # without a rank's own log, its label may be missing; a launcher's table lists all
    if not (processes or others or any(file.rank is not None for file in files)):
        everyone |= set(unlabelled(everyone))
    if hang := _by_numbers(watched, everyone):
        return replace(hang, library="nccl")
    if ready and (absent := (everyone | set(range(max(ready)))) - ready):
        return Hang(tuple(sorted(absent)), library="horovod")
    if 0 < len(absent := everyone - waiting) <= len(waiting):
        return Hang(tuple(sorted(absent)), library="gloo")
    return _behind(steps or {}, len(everyone))


def _numbers(text: str) -> list[int]:
    return [rank for digits in re.findall(r"\d+", text) if (rank := whole(digits)) < MOST_RANKS]


def _tensor(text: str) -> str:
    """Return the tensor that a line of Horovod names before its list of ranks, else ""."""
    match = re.search(r"(\S+) \[missing ranks", text)
    return match[1] if match else ""


def _named(named: Counter[int], tensors: Mapping[int, str]) -> Hang | None:
    """Return the ranks that a message names. If they wait for different tensors, return the smallest group."""
    if not named:
        return None
    submitted = {rank: tensors.get(rank, "") for rank in named}
    if len(named) > 1 and len(set(submitted.values())) > 1 and all(submitted.values()):
        groups = Counter(submitted.values())
        tensor, _ = min(
            groups.items(), key=lambda group: (group[1], -max(r for r, t in submitted.items() if t == group[0]))
        )
        # a rank is listed with what it did not submit: the majority misses what the odd ones submitted
        odd = tuple(sorted(rank for rank, name in submitted.items() if name == tensor))
        return Hang(odd, tensor, mismatched=True)
    most = max(named.values())
    missing = tuple(sorted(rank for rank, count in named.items() if count * 2 >= most))
    return Hang(missing, submitted[missing[0]])


def _watch(watched: dict[int, _Watched], text: str, rank: int | None) -> None:
    for match in _TIMEOUT.finditer(text):
        waiter = rank if rank is not None else whole(match["rank"]) if match["rank"] else None
        if waiter is None:
            continue
        state = watched[waiter]
        number = whole(match["seq"]) if match["seq"] else None
        if number is not None and (state.waits_in is None or number < state.waits_in):
            state.waits_in, state.what = number, (match["op"], match["numel"] or match["shape"] or "")
    for match in _LAST.finditer(text):
        state = watched[rank if rank is not None else whole(match["rank"])]
        state.enqueued = whole(match["enqueued"])


def _by_numbers(group: Mapping[int, _Watched], everyone: set[int]) -> Hang | None:
    """Return the missing ranks by the numbers of collectives; None when all ranks are equally far."""
    waits = {rank: state.waits_in for rank, state in group.items() if state.waits_in is not None}
    if not waits and not any(state.enqueued is not None for state in group.values()):
        return None
    number, _ = Counter(waits.values()).most_common(1)[0] if waits else (None, 0)
    operations = Counter(state.what for rank, state in group.items() if waits.get(rank) == number)
    operation = operations.most_common(1)[0][0][0] if operations else ""
    if len(operations) > 1:
        usual = max(operations.items(), key=lambda count: (count[1], -_lowest(group, count[0])))[0]
        odd = tuple(sorted(rank for rank, state in group.items() if state.what != usual and waits.get(rank) == number))
        return Hang(odd, usual[0], number, mismatched=True)
    enqueued = {rank: state.enqueued for rank, state in group.items() if state.enqueued is not None}
    if enqueued and min(enqueued.values()) < max(enqueued.values()):
        least = min(enqueued.values())
        if number is None or least < number:
            return Hang(
                tuple(sorted(rank for rank, collective in enqueued.items() if collective == least)), operation, number
            )
    if 0 < len(silent := everyone - set(group)) <= len(group):
        return Hang(tuple(sorted(silent)), operation, number)
    if len(set(waits.values())) > 1:  # one rank waits in a collective that the others have passed or not reached
        least = min(waits.values())
        return Hang(
            tuple(sorted(rank for rank, collective in waits.items() if collective == least)), operation, number, True
        )
    return None


def last_collective(lines: Iterable[str], rank: int) -> str:
    """Return the last collective of a rank by its watchdog's messages: `ALLREDUCE #1234`; empty without any."""
    watched: dict[int, _Watched] = defaultdict(_Watched)
    for text in lines:
        if WORDS.search(text):
            _watch(watched, text, rank)
    state = watched.get(rank)
    if state is None:
        return ""
    number = state.waits_in if state.waits_in is not None else state.enqueued
    return " ".join(
        part for part in (state.what[0], f"#{number}" if number is not None and number >= 0 else "") if part
    )


def _lowest(group: Mapping[int, _Watched], operation: tuple[str, str]) -> int:
    return min(rank for rank, state in group.items() if state.what == operation)


def _behind(steps: Mapping[int, float], count: int) -> Hang | None:
    """Return the ranks behind the most frequent last step."""
    if len(steps) < 2 or len(steps) < count:
        return None
    usual = Counter(steps.values()).most_common(1)[0][0]
    behind = tuple(sorted(rank for rank, step in steps.items() if step < usual))
    return Hang(behind) if 0 < len(behind) <= len(steps) // 2 else None


def last_steps(metrics: Mapping[int, Sequence[Mapping[str, object]]], ended: float | None) -> dict[int, float]:
    """Return rank → last step in its metrics, for a run without progress before its end; else {}.

    A line covers many steps, so ranks less than 1.5 lines apart count as equally far.
    """
    last: dict[int, float] = {}
    apart, pause, newest = 0.0, 0.0, 0.0
    for rank, lines in metrics.items():
        points = [(_number(line.get("step")), _number(line.get("t"))) for line in lines if not line.get("final")]
        steps = [step for step, _ in points if step is not None]
        times = [time for _, time in points if time is not None]
        if not steps or not times:
            continue
        last[rank] = steps[-1]
        newest = max(newest, times[-1])
        apart = max([apart, *(later - former for former, later in pairwise(steps))])
        pause = max([pause, *(later - former for former, later in pairwise(times))])
    if not last or ended is None or ended - newest < max(QUIET, QUIET_LINES * pause):
        return {}
    most = max(last.values())
    return {rank: most if step > most - 1.5 * apart else step for rank, step in last.items()}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
