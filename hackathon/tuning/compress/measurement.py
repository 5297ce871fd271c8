"""The job of `hackathon compress`: a program's hooks, and their trainings beside uncompressed ones."""

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
"""Names of parameters for the compression of gradients, and the value for none."""
LEAST_SEEDS = 5
"""Fewest trainings of each hook, each with another seed, for a conclusion about accuracy."""


class ProcessGroup(SingleProcess):
    """A program with several processes; two by default."""

    @cached_property
    def request(self) -> "Request":
        """Its request. Raises RequestError for --in-place and for one process, and the errors of `resolve`."""
        if self.sources.options.in_place:
            raise RequestError(
                "speedup.in_place", "--in-place does not work here: each start needs its own copy of the program"
            )
        request = self.resolved(self.alone)
        if request.processes < 2:
            raise RequestError(
                "compress.one_process", "a single process sends no gradients", hint="Use at least two: --processes 2"
            )
        return request

    @cached_property
    def alone(self) -> "Sources":
        """The sources, with two processes if neither nodes nor processes were requested."""
        options = self.sources.options
        if options.nodes is None and options.processes is None:
            options = replace(options, processes=2)
        return replace(self.sources, options=options)

    def resolved(self, sources: "Sources") -> "Request":
        """Return the request of these sources. Raises RequestError."""
        return resolve(sources)


def hooks_of(program: ProcessGroup, names: Sequence[str]) -> tuple[Option, list[Option]]:
    """Return the uncompressed training, and the hooks to compare with it, all or the requested ones.

    Raises RequestError when the program declares no such parameter, or not these values.
    """
    for name in NAMES:
        parameter = program.declared.get(name)
        choices = [str(choice) for choice in (parameter.choices or ())] if parameter is not None else []
        if NONE in choices:
            break
    else:
        raise RequestError(
            "compress.no_hooks",
            "the program declares no parameter that says how gradients travel ({names}, with the choice none)",
            hint="The recipes torch-ddp and torch-ddp-tuned have one. For your own program take compression.py out "
            "of the folder that `hackathon init --recipe torch-ddp --copy NEW_FOLDER` makes.",
            names=", ".join(NAMES),
        )
    unknown = [hook for hook in names if hook not in choices or hook == NONE]
    if unknown:
        offered = ", ".join(choice for choice in choices if choice != NONE)
        raise RequestError(
            "compress.unknown_hook", "the program has no hook {hook}; it has {hooks}", hook=unknown[0], hooks=offered
        )
    hooks = list(dict.fromkeys(names)) or [choice for choice in choices if choice != NONE]
    if not hooks:
        raise RequestError(
            "compress.no_hooks",
            "the program declares no parameter that says how gradients travel ({names}, with the choice none)",
            hint="The recipes torch-ddp and torch-ddp-tuned have one. For your own program take compression.py out "
            "of the folder that `hackathon init --recipe torch-ddp --copy NEW_FOLDER` makes.",
            names=", ".join(NAMES),
        )

    def option(value: str) -> Option:
        return Option(value, "compression", "rounding", {name: value})

    return option(NONE), [option(hook) for hook in hooks]


def seeds_needed(hooks: int) -> int:
    """Return the fewest seeds that can show a gain of one of so many hooks."""
    return max(LEAST_SEEDS, pairs_needed(hooks))


def hook_measurement(
    program: ProcessGroup, plain: Option, hooks: Sequence[Option], seeds: int, seconds: int
) -> SpeedupMeasurement:
    """Return the job that trains with each hook and without, `seeds` times, at most `seconds` per training.

    Every round has another seed and another order. Raises RequestError without a seed among the parameters.
    """
    if program.seed is None:
        raise RequestError(
            "compress.no_seed",
            "the program declares no seed as a whole number, so trainings cannot be compared seed by seed",
            hint="Declare it under `parameters:` in project.yaml and use it in `command`.",
        )
    arms = [plain, *hooks]
    commands = [[program.command(arm.settings, number) for number in range(seeds)] for arm in arms]
    slots = order_of(len(arms), seeds, "".join(arm.name for arm in arms))
    task = {"kind": "ranks", "seconds": seconds, "arms": commands, "slots": slots}
    walltime = program.walltime(len(slots), seconds)
    return program.measurement(task, walltime, (ranks.PROGRAM, Path(ranks.__file__)))
