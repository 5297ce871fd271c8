"""Better plans near a good one: the search moves cuts and simulates each plan."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hackathon.parallel.plan.bound import value_of
from hackathon.parallel.plan.cost import MODES, CostedPlan, fits, runs_as
from hackathon.parallel.plan.lattice import LinearLattice
from hackathon.parallel.plan.passes import Memories
from hackathon.parallel.plan.search import Costed


class Descent:
    """Moves the cuts of plans. Replicas stay; both stages at the cut choose again how to save memory."""

    def __init__(
        self, lattice: LinearLattice, memories: Memories, objective: str, costed: Costed, deadline: float
    ) -> None:
        self.lattice, self.memories, self.objective = lattice, memories, objective
        self.costed, self.deadline = costed, deadline

    def improved(self, plan: CostedPlan, reach: int | None = None) -> Iterator[CostedPlan]:
        """Yield plans, each better than the last, until none is better or the time is over.

        `reach`: how far a cut moves at first. A plan with a cut outside the lattice does not change.
        """
        cuts = self._cuts(plan)
        if cuts is None:
            return
        value = value_of(plan, self.objective)
        reach = max(1, (self.lattice.size - 1) // (2 * len(plan.stages))) if reach is None else reach
        while reach:
            moved = False
            for number in range(1, len(cuts) - 1):
                for shift in (-reach, reach):
                    if time.monotonic() > self.deadline:
                        return
                    cut = cuts[number] + shift
                    if not cuts[number - 1] < cut < cuts[number + 1]:
                        continue
                    tried = [*cuts[:number], cut, *cuts[number + 1 :]]
                    if self._work(plan, tried, number) >= value:
                        continue
                    other = self._moved(plan, tried, number)
                    if other is not None and (least := value_of(other, self.objective)) < value * (1 - 1e-9):
                        plan, cuts, value, moved = other, tried, least, True
                        yield plan
            if not moved:
                reach //= 2

    def _cuts(self, plan: CostedPlan) -> list[int] | None:
        """Return the cuts of a plan as positions of the lattice; None if it has others."""
        cuts, at = [0], 0
        for stage in plan.stages:
            count = 0
            while count < len(stage.operators) and at < self.lattice.size - 1:
                count += len(self.lattice.groups[at])
                at += 1
            if count != len(stage.operators) or self.lattice.members(cuts[-1], at) != tuple(sorted(stage.operators)):
                return None
            cuts.append(at)
        return cuts

    def _moved(self, plan: CostedPlan, cuts: Sequence[int], number: int) -> CostedPlan | None:
        """Return the plan with another cut before a stage; None if it does not fit."""
        changed = (number - 1, number)
        stages = list(plan.stages)
        for stage in changed:
            stages[stage] = replace(stages[stage], operators=self.lattice.members(cuts[stage], cuts[stage + 1]))
        plans: list[CostedPlan] = []
        for offload in MODES[self.memories.offload]:
            for recompute in (False, True):
                for stage in changed:
                    stages[stage] = replace(stages[stage], recompute=recompute, offload=offload)
                plans.append(self.costed(stages))
                if len(plans) == 1 and all(self._runs(plans[0], stage) for stage in changed):
                    return plans[0]
        for stage in changed:
            able = [candidate for candidate in plans if self._runs(candidate, stage)]
            if not able:
                return None
            fastest = min(able, key=lambda candidate: candidate.costs[stage].forward + candidate.costs[stage].backward)
            stages[stage] = fastest.stages[stage]
        chosen = self.costed(stages)
        return chosen if chosen.feasible else None

    def _runs(self, plan: CostedPlan, stage: int) -> bool:
        fit = fits(plan.costs[stage].memory.total, self.memories.devices.memory)
        return fit and runs_as(plan.stages[stage], plan.graph, self.memories.recompute)

    def _work(self, plan: CostedPlan, cuts: Sequence[int], number: int) -> float:
        """Return the time of only the passes of the stages around a cut: a lower bound for plans with this cut."""
        works = []
        for stage in (number - 1, number):
            passes = self.lattice.passes(cuts[stage], cuts[stage + 1])
            replicas = plan.replicas[stage]
            rounds = 1 / replicas if self.objective == "max-load" else -(-plan.micro_batches // replicas)
            works.append(rounds * passes if self.objective != "fill" else 0.0)
        return max(works)
