"""The documentation as this checkout shows it: what a wheel and a bundle have to show, too."""

import json
import os
import subprocess
import sys
from typing import Any

from support.paths import ROOT


def pages(language: str) -> list[dict[str, Any]]:
    """Return what `hackathon docs --json` prints here: all committed pages, complete with their lists."""
    answer = subprocess.run(
        [sys.executable, "-m", "hackathon", "docs", "--json", "--lang", language],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    shown: list[dict[str, Any]] = json.loads(answer.stdout)["pages"]
    committed = {(path.parent.name, path.stem) for path in (ROOT / "docs").glob("*/*.md") if ".ja" not in path.name}
    assert {(page["kind"], page["name"]) for page in shown} == committed
    assert len(next(page for page in shown if page["name"] == "rules")["text"]) > 100_000
    return shown
