"""A ported program on two processes beside its original on one, with the same samples in each step: the same loss?"""

import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath
from posixpath import normpath
from statistics import fmean, stdev
from typing import Any, NamedTuple

from hackathon.jobs.request import Request
from hackathon.logs.recorded import RankRecording, recordings
from hackathon.rehearsal.rehearsal import LEAST_SECONDS, STARTING, RehearsalLimits, ended_by_us
from hackathon.runs.directory import STEPS_FOLDER, RunDirectory
from hackathon.runs.events import job_events
from hackathon.runs.record import REHEARSAL_TAG
from hackathon.runs.source.program_text import ORIGIN, inside, text_lines
from hackathon.runs.states import SUCCEEDED, RunStatus
from hackathon.text.json_fields import listed, mapping_of
from hackathon.text.numbers import finite

TAGS = (REHEARSAL_TAG, "compared")
"""Tags of the two runs."""
PROCESSES = 2
VARIABLE = "HK_COMPARED"
"""Tells the recorder by how many processes it divides the batches, and to keep losses."""
ENOUGH, LEAST, MOST = 128, 8, 256
"""Losses after which a run is ended, and the least and the most that are compared."""
EQUAL = 1e-3
"""Share of the mean loss up to which each difference may be rounding."""
NOISE, SMALL = 5.0, 0.01
"""Standard errors, and share of the loss, up to which a difference of means is noise."""
BLOCKS = 8
_PORTED = re.compile(r"(.+)\.ported\.py")
_ORIGIN = re.compile(ORIGIN.format(path=r"(\S+\.py)"))
_TORCH = re.compile(r"\s*(?:import|from) (?:torch|lightning|pytorch_lightning|accelerate|transformers)\b")
"""Packages whose programs train with PyTorch."""


class Original(NamedTuple):
    """The program from which `port` made another one."""

    name: str
    """Its path, as the command names it."""
    command: tuple[str, ...]
    """What starts it."""
    recorded: bool
    """Whether its losses are recorded: it trains with PyTorch."""


@dataclass(frozen=True)
class Compared:
    """The result of a comparison."""

    original: str
    """The program with one process, as the command names it."""
    result: str
    """`equal`, `noise`, `differs` or `unknown`."""
    reason: str = ""
    """Why it differs (`loss`, `weights`, `data`) or is not known: the end of a message's id."""
    steps: int = 0
    before: float = math.nan
    """Mean loss of the original over the steps."""
    after: float = math.nan
    """Mean loss of the ported program."""
    error: float = math.nan
    """Standard error of the difference."""
    batches: tuple[float, float] = (0.0, 0.0)
    """Samples in a step, of the original and of all ported processes; 0: not known."""
    runs: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        values = {"loss_original": self.before, "loss_ported": self.after, "standard_error": self.error}
        return {
            "original": self.original, "processes": PROCESSES, "result": self.result, "reason": self.reason or None,
            "steps": self.steps, **{name: value if math.isfinite(value) else None for name, value in values.items()},
            "samples_per_step": [samples or None for samples in self.batches], "runs": list(self.runs),
        }  # fmt: skip


def original_of(folder: Path, command: Sequence[str]) -> Original | None:
    """Return the original of a ported program; None for other commands.

    `NAME.ported.py` is what `port --write` made of `NAME.py` beside it. Other files name it in their last line.
    """
    for place, word in enumerate(command):
        if not word.endswith(".py") or not inside(folder, word):
            continue
        lines = list(text_lines(folder, word))
        match = _PORTED.fullmatch(word)
        name = (
            f"{match[1]}.py" if match else _origin(word, next((line for line in reversed(lines) if line.strip()), ""))
        )
        if name and name != word and inside(folder, name):
            recorded = any(_TORCH.match(line) for line in lines)
            return Original(name, (*command[:place], name, *command[place + 1 :]), recorded)
    return None


def _origin(word: str, line: str) -> str:
    """Return the path of the original that the last line of a program names, seen from where `word` is."""
    match = _ORIGIN.fullmatch(line.strip())
    return normpath(f"{PurePosixPath(word).parent}/{match[1]}") if match else ""


def unrecorded(original: Original) -> Compared:
    """Return the result for a program whose losses are not recorded: no run is needed for it."""
    return Compared(original.name, "unknown", "framework")


def compared_requests(one: Request, several: Request, command: tuple[str, ...]) -> list[Request]:
    """Return the requests of both runs: the original alone, and the ported program."""
    return [
        replace(one, command=command, variables={**one.variables, VARIABLE: "1"}),
        replace(several, variables={**several.variables, VARIABLE: str(PROCESSES)}),
    ]


