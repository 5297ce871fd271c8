"""The states of a run and the one table that decides them. Pure: markers and the scheduler's report in, state out."""

from dataclasses import asdict, dataclass, fields, replace
from signal import SIGTERM
from typing import Any

from hackathon.runs.markers import Markers
from hackathon.schedulers import base
from hackathon.schedulers.base import JobState
from hackathon.schedulers.reasons import REASONS
from hackathon.text.messages import translations
from hackathon.text.numbers import finite, integer
from hackathon.text.told import Told, tell

_CAUSE_MESSAGES = {
    "exit": "runs.cause_exit",
    "signal": "runs.cause_signal",
    "walltime": "runs.cause_walltime",
    "memory": "runs.cause_memory",
    "cancelled": "runs.cause_cancelled",
    "node": "runs.cause_node",
    "never_started": "runs.cause_never_started",
    "no_trace": "runs.cause_no_trace",
    "no_cause": "runs.cause_no_cause",
    "never_runs": "runs.cause_never_runs",
    "preflight_failed": "runs.cause_preflight_failed",
    "refused": "runs.cause_refused",
    "uncertain": "runs.cause_uncertain",
    "unsearched": "runs.cause_unsearched",
    "lost": "runs.cause_lost",
}

CREATED, QUEUED, HELD, RUNNING, ENDING = "CREATED", "QUEUED", "HELD", "RUNNING", "ENDING"
SUCCEEDED, FAILED, TIMEOUT, OUT_OF_MEMORY = "SUCCEEDED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY"
CANCELLED, NODE_FAILED, LOST, UNCERTAIN = "CANCELLED", "NODE_FAILED", "LOST", "UNCERTAIN"
STATES = (
    CREATED, QUEUED, HELD, RUNNING, ENDING, SUCCEEDED, FAILED, TIMEOUT, OUT_OF_MEMORY, CANCELLED, NODE_FAILED, LOST,
    UNCERTAIN,
)  # fmt: skip
OPEN = frozenset({QUEUED, HELD, RUNNING, ENDING, UNCERTAIN})
"""States of a run that is, or may be, with the scheduler."""
ENDED = frozenset({SUCCEEDED, FAILED, TIMEOUT, OUT_OF_MEMORY, CANCELLED, NODE_FAILED})

CLOCKS_APART = 300.0
"""Seconds between two times in the wrong order from which they must come from different clocks."""

# Causes that only the scheduler knows: its state → the run's state and cause.
_CAUSES = {
    base.TIMEOUT: (TIMEOUT, "walltime"),
    base.OUT_OF_MEMORY: (OUT_OF_MEMORY, "memory"),
    base.CANCELLED: (CANCELLED, "cancelled"),
    base.NODE_FAILED: (NODE_FAILED, "node"),
}


_SIGXCPU = 24
"""Some schedulers send it at the walltime; so does the kernel at a process's limit of CPU time (signal(7))."""
_CLOCKS_APART = 30.0
"""Seconds by which a scheduler's clock of a job may have started before the script's."""


