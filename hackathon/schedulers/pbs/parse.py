"""Parse the text output of PBS's commands.

`samples/` has the output of a real OpenPBS 23.06. The text form of `qstat -f` is used because the JSON form lists only
the first of several ids and changes types of values. Exit codes are the server's error numbers modulo 256.
"""

import re
from collections.abc import Callable
from dataclasses import replace

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
from hackathon.schedulers.pbs import text
from hackathon.schedulers.words import clock_moment, command, garbage, printable, words

LETTERS = {
    "Q": QUEUED,
    "T": QUEUED,  # being routed to another queue
    "H": HELD,
    "W": HELD,  # waits for its start time
    "R": RUNNING,
    "S": RUNNING,  # suspended by the server
    "U": RUNNING,  # suspended because the workstation is in use
    "B": RUNNING,  # array whose first subjob has started
    "E": ENDING,
    "F": FINISHED,
    "X": FINISHED,  # subjob of an array that ended
    "M": UNKNOWN,  # moved to another server
}
"""Letter of `job_state` → state (qstat(1B)); ENDINGS and other attributes refine F and X."""

ENDINGS: dict[int, tuple[str, bool | None]] = {
    -1: (FAILED, False),  # not started: failed before files were staged
    -2: (FAILED, False),  # not started: no home folder, failed after files were staged
    -4: (NODE_FAILED, None),  # the node's daemon was restarted
    -5: (NODE_FAILED, None),
    -6: (NODE_FAILED, None),
    -10: (FAILED, False),  # user or group unknown on the node
    -20: (NODE_FAILED, None),  # connection to the first node lost
    -26: (OUT_OF_MEMORY, True),  # vmem
    -27: (OUT_OF_MEMORY, True),  # mem
    -28: (TIMEOUT, True),  # CPU time
    -29: (TIMEOUT, True),  # walltime
    -30: (NODE_FAILED, False),  # nodes could not join the job
}
"""Negative Exit_status of a finished job → (state, did it start); numbers of OpenPBS's job.h."""

REFUSALS: dict[int, tuple[str, bool]] = {
    1: ("bad_script", False),
    2: ("bad_options", False),
    5: ("bad_options", False),  # select and ncpus together
    38: ("user_limit", True),
    39: ("user_limit", True),
    153: ("unknown_job", False),
    159: ("not_authorised", False),
    160: ("server_down", True),  # 15008: no route to the server
    162: ("server_down", True),  # 15010: connection refused
    166: ("bad_value", False),
    170: ("unknown_queue", False),
    173: ("queue_disabled", False),
    175: ("bad_user", False),
    187: ("unknown_resource", False),
    188: ("over_limit", False),
    197: ("bad_group", False),
    222: ("node_down", True),
    255: ("server_down", True),
}
"""Exit code of `qsub` and `qdel` (error number modulo 256) → (message, transient)."""
ANSWERED = frozenset({"user_limit"})
"""Messages after which certainly no job was created, although a later attempt may succeed."""
_QUESTIONS = frozenset({153, 159, 160, 162, 255})
"""Codes with the same meaning in `qstat` and `qselect`; their other codes concern the query."""

USAGE, FINISHED_ID, NO_HISTORY, UNKNOWN_ID = 2, 35, 36, 153
"""Invalid option; a finished job queried without -x; no history on this server (15140); unknown job id."""

_NO_PORTS = re.compile(r"all reserved ports in use", re.IGNORECASE)
_NO_IDENTITY = re.compile(r"Unable to authenticate connection", re.IGNORECASE)
_NO_SERVER = re.compile(r"cannot connect|connect to (?:server|cluster)|Connection (?:refused|timed out)", re.IGNORECASE)
_NOT_REACHED = re.compile(r"qsub: cannot connect to server ")
"""What qsub says when the connection, and with it the job, never came about."""
_NO_HISTORY = re.compile(r"job.?history", re.IGNORECASE)
JOB_ID = re.compile(r"(?:0|[1-9]\d*)(?:\[[\d,:-]*\])?(?:\.[\w.:-]+)?\Z", re.ASCII)
"""A number without leading zeros: `0000` may be a balance."""
_UNKNOWN = re.compile(r"Unknown Job Id:? +(\S+) *\r?\n", re.IGNORECASE)
HAS_FINISHED = re.compile(r"(\S+) Job has finished", re.IGNORECASE)
_OF_NQSV = re.compile(r"Invalid syntax following -\w+ flag|Request not queued|\[-P privilege\]")
"""Messages of NQSV's commands of the same names."""
_UNRECOGNIZED = re.compile(r"unrecognized arguments?: ")
"""The words of a site's own qstat; PBS's says `invalid option`."""
_NONE = frozenset({"No unfinished job found.", "No finished job found.", "No matching job found."})
"""Sentences of a site's own qstat."""
_TERMINATED = "91"
_LOST_NODE = frozenset({-4, -5, -6, -20})
"""Exit_status of a life that ended with its node; it remains when the job is requeued."""


