"""Read tables of nvidia-smi in a log: processes that also hold memory on GPU 0."""

import re
from collections.abc import Sequence

from hackathon.diagnosis.log_tails import End, TailLine

# A row of nvidia-smi's processes since driver 450: `|    0   N/A  N/A     62251      C   /usr/bin/python3    725MiB |`
_ROW = re.compile(r"\|\s+(?P<gpu>\d{1,3})(?:\s+(?:N/A|\d+)){2}\s+(?P<pid>\d{1,9})\s+(?:C|C\+G|M\+C)\s")


def on_gpu_zero(ends: Sequence[End]) -> tuple[int, TailLine, int] | None:
    """Return (index of the file, first row, processes) where several processes of other GPUs hold memory on GPU 0."""
    for number, end in enumerate(ends):
        gpus: dict[str, set[str]] = {}
        rows: dict[str, TailLine] = {}
        for line in end.lines:
            if match := _ROW.search(line.read.text):
                gpus.setdefault(match["pid"], set()).add(match["gpu"])
                if match["gpu"] == "0":
                    rows.setdefault(match["pid"], line)
        extra = [pid for pid, used in gpus.items() if "0" in used and len(used) > 1]
        if len(extra) > 1:
            return number, rows[extra[0]], len(extra)
    return None