@dataclass(frozen=True)
class RunStatus:
    """The state of one run. Times are seconds since 1970."""

    run_id: str
    state: str
    """One of STATES."""
    cause: str = ""
    """The cause as one word; empty when the state needs none.

    exit, signal, walltime, memory, cancelled, node, never_started, no_trace, no_cause, never_runs, preflight_failed,
    refused, uncertain or lost.
    """
    reason: str = ""
    """The cause in the scheduler's words."""
    raw: str = ""
    """The scheduler's own state code."""
    exit_code: int | None = None
    signal: int | None = None
    job_id: str | None = None
    attempt: int = 1
    t_created: float | None = None
    t_submitted: float | None = None
    t_started: float | None = None
    t_ended: float | None = None
    stale_seconds: float | None = None
    """Age of the information when the scheduler did not answer; None when it is current or no answer is needed."""
    hosts: tuple[str, ...] = ()
    sealed: bool = False
    """`final.json` exists: the scheduler is never asked again."""
    settled: bool = False
    """The run has ended and its cause is known; an unsettled FAILED may still become, e.g., TIMEOUT."""
    problem: str = ""
    """Why the scheduler did not answer."""
    first_rank: int | None = None
    """The rank that failed first by the ranks' records; launchers stop the others, which exit with other codes."""
    first_host: str = ""
    first_exit_code: int | None = None
    first_signal: int | None = None

    @property
    def open(self) -> bool:
        """Whether the run is, or may be, with the scheduler."""
        return self.state in OPEN

    @property
    def reasons(self) -> tuple[Told | str, ...]:
        """The cause, the rank that failed first, and the scheduler's message; empty without any."""
        rank = "runs.first_rank_signal" if self.first_signal else "runs.first_rank_exit"
        unsearched = self.cause == "uncertain" and self.problem
        key = _CAUSE_MESSAGES.get("unsearched" if unsearched else self.cause)
        cause = tell(key, exit_code=self.exit_code, signal=self.signal) if key else self.cause
        first: Told | str = ""
        if self.first_rank is not None:
            first = tell(
                "runs.first_rank_vanished" if self.first_exit_code is None else rank,
                rank=self.first_rank, host=self.first_host, code=self.first_exit_code, signal=self.first_signal,
            )  # fmt: skip
        if first and self.cause == "exit" and self.first_exit_code == self.exit_code:
            cause = ""  # the launcher exits with the rank's own code
        return tuple(reason for reason in (cause, first, self.reason) if reason)

    @property
    def explanation(self) -> str:
        """One line in the current language: the cause and the scheduler's message; empty without any."""
        return ": ".join(map(str, self.reasons))

    @property
    def beside_state(self) -> str:
        """The explanation for a line that already shows the state, without repeating it."""
        text = REASONS.get(self.cause, "")
        repeated = bool(text) and self.reason in translations(text)  # written in either language
        repeats_state = self.state == CANCELLED and self.cause == "cancelled"
        return replace(
            self, cause="" if repeats_state else self.cause, reason="" if repeated else self.reason
        ).explanation

    def to_json(self) -> dict[str, Any]:
        """Return the status as JSON values."""
        return {**asdict(self), "hosts": list(self.hosts)}

    @classmethod
    def from_final(cls, run_id: str, final: dict[str, Any]) -> "RunStatus":
        """Return the status from a `final.json`; unknown fields are dropped.

        So are fields of the wrong type: a person or a program may have changed the file.
        """
        sealed = {name: value for name, value in final.items() if name in _SEALED and _fits(name, value)}
        hosts = sealed.get("hosts")
        sealed["hosts"] = tuple(host for host in hosts if isinstance(host, str)) if isinstance(hosts, list) else ()
        return cls(run_id=run_id, **{"state": LOST, **sealed, "sealed": True, "settled": True})


_SEALED = frozenset(entry.name for entry in fields(RunStatus)) - {
    "run_id",
    "sealed",
    "settled",
    "stale_seconds",
    "problem",
}


_NUMBERS = frozenset({"exit_code", "signal", "attempt", "first_rank", "first_exit_code", "first_signal"})


def _fits(name: str, value: object) -> bool:
    """Return whether a field of a seal has the right type."""
    if name == "hosts" or (value is None and name not in ("state", "cause", "reason", "raw", "first_host", "attempt")):
        return True
    if name in _NUMBERS:
        return integer(value) is not None
    return finite(value) is not None if name.startswith("t_") else isinstance(value, str)


def decide(markers: Markers, job: JobState | None, *, lost: bool = False, run_id: str = "") -> RunStatus:
    """Return the state of a run that is not sealed.

    `job`: the scheduler's current or last report on its job; None without one. `lost`: two successful answers, newer
    than the submission and at least 60 s apart, did not contain the job, and the markers were read again.
    """
    status = RunStatus(
        run_id=run_id,
        state=CREATED,
        raw=job.raw if job else "",
        reason=job.reason if job else "",
        job_id=markers.job_id,
        attempt=markers.attempt,
        t_created=markers.created,
        t_submitted=markers.submitted or markers.submitting,
        t_started=markers.started or (job.start if job and job.started is not False else None),
        t_ended=markers.ended,
        hosts=(job.hosts if job else ()) or ((markers.host,) if markers.host else ()),
    )
    if markers.ended is not None:
        return _ended(status, markers, job)
    if markers.job_id is None:
        return _not_submitted(status, markers)
    if job is None:
        return _unseen(status, markers, lost)
    if job.state in base.OPEN_STATES:
        return _open(status, markers, job)
    return _finished(status, markers, job)


