"""Choose searches and cuts, so that each size of graph gets a good plan and a correct bound in its time."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hackathon.parallel.plan.bound import value_of
from hackathon.parallel.plan.coarsen import Blocks, merged
from hackathon.parallel.plan.cost import CostedPlan, Stage, fits
from hackathon.parallel.plan.improve import Descent
from hackathon.parallel.plan.labels import Shape, TooManyLabels
from hackathon.parallel.plan.lattice import IdealLattice, Lattice, LinearLattice, RelaxedLattice
from hackathon.parallel.plan.lighten import lightened
from hackathon.parallel.plan.passes import Memories, OutOfTime
from hackathon.parallel.plan.request import PlanRequest
from hackathon.parallel.plan.search import MOST_LABELS, TIE, Boxes, Costed, Effort, Search
from hackathon.parallel.plan.shapes import ShapeSearch
from hackathon.parallel.plan.step_search import bound_of_steps, least_step

EXACT_CUTS, MOST_IDEALS, COARSE, ZONES, STEP_CUTS, STEP_BLOCKS = 1001, 900, 400, 1200, 64, 22
"""Cuts that are all searched; ideals; groups of a coarser chain; zones of a bound; cuts and groups of `step`."""
FEW_DEVICES, MOST_DEVICES, GROUPS = 16, 256, 80
"""Most devices for which all replicas are tried with all numbers of stages; most devices for labels; groups between
which cuts for given replicas are searched first."""
EFFORT = 300
"""Partial plans per second of a request for one choice of equal replicas."""
GOOD_GAP, FIRST = 0.02, 160
"""Gap at which the search in large graphs ends; groups with which it finds a first plan that fits."""


@dataclass(frozen=True)
class Findings:
    """The results of a planner."""

    plan: CostedPlan | None
    bound: float
    basis: str
    complete: bool


class Planner:
    """The searches for one request."""

    def __init__(
        self, request: PlanRequest, blocks: Blocks, shape: Shape, costed: Costed, deadline: float, *,
        helps: bool = False, proves: bool = True,
    ) -> None:  # fmt: skip
        """`helps`: whether another planner continues with the results; `proves`: whether its bound matters."""
        self.helps, self.proves = helps, proves
        self.request, self.blocks, self.costed, self.deadline = request, blocks, costed, deadline
        self.memories = Memories(request.devices, request.recompute, request.offload)
        self.exact = request.seconds is None
        self.whole = shape = shape.tight()
        # one choice of equal replicas is limited by partial plans, not time: a search of all choices must repeat it
        self.effort = Effort(EFFORT * request.seconds) if shape.equal and request.seconds is not None else Effort()
        self.narrowed = shape.devices > FEW_DEVICES
        self.shape = shape
        if self.narrowed and shape.replicas is None and shape.same_replicas is None:
            most = min(shape.devices, MOST_DEVICES)
            powers = [1 << bits for bits in range(most.bit_length())]
            self.shape = replace(shape, devices=most, candidates=tuple(sorted({*powers, most, most - 1} - {0})))
        self.best: CostedPlan | None = None
        self.value = float("inf")
        operators, again = request.graph.operators, 2 if request.recompute == "all" else 1
        self._work = [
            sum(again * operators[member].forward + operators[member].backward for member in members)
            for members in blocks.members
        ]
        self.bound = self._simple_bound(shape)
        self.basis = "relaxation"
        self.covers_all = True
        self._made: list[Lattice] = []
        self._coarser: dict[tuple[int, int], Lattice] = {}

    # ---- what all objectives share

    def fits(self) -> bool:
        """Return whether the planner finds a plan that fits in the available time."""
        lattice = self._lattices()[0]
        try:
            return self._on(lattice, self.shape).least_load().plan is not None
        except (OutOfTime, TooManyLabels):
            return False

    def search(self, plans: Sequence[CostedPlan]) -> Findings:
        """Return the best plan, `plans` among them, and a bound of all plans."""
        self.start = plans
        for plan in plans:
            self._offer(plan)
        lattices = self._made = self._made or self._lattices()
        exhaustive = len(lattices) == 1 and self.covers_all
        large = lattices[0].size > STEP_CUTS
        early = large and self.request.objective == "step" and not self.exact
        if large:
            self._shapes(lattices)
        if early:
            self._equal_replicas(lattices)
        proven_empty, every = False, self.request.objective == "max-load" and not self.whole.equal
        for lattice in self._made:
            if lattice is self._made[0] or self.best is None or every:
                proven_empty = self._loads(lattice, exhaustive) and exhaustive
                # one order is enough for one choice of equal replicas: the first one on which a plan fits
                lattices = [lattice] if self.whole.equal else self._made
        if self.best is None and (proven_empty or self.whole.equal):
            return Findings(None, 0.0, "search", proven_empty)
        if not self.whole.equal:
            self._light_bound()
        if self.request.objective == "fill":
            for lattice in lattices:
                self._fills(lattice, exhaustive)
        elif self.request.objective == "step":
            self._offer_others(lattices)
            for lattice in lattices:
                self._steps(lattice, exhaustive)
        if not large and not self._done():
            self._shapes(lattices)
        if not early and not self._done():
            self._equal_replicas(lattices)
        if self.whole.equal:
            self._light_bound()
        return Findings(self.best, min(self.bound, self.value), self.basis, False)

    def _offer(self, plan: CostedPlan | None) -> None:
        """Keep a plan if it fits and is the best so far; of equal ones the one with fewer devices, then stages."""
        if plan is None or not plan.feasible:
            return
        value = value_of(plan, self.request.objective)
        size = (plan.devices_used, len(plan.stages))
        if self.best is not None:
            least = (self.best.devices_used, len(self.best.stages))
            if value > self.value * (1 + TIE) or (value >= self.value * (1 - TIE) and size >= least):
                return
        self.best, self.value = plan, min(value, self.value) if self.best is not None else value

    def _prove(self, bound: float, basis: str) -> None:
        if bound > self.bound:
            self.bound, self.basis = bound, basis

    def _on(self, lattice: Lattice, shape: Shape, deadline: float | None = None) -> Search:
        deadline = self.deadline if deadline is None else deadline
        return Search(lattice, self.memories, shape, self.costed, deadline, self.effort)

    def _lattices(self) -> list[Lattice]:
        """Return the cuts to search: all of a chain or of a branched graph, or those of several orders."""
        blocks, devices = self.blocks, self.request.devices
        self.covers_all = True
        if blocks.is_path:
            return [LinearLattice(blocks, devices, blocks.order("depth"))]
        ideals = blocks.ideals(MOST_IDEALS)
        if ideals is not None:
            return [IdealLattice(blocks, devices, ideals)]
        self.covers_all = False
        orders = {tuple(blocks.order(kind)): None for kind in ("depth", "narrow", "breadth")}
        return [LinearLattice(blocks, devices, order) for order in orders]

    def _coarse(self, lattice: Lattice, most: int) -> Lattice | None:
        """Return the same order with fewer cuts; None if there are few already, or cuts are not in one order."""
        if not isinstance(lattice, LinearLattice) or lattice.size <= most + 1:
            return None
        key = id(lattice), most
        if key not in self._coarser:
            operators = self.blocks.graph.operators
            weights = [
                sum(operators[member].forward + operators[member].backward for member in group)
                for group in lattice.groups
            ]
            self._coarser[key] = lattice.at(merged(weights, most))
        return self._coarser[key]

    def _equal_replicas(self, lattices: list[Lattice]) -> None:
        """Offer the best plan of each choice of equal replicas, the same one as a request for it returns.

        Each has the time of such a request. Choices that cannot improve the best plan are skipped.
        """
        if self.helps or self.whole.fixed:
            return
        seconds = float("inf") if self.request.seconds is None else self.request.seconds
        needed = self._least_memory()
        for shape in self.whole.equal_choices(len(self.blocks)):
            stages, least = shape.stages or 1, self._simple_bound(shape)
            if least >= self.value * (1 - TIE) or not fits(needed / stages, self.request.devices.memory):
                continue
            other = Planner(self.request, self.blocks, shape, self.costed, time.monotonic() + seconds, proves=False)
            other._made, other.covers_all, other._coarser = lattices, self.covers_all, self._coarser
            if not other._is_worse(self.value):
                other.deadline = time.monotonic() + seconds
                self._offer(other.search([plan for plan in self.start if shape.allows(plan.replicas)]).plan)
        if self.request.seconds is not None:
            self.deadline = max(self.deadline, time.monotonic() + 0.5 * self.request.seconds)

    def _is_worse(self, value: float) -> bool:
        """Return whether every plan that this planner can find has at least a value."""
        if value == float("inf") or self.request.objective != "step":
            return False
        lattices = self._made
        try:
            if len(lattices) > 1:
                few = self._coarse(lattices[0], GROUPS) or lattices[0]
                if self._on(few, self.whole).exact_load() is not None:  # the search then stays on this order
                    lattices = lattices[:1]
            return all(self._least_step(lattice, value) >= value * (1 - TIE) for lattice in lattices)
        except (OutOfTime, TooManyLabels):
            return False

    def _least_step(self, lattice: Lattice, value: float) -> float:
        """Return a bound of the steps of a lattice, or `value` if that is less. Raises OutOfTime and TooManyLabels."""
        if lattice.size > EXACT_CUTS and lattice.chain and isinstance(lattice, LinearLattice):
            search = self._on(RelaxedLattice(lattice, ZONES // 4), self._free())
            return bound_of_steps(search, value, by_stages=False)[0]
        return bound_of_steps(self._on(lattice, self.whole), value, by_stages=True)[0]

    def _least_memory(self) -> float:
        """Return the least bytes of all stages of a plan, on one device each."""
        graph, optimizer = self.request.graph, self.request.devices.optimizer_bytes_per_parameter_byte
        states = 2 + optimizer if self.request.offload == "never" else 0.0
        shared = sum((len(alias.operators) - 1) * alias.bytes for alias in graph.aliases)
        return -states * shared + sum(
            states * operator.parameters + operator.frozen + operator.buffers + operator.saved
            for operator in graph.operators
        )

    def _shapes(self, lattices: list[Lattice]) -> None:
        """Offer plans with equal replicas of all stages, and similar ones."""
        if self.helps or self.whole.replicas is not None or self.whole.devices > MOST_DEVICES:
            return
        lattice = lattices[0]
        fine = lattice
        if not isinstance(fine, LinearLattice):
            fine = LinearLattice(self.blocks, self.request.devices, self.blocks.order("depth"))
        coarse = [
            candidate for candidate in (self._coarse(fine, GROUPS), self._coarse(fine, COARSE)) if candidate is not None
        ]
        coarse = coarse if lattice.size > EXACT_CUTS else [*coarse, lattice]
        deadline = min(self.deadline, time.monotonic() + 0.3 * self._left())
        search = ShapeSearch(coarse, fine, self.memories, self.whole, self.request.objective, self.costed, deadline)
        for plan in search.plans(self.best):
            self._offer(plan)
        if self.best is None or self.exact or fine is not lattice or len(set(self.best.replicas)) == 1:
            return
        # the search for the replicas of the best plan alone, as a request for them runs it
        replicas = tuple(self.best.replicas)
        shape = replace(self.whole, stages=len(replicas), replicas=replicas, same_replicas=None)
        other = Planner(
            self.request, self.blocks, shape, self.costed,
            min(self.deadline, time.monotonic() + 0.4 * self._left()), helps=True,
        )  # fmt: skip
        other._made, other.covers_all, other._coarser = lattices, self.covers_all, self._coarser
        self._offer(other.search([self.best]).plan)

    @cached_property
    def _longest(self) -> float:
        """The seconds of the longest path through the blocks, forward and backward."""
        longest: list[float] = []
        for number, seconds in enumerate(self._work):
            longest.append(seconds + max((longest[block] for block in self.blocks.before[number]), default=0.0))
        return max(longest)

    def _simple_bound(self, shape: Shape) -> float:
        """Return a bound of every plan of a shape: the work divided by the devices, and the heaviest block."""
        work, m = self._work, self.request.micro_batches
        devices, most = shape.devices, shape.most_replicas
        if self.request.objective == "step":
            return max(shape.rounds * sum(work), max(work) * -(-m // most), self._longest) * (1 - TIE)
        rate = max(sum(work) / devices, max(work) / most)
        return (rate if self.request.objective == "max-load" else m * rate) * (1 - TIE)

    def _offer_others(self, lattices: list[Lattice]) -> None:
        """Offer the plans of least max-load and fill: the best step is never longer than theirs."""
        if self.whole.equal:
            return
        for objective in ("max-load", "fill"):
            request = replace(self.request, objective=objective, seconds=self.request.seconds or 1.0)
            deadline = min(self.deadline, time.monotonic() + 0.1 * min(self._left(), 60.0))
            other = Planner(request, self.blocks, self.whole, self.costed, deadline, helps=True)
            other._made, other.covers_all, other._coarser = lattices, self.covers_all, self._coarser
            self._offer(other.search([]).plan)

    def _light_bound(self) -> None:
        """Bound all plans of a branched graph with too many cuts by those of a lighter one."""
        if self.covers_all or self.best is None or self._done() or self.helps or not self.proves:
            return
        if self.whole.devices > MOST_DEVICES or any(operator.checkpointed for operator in self.blocks.graph.operators):
            return  # a lighter graph may leave out an operator for which a stage must recompute
        lighter = lightened(self.blocks.graph, MOST_IDEALS)
        if lighter is None:
            return
        lattice = IdealLattice(lighter[0], self.request.devices, lighter[1])
        lattice.relaxed = True
        share = 1.0 if self.exact else 0.6
        deadline = min(self.deadline, time.monotonic() + share * self._left())
        search, upper = self._on(lattice, self._free(), deadline), self.value * (1 + 4 * TIE)
        try:
            if self.request.objective == "max-load":
                bound = search.least_load(upper).bound
            elif self.request.objective == "fill":
                programme = search.programme(search.shape, "least", by_stages=True)
                bound = Boxes(search, programme, False).root_bound(programme.labels.finals(), upper)
            else:
                bound, _ = bound_of_steps(search, upper, by_stages=False)
        except (OutOfTime, TooManyLabels):
            return
        self._prove(bound * (1 - TIE), "relaxation")

    # ---- max-load

    def _loads(self, lattice: Lattice, exhaustive: bool) -> bool:
        """Search the plan of least max-load; return whether no plan fits."""
        mine = self.request.objective == "max-load"
        upper = float("inf")
        first = self._coarse(lattice, FIRST) if self.best is None and lattice.size > COARSE else None
        if first is not None:
            try:
                self._offer(self._on(first, self.shape).sure_load())
            except (OutOfTime, TooManyLabels):
                pass
        coarse = self._coarse(lattice, COARSE if lattice.size > EXACT_CUTS else 80)
        if coarse is not None:
            try:
                outcome = self._on(coarse, self.shape).least_load()
                self._offer(outcome.plan)
                upper = outcome.value * (1 + 4 * TIE) if outcome.plan is not None else upper
            except (OutOfTime, TooManyLabels):
                pass
            if not mine and self.best is not None:
                return False
        if lattice.size > EXACT_CUTS and not self.exact and self.best is not None:
            if mine and exhaustive:
                self._relaxed_load(lattice)
            if (self.value - self.bound) <= GOOD_GAP * self.value:
                return False
        try:
            outcome = self._on(lattice, self.shape).least_load(upper)
        except (OutOfTime, TooManyLabels):
            return False
        self._offer(outcome.plan)
        if mine and exhaustive:
            if self.narrowed and self.shape is not self.whole:
                self._relaxed_load(lattice)
            else:
                self._prove(min(outcome.bound, upper), "search")
        return outcome.plan is None and upper == float("inf") and self.shape is self.whole and outcome.bound == upper

    def _relaxed_load(self, lattice: Lattice) -> None:
        """Bound max-load by zones of cuts, with all numbers of replicas."""
        shape = replace(self._free(), devices=self.whole.devices)
        if shape.devices > MOST_DEVICES or not isinstance(lattice, LinearLattice):
            return
        relaxed: Lattice = lattice
        if lattice.size > ZONES and lattice.chain:
            relaxed = RelaxedLattice(lattice, ZONES)
        elif not lattice.chain:
            return
        try:
            programme = self._on(relaxed, shape)
            self._prove(programme.least_load(self.value * (1 + 4 * TIE)).bound * (1 - TIE), "relaxation")
        except (OutOfTime, TooManyLabels):
            pass

    def _free(self) -> Shape:
        """Return a shape that also contains all plans after stages are removed."""
        return self.whole.without_stages(MOST_LABELS // 2)

    # ---- fill

    def _fills(self, lattice: Lattice, exhaustive: bool) -> None:
        coarse = self._coarse(lattice, 200 if lattice.size > EXACT_CUTS else 60)
        if coarse is not None:
            try:
                short = min(self.deadline, time.monotonic() + 0.2 * self._left())
                self._offer(self._on(coarse, self.shape, short).least_fill(self.best, 0.002).plan)
            except TooManyLabels:
                pass
        if lattice.size > EXACT_CUTS and not self.exact:
            if exhaustive and lattice.chain and isinstance(lattice, LinearLattice):
                self._relaxed_fill(RelaxedLattice(lattice, ZONES))
            return
        try:
            outcome = self._on(lattice, self.shape).least_fill(self.best)
        except TooManyLabels:
            return
        self._offer(outcome.plan)
        if exhaustive and self.shape is self.whole:
            self._prove(outcome.bound, "search")

    def _relaxed_fill(self, lattice: Lattice) -> None:
        try:
            search = self._on(lattice, self._free())
            programme = search.programme(search.shape, "least", by_stages=True)
            bound = Boxes(search, programme, False).root_bound(programme.labels.finals(), self.value * (1 + 4 * TIE))
            self._prove(bound * (1 - TIE), "relaxation")
        except (OutOfTime, TooManyLabels):
            pass

    def _left(self) -> float:
        return min(3600.0, max(0.0, self.deadline - time.monotonic()))

    # ---- step

    def _steps(self, lattice: Lattice, exhaustive: bool) -> None:
        self._step_bound(lattice, exhaustive)
        small = lattice.size <= STEP_CUTS and not self.narrowed
        coarse = None if small else self._coarse(lattice, STEP_BLOCKS)
        if coarse is not None and not self.narrowed and not self._done():
            deadline = min(self.deadline, time.monotonic() + 0.4 * min(self._left(), 60.0))
            self._offer(least_step(self._on(coarse, self.shape, deadline), self.best).plan)
        if self.best is not None and isinstance(lattice, LinearLattice) and not self._done() and not small:
            deadline = min(self.deadline, time.monotonic() + 0.9 * min(self._left(), 60.0))
            descent = Descent(lattice, self.memories, "step", self.costed, deadline)
            for plan in descent.improved(self.best):
                self._offer(plan)
        if not self.narrowed and lattice.size <= 600 and not self._done():
            outcome = least_step(self._on(lattice, self.shape), self.best)
            self._offer(outcome.plan)
            if exhaustive:
                self._prove(outcome.bound, "search")

    def _done(self) -> bool:
        return self.best is not None and self.value - self.bound <= TIE * self.value

    def _step_bound(self, lattice: Lattice, exhaustive: bool) -> None:
        """Bound the step time by the bound of each plan, and simulate the plans with the least bounds."""
        upper = self.value * (1 + 4 * TIE)
        chain = lattice.chain and isinstance(lattice, LinearLattice)
        many = self.whole.devices > FEW_DEVICES
        try:
            if lattice.size > EXACT_CUTS:
                coarse = self._coarse(lattice, COARSE)
                if coarse is not None:
                    _, plans = bound_of_steps(self._on(coarse, self.shape), upper, by_stages=not many)
                    self._simulate(plans)
                if exhaustive and chain and self.whole.devices <= MOST_DEVICES:
                    assert isinstance(lattice, LinearLattice)
                    relaxed = self._on(RelaxedLattice(lattice, ZONES), self._free())
                    bound, _ = bound_of_steps(relaxed, upper, by_stages=False)
                    self._prove(bound * (1 - TIE), "relaxation")
                return
            bound, plans = bound_of_steps(self._on(lattice, self.shape), upper, by_stages=not many)
            self._simulate(plans)
            if self.shape is not self.whole and self.whole.devices <= MOST_DEVICES:
                bound, plans = bound_of_steps(self._on(lattice, self.whole), upper, by_stages=False)
                self._simulate(plans)
            if exhaustive and (self.shape is self.whole or self.whole.devices <= MOST_DEVICES):
                self._prove(bound * (1 - TIE), "relaxation")
        except (OutOfTime, TooManyLabels):
            pass

    def _simulate(self, plans: Sequence[Sequence[Stage]]) -> None:
        for stages in plans:
            if self._left() <= 0:
                break
            self._offer(self.costed(stages))
