"""Decide whether a run needs attention, and write the sentences with reason, time and remedy."""

from collections.abc import Callable

from hackathon.index.progress import makes_no_progress
from hackathon.index.record import RunEntry
from hackathon.runs.states import (
    FAILED,
    HELD,
    LOST,
    NODE_FAILED,
    OUT_OF_MEMORY,
    QUEUED,
    RUNNING,
    SUCCEEDED,
    TIMEOUT,
    UNCERTAIN,
)
from hackathon.scaling.show import state as state_word
from hackathon.text.messages import N_, _
from hackathon.text.units import format_age, format_moment
from hackathon.web.views.board import line

_SAYS_TEXTS = {
    "never": N_("The job can never start in {queue} as requested"),
    "held": N_("Held in {queue} for {age}"),
    "waits": N_("Waiting in {queue} for {age}"),
    "lost": N_("The scheduler no longer knows the job"),
    "uncertain": N_("It is unclear whether the job was submitted"),
}

_ADVICE_TEXTS = {
    "never": N_("Cancel it, and stay within the limits of the queue: hackathon clusters {cluster!q}"),
    "held": N_(
        "Find out why it is held; only the computing centre can release its own holds: hackathon status {run!q}"
    ),
    "waits": N_(
        "Use fewer nodes or a shorter walltime to start earlier; see other queues: hackathon clusters {cluster!q} "
        "--live"
    ),
    "lost": N_("Check its last output, then submit it again: hackathon logs {run!q}"),
    "uncertain": N_("Check again before you submit it again: hackathon status {run!q}"),
}

KINDS = ("stands", "idle", "budget", "asked", "failed", "waits", "memory", "lost", "warned")
"""Reasons for attention; of matters that cost the same, the most urgent first."""
RECENT = 24 * 3600.0
"""Seconds after its end in which a run still needs attention."""
LONG_WAIT, LONG_HOLD = 15 * 60.0, 5 * 60.0
"""Seconds in the queue, or held, that are too long for a hackathon."""
SETTLED = 3 * 60.0
"""Seconds after which a run should be working."""
IDLE, FULL = 20.0, 95.0
"""Percent of utilisation below which a device is idle, of memory above which it is nearly full."""
LAST_MINUTES = 3 * 60.0
"""Seconds before the walltime in which warnings are about its end."""
SILENT = 3600.0
"""Seconds after its end in which a success with silent errors is displayed."""
SUBMITTING = 60.0
"""Seconds that a submission may take before it is uncertain."""

Says = tuple[str, str]
"""The problem, and the remedy."""


def moment(run: RunEntry) -> float:
    """Return the time of a run's last change of state; 0 if unknown."""
    return run.ended or run.started or run.submitted or run.created or 0.0


def kind_of(run: RunEntry, now: float, cores: Callable[[], int | None]) -> str:
    """Return why a run needs attention, as one of KINDS; empty if it does not.

    `cores` returns the cores of a node of its cluster, None if unknown; called only for runs without GPUs.
    """
    if run.state in (QUEUED, HELD):
        return "waits" if _stuck(run, now) else ""
    if run.state == RUNNING:
        return _running(run, now, cores)
    if run.state == LOST or (run.state == UNCERTAIN and now - (run.submitted or run.created or 0.0) > SUBMITTING):
        return "lost"
    if run.state == SUCCEEDED:
        fresh = run.ended is not None and now - run.ended < SILENT
        return "warned" if fresh and (run.check_passed is False or _warns(run, run.seconds)) else ""
    failed = run.state in (FAILED, TIMEOUT, OUT_OF_MEMORY, NODE_FAILED) and run.cause != "preflight_failed"
    return "failed" if failed else ""


def _stuck(run: RunEntry, now: float) -> bool:
    if run.cause == "never_runs":
        return True
    if run.state == HELD and run.parent:
        return False  # it waits for the preceding segment or the preflight
    since = run.submitted or run.created
    return since is not None and now - since > (LONG_HOLD if run.state == HELD else LONG_WAIT)


def _running(run: RunEntry, now: float, cores: Callable[[], int | None]) -> str:
    if run.started is None:
        return ""
    runs = now - run.started
    if makes_no_progress(run, now):
        return "stands"
    if runs > SETTLED and _idles(run, cores):
        return "idle"
    if run.memory_percent is not None and run.memory_percent > FULL:
        return "memory"
    return "warned" if _warns(run, runs) else ""


