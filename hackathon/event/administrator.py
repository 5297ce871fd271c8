"""Write a script with the commands that only an administrator can run for an event."""

import os
from collections.abc import Sequence
from pathlib import Path

from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.messages import _


def admin_script(commands: Sequence[Sequence[str]]) -> str:
    """Return the administrator's commands as a script, to be read before it is run: one per line, every word quoted."""
    import shlex

    head = [
        "#!/bin/sh",
        *(
            f"# {line}"
            for line in _(
                "Gives the event's directories to the groups of the teams. Written by `hackathon event init`; "
                "review it before you run it."
            ).splitlines()
        ),
        "set -eu",
    ]
    return "\n".join([*head, *(shlex.join(command) for command in commands)]) + "\n"


def write_script(path: Path, commands: Sequence[Sequence[str]]) -> None:
    """Write the administrator's script. Raises RequestError if another file has its name, HackathonError on failure."""
    text = admin_script(commands)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o700)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(text.encode("utf-8", "surrogateescape"))
    except FileExistsError as error:
        raise RequestError("event.script_exists", "{file} already exists; choose another name", file=path) from error
    except OSError as error:
        raise HackathonError(
            "event.can_not_make", "cannot create {path}: {what}", path=path, what=error.strerror or str(error)
        ) from error
