"""The list of jobs, `qstat -xml`, and `qstat -j`, which says why a job waits.

Names in the list are whole; the table of a plain `qstat` cuts them to ten letters.

The list is read entry by entry, each of which has an end mark: a name of somebody else's that is no XML spoils nothing.
"""

import re
from typing import NamedTuple

from hackathon.schedulers.base import ENDING, HELD, QUEUED, RUNNING, UNKNOWN, CommandOutput, JobState
from hackathon.schedulers.words import moment, printable

END = "</job_info>"
LETTERS = frozenset("dEhqrRsSTtwz")
"""Letters of a state that are known; `z` is shown only of ended jobs that are asked for."""

_ENTRY = re.compile(r"<job_list\b[^>]*>(.*?)</job_list>", re.DOTALL)
_QUEUE = re.compile(r"<Queue-List>\s*<name>([^<]*)</name>(.*?)</Queue-List>", re.DOTALL)
_VALUE = re.compile(r"<(\w+)(?: [^<>]*)?>([^<]*)</\1>")
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&amp;": "&"}
_NUMBERED = re.compile(r"job_number: +(\d+)")
_ERROR = re.compile(r"error reason +\d+: +(?:\d\d/\d\d/\d{4} [\d:]+ )?(?:\[\d+:\d+\]: )?(.*)")
_WAITS = re.compile(r"(?:scheduling info: +| {20,})(.*)")
_OF_QUEUES = re.compile(r"queue instance |Job is in error state|\(Collecting of |There are no messages")


class ListedJob(NamedTuple):
    """One job of the list, or some tasks of an array that have the same state."""

    number: str
    name: str
    owner: str
    state: str
    """Letters."""
    start: float | None
    """Seconds since 1970."""
    queue: str
    """`all.q@host` of the job's first host."""
    slots: str
    tasks: str


def is_whole(answer: CommandOutput) -> bool:
    """Return whether an answer is a list that was not cut off. Inside it the waiting jobs have an element of that name,
    too."""
    text = answer.stdout.rstrip()
    return answer.exit_code == 0 and text.endswith(END) and text.count(END) == text.count("<job_info")


def entries(answer: CommandOutput) -> list[ListedJob]:
    """Return what a list has; entries that are cut off, or of which number or state is missing, are left out."""
    jobs = []
    for match in _ENTRY.finditer(answer.stdout):
        values = {name: _plain(value) for name, value in _VALUE.findall(match[1])}
        number, state = values.get("JB_job_number", ""), values.get("state", "")
        if not number.isdigit() or not state:
            continue
        start = moment(re.sub(r"\.\d+\Z", "", values.get("JAT_start_time", "")))
        words = [values.get(name, "") for name in ("JB_name", "JB_owner", "queue_name", "slots", "tasks")]
        jobs.append(ListedJob(number, words[0], words[1], state, start, *words[2:]))
    return jobs


def by_number(answer: CommandOutput) -> dict[str, list[ListedJob]]:
    """Return number → the entries of a job: an array has one for each state of its tasks."""
    jobs: dict[str, list[ListedJob]] = {}
    for entry in entries(answer):
        jobs.setdefault(entry.number, []).append(entry)
    return jobs


def hosts_of(answer: CommandOutput) -> dict[str, str]:
    """Return number of a job → host, from a list of queues on hosts; nothing from one that was cut off."""
    hosts: dict[str, str] = {}
    for match in _QUEUE.finditer(answer.stdout if is_whole(answer) else ""):
        for number in re.findall(r"<JB_job_number>(\d+)</JB_job_number>", match[2]):
            hosts.setdefault(number, printable(_plain(match[1]).partition("@")[2]))
    return hosts


def _plain(text: str) -> str:
    return re.sub(r"&(?:lt|gt|quot|apos|amp);", lambda match: _ENTITIES[match[0]], text)


def state_of(letters: str) -> str:
    """Return the state that letters stand for: `Eqw`, `hqw`, `dr`, `Rr` (running once more)."""
    if not letters or not LETTERS.issuperset(letters) or "z" in letters:
        return UNKNOWN
    if "d" in letters:
        return ENDING
    if "E" in letters:
        return HELD
    if letters.strip("hRqw"):
        return RUNNING  # r, t (being sent), s, S, T (suspended)
    return HELD if "h" in letters else QUEUED if letters.strip("R") else UNKNOWN


def never_runs(letters: str) -> bool:
    """Return whether a job stays in the queue in error until somebody clears the error or deletes it."""
    return "E" in letters and "d" not in letters


_ORDER = (RUNNING, ENDING, UNKNOWN, QUEUED, HELD)


def job_state(jobs: list[ListedJob], reason: str = "") -> JobState:
    """Return the state of a job from its entries: of an array that of the tasks that are furthest."""
    first, *_ = sorted(jobs, key=lambda entry: _ORDER.index(state_of(entry.state)))
    state = state_of(first.state)
    began = state in (RUNNING, ENDING) and not {"q", "w"} & set(first.state)
    hosts = dict.fromkeys(host for entry in jobs if (host := entry.queue.partition("@")[2]))
    return JobState(
        state,
        first.state,
        reason=reason,
        started=True if began and "t" not in first.state else None,
        name=first.name,
        owner=first.owner,
        hosts=tuple(hosts) if began else (),
        never_runs=never_runs(first.state),
        start=first.start if began else None,
        id=first.number,
    )


def reasons(answer: CommandOutput) -> dict[str, str]:
    """Return number → why a job waits: the error of one in error, else what the scheduler says about the job itself.

    Lines about queues are left out: they are the same for all jobs. So is a line that does not end.
    """
    reasons_of_jobs: dict[str, str] = {}
    parts: list[str] = []
    number = ""
    in_waits = False
    for line in [*answer.stdout.split("\n")[:-1], "job_number: 0"]:
        if match := _NUMBERED.match(line):
            if number and parts:
                reasons_of_jobs[number] = printable("; ".join(dict.fromkeys(parts)))
            number, parts, in_waits = match[1], [], False
        elif match := _ERROR.match(line):
            parts.append(match[1].strip())
        elif line.startswith("scheduling info:") or (in_waits and line.startswith(" ")):
            in_waits = True
            match = _WAITS.match(line)
            if match and match[1] and not _OF_QUEUES.match(match[1]):
                parts.append(match[1].strip())
        else:
            in_waits = False
    return reasons_of_jobs
