"""A plug-in of pytest that counts the faults that tests inject, and says at the end how many were survived."""

from collections import Counter
from collections.abc import Iterator

import pytest

PROPERTY = "injected"
_count = 0


def injected(count: int = 1) -> None:
    """Count faults that a test has just injected."""
    global _count
    _count += count


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Note how many faults a test injected."""
    before = _count
    try:
        return (yield)
    finally:
        item.user_properties.append((PROPERTY, _count - before))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell of each file of tests how many faults it injected, and how many of them in tests that passed."""
    told: Counter[str] = Counter()
    survived: Counter[str] = Counter()
    for word in ("passed", "failed"):
        for report in terminalreporter.stats.get(word, []):
            number = dict(report.user_properties).get(PROPERTY, 0) if report.when == "call" else 0
            assert isinstance(number, int)
            told[report.location[0]] += number
            survived[report.location[0]] += number if report.passed else 0
    for name in sorted(each for each in told if told[each]):
        terminalreporter.write_line(f"{name}: {told[name]} faults injected, {survived[name]} survived")
