"""Paths that a run did not find and that its project has: a run works in a copy of the project."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from hackathon.config.rule import Rule
from hackathon.diagnosis.facts import RunFacts
from hackathon.diagnosis.order import RulePlace

NOT_COPIED, ABOVE = "log:not-copied", "log:above-project"
"""Facts of the rules for a path that the copy lacks, and for one that leads out of the project."""


def left_behind(matches: Sequence[RulePlace], facts: RunFacts | None, by_fact: Mapping[str, Rule]) -> list[RulePlace]:
    """Return a match for each missing file or module that exists in the run's project. `by_fact`: fact → its rule."""
    if facts is None or facts.record.in_place or not facts.record.source:
        return []
    project = Path(facts.record.source)
    places = []
    for match in matches:
        for path in _paths(match, facts):
            fact, values = _explained(path, project, facts)
            if fact and (rule := by_fact.get(fact)) is not None:
                places.append(
                    RulePlace(
                        rule, match.evidence, values, match.file, match.offset, ranks=match.ranks, time=match.time
                    )
                )
                break
    return places


def _paths(match: RulePlace, facts: RunFacts) -> list[str]:
    """Return the relative paths that a message says are missing."""
    module = match.values.get("module", "").replace(".", "/") if match.rule.id == "env-module-missing" else ""
    if module:
        return [f"{module}.py", module]
    path = match.values.get("path", "") or match.values.get("script", "")
    source = f"{facts.path}/source/"
    path = path.removeprefix(source)
    return [os.path.normpath(path)] if path and not path.startswith(("/", "~", "$")) and "\0" not in path else []


def _explained(path: str, project: Path, facts: RunFacts) -> tuple[str, dict[str, str]]:
    """Return the fact that explains a missing path, with its values; empty when the project lacks it, too."""
    absolute = os.path.normpath(project / path)
    if not os.path.exists(absolute):  # noqa: PTH110 — it is False where the folder is not readable
        return "", {}
    if path.startswith("../"):
        return ABOVE, {"path": path, "absolute": absolute}
    parts = path.split("/")
    for count in range(1, len(parts) + 1):
        top = "/".join(parts[:count])
        try:
            if not (facts.run.source() / top).exists():
                return NOT_COPIED, {"path": path, "exclude": top, "project": str(project)}
        except OSError:
            break
    return "", {}