def shows_enough(run: RunDirectory, limits: RehearsalLimits) -> str:
    """Return why a run can be ended: `steps` with enough losses, `seconds`; empty while it must continue."""
    started = [float(event["t"]) for event in job_events(run.path) if event.get("event") == "ranks_started"]
    seconds = time.time() - started[-1] if started else 0.0
    if seconds < LEAST_SECONDS:
        return ""
    losses = len(_losses(run, 0))
    if losses >= ENOUGH or (losses >= LEAST and seconds >= limits.seconds):
        return "steps" if losses >= ENOUGH else "seconds"
    return "seconds" if seconds >= limits.seconds + STARTING * 3 / 4 else ""


def compare(original: str, runs: Sequence[RunDirectory], states: Sequence[RunStatus]) -> Compared:
    """Return what the two runs show: the original on one process, the ported program on PROCESSES."""
    ids = tuple(run.id for run in runs)
    unknown = Compared(original, "unknown", runs=ids)
    alone, together = runs
    for run, state in zip(runs, states, strict=True):
        if state.state != SUCCEEDED and not ended_by_us(run, state):
            return replace(unknown, reason="failed_original" if run is alone else "failed_ported")
    before = _losses(alone, 0)
    ranks = [_losses(together, rank) for rank in range(PROCESSES)]
    steps = min(map(len, (before, *ranks)))
    unknown = replace(unknown, steps=steps)
    if steps < LEAST:
        return replace(unknown, reason="few" if steps else "no_loss")
    if _drifted(together):
        return replace(unknown, result="differs", reason="weights")
    others = recordings(together.path, PROCESSES)
    own = recordings(alone.path, 1)
    if not others or not own:
        return replace(unknown, reason="few")
    if others[0].reads_as(others[1]):
        return replace(unknown, result="differs", reason="data")
    batches = (own[0].samples, sum(rank.samples for rank in others.values()))
    unknown = replace(unknown, batches=batches)
    if not all(batches) or not _batched(own[0], *others.values()):
        return replace(unknown, reason="no_batch")
    if batches[0] != batches[1]:
        return replace(unknown, reason="batch")
    after = [fmean(losses) for losses in zip(*ranks, strict=False)]
    if not all(map(math.isfinite, (*before[:steps], *after[:steps]))):
        return replace(unknown, reason="not_finite")
    return _judged(unknown, before[:steps], after[:steps])


def _judged(unknown: Compared, before: list[float], after: list[float]) -> Compared:
    """Compare losses of the same batches, step by step."""
    differences = [new - old for old, new in zip(before, after, strict=True)]
    scale = fmean(map(abs, before))
    noise = stdev(
        later - earlier for earlier, later in pairwise(before)
    )  # of a difference, had each read other batches
    result = "noise"
    if max(map(abs, differences)) <= EQUAL * scale:
        result = "equal"
    elif any(abs(mean) > max(NOISE * noise / math.sqrt(size), SMALL * scale) for mean, size in _blocks(differences)):
        result = "differs"
    return replace(
        unknown,
        result=result,
        reason="loss" if result == "differs" else "",
        before=fmean(before),
        after=fmean(after),
        error=noise / math.sqrt(len(before)),
    )


def _blocks(values: list[float]) -> list[tuple[float, int]]:
    """Return (mean, number) of BLOCKS parts of values, and of all: a difference may change its sign."""
    size = len(values) // BLOCKS
    parts = [values[first : first + size] for first in range(0, size * BLOCKS, size)]
    return [(fmean(part), len(part)) for part in (*parts, values)]


def _batched(*ranks: RankRecording) -> bool:
    return all(rank.batches for rank in ranks)


def _losses(run: RunDirectory, rank: int) -> list[float]:
    values = [finite(value) for value in listed(_record(run, rank).get("losses"))[:MOST]]
    return [math.nan if value is None else value for value in values]


def _drifted(run: RunDirectory) -> bool:
    """Return whether weights that all ranks told differ after the same update."""
    first, *others = (mapping_of(_record(run, rank).get("weights")) for rank in range(PROCESSES))
    return any(first[update] != other[update] for other in others for update in first.keys() & other.keys())


def _record(run: RunDirectory, rank: int) -> dict[str, Any]:
    return run.files.json(f"{STEPS_FOLDER}/rank-{rank}.json")
