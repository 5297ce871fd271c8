"""Fill the scheduler's commands into checks of rules, for placeholders such as `{usage_command}`.

The texts come from the schedulers (`Scheduler.advice_commands`), never from a run, so they are as trusted as the rule.
"""

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hackathon.schedulers import registry
from hackathon.schedulers.base import ADVICE_COMMANDS
from hackathon.text.errors import RequestError

_WORD = re.compile(rf"\{{({'|'.join(ADVICE_COMMANDS)})\}}")


def commands_of(scheduler: str, dialect: Mapping[str, Any]) -> Mapping[str, str]:
    """Return a scheduler's commands for advice; none when the scheduler is unavailable."""
    try:
        return registry.load(scheduler, dialect).advice_commands()
    except RequestError:
        return {}


def commands_here() -> Mapping[str, str]:
    """Return the commands of this machine's scheduler, for logs without a run."""
    return next((commands_of(name, {}) for name in registry.here()), {})


def with_commands(check: str, commands: Mapping[str, str]) -> str:
    """Return a check with the scheduler's commands; empty when a command is missing."""
    if not all(name in commands for name in _WORD.findall(check)):
        return ""
    return _WORD.sub(lambda match: commands[match[1]], check)


@functools.cache
def every_form(check: str) -> Sequence[str]:
    """Return a check in the form of every available scheduler."""
    if not _WORD.search(check):
        return [check]
    forms: dict[str, None] = {}
    for name in registry.names():
        try:
            scheduler = registry.load(name)
        except RequestError:
            continue
        for dialect in scheduler.advice_dialects:
            forms[with_commands(check, commands_of(name, dialect))] = None
    return [form for form in forms if form]
