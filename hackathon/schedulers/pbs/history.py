"""Query queued and ended jobs, and combine the answers.

One `qstat` with many ids opens a connection for each, from a reserved port of the login node under the default
authentication: 300 ids exhaust the ports, and nobody there can submit for a minute. A list without ids needs one
connection. So few jobs are queried by id, and many by the list of the queue. Of those that are not in it, few are again
queried by id, and many by the list with history.
"""

from collections.abc import Callable

from hackathon.schedulers.base import (
    FINISHED,
    NO_ANSWER,
    UNKNOWN,
    CommandOutput,
    JobState,
    SchedulerError,
    StatusAnswer,
)
from hackathon.schedulers.pbs import parse, text
from hackathon.schedulers.reports import MOST_NODES, Charge, JobAccounting
from hackathon.schedulers.words import clock_moment, garbage, words
from hackathon.text.numbers import digits

FEW = 8
"""Ids that are queried individually."""
FALL_BACK = 40
"""The same, if the list with history is too long to read."""

X = "x"
"""The value of `PbsDialect.history` of servers that keep one."""


def questions(ids: list[str], history: str) -> list[list[str]]:
    """Return the first questions for the states of jobs."""
    if len(ids) > FEW:
        return [["qstat", *_arrays(ids), "-f", "-w"]]
    return [["qstat", *(["-x"] if history == X else []), *_arrays(ids), "-f", "-w", *ids]]


def bill(ids: list[str], history: str) -> list[list[str]]:
    """Return the first questions for what jobs used: most of them have ended."""
    past = ["-x"] if history == X else []
    return [["qstat", *past, *_arrays(ids), "-f", "-w", *(ids if len(ids) <= FEW else ())]]


def follow_ups(answers: list[CommandOutput], ids: list[str], history: str) -> list[list[str]]:
    """Return the questions that the first answers make necessary."""
    first = answers[0]
    past = ["-x"] if history == X else []
    named = [] if _is_list(first) else ids
    if parse.says_no_history(first):
        return [["qstat", *_arrays(ids), "-f", *named]]
    if first.exit_code == parse.USAGE and not parse.of_a_site(first):
        return [["qstat", *past, *_arrays(ids), "-f", *named]]  # before version 18 there is no -w
    if not _is_list(first) or "-x" in first.argv or first.exit_code or not past:
        return []
    missing = _not_shown(answers, ids)
    if not missing:
        return []
    return [["qstat", "-x", *_arrays(missing), "-f", "-w", *(missing if len(missing) <= FEW else ())]]


def fall_back(answers: list[CommandOutput], ids: list[str]) -> list[list[str]]:
    """Return queries by id instead of an unreadable list with history, up to FALL_BACK ids."""
    last = answers[-1]
    if len(answers) < 2 or not _is_list(last) or "-x" not in last.argv or last.exit_code != NO_ANSWER:
        return []
    missing = _not_shown(answers[:1], ids)[:FALL_BACK]
    return [["qstat", "-x", *_arrays(missing), "-f", "-w", *missing]]


def status(answers: list[CommandOutput], ids: list[str]) -> StatusAnswer:
    """Return the jobs that PBS showed; absent are those that it calls unknown or that a list of all jobs lacks.

    Raises SchedulerError when nothing in the answers is about the ids.
    """
    finished = {name for answer in answers for name in parse.HAS_FINISHED.findall(answer.stderr)}

    def ended(job_id: str) -> JobState | None:
        if not any(parse.same(job_id, other) for other in finished):
            return None
        return JobState(FINISHED, "", reason=words(answers[-1]))

    return states(answers, ids, ended, _server_lacks, parse.of_a_site)


def states(
    answers: list[CommandOutput],
    ids: list[str],
    without_block: Callable[[str], JobState | None],
    lacks: Callable[[list[CommandOutput], str], bool],
    other_qstat: Callable[[CommandOutput], str],
) -> StatusAnswer:
    """Return the jobs that have a block, or of which `without_block` tells a state; absent are those of `lacks`.

    Every other id is UNKNOWN (torn or partial answer). Raises SchedulerError when nothing is about the ids.
    """
    blocks = _blocks(answers)
    jobs: dict[str, JobState] = {}
    silent = []
    for job_id in ids:
        own = [block for block in blocks.get(parse.job_number(job_id), ()) if parse.same(job_id, block.name)]
        state = parse.job_state(own) if own else without_block(job_id)
        if state is not None:
            jobs[job_id] = state
        elif not lacks(answers, job_id):
            silent.append(job_id)
    if silent and len(silent) == len(ids):
        raise nothing_said(answers, other_qstat)
    for job_id in silent:
        jobs[job_id] = JobState(UNKNOWN, "", reason=words(answers[-1]) if answers[-1].stderr.strip() else "")
    return StatusAnswer(jobs)


