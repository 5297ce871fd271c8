"""Combine the answers of Grid Engine's commands: states, ids, queues and accounting.

`samples/` has the output of a real Grid Engine 8.1.9 with three hosts.
"""

import re
from dataclasses import replace

from hackathon.schedulers.base import (
    ENDING,
    HELD,
    NO_ANSWER,
    NODE_FAILED,
    QUEUED,
    UNKNOWN,
    CommandOutput,
    JobState,
    StatusAnswer,
)
from hackathon.schedulers.gridengine import ids, listing, records
from hackathon.schedulers.gridengine.dialect import GridEngineDialect
from hackathon.schedulers.gridengine.refusals import ANSWERED, failed, garbage, plain_words
from hackathon.schedulers.reports import JobAccounting, QueueInfo
from hackathon.text.messages import _

FEW = 8
"""Ended jobs that are queried individually."""
OUR_NAMES = "hk-*"
"""The names that runs give their jobs."""
MOST_WAITING = 40
"""Waiting jobs whose reason a status query asks for."""

LIST = ["qstat", "-u", "*", "-xml"]
SILENT_HOSTS = ["qstat", "-f", "-qs", "u", "-u", "*", "-xml"]
"""Queues on unresponsive hosts, with their jobs."""
_SUBMITTED = re.compile(r"^Your job(?:-array)? (\S+) \(.*\) has been submitted$", re.MULTILINE)
_TOLD = re.compile(r"has (?:registered the job|deleted job)|already in deletion")
_GONE = re.compile(r"job \"?\S+?\"? does not exist")
_QUEUE = re.compile(r"([A-Za-z0-9]\S*) +(?:\S+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) *\Z", re.ASCII)


def submitted_id(answer: CommandOutput) -> str:
    """Return the job id that `qsub -terse` prints: the last line with an id, as a site may print news and points."""
    if answer.exit_code:
        error = failed(answer, otherwise="refused")
        error.no_job = error.id in ANSWERED
        raise error
    lines = answer.stdout.split("\n")[:-1]
    job_ids = [line.strip() for line in lines if ids.JOB_IDS.match(line.strip())]
    if not job_ids:
        job_ids = [job_id for job_id in _SUBMITTED.findall("\n".join(lines) + "\n") if ids.JOB_IDS.match(job_id)]
    if not job_ids:
        raise garbage(answer)
    return job_ids[-1]


def was_told(answer: CommandOutput) -> bool:
    """Return True when the job is being deleted, False when it is gone. A deletion always prints its result."""
    output = answer.stdout + answer.stderr
    if _TOLD.search(output):
        return True
    if answer.exit_code and _GONE.search(output):
        return False
    raise failed(answer) if answer.exit_code else garbage(answer)


def records_of(job_ids: list[str]) -> list[list[str]]:
    """Return the queries for records of ended jobs: few by number, many by the names that runs have.

    Each query searches the whole accounting file, and `qacct -j 1,2` answers only for 1.
    """
    numbers = list(dict.fromkeys(map(ids.job_number, job_ids)))
    return [["qacct", "-j", number] for number in numbers] if len(numbers) <= FEW else [["qacct", "-j", OUR_NAMES]]


def not_named(answers: list[CommandOutput], job_ids: list[str]) -> list[list[str]]:
    """Return queries by number for a few of the jobs that are not among the records by name."""
    named = [answer for answer in answers if answer.argv[-1] == OUR_NAMES]
    if not named:
        return []
    numbers = {life.number for life in records.lives(named[0], several=True)}
    numbers |= {entry.number for answer in answers if answer.argv[0] == "qstat" for entry in listing.entries(answer)}
    return records_of([job_id for job_id in job_ids if ids.job_number(job_id) not in numbers][:FEW])


def follow_ups(answers: list[CommandOutput], job_ids: list[str], history: str) -> list[list[str]]:
    """Return the queries that the list of jobs makes necessary.

    They ask why jobs wait, how others ended, and which jobs in deletion are on unresponsive hosts.
    """
    first = answers[0]
    if first.argv[0] == "qacct":
        return not_named(answers, job_ids)
    if not listing.is_whole(first):
        return []
    jobs = listing.by_number(first)
    numbers = list(dict.fromkeys(map(ids.job_number, job_ids)))
    states = {number: listing.job_state(jobs[number]).state for number in numbers if number in jobs}
    waiting = [number for number, state in states.items() if state in (QUEUED, HELD)]
    ended = [number for number in numbers if number not in jobs] if history == "qacct" else []
    return [
        *([["qstat", "-j", ",".join(waiting[:MOST_WAITING])]] if waiting else []),
        *([SILENT_HOSTS] if ENDING in states.values() else []),
        *(records_of(ended) if ended else []),
    ]


