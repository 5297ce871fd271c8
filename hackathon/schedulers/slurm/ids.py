"""Slurm's job ids: `8`, `8_2`, `8_[1-3%1]`, `8+1`."""

import re

ID = re.compile(r"(\d+)(?:\+\d+)?(?:_(?:(\d+)|\[([\d,:%.-]+)\]))?\Z", re.ASCII)
JOB_IDS = re.compile(rf"(?=.{{1,200}}\Z){ID.pattern}", re.ASCII)
"""Ids that may be passed to a command."""
_PLAIN = re.compile(r"\d{1,9}(?:[_+]\d{1,9})?\Z", re.ASCII)


def is_plain(job_id: str) -> bool:
    """Return whether sacct accepts a text as a job id: another text spoils the answer for all ids."""
    return _PLAIN.match(job_id) is not None


def same(job_id: str, record_id: str) -> bool:
    """Return whether a record belongs to the id: `8` means every element of the array; `8_[1-3%1]` includes `8_2`."""
    own, record = ID.match(job_id), ID.match(record_id)
    if not own or not record or own[1] != record[1]:
        return False
    if own[2] is None:
        return True
    return own[2] == record[2] or (record[3] is not None and _within(int(own[2]), record[3]))


def _within(index: int, ranges: str) -> bool:
    for part in ranges.partition("%")[0].split(","):
        span, _, step = part.partition(":")
        first, _, last = span.partition("-")
        if not first.isdigit() or (last and not last.isdigit()) or (step and not step.isdigit()):
            continue
        if int(first) <= index <= int(last or first) and (index - int(first)) % max(1, int(step or 1)) == 0:
            return True
    return False
