"""Parse the output of NQSV's commands. There is no history: an ended request disappears after 5 to 6 seconds.

From public records of Pegasus, Cygnus, SQUID and Kiel, see `samples/`. `qstat` also exits with 0 for unknown ids: a
request is absent only by a complete sentence, never by an empty answer.
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
from hackathon.schedulers.failures import FAILURES
from hackathon.schedulers.nqsv import text
from hackathon.schedulers.reports import QueueInfo
from hackathon.schedulers.words import clock_moment, command, garbage, printable, words
from hackathon.text.numbers import digits

LETTERS = {
    "ARV": QUEUED,  # arriving
    "WAI": HELD,  # waits for its start time
    "QUE": QUEUED,
    "GQD": QUEUED,
    "HLD": HELD,
    "STG": QUEUED,  # its files are being staged in
    "PRR": RUNNING,  # has its nodes; the script follows
    "RUN": RUNNING,
    "SUS": RUNNING,
    "HOL": RUNNING,  # running and being held
    "CHK": RUNNING,  # running and being checkpointed
    "POR": ENDING,  # the script has ended
    "EXT": ENDING,
}
"""Code in the column STT → state. TRS, MIG, RST and others appeared only in headings: UNKNOWN."""
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
"""`Current State` of a block → code. Recorded: Queued, Staging, Pre-running, Running, Post-running and Exiting."""

FEW = 20
"""Requests that are queried individually when the answer for several omitted them."""
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
"""Reasons of a state without information for a person."""
_OVER_TIME = re.compile(r"received signal SIGKILL\b.*\bExceeded per-req elapse time limit")
_OF_PBS = re.compile(r"directive error:|usage: qsub \[-a date_time\]|Unknown Job Id|Job has finished|usage: qstat \[-")


def submitted_id(answer: CommandOutput) -> str:
    """Return the id, with the site's host, from the line that reports it; without one the request was refused."""
    for line in text.lines(answer.stdout):
        if match := _SUBMITTED.match(line.strip()):
            return match[1]
    if answer.exit_code:
        raise failed(answer, otherwise="refused")
    raise garbage(answer)


def was_told(answer: CommandOutput) -> bool:
    """Return True when the request is being cancelled, False when the server does not know it any more."""
    if text.missing(answer.stdout) | text.missing(answer.stderr):
        return False
    if answer.exit_code:
        raise failed(answer)
    return True


def failed(answer: CommandOutput, otherwise: str = "failed") -> SchedulerError:
    """Return the error of a command; output of PBS, whose commands have the same names, is reported as such."""
    output = answer.stderr + answer.stdout
    if _OF_PBS.search(output):
        values = {"command": command(answer), "scheduler": "pbs", "words": words(answer)}
        return SchedulerError(
            "schedulers.other_scheduler",
            "`{command}` belongs to another scheduler here; the cluster needs `scheduler: {scheduler}`: {words}",
            hint="Set `scheduler: {scheduler}` in the cluster profile.",
            transient=False,
            **values,
        )
    key = next((key for word, key in REFUSALS.items() if word in output), otherwise)
    # the reason is not documented: the server may be unavailable for a moment
    return SchedulerError(
        FAILURES[key],
        transient=key == "failed",
        command=command(answer),
        code=answer.exit_code,
        words=words(answer),
    )


# ---- states


def unanswered(answers: Iterable[CommandOutput], ids: list[str]) -> list[str]:
    """Return the ids for which the answers contain neither a state nor that they do not exist."""
    blocks, missing = _told(answers)
    return [job_id for job_id in ids if not any(text.same(job_id, answered_id) for answered_id in (*blocks, *missing))]


def ending_ids(answers: Iterable[CommandOutput], ids: list[str]) -> list[str]:
    """Return the ids whose script has ended: for a few seconds the server knows its exit code."""
    blocks, _ = _told(answers)
    over = [name for name, block in blocks.items() if LETTERS.get(_letters(block)) == ENDING]
    return [job_id for job_id in ids if any(text.same(job_id, ended_id) for ended_id in over)]


def status(answers: list[CommandOutput], ids: list[str]) -> StatusAnswer:
    """Return the states of requests; a request is absent only by a complete sentence."""
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
    """Return (id → block, ids that do not exist) from the answers about requests, not from those about their jobs."""
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
        start=start if began else None,  # a planned start has another name
        end=end if began else None,
        id=block.job_id,
    )


def _ending(block: text.RequestBlock, answers: list[CommandOutput]) -> tuple[str, int | None, int | None]:
    """Return (state, exit code, signal) of a request whose script has ended; UNKNOWN for a truncated answer.

    A time limit and a deletion both cause signal 9. The reason distinguishes them until the request is `Exiting`.
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
        return ENDING, None, None  # not reported yet, or no longer
    waited = int(code_text, 16)
    code, signal = waited >> 8, waited & 0x7F
    if not signal:
        return (FAILED if code else SUCCEEDED), code, code - 128 if 128 < code < 193 else None
    if reason != _EXIT:
        return FINISHED, None, signal
    return _killed(block), None, signal


def _killed(block: text.RequestBlock) -> str:
    """Return the state of a request that was killed but not deleted: TIMEOUT if it used its whole walltime."""
    start = clock_moment(block.values.get("Started Request Time", ""))
    end = clock_moment(block.values.get("Ended Request Time", ""))
    allowed = block.values.get("(Per-Req) Elapse Time Limit")
    if start is None or end is None or allowed is None:
        return UNKNOWN
    seconds = text.limit(allowed)
    return TIMEOUT if seconds is not None and end - start >= seconds else FINISHED


def _exit_code(answer: CommandOutput, job_id: str) -> str | None:
    """Return `Exit Code` of a request's first job in `qstat -J -f`; "" when the job is not in the answer.

    None for a truncated answer.
    """
    for block in text.blocks(answer.stdout):
        if text.same(job_id, block.job_id) and block.values.get("Batch Job Number") == "0":
            return block.values.get("Exit Code")
    return "" if any(text.same(job_id, missing_id) for missing_id in text.missing(answer.stdout)) else None


def left(printed: str, job_id: str) -> JobState | None:
    """Return how a request ended, by the end of its error file; None while its report is missing or incomplete.

    The report has no exit code. The line before it gives the reason if the server killed the request.
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
    """Return the ids of the requests with a name (None: of all) from `qstat` and `qstat -f`, oldest first.

    Each request in the table must have its block: blocks have full names and no end mark, the table has a heading. An
    answer without both is rejected, because the output for no requests is not documented.
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
    """Return the queues in the table of `qstat -Q`, by the names in its heading. It contains no limits."""
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
