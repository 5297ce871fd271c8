"""Why a job waits, or ended, where the toolkit's own scheduler tells a code."""

REASONS = {
    "slots": "local.reason_slots",
    "dependency": "local.reason_dependency",
    "dependency_failed": "local.reason_dependency_failed",
    "cancelled": "local.reason_cancelled",
    "walltime": "local.reason_walltime",
    "not_started": "local.reason_not_started",
    "no_process": "local.reason_no_process",
    "supervisor_died": "local.reason_supervisor_died",
    "restarted": "local.reason_restarted",
}
"""Code → message."""
