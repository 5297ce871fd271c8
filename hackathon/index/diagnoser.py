"""Diagnose runs in a separate process, so that pages keep working and an endless log blocks only that process.

The child reads one JSON object per line (run, status, folders, failed) and answers each with a cause or null.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hackathon.index.cause import RunCause, cause_found
from hackathon.index.held_rules import HeldRules
from hackathon.runs.states import RunStatus
from hackathon.text.worker import Worker

TIMEOUT = 30.0
"""Seconds that the diagnosis of one run may take."""
_CHILD = "from hackathon.index.diagnoser import main; main()"


class Examiner:
    """The child process, started on demand and restarted after a failure. One thread uses it.

    Any thread may stop it.
    """

    def __init__(self, timeout: float = TIMEOUT) -> None:
        self._timeout = timeout
        self._worker = Worker(_CHILD)
        self.slow: tuple[str, ...] = ()
        """Ids of the rules that took too long in the last diagnosis and were skipped."""

    def cause(
        self, run: Path, status: RunStatus, folders: Sequence[Path], *, failed: bool, timeout: float | None = None
    ) -> RunCause | None:
        """Return the result of a run's diagnosis, in every language; None if it took too long or failed.

        `failed`: find its cause, else its silent errors. `folders` contain further rules. `timeout`: seconds, if fewer
        than usual.
        """
        question = {
            "run": str(run), "status": status.to_json(), "folders": [str(folder) for folder in folders],
            "failed": failed,
        }  # fmt: skip
        seconds = self._timeout if timeout is None else min(timeout, self._timeout)
        self.slow = ()
        try:
            answer = json.loads(self._worker.ask(json.dumps(question).encode(), seconds))
            if answer is None:
                return None
            self.slow = tuple(map(str, answer.get("slow", ())))
            return RunCause.from_json(answer)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            self.rest()
            return None

    @property
    def ready(self) -> bool:
        """Whether the child runs."""
        return self._worker.ready

    def prepare(self, folders: Sequence[Path]) -> None:
        """Start the child and let it read the rules, so that the next diagnosis starts at once."""
        try:
            self._worker.ask(json.dumps({"run": "", "folders": list(map(str, folders))}).encode(), self._timeout)
        except (OSError, ValueError):
            self.rest()

    def rest(self) -> None:
        """End the child; the next request starts another one."""
        self._worker.rest()

    def stop(self) -> None:
        """End the child permanently, even while another thread waits for its answer."""
        self._worker.stop()


def main() -> None:
    """Answer requests from stdin until it is closed."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of a plug-in must not mix with the answers
    rules = HeldRules()
    for line in sys.stdin.buffer:
        question = json.loads(line)
        try:
            cause = _examine(question, rules)
        except Exception:  # a file may contain anything; the next request must still be answered
            cause = None
        answers.write(json.dumps(cause).encode() + b"\n")
        answers.flush()


def _examine(question: dict[str, Any], rules: HeldRules) -> dict[str, Any] | None:
    from hackathon.diagnosis.examine import diagnose_files, diagnose_run
    from hackathon.runs.directory import RunDirectory
    from hackathon.text.messages import LANGUAGES, speaking

    rule_set = rules.of([Path(folder) for folder in question["folders"]])
    if not question["run"]:
        diagnose_files([], rules=rule_set)
        return None
    state = RunStatus(**{**question["status"], "hosts": tuple(question["status"]["hosts"])})
    diagnoses = {}
    for language in LANGUAGES:
        with speaking(language):
            diagnoses[language] = diagnose_run(RunDirectory(Path(question["run"])), state, rules=rule_set)
    if any(diagnosis.unread for diagnosis in diagnoses.values()):
        return None  # a file server may fail temporarily: tried again later, like a failed diagnosis
    slow = sorted({name for diagnosis in diagnoses.values() for name in diagnosis.slow})
    return {**cause_found(diagnoses, question["failed"]).to_json(), "slow": slow}
