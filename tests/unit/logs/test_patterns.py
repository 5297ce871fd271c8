"""Patterns that would hold a reader up for ever are refused, those that people write for numbers are not."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from hackathon.logs import pattern_reader
from hackathon.logs.metrics import read_metrics
from hackathon.logs.patterns import may_never_end, may_take_long
from hackathon.text.errors import RequestError
from support.paths import ROOT
from support.runs import NOBODY

root = pytest.mark.skipif(os.geteuid() != 0, reason="files of two users need root")


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


@pytest.mark.parametrize(
    "pattern",
    ["a*a*a*a*b", r".* (\d+)", "(?:a+)?a+", "(?:a|b+)b*", ".*.*", r"\d+\d+", r"(\d+,)*x", "a{2,99}a{2,99}", "("],
)
def test_a_pattern_that_may_take_long_is_seen(pattern: str) -> None:
    assert may_take_long(pattern)


@pytest.mark.parametrize(
    "pattern",
    [r"throughput: ([0-9.]+)", r"(\d+)\.(\d+)", r"loss (\S+) acc (\S+)", r"[^,]*,[^,]*,([0-9.]+)", r"^\s*Total: (\S+)",
     r"([+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)", r"([\d.]+)\s*samples/s"],
)  # fmt: skip
def test_patterns_for_numbers_take_no_time(pattern: str) -> None:
    assert not may_take_long(pattern)


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A limit of half a second, and no account that rests."""
    monkeypatch.setattr(pattern_reader, "SECONDS", 0.5)
    monkeypatch.setattr(pattern_reader, "_resting", {})
    yield
    pattern_reader._worker.rest()


def _run(folder: Path, lines: str, owner: int = NOBODY) -> Path:
    run = folder / "train" / "runs" / "20260101-000000-train-1p-aaaaaaaa"
    (run / "logs").mkdir(parents=True)
    (run / "logs" / "rank-0.log").write_text(lines)
    for path in (run, *run.rglob("*")):
        os.chown(path, owner, -1)
    return run


@pytest.mark.slow
@pytest.mark.parametrize("owner", ["own", pytest.param("foreign", marks=root)])
def test_a_pattern_that_takes_long_is_ended_and_told_with_its_project(tmp_path: Path, limit: None, owner: str) -> None:
    lines = "rate 7\n" + ("a" * 4000 + "\n") * 50
    run = _run(tmp_path, lines, NOBODY if owner == "foreign" else os.geteuid())
    begin = time.monotonic()
    for _ in range(20):  # the account's other runs wait for nothing
        with pytest.raises(RequestError) as caught:
            read_metrics(run, {"x": {"pattern": "(a*a*a*a*b)"}, "rate": {"pattern": r"rate (\d+)"}}, "x")
    assert caught.value.id == "logs.slow_pattern" and str(tmp_path / "train") in caught.value.message
    assert time.monotonic() - begin < 600


@root
def test_patterns_of_another_account_are_found_apart_as_here(tmp_path: Path, limit: None) -> None:
    lines = "rate 7\nrate nan\nrate 9\n"
    run = _run(tmp_path / "foreign", lines)
    wanted = {"x": {"pattern": r"rate (\S+)", "reduce": "last"}, "first": {"pattern": r"rate (7)"}}
    apart = read_metrics(run, wanted, "x")
    with pytest.raises(RequestError) as caught:
        read_metrics(run, {"x": {"pattern": "(rate"}}, "x")
    assert caught.value.id == "logs.bad_pattern"
    assert apart == read_metrics(_run(tmp_path / "own", lines, os.geteuid()), wanted, "x") == {"x": 9.0, "first": 7.0}
