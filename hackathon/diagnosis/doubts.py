"""Doubts about the result of a run that succeeded, from its own records: what no line of its logs says.

The checks are those of the rules `silent-*` with the limits that these rules are shipped with (a test compares them);
rules of a project do not count here, so that everybody who looks at a result sees the same doubts.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean, median

from hackathon.diagnosis.facts import FactHit, RunFacts
from hackathon.diagnosis.silent import data, numerics, training
from hackathon.logs.final import Numbers
from hackathon.logs.metrics import rank_files, rank_of
from hackathon.runs.record import RunRecord
from hackathon.runs.source.program_text import ProgramText
from hackathon.scaling.doubts import Doubt, RunJudgement
from hackathon.text.errors import HackathonError
from hackathon.text.files import open_regular

SAME_DATA = {"distinct": 0.5}
SAME_LOSS = {"values": 4, "different": 3, "digits": 4}
NAN_LOSS = {"values": 2}
FLAT_LOSS = {"values": 8, "steps": 200, "printed": 30, "improvement": 0.005, "spread": 0.015}
"""Limits of the rules `silent-same-data`, `-same-loss`, `-nan-loss` and `-flat-loss`."""
SLOW_START, FEW, SHIFT = 0.8, 4, 0.02
"""A first value below this share of the others' median is warm-up; of so many values at least; share by which it moves
a mean."""
HEAD = 64 << 10
"""Bytes at the beginning of a rank's log in which it says how large its world is."""

_WORLD = re.compile(
    r"(?i)(?<!parallel )(?<!local )(?<!local_)(?<!group )(?<!tp_)(?<!dp_)(?<!pp_)(?<!model )(?<!data )(?<!pipeline )"
    r"\bworld[ _-]?size[\"']?\s{0,3}(?:is\s+|[:=]\s{0,3})?(\d{1,6})\b"
)
_ALONE = re.compile(r"(?i)\brank[\"']?\s{0,3}[:=#]?\s{0,3}0\s{0,3}(?:of|/|out of)\s{0,3}1\b(?!\d)")


def judge(run: Path, record: RunRecord, numbers: Numbers) -> RunJudgement:
    """Return what makes the result of a successful run doubtful; `numbers`: its final ones.

    Only what can be shown counts: a run whose records do not tell is not doubted. Files that are missing, half-written
    or odd show nothing.
    """
    facts = RunFacts(run, record=record)
    found: list[Doubt] = []
    if record.processes > 1:
        found += _identical(facts)
        found += _several_worlds(facts) or _no_group(facts)
    found += _bad_loss(facts)
    found += _check_failed(record, numbers)
    found += _warm_up(facts, record, numbers)
    return RunJudgement(tuple(found), training.samples_per_step(facts))


def _identical(facts: RunFacts) -> list[Doubt]:
    for hit in data.same_data(facts, SAME_DATA):
        if hit.values["distinct"] == "1":
            values = {"ranks": hit.values["of"], "count": hit.values["batches"]}
            return [Doubt("identical-ranks", values, "batches", _place(hit))]
    for hit in data.same_loss(facts, SAME_LOSS):
        values = {"ranks": hit.values["of"], "count": hit.values["values"], "first": hit.values["first"]}
        return [Doubt("identical-ranks", values, "losses", _place(hit))]
    return []


def _bad_loss(facts: RunFacts) -> list[Doubt]:
    for hit in numerics.nan_loss(facts, NAN_LOSS):
        return [Doubt("bad-loss", {name: hit.values[name] for name in ("rank", "value")}, "value", _place(hit))]
    for hit in numerics.flat_loss(facts, FLAT_LOSS):
        return [Doubt("bad-loss", {name: hit.values[name] for name in ("steps", "first", "last")}, "flat", _place(hit))]
    return []


def _check_failed(record: RunRecord, numbers: Numbers) -> list[Doubt]:
    check = record.check
    value = numbers.values.get(check.metric) if check is not None else None
    if check is None or value is None or check.passes(value):
        return []
    bounds = [
        f"{sign} {bound:.4g}" for sign, bound in (("≥", check.at_least), ("≤", check.at_most)) if bound is not None
    ]
    return [Doubt("check-failed", {"metric": check.metric, "value": f"{value:.4g}", "rule": ", ".join(bounds)})]


def _several_worlds(facts: RunFacts) -> list[Doubt]:
    """Every rank that says how large its world is says the same size, which is smaller than the run's."""
    processes = facts.record.processes
    said: dict[int, set[int]] = {}
    for path in rank_files(facts.path / "logs", ".log"):
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
    return [Doubt("several-worlds", values, evidence=f"logs/rank-{min(said)}.log")]


def _no_group(facts: RunFacts) -> list[Doubt]:
    """The program and all that it imports are there to read, and nothing of it can reach another process."""
    entry = _entry(facts.record)
    try:
        program = ProgramText.read(facts.run.source(), entry) if entry else None
    except HackathonError:  # its record cannot be read any more
        return []
    if program is None or program.unknown:
        return []
    return [Doubt("no-group", {"processes": str(facts.record.processes), "file": entry}, evidence=f"source/{entry}")]


def _entry(record: RunRecord) -> str:
    """Return the Python file that a run's command starts; empty where something else starts the program."""
    words = [word for word in record.command if word not in ("-u", "-B", "-O")]
    if len(words) < 2 or not re.fullmatch(r"(?:.*/)?python[0-9.]*", words[0]) or not words[1].endswith(".py"):
        return ""
    parts = words[1].split("/")
    return words[1] if ".." not in parts and parts[0] else ""


def _warm_up(facts: RunFacts, record: RunRecord, numbers: Numbers) -> list[Doubt]:
    """The metric is a mean over values of a log whose first one is far slower than the others."""
    entry: Mapping[str, object] = record.metrics.get(numbers.metric, {})
    if entry.get("reduce") != "mean" or entry.get("skip_first") or not entry.get("pattern"):
        return []
    files = rank_files(facts.path / "logs", ".log")
    values = training.pattern_values(str(entry["pattern"]), files[0]) if files else []
    rest = values[1:]
    if len(values) < FEW or not all(value > 0 for value in values) or values[0] >= SLOW_START * median(rest):
        return []
    with_it, without = fmean(values), fmean(rest)
    if abs(with_it / without - 1) <= SHIFT:
        return []
    return [
        Doubt(
            "warm-up-included",
            {"value": f"{with_it:.4g}", "without": f"{without:.4g}"},
            evidence=f"logs/{files[0].name}",
        )
    ]


def _place(hit: FactHit) -> str:
    evidence = hit.evidence
    if evidence is None:
        return ""
    return f"{evidence.file}:{evidence.line}" if evidence.line else evidence.file


def _text(path: Path, most: int) -> str:
    """Return the beginning of a file as text; empty when it cannot be read."""
    try:
        with open_regular(path) as stream:
            return stream.read(most).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
