"""Stages on nodes: which rank runs where, and the step with the bandwidths inside and between nodes."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from hackathon.parallel.plan.cost import CostedPlan, Stage
from hackathon.parallel.plan.devices import Devices, devices_of
from hackathon.parallel.plan.graph import Graph, graph_of
from hackathon.parallel.plan.placement import job_shape, placed
from hackathon.parallel.plan.simulation import simulate

DEVICES = devices_of(
    {"count": 8, "memory": 1e9, "bandwidth": 50.0, "devices_per_node": 4, "internode_bandwidth": 5.0}, "d"
)


def chain(count: int) -> Graph:
    operator = {"forward": 1.0, "backward": 2.0, "parameters": 40, "saved": 1, "workspace": 1}
    names = [f"o{number:02d}" for number in range(count)]
    edges = [{"from": a, "to": b, "bytes": 10} for a, b in pairwise(names)]
    return graph_of({"operators": [{"name": name, **operator} for name in names], "edges": edges}, "g")


def plan_of(replicas: tuple[int, ...], devices: Devices = DEVICES, micro_batches: int = 8) -> CostedPlan:
    return CostedPlan(chain(len(replicas)), devices, micro_batches, [Stage((s,), r) for s, r in enumerate(replicas)])


@pytest.mark.parametrize(
    ("processes", "per_node", "shape"),
    [(8, 4, (2, 4)), (3, 4, (1, 3)), (6, 4, (2, 3)), (5, 4, (5, 1)), (4, 4, (1, 4)), (9, 4, (3, 3)), (1, 8, (1, 1))],
)
def test_nodes_have_equally_many_processes(processes: int, per_node: int, shape: tuple[int, int]) -> None:
    assert job_shape(processes, per_node) == shape


def test_ranks_fill_one_node_after_another() -> None:
    placement = placed(plan_of((1, 2, 4, 1)))
    assert placement is not None
    assert placement.stages == ((0,), (0, 0), (0, 1, 1, 1), (1,))
    assert (placement.nodes, placement.processes_per_node, placement.processes) == (2, 4, 8)
    assert placed(plan_of((1, 1), replace(DEVICES, devices_per_node=None))) is None


def test_the_step_lies_between_those_of_the_two_bandwidths() -> None:
    dice = random.Random(0)
    for _ in range(40):
        replicas = tuple(dice.randint(1, 3) for _ in range(dice.randint(1, 5)))
        plan = plan_of(replicas, replace(DEVICES, devices_per_node=dice.randint(1, 6)), dice.randint(3, 9))
        placement = placed(plan)
        assert placement is not None and placement.seconds is not None
        slow = replace(plan.devices, bandwidth=5.0, allreduce_bandwidth=5.0)
        slowest = simulate(CostedPlan(plan.graph, slow, plan.micro_batches, plan.stages)).seconds
        assert simulate(plan).seconds <= placement.seconds * (1 + 1e-12)
        assert placement.seconds <= slowest * (1 + 1e-12)
        if placement.nodes == 1:
            assert placement.seconds == simulate(plan).seconds
        elif placement.processes_per_node == 1:
            assert placement.seconds == pytest.approx(slowest, rel=1e-12)


def test_a_transfer_between_nodes_is_counted_where_it_is() -> None:
    plan = plan_of((1, 1, 1), replace(DEVICES, devices_per_node=2), 1)  # three processes: each on a node of its own
    placement = placed(plan)
    assert placement is not None and placement.nodes == 3
    assert placement.seconds == pytest.approx(3 * 3 + 4 * 10 / 5)
    plan = plan_of((1, 1, 1, 1), replace(DEVICES, devices_per_node=2), 1)
    placement = placed(plan)
    assert placement is not None and placement.seconds == pytest.approx(4 * 3 + 4 * 10 / 50 + 2 * 10 / 5)


def test_without_the_bandwidth_between_nodes_the_step_is_not_known() -> None:
    alone = replace(DEVICES, internode_bandwidth=None)
    several, one = placed(plan_of((4, 4), alone)), placed(plan_of((2, 2), alone))
    assert several is not None and several.seconds is None
    assert one is not None and one.seconds == simulate(plan_of((2, 2), alone)).seconds


def test_the_bandwidth_inside_a_node_shortens_a_step_that_was_planned_for_the_other_one() -> None:
    slow = replace(DEVICES, bandwidth=5.0, allreduce_bandwidth=5.0, internode_bandwidth=None, node_bandwidth=50.0)
    plan = plan_of((2, 2, 4), slow)
    placement = placed(plan)
    assert placement is not None and placement.seconds is not None and placement.seconds < simulate(plan).seconds
