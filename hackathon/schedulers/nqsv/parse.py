"""What the answers of NQSV's commands mean. Its users have no history: an ended request is gone after 5 to 6 seconds.

From public records of Pegasus, Cygnus, SQUID and Kiel, see `samples/`. `qstat` ends with 0 for unknown ids too: absence
is a whole sentence, never an empty answer.
"""

import re
from collections.abc import Iterable

from hackathon.schedulers.base import (
    CANCELLED,
    ENDING,
    FAILED,
    FINISHED,
    HELD,
    NO_ANSWER,
    QUEUED,
    RUNNING,
    SUCCEEDED,
    TIMEOUT,
    UNKNOWN,
    CommandOutput,
    JobState,
    SchedulerError,
    StatusAnswer,
)
from hackathon.schedulers.machine import QueueInfo
from hackathon.schedulers.nqsv import text
from hackathon.schedulers.words import clock_moment, command, garbage, printable, words
from hackathon.text.numbers import digits

LETTERS = {
    "ARV": QUEUED,  # arriving
    "WAI": HELD,  # waits for its start time
    "QUE": QUEUED,
    "GQD": QUEUED,
    "HLD": HELD,
    "STG": QUEUED,  # its files are staged in
    "PRR": RUNNING,  # has its nodes, the script comes next
    "RUN": RUNNING,
    "SUS": RUNNING,
    "HOL": RUNNING,  # running and being held
    "CHK": RUNNING,  # running and written to disk
    "POR": ENDING,  # the script has ended
    "EXT": ENDING,
}
"""Letters of the column STT → state. TRS, MIG, RST and others were seen in headings only: UNKNOWN."""
STATES = {
    "Arriving": "ARV",
    "Waiting": "WAI",
    "Queued": "QUE",
    "Held": "HLD",
    "Staging": "STG",
    "Pre-running": "PRR",
    "Running": "RUN",
    "Suspended": "SUS",
    "Holding": "HOL",
    "Post-running": "POR",
    "Exiting": "EXT",
}
"""`Current State` of a block → letters. Recorded: Queued, Staging, Pre-running, Running, Post-running and Exiting."""

FEW = 20
"""Requests that are asked about one by one, where the answer about several left some out."""
REFUSALS = {
    "EACCESSDEN": "not_authorised",
    "EWRNGTYP": "nqsv_interactive",
    "Invalid syntax following -l": "unknown_resource",
}
"""Words of a refused submission → message."""

_SUBMITTED = re.compile(rf"Request ({text.ID.pattern}) submitted to queue: \S+\Z", re.ASCII)
_WAIT_STATUS = re.compile(r"[0-9A-F]{1,4}\Z", re.ASCII)
_DELETE, _EXIT = "DELETE", "EXIT"
_ROUTINE = frozenset({"SUBMIT", "STAGEIN_SUCCESS", "RUN", "PRERUN_SUCCESS", _EXIT, "POSTRUN_SUCCESS"})
"""Reasons of a state that tell a person nothing."""
_OVER_TIME = re.compile(r"received signal SIGKILL\b.*\bExceeded per-req elapse time limit")
_OF_PBS = re.compile(r"directive error:|usage: qsub \[-a date_time\]|Unknown Job Id|Job has finished|usage: qstat \[-")


def submitted_id(answer: CommandOutput) -> str:
    """Return the id, with the host that the site gives, from the line that says so; else the request is refused."""
    for line in text.lines(answer.stdout):
        if match := _SUBMITTED.match(line.strip()):
            return match[1]
    if answer.exit_code:
        raise failed(answer, otherwise="refused")
    raise garbage(answer)


def was_told(answer: CommandOutput) -> bool:
    """Return True when told to end, False when the server does not know the request any more."""
    if text.missing(answer.stdout) | text.missing(answer.stderr):
        return False
    if answer.exit_code:
        raise failed(answer)
    return True


def failed(answer: CommandOutput, otherwise: str = "failed") -> SchedulerError:
    """Return the error of a command; one of PBS, which has the same names, is called so."""
    output = answer.stderr + answer.stdout
    if _OF_PBS.search(output):
        values = {"command": command(answer), "scheduler": "pbs", "words": words(answer)}
        return SchedulerError("schedulers.other_scheduler", transient=False, **values)
    key = next((key for word, key in REFUSALS.items() if word in output), otherwise)
    # why a question failed is not on record: the server may be away for a moment
    return SchedulerError(
        f"schedulers.{key}",
        transient=key == "failed",
        command=command(answer),
        code=answer.exit_code,
        words=words(answer),
    )


