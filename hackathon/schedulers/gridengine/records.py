"""Parse records of ended jobs, `qacct -j`: one block per life of a job and per task of an array.

A job on several hosts may also have a block for everything on the other hosts, before its own one (`accounting_summary`
of sge_pe(5)). There is no end mark: exit code 0 means that all blocks were printed. Times are in this machine's zone.
"""

import re
from typing import NamedTuple

from hackathon.schedulers.base import (
    CANCELLED,
    FAILED,
    FINISHED,
    NODE_FAILED,
    SUCCEEDED,
    TIMEOUT,
    CommandOutput,
    JobState,
)
from hackathon.schedulers.gridengine.dialect import GridEngineDialect
from hackathon.schedulers.reports import MOST_NODES, Charge, JobAccounting
from hackathon.schedulers.words import local_time, printable

_RULE = re.compile(r"^=+\n", re.MULTILINE)
_LINE = re.compile(r"(\w+) +(.*?) *\Z", re.ASCII)
_NUMBER = re.compile(r"(\d{1,9})(?!\d)", re.ASCII)
_CLOCK = re.compile(r"\w{3} (\w{3}) +(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})\Z", re.ASCII)
_SLASHES = re.compile(r"(\d\d)/(\d\d)/(\d{4}) (\d\d):(\d\d):(\d\d)(?:\.\d+)?\Z", re.ASCII)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LIMIT = re.compile(r"enforced [\w, ]*\bh_rt\b")
_NOT_FOUND = re.compile(r"^error: job (?:id|name) \S+ not found\n", re.MULTILINE)
_NO_RECORDS = re.compile(r"/accounting: No such file or directory\n")

LIMIT, AFTER = 37, 100
"""`failed`: the server enforced h_rt, h_cpu or h_vmem; the script or the job was killed."""
AGAIN = frozenset({24, 25})
"""`failed` of a life after which the job was requeued: migrated, or rescheduled (exit code 99)."""
LOST_NODE = frozenset({19, 21})
"""`failed`: the host does not know the job or how it ended."""


class EndedLife(NamedTuple):
    """One block."""

    host: str
    name: str
    owner: str
    number: str
    task: str
    start: float | None
    """Seconds since 1970; None for a life that never began."""
    end: float | None
    failed: int
    words: str
    """`failed` as printed."""
    exit_code: int
    slots: int
    environment: str
    """The parallel environment; empty for none."""
    category: str
    """The requests that decide where a job can run, in the notation of qsub."""
    deleted_by: str
    """Empty when nobody deleted it, or when this version does not report it."""


def lacks(answer: CommandOutput) -> bool:
    """Return whether there is no record of a job, or no accounting file on this machine.

    The login nodes may not see the file, and it does not exist before the first job has ended.
    """
    if answer.exit_code == 0:
        return False
    if _NO_RECORDS.search(answer.stderr):
        return answer.stdout in ("", "no jobs running since startup\n")
    return not answer.stdout and bool(_NOT_FOUND.match(answer.stderr))


def lives(answer: CommandOutput, number: str = "", *, several: bool = False) -> list[EndedLife]:
    """Return the blocks of one job or of several, in file order.

    A block without its exit code is truncated and omitted. Job numbers restart after ten million jobs: for a single
    job, blocks with another name or owner than the last one's are omitted.
    """
    if answer.exit_code:
        return []
    ended = [life for block in _RULE.split(answer.stdout)[1:] if (life := _life(block)) is not None]
    if several:
        return ended
    ended = [life for life in ended if number in ("", life.number)]
    return [life for life in ended if (life.name, life.owner) == (ended[-1].name, ended[-1].owner)]


def first_values(text: str, line: re.Pattern[str]) -> dict[str, str]:
    """Return name → the first value of it; `line` matches a line, with groups of both. A cut last line is omitted."""
    values: dict[str, str] = {}
    for match in filter(None, map(line.match, text.split("\n")[:-1])):
        values.setdefault(match[1], match[2])
    return values


