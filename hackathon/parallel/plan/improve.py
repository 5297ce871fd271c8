"""Better plans near a good one: cuts are moved, and each plan is simulated."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hackathon.parallel.plan.cost import CostedPlan, Stage
from hackathon.parallel.plan.lattice import LinearLattice
from hackathon.parallel.plan.search import Costed
from hackathon.parallel.plan.simulation import simulate


def improved(plan: CostedPlan, lattice: LinearLattice, costed: Costed, deadline: float) -> Iterator[CostedPlan]:
    """Yield plans with shorter and shorter steps, made by moving cuts of a plan, until none is better or time is over.

    Numbers of stages and replicas stay. A plan whose cuts are not cuts of the lattice is left as it is.
    """
    cuts = _cuts(plan, lattice)
    if cuts is None:
        return
    seconds = simulate(plan).seconds
    reach = max(1, (lattice.size - 1) // (2 * len(plan.stages)))
    while reach:
        moved = False
        for number in range(1, len(cuts) - 1):
            for shift in (-reach, reach):
                if time.monotonic() > deadline:
                    return
                there = cuts[number] + shift
                if not cuts[number - 1] < there < cuts[number + 1]:
                    continue
                tried = [*cuts[:number], there, *cuts[number + 1 :]]
                other = _moved(plan, tried, number, lattice, costed)
                if other.feasible and (took := simulate(other).seconds) < seconds * (1 - 1e-9):
                    plan, cuts, seconds, moved = other, tried, took, True
                    yield plan
        if not moved:
            reach //= 2


def _cuts(plan: CostedPlan, lattice: LinearLattice) -> list[int] | None:
    """Return the cuts of a plan as positions of a lattice; None if it has others."""
    cuts, at = [0], 0
    for stage in plan.stages:
        held = 0
        while held < len(stage.operators) and at < lattice.size - 1:
            held += len(lattice.groups[at])
            at += 1
        if held != len(stage.operators) or lattice.members(cuts[-1], at) != tuple(sorted(stage.operators)):
            return None
        cuts.append(at)
    return cuts


def _moved(plan: CostedPlan, cuts: Sequence[int], number: int, lattice: LinearLattice, costed: Costed) -> CostedPlan:
    stages: list[Stage] = list(plan.stages)
    for stage in (number - 1, number):
        stages[stage] = replace(stages[stage], operators=lattice.members(cuts[stage], cuts[stage + 1]))
    return costed(stages)
