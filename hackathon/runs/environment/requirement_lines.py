"""Detect what a requirements file asks for beyond packages of the user's index.

An option (`--index-url`, `-r`, `-e`), an address or a path decides whose code runs during the installation. In another
user's file, that user decides.
"""

import re
from collections.abc import Iterator

_PLAIN = re.compile(
    r"[A-Za-z0-9][\w.-]*\s*"  # name
    r"(?:\[[\w.,\s-]*\])?\s*"  # extras
    r"(?:\(?[<>=!~][\w.*+!<>=~,\s-]*\)?)?\s*"  # versions
    r"(?:;[^@#\\]*?)?"  # environment markers
    r"(?:\s+--hash=\w+:[0-9a-fA-F]+)*\s*\Z",
    re.ASCII,
)
_ARCHIVE = re.compile(r"\.(?:whl|zip|egg|tar|tgz|tbz|tlz|txz|gz|bz2|xz|lzma)\b", re.IGNORECASE)
"""pip installs a file of the current folder with such a name instead of a package."""


def beyond_packages(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number, line) of a requirements file for lines other than a package with its versions."""
    first, joined = 1, ""
    for number, line in enumerate(text.splitlines(), 1):
        if not joined:
            first = number
        if line.endswith("\\"):
            joined += line[:-1]
            continue
        joined += line
        requirement = re.sub(r"(?:^|\s+)#.*", "", joined).strip()
        if requirement and not is_plain(requirement):
            yield first, requirement
        joined = ""
    if joined.strip():
        yield first, joined.strip()


def is_plain(requirement: str) -> bool:
    """Return whether a requirement is only a package with its versions."""
    return _PLAIN.match(requirement) is not None and not _ARCHIVE.search(requirement.partition(";")[0])