def accounts(
    answers: list[CommandOutput], ids: list[str], other_qstat: Callable[[CommandOutput], str] = parse.of_a_site
) -> dict[str, JobAccounting]:
    """Return what the server says that each job used: of a job that was run again only its last life."""
    blocks = _blocks(answers)
    if not blocks and not any(says_none(answer) for answer in answers) and not _keeps_none(answers):
        raise nothing_said(answers, other_qstat)
    accounts_by_id: dict[str, JobAccounting] = {}
    for job_id in ids:
        mine = [block for block in blocks.get(parse.job_number(job_id), ()) if parse.same(job_id, block.name)]
        if mine:
            accounts_by_id[job_id] = account(mine)
    return accounts_by_id


def _arrays(ids: list[str]) -> list[str]:
    return ["-t"] if any("[]" in job_id for job_id in ids) else []


def _is_list(answer: CommandOutput) -> bool:
    """Return whether a query was for all jobs."""
    return "-f" in answer.argv and all(word.startswith("-") for word in answer.argv[1:])


def _blocks(answers: list[CommandOutput]) -> dict[str, list[text.PrintedBlock]]:
    """Return number → the blocks of a job and its subjobs, each once; later answers take precedence."""
    named = {
        (parse.job_number(block.name), block.name): block
        for answer in answers
        for block in text.blocks(answer.stdout, "Job Id:")
    }
    blocks: dict[str, list[text.PrintedBlock]] = {}
    for (number, _), block in named.items():
        blocks.setdefault(number, []).append(block)
    return blocks


def _not_shown(answers: list[CommandOutput], ids: list[str]) -> list[str]:
    blocks = _blocks(answers)
    return [
        job_id
        for job_id in ids
        if not any(parse.same(job_id, block.name) for block in blocks.get(parse.job_number(job_id), ()))
    ]


def says_none(answer: CommandOutput) -> bool:
    """Return whether the answer is that there is no such job."""
    return parse.no_job_found(answer) or bool(parse.unknown_ids(answer))


def _keeps_none(answers: list[CommandOutput]) -> bool:
    """Return whether the server has no history and answered the second query, even with no job at all."""
    return parse.says_no_history(answers[0]) and len(answers) > 1 and answers[-1].exit_code == 0


def _server_lacks(answers: list[CommandOutput], job_id: str) -> bool:
    """Return whether PBS does not know a job: by its message, or by a complete list of all its jobs."""
    if any(parse.same(job_id, other) for answer in answers for other in parse.unknown_ids(answer)):
        return True
    no_history = any(map(parse.says_no_history, answers))
    for answer in answers:
        everything = _is_list(answer) and answer.exit_code == 0 and ("-x" in answer.argv or no_history)
        if everything and not parse.says_no_history(answer):
            listed = text.blocks(answer.stdout, "Job Id:")
            # An empty list is reliable only if another answer says that the server has no history.
            if listed[-1].whole if listed else no_history and not answer.stdout and not answer.stderr:
                return True
    return False


def nothing_said(answers: list[CommandOutput], other_qstat: Callable[[CommandOutput], str]) -> SchedulerError:
    """Return the error of answers that say nothing about the jobs: that of the last that failed."""
    for answer in reversed(answers):
        if answer.exit_code or other_qstat(answer):
            return parse.failed(answer, other_qstat=other_qstat)
    return garbage(answers[-1])


# ---- what jobs used, as a real OpenPBS 23.06 printed it

ENDED, WAITING = frozenset({"F", "X"}), frozenset({"Q", "H", "W", "T"})


def account(blocks: list[text.PrintedBlock]) -> JobAccounting:
    """Return the account of one id from its block, or from those of an array's subjobs (the parent used nothing)."""
    elements = [block for block in blocks if "[]" not in block.name] or blocks
    charges = [_charge(block.attributes) for block in elements]
    complete = all(
        _lives(block.attributes) == (charge is not None) for block, charge in zip(elements, charges, strict=True)
    )
    return JobAccounting(tuple(charge for charge in charges if charge is not None), whole=complete)


def _lives(attributes: dict[str, str]) -> int:
    """Return how often the job was begun (`run_count`, that of a waiting job too)."""
    began = "stime" in attributes and attributes.get("job_state", "") not in WAITING
    return digits(attributes.get("run_count", "")) or int(began)


def _charge(attributes: dict[str, str]) -> Charge | None:
    """Return the last life; `resources_used.walltime` has no time of suspension in it.

    `obittime` is written when the job's end reached the server, `mtime` where an older server has none.
    """
    start = clock_moment(attributes.get("stime", ""))
    letter = attributes.get("job_state", "")
    if start is None or letter in WAITING:
        return None
    nodes = digits(attributes.get("Resource_List.nodect", "")) or 1
    if nodes > MOST_NODES:
        return None
    ended = letter in ENDED
    end = clock_moment(attributes.get("obittime") or attributes.get("mtime", "")) if ended else None
    # of a job that runs it is only brought up to date now and then
    seconds = text.seconds(attributes.get("resources_used.walltime", "")) if ended else None
    gpus = digits(attributes.get("Resource_List.ngpus", ""))
    name, owner = attributes.get("Job_Name", ""), attributes.get("Job_Owner", "").partition("@")[0]
    return Charge(start, end, None if seconds is None else float(seconds), nodes, gpus, name, owner)
