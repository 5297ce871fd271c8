"""What PBS's commands and Miyabi's qstat printed, as cases of `support.truncation`."""

import re
from collections.abc import Iterator

from hackathon.schedulers import registry
from hackathon.schedulers.base import CommandOutput
from hackathon.schedulers.pbs.commands import Pbs
from hackathon.schedulers.pbs.parse import job_number
from support.pbs_samples import SAMPLES, as_text, blocks_of
from support.truncation import Other, Status

PBS, MIYABI = Pbs(), registry.load("pbs", {"history": "H"})
DULL = r"    (?:Variable_List|Error_Path|Output_Path|Submit_arguments) = |\t"
AT_ONCE = 2
"""Jobs of a sample in one case: each has its answer cut behind a job as well as inside."""

_TABLE = "a table for people: the toolkit asks with -f"
_REFUSAL = "a refusal says nothing about a job, whole or cut"
_INSIDE = "what a job sees, not an answer"
NOT_ASKED = {
    "qstat_x_f_w_4_ranks.txt": "asked for a number of processes: test_pbs_recorded.py cuts it",
    "accounting_requeued.txt": "the server's own log",
    "alternate_form_one_user.txt": _TABLE,
    "dependency_chain.txt": _TABLE,
    "directive_edge_cases.txt": _TABLE,
    "errors_more.txt": _REFUSAL,
    "job1_scatter_pn01_pn02_stdout.txt": _INSIDE,
    "job_control.txt": _TABLE,
    "no_history.txt": "words on stderr: test_pbs_recorded.py reads them",
    "nodefile_variants.txt": _INSIDE,
    "pbsdsh_tmrsh_behaviour.txt": _INSIDE,
    "precedence.txt": _TABLE,
    "qdel.txt": "exit codes only",
    "qstat_Q_f.json": "of queues, in a form that the toolkit does not ask for",
    "qstat_errors.txt": _REFUSAL,
    "qstat_held.txt": _TABLE,
    "qstat_mixed_states.txt": _TABLE,
    "qstat_multi_id.txt": _TABLE,
    "qstat_server_down.txt": _REFUSAL,
    "qsub_errors.txt": _REFUSAL,
    "qsub_interactive.txt": "of a terminal",
    "qsub_misc.txt": _REFUSAL,
    "refusals_more.txt": _REFUSAL,
    "reserved_ports.txt": _REFUSAL,
    "server_down.txt": _REFUSAL,
    "tracejob_user.txt": _TABLE,
    "walltime_and_mem_kill_stderr.txt": "what the job's output ends with",
}
"""Sample → why it is no case."""


def _said(argv: list[str], out: str) -> CommandOutput:
    return CommandOutput(tuple(argv), 0, out, "")


def cases() -> Iterator[Status | Other]:
    for path in sorted(SAMPLES.iterdir()):
        if re.match(r"qstat_(x_)?(t_)?f_\w+\.json\Z|json_odd", path.name):
            yield from _of_jobs(path.name, re.split(r"(?=^Job Id: )", as_text(path.name), flags=re.MULTILINE)[1:])
        elif blocks_of(path.name):
            yield from _of_jobs(path.name, blocks_of(path.name))
    yield from _of_miyabi()
    yield from _of_queues()
    submitted = (SAMPLES / "qsub_ok.txt").read_text().partition("[stdout]\n")[2].partition("[stderr]")[0]
    yield Other("qsub_ok.txt", _said(["qsub"], submitted), lambda said: {PBS.parse_submit(said)})


def _of_jobs(name: str, blocks: list[str]) -> Iterator[Status]:
    """Yield a case for every few jobs of a sample; the last word on a job counts, as it does in one answer."""
    jobs: dict[str, dict[str, str]] = {}
    for block in blocks:
        shown = block.partition("\n")[0].removeprefix("Job Id: ")
        jobs.setdefault(job_number(shown), {})[shown] = block
    numbers = list(jobs)
    for first in range(0, len(numbers), AT_ONCE):
        some = [jobs[each] for each in numbers[first : first + AT_ONCE]]
        ids = [shown for each in some for shown in each]
        answer = _said(
            ["qstat", "-x", "-t", "-f", "-w", *ids], "".join(block for each in some for block in each.values())
        )
        yield Status(f"{name} {' '.join(numbers[first : first + AT_ONCE])}", PBS, ids, [answer], dull=DULL)


def _of_miyabi() -> Iterator[Status]:
    ended = blocks_of("array_by_user.txt")[-1].replace("914[3].pbslogin", "7.opbs")
    active = ended.replace("job_state = F", "job_state = R").replace("    Exit_status = 0\n", "")
    none = "No matching job found. \n"
    for what, live, past in (("active", active, none), ("ended", none, ended)):
        answers = [_said(["qstat", "-f", "7.opbs"], live), _said(["qstat", "-H", "-f", "7.opbs"], past)]
        yield Status(f"miyabi_qstat.txt {what}", MIYABI, ["7.opbs"], answers, dull=DULL)


def _of_queues() -> Iterator[Other]:
    text = (SAMPLES / "miyabi_qstat.txt").read_text()
    listed = text[text.index("SYSTEM: Miyabi-G") : text.index("# --- default table")]
    yield Other("miyabi_qstat.txt --rsc", _said(["qstat", "--rsc"], listed), lambda said: _open(MIYABI, said))
    never = (SAMPLES / "queue_never_enabled.txt").read_text()
    blocks = "".join(re.findall(r"^Queue: .*\n(?:[ \t].*\n)*\n", never, re.MULTILINE))
    limits = "    resources_max.nodect = 16\n    resources_max.walltime = 01:00:00\n"
    opened = f"Queue: open\n{limits}    enabled = True\n    started = True\n\n"
    answer = _said(["qstat", "-Q", "-f"], blocks + opened)
    yield Other("queue_never_enabled.txt", answer, lambda said: _open(PBS, said))
    nodes = _said(["pbsnodes", "-a", "-F", "json"], (SAMPLES / "pbsnodes_a_with_jobs.json").read_text())
    yield Other("pbsnodes_a_with_jobs.json", nodes, lambda said: set(PBS.parse_nodes([said])))


def _open(scheduler: Pbs, answer: CommandOutput) -> set[object]:
    """Return the names of the open queues, and each limit with its queue."""
    queues = scheduler.parse_queues(answer)
    limits = {(queue.name, limit) for queue in queues for limit in (queue.nodes, queue.walltime) if limit is not None}
    return {queue.name for queue in queues if queue.enabled} | limits
