"""What PBS's commands print, in the text forms.

What a real OpenPBS 23.06 printed lies in `samples/`. The text form of `qstat -f` is used because the JSON form shows
only the first of several ids and re-types values. Exit codes are the server's error numbers modulo 256.
"""

import re

from hackathon.schedulers.accounting import JobAccounting
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
    QueueInfo,
    SchedulerError,
    StatusAnswer,
)
from hackathon.schedulers.pbs import text
from hackathon.schedulers.pbs.bill import account
from hackathon.schedulers.words import command, printable, words

LETTERS = {
    "Q": QUEUED,
    "T": QUEUED,  # being routed to another queue
    "H": HELD,
    "W": HELD,  # waits for its start time
    "R": RUNNING,
    "S": RUNNING,  # suspended by the server
    "U": RUNNING,  # suspended because the workstation is in use
    "B": RUNNING,  # array whose first subjob has begun
    "E": ENDING,
    "F": FINISHED,
    "X": FINISHED,  # subjob of an array that ended
    "M": UNKNOWN,  # moved to another server
}
"""Letter of `job_state` → state (qstat(1B)); F and X are told apart by ENDINGS and by the job's other attributes."""

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
"""Exit code (error number modulo 256) → (message, transient)."""

USAGE, FINISHED_ID, NO_HISTORY, UNKNOWN_ID = 2, 35, 36, 153
"""Bad option; finished and asked without -x; the server keeps no history (15140); unknown job id."""

_NO_SERVER = re.compile(r"cannot connect|connect to (?:server|cluster)|Connection (?:refused|timed out)", re.IGNORECASE)
_NO_HISTORY = re.compile(r"job.?history", re.IGNORECASE)
JOB_ID = re.compile(r"\d+(?:\[[\d,:-]*\])?(?:\.[\w.:-]+)?\Z", re.ASCII)
_UNKNOWN = re.compile(r"Unknown Job Id:? +(\S+)", re.IGNORECASE)
_HAS_FINISHED = re.compile(r"(\S+) Job has finished", re.IGNORECASE)
_TERMINATED, _DEPENDENCY_PURGE = "91", "92"


def says_no_history(answer: CommandOutput) -> bool:
    """Return whether a server's words mean that it keeps no history of jobs."""
    return _NO_HISTORY.search(answer.stderr.replace("historical job", "")) is not None


def submitted_id(answer: CommandOutput) -> str:
    """Return the job id, the last line that is one (a site's qsub may print a balance before it)."""
    if answer.exit_code:
        raise _refused(answer)
    for line in reversed(answer.stdout.splitlines()):
        if JOB_ID.match(line.strip()):
            return line.strip()
    raise SchedulerError("schedulers.garbage", transient=True, command=command(answer), words=words(answer))


def status(answers: list[CommandOutput], ids: list[str]) -> StatusAnswer:
    """Return the jobs that the server showed; absent are only those that it called unknown.

    An id that it neither showed nor called unknown is UNKNOWN (torn or partial answer). Raises SchedulerError when
    nothing in the answer is about the ids.
    """
    answer = answers[-1]
    blocks: dict[str, list[text.PrintedBlock]] = {}
    for block in text.blocks(answer.stdout, "Job Id:"):
        blocks.setdefault(_number(block.name), []).append(block)
    unknown = {match.rstrip(".") for match in _UNKNOWN.findall(answer.stderr)}
    finished = set(_HAS_FINISHED.findall(answer.stderr))
    jobs: dict[str, JobState] = {}
    silent = []
    for job_id in ids:
        mine = [block for block in blocks.get(_number(job_id), ()) if _same(job_id, block.name)]
        if mine:
            jobs[job_id] = _job_state(mine)
        elif any(_same(job_id, other) for other in finished):
            jobs[job_id] = JobState(FINISHED, "", reason=words(answer))
        elif not any(_same(job_id, other) for other in unknown):
            silent.append(job_id)
    if silent and len(silent) == len(ids):
        if answer.exit_code == 0:
            raise SchedulerError("schedulers.garbage", transient=True, command="qstat", words=words(answer))
        raise _failed(answer)
    for job_id in silent:
        jobs[job_id] = JobState(UNKNOWN, "", reason=words(answer) if answer.stderr.strip() else "")
    return StatusAnswer(jobs)


def accounts(answers: list[CommandOutput], ids: list[str]) -> dict[str, JobAccounting]:
    """Return what the server says that each job used: of a job that was run again only its last life."""
    if answers[-1].exit_code and "Job Id:" not in answers[-1].stdout:
        if _UNKNOWN.search(answers[-1].stderr):
            return {}
        raise _failed(answers[-1])
    found: dict[str, JobAccounting] = {}
    blocks = text.blocks(answers[-1].stdout, "Job Id:")
    for job_id in ids:
        mine = [block for block in blocks if _same(job_id, block.name)]
        if mine:
            found[job_id] = account(mine)
    return found


def was_told(answer: CommandOutput) -> bool:
    """Return True when told to end, False when it had ended or the server no longer knows it."""
    if answer.exit_code == 0:
        return True
    if answer.exit_code in (FINISHED_ID, UNKNOWN_ID):
        return False
    raise _failed(answer)


