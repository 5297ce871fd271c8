"""What `make test-gpu` reports: a JSON file and a Markdown table of all parts, also of those that were not run.

`GPU_REPORT=NAME` writes NAME.json and NAME.md; without it nothing is written, so that no other run of the tests leaves
files. Parts that begin after BUDGET seconds are not run.
"""

import json
import os
import platform
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BUDGET = 480.0
"""Seconds after which no further part begins."""
NO_GPU, NO_TIME = "no GPU: not run", "8 minutes are over: not run"
_begin = time.monotonic()
_parts: dict[str, dict[str, Any]] = {}


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> dict[str, Any]:
    """A mapping whose content stands in the report beside this part."""
    found: dict[str, Any] = {}
    request.node.stash[FIGURES] = found
    return found


FIGURES = pytest.StashKey[dict[str, Any]]()


@pytest.fixture(autouse=True)
def _within_budget() -> Iterator[None]:
    if os.environ.get("GPU_REPORT") and time.monotonic() - _begin > BUDGET:
        pytest.skip(NO_TIME)
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.when == "teardown" or (report.when == "setup" and report.passed):
        return
    told = {"seconds": round(report.duration, 1), "figures": item.stash.get(FIGURES, {})}
    if report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        _parts[item.name] = {"result": NO_TIME if NO_TIME in reason else NO_GPU, "seconds": 0.0, "figures": {}}
    else:
        _parts[item.name] = {"result": "passed" if report.passed else "failed", **told}


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say of each part whether it was run, and write the report."""
    if not _parts or not os.environ.get("GPU_REPORT"):
        return
    for name, part in _parts.items():
        terminalreporter.write_line(f"{name}: {part['result']}")
    value = {"schema_version": 1, **machine(), "parts": _parts}
    name = Path(os.environ["GPU_REPORT"])
    name.with_suffix(".json").write_text(json.dumps(value, indent=1, allow_nan=False) + "\n")
    name.with_suffix(".md").write_text(markdown(value))
    terminalreporter.write_line(f"written: {name.with_suffix('.json')}, {name.with_suffix('.md')}")


def machine() -> dict[str, Any]:
    """Return when, on what and with which versions this is."""
    found: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"), "python": platform.python_version(), "device": None, "torch": None,
        "cuda": None, "nccl": None,
    }  # fmt: skip
    try:
        import torch
    except ImportError:
        return found
    found |= {"torch": str(torch.__version__), "cuda": torch.version.cuda}
    if torch.cuda.is_available():
        nccl = ".".join(map(str, torch.cuda.nccl.version()))
        found |= {"device": torch.cuda.get_device_name(), "nccl": nccl}
    return found


def markdown(value: dict[str, Any]) -> str:
    """Return the table of a report."""
    lines = [
        f"Date {value['date']}, device {value['device'] or 'none'}, torch {value['torch'] or 'none'}, "
        f"CUDA {value['cuda'] or 'none'}, NCCL {value['nccl'] or 'none'}, Python {value['python']}.",
        "", "| part | result | seconds | figures |", "|---|---|---:|---|",
    ]  # fmt: skip
    for name, part in value["parts"].items():
        figures = ", ".join(f"{key} {number}" for key, number in part["figures"].items())
        lines.append(f"| `{name}` | {part['result']} | {part['seconds']:g} | {figures or '–'} |".replace("\n", " "))
    return "\n".join(lines) + "\n"
