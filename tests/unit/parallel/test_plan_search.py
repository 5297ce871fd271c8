"""Plans against every admissible plan of small graphs: value, ties, bound, infeasible ones included."""

import copy
import random
from itertools import pairwise, product
from typing import Any

import pytest

from hackathon.parallel.plan.bound import OBJECTIVES, bound_terms, value_of
from hackathon.parallel.plan.cost import CostedPlan, Stage
from hackathon.parallel.plan.devices import devices_of
from hackathon.parallel.plan.graph import Graph, graph_of
from hackathon.parallel.plan.order import rank_order, warm_ups
from hackathon.parallel.plan.plan import make_plan
from hackathon.parallel.plan.request import PlanRequest, PlanResult
from hackathon.parallel.plan.simulation import simulate
from support.plan_oracle import Oracle, random_devices, random_graph


def planned(
    graph: dict[str, Any], devices: dict[str, Any], micro_batches: int, objective: str, **options: Any
) -> PlanResult:
    """Return the plan that the search finds without a time limit."""
    options = {"seconds": None, **options}
    return make_plan(PlanRequest(graph_of(graph, "g"), devices_of(devices, "d"), micro_batches, objective, **options))


def compared(graph: dict[str, Any], devices: dict[str, Any], m: int, objective: str, **options: Any) -> bool:
    """Compare a plan with all plans; return whether there is one."""
    result = planned(graph, devices, m, objective, **options)
    oracle = Oracle(graph, devices, m)
    replicas = options.get("replicas", ())
    if len(replicas) > 1:
        options = {**options, "stages": len(replicas)}
    best = oracle.best(objective, **options)
    assert result.proven
    if best is None:
        assert result.plan is None
        return False
    assert result.plan is not None and result.value is not None and result.bound is not None
    assert (result.plan.devices_used, len(result.plan.stages)) == best[1:]
    assert result.value == pytest.approx(best[0], rel=1e-9)
    assert result.bound <= best[0] * (1 + 1e-12)
    names = [each.name for each in result.plan.graph.operators]
    same = [
        (frozenset(names[each] for each in stage.operators), stage.replicas, stage.recompute, stage.offload)
        for stage in result.plan.stages
    ]
    parts = oracle.parts(same)
    assert oracle.fits(parts)
    assert oracle.value(objective, same, parts) == pytest.approx(result.value, rel=1e-9)
    for cost, part in zip(result.plan.costs, parts, strict=True):
        assert cost.memory.total == pytest.approx(part["memory"], rel=1e-12)
    return True


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 150, 30))
def test_plans_of_chains_are_those_of_brute_force(start: int) -> None:
    """510 chains: cuts, replicas, recomputation, offload and memory; the first 120 with all objectives."""
    found = 0
    for seed in range(start, start + 30):
        dice = random.Random(seed)
        graph = random_graph(dice, dice.randint(1, 6), ties=dice.random() < 0.2, aliases=dice.random() < 0.4)
        devices = random_devices(dice, dice.randint(1, 4), graph)
        options: dict[str, Any] = {
            "recompute": dice.choice(("never", "auto", "auto", "all")),
            "offload": dice.choice(("never", "never", "auto", "all")),
            "stages": dice.choice((None, None, None, 1, 2)),
        }
        if options["stages"] is None:
            options["replicas"] = dice.choice(((), (), (), (1,), (2,), (1, 2), (2, 1)))
        m = dice.randint(1, 6)
        objectives = OBJECTIVES if seed < 120 else OBJECTIVES[seed % 3 :][:1]
        found += sum(compared(graph, devices, m, objective, **options) for objective in objectives)
    most = 90 if start < 120 else 30
    assert most / 5 < found < most  # plans that fit and chains without one


def test_plans_of_longer_chains_are_those_of_brute_force() -> None:
    for seed in range(4):
        dice = random.Random(1000 + seed)
        graph = random_graph(dice, 8, aliases=dice.random() < 0.3)
        devices = random_devices(dice, 4, graph)
        way = dice.choice(("never", "all"))
        for objective in OBJECTIVES:
            compared(graph, devices, dice.randint(2, 8), objective, recompute=way)


