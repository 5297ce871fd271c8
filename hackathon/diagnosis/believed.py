"""Check that a cause stored in another user's run folder could come from one of our rules.

Its advice and checks are displayed as this toolkit's own, and people paste them. So each text must be a rule's text
with its placeholders filled in, and a value inside a command must be one quoted word.
"""

import functools
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from hackathon.diagnosis.check_command import HOST, every_form, in_command
from hackathon.text.messages import LANGUAGES, localized, speaking

if TYPE_CHECKING:
    from hackathon.config.rule import Rule

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_WORD = re.compile(r"(?!'?-)(?:[\w@%+=:,./-]+|\?|'[^']*'(?:\"'\"'[^']*')*)", re.ASCII)
"""A word that a shell takes literally and that is not an option."""
_LONGEST = 4000


def is_believed(finding: Mapping[str, Any]) -> bool:
    """Return whether the advice, causes and checks of a finding (JSON values) match the rule that it names.

    The rules are the shipped ones and the user's own. An empty finding is believed.
    """
    if not finding:
        return True
    rule = _rules().get(str(finding.get("rule")))
    causes = finding.get("causes") or []
    if rule is None or not isinstance(causes, list) or len(causes) > len(rule.causes):
        return False
    if not _said(str(finding.get("advice") or ""), _in_languages(rule.advice)):
        return False
    for cause, value in zip(rule.causes, causes, strict=False):
        if not isinstance(value, Mapping) or not _said(str(value.get("text") or ""), _in_languages(cause.text)):
            return False
        check = str(value.get("check") or "")
        if check and not any(_filled(form, check, everywhere=True) for form in every_form(cause.check)):
            return False
    return True


@functools.cache
def _rules() -> "dict[str, Rule]":
    from hackathon.config.rule_files import load_rules

    return {rule.id: rule for rule in load_rules()[0]}


def _in_languages(text: object) -> list[str]:
    texts = []
    for code in LANGUAGES:
        with speaking(code):
            texts.append(localized(text))
    return texts


def _said(text: str, templates: Iterable[str]) -> bool:
    return any(_filled(template, text) for template in templates)


def _filled(template: str, text: str, *, everywhere: bool = False) -> bool:
    """Return whether `text` is `template` with its placeholders filled in; `everywhere`: the template is a command."""
    if len(text) > _LONGEST:
        return False
    position = done = 0
    wants: tuple[int, bool] | None = None  # start of the value before the next literal, whether it must be a word
    for match in [*_PLACEHOLDER.finditer(template), None]:
        literal = template[done : match.start() if match else len(template)]
        if match is None and wants is not None:
            at = len(text) - len(literal) if text.endswith(literal) else -1
        else:
            at = text.find(literal, position)
        if at < position or (wants is None and at != position):
            return False
        if wants is not None and wants[1] and not _WORD.fullmatch(text, wants[0], at):
            return False
        if wants is not None and text.endswith("ssh ", 0, wants[0]) and not HOST.fullmatch(text, wants[0], at):
            return False
        if wants is not None and not wants[1] and "`" in text[wants[0] : at]:
            return False  # the value would begin a command where the rule has none
        position = at + len(literal)
        if match is not None:
            done = match.end()
            wants = (position, everywhere or in_command(template[: match.start()]))
    return position == len(text)
