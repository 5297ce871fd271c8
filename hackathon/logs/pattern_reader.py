"""Look for the metric patterns of others in a process of its own, with a limit: `re` may search for ever.

A pattern such as `a*a*a*b` takes hours on one line that nearly fits, and whoever reads a run looks for the patterns
that the run brings along. The child reads one JSON object a line (what, run, wanted, torn, seconds) and answers each
with one. What an account lets it wait for too long is not tried again for a while, so that it can only do so once.
"""

import atexit
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hackathon.access.guarded_path import GuardedPath
from hackathon.logs.search_limit import SearchLimit
from hackathon.text.errors import RequestError
from hackathon.text.worker import Worker

SECONDS, BYTES_A_SECOND = 5.0, 8 << 20
"""Processor time for a run's patterns, and a further second for so many bytes of its logs."""
MOST_SECONDS = 600.0
PATIENCE = 4.0
"""How many times that the answer is waited for, on a machine with other work."""
REST = 600.0
"""Seconds for which patterns of an account are not looked for any more after they took too long."""
_CHILD = (
    "from hackathon.logs import metrics, pattern_reader, printed; "
    "pattern_reader.main(numbers=metrics.found_by_patterns, curves=printed.found_by_patterns)"
)
_lock = threading.Lock()
_worker = Worker(_CHILD)
_resting: dict[str, float] = {}
"""Account, or one's own project → until when its patterns are not looked for."""
atexit.register(_worker.rest)


def found_apart(run: GuardedPath, metrics: Mapping[str, Mapping[str, Any]], torn: bool, size: int) -> dict[str, float]:
    """Return what metrics with a pattern find in a run's logs of `size` bytes, as `logs.metrics.read_metrics` says.

    Raises RequestError for a pattern that is none, and when the search takes too long.
    """
    return {str(name): float(value) for name, value in _asked("numbers", run, metrics, torn, size).items()}


def curves_apart(
    run: GuardedPath, metrics: Mapping[str, Mapping[str, Any]], torn: bool, size: int
) -> dict[str, list[tuple[float | None, float]]]:
    """Return the curves that metrics with a pattern find in a run's logs, as `logs.printed` says; raises as above."""
    curves = _asked("curves", run, metrics, torn, size)
    return {
        str(name): [(None if step is None else float(step), float(value)) for step, value in points]
        for name, points in curves.items()
    }


def _asked(
    kind: str, run: GuardedPath, metrics: Mapping[str, Mapping[str, Any]], torn: bool, size: int
) -> dict[str, Any]:
    source, seconds = _source(run), min(MOST_SECONDS, SECONDS + size / BYTES_A_SECOND)
    question = {"what": kind, "run": str(run), "wanted": metrics, "torn": torn, "seconds": seconds}
    answer: dict[str, Any] = {}
    with _lock:
        if _resting.get(source, 0.0) <= time.monotonic():
            try:
                answer = json.loads(_worker.ask(json.dumps(question).encode(), PATIENCE * seconds))
            except (OSError, ValueError):
                _worker.rest()
            if not answer:
                _resting[source] = time.monotonic() + REST
    if not answer:
        raise RequestError("logs.slow_pattern", project=_project(run), run=run.name, names=", ".join(sorted(metrics)))
    if "error" in answer:
        raise RequestError(str(answer["error"]), **answer["values"])
    results: dict[str, Any] = answer["found"]
    return results


def _source(run: GuardedPath) -> str:
    """Return whom a pattern that takes too long is laid to: its account, which can make any number of projects."""
    try:
        owner = run.stat().st_uid
    except OSError:
        owner = -1
    return _project(run) if owner == os.geteuid() else str(owner)


def _project(run: GuardedPath) -> str:
    """Return the folder of a run's project: `runs/<id>` lies in it, also `runs/.removed/<id>`."""
    above = Path(str(run)).parents
    return str(next((folder.parent for folder in above if folder.name == "runs"), above[0]))


def main(**searches: Callable[[Path, dict[str, dict[str, Any]], bool], dict[str, Any]]) -> None:
    """Answer questions from stdin until it is closed. A search (run, wanted, torn) returns metric → what was found."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        answer: dict[str, Any]
        try:
            question = json.loads(line)
            with SearchLimit(question["seconds"]):
                search = searches[question["what"]]
                answer = {"found": search(Path(question["run"]), question["wanted"], question["torn"])}
        except RequestError as error:
            answer = {"error": error.id, "values": {name: str(value) for name, value in error.values.items()}}
        except Exception:  # TooLongError, and whatever a pattern brings about that nobody thought of
            answer = {}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()
