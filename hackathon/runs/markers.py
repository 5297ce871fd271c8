"""What a run's own directory says about its state, read in as few files as will do."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hackathon.runs.directory import BY_HAND, RunDirectory, is_refused
from hackathon.runs.events import job_events
from hackathon.text.files import LARGEST
from hackathon.text.numbers import integer, number


@dataclass(frozen=True)
class Markers:
    """Facts of one run directory. Times are seconds since 1970."""

    created: float | None = None
    submitting: float | None = None
    """When the latest attempt to submit began; None before the first."""
    submitted: float | None = None
    """When the job's id was written down."""
    refused: str | None = None
    """What the scheduler said when it refused the latest attempt."""
    cancelled: float | None = None
    """When its owner told it to end."""
    after: bool = False
    """It waits for another run: `client/after.json`."""
    adopted: bool = False
    """The job was submitted by hand and writes no markers."""
    job_id: str | None = None
    by_hand: bool = False
    """The script was started without a scheduler, so nobody can be asked."""
    claimed: bool = False
    """A job took the run."""
    attempt: int = 1
    """The latest attempt: a requeue raises it."""
    started: float | None = None
    """When the latest attempt began."""
    deadline: float | None = None
    """When the latest attempt's walltime ends, as its script reckoned."""
    ended: float | None = None
    """When the latest attempt ended; None while it runs and after a SIGKILL."""
    exit_code: int | None = None
    signal: int | None = None
    host: str | None = None

    @property
    def stage(self) -> int:
        """How far the job has come: grows with every attempt that begins, and with its end."""
        return 3 * self.attempt + (2 if self.ended is not None else 1 if self.started is not None else 0)


def read_markers(run: RunDirectory) -> Markers:
    """Return a run's markers: one look at `client/`, and only those files that are there."""
    present = run.files.kinds("client")

    def fact(name: str) -> dict[str, Any]:
        return run.client(name) if f"{name}.json" in present else {}

    attempt, submitting = run.submitting() if any(name.startswith("submitting") for name in present) else (0, {})
    submitted = fact("submitted") or fact("recovered")
    refused = is_refused(run, attempt) if "refused.json" in present else {}
    adopted = fact("adopted")
    claimed = run.claim()
    job_id = claimed or submitted.get("job_id") or adopted.get("job_id")
    return Markers(
        created=number(fact("created").get("t")),
        submitting=(number(submitting.get("t")) or 0.0) if attempt else None,
        submitted=number(submitted.get("t")) or number(adopted.get("t")),
        refused=str(refused.get("message", "")) if refused else None,
        cancelled=number(fact("cancelled").get("t")),
        after="after.json" in present,
        adopted=bool(adopted),
        job_id=str(job_id) if job_id else None,
        by_hand=bool(claimed and claimed.startswith(BY_HAND)),
        claimed=claimed is not None,
        **_from_events(run.path),
    )


def _from_events(run: Path) -> dict[str, Any]:
    """Return the latest attempt's part of the markers. `ended` of an attempt is void once a later one began."""
    facts: dict[str, Any] = {}
    for event in job_events(run):
        kind, attempt = event.get("event"), integer(event.get("attempt", 1))
        if attempt is None:
            continue
        if kind == "started" and attempt >= facts.get("attempt", 1):
            facts = {"attempt": attempt, "started": number(event.get("t")), "host": event.get("host")}
            facts["deadline"] = number(event.get("deadline"))
        elif kind == "ended" and attempt == facts.get("attempt", 1):
            facts |= {
                "attempt": attempt,
                "ended": number(event.get("t")) or 0.0,
                "exit_code": integer(event.get("exit_code")),
                "signal": integer(event.get("signal")),
            }
    return facts


def read_final(run: RunDirectory) -> dict[str, Any] | None:
    """Return the seal `final.json` of a finished run, None while it has none."""
    value = run.files.value("final.json", LARGEST, "surrogateescape")
    return value if isinstance(value, dict) and "state" in value else None
