"""Silent failures of the group of ranks: they train each for itself, and the sum of their speeds looks like a curve."""

import re
from collections.abc import Mapping
from pathlib import Path

from hackathon.diagnosis.facts import FactHit, RunFacts, fact
from hackathon.diagnosis.findings import Evidence
from hackathon.logs.metrics import rank_files, rank_of
from hackathon.runs import states
from hackathon.runs.record import RunRecord
from hackathon.runs.source.program_text import ProgramText
from hackathon.text.errors import HackathonError
from hackathon.text.files import open_regular

HEAD = 64 << 10
"""Bytes at the beginning of a rank's log in which it says how large its world is."""

_WORLD = re.compile(
    r"(?i)(?<!parallel )(?<!local )(?<!local_)(?<!group )(?<!tp_)(?<!dp_)(?<!pp_)(?<!model )(?<!data )(?<!pipeline )"
    r"\bworld[ _-]?size[\"']?\s{0,3}(?:is\s+|[:=]\s{0,3})?(\d{1,6})\b"
)
_ALONE = re.compile(r"(?i)\brank[\"']?\s{0,3}[:=#]?\s{0,3}0\s{0,3}(?:of|/|out of)\s{0,3}1\b(?!\d)")


@fact("silent:several-worlds")
def several_worlds(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Every rank that says how large its world is says the same size, which is smaller than the run's."""
    processes = run.record.processes
    said: dict[int, set[int]] = {}
    for path in rank_files(run.path / "logs", ".log") if processes > 1 else ():
        text = _text(path, HEAD)
        sizes = {int(each) for each in _WORLD.findall(text)}
        if _ALONE.search(text):
            sizes.add(1)
        if sizes:
            said[rank_of(path)] = sizes
    every = set().union(*said.values()) if said else set()
    if len(said) < 2 or len(every) != 1:
        return []
    size = every.pop()
    if not 0 < size < processes or processes % size or (size > 1 and len(said) < processes):
        return []
    values = {"processes": str(processes), "worlds": str(processes // size), "size": str(size)}
    return [FactHit(Evidence(f"logs/rank-{min(said)}.log", None, ""), values)]


@fact("silent:no-group")
def no_group(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """The program and all that it imports are there to read, and nothing of it can reach another process."""
    entry = entry_of(run.record)
    if run.record.processes < 2 or _failed(run):
        return []
    try:
        program = ProgramText.read(run.run.source(), entry) if entry else None
    except HackathonError:  # its record cannot be read any more
        return []
    if program is None or program.unknown:
        return []
    values = {"processes": str(run.record.processes), "file": entry}
    return [FactHit(Evidence(f"source/{entry}", None, ""), values)]


@fact("silent:not-averaged")
def not_averaged(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """The text of the program says that its ranks train each for itself."""
    if run.record.processes < 2 or _failed(run):
        return []
    shown = by_text(run, ("fixed-world", "not-averaged"))[:1]
    return [FactHit(evidence, {"processes": str(run.record.processes)}) for _, evidence in shown]


def by_text(run: RunFacts, rules: tuple[str, ...]) -> list[tuple[str, Evidence]]:
    """Return (rule, place) of what the text of a run's program shows, for these rules about training programs."""
    entry = entry_of(run.record)
    if not entry:
        return []
    from hackathon.programs.training.read import told_by_text

    try:
        shown = told_by_text(run.run.source(), entry, rules)
    except HackathonError:
        return []
    return [(each.rule, Evidence(f"source/{name}", each.line, "")) for name, each in shown]


def entry_of(record: RunRecord) -> str:
    """Return the Python file that a run's command starts; empty where something else starts the program."""
    words = [word for word in record.command if word not in ("-u", "-B", "-O")]
    if len(words) < 2 or not re.fullmatch(r"(?:.*/)?python[0-9.]*", words[0]) or not words[1].endswith(".py"):
        return ""
    parts = words[1].split("/")
    return words[1] if ".." not in parts and parts[0] else ""


def _failed(run: RunFacts) -> bool:
    """Return whether it surely did not succeed: then other things are wrong."""
    return run.status is not None and run.status.state != states.SUCCEEDED


def _text(path: Path, most: int) -> str:
    """Return the beginning of a file as text; empty when it cannot be read."""
    try:
        with open_regular(path) as stream:
            return stream.read(most).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
