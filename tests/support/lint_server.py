"""Ask a real server about the scripts that the linter judges: refused by one if and only if by the other."""

import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hackathon.programs.scripts.lint import lint, looked_at
from hackathon.programs.scripts.source import script_text
from hackathon.schedulers.scripts import ScriptRequest
from support.lint_data import raw_of, recorded, twins
from support.patience import STRETCH


@dataclass
class Server:
    """How a scheduler is asked, and what of its answer cannot be known from a script."""

    dialect: str
    submit: list[str]
    """The command that takes `job.sh`, prints the job's number and lets it wait."""
    environment: Mapping[str, str]
    site: re.Pattern[bytes]
    """Scripts whose acceptance depends on the machine."""
    shown: Callable[[list[str]], list[str]]
    """Returns what the server shows of each job, given what `submit` printed."""
    wrong: Callable[[ScriptRequest, str], Iterable[str]]
    """Yields where a job that is shown has other attributes than the linter read."""
    elsewhere: frozenset[str] = frozenset()
    """Names of scripts whose acceptance depends on the machine."""

    def disagreements(self, folder: Path, lines: str) -> list[str]:
        """Return where linter and server disagree, over all scripts of the samples and one script for each line."""
        wrong: list[str] = []
        accepted: list[tuple[str, ScriptRequest, str]] = []
        for name, raw in self._cases(lines):
            if name in self.elsewhere:
                continue
            report = lint(script_text(raw, name), self.dialect)
            refused = any(each.effect == "refused" and each.severity == "error" for each in report.findings)
            (folder / "job.sh").write_bytes(raw)
            answer = subprocess.run(
                self.submit,
                cwd=folder,
                env=self.environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=STRETCH * 30,
            )
            said = (answer.returncode != 0, (answer.stderr or answer.stdout).strip()[:200])
            if refused != said[0]:
                if not self.site.search(raw):
                    rules = [each.rule for each in report.findings]
                    wrong.append(f"{name}: linter {rules}, {self.submit[0]} {said}")
            elif not refused and not any(each.rule in ("partly-obeyed", "two-dialects") for each in report.findings):
                look = looked_at(script_text(raw, name), self.dialect)
                assert look is not None
                accepted.append((name, look.request, answer.stdout.strip()))
        shown = self.shown([job_id for _, _, job_id in accepted])
        for (name, request, _), text in zip(accepted, shown, strict=True):
            wrong += [f"{name}: {each}" for each in self.wrong(request, text)]
        return wrong

    def _cases(self, lines: str) -> Iterable[tuple[str, bytes]]:
        for each in recorded(f"{self.dialect}_directives.txt"):
            yield each.name, each.raw
        for twin in twins():
            if twin.dialect == self.dialect:
                yield f"{twin.rule} bad", twin.bad
                yield f"{twin.rule} good", twin.good
        for line in lines.strip().splitlines():
            yield line, raw_of(f"#!/bin/bash\n{line}\nhostname\n")


def differing(job: Mapping[str, str], wanted: Mapping[str, object]) -> list[str]:
    """Return where a job's attribute is not what the linter read; None was not read."""
    return [
        f"{key} is {job.get(key)}, read as {value}"
        for key, value in wanted.items()
        if value is not None and job.get(key) != str(value)
    ]