def status(answers: list[CommandOutput], job_ids: list[str], history: str) -> StatusAnswer:
    """Return the jobs in the list or in the records.

    A job is absent when a complete list and the records lack it. A job without a query or a complete answer is UNKNOWN.
    Raises SchedulerError when the list contains nothing about the ids.
    """
    first, *further = answers
    if first.exit_code:
        raise failed(first)
    complete = listing.is_whole(first)
    listed = listing.by_number(first)
    why: dict[str, str] = {}
    silent_hosts: dict[str, str] = {}
    on_record: list[CommandOutput] = []
    for answer in further:
        if answer.argv[0] == "qacct":
            on_record.append(answer)
        elif list(answer.argv) == SILENT_HOSTS:
            silent_hosts = listing.hosts_of(answer)
        else:
            why |= listing.reasons(answer)
    jobs: dict[str, JobState] = {}
    for job_id in job_ids:
        number, tasks = ids.job_number(job_id), ids.tasks(job_id)
        mine = [entry for entry in listed.get(number, ()) if ids.has_task(entry.tasks, tasks)]
        if mine:
            jobs[job_id] = listing.job_state(mine, why.get(number, ""))
            if jobs[job_id].state == ENDING and number in silent_hosts:
                # it ends when the host is back or an administrator deletes it; until then it makes no progress
                reason = _(
                    "host {host} does not answer; an administrator can remove the job with `qdel -f`",
                    host=silent_hosts[number],
                )
                jobs[job_id] = replace(jobs[job_id], state=NODE_FAILED, reason=reason)
        elif not complete:
            jobs[job_id] = JobState(UNKNOWN, "")
        elif history == "qacct" and (ended := _ended(on_record, job_id)) is not None:
            jobs[job_id] = ended
    if not complete and not any(state.raw for state in jobs.values()):
        raise garbage(first)
    return StatusAnswer(jobs)


def _ended(answers: list[CommandOutput], job_id: str) -> JobState | None:
    """Return how a job ended by its record, None where there is none: a job that never ran has none either."""
    number, tasks = ids.job_number(job_id), ids.tasks(job_id)
    reason = ""
    for answer in answers:
        if answer.argv[-1] == number and records.lacks(answer):
            return None
        lives = [life for life in records.lives(answer, number) if ids.has_task(life.task, tasks)]
        if (state := records.job_state(lives)) is not None:
            return state
        if answer.argv[-1] == number and answer.exit_code not in (0, NO_ANSWER):
            reason = plain_words(answer)
    return JobState(UNKNOWN, "", reason=reason)  # the next status query asks again


def found_ids(answers: list[CommandOutput], name: str | None = None) -> list[str]:
    """Return the ids of jobs with a name in the list and in the records, the oldest first.

    Raises SchedulerError when it is not certain that there are none.
    """
    numbers: set[str] = set()
    doubt: CommandOutput | None = None
    for answer in answers:
        if answer.argv[0] == "qacct":
            lives = records.lives(answer, several=True)
            numbers |= {life.number for life in lives if name in (None, life.name)}
            if not lives and not records.lacks(answer):
                doubt = answer
        else:
            if answer.exit_code:
                raise failed(answer)
            numbers |= {entry.number for entry in listing.entries(answer) if name in (None, entry.name)}
            if not listing.is_whole(answer):
                doubt = answer
    if doubt is not None and not numbers:
        raise failed(doubt) if doubt.exit_code else garbage(doubt)
    return sorted(numbers, key=int)


def queues(answer: CommandOutput) -> list[QueueInfo]:
    """Return the queues with their slots; a queue is closed if all its slots are disabled or in error."""
    if answer.exit_code:
        raise failed(answer)
    queue_infos = []
    for line in answer.stdout.split("\n")[:-1]:
        if match := _QUEUE.match(line):
            used, total, off = int(match[2]), int(match[5]), int(match[7])
            note = _("{used} of {total} slots in use", used=used, total=total)
            queue_infos.append(QueueInfo(match[1], enabled=off < total, note=note))
    if not queue_infos:
        raise garbage(answer)
    return queue_infos


def accounts(answers: list[CommandOutput], job_ids: list[str], dialect: GridEngineDialect) -> dict[str, JobAccounting]:
    """Return the accounting of each job. Raises SchedulerError without any answer."""
    for answer in answers:
        if answer.exit_code and not records.lacks(answer):
            raise failed(answer)
    accounts_by_id: dict[str, JobAccounting] = {}
    for job_id in job_ids:
        number, tasks = ids.job_number(job_id), ids.tasks(job_id)
        for answer in answers:
            lives = [life for life in records.lives(answer, number) if ids.has_task(life.task, tasks)]
            if lives:
                accounts_by_id[job_id] = records.account(lives, dialect)
    return accounts_by_id
