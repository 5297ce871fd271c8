"""Silent failures of the group of ranks: each rank trains alone, and their summed speed looks like scaling."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from hackathon.diagnosis.facts import FactHit, RunFacts, fact
from hackathon.diagnosis.findings import Evidence
from hackathon.logs.metrics import rank_files, rank_of
from hackathon.runs import states
from hackathon.text.errors import HackathonError
from hackathon.text.files import open_regular

if TYPE_CHECKING:
    from hackathon.programs.training.entries import CommandStart
    from hackathon.programs.training.situation import TrainingSituation


HEAD = 64 << 10
"""Bytes at the beginning of a rank's log that may state the size of its world."""

TAIL = 1 << 20
"""Bytes read from the end of a rank's log."""
RANKS = 64
"""Ranks whose logs are read."""
_FAILED_STEP = re.compile(
    rb"Traceback \(most recent call last\)|(?:gloo/transport/[\w/.]+:\d+\] )?Connection (?:closed|reset) by peer"
    rb"|gloo/transport/[\w/.]+:\d+"
    rb"|NCCL (?:WARN|error)|nccl(?:System|Remote|Internal|UnhandledCuda)Error|DistBackendError|Broken pipe"
    rb"|Watchdog caught collective|CUDA out of memory|CUDA error"
)
"""Output of a failed step, on the rank itself or on those that waited for it."""

MEETINGS = frozenset({"mpi4py"})
"""Packages by which programs often do no more than find each other before they form a group."""
LOOKS, LONG = 5, 20
"""Steps in which the recorder of each rank must have looked: for its group; for collectives, which may be rare."""

_WORLD = re.compile(
    r"(?i)(?<!parallel )(?<!local )(?<!local_)(?<!group )(?<!tp_)(?<!dp_)(?<!pp_)(?<!model )(?<!data )(?<!pipeline )"
    r"\bworld[ _-]?size[\"']?\s{0,3}(?:is\s+|[:=]\s{0,3})?(\d{1,6})\b"
)
_LOCAL = re.compile(r"localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]")
_ALONE = re.compile(
    r"(?i)(?<!local[ -])(?<!node[ -])(?<!machine[ -])(?<!group[ -])(?<!parallel[ -])(?<!model[ -])(?<!data[ -])"
    r"(?<!tensor[ -])(?<!pipeline[ -])(?<!tp[ -])(?<!dp[ -])(?<!pp[ -])"
    r"\brank[\"']?\s{0,3}[:=#]?\s{0,3}0\s{0,3}(?:of|/|out of)\s{0,3}1\b(?!\d)"
)


