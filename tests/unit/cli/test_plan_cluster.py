"""`hackathon plan --cluster`, `--apply` and `--page`: devices of a machine, a project that is changed, a page."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hackathon.cli.main import run
from hackathon.config.load import load_project
from hackathon.scaling.cluster_measurements import keep
from support.paths import RECIPES

BLOCK = {"forward": 0.004, "backward": 0.008, "parameters": 4e9, "saved": 5e7, "workspace": 1e7}
NAMES = ("embed", "first", "second", "<script>alert(1)</script>")
GRAPH: dict[str, Any] = {
    "operators": [{"name": name, **BLOCK} for name in NAMES],
    "edges": [{"from": a, "to": b, "bytes": 8e6} for a, b in pairwise(NAMES)],
}


def measured(nodes: int, processes: int, bus: float, device: str = "cuda:0") -> dict[str, Any]:
    """Return an entry of `clusters measure`: small messages start in 20 µs, large ones have a bandwidth."""
    rate = bus / (2 * (1 - 1 / processes))
    fits = {
        "large": {"alpha_us": 30.0, "beta_gb_s": rate, "from_bytes": 1 << 18, "to_bytes": 1 << 30},
        "small": {"alpha_us": 20.0, "beta_gb_s": rate / 2, "from_bytes": 4096, "to_bytes": 1 << 18},
    }
    operation = {"bytes": 1 << 30, "busbw_gb_s": bus, "latency_us": 25.0, "fits": fits}
    return {
        "nodes": nodes, "processes": processes, "where": "inside", "hosts": nodes, "backend": "nccl", "device": device,
        "launcher": "torchrun", "date": "2026-11-20T00:00:00Z", "run": f"run-{nodes}-{processes}", "job_id": "1",
        "operations": {"all-reduce": operation},
    }  # fmt: skip


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command line of a plan in a folder with the graph."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph.json").write_text(json.dumps(GRAPH))
    return ["plan", "--graph", "graph.json", "--micro-batches", "8"]


def planned(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Return the plan that a command prints as JSON."""
    capsys.readouterr()
    assert run([*words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_what_is_not_known_of_a_cluster_is_named_with_the_command_that_tells_it(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, "--cluster", "tsubame4"]) == 2
    assert "hackathon clusters measure tsubame4 --nodes 1" in capsys.readouterr().err
    assert run([*words, "--cluster", "tsubame4", "--gpus", "8"]) == 2
    assert "hackathon clusters measure tsubame4 --nodes 2" in capsys.readouterr().err
    assert run([*words, "--cluster", "genkai"]) == 2  # the profile says `H100`, not how much memory
    said = capsys.readouterr().err
    assert "memory" in said and "--memory 16GB" in said
    assert run([*words, "--cluster", "no-such-machine"]) == 2
    # messages of a CPU say nothing about GPUs
    keep("tsubame4", [measured(1, 4, 8.0, "cpu")])
    assert run([*words, "--cluster", "tsubame4"]) == 2


def test_devices_of_one_node_have_the_bandwidth_inside_it(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    keep("tsubame4", [measured(1, 2, 300.0), measured(1, 4, 320.0), measured(2, 8, 90.0)])
    devices = planned([*words, "--cluster", "tsubame4"], capsys)["devices"]
    assert (devices["count"], devices["devices_per_node"], devices["memory"]) == (4, 4, 94e9)
    assert devices["bandwidth"] == pytest.approx(300e9)
    assert devices["allreduce_bandwidth"] == pytest.approx(320e9)
    assert devices["internode_bandwidth"] == pytest.approx(90e9)
    assert devices["latency"] == pytest.approx(10e-6)  # a ring of two has two turns
    assert run([*words, "--cluster", "tsubame4"]) == 0
    said = capsys.readouterr().err
    assert "run-1-2" in said and "node.gpu" in said and "300.0 GB/s" in said


def test_devices_of_several_nodes_have_the_bandwidth_between_them(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    keep("tsubame4", [measured(1, 4, 300.0), measured(2, 8, 25.0)])
    plan = planned([*words, "--cluster", "tsubame4", "--gpus", "8", "--memory", "20GB"], capsys)
    devices = plan["devices"]
    assert devices["bandwidth"] == devices["allreduce_bandwidth"] == pytest.approx(25e9)
    assert devices["node_bandwidth"] == pytest.approx(300e9)
    assert plan["placement"]["step"] <= plan["value"]
    Path("more.json").write_text(json.dumps({"bandwidth": 1e9, "memory": 50e9, "host_bandwidth": 2e10}))
    more = [*words, "--cluster", "tsubame4", "--gpus", "8", "--devices", "more.json", "--offload", "auto"]
    devices = planned(more, capsys)["devices"]
    assert (devices["bandwidth"], devices["memory"], devices["host_bandwidth"]) == (1e9, 50e9, 2e10)
    Path("more.json").write_text(json.dumps({"bandwidth": "fast"}))
    assert run(more) == 2
    assert "tsubame4: bandwidth" in capsys.readouterr().err


PROJECT = """# our network
name: net
command: python train.py
cluster: tsubame4  # the large one
walltime: 00:10:00
nodes: 1
"""


def test_apply_writes_the_plan_and_the_shape_of_the_job(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    keep("tsubame4", [measured(1, 4, 300.0), measured(2, 8, 25.0)])
    Path("project.yaml").write_text(PROJECT)
    command = [*words, "--cluster", "tsubame4", "--gpus", "8", "--memory", "20GB", "--replicas", "1", "--apply"]
    assert run(command) == 2  # nobody confirms
    assert not Path("plan.json").exists() and Path("project.yaml").read_text() == PROJECT
    assert run([*command, "--yes"]) == 0
    text = Path("project.yaml").read_text()
    assert "# our network" in text and "# the large one" in text
    project = load_project(Path.cwd())
    plan = json.loads(Path("plan.json").read_text())
    used = sum(stage["replicas"] for stage in plan["stages"])
    assert (project.nodes, project.processes) == (1, used) == (plan["placement"]["nodes"], 4)
    capsys.readouterr()
    assert run(["render", "--explain", "--group", "tga"]) == 0
    assert run([*words, "--cluster", "tsubame4", "--gpus", "8", "--memory", "1GB", "--apply", "--yes"]) == 1
    assert json.loads(Path("plan.json").read_text()) == plan  # nothing fits: nothing is written


@pytest.mark.parametrize("own", [False, True])
def test_a_job_of_a_recipe_finds_the_plan(own: bool, words: list[str]) -> None:
    """The job runs in a copy of the recipe's folder, or of the project if it has the program itself."""
    keep("tsubame4", [measured(1, 4, 300.0), measured(2, 8, 25.0)])
    Path("project.yaml").write_text("name: net\nrecipe: pipeline-lm\ncluster: tsubame4\nwalltime: 00:10:00\n")
    if own:
        Path("train.py").write_text((RECIPES / "pipeline-lm" / "train.py").read_text())
    assert run([*words, "--cluster", "tsubame4", "--memory", "20GB", "--apply", "--yes"]) == 0
    place = Path("plan.json").resolve()
    assert load_project(Path.cwd()).parameters["plan"] == ("plan.json" if own else str(place))


def test_apply_outside_a_project_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("devices.json").write_text(json.dumps({"count": 2, "memory": 1e12, "bandwidth": 1e10}))
    assert run([*words, "--devices", "devices.json", "--apply", "--yes"]) == 2
    assert not Path("plan.json").exists()


def test_the_page_stands_alone_in_two_languages(words: list[str]) -> None:
    devices = {"count": 8, "memory": 20e9, "bandwidth": 1e10, "devices_per_node": 4, "internode_bandwidth": 5e9}
    Path("devices.json").write_text(json.dumps(devices))
    assert run([*words, "--devices", "devices.json", "--page", "plan.html", "-o", "plan.json"]) == 0
    plan = json.loads(Path("plan.json").read_text())
    for name, other, word in (
        ("plan.html", "plan.ja.html", "Lower bound of this plan"), ("plan.ja.html", "plan.html", "この計画の下界"),
    ):  # fmt: skip
        page = Path(name).read_text()
        assert word in page and "<script" not in page and "&lt;script&gt;" in page
        assert set(re.findall(r'(?:href|src)="([^"#]+)"', page)) == {other, "."} and "url(" not in page
        assert page.count('class="lane"') == sum(stage["replicas"] for stage in plan["stages"])
        assert page.count('<tr><th scope="row">') == len(plan["bound_terms"]) + len(plan["alternatives"])
        assert f"{plan['plan_bound']:.4g} s" in page and f"{plan['placement']['step']:.4g} s" in page


@pytest.mark.slow
def test_the_page_of_a_long_step_stays_small(words: list[str]) -> None:
    Path("devices.json").write_text(json.dumps({"count": 4, "memory": 20e9, "bandwidth": 1e10}))
    words[words.index("8")] = "20000"
    assert run([*words, "--devices", "devices.json", "--replicas", "1", "--page", "plan.html", "--seconds", "1"]) == 0
    text = Path("plan.html").read_text()
    assert "of 20000" in text and len(text) < 1_500_000
    assert Path("plan.ja.html").stat().st_size < 1_500_000
