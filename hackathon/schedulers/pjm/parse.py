"""Parse the output of PJM's commands. `samples/` has the recorded output; no server was available.

Numbers and letters are those of the user guides of the R-CCS (Fugaku) and of Kyushu University, and of recorded output.
"""

import re

from hackathon.schedulers.base import (
    CANCELLED,
    ENDING,
    FAILED,
    FINISHED,
    HELD,
    NODE_FAILED,
    OUT_OF_MEMORY,
    QUEUED,
    RUNNING,
    SUCCEEDED,
    TIMEOUT,
    UNKNOWN,
    CommandOutput,
    JobState,
    SchedulerError,
)
from hackathon.schedulers.failures import FAILURES
from hackathon.schedulers.pjm import table
from hackathon.schedulers.words import command, garbage, words
from hackathon.text.numbers import digits

LETTERS = {
    "ACC": QUEUED,
    "QUE": QUEUED,
    "RNA": RUNNING,  # acquires its nodes
    "RNP": RUNNING,  # prologue
    "RUN": RUNNING,
    "RSM": RUNNING,
    "SPP": RUNNING,  # suspended
    "SPD": RUNNING,
    "SWO": RUNNING,  # swapped out, and in again
    "SWD": RUNNING,
    "SWI": RUNNING,
    "RNE": ENDING,  # epilogue
    "RNO": ENDING,
    "HLD": HELD,
    "CCL": CANCELLED,
    "RJT": FAILED,
    "ERR": FAILED,  # an error of the manager itself: stays in the table until it is deleted
}
"""ST of Fujitsu's table → state. PC, EC and SN refine EXT (`_ended`); other letters are UNKNOWN."""
WORDS = {
    "QUEUED": QUEUED,
    "RUNNING": RUNNING,
    "HOLD": HELD,
    "END": FINISHED,  # the table has no exit code
    "CANCEL": CANCELLED,
    "ERROR": FAILED,
    "REJECT": FAILED,
}
"""STATUS of Wisteria's own table → state."""
NEVER_STARTED = frozenset({"RJT", "REJECT"})

CODES: dict[int, tuple[str, bool | None]] = {
    1: (CANCELLED, None),  # pjdel
    2: (FAILED, False),  # rejected
    6: (FAILED, False),  # the job that it waited for did not end as required
    11: (TIMEOUT, True),  # elapse limit
    12: (OUT_OF_MEMORY, True),
    16: (FAILED, False),  # the working folder or the output is not usable
    20: (NODE_FAILED, None),
    21: (FAILED, False),  # the shell could not be started
    22: (NODE_FAILED, None),  # interconnect
    23: (OUT_OF_MEMORY, True),  # the kernel's out-of-memory killer
    25: (NODE_FAILED, None),
}
"""PC ("PJM code") of a job in EXT → (state, did it start); every other code except 0 is FAILED."""

_IMPOSSIBLE = re.compile(r"INSUFF (?:NODE|CPU|MEMORY)|RSCGRP NOT EXIST", re.ASCII)
"""REASON of a job that requests more than the machine has: it can never run. The table cuts it to 16 characters."""

_SUBMITTED = re.compile(r"\[INFO\.?\] PJM \d{4} pjsub Job (\d+(?:_\d+)?) submitted\.\s*\Z", re.ASCII)
_NUMBERED = re.compile(r"\[ERR\.?\] PJM (\d{4}) ", re.ASCII)
_UNKNOWN_JOB = re.compile(r"\[ERR\.\] PJM .+ Job .+ does not exist", re.ASCII)
_DATA_AREA = re.compile(r"not a data area|--no-check-directory")
_NO_SERVER = re.compile(r"(?:cannot|failed to) connect|connection (?:refused|timed out)|time(?:d )?out", re.I)
"""Not documented: a refusal with such words is treated as temporary."""

REFUSALS = {
    "0020": ("bad_options", False),  # "Cannot open the file (rscgrp=…)"
    "0057": ("over_limit", False),
    "0070": ("not_authorised", False),
    "0071": ("group_needed", False),
    "0072": ("user_limit", True),  # "Job exceeded the accept limit"
}
"""Number of a message of `pjsub` → (message, may the same submission succeed later)."""


def submitted_id(answer: CommandOutput) -> str:
    """Return the job id, only from a line with `submitted.`: the number of the message precedes it.

    The exit code does not decide: the K computer returned 0 with an error. Truncated lines are ignored.
    """
    for line in answer.stdout.split("\n")[:-1]:
        if (match := _SUBMITTED.match(line.strip())) and re.fullmatch(table.ID, match[1]):
            return match[1]
    output = answer.stderr + answer.stdout
    if answer.exit_code or _NUMBERED.search(output) or _DATA_AREA.search(output):
        raise _refused(answer)
    raise garbage(answer)


def was_told(answer: CommandOutput) -> bool:
    """Return True when the job is being cancelled, False when PJM no longer knows it."""
    if answer.exit_code == 0 and not _NUMBERED.search(answer.stderr + answer.stdout):
        return True
    if _UNKNOWN_JOB.search(answer.stderr + answer.stdout):
        return False
    raise failed(answer, "")


