"""Read what surrounds the matches of rules: each rank's last traceback, and whether the program went on."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hackathon.diagnosis.findings import Evidence
from hackathon.diagnosis.scan import LogFile
from hackathon.logs.prefixes import Prefixed, is_labelled, read_prefix
from hackathon.logs.values import whole
from hackathon.text.files import open_regular

AFTER = 48 * 1024
"""Bytes after a match that are searched for signs that the program went on."""
MESSAGE, GRAPH_MESSAGE = 12, 60
"""Lines that an exception's message may have; with the stack that TensorFlow writes into it."""
IN_GRAPH = re.compile(r"(?:Graph execution error|\d+ root error\(s\) found)[.:]*\s*$")
"""Beginnings of TensorFlow's messages whose text stands some lines below."""
FAR = 100
"""Ordinary lines after a message from which it is not part of the end."""
_START = "Traceback (most recent call last)"
_FRAME = re.compile(r"\s*File \"(?P<path>[^\"]+)\", line (?P<line>\d+)(?:, in (?P<where>.+))?")
# The first unindented line after the frames is the exception.
# `Node: 'matmul'` in TensorFlow's report about a graph is none
_EXCEPTION = re.compile(r"(?!Node: ')[A-Za-z_][\w.]*(?::(?:\s.*)?)?$")
# Lines before a traceback that Python printed without stopping.
_IGNORED = ("Exception ignored in", "--- Logging error ---")
_WRAPS = "The above exception was the direct cause"
_CHAIN = ("During handling of the above exception", _WRAPS)
_STATEMENT = 200
"""Characters of a statement in a stack that are kept."""
# Lines after an exception that are not part of its message: launchers, schedulers, shells, ChainerMN's hook (a box of
# stars) and the C++ runtime report the end.
_AT_END = re.compile(
    r"srun: |[a-z]+stepd[-:]|=>> [A-Z]+: |(?:mpirun|mpiexec|orterun|prterun)\b|-{60,}\s*$|\*{30,}\s*$"
    r"|=\s+BAD TERMINATION|Primary job\s+terminated|MPI_ABORT was invoked|application called MPI_Abort|Abort\(\d"
    r"|MPICH ERROR \[|(?:ERROR|WARNING|INFO):torch\.distributed\.|\[[EWIF] \w+\.cpp:\d+\]|Process \d+ exit with status"
    r"|Terminating remaining workers|terminate called |\S+: (?:line \d+|行 \d+|\d+ 行):\s+\d+ [A-Z\u3040-\u9fff]"
)
_NATIVE = frozenset({"nccl", "openmpi", "ucx"})
"""Sources of lines that no Python code writes."""
_NOT_OWN = (
    "site-packages",
    "dist-packages",
    "/lib/python",
    "/lib64/python",
    "<frozen",
    "<string>",
    "hackathon_runtime.py",
)
_PROGRESS = re.compile(
    r"(?i)\b(?:epochs?|steps?|iter(?:ation)?s?|batch(?:es)?)\b[^\w]{0,6}(?:#\s*)?\[?\d+.*\d"
    r"|\b\d+(?:\.\d+)?\s*(?:it|s|samples|images?|imgs?|examples|tokens|sequences)/(?:s|sec|it|step|batch)\b"
    r"|\b(?:loss|acc(?:uracy)?)\s*[:=]?\s*\d+\.\d|\d{1,3}%\|"
)
_WARNING = re.compile(
    r"(?i)\bwarn(?:ing)?\b|\bW tensorflow/|^\[W\b|\bretry(?:ing)?\b|\btry again\b|\bwill (?:re)?try\b|deprecat"
)
# NCCL labels every error a warning; Horovod warns about stalls that never end.
NO_WARNING = re.compile(
    r"\bNCCL WARN\b|NCCL_DEBUG=WARN|Last NCCL warning|waiting for remainder of ranks|\bStalled\b|missing ranks"
)
# Lines that are part of an end: dumps, stacks, rulers, messages of libraries that stop.
_BUSY = re.compile(
    r"(?i)^\s|^frame #|error|fail|abort|exception|traceback|fatal|signal|killed|terminat|timeout|timed out"
    r"|NCCL (?:INFO|WARN)|^\W*$|^\[?\w[\w.-]*:\d+:\d+|^=+|^-{3,}|NOTE"
)


@dataclass(frozen=True)
class TailLine:
    """One line at the end of a file."""

    offset: int
    """Offset of its first byte."""
    read: Prefixed


