"""Each promise of AutoParallel in the reference has a test that exists, and both languages promise the same."""

import re

from support.paths import ROOT

PAGES = ["docs/reference/auto-parallel.md", "docs/reference/auto-parallel.ja.md"]


def _tests(page: str) -> list[list[str]]:
    rows = [line for line in (ROOT / page).read_text().splitlines() if line.startswith("| ") and "::test_" in line]
    return [re.findall(r"`(tests/[\w/]+\.py::test_\w+)`", row) for row in rows]


def test_each_promise_has_a_test() -> None:
    rows = _tests(PAGES[0])
    assert len(rows) > 10 and all(rows)
    for name in {name for row in rows for name in row}:
        path, _, function = name.partition("::")
        assert f"def {function}(" in (ROOT / path).read_text(), name


def test_both_languages_promise_the_same() -> None:
    assert _tests(PAGES[0]) == _tests(PAGES[1])
