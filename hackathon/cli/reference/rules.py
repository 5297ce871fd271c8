"""All shipped failure rules, by part."""

import re
from collections.abc import Iterator
from typing import get_args

from hackathon.config.rule import LEVELS, Part, Rule
from hackathon.config.rule_files import load_rule_file
from hackathon.text.messages import _, localized
from hackathon.text.paths import shipped


def listing() -> str:
    """Return the number of rules of each part, and a section for each; the user's own rules are not included."""
    rules = [rule for path in sorted(shipped("templates", "rules").glob("*.yaml")) for rule in load_rule_file(path)]
    by_part = {part: [rule for rule in rules if rule.part == part] for part in get_args(Part)}
    numbers = ", ".join(f"[`{part}`](#{part}) {len(listed)}" for part, listed in by_part.items() if listed)
    lines = [f"{len(rules)}: {numbers}"]
    for part, listed in by_part.items():
        if listed:
            lines += ["", f"## {part}"]
        for rule in sorted(listed, key=lambda rule: (LEVELS.index(rule.level), rule.id)):
            lines += ["", *_section(rule)]
    return "\n".join(lines) + "\n"


def _section(rule: Rule) -> Iterator[str]:
    yield from (f"### {rule.id}", "", f"`{rule.level}` — {_filled(localized(rule.title))}", "")
    for pattern in rule.patterns:
        yield f"- `{(pattern.text or pattern.regex).replace('`', '´')}`"
    if rule.fact:
        yield f"- `{rule.fact}`" + "".join(f", {name} {value:g}" for name, value in rule.thresholds.items())
    if rule.causes:
        yield ""
    for number, cause in enumerate(rule.causes, 1):
        check = f" — {_('check')}: `{cause.check}`" if cause.check else ""
        yield f"{number}. {_filled(localized(cause.text))}{check}"
    if rule.advice:
        yield from ("", f"{_('What to do')}: {_filled(localized(rule.advice))}")
    if rule.references:
        listed = ", ".join(f"<{source}>" if "://" in source else source for source in rule.references)
        yield from ("", f"{_('See')}: {listed}")


def _filled(text: str) -> str:
    """Return a text of a rule as one line; placeholders for text from the log or the run are in italics."""
    return re.sub(r"\{(\w+)\}", r"*\1*", " ".join(text.split())).replace("<", "\\<")
