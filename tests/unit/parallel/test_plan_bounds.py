"""The lower bounds of a step: of one plan against its simulation, of all plans against brute force."""

import math
import random
from itertools import pairwise

import numpy
import pytest

from hackathon.parallel.plan.coarsen import Blocks
from hackathon.parallel.plan.cost import CostedPlan, Stage
from hackathon.parallel.plan.devices import devices_of
from hackathon.parallel.plan.graph import graph_of
from hackathon.parallel.plan.labels import Labels, Shape
from hackathon.parallel.plan.lattice import IdealLattice, LinearLattice, RelaxedLattice
from hackathon.parallel.plan.order import in_flight, warm_ups
from hackathon.parallel.plan.passes import Memories, StageWay
from hackathon.parallel.plan.search import Search
from hackathon.parallel.plan.simulation import simulate
from hackathon.parallel.plan.step_search import WorkCost, bound_of_steps
from support.plan_oracle import Oracle, random_devices, random_graph


def test_no_simulated_step_is_shorter_than_passes_and_what_they_wait_for() -> None:
    dice = random.Random(0)
    near = 0
    for _ in range(500):
        stages, m = dice.randint(1, 5), dice.randint(1, 12)
        operators = [
            {
                "name": str(n), "forward": dice.choice((0, 1, dice.uniform(0, 3))), "backward": dice.uniform(0, 4),
                "parameters": 0, "saved": 0, "workspace": 0,
            }
            for n in range(stages)
        ]  # fmt: skip
        edges = [{"from": str(a), "to": str(b), "bytes": dice.choice((0, 5))} for a, b in pairwise(range(stages))]
        graph = graph_of({"operators": operators, "edges": edges}, "g")
        devices = devices_of({"count": 99, "memory": 1e9, "bandwidth": 10.0}, "d")
        replicas = [dice.randint(1, min(3, m)) for _ in range(stages)]
        plan = CostedPlan(graph, devices, m, [Stage((s,), r) for s, r in enumerate(replicas)])
        seconds, bounds = simulate(plan).seconds, []
        hops = [cost.forward + cost.backward + cost.out_forward + cost.out_backward for cost in plan.costs]
        for s, cost in enumerate(plan.costs):
            behind = cost.out_forward + cost.out_backward + sum(hops[s + 1 :])
            row = type("Row", (), {"behind": numpy.array([behind]), "own": numpy.array([0.0])})()
            ahead = in_flight(warm_ups(replicas)[s], replicas[s], m)
            for more in (0, 1, 5):  # more passes before the first backward pass never make the bound larger
                way = StageWay(
                    False, False, numpy.array([cost.forward]), numpy.array([cost.backward]), numpy.array([True]),
                    numpy.array([[ahead + more]]),
                )  # fmt: skip
                whole = WorkCost(m, 1.0, heads=False)(row, way, numpy.array([[replicas[s]]]))[0, 0]
                assert sum(hops[:s]) + whole <= seconds * (1 + 1e-12)
                bounds.append(sum(hops[:s]) + whole)
        near += max(bounds) > 0.999 * seconds
    assert near > 160


def test_labels_count_no_fewer_passes_ahead_than_a_plan_has() -> None:
    dice = random.Random(1)
    for kind in ("plan", "vanishing"):
        for by_stages in (True, False):
            shape = Shape(8, 9)
            labels = Labels(shape, "least", by_stages=by_stages, ahead=kind)
            steps: dict[tuple[int, int], list[tuple[int, int]]] = {}
            for group in labels.groups:
                for source, target in zip(group.sources, group.targets, strict=True):
                    steps.setdefault((source, group.replicas), []).append((target, group.ahead))
            for _ in range(300):
                replicas = []
                while sum(replicas) < 8 and (not replicas or dice.random() < 0.8):
                    replicas.append(dice.randint(1, 8 - sum(replicas)))
                kept = [True] * len(replicas)
                if kind == "vanishing":
                    kept = [dice.random() < 0.7 for _ in replicas]
                at = 0
                for s in range(len(replicas) - 1, -1, -1):
                    if not kept[s]:
                        continue
                    ((at, ahead),) = steps[at, replicas[s]]
                    assert ahead >= in_flight(warm_ups(replicas)[s], replicas[s], 9)


@pytest.mark.parametrize("branched", [False, True])
def test_the_bound_of_steps_is_at_most_the_best_step(branched: bool) -> None:
    compared = positive = 0
    for seed in range(25):
        dice = random.Random(9000 + seed)
        graph = random_graph(dice, dice.randint(2, 6), branched=branched, aliases=dice.random() < 0.3)
        devices = random_devices(dice, dice.randint(1, 3 if branched else 4), graph)
        m, recompute = dice.randint(1, 6), dice.choice(("never", "auto", "all"))
        best = Oracle(graph, devices, m).best("step", recompute=recompute)
        if best is None:
            continue
        read, machine = graph_of(graph, "g"), devices_of(devices, "d")
        blocks, memories = Blocks(read), Memories(machine, recompute)
        linear = LinearLattice(blocks, machine, blocks.order("depth")) if blocks.is_path else None
        lattices = [linear] if linear else [IdealLattice(blocks, machine, blocks.ideals(900) or [])]
        if linear is not None and linear.chain and linear.size > 3:
            lattices.append(RelaxedLattice(linear, 2))
        for lattice in lattices:
            shape = Shape(machine.count, m)
            search = Search(
                lattice, memories, shape, lambda s, g=read, d=machine, k=m: CostedPlan(g, d, k, s), math.inf
            )
            for by_stages in (True, False):
                bound, _ = bound_of_steps(search, math.inf, by_stages=by_stages)
                assert bound <= best[0] * (1 + 1e-9)
                compared, positive = compared + 1, positive + (bound > 0.8 * best[0])
    assert compared > 20 and positive > compared / 3
