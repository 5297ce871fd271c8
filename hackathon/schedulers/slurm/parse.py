"""Parse the output of Slurm's commands: `sbatch --parsable`, `squeue -o` and `sacct -P`.

`samples/` has the output of a real Slurm 22.05. squeue lists live jobs and, for a few minutes (MinJobAge), ended ones;
sacct lists ended ones if the site has accounting, with a delay of seconds. The JSON forms change between versions.
Fields are separated by control characters, because names may contain anything.
"""

import re
from collections.abc import Iterable

from hackathon.schedulers.base import (
    CANCELLED,
    ENDING,
    FAILED,
    HELD,
    NODE_FAILED,
    OPEN_STATES,
    OUT_OF_MEMORY,
    QUEUED,
    RUNNING,
    SUCCEEDED,
    UNKNOWN,
    CommandOutput,
    JobState,
    SchedulerError,
    StatusAnswer,
)
from hackathon.schedulers.failures import FAILURES
from hackathon.schedulers.reports import JobAccounting
from hackathon.schedulers.slurm import bill
from hackathon.schedulers.slurm.ids import ID, same
from hackathon.schedulers.slurm.words import DOWN, HELD_REASONS, NOT_SET_UP, REFUSALS, STATES, never_runs
from hackathon.schedulers.words import command, garbage, moment, printable, words
from hackathon.text.messages import Message
from hackathon.text.numbers import digits

FIELD, RECORD = "\x1f", "\x1e"
SQUEUE_FIELDS = ("%i", "%T", "%r", "%N", "%S", "%e", "%V", "%u", "%j")
"""Id, state, reason, nodes, start, end, submission, user, name."""
BILL_FIELDS = ("JobID", "Start", "End", "ElapsedRaw", "AllocNodes", "AllocTRES", "User", "JobName")
SACCT_FIELDS = ("JobID", "State", "ExitCode", "Submit", "Start", "End", "NodeList", "Reason", "User", "JobName")

_EXIT = re.compile(r"(\d{1,6}):(\d{1,6})\Z", re.ASCII)
_UNKNOWN_ID = "Invalid job id specified"
_NO_ACCOUNTING = "accounting storage is disabled"
_NO_NODES = frozenset({"", "None assigned", "(null)", "N/A", "None"})
_WORST_FIRST = (RUNNING, ENDING, QUEUED, HELD, UNKNOWN, NODE_FAILED, OUT_OF_MEMORY, "TIMEOUT", FAILED, CANCELLED)


def submitted_id(answer: CommandOutput) -> str:
    """Return the number in `123` or `123;cluster`, the last line of that form (a site may print others).

    Truncated lines are ignored, as their number may be incomplete.
    """
    if answer.exit_code:
        raise _refused(answer)
    for line in reversed(answer.stdout.split("\n")[:-1]):
        number, _, cluster = line.strip().partition(";")
        if number.isascii() and number.isdigit() and not re.search(r"\s", cluster):
            return number
    raise garbage(answer)


def status(answers: list[CommandOutput], ids: list[str]) -> StatusAnswer:
    """Return the jobs in the controller or the accounting; of a requeued job its newest life.

    squeue's state takes precedence, sacct adds exit codes. If accounting does not answer, a job that squeue does not
    list is UNKNOWN, not absent; without accounting it is absent. Raises SchedulerError.
    """
    live_answer, accounting, *codes = answers
    records, silence = _sacct(accounting)
    live, past = _by_number(queue(live_answer)), _by_number(records)
    exits = _exit_codes(codes)
    jobs: dict[str, JobState] = {}
    for job_id in ids:
        number = job_id.partition("_")[0]
        now = [state for record_id, state in live.get(number, ()) if same(job_id, record_id)]
        then = [state for record_id, state in past.get(number, ()) if same(job_id, record_id)]
        if now:
            status = exits.get(job_id)
            jobs[job_id] = _finish(_worst(now), _worst(then) if then else None, status)
        elif then:
            jobs[job_id] = _worst(then)
        elif silence:
            jobs[job_id] = JobState(UNKNOWN, "", reason=silence)
    return StatusAnswer(jobs)


def accounts(answers: list[CommandOutput], ids: list[str]) -> dict[str, JobAccounting]:
    """Return the accounting of each id; empty without accounting. Raises SchedulerError."""
    if answers[-1].exit_code:
        if _NO_ACCOUNTING in answers[-1].stderr:
            return {}
        raise failed(answers[-1])
    return bill.accounts(_records(answers[-1], FIELD + "\n", len(BILL_FIELDS)), ids)


