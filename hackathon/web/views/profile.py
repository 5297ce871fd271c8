"""The page of a profile: a step on each rank, shares, operators, kernels and gaps, from the run's stored profile."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hackathon.index.catalog import Catalog
from hackathon.index.record import RunEntry
from hackathon.index.studies import run_key
from hackathon.profiling.shares import PARTS
from hackathon.profiling.traces.recording import FOLDER
from hackathon.profiling.traces.stored import FACT, RANKS
from hackathon.runs.directory import RunDirectory, files_of
from hackathon.text.json_fields import count_of, listed, mapping_of, text_of, texts_of
from hackathon.text.messages import language
from hackathon.text.numbers import finite
from hackathon.web.page import sanitize as clean

WIDTH, ROW, NAME, BAR = 1000, 26, 70, 18
"""Sizes in the picture of a step, in its own units: the width, a rank, its name, its bar."""
NARROWEST = 0.4
"""Units from which on a stretch is drawn."""
SHARES = 64
"""Ranks with a row in the table of shares."""
STRETCHES = 4000
"""Stretches of a rank that are read."""
ROWS = 40
"""Operators, kernels, gaps and sentences of each kind that are read."""


@dataclass(frozen=True)
class StepPicture:
    """The picture of one step."""

    number: int
    seconds: float
    """From the left to the right edge."""
    rows: tuple[tuple[int, int, tuple[tuple[str, float, float], ...]], ...]
    """(rank, distance from the top, stretches as (part, distance from the left, width))."""
    ticks: tuple[tuple[float, str], ...]
    """(Distance from the left, milliseconds)."""
    width: int = WIDTH
    name: int = NAME
    bar: int = BAR

    @property
    def height(self) -> int:
        """The height of the picture."""
        return ROW * len(self.rows) + 24


@dataclass(frozen=True)
class RankRow:
    """The parts of one rank's step time."""

    rank: int
    seconds: float
    shares: tuple[float | None, ...]
    """In the order of PARTS, 0…1; None if a part is unknown."""


@dataclass(frozen=True)
class ActivityRow:
    """An operator or a kernel."""

    name: str
    calls: float
    """Per step."""
    seconds: float
    """Per step."""
    tensor_cores: bool


@dataclass(frozen=True)
class DeviceRow:
    """An operator by the kernels that it launched."""

    name: str
    kernels: float
    """Per step."""
    seconds: float
    """Per step."""
    share: float
    """Of the time of all kernels, 0…1."""


@dataclass(frozen=True)
class GapRow:
    """A stretch without computation."""

    seconds: float
    rank: int
    step: int
    after: str
    before: str


@dataclass(frozen=True)
class ProfileView:
    """A profile for its page; seconds are per step."""

    verdict: str
    further: tuple[str, ...]
    """Further findings."""
    advice: tuple[str, ...]
    remarks: tuple[str, ...]
    picture: StepPicture | None
    processes: int
    ranks: tuple[RankRow, ...]
    communication: tuple[float, float] | None
    """(Seconds in collectives, seconds of these that computation does not hide); None if unknown."""
    loader: tuple[float, float] | None
    tensor_core_share: float | None
    memory: tuple[tuple[str, int], ...]
    """(kind, bytes)."""
    overhead: tuple[float, float, float, int] | None
    """(Share, seconds of a plain step, of a recorded one, plain steps); None if unknown."""
    recorded: bool
    """Whether this toolkit recorded it, so that its overhead may be known."""
    operators: tuple[ActivityRow, ...]
    kernels: tuple[ActivityRow, ...]
    device_operators: tuple[DeviceRow, ...]
    device_known: float | None
    """Share of the kernels' time whose operator is known, 0…1; None if none is known."""
    gaps: tuple[GapRow, ...]
    roof_lines: tuple[str, ...]
    roof_rows: tuple[tuple[str, ...], ...]
    run: str = ""
    """Key of its run; empty for other people's traces."""
    id: str = ""


def values(source: Catalog, key: str) -> dict[str, Any] | None:
    """Return the values of a profile's page; None for a run without one."""
    summary = source.find(key)
    if summary is None or not has_profile(summary):
        return None
    record = RunDirectory(Path(summary.project) / "runs" / summary.id).client(FACT)
    languages = mapping_of(record.get("languages"))
    spoken = mapping_of(languages.get(language()) or next(iter(languages.values()), None))
    if not spoken:
        return None
    view = profile_view(spoken, mapping_of(record.get("step")), run_key(summary), summary.id)
    return {"view": clean.value(view), "parts": PARTS}


def has_profile(run: RunEntry) -> bool:
    """Return whether `hackathon profile` made a run and its profile is stored."""
    return FOLDER in run.tags and files_of(Path(run.project) / "runs" / run.id).is_file(f"client/{FACT}.json")


def profile_of(run: RunEntry, runs: Iterable[RunEntry]) -> RunEntry | None:
    """Return the run with the profile of a run: itself, or the newest of `runs` that recorded it again."""
    if has_profile(run):
        return run
    again = [other for other in runs if other.parent == run.id and other.project == run.project]
    return next(
        (other for other in sorted(again, key=lambda other: other.id, reverse=True) if has_profile(other)), None
    )


