"""Diagnose runs in a process of its own: pages go on meanwhile, and a log that takes for ever costs that process only.

The child reads one JSON object a line (run, status, folders, failed) and answers each with one: a Cause, or null.
"""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import TYPE_CHECKING, Any

from hackathon.runs.states import RunStatus
from hackathon.web.causes import Cause, cause_found

if TYPE_CHECKING:
    from hackathon.config.rule import Rule

TIMEOUT = 30.0
"""Seconds that the diagnosis of one run may take."""
RULES_AGE = 60.0
"""Seconds for which rules are used again before their files are read anew."""
MOST_RULES = 50
"""Sets of rules, one a project, that are held."""
_CHILD = "from hackathon.web.examine import main; main()"


class Examiner:
    """The child process, started when first needed and again after it was lost. One thread uses it; any may stop it."""

    def __init__(self, timeout: float = TIMEOUT) -> None:
        self._timeout = timeout
        self._child: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def cause(self, run: Path, status: RunStatus, folders: Sequence[Path], *, failed: bool) -> Cause | None:
        """Return what the diagnosis of a run told, in every language; None when it took too long or came to nothing.

        `failed`: its cause is wanted, else what is silently wrong. `folders` have rules of their own.
        """
        question = {
            "run": str(run), "status": status.to_json(), "folders": [str(folder) for folder in folders],
            "failed": failed,
        }  # fmt: skip
        try:
            answer = json.loads(self._ask(json.dumps(question).encode() + b"\n"))
            return Cause.from_json(answer) if answer is not None else None
        except (OSError, ValueError, KeyError, TypeError):
            self.rest()
            return None

    @property
    def ready(self) -> bool:
        """Whether the child is there."""
        return self._child is not None

    def prepare(self, folders: Sequence[Path]) -> None:
        """Start the child and let it read the rules, so that the next diagnosis begins at once."""
        try:
            self._ask(json.dumps({"run": "", "folders": [str(folder) for folder in folders]}).encode() + b"\n")
        except (OSError, ValueError):
            self.rest()

    def _ask(self, question: bytes) -> bytes:
        child = self._child
        if child is None or child.poll() is not None:
            self.rest()
            child = self._child = self._start()
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(question)
        child.stdin.flush()
        answer, deadline = bytearray(), time.monotonic() + self._timeout
        with DefaultSelector() as selector:
            selector.register(child.stdout, EVENT_READ)
            while not answer.endswith(b"\n"):
                if self._stopped or time.monotonic() > deadline:
                    raise OSError("no answer in time")
                if not selector.select(0.2):
                    continue
                block = os.read(child.stdout.fileno(), 1 << 16)
                if not block:
                    raise OSError("the child has ended")
                answer += block
        return bytes(answer)

    def _start(self) -> "subprocess.Popen[bytes]":
        if self._stopped:
            raise OSError("it was stopped")
        package = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
        return subprocess.Popen(
            [sys.executable, "-P", "-c", _CHILD],  # -P: what lies in the current folder is not imported
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )

    def rest(self) -> None:
        """End the child; the next question starts another one."""
        child, self._child = self._child, None
        if child is None:
            return
        with contextlib.suppress(OSError):
            child.kill()
        for stream in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(5.0)

    def stop(self) -> None:
        """End the child for good, also while another thread waits for its answer."""
        self._stopped = True
        child = self._child
        if child is not None:
            with contextlib.suppress(OSError):
                child.kill()


def main() -> None:
    """Answer questions from stdin until it is closed."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a plug-in prints is no answer
    rules: dict[tuple[str, ...], tuple[float, Sequence[Rule]]] = {}
    for line in sys.stdin.buffer:
        question = json.loads(line)
        try:
            found = _examine(question, rules)
        except Exception:  # a run whose files nobody thought of: the next one is asked about as well
            found = None
        answers.write(json.dumps(found).encode() + b"\n")
        answers.flush()


def _examine(
    question: dict[str, Any], rules: "dict[tuple[str, ...], tuple[float, Sequence[Rule]]]"
) -> dict[str, Any] | None:
    from hackathon.config.load import load_rules
    from hackathon.diagnosis.examine import diagnose_files, diagnose_run
    from hackathon.runs.directory import RunDirectory
    from hackathon.text.messages import LANGUAGES, speaking

    folders = tuple(question["folders"])
    if folders not in rules or time.monotonic() - rules[folders][0] > RULES_AGE:
        found = load_rules([Path(folder) for folder in folders])[0]
        # most teams have no rules of their own: one and the same list spares making its scanner again
        same = next((known for _, known in rules.values() if known == found), found)
        if len(rules) > MOST_RULES:
            rules.clear()
        rules[folders] = time.monotonic(), same
    if not question["run"]:
        diagnose_files([], rules=rules[folders][1])
        return None
    if leads_out(question["run"]):
        return Cause().to_json()
    state = RunStatus(**{**question["status"], "hosts": tuple(question["status"]["hosts"])})
    told = {}
    for language in LANGUAGES:
        with speaking(language):
            told[language] = diagnose_run(RunDirectory(Path(question["run"])), state, rules=rules[folders][1])
    return cause_found(told, question["failed"]).to_json()


def leads_out(run: str) -> bool:
    """Return whether somebody else's run has links, among what a diagnosis reads, to files outside of it.

    A diagnosis shows lines of what it reads: its user's own files must not be among them because a team says so.
    """
    root = os.path.realpath(run)
    try:
        if os.stat(root).st_uid == os.geteuid():  # noqa: PTH116 — plain strings, as below
            return False
        with os.scandir(root) as entries:
            top = [entry.path for entry in entries if entry.name != "source"]
    except OSError:
        return False
    for path in top:
        inside = [path]
        for place, folders, files in os.walk(path):
            inside += [f"{place}/{name}" for name in (*folders, *files)]
        if any(not f"{os.path.realpath(each)}/".startswith(f"{root}/") for each in inside if os.path.islink(each)):  # noqa: PTH114
            return True
    return False
