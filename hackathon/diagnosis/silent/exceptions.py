"""Exceptions that a program caught and ignored: its job succeeded, but the training did not finish."""

import re
from collections.abc import Mapping

from hackathon.diagnosis.facts import FactHit, RunFacts, fact
from hackathon.diagnosis.findings import Evidence
from hackathon.diagnosis.silent.worlds import by_text, failed, place_of
from hackathon.logs.metrics import rank_files
from hackathon.text.files import open_regular

MOST = 1 << 20
"""Bytes read from the end of a rank's log."""
RANKS = 64
"""Ranks whose logs are read."""
_LOST = re.compile(
    rb"Traceback \(most recent call last\)|(?:gloo/transport/[\w/.]+:\d+\] )?Connection (?:closed|reset) by peer"
    rb"|gloo/transport/[\w/.]+:\d+"
    rb"|NCCL (?:WARN|error)|nccl(?:System|Remote|Internal|UnhandledCuda)Error|DistBackendError|Broken pipe"
    rb"|Watchdog caught collective|CUDA out of memory|CUDA error"
)
"""Output of a failed step, on the rank itself or on those that waited for it."""


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
                stream.seek(max(0, size - MOST))
                text = stream.read(MOST)
        except (OSError, ValueError):
            continue
        match = _LOST.search(text)
        if match:
            line = text.count(b"\n", 0, match.start()) + 1 if size <= MOST else None
            evidence = Evidence(f"logs/{path.name}", line, "")
            error_text = match[0].decode("ascii", "replace").rpartition("] ")[2]
            return [FactHit(evidence, {"text": error_text, "place": place_of(findings[0].evidence)})]
    return []
