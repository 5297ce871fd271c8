"""Test rules on their own examples, and check that shipped rules are complete."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hackathon.config.problems import ConfigError, Problem, shown
from hackathon.config.records import KeyPath
from hackathon.config.rule import EXCEPTION, Example, Rule
from hackathon.config.rule_files import load_rule_file
from hackathon.config.yaml import read_yaml
from hackathon.diagnosis.check_command import every_form, misplaced
from hackathon.diagnosis.checks import names
from hackathon.diagnosis.events import VALUES, without_modules
from hackathon.diagnosis.facts import RunFacts
from hackathon.diagnosis.needles import expression_of
from hackathon.diagnosis.scan import Scanner
from hackathon.schedulers.base import ADVICE_COMMANDS
from hackathon.text.messages import Message
from hackathon.text.paths import shipped

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_NOT_RECOGNISED = Message(
    "rules.not_recognised", "rule {id} does not match this example; the pattern must occur in it as in the log"
)
_Complaint = tuple[str, KeyPath, dict[str, str]]


def check_files(
    paths: Sequence[Path], known_rules: Sequence[Rule] = (), *, strict: bool | None = None
) -> list[Problem]:
    """Return the problems of rule files: keys, values, and the results of rules on their examples.

    `known_rules`: the other rules; a file's rules replace those with the same id. `strict`: require what every shipped
    rule has (an example with its source, another wording, texts in both languages); None: only of shipped files.
    """
    problems: list[Problem] = []
    together: list[Rule] = []
    scanner = Scanner([])
    for path in paths:
        try:
            rules = load_rule_file(path)
            document = read_yaml(path)
        except ConfigError as error:
            problems += error.problems
            continue
        own = {rule.id for rule in rules}
        candidates = sorted([*rules, *(rule for rule in known_rules if rule.id not in own)], key=lambda rule: rule.id)
        if candidates != together:
            # preparing a scanner takes a while, and usually all files are among the known ones
            together, scanner = candidates, Scanner(candidates)
        complete = _is_shipped(path) if strict is None else strict
        for index, rule in enumerate(rules):
            complaints = [*_recognised(rule, scanner), *_texts(rule), *_checks(rule), *_named(rule, together)]
            if complete:
                complaints += _complete(rule)
            for identifier, inner, values in complaints:
                key: KeyPath = ("rules", index, *inner)
                problems.append(Problem(identifier, path, document.line(key), key, {"id": rule.id, **values}))
    return problems


def _is_shipped(path: Path) -> bool:
    return path.resolve().is_relative_to(shipped("templates", "rules").resolve())


def where_of(path: Path, rule: str) -> int:
    """Return the line of the file at which a rule begins; 1 when it is not in the file."""
    document = read_yaml(path)
    listed = document.value.get("rules") if isinstance(document.value, dict) else None
    for index, entry in enumerate(listed if isinstance(listed, list) else []):
        if isinstance(entry, dict) and entry.get("id") == rule:
            return document.line(("rules", index))
    return 1


def _examples(rule: Rule) -> Iterator[tuple[KeyPath, Example]]:
    if rule.sample is not None:
        yield ("sample",), rule.sample
    for number, variant in enumerate(rule.variants):
        yield ("variants", number), variant


def _recognised(rule: Rule, scanner: Scanner) -> Iterator[_Complaint]:
    """Yield the examples that the rule misses, and those of harmless rules that another rule reports as a failure."""
    if not rule.patterns:
        return
    if rule.fact:
        for path, example in _examples(rule):
            text = without_modules(example.text) if rule.fact == EXCEPTION else example.text
            search = "match" if rule.fact == EXCEPTION else "search"
            if not any(getattr(expression_of(pattern), search)(text) for pattern in rule.patterns):
                yield _NOT_RECOGNISED, (*path, "text"), {}
        return
    for path, example in _examples(rule):
        matches = {hit.rule.id: hit.rule for hit in scanner.scan_text(example.text)}
        if rule.id not in matches:
            yield _NOT_RECOGNISED, (*path, "text"), {}
        worse = sorted(other.id for other in matches.values() if rule.level == "benign" and other.level != "benign")
        if worse:
            yield (
                Message(
                    "rules.harmless_is_found",
                    "the example of the harmless rule {id} is matched as a failure by: {others}",
                ),
                (*path, "text"),
                {"others": ", ".join(worse)},
            )


def _texts(rule: Rule) -> Iterator[_Complaint]:
    """Yield unknown placeholders in the texts of a rule with patterns."""
    if not rule.patterns:
        return
    placeholders = {"rank", "host", *(VALUES if rule.fact else ()), *RunFacts(Path("/nonexistent")).numbers}
    for pattern in rule.patterns:
        placeholders |= set(expression_of(pattern).groupindex)
    for path, text in _all_texts(rule):
        words = placeholders | set(ADVICE_COMMANDS) if path[-1] == "check" else placeholders
        for name in _PLACEHOLDER.findall(text):
            if name not in words:
                yield (
                    Message(
                        "rules.placeholder",
                        "{{{name}}} has no value: no group in a pattern of {id} has this name, and it is not one "
                        "of {known}",
                    ),
                    path,
                    {"name": name, "known": ", ".join(sorted(placeholders))},
                )


def _checks(rule: Rule) -> Iterator[_Complaint]:
    """Yield placeholders in checks that quoting cannot protect: the shell would run text from a log."""
    for number, cause in enumerate(rule.causes):
        for name in {name for form in every_form(cause.check) for name in misplaced(form)}:
            yield (
                Message(
                    "rules.check_word",
                    "the check of {id} would run a text of the log: write {{{name}}} as a word of its own "
                    "behind a command, without quotes and outside $(…); the toolkit quotes it",
                ),
                ("causes", number, "check"),
                {"name": name},
            )


def _named(rule: Rule, together: Sequence[Rule]) -> Iterator[_Complaint]:
    """Yield names of other rules and of checks that do not exist."""
    ids = {other.id for other in together}
    for number, name in enumerate(rule.follows):
        if name not in ids or name == rule.id:
            yield (
                Message("rules.no_rule_to_follow", "{id} follows {name}, but no other rule has this id"),
                ("follows", number),
                {"name": shown(name)},
            )
    if rule.fact and rule.fact not in names():
        yield (
            Message("rules.no_fact", "{id} uses the check {name}, which does not exist; known: {known}"),
            ("fact",),
            {"name": shown(rule.fact), "known": ", ".join(names())},
        )


def _complete(rule: Rule) -> Iterator[_Complaint]:
    """Yield what a shipped rule lacks."""
    for path, text in _whole_texts(rule):
        if not isinstance(text, Mapping) or not (text.get("en", "").strip() and text.get("ja", "").strip()):
            yield Message("rules.one_language", "{id} needs this text in both languages: {{en: …, ja: …}}"), path, {}
    if not rule.patterns:
        return
    if rule.sample is None:
        yield Message("rules.no_sample", "{id} has no `sample`"), (), {}
    elif not rule.sample.source.strip():
        yield (
            Message("rules.no_source", "the sample of {id} has no `source`; say where it was observed"),
            ("sample",),
            {},
        )
    for number, variant in enumerate(rule.variants):
        if not variant.source.strip():
            yield (
                Message(
                    "rules.no_source_of_variant",
                    "a variant of {id} has no `source`; name the program, its version and the file of this wording",
                ),
                ("variants", number),
                {},
            )
    if not rule.variants:
        yield Message("rules.no_variant", "{id} has no `variants`"), (), {}


def _whole_texts(rule: Rule) -> Iterator[tuple[KeyPath, object]]:
    yield ("title",), rule.title
    yield ("advice",), rule.advice
    for number, cause in enumerate(rule.causes):
        yield ("causes", number, "text"), cause.text


def _all_texts(rule: Rule) -> Iterator[tuple[KeyPath, str]]:
    for path, text in _whole_texts(rule):
        if isinstance(text, Mapping):
            yield from ((path, str(translation)) for translation in text.values())
        else:
            yield path, str(text)
    for number, cause in enumerate(rule.causes):
        yield ("causes", number, "check"), cause.check