def was_told(answer: CommandOutput) -> bool:
    """Return True when the job is being cancelled, False when it had ended or is no longer known."""
    if _UNKNOWN_ID in answer.stderr or "already completing or completed" in answer.stderr:
        return False
    if answer.exit_code or "error:" in answer.stderr:
        raise failed(answer)
    return True


def found_ids(answers: list[CommandOutput]) -> list[str]:
    """Return ids in numeric order; a site without accounting answers from the controller's memory."""
    job_ids: set[str] = set()
    for answer in answers:
        if answer.exit_code:
            if _NO_ACCOUNTING in answer.stderr:
                continue
            raise failed(answer)
        *lines, last = answer.stdout.split("\n")
        if last:
            raise garbage(answer)  # a truncated number is another job's
        for line in filter(None, map(str.strip, lines)):
            if line.startswith("CLUSTER:"):
                continue
            match = ID.match(line)
            if not match:
                raise garbage(answer)
            job_ids.add(match[1])
    return sorted(job_ids, key=int)


def _by_number(records: list[tuple[str, JobState]]) -> dict[str, list[tuple[str, JobState]]]:
    records_of_jobs: dict[str, list[tuple[str, JobState]]] = {}
    for job_id, state in records:
        records_of_jobs.setdefault(re.split(r"[_+]", job_id)[0], []).append((job_id, state))
    return records_of_jobs


def queue(answer: CommandOutput) -> list[tuple[str, JobState]]:
    """Return (id, state) of squeue's records. An unknown id is an error of the command only if it is the only id."""
    if answer.exit_code and _UNKNOWN_ID not in answer.stderr:
        raise failed(answer)
    jobs = []
    for parts in _records(answer, RECORD + "\n", len(SQUEUE_FIELDS)):
        job_id, word, reason, nodes, start, end, _, user, name = parts
        jobs.append((job_id, _state(word, reason, nodes, start, end, user, name)))
    return jobs


def _sacct(answer: CommandOutput) -> tuple[list[tuple[str, JobState]], str]:
    """Return (id, state) of the newest life of every job, and why there is no answer ("" for an answer)."""
    if answer.exit_code:
        return [], "" if _NO_ACCOUNTING in answer.stderr else words(answer)
    newest: dict[str, tuple[float, JobState]] = {}
    for parts in _records(answer, FIELD + "\n", len(SACCT_FIELDS)):
        job_id, word, code, submitted, start, end, nodes, reason, user, name = parts
        when = moment(submitted) or 0.0
        if job_id not in newest or when >= newest[job_id][0]:
            state = _state(word, reason, nodes, start, end, user, name, _EXIT.match(code))
            newest[job_id] = (when, state)
    return [(job_id, state) for job_id, (_, state) in newest.items()], ""


def _records(answer: CommandOutput, terminator: str, count: int) -> Iterable[list[str]]:
    """Yield the fields of every record, the name last; raise SchedulerError for invalid output."""
    *records, tail = answer.stdout.split(terminator)
    if tail.strip():
        raise garbage(answer)
    for record in records:
        while record.startswith("CLUSTER:"):  # squeue -M, SLURM_CLUSTERS
            record = record.partition("\n")[2]
        parts = record.split(FIELD, count - 1)
        if len(parts) != count or not ID.match(parts[0]):
            raise garbage(answer)
        yield parts


def _state(
    word: str,
    reason: str,
    nodes: str,
    start: str,
    end: str,
    user: str,
    name: str,
    code: "re.Match[str] | None" = None,
) -> JobState:
    """Return a job's state from the words of squeue or sacct (`CANCELLED by 1000`, `COMPLETED+`)."""
    plain = re.split(r"[ +,(]", word, maxsplit=1)[0]
    state = STATES.get(plain, UNKNOWN)
    shown_reason = "" if reason in ("None", "(null)") else printable(reason)
    key = reason.split(",")[0].split("(")[0].strip()
    if state == QUEUED and key in HELD_REASONS:
        state = HELD
    ran, ended = nodes not in _NO_NODES, state not in OPEN_STATES
    exit_code, signal = _exit(state, int(code[1]), int(code[2])) if code else (None, None)
    started = True if ran and (ended or state in (RUNNING, ENDING)) else False if ended else None
    return JobState(
        state,
        word,
        reason=shown_reason,
        exit_code=exit_code,
        signal=signal,
        started=started,
        name=name,
        owner=user,
        hosts=hosts(nodes) if ran else (),
        never_runs=state in (QUEUED, HELD) and never_runs(key),
        start=moment(start) if started else None,
        end=moment(end) if ended else None,
    )


