"""Slurm: argv, parsers over recorded output, tables row by row."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.schedulers.base import CommandOutput, JobState, SchedulerError, Submission
from hackathon.schedulers.reports import JobDetails
from hackathon.schedulers.slurm import commands
from hackathon.schedulers.slurm.parse import hosts
from hackathon.schedulers.slurm.words import NEVER_REASONS, STATES, never_runs

SAMPLES = Path(commands.__file__).parent / "samples"
SLURM = commands.Slurm()
DISABLED = CommandOutput(("sacct",), 1, "", "Slurm accounting storage is disabled\n")
NOTHING = CommandOutput(("squeue",), 0, "", "")


def answer(stdout: str = "", stderr: str = "", code: int = 0, command: str = "squeue") -> CommandOutput:
    return CommandOutput((command,), code, stdout, stderr)


def sample(name: str, command: str) -> CommandOutput:
    with (SAMPLES / name).open(encoding="utf-8", errors="surrogateescape", newline="") as stream:
        return answer(stream.read(), command=command)


def squeue(*records: tuple[str, ...]) -> CommandOutput:
    """Return squeue's answer from (id, state, reason, nodes, start, end, submit, name); the jobs are alice's."""
    return answer("".join("\x1f".join([*record[:-1], "alice", record[-1]]) + "\x1e\n" for record in records))


def sacct(*records: tuple[str, ...]) -> CommandOutput:
    """Return sacct's answer from (id, state, exit, submit, start, end, nodes, reason, name); the jobs are alice's."""
    lines = ["\x1f".join([*record[:-1], "alice", record[-1]]) + "\x1f\n" for record in records]
    return answer("".join(lines), command="sacct")


def from_sacct(word: str, code: str = "0:0", nodes: str = "node1") -> JobState:
    record = ("5", word, code, "1795262171", "1795262172", "1795262173", nodes, "None", "n")
    return SLURM.parse_status([NOTHING, sacct(record)], ["5"]).jobs["5"]


def test_submission_names_only_what_is_not_in_the_script(tmp_path: Path) -> None:
    output = tmp_path / "logs" / "50%j.txt"
    submission = Submission(tmp_path / "job.sh", tmp_path, "hk-abcdefgh", output, ("any", "7"))
    assert SLURM.submit_argv(submission) == [
        "sbatch", "--parsable", "--job-name", "hk-abcdefgh", "--output", "logs/50%%j.txt", "--dependency",
        "afterany:7", "job.sh",
    ]  # fmt: skip
    alone = Submission(tmp_path / "job.sh", tmp_path, "hk-abcdefgh", output, ("ok", "7"))
    # else a job whose dependency failed stays in the queue for ever
    assert SLURM.submit_argv(alone)[-3:] == ["afterok:7", "--kill-on-invalid-dep=yes", "job.sh"]
    shell = SLURM.shell(["--partition=debug", "--open-mode=append"], Path("/p/shell.sh"))
    assert shell.argv == ["salloc", "--partition=debug", "srun", "--pty", "bash", "--rcfile", "/p/shell.sh", "-i"]
    assert shell.reads_rcfile


@pytest.mark.parametrize("text", ["123\n", "123;lab\n", "Welcome to the machine\n123;lab\n"])
def test_submit(text: str) -> None:
    assert SLURM.parse_submit(answer(text, command="sbatch")) == "123"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("sbatch_error_bad_partition.txt", "unknown_queue"),
        ("sbatch_error_bad_reservation.txt", "bad_reservation"),
        ("sbatch_error_gres.txt", "no_such_nodes"),
    ],
)
def test_recorded_refusals(name: str, key: str) -> None:
    said = CommandOutput(("sbatch",), 1, "", sample(name, "sbatch").stdout)
    with pytest.raises(SchedulerError) as caught:
        SLURM.parse_submit(said)
    assert caught.value.id == f"schedulers.{key}" and not caught.value.transient and caught.value.exit_code == 2
    assert caught.value.hint


FAILED = "sbatch: error: Batch job submission failed: "


@pytest.mark.parametrize(
    ("words", "key", "transient"),
    [
        (FAILED + "Unable to contact slurm controller (connect failure)", "server_down", True),
        (FAILED + "Socket timed out on send/recv operation", "server_down", True),
        (
            "sbatch: error: QOSMaxSubmitJobPerUserLimit\n" + FAILED + "Job violates accounting/QOS policy",
            "user_limit",
            True,
        ),
        (FAILED + "Requested time limit is invalid (missing or exceeds some limit)", "over_limit", False),
        (FAILED + "Invalid account or account/partition combination specified", "bad_group", False),
        ("sbatch: error: Unable to open file job.sh", "bad_script", False),
        (
            "sbatch: error: fetch_config: DNS SRV lookup failed\n"
            "sbatch: fatal: Could not establish a configuration source",
            "not_set_up",
            False,
        ),
        ("sbatch: error: something that nobody has seen", "refused", False),
    ],
)
def test_refusals(words: str, key: str, transient: bool) -> None:
    with pytest.raises(SchedulerError) as caught:
        SLURM.parse_submit(answer("", words, 1, "sbatch"))
    assert (caught.value.id, caught.value.transient) == (f"schedulers.{key}", transient)
    assert words.split("\n")[0] in caught.value.message


@pytest.mark.parametrize("word", STATES)
def test_states_row_by_row(word: str) -> None:
    for said in ([squeue(("5", word, "None", "node1", "N/A", "N/A", "N/A", "n")), NOTHING], [NOTHING, None]):
        answers = [said[0], said[1] or sacct(("5", word, "0:0", "1", "2", "3", "node1", "None", "n"))]
        state = SLURM.parse_status(answers, ["5"]).jobs["5"]
        assert (state.state, state.raw) == (STATES[word], word)


def test_a_word_that_nobody_knows_stays_visible() -> None:
    state = from_sacct("LEVITATING")
    assert (state.state, state.raw) == ("UNKNOWN", "LEVITATING")


@pytest.mark.parametrize(
    ("word", "code", "state", "exit_code", "signal"),
    [
        ("COMPLETED", "0:0", "SUCCEEDED", 0, None),
        ("FAILED", "3:0", "FAILED", 3, None),
        ("FAILED", "0:9", "FAILED", None, 9),
        ("OUT_OF_MEMORY", "0:125", "OUT_OF_MEMORY", None, None),
        ("CANCELLED by 1000", "0:0", "CANCELLED", None, None),
        ("TIMEOUT", "0:0", "TIMEOUT", None, None),
        ("NODE_FAIL", "0:0", "NODE_FAILED", None, None),
    ],
)
def test_exit_codes(word: str, code: str, state: str, exit_code: int | None, signal: int | None) -> None:
    found = from_sacct(word, code)
    assert (found.state, found.exit_code, found.signal, found.started) == (state, exit_code, signal, True)
    assert (found.start, found.end) == (1795262172.0, 1795262173.0)


def test_a_job_that_never_got_a_node_never_started() -> None:
    found = from_sacct("CANCELLED by 0", nodes="None assigned")
    assert (found.started, found.start, found.hosts) == (False, None, ())


@pytest.mark.parametrize("reason", sorted(NEVER_REASONS))
def test_reasons_that_waiting_does_not_end(reason: str) -> None:
    found = SLURM.parse_status([squeue(("5", "PENDING", reason, "", "N/A", "N/A", "1", "n")), NOTHING], ["5"]).jobs["5"]
    assert found.never_runs and found.reason == reason


def test_other_reasons() -> None:
    assert never_runs("QOSMaxWallDurationPerJobLimit") and never_runs("AssocMaxNodePerJobLimit")
    for reason in ("Priority", "Resources", "AssocGrpNodeLimit", "QOSMaxJobsPerUserLimit", "ReqNodeNotAvail"):
        assert not never_runs(reason)


def test_recorded_status() -> None:
    ids = ["1", "3", "15", "16", "17", "18", "19", "20", "21", "21_0", "21_2", "22", "23", "24", "999999"]
    answers = [sample("status_squeue.txt", "squeue"), sample("status_sacct.txt", "sacct")]
    jobs = SLURM.parse_status(answers, ids).jobs
    assert {job_id: state.state for job_id, state in jobs.items()} == {
        "1": "SUCCEEDED", "3": "CANCELLED", "15": "FAILED", "16": "FAILED", "17": "RUNNING", "18": "HELD",
        "19": "QUEUED", "20": "HELD", "21": "RUNNING", "21_0": "RUNNING", "21_2": "QUEUED", "22": "HELD",
        "23": "CANCELLED", "24": "FAILED",
    }  # fmt: skip
    assert (jobs["15"].exit_code, jobs["16"].signal, jobs["24"].exit_code) == (3, 9, 4)
    assert jobs["20"].never_runs and jobs["19"].never_runs and not jobs["18"].never_runs
    assert jobs["3"].started is False and jobs["23"].started is True
    assert jobs["24"].name == 'od|d "né' and jobs["24"].hosts == ("node1", "node2")
    assert jobs["22"].start is None  # an estimate is no start


def test_accounting_alone_and_the_newest_life_of_a_requeued_job() -> None:
    jobs = SLURM.parse_status([NOTHING, sample("status_sacct.txt", "sacct")], ["22", "23", "3"]).jobs
    assert jobs["22"].state == "HELD" and jobs["22"].raw == "PENDING"  # not the REQUEUED of its first life
    rows = [tuple(line.split("|")) for line in (SAMPLES / "sacct_D_requeue.txt").read_text().splitlines()[1:]]
    records = [
        (job_id, word, "0:0", "2026-11-21T07:25:0" + str(row), start, end, nodes, "None", "n")
        for row, (job_id, word, start, end, nodes) in enumerate(rows)
    ]
    for order in (records, records[::-1]):
        found = SLURM.parse_status([NOTHING, sacct(*order)], ["7", "8"]).jobs
        assert (found["7"].state, found["8"].state) == ("QUEUED", "SUCCEEDED")


def test_without_accounting_squeue_decides_and_gives_exit_codes() -> None:
    queue = sample("status_squeue.txt", "squeue")
    ids = ["15", "16", "17", "23"]
    follow_up = SLURM.follow_up_argv([queue, DISABLED], ids)
    assert len(follow_up) == 1 and "exit_code" in follow_up[0][-1]
    codes = answer(f"{'15':<64}{'768':<16}\n{'16':<64}{'9':<16}\n{'23':<64}{'15':<16}\n")
    jobs = SLURM.parse_status([queue, DISABLED, codes], [*ids, "999"]).jobs
    assert (jobs["15"].exit_code, jobs["16"].signal, jobs["17"].state) == (3, 9, "RUNNING")
    assert "999" not in jobs
    assert SLURM.follow_up_argv([queue, sample("status_sacct.txt", "sacct")], ids) == []


def test_a_silent_database_is_not_absence() -> None:
    said = answer("", "sacct: error: Problem talking to the database: Connection refused", 1, "sacct")
    jobs = SLURM.parse_status([sample("status_squeue.txt", "squeue"), said], ["17", "999"]).jobs
    assert jobs["17"].state == "RUNNING"
    assert jobs["999"].state == "UNKNOWN" and "Problem talking" in jobs["999"].reason


def test_one_unknown_id_is_absent() -> None:
    said = answer("", "slurm_load_jobs error: Invalid job id specified\n", 1)
    assert SLURM.parse_status([said, sacct()], ["9999"]).jobs == {}


def test_a_controller_that_does_not_answer_is_transient() -> None:
    said = answer("", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n", 1)
    with pytest.raises(SchedulerError) as caught:
        SLURM.parse_status([said, sacct()], ["1"])
    assert caught.value.transient and caught.value.exit_code == 3


@pytest.mark.parametrize(
    "text", ["<html>", "\udcfe\udcffmH", "17\x1fRUNNING\n", "17\x1fRUNNING\x1f\x1e\n", "x\x1f" * 8 + "\x1e\n"]
)
def test_garbage_is_an_error(text: str) -> None:
    for answers in ([answer(text), sacct()], [NOTHING, answer(text, command="sacct")]):
        with pytest.raises(SchedulerError) as caught:
            SLURM.parse_status(answers, ["17"])
        caught.value.message.encode("utf-8")


def test_names_may_hold_anything() -> None:
    name = 'a|b\n77\x1fCOMPLETED\x1f "é \udcff'
    record = ("5", "RUNNING", "None", "n1", "1", "N/A", "1", name)
    found = SLURM.parse_status([squeue(record), sacct()], ["5", "77"]).jobs
    assert set(found) == {"5"} and (found["5"].name, found["5"].owner) == (name, "alice")


def test_cluster_lines_are_passed_over() -> None:
    said = answer("CLUSTER: lab\n" + squeue(("5", "RUNNING", "None", "n1", "1", "N/A", "1", "n")).stdout)
    assert SLURM.parse_status([said, sacct()], ["5"]).jobs["5"].state == "RUNNING"


def test_cancel() -> None:
    told = "scancel: Terminating job 5\n"
    assert SLURM.parse_cancel(answer("", told, 0, "scancel")) is True
    ended = told + "scancel: error: Kill job error on job id 5: Job/step already completing or completed\n"
    assert SLURM.parse_cancel(answer("", ended, 0, "scancel")) is False
    unknown = told + "scancel: error: Kill job error on job id 5: Invalid job id specified\n"
    assert SLURM.parse_cancel(answer("", unknown, 0, "scancel")) is False
    denied = told + "scancel: error: Kill job error on job id 5: Access/permission denied\n"
    with pytest.raises(SchedulerError):
        SLURM.parse_cancel(answer("", denied, 0, "scancel"))


def test_find() -> None:
    assert SLURM.parse_find([answer("29\n"), answer("3\n29\n8_1\n", command="sacct")]) == ["3", "8", "29"]
    assert SLURM.parse_find([answer("29\n"), DISABLED]) == ["29"]
    silent = answer("", "sacct: error: Problem talking to the database: Connection refused", 1, "sacct")
    with pytest.raises(SchedulerError):
        SLURM.parse_find([answer(""), silent])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("node1", ("node1",)),
        ("node[1-2]", ("node1", "node2")),
        ("a[08-10],b", ("a08", "a09", "a10", "b")),
        ("r[1-2]n[1,3]", ("r1n1", "r1n3", "r2n1", "r2n3")),
        ("n[1-99999999]", ("n[1-99999999]",)),
        ("n[x]", ("n[x]",)),
    ],
)
def test_host_lists(text: str, expected: tuple[str, ...]) -> None:
    assert hosts(text) == expected


PIECES = st.sampled_from(
    ["5", "8_[1-3%2]", "8_1", "RUNNING", "CANCELLED by 0", "0:9", "\x1f", "\x1e\n", "\n", "[", "]", "\udcff", "N/A"]
)


@given(st.lists(PIECES, max_size=40).map("".join), st.integers(0, 255))
def test_parsers_raise_nothing_but_scheduler_errors(text: str, code: int) -> None:
    said = answer(text, text, code)
    for call in (
        lambda: SLURM.parse_status([said, said, said], ["5", "8_2", "odd"]),
        lambda: SLURM.parse_submit(said),
        lambda: SLURM.parse_cancel(said),
        lambda: SLURM.parse_find([said, said]),
        lambda: SLURM.parse_queues(said),
        lambda: SLURM.follow_up_argv([NOTHING, said], ["5"]),
        lambda: hosts(text),
    ):
        try:
            call()
        except SchedulerError as error:
            assert error.message


def test_a_job_has_what_the_controller_recorded() -> None:
    controller, accounting = SLURM.details_argv("3")
    assert controller == ["scontrol", "show", "job", "--oneliner", "3"] and accounting[0] == "sacct"
    text = sample("scontrol_oneline_4_tasks.txt", "scontrol").stdout
    assert SLURM.parse_details([answer(text, command="scontrol"), answer("", command="sacct")], "3") == JobDetails(
        nodes=2, processes=4, threads=1, gpus_per_node=2, memory=400 * 2**20, walltime=300, queue="main", group="proj1",
        qos="normal", output="/srv/lab/samples/job_full_stdout.txt",
    )  # fmt: skip
    many = text.replace("NumTasks=4", "NumTasks=16")  # cut off in its number it is none
    counts = {SLURM.parse_details([answer(many[:end], command="scontrol")], "3").processes for end in range(len(many))}
    assert counts == {None, 16}


def test_what_the_controller_does_not_tell_is_not_known() -> None:
    text = sample("scontrol_oneline_no_tasks.txt", "scontrol").stdout
    pending = SLURM.parse_details([answer(text, command="scontrol")], "19")
    assert (pending.processes, pending.gpus_per_node, pending.walltime) == (None, 5, 600)
    plain = text.replace(",gres/gpu=5", "").replace("TresPerNode=gres:gpu:5 ", "").replace("00:10:00", "UNLIMITED")
    assert SLURM.parse_details([answer(plain, command="scontrol")], "19").gpus_per_node == 0
    assert SLURM.parse_details([answer(plain, command="scontrol")], "19").walltime is None
    untold = plain.replace("Power=", "Power= TresPerJob=gres:gpu:3")
    assert SLURM.parse_details([answer(untold, command="scontrol")], "19").gpus_per_node is None
    assert SLURM.parse_details([answer(text + text, command="scontrol")], "19").output is None, (
        "an array has one for each task"
    )
    assert SLURM.parse_details([], "19") == JobDetails()
    for nodes, count in (("2-2", 2), ("1-4", None)):  # a job that waits has a range
        waiting = re.sub(r" NumNodes=\S+ ", f" NumNodes={nodes} ", text)
        assert waiting != text
        assert SLURM.parse_details([answer(waiting, command="scontrol")], "19").nodes == count


def test_a_job_that_the_controller_forgot_has_what_accounting_recorded() -> None:
    rows = [
        ("3", "2", "", "billing=8,cpu=8,gres/gpu=4,mem=800M,node=2", "5", "main", "proj1", "normal", "/srv/lab"),
        ("3.batch", "1", "1", "cpu=4,mem=400M,node=1", "", "", "proj1", "", ""),
        ("3.0", "2", "4", "cpu=8,mem=800M,node=2", "", "", "proj1", "", ""),
        ("3.1", "1", "1", "cpu=1,mem=100M,node=1", "", "", "proj1", "", ""),
    ]
    text = "".join("\x1f".join(row) + "\n" for row in rows)
    gone = CommandOutput(("scontrol",), 1, "", "slurm_load_jobs error: Invalid job id specified")
    assert SLURM.parse_details([gone, answer(text, command="sacct")], "3") == JobDetails(
        nodes=2, processes=4, gpus_per_node=2, memory=400 * 2**20, walltime=300, queue="main", group="proj1",
        qos="normal", output="/srv/lab/slurm-3.out",
    )  # fmt: skip
    batch = "\x1f".join(rows[0]) + "\n"
    assert SLURM.parse_details([answer(batch, command="sacct")], "3").processes is None, (
        "its script started ranks without srun"
    )
