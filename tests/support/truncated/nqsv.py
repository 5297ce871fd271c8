"""What NQSV's commands printed, as cases of `support.truncation`."""

from collections.abc import Iterator
from dataclasses import replace

from hackathon.schedulers.base import CommandOutput, SchedulerError
from hackathon.schedulers.nqsv.commands import Nqsv
from support.nqsv_samples import ANSWERS, BLOCK, JOB, LEFT, QUEUES, TABLE, block, said
from support.truncation import Other, Status

NQSV = Nqsv()
NOT_ASKED: dict[str, str] = {}
"""Sample → why it is no case."""
ID = "949571.nqsv"
LISTED_IDS = ("982450.nqsv", "444211.nqsv", "640170.sqd", "109441.ace-ssiox")


LISTED = said("qstat -f", "".join(BLOCK.stdout.replace(ID, each) for each in LISTED_IDS))
"""The blocks of the table's requests."""


def cases() -> Iterator[Status | Other]:
    yield Status("qstat_f.txt", NQSV, [ID], [BLOCK, JOB])
    for code in ("0", "700", "FF00", "8900", "9", "A"):
        ended = replace(JOB, stdout=JOB.stdout.replace("1100", code))
        yield Status(f"qstat_f.txt, exit code {code}", NQSV, [ID], [BLOCK, ended])
    limit = replace(BLOCK, stdout=BLOCK.stdout.replace("300S", " 15S"))
    yield Status("qstat_f.txt, over time", NQSV, [ID], [limit, replace(JOB, stdout=JOB.stdout.replace("1100", "9"))])
    deleted = replace(BLOCK, stdout=block(State_Transition_Reason="DELETE"))
    yield Status("qstat_f.txt, deleted", NQSV, [ID], [deleted, JOB])
    for state in ("Queued", "Held", "Staging", "Pre-running", "Running"):
        yield Status(f"qstat_f.txt, {state}", NQSV, [ID], [replace(BLOCK, stdout=block(Current_State=state))])
    unknown = ANSWERS["qstat -f 949571.nqsv"].stdout.replace("949571", "949572")
    several = replace(BLOCK, stdout=block(Current_State="Running") + unknown + block(949573, Current_State="Queued"))
    yield Status("qstat_f.txt and qsub_qstat.txt", NQSV, [ID, "949572.nqsv", "949573.nqsv"], [several])
    yield Other("qsub_qstat.txt, qsub", ANSWERS["qsub job.sh"], lambda answer: {NQSV.parse_submit(answer)})
    yield Other("qsub_qstat.txt, qstat", TABLE, lambda answer: _found(answer, LISTED))
    yield Other("qstat_f.txt, of several", LISTED, lambda answer: _found(TABLE, answer))
    yield Other("stderr_tail.txt", said("", LEFT), _left)
    yield Other("qstat_Q.txt", QUEUES, lambda answer: {(each.name, each.enabled) for each in NQSV.parse_queues(answer)})


def _found(table: CommandOutput, blocks: CommandOutput) -> set[object]:
    """Return the ids together: one that is lacking would be submitted again."""
    return {tuple(NQSV.parse_find_named([table, blocks], "izt1852ee"))}


def _left(answer: CommandOutput) -> set[object]:
    found = NQSV.parse_left(answer.stdout, "949564.nqsv")
    if found is None:
        raise SchedulerError("schedulers.garbage", transient=True, command="", words="")
    return {found}
