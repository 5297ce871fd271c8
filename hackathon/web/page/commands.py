"""Which marked words of a text are a command that somebody can copy into a shell."""

import re

from hackathon.schedulers.client_commands import CLIENT_COMMANDS

_WORDS = (
    "bash cd chmod conda df env export file find git hackathon head hf horovodrun id ip ldd lfs ls lscpu man module "
    "mpirun nvidia-smi pip ps python python3 quota sed source spack ssh ssh-keygen torchrun ulimit uname unset which"
)
COMMANDS = frozenset(_WORDS.split()) | CLIENT_COMMANDS
"""First words of the commands that advice names; a word of these alone (`mpirun`) is a name, not a command."""
_ASSIGNED = re.compile(r"(?:[A-Z][A-Z0-9_]*=(?:\$\([^)]*\)|\S+)\s+)*")


def pieces(text: str) -> list[tuple[str, str]]:
    """Return a text as (words, what they are): "" plain, `code` what stands between backticks, `command` of it those
    that a shell runs as they stand.
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick without its other half is a letter like any other
        return [(text, "")]
    return [
        (part, "" if index % 2 == 0 else "command" if is_command(part) else "code")
        for index, part in enumerate(parts)
        if part or index % 2
    ]


def is_command(text: str) -> bool:
    """Return whether a text is a whole command: known by its first word, of more than that, and nothing left open."""
    words = _ASSIGNED.sub("", text, count=1).split()
    return len(words) > 1 and words[0] in COMMANDS and "…" not in text and text.isprintable()
