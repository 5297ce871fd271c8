"""The distribution of the cost of one unit of work at one size, and its basis."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hackathon.prediction.flags import FALL
from hackathon.prediction.history import HISTORY, OWN, recall
from hackathon.prediction.limits import EXPLAINED, GOING_ON, bends, going_on, limited
from hackathon.prediction.mixture import NINETY, USUAL, Component, mixture, quantile, scaled
from hackathon.prediction.physics import PHYSICS, Physics, step_model
from hackathon.prediction.rows import STRONG, WEAK, MeasuredSize, Series
from hackathon.prediction.shapes import CONSTANT, Place, candidates

MEASURED, IN_NODE, ACROSS_NODES, BASELINE = "measured", "in-node", "across-nodes", "baseline"
BOUNDARY = ((0.005, 0.2), (0.015, 0.2), (0.035, 0.2), (0.07, 0.2), (0.2, 0.2))
"""Logarithm of the cost that the step from one node to two adds, and its weight: fifths of 100 public studies."""
BOUNDARY_SHARE = 0.7
"""Weight of BOUNDARY beside the curve inside the node, if the network is otherwise unknown."""
SLOW_CHANCE = 0.2
"""Chance that the network between nodes limits the program, if it is unknown."""
SLOW_NETWORK = ((0.3, 0.25), (0.6, 0.25), (1.0, 0.2), (1.65, 0.3))
"""Logarithm of the cost that the step then adds, and its weight.

Five of eight programs on a cloud lost 0.4 to 1.25 (Qiao et al., Pollux, OSDI 2021: traces of AdaptDL). With SLOW_CHANCE
the interval ends 80 % below the value, slightly beyond the worst of them (71 %).
"""
SLOW_SPREAD = 0.05
"""Standard deviation of these."""
BOUNDARY_CHANCE = 0.25
"""Chance that a doubling of the processes leaves the first node, if the size of a node is unknown.

One of the four doublings up to 16 processes does.
"""
BETWEEN = (math.sqrt(1.5), 3.0)
"""Uncertainty between two rows: noise in units of one row's, and divisor of the rise for a curve's bend.

The noise is that of the size itself and of its neighbours' mean. Calibrated on rows hidden between two others.
"""
FURTHER = 0.3
"""Cost that each further doubling of the nodes adds, in units of the step to two."""
SINGLE = {
    "weak": ((0.0, 0.3), (0.02, 0.3), (0.08, 0.3), (0.2, 0.1)),
    "strong": ((0.0, 0.2), (0.05, 0.3), (0.2, 0.3), (0.5, 0.2)),
}
"""From a single row: logarithm of the cost that each doubling of the processes adds, and its weight."""
STEP_SHARE = (0.95, 0.75, 0.5, 0.3)
"""Weight of a step computed from computing and the measured network.

By the number of own rows with communication between as many nodes or more: rows contain what a model omits.
"""
RATIO_SHARE = 0.6
"""Weight of the loss inside the node, scaled by the network's slowness, if the bytes are unknown."""
FASTER = 0.02
"""Standard deviation of a cost that is based on one row, per doubling."""


FARTHEST = 600.0
"""Logarithm of a cost beyond which values are equal: its exponential must be finite."""


@dataclass(frozen=True)
class Outlook:
    """The result for one size."""

    components: tuple[Component, ...]
    basis: str
    row: MeasuredSize | None = None
    """The measured row of this size."""
    crossing: bool = False
    """The size is on several nodes and every row inside one."""
    studies: tuple[str, ...] = ()
    """Other studies that count."""
    fixed: float | None = None
    """The logarithm of the cost if it is a convention, not a mean."""
    least: tuple[float, float] | None = None
    """An interval that the bounds contain: less knowledge never narrows them."""
    _quantiles: dict[float, float] = field(default_factory=dict, compare=False)

    def quantile(self, share: float) -> float:
        """Return the logarithm of the cost below which a share of the distribution is."""
        if share not in self._quantiles:
            self._quantiles[share] = _held(quantile(self.components, share))
        return self._quantiles[share]

    @property
    def log_cost(self) -> float:
        """The middle between mean and median: the mean follows rare shapes, the median jumps between common ones."""
        if self.fixed is not None:
            return self.fixed
        mean = math.fsum(component.weight * component.log_cost for component in self.components)
        return (_held(mean) + self.quantile(0.5)) / 2

    @property
    def bounds(self) -> tuple[float, float]:
        """The interval of 90 % of the logarithm of the cost; it contains the value."""
        low, high = (self.quantile(share) for share in NINETY)
        least = self.least or (self.log_cost, self.log_cost)
        return min(low, least[0], self.log_cost), max(high, least[1], self.log_cost)


