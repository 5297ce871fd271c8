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
    assert free["value"] <= 1.01 * forced["value"]


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
