"""A rule that holds as a finding: texts in the current language, with the run's own numbers filled in."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hackathon.diagnosis.facts import NOT_KNOWN
from hackathon.diagnosis.findings import Finding
from hackathon.diagnosis.order import Ranked
from hackathon.diagnosis.scan import LogFile
from hackathon.text.messages import localized, message

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def finding_of(ranked: Ranked, files: Sequence[LogFile], numbers: Mapping[str, str]) -> Finding:
    """Return a rule's best place as a finding; `numbers`: of the run, by name."""
    best = ranked.places[0]
    evidence = best.evidence
    if evidence is not None and evidence.line is None and best.file >= 0:
        evidence = replace(evidence, line=line_number(files[best.file].path, best.offset))
    values = {**numbers, "rank": NOT_KNOWN, "host": NOT_KNOWN}
    if evidence is not None:
        values |= {"file": evidence.file, "line": str(evidence.line or NOT_KNOWN)}
        values |= {"rank": str(evidence.rank)} if evidence.rank is not None else {}
        values |= {"host": evidence.host} if evidence.host else {}
    values |= best.values
    if best.hang and evidence is not None:
        values |= {"rank": str(evidence.rank), "host": evidence.host or NOT_KNOWN}
    rule = best.rule
    text = fill(localized(rule.title), values)
    named = re.search(rf"(?<!\d){re.escape(values.get('missing', ''))}(?!\d)", text)
    if best.hang and not best.fact and not named:
        if values["operation"] == NOT_KNOWN:
            text += message("diagnosis.missing", missing=values["missing"])
        else:
            text += message("diagnosis.missing_in", missing=values["missing"], operation=values["operation"])
    own = [place.count for place in ranked.places if not place.exception]
    return Finding(
        rule=rule.id,
        part=rule.part,
        level=ranked.level,
        message=text,
        evidence=evidence,
        advice=fill(localized(rule.advice), values),
        causes=tuple((fill(localized(cause.text), values), fill(cause.check, values)) for cause in rule.causes),
        references=tuple(rule.references),
        ranks=best.ranks if best.hang else tuple(sorted({rank for place in ranked.places for rank in place.ranks})),
        count=max(1, sum(own) if own else sum(place.count for place in ranked.places)),
    )


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return a text with each `{name}` replaced; a name without a value becomes `?`. Nothing in it is evaluated."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], NOT_KNOWN), text)


def line_number(path: Path, offset: int) -> int | None:
    """Return the number of the line that holds a byte, from 1."""
    number, left = 1, offset
    try:
        with path.open("rb") as stream:
            while left > 0 and (block := stream.read(min(left, 1 << 20))):
                number += block.count(b"\n")
                left -= len(block)
    except OSError:
        return None
    return number
