"""The recorded answers of PJM, and answers with the columns that the toolkit asks for."""

import re
from pathlib import Path

from hackathon.schedulers.base import CommandOutput
from hackathon.schedulers.pjm import commands
from hackathon.schedulers.pjm.commands import CHOSEN

SAMPLES = Path(commands.__file__).parent / "samples"


def recorded(name: str) -> list[CommandOutput]:
    """Return the answer of every `$ command` of a sample; `#` begins what its collectors wrote."""
    found = []
    for line, body in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", (SAMPLES / name).read_text("utf-8"), re.MULTILINE):
        shown = "".join(each + "\n" for each in body.splitlines() if not each.startswith(("#", "[ERR")))
        found.append(CommandOutput(tuple(line.split("#")[0].split()), 0, shown, ""))
    return found


def said(argv: str, out: str = "", err: str = "", code: int = 0) -> CommandOutput:
    """Return an answer."""
    return CommandOutput(tuple(argv.split()), code, out, err)


def chosen(*rows: str, past: bool = False, ids: str = "7") -> CommandOutput:
    """Return an answer with the columns that are asked for."""
    text = "".join(f"{row}\n" for row in ("JOB_ID     ST  EC  PC  SN  USER     REASON", *rows))
    return said(f"pjstat{' -H' if past else ''} -v --choose {CHOSEN} {ids}", text)
