"""Why a job waits, or ended, where the toolkit's own scheduler tells a code."""

from hackathon.text.messages import N_

REASONS = {
    "slots": N_("waiting for free slots"),
    "dependency": N_("waiting for {other}"),
    "dependency_failed": N_("{other} did not succeed"),
    "cancelled": N_("cancelled"),
    "walltime": N_("walltime reached"),
    "not_started": N_("the script could not be started: {words}"),
    "no_process": N_("no process could be started"),
    "supervisor_died": N_("its supervisor on {host} died"),
    "restarted": N_("{host} was restarted"),
}
"""Code → message."""
