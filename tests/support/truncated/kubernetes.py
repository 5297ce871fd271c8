"""What kubectl printed, as cases of `support.truncation`: JSON, of which no beginning is an answer."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from hackathon.schedulers.base import CommandOutput
from hackathon.schedulers.kubernetes import commands
from hackathon.schedulers.kubernetes.dialect import KubernetesDialect
from support.truncation import Other, Status

SAMPLES = Path(commands.__file__).parent / "samples"
VERSIONS = ("1.20.2", "1.32.4")
ID = "default/hk-abcdefgh"
KUBERNETES = commands.Kubernetes(KubernetesDialect(validation=False))
NOT_ASKED: dict[str, str] = {}


def recorded(version: str) -> list[CommandOutput]:
    """Return every answer of a recording, in its order."""
    text = (SAMPLES / f"kubectl_{version}.txt").read_text()
    found = []
    for line, body, code in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*?)\[exit (\d+)\]$", text, re.MULTILINE):
        lines = body.splitlines(keepends=True)
        err = "".join(each.removeprefix("[stderr] ") for each in lines if each.startswith("[stderr] "))
        out = "".join(each for each in lines if not each.startswith("[stderr] "))
        found.append(CommandOutput(tuple(shlex.split(line)), int(code), out, err))
    return found


def cases() -> Iterator[Status | Other]:
    for version in VERSIONS:
        good = [answer for answer in recorded(version) if answer.argv[1] == "get" and not answer.exit_code]
        asked = next(each for each in good if KUBERNETES.parse_status([each], [ID]).jobs)
        # it is parsed from the beginning each time, so only the lines' ends where nothing of a state stands
        dull = r'\s*"(?!phase|status|type|reason|suspend|completions|name)'
        yield Status(f"kubectl_{version}.txt", KUBERNETES, [ID], [asked], dull=dull)
        quotas = next(each for each in good if "resourcequotas" in each.argv)
        yield Other(
            f"quotas of kubectl_{version}.txt", quotas, lambda said: {q.name for q in KUBERNETES.parse_queues(said)}
        )