@dataclass(frozen=True)
class Traceback:
    """A Python traceback with all that are chained to it."""

    file: int
    """Index of its file."""
    rank: int | None
    begin: int
    """Offset of its first byte."""
    end: int
    """Offset after the exception's message."""
    at: int
    """Offset of the last exception's line."""
    exception: str
    """The last exception's line: name and text."""
    place: str = ""
    """`train.py:12`: the innermost line of the user's own code; empty when there is none."""
    host: str = ""
    time: float | None = None
    lines: tuple[TailLine, ...] = ()
    """Its lines, without those of other ranks in between."""
    path: str = ""
    """The file that raised the exception."""
    statement: str = ""
    """The statement that raised it."""
    own_statement: str = ""
    """The statement at `place`."""
    wrapped: str = ""
    """The exception's line of the first traceback, where `raise … from …` put the last one around it."""

    @property
    def name(self) -> str:
        """The exception's name without its modules."""
        return self.exception.partition(":")[0].rpartition(".")[2].strip()


@dataclass
class _Open:
    """A traceback that is being read."""

    begin: int
    rank: int | None
    host: str
    time: float | None
    lines: int = 0
    """Lines of the exception's message after its first line."""
    at: int = 0
    end: int = 0
    exception: str = ""
    place: str = ""
    path: str = ""
    statement: str = ""
    own_statement: str = ""
    wrapped: str = ""
    own: bool = False
    """The last frame is the user's own code."""
    chained: bool = False
    """Another traceback follows that belongs to this one."""
    ignored: bool = False
    """Python printed that it ignored the exception."""
    taken: list[TailLine] = field(default_factory=list)


@dataclass
class End:
    """The end of one file."""

    size: int
    lines: list[TailLine]
    labelled: bool
    tracebacks: list[Traceback] = field(default_factory=list)


def read_end(number: int, file: LogFile, tail: int) -> End:
    """Return the lines and tracebacks in a file's last `tail` bytes; an unreadable file has none."""
    try:
        with open_regular(file.path) as stream:
            size = stream.seek(0, 2)
            start = max(0, size - tail)
            stream.seek(start)
            raw = stream.read(tail)
    except OSError:
        return End(0, [], False)
    if start:
        # After the hole of a sparse file the first line is complete; otherwise it may be cut, so skip it.
        cut = len(raw) - len(raw.lstrip(b"\0")) or raw.find(b"\n") + 1
        raw, start = raw[cut:], start + cut
    lines, labelled = split(raw, start)
    return End(size, lines, labelled, _tracebacks(number, file, lines))


def split(raw: bytes, start: int) -> tuple[list[TailLine], bool]:
    """Return the lines of a part of a file from byte `start` on, and whether a launcher labels them."""
    parts = raw.split(b"\n")
    texts = [part.rpartition(b"\r")[2].decode("utf-8", "replace") for part in (line.rstrip(b"\r") for line in parts)]
    labelled = is_labelled(texts[:400])
    lines, offset = [], start
    for part, text in zip(parts, texts, strict=True):
        lines.append(TailLine(offset, read_prefix(text, labelled=labelled)))
        offset += len(part) + 1
    return lines, labelled


def _tracebacks(number: int, file: LogFile, lines: Iterable[TailLine]) -> list[Traceback]:
    """Return all tracebacks; each rank's lines are read separately."""
    tracebacks: list[Traceback] = []
    opened: dict[int | None, _Open] = {}
    announced: set[int | None] = set()
    for line in lines:
        rank = line.read.rank if line.read.rank is not None else file.rank
        traceback = opened.get(rank)
        if _START in line.read.text:
            if traceback is None or not traceback.chained:
                tracebacks += _closed(number, file, opened.pop(rank, None))
                ignored = rank in announced
                opened[rank] = _Open(line.offset, rank, line.read.host, line.read.time, ignored=ignored, taken=[line])
            else:
                traceback.exception, traceback.lines, traceback.chained = "", 0, False
        elif traceback is not None and not _takes(traceback, line):
            tracebacks += _closed(number, file, opened.pop(rank))
        (announced.add if line.read.text.startswith(_IGNORED) else announced.discard)(rank)
    for traceback in opened.values():
        tracebacks += _closed(number, file, traceback)
    return tracebacks


def alike(texts: Iterable[str]) -> int:
    """Count the lines that equal the last line of progress except for numbers; without progress, the last line.

    Messages about the end do not count. The count gives the usual pause: hundreds of lines at the start of a program
    say nothing about the length of an epoch.
    """
    lines = [
        line
        for text in texts
        if (line := text.strip()) and not _AT_END.match(line) and not line.startswith("Terminated")
    ]
    if not lines:
        return 0
    last = _shape(next((line for line in reversed(lines) if _PROGRESS.search(line)), lines[-1]))
    return sum(_shape(line) == last for line in lines)


