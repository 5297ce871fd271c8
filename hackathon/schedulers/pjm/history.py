"""Combine the answers about queued and about ended jobs.

For an ended job the live table consists of its heading. Neither table has an end mark, so a job's absence from both
proves little: a run is lost only when a second answer a minute later is the same.
"""

from hackathon.schedulers.base import UNKNOWN, CommandOutput, JobState, StatusAnswer
from hackathon.schedulers.pjm import parse, table
from hackathon.schedulers.words import words


def status(answers: list[CommandOutput], ids: list[str], variant: str, past: tuple[str, ...]) -> StatusAnswer:
    """Return the jobs in the tables; only jobs in neither of two complete tables are absent.

    Every other id without a row is UNKNOWN (truncated or partial answer). Raises SchedulerError when the first answer
    is not a table, or the answers contain nothing about the ids. `variant`: the form of the tables; `past`: the command
    for ended jobs.
    """
    tables = [(answer, table.read(answer, variant)) for answer in answers]
    if tables[0][1] is None:
        raise parse.nothing_said(answers[:1], variant)
    jobs: dict[str, JobState] = {}
    silent = []
    for job_id in ids:
        rows = [job_table.rows[job_id] for _, job_table in tables if job_table is not None and job_id in job_table.rows]
        if rows:
            jobs[job_id] = parse.job_state(rows[-1])  # the later answer
        elif not _lack(tables, job_id, past):
            silent.append(job_id)
    if silent and len(silent) == len(ids):
        raise parse.nothing_said(answers, variant)
    for job_id in silent:
        jobs[job_id] = JobState(UNKNOWN, "", reason=words(answers[-1]) if answers[-1].stderr.strip() else "")
    return StatusAnswer(jobs)


def missing(answers: list[CommandOutput], ids: list[str], variant: str) -> list[str]:
    """Return the ids that no table lists."""
    tables = [table.read(answer, variant) for answer in answers]
    return [
        job_id for job_id in ids if not any(job_table is not None and job_id in job_table.rows for job_table in tables)
    ]


def _lack(tables: list[tuple[CommandOutput, table.JobTable | None]], job_id: str, past: tuple[str, ...]) -> bool:
    """Return whether complete tables of the queue and of ended jobs lack a job; the latter were queried by id."""
    complete = [answer for answer, job_table in tables if job_table is not None and job_table.whole]
    live = any(answer is tables[0][0] for answer in complete)
    return live and any(answer.argv[: len(past)] == past and job_id in answer.argv for answer in complete)