def outlook(
    series: Series, rows: Sequence[MeasuredSize], size: int, studies: Sequence[Series] = (),
    physics: Physics | None = None,
) -> Outlook:  # fmt: skip
    """Return the cost at `size` by the good rows of a series, other studies and the measured network."""
    per_node = series.per_node
    nodes = math.ceil(size / per_node) if per_node else None
    measured = [row for row in series.rows if row.processes == size]
    if measured:
        row = next((row for row in measured if row.nodes == nodes), measured[0])
        noise = row.deviation if row.deviation is not None else USUAL
        own = Component(1.0, math.log(row.cost), max(noise, USUAL / 4) / math.sqrt(row.repeats), MEASURED)
        return Outlook((own,), MEASURED, row, fixed=own.log_cost)
    target = MeasuredSize(size, 1.0, nodes)
    reach = [row for row in rows if nodes is None or (row.nodes or 0) <= nodes]
    between = _between(rows, target)
    if between is not None:
        return Outlook((between,), ACROSS_NODES if (nodes or 1) > 1 else IN_NODE)
    crossing = bool(nodes and nodes > 1 and all(row.nodes == 1 for row in rows))
    if len(rows) == 1:
        return _single(series, rows[0], target, studies, physics, crossing)
    if size < rows[0].processes:
        doublings = math.log2(rows[0].processes / size)
        part = Component(1.0, math.log(rows[0].cost), USUAL + FASTER * doublings, CONSTANT)
        return Outlook((part,), BASELINE, fixed=part.log_cost)
    points = [Place(row.processes, row.nodes) for row in reach]
    least = min((row.deviation / math.sqrt(row.repeats) for row in reach if row.deviation is not None), default=0.0)
    fall = max((math.log(row.cost / after.cost) for row, after in itertools.pairwise(reach)), default=0.0)
    if fall > FALL:  # the cost cannot fall: the two rows differ by their noise, √2 times that of one
        least = max(least, fall / math.sqrt(2))
    shapes = candidates(points, [row.cost for row in reach], Place(size, nodes), series.mode)
    own_parts = tuple(mixture(shapes, least))
    basis = ACROSS_NODES if nodes is not None and nodes > 1 and not crossing else IN_NODE
    anchor = rows[-1]
    memory = (
        recall(series, rows, anchor, target, studies) if basis == ACROSS_NODES or crossing or nodes is None else None
    )
    if memory is not None:
        beyond = len([row for row in rows if row.nodes is None or row.nodes > 1]) if not crossing else 0
        share = OWN[min(beyond, len(OWN) - 1)]
        parts = (*scaled(memory.components, share), *scaled(own_parts, 1 - share))
        return Outlook(parts, HISTORY if share >= 0.5 else basis, crossing=crossing, studies=memory.studies)
    if crossing:
        own_parts = tuple(_over_boundary(series.mode, anchor, own_parts, nodes or 2))
    components = _physical(series, rows, target, own_parts, physics)
    if components is not None:
        return Outlook(components, PHYSICS, crossing=crossing)
    if crossing and physics is not None and physics.network.ratio is not None:
        longer = _by_network(rows, nodes or 1, physics.network.ratio)
        return Outlook((*scaled(longer, RATIO_SHARE), *scaled(own_parts, 1 - RATIO_SHARE)), PHYSICS, crossing=True)
    return _widened(Outlook(own_parts, basis, crossing=crossing), series, rows, size)


def _widened(look: Outlook, series: Series, rows: Sequence[MeasuredSize], size: int) -> Outlook:
    """Return the outlook with a share for effects beyond the rows: a slow network, a limit, a continuing loss.

    The value moves only if the rows show a limit.
    """
    doublings = math.log2(size / rows[-1].processes)
    boundary = 1.0 if look.crossing else 0.0 if series.per_node else 1 - (1 - BOUNDARY_CHANCE) ** doublings
    parts, value = look.components, look.log_cost
    if not look.crossing:
        low, high = look.bounds
        half_width = (high - low) / 2
        chance, limits = limited(rows, size, series.mode, value, half_width)
        parts = _beside(parts, limits, chance)
        value = value if bends(rows) is None else Outlook(parts, look.basis).log_cost
        room = min(1.0, half_width / EXPLAINED)
        share = GOING_ON[STRONG if series.mode == STRONG else WEAK]
        parts = _beside(parts, going_on(rows, size, series.mode), room * share)
    if boundary:
        start = math.log(rows[-1].cost)
        slow = [Component(weight, start + loss, SLOW_SPREAD, "boundary") for loss, weight in SLOW_NETWORK]
        parts = _beside(parts, slow, boundary * SLOW_CHANCE)
    return replace(look, components=parts, fixed=value, least=look.bounds, _quantiles={})


