"""The findings of all checks: kept, shown as a table, written into the run."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from typing import Any

from hackathon_runtime import identity
from words import HEAD, STATES, TITLES, advice, filled, language, text


class Report:
    """Findings in the order of the checks; ranks are named with their hosts."""

    def __init__(self, hosts: dict[int, str]) -> None:
        self.hosts = hosts
        self.findings: list[dict[str, Any]] = []

    def add(self, check: str, state: str, key: str, ranks: list[int] | None = None, **values: Any) -> None:
        """Note a finding; `ranks` are those it is about and become `{who}` in its text."""
        if ranks is not None:
            ranks = sorted(ranks)
            values["who"] = self.who(ranks)
        found = {"check": check, "state": state, "key": key, "ranks": ranks or []}
        title = {"en": TITLES[check][0], "ja": TITLES[check][1]}
        self.findings.append(dict(found, title=title, text=text(key, values), advice=advice(key, values)))

    def who(self, ranks: list[int]) -> str:
        """Return `rank 3 (node1), rank 4 (node1)`, the first four of them."""
        shown = ", ".join(f"rank {rank} ({self.hosts.get(rank) or '?'})" for rank in ranks[:4])
        return shown + (f" +{len(ranks) - 4}" if len(ranks) > 4 else "")

    def count(self, state: str) -> int:
        """Return how many findings have this state."""
        return sum(found["state"] == state for found in self.findings)

    def rows(self) -> list[tuple[str, str, list[dict[str, Any]]]]:
        """Return (check, worst state, its findings) in order."""
        rows = []
        for check in TITLES:
            mine = [found for found in self.findings if found["check"] == check]
            worst = next((s for s in ("failed", "warning", "ok") if any(f["state"] == s for f in mine)), None)
            if worst:
                rows.append((check, worst, mine))
        return rows


def show(report: Report, seconds: float) -> None:
    """Print a line for each check, then what is wrong with what to do about it, failures last."""
    number = language()
    name = ("en", "ja")[number]
    for check, state, findings in report.rows():
        texts = "; ".join(found["text"][name] for found in findings if found["state"] == state)
        print(f"{padded(TITLES[check][number], 16)} {padded(STATES[state][number], 8)} {texts}")
    print()
    for state in ("warning", "failed"):
        for found in report.findings:
            if found["state"] == state:
                about = f"{STATES[state][number]}: {TITLES[found['check']][number]}: {found['text'][name]}"
                print(about + (f"\n    → {found['advice'][name]}" if found["advice"][name] else ""))
    counts = {"failed": report.count("failed"), "warnings": report.count("warning")}
    print(filled(HEAD[number], {**counts, "seconds": f"{seconds:.1f}"}), flush=True)


def padded(text: str, columns: int) -> str:
    """Return a text filled up to that many columns; Japanese letters take two."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return text + " " * max(0, columns - len(text) - wide)


def write(report: Report, seconds: float, everything: dict[str, Any], keep: bool = False) -> None:
    """Write `preflight.json` into the run; `keep`: rank 0 is not there, and one rank's word will do."""
    folder, attempt = os.environ.get("HK_RUN") or os.getcwd(), int(os.environ.get("HK_ATTEMPT") or 1)
    path = os.path.join(folder, "preflight.json")
    value = {
        "schema_version": 1, "attempt": attempt, "failed": report.count("failed"), "warnings": report.count("warning"),
        "seconds": seconds, "findings": report.findings, **everything,
    }  # fmt: skip
    try:
        if keep and os.path.exists(path):
            with open(path) as stream:
                if json.load(stream)["attempt"] == attempt:
                    return
        with open(f"{path}.{identity().rank}", "w") as stream:
            json.dump(value, stream, indent=1, ensure_ascii=False)
        os.replace(f"{path}.{identity().rank}", path)
    except (OSError, ValueError, KeyError) as error:
        print(f"preflight.json cannot be written: {error}", file=sys.stderr)
