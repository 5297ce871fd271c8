"""Checks of a rule beyond its types: its id, its patterns, and whether it has a condition."""

import re

from hackathon.config.literals import PatternError, analysed, compiled
from hackathon.config.problems import shown
from hackathon.config.records import KeyPath
from hackathon.config.report import Report
from hackathon.config.rule import EXCEPTION, FIRST_EVENT, Pattern, Rule, RuleFile
from hackathon.text.messages import Message

_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FACT = re.compile(r"[a-z][a-z0-9_-]*:\S+")


def check_rules(file: RuleFile, report: Report) -> None:
    """Report the contradictions between the values of a file of rules."""
    ids: set[str] = set()
    for index, rule in enumerate(file.rules):
        path: KeyPath = ("rules", index)
        if not _ID.fullmatch(rule.id):
            report.add(
                Message(
                    "rules.id_signs", "{id} is not a valid id: use lower-case letters, digits, and `-` between words"
                ),
                (*path, "id"),
                id=shown(rule.id),
            )
        elif rule.id in ids:
            report.add(Message("rules.id_twice", "{id} appears twice in this file"), (*path, "id"), id=rule.id)
        ids.add(rule.id)
        _rule(rule, path, report)


def _rule(rule: Rule, path: KeyPath, report: Report) -> None:
    raw = report.raw_at(path)
    if not raw.get("patterns") and not rule.fact:
        report.add(
            Message("rules.nothing_to_find", "rule {id} has neither `patterns` nor `fact`; add one of them"),
            path,
            id=rule.id,
        )
    if rule.patterns and rule.fact not in ("", EXCEPTION, FIRST_EVENT):
        report.add(
            Message("rules.fact_and_patterns", "the rule has both `patterns` and `fact`; split it into two rules"),
            (*path, "fact"),
        )
    if rule.fact and not _FACT.fullmatch(rule.fact):
        report.add(
            Message(
                "rules.fact_name",
                "{name} is not the name of a check; write for example state:TIMEOUT or silent:same-data",
            ),
            (*path, "fact"),
            name=shown(rule.fact),
        )
    for name, patterns in (("patterns", rule.patterns), ("unless", rule.unless)):
        for number, pattern in enumerate(patterns):
            _pattern(pattern, (*path, name, number), report, needs_words=name == "patterns")


def _pattern(pattern: Pattern, path: KeyPath, report: Report, *, needs_words: bool) -> None:
    if bool(pattern.text.strip()) == bool(pattern.regex):
        report.add(Message("rules.text_or_regex", "a pattern needs either `text` or `regex`"), path)
        return
    try:
        compiled(pattern.text, pattern.regex, pattern.ignore_case)
        analysed(pattern.text, pattern.regex, pattern.ignore_case)
    except PatternError as error:
        if error.id == "rules.pattern_short" and not needs_words:
            return
        key = "regex" if pattern.regex else "text"
        report.add(error.id, (*path, key), **error.values)
