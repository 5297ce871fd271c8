"""Every scheduler's recorded answers, cut off at any byte: a part never says something better than the whole."""

import importlib
from pathlib import Path

import pytest

from hackathon import schedulers
from support.truncation import Other, Status, check

FOLDER = Path(schedulers.__file__).parent
NAMES = sorted(folder.parent.name for folder in FOLDER.glob("*/samples"))
MODULES = {name: importlib.import_module(f"support.truncated.{name}") for name in NAMES}


cases = pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=f"{name}-{case.name}") for name, module in MODULES.items() for case in module.cases()],
)


@cases
def test_cut_answer_never_says_something_better(case: Status | Other) -> None:
    assert check(case, every=20) > 0


@pytest.mark.slow
@cases
def test_answer_cut_at_every_byte_never_says_something_better(case: Status | Other) -> None:
    """Long answers, whose lines are alike, at every fourth byte, and at other ones in the next line."""
    answers = case.answers if isinstance(case, Status) else [case.answer]
    long = sum(len(answer.stdout) + len(answer.stderr) for answer in answers) > 1000
    assert check(case, every=4 if long else 1) > 0


@pytest.mark.parametrize("name", NAMES)
def test_every_sample_is_cut_or_says_why_not(name: str) -> None:
    named = " ".join(case.name for case in MODULES[name].cases())
    files = {path.name for path in (FOLDER / name / "samples").iterdir()}
    assert {file for file in files if file not in named} == set(MODULES[name].NOT_ASKED)
