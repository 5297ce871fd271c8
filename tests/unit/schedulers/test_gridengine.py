"""Grid Engine: what a real 8.1.9 printed (`samples/`), and what is documented of Univa's and Altair's."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.config.load import load_recipe
from hackathon.jobs.render import render
from hackathon.jobs.request import Options
from hackathon.jobs.resolve import Sources, resolve
from hackathon.runs.status import load_scheduler
from hackathon.runs.submit import submit
from hackathon.schedulers import registry
from hackathon.schedulers.base import NO_ANSWER, CommandOutput, JobState, SchedulerError, Submission
from hackathon.schedulers.dialect import Header
from hackathon.schedulers.gridengine import ids, listing, parse, records
from hackathon.schedulers.gridengine.commands import GridEngine
from hackathon.schedulers.gridengine.dialect import GridEngineDialect
from hackathon.schedulers.registry import load_cluster
from hackathon.schedulers.reports import Charge, JobDetails
from hackathon.text.errors import RequestError
from support.gridengine_samples import answer, as_list, recorded
from support.runs import new_run

GE = GridEngine()
JOBS = as_list(answer("qstat_xml.txt", "qstat -xml"))
EMPTY = as_list(answer("qstat_empty.txt", "qstat -u '*' -xml"))
NUMBERS = [str(number) for number in range(44, 52)]


def said(argv: list[str], out: str = "", err: str = "", code: int = 0) -> CommandOutput:
    return CommandOutput(tuple(argv), code, out, err)


def state_of(name: str, line: str) -> JobState:
    """Return the state of a job that left the list, by its recorded record."""
    record = answer(name, line)
    return GE.parse_status([EMPTY, record], [record.argv[-1]]).jobs[record.argv[-1]]


# ---- submission


def submission(**more: object) -> Submission:
    folder = Path("/home/alice/runs/r")
    return replace(Submission(folder / "job.sh", folder, "hk-abcdefgh", folder / "logs" / "scheduler.log"), **more)


def test_submission_names_the_job_and_its_output_below_the_run() -> None:
    assert GE.submit_argv(submission()) == [
        "qsub", "-terse", "-N", "hk-abcdefgh", "-o", "logs/scheduler.log", "-j", "y", "job.sh",
    ]  # fmt: skip
    argv = GE.submit_argv(submission(after=("any", "12"), options=("-g", "gi99")))
    assert argv[-5:] == ["-hold_jid", "12", "-g", "gi99", "job.sh"]
    assert (GE.supports_after("any"), GE.supports_after("ok")) == (True, False)


@pytest.mark.parametrize(
    ("out", "job_id"),
    [
        ("12\n", "12"),
        ("7.1-4:2\n", "7.1-4:2"),
        ("TSUBAME points left: 0000\nMaintenance on 12/24\n307\n", "307"),
        ('Your job 24 ("okjob") has been submitted\n', "24"),
        ('Your job-array 6.1-4:1 ("arr") has been submitted\n', "6.1-4:1"),
    ],
)
def test_id_of_a_submission(out: str, job_id: str) -> None:
    assert GE.parse_submit(said(["qsub"], out)) == job_id


@pytest.mark.parametrize(
    "out", ["", "12", "0000\n", "0\n", "-f\n", "Your job 2", "verification: found suitable queue(s)\n"]
)
def test_answer_without_an_id_is_no_submission_and_no_refusal(out: str) -> None:
    with pytest.raises(SchedulerError) as error:
        GE.parse_submit(said(["qsub"], out))
    assert error.value.transient and error.value.id == "schedulers.garbage"


REFUSALS = {
    "-q nosuch.q": "unknown_queue",
    "-pe nosuchpe 4": "unknown_pe",
    "-l nosuch=1": "unknown_type",
    "-l node_f=2": "refused",  # a verifier's own words
    "-l h_rt=1d": "bad_value",
    "--nosuch": "bad_options",
    "-W group_list=gi99": "bad_options",
    "-P noproj": "bad_group",
    "-g mygroup": "no_group_option",
    "-w e -l gpu=99": "no_such_nodes",
    "-p 10": "not_authorised",
    "-N 1abc": "bad_value",
}


@pytest.mark.parametrize("options", list(REFUSALS))
def test_refusals_have_the_servers_words(options: str) -> None:
    refusal = answer("qsub_errors.txt", f"qsub {options} ok.sh")
    with pytest.raises(SchedulerError) as error:
        GE.parse_submit(refusal)
    assert error.value.id == f"schedulers.{REFUSALS[options]}" and not error.value.transient
    assert refusal.stderr.splitlines()[0][:60] in str(error.value) and "Exiting" not in str(error.value)
    assert error.value.exit_code == 2


def test_every_recorded_refusal_is_one() -> None:
    refused = [said for _, said in recorded("qsub_errors.txt") if said.exit_code]
    assert len(refused) > 20
    for each in refused:
        with pytest.raises(SchedulerError) as error:
            GE.parse_submit(each)
        assert not error.value.transient


def test_a_refused_option_leads_to_the_dialect() -> None:
    with pytest.raises(SchedulerError) as error:
        GE.parse_submit(answer("qsub_errors.txt", "qsub -g mygroup ok.sh"))
    assert "dialect.group: project" in str(error.value)
    usage = said(["qsub"], "", "qsub: invalid option -- 't'\nusage: qsub [-a date_time] [-A account_string]\n", 2)
    with pytest.raises(SchedulerError) as error:
        GE.parse_submit(usage)
    assert "scheduler: pbs" in str(error.value)


def test_too_many_jobs_is_a_refusal_for_now() -> None:
    with pytest.raises(SchedulerError) as error:
        GE.parse_submit(answer("qsub_limit.txt", "qsub -terse sleep.sh 60", again=1))
    assert (error.value.id, error.value.transient, error.value.no_job) == ("schedulers.user_limit", True, True)


@pytest.mark.parametrize("line", ["qsub -terse exit.sh 0", "qstat -xml", "qdel 8"])
def test_master_that_is_down_is_told_by_its_words(line: str) -> None:
    down = answer("master_down.txt", line)
    asked = {"qsub": GE.parse_submit, "qdel": GE.parse_cancel, "qstat": lambda each: GE.parse_status([each], ["1"])}
    with pytest.raises(SchedulerError) as error:
        asked[down.argv[0]](down)  # type: ignore[operator]
    assert error.value.transient and error.value.id == "schedulers.server_down"
    assert not error.value.no_job  # the master may have the job although its answer was lost


# ---- jobs in the list


def test_states_of_listed_jobs() -> None:
    jobs = GE.parse_status([JOBS], NUMBERS).jobs
    assert {number: (job.state, job.raw) for number, job in jobs.items()} == {
        "44": ("RUNNING", "r"), "45": ("QUEUED", "qw"), "46": ("HELD", "hqw"), "47": ("HELD", "hqw"),
        "48": ("HELD", "Eqw"), "49": ("RUNNING", "r"), "50": ("RUNNING", "s"), "51": ("QUEUED", "qw"),
    }  # fmt: skip
    assert (jobs["48"].name, jobs["48"].owner) == ("hk-abcdefgh", "alice")  # the table has `hk-abcdefg`
    assert jobs["44"].hosts == ("sge03",) and jobs["44"].start == records._moment("Sun Nov 22 14:39:53 2026")
    assert [number for number, job in jobs.items() if job.never_runs] == ["48"]
    assert GE.parse_status([JOBS], ["49.1", "49.3"]).jobs["49.1"].state == "RUNNING"
    assert GE.parse_status([JOBS], ["49.1", "49.3"]).jobs["49.3"].state == "QUEUED"


@pytest.mark.parametrize(
    ("letters", "state"),
    [
        ("qw", "QUEUED"), ("hqw", "HELD"), ("Eqw", "HELD"), ("r", "RUNNING"), ("t", "RUNNING"), ("Rr", "RUNNING"),
        ("Rq", "QUEUED"), ("hRwq", "HELD"), ("s", "RUNNING"), ("S", "RUNNING"), ("T", "RUNNING"), ("dr", "ENDING"),
        ("dt", "ENDING"), ("dEqw", "ENDING"), ("z", "UNKNOWN"), ("P", "UNKNOWN"), ("hr", "RUNNING"), ("R", "UNKNOWN"),
        ("", "UNKNOWN"),
    ],
)  # fmt: skip
def test_letters(letters: str, state: str) -> None:
    assert listing.state_of(letters) == state


def test_waiting_jobs_are_asked_for_their_reason_in_one_question() -> None:
    asked = GE.follow_up_argv([JOBS], [*NUMBERS, "52"])
    assert asked == [["qstat", "-j", "45,46,47,48,51"], ["qacct", "-j", "52"]]
    assert GE.follow_up_argv([JOBS], ["44", "50"]) == []
    why = answer("qstat_j_error_and_unknown.txt", "qstat -j 48")
    stuck = GE.parse_status([JOBS, why], ["48"]).jobs["48"]
    assert stuck.never_runs and "can't open output file" in stuck.reason
    why = answer("qstat_j_pending.txt", "qstat -j 51")
    assert "it only offers 2 slots" in GE.parse_status([JOBS, why], ["51"]).jobs["51"].reason


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("19", "No such file or directory"), ("20", "execvlp"), ("21", "can't chdir to /nosuchdir"),
        ("22", "can't open output file"), ("23", "exit_status of job start = 100"),
    ],
)  # fmt: skip
def test_reasons_of_jobs_in_error(number: str, words: str) -> None:
    assert words in listing.reasons(answer("qstat_j_Eqw.txt", f"qstat -j {number}"))[number]


def test_deleted_job_on_a_host_that_does_not_answer_has_lost_its_node() -> None:
    deleted = answer("host_silent.txt", "qstat -u '*' -xml")
    first, silent = (answer("host_silent.txt", "qstat -f -qs u -u '*' -xml", again=number) for number in (0, 1))
    assert GE.follow_up_argv([deleted], ["1"]) == [list(silent.argv)]
    assert GE.parse_status([deleted], ["1"]).jobs["1"].state == "ENDING"
    lost = GE.parse_status([deleted, silent], ["1"]).jobs["1"]
    assert lost.state == "NODE_FAILED" and "ge2" in lost.reason
    running = said(list(deleted.argv), deleted.stdout.replace(">dr<", ">r<"))
    assert GE.parse_status([running, first], ["1"]).jobs["1"].state == "RUNNING"  # it may go on there
    for end in range(0, len(silent.stdout) - len("</job_info>\n")):
        cut = replace(silent, stdout=silent.stdout[:end])
        assert GE.parse_status([deleted, cut], ["1"]).jobs["1"].state == "ENDING"


def test_names_of_strangers_spoil_nothing() -> None:
    odd = '<job_list state="pending">\n<JB_job_number>9</JB_job_number>\n<JB_name>a%lt;b\udcff\x01&zz;</JB_name>\n'
    text = JOBS.stdout.replace("  <job_info>\n", f"  <job_info>\n{odd}<state>qw</state>\n</job_list>\n")
    jobs = GE.parse_status([replace(JOBS, stdout=text)], [*NUMBERS, "9"]).jobs
    assert jobs["9"].state == "QUEUED" and jobs["44"].state == "RUNNING"


@given(st.text(max_size=200), st.integers(0, 1), st.text(max_size=50))
def test_garbage_is_never_an_answer(out: str, code: int, err: str) -> None:
    with pytest.raises(SchedulerError):
        GE.parse_status([said(parse.LIST, out, err, code)], ["1"])
    with pytest.raises(SchedulerError):
        GE.parse_find_named([said(parse.LIST, out, err, code), said(["qacct", "-j", "hk-x"], out, "", 0)], "hk-x")


# ---- jobs that left the list


@pytest.mark.parametrize(
    ("number", "state", "raw", "exit_code", "signal"),
    [
        ("1", "SUCCEEDED", "0/0", 0, None), ("2", "FAILED", "0/7", 7, None), ("3", "FAILED", "0/137", 137, 9),
        ("4", "FINISHED", "100/137", 137, 9), ("5", "FAILED", "0/139", 139, 11), ("6", "TIMEOUT", "37/137", 137, 9),
        ("7", "TIMEOUT", "37/137", 137, 9), ("8", "SUCCEEDED", "0/0", 0, None), ("9", "FINISHED", "100/138", 138, 10),
        ("10", "TIMEOUT", "37/137", 137, 9),
    ],
)  # fmt: skip
def test_ends(number: str, state: str, raw: str, exit_code: int, signal: int | None) -> None:
    job = state_of("qacct.txt", f"qacct -j {number}")
    assert (job.state, job.raw, job.exit_code, job.signal, job.started) == (state, raw, exit_code, signal, True)
    assert job.owner == "alice" and job.hosts and job.start is not None and job.end is not None


@pytest.mark.parametrize(
    ("number", "state", "started"),
    [
        ("11", "FINISHED", True), ("13", "FINISHED", True), ("15", "FAILED", True), ("19", "FAILED", False),
        ("20", "FAILED", False), ("21", "FAILED", False), ("22", "FAILED", False), ("23", "FAILED", True),
        ("24", "FINISHED", True),
    ],
)  # fmt: skip
def test_ends_of_deleted_and_broken_jobs(number: str, state: str, started: bool) -> None:
    job = state_of("qacct_deleted_and_errors.txt", f"qacct -j {number}")
    assert (job.state, job.started) == (state, started) and (job.reason or job.exit_code)


def test_host_that_died_with_a_job_and_came_back() -> None:
    job = state_of("host_back.txt", "qacct -j 3")
    assert (job.state, job.started, job.raw) == ("NODE_FAILED", None, "19/0")


def test_deleted_in_the_queue_is_on_no_record() -> None:
    gone = answer("qacct_deleted_and_errors.txt", "qacct -j 14")
    assert GE.parse_status([EMPTY, gone], ["14"]).jobs == {}
    words = "/opt/ge/default/common/accounting: No such file or directory\n"
    for out in ("", "no jobs running since startup\n"):
        nowhere = said(["qacct", "-j", "14"], out, words, 1)
        assert GE.parse_status([EMPTY, nowhere], ["14"]).jobs == {} == GE.parse_accounting([nowhere], ["14"])


@pytest.mark.parametrize(
    "record",
    [
        said(["qacct", "-j", "14"], "", "", NO_ANSWER),
        said(["qacct", "-j", "14"], "", "error: job id 14 not fou", 1),
        said(["qacct", "-j", "14"], "", "", 1),
        said(["qacct", "-j", "14"], "", "", 0),
        said(["qacct", "-j", "14"], "", "can't open accounting file\n", 1),
        said(["qacct", "-j", "1"], "", "error: job id 1 not found\n", 1),
    ],
)
def test_absent_only_by_a_whole_list_and_a_whole_answer(record: CommandOutput) -> None:
    assert GE.parse_status([EMPTY, record], ["14"]).jobs["14"].state == "UNKNOWN"
    assert GE.parse_status([EMPTY], ["14"]).jobs["14"].state == "UNKNOWN"
    gone = answer("qacct_deleted_and_errors.txt", "qacct -j 14")
    for end in range(len(EMPTY.stdout) - 1):
        with pytest.raises(SchedulerError):
            GE.parse_status([replace(EMPTY, stdout=EMPTY.stdout[:end]), gone], ["14"])


def test_site_without_records() -> None:
    lonely = GridEngine(GridEngineDialect(history="none"))
    assert lonely.follow_up_argv([EMPTY], ["14"]) == [] and lonely.parse_status([EMPTY], ["14"]).jobs == {}
    assert lonely.accounting_argv(["1"]) == [] and lonely.find_argv("hk-x") == [parse.LIST]


@pytest.mark.slow
def test_job_that_ran_again_and_again_is_cut_between_its_lives() -> None:
    record = answer("qacct_deleted_and_errors.txt", "qacct -j 24")
    assert record.stdout.count("=====\n") == 5
    found = {GE.parse_status([EMPTY, replace(record, stdout=record.stdout[:end])], ["24"]).jobs["24"].state
             for end in range(len(record.stdout))}  # fmt: skip
    assert found == {"UNKNOWN", "FINISHED"}
    charges = GE.parse_accounting([record], ["24"])["24"].charges
    assert len(charges) == 5 and all(charge.nodes == 1 for charge in charges)


def test_what_ran_on_other_hosts_is_no_life() -> None:
    name = "qacct_other_host_and_array.txt"
    job = state_of(name, "qacct -j 2")
    assert (job.state, job.exit_code, job.hosts) == ("FAILED", 7, ("ge1",))
    (charge,) = GE.parse_accounting([answer(name, "qacct -j 2")], ["2"])["2"].charges
    assert (charge.end or 0) - charge.start == 4 and charge.nodes is None
    array = state_of(name, "qacct -j 6")
    assert array.state == "SUCCEEDED"
    one = GE.parse_accounting([answer(name, "qacct -j 6")], ["6.2"])["6.2"].charges
    assert len(one) == 1 and len(GE.parse_accounting([answer(name, "qacct -j 6")], ["6"])["6"].charges) == 3


MANY = [str(number) for number in range(1, 30)]


def test_many_ended_jobs_are_one_question_by_the_names_of_runs() -> None:
    named = answer("qacct_other_host_and_array.txt", "qacct -j hk-*")
    assert GE.follow_up_argv([EMPTY], MANY) == [["qacct", "-j", "hk-*"]]
    few = GE.fall_back_argv([EMPTY, named], MANY)
    assert few == [["qacct", "-j", each] for each in ("2", "3", "4", "5", "7", "8", "9", "10")]
    gone = said(few[0], "", "error: job id 2 not found\n", 1)
    jobs = GE.parse_status([EMPTY, named, gone], MANY).jobs
    assert (jobs["1"].state, jobs["6"].state, jobs["3"].state, "2" in jobs) == ("FAILED", "SUCCEEDED", "UNKNOWN", False)
    assert GE.fall_back_argv([EMPTY, gone], ["2"]) == []
    assert GE.accounting_argv(MANY) == [["qacct", "-j", "hk-*"]]
    assert GE.follow_up_argv([named], MANY) == few
    assert set(GE.parse_accounting([named, gone], MANY)) == {"1", "6"}


UNIVA = """==============================================================
jobname      hk-abcdefgh
jobnumber    12345
taskid       undefined
owner        carol
qsub_time    07/01/2018 11:55:14.706
start_time   07/01/2018 11:55:18.170
end_time     07/01/2018 11:56:18.190
granted_pe   perack17
slots        160
failed       {failed}
deleted_by   {deleted_by}
exit_status  {code}
wallclock    63.768
jc_name      NONE
"""


@pytest.mark.parametrize(
    ("failed", "deleted_by", "code", "state"),
    [
        ("0", "NONE", 0, "SUCCEEDED"), ("100 : assumedly after job", "carol", 137, "CANCELLED"),
        ("100 : assumedly after job", "NONE", 137, "FINISHED"),
        ("44  : execd enforced h_rt limit", "NONE", 137, "TIMEOUT"),
        ("0", "carol", 0, "SUCCEEDED"),
    ],
)  # fmt: skip
def test_records_of_univas_grid_engine(failed: str, deleted_by: str, code: int, state: str) -> None:
    text = UNIVA.format(failed=failed, deleted_by=deleted_by, code=code)
    record = said(["qacct", "-j", "12345"], text)
    job = GE.parse_status([EMPTY, record], ["12345"]).jobs["12345"]
    assert (job.state, job.name, job.owner, (job.end or 0) - (job.start or 0)) == (state, "hk-abcdefgh", "carol", 60)
    (charge,) = GE.parse_accounting([record], ["12345"])["12345"].charges
    assert charge == Charge(job.start or 0.0, job.end, None, None, None, "hk-abcdefgh", "carol")
    whole_nodes = GridEngine(GridEngineDialect(pe="perack", slots_per_node=80))
    assert whole_nodes.parse_accounting([record], ["12345"])["12345"].charges[0].nodes == 2


def test_a_number_that_is_used_again_is_the_last_job() -> None:
    old, new = UNIVA.format(failed=0, deleted_by="NONE", code=0), UNIVA.format(failed=0, deleted_by="NONE", code=3)
    record = said(["qacct", "-j", "12345"], old.replace("hk-abcdefgh", "other") + new)
    assert GE.parse_status([EMPTY, record], ["12345"]).jobs["12345"].exit_code == 3
    assert len(GE.parse_accounting([record], ["12345"])["12345"].charges) == 1


# ---- cancellation, names, queues


@pytest.mark.parametrize(
    ("line", "again", "told"),
    [
        ("qdel 45", 0, True),
        ("qdel 45", 1, False),
        ("qdel 9999", 0, False),
        ("qdel 44", 0, True),
        ("qdel -f 48", 0, True),
    ],
)
def test_cancellation(line: str, again: int, told: bool) -> None:
    assert GE.parse_cancel(answer("job_control.txt", line, again=again)) is told


def test_cancellation_again_of_others_and_without_an_answer() -> None:
    assert GE.parse_cancel(answer("host_silent.txt", "qdel 1", again=1))  # `is already in deletion`
    with pytest.raises(SchedulerError) as error:
        GE.parse_cancel(answer("other_user.txt", "qdel 8"))
    assert error.value.id == "schedulers.not_authorised"
    with pytest.raises(SchedulerError) as error:
        GE.parse_cancel(said(["qdel", "8"]))
    assert error.value.transient


def test_jobs_are_found_by_their_whole_name() -> None:
    none = said(["qacct", "-j", "hk-abcdefgh"], "", "error: job name hk-abcdefgh not found\n", 1)
    assert GE.find_argv("hk-abcdefgh") == [parse.LIST, list(none.argv)]
    assert GE.parse_find_named([JOBS, none], "hk-abcdefgh") == ["48"]
    assert GE.parse_find_named([JOBS, none], "hk-abcdefg") == []
    ended = answer("qacct.txt", "qacct -j ok")
    assert GE.parse_find_named([EMPTY, ended], "ok") == ["1"] and GE.parse_find([EMPTY, none]) == []
    with pytest.raises(SchedulerError):
        GE.parse_find_named([EMPTY, said(["qacct", "-j", "hk-x"], "", "commlib error", 1)], "hk-x")
    with pytest.raises(SchedulerError):
        GE.parse_find_named([replace(EMPTY, stdout=EMPTY.stdout[:-12]), none], "hk-abcdefgh")


def test_queues() -> None:
    found = GE.parse_queues(answer("qstat.txt", "qstat -g c"))
    assert [(queue.name, queue.enabled, queue.note) for queue in found] == [
        ("all.q", True, "10 of 12 slots in use"), ("short.q", True, "0 of 12 slots in use"),
    ]  # fmt: skip
    with pytest.raises(SchedulerError):
        GE.parse_queues(said(["qstat", "-g", "c"]))


@pytest.mark.parametrize("text", ["12", "7.3", "7.1-4:2", "9999999"])
def test_ids(text: str) -> None:
    assert GE.is_id(text) and GE.same_job(text, text) and GE.same_job(ids.job_number(text), text)


@pytest.mark.parametrize("text", ["0", "0000", "-f", "12 13", "*", "hk-abcdefgh", "12\n", "7.", "٣"])
def test_no_ids(text: str) -> None:
    assert not GE.is_id(text)


@pytest.mark.parametrize(("name", "number"), [("job.sh.o12", "12"), ("arr.o6.1", "6"), ("x.e12", None), ("o12", None)])
def test_output_files_of_jobs_submitted_by_hand(name: str, number: str | None) -> None:
    found = [match[1] for pattern in GE.output_names if (match := pattern.match(name))]
    assert found == ([number] if number else [])


# ---- the dialect and the header

HEADER = Header("gpu.q", "gi99", None, 2, 8, 4, 3, 4, 3600)


@pytest.mark.parametrize(
    ("dialect", "wanted"),
    [
        (GridEngineDialect(), {"queue": "gpu.q", "resource": None, "pe": None, "project": None}),
        (GridEngineDialect(pe="mpi"), {"pe": "mpi 8"}),
        (GridEngineDialect(pe="node", slots_per_node=36, group="project"), {"pe": "node 72", "project": "gi99"}),
        (GridEngineDialect(queue="resource", group="g"), {"queue": None, "resource": "gpu.q=2", "project": None}),
        (GridEngineDialect(pe="mpi"), {"gpu": None}),
        (GridEngineDialect(pe="mpi", gpu_request="slot"), {"pe": "mpi 8", "gpu": "gpu=1"}),
        (GridEngineDialect(gpu_request="slot", gpu_resource="ngpus"), {"pe": None, "gpu": "ngpus=4"}),
        (GridEngineDialect(pe="node", slots_per_node=2, gpu_request="slot"), {"pe": "node 4", "gpu": "gpu=2"}),
        (GridEngineDialect(pe="node", slots_per_node=36, gpu_request="host"), {"pe": "node 72", "gpu": "gpu=4"}),
        (GridEngineDialect(pe="node", slots_per_node=36, gpu_request="job"), {"gpu": "gpu=4"}),
    ],
)
def test_dialects(dialect: GridEngineDialect, wanted: dict[str, object]) -> None:
    shown = dialect.directives(HEADER)
    assert {name: shown[name] for name in wanted} == wanted
    assert dialect.command_options(HEADER) == (["-g", "gi99"] if dialect.group == "g" else [])
    assert dialect.reserved_exit_codes == {99, 100}


@pytest.mark.parametrize(("used", "of_node", "slots", "each"), [(1, 4, 4, 1), (3, 8, 4, 1), (5, 8, 4, 2), (2, 4, 2, 1)])
def test_whole_nodes_have_at_least_the_gpus_that_are_used(used: int, of_node: int, slots: int, each: int) -> None:
    dialect = GridEngineDialect(pe="node", slots_per_node=slots, gpu_request="slot")
    header = replace(HEADER, gpus_per_node=used, node_gpus=of_node)
    assert dialect.directives(header)["gpu"] == f"gpu={each}"


@pytest.mark.parametrize(("used", "of_node", "slots"), [(4, 4, 36), (4, 4, 3), (3, None, 2)])
def test_more_gpus_than_a_node_has_are_not_requested(used: int, of_node: int | None, slots: int) -> None:
    """Such a job would wait for ever."""
    dialect = GridEngineDialect(pe="node", slots_per_node=slots, gpu_request="slot")
    with pytest.raises(RequestError, match=f"{used} GPUs of a node cannot be requested.*{slots} slots"):
        dialect.directives(replace(HEADER, gpus_per_node=used, node_gpus=of_node))


def script_for(cluster_name: str, **options: object) -> list[str]:
    cluster = load_cluster(cluster_name)
    recipe, folder = load_recipe("torch-ddp", [])
    values = Options(**{"nodes": 2, "group": "tga-x", **options})  # type: ignore[arg-type]
    request = resolve(Sources(cluster=cluster, options=values, recipe=recipe, folder=folder))
    text = render(request, cluster).job
    return [line for line in text.splitlines() if line.startswith("#$")]


@pytest.mark.parametrize(
    ("cluster", "line"), [("tsubame4", "#$ -l node_f=2"), ("tsubame3", "#$ -l f_node=2"), ("abci2", "#$ -l rt_F=2"),
                          ("gridengine", "#$ -pe mpi 4")],
)  # fmt: skip
def test_headers(cluster: str, line: str) -> None:
    assert script_for(cluster) == ["#$ -S /bin/bash", "#$ -cwd", line, "#$ -l h_rt=00:10:00", "#$ -j y"]


def test_a_group_that_would_be_another_option_is_refused_before_it_reaches_a_command() -> None:
    with pytest.raises(RequestError):
        script_for("tsubame4", group="gi99 -q x")


def test_interactive_jobs_have_the_group_and_no_options_of_scripts() -> None:
    shell = GE.shell(
        ["-S", "/bin/bash", "-cwd", "-l", "rt_F=1", "-l", "h_rt=600", "-j", "y", "-g", "gi99"], Path("/r/x")
    )
    assert shell.argv == ["qrsh", "-now", "n", "-cwd", "-l", "rt_F=1", "-l", "h_rt=600", "-g", "gi99", "-pty", "y",
                          "bash", "--rcfile", "/r/x", "-i"]  # fmt: skip
    assert shell.reads_rcfile


def test_group_reaches_the_command_line_of_a_submission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "qsub").write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/words\necho 12\n')
    (tmp_path / "qsub").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    dialect = {"group": "g", "queue": "resource"}
    run = new_run(tmp_path / "project", scheduler="gridengine", group="gi99", dialect=dialect)
    assert submit(run, load_scheduler(run)) == "12"
    assert (tmp_path / "words").read_text().split()[-3:] == ["-g", "gi99", "job.sh"]


def test_machine_with_its_commands_is_known_and_its_profile_is_not_guessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("qsub", "qconf"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert registry.here()[0] == "gridengine" and registry.likely_cluster() is None


def test_a_job_has_what_grid_engine_recorded() -> None:
    """A slot is a process, except where a queue is a type of nodes: its slots are cores."""
    record = "\n".join([
        "=" * 62, "job_number:                 7", "owner:                      alice",
        "sge_o_home:                 /home/alice", "cwd:                        /home/alice/w",
        "hard resource_list:         h_rt=600,gpu=1", "job_name:                   train",
        "stdout_path_list:           NONE:NONE:out/$JOB_NAME-$JOB_ID.txt", "parallel environment:  mpi range: 6", "",
    ])  # fmt: skip
    values = "<JB_job_number>7</JB_job_number><state>r</state><queue_name>{}</queue_name><slots>{}</slots>"
    entry = f"<job_list>{values}</job_list>"
    frame = "<?xml version='1.0'?>\n<job_info><queue_info>{}</queue_info><job_info></job_info></job_info>\n"
    queues = ["main.q@ge1"] * 5 + ["main.q@ge2"] * 2
    slots = "".join(entry.format(queue, 1) for queue in queues)
    answers = [
        CommandOutput(("qstat", "-j", "7"), 0, record, ""),
        CommandOutput(("qstat", "-u", "*", "-xml"), 0, frame.format(entry.format(queues[0], 6)), ""),
        CommandOutput(("qstat", "-u", "*", "-g", "t", "-xml"), 0, frame.format(slots), ""),
    ]
    assert [list(answer.argv) for answer in answers] == GridEngine().details_argv("7")[:3]
    assert GridEngine().parse_details(answers, "7") == JobDetails(
        nodes=2, processes=6, walltime=600, output="/home/alice/w/out/train-7.txt"
    )
    types = GridEngine(dialect=GridEngineDialect(queue="resource"))
    assert (types.parse_details(answers, "7").processes, types.parse_details(answers, "7").nodes) == (None, 2)
    default = [replace(answers[0], stdout=record.replace("stdout_path_list", "stderr_path_list"))]
    assert GridEngine().parse_details(default, "7").output == "/home/alice/w/train.o7"
    array = [replace(answers[0], stdout=record + "job-array tasks:            1-3:1\n")]
    assert GridEngine().parse_details(array, "7").output is None
    assert GridEngine().parse_details(answers, "8") == JobDetails()


def test_an_ended_job_has_what_its_record_tells() -> None:
    text = (Path(records.__file__).parent / "samples" / "qacct_other_host_and_array.txt").read_text()
    (block,) = [part for part in text.split("$ qacct") if "-l h_rt=60 -pe node 8" in part]
    body = block.partition("\n")[2].partition("# rc")[0]
    number = re.search(r"jobnumber +(\d+)", body)[1]  # type: ignore[index]
    answer = CommandOutput(("qacct", "-j", number), 0, body, "")
    details = GridEngine(dialect=GridEngineDialect(slots_per_node=4)).parse_details([answer], number)
    assert (details.nodes, details.processes, details.walltime, details.output) == (2, 8, 60, None)
    assert GridEngine().parse_details([answer], number).nodes is None, "the slots of a node are not known"
