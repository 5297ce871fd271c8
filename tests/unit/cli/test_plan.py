"""`hackathon plan`: what it prints, writes and refuses."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from hackathon.cli.main import run
from support.paths import ROOT

BLOCK = {"forward": 0.004, "backward": 0.008, "parameters": 4e8, "saved": 5e7, "workspace": 1e7}
GRAPH: dict[str, Any] = {
    "schema_version": 1,
    "operators": [{"name": name, **BLOCK} for name in ("embed", "first", "second", "head")],
    "edges": [
        {"from": "embed", "to": "first", "bytes": 8e6},
        {"from": "first", "to": "second", "bytes": 8e6},
        {"from": "second", "to": "head", "bytes": 8e6},
    ],
}
DEVICES = {"count": 4, "memory": 5e9, "bandwidth": 1e10, "latency": 1e-5}


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command line of a plan in a folder with its files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph.json").write_text(json.dumps(GRAPH))
    (tmp_path / "devices.json").write_text(json.dumps(DEVICES))
    return ["plan", "--graph", "graph.json", "--devices", "devices.json", "--micro-batches", "8"]


def test_json_is_what_output_writes_and_the_terms_add_up(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words, "--json", "--output", "plan.json"]) == 0
    text = capsys.readouterr().out
    assert text == Path("plan.json").read_text()
    plan = json.loads(text)
    assert plan["proven"] and plan["gap"] == 0 and plan["basis"] == "search" and plan["objective"] == "step"
    assert sum(term["seconds"] for term in plan["bound_terms"]) == plan["plan_bound"] <= plan["value"]
    assert [name for stage in plan["stages"] for name in stage["operators"]] == ["embed", "first", "second", "head"]
    for stage in plan["stages"]:
        memory = stage["memory"]
        total = memory.pop("total")
        assert total == pytest.approx(sum(memory.values())) and total <= 5e9
    assert {each["name"] for each in plan["alternatives"]} == {"one-device", "even", "data-parallel"}
    assert not next(each for each in plan["alternatives"] if each["name"] == "one-device")["feasible"]
    assert plan["devices"]["allreduce_bandwidth"] == 1e10


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_stages_and_the_bound_are_shown(
    language: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for objective in ("step", "max-load", "fill"):
        assert run(["--lang", language, *words, "--objective", objective]) == 0
        out = capsys.readouterr().out
        assert ("proven to be the best" if language == "en" else "証明済み") in out
        assert "embed" in out and "GB" in out and re.search(r"\n  \+ [0-9.]+ s  ", out)


def test_a_plan_that_does_not_fit_ends_with_exit_code_1_and_says_what_helps(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, "--memory", "1.7GB", "--json"]) == 1
    plan = json.loads(capsys.readouterr().out)
    assert (plan["feasible"], plan["stages"], plan["value"], plan["proven"]) == (False, [], None, True)
    # before the last stage two micro-batches are in flight, and `first` receives 8 MB of each
    assert plan["blocking"] == {"operator": "first", "bytes": pytest.approx(4 * 4e8 + 2 * (5e7 + 8e6) + 1e7)}
    assert "recompute" in plan["help"]
    assert run([*words, "--memory", "1.7GB", "--recompute", "auto"]) == 0
    assert run([*words, "--memory", "1.2GB"]) == 1
    said = capsys.readouterr().err
    assert "No plan fits in memory" in said and "tensor parallelism" in said and "first" in said
    assert "a device has 1.2 GB" in said
    assert run([*words, "--gpus", "1", "--memory", "4GB", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["enough_devices"] == 2 and "more-devices" in told["help"]
    assert run([*words, "--gpus", "1", "--memory", "4GB"]) == 1
    assert "--gpus 2 is enough" in capsys.readouterr().err
    assert run([*words, "--gpus", "2", "--memory", "4GB"]) == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--replicas", "2", "--micro-batches", "1"], "2 replicas need at least as many micro-batches; there are 1"),
        (["--replicas", "1,3", "--micro-batches", "2"], "3 replicas need"),
        (["--replicas", "3,2"], "need 5 devices; there are 4"), (["--replicas", "5"], "need 5 devices"),
        (["--stages", "3", "--replicas", "2"], "need 6 devices"), (["--stages", "3", "--gpus", "2"], "need 3 devices"),
    ],
)  # fmt: skip
def test_stages_and_replicas_that_cannot_be_are_not_said_to_lack_memory(
    more: list[str], said: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, *more]) == 1
    told = capsys.readouterr().err
    assert said in told and "memory" not in told
    assert run([*words, *more, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["feasible"] is False


def test_as_many_replicas_as_micro_batches_and_devices_are_planned(words: list[str]) -> None:
    assert run([*words, "--replicas", "2", "--stages", "2", "--micro-batches", "2"]) == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--offload", "auto"], "host_bandwidth"), (["--stages", "2", "--replicas", "1,1,1"], "--stages is 2"),
        (["--memory", "64"], "64GB"), (["--memory", "9K"], "1 MiB"),
        (["--memory", "much"], "16GiB"), (["--replicas", "0"], "0"), (["--objective", "fast"], "fast"),
    ],
)  # fmt: skip
def test_contradictions_are_refused(
    more: list[str], said: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, *more]) == 2
    assert said in capsys.readouterr().err


def test_a_missing_file_option_or_package_is_named(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(words[:5]) == 2
    assert "--micro-batches" in capsys.readouterr().err
    assert run(["plan", "--graph", "none.json", *words[3:]]) == 2
    assert "none.json" in capsys.readouterr().err
    monkeypatch.setattr("hackathon.parallel.plan.plan.find_spec", lambda name: None)
    assert run(words) == 2
    said = capsys.readouterr().err
    assert ".[plan]" in said and "wheelhouse" in said


def test_the_picture_shows_every_pass_and_every_stage(words: list[str]) -> None:
    assert run([*words, "--svg", "plan.svg", "--replicas", "2,1,1"]) == 0
    tree = ElementTree.parse("plan.svg")
    labels = [each.text for each in tree.iter("{http://www.w3.org/2000/svg}text")]
    passes = [text for text in labels if text and text.isdigit()]
    assert sorted(passes, key=int) == [str(number) for number in range(1, 9) for _ in range(6)]
    assert {"stage 1, replica 2", "stage 3, replica 1", "all-reduce", "optimizer"} <= set(labels)


def test_the_script_of_the_docs_computes_the_bound_again(words: list[str]) -> None:
    assert run([*words, "--output", "plan.json"]) == 0
    for page in ("how-a-plan-is-found.md", "how-a-plan-is-found.ja.md"):
        text = (ROOT / "docs" / "explanation" / page).read_text()
        (script,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        answer = subprocess.run([sys.executable, "-c", script, "plan.json"], capture_output=True, text=True, check=True)
        again, bound, value = map(float, answer.stdout.split())
        assert again == pytest.approx(bound, rel=1e-12) and bound <= value


def test_torch_is_not_imported(words: list[str]) -> None:
    program = (
        "import sys\nfrom hackathon.cli.main import run\ncode = run(sys.argv[1:])\n"
        "sys.exit(code or 7 * any(name.split('.')[0] in ('torch', 'scipy') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program, *words], capture_output=True).returncode == 0
