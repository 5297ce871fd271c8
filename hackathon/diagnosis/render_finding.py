"""Turn a matching rule into a finding: texts in the current language, with the run's numbers filled in."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hackathon.config.rule import Rule
from hackathon.diagnosis.check_command import NOT_KNOWN, check_command, quoted_in_commands, with_commands
from hackathon.diagnosis.events import states_requirement
from hackathon.diagnosis.findings import CERTAIN, LIKELY, UNKNOWN, Finding
from hackathon.diagnosis.order import Ranked, RulePlace
from hackathon.diagnosis.scan import LogFile
from hackathon.logs.lines import line_ends
from hackathon.text.messages import LANGUAGES, _, language, localized, speaking

_BRACKETS = re.compile(r"(?P<open> ?[(（])(?P<items>[^()（）]*\{\w+\}[^()（）]*)(?P<close>[)）])")
_ITEMS = re.compile(r", |、")
_ITEM = re.compile(r"[^{}:]{1,40}: \{(?P<name>\w+)\}")


def finding_of(
    ranked: Ranked, files: Sequence[LogFile], numbers: Mapping[str, str], commands: Mapping[str, str]
) -> Finding:
    """Return the best match of a rule as a finding.

    `numbers`: placeholder → value of the run. `commands`: those of its scheduler.
    """
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
    translations = {}
    for code in LANGUAGES:
        with speaking(code):
            translations[code] = (_title(best, values), quoted_in_commands(localized(rule.advice), values))
    text, advice = translations[language()]
    own = [match.count for match in ranked.places if not match.exception]
    return Finding(
        rule=rule.id,
        part=rule.part,
        level=ranked.level,
        message=text,
        evidence=evidence,
        advice=advice,
        causes=tuple(
            (
                quoted_in_commands(localized(cause.text), values),
                check_command(with_commands(cause.check, commands), values),
            )
            for cause in rule.causes
        ),
        references=tuple(rule.references),
        ranks=best.ranks if best.hang else tuple(sorted({rank for match in ranked.places for rank in match.ranks})),
        count=max(1, sum(own) if own else sum(match.count for match in ranked.places)),
        at_least=any(match.at_least for match in ranked.places),
        certainty=_certainty(rule, values),
        program=next((match.own_line for match in ranked.places if match.own_line and match.ranks == best.ranks), ""),
        said=translations,
    )


def _certainty(rule: Rule, values: Mapping[str, str]) -> str:
    """Return how surely a rule's message is the cause; that of an exception which says so itself is likely."""
    if rule.guess:
        exception, statement = values.get("exception", ""), values.get("statement", "")
        # words alone say nothing of an exception that no rule's pattern describes
        module = values.get("module", "") if rule.patterns else ""
        return LIKELY if states_requirement(exception, statement, module) else UNKNOWN
    return CERTAIN if rule.level == "root" else LIKELY


def _title(best: RulePlace, values: Mapping[str, str]) -> str:
    """Return the rule's title for its best match, in the current language."""
    text = quoted_in_commands(_what_is_known(localized(best.rule.title), values), values)
    named = re.search(rf"(?<!\d){re.escape(values.get('missing', ''))}(?!\d)", text)
    if best.hang and not best.fact and not named:
        if values["operation"] == NOT_KNOWN:
            text += _("; rank {missing} never joined", missing=values["missing"])
        else:
            text += _(
                "; rank {missing} never joined ({operation})", missing=values["missing"], operation=values["operation"]
            )
    return text


def _what_is_known(title: str, values: Mapping[str, str]) -> str:
    """Return a title without the items in brackets whose value is not known: `(queue: {queue}, nodes: {nodes})`."""

    def remaining(brackets: re.Match[str]) -> str:
        items = [_ITEM.fullmatch(item) for item in _ITEMS.split(brackets["items"])]
        if None in items:
            return brackets[0]  # prose
        known = [item[0] for item in items if item and values.get(item["name"], "") not in ("", NOT_KNOWN)]
        separator = "、" if "、" in brackets["items"] else ", "
        return f"{brackets['open']}{separator.join(known)}{brackets['close']}" if known else ""

    return _BRACKETS.sub(remaining, title)


def line_number(path: Path, offset: int) -> int | None:
    """Return the number, from 1, of the line that contains a byte."""
    try:
        return line_ends(path, offset) + 1
    except OSError:
        return None
