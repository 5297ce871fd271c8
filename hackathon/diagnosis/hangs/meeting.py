"""Detect jobs that were stopped while their ranks were still joining the process group."""

import re
from collections.abc import Mapping

from hackathon.diagnosis.facts import FactHit, RunFacts, fact
from hackathon.diagnosis.hangs.stacks import Stack, stacks_of
from hackathon.runs import states
from hackathon.text.json_fields import moment_of

_MEETS = re.compile(r"/torch/distributed/\S* init_process_group|/horovod/\S* init|/chainermn/\S* create_communicator")

LATE = 60.0
"""Seconds after the start of the last rank in which joining is normal: imports take that long."""


@fact("hang:meeting")
def still_meeting(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report a job that was stopped from outside while every rank with a stack waited for the others to join."""
    if run.record.processes < 2 or run.status is None or run.status.state not in (states.TIMEOUT, states.CANCELLED):
        return []
    stacks = stacks_of(run.path)
    if not stacks or not all(_meets(stack) for stack in stacks) or run.failed_by_itself:
        return []
    began = [moment for listed in run.rank_events.values() for moment in [moment_of(listed[0].get("t"))] if moment]
    if not began or max(stack.written for stack in stacks) - max(began) < LATE:
        return []
    first = stacks[0]
    values = {
        "waiting": str(len(stacks)),
        "processes": str(run.record.processes),
        "place": first.own.place if first.own is not None else first.frames[0].place,
    }
    return [FactHit(first.evidence(run.host_of.get(first.rank, "")), values)]


def _meets(stack: Stack) -> bool:
    for frame in stack.frames:
        if frame.own:
            return False
        if _MEETS.search(f"{frame.path} {frame.function}"):
            return True
    return False
