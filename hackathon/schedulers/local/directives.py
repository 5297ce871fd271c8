"""Read the directives of a local job: `#HK walltime=600`, `#HK processes=4 threads=1`."""

from typing import NamedTuple

from hackathon.text.errors import RequestError

PREFIX = "#HK"
LARGEST = {"walltime": 10 * 366 * 86400, "processes": 1_000_000, "threads": 1_000_000}


class Directives(NamedTuple):
    """The directives of a script."""

    walltime: int
    """Seconds."""
    processes: int = 1
    threads: int = 1
    """Threads per process."""

    @property
    def slots(self) -> int:
        """Slots that the job needs; the queue limits this to the machine's."""
        return self.processes * self.threads


def parse(script: bytes) -> Directives:
    """Return the directives before the first command.

    `walltime` is required, the others default to 1. Raises RequestError for an unknown or repeated name, a value that
    is not a whole number above zero, and a word that is not `name=value`.
    """
    values: dict[str, int] = {}
    for number, raw in enumerate(script.splitlines(), 1):
        line = raw.decode("utf-8", "replace").strip()
        if line and not line.startswith("#"):
            break
        if not line.startswith(PREFIX):
            continue
        words = line[len(PREFIX) :].split()
        if not words or not line[len(PREFIX)].isspace():
            raise RequestError(
                "local.directive",
                "Line {line} of the job script: {word} is not valid.",
                hint="Local jobs support `#HK walltime=SECONDS`, `processes=N`, and `threads=N`, each once and "
                "greater than zero.",
                line=number,
                word=line,
            )
        for word in words:
            name, _, value = word.partition("=")
            good = name in LARGEST and name not in values and value.isascii() and value.isdigit() and len(value) < 12
            if not good or not 0 < int(value) <= LARGEST[name]:
                raise RequestError(
                    "local.directive",
                    "Line {line} of the job script: {word} is not valid.",
                    hint="Local jobs support `#HK walltime=SECONDS`, `processes=N`, and `threads=N`, each once and "
                    "greater than zero.",
                    line=number,
                    word=word,
                )
            values[name] = int(value)
    if "walltime" not in values:
        raise RequestError(
            "local.no_walltime",
            "The job script has no walltime.",
            hint="Add `#HK walltime=600` (seconds) to the comments at its top.",
        )
    return Directives(**values)
