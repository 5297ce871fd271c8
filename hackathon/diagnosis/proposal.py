"""Propose a rule for the failure of a run: from its decisive line, tested on logs of runs that succeeded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hackathon.config.rule import Part, Rule
from hackathon.diagnosis.examine import Diagnosis, diagnose_run
from hackathon.diagnosis.facts import RunFacts
from hackathon.diagnosis.findings import UNKNOWN, Evidence
from hackathon.diagnosis.scrub import scrub
from hackathon.diagnosis.sources import of_run
from hackathon.diagnosis.teach import TaughtLine, make_rule, place_of, place_of_text, try_rule
from hackathon.runs.directory import RunDirectory, find_runs
from hackathon.runs.events import rank_events
from hackathon.text.errors import RequestError

NEWEST, GOOD = 50, 5
"""Newest runs of the folder that are looked at; and how many of those that succeeded test the rule."""
LARGEST = 16 << 20
"""Bytes of a log that tests the rule."""


@dataclass(frozen=True)
class Proposal:
    """A rule for a run's failure; it holds when it is written (`teach.write_rule`)."""

    rule: Rule
    line: TaughtLine
    count: int
    """How often it matches in the log of its line."""
    healthy: int
    """Logs of runs that succeeded in which it does not match."""


def proposed(
    run: RunDirectory,
    known_rules: Sequence[Rule],
    *,
    part: Part | None = None,
    title: str = "",
    advice: str = "",
    healthy: Sequence[Path] = (),
) -> Proposal:
    """Return a rule for the decisive line of a failed run, tested on its logs and on those of successful runs.

    `healthy`: further logs that it must not match. Raises RequestError when a rule explains the failure already, when
    no line says what failed, or when a rule for that line would match too much.
    """
    diagnosis = diagnose_run(run, rules=known_rules)
    first = diagnosis.findings[0] if diagnosis.findings else None
    if first is not None and first.level in ("root", "likely") and first.certainty != UNKNOWN:
        raise RequestError(
            "rules.add_explained",
            "rule {id} explains the failure of {run} already",
            hint="if it is wrong, choose the line: hackathon rules add --from FILE:LINE",
            id=first.rule,
            run=run.id,
        )
    logs = [*healthy, *_healthy_logs(run)]
    hosts = sorted(
        {str(event["host"]) for listed in rank_events(run.path).values() for event in listed if event.get("host")}
    )
    refusal: RequestError | None = None
    for evidence in _decisive(diagnosis):
        try:
            path = run.path / evidence.file
            line = place_of_text(path, evidence.text) if evidence.line is None else place_of(path, evidence.line)
            rule = make_rule(line, known_rules, part=part, title=scrub(title), advice=scrub(advice), hosts=hosts)
            return Proposal(rule, line, try_rule(rule, line, logs, known_rules), len(logs))
        except RequestError as error:
            refusal = refusal or error
    if refusal is not None:
        raise refusal
    raise RequestError(
        "rules.add_undecided",
        "no line in the logs of {run} says what failed",
        hint="choose one: hackathon rules add --from FILE:LINE",
        run=run.id,
    )


def _decisive(diagnosis: Diagnosis) -> Iterator[Evidence]:
    """Yield the lines that may say what failed, the most likely first."""
    first = diagnosis.findings[0] if diagnosis.findings else None
    if first is not None and first.evidence is not None and first.certainty == UNKNOWN and first.evidence.text:
        yield first.evidence
    rank = diagnosis.status.first_rank if diagnosis.status is not None else None
    own = [line for line in diagnosis.unknown if line.rank is not None and line.rank == rank]
    yield from reversed(own)
    yield from (line for line in reversed(diagnosis.unknown) if line not in own)


def _healthy_logs(run: RunDirectory) -> list[Path]:
    """Return the logs of the newest successful runs of the run's folder."""
    from hackathon.runs.status import status

    others = [other for other in find_runs(Path(str(run.path)).parent)[:NEWEST] if other.id != run.id]
    good = [
        (other, state)
        for other, state in zip(others, status(others, ask=False), strict=True)
        if state.state == "SUCCEEDED"
    ]
    return [
        file.path
        for other, state in good[:GOOD]
        for file in of_run(RunFacts(other.path, state))
        if file.path.stat().st_size <= LARGEST
    ]
