"""Curves come from what programs print, with the steps that lines name, and from nothing that only looks like it."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.logs import pattern_reader
from hackathon.logs.metrics import CURVE
from hackathon.logs.printed import printed_curves, step_of
from hackathon.text.errors import RequestError


def run_with(folder: Path, **logs: str) -> Path:
    """Write a run with logs, by the name `rank_0`, and return it."""
    run = folder / "runs" / "20261121-100000-demo-2p-aaaaaaaa"
    (run / "logs").mkdir(parents=True)
    (run / "request.json").write_text(json.dumps({"name": "demo"}))
    for name, text in logs.items():
        (run / f"logs/{name.replace('_', '-')}.log").write_text(text)
    return run


def curves(run: Path, processes: int = 1, **patterns: dict[str, Any]) -> dict[str, list[tuple[float | None, float]]]:
    return printed_curves(run, patterns, processes=processes, over=True)


def test_a_declared_pattern_makes_a_curve_over_the_steps_of_its_lines(tmp_path: Path) -> None:
    text = "warming up\n" + "".join(f"step {n} err={1 / n:.3f}\n" for n in range(1, 6))
    found = curves(run_with(tmp_path, rank_0=text), error={"pattern": "err=([0-9.]+)", "skip_first": 1})
    assert found == {"error": [(2, 0.5), (3, 0.333), (4, 0.25), (5, 0.2)]}


def test_known_formats_and_customary_words_make_curves_without_configuration(tmp_path: Path) -> None:
    text = "".join(f"iter {n}/100 loss: {2 - n / 10:.1f} throughput: {100 + n} samples/s\n" for n in (10, 20, 30))
    found = curves(run_with(tmp_path, rank_0=text))
    assert found["loss"] == [(10, 1.0), (20, 0.0), (30, -1.0)]
    assert found["samples_per_s"] == [(10, 110), (20, 120), (30, 130)]


def test_the_first_rank_that_printed_speaks_and_the_job_s_log_where_none_did(tmp_path: Path) -> None:
    lines = "loss: 1.0\nloss: 0.5\n"
    found = curves(run_with(tmp_path / "a", rank_0="ready\n", rank_1=lines, rank_2="loss: 9\nloss: 8\n"))
    assert found == {"loss": [(None, 1.0), (None, 0.5)]}
    assert curves(run_with(tmp_path / "b", job=lines)) == {"loss": [(None, 1.0), (None, 0.5)]}


def test_what_is_no_curve_gives_none(tmp_path: Path) -> None:
    for number, text in enumerate(("", "loss: 0.5\n", "loss: nan\nloss: nan\n", "at work\n" * 100, "\0" * 5000)):
        assert curves(run_with(tmp_path / str(number), rank_0=text)) == {}
    assert curves(run_with(tmp_path / "x", rank_0="a 1\na 2\n"), a={"pattern": "b ([0-9]+)"}) == {}


def test_a_long_log_is_thinned_and_its_end_is_there(tmp_path: Path) -> None:
    text = "".join(f"step {n} loss: {n}.5\n" for n in range(10_000))
    points = curves(run_with(tmp_path, rank_0=text))["loss"]
    assert len(points) < CURVE and points == sorted(points) and (points[-1][0] or 0) > 9_900


def test_a_pattern_that_is_none_is_told_and_one_of_another_is_looked_for_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_with(tmp_path, rank_0="step 1 v=1\nstep 2 v=2\n")
    with pytest.raises(RequestError):
        curves(run, v={"pattern": "v=([0-9]+"})
    here = curves(run, v={"pattern": "v=([0-9]+)"})
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    monkeypatch.setattr(
        "hackathon.logs.printed.found_by_patterns", lambda *_: pytest.fail("a pattern of another, here")
    )
    assert curves(run, v={"pattern": "v=([0-9]+)"}) == here == {"v": [(1, 1.0), (2, 2.0)]}
    pattern_reader._worker.rest()


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("step 20", 20), ("Step: 1,024", 1024), ("[iter 30/100] loss 1", 30), ("global_step=7", 7), ("ステップ 5", 5),
        ("steps: 12", 12), ("iteration #3", 3), ("5 steps", None), ("step time: 12 ms", None), ("step 0.3 s", None),
        ("1.5 step/s", None), ("footstep 3", None), ("loss 3", None), ("", None), ("step " + "9" * 400, None),
    ],
)  # fmt: skip
def test_the_step_of_a_line(line: str, step: float | None) -> None:
    assert step_of(line) == step


@given(st.text(max_size=300))
def test_any_line_has_a_step_or_none(line: str) -> None:
    found = step_of(line)
    assert found is None or (0 <= found < 1e15 and re.search(r"\d", line))
