"""Read from a run's directory what decides its state, in as few file accesses as possible."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hackathon.runs.directory import BY_HAND, RunDirectory, is_refused
from hackathon.runs.events import job_events
from hackathon.text.files import LARGEST
from hackathon.text.numbers import integer, number


@dataclass(frozen=True)
class Markers:
    """State facts of a run directory. Times are seconds since 1970."""

    created: float | None = None
    submitting: float | None = None
    """When the latest attempt to submit began; None before the first."""
    submitted: float | None = None
    """When the job's id was stored."""
    refused: str | None = None
    """The scheduler's message when it refused the latest attempt."""
    cancelled: float | None = None
    """When the owner requested its cancellation."""
    after: bool = False
    """It waits for another run: `client/after.json`."""
    adopted: bool = False
    """The job was submitted by hand and writes no events."""
    job_id: str | None = None
    by_hand: bool = False
    """The script was started without a scheduler, so no scheduler can be asked."""
    claimed: bool = False
    """A job claimed the run."""
    attempt: int = 1
    """The latest attempt; each requeue adds one."""
    started: float | None = None
    """When the latest attempt began."""
    deadline: float | None = None
    """When the latest attempt reaches its walltime, by its script's clock."""
    ended: float | None = None
    """When the latest attempt ended; None while it runs and after a SIGKILL."""
    exit_code: int | None = None
    signal: int | None = None
    host: str | None = None

    @property
    def stage(self) -> int:
        """Progress of the job: grows with every attempt that begins, and with its end."""
        return 3 * self.attempt + (2 if self.ended is not None else 1 if self.started is not None else 0)


def read_markers(run: RunDirectory) -> Markers:
    """Return a run's state facts: list `client/` once, and read only the files that exist."""
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
    """Return the facts of the latest attempt from the events. A later attempt makes an `ended` invalid."""
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
    """Return the seal `final.json` of a finished run, None without one."""
    value = run.files.value("final.json", LARGEST, "surrogateescape")
    return value if isinstance(value, dict) and "state" in value else None
