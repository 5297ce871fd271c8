"""The job of `hackathon compress`: which hooks a program has, and their trainings beside uncompressed ones."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.jobs.resolve import resolve
from hackathon.text.errors import RequestError
from hackathon.tuning.compress import ranks
from hackathon.tuning.intervals import pairs_needed
from hackathon.tuning.measurement import SingleProcess, SpeedupMeasurement
from hackathon.tuning.options import Option
from hackathon.tuning.slots import order_of

if TYPE_CHECKING:
    from hackathon.jobs.request import Request
    from hackathon.jobs.resolve import Sources

NAMES, NONE = ("hook", "compression"), "none"
"""Names of parameters that say how gradients travel, and the value for uncompressed ones."""
LEAST_SEEDS = 5
"""Trainings of each hook, each with a seed of its own, below which nothing is said of accuracy."""


class ProcessGroup(SingleProcess):
    """A program as several processes of it run; two of them unless asked for otherwise."""

    @cached_property
    def request(self) -> "Request":
        """Its request. Raises RequestError as `resolve`, for --in-place, and for one process."""
        if self.sources.options.in_place:
            raise RequestError("speedup.in_place")
        request = self.resolved(self.alone)
        if request.processes < 2:
            raise RequestError("compress.one_process")
        return request

    @cached_property
    def alone(self) -> "Sources":
        """The sources, with two processes where neither nodes nor processes were asked for."""
        options = self.sources.options
        if options.nodes is None and options.processes is None:
            options = replace(options, processes=2)
        return replace(self.sources, options=options)

    def resolved(self, sources: "Sources") -> "Request":
        """Return the request of these sources. Raises RequestError."""
        return resolve(sources)


def hooks_of(program: ProcessGroup, names: Sequence[str]) -> tuple[Option, list[Option]]:
    """Return the uncompressed training, and the hooks to compare with it, all or those asked for.

    Raises RequestError where the program declares no such parameter, or not these values.
    """
    for name in NAMES:
        parameter = program.declared.get(name)
        choices = [str(choice) for choice in (parameter.choices or ())] if parameter is not None else []
        if NONE in choices:
            break
    else:
        raise RequestError("compress.no_hooks", names=", ".join(NAMES))
    unknown = [hook for hook in names if hook not in choices or hook == NONE]
    if unknown:
        offered = ", ".join(choice for choice in choices if choice != NONE)
        raise RequestError("compress.unknown_hook", hook=unknown[0], hooks=offered)
    hooks = list(dict.fromkeys(names)) or [choice for choice in choices if choice != NONE]
    if not hooks:
        raise RequestError("compress.no_hooks", names=", ".join(NAMES))

    def option(value: str) -> Option:
        return Option(value, "compression", "rounding", {name: value})

    return option(NONE), [option(hook) for hook in hooks]


def seeds_needed(hooks: int) -> int:
    """Return the fewest seeds with which a gain of one of so many hooks can be told."""
    return max(LEAST_SEEDS, pairs_needed(hooks))


def hook_measurement(
    program: ProcessGroup, plain: Option, hooks: Sequence[Option], seeds: int, seconds: int
) -> SpeedupMeasurement:
    """Return the job that trains with each hook and without, `seeds` times; a training has at most `seconds`.

    Every round has a seed of its own and an order of its own. Raises RequestError without a seed among the parameters.
    """
    if program.seed is None:
        raise RequestError("compress.no_seed")
    arms = [plain, *hooks]
    commands = [[program.command(arm.settings, number) for number in range(seeds)] for arm in arms]
    slots = order_of(len(arms), seeds, "".join(arm.name for arm in arms))
    task = {"kind": "ranks", "seconds": seconds, "arms": commands, "slots": slots}
    walltime = program.walltime(len(slots), seconds)
    return program.measurement(task, walltime, (ranks.PROGRAM, Path(ranks.__file__)))
