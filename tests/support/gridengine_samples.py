"""The recorded answers of Grid Engine: `$ command`, what it printed, `# rc N`."""

import re
import shlex
from pathlib import Path

from hackathon.schedulers.base import CommandOutput
from hackathon.schedulers.gridengine import commands

SAMPLES = Path(commands.__file__).parent / "samples"
_BLOCK = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*?)# rc (\d+)$", re.MULTILINE)


def recorded(name: str) -> list[tuple[str, CommandOutput]]:
    """Return (command line, answer) of every block; stderr's lines stand there behind `[stderr] `."""
    found = []
    for line, body, code in _BLOCK.findall((SAMPLES / name).read_text("utf-8", "surrogateescape")):
        lines = body.splitlines(keepends=True)
        err = "".join(each.removeprefix("[stderr] ") for each in lines if each.startswith("[stderr] "))
        out = "".join(each for each in lines if not each.startswith("[stderr] "))
        found.append((line, CommandOutput(tuple(shlex.split(line.partition("|")[0])), int(code), out, err)))
    return found


def answer(name: str, line: str, *, again: int = 0) -> CommandOutput:
    """Return the answer to a command line, or its repetition."""
    return [said for asked, said in recorded(name) if asked == line][again]


def as_list(said: CommandOutput) -> CommandOutput:
    """Return a list that was recorded without `-u '*'` as the answer to the toolkit's question."""
    return CommandOutput(tuple(commands.GridEngine().status_argv([])[0]), said.exit_code, said.stdout, said.stderr)
