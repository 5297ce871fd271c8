"""What a run requested beside what it used, and the request that would have been enough."""

import math
import time
from typing import TYPE_CHECKING

from hackathon.runs.lives import gpus_of
from hackathon.runs.states import SUCCEEDED
from hackathon.text.messages import _
from hackathon.text.numbers import integer
from hackathon.text.units import format_duration, format_size, format_walltime

if TYPE_CHECKING:
    from hackathon.access.guarded_folder import GuardedFolder
    from hackathon.runs.lives import RunUse
    from hackathon.usage.rows import Profiles

MUCH = 0.5
"""A request is too large if less than this share of it was used."""
ROOM = 1.5
"""What would have been enough, as a multiple of what was used."""
STEP, GB = 300, 10**9
"""Walltimes and memory are rounded up to multiples, in seconds and bytes."""


def efficiency(files: "GuardedFolder", use: "RunUse", profiles: "Profiles") -> str:
    """Return one line about memory, GPUs and walltime of a run that has ended; empty for others.

    What was requested and not recorded is called not known. `files`: the run's; `use`: with its load.
    """
    lives = use.held(time.time()).lives if use.closed else ()
    if not lives or use.load is None:
        return ""
    life, load = lives[-1], use.load
    facts, enough = [], []
    memory = integer(files.json("request.json").get("memory"))
    if memory:
        facts.append(
            _(
                "requested {asked} of memory for each node, used {used}",
                asked=format_size(memory),
                used=_("not known") if load.memory is None else format_size(load.memory),
            )
        )
        if load.memory is not None and load.memory < MUCH * memory:
            enough.append(_("memory: {size}", size=f"{math.ceil(ROOM * load.memory / GB)} GB"))
    gpus = gpus_of(use, life, profiles.get(use.cluster))
    if gpus:
        worked = load.gpus_used if load.gpus == gpus else None
        facts.append(
            _(
                "{count} {count:GPU|GPUs}, {used} used",
                count=gpus,
                used=_("not known how many") if worked is None else worked,
            )
        )
        if worked is not None and 0 < worked < gpus:
            enough.append(_("{count} {count:GPU|GPUs}", count=worked))
    if use.walltime:
        facts.append(
            _(
                "walltime {asked}, used {used}",
                asked=format_duration(use.walltime),
                used=format_duration(life.seconds),
            )
        )
        if use.state == SUCCEEDED and life.seconds < MUCH * use.walltime:
            seconds = STEP * math.ceil(max(1.0, ROOM * life.seconds) / STEP)
            if seconds < use.walltime:
                enough.append(_("walltime {walltime}", walltime=format_walltime(seconds)))
    if not facts:
        return ""
    if not enough:
        return _("Efficiency: {facts}.", facts="; ".join(facts))
    return _(
        "Efficiency: {facts}. This would have been enough: {request}.",
        facts="; ".join(facts),
        request=", ".join(enough),
    )
