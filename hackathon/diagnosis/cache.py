"""Store the cause found for a run in its folder, so that `status` and the board do not diagnose it again."""

import contextlib
import re
from typing import TYPE_CHECKING, Any

from hackathon.diagnosis.findings import CERTAIN, LIKELY, UNKNOWN, Evidence, Finding
from hackathon.runs.directory import RunDirectory
from hackathon.text.messages import LANGUAGES, language

if TYPE_CHECKING:
    from hackathon.diagnosis.examine import Diagnosis

_PROGRAM = re.compile(r"[^/\s:]{1,100}:\d{1,7}")
FACT = "diagnosis"
"""`client/diagnosis.json`: language → cause. The run's owner writes it once the run's state is final."""


def kept(run: RunDirectory) -> Finding | None:
    """Return the stored cause of a run, None when there is none. Reads one small file.

    A cause in another user's run must match a rule: it is displayed, and pasted, as this toolkit's advice.
    """
    value = run.client(FACT)
    own = not value or run.owned()
    for code in (language(), *LANGUAGES):
        finding = value.get(code)
        if isinstance(finding, dict) and (own or _believed(finding)):
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
    return language() in run.client(FACT)


def keep(run: RunDirectory, diagnosis: "Diagnosis") -> None:
    """Store the cause of the user's own run once its state is final. Errors such as a full disk are ignored.

    Nothing is stored while files of the run are unreadable: a stored diagnosis is never repeated.
    """
    status = diagnosis.status
    if status is None or not status.sealed or diagnosis.unread or not run.owned():
        return
    value = {**run.client(FACT), language(): diagnosis.root.to_json() if diagnosis.root else {}}
    with contextlib.suppress(OSError):
        run.write_client(FACT, value)


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
