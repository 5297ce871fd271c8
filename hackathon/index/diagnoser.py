"""Diagnose runs in a process of its own: pages go on meanwhile, and a log that takes for ever costs that process only.

The child reads one JSON object a line (run, status, folders, failed) and answers each with one: a Cause, or null.
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
    """The child process, started when first needed and again after it was lost. One thread uses it; any may stop it."""

    def __init__(self, timeout: float = TIMEOUT) -> None:
        self._timeout = timeout
        self._worker = Worker(_CHILD)
        self.slow: tuple[str, ...] = ()
        """Ids of the rules that took too long in the last diagnosis, and were left out."""

    def cause(
        self, run: Path, status: RunStatus, folders: Sequence[Path], *, failed: bool, timeout: float | None = None
    ) -> RunCause | None:
        """Return what the diagnosis of a run told, in every language; None when it took too long or came to nothing.

        `failed`: its cause is wanted, else what is silently wrong. `folders` have rules of their own. `timeout`:
        seconds, if fewer than usual.
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
        """Whether the child is there."""
        return self._worker.ready

    def prepare(self, folders: Sequence[Path]) -> None:
        """Start the child and let it read the rules, so that the next diagnosis begins at once."""
        try:
            self._worker.ask(json.dumps({"run": "", "folders": list(map(str, folders))}).encode(), self._timeout)
        except (OSError, ValueError):
            self.rest()

    def rest(self) -> None:
        """End the child; the next question starts another one."""
        self._worker.rest()

    def stop(self) -> None:
        """End the child for good, also while another thread waits for its answer."""
        self._worker.stop()


def main() -> None:
    """Answer questions from stdin until it is closed."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a plug-in prints is no answer
    rules = HeldRules()
    for line in sys.stdin.buffer:
        question = json.loads(line)
        try:
            cause = _examine(question, rules)
        except Exception:  # a run whose files nobody thought of: the next one is asked about as well
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
        return None  # a file server fails for a moment: later, as after a diagnosis that came to nothing
    slow = sorted({name for diagnosis in diagnoses.values() for name in diagnosis.slow})
    return {**cause_found(diagnoses, question["failed"]).to_json(), "slow": slow}
