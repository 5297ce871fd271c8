"""NQSV as public records have it: commands, recorded answers, what its file of errors tells, and its header."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.config import load
from hackathon.config.cluster import Cluster
from hackathon.jobs.check import CheckError, check
from hackathon.jobs.render import render, render_shell
from hackathon.jobs.request import Options, Request
from hackathon.jobs.resolve import Sources, resolve
from hackathon.schedulers import registry
from hackathon.schedulers.base import FINISHED, OPEN_STATES, TIMEOUT, UNKNOWN, CommandOutput, SchedulerError, Submission
from hackathon.schedulers.nqsv import parse, text
from hackathon.schedulers.nqsv.commands import Nqsv
from hackathon.schedulers.nqsv.dialect import NqsvDialect
from hackathon.schedulers.pbs.commands import Pbs
from hackathon.schedulers.words import clock_moment
from hackathon.text.errors import RequestError
from support.nqsv_samples import ANSWERS, BLOCK, JOB, LEFT, QUEUES, TABLE, block, said

NQSV = Nqsv(NqsvDialect(topology="openmpi", host="nqsv"))
ID = "949571.nqsv"
OTHER = "949572.nqsv"
MISSING = ANSWERS["qstat -f 949571.nqsv"]


def listed(out: str) -> CommandOutput:
    return said("qstat -f", out)


# ---- submission


def test_submission_keeps_a_file_of_errors_of_its_own(tmp_path: Path) -> None:
    submission = Submission(tmp_path / "job.sh", tmp_path, "hk-abcdefgh", tmp_path / "logs" / "scheduler.log")
    assert NQSV.submit_argv(submission) == [
        "qsub", "-N", "hk-abcdefgh", "-o", "logs/scheduler.log", "-e", "logs/scheduler-errors.log", "job.sh",
    ]  # fmt: skip
    assert "logs/scheduler-errors.log" in NQSV.left_files(ID, "hk-abcdefgh")


@pytest.mark.parametrize("host", ["nqsv", "sqd", "ace-ssiox"])
def test_id_keeps_the_host_that_the_site_gives(host: str) -> None:
    answer = said("qsub job.sh", f"News of the centre\nRequest 866621.{host} submitted to queue: gen_S.\n")
    assert NQSV.parse_submit(answer) == f"866621.{host}"
    assert NQSV.is_id(f"866621.{host}") and NQSV.is_id("866621")
    assert NQSV.parse_submit(ANSWERS["qsub job.sh"]) == "866621.nqsv"


@pytest.mark.parametrize("bad", ["-f", "949571.nqsv -f", "0:949571.nqsv", "x", "949571.", "949571.-f", ""])
def test_what_is_no_id_reaches_no_command(bad: str) -> None:
    assert not NQSV.is_id(bad)


def test_number_alone_is_asked_for_with_the_host() -> None:
    """Names of output files, by which submissions by hand are found, have the number alone."""
    assert NQSV.output_names[0].match("job.sh.o949571")[1] == "949571"  # type: ignore[index]
    assert NQSV.status_argv(["949571", OTHER]) == [["qstat", "-f", ID, OTHER]]
    assert NQSV.cancel_argv("949571") == ["qdel", ID]
    assert Nqsv().status_argv(["949571"]) == [["qstat", "-f", "949571"]]
    assert NQSV.same_job("949571", ID) and not NQSV.same_job("949571.sqd", ID) and not NQSV.same_job("94957", ID)
    assert NQSV.parse_status([BLOCK], ["949571"]).jobs["949571"].id == ID


@pytest.mark.parametrize(
    ("err", "message", "hint"),
    [
        ("EACCESSDEN\n", "not_authorised", "groups"),
        ("EWRNGTYP (Queue type is wrong)\n", "nqsv_interactive", "hackathon shell"),
        (ANSWERS['qsub -l elapstim_req="00:03:00,00:01:00" job.sh'].stdout, "unknown_resource", "dialect"),
        ("something else\n", "refused", "render"),
        ("qsub: invalid option -- 'b'\nqsub: directive error: -b 2 \n", "other_scheduler", "scheduler: pbs"),
    ],
)
def test_refusals_say_what_to_do(err: str, message: str, hint: str) -> None:
    with pytest.raises(SchedulerError) as caught:
        NQSV.parse_submit(said("qsub job.sh", err=err, code=1))
    assert caught.value.id == f"schedulers.{message}" and not caught.value.transient
    assert hint in caught.value.hint


def test_pbs_finds_itself_on_a_machine_with_nqsv() -> None:
    recorded = ANSWERS['qsub -l elapstim_req="00:03:00,00:01:00" job.sh']
    for answer in (said("qsub job.sh", recorded.stdout, code=1), said("qsub job.sh", err=recorded.stdout, code=1)):
        with pytest.raises(SchedulerError, match="scheduler: nqsv") as caught:
            Pbs().parse_submit(answer)
        assert "scheduler: nqsv" in caught.value.hint and not caught.value.transient


@pytest.mark.parametrize("out", ["", "Request 866621.nqsv submitted", "<html>\n", "Request x submitted to queue: q.\n"])
def test_what_is_no_answer_of_qsub_leaves_open_whether_there_is_a_job(out: str) -> None:
    with pytest.raises(SchedulerError) as caught:
        NQSV.parse_submit(said("qsub job.sh", out))
    assert caught.value.id == "schedulers.garbage" and caught.value.transient


def test_no_job_waits_for_another_one() -> None:
    assert not NQSV.supports_after("ok") and not NQSV.supports_after("any")


# ---- states


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("Arriving", "QUEUED"), ("Waiting", "HELD"), ("Queued", "QUEUED"), ("Held", "HELD"), ("Staging", "QUEUED"),
        ("Pre-running", "RUNNING"), ("Running", "RUNNING"), ("Suspended", "RUNNING"), ("Post-running", "ENDING"),
        ("Exiting", "ENDING"), ("Transferring", "UNKNOWN"), ("", "UNKNOWN"),
    ],
)  # fmt: skip
def test_states(word: str, state: str) -> None:
    found = NQSV.parse_status([listed(block(Current_State=word))], [ID]).jobs[ID]
    assert (found.state, found.raw) == (state, word)
    waiting = state in ("QUEUED", "HELD", "UNKNOWN")
    assert (found.start is None, found.end is None, found.started) == (waiting, waiting, None if waiting else True)


def test_every_letter_has_a_state_and_its_word() -> None:
    assert set(parse.STATES.values()) | {"GQD", "CHK"} == set(parse.LETTERS)
    assert {"ARV", "WAI", "QUE", "GQD", "HLD", "STG", "PRR", "RUN", "SUS", "POR", "EXT"} <= set(parse.LETTERS)
    assert set(parse.LETTERS.values()) <= OPEN_STATES


def test_just_submitted_request_is_queued_though_its_job_is_not_there_yet() -> None:
    """`qstat -J -f` says that there is none: nothing follows from that."""
    queued = listed(block(Current_State="Queued", State_Transition_Reason="SUBMIT", Started_Request_Time="(none)",
                          Ended_Request_Time="(none)", Planned_Start_Time="Wed Aug 26 16:06:29 2026"))  # fmt: skip
    assert NQSV.follow_up_argv([queued], [ID]) == []
    for answers in ([queued], [queued, ANSWERS["qstat -J -f 949571.nqsv"]]):
        found = NQSV.parse_status(answers, [ID]).jobs[ID]
        assert (found.state, found.start, found.started, found.reason) == ("QUEUED", None, None, "")


def test_block_says_name_owner_hosts_and_times() -> None:
    found = NQSV.parse_status([BLOCK], [ID]).jobs[ID]
    assert (found.name, found.owner, found.hosts, found.raw) == ("izt1852ee", "user1", ("bnode009",), "Post-running")
    assert found.start == clock_moment("Wed Aug 26 16:06:07 2026") and found.end == found.start + 15
    two = BLOCK.stdout.replace("    bnode009(9)\n", "    bnode009(9)\n    bnode010(10)\n")
    assert NQSV.parse_status([listed(two)], [ID]).jobs[ID].hosts == ("bnode009", "bnode010")
    none = BLOCK.stdout.replace("    bnode009(9)\n", "    -  \n")
    assert NQSV.parse_status([listed(none)], [ID]).jobs[ID].hosts == ()


@pytest.mark.parametrize(
    ("code", "state", "exit_code", "signal"),
    [
        ("0", "SUCCEEDED", 0, None), ("700", "FAILED", 7, None), ("B00", "FAILED", 11, None),
        ("1100", "FAILED", 17, None), ("FF00", "FAILED", 255, None), ("8900", "FAILED", 137, 9),
        ("A", "FINISHED", None, 10), ("9", "FINISHED", None, 9), ("(none)", "ENDING", None, None),
    ],
)  # fmt: skip
def test_exit_code_is_a_wait_status_in_hexadecimal(
    code: str, state: str, exit_code: int | None, signal: int | None
) -> None:
    assert NQSV.follow_up_argv([BLOCK], [ID]) == [["qstat", "-J", "-f", ID]]
    job = replace(JOB, stdout=JOB.stdout.replace("1100", code))
    found = NQSV.parse_status([BLOCK, job], [ID]).jobs[ID]
    assert (found.state, found.exit_code, found.signal) == (state, exit_code, signal)


def test_signal_9_is_the_time_limit_or_a_deletion() -> None:
    killed = replace(JOB, stdout=JOB.stdout.replace("1100", "9"))
    over = listed(block(Started_Request_Time="Wed Aug 26 16:01:22 2026"))
    assert NQSV.parse_status([over, killed], [ID]).jobs[ID].state == "TIMEOUT"
    unlimited = listed(over.stdout.replace("Max:      300S", "Max: UNLIMITED"))
    assert NQSV.parse_status([unlimited, killed], [ID]).jobs[ID].state == "FINISHED"
    deleted = listed(block(State_Transition_Reason="DELETE"))
    found = NQSV.parse_status([deleted, killed], [ID]).jobs[ID]
    assert (found.state, found.reason) == ("CANCELLED", "DELETE")
    exiting = listed(block(Current_State="Exiting", State_Transition_Reason="POSTRUN_SUCCESS",
                           Started_Request_Time="Wed Aug 26 16:01:22 2026"))  # fmt: skip
    assert NQSV.parse_status([exiting, killed], [ID]).jobs[ID].state == "FINISHED", "it may have been a deletion"


def test_exit_code_is_that_of_the_first_node() -> None:
    second = JOB.stdout.replace("Number = 0", "Number = 1").replace("1100", "0")
    for out in (second + JOB.stdout, JOB.stdout + second):
        assert NQSV.parse_status([BLOCK, replace(JOB, stdout=out)], [ID]).jobs[ID].exit_code == 17


def test_job_that_is_gone_meanwhile_is_ending() -> None:
    gone = ANSWERS["qstat -J -f 949571.nqsv"]
    assert NQSV.parse_status([BLOCK, gone], [ID]).jobs[ID].state == "ENDING"
    no_answer = CommandOutput(gone.argv, 124, "", "timeout")
    assert NQSV.parse_status([BLOCK, no_answer], [ID]).jobs[ID].state == "ENDING"


# ---- absence


def test_unknown_and_ended_requests_are_absent_by_a_whole_sentence_though_the_exit_code_is_0() -> None:
    assert MISSING.exit_code == 0 and NQSV.parse_status([MISSING], [ID]).jobs == {}
    with pytest.raises(SchedulerError):
        NQSV.parse_status([replace(MISSING, stdout=MISSING.stdout[:-1])], [ID])


@pytest.mark.parametrize(
    "out", ["", "\n", "<html>502</html>\n", "\udcfe\udcff\n", MISSING.stdout.replace("949571", "9")]
)
def test_empty_answer_and_garbage_are_not_absence(out: str) -> None:
    try:
        found = NQSV.parse_status([listed(out)], [ID]).jobs
    except SchedulerError as error:
        assert error.id == "schedulers.garbage" and error.transient
    else:
        assert found[ID].state == UNKNOWN


def test_id_without_a_word_is_asked_for_alone_and_never_absent() -> None:
    """Whether several ids in one call all get an answer is not on record."""
    one = listed(BLOCK.stdout)
    assert ["qstat", "-f", OTHER] in NQSV.follow_up_argv([one], [ID, OTHER])
    assert NQSV.parse_status([one], [ID, OTHER]).jobs[OTHER].state == UNKNOWN
    answer = listed(MISSING.stdout.replace("949571", "949572"))
    assert set(NQSV.parse_status([one, answer], [ID, OTHER]).jobs) == {ID}
    running = listed(block(949572, Current_State="Running"))
    assert NQSV.parse_status([one, running], [ID, OTHER]).jobs[OTHER].state == "RUNNING"
    many = [f"{number}.nqsv" for number in range(1, 100)]
    assert len(NQSV.follow_up_argv([MISSING], many)) == parse.FEW
    assert NQSV.follow_up_argv([one], [ID]) == [["qstat", "-J", "-f", ID]]


def test_command_that_fails_may_answer_later_and_pbs_is_called_by_its_name() -> None:
    with pytest.raises(SchedulerError) as caught:
        NQSV.parse_status([said("qstat -f x", err="no server\n", code=1)], [ID])
    assert caught.value.transient
    assert NQSV.follow_up_argv([said("qstat -f x", code=1)], [ID, OTHER]) == []
    with pytest.raises(SchedulerError, match="scheduler: pbs") as caught:
        NQSV.parse_status([said("qstat -f x", err=f"qstat: Unknown Job Id {ID}\n", code=153)], [ID])
    assert not caught.value.transient and "scheduler: pbs" in caught.value.hint


@given(st.binary(max_size=300))
def test_any_bytes_are_an_error_or_unknown(raw: bytes) -> None:
    garbage = raw.decode("utf-8", "surrogateescape")
    for out in (garbage, garbage + "\n", BLOCK.stdout[:200] + garbage):
        try:
            found = NQSV.parse_status([listed(out)], [OTHER]).jobs
        except SchedulerError:
            continue
        assert OTHER not in found or found[OTHER].state == UNKNOWN
    assert NQSV.parse_left(garbage, ID) is None


def test_what_is_not_utf8_is_passed_over() -> None:
    odd = BLOCK.stdout.replace("Account Code = SFC", "Account Code = \udcff\udcfe")
    assert NQSV.parse_status([listed(odd)], [ID]).jobs[ID].state == "ENDING"


# ---- lists


def test_request_is_found_by_its_whole_name() -> None:
    """The table cuts names to 8 letters: `hk-abcdefgh` and `hk-abcdexyz` look the same there."""
    assert text.table(TABLE.stdout)[0] == text.RequestRow("982450.nqsv", "izanagi-", "STG")  # type: ignore[index]
    head = "".join(TABLE.stdout.splitlines(True)[:2])
    rows = "".join(f"{number}.nqsv     hk-abcde user1    gen_S       0 QUE -    0.00B\n" for number in (949572, 949571))
    blocks = block(949572, Request_Name="hk-abcdefgh") + block(949571, Request_Name="hk-abcdexyz")
    answers = [said("qstat", head + rows), listed(blocks)]
    assert NQSV.parse_find_named(answers, "hk-abcdefgh") == [OTHER]
    assert NQSV.parse_find(answers) == [ID, OTHER]
    assert NQSV.parse_find_named([said("qstat", head), listed("")], "hk-abcdefgh") == []


def test_list_that_may_lack_something_finds_nothing_for_sure() -> None:
    head = "".join(TABLE.stdout.splitlines(True)[:2])
    row = "949571.nqsv     hk-abcde user1    gen_S       0 QUE -    0.00B\n"
    for table, blocks in (("", ""), (head + row, ""), (head + row, block(949572)), ("", BLOCK.stdout)):
        with pytest.raises(SchedulerError) as caught:
            NQSV.parse_find_named([said("qstat", table), listed(blocks)], "hk-abcdefgh")
        assert caught.value.id == "schedulers.garbage"
    with pytest.raises(SchedulerError):
        NQSV.parse_find_named([said("qstat", code=1), listed("")], "hk-abcdefgh")


def test_queues_are_those_of_both_kinds() -> None:
    found = {each.name: each for each in NQSV.parse_queues(QUEUES)}
    assert [(name, each.enabled) for name, each in found.items()] == [
        ("gen_L", False), ("gen_M", False), ("gen_S", True), ("debug", True),
    ]  # fmt: skip
    assert (found["gen_S"].queued, found["gen_S"].running, found["gen_S"].note) == (9, 11, "")
    assert (found["debug"].note, found["gen_S"].walltime) == ("interactive", None)
    for answer in (said("qstat -Q"), said("qstat -Q", QUEUES.stdout, code=1)):
        with pytest.raises(SchedulerError):
            NQSV.parse_queues(answer)


def test_cancel() -> None:
    assert NQSV.cancel_argv(ID) == ["qdel", ID]
    assert NQSV.parse_cancel(said("qdel")) and not NQSV.parse_cancel(MISSING)
    with pytest.raises(SchedulerError):
        NQSV.parse_cancel(said("qdel", err="no\n", code=1))


# ---- the file of errors


def test_time_limit_is_told_by_the_file_of_errors() -> None:
    found = NQSV.parse_left(LEFT, "949564.nqsv")
    assert found is not None and (found.state, found.signal) == (TIMEOUT, 9)
    assert (found.name, found.owner) == ("izt1852e6", "user1")
    assert found.start is not None and found.end == found.start + 60
    assert "Exceeded per-req elapse time limit" in found.reason
    assert NQSV.parse_left(LEFT, "949564") == found and NQSV.parse_left(LEFT, ID) is None


def test_account_alone_says_that_it_ended_and_not_why() -> None:
    account = LEFT.partition("\n")[2]
    found = NQSV.parse_left("Traceback\n%NQSV is nice\nTypeError\n" + account, "949564.nqsv")
    assert found is not None and (found.state, found.reason, found.exit_code) == (FINISHED, "", None)
    warned = LEFT.replace("SIGKILL", "SIGTERM")  # the warning before the limit
    assert NQSV.parse_left(warned, "949564.nqsv").state == FINISHED  # type: ignore[union-attr]


def test_output_of_the_job_cannot_hide_the_account() -> None:
    noise = "====================\nRequest ID: 1.nqsv\nloss: 1\n" + "=" * 60 + "\nepoch: 2\n\udcff\n"
    assert NQSV.parse_left(noise + LEFT, "949564.nqsv").state == TIMEOUT  # type: ignore[union-attr]
    twice = LEFT + LEFT.partition("\n")[2]
    assert NQSV.parse_left(twice, "949564.nqsv").state == FINISHED  # type: ignore[union-attr]  # of two lives the last


# ---- the header


def cluster(folder: Path, **dialect: str) -> Cluster:
    values = {
        "name": "here", "scheduler": "nqsv", "node": {"cores": 8, "gpus": 2}, "processes_per_node": 2,
        "starter": "mpirun", "mpi": "openmpi", "dialect": dialect,
    }  # fmt: skip
    (folder / "templates" / "clusters").mkdir(parents=True, exist_ok=True)
    (folder / "templates" / "clusters" / "here.yaml").write_text(json.dumps(values))
    return registry.load_cluster("here", [folder])


def request(made: Cluster, **options: object) -> Request:
    recipe, folder = load.load_recipe("torch-ddp", [])
    values = {"nodes": 2, "queue": "q1", "group": "g1", **options}
    return resolve(Sources(cluster=made, options=Options(**values), recipe=recipe, folder=folder))  # type: ignore[arg-type]


def header(made: Cluster, **options: object) -> list[str]:
    return [line for line in render(request(made, **options), made).job.splitlines() if line.startswith("#PBS")]


def test_header_of_sites(tmp_path: Path) -> None:
    common = ["#PBS -b 2", "#PBS -T openmpi"]
    assert header(cluster(tmp_path, topology="openmpi")) == [
        "#PBS -q q1", *common, "#PBS -l elapstim_req=00:10:00",
    ]  # fmt: skip
    made = cluster(tmp_path, topology="openmpi", group="account", mpi_variable="NQSV_MPI_VER", mpi_version="5.0/gcc")
    assert header(made) == [
        "#PBS -q q1", "#PBS -A g1", *common, "#PBS -v NQSV_MPI_VER=5.0/gcc", "#PBS -l elapstim_req=00:10:00",
    ]  # fmt: skip
    made = cluster(tmp_path, topology="intmpi", group="group", gpu_request="gpunum_job", cpu_request="cpunum_job")
    assert header(made, nodes=1) == [
        "#PBS -q q1", "#PBS --group=g1", "#PBS -b 1", "#PBS -T intmpi", "#PBS -l cpunum_job=8", "#PBS -l gpunum_job=2",
        "#PBS -l elapstim_req=00:10:00",
    ]  # fmt: skip


@pytest.mark.parametrize("nodes", [1, 2])
def test_nothing_is_rendered_without_T(tmp_path: Path, nodes: int) -> None:
    made = cluster(tmp_path)
    for refused in (lambda: render(request(made, nodes=nodes), made), lambda: check(request(made, nodes=nodes), made)):
        with pytest.raises((RequestError, CheckError), match="-T") as caught:
            refused()
        assert caught.value.exit_code == 2


def test_reservation_is_refused_and_not_forgotten(tmp_path: Path) -> None:
    made = cluster(tmp_path, topology="openmpi")
    with pytest.raises(RequestError, match="Reservations"):
        render(request(made, reservation="R1"), made)


@pytest.mark.parametrize(("topology", "program"), [("openmpi", "openmpi"), ("intmpi", "mpich"), ("openmpi", "auto")])
def test_mpirun_is_given_what_the_job_is_given(tmp_path: Path, topology: str, program: str) -> None:
    made = replace(cluster(tmp_path, topology=topology), mpi=program)  # type: ignore[arg-type]
    script = render(request(made, launcher="mpirun"), made).library
    called = re.findall(r"exec (?:mpiexec|\"\$\(hk_mpirun_path\)\") (\S+)", script)
    assert called and set(called) == {'"${HK_MPI_OF_JOB[@]}"'}
    assert "--hostfile" not in script and " -f " not in script.partition("hk_mpirun()")[2].partition("}\n")[0]
    assert 'read -r -a HK_MPI_OF_JOB <<<"${NQSV_MPIOPTS:-${NQSII_MPIOPTS:-}}"' in script


def test_interactive_job_is_a_qlogin(tmp_path: Path) -> None:
    made = cluster(tmp_path, topology="openmpi", group="account")
    _, options = render_shell(request(made, nodes=1), made)
    shell = NQSV.shell(options, Path("/x/shell.sh"))
    assert shell.argv == [
        "qlogin", "-q", "q1", "-A", "g1", "-b", "1", "-T", "openmpi", "-l", "elapstim_req=00:10:00",
    ]  # fmt: skip
    assert not shell.reads_rcfile
