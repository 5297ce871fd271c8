"""Query queued and then ended jobs, and combine the answers.

For an ended job the live table consists of its heading. Neither table has an end mark, so a job's absence from both
proves little: a run is lost only when a second answer a minute later is the same.
"""

from hackathon.schedulers.base import UNKNOWN, CommandOutput, JobState, StatusAnswer
from hackathon.schedulers.pjm import parse, table
from hackathon.schedulers.pjm.dialect import PjmDialect
from hackathon.schedulers.words import words

CHOSEN = "jid,st,ec,pc,sn,usr,ermsg"
"""Columns: one word each except the last. Not the name, which the table cuts, and no dates: a start may be planned."""
NAMED = "jid,jnam"
FEW = 8
"""Ids that are queried individually with a site's `pjstat -H`: its output for several ids is not documented."""


def questions(ids: list[str], dialect: PjmDialect) -> list[list[str]]:
    """Return the first query: jobs in the queue."""
    return [["pjstat"]] if dialect.table == table.SITE else [["pjstat", "-v", "--choose", CHOSEN, *ids]]


def follow_ups(answers: list[CommandOutput], ids: list[str], dialect: PjmDialect) -> list[list[str]]:
    """Return the query for ended jobs, if the first answer lacks some."""
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
    """Return queries for a few jobs that are missing in a site's list of ended ones, which may be incomplete."""
    past = ["pjstat", *_past(dialect)]
    if dialect.table != table.SITE or not any(answer.argv == tuple(past) for answer in answers):
        return []
    return [[*past, job_id] for job_id in _missing(answers, ids, dialect)[:FEW]]


def names(name: str, dialect: PjmDialect) -> list[list[str]]:
    """Return the queries for a name: filtered, because the tables cut names; a site's tables list all jobs.

    Each is sent twice: a list without its end looks complete, and a wrong "no such job" would submit a job again.
    """
    if dialect.table == table.SITE:
        once = [["pjstat"], ["pjstat", *_past(dialect)]]
    else:
        chosen = ["-v", "--choose", NAMED, "--filter", f"jnam={name}"]
        once = [["pjstat", *chosen], ["pjstat", *_past(dialect), *chosen]]
    return [*once, *once]


def status(answers: list[CommandOutput], ids: list[str], dialect: PjmDialect) -> StatusAnswer:
    """Return the jobs in the tables; only jobs in neither of two complete tables are absent.

    Every other id without a row is UNKNOWN (truncated or partial answer). Raises SchedulerError when the first answer
    is not a table, or the answers contain nothing about the ids.
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
    """Return whether complete tables of the queue and of ended jobs lack a job; the latter were queried by id."""
    complete = [answer for answer, job_table in tables if job_table is not None and job_table.whole]
    past = ("pjstat", *_past(dialect))
    live = any(answer is tables[0][0] for answer in complete)
    return live and any(answer.argv[: len(past)] == past and job_id in answer.argv for answer in complete)