def found_ids(answers: list[CommandOutput], name: str, expected: str) -> list[str]:
    """Return the ids for a job name in tables that are filtered or list all jobs, oldest first.

    Tables cut names, so a cut name that fits counts. Raises SchedulerError when it is not certain that there are none,
    or which of several is meant.
    """
    sure: set[str] = set()
    cut: set[str] = set()
    doubt = ""
    for answer in answers:
        job_table = table.read(answer, expected)
        if job_table is None:
            raise nothing_said([answer], expected)
        for job_id, row in job_table.rows.items():
            job_name = row.get("JOB_NAME", "")
            if job_name == name:
                sure.add(job_id)
            elif len(job_name) >= table.CUT_NAME and name.startswith(job_name):
                cut.add(job_id)
        if not job_table.whole:
            doubt = words(answer)
    job_ids = sure or cut
    if (doubt and not job_ids) or (expected == table.SITE and not sure and len(cut) > 1):
        raise SchedulerError(
            "schedulers.garbage",
            "Cannot interpret the output of {command}: {words}",
            hint="Run the command by hand. A proxy or a wrapper of the site may have answered instead. Try again "
            "later.",
            transient=True,
            command="pjstat",
            words=doubt or " ".join(cut),
        )
    return sorted(job_ids, key=int)


def unread_queues() -> SchedulerError:
    """Return the error of a list of queues that is not parsed."""
    return SchedulerError(
        "schedulers.queues_not_read",
        "The output of `{command}` cannot be read: no record of it was available.",
        hint="Run `{command}` by hand; `hackathon clusters NAME` shows what the profile knows.",
        transient=False,
        command="pjstat --rsc",
    )


def job_state(row: dict[str, str]) -> JobState:
    """Return the state of a job from its row in a table."""
    if "STATUS" in row:
        word = row["STATUS"]
        return JobState(
            WORDS.get(word, UNKNOWN),
            word,
            name=_name(row),
            started=False if word in NEVER_STARTED else True if word == "RUNNING" else None,
        )
    letters, reason = row.get("ST", ""), row.get("REASON", "")
    reason = "" if reason == "-" else reason
    if letters == "EXT":
        return _ended(row, reason)
    state = LETTERS.get(letters, UNKNOWN)
    return JobState(
        state,
        letters,
        reason=reason,
        started=False if letters in NEVER_STARTED else True if letters == "RUN" else None,
        name=_name(row),
        owner=_owner(row),
        never_runs=state in (QUEUED, HELD) and _IMPOSSIBLE.match(reason) is not None,
    )


def _name(row: dict[str, str]) -> str:
    """Return a job's name; "" if the table may have cut it."""
    name = row.get("JOB_NAME", "")
    return name if len(name) < table.CUT_NAME else ""


def _owner(row: dict[str, str]) -> str:
    """Return a job's owner; "" if the table may have cut the account's name."""
    owner = row.get("USER", "")
    return owner if len(owner) < table.CUT_USER else ""


def _ended(row: dict[str, str], reason: str) -> JobState:
    """Return how a job in EXT ended: EXT alone says nothing, so without all three numbers the cause is not known."""
    code, exit_code, signal = (digits(row.get(name, "")) for name in ("PC", "EC", "SN"))
    state, started = FINISHED, None
    if code is not None and exit_code is not None and signal is not None:
        if code:
            state, started = CODES.get(code, (FAILED, None))
            reason = f"PJM code {code}{f': {reason}' if reason else ''}"
        else:
            state, started = (FAILED if exit_code or signal else SUCCEEDED), True
    else:
        exit_code = signal = None
    return JobState(
        state,
        "EXT",
        reason=reason,
        exit_code=exit_code,
        signal=signal or None,
        started=started,
        name=_name(row),
        owner=_owner(row),
    )


def _refused(answer: CommandOutput) -> SchedulerError:
    error = failed(answer, "", otherwise="refused")
    error.no_job = error.id == "schedulers.user_limit"
    return error


def failed(answer: CommandOutput, expected: str, otherwise: str = "failed") -> SchedulerError:
    """Return the error of a command: by the form of its answer, the message's number, or its words.

    `expected`: the table variant that was queried; empty for commands without a table.
    """
    table_kind = table.kind(answer)
    if expected and table_kind and table_kind != expected:
        return SchedulerError(
            "schedulers.other_table",
            "`{command}` prints another table here; the cluster needs `dialect.table: {table}`: {words}",
            hint="Set `dialect.table: {table}` in the cluster profile.",
            transient=False,
            command=command(answer),
            words=words(answer),
            table=table_kind,
        )
    output = answer.stderr + answer.stdout
    number = match[1] if (match := _NUMBERED.search(output)) else ""
    key, transient = REFUSALS.get(number, (otherwise, False)) if command(answer) == "pjsub" else (otherwise, False)
    if _DATA_AREA.search(output):
        key, transient = "no_data_area", False
    elif key == otherwise and _NO_SERVER.search(output):
        key, transient = "server_down", True
    return SchedulerError(
        FAILURES[key], transient=transient, command=command(answer), code=answer.exit_code, words=words(answer)
    )


def nothing_said(answers: list[CommandOutput], expected: str) -> SchedulerError:
    """Return the error of answers without information about jobs: that of the last failed command."""
    for answer in reversed(answers):
        if answer.exit_code or table.kind(answer) not in ("", expected):
            return failed(answer, expected)
    return garbage(answers[-1])
