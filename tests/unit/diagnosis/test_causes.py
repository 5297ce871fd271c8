"""Failures of many kinds, one and many ranks: the cause and the rank that are named, and healthy logs without a cause.

tests/samples/failures/causes.txt: `%%% name | rule | rank | file` before each log, composed around the decisive line of
a report or made here with torchrun; logs of one name belong to one job. `@1-3,7` stands for lines of the first section.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from hackathon.config.rule_files import load_rules
from hackathon.diagnosis import diagnose
from hackathon.diagnosis.scan import RuleSet
from support.paths import SAMPLES

RULES = RuleSet(load_rules()[0])


class Case(NamedTuple):
    rule: str
    rank: int | None
    """None: the log does not determine it."""
    logs: dict[str, str]
    """Name of a file → its text."""


def sections(name: str) -> Iterator[tuple[list[str], str]]:
    """Yield (fields of the heading, text) of the sections of a sample file, with the shared lines filled in."""
    shared: list[str] = []
    for section in re.split(r"^%%% ", (SAMPLES / "failures" / name).read_text(encoding="utf-8"), flags=re.M)[1:]:
        heading, _, text = section.partition("\n")
        lines = text.splitlines()
        if heading == "lines":
            shared = lines
            continue
        filled = []
        for line in lines:
            spans = re.findall(r"(\d+)(?:-(\d+))?", line) if re.fullmatch(r"@[\d,-]+", line) else None
            filled += (
                [line]
                if spans is None
                else [text for first, last in spans for text in shared[int(first) - 1 : int(last or first)]]
            )
        yield [field.strip() for field in heading.split("|")], "\n".join(filled) + "\n"


def cases() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for (name, rule, rank, file), text in sections("causes.txt"):
        case = found.setdefault(name, Case(rule, int(rank) if rank else None, {}))
        case.logs[file or "job.log"] = text
    return found


CASES = cases()
HEALTHY = {name: text for (name,), text in sections("healthy.txt")}


@pytest.mark.parametrize("name", CASES)
def test_the_cause_and_its_rank_are_named(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    for file, text in case.logs.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    findings = diagnose([tmp_path / file for file in case.logs], rules=RULES)
    assert findings, "nothing was recognised"
    first = findings[0]
    rank = first.evidence.rank if first.evidence is not None else None
    assert (first.rule, first.level in ("root", "likely")) == (case.rule, True), first
    if case.rank is not None:
        assert rank == case.rank, first


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_log_has_no_cause(name: str, tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(HEALTHY[name], encoding="utf-8")
    assert [finding for finding in diagnose([log], rules=RULES) if finding.level in ("root", "likely")] == []


def test_a_message_that_the_program_survived_is_no_cause_while_nothing_else_tells_of_an_end(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    quoted = "sample 0 | RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB\n"
    log.write_text(quoted + "".join(f"epoch 0 step {step} loss 2.{step}\n" for step in range(20, 140, 10)), "utf-8")
    assert {finding.level for finding in diagnose([log], rules=RULES)} == {"likely"}
