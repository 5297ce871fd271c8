"""The page of one run: its state, problems, numbers over time, logs, and origin."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.index.catalog import Catalog
from hackathon.index.record import RunEntry, key_of
from hackathon.index.studies import run_key
from hackathon.logs.follow import SHARED
from hackathon.logs.metrics import rank_of
from hackathon.profiling.meters import shares_of_run
from hackathon.profiling.points import run_json
from hackathon.profiling.sentences import sentences
from hackathon.runs.directory import RunDirectory, files_of
from hackathon.runs.outputs.record import lines as output_lines
from hackathon.runs.outputs.record import outputs_of
from hackathon.runs.outputs.trackers import tracker_files
from hackathon.runs.states import CREATED, ENDED, HELD, LOST, OPEN, QUEUED, RUNNING, SUCCEEDED
from hackathon.text.units import format_age, format_size
from hackathon.usage.efficiency import efficiency
from hackathon.usage.usage import Amount, Ledger
from hackathon.web.page import sanitize as clean
from hackathon.web.page.addresses import Options
from hackathon.web.page.figures import Figure, drawn
from hackathon.web.progress.run_curves import AS_IT_IS, ChartWish, RunCurves, run_curves, wish_of
from hackathon.web.progress.standing import RunStanding, standing
from hackathon.web.progress.waits import RunWaits, run_waits
from hackathon.web.views.curves import LINES, Host, progress, telemetry
from hackathon.web.views.profile import profile_of
from hackathon.web.views.run_view import RunView, end_texts, run_view
from hackathon.web.views.shares import rank_shares
from hackathon.web.views.speedup import has_speedup
from hackathon.web.views.timeline import Timeline, timeline
from hackathon.web.views.trouble import kind_of, since
from hackathon.web.views.verdict import Verdict, verdict, without_lines

if TYPE_CHECKING:
    from hackathon.config.event import Publish

LOGS = 12
"""Logs of ranks that are displayed: that of the rank that failed first, then from rank 0 on."""
DIFF = 100_000
"""Characters of `source.diff` that are displayed."""
CHILDREN = 8
"""Runs after this one that are listed."""
WRITTEN = 20
"""Rows of the program's output files and folders."""
LOOKED_AT, LOOK = 1000, 1.0
"""The most files and seconds of a search for the program's outputs, if they are not recorded."""
MEASURED = 180.0
"""Seconds after which a measurement of devices is no longer the present state."""
COMPARABLE = 20
"""Other runs of the project that are offered for a comparison."""


@dataclass(frozen=True)
class Other:
    """A run related to this one."""

    key: str
    id: str
    state: str


@dataclass(frozen=True)
class Log:
    """The end of one log."""

    name: str
    """`job.log`, `rank-3.log`."""
    lines: tuple[tuple[str, bool], ...]
    """(line, whether it is the evidence of a finding)."""
    size: str
    """The size of the file, as text."""
    whole: bool
    """Whether nothing was left out."""
    shown: bool = False
    """Whether it is initially open."""


@dataclass(frozen=True)
class Origin:
    """The origin of the program."""

    files: int
    in_place: bool
    diff: tuple[tuple[str, str], ...]
    """(kind, line) of `source.diff`; kind: add, gone, place, head, same."""


@dataclass(frozen=True)
class WrittenFiles:
    """The outputs of the program."""

    count: int
    size: str
    complete: bool
    lines: tuple[tuple[str, str], ...]
    """(file, or folder with its number of files; size as text), the largest first."""
    trackers: tuple[tuple[str, str], ...] = ()
    """(experiment tracker with its folder, the command that shows or uploads it)."""


