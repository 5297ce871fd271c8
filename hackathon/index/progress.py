"""Whether a running job makes progress, by its newest output."""

from hackathon.index.record import RunEntry
from hackathon.runs.states import RUNNING

STANDS, INTERVALS = 5 * 60.0, 20
"""A run makes no progress without a new line for so many seconds and so many of its intervals."""


def makes_no_progress(run: RunEntry, now: float) -> bool:
    """Return whether a running job has written nothing for too long; `now`: seconds since 1970."""
    if run.state != RUNNING or run.started is None:
        return False
    return now - max(run.progress or 0.0, run.started) > max(STANDS, INTERVALS * (run.interval or 0.0))
