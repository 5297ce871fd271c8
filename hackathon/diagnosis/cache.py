"""Diagnose runs, and store the cause of each, so that `status` and the board do not diagnose it again.

In the run's folder, if the run is the user's own; else in the user's private folder on this node.
"""

import contextlib
import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon import __version__
from hackathon.diagnosis.findings import CERTAIN, LIKELY, UNKNOWN, Evidence, Finding
from hackathon.runs.directory import RunDirectory
from hackathon.text.files import LARGEST, write_whole
from hackathon.text.messages import LANGUAGES, language

if TYPE_CHECKING:
    from hackathon.config.rule import Rule
    from hackathon.diagnosis.examine import Diagnosis

_PROGRAM = re.compile(r"[^/\s:]{1,100}:\d{1,7}")
FACT = "diagnosis"
"""`client/diagnosis.json`: language → cause. The run's owner writes it once the run's state is final."""

MOST_RUNS = 10
"""The most failed runs of a study that are diagnosed, newest first."""


def diagnose_runs(
    runs: Sequence[RunDirectory], rules: "Sequence[Rule]", *, most: int | None = MOST_RUNS
) -> "tuple[list[Diagnosis], int]":
    """Return the diagnoses of runs and how many failed runs were left out, because there are more than `most`.

    Of several runs: those that failed, and those that succeeded with silent errors.
    """
    if not runs:
        return [], 0
    from hackathon.diagnosis.examine import diagnose_run
    from hackathon.runs.status import status

    pairs = list(zip(runs, status(runs), strict=True))
    selected, good = pairs, []
    if len(pairs) > 1:
        good = sorted((pair for pair in pairs if pair[1].state == "SUCCEEDED"), key=lambda pair: pair[0].id)[
            -MOST_RUNS:
        ]
        selected = [
            (run, state) for run, state in pairs if state.state not in ("SUCCEEDED", "CREATED") and not state.open
        ]
    newest = selected if most is None else sorted(selected, key=lambda pair: pair[0].id, reverse=True)[:most]
    diagnoses = []
    for run, state in good + newest:
        diagnosis = diagnose_run(run, state, rules=rules)
        if diagnosis.root is not None or state.state != "SUCCEEDED" or len(pairs) == 1:
            keep(run, diagnosis)
            diagnoses.append(diagnosis)
    return diagnoses, len(selected) - len(newest)


def kept(run: RunDirectory) -> Finding | None:
    """Return the stored cause of a run, None when there is none. Reads one small file.

    A cause in another user's run must match a rule: it is displayed, and pasted, as this toolkit's advice.
    """
    value, own = run.client(FACT), run.owned()
    noted = {} if own else _noted(run)
    for code in (language(), *LANGUAGES):
        for finding, credible in ((value.get(code), own), (noted.get(code), True)):
            if isinstance(finding, dict) and (credible or _believed(finding)):
                try:
                    return _from_json(finding)
                except (KeyError, TypeError, ValueError):
                    continue
    return None


def _believed(finding: dict[str, Any]) -> bool:
    from hackathon.diagnosis.believed import is_believed

    return is_believed(finding)


def looked_at(run: RunDirectory) -> bool:
    """Return whether a diagnosis in the current language is stored, with or without a cause."""
    finding = run.client(FACT).get(language())
    if run.owned():
        return finding is not None
    return (isinstance(finding, dict) and (not finding or _believed(finding))) or language() in _noted(run)


def keep(run: RunDirectory, diagnosis: "Diagnosis") -> None:
    """Store the cause of a run once its state is final. Errors such as a full disk are ignored.

    Nothing is stored while files of the run are unreadable: a stored diagnosis is never repeated. Nothing is written
    in a run of another account.
    """
    status = diagnosis.status
    if status is None or not status.sealed or diagnosis.unread:
        return
    entry = {language(): diagnosis.root.to_json() if diagnosis.root else {}}
    with contextlib.suppress(OSError):
        if run.owned():
            run.write_client(FACT, {**run.client(FACT), **entry})
        else:
            _note(run, {**_noted(run), **entry})


def _note_path(run: RunDirectory) -> Path:
    """Return the user's own file about a run, which a new seal or version replaces: `<node folder>/causes/<digest>`."""
    from hackathon.access.private import node_folder

    end = run.files.text("final.json")
    about = "\0".join((__version__, str(Path(str(run.path)).resolve()), end))
    return (
        node_folder() / "causes" / f"{hashlib.sha256(about.encode('utf-8', 'surrogateescape')).hexdigest()[:40]}.json"
    )


def _noted(run: RunDirectory) -> dict[str, Any]:
    """Return language → cause from the user's own file about a run; empty without one."""
    from hackathon.access.private import open_private, private_folder

    path = _note_path(run)
    try:
        private_folder(path.parent.parent)
        private_folder(path.parent)
        stream, _ = open_private(path)
        with stream:
            value = json.loads(stream.read(LARGEST))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _note(run: RunDirectory, value: dict[str, Any]) -> None:
    from hackathon.access.private import private_folder

    path = _note_path(run)
    private_folder(path.parent.parent, parents=True)
    private_folder(path.parent)
    write_whole(path, json.dumps(value).encode(), 0o600)


def _from_json(value: dict[str, Any]) -> Finding:
    location = value["evidence"]
    evidence = None
    if location:
        evidence = Evidence(
            location["file"], location["line"], location["text"], location["rank"], location["host"] or ""
        )
    return Finding(
        rule=str(value["rule"]),
        part=str(value["part"]),
        level=str(value["level"]),
        message=str(value["message"]),
        evidence=evidence,
        advice=str(value["advice"]),
        causes=tuple((str(cause["text"]), str(cause["check"] or "")) for cause in value["causes"]),
        references=tuple(str(reference) for reference in value["references"]),
        ranks=tuple(int(rank) for rank in value["ranks"]),
        count=int(value["count"]),
        at_least=value.get("at_least") is True,
        certainty=certainty if (certainty := value.get("certainty")) in (LIKELY, UNKNOWN) else CERTAIN,
        program=program if _PROGRAM.fullmatch(program := str(value.get("program") or "")) else "",
    )
