"""Ids of jobs and of tasks of an array: `12`, `7.3`, and `7.1-4:2` as `qsub -terse` prints an array's."""

import re

JOB_IDS = re.compile(r"[1-9]\d{0,9}(?:\.\d{1,7}(?:-\d{1,7}(?::\d{1,7})?)?)?\Z", re.ASCII)
"""Without leading zeros: `0000` may be a balance."""
_RANGE = re.compile(r"(\d{1,7})(?:-(\d{1,7})(?::(\d{1,7}))?)?\Z", re.ASCII)


def job_number(job_id: str) -> str:
    """Return the job's number without tasks."""
    return job_id.partition(".")[0]


def tasks(job_id: str) -> range | None:
    """Return the tasks in an id; None for a whole job."""
    match = _RANGE.match(job_id.partition(".")[2])
    return _range(match) if match else None


def has_task(tasks: str, numbers: range | None) -> bool:
    """Return whether a list of tasks (`1,3-9:2`) contains one of these; an empty list is a job without tasks."""
    if numbers is None or not tasks:
        return numbers is None
    ranges = [_range(match) for part in tasks.split(",") if (match := _RANGE.match(part))]
    return any(
        numbers.start in task_range if len(numbers) == 1 else set(numbers) & set(task_range) for task_range in ranges
    )


def same(job_id: str, other: str) -> bool:
    """Return whether two ids are of one job: a job's number covers its tasks."""
    return job_id == other or (
        job_number(job_id) == job_number(other) and "" in (job_id.partition(".")[2], other.partition(".")[2])
    )


def _range(match: re.Match[str]) -> range:
    first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
    return range(first, last + 1, max(1, step))
