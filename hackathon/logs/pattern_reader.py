"""Search other users' metric patterns in a separate process with a time limit: `re` may search forever.

A pattern such as `a*a*a*b` takes hours on one line that nearly matches, and readers of a run use the run's own
patterns. The child reads one JSON object per line (what, run, wanted, torn, seconds) and answers each with one. After a
time-out, the account's patterns are not searched for a while, so that it cannot block readers repeatedly.
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
from hackathon.text.messages import texts_of
from hackathon.text.worker import Worker

SECONDS, BYTES_A_SECOND = 5.0, 8 << 20
"""Processor time for a run's patterns, and an additional second for so many bytes of its logs."""
MOST_SECONDS = 600.0
PATIENCE = 4.0
"""Factor of that time to wait for the answer, on a machine with other work."""
REST = 600.0
"""Seconds for which an account's patterns are not searched after a time-out."""
_CHILD = (
    "from hackathon.logs import metrics, pattern_reader, printed; "
    "pattern_reader.main(numbers=metrics.found_by_patterns, curves=printed.found_by_patterns)"
)
_lock = threading.Lock()
_worker = Worker(_CHILD)
_resting: dict[str, float] = {}
"""Account, or one of the user's own projects → until when its patterns are not searched."""
atexit.register(_worker.rest)


def found_apart(run: GuardedPath, metrics: Mapping[str, Mapping[str, Any]], torn: bool, size: int) -> dict[str, float]:
    """Return the values of metrics with a pattern in a run's logs of `size` bytes, like `logs.metrics.read_metrics`.

    Raises RequestError for an invalid pattern, and when the search takes too long.
    """
    return {str(name): float(value) for name, value in _asked("numbers", run, metrics, torn, size).items()}


def curves_apart(
    run: GuardedPath, metrics: Mapping[str, Mapping[str, Any]], torn: bool, size: int
) -> dict[str, list[tuple[float | None, float]]]:
    """Return the curves of metrics with a pattern in a run's logs, like `logs.printed`; raises the same errors."""
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
        raise RequestError(answer["error"], answer["text"], hint=answer["hint"], **answer["values"])
    results: dict[str, Any] = answer["found"]
    return results


def _source(run: GuardedPath) -> str:
    """Return who is responsible for a slow pattern: its account, which can create any number of projects."""
    try:
        owner = run.stat().st_uid
    except OSError:
        owner = -1
    return _project(run) if owner == os.geteuid() else str(owner)


def _project(run: GuardedPath) -> str:
    """Return the folder of a run's project, which contains `runs/<id>` or `runs/.removed/<id>`."""
    above = Path(str(run)).parents
    return str(next((folder.parent for folder in above if folder.name == "runs"), above[0]))


def main(**searches: Callable[[Path, dict[str, dict[str, Any]], bool], dict[str, Any]]) -> None:
    """Answer questions from stdin until it is closed. A search (run, wanted, torn) returns metric → result."""
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
            answer = {
                "error": error.id,
                **texts_of(error.id),
                "values": {name: str(value) for name, value in error.values.items()},
            }
        except Exception:  # TooLongError, and any unforeseen error of a pattern
            answer = {}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()
