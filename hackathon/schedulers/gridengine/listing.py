"""Parse the list of jobs (`qstat -xml`) and `qstat -j`, which reports why a job waits.

Names in the list are complete; a plain `qstat` cuts them to ten characters. The list is read entry by entry, by their
end marks, so that another user's name that breaks the XML does no harm.
"""

import re
from typing import NamedTuple

from hackathon.schedulers.base import ENDING, HELD, QUEUED, RUNNING, UNKNOWN, CommandOutput, JobState
from hackathon.schedulers.words import moment, printable

END = "</job_info>"
LETTERS = frozenset("dEhqrRsSTtwz")
"""Known letters of a state; `z` appears only for ended jobs that are queried."""

_ENTRY = re.compile(r"<job_list\b[^>]*>(.*?)</job_list>", re.DOTALL)
_QUEUE = re.compile(r"<Queue-List>\s*<name>([^<]*)</name>(.*?)</Queue-List>", re.DOTALL)
_VALUE = re.compile(r"<(\w+)(?: [^<>]*)?>([^<]*)</\1>")
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&amp;": "&"}
_NUMBERED = re.compile(r"job_number: +(\d+)")
_ERROR = re.compile(r"error reason +\d+: +(?:\d\d/\d\d/\d{4} [\d:]+ )?(?:\[\d+:\d+\]: )?(.*)")
_WAITS = re.compile(r"(?:scheduling info: +| {20,})(.*)")
_OF_QUEUES = re.compile(r"queue instance |Job is in error state|\(Collecting of |There are no messages")


class ListedJob(NamedTuple):
    """One job of the list, or the tasks of an array in the same state."""

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
    """Return whether an answer is a complete list. Its part for waiting jobs is an element of the same name."""
    text = answer.stdout.rstrip()
    return answer.exit_code == 0 and text.endswith(END) and text.count(END) == text.count("<job_info")


def entries(answer: CommandOutput) -> list[ListedJob]:
    """Return the entries of a list, except truncated ones and those without number or state."""
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
    """Return number of a job → host, from a list of queues on hosts; {} for a truncated list."""
    hosts: dict[str, str] = {}
    for match in _QUEUE.finditer(answer.stdout if is_whole(answer) else ""):
        for number in re.findall(r"<JB_job_number>(\d+)</JB_job_number>", match[2]):
            hosts.setdefault(number, printable(_plain(match[1]).partition("@")[2]))
    return hosts


def _plain(text: str) -> str:
    return re.sub(r"&(?:lt|gt|quot|apos|amp);", lambda match: _ENTITIES[match[0]], text)


def state_of(letters: str) -> str:
    """Return the state for letters: `Eqw`, `hqw`, `dr`, `Rr` (rerunning)."""
    if not letters or not LETTERS.issuperset(letters) or "z" in letters:
        return UNKNOWN
    if "d" in letters:
        return ENDING
    if "E" in letters:
        return HELD
    if letters.strip("hRqw"):
        return RUNNING  # r, t (transferring), s, S, T (suspended)
    return HELD if "h" in letters else QUEUED if letters.strip("R") else UNKNOWN


def never_runs(letters: str) -> bool:
    """Return whether a job stays in the queue in error until somebody clears the error or deletes it."""
    return "E" in letters and "d" not in letters


_ORDER = (RUNNING, ENDING, UNKNOWN, QUEUED, HELD)


def job_state(jobs: list[ListedJob], reason: str = "") -> JobState:
    """Return the state of a job from its entries; for an array, of its most advanced tasks."""
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
    """Return number → why a job waits: its error, else the scheduler's message about the job itself.

    Lines about queues are omitted, because they are the same for all jobs. So are truncated lines.
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
