"""All checks that a rule's `fact` can name. Only this file imports the modules with checks."""

import hackathon.diagnosis.exit_checks as exit_checks
import hackathon.diagnosis.source_checks as source_checks
from hackathon.diagnosis.facts import FACTS, Check
from hackathon.diagnosis.silent import data, devices, numerics, training, worlds

MODULES = (exit_checks, source_checks, data, devices, numerics, training, worlds)
"""Modules that register their checks in FACTS on import."""

OF_LOGS = (
    "log:above-project", "log:exception", "log:exception-in-library", "log:exception-in-loader",
    "log:exception-own", "log:exited", "log:first-event", "log:gpu-zero", "log:hang", "log:hang-apart",
    "log:hang-gloo", "log:hang-horovod", "log:hang-nccl", "log:hang-stacks", "log:killed", "log:left-early",
    "log:members", "log:not-copied",
)  # fmt: skip
"""Facts that need all logs together: the exception of a last traceback and who raised it, the first event of a failure
that no rule knows, the missing rank of a hang, a rank that ended with status 0 while the others went on, nvidia-smi's
table, the members that Lightning waits for."""


def find_check(name: str) -> Check | None:
    """Return the check with a name, None when there is none."""
    return FACTS.get(name)


def names() -> tuple[str, ...]:
    """Return all names that a rule's `fact` may have."""
    return tuple(sorted({*FACTS, *OF_LOGS}))
