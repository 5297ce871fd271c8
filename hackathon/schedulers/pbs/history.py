"""Query queued and ended jobs, and combine the answers.

One `qstat` with many ids opens a connection for each, from a reserved port of the login node under the default
authentication: 300 ids exhaust the ports, and nobody there can submit for a minute. A list without ids needs one
connection. So few jobs are queried by id, and many by the list of the queue. Of those that are not in it, few are again
queried by id, and many by the list with history.
"""

from hackathon.schedulers.accounting import JobAccounting
from hackathon.schedulers.base import (
    FINISHED,
    NO_ANSWER,
    UNKNOWN,
    CommandOutput,
    JobState,
    SchedulerError,
    StatusAnswer,
)
from hackathon.schedulers.pbs import parse, site, text
from hackathon.schedulers.pbs.bill import account
from hackathon.schedulers.words import words

FEW = 8
"""Ids that are queried individually."""
FALL_BACK = 40
"""The same, if the list with history is too long to read."""

X, H, NONE = "x", "H", "none"
"""Values of `PbsDialect.history`."""


def questions(ids: list[str], history: str) -> list[list[str]]:
    """Return the first queries for the states of jobs."""
    if history == H:
        return [["qstat"]] if len(ids) > FEW else [["qstat", "-f", job_id] for job_id in ids]
    if len(ids) > FEW:
        return [["qstat", *_arrays(ids), "-f", "-w"]]
    return [["qstat", *(["-x"] if history == X else []), *_arrays(ids), "-f", "-w", *ids]]


def bill(ids: list[str], history: str) -> list[list[str]]:
    """Return the first queries for the use of jobs: most of them have ended."""
    if history == H:
        return [["qstat", "-H", "-f", job_id] for job_id in ids]
    past = ["-x"] if history == X else []
    return [["qstat", *past, *_arrays(ids), "-f", "-w", *(ids if len(ids) <= FEW else ())]]


def follow_ups(answers: list[CommandOutput], ids: list[str], history: str) -> list[list[str]]:
    """Return the queries that the first answers make necessary."""
    if history == H:
        return _of_the_site(answers, ids)
    first = answers[0]
    past = ["-x"] if history == X else []
    named = [] if _is_list(first) else ids
    if parse.says_no_history(first):
        return [["qstat", *_arrays(ids), "-f", *named]]
    if first.exit_code == parse.USAGE and not parse.other_qstat(first, history):
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


def _of_the_site(answers: list[CommandOutput], ids: list[str]) -> list[list[str]]:
    if answers[0].argv == ("qstat",):
        table = site.table(answers[0])
        if table is None:
            return []
        active = {parse.number(row.job_id) for row in table[0] if row.word in site.ACTIVE}
        missing = [job_id for job_id in ids if parse.number(job_id) not in active]
        # the table may hide other users' jobs, so it proves nothing alone
        again = [["qstat", "-f", job_id] for job_id in missing] if len(missing) <= FEW else []
        return [*again, *(["qstat", "-H", "-f", job_id] for job_id in missing)]
    other = [] if "-H" in answers[0].argv else ["-H"]
    return [["qstat", *other, "-f", answer.argv[-1]] for answer in answers if _says_none(answer)]