@dataclass(frozen=True)
class RunPage:
    key: str
    summary: RunEntry
    run: RunView
    seconds: float | None
    """Its duration so far; for a queued run its waiting time."""
    waits: bool
    """Whether the seconds are waiting time."""
    hours: tuple[Amount, ...]
    """GPU-hours of a run with GPUs, and node-hours, of all its attempts."""
    efficiency: str
    """What it requested beside what it used, in one line; empty before its end."""
    going: bool
    """Whether the scheduler has, or may have, it."""
    verdict: Verdict
    progress: tuple[Figure, ...]
    curves: RunCurves
    """The x axis of its curves, without their points."""
    wish: ChartWish
    standing: RunStanding | None
    """The state of its ranks; None for a run that is not running."""
    waits_for: RunWaits | None
    """Where its ranks stand if it makes no progress; None otherwise, and on a site."""
    output_age: str
    """The age of its last output, if it runs and makes no progress; else empty."""
    devices_age: str
    """The age of the last measurement of its devices, if it runs and that is old; else empty."""
    devices: tuple[Figure, ...]
    shares: tuple[Figure, ...]
    """The parts of the step time on each rank; () if unknown."""
    where: tuple[str, ...]
    """The same in words, with what to try."""
    hosts: tuple[Host, ...]
    single_hosts: bool
    """Whether its pictures of devices have a line for each host."""
    kind: str
    """`gpu` or `cpu`: the measured devices; empty without measurements."""
    logs: tuple[Log, ...] | None
    """None: the event publishes no logs."""
    logs_left: int
    timeline: Timeline
    source: Origin
    study: str = ""
    """The key of its study; empty if it belongs to none."""
    parent: Other | None = None
    previous: Other | None = None
    """The preceding run of the same name."""
    children: tuple[Other, ...] = ()
    profile: str = ""
    """The key of the run with its profile; empty without one."""
    speedup: str = ""
    """The key of its page of speed-ups; empty without one."""
    comparable: tuple[Other, ...] = ()
    """Other runs of its project, newest first."""
    texts: tuple[tuple[str, str], ...] = ()
    """Texts that it reported at its end, such as the digest of its weights."""
    written: WrittenFiles | None = None
    """None if its program wrote nothing, has not ended, or must not be published."""
    refused: tuple[str, ...] = ()
    """Refused files in its folder: links that lead outside, pipes, sockets."""


def values(source: Catalog, key: str, options: Options = ()) -> dict[str, Any] | None:
    """Return the values of a run's page in the current language; None if the index does not have it.

    `problem`: why pictures are missing; empty if none is.
    """
    summary = source.find(key)
    if summary is None:
        return None
    page = run_page(source, summary, wish_of(options))
    figures, problem = drawn([*page.progress, *page.devices, *page.shares], source.memory)
    drawings = iter(figures)
    page = replace(
        page,
        progress=tuple(itertools.islice(drawings, len(page.progress))),
        devices=tuple(itertools.islice(drawings, len(page.devices))),
        shares=tuple(drawings),
    )
    return {"view": page, "problem": problem}


def allowed(source: Catalog) -> "Publish | None":
    """Return the event's rules for publishing a page; None for the live page, which shows everything."""
    if source.live:
        return None
    from hackathon.config.event import Publish

    return source.event.publish if source.event is not None else Publish()


