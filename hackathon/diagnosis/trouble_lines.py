"""Choose the lines whose words may mean a failure, in logs without an error line.

Command-line tools, launchers and daemons say what they lack in words of their own: `E: Unable to locate package x`,
`No available node types can fulfill resource request`.
"""

import re
from collections.abc import Sequence

from hackathon.diagnosis.findings import Evidence
from hackathon.diagnosis.log_tails import End, TailLine, is_progress, is_warning
from hackathon.diagnosis.scan import LogFile
from hackathon.diagnosis.survived import goes_on
from hackathon.diagnosis.unknown import LETTERS, is_result, masked
from hackathon.logs.lines import line_ends

LAST = 40
"""Lines at the end of a log that are searched."""
STEPS = 3
"""Lines about the training's progress after which nothing above them counts."""
_WORDS = re.compile(
    r"(?i)\b(?:can(?:not|'?t)|could(?: not|n't)|unable|fail(?:s|ed|ure|ing)?|errors?|abort(?:s|ed|ing)?|den(?:y|ied)"
    r"|refus\w+|reject\w*|no such|(?:does|is|are)n't|(?:does|do) not|invalid|illegal|unexpected\w*"
    r"|not (?:been )?(?:found|available|exist|detected|supported|configured|allowed|permitted|installed|enough|set)"
    r"|un(?:recogni[sz]ed|known|reachable|supported)|no (?:[\w/-]+ ){1,4}(?:found|detected|available|left|match\w*)"
    r"|exceed\w*|over (?:the )?limit|missing|mismatch\w*|corrupt\w*|truncated|out of \w+|quota|expired|crash\w*"
    r"|too (?:many|few|large|small|long|old)|timed? ?out|killed|terminated|disconnected|lost|must (?:be|have|not)"
    r"|requires?|(?:0|no|zero) (?:files|images|samples|records|gpus?))\b"
)
_INFORMATION = re.compile(
    r"\bINFO\b|^\s*(?:\+|--|\|) |(?i:\b(?:0|no) (?:\w+ )?(?:failed|errors?|failures?|missing|killed|terminated|lost))"
    r"|(?i:\b(?:failed|errors?|failures?|missing|killed|terminated|lost)\b[^:=]{0,30}[:=] *0(?![\d.]))|debconf: "
)
"""Lines of loggers, shells (`set -x`), CMake, tables, and of counts that are 0."""


def trouble_lines(ends: Sequence[End], files: Sequence[LogFile], harmless: Sequence[re.Pattern[str]]) -> list[Evidence]:
    """Return the last lines of logs with words of a failure, by file and line, each kind of line once.

    A line does not count that is a result, a warning or information, that matches `harmless`, that says itself that the
    program goes on, or after which the training does.
    """
    masks: set[str] = set()
    chosen: list[tuple[int, TailLine]] = []
    for number, end in enumerate(ends):
        steps = 0
        for line in reversed(end.lines[-LAST:]):
            text = line.read.text
            steps += is_progress(text)
            if steps >= STEPS:
                break
            if not is_progress(text) and _is_trouble(text, line.read.level) and (mask := masked(text)) not in masks:
                masks.add(mask)
                if not any(pattern.search(text) for pattern in harmless):
                    chosen.append((number, line))
    return [
        _evidence(files[number], line)
        for number, line in sorted(chosen, key=lambda choice: (choice[0], choice[1].offset))
    ]


def _is_trouble(text: str, level: str) -> bool:
    return not (
        _WORDS.search(text) is None
        or level in ("I", "D")
        or _INFORMATION.search(text)
        or is_result(text)
        or is_warning(text, level)
        or goes_on(text)
    )


def _evidence(file: LogFile, line: TailLine) -> Evidence:
    read = line.read
    rank = read.rank if read.rank is not None else file.rank
    number = line_ends(file.path, line.offset) + 1
    return Evidence(file.name, number, read.text.strip()[:LETTERS], rank, read.host or file.host, read.time)
