"""Plans for one choice of replicas after another: equal ones first, then those similar to the best."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hackathon.parallel.plan.bound import value_of
from hackathon.parallel.plan.cost import CostedPlan
from hackathon.parallel.plan.improve import Descent
from hackathon.parallel.plan.labels import Shape, TooManyLabels
from hackathon.parallel.plan.lattice import Lattice, LinearLattice
from hackathon.parallel.plan.passes import Memories, OutOfTime
from hackathon.parallel.plan.search import Costed, Search
from hackathon.parallel.plan.step_search import bound_of_steps

MOST_SHAPES, MOST_STARTS, NEAR = 400, 3, 1.1
"""Most choices of replicas; those whose cuts are moved, and how much worse than the best they may be before."""

Replicas = tuple[int, ...]
"""Of each stage, first to last."""


class ShapeSearch:
    """Good plans for given replicas of each stage, by a dynamic programme over few cuts and moves of these cuts."""

    def __init__(
        self, coarse: Sequence[Lattice], fine: LinearLattice, memories: Memories, shape: Shape, objective: str,
        costed: Costed, deadline: float,
    ) -> None:  # fmt: skip
        """`coarse`: cuts of the dynamic programme, the next ones if no plan fits; `fine`: cuts for the moves."""
        self.coarse, self.memories, self.shape, self.objective = coarse, memories, shape, objective
        self.costed, self.deadline = costed, deadline
        self.descent = Descent(fine, memories, objective, costed, deadline)
        self.reach = max(1, 2 * (fine.size - 1) // max(1, coarse[0].size - 1))
        operators = fine.graph.operators
        self.work = sum(operator.forward + operator.backward for operator in operators)
        self.blocks = len(fine.blocks)

    def plans(self, best: CostedPlan | None) -> Iterator[CostedPlan]:
        """Yield plans, better and better ones of each choice of replicas, until the time is over."""
        try:
            yield from self._plans(best)
        except (OutOfTime, TooManyLabels):
            pass

    def _plans(self, best: CostedPlan | None) -> Iterator[CostedPlan]:
        value = value_of(best, self.objective) if best is not None else float("inf")
        tried: set[Replicas] = set()
        equal = self.shape.equal_choices(self.blocks)
        waiting = [(choice.same_replicas or 1,) * (choice.stages or 1) for choice in equal]
        while waiting and len(tried) < MOST_SHAPES:
            chosen: Replicas = ()
            for replicas in waiting:
                tried.add(replicas)
                if self._least(replicas) >= value or self._even(replicas) > NEAR * value:
                    continue
                start = self._start(replicas, few=value < float("inf"))
                if start is None:
                    continue
                yield start[1]
                if value_of(start[1], self.objective) > NEAR * value:
                    continue
                for plan in self._better(*start, value):
                    yield plan
                    if (mine := value_of(plan, self.objective)) < value:
                        value, chosen = mine, replicas
            waiting = [shape for shape in self._next(chosen) if shape not in tried] if chosen else []

    def _start(self, replicas: Replicas, few: bool) -> tuple[Search, CostedPlan] | None:
        """Return the plan of least load, and the search over its cuts; None if none fits.

        With `few`, only the fewest cuts are tried.
        """
        for lattice in self.coarse[: 1 if few else None]:
            search = Search(lattice, self.memories, self._shape(replicas), self.costed, self.deadline)
            try:
                plan = search.exact_load()
            except TooManyLabels:
                continue
            if plan is not None:
                return search, plan
        return None

    def _better(self, search: Search, start: CostedPlan, value: float) -> Iterator[CostedPlan]:
        """Yield plans near the one of least load, and for `step` near those of the least bounds."""
        near = [start]
        if self.objective == "step":
            _, plans = bound_of_steps(search, value * NEAR, by_stages=True)
            near += [candidate for candidate in map(self.costed, plans) if candidate.feasible]
        near.sort(key=lambda candidate: value_of(candidate, self.objective))
        for plan in near[:MOST_STARTS]:
            yield plan
            yield from self.descent.improved(plan, self.reach)

    def _shape(self, replicas: Replicas) -> Shape:
        return replace(
            self.shape, stages=len(replicas), replicas=replicas, same_replicas=None, most_stages=None, candidates=None,
            devices=sum(replicas),
        )  # fmt: skip

    def _least(self, replicas: Replicas) -> float:
        """Return the least seconds of plans with these replicas."""
        if self.objective == "max-load":
            return self.work / sum(replicas)
        return self.work / sum(1 / -(-self.shape.micro_batches // count) for count in replicas)

    def _even(self, replicas: Replicas) -> float:
        """Return the approximate time of a plan that shares the work evenly among its ranks."""
        share = self.work / sum(replicas)
        if self.objective == "max-load":
            return share
        return (self.shape.micro_batches + (len(replicas) - 1) * sum(replicas) / len(replicas)) * share

    def _next(self, replicas: Replicas) -> list[Replicas]:
        """Return similar replicas: one more, fewer or moved; two stages joined; a stage split."""
        neighbours: dict[Replicas, None] = {}
        stages = range(len(replicas))

        def with_(*changes: tuple[int, int]) -> Replicas:
            new = list(replicas)
            for stage, more in changes:
                new[stage] += more
            return tuple(new)

        for a in stages:
            neighbours[with_((a, 1))] = neighbours[with_((a, -1))] = None
            for b in stages:
                if a != b:
                    neighbours[with_((a, -1), (b, 1))] = None
        for a in stages[1:]:
            together = replicas[a - 1] + replicas[a]
            for count in range(1, together + 1):
                neighbours[*replicas[: a - 1], count, *replicas[a + 1 :]] = None
        spare = self.shape.devices - sum(replicas)
        for a in stages:
            for first in range(1, replicas[a] + spare):
                for second in range(1, replicas[a] + spare - first + 1):
                    neighbours[*replicas[:a], first, second, *replicas[a + 1 :]] = None
        return [
            shape for shape in neighbours if min(shape) > 0 and len(shape) <= self.blocks and self.shape.allows(shape)
        ]
