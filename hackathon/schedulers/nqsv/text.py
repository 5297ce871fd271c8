"""Parse the text of NQSV's commands: blocks of `qstat -f`, tables, and the end of a job's error file.

A block begins with `Request ID: …`; its values are indented by four spaces, the headings of its parts by two. It has no
end mark. Tables cut ids to 15 characters and names to 8.
"""

import re
from typing import NamedTuple

ID = re.compile(r"\d{1,12}(?:\[\d*\])?(?:\.[A-Za-z0-9][\w.-]{0,100})?", re.ASCII)
"""`949571.nqsv`: the number, and the site's host."""
CUT_ID, CUT_NAME = 15, 8
"""Longest id and name in a table, in characters."""

_VALUE = re.compile(r" {4}(\S.*?) *= ?(.*?) *\Z")
_HOST = re.compile(r" {4}(\S+)\(\d+\) *\Z")
_PART = re.compile(r" {2}(\S.*): *\Z")
_NONE = re.compile(r"Batch (?:Request|Job): (\S+) does not exist(?: on \S+)?\.\Z")
_SECONDS = re.compile(r"Max: +(\d{1,9})S\b", re.ASCII)
_ROW = re.compile(r"(\S+) +(\S+) +(\S+) +(\S+) +-?\d+ +([A-Z]{3}) ")
_TABLE = re.compile(r"RequestID +ReqName +UserName +Queue +Pri +STT\b")
_RULE = re.compile(r"={20,} *\Z")
_LEFT = re.compile(r"([A-Z][A-Za-z ]*): *(.*?) *\Z")


class RequestBlock(NamedTuple):
    """One request, or one of its jobs, as printed."""

    job_id: str
    values: dict[str, str]
    """By name, with single spaces in it; the first value of a name counts."""
    hosts: tuple[str, ...]


class RequestRow(NamedTuple):
    """One request of a table."""

    job_id: str
    """At most CUT_ID characters of it."""
    name: str
    """At most CUT_NAME characters of it."""
    letters: str
    """Its state."""


class Left(NamedTuple):
    """The end of a request's error file."""

    note: str
    """The scheduler's line before the report; empty without one."""
    values: dict[str, str]


def lines(text: str) -> list[str]:
    """Return the complete lines; a truncated line is never used."""
    return [line.rstrip("\r") for line in text.split("\n")[:-1]]


def blocks(text: str) -> list[RequestBlock]:
    """Return every block; unknown lines are skipped."""
    requests: list[RequestBlock] = []
    in_hosts = False
    for line in lines(text):
        if line.startswith("Request ID: "):
            requests.append(RequestBlock(line.partition(": ")[2].strip(), {}, ()))
            in_hosts = False
        elif not requests:
            continue
        elif part := _PART.match(line):
            in_hosts = part[1].startswith("Execution Hosts")
        elif in_hosts and (host := _HOST.match(line)):
            requests[-1] = requests[-1]._replace(hosts=(*requests[-1].hosts, host[1]))
        elif match := _VALUE.match(line):
            requests[-1].values.setdefault(" ".join(match[1].split()), match[2])
    return requests


def missing(text: str) -> set[str]:
    """Return the ids that do not exist according to complete sentences."""
    return {match[1] for line in lines(text) if (match := _NONE.match(line.strip()))}


def table(text: str) -> list[RequestRow] | None:
    """Return the requests of a table; None for an incomplete one: without its heading, or with invalid lines."""
    *lines, last = text.split("\n")
    rows = iter(lines)
    if last or not any(_TABLE.match(line) for line in rows):
        return None
    matches = [_ROW.match(line) for line in rows if line.strip(" -\r")]
    return [RequestRow(match[1], match[2], match[5]) for match in matches if match] if all(matches) else None


def limit(value: str) -> int | None:
    """Return the seconds of `Max:      300S Warn:      300S`, or None."""
    match = _SECONDS.match(value)
    return int(match[1]) if match else None


def left(text: str, job_id: str) -> Left | None:
    """Return the last complete report on a request in its error file, None without one.

    It is between two lines of `=`, after the scheduler's message about the end and the output of the job itself.
    """
    report, printed = None, lines(text)
    for number, line in enumerate(printed[1:], 1):
        named = _LEFT.match(line)
        if not named or named[1] != "Request ID" or not _RULE.match(printed[number - 1]) or not same(job_id, named[2]):
            continue
        values: dict[str, str] = {}
        for row in printed[number:]:
            if _RULE.match(row):
                note = next((other.strip() for other in reversed(printed[: number - 1]) if other.strip()), "")
                report = Left(note if note.startswith("%NQS") else "", values)
                break
            if match := _LEFT.match(row):
                values.setdefault(match[1], match[2])
    return report


def same(job_id: str, other_id: str) -> bool:
    """Return whether two ids mean one request: the host after the number is optional."""
    number, _, host = job_id.partition(".")
    other, _, other_host = other_id.partition(".")
    return number == other and (not host or not other_host or host == other_host)
