"""A scheduler's answers cut off at any byte: no part of an answer may say something better than the whole one.

A connection that breaks, a full disk and a killed command leave the beginning of an answer, and its exit code may be 0.
Each back-end names its recorded answers in `support/truncated/NAME.py`; `tests/unit/schedulers/test_truncation.py` runs
over all of them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from hackathon.schedulers.base import FINISHED, OPEN_STATES, UNKNOWN, CommandOutput, JobState, Scheduler, SchedulerError


@dataclass(frozen=True)
class Status:
    """The answers to one question about jobs, whole: those of `status_argv`, then those of `follow_up_argv`."""

    name: str
    """The sample's file and what of it, shown in the test's id."""
    scheduler: Scheduler
    ids: Sequence[str]
    answers: Sequence[CommandOutput]
    ends: Sequence[str] = ()
    """Texts behind which a format without an end mark may end. A job may be absent from an answer that was cut behind
    one, or before its first byte: nobody can tell, and the toolkit asks twice before it counts a job as lost. There an
    open state may also stand for another one, of an array of which a part is shown, say: it is asked again soon. Empty
    for a format with an end mark: then nothing may be absent."""
    dull: str = r"(?!)"
    """Lines that match are cut at their ends only: long values which no state is made from."""


@dataclass(frozen=True)
class Other:
    """Another answer, and what its parser returns as a set of facts: a part may have fewer of them, never others."""

    name: str
    answer: CommandOutput
    facts: Callable[[CommandOutput], set[object]]
    """Raises SchedulerError, or returns the facts. Examples: `{scheduler.parse_submit(answer)}`; the names of the open
    queues; the (id, seconds) of a bill."""
    dull: str = r"(?!)"


def check(case: Status | Other, every: int = 1) -> int:
    """Cut each answer of the case, in stdout and in stderr; return how many cuts were tried.

    `every`: 1 cuts at every byte; 20 cuts at each line's ends and every twentieth byte, other ones in the next line.
    Raises AssertionError naming the place where a part says more than the whole.
    """
    if isinstance(case, Other):
        return _check_facts(case, every)
    whole = case.scheduler.parse_status(list(case.answers), list(case.ids)).jobs
    assert whole, f"{case.name}: the whole answer has none of the jobs"
    tried = 0
    for position, answer in enumerate(case.answers):
        for part, place, before in _parts(answer, case.dull, every):
            answers = [*case.answers[:position], part, *case.answers[position + 1 :]]
            tried += 1
            try:
                found = case.scheduler.parse_status(answers, list(case.ids)).jobs
            except SchedulerError:
                continue
            may_lack = bool(case.ends) and (not before or before.endswith(tuple(case.ends)))
            for job_id in case.ids:
                problem = _problem(found.get(job_id), whole.get(job_id), may_lack)
                assert not problem, f"{case.name}: {' '.join(answer.argv)} cut {place}: job {job_id}: {problem}"
    return tried


def _check_facts(case: Other, every: int) -> int:
    whole = case.facts(case.answer)
    assert whole, f"{case.name}: the whole answer has no facts"
    tried = 0
    for part, place, _ in _parts(case.answer, case.dull, every):
        tried += 1
        try:
            found = case.facts(part)
        except SchedulerError:
            continue
        assert found <= whole, f"{case.name}: cut {place}: {sorted(map(str, found - whole))} is not in the whole answer"
    return tried


def _problem(found: JobState | None, whole: JobState | None, may_lack: bool) -> str:
    """Return what a part says that the whole answer does not; empty where it says the same or less."""
    if found is None:
        return "" if whole is None or may_lack else "absent, but it is in the whole answer"
    if found.state == UNKNOWN:
        return ""
    if whole is None:
        return f"{found.state}, but the whole answer lacks it"
    ended_without_cause = found.state == FINISHED and whole.state not in OPEN_STATES
    if may_lack and {found.state, whole.state} <= OPEN_STATES:
        return ""
    if found.state != whole.state and not ended_without_cause:
        return f"{found.state} in place of {whole.state}"
    for field in ("exit_code", "signal", "started", "start", "end"):
        value, right = getattr(found, field), getattr(whole, field)
        if value is not None and value != right and not (ended_without_cause and field == "end"):
            return f"{field} {value!r} in place of {right!r}"
    if found.never_runs and not whole.never_runs:
        return "never runs"
    if not set(found.hosts) <= set(whole.hosts):
        return f"hosts {found.hosts} in place of {whole.hosts}"
    return ""


def _parts(answer: CommandOutput, dull: str, every: int) -> Iterator[tuple[CommandOutput, str, str]]:
    """Yield (the answer with one stream cut, where in words, what is left of that stream), as the runner decodes it."""
    for stream in ("stdout", "stderr"):
        raw = getattr(answer, stream).encode("utf-8", "surrogateescape")
        for end in _ends(raw, dull, every):
            left = raw[:end].decode("utf-8", "surrogateescape")
            yield replace(answer, **{stream: left}), f"behind byte {end} of {stream}, {left[-40:]!r}", left


def _ends(raw: bytes, dull: str, every: int) -> Iterator[int]:
    pattern, place = re.compile(dull.encode()), 0
    for number, line in enumerate(raw.splitlines(keepends=True)):
        # places before the line's own end, which is the next line's first place
        ends = {place, place + len(line) - 1}
        if not pattern.match(line):
            ends.update(range(place + number % every, place + len(line), every))
        yield from sorted(ends)
        place += len(line)