def status(answers: list[CommandOutput], ids: list[str], history: str) -> StatusAnswer:
    """Return the jobs in the server's answers; only jobs that it does not know are absent.

    A job is absent when the server calls it unknown, when a complete list of all jobs lacks it, or when a site's qstat
    has it neither among the active nor among the ended jobs. Every other id without a block is UNKNOWN (truncated or
    partial answer). Raises SchedulerError when the answers contain nothing about the ids.
    """
    blocks = _blocks(answers)
    rows = site.table(answers[0]) if history == H and answers[0].argv == ("qstat",) else None
    words_of = {parse.number(row.job_id): row for row in rows[0]} if rows else {}
    finished = {name for answer in answers for name in parse.HAS_FINISHED.findall(answer.stderr)}
    jobs: dict[str, JobState] = {}
    silent = []
    for job_id in ids:
        mine = [block for block in blocks.get(parse.number(job_id), ()) if parse.same(job_id, block.name)]
        row = words_of.get(parse.number(job_id))
        if mine:
            jobs[job_id] = parse.job_state(mine)
        elif row is not None and row.word in site.ACTIVE and "[" not in job_id:
            jobs[job_id] = JobState(site.ACTIVE[row.word], row.word, started=row.word == "RUNNING" or None)
        elif history != H and any(parse.same(job_id, other) for other in finished):
            jobs[job_id] = JobState(FINISHED, "", reason=words(answers[-1]))
        elif not (_site_lacks if history == H else _server_lacks)(answers, job_id):
            silent.append(job_id)
    if silent and len(silent) == len(ids):
        raise _nothing_said(answers, history)
    for job_id in silent:
        jobs[job_id] = JobState(UNKNOWN, "", reason=words(answers[-1]) if answers[-1].stderr.strip() else "")
    return StatusAnswer(jobs)


def accounts(answers: list[CommandOutput], ids: list[str], history: str) -> dict[str, JobAccounting]:
    """Return the server's accounting of each job; only the last life of a job that was rerun."""
    blocks = _blocks(answers)
    if not blocks and not any(_says_none(answer) for answer in answers) and not _keeps_none(answers):
        raise _nothing_said(answers, history)
    accounts_by_id: dict[str, JobAccounting] = {}
    for job_id in ids:
        mine = [block for block in blocks.get(parse.number(job_id), ()) if parse.same(job_id, block.name)]
        if mine:
            accounts_by_id[job_id] = account(mine)
    return accounts_by_id


def found(answers: list[CommandOutput], name: str) -> list[str]:
    """Return the ids of the jobs with a name in the tables of `-ll`, in numeric order.

    Raises SchedulerError when it is not certain that there are none: an invalid line, a truncated name that may match,
    a full list of ended jobs.
    """
    ids: dict[str, int] = {}
    doubt = ""
    for answer in answers:
        table = site.table(answer)
        if table is None:
            raise _nothing_said([answer], H)
        rows, complete = table
        ids |= {row.job_id: int(parse.number(row.job_id)) for row in rows if row.name == name}
        cut = [
            row.name
            for row in rows
            if len(row.name) == site.CUT_NAME and row.name != name and name.startswith(row.name)
        ]
        if not complete or cut or ("-H" in answer.argv and len(rows) >= site.MOST_ENDED):
            doubt = words(answer)
    if doubt and not ids:
        raise SchedulerError("schedulers.garbage", transient=True, command="qstat", words=doubt)
    return sorted(ids, key=ids.__getitem__)


def _arrays(ids: list[str]) -> list[str]:
    return ["-t"] if any("[]" in job_id for job_id in ids) else []


def _is_list(answer: CommandOutput) -> bool:
    """Return whether a query was for all jobs."""
    return "-f" in answer.argv and all(word.startswith("-") for word in answer.argv[1:])


def _blocks(answers: list[CommandOutput]) -> dict[str, list[text.PrintedBlock]]:
    """Return number → the blocks of a job and its subjobs, each once; later answers take precedence."""
    named = {
        (parse.number(block.name), block.name): block
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
        if not any(parse.same(job_id, block.name) for block in blocks.get(parse.number(job_id), ()))
    ]


def _says_none(answer: CommandOutput) -> bool:
    return site.says_none(answer) or bool(parse.unknown_ids(answer))


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


def _site_lacks(answers: list[CommandOutput], job_id: str) -> bool:
    """Return whether a site's qstat has a job neither among the active nor among the ended ones."""
    about = [answer for answer in answers if answer.argv[-1:] == (job_id,)]
    return {"-H" in answer.argv for answer in about if _says_none(answer)} == {True, False}


def _nothing_said(answers: list[CommandOutput], history: str) -> SchedulerError:
    """Return the error of answers without information about the jobs: that of the last failed command."""
    for answer in reversed(answers):
        if answer.exit_code or parse.other_qstat(answer, history):
            return parse.failed(answer, history=history)
    return SchedulerError("schedulers.garbage", transient=True, command="qstat", words=words(answers[-1]))
