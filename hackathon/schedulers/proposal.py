"""Correct and confirm a profile's text by the scheduler's report."""

from collections.abc import Sequence
from pathlib import Path

from hackathon.config import load
from hackathon.config.check import find_key
from hackathon.config.evidence import cited_values
from hackathon.config.problems import ConfigError
from hackathon.config.records import KeyPath
from hackathon.config.yaml import parse_yaml
from hackathon.config.yaml_edit import NotEditableError, inline, remove, set_value
from hackathon.schedulers import registry
from hackathon.schedulers.comparison import CHANGES, ComparedValue
from hackathon.text.errors import RequestError

CONFIRMED = frozenset({"same", "differs", "missing"})
"""Verdicts after which a value is the machine's own."""


def corrected(text: str, path: Path, name: str, compared: Sequence[ComparedValue], title: str, day: str) -> str:
    """Return a profile's text with the machine's values, and dated evidence for what the machine confirmed.

    The text is unchanged when there is nothing to correct. Comments and order stay. `title` names the query. Raises
    RequestError when the text needs a manual change, or when the result is not a valid profile.
    """
    try:
        return _corrected(text, path, name, compared, title, day)
    except (NotEditableError, ConfigError):
        changed = {value.key: value.machine for value in compared if value.verdict in CHANGES}
        by_hand = ", ".join(f"{key}: {'–' if new is None else inline(new)}" for key, new in changed.items())
        raise RequestError(
            "clusters.not_writable",
            "{path} cannot be changed automatically: change these by hand: {values}",
            path=path,
            values=by_hand or "evidence, unverified",
        ) from None


def _corrected(text: str, path: Path, name: str, compared: Sequence[ComparedValue], title: str, day: str) -> str:
    confirmed = {value.path for value in compared if value.verdict in CONFIRMED}
    before = {value.path: value for value in cited_values(parse_yaml(text.encode(), path).value)}
    changed = [value for value in compared if value.verdict in CHANGES]
    new = text
    for value in changed:
        new = remove(new, value.path) if value.verdict == "gone" else set_value(new, value.path, value.machine)
    added = {value.path for value in compared if value.verdict == "missing"}
    new, settled = _without_marks(_without_orphans(new, path), path, confirmed, added)
    source = f"checked-{day}"
    paths = {value.path for value in changed if value.verdict != "gone"}
    if any(len(path) == 2 and path[0] == "queues" for path in added):
        paths = {key_path for key_path in paths if key_path[0] != "queues"} | {("queues",)}  # the profile had no queues
    for key in sorted(paths | settled):
        old = before[key].sources if key in before and key not in paths else ()
        cited = [*(citation for citation in old if citation != source), source]
        new = set_value(new, ("evidence", ".".join(map(str, key))), cited[0] if len(cited) == 1 else cited)
    if paths | settled:
        new = set_value(new, ("sources", source), {"title": title, "date": day})
    if new != text:
        load.read_cluster(new.encode(), path, name, registry.dialect_type)
    return new


def _without_marks(text: str, path: Path, confirmed: set[KeyPath], added: set[KeyPath]) -> tuple[str, set[KeyPath]]:
    """Return the text without marks on confirmed or added values, and the paths of those values."""
    profile = parse_yaml(text.encode(), path).value
    settled: set[KeyPath] = set()
    marks = list(profile.get("unverified") or ())
    for index in range(len(marks) - 1, -1, -1):
        block = find_key(profile, marks[index]) or ()
        below = [value.path for value in cited_values(profile) if value.path[: len(block)] == block]
        if all(value_path in confirmed or any(value_path[: len(new)] == new for new in added) for value_path in below):
            settled |= set(below)
            text = remove(text, ("unverified", index))
    return text, settled


def _without_orphans(text: str, path: Path) -> str:
    """Return the text without marks, evidence and a default queue that refer to removed values."""
    profile = parse_yaml(text.encode(), path).value
    marks = list(profile.get("unverified") or ())
    for index in range(len(marks) - 1, -1, -1):
        if find_key(profile, marks[index]) is None:
            text = remove(text, ("unverified", index))
    for key in profile.get("evidence") or {}:
        if find_key(profile, key) is None:
            text = remove(text, ("evidence", key))
    if "queue" in profile and profile["queue"] not in (profile.get("queues") or {}):
        text = remove(text, ("queue",))
    return text