def test_plans_of_branched_graphs_are_those_of_brute_force() -> None:
    for seed in range(12):
        dice = random.Random(2000 + seed)
        graph = random_graph(dice, dice.randint(4, 6), branched=True, aliases=dice.random() < 0.3)
        devices = random_devices(dice, dice.randint(2, 3), graph)
        for objective in OBJECTIVES:
            compared(graph, devices, dice.randint(1, 5), objective, recompute=dice.choice(("never", "auto")))


def test_operators_without_edges_may_stand_anywhere() -> None:
    graph = random_graph(random.Random(5), 4)
    graph["edges"] = graph["edges"][:1]
    devices = {"count": 3, "memory": 1e9, "bandwidth": 10.0}
    for objective in OBJECTIVES:
        assert compared(graph, devices, 3, objective)


def scaled(graph: dict[str, Any], devices: dict[str, Any], by: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the same problem with all times longer."""
    graph, devices = copy.deepcopy(graph), dict(devices)
    for operator in graph["operators"]:
        operator["forward"] *= by
        operator["backward"] *= by
    devices["bandwidth"] /= by
    devices["latency"] = devices.get("latency", 0) * by
    devices["host_bandwidth"] /= by
    return graph, devices


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_plan_does_not_depend_on_units_order_or_operators_without_cost(objective: str) -> None:
    for seed in range(6):
        dice = random.Random(3000 + seed)
        graph = random_graph(dice, 6, branched=seed % 3 == 2, ties=seed == 1, aliases=seed == 4)
        devices = random_devices(dice, 1 if seed == 3 else 3, graph)
        plain = planned(graph, devices, 4, objective, recompute="auto")
        for by in (1e-9, 1e12):
            other = planned(*scaled(graph, devices, by), 4, objective, recompute="auto")
            assert (other.value is None) == (plain.value is None)
            if plain.value is not None:
                assert other.value == pytest.approx(plain.value * by, rel=1e-9)
        shuffled = copy.deepcopy(graph)
        dice.shuffle(shuffled["operators"])
        dice.shuffle(shuffled["edges"])
        assert planned(shuffled, devices, 4, objective, recompute="auto").value == plain.value
        empty = {"name": "zero", "forward": 0, "backward": 0, "parameters": 0, "saved": 0, "workspace": 0}
        longer = copy.deepcopy(graph)
        longer["operators"].append(empty)
        longer["edges"].append({"from": graph["operators"][-1]["name"], "to": "zero", "bytes": 0})
        assert compared(longer, devices, 4, objective) == (planned(graph, devices, 4, objective).plan is not None)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_more_devices_than_operators_and_a_graph_without_cost(objective: str) -> None:
    graph = random_graph(random.Random(9), 2)
    graph.pop("aliases", None)
    assert compared(graph, {"count": 7, "memory": 1e9, "bandwidth": 50.0}, 3, objective)
    for operator in graph["operators"]:
        operator.update(dict.fromkeys(("forward", "backward", "parameters", "saved"), 0))
    graph["edges"][0] = {"from": "op000", "to": "op001", "bytes": 0}
    result = planned(graph, {"count": 4, "memory": 1e9, "bandwidth": 50.0}, 3, objective)
    assert result.value == 0 and result.proven and result.plan is not None and result.plan.replicas == [1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 5])
def test_both_ways_to_the_least_fill_give_the_same_plan(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fronts around a good plan, and boxes of thresholds, which take over where fronts are too many."""
    dice = random.Random(6000 + seed)
    graph = random_graph(dice, 40, ties=seed == 1, aliases=seed % 2 == 0)
    whole = sum(4 * each["parameters"] + 2 * each["saved"] for each in graph["operators"])
    devices = {"count": 5, "memory": whole * (0.4, 0.7, 2.0)[seed % 3], "bandwidth": 200.0, "latency": 0.01}
    options: dict[str, Any] = {"recompute": "auto"} if seed < 3 else {}
    near = planned(graph, devices, 6, "fill", **options)
    monkeypatch.setattr("hackathon.parallel.plan.fronts.MOST_ENTRIES", 0)
    boxes = planned(graph, devices, 6, "fill", **options)
    assert (near.proven, boxes.proven) == (True, True) and (near.plan is None) == (boxes.plan is None)
    if near.plan is not None and boxes.plan is not None:
        assert near.value == pytest.approx(boxes.value, rel=1e-9)
        assert near.plan.devices_used == boxes.plan.devices_used
        assert len(near.plan.stages) == len(boxes.plan.stages)


@pytest.mark.slow
def test_bounds_hold_for_every_plan() -> None:
    """The bound of each plan is at most its value; that of the search is at most the value of each plan."""
    for seed in range(12):
        dice = random.Random(4000 + seed)
        graph = random_graph(dice, 5, branched=seed % 2 == 1, aliases=True)
        devices = random_devices(dice, 3, graph)
        m = dice.randint(2, 7)
        read, machine = graph_of(graph, "g"), devices_of(devices, "d")
        number = {each.name: at for at, each in enumerate(read.operators)}
        bounds = {o: planned(graph, devices, m, o, recompute="auto").bound for o in OBJECTIVES}
        for plan, _ in Oracle(graph, devices, m).plans(recompute="auto"):
            stages = [Stage(tuple(number[n] for n in stage), *rest) for stage, *rest in plan]
            costed = CostedPlan(read, machine, m, stages)
            for objective, bound in bounds.items():
                value = value_of(costed, objective)
                assert sum(each.seconds for each in bound_terms(costed, objective)) <= value * (1 + 1e-12)
                assert bound is not None and bound <= value * (1 + 1e-12)


def test_the_bound_of_a_chain_is_the_formula() -> None:
    graph = random_graph(random.Random(11), 6)
    graph.pop("glued", None)
    read = graph_of(graph, "g")
    devices = devices_of({"count": 9, "memory": 1e9, "bandwidth": 50.0, "latency": 0.01}, "d")
    plan = CostedPlan(read, devices, 7, [Stage((0, 1), 1), Stage((2,), 3), Stage((3, 4), 2), Stage((5,), 1)])
    way, bounds = 0.0, []
    for cost, replicas in zip(plan.costs, plan.replicas, strict=True):
        bounds.append(way + -(-7 // replicas) * (cost.forward + cost.backward))
        way += cost.forward + cost.backward + cost.out_forward + cost.out_backward
    assert sum(each.seconds for each in bound_terms(plan, "step")) == pytest.approx(max(bounds), rel=1e-12)


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [((1, 3), [4, 1]), ((1, 2, 1), [5, 2, 1]), ((2, 3, 2, 1), [6, 3, 2, 1]), ((1, 1, 1, 1), [4, 3, 2, 1])],
)
def test_warm_ups_of_uneven_replicas(replicas: tuple[int, ...], expected: list[int]) -> None:
    assert warm_ups(replicas) == expected


def test_ten_thousand_random_orders_are_complete_and_never_wait_for_themselves() -> None:
    dice = random.Random(0)
    operator = {"forward": 1, "backward": 2, "parameters": 0, "saved": 0, "workspace": 0}
    graphs: dict[int, Graph] = {}
    for stages in range(1, 6):
        names = [str(each) for each in range(stages)]
        edges = [{"from": a, "to": b, "bytes": 1} for a, b in pairwise(names)]
        if stages > 2:
            edges.append({"from": "0", "to": names[-1], "bytes": 1})
        graphs[stages] = graph_of({"operators": [{"name": n, **operator} for n in names], "edges": edges}, "g")
    devices = devices_of({"count": 99, "memory": 1e9, "bandwidth": 10.0}, "d")
    for number in range(10_000):
        m = dice.randint(1, 8)
        replicas = [dice.randint(1, min(4, m)) for _ in range(dice.randint(1, 5))]
        for count, warm_up in zip(replicas, warm_ups(replicas), strict=True):
            passes = [each for q in range(count) for each in rank_order(warm_up, q, count, m)]
            assert sorted(passes) == sorted(product((True, False), range(m)))
        if number % 10 == 0:
            plan = CostedPlan(graphs[len(replicas)], devices, m, [Stage((s,), r) for s, r in enumerate(replicas)])
            assert simulate(plan).seconds > 0


def test_a_short_time_gives_a_plan_with_an_honest_gap() -> None:
    dice = random.Random(12)
    graph = random_graph(dice, 60)
    devices = {"count": 6, "memory": 1e12, "bandwidth": 100.0}
    exact = planned(graph, devices, 8, "max-load", replicas=(1,))
    for objective in OBJECTIVES:
        result = planned(graph, devices, 8, objective, replicas=(1,), seconds=0.0)
        assert result.plan is not None and result.bound is not None and result.value is not None
        assert result.bound <= result.value
        if objective == "max-load":
            assert exact.value is not None and result.bound <= exact.value <= result.value


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_step_is_never_longer_than_that_of_plans_a_person_would_make(objective: str) -> None:
    graph = random_graph(random.Random(13), 1500)
    devices = {"count": 8, "memory": 1e12, "bandwidth": 1000.0}
    result = planned(graph, devices, 16, objective, seconds=3.0)
    assert result.plan is not None and result.value is not None and result.bound is not None
    assert result.bound <= result.value
    for other in result.alternatives.values():
        assert result.value <= value_of(other, objective) * (1 + 1e-12)


def test_a_step_is_never_longer_than_those_of_the_least_load_and_fill(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where the search for a step finds nothing by itself."""
    monkeypatch.setattr("hackathon.parallel.plan.planner.Planner._steps", lambda *_: None)
    better = 0
    for seed in range(6):
        dice = random.Random(7000 + seed)
        graph = random_graph(dice, 20)
        devices = {"count": 4, "memory": 1e12, "bandwidth": 300.0}
        step = planned(graph, devices, 8, "step")
        assert step.value is not None
        for objective in ("max-load", "fill"):
            other = planned(graph, devices, 8, objective)
            assert other.plan is not None and step.value <= simulate(other.plan).seconds * (1 + 1e-9)
        better += all(step.value < value_of(plan, "step") * (1 - 1e-9) for plan in step.alternatives.values())
    assert better


@pytest.mark.slow
def test_a_graph_with_too_many_cuts_gets_a_plan_with_a_bound() -> None:
    """Fourteen branches side by side have thousands of sets of operators: some orders are searched."""
    operator = {"forward": 1.0, "backward": 2.0, "parameters": 8, "saved": 1, "workspace": 1}
    names = [f"{branch}-{at}" for branch in range(14) for at in range(2)]
    edges = [{"from": f"{branch}-0", "to": f"{branch}-1", "bytes": 1} for branch in range(14)]
    graph = {"operators": [{"name": name, **operator} for name in names], "edges": edges}
    devices = {"count": 4, "memory": 28 * 33, "bandwidth": 100.0}
    for objective in OBJECTIVES:
        result = planned(graph, devices, 4, objective, replicas=(1,), seconds=2.0)
        assert result.plan is not None and result.value is not None and result.bound is not None
        assert len(result.plan.stages) == 4 and result.bound <= result.value
        for other in result.alternatives.values():
            assert result.value <= value_of(other, objective) or not other.feasible or other.replicas != [1] * 4
    tight = planned(graph, {**devices, "memory": 33}, 4, "step", seconds=1.0)
    assert tight.plan is None and tight.proven and "tensor-parallelism" in tight.help


@pytest.mark.parametrize("recompute", ["never", "auto", "all"])
def test_stages_with_operators_in_a_checkpoint_recompute_in_every_mode(recompute: str) -> None:
    rows = [
        {"name": f"o{at}", "forward": 1.0, "backward": 2.0, "parameters": 1e8, "saved": 1e8, "workspace": 0}
        | ({"checkpointed": True} if at in (4, 5) else {})
        for at in range(8)
    ]
    edges = [{"from": f"o{at}", "to": f"o{at + 1}", "bytes": 1e6} for at in range(7)]
    graph = graph_of({"schema_version": 1, "operators": rows, "edges": edges}, "graph.json")
    devices = devices_of({"count": 4, "memory": 1e10, "bandwidth": 1e10}, "devices.json")
    for objective in ("step", "max-load", "fill"):
        result = make_plan(PlanRequest(graph, devices, 4, objective, stages=4, recompute=recompute, seconds=2.0))
        assert result.plan is not None and result.bound is not None and result.value is not None
        assert result.bound <= result.value * (1 + 1e-9)
        for stage in result.plan.stages:
            must = any(graph.operators[each].checkpointed for each in stage.operators)
            assert stage.recompute or not must
            assert must or recompute != "never" or not stage.recompute
    assert graph.identity != graph_of(
        {"schema_version": 1, "operators": [{k: v for k, v in row.items() if k != "checkpointed"} for row in rows],
         "edges": edges}, "graph.json",
    ).identity  # fmt: skip
