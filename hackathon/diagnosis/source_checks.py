"""Checks of a run's program in its folder `source`: code that may have caused a failure.

Code alone proves nothing, since much of a program never runs. These findings count only together with a failure that
they explain: one whose rule names theirs in `follows`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hackathon.diagnosis.facts import FACTS, Check, FactHit, RunFacts
from hackathon.diagnosis.findings import Evidence
from hackathon.diagnosis.order import RulePlace
from hackathon.diagnosis.silent.worlds import start_of_run
from hackathon.runs import states
from hackathon.text.errors import HackathonError
from hackathon.text.files import open_regular

if TYPE_CHECKING:
    from hackathon.programs.scripts.findings import LintFinding

PREFIX = "source:"
ENVIRONMENT = f"{PREFIX}environment-line"
RULES = ("own-address", "starts-own-ranks", "swallowed-exception")
"""Rules about a program's text that explain failures; their facts are `source:<rule>`."""
LONGEST = 4 << 20
"""Bytes of a file in which the line is searched."""
_LINE = re.compile(r"environment line ended with (?P<code>\d+): (?P<line>.*)", re.DOTALL)
_NUMBER = re.compile(r"(?<!\d)\d{4,5}(?!\d)")


def of_program(rule: str) -> Check:
    """Return the check that applies one rule about training programs to the text of a run."""

    def check(facts: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
        if facts.record.processes < 2 or facts.status is None:
            return []
        if facts.status.state == states.SUCCEEDED and rule != "starts-own-ranks":
            return []  # the other rules explain only failures
        from hackathon.programs.training.files import told_by_text
        from hackathon.programs.training.situation import TrainingSituation

        record = facts.record
        situation = TrainingSituation(
            processes=record.processes, nodes=record.nodes or None, per_node=record.processes_per_node or None,
            cluster=record.cluster, launcher=record.launcher or None, gpus=record.gpus_per_node > 0,
        )  # fmt: skip
        hits: list[FactHit] = []
        for entry in start_of_run(facts).files:
            try:
                findings = told_by_text(facts.run.source(), entry, (rule,), situation)
            except HackathonError:  # its record can no longer be read
                return []
            hits += [_hit(facts, name, finding) for name, finding in findings]
        return hits

    return check


def _hit(facts: RunFacts, name: str, finding: "LintFinding") -> FactHit:
    line = _line(facts, name, finding.line)
    location = f"{name}:{finding.line}"
    values = {"place": location, "code": line.strip()[:160], "certain": "" if finding.severity == "error" else "no"}
    return FactHit(Evidence(f"source/{name}", finding.line, line.strip()[:500]), values)


def _line(facts: RunFacts, name: str, number: int) -> str:
    try:
        with open_regular(facts.run.source() / name) as stream:
            lines = stream.read(LONGEST).decode("utf-8", "replace").splitlines()
    except (OSError, HackathonError):
        return ""
    return lines[number - 1] if number <= len(lines) else ""


def environment_lines(facts: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Return the lines of `environment:` that failed in the job: causes only of a failure that follows from one."""
    hits: list[FactHit] = []
    for event in facts.job_events:
        text = str(event.get("text"))
        match = _LINE.fullmatch(text) if event.get("event") == "warned" else None
        if match is not None:
            values = {"exit_code": match["code"], "line": match["line"][:300], "code": match["line"], "place": ""}
            hits.append(FactHit(Evidence("events/job.jsonl", None, text[:500]), values))
    return hits


def split(matches: Sequence[RulePlace]) -> tuple[list[RulePlace], list[RulePlace]]:
    """Split matches into those outside and those in a program's text."""
    texts = [match for match in matches if match.rule.fact.startswith(PREFIX)]
    return [match for match in matches if not match.rule.fact.startswith(PREFIX)], texts


def that_explain(texts: Sequence[RulePlace], matches: Sequence[RulePlace]) -> list[RulePlace]:
    """Return the matches in a program's text that explain other matches.

    An address that may be harmless explains only a failure whose message names its port.
    """
    harmful = [match for match in matches if match.rule.level != "benign"]
    explaining: list[RulePlace] = []
    for text in texts:
        follow = [match for match in harmful if text.rule.id in match.rule.follows]
        if text.values.get("certain") == "no" and text.rule.fact == f"{PREFIX}own-address":
            ports = set(_NUMBER.findall(text.values["code"]))
            follow = [match for match in follow if match.evidence and ports & set(_NUMBER.findall(match.evidence.text))]
        if text.rule.fact == ENVIRONMENT:
            # a file that is missing follows from the line only if the line names it
            follow = [match for match in follow if match.values.get("script", "") in text.values["code"]]
        if follow:
            explaining.append(replace(text, own_line=text.values["place"]))
    return explaining


FACTS.update({f"{PREFIX}{rule}": of_program(rule) for rule in RULES} | {ENVIRONMENT: environment_lines})
