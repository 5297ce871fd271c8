"""Patterns that would hold a reader up for ever are refused, those that people write for numbers are not."""

import json
from pathlib import Path

import pytest
import yaml

from hackathon.logs.metrics import read_metrics
from hackathon.logs.patterns import may_never_end
from hackathon.text.errors import RequestError

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", r"(?P<v>(a+)+)$", "(.*,)+x", r"((\w+)\s?)*z", "(a{1,99})*b"])
def test_a_pattern_without_an_end_is_refused(pattern: str, tmp_path: Path) -> None:
    assert may_never_end(pattern)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "rank-0.log").write_text("a" * 60 + "!\n")
    with pytest.raises(RequestError) as caught:
        read_metrics(tmp_path, {"x": {"pattern": pattern}}, "x")
    assert caught.value.id == "logs.endless_pattern"


@pytest.mark.parametrize(
    "pattern",
    [r"samples/s: ([0-9.]+)", r"(\d+,)*x", r"loss (.*?) acc (\d+(?:\.\d+)?)", r"(\w+ )+end", r"(?:foo|bar) (\d+)",
     r"([+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)", r"^\s*Total: (\S+)", r"epoch \d+/\d+ .* (\d+\.\d+) img/s"],
)  # fmt: skip
def test_patterns_for_numbers_are_taken(pattern: str) -> None:
    assert not may_never_end(pattern)


def test_the_patterns_of_recipes_are_taken() -> None:
    found = 0
    for path in (*ROOT.glob("recipes/*/recipe.yaml"), *ROOT.glob("team_projects/**/project.yaml")):
        for entry in (yaml.safe_load(path.read_text("utf-8")).get("metrics") or {}).values():
            if isinstance(entry, dict) and entry.get("pattern"):
                found += 1
                assert not may_never_end(entry["pattern"])
    assert found


def test_of_a_long_line_the_beginning_is_searched(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "request.json").write_text(json.dumps({"processes": 1}))
    (tmp_path / "logs" / "rank-0.log").write_text("rate 7 " + "1" * 300_000 + "\nrate 8\n")
    found = read_metrics(tmp_path, {"x": {"pattern": r"rate (\d+)"}, "y": {"pattern": r"(\d+)z"}}, "x")
    assert found["x"] == 8.0 and "y" not in found
