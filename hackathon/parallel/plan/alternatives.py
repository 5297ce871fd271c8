"""Plans that a user would make without a search: one device, even cuts, data parallelism."""

import itertools
from collections.abc import Callable, Sequence

from hackathon.parallel.plan.coarsen import Blocks
from hackathon.parallel.plan.cost import MODES, CostedPlan, Stage, fits, runs_as
from hackathon.parallel.plan.devices import Devices
from hackathon.parallel.plan.graph import Graph


class Alternatives:
    """Creates plans for comparison; each stage saves memory in the fastest way that lets it fit."""

    def __init__(
        self, blocks: Blocks, count: int, micro_batches: int, memory: float,
        recompute: str, offload: str, costed: Callable[[Sequence[Stage]], CostedPlan],
    ) -> None:  # fmt: skip
        self._blocks, self._count, self._micro_batches, self._memory = blocks, count, micro_batches, memory
        self._recompute = recompute
        self._ways = [(r, o) for o in MODES[offload] for r in (False, True)]
        self._costed = costed

    def all(self) -> dict[str, CostedPlan]:
        """Return the plans by name."""
        everything = tuple(range(len(self._blocks.graph.operators)))
        stages = min(self._count, len(self._blocks))
        ends = [round(len(self._blocks) * number / stages) for number in range(stages + 1)]
        cuts = [
            tuple(sorted(member for block in self._blocks.members[start:end] for member in block))
            for start, end in itertools.pairwise(ends)
        ]
        return {
            "one-device": self.fitted([everything], [1]),
            "even": self.fitted(cuts, [1] * stages),
            "data-parallel": self.fitted([everything], [min(self._count, self._micro_batches)]),
        }

    def fitted(self, cuts: Sequence[tuple[int, ...]], replicas: Sequence[int]) -> CostedPlan:
        """Return the plan with these stages."""
        plans = [
            self._costed([Stage(cut, count, *way) for cut, count in zip(cuts, replicas, strict=True)])
            for way in self._ways
        ]
        chosen = []
        for number in range(len(cuts)):
            able = [plan for plan in plans if runs_as(plan.stages[number], plan.graph, self._recompute)]
            fitting = [plan for plan in able if fits(plan.costs[number].memory.total, self._memory)]
            least = min(able, key=lambda plan: plan.costs[number].memory.total)
            chosen.append((fitting[0] if fitting else least).stages[number])
        return self._costed(chosen)


def least_alone(
    graph: Graph, devices: Devices, micro_batches: int, blocks: Blocks, number: int, recompute: str, offload: str
) -> float:
    """Return the least bytes of a stage with only one block, wherever it is and however it runs."""
    remaining = tuple(sorted(set(range(len(graph.operators))).difference(blocks.members[number])))
    last = not blocks.followers[number]
    sizes = []
    for o in MODES[offload]:
        for r in (False, True):
            replicas = 1 if last else min(micro_batches, max(1, devices.count - 1))
            mine = Stage(blocks.members[number], replicas, r, o)
            if not runs_as(mine, graph, recompute):
                continue
            if not remaining:
                stages, at = [mine], 0
            elif last:
                stages, at = [Stage(remaining, 1), mine], 1
            else:
                stages, at = [mine, Stage(remaining, 1)], 0
            sizes.append(CostedPlan(graph, devices, micro_batches, stages).costs[at].memory.total)
    return min(sizes)
