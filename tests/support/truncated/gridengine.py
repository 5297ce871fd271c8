"""What Grid Engine's commands printed, as cases of `support.truncation`."""

from collections.abc import Iterator

from hackathon.schedulers.base import CommandOutput
from hackathon.schedulers.gridengine.commands import GridEngine
from support.gridengine_samples import answer, as_list, recorded
from support.truncation import Other, Status

GRID_ENGINE = GridEngine()

_NOT_PARSED = "the toolkit does not ask this"
NOT_ASKED = {
    "job_env_pe_hostfile.txt": "what a job sees",
    "mpirun_tight.txt": "what a job prints",
    "qrsh_inherit.txt": "what a job prints",
    "machine.txt": "hosts: a list that is cut off is refused, see test_machine.py",
    "qstat_f.txt": _NOT_PARSED,
    "qstat_j_array.txt": "a reason of a running job is not asked for",
    "qstat_j_running.txt": "a reason of a running job is not asked for",
    "qstat_j_xml.txt": _NOT_PARSED,
    "node_down.txt": "tables for people; host_silent.txt has the forms that the toolkit asks for",
    "other_user.txt": "refusals and tables for people",
    "master_down.txt": "refusals",
    "qsub_errors.txt": "refusals",
    "qsub_limit.txt": "refusals",
    "qstat_empty.txt": "no job, see test_gridengine.py",
    "qacct_other_host_and_array.txt": "what is cut off between two blocks looks whole: the exit code has to tell",
}
"""Sample → why it is no case."""


def _ended(name: str) -> Iterator[Status | Other]:
    """Yield every record of jobs that were asked for by number, as the answer to a question about that job.

    What is cut off between two lives looks whole: test_gridengine.py has the job that ran again and again.
    """
    empty = as_list(answer("qstat_empty.txt", "qstat -u '*' -xml"))
    for line, said in recorded(name):
        number = line.removeprefix("qacct -j ")
        if said.argv[0] == "qacct" and number.isdigit() and said.stdout.count("\nfailed ") == 1:
            yield Status(f"{name} {number}", GRID_ENGINE, [number], [empty, said], dull=r"(?!failed|exit_status|=)")
            yield Other(f"{name} bill of {number}", said, _bill, dull=r"(?!start|end|slots|granted|owner|jobname)")


def _bill(said: CommandOutput) -> set[object]:
    number = said.argv[-1]
    found = GRID_ENGINE.parse_accounting([said], [number])
    return {("known", number)} | {charge for account in found.values() for charge in account.charges}


def cases() -> Iterator[Status | Other]:
    jobs = as_list(answer("qstat_xml.txt", "qstat -xml"))
    why = answer("qstat_j_error_and_unknown.txt", "qstat -j 48")
    yield Status("qstat_xml.txt", GRID_ENGINE, [str(number) for number in range(44, 52)], [jobs, why])
    yield Status("qstat_j_error_and_unknown.txt", GRID_ENGINE, ["48"], [jobs, why])
    for number in ("45", "46", "47", "51"):
        why = answer("qstat_j_pending.txt", f"qstat -j {number}")
        yield Status(f"qstat_j_pending.txt {number}", GRID_ENGINE, [number], [jobs, why])
    for number in ("19", "20", "21", "22", "23"):
        listed = as_list(CommandOutput((), 0, jobs.stdout.replace(">48<", f">{number}<"), ""))
        why = answer("qstat_j_Eqw.txt", f"qstat -j {number}")
        yield Status(f"qstat_j_Eqw.txt {number}", GRID_ENGINE, [number], [listed, why], dull=r".*")
    deleted = answer("host_silent.txt", "qstat -u '*' -xml")
    yield Status("host_silent.txt", GRID_ENGINE, ["1", "2"], [deleted])
    for name in ("qacct.txt", "qacct_deleted_and_errors.txt", "host_back.txt"):
        yield from _ended(name)
    for line, said in recorded("qsub_ok.txt"):
        if said.exit_code == 0 and ("-terse" in line or "has been submitted" in said.stdout):
            yield Other(f"qsub_ok.txt {line}", said, lambda part: {GRID_ENGINE.parse_submit(part)})
    for line, said in recorded("job_control.txt"):
        if said.argv[0] == "qdel":
            yield Other(f"job_control.txt {line}", said, lambda part: {GRID_ENGINE.parse_cancel(part)})
    queues = answer("qstat.txt", "qstat -g c")
    yield Other("qstat.txt queues", queues, lambda part: set(GRID_ENGINE.parse_queues(part)))
    yield Other("names in the list", jobs, lambda part: set(GRID_ENGINE.parse_find_named([part], "arr")))
