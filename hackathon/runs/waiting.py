"""Watch runs until they have ended, for every command and program that waits."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hackathon.runs.states import CREATED, ENDED, LOST, SUCCEEDED, UNCERTAIN
from hackathon.runs.status import status

if TYPE_CHECKING:
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.states import RunStatus

SETTLING = 20.0
"""Seconds to wait after a run failed until the scheduler reports why."""
PAUSE = 1.0
"""Seconds between two checks of the run directories; the scheduler itself is asked at most every 30 s."""
Check = Callable[[list["RunStatus"]], bool]


def watch(
    runs: Sequence["RunDirectory"], check: Check | None = None, *, seconds: float | None = None
) -> list["RunStatus"]:
    """Return the states of runs when all are final, or after `seconds`; None waits without a limit.

    `check` is called once a second with the states; while it returns True the wait continues. It may add to `runs`.
    """
    begin = time.monotonic()
    ended: dict[str, float] = {}
    while True:
        states = status(list(runs))
        for state in states:
            if is_final(state):
                ended.setdefault(state.run_id, time.monotonic())
        more = check is not None and check(states)
        if not more and len(states) == len(runs) and all(_over(state, ended) for state in states):
            break
        if seconds is not None and time.monotonic() - begin >= seconds:
            return states
        time.sleep(PAUSE)
    for run in runs:  # while the job ran, files were looked for that did not exist yet
        run.files.appeared()
    return status(list(runs))


def is_final(state: "RunStatus") -> bool:
    """Return whether a run's state changes only by a user's action."""
    return state.state in ENDED or state.state in (UNCERTAIN, CREATED, LOST)


def _over(state: "RunStatus", ended: dict[str, float]) -> bool:
    """Return whether a run is final and its cause known, or not available in time."""
    if not is_final(state):
        return False
    settled = state.settled or state.sealed or state.state == SUCCEEDED
    return settled or time.monotonic() - ended[state.run_id] >= SETTLING