def profile_view(
    profile: Mapping[str, Any], step: Mapping[str, Any] | None, run: str = "", identifier: str = ""
) -> ProfileView:  # fmt: skip
    """Return the view of a stored profile (`traces.stored`); malformed parts are left out without an error."""
    findings = [mapping_of(finding) for finding in listed(profile.get("findings"))[:ROWS]]
    roof = mapping_of(profile.get("roof"))
    memory = ((name, finite(value)) for name, value in mapping_of(profile.get("memory_bytes")).items())
    return ProfileView(
        verdict=text_of(profile.get("verdict")),
        further=tuple(text_of(finding.get("message")) for finding in findings[1:]),
        advice=tuple(text_of(finding.get("advice")) for finding in findings),
        remarks=texts_of(profile.get("remarks"))[:ROWS],
        picture=step_picture(step or {}),
        processes=count_of(profile.get("processes")),
        ranks=tuple(_rank(mapping_of(rank)) for rank in listed(profile.get("ranks"))[:SHARES]),
        communication=_exposed(profile.get("communication")),
        loader=_exposed(profile.get("loader")),
        tensor_core_share=finite(profile.get("tensor_core_share")),
        memory=tuple((name, int(size)) for name, size in memory if size is not None and name in MEMORY),
        overhead=_overhead(mapping_of(profile.get("overhead"))),
        recorded=profile.get("recorded") is True,
        operators=_activities(profile.get("operators")),
        kernels=_activities(profile.get("kernels")),
        device_operators=tuple(
            _device(mapping_of(operator)) for operator in listed(profile.get("device_operators"))[:ROWS]
        ),
        device_known=finite(profile.get("device_operators_known")),
        gaps=tuple(_gap(mapping_of(gap)) for gap in listed(profile.get("gaps"))[:ROWS]),
        roof_lines=texts_of(roof.get("lines"))[:ROWS],
        roof_rows=tuple(row for cells in listed(roof.get("rows"))[:ROWS] if len(row := texts_of(cells)) == ROOF_CELLS),
        run=run,
        id=identifier,
    )


MEMORY = ("device", "tensors", "process")
"""Kinds of memory in a profile."""
ROOF_CELLS = 7


def _rank(rank: Mapping[str, Any]) -> RankRow:
    seconds = finite(rank.get("seconds")) or 0.0
    parts = (finite(rank.get(part)) for part in PARTS)
    shares = tuple(part / seconds if part is not None and seconds > 0 else None for part in parts)
    return RankRow(count_of(rank.get("rank")), seconds, shares)


def _exposed(value: object) -> tuple[float, float] | None:
    fields = mapping_of(value)
    inside, exposed = finite(fields.get("seconds")), finite(fields.get("exposed_seconds"))
    return None if inside is None or exposed is None else (inside, exposed)


def _overhead(overhead: Mapping[str, Any]) -> tuple[float, float, float, int] | None:
    share, plain, recorded = (finite(overhead.get(name)) for name in ("share", "plain_seconds", "recorded_seconds"))
    return None if share is None or plain is None or recorded is None else (
        share, plain, recorded, count_of(overhead.get("steps"))
    )  # fmt: skip


def _activities(value: object) -> tuple[ActivityRow, ...]:
    return tuple(
        ActivityRow(
            text_of(activity.get("name")), finite(activity.get("calls")) or 0.0, finite(activity.get("seconds")) or 0.0,
            activity.get("tensor_cores") is True,
        )
        for activity in map(mapping_of, listed(value)[:ROWS])
    )  # fmt: skip


def _device(operator: Mapping[str, Any]) -> DeviceRow:
    kernels, seconds, share = (finite(operator.get(name)) or 0.0 for name in ("kernels", "seconds", "share"))
    return DeviceRow(text_of(operator.get("name")), kernels, seconds, share)


def _gap(gap: Mapping[str, Any]) -> GapRow:
    return GapRow(
        finite(gap.get("seconds")) or 0.0, count_of(gap.get("rank")), count_of(gap.get("step")),
        text_of(gap.get("after")), text_of(gap.get("before")),
    )  # fmt: skip


def step_picture(step: Mapping[str, Any]) -> StepPicture | None:
    """Return the picture of a stored typical step (`traces.stored.typical_step`); None without one."""
    end = finite(step.get("seconds"))
    ranks = [mapping_of(rank) for rank in listed(step.get("ranks"))[:RANKS]]
    if end is None or end <= 0 or not ranks:
        return None
    scale = (WIDTH - NAME) / end
    rows = tuple(
        (count_of(rank.get("rank")), ROW * at, tuple(_drawn(listed(rank.get("stretches")), end, scale)))
        for at, rank in enumerate(ranks)
    )
    ticks = tuple(
        (round(NAME + end * scale * quarter / 4, 1), f"{1e3 * end * quarter / 4:.3g}") for quarter in range(5)
    )
    return StepPicture(count_of(step.get("number")), end, rows, ticks)


def _drawn(stretches: list[Any], end: float, scale: float) -> Iterable[tuple[str, float, float]]:
    for stretch in stretches[:STRETCHES]:
        cells = listed(stretch)
        if len(cells) != 3 or cells[0] not in PARTS:
            continue
        begin, until = finite(cells[1]), finite(cells[2])
        if begin is None or until is None or not 0 <= begin <= until <= 1.001 * end:
            continue
        if (until - begin) * scale >= NARROWEST:
            yield cells[0], round(NAME + begin * scale, 1), round((until - begin) * scale, 1)