def found_ids(answers: list[CommandOutput]) -> list[str]:
    """Return ids in the order of their numbers; a server without history answers with live jobs only."""
    found: dict[str, None] = {}
    for position, answer in enumerate(answers):
        if answer.exit_code:
            no_history = answer.exit_code in (NO_HISTORY, USAGE) or _NO_HISTORY.search(answer.stderr)
            if position < len(answers) - 1 and no_history:
                continue
            raise _failed(answer)
        for line in filter(None, map(str.strip, answer.stdout.splitlines())):
            if not JOB_ID.match(line):
                raise SchedulerError("schedulers.garbage", transient=True, command="qselect", words=words(answer))
            found[line] = None
    return sorted(found, key=lambda job_id: int(_number(job_id)))


def queues(answer: CommandOutput) -> list[QueueInfo]:
    """Return queues with their limits where the server tells them (`resources_max`)."""
    if answer.exit_code:
        raise _failed(answer)
    queues = [_queue(block.name, block.attributes) for block in text.blocks(answer.stdout, "Queue:")]
    if not queues and answer.stdout.strip():
        raise SchedulerError("schedulers.garbage", transient=True, command="qstat", words=words(answer))
    return queues


def _number(job_id: str) -> str:
    return re.split(r"[.\[]", job_id)[0]


def _same(asked: str, shown: str) -> bool:
    """Return whether an id that was asked for is the one shown: servers add or shorten the host behind the first dot.

    An array's id `7[]` also covers its subjobs `7[1]`.
    """
    if asked == shown:
        return True
    number, _, host = asked.partition(".")
    other, _, other_host = shown.partition(".")
    if host and other_host and host.partition(".")[0] != other_host.partition(".")[0]:
        return False
    return number == other or (number.endswith("[]") and other.startswith(number[:-1]) and other.endswith("]"))


def _refused(answer: CommandOutput) -> SchedulerError:
    return _failed(answer, otherwise="refused")


def _failed(answer: CommandOutput, otherwise: str = "failed") -> SchedulerError:
    """Return the error of a command: by its exit code, else by the server's words."""
    key, transient = REFUSALS.get(answer.exit_code, (otherwise, False))
    if _NO_SERVER.search(answer.stderr):
        key, transient = "server_down", True
    return SchedulerError(
        f"schedulers.{key}",
        transient=transient,
        command=command(answer),
        code=answer.exit_code,
        words=words(answer),
    )


def _job_state(blocks: list[text.PrintedBlock]) -> JobState:
    """Return the state of a job, or of an array from its parent and subjobs."""
    parent, *subjobs = sorted(blocks, key=lambda block: "[" in block.name and "[]" not in block.name)
    state = _one_state(parent)
    if LETTERS.get(state.raw) != FINISHED:
        return state
    # The parent's Exit_status is only that of the subjob that ended last.
    worst = [other for other in map(_one_state, subjobs) if other.state != SUCCEEDED]
    return worst[0] if worst else state


def _one_state(block: text.PrintedBlock) -> JobState:
    attributes = block.attributes
    letter = attributes.get("job_state", "")
    state = LETTERS.get(letter, UNKNOWN)
    if state == FINISHED and "Exit_status" not in attributes and not block.whole:
        state = UNKNOWN  # cut off before the line that would say how it ended
    comment = printable(attributes.get("comment", ""))
    start = text.moment(attributes.get("stime", ""))
    end = exit_code = signal = started = None
    reason = comment
    if state == FINISHED:
        state, exit_code, signal, started = _ending(attributes, comment, start is not None)
        end = text.moment(attributes.get("obittime") or attributes.get("mtime", ""))
        if started is False and not reason and "depend" in attributes:
            reason = f"depend = {printable(attributes['depend'])}"
    elif state in (RUNNING, ENDING):
        started = True
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
    )


def _ending(attributes: dict[str, str], comment: str, began: bool) -> tuple[str, int | None, int | None, bool | None]:
    """Return (state, exit code, signal, started) of a finished job."""
    try:
        status = int(attributes["Exit_status"])
    except (KeyError, ValueError):
        # No Exit_status: it never ran. Substate 91 is a deletion; otherwise a dependency that cannot be met.
        deleted = attributes.get("substate") == _TERMINATED
        return (CANCELLED if deleted else FINISHED), None, None, (None if began else False)
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
        signal = status - 128  # the shell's own way of saying it
    return (SUCCEEDED if status == 0 else FAILED), status, signal, True


def _queue(name: str, attributes: dict[str, str]) -> QueueInfo:
    counts = dict(re.findall(r"(\w+):(\d+)", attributes.get("state_count", "")))
    enabled = attributes.get("enabled") != "False" and attributes.get("started") != "False"
    return QueueInfo(
        name,
        enabled=enabled,
        nodes=text.number(attributes.get("resources_max.nodect", "")),
        walltime=text.seconds(attributes.get("resources_max.walltime", "")),
        running=text.number(counts.get("Running", "")),
        queued=text.number(counts.get("Queued", "")),
        note=printable(attributes.get("route_destinations", "")),
    )
