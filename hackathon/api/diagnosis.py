"""Diagnose runs and logs from Python."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.api import html
from hackathon.text.messages import _

if TYPE_CHECKING:
    from hackathon.diagnosis.examine import Diagnosis
    from hackathon.diagnosis.findings import Finding


@dataclass(frozen=True)
class DiagnosisReport:
    """The diagnoses of runs that failed, or of files; iterate over it for several runs."""

    diagnoses: "tuple[Diagnosis, ...]"
    """One for each run, or for the files together."""
    left_out: int = 0
    """Failed runs that were not examined, because there are many."""

    @property
    def cause(self) -> "Finding | None":
        """The cause of the first diagnosis that has one: part, message, evidence, advice; None without any."""
        return next((diagnosis.root for diagnosis in self.diagnoses if diagnosis.root is not None), None)

    @property
    def findings(self) -> "tuple[Finding, ...]":
        """All findings, the cause of each run first."""
        return tuple(finding for diagnosis in self.diagnoses for finding in diagnosis.findings)

    def to_json(self) -> dict[str, Any]:
        """Return the fields of `hackathon diagnose --json`, without posts of the event's board."""
        from hackathon.diagnosis.examine import diagnoses_json

        return diagnoses_json(self.diagnoses)

    def __iter__(self) -> "Iterator[Diagnosis]":
        return iter(self.diagnoses)

    def __len__(self) -> int:
        return len(self.diagnoses)

    def __str__(self) -> str:
        return "\n\n".join("\n".join(line for line, _heading in lines) for lines in self._lines()) or _nothing()

    def _repr_html_(self) -> str:
        return "".join(map(html.card, self._lines())) or html.paragraphs([_nothing()])

    def _lines(self) -> list[list[tuple[str, bool]]]:
        from hackathon.diagnosis.show import lines_of

        return [list(lines_of(diagnosis, diagnosis.run[-8:])) for diagnosis in self.diagnoses]


def _nothing() -> str:
    return _("None of these runs failed.")


def diagnose(*paths: str | os.PathLike[str]) -> DiagnosisReport:
    """Return the diagnosis of runs, studies, projects, or logs: where it shows, why, and how to fix it.

    `paths`: folders of runs, studies or projects, log files, or folders of logs; several logs are those of one job.
    Raises RequestError for a path that does not exist.
    """
    from hackathon.config.rule_files import load_rules
    from hackathon.config.trust import folders_that_count
    from hackathon.diagnosis.cache import diagnose_runs
    from hackathon.diagnosis.examine import diagnose_files
    from hackathon.diagnosis.sources import runs_among
    from hackathon.text.errors import RequestError

    if not paths:
        raise RequestError("api.no_path", "no path given", hint="hackathon.diagnose('runs/…') or a log file")
    names = [os.fspath(path) for path in paths]
    for name in names:
        if not os.path.exists(name):  # noqa: PTH110 — also for a path of another kind
            raise RequestError("api.no_file", "{path} does not exist", path=name)
    runs, files = runs_among([Path(name) for name in names])
    rules, _problems = load_rules(folders_that_count(Path.cwd(), runs[0].path if runs else None))
    diagnoses, left = diagnose_runs(runs, rules)
    if files:
        diagnoses.append(diagnose_files(files, [str(path) for path in files], rules=rules))
    return DiagnosisReport(tuple(diagnoses), left)