# ---- states


def unanswered(answers: Iterable[CommandOutput], ids: list[str]) -> list[str]:
    """Return the ids of which the answers say neither a state nor that they do not exist."""
    blocks, missing = _told(answers)
    return [job_id for job_id in ids if not any(text.same(job_id, answered_id) for answered_id in (*blocks, *missing))]


def ending_ids(answers: Iterable[CommandOutput], ids: list[str]) -> list[str]:
    """Return the ids whose script has ended: for a few seconds the server knows its exit code."""
    blocks, _ = _told(answers)
    over = [name for name, block in blocks.items() if LETTERS.get(_letters(block)) == ENDING]
    return [job_id for job_id in ids if any(text.same(job_id, ended_id) for ended_id in over)]


def status(answers: list[CommandOutput], ids: list[str]) -> StatusAnswer:
    """Return the states of requests; one is absent only where a whole sentence says so."""
    if answers[0].exit_code:
        raise failed(answers[0])
    blocks, missing = _told(answers)
    if not blocks and not missing:
        raise garbage(answers[0])
    jobs = {}
    for job_id in ids:
        block = next((block for name, block in blocks.items() if text.same(job_id, name)), None)
        if block is not None:
            jobs[job_id] = _state(block, answers)
        elif not any(text.same(job_id, name) for name in missing):
            jobs[job_id] = JobState(UNKNOWN, "")
    return StatusAnswer(jobs)


def _told(answers: Iterable[CommandOutput]) -> tuple[dict[str, text.RequestBlock], set[str]]:
    """Return id → block, and the ids that do not exist, of the answers about requests (not those about their jobs)."""
    blocks: dict[str, text.RequestBlock] = {}
    missing: set[str] = set()
    for answer in answers:
        if "-J" not in answer.argv and answer.exit_code == 0:
            blocks |= {block.job_id: block for block in text.blocks(answer.stdout) if "Current State" in block.values}
            missing |= text.missing(answer.stdout)
    return blocks, missing - set(blocks)


def _letters(block: text.RequestBlock) -> str:
    return STATES.get(block.values.get("Current State", ""), "")


def _state(block: text.RequestBlock, answers: list[CommandOutput]) -> JobState:
    values = block.values
    word = values.get("Current State", "")
    state = LETTERS.get(_letters(block), UNKNOWN)
    reason = values.get("State Transition Reason", "")
    start = clock_moment(values.get("Started Request Time", ""))
    end = clock_moment(values.get("Ended Request Time", ""))
    exit_code = signal = None
    if state == ENDING:
        state, exit_code, signal = _ending(block, answers)
    began = state not in (QUEUED, HELD, UNKNOWN)
    return JobState(
        state,
        word,
        reason="" if reason in _ROUTINE else printable(reason),
        exit_code=exit_code,
        signal=signal,
        started=True if began and start is not None else None,
        name=values.get("Request Name", ""),
        owner=values.get("User Name", ""),
        hosts=block.hosts,
        start=start if began else None,  # what is planned stands under another name
        end=end if began else None,
        id=block.job_id,
    )


def _ending(block: text.RequestBlock, answers: list[CommandOutput]) -> tuple[str, int | None, int | None]:
    """Return (state, exit code, signal) of a request whose script has ended; UNKNOWN where an answer is cut off.

    A time limit and a deletion both are signal 9. The reason tells them apart, until the request is `Exiting`.
    """
    reason = block.values.get("State Transition Reason")
    if reason is None:
        return UNKNOWN, None, None
    if reason == _DELETE:
        return CANCELLED, None, None
    details = [answer for answer in answers if "-J" in answer.argv and answer.exit_code != NO_ANSWER]
    if not details:
        return ENDING, None, None
    code_text = next(
        (text_of_code for answer in details if (text_of_code := _exit_code(answer, block.job_id)) is not None), None
    )
    if code_text is None:
        return UNKNOWN, None, None
    if not _WAIT_STATUS.match(code_text):
        return ENDING, None, None  # not told yet, or not any more
    waited = int(code_text, 16)
    code, signal = waited >> 8, waited & 0x7F
    if not signal:
        return (FAILED if code else SUCCEEDED), code, code - 128 if 128 < code < 193 else None
    if reason != _EXIT:
        return FINISHED, None, signal
    return _killed(block), None, signal