@fact("silent:several-worlds")
def several_worlds(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report ranks that all state the same world size, which is smaller than the run's."""
    processes = run.record.processes
    world_sizes: dict[int, set[int]] = {}
    for path in rank_files(run.path / "logs", ".log") if processes > 1 else ():
        text = _text(path, HEAD)
        small = text.lower()  # search for the words first: most logs have neither
        sizes = {int(size) for size in _WORLD.findall(text)} if "world" in small else set()
        if "rank" in small and _ALONE.search(text):
            sizes.add(1)
        if sizes:
            world_sizes[rank_of(path)] = sizes
    every = set().union(*world_sizes.values()) if world_sizes else set()
    if len(world_sizes) < 2 or len(every) != 1:
        return []
    size = every.pop()
    if not 0 < size < processes or processes % size or (size > 1 and len(world_sizes) < processes):
        return []
    values = {"processes": str(processes), "worlds": str(processes // size), "size": str(size)}
    return [FactHit(Evidence(f"logs/rank-{min(world_sizes)}.log", None, ""), values)]


class Apart(NamedTuple):
    """Ranks that do not work together, according to their recorders."""

    kind: str
    """`no-group`, `small-world`, `no-collective`, `outside` (collectives only between the training steps) or
    `beside` (none in these steps, but a package could exchange gradients)."""
    hit: FactHit


def meets(run: RunFacts) -> bool:
    """Return whether all ranks' recorders saw one world of all processes, and collectives between the steps."""
    ranks = run.recordings.values()
    return bool(ranks) and all(
        rank.world == run.record.processes and rank.collectives and (rank.inside or rank.plain < LONG) for rank in ranks
    )


def apart(run: RunFacts) -> Apart | None:
    """Return how the ranks train separately, according to the recorders of all ranks; None if unknown.

    It is unknown if a process can exchange gradients without torch.distributed, and has no group that is idle.
    """
    processes, ranks = run.record.processes, list(run.recordings.values())
    if processes < 2 or not ranks or any(rank.looks < LOOKS for rank in ranks):
        return None
    sizes = {rank.world for rank in ranks}
    size = sizes.pop() if len(sizes) == 1 else None
    steps = min(rank.looks for rank in ranks)
    values = {"processes": str(processes), "steps": str(steps), "size": str(size)}
    hit = FactHit(Evidence(f"steps/rank-{min(run.recordings)}.json", None, ""), values)
    packages = {name for rank in ranks for name in rank.others}
    if packages:  # they may exchange the gradients, but a program with a group seldom has another way
        quiet = size == processes and all(rank.collectives is not None and not rank.inside for rank in ranks)
        steps = min(rank.plain for rank in ranks)
        if quiet and packages <= MEETINGS and steps >= LONG:
            return Apart("beside", FactHit(hit.evidence, values | {"steps": str(steps), "package": min(packages)}))
        return None
    if size == 0:
        return Apart("no-group", hit)
    if size is not None and size < processes:
        return Apart("small-world", hit)
    if size == processes and steps >= LONG and all(rank.collectives == 0 for rank in ranks):
        return Apart("no-collective", hit)
    steps = min(rank.plain for rank in ranks)
    if size == processes and steps >= LONG and all(rank.collectives and not rank.inside for rank in ranks):
        return Apart("outside", FactHit(hit.evidence, values | {"steps": str(steps)}))
    return None


def unproved(run: RunFacts) -> FactHit | None:
    """Return the recorded steps if they are too few to show whether the ranks train together; else None.

    Nothing was exchanged in them, but ranks may exchange something in a later step.
    """
    processes, ranks = run.record.processes, list(run.recordings.values())
    if processes < 2 or not ranks or any(rank.timed is None or rank.others or rank.inside for rank in ranks):
        return None
    if any(rank.collectives is None or (rank.collectives and not rank.plain) for rank in ranks):
        return None
    steps = min(rank.plain if rank.collectives else rank.looks for rank in ranks)
    needed = LOOKS if all(rank.world == 0 for rank in ranks) else LONG
    if steps >= needed:
        return None
    evidence = Evidence(f"steps/rank-{min(run.recordings)}.json", None, "")
    return FactHit(evidence, {"processes": str(processes), "steps": str(steps)})


@fact("silent:recorded-apart")
def recorded_apart(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report ranks that exchange nothing, according to the recorders of all ranks."""
    observed = apart(run) if not failed(run) else None
    if observed is None or observed.kind in ("outside", "beside"):  # that may be right: a doubt, no failure
        return []
    if any(check(run, {}) for check in (no_group, not_averaged, own_launcher, own_ranks)):
        return []  # the text says where
    return [observed.hit]


@fact("silent:no-group")
def no_group(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report programs that, with everything they import, have no means to reach another process."""
    if run.record.processes < 2 or failed(run) or meets(run):
        return []
    start = start_of_run(run)
    if not start.whole or len(start.files) != 1 or start.own_launcher is not None:
        return []
    from hackathon.runs.source.program_text import ProgramText

    (entry,) = start.files
    try:
        program = ProgramText.read(run.run.source(), entry)
    except HackathonError:  # its record can no longer be read
        return []
    if program is None or program.unknown:
        return []
    values = {"processes": str(run.record.processes), "file": entry}
    return [FactHit(Evidence(f"source/{entry}", None, ""), values)]


@fact("silent:not-averaged")
def not_averaged(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report programs whose text shows that each rank trains alone."""
    if run.record.processes < 2 or failed(run):
        return []
    findings = by_text(run, ("fixed-world", "not-averaged", "around-wrapper"))[:1]
    return [FactHit(finding.evidence, {"processes": str(run.record.processes)}) for finding in findings]


@fact("silent:own-launcher")
def own_launcher(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report processes that each start a launcher with a world of its own, by the command or its script."""
    if run.record.processes < 2 or failed(run):
        return []
    launcher = start_of_run(run).own_launcher
    if launcher is None:
        return []
    evidence = Evidence(f"source/{launcher.file}" if launcher.file else "request.json", launcher.line or None, "")
    return [FactHit(evidence, {"processes": str(run.record.processes), "launcher": launcher.name})]


@fact("silent:own-ranks")
def own_ranks(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report processes that each start ranks of their own, which meet only on their own machine."""
    if run.record.processes < 2 or failed(run):
        return []
    from hackathon.programs.training.situation import TrainingSituation

    record = run.record
    situation = TrainingSituation(processes=record.processes, nodes=record.nodes or None)
    findings = by_text(run, ("starts-own-ranks", "own-address"), situation)
    starts = [finding for finding in findings if finding.rule == "starts-own-ranks"]
    if not starts or not any(finding.rule == "own-address" and _LOCAL.search(finding.message) for finding in findings):
        return []
    return [FactHit(starts[0].evidence, {"processes": str(record.processes)})]


@fact("silent:same-samples")
def same_samples(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report programs whose text shows that all ranks read the same samples."""
    if run.record.processes < 2 or failed(run):
        return []
    findings = by_text(run, ("same-data", "same-stream"))[:1]
    return [
        FactHit(finding.evidence, {"processes": str(run.record.processes), "place": place_of(finding.evidence)})
        for finding in findings
    ]


def place_of(evidence: Evidence) -> str:
    """Return `train.py:12` of evidence in a run's source."""
    return f"{evidence.file.removeprefix('source/')}:{evidence.line}"


class ShownByText(NamedTuple):
    """A finding in the text of a run's program."""

    rule: str
    message: str
    evidence: Evidence


def by_text(run: RunFacts, rules: tuple[str, ...], situation: "TrainingSituation | None" = None) -> list[ShownByText]:
    """Return the findings of these rules about training programs in the text of a run's program."""
    from hackathon.programs.training.files import told_by_text

    findings: list[ShownByText] = []
    for entry in start_of_run(run).files:
        try:
            reported = told_by_text(run.run.source(), entry, rules, situation)
        except HackathonError:
            continue
        findings += [
            ShownByText(finding.rule, finding.message, Evidence(f"source/{name}", finding.line, ""))
            for name, finding in reported
        ]
    return findings


def start_of_run(run: RunFacts) -> "CommandStart":
    """Return what a run's command starts, by the text of its source."""
    if run not in _starts:
        _starts[run] = _start_of_run(run)
    return _starts[run]


def _start_of_run(run: RunFacts) -> "CommandStart":
    from hackathon.programs.training.entries import CommandStart, start_of

    try:
        return start_of(run.run.source(), run.record.command)
    except HackathonError:  # its record can no longer be read
        return CommandStart()


_starts: "WeakKeyDictionary[RunFacts, CommandStart]" = WeakKeyDictionary()


def failed(run: RunFacts) -> bool:
    """Return whether the run certainly did not succeed: other rules explain that."""
    return run.status is not None and run.status.state != states.SUCCEEDED


def _text(path: Path, most: int) -> str:
    """Return the beginning of a file as text; empty when it cannot be read."""
    try:
        with open_regular(path) as stream:
            return stream.read(most).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


@fact("silent:swallowed-exception")
def swallowed(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report programs that catch exceptions of their training and whose logs show one."""
    if run.record.processes < 2 or failed(run):
        return []
    findings = by_text(run, ("swallowed-exception",))
    if not findings:
        return []
    for path in rank_files(run.path / "logs", ".log")[:RANKS]:
        try:
            with open_regular(path) as stream:
                size = stream.seek(0, 2)
                stream.seek(max(0, size - TAIL))
                text = stream.read(TAIL)
        except (OSError, ValueError):
            continue
        match = _FAILED_STEP.search(text)
        if match:
            line = text.count(b"\n", 0, match.start()) + 1 if size <= TAIL else None
            evidence = Evidence(f"logs/{path.name}", line, "")
            error_text = match[0].decode("ascii", "replace").rpartition("] ")[2]
            return [FactHit(evidence, {"text": error_text, "place": place_of(findings[0].evidence)})]
    return []
