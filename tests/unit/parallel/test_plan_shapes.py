"""The search without given stages against those with given ones, and bounds of what a request allows only."""

import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hackathon.cli.main import run
from support.plan_graphs import transformer
from support.plan_oracle import Oracle, random_devices, random_graph

Planned = Callable[..., dict[str, Any]]
LOOK = 0.02
"""Seconds that a search believes to pass between two looks at the clock: its limits then count work."""


@pytest.fixture
def planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Planned:
    """Return what `hackathon plan --json` says, with a clock that goes on whenever a search looks at it."""

    class Clock:
        looks = itertools.count()

        @classmethod
        def monotonic(cls) -> float:
            return LOOK * next(cls.looks)

    for name in ("plan", "planner", "passes", "step_search", "improve"):
        monkeypatch.setattr(f"hackathon.parallel.plan.{name}.time", Clock)

    def plan(graph: dict[str, Any], devices: dict[str, Any], m: int, *words: str) -> dict[str, Any]:
        for name, value in (("graph", graph), ("devices", devices)):
            (tmp_path / f"{name}.json").write_text(json.dumps(value))
        files = ("--graph", str(tmp_path / "graph.json"), "--devices", str(tmp_path / "devices.json"))
        run(["plan", *files, "--micro-batches", str(m), "--json", *words])
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return plan


@pytest.mark.slow
def test_heavy_equal_layers_get_a_plan_as_good_as_with_given_stages(planned: Planned) -> None:
    graph = transformer(27)
    memory = 11 * sum(each["parameters"] for each in graph["operators"]) / 8
    devices = {"count": 8, "memory": memory, "bandwidth": 25e9, "latency": 1e-5}
    free = planned(graph, devices, 16, "--recompute", "auto")
    forced = planned(graph, devices, 16, "--recompute", "auto", "--stages", "8", "--replicas", "1")
    assert free["value"] <= forced["value"] * (1 + 1e-9)


def test_no_plan_with_equal_replicas_is_better_than_that_of_the_free_search(planned: Planned) -> None:
    plans = 0
    for seed in range(6):
        dice = random.Random(seed)
        graph = random_graph(dice, dice.randint(3, 12), branched=seed % 3 == 2)
        devices = random_devices(dice, dice.randint(2, 4), graph)
        objective = ("step", "max-load", "fill")[seed % 3]
        words = ["--objective", objective, "--recompute", dice.choice(("never", "auto")), "--seconds", "30"]
        free = planned(graph, devices, 6, *words)
        for stages in range(1, devices["count"] + 1):
            for replicas in range(1, devices["count"] // stages + 1):
                shape = ["--stages", str(stages), "--replicas", str(replicas)]
                forced = planned(graph, devices, 6, *words, *shape)
                if forced["feasible"]:
                    plans += 1
                    assert free["value"] <= forced["value"] * (1 + 1e-9), (seed, shape)
    assert plans > 10


def long_chain(dice: random.Random, count: int) -> dict[str, Any]:
    """Return a chain with more operators than a search for the shortest step looks at one by one."""
    names = [f"o{number:03d}" for number in range(count)]
    operators = [
        {
            "name": name, "forward": dice.uniform(0.2, 1) * 1e-3, "backward": dice.uniform(0.4, 2) * 1e-3,
            "parameters": dice.randint(0, 10**7), "saved": dice.randint(10**5, 3 * 10**6), "workspace": 10**6,
        }
        for name in names
    ]  # fmt: skip
    edges = [
        {"from": sender, "to": reader, "bytes": dice.randint(10**5, 10**6)}
        for sender, reader in itertools.pairwise(names)
    ]
    return {"schema_version": 1, "operators": operators, "edges": edges}


@pytest.mark.parametrize("seed", [3, 4, 5, 8, 11, 13])
def test_a_free_search_out_of_time_is_as_good_as_each_choice_of_equal_replicas(planned: Planned, seed: int) -> None:
    """With so little time that no search ends by itself: long chains, layers of a transformer, branched graphs."""
    dice = random.Random(seed)
    if seed % 3 == 2:
        graph = transformer(1)
    else:
        graph = random_graph(dice, 14, branched=True) if seed % 3 == 0 else long_chain(dice, dice.randint(66, 90))
    whole = sum(4 * operator["parameters"] + 5 * operator["saved"] for operator in graph["operators"])
    count, m = dice.choice((3, 4, 6)), dice.choice((4, 6, 8))
    devices = {"count": count, "memory": whole * dice.choice((0.5, 1, 2)), "bandwidth": 1e10, "latency": 1e-5}
    words = ["--recompute", dice.choice(("never", "auto")), "--seconds", dice.choice(("0.3", "1"))]
    words += ["--objective", "fill" if seed == 13 else "step"]
    free = planned(graph, devices, m, *words)
    values = []
    for stages in range(1, count + 1):
        for replicas in range(1, min(count // stages, m) + 1):
            forced = planned(graph, devices, m, *words, "--stages", str(stages), "--replicas", str(replicas))
            values += [forced["value"]] if forced["feasible"] else []
    assert values and free["value"] <= min(values) * (1 + 1e-9)


def test_a_bound_holds_for_every_plan_that_the_request_allows(planned: Planned) -> None:
    """Without time for a search: what is left are the bounds that are quick to find."""
    plans = 0
    for seed in range(40):
        dice = random.Random(100 + seed)
        graph = random_graph(dice, dice.randint(2, 6), branched=seed % 2 == 1, aliases=dice.random() < 0.3)
        devices = random_devices(dice, dice.randint(1, 4), graph)
        objective, m = ("step", "max-load", "fill")[seed % 3], dice.randint(1, 6)
        stages = dice.choice((None, 1, 2, 3))
        replicas: tuple[int, ...] = dice.choice(((), (1,), (2,)))
        if stages is None and not replicas:
            replicas = dice.choice(((1, 2), (2, 1), (1, 1, 2)))
        words = ["--objective", objective, "--seconds", dice.choice(("0", "1"))]
        words += [] if stages is None else ["--stages", str(stages)]
        words += ["--replicas", ",".join(map(str, replicas))] if replicas else []
        asked = len(replicas) if len(replicas) > 1 else stages
        best = Oracle(graph, devices, m).best(objective, stages=asked, replicas=replicas)
        found = planned(graph, devices, m, *words)
        if best is None or not found["feasible"]:
            assert best is not None or not found["feasible"]
            continue
        plans += 1
        assert found["bound"] <= best[0] * (1 + 1e-9), (seed, words)
    assert plans > 12


@pytest.mark.parametrize("words", [("--replicas", "1,1"), ("--stages", "2", "--replicas", "1")])
def test_a_bound_counts_no_plan_that_the_request_forbids(planned: Planned, words: tuple[str, ...]) -> None:
    """A long chain of equal operators in two stages without replicas: on eight devices, or as data parallelism, it
    would take far less.
    """
    m, count = 8, 1100
    operators = [
        {"name": f"o{at:04d}", "forward": 1e-3, "backward": 2e-3, "parameters": 0, "saved": 0, "workspace": 0}
        for at in range(count)
    ]
    edges = [{"from": f"o{at:04d}", "to": f"o{at + 1:04d}", "bytes": 0} for at in range(count - 1)]
    devices = {"count": 8, "memory": 1e12, "bandwidth": 1e12}
    found = planned({"schema_version": 1, "operators": operators, "edges": edges}, devices, m, *words)
    whole = count * 3e-3
    assert m * whole / 2 < found["bound"] <= found["value"] * (1 + 1e-9)
    assert found["gap"] < 0.06