def run_page(source: Catalog, summary: RunEntry, wish: ChartWish = AS_IT_IS) -> RunPage:
    """Return a run for its page, figures not yet drawn; every text of others is cleaned.

    Files that are missing, half-written, unreadable or malformed leave gaps.
    """
    path = Path(summary.project) / "runs" / summary.id
    inside = files_of(path)
    run = run_view(path, inside, source.memory)
    ended = summary.ended if summary.state not in OPEN else None
    failed = summary.state not in OPEN and summary.state not in (SUCCEEDED, CREATED)
    diagnosis = verdict(source, summary, inside)
    going = summary.state in OPEN
    devices, hosts, kind = telemetry(inside, summary.started, ended, going=going)
    told_curves = run_curves(inside, summary, wish, source.memory)
    curves = progress(told_curves, summary, wish, ended=ended, failed=failed, going=going)
    rules = allowed(source)
    with_logs, with_source = rules is None or rules.logs, rules is None or rules.source
    diagnosis = diagnosis if with_logs else without_lines(diagnosis)
    logs, left = _logs(inside, summary, diagnosis, failed=failed) if with_logs else ([], 0)
    seconds, waits = _length(source, summary)
    raw_shares = summary.shares if summary.state == SUCCEEDED else shares_of_run(path, summary.processes)
    shares = run_json(raw_shares)
    spent = Ledger(source).of([summary])
    amounts = {amount.kind: amount for entry in spent.of_team("") for amount in entry.amounts if amount.used > 0}
    since_when = _still_since(source, summary)
    ranks = standing(source.now, summary, inside, since_when)
    page = RunPage(
        key=run_key(summary),
        summary=summary,
        run=run,
        seconds=seconds,
        waits=waits,
        hours=tuple(amounts[kind] for kind in ("gpu_hours", "node_hours") if kind in amounts),
        efficiency=efficiency(inside, summary.use, spent.profiles) if summary.use is not None else "",
        going=going,
        verdict=diagnosis,
        progress=tuple(curves),
        curves=replace(told_curves, lines=()),
        wish=wish,
        standing=ranks,
        waits_for=run_waits(source.now, summary, inside, ranks, since_when) if source.live else None,
        output_age="" if since_when is None else format_age(source.now - since_when),
        devices_age=_devices_age(source, summary, inside),
        devices=tuple(devices),
        shares=tuple(rank_shares(shares, summary.processes)),
        where=tuple(sentences(summary.processes, shares)),
        hosts=tuple(hosts),
        single_hosts=1 < len(hosts) <= LINES,
        kind=kind,
        logs=tuple(logs) if with_logs else None,
        logs_left=left,
        timeline=timeline(inside),
        source=_source(inside, with_diff=with_source),
        study=key_of(summary.project, summary.study) if summary.study else "",
        texts=tuple(end_texts(inside)),
        written=_written(RunDirectory(path)) if with_source and not going else None,
        refused=tuple(file.name for file in RunDirectory(path).refused()),
        **_others(source, summary),
    )
    cleaned: RunPage = clean.value(page)
    return cleaned


def _still_since(source: Catalog, summary: RunEntry) -> float | None:
    """Return since when a run makes no progress, as on the Now page; None while it does."""
    stands = kind_of(summary, source.now, lambda: None) == "stands"
    return since("stands", summary) if stands else None


def _devices_age(source: Catalog, summary: RunEntry, inside: GuardedFolder) -> str:
    """Return the age of a running run's last measurement of its devices, if it is older than MEASURED; else empty."""
    if summary.state != RUNNING:
        return ""
    moments = [state.st_mtime for state in inside.states("telemetry", LOOKED_AT).values() if state is not None]
    age = source.now - max(moments, default=source.now)
    return format_age(age) if age > MEASURED else ""


def previous_of(source: Catalog, summary: RunEntry) -> RunEntry | None:
    """Return the preceding run of the same project and name that has begun; None for the first."""
    same = [
        run
        for run in source.summaries
        if run.project == summary.project
        and run.name == summary.name
        and run.id < summary.id
        and run.state not in (CREATED, QUEUED, HELD)
    ]
    return max(same, key=lambda run: run.id, default=None)


def parent_of(source: Catalog, summary: RunEntry) -> RunEntry | None:
    """Return the run that this one follows or repeats; None without one, or if it no longer exists."""
    return source.find(key_of(summary.project, summary.parent)) if summary.parent else None


def _others(source: Catalog, summary: RunEntry) -> dict[str, Any]:
    parent, previous = parent_of(source, summary), previous_of(source, summary)
    children = [run for run in source.summaries if run.parent == summary.id and run.project == summary.project]
    recorded = profile_of(summary, children)
    return {
        "profile": run_key(recorded) if recorded else "",
        "speedup": run_key(summary) if has_speedup(summary) else "",
        "parent": _other(parent) if parent else None,
        "previous": _other(previous) if previous and previous != parent else None,
        "children": tuple(_other(run) for run in children[:CHILDREN]),
        "comparable": tuple(map(_other, _comparable(source, summary, (parent, previous)))),
    }