def _killed(block: text.RequestBlock) -> str:
    """Return the state of a request that was killed and not deleted: TIMEOUT where it ran as long as it might."""
    start = clock_moment(block.values.get("Started Request Time", ""))
    end = clock_moment(block.values.get("Ended Request Time", ""))
    allowed = block.values.get("(Per-Req) Elapse Time Limit")
    if start is None or end is None or allowed is None:
        return UNKNOWN
    seconds = text.limit(allowed)
    return TIMEOUT if seconds is not None and end - start >= seconds else FINISHED


def _exit_code(answer: CommandOutput, job_id: str) -> str | None:
    """Return what `qstat -J -f` says under `Exit Code` of a request's first job; "" where the job is not there.

    None where it says nothing whole: the answer is cut off.
    """
    for block in text.blocks(answer.stdout):
        if text.same(job_id, block.job_id) and block.values.get("Batch Job Number") == "0":
            return block.values.get("Exit Code")
    return "" if any(text.same(job_id, missing_id) for missing_id in text.missing(answer.stdout)) else None


def left(printed: str, job_id: str) -> JobState | None:
    """Return how a request ended by the end of its file of errors; None while its account is not there, or not whole.

    The account has no exit code. Before it stands why the server killed the request, if it did.
    """
    report = text.left(printed, job_id)
    if report is None:
        return None
    over_time = _OVER_TIME.search(report.note) is not None
    start = clock_moment(report.values.get("Started Request Time", ""))
    return JobState(
        TIMEOUT if over_time else FINISHED,
        "",
        reason=printable(report.note),
        signal=9 if over_time else None,
        started=True if start is not None else None,
        name=report.values.get("Request Name", ""),
        owner=report.values.get("User Name", ""),
        start=start,
        end=clock_moment(report.values.get("Ended Request Time", "")),
        id=report.values.get("Request ID", ""),
    )


# ---- lists


def found_ids(answers: list[CommandOutput], name: str | None = None) -> list[str]:
    """Return the ids of the requests of a name (None: of all) from `qstat` and `qstat -f`, oldest first.

    Each request of the table must have its block: blocks have whole names and no end mark, the table has a heading. An
    answer without both is not understood, for what is printed where there is nothing is not on record.
    """
    for answer in answers:
        if answer.exit_code:
            raise failed(answer)
    rows = text.table(answers[0].stdout)
    blocks = text.blocks(answers[-1].stdout)
    if rows is None or answers[-1].stdout[-1:] not in ("", "\n"):
        raise garbage(answers[0] if rows is None else answers[-1])
    if any("Request Name" not in block.values for block in blocks):
        raise garbage(answers[-1])
    block_ids = [block.job_id for block in blocks]
    if any(not any(block_id.startswith(row.job_id) for block_id in block_ids) for row in rows):
        raise garbage(answers[-1])
    named = [block.job_id for block in blocks if name in (None, block.values["Request Name"])]
    return sorted(named, key=lambda job_id: int(re.split(r"\D", job_id)[0]))


def queues(answer: CommandOutput) -> list[QueueInfo]:
    """Return the queues of the table that `qstat -Q` prints, by the names in its heading. It tells no limits."""
    if answer.exit_code:
        raise failed(answer)
    infos: list[QueueInfo] = []
    heading: list[str] = []
    kind = ""
    for line in text.lines(answer.stdout):
        parts = line.split()
        if line.startswith("["):
            kind = line[1:].partition(" QUEUE]")[0].lower()
        elif parts[:1] == ["QueueName"]:
            heading = parts
        elif heading and len(parts) == len(heading) and parts[0][0].isalnum():
            infos.append(_queue(dict(zip(heading, parts, strict=True)), kind))
    if not infos:
        raise garbage(answer)
    return infos


def _queue(row: dict[str, str], kind: str) -> QueueInfo:
    def count(column: str) -> int | None:
        return digits(row.get(column, ""))

    return QueueInfo(
        row["QueueName"],
        enabled=row.get("ENA") == "ENA" and row.get("STS") == "ACT",
        running=count("RUN"),
        queued=count("QUE"),
        note="" if kind == "execution" else kind,
    )
