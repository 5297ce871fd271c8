"""Read where each rank's Python was when the run was stopped: `stacks/rank-N.txt`, written by `faulthandler`."""

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hackathon.diagnosis.findings import Evidence
from hackathon.diagnosis.hangs.hang import Hang
from hackathon.diagnosis.log_tails import Traceback, is_own
from hackathon.logs.metrics import rank_files, rank_of
from hackathon.text.files import open_regular

FOLDER = "stacks"
"""Folder of a run with one file per rank."""
LONGEST = 256 << 10
"""Bytes read from the end of a rank's file: a stack has 100 frames at most."""
_HEAD = re.compile(r"(?:Current thread|Thread) 0x[0-9a-f]+ .*\(most recent call first\):")
_FRAME = re.compile(r'\s+File "(?P<path>[^"]*)", line (?P<line>\d+),? in (?P<function>.*)')
"""A frame as `faulthandler` writes it and, with a comma, as a traceback has it."""
_LOST = re.compile(
    r"(?i)connection (?:was )?(?:closed|reset|refused|aborted)|broken pipe|remote (?:process|worker)|\bpeer\b"
)
"""Exception texts of a rank that lost the connection to another rank."""
# Functions that wait for other ranks: PyTorch averages gradients in `backward`, and waits for results in `synchronize`
# and `item`.
_WAITING = re.compile(
    r"/torch/distributed/|/torch/nn/parallel/distributed\.py|/torch/autograd/|/horovod/|/mpi4py/|/chainermn/|/torch/cuda/"
    r"|/tensorflow/python/|/jax/"
)


@dataclass(frozen=True)
class Frame:
    """One call on a stack."""

    path: str
    line: int
    function: str

    @property
    def own(self) -> bool:
        """Whether it is the user's own code."""
        return is_own(self.path)

    @property
    def place(self) -> str:
        """`train.py:12`."""
        return f"{Path(self.path).name}:{self.line}"


@dataclass(frozen=True)
class Stack:
    """The last recorded stack of a rank's main thread."""

    rank: int
    frames: tuple[Frame, ...]
    """The innermost call first."""
    line: int | None
    """Line of the file at which the stack begins, from 1; None in a file too long to count."""
    written: float
    """Modification time of its file, in seconds since 1970."""

    @property
    def own(self) -> Frame | None:
        """The innermost call in the user's own code."""
        return next((frame for frame in self.frames if frame.own), None)

    @property
    def waits(self) -> str:
        """The function in which it waits for other ranks, e.g. `all_reduce`; empty when it does not wait."""
        waiting = ""
        for frame in self.frames:
            if frame.own:
                break
            waiting = frame.function if _WAITING.search(frame.path) and frame.function != "wrapper" else waiting
        return waiting

    @property
    def in_collective(self) -> bool:
        """Whether it waits in a call that only communicates."""
        return bool(self.waits) and "/torch/autograd/" not in self.frames[0].path

    def evidence(self, host: str = "") -> Evidence:
        """Return the frame of the user's own code, else the innermost, as evidence."""
        at = next((n for n, frame in enumerate(self.frames) if frame.own), 0)
        frame = self.frames[at]
        text = f'File "{frame.path}", line {frame.line} in {frame.function}'
        line = None if self.line is None else self.line + 1 + at
        return Evidence(f"{FOLDER}/rank-{self.rank}.txt", line, text[:500], self.rank, host, self.written)


def stacks_of(run: Path) -> list[Stack]:
    """Return the last stack of each rank that recorded one, by rank."""
    stacks = [read_stack(path) for path in rank_files(run / FOLDER, ".txt")]
    return [stack for stack in stacks if stack is not None]


def read_stack(path: Path) -> Stack | None:
    """Return the last stack of the main thread in a rank's file, None when the file has no readable one."""
    try:
        with open_regular(path) as stream:
            size = stream.seek(0, 2)
            stream.seek(max(0, size - LONGEST))
            lines = stream.read(LONGEST).decode("utf-8", "replace").splitlines()
            written = os.fstat(stream.fileno()).st_mtime
    except OSError:
        return None
    begin = next((n for n in range(len(lines) - 1, -1, -1) if lines[n].startswith("Current thread")), None)
    if begin is None or not _HEAD.match(lines[begin]):
        return None
    frames = []
    for line in lines[begin + 1 :]:
        frame = _frame(line)
        if frame is None:
            break
        frames.append(frame)
    return Stack(rank_of(path), tuple(frames), begin + 1 if size <= LONGEST else None, written) if frames else None


def stack_of_loss(rank: int, raised: Traceback, written: float) -> Stack | None:
    """Return where a rank waited for one that had gone, by its exception; None for any other exception."""
    if not _LOST.search(raised.exception):
        return None
    frames: list[Frame] = []
    for line in raised.lines:
        text = line.read.text
        if text.startswith("Traceback"):  # of chained tracebacks, the last one shows where the rank was
            frames = []
        elif frame := _frame(text):
            frames.append(frame)
    stack = Stack(rank, tuple(reversed(frames)), None, written)
    return stack if stack.waits else None


def _frame(line: str) -> Frame | None:
    match = _FRAME.fullmatch(line)
    return Frame(match["path"], int(match["line"][:9]), match["function"][:200]) if match else None


def find_elsewhere(stacks: Sequence[Stack], processes: int) -> Hang | None:
    """Return the ranks that did something else while most others waited for them; None when that is unclear.

    Every rank must have recorded its stack: a missing one may be the rank that the others waited for.
    """
    if processes < 2 or len(stacks) < processes:
        return None
    waiting = [stack for stack in stacks if stack.waits]
    busy = [stack for stack in stacks if not stack.waits]
    if busy:
        if len(waiting) < len(busy):
            return None
        operation = Counter(stack.waits for stack in waiting).most_common(1)[0][0]
        return Hang(tuple(stack.rank for stack in busy), operation)
    lines = Counter(stack.own.place if stack.own else "" for stack in stacks)
    if len(lines) < 2 or "" in lines:
        return None
    # all wait, but in different lines: the smallest group is missing; on a tie, the group without rank 0
    first = next(stack.own.place for stack in stacks if stack.own)
    usual = max(lines, key=lambda line: (lines[line], line == first))
    odd = [stack for stack in stacks if stack.own and stack.own.place != usual]
    return Hang(tuple(stack.rank for stack in odd), odd[0].waits, mismatched=True)