def _shape(line: str) -> str:
    return re.sub(r"\d[\d.:,e+-]*", "0", line[:200])


def frames(lines: Iterable[TailLine]) -> list[tuple[str, str]]:
    """Return (file, function) of the frames in a traceback's lines; of chained tracebacks those of the last."""
    stack: list[tuple[str, str]] = []
    for line in lines:
        if _START in line.read.text:
            stack = []
        elif match := _FRAME.match(line.read.text):
            stack.append((match["path"], (match["where"] or "").strip()))
    return stack


def is_source(end: End, offset: int) -> bool:
    """Return whether the line at an offset is a statement in the stack of a traceback."""
    return any(
        line.offset == offset and line.read.text.startswith("    ") and not _FRAME.match(line.read.text)
        for traceback in end.tracebacks
        if traceback.begin < offset < traceback.at
        for line in traceback.lines
    )


def is_own(path: str) -> bool:
    """Return whether a file in a stack is the user's own code."""
    return not any(part in path for part in _NOT_OWN)


def _takes(traceback: _Open, line: TailLine) -> bool:
    """Add a line to the traceback of its rank; return False when the line ends the traceback."""
    text = line.read.text
    traceback.taken.append(line)
    behind = line.offset + len(text.encode("utf-8", "replace"))
    if not traceback.exception:
        if match := _FRAME.match(text):
            # the innermost frame comes last, so the last one of the user's own code remains
            traceback.path, traceback.statement, traceback.own = match["path"], "", is_own(match["path"])
            if traceback.own:
                traceback.place = f"{match['path'].rpartition('/')[2]}:{match['line']}"
        elif text.startswith(" "):
            if not traceback.statement:
                traceback.statement = text.strip()[:_STATEMENT]
                traceback.own_statement = traceback.statement if traceback.own else traceback.own_statement
        elif _EXCEPTION.match(text.rstrip()):
            traceback.exception, traceback.at, traceback.end = text.strip(), line.offset, behind
            traceback.time = line.read.time if line.read.time is not None else traceback.time
        return True
    if any(words in text for words in _CHAIN):
        traceback.chained = True
        if _WRAPS in text:
            traceback.wrapped = traceback.wrapped or traceback.exception
        return True
    if not text.strip():
        return True
    if _AT_END.match(text) or text.strip() == "Terminated" or line.read.source in _NATIVE:
        return False
    traceback.lines += 1
    in_graph = IN_GRAPH.search(traceback.exception) is not None
    if traceback.chained or traceback.lines > (GRAPH_MESSAGE if in_graph else MESSAGE) or line.read.time is not None:
        return False
    # a statement of the stack may look like progress: `fit(data, epochs=10)`
    if _PROGRESS.search(text) and not (in_graph and text.startswith(" ")):
        return False
    traceback.end = behind
    return True


def _closed(number: int, file: LogFile, traceback: _Open | None) -> list[Traceback]:
    if traceback is None or traceback.ignored or not traceback.exception:
        return []
    lines = tuple(line for line in traceback.taken if line.offset < traceback.end)
    host = traceback.host or file.host
    return [
        Traceback(
            number,
            traceback.rank,
            traceback.begin,
            traceback.end,
            traceback.at,
            traceback.exception,
            traceback.place,
            host,
            traceback.time,
            lines,
            traceback.path,
            traceback.statement,
            traceback.own_statement,
            traceback.wrapped,
        )
    ]


@dataclass(frozen=True)
class Around:
    """What follows a match."""

    went_on: bool = False
    """The program printed progress afterwards: the message did not stop it."""
    far: bool = False
    """Many other lines were printed before the end."""
    time: float | None = None
    """When it was written: by its own time stamp or the nearest one before it."""
    level: str = ""
    """The level that a logger gave the line: D, I, W, E, F or C."""


def look_around(file: LogFile, offset: int, evidence: Evidence) -> Around:
    """Return what follows byte `offset` of a file; only lines of the same rank where ranks are labelled.

    torchrun labels exceptions alone: lines without a label may be another rank's, so they never prove that a rank with
    a label went on.
    """
    before = 4096
    try:
        with open_regular(file.path) as stream:
            start = max(0, offset - before)
            stream.seek(start)
            raw = stream.read(offset - start + AFTER)
    except OSError:
        return Around(time=evidence.time)
    lines, _ = split(raw, start)
    at = next((line for line in reversed(lines) if line.offset <= offset), None)
    rank = _rank_of(at, file) if at is not None else file.rank
    own = [line for line in lines if rank is None or _rank_of(line, file) == rank]
    behind = [line for line in own if line.offset > offset]
    progress = {line.read.text.strip() for line in behind if _PROGRESS.search(line.read.text)}
    ordinary = sum(1 for line in behind if not _BUSY.search(line.read.text))
    time = evidence.time
    if time is None:
        stamps = [line.read.time for line in own if line.offset <= offset and line.read.time is not None]
        time = stamps[-1] if stamps else None
    level = next((line.read.level for line in lines if line.offset >= offset), "")
    return Around(len(progress) >= (2 if rank is not None else 6), ordinary >= FAR, time, level)


