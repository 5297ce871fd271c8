"""All checks that a rule's `fact` can name. The modules with checks are imported here and nowhere else."""

import hackathon.diagnosis.exit_checks as exit_checks
import hackathon.diagnosis.source_checks as source_checks
from hackathon.diagnosis.facts import FACTS, Check
from hackathon.diagnosis.hangs import meeting
from hackathon.diagnosis.silent import data, devices, exceptions, numerics, training, worlds

MODULES = (exit_checks, source_checks, meeting, data, devices, exceptions, numerics, training, worlds)
"""Modules that register their checks in FACTS when they are imported."""

OF_LOGS = ("log:exception", "log:hang", "log:hang-gloo", "log:hang-horovod", "log:hang-nccl", "log:hang-stacks")
"""Names of what only all logs together tell: the exception of a last traceback, and who is missing in a hang."""


def find_check(name: str) -> Check | None:
    """Return the check with a name, None when there is none."""
    return FACTS.get(name)


def names() -> tuple[str, ...]:
    """Return all names that a rule's `fact` may have."""
    return tuple(sorted({*FACTS, *OF_LOGS}))
