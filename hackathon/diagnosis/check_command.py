"""Fill a rule's check command with the scheduler's commands, and with values from a log so that it is safe to paste.

Values are quoted for the shell. Quotes protect only where the placeholder is a word of its own: not inside other quotes
or `$(…)`, and not where a word is a command or code. Elsewhere, and for values that look like an option, there is no
check: no command is better than one that runs text from a stranger's log. The scheduler's commands, for placeholders
such as `{usage_command}`, come from `Scheduler.advice_commands` and never from a run: they are as trusted as the rule.
"""

import functools
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from hackathon.schedulers import registry
from hackathon.schedulers.base import ADVICE_COMMANDS
from hackathon.text.errors import RequestError

NOT_KNOWN = "?"
"""Text for a number that was not recorded."""
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_ENDS = " \t;|&"
HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")
"""Host names allowed after `ssh`."""
_LONGEST = 1000
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_RUNS_WORDS = frozenset({
    "!", ".", "alias", "awk", "bash", "command", "coproc", "dash", "do", "elif", "else", "env", "eval", "exec", "find",
    "gawk", "if", "ksh", "mpirun", "nice", "nohup", "parallel", "perl", "python3", "ruby", "sed", "sh", "source",
    "srun", "su", "sudo", "then", "time", "timeout", "trap", "until", "watch", "while", "xargs", "zsh",
})  # fmt: skip
"""Commands and shell words after which a word may be a program, a command or code."""


def check_command(check: str, values: Mapping[str, str]) -> str:
    """Return a rule's check with quoted values; empty where quoting is not safe."""
    placeholders = _places(check)
    if not placeholders:
        return check
    if not all(alone for _, _, _, alone in placeholders):
        return ""
    command, done = "", 0
    for start, end, name, _ in placeholders:
        value = values.get(name, NOT_KNOWN)
        if value in ("", NOT_KNOWN) or value.startswith("-") or not value.isprintable() or len(value) > _LONGEST:
            return ""
        if check[:start].endswith("ssh ") and not HOST.fullmatch(value):
            return ""  # the user's ssh configuration may pass the name to a shell, as in ProxyCommand
        command += check[done:start] + shlex.quote(value)
        done = end
    return command + check[done:]


def misplaced(check: str) -> list[str]:
    """Return the names of the placeholders that are not words of their own: quoting cannot protect them."""
    return [name for _, _, name, alone in _places(check) if not alone]


def quoted_in_commands(text: str, values: Mapping[str, str]) -> str:
    """Return prose with its placeholders filled in; values inside commands are quoted for the shell."""

    def replaced(match: re.Match[str]) -> str:
        value = values.get(match[1], NOT_KNOWN)
        return shlex.quote(value) if value != NOT_KNOWN and in_command(text[: match.start()]) else value

    return _PLACEHOLDER.sub(replaced, text)


def in_command(before: str) -> bool:
    """Return whether text after `before` belongs to a command: in backticks, or after `hackathon VERB`."""
    return before.count("`") % 2 == 1 or bool(re.search(r"\bhackathon [a-z]+(?: [\w{}=<>./-]+)* $", before, re.ASCII))


@lru_cache(maxsize=1000)
def _places(check: str) -> list[tuple[int, int, str, bool]]:
    """Return (start, end, name, whether it is a word of its own) of each placeholder."""
    placeholders = []
    for match in _PLACEHOLDER.finditer(check):
        start, end = match.span()
        word = (start == 0 or check[start - 1] in _ENDS) and (end == len(check) or check[end] in _ENDS)
        placeholders.append((start, end, match[1], word and _is_argument(_PLACEHOLDER.sub("x", check[:start]))))
    return placeholders


def _is_argument(before: str) -> bool:
    """Return whether a word after `before` is a plain argument of a command."""
    begin = _begin_of_command(before)
    if begin is None:
        return False
    words = before[begin:].split()
    while words and _ASSIGNMENT.match(words[0]):
        del words[0]
    if not words or words[0] in _RUNS_WORDS or words[-1][-1] in "<>":
        return False
    if words[0] == "ssh":
        return len(words) == 1  # everything after the host is a command on that host
    return words[0] != "python" or words[1:2] == ["-m"]


def _begin_of_command(before: str) -> int | None:
    """Return where the last command of a text begins; None inside quotes, substitutions, comments, here documents."""
    begin, quote, index = 0, "", 0
    while index < len(before):
        letter = before[index]
        if quote:
            if letter == "\\" and quote == '"':
                index += 1
            elif letter == quote:
                quote = ""
        elif letter in "'\"":
            quote = letter
        elif letter == "\\":
            index += 1
        elif letter in "`(){}" or before.startswith("<<", index):
            return None  # a substitution or a group may have ended; assume the worst
        elif letter == "#" and (index == 0 or before[index - 1] in _ENDS):
            return None
        elif letter in ";|&\n":
            begin = index + 1
        index += 1
    return None if quote else begin


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