def _beside(parts: Sequence[Component], more: Sequence[Component], share: float) -> tuple[Component, ...]:
    """Return components of which `more` weigh a share together."""
    return (*scaled(parts, 1 - share), *scaled(more, share)) if share else tuple(parts)


def _held(log_cost: float) -> float:
    return min(FARTHEST, max(-FARTHEST, log_cost))


def _between(rows: Sequence[MeasuredSize], target: MeasuredSize) -> Component | None:
    """Return the cost between two rows, on a line in logarithms; None outside them."""
    for row, after in itertools.pairwise(rows):
        if row.processes < target.processes < after.processes:
            share = math.log(target.processes / row.processes) / math.log(after.processes / row.processes)
            rise = math.log(after.cost / row.cost)
            value = math.log(row.cost) + share * rise
            return Component(1.0, value, math.hypot(BETWEEN[0] * USUAL, rise / BETWEEN[1]), "between")
    return None


def _single(
    series: Series, row: MeasuredSize, target: MeasuredSize, studies: Sequence[Series], physics: Physics | None,
    crossing: bool,
) -> Outlook:  # fmt: skip
    """Return the cost by one row: a step on a known network, else constant efficiency minus public studies' losses."""
    memory = recall(series, [row], row, target, studies)
    if memory is not None:
        return Outlook(memory.components, HISTORY, crossing=crossing, studies=memory.studies)
    doublings = abs(math.log2(target.processes / row.processes))
    sign = 1.0 if target.processes > row.processes else -1.0
    spread = USUAL + FASTER * doublings
    losses = SINGLE[STRONG if series.mode == STRONG else "weak"]
    parts = [
        Component(weight, math.log(row.cost) + sign * loss * doublings, spread, CONSTANT) for loss, weight in losses
    ]
    components = _physical(series, [row], target, parts, physics)
    if components is not None:
        return Outlook(components, PHYSICS, crossing=crossing)
    alone = Outlook(tuple(scaled(parts)), BASELINE, crossing=crossing, fixed=math.log(row.cost))
    return _widened(alone, series, [row], target.processes) if target.processes > row.processes else alone


def _physical(
    series: Series, rows: Sequence[MeasuredSize], target: MeasuredSize, beside: Sequence[Component],
    physics: Physics | None,
) -> tuple[Component, ...] | None:  # fmt: skip
    """Return the step of computing and communication combined with other results; None when it is unknown."""
    model = step_model(physics, rows, target, series.mode) if physics is not None and physics.whole else None
    if model is None:
        return None
    several = [row for row in rows if row.processes > 1 and ((row.nodes or 1) > 1 or (target.nodes or 1) == 1)]
    count = len(several) if len(rows) > 1 else 0
    share = STEP_SHARE[min(count, len(STEP_SHARE) - 1)] * model.trust
    return (*scaled(model.components, share), *scaled(beside, 1 - share))


def _over_boundary(mode: str, anchor: MeasuredSize, own: Sequence[Component], nodes: int) -> list[Component]:
    """Return the cost beyond the node for an unknown network: BOUNDARY beside the curve inside.

    In strong scaling the curve inside continues in addition: its cost grows on any network.
    """
    start = math.log(anchor.cost)
    if mode == STRONG:
        start = max(start, math.fsum(component.weight * component.log_cost for component in own))
    further = 1 + FURTHER * math.log2(nodes / 2)
    step = [Component(weight, start + loss * further, USUAL, "boundary") for loss, weight in BOUNDARY]
    return [*scaled(step, BOUNDARY_SHARE), *scaled(own, 1 - BOUNDARY_SHARE)]


def _by_network(rows: Sequence[MeasuredSize], nodes: int, network: float) -> list[Component]:
    """Return the cost if the part of communication inside the node grows by `network` between nodes.

    The part is at least the node's loss over its smallest row. A ring over m nodes moves 2(m−1)/m of the bytes
    (Patarasuk and Yuan 2009). The part hidden behind computing is unknown: a factor of two each way.
    """
    lost = max(rows[-1].cost / rows[0].cost - 1, 0.002)
    share = 2 * (1 - 1 / nodes)
    return [
        Component(weight, math.log(rows[0].cost * (1 + lost * max(1.0, network * factor) * share)), USUAL, PHYSICS)
        for factor, weight in ((0.5, 0.25), (1.0, 0.5), (2.0, 0.25))
    ]