def _warns(run: RunEntry, seconds: float | None) -> bool:
    """Return whether there are warnings other than about the walltime's end."""
    ends = bool(run.walltime) and (seconds or 0.0) > run.walltime - LAST_MINUTES
    return bool(run.warnings) and not ends


def _idles(run: RunEntry, cores: Callable[[], int | None]) -> bool:
    if run.gpus:
        return run.gpu_percent is not None and run.gpu_percent < IDLE
    if run.cpu_percent is None:
        return False
    room = cores()
    # a process uses at least one core: two processes on 36 cores are working at 6 %
    return bool(room) and run.cpu_percent < IDLE * min(1.0, run.processes / ((room or 1) * max(1, run.nodes)))


def since(kind: str, run: RunEntry) -> float | None:
    """Return when a run's trouble began; for an idle run its start. None is unknown."""
    if kind == "waits":
        return run.submitted or run.created
    if kind == "stands":
        return max(run.progress or 0.0, run.started or 0.0)
    return moment(run) or None


def says(kind: str, run: RunEntry, now: float) -> Says:
    """Return the sentences for a kind of trouble, for a run without a better diagnosis."""
    return _SAYS[kind](run, now)


def _says_failed(run: RunEntry, now: float) -> Says:
    text = line(run.reason) or _("The run failed: {state}", state=state_word(run.state))
    return text, _("hackathon diagnose {run!q}", run=line(run.id))


def _says_waits(run: RunEntry, now: float) -> Says:
    kind = "never" if run.cause == "never_runs" else "held" if run.state == HELD else "waits"
    text = _(_SAYS_TEXTS[kind], queue=line(run.queue) or line(run.cluster), age=age(now, since("waits", run)))
    reason = line(run.reason)
    advice = _(_ADVICE_TEXTS[kind], run=line(run.id), cluster=line(run.cluster))
    return f"{text}: {reason}" if reason else text, advice


def _says_stands(run: RunEntry, now: float) -> Says:
    key = (
        N_("No output for {age}{step}")
        if run.progress and run.progress > (run.started or 0.0)
        else N_("No output since it started {age} ago{step}")
    )
    step = _(", at step {step}", step=run.step) if run.step is not None else ""
    text = _(key, age=age(now, since("stands", run)), step=step)
    return text, _("A rank may be waiting for another rank or for data: hackathon diagnose {run!q}", run=line(run.id))


def _says_idle(run: RunEntry, now: float) -> Says:
    if run.gpus:
        text = _("GPU utilisation is {percent} %", percent=f"{run.gpu_percent:.0f}")
        return text, _(
            "Check that the model is on the GPU and that data arrives fast enough. Try more loader workers "
            "or larger batches."
        )
    return _("CPU utilisation is {percent} %", percent=f"{run.cpu_percent:.0f}"), _(
        "Check whether it waits for data or another process. Check the number of threads and loader workers."
    )


def _says_memory(run: RunEntry, now: float) -> Says:
    return _("GPU memory is {percent} % full", percent=f"{run.memory_percent:.0f}"), _(
        "A larger batch may not fit. JAX and TensorFlow reserve nearly all memory on purpose; in that "
        "case, ignore this."
    )


def _says_warned(run: RunEntry, now: float) -> Says:
    if run.check_passed is False:
        return _("It succeeded, but its check failed"), _(
            "Compare with a smaller run: a larger global batch needs another learning rate and a warm-up."
        )
    return line(run.warnings[-1]), _("hackathon diagnose {run!q}", run=line(run.id))


def _says_lost(run: RunEntry, now: float) -> Says:
    kind = run.state.lower()
    return _(_SAYS_TEXTS[kind]), _(_ADVICE_TEXTS[kind], run=line(run.id))


_SAYS: dict[str, Callable[[RunEntry, float], Says]] = {
    "failed": _says_failed,
    "waits": _says_waits,
    "stands": _says_stands,
    "idle": _says_idle,
    "memory": _says_memory,
    "warned": _says_warned,
    "lost": _says_lost,
}
"""Kind → its sentences, for a run without a better diagnosis."""


def clock(now: float, since: float | None) -> str:
    """Return a time of day, with its date if that is not today's; – if unknown."""
    if since is None:
        return "–"
    today = format_moment(since, "%Y-%m-%d") == format_moment(now, "%Y-%m-%d")
    return format_moment(since, "%H:%M" if today else "%Y-%m-%d %H:%M")


def age(now: float, since: float | None) -> str:
    """Return the time since a moment as one short number; – if unknown."""
    return format_age(max(0.0, now - since)) if since is not None else "–"
