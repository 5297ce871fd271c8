"""Find the first fatal event of a log by its form, for failures that no rule knows.

An event is a line that a compiler, a logger, the C++ runtime or the kernel writes when something ends; Python's
tracebacks are read in log_tails. A launcher's line about the end of others is not an event. Tables of nvidia-smi show
processes that also hold memory on GPU 0.
"""

import re
from collections.abc import Collection, Sequence

from hackathon.diagnosis.log_tails import End, TailLine, at_end
from hackathon.diagnosis.unknown import is_error
from hackathon.schedulers.failures import DAEMON_LINES

_BUILD = re.compile(
    r"(?:^|[\s:])(?:fatal )?error: |\bnvcc fatal\b|\bCMake Error\b|undefined reference to|cannot find -l\w"
    r"|\bg?make(?:\[\d+\])?: \*\*\*"
)
_NATIVE = re.compile(
    r"terminate called|what\(\):  |\bBUG: |\bpanicked at\b|Fatal Python error|^\s*FATAL\b|^\[?FATAL\]?[ :]"
)
_LAUNCHER = re.compile(
    r"torch[/.]distributed[/.](?:elastic|run|launcher)|ChildFailedError|closing signal|^srun: "
    rf"|{DAEMON_LINES}|exitcode\s*:|^pdsh@|ssh exited with exit code|subprocess-exited-with-error"
    r"|Traceback \(most recent"
)


def is_event(text: str) -> bool:
    """Return whether a line tells that something ended, and no launcher wrote it."""
    if _LAUNCHER.search(text) or at_end(text):
        return bool(_NATIVE.search(text)) and not _LAUNCHER.search(text)
    return bool(_BUILD.search(text) or _NATIVE.search(text)) or is_error(text)


def first_event(ends: Sequence[End], before: Collection[tuple[int, int]]) -> tuple[int, TailLine] | None:
    """Return (index of its file, line) of the first event, None without one.

    `before`: (file, offset) of what follows from another failure: only an event before the first of them counts.
    """
    bounds = {file: min(offset for number, offset in before if number == file) for file, _ in before}
    events: list[tuple[float, int, TailLine]] = []
    for number, end in enumerate(ends):
        if before and number not in bounds:
            continue
        ignored = False
        for line in end.lines:
            text = line.read.text
            if line.offset >= bounds.get(number, end.size + 1):
                break
            # Python prints errors of destructors and goes on
            ignored = (
                text.startswith(("Exception ignored in", "Traceback ", " "))
                if ignored
                else text.startswith("Exception ignored in")
            )
            if not ignored and is_event(text):
                events.append((line.read.time if line.read.time is not None else float("inf"), number, line))
                break
    if not events:
        return None
    if any(time == float("inf") for time, _, _ in events):
        return events[0][1], events[0][2]
    _, number, line = min(events, key=lambda event: event[:2])
    return number, line


# A row of nvidia-smi's processes since driver 450: `|    0   N/A  N/A     62251      C   /usr/bin/python3    725MiB |`
_GPU_ROW = re.compile(r"\|\s+(?P<gpu>\d{1,3})(?:\s+(?:N/A|\d+)){2}\s+(?P<pid>\d{1,9})\s+(?:C|C\+G|M\+C)\s")


def on_gpu_zero(ends: Sequence[End]) -> tuple[int, TailLine, int] | None:
    """Return (index of the file, first row, processes) where several processes of other GPUs hold memory on GPU 0."""
    for number, end in enumerate(ends):
        gpus: dict[str, set[str]] = {}
        rows: dict[str, TailLine] = {}
        for line in end.lines:
            if match := _GPU_ROW.search(line.read.text):
                gpus.setdefault(match["pid"], set()).add(match["gpu"])
                if match["gpu"] == "0":
                    rows.setdefault(match["pid"], line)
        extra = [pid for pid, used in gpus.items() if "0" in used and len(used) > 1]
        if len(extra) > 1:
            return number, rows[extra[0]], len(extra)
    return None
