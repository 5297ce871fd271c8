"""PJM: its commands, and what recorded output means, whole and cut off at every byte. No server was at hand."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.config import load
from hackathon.jobs.check import CheckError, check
from hackathon.jobs.cost import gpus_given
from hackathon.jobs.request import Options
from hackathon.jobs.resolve import Sources, resolve
from hackathon.runs.markers import Markers
from hackathon.runs.states import decide
from hackathon.schedulers import registry
from hackathon.schedulers.base import CommandOutput, JobState, SchedulerError, StatusAnswer, Submission
from hackathon.schedulers.dialect import Header
from hackathon.schedulers.pjm import parse, table
from hackathon.schedulers.pjm.commands import CHOSEN, Pjm
from hackathon.schedulers.pjm.dialect import PjmDialect
from hackathon.schedulers.pjm.wisteria import Wisteria
from support.pjm_samples import SAMPLES, chosen, recorded, said

PJM = Pjm()
WISTERIA = Wisteria(PjmDialect(group="g", table="site"))
ENDED = ["SUCCEEDED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "CANCELLED", "NODE_FAILED", "FINISHED"]


def status(*answers: CommandOutput, ids: str = "7", scheduler: Pjm = PJM) -> dict[str, JobState]:
    return scheduler.parse_status(list(answers), ids.split()).jobs


# ---- submission


def test_commands() -> None:
    submission = Submission(Path("/r/x/job.sh"), Path("/r/x"), "hk-abcdefgh", Path("/r/x/logs/scheduler.log"))
    assert PJM.submit_argv(submission) == ["pjsub", "-N", "hk-abcdefgh", "-o", "logs/scheduler.log", "-j", "job.sh"]
    assert PJM.status_argv(["7", "8"]) == [["pjstat", "-v", "--choose", CHOSEN, "7", "8"]]
    assert WISTERIA.status_argv(["7"]) == [["pjstat"]]
    assert PJM.cancel_argv("7") == ["pjdel", "7"]
    assert not PJM.supports_after("ok") and not PJM.supports_after("any") and PJM.accounting_argv(["7"]) == []
    shell = PJM.shell(["-L", "node=1", "-L", "elapse=01:00:00", "-j"], Path("shell.sh"))
    # pjsub_ok.txt
    assert shell.argv == ["pjsub", "--interact", "-L", "node=1", "-L", "elapse=01:00:00", "--sparam", "wait-time=600"]
    assert not shell.reads_rcfile


@pytest.mark.parametrize("text", ["0000", "0", "", "-f", "7 8", "7[3]", "7_1", "07", "٧", "7\n", "1" * 19])
def test_what_is_no_id(text: str) -> None:
    assert not PJM.is_id(text)


def test_id_only_from_a_line_with_submitted() -> None:
    found = [parse.submitted_id(answer) for answer in recorded("pjsub_ok.txt") if "123456 sub" in answer.stdout]
    assert found == ["123456"]
    news = "Maintenance: job 99 ...\n[INFO] PJM 0000 pjsub Job 17 submitted.\nBalance 0000\n"
    assert parse.submitted_id(said("pjsub job.sh", news)) == "17"


@pytest.mark.parametrize(
    "out", ["", "17\n", "[INFO] PJM 0000 pjsub Job 17 submitted.", "[INFO] PJM 0000 pjsub Job 17\n", "0000\n",
            "[INFO] PJM 0000 pjsub Job 0 submitted.\n", "[INFO] PJM 0000 pjsub Job 64856_0 submitted.\n", "\udcff\n"]
)  # fmt: skip
def test_no_id_is_no_submission_that_anybody_is_sure_of(out: str) -> None:
    with pytest.raises(SchedulerError) as caught:
        parse.submitted_id(said("pjsub job.sh", out))
    assert caught.value.transient and not caught.value.no_job and caught.value.id == "schedulers.garbage"


@pytest.mark.parametrize(
    ("number", "key", "transient"),
    [
        ("0057", "over_limit", False),
        ("0070", "not_authorised", False),
        ("0071", "group_needed", False),
        ("0072", "user_limit", True),
        ("0020", "bad_options", False),
        ("0007", "refused", False),  # the K computer printed it with exit code 0
    ],
)
@pytest.mark.parametrize("code", [0, 1])
def test_refusals_on_record(number: str, key: str, transient: bool, code: int) -> None:
    text = (SAMPLES / "pjsub_errors.txt").read_text()
    (line,) = [each.partition("    ")[0].strip() for each in text.splitlines() if f"[ERR.] PJM {number} " in each]
    for answer in (said("pjsub job.sh", err=line + "\n", code=code), said("pjsub job.sh", out=line + "\n", code=code)):
        with pytest.raises(SchedulerError) as caught:
            parse.submitted_id(answer)
        error = caught.value
        assert (error.id, error.transient, error.no_job) == (f"schedulers.{key}", transient, key == "user_limit")
        assert line[14:30] in error.message


def test_submission_outside_a_data_area_names_the_key_of_the_profile() -> None:
    words = "The current directory is not a data area. (directory: /vol0004/g/u)\nSpecify --no-check-directory option\n"
    with pytest.raises(SchedulerError) as caught:
        parse.submitted_id(said("pjsub job.sh", err=words, code=1))
    assert "no_check_directory" in str(caught.value.hint)


def test_cancel() -> None:
    (accepted,) = recorded("pjdel.txt")
    accepted = said("pjdel 6291500", accepted.stdout.partition("    ")[0] + "\n")
    assert parse.was_told(accepted)
    gone = said("pjdel 7", err="[ERR.] PJM 0186 pjdel Job 7 does not exist.\n", code=1)
    assert not parse.was_told(gone)
    for answer in (said("pjdel 7", code=1), said("pjdel 7", err="[ERR.] PJM 0181 pjdel No permission.\n")):
        with pytest.raises(SchedulerError):
            parse.was_told(answer)


# ---- states


def test_fugaku_on_record() -> None:
    ended, live = recorded("pjstat_v_H_fugaku.txt")
    ids = ["49047829", "49047939"]
    assert PJM.follow_up_argv([live], ids) == [["pjstat", "-H", "-v", "--choose", CHOSEN, *ids]]
    ended = CommandOutput(("pjstat", "-H", "-v", *ids), 0, ended.stdout, "")
    jobs = PJM.parse_status([live, ended], ids).jobs
    first, second = jobs["49047829"], jobs["49047939"]
    assert (first.state, first.exit_code, first.signal, first.raw) == ("SUCCEEDED", 0, None, "EXT")
    assert (second.state, second.signal, second.reason) == ("TIMEOUT", 24, "PJM code 11: ELAPSE LIMIT EXC")
    assert (first.name, first.owner) == ("", "u13450")  # the name is cut


@pytest.mark.parametrize(
    ("numbers", "state", "started"),
    [
        ("0   0   0", "SUCCEEDED", True),
        ("3   0   0", "FAILED", True),
        ("0   0   9", "FAILED", True),
        ("0   1   15", "CANCELLED", None),
        ("0   11  24", "TIMEOUT", True),
        ("0   12  9", "OUT_OF_MEMORY", True),
        ("0   23  9", "OUT_OF_MEMORY", True),
        ("0   20  9", "NODE_FAILED", None),
        ("0   22  9", "NODE_FAILED", None),
        ("0   25  0", "NODE_FAILED", None),
        ("0   2   0", "FAILED", False),
        ("0   6   0", "FAILED", False),
        ("0   16  0", "FAILED", False),
        ("0   21  0", "FAILED", False),
        ("0   28  0", "FAILED", None),
        ("0   99  0", "FAILED", None),
        ("-   0   0", "FINISHED", None),
        ("0   -   0", "FINISHED", None),
        ("0   0   -", "FINISHED", None),
        ("-   -   -", "FINISHED", None),
    ],
)
def test_ext_means_what_the_three_numbers_say(numbers: str, state: str, started: bool | None) -> None:
    found = status(chosen(), chosen(f"7          EXT {numbers} me       -", past=True))["7"]
    assert (found.state, found.raw, found.started) == (state, "EXT", started)
    if state == "FINISHED":
        assert found.exit_code is found.signal is None


def test_ext_without_its_columns_is_no_success() -> None:
    # pjstat_v_bsc_cte_arm.txt: `--choose jid,st,ermsg`, and a REASON that its authors wrote themselves
    answer = recorded("pjstat_v_bsc_cte_arm.txt")[1]
    jobs = PJM.parse_status([chosen(ids="167727 167728"), answer], ["167727", "167728"]).jobs
    assert (jobs["167727"].state, jobs["167728"].state) == ("FINISHED", "ENDING")


@pytest.mark.parametrize(
    ("letters", "state"),
    [
        ("ACC", "QUEUED"), ("QUE", "QUEUED"), ("RNA", "RUNNING"), ("RNP", "RUNNING"), ("RUN", "RUNNING"),
        ("RSM", "RUNNING"), ("SPP", "RUNNING"), ("SPD", "RUNNING"), ("SWO", "RUNNING"), ("SWD", "RUNNING"),
        ("SWI", "RUNNING"), ("RNE", "ENDING"), ("RNO", "ENDING"), ("HLD", "HELD"), ("CCL", "CANCELLED"),
        ("RJT", "FAILED"), ("ERR", "FAILED"), ("XYZ", "UNKNOWN"), ("run", "UNKNOWN"),
    ],
)  # fmt: skip
def test_letters(letters: str, state: str) -> None:
    found = status(chosen(f"7          {letters} -   -   -   me       -"))["7"]
    assert (found.state, found.raw) == (state, letters)


@pytest.mark.parametrize(
    ("reason", "never"),
    [
        ("INSUFF NODE", True), ("INSUFF MEMORY", True), ("RSCGRP NOT EXIST", True), ("RSCGRP STOP", False),
        ("WAIT SCHED", False), ("RUNLIMIT EXCEED", False), ("IMPOSSIBLE SCHED", False), ("-", False),
    ],
)  # fmt: skip
def test_why_a_job_waits(reason: str, never: bool) -> None:
    found = status(chosen(f"7          QUE -   -   -   me       {reason}"))["7"]
    assert (found.never_runs, found.reason) == (never, "" if reason == "-" else reason)


def test_whole_tables_on_record() -> None:
    """Dates of two words, planned and fixed starts, a summary above the heading, bulk jobs and steps."""
    (plain,) = recorded("pjstat_plain_fujitsu.txt")
    fugaku, summary, kyushu = plain.stdout.partition("  ACCEPT QUEUED")
    shown = table.read(said("pjstat", fugaku), table.FUJITSU)
    assert shown is not None and list(shown.rows) == ["238", "239", "240", "241"]
    assert shown.rows["238"]["START_DATE"] == "11/17 09:01:41" and shown.rows["240"]["NODE_REQUIRE"] == "-"
    older = table.read(said("pjstat", summary + kyushu), table.FUJITSU)
    assert older is not None and older.rows["24302383"]["START_DATE"] == "12/25 18:17:58<"
    assert older.rows["301095"]["ST"] == "QUE" and older.rows["301095"]["NODE_REQUIRE"] == "1"
    wide = recorded("pjstat_v_bsc_cte_arm.txt")[0]
    found = table.read(wide, table.FUJITSU)
    assert found is not None and (found.rows["167687"]["PC"], found.rows["167687"]["REASON"]) == ("0", "-")
    parts = chosen("7          QUE -   -   -   me       -", "7[1]       EXT 0   0   0   me       -", "7_0  EXT")
    assert status(parts)["7"].state == "QUEUED"  # a sub-job's end is not the job's


def test_planned_start_is_no_start() -> None:
    heading = "JOB_ID     JOB_NAME   MD ST  USER     START_DATE      ELAPSE_LIM"
    row = "7          y0.270     NM QUE z41110v  (07/29 23:20:00)<  0001:00:00"
    found = status(said("pjstat 7", f"{heading}\n{row}\n"))["7"]
    assert (found.state, found.start, found.started) == ("QUEUED", None, None)
    table_of = WISTERIA.parse_status(recorded("pjstat_wisteria_queued.txt"), ["5170614", "5170610"]).jobs
    assert (table_of["5170614"].state, table_of["5170614"].start, table_of["5170614"].started) == ("QUEUED", None, None)
    assert (table_of["5170610"].state, table_of["5170610"].started) == ("RUNNING", True)


def test_later_answer_counts() -> None:
    first = chosen("7          RUN -   -   -   me       -", ids="7 8")
    then = chosen("7          EXT 0   0   0   me       -", past=True, ids="7 8")
    found = status(first, then, ids="7 8")
    assert found["7"].state == "SUCCEEDED" and "8" not in found


def test_jobs_that_are_nowhere_and_answers_that_say_nothing() -> None:
    assert status(chosen(), chosen(past=True)) == {}
    for bad in (
        said("pjstat -H", code=1),
        said("pjstat -H"),
        said("pjstat -H", "<html>\n"),
        said("pjstat -H", code=124),
    ):
        with pytest.raises(SchedulerError):
            status(chosen(), bad)
        both = status(chosen("8          RUN -   -   -   me       -", ids="7 8"), bad, ids="7 8")
        assert (both["7"].state, both["8"].state) == ("UNKNOWN", "RUNNING")
    for bad in (said("pjstat"), said("pjstat", "\udcff\udcfe\n"), said("pjstat", err="down", code=1)):
        assert PJM.follow_up_argv([bad], ["7"]) == []
        with pytest.raises(SchedulerError):
            status(bad)


def test_an_answer_with_odd_bytes() -> None:
    found = status(chosen("7          RUN -   -   -   \udcff\udcfe  \udc80 \x1b[31m"))["7"]
    assert (found.state, found.owner) == ("RUNNING", "\udcff\udcfe")


# ---- the table of a site


def test_wisteria_on_record() -> None:
    live, none, ended = recorded("pjstat_wisteria_site.txt")[:3]
    running = WISTERIA.parse_status([live], ["4757341"]).jobs["4757341"]
    assert (running.state, running.raw, running.name) == ("RUNNING", "RUNNING", "testjob")
    assert WISTERIA.follow_up_argv([none], ["1334861"]) == [["pjstat", "-H", "1334861"]]
    row = (SAMPLES / "pjstat_wisteria_site.txt").read_text().split("HOLD   ")[1].splitlines()[1]
    past = said("pjstat -H 1334861", "".join(live.stdout.splitlines(True)[:3]) + row + "\n")
    found = WISTERIA.parse_status([none, past], ["1334861"]).jobs["1334861"]
    assert (found.state, found.raw, found.exit_code, found.signal) == ("FINISHED", "END", None, None)
    assert ended.argv[1] == "--limit"
    markers = Markers(job_id="1334861", claimed=True, started=1.0, deadline=100.0)
    assert decide(markers, found).state == "FAILED" and decide(markers, found).cause == "no_cause"


@pytest.mark.parametrize(
    ("word", "state", "started"),
    [
        ("QUEUED", "QUEUED", None), ("RUNNING", "RUNNING", True), ("HOLD", "HELD", None), ("END", "FINISHED", None),
        ("CANCEL", "CANCELLED", None), ("ERROR", "FAILED", None), ("REJECT", "FAILED", False),
        ("MOVED", "UNKNOWN", None),
    ],
)  # fmt: skip
def test_words_of_a_site(word: str, state: str, started: bool | None) -> None:
    answer = said("pjstat", f"JOB_ID  JOB_NAME STATUS PROJECT\n7       hk-x     {word} gv49\n")
    found = status(answer, scheduler=WISTERIA)["7"]
    assert (found.state, found.raw, found.started) == (state, word, started)


def test_a_site_is_asked_about_many_ended_jobs_at_once_and_then_about_a_few() -> None:
    none = said("pjstat", "No unfinished job found.\n")
    ids = [str(number) for number in range(1, 21)]
    assert WISTERIA.follow_up_argv([none], ids) == [["pjstat", "-H"]]
    rows = "".join(f"{number} hk-x END gv49\n" for number in ids[:10])
    listed = said("pjstat -H", f"JOB_ID JOB_NAME STATUS PROJECT\n{rows}")
    assert WISTERIA.fall_back_argv([none, listed], ids) == [["pjstat", "-H", each] for each in ids[10:18]]
    one = said("pjstat -H 11", "No finished job found.\n")
    found = WISTERIA.parse_status([none, listed, one], ids).jobs
    # a list may not show all, so only the one that was asked for is absent
    assert "11" not in found and {found[each].state for each in ids[11:]} == {"UNKNOWN"}
    assert PJM.fall_back_argv([chosen(), chosen(past=True)], ["7"]) == []


@pytest.mark.parametrize(
    ("scheduler", "answer", "right"),
    [
        (PJM, "JOB_ID  JOB_NAME STATUS PROJECT RSCGROUP\n7 hk-x RUNNING gv49 short-a\n", "site"),
        (PJM, "No unfinished job found.\n", "site"),
        (WISTERIA, "JOB_ID     JOB_NAME   MD ST  USER\n7          hk-x       NM RUN me\n", "fujitsu"),
    ],
)
def test_other_table_names_the_key_of_the_profile(scheduler: Pjm, answer: str, right: str) -> None:
    with pytest.raises(SchedulerError) as caught:
        status(said("pjstat", answer), scheduler=scheduler)
    assert f"dialect.table: {right}" in caught.value.message


def test_option_that_a_site_refuses_names_the_key_of_the_profile() -> None:
    refused = said("pjstat -v", err="pjstat: error: unrecognized arguments: -v --choose\n", code=2)
    with pytest.raises(SchedulerError) as caught:
        status(refused)
    assert "dialect.table: site" in caught.value.message


# ---- by name, and queues


def test_find_by_name_filters_and_asks_twice() -> None:
    argv = PJM.find_argv("hk-abcdefgh")
    assert argv[0] == ["pjstat", "-v", "--choose", "jid,jnam", "--filter", "jnam=hk-abcdefgh"]
    assert argv[1] == ["pjstat", "-H", *argv[0][1:]] and argv[2:] == argv[:2]
    heading = "JOB_ID     JOB_NAME\n"
    answers = [said("pjstat", heading + "9          hk-abcdefg\n"), said("pjstat -H", heading)]
    lost_end = [said("pjstat", heading), said("pjstat -H", heading + "12         hk-abcdefg\n7  other\n")]
    assert PJM.parse_find_named([*answers, *lost_end], "hk-abcdefgh") == ["9", "12"]
    assert PJM.parse_find_named([said("pjstat", heading)] * 4, "hk-abcdefgh") == []
    for bad in (
        said("pjstat"),
        said("pjstat", code=1),
        said("pjstat", "<html>\n"),
        said("pjstat", heading + "<html>\n"),
    ):
        with pytest.raises(SchedulerError):
            PJM.parse_find_named([bad] * 4, "hk-abcdefgh")


def test_find_in_a_sites_tables_which_cut_names() -> None:
    assert WISTERIA.find_argv("hk-abcdefgh") == [["pjstat"], ["pjstat", "-H"]] * 2
    heading = "JOB_ID JOB_NAME STATUS PROJECT\n"
    live = said("pjstat", heading + "7 hk-abcdefg QUEUED gv49\n8 hk-zzzzzzz QUEUED gv49\n")
    none = said("pjstat -H", "No finished job found.\n")
    assert WISTERIA.parse_find_named([live, none] * 2, "hk-abcdefgh") == ["7"]
    assert WISTERIA.parse_find_named([none] * 4, "hk-abcdefgh") == []
    two = said("pjstat -H", heading + "9 hk-abcdefg END gv49\n")
    with pytest.raises(SchedulerError):  # which of them it is cannot be told
        WISTERIA.parse_find_named([live, two] * 2, "hk-abcdefgh")


def test_queues() -> None:
    (rscuse,) = [answer for answer in recorded("pjstat_wisteria_site.txt") if "--rscuse" in answer.argv]
    assert WISTERIA.queues_argv() == ["pjstat", "--rscuse"]
    found = {queue.name: queue.note for queue in WISTERIA.parse_queues(rscuse)}
    assert found == {
        "debug-a": "Node: 1/2", "interactive-a": "Node: 1/2", "short-a": "Node: 1/2", "regular-a": "Node: 24/24",
        "share-debug": "GPU: 0/8", "share-interactive": "GPU: 0/8",
    }  # fmt: skip
    with pytest.raises(SchedulerError) as caught:
        PJM.parse_queues(said("pjstat --rsc", "RSCUNIT RSCGRP STATUS\n"))
    assert caught.value.id == "schedulers.queues_not_read" and not caught.value.transient


# ---- what a site wants


@pytest.mark.parametrize(
    ("dialect", "queue", "nodes", "gpus", "shares"),
    [
        (PjmDialect(), "b-batch", 1, 1, False),
        (PjmDialect(gpu_queues="share(-[a-z]+)?"), "share", 1, 4, True),
        (PjmDialect(gpu_queues="share(-[a-z]+)?"), "regular-a", 1, 1, False),
        (PjmDialect(gpu_queues="share(-[a-z]+)?"), None, 1, 1, False),
        (PjmDialect(gpu_queues="b-.*", gpus_of_node=4), "b-batch", 1, 3, True),
        (PjmDialect(gpu_queues="b-.*", gpus_of_node=4), "b-batch", 1, 4, False),
        (PjmDialect(gpu_queues="b-.*", gpus_of_node=4), "b-batch", 2, 1, False),
        (PjmDialect(gpu_queues="b-.*", gpus_of_node=4), "b-batch", 1, 0, False),
    ],
)
def test_gpus_or_nodes(dialect: PjmDialect, queue: str | None, nodes: int, gpus: int, shares: bool) -> None:
    assert dialect.asks_for_gpus(queue, nodes, gpus) is shares
    made = dialect.directives(Header(queue, "gx00", None, nodes, nodes * max(1, gpus), max(1, gpus), 1, gpus, 60))
    assert made["gpus"] == (gpus if shares else None) and made["group"] is None


def test_output_files_of_jobs_by_hand() -> None:
    def job_of(name: str) -> str | None:
        return next((match[1] for pattern in PJM.output_names if (match := pattern.match(name))), None)

    assert [job_of(name) for name in ("job.sh.123456.out", "a b.7.err", "job.sh.o301095", "x.42.stats")] == [
        "123456", "7", "301095", "42",
    ]  # fmt: skip
    assert job_of("job.sh.0000.out") is None and job_of("train.log") is None


# ---- the end of the walltime


@pytest.mark.parametrize(
    ("signal", "ended", "seen", "state", "settled"),
    [
        (24, 95.0, JobState("FINISHED", "END"), "TIMEOUT", True),
        (24, 95.0, None, "TIMEOUT", False),
        (24, 20.0, JobState("FINISHED", "END"), "FAILED", True),  # a limit of CPU time, long before
        (15, 95.0, JobState("FINISHED", "END"), "FAILED", True),
        (24, 95.0, JobState("OUT_OF_MEMORY", "EXT"), "OUT_OF_MEMORY", True),
    ],
)
def test_sigxcpu_at_the_deadline_is_the_walltime(
    signal: int, ended: float, seen: JobState | None, state: str, settled: bool
) -> None:
    markers = Markers(
        job_id="7", claimed=True, started=1.0, deadline=100.0, ended=ended, exit_code=128 + signal, signal=signal
    )
    found = decide(markers, seen)
    assert (found.state, found.settled) == (state, settled)


# ---- cut off


def answer_or_nothing(scheduler: Pjm, answers: list[CommandOutput], ids: list[str]) -> StatusAnswer:
    try:
        return scheduler.parse_status(answers, ids)
    except SchedulerError:
        return StatusAnswer()


@given(
    st.lists(
        st.tuples(
            st.integers(1, 10**9), st.sampled_from(["QUE", "RUN", "EXT", "CCL", "HLD", "XXX"]),
            st.integers(0, 30), st.integers(0, 30), st.sampled_from(["-", "WAIT SCHED", "ELAPSE LIMIT EXC", "日本"]),
        ),
        unique_by=lambda row: row[0], max_size=6,
    ),
    st.integers(0, 500),
)  # fmt: skip
def test_any_table_says_the_same_or_less_when_it_is_cut(
    rows: list[tuple[int, str, int, int, str]], length: int
) -> None:
    lines = [
        f"{number:<10} {letters} {code:<3} {cause:<3} 0   me       {reason}"
        for number, letters, code, cause, reason in rows
    ]
    answer = chosen(*lines)
    ids = [str(row[0]) for row in rows] or ["7"]
    whole = status(answer, chosen(past=True), ids=" ".join(ids))
    cut = CommandOutput(answer.argv, 0, answer.stdout[:length], "")
    for job_id, state in answer_or_nothing(PJM, [cut, chosen(past=True, ids=" ".join(ids))], ids).jobs.items():
        assert state == whole.get(job_id) or state.state == "UNKNOWN"


def test_every_sample_names_its_source() -> None:
    for path in sorted(SAMPLES.iterdir()):
        assert path.read_text("utf-8").startswith("#") or "#" in path.read_text("utf-8"), path.name
    numbers = [int(code) for code in re.findall(r"(?:^|\| )(\d+) ", (SAMPLES / "pjm_codes.txt").read_text(), re.M)]
    assert set(parse.CODES) <= set(numbers) and all(one < other for one, other in pairwise(sorted(set(numbers))))
    assert set(ENDED) >= {state for state, _ in parse.CODES.values()}


@pytest.mark.parametrize(
    ("cluster", "queue", "nodes", "processes_per_node", "gpus"),
    [
        ("wisteria-a", "short-a", 1, 1, 8),  # the node is paid for
        ("wisteria-a", "share", 1, 1, 1),
        ("wisteria-a", "short-a", 2, 4, 8),
        ("genkai", "b-batch", 1, 1, 1),
        ("genkai", "b-batch", 1, 4, 4),
        ("genkai", "b-batch", 2, 1, 4),
        ("flow-cx", "cx-share", 1, 1, 1),
        ("miyabi-g", "short-g", 1, 1, 1),
    ],
)
def test_a_job_pays_for_its_node_unless_it_asks_for_gpus(
    cluster: str, queue: str, nodes: int, processes_per_node: int, gpus: int
) -> None:
    profile = registry.load_cluster(cluster, [])
    assert isinstance(profile.node.gpus, int)
    assert gpus_given(profile.node.gpus, processes_per_node, profile, queue=queue, nodes=nodes) == gpus


@pytest.mark.parametrize("cluster", ["wisteria-o", "fugaku"])
def test_jobs_of_several_nodes_are_refused_where_only_fujitsus_mpiexec_reaches_them(cluster: str) -> None:
    sources = Sources(cluster=registry.load_cluster(cluster, []), options=Options(nodes=2, group="hp200000"))
    recipe, folder = load.load_recipe("torch-ddp", [])
    request = resolve(replace(sources, recipe=recipe, folder=folder))
    with pytest.raises(CheckError, match="jobs of several nodes are not supported"):
        check(request, sources.cluster, recipe)