def _rank_of(line: TailLine, file: LogFile) -> int | None:
    return line.read.rank if line.read.rank is not None else file.rank


def at_end(text: str) -> bool:
    """Return whether a launcher, a scheduler, a shell or the C++ runtime reports an end in this line."""
    return _AT_END.match(text) is not None


_FINISHED = re.compile(
    r"(?i)\b(?:training|fine-?tuning|evaluation|validation|run|job|experiment|rank \d+)\b.{0,40}"
    r"\b(?:finished|completed?|done|ended|exiting)\b"
    r"|^\W*(?:done|finished|completed?|all (?:epochs |steps |ranks )?(?:are )?done|success)\b"
    r"|^`Trainer\.fit` stopped: "
    r"|\btrain_runtime\b|^Successfully (?:installed|built)\b|正常終了|(?:学習|訓練|実行|処理).{0,12}(?:終了|完了)"
)
_NOT_FINISHED = re.compile(
    r"(?i)\b(?:not|un|no|non)\b|error|fail|abort|kill|exception|signal|exit(?:ed)? (?:code|status|with)|timed? ?out"
    r"|cancel|異常|失敗|エラー"
)
_AFTER_THE_END = re.compile(r"^\s*$|^wandb:|^\s*[=*#-]{5,}\s*$|^\+ |destroy_process_group\(\) was not called")


def finished(ends: Sequence[End]) -> bool:
    """Return whether the last words of all logs with text say that the program reached its end."""
    last = [_last_words(end) for end in ends if end.lines]
    words = [text for text in last if text]
    return bool(words) and all(map(is_last_word, words))


def is_last_word(text: str) -> bool:
    """Return whether a line says that the program reached its end."""
    return _FINISHED.search(text) is not None and not _NOT_FINISHED.search(text)


def _last_words(end: End) -> str:
    texts = (line.read.text for line in reversed(end.lines))
    return next((text for text in texts if not _AFTER_THE_END.search(text)), "")


def is_progress(text: str) -> bool:
    """Return whether a line tells how far a training is."""
    return _PROGRESS.search(text) is not None


def is_warning(text: str, level: str = "") -> bool:
    """Return whether a line is a warning or announces a retry."""
    return (level == "W" or bool(_WARNING.search(text))) and not NO_WARNING.search(text)


def last_tracebacks(ends: Sequence[End], files: Sequence[LogFile]) -> list[Traceback]:
    """Return the tracebacks that ended ranks: the last of each rank, or all where ranks cannot be told apart."""
    last: dict[tuple[int, int | None, int], Traceback] = {}
    for number, end in enumerate(ends):
        for traceback in end.tracebacks:
            apart = traceback.rank is not None
            last[(number, traceback.rank, 0 if apart else traceback.begin)] = traceback
    return list(last.values())


# torchrun's summary; Open MPI's and horovodrun's; MPICH's; srun's
_FIRST = re.compile(r"Root Cause \(first observed failure\)|The first process to do so was")
_FIRST_RANK = re.compile(r"^\s*rank\s*: (\d+)|Process name: (?:\[\[\d+,\d+\],)?(\d+)")
_ENDED_RANK = re.compile(
    r"\bRANK (?P<mpich>\d+) PID \d+ RUNNING AT"
    r"|srun: error: \S+: task (?P<srun>\d+): (?:Exited with exit code [1-9]|Killed|Segmen|Bus|Abort|Out Of M)"
)


def first_told(ends: Iterable[End]) -> int | None:
    """Return the rank that failed first according to a launcher, None without such a message.

    Launchers without such a message list failed ranks as they notice them: the first in the list counts.
    """
    listed: int | None = None
    for end in ends:
        for number, line in enumerate(end.lines):
            if _FIRST.search(line.read.text):
                for later in end.lines[number : number + 8]:
                    if match := _FIRST_RANK.search(later.read.text):
                        return whole(match[1] or match[2])
            elif listed is None and (match := _ENDED_RANK.search(line.read.text)):
                rank = match["mpich"] or match["srun"]
                listed = whole(rank) if rank else None
    return listed