def says_no_history(answer: CommandOutput) -> bool:
    """Return whether a server's message means that it has no history of jobs."""
    return _NO_HISTORY.search(answer.stderr.replace("historical job", "")) is not None


def unknown_ids(answer: CommandOutput) -> set[str]:
    """Return the ids that the server called unknown, from complete lines: a truncated number is another job's."""
    return {name.rstrip(".") for name in _UNKNOWN.findall(answer.stderr)}


def no_job_found(answer: CommandOutput) -> bool:
    """Return whether the answer is a whole sentence that there is no such job; its exit code is 0."""
    sentences = {line.strip() for text in (answer.stdout, answer.stderr) for line in text.split("\n")[:-1]}
    return answer.exit_code == 0 and not sentences.isdisjoint(_NONE) and "Job Id:" not in answer.stdout


def of_a_site(answer: CommandOutput) -> str:
    """Return the `dialect.history` that fits, where a site's own qstat answered in place of PBS's; else nothing."""
    return "H" if _UNRECOGNIZED.search(answer.stderr) else ""


def of_pbs(answer: CommandOutput) -> str:
    """Return the `dialect.history` that fits, where PBS's qstat answered in place of a site's own; else nothing."""
    likely = answer.exit_code in (USAGE, FINISHED_ID) or answer.stdout.startswith("Job id ")
    return "x" if likely and not of_a_site(answer) else ""


def submitted_id(answer: CommandOutput) -> str:
    """Return the job id: the last line with one, as a site's qsub may print a balance before it.

    PBS's ids end with the server's host; a plain number counts only if no line has a host. Truncated lines are ignored.
    """
    if answer.exit_code:
        raise _refused(answer)
    ids = [line.strip() for line in answer.stdout.split("\n")[:-1] if JOB_ID.match(line.strip())]
    likely = [job_id for job_id in ids if "." in job_id] or [job_id for job_id in ids if job_id != "0"]
    if likely:
        return likely[-1]
    raise garbage(answer)


def was_told(answer: CommandOutput) -> bool:
    """Return True when the job is being cancelled, False when it had ended or the server no longer knows it."""
    if answer.exit_code == 0:
        return True
    if answer.exit_code in (FINISHED_ID, UNKNOWN_ID):
        return False
    raise failed(answer)


def found_ids(answers: list[CommandOutput]) -> list[str]:
    """Return ids in numeric order; a server without history answers with live jobs only."""
    job_ids: dict[str, None] = {}
    for position, answer in enumerate(answers):
        no_history = answer.exit_code in (NO_HISTORY, USAGE) or says_no_history(answer)
        if position < len(answers) - 1 and no_history:
            continue
        if answer.exit_code:
            raise failed(answer)
        *lines, last = answer.stdout.split("\n")
        for line in filter(None, map(str.strip, lines)):
            if not JOB_ID.match(line) or last:
                raise garbage(answer)
            job_ids[line] = None
        if last:
            raise garbage(answer)
    return sorted(job_ids, key=lambda job_id: int(job_number(job_id)))


def job_number(job_id: str) -> str:
    """Return the number in an id: the text before the array's index and the host."""
    return re.split(r"[.\[]", job_id)[0]


def same(job_id: str, other_id: str) -> bool:
    """Return whether a queried id is the printed one: servers add or shorten the host after the first dot.

    An array's id `7[]` also covers its subjobs `7[1]`.
    """
    if job_id == other_id:
        return True
    own, _, host = job_id.partition(".")
    other, _, other_host = other_id.partition(".")
    if host and other_host and host.partition(".")[0] != other_host.partition(".")[0]:
        return False
    return own == other or (own.endswith("[]") and other.startswith(own[:-1]) and other.endswith("]"))


def _refused(answer: CommandOutput) -> SchedulerError:
    error = failed(answer, otherwise="refused")
    not_reached = _NOT_REACHED.search(answer.stderr) is not None
    error.no_job = not_reached or error.id.removeprefix("schedulers.") in ANSWERED
    return error


def failed(
    answer: CommandOutput, otherwise: str = "failed", other_qstat: Callable[[CommandOutput], str] = of_a_site
) -> SchedulerError:
    """Return the error of a command: by its exit code, else by the server's words; `other_qstat`: see `of_a_site`."""
    named = command(answer)
    right = other_qstat(answer) if named == "qstat" else ""
    if right:
        return SchedulerError(
            "schedulers.other_qstat",
            "`{command}` does not accept this option here; the cluster needs `dialect.history: {history}`: {words}",
            hint="Set `dialect.history: {history}` in the cluster profile.",
            transient=False,
            command=named,
            words=words(answer),
            history=right,
        )
    if _OF_NQSV.search(answer.stderr) or _OF_NQSV.search(answer.stdout):
        values = {"command": named, "scheduler": "nqsv", "words": words(answer)}
        return SchedulerError(
            "schedulers.other_scheduler",
            "`{command}` belongs to another scheduler here; the cluster needs `scheduler: {scheduler}`: {words}",
            hint="Set `scheduler: {scheduler}` in the cluster profile.",
            transient=False,
            **values,
        )
    key, transient = REFUSALS.get(answer.exit_code, (otherwise, False))
    if named in ("qstat", "qselect") and answer.exit_code not in _QUESTIONS:
        key, transient = otherwise, False
    if _NO_PORTS.search(answer.stderr):
        key, transient = "no_ports", True
    elif _NO_IDENTITY.search(answer.stderr):
        key, transient = "no_identity", True
    elif _NO_SERVER.search(answer.stderr):
        key, transient = "server_down", True
    return SchedulerError(FAILURES[key], transient=transient, command=named, code=answer.exit_code, words=words(answer))