def _comparable(source: Catalog, summary: RunEntry, named: Sequence[RunEntry | None]) -> Iterator[RunEntry]:
    """Yield runs for a comparison with this one: those of its project that are not listed already."""
    if not source.live:
        return  # a site has no page of two runs
    siblings = (run for run in source.summaries if run.project == summary.project and run.id != summary.id)
    yield from itertools.islice((run for run in siblings if run not in named), COMPARABLE)


def _other(summary: RunEntry) -> Other:
    return Other(run_key(summary), summary.id, summary.state)


def _length(source: Catalog, summary: RunEntry) -> tuple[float | None, bool]:
    """Return the seconds of a run so far, or of its wait, and whether they are waiting time."""
    if summary.state in (QUEUED, HELD) and summary.submitted is not None:
        return max(0.0, source.now - summary.submitted), True
    if summary.started is None or summary.state == LOST:
        return summary.seconds, False
    if summary.state in ENDED:
        return summary.seconds, False
    return max(0.0, source.now - summary.started), False


def _logs(inside: GuardedFolder, summary: RunEntry, diagnosis: Verdict, *, failed: bool) -> tuple[list[Log], int]:
    """Return the ends of a run's logs, the most informative one open, and the number of others."""
    names = [name for name in inside.names("logs") if name.endswith(".log")]
    ranks = sorted((name for name in names if rank_of(Path(name)) >= 0), key=lambda name: rank_of(Path(name)))
    location = diagnosis.findings[0].place if diagnosis.findings else ""
    first = [name for name in ranks if rank_of(Path(name)) == summary.rank or f"logs/{name}" in location]
    chosen = sorted({*first, *ranks[: LOGS - len(first)]}, key=lambda name: rank_of(Path(name)))
    shared = [name for name in SHARED if name in names]
    evidence = [finding.evidence.strip() for finding in diagnosis.findings if len(finding.evidence.strip()) > 3]
    telling = next((name for name in [*chosen, *shared] if failed and f"logs/{name}" in location), "")
    telling = telling or next(iter([*(first if failed else ()), *chosen, *shared]), "")
    logs = []
    for name in [*shared, *chosen]:
        tail = clean.tail(inside, f"logs/{name}")
        if tail is not None:
            lines, before, size = tail
            rows = tuple((text, any(words in text for words in evidence)) for text in lines)
            logs.append(Log(name, rows, format_size(size), before == 0, name == telling))
    return logs, len(names) - len(shared) - len(chosen)


def _source(inside: GuardedFolder, *, with_diff: bool) -> Origin:
    record = inside.json("source.json")
    files = record.get("files")
    diff = inside.text("source.diff", DIFF + 1) if with_diff else ""
    return Origin(
        len(files) if isinstance(files, dict) else 0,
        bool(record.get("in_place")),
        tuple(marked(clean.block(diff, DIFF).splitlines())),
    )


def _written(run: RunDirectory) -> WrittenFiles | None:
    outputs = outputs_of(run, write=False, most_files=LOOKED_AT, most_seconds=LOOK)
    if not outputs.files:
        return None
    listing = tuple((output.text, format_size(output.size)) for output in output_lines(outputs.files)[:WRITTEN])
    trackers = tuple((entry.text, entry.command) for entry in tracker_files(outputs.files)[:WRITTEN])
    return WrittenFiles(len(outputs.files), format_size(outputs.size), outputs.complete, listing, trackers)


def marked(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Return (kind, line) of a unified diff: add, gone, place (`@@`), head (a file's), same."""
    rows = []
    for line in lines:
        kind = "same"
        if line.startswith(("+++ ", "--- ", "diff ", "index ", "new file", "deleted file", "Binary files")):
            kind = "head"
        elif line.startswith("@@"):
            kind = "place"
        elif line[:1] in "+-" and line:
            kind = "add" if line[0] == "+" else "gone"
        rows.append((kind, line))
    return rows