def _ended(status: RunStatus, markers: Markers, job: JobState | None) -> RunStatus:
    """Decide a run whose job script recorded its end.

    Exit code 0 is final; for others the scheduler may know a cause.
    """
    status = replace(status, exit_code=markers.exit_code, signal=markers.signal)
    if markers.exit_code == 0:
        return replace(status, state=SUCCEEDED, settled=True)
    if job is not None and job.state in _CAUSES:
        state, cause = _CAUSES[job.state]
        return replace(status, state=state, cause=cause, settled=True)
    if job is not None and job.state in (base.QUEUED, base.HELD):
        return _open(replace(status, exit_code=None, signal=None, t_ended=None), markers, job)  # it was requeued
    settled = job is not None and job.state not in base.OPEN_STATES
    if markers.signal == _SIGXCPU and _at_deadline(markers) and (job is None or job.state == base.FINISHED):
        return replace(status, state=TIMEOUT, cause="walltime", settled=settled)  # the scheduler gives no cause
    # the script itself was stopped, or only its ranks
    terminated = markers.signal == SIGTERM or markers.exit_code == 128 + SIGTERM
    if job is not None and job.state in (base.RUNNING, base.ENDING) and terminated:
        # e.g. a time limit or a cancellation: the scheduler reports which in a few seconds
        return replace(status, state=ENDING, exit_code=None, signal=None)
    if _told_to_end(markers) and (job is None or job.state == base.FINISHED):
        return replace(status, state=CANCELLED, cause="cancelled", settled=settled)
    return replace(status, state=FAILED, cause="signal" if markers.signal else "exit", settled=settled)


def _told_to_end(markers: Markers) -> bool:
    """Return whether somebody cancelled the job before it ended.

    `cancel` records nothing for a job that has ended, but it may notice an end slightly late. A recorded end long
    before the cancellation comes from another clock.
    """
    if markers.cancelled is None or markers.ended is None:
        return False
    return not 0.0 < markers.cancelled - markers.ended < CLOCKS_APART


def _not_submitted(status: RunStatus, markers: Markers) -> RunStatus:
    if markers.submitting is None:
        return status
    if markers.refused is not None:
        return replace(status, state=FAILED, cause="refused", reason=markers.refused, settled=True)
    return replace(status, state=UNCERTAIN, cause="uncertain")


def _unseen(status: RunStatus, markers: Markers, lost: bool) -> RunStatus:
    if lost and markers.cancelled is not None:
        return replace(status, state=CANCELLED, cause="cancelled", settled=True)
    if lost:
        return replace(status, state=LOST, cause="lost")
    return replace(status, state=RUNNING if _began(markers) else QUEUED)


def _open(status: RunStatus, markers: Markers, job: JobState) -> RunStatus:
    if job.state == base.UNKNOWN:  # an unknown state code: the markers are more reliable
        return replace(status, state=RUNNING if _began(markers) else QUEUED)
    return replace(status, state=job.state, cause="never_runs" if job.never_runs else "")


def _finished(status: RunStatus, markers: Markers, job: JobState) -> RunStatus:
    """Decide a run whose job is over for the scheduler but recorded no end: it was killed, or never began."""
    began = _began(markers) or markers.adopted
    status = replace(status, exit_code=job.exit_code, signal=job.signal, t_ended=job.end, settled=True)
    if job.state == base.CANCELLED:
        return replace(status, state=CANCELLED, cause="cancelled")
    if not began and job.started is False:
        return replace(status, state=FAILED, cause="never_started")
    if job.state in _CAUSES:
        state, cause = _CAUSES[job.state]
        return replace(status, state=state, cause=cause)
    if not began:
        return replace(status, state=FAILED, cause="no_trace" if job.started else "never_started")
    if job.state == base.SUCCEEDED or (job.state == base.FINISHED and job.exit_code == 0 and not job.signal):
        return replace(status, state=SUCCEEDED)
    if markers.cancelled is not None and job.state == base.FINISHED:
        return replace(status, state=CANCELLED, cause="cancelled")
    cause = "signal" if job.signal else "exit" if job.exit_code is not None else "no_cause"
    return replace(status, state=FAILED, cause=cause)


def _at_deadline(markers: Markers) -> bool:
    ended, deadline = markers.ended, markers.deadline
    return ended is not None and deadline is not None and ended >= deadline - _CLOCKS_APART


def _began(markers: Markers) -> bool:
    return markers.started is not None or markers.claimed