def _life(block: str) -> EndedLife | None:
    values = first_values(block, _LINE)
    failed, code = (_NUMBER.match(values.get(name, "")) for name in ("failed", "exit_status"))
    number, slots = values.get("jobnumber", ""), _NUMBER.match(values.get("slots", ""))
    if not failed or not code or not number.isdigit():
        return None
    pe, task = values.get("granted_pe", ""), values.get("taskid", "")
    return EndedLife(
        host=values.get("hostname", ""),
        name=values.get("jobname", ""),
        owner=values.get("owner", ""),
        number=number,
        task="" if task == "undefined" else task,
        start=_moment(values.get("start_time", "")),
        end=_moment(values.get("end_time", "")),
        failed=int(failed[1]),
        words=values["failed"],
        exit_code=int(code[1]),
        slots=int(slots[1]) if slots else 1,
        environment="" if pe == "NONE" else pe,
        category=values.get("category", ""),
        deleted_by="" if values.get("deleted_by") in (None, "NONE") else values["deleted_by"],
    )


def _moment(text: str) -> float | None:
    """Return seconds since 1970 of `Sun Nov 22 14:42:06 2026` or `11/22/2026 14:42:06.123`; None for `-/-` and 1970."""
    moment = None
    if (match := _CLOCK.match(text)) and match[1] in _MONTHS:
        month = _MONTHS.index(match[1]) + 1
        moment = local_time(int(match[6]), month, *(int(match[index]) for index in (2, 3, 4, 5)))
    elif match := _SLASHES.match(text):
        moment = local_time(int(match[3]), *(int(match[index]) for index in (1, 2, 4, 5, 6)))
    return moment if moment is not None and moment > 2 * 86400 else None


def job_state(lives: list[EndedLife]) -> JobState | None:
    """Return how a job ended (for an array, its worst task); None when the blocks do not show it.

    The last life of each task counts. A killed job and a deleted job look alike: FINISHED.
    """
    last = {life.task: life for life in _of_the_job(lives)}
    if not last:
        return None
    states = [_state(life) for life in last.values()]
    return next((state for state in states if state.state != SUCCEEDED), states[-1])


def own_lives(answer: CommandOutput, number: str) -> list[EndedLife]:
    """Return the lives of one job, without blocks of its other hosts."""
    return _of_the_job(lives(answer, number))


def _of_the_job(lives: list[EndedLife]) -> list[EndedLife]:
    """Return the lives without blocks of other hosts, which lie within a later block of the same job."""
    own: list[EndedLife] = []
    for life in reversed(lives):
        if not any(_is_part(life, other) for other in own):
            own.insert(0, life)
    return own


def _is_part(life: EndedLife, other: EndedLife) -> bool:
    if life.task != other.task or not other.environment or life.start is None or other.start is None:
        return False
    return life.start >= other.start


def _state(life: EndedLife) -> JobState:
    state, code = FAILED, life.exit_code
    # a host that died with a job does not report its start
    began = None if life.failed in LOST_NODE else life.start is not None
    signal = code - 128 if 128 < code < 128 + 65 else None
    if life.failed == 0:
        state = FAILED if code else SUCCEEDED
    elif life.failed == LIMIT or _LIMIT.search(life.words):
        state = TIMEOUT
    elif life.failed == AFTER or life.failed in AGAIN:
        state = FINISHED  # deleted or killed; or deleted after it was requeued
    elif life.failed in LOST_NODE:
        state = NODE_FAILED
    if life.deleted_by and state == FINISHED:
        state = CANCELLED
    return JobState(
        state,
        f"{life.failed}/{code}",
        reason=printable(f"failed {life.words}") if life.failed else "",
        exit_code=code if began else None,
        signal=signal if began else None,
        started=began,
        name=life.name,
        owner=life.owner,
        hosts=(life.host,) if began and life.host else (),
        start=life.start,
        end=life.end,
        id=life.number,
    )


def account(lives: list[EndedLife], dialect: GridEngineDialect) -> JobAccounting:
    """Return every life that began, with its nodes if the profile defines the slots per node."""
    return JobAccounting(
        tuple(
            Charge(life.start, life.end, None, nodes(life, dialect), None, life.name, life.owner)
            for life in _of_the_job(lives)
            if life.start is not None
        )
    )


def nodes(life: EndedLife, dialect: GridEngineDialect) -> int | None:
    """Return the nodes of a life; None when the profile does not define the slots of one."""
    if not life.environment:
        return 1
    count = dialect.nodes_of(life.slots)
    return count if count is not None and count <= MOST_NODES else None
