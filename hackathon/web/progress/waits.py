"""Where the ranks of a run without progress stand, and for which rank the others wait: the top of its page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.diagnosis.hangs.hang import Hang, last_collective
from hackathon.diagnosis.hangs.stacks import Frame, Stack, find_elsewhere, stacks_of
from hackathon.index.record import RunEntry
from hackathon.logs.collapse import ranks_text
from hackathon.runs.directory import STEPS_FOLDER, RunDirectory
from hackathon.text.json_fields import count_of, moment_of
from hackathon.text.messages import _, ngettext
from hackathon.text.units import format_age
from hackathon.web.page import sanitize as clean
from hackathon.web.progress.standing import RankStanding, RunStanding

TAIL = 64 << 10
"""Bytes at the end of a rank's log in which its last collective is searched."""
GROUPS = 8
"""Places at which ranks stand that are displayed."""


@dataclass(frozen=True)
class RankGroup:
    """Ranks that stand at one place."""

    ranks: str
    """`0-6,8-15`."""
    count: int
    place: str
    """The innermost line of the user's own code, else the innermost line: `train.py:88`."""
    function: str
    waits: str
    """The function in which they wait for other ranks; empty if they do not wait."""
    missing: bool
    """Whether the other ranks wait for these."""


@dataclass(frozen=True)
class WaitingRank:
    """One rank."""

    rank: int
    host: str
    step: int | None
    """The last step that it finished; None if unknown."""
    stepped: str
    """How long ago that was; empty if unknown."""
    collective: str
    """The last collective that it entered; empty if unknown."""
    age: str
    """How long ago it wrote last."""
    missing: bool


@dataclass(frozen=True)
class RunWaits:
    """Where the ranks of a run without progress stand."""

    age: str
    """How long it has written nothing."""
    sentence: str
    """Who waits for whom, or why that is not known."""
    groups: tuple[RankGroup, ...]
    """The ranks for which the others wait come first; empty without stacks since the last output."""
    stacks_age: str
    """How long ago the stacks were written; empty without them."""
    ranks: tuple[WaitingRank, ...]
    left: int
    """Ranks that are not displayed."""
    project: str
    """The folder for commands about it."""
    run_id: str


def run_waits(
    now: float, run: RunEntry, inside: GuardedFolder, standing: RunStanding | None, since: float | None
) -> RunWaits | None:
    """Return where the ranks of a run stand that has made no progress `since` a moment; None for other runs.

    Stacks from before its last output are left out: the ranks have gone on since then.
    """
    if standing is None or since is None:
        return None
    kept = [stack for stack in stacks_of(RunDirectory(Path(run.project) / "runs" / run.id).path) if _counts(stack, run)]
    stacks = {stack.rank: stack for stack in kept if stack.written >= since}
    hang = find_elsewhere(list(stacks.values()), run.processes)
    missing = frozenset(hang.missing) if hang else frozenset[int]()
    rows = [_row(now, rank, inside, stacks.get(rank.rank), missing) for rank in standing.ranks]
    return RunWaits(
        age=format_age(max(0.0, now - since)),
        sentence=_sentence(run, stacks, hang, older=len(kept) > len(stacks)),
        groups=_groups(stacks, missing),
        stacks_age=format_age(max(0.0, now - min(stack.written for stack in stacks.values()))) if stacks else "",
        ranks=tuple(sorted(rows, key=lambda row: (not row.missing, row.rank))),
        left=standing.left,
        project=clean.line(run.project),
        run_id=clean.line(run.id),
    )


def _counts(stack: Stack, run: RunEntry) -> bool:
    return stack.rank < run.processes


def _frame(stack: Stack) -> Frame:
    return stack.own or stack.frames[0]


def _groups(stacks: Mapping[int, Stack], missing: frozenset[int]) -> tuple[RankGroup, ...]:
    """Return the ranks by place, those for which the others wait first, then by size."""
    places: dict[tuple[str, str, str], list[int]] = {}
    for rank, stack in stacks.items():
        frame = _frame(stack)
        places.setdefault((frame.place, frame.function, stack.waits), []).append(rank)
    order = sorted(places.items(), key=lambda group: (not missing.issuperset(group[1]), -len(group[1]), group[1]))
    return tuple(
        RankGroup(
            ranks_text(set(ranks)), len(ranks), clean.line(place), clean.line(function), clean.line(waits),
            bool(missing) and missing.issuperset(ranks),
        )
        for (place, function, waits), ranks in order[:GROUPS]
    )  # fmt: skip


def _sentence(run: RunEntry, stacks: Mapping[int, Stack], hang: Hang | None, *, older: bool) -> str:
    if not stacks:
        return (
            _("Its stacks are older than its last output. Ask the ranks again where they are.")
            if older
            else _("It is not known which rank the others wait for: no rank was asked where it is.")
        )
    if hang is None:
        return _unclear(run, stacks)
    frames = {_frame(stacks[rank]) for rank in hang.missing}
    first = _frame(stacks[hang.missing[0]])
    values = {
        "waiting": ranks_text(set(stacks) - set(hang.missing)),
        "missing": ranks_text(set(hang.missing)),
        "operation": clean.line(hang.operation),
        "place": clean.line(first.place),
        "function": clean.line(first.function),
    }
    count = len(hang.missing)
    if hang.mismatched:
        return ngettext(
            "All ranks wait, but rank {missing} in another line: in {operation} at {place}",
            "All ranks wait, but ranks {missing} in another line: in {operation} at {place}",
            count,
            **values,
        )
    if len(frames) > 1:
        return _("Ranks {missing} do not wait; ranks {waiting} wait for them in {operation}", **values)
    return ngettext(
        "Rank {missing} is at {place}, in {function}; ranks {waiting} wait in {operation}",
        "Ranks {missing} are at {place}, in {function}; ranks {waiting} wait in {operation}",
        count,
        **values,
    )


def _unclear(run: RunEntry, stacks: Mapping[int, Stack]) -> str:
    silent = set(range(run.processes)) - set(stacks)
    if silent:
        return _(
            "It is not known which rank the others wait for: ranks {ranks} left no stack", ranks=ranks_text(silent)
        )
    places = {_frame(stack).place for stack in stacks.values()}
    if len(places) == 1 and all(stack.waits for stack in stacks.values()):
        return _("All ranks wait at the same line, {place}", place=clean.line(next(iter(places))))
    return _("It is not clear from the stacks which rank the others wait for")


def _row(
    now: float, standing: RankStanding, inside: GuardedFolder, stack: Stack | None, missing: frozenset[int]
) -> WaitingRank:
    rank = standing.rank
    recorded = inside.json(f"{STEPS_FOLDER}/rank-{rank}.json")
    steps, moment = count_of(recorded.get("steps")), moment_of(recorded.get("last_step"))
    collective = stack.waits if stack is not None else ""
    if not collective:
        collective = last_collective(_tail(inside, rank), rank)
    return WaitingRank(
        rank=rank,
        host=standing.host,
        step=standing.step if standing.step is not None else steps or None,
        stepped=format_age(max(0.0, now - moment)) if moment is not None else "",
        collective=clean.line(collective, 80),
        age=standing.age,
        missing=rank in missing,
    )


def _tail(inside: GuardedFolder, rank: int) -> Sequence[str]:
    ending = inside.end(f"logs/rank-{rank}.log", TAIL)
    return ending[0].decode("utf-8", "replace").splitlines() if ending else ()
