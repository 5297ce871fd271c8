"""Find the marked words of a text that are commands for a shell."""

import re

from hackathon.schedulers.client_commands import CLIENT_COMMANDS

_WORDS = (
    "bash cd chmod conda df env export file find git hackathon head hf horovodrun id ip ldd lfs ls lscpu man module "
    "mpirun nvidia-smi pip ps python python3 quota sed source spack ssh ssh-keygen torchrun ulimit uname unset which"
)
COMMANDS = frozenset(_WORDS.split()) | CLIENT_COMMANDS
"""First words of the commands in advice; one of these alone (`mpirun`) is a name, not a command."""
_ASSIGNED = re.compile(r"(?:[A-Z][A-Z0-9_]*=(?:\$\([^)]*\)|\S+)\s+)*")


def pieces(text: str) -> list[tuple[str, str]]:
    """Return a text as (words, kind): "" plain, `code` between backticks, `command` if a shell can run it as it is."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick without its partner is an ordinary character
        return [(text, "")]
    return [
        (part, "" if index % 2 == 0 else "command" if is_command(part) else "code")
        for index, part in enumerate(parts)
        if part or index % 2
    ]


def is_command(text: str) -> bool:
    """Return whether a text is a complete command: a known first word, further words, and no open quote."""
    words = _ASSIGNED.sub("", text, count=1).split()
    return len(words) > 1 and words[0] in COMMANDS and "…" not in text and text.isprintable()
