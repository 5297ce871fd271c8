"""How jobs are asked for, those in the queue and then those that ended, and what the answers say together.

The live table does not have a job that ended, and says so with its heading alone. Neither table has an end mark, so
that a job is in neither says little: a run is lost only when a second answer a minute later says the same.
"""

from hackathon.schedulers.base import UNKNOWN, CommandOutput, JobState, StatusAnswer
from hackathon.schedulers.pjm import parse, table
from hackathon.schedulers.pjm.dialect import PjmDialect
from hackathon.schedulers.words import words

CHOSEN = "jid,st,ec,pc,sn,usr,ermsg"
"""Columns: one word each but the last. Not the name, which the table cuts, and no dates: a planned start is none."""
NAMED = "jid,jnam"
FEW = 8
"""Ids that a site's `pjstat -H` is asked for one by one: several in one call are not on record."""


def questions(ids: list[str], dialect: PjmDialect) -> list[list[str]]:
    """Return the first question: jobs in the queue."""
    return [["pjstat"]] if dialect.table == table.SITE else [["pjstat", "-v", "--choose", CHOSEN, *ids]]


def follow_ups(answers: list[CommandOutput], ids: list[str], dialect: PjmDialect) -> list[list[str]]:
    """Return the question about ended jobs, where the first answer lacks some."""
    if table.read(answers[0], dialect.table) is None:
        return []
    missing = _missing(answers, ids, dialect)
    if not missing:
        return []
    past = ["pjstat", *_past(dialect)]
    if dialect.table == table.SITE:
        return [[*past, job_id] for job_id in missing] if len(missing) <= FEW else [past]
    return [[*past, "-v", "--choose", CHOSEN, *missing]]


def fall_back(answers: list[CommandOutput], ids: list[str], dialect: PjmDialect) -> list[list[str]]:
    """Return questions about a few jobs that a site's list of ended ones does not show: it may not show all."""
    past = ["pjstat", *_past(dialect)]
    if dialect.table != table.SITE or not any(answer.argv == tuple(past) for answer in answers):
        return []
    return [[*past, job_id] for job_id in _missing(answers, ids, dialect)[:FEW]]


def names(name: str, dialect: PjmDialect) -> list[list[str]]:
    """Return the questions for a name: filtered, for the tables cut names; a site's tables list all jobs.

    Each is asked twice: a list whose end is missing looks whole, and who takes it for "no such job" submits again.
    """
    if dialect.table == table.SITE:
        once = [["pjstat"], ["pjstat", *_past(dialect)]]
    else:
        chosen = ["-v", "--choose", NAMED, "--filter", f"jnam={name}"]
        once = [["pjstat", *chosen], ["pjstat", *_past(dialect), *chosen]]
    return [*once, *once]


def status(answers: list[CommandOutput], ids: list[str], dialect: PjmDialect) -> StatusAnswer:
    """Return the jobs that the tables show; absent are only those that neither of two whole tables has.

    Every other id without a row is UNKNOWN (torn or partial answer). Raises SchedulerError when the first answer is no
    table, or nothing in the answers is about the ids.
    """
    tables = [(answer, table.read(answer, dialect.table)) for answer in answers]
    if tables[0][1] is None:
        raise parse.nothing_said(answers[:1], dialect.table)
    jobs: dict[str, JobState] = {}
    silent = []
    for job_id in ids:
        rows = [job_table.rows[job_id] for _, job_table in tables if job_table is not None and job_id in job_table.rows]
        if rows:
            jobs[job_id] = parse.job_state(rows[-1])  # the later answer
        elif not _lack(tables, job_id, dialect):
            silent.append(job_id)
    if silent and len(silent) == len(ids):
        raise parse.nothing_said(answers, dialect.table)
    for job_id in silent:
        jobs[job_id] = JobState(UNKNOWN, "", reason=words(answers[-1]) if answers[-1].stderr.strip() else "")
    return StatusAnswer(jobs)


def _past(dialect: PjmDialect) -> list[str]:
    return ["-H", f"day={dialect.history_days}"] if dialect.history_days else ["-H"]


def _missing(answers: list[CommandOutput], ids: list[str], dialect: PjmDialect) -> list[str]:
    tables = [table.read(answer, dialect.table) for answer in answers]
    return [
        job_id for job_id in ids if not any(job_table is not None and job_id in job_table.rows for job_table in tables)
    ]


def _lack(tables: list[tuple[CommandOutput, table.JobTable | None]], job_id: str, dialect: PjmDialect) -> bool:
    """Return whether whole tables of the queue and of the ended jobs lack a job; the latter were asked for by id."""
    complete = [answer for answer, job_table in tables if job_table is not None and job_table.whole]
    past = ("pjstat", *_past(dialect))
    live = any(answer is tables[0][0] for answer in complete)
    return live and any(answer.argv[: len(past)] == past and job_id in answer.argv for answer in complete)