def job_state(blocks: list[text.PrintedBlock]) -> JobState:
    """Return the state of a job, or of an array from its parent and subjobs."""
    parent, *subjobs = sorted(blocks, key=lambda block: "[" in block.name and "[]" not in block.name)
    state = _one_state(parent)
    if LETTERS.get(state.raw) != FINISHED or "[]" not in parent.name:
        return state
    # The parent's Exit_status is only that of the subjob that ended last.
    if len(subjobs) < text.indices(parent.attributes.get("array_indices_submitted", "")):
        return replace(state, state=UNKNOWN, exit_code=None, signal=None)
    worst = [other for other in map(_one_state, subjobs) if other.state != SUCCEEDED]
    return replace(worst[0], id=state.id) if worst else state


def _one_state(block: text.PrintedBlock) -> JobState:
    attributes = block.attributes
    letter = attributes.get("job_state", "")
    state = LETTERS.get(letter, UNKNOWN)
    # Truncated before the lines about its end or about never running: PBS prints `project` after them.
    if not block.whole and ("project" not in attributes or (state == FINISHED and "Exit_status" not in attributes)):
        state = UNKNOWN
    comment = printable(attributes.get("comment", ""))
    start = clock_moment(attributes.get("stime", ""))
    end = exit_code = signal = started = None
    reason = comment
    if state == FINISHED:
        state, exit_code, signal, started = _ending(attributes, comment, start is not None)
        end = clock_moment(attributes.get("obittime") or attributes.get("mtime", ""))
        if started is False and not reason and "depend" in attributes:
            reason = f"depend = {printable(attributes['depend'])}"
    elif state in (RUNNING, ENDING):
        started = True
    elif state == HELD:
        reason = comment or _held(attributes)
    return JobState(
        state,
        letter,
        reason=reason,
        exit_code=exit_code,
        signal=signal,
        started=started,
        name=attributes.get("Job_Name", ""),
        owner=attributes.get("Job_Owner", "").partition("@")[0],
        hosts=text.hosts(attributes.get("exec_host", "")),
        never_runs=state in (QUEUED, HELD) and comment.startswith("Can Never Run"),
        start=start if state not in (QUEUED, HELD) else None,
        end=end,
        id=block.name,
    )


def _held(attributes: dict[str, str]) -> str:
    """Return the server's attribute that says why a job without a comment is held; empty without one."""
    depend = printable(attributes.get("depend", ""))
    before = ",".join(part for part in depend.split(",") if part.startswith("after"))
    if before:
        return f"depend = {before}"
    holds = attributes.get("Hold_Types", "n")
    return "" if holds == "n" else f"Hold_Types = {printable(holds)}"


def _ending(attributes: dict[str, str], comment: str, began: bool) -> tuple[str, int | None, int | None, bool | None]:
    """Return (state, exit code, signal, started) of a finished job."""
    try:
        status = int(attributes["Exit_status"])
    except (KeyError, ValueError):
        # Without Exit_status it never ran: substate 91 is a deletion, others are a dependency that cannot be met.
        deleted = attributes.get("substate") == _TERMINATED
        return (CANCELLED if deleted else FINISHED), None, None, (None if began else False)
    if status in _LOST_NODE and attributes.get("substate") == _TERMINATED:
        return CANCELLED, None, None, None  # deleted after it was requeued
    if status < 0:
        state, started = ENDINGS.get(status, (FAILED, None))
        return state, status, None, started
    signal = status - 256 if 256 < status < 256 + 65 else None
    if "exceeded resource walltime" in comment or "exceeded resource cput" in comment:
        return TIMEOUT, status, signal, True
    if "exceeded resource mem" in comment or "exceeded resource vmem" in comment:
        return OUT_OF_MEMORY, status, signal, True
    # 271 = 256 + SIGTERM: qdel of a running job, also when the script traps the signal.
    if status == 271 or (status and attributes.get("substate") == _TERMINATED):
        return CANCELLED, status, signal, True
    if signal is None and 128 < status < 128 + 65:
        signal = status - 128  # the shell's exit code for a signal
    return (SUCCEEDED if status == 0 else FAILED), status, signal, True
