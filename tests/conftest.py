"""Shared by all tests: an own home, and no skip that nobody knows of in CI."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from hackathon.text.messages import set_language

# examples have no time limit of their own: on a busy machine one of them is slow, which says nothing about the code
settings.register_profile("shared-machine", deadline=None)
settings.load_profile("shared-machine")

pytest_plugins = ["slurm_fixture"]

ALLOWED_SKIPS = Path(__file__).parent / "allowed_skips.txt"


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give every test its own settings and caches, English messages and no HACKATHON_* of the caller's shell."""
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith("HACKATHON_")]:
        if name != "HACKATHON_GOLDEN":
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setenv("HACKATHON_LANG", "en")
    set_language(None)
    yield home
    set_language(None)


def _unknown_skips(reporter: pytest.TerminalReporter) -> list[str]:
    known = [line.strip() for line in ALLOWED_SKIPS.read_text().splitlines() if line.strip() and line[0] != "#"]
    skipped = reporter.stats.get("skipped", []) if os.environ.get("CI") else []
    return [
        f"{report.nodeid}: {report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr}"
        for report in skipped
        if not any(each in str(report.longrepr) for each in known)
    ]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the skips that are not on the list."""
    for line in _unknown_skips(terminalreporter):
        terminalreporter.write_line(f"skip that is not in tests/allowed_skips.txt: {line}", red=True)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skip must be on the list, so that no test can fall silent."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and session.exitstatus == 0 and _unknown_skips(reporter):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