def _exit(state: str, code: int, signal: int) -> tuple[int | None, int | None]:
    """Return (exit code, signal), except meaningless values: 0:0 after a cancellation and 0:125 for memory."""
    if state not in (SUCCEEDED, FAILED) and code == 0:
        return None, signal if 0 < signal < 65 else None
    return (None, signal) if signal else (code, None)


def _exit_codes(answers: list[CommandOutput]) -> dict[str, int]:
    """Return wait(2) statuses by id from the fixed-width follow-up; lines of another form are skipped."""
    codes = {}
    for answer in answers:
        for line in answer.stdout.split("\n")[:-1] if answer.exit_code == 0 else ():
            job_id, _, status = line.strip().partition(" ")
            code = digits(status.strip()[:9])
            if ID.match(job_id) and code is not None:
                codes[job_id] = code
    return codes


def _finish(now: JobState, then: JobState | None, status: int | None) -> JobState:
    """Return squeue's state, completed by how the script ended according to accounting."""
    if now.state in OPEN_STATES:
        return now
    exit_code, signal = _exit(now.state, status >> 8, status & 0x7F) if status is not None else (None, None)
    raw = now.raw
    if then is not None and then.state == now.state:
        exit_code, signal, raw = then.exit_code, then.signal, then.raw
    return JobState(
        now.state,
        raw,
        reason=now.reason,
        exit_code=exit_code,
        signal=signal,
        started=now.started,
        name=now.name,
        owner=now.owner,
        hosts=now.hosts,
        start=now.start,
        end=now.end,
    )


def _worst(states: list[JobState]) -> JobState:
    """Return the state of a job or an array: of an open element, else of the worst ended one."""
    order = {state: position for position, state in enumerate(_WORST_FIRST)}
    return min(states, key=lambda entry: order.get(entry.state, len(order)))


def _refused(answer: CommandOutput) -> SchedulerError:
    """Return the error of a submission, by sbatch's message."""
    if not DOWN.search(answer.stderr):
        for pattern, key in REFUSALS:
            if pattern.search(answer.stderr):
                return _error(FAILURES[key], answer, transient=key == "user_limit")
    return failed(answer, otherwise="refused")


def failed(answer: CommandOutput, otherwise: str = "failed") -> SchedulerError:
    """Return the error of a command, by its message."""
    if DOWN.search(answer.stderr):
        return _error(
            Message(
                "schedulers.server_down",
                "The server of the scheduler does not answer: {words}",
                hint="Try again in a few minutes.",
            ),
            answer,
            transient=True,
        )
    if NOT_SET_UP.search(answer.stderr):
        otherwise = "not_set_up"
    return _error(FAILURES[otherwise], answer, transient=False)


def _error(identifier: str, answer: CommandOutput, *, transient: bool) -> SchedulerError:
    return SchedulerError(
        identifier, transient=transient, command=command(answer), code=answer.exit_code, words=words(answer)
    )


# ---- bracketed host lists

LIMIT = 10_000
"""Hosts that a list may name; a longer one is not expanded."""

_PART = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_GROUP = re.compile(r"([^\[]*)\[([^\]]*)\](.*)\Z", re.DOTALL)


def hosts(nodes: str) -> tuple[str, ...]:
    """Return the hosts of `node[1-2,07],login1`; an expression that is not understood stays as it is."""
    names: list[str] = []
    for part in _PART.findall(nodes):
        names += _expand(part.strip())
        if len(names) > LIMIT:
            return (nodes,)
    return tuple(names)


def _expand(text: str) -> list[str]:
    match = _GROUP.match(text)
    if not match:
        return [text] if text else []
    head, body, tail = match.groups()
    middles: list[str] = []
    for span in body.split(","):
        first, dash, last = span.partition("-")
        if not (first.isascii() and first.isdigit() and (not dash or (last.isascii() and last.isdigit()))):
            return [text]
        if dash and not 0 <= int(last) - int(first) < LIMIT:
            return [text]
        middles += [f"{number:0{len(first)}d}" for number in range(int(first), int(last or first) + 1)]
    tails = _expand(tail) or [""]
    if len(middles) * len(tails) > LIMIT:
        return [text]
    return [head + middle + end for middle in middles for end in tails]
