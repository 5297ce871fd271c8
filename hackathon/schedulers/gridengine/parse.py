"""What Grid Engine's commands say together: states, ids, queues and bills.

What a real Grid Engine 8.1.9 with three hosts printed lies in `samples/`.
"""

import re

from hackathon.schedulers.accounting import JobAccounting
from hackathon.schedulers.base import NO_ANSWER, UNKNOWN, CommandOutput, JobState, QueueInfo, StatusAnswer
from hackathon.schedulers.gridengine import ids, listing, records
from hackathon.schedulers.gridengine.dialect import GridEngineDialect
from hackathon.schedulers.gridengine.refusals import failed, garbage, plain_words
from hackathon.text.messages import message

MOST_ENDED = 8
"""Ended jobs that a status question asks for: each is a search through the file of all accounts."""
MOST_WAITING = 40
"""Waiting jobs of which a status question asks for the reason."""

LIST = ["qstat", "-u", "*", "-xml"]
_SUBMITTED = re.compile(r"^Your job(?:-array)? (\S+) \(.*\) has been submitted$", re.MULTILINE)
_TOLD = re.compile(r"has (?:registered the job|deleted job)|already in deletion")
_GONE = re.compile(r"job \"?\S+?\"? does not exist")
_QUEUE = re.compile(r"([A-Za-z0-9]\S*) +(?:\S+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) *\Z", re.ASCII)


def submitted_id(answer: CommandOutput) -> str:
    """Return the job id that `qsub -terse` prints, the last line that is one: a site may print news and points."""
    if answer.exit_code:
        raise failed(answer, otherwise="refused")
    lines = answer.stdout.split("\n")[:-1]
    found = [line.strip() for line in lines if ids.JOB_IDS.match(line.strip())]
    if not found:
        found = [each for each in _SUBMITTED.findall("\n".join(lines) + "\n") if ids.JOB_IDS.match(each)]
    if not found:
        raise garbage(answer)
    return found[-1]


def was_told(answer: CommandOutput) -> bool:
    """Return True when told to end, False when the job is gone. A deletion always prints what it did."""
    said = answer.stdout + answer.stderr
    if _TOLD.search(said):
        return True
    if answer.exit_code and _GONE.search(said):
        return False
    raise failed(answer) if answer.exit_code else garbage(answer)


def follow_ups(answers: list[CommandOutput], wanted: list[str], history: str) -> list[list[str]]:
    """Return the questions that the list of jobs makes necessary: why some wait, and how some ended.

    `qacct -j 1,2` answers for 1 only, so each ended job is a question; a few at a time.
    """
    first = answers[0]
    if list(first.argv) != LIST or not listing.is_whole(first):
        return []
    shown = {entry.number: entry for entry in listing.entries(first)}
    numbers = list(dict.fromkeys(map(ids.number, wanted)))
    waiting = [each for each in numbers if each in shown and listing.is_stuck(shown[each])]
    ended = [each for each in numbers if each not in shown] if history == "qacct" else []
    return [
        *([["qstat", "-j", ",".join(waiting[:MOST_WAITING])]] if waiting else []),
        *(["qacct", "-j", each] for each in ended[:MOST_ENDED]),
    ]


def status(answers: list[CommandOutput], wanted: list[str], history: str) -> StatusAnswer:
    """Return the jobs that are in the list or on record.

    A job is absent when a whole list lacks it and there is no record of it. What was not asked, or not answered to its
    end, is UNKNOWN. Raises SchedulerError when the list says nothing about the ids.
    """
    first, *others = answers
    if first.exit_code:
        raise failed(first)
    whole = listing.is_whole(first)
    shown: dict[str, list[listing.ListedJob]] = {}
    for entry in listing.entries(first):
        shown.setdefault(entry.number, []).append(entry)
    why: dict[str, str] = {}
    records_of: dict[str, CommandOutput] = {}
    for answer in others:
        if answer.argv[0] == "qacct":
            records_of[answer.argv[-1]] = answer
        elif answer.argv[:2] == ("qstat", "-j"):
            why |= listing.reasons(answer)
    jobs: dict[str, JobState] = {}
    silent = 0
    for job_id in wanted:
        number, tasks = ids.number(job_id), ids.tasks(job_id)
        mine = [entry for entry in shown.get(number, ()) if ids.has_task(entry.tasks, tasks)]
        if mine:
            jobs[job_id] = listing.job_state(mine, why.get(number, ""))
        elif not whole:
            silent += 1
            jobs[job_id] = JobState(UNKNOWN, "")
        elif history == "qacct":
            ended = _ended(records_of.get(number), job_id)
            if ended is not None:
                jobs[job_id] = ended
    if silent and silent == len(wanted):
        raise garbage(first)
    return StatusAnswer(jobs)


def _ended(answer: CommandOutput | None, job_id: str) -> JobState | None:
    """Return how a job ended by its record, None where there is none: a job that never ran has none either."""
    if answer is None:
        return JobState(UNKNOWN, "")  # asked the next time
    if records.lacks(answer):
        return None
    wanted = ids.tasks(job_id)
    lives = [life for life in records.lives(answer) if life.number == ids.number(job_id)]
    found = [life for life in lives if ids.has_task(life.task, wanted)]
    reason = "" if found or answer.exit_code == NO_ANSWER else plain_words(answer)
    return records.job_state(found) or JobState(UNKNOWN, "", reason=reason)


def found_ids(answers: list[CommandOutput], name: str | None = None) -> list[str]:
    """Return the ids of jobs of a name in the list and on record, the oldest first.

    Raises SchedulerError where it would not be certain that there is none.
    """
    numbers: set[str] = set()
    doubt: CommandOutput | None = None
    for answer in answers:
        if answer.argv[0] == "qacct":
            lives = records.lives(answer)
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
    """Return the queues with their slots; one whose slots are all switched off or in error takes no jobs now."""
    if answer.exit_code:
        raise failed(answer)
    found = []
    for line in answer.stdout.split("\n")[:-1]:
        if match := _QUEUE.match(line):
            used, total, off = int(match[2]), int(match[5]), int(match[7])
            note = message("schedulers.slots_note", used=used, total=total)
            found.append(QueueInfo(match[1], enabled=off < total, note=note))
    if not found:
        raise garbage(answer)
    return found


def accounts(answers: list[CommandOutput], wanted: list[str], dialect: GridEngineDialect) -> dict[str, JobAccounting]:
    """Return what is on record of each job. Raises SchedulerError when nothing is answered."""
    by_number = {answer.argv[-1]: answer for answer in answers if answer.argv[0] == "qacct"}
    found: dict[str, JobAccounting] = {}
    for job_id in wanted:
        answer = by_number.get(ids.number(job_id))
        if answer is None or records.lacks(answer):
            continue
        if answer.exit_code:
            raise failed(answer)
        lives = [life for life in records.lives(answer) if ids.has_task(life.task, ids.tasks(job_id))]
        if lives:
            found[job_id] = records.account(lives, dialect)
    return found
