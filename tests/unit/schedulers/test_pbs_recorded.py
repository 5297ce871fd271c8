"""What a real OpenPBS 23.06 and the qstat of Miyabi printed, whole and cut off at every byte."""

import re

import pytest

from hackathon.runs.markers import Markers
from hackathon.runs.states import decide
from hackathon.schedulers import registry
from hackathon.schedulers.base import CommandOutput, SchedulerError, StatusAnswer
from hackathon.schedulers.pbs import history, miyabi, parse, text
from hackathon.schedulers.pbs.commands import Pbs
from hackathon.schedulers.pbs.dialect import PbsDialect
from hackathon.schedulers.reports import JobDetails
from support.pbs_samples import SAMPLES, blocks_of

PBS = Pbs()
MIYABI = registry.load("pbs", {"history": "H"})
NO_JOBS = Pbs(PbsDialect(history="none"))


def recorded(name: str) -> dict[str, CommandOutput]:
    """Return command line → answer of every `$ command` block; stderr's lines stand there behind `[stderr] `."""
    found = {}
    for line, body, code in re.findall(
        r"^\$ (.*)\n((?:(?!\$ ).*\n)*?)\[exit (\d+)\]$", (SAMPLES / name).read_text("utf-8"), re.MULTILINE
    ):
        err = "".join(each[9:] + "\n" for each in body.splitlines() if each.startswith("[stderr] "))
        out = "".join(each + "\n" for each in body.splitlines() if not each.startswith("[stderr] "))
        found[line] = CommandOutput(tuple(line.split()), int(code), out, err)
    return found


def said(argv: list[str], out: str = "", err: str = "", code: int = 0) -> CommandOutput:
    return CommandOutput(tuple(argv), code, out, err)


# ---- servers without history


NO_HISTORY = recorded("no_history.txt")


def test_server_without_history_is_asked_again() -> None:
    first = NO_HISTORY["qstat -x -f -w 9"]
    assert first.exit_code == 0
    assert PBS.follow_up_argv([first], ["9.pbslogin"]) == [["qstat", "-f", "9.pbslogin"]]
    unknown = NO_HISTORY["qstat -f -w 9.pbslogin"]
    assert PBS.parse_status([first, unknown], ["9.pbslogin"]).jobs == {}
    live = said(["qstat", "-f", "9.pbslogin"], "Job Id: 9.pbslogin\n    job_state = R\n\n")
    assert PBS.parse_status([first, live], ["9.pbslogin"]).jobs["9.pbslogin"].state == "RUNNING"
    assert PBS.parse_accounting([first, unknown], ["9.pbslogin"]) == {}


def test_no_history_alone_is_neither_absence_nor_a_state() -> None:
    with pytest.raises(SchedulerError):
        PBS.parse_status([NO_HISTORY["qstat -x -f -w 9 10 11"]], ["9", "10", "11"])


def test_job_is_found_by_name_without_history() -> None:
    answers = [NO_HISTORY["qselect -x"], NO_HISTORY["qselect -N STDIN"]]
    assert PBS.parse_find(answers) == ["920.pbslogin", "921.pbslogin", "923.pbslogin"]
    nothing = [NO_HISTORY["qselect -x -N hk-nosuch"], said(["qselect", "-N", "hk-nosuch"])]
    assert PBS.parse_find(nothing) == []
    with pytest.raises(SchedulerError):
        PBS.parse_find([NO_HISTORY["qselect -x"], recorded("server_down.txt")["qselect -x -N a"]])


def test_profile_may_say_that_there_is_no_history() -> None:
    assert NO_JOBS.status_argv(["9.s"]) == [["qstat", "-f", "-w", "9.s"]]
    assert NO_JOBS.find_argv("hk-x") == [["qselect", "-N", "hk-x"]]
    many = [f"{number}.s" for number in range(1, 20)]
    assert NO_JOBS.follow_up_argv([said(["qstat", "-f", "-w"])], many) == []


# ---- many ids


def listed(*numbers: int, letter: str = "R") -> str:
    return "".join(f"Job Id: {number}.pbslogin\n    job_state = {letter}\n\n" for number in numbers)


MANY = [f"{number}.pbslogin" for number in range(1, 301)]
LIVE, PAST = ["qstat", "-f", "-w"], ["qstat", "-x", "-f", "-w"]


def test_many_ids_are_one_question_without_ids() -> None:
    assert PBS.status_argv(MANY) == [LIVE]
    assert PBS.follow_up_argv([said(LIVE, listed(*range(1, 301)))], MANY) == []
    assert PBS.accounting_argv(MANY) == [PAST]
    assert PBS.status_argv([*MANY, "7[].pbslogin"]) == [["qstat", "-t", "-f", "-w"]]


def test_of_many_ids_those_that_left_the_queue_are_asked_for() -> None:
    few = said(LIVE, listed(*range(3, 301)))
    assert PBS.follow_up_argv([few], MANY) == [[*PAST, "1.pbslogin", "2.pbslogin"]]
    ended = said([*PAST, "1.pbslogin", "2.pbslogin"], listed(1, letter="F"), "qstat: Unknown Job Id 2.pbslogin\n", 1)
    jobs = PBS.parse_status([few, ended], MANY).jobs
    assert len(jobs) == 299 and jobs["1.pbslogin"].state == "FINISHED" and "2.pbslogin" not in jobs
    assert PBS.follow_up_argv([said(LIVE)], MANY) == [PAST]


def test_job_that_a_whole_list_lacks_is_absent() -> None:
    answers = [said(LIVE, listed(*range(20, 301))), said(PAST, listed(*range(2, 301), letter="F"))]
    jobs = PBS.parse_status(answers, MANY).jobs
    assert set(MANY) - set(jobs) == {"1.pbslogin"}
    assert (jobs["2.pbslogin"].state, jobs["300.pbslogin"].state) == ("FINISHED", "FINISHED")


@pytest.mark.parametrize(
    "past",
    [
        said(PAST),  # nothing, and exit code 0
        said(PAST, listed(2, 3)[:-1]),  # cut off
        said(PAST, listed(2, 3), code=255),
        said(PAST, "", "qstat: PBS is not configured to maintain job history\n"),
        said(PAST, "", "too much", 124),
    ],
)
def test_job_is_not_absent_from_a_list_that_is_not_whole(past: CommandOutput) -> None:
    live = said(LIVE, listed(*range(20, 301))[:-1])
    assert PBS.parse_status([live, past], MANY).jobs["1.pbslogin"].state == "UNKNOWN"


def test_without_history_the_whole_list_of_the_queue_tells() -> None:
    no_history = said(PAST, "", "qstat: PBS is not configured to maintain job history\n")
    jobs = PBS.parse_status([said(LIVE, listed(*range(20, 301))), no_history], MANY).jobs
    assert set(jobs) == set(MANY[19:])
    assert PBS.parse_status([said(LIVE), no_history], MANY).jobs == {}  # an empty queue


def test_list_that_is_too_long_gives_way_to_a_question_by_id() -> None:
    answers = [said(LIVE, listed(*range(101, 301))), said(PAST, "", "qstat printed more than …", 124)]
    (asked,) = PBS.fall_back_argv(answers, MANY)
    assert asked == [*PAST, *MANY[: history.FALL_BACK]]
    last = said(asked, listed(*range(1, history.FALL_BACK + 1), letter="F"))
    jobs = PBS.parse_status([*answers, last], MANY).jobs
    assert (jobs["1.pbslogin"].state, jobs["100.pbslogin"].state) == ("FINISHED", "UNKNOWN")
    for answered in ([answers[0]], [answers[0], said(PAST, listed(1))], [answers[0], said(PAST, code=255)]):
        assert PBS.fall_back_argv(answered, MANY) == []


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["depend = afterany:488.pbslogin@pbslogin,beforeany:490.pbslogin@pbslogin", "Hold_Types = s"],
         "depend = afterany:488.pbslogin@pbslogin"),
        (["Hold_Types = u"], "Hold_Types = u"),
        (["Hold_Types = u", "comment = Job held by tester on Sat Nov 21"], "Job held by tester on Sat Nov 21"),
        (["Hold_Types = n"], ""),
    ],
)  # fmt: skip
def test_a_held_job_says_why(lines: list[str], reason: str) -> None:
    out = "\n    ".join(["Job Id: 489.pbslogin", "job_state = H", "project = _pbs_project_default", *lines]) + "\n\n"
    job = PBS.parse_status([said(["qstat", "-x", "-f", "-w", "489.pbslogin"], out)], ["489.pbslogin"]).jobs
    assert (job["489.pbslogin"].state, job["489.pbslogin"].reason) == ("HELD", reason)


# ---- refusals, ids, queues


def test_user_limit_is_a_no_that_may_change() -> None:
    command = "for i in 1 2 3; do echo sleep 5 | qsub -q limited; done"
    full = recorded("refusals_more.txt")[command]
    with pytest.raises(SchedulerError) as caught:
        PBS.parse_submit(CommandOutput(("qsub",), full.exit_code, "", full.stderr))
    assert (caught.value.id, caught.value.no_job, caught.value.exit_code) == ("schedulers.user_limit", True, 3)
    down = recorded("server_down.txt")["echo sleep 1 | qsub -q workq"]
    with pytest.raises(SchedulerError) as caught:
        PBS.parse_submit(CommandOutput(("qsub",), down.exit_code, "", down.stderr))
    assert (caught.value.id, caught.value.no_job, caught.value.exit_code) == ("schedulers.server_down", True, 3)
    with pytest.raises(SchedulerError) as caught:  # without qsub's own words the job may be there
        PBS.parse_submit(CommandOutput(("qsub",), down.exit_code, "", "Connection refused\n"))
    assert (caught.value.id, caught.value.no_job) == ("schedulers.server_down", False)


@pytest.mark.parametrize("line", sorted(recorded("server_down.txt")))
def test_server_that_is_down_is_transient(line: str) -> None:
    answer = recorded("server_down.txt")[line]
    assert parse.failed(answer).id == "schedulers.server_down" and parse.failed(answer).transient


def test_questions_have_errors_of_their_own() -> None:
    errors = recorded("errors_more.txt")
    for line in ("qstat -x -f -w abc.pbslogin", "qstat -x -f -w 9999.fake"):
        assert parse.failed(errors[line]).id == "schedulers.failed"  # not "unknown queue", not "bad script"
    assert PBS.parse_cancel(errors["qdel 9.pbslogin"]) is False
    names = ["9.pbslogin", "777777.pbslogin", "10.pbslogin"]
    answer = errors["qstat -x -f -w 9.pbslogin 777777.pbslogin 10.pbslogin | grep -E 'Job Id|Exit'"]
    assert PBS.parse_status([answer], names).jobs == {}


def test_used_up_ports_and_unverified_users_have_words_of_their_own() -> None:
    texts = (SAMPLES / "reserved_ports.txt").read_text()
    identity, ports = (part for part in texts.split("\n\n")[:2])
    assert parse.failed(said(["qstat"], "", identity, 255)).id == "schedulers.no_identity"
    assert parse.failed(said(["qstat"], "", ports, 255)).id == "schedulers.no_ports"


def test_one_job_has_one_id() -> None:
    block = listed(499, letter="F").replace("\n\n", "\n    stime = Sun Nov 22 15:32:33 2026\n    run_count = 1\n\n")
    jobs = PBS.parse_status([said(PAST, block + block)], ["499", "499.pbslogin"]).jobs
    assert {job.id for job in jobs.values()} == {"499.pbslogin"}
    twice = PBS.parse_accounting([said([*PAST, "499", "499.pbslogin"], block + block)], ["499", "499.pbslogin"])
    assert {job_id: len(used.charges) for job_id, used in twice.items()} == {"499": 1, "499.pbslogin": 1}
    assert PBS.same_job("499", "499.pbslogin") and not PBS.same_job("49", "499.pbslogin")


def test_queue_that_was_never_enabled_is_closed() -> None:
    answers = recorded("queue_never_enabled.txt")
    queues = [queue for line, answer in answers.items() if "-f" in line for queue in PBS.parse_queues(answer)]
    assert {queue.name: queue.enabled for queue in queues} == {"closed": False, "stopped": False, "disabled": False}
    opened = said(["qstat", "-Q", "-f"], "Queue: workq\n    enabled = True\n    started = True\n\n")
    assert PBS.parse_queues(opened)[0].enabled


def test_deleted_while_queued_again_is_cancelled() -> None:
    waiting, deleted = blocks_of("requeued_after_node_failure.txt")
    state = PBS.parse_status([said(PAST, waiting)], ["924.pbslogin"]).jobs["924.pbslogin"]
    assert (state.state, state.exit_code) == ("QUEUED", None)
    state = PBS.parse_status([said(PAST, deleted)], ["924.pbslogin"]).jobs["924.pbslogin"]
    assert (state.state, state.exit_code) == ("CANCELLED", None)
    lost = deleted.replace("substate = 91", "substate = 93")
    assert PBS.parse_status([said(PAST, lost)], ["924.pbslogin"]).jobs["924.pbslogin"].state == "NODE_FAILED"


def test_failed_prologue_never_started() -> None:
    (block,) = blocks_of("prologue_exit_1.txt") or [(SAMPLES / "prologue_exit_1.txt").read_text()]
    state = PBS.parse_status([said(PAST, block)], ["925.pbslogin"]).jobs["925.pbslogin"]
    assert (state.state, state.exit_code, state.started) == ("FAILED", -2, False)


@pytest.mark.parametrize(
    ("out", "job_id"),
    [
        ("123.server\n0000\n", "123.server"),
        ("0000\n123.server\n350\n", "123.server"),
        ("0000\n123\n", "123"),
        ("0000\n", None),
        ("0000.server\n", None),
        ("12", None),  # cut off: of 123.server, say
        ("123.ser", None),
        ("", None),
    ],
)
def test_what_is_taken_as_an_id(out: str, job_id: str | None) -> None:
    answer = said(["qsub"], out)
    if job_id is None:
        with pytest.raises(SchedulerError) as caught:
            PBS.parse_submit(answer)
        assert caught.value.transient and not caught.value.no_job  # there may be a job: it is looked for by name
    else:
        assert PBS.parse_submit(answer) == job_id
    assert not PBS.is_id("0000") and PBS.is_id("0.pbslogin") and PBS.is_id("914[2].pbslogin")


# ---- a site's own qstat (Miyabi)


TEXT = (SAMPLES / "miyabi_qstat.txt").read_text()
RSC = TEXT[TEXT.index("SYSTEM: Miyabi-G") : TEXT.index("# --- default table")]
ROW = (
    "1234002           example_fu FINISH    example1   debug-g         09/04 04:30:53   00:10:44        1.6    9   -\n"
)
HEADING = next(line for line in TEXT.splitlines(True) if line.startswith("JOB_ID"))
REFUSED = "usage: qstat -a [-v] [-t]\nqstat: error: unrecognized arguments: "
ENDED = blocks_of("array_by_user.txt")[-1].replace("914[3].pbslogin", "7.opbs")
ACTIVE = ENDED.replace("job_state = F", "job_state = R").replace("    Exit_status = 0\n", "")


def row(number: int, word: str, name: str = "hk-abcdefgh") -> str:
    return ROW.replace("1234002   ", f"{number:<10}").replace("FINISH ", f"{word:<7}").replace("example_fu", name)


def test_sample_row_is_read() -> None:
    assert ROW in TEXT and HEADING in TEXT
    found = miyabi.table(said(["qstat"], "Miyabi scheduled stop time: 2026/11/30\n" + HEADING + ROW))
    assert found == ([miyabi.Row("1234002", "example_fu", "FINISH")], True)


def asked(scheduler: Pbs, ids: list[str], answers: dict[str, CommandOutput]) -> StatusAnswer:
    """Return what the runner would: the answers of the first questions and of those that follow from them."""
    first = [answers[" ".join(argv)] for argv in scheduler.status_argv(ids)]
    further = [answers[" ".join(argv)] for argv in scheduler.follow_up_argv(first, ids)]
    return scheduler.parse_status([*first, *further], ids)


def site_says(active: str = "", ended: str = "", table: str = "") -> dict[str, CommandOutput]:
    """Return what Miyabi's qstat prints about job 7."""
    nothing = {"": "No unfinished job found. \n", "-H ": "No finished job found. \n"}
    found = {
        f"qstat {past}-f 7.opbs": said(["qstat", *past.split(), "-f", "7.opbs"], out or nothing[past])
        for past, out in (("", active), ("-H ", ended))
    }
    for number in range(100, 120):
        for past in ("", "-H "):
            argv = ["qstat", *past.split(), "-f", f"{number}.opbs"]
            found[" ".join(argv)] = said(argv, nothing[past])
    return {**found, "qstat": said(["qstat"], table)}


def test_active_and_ended_jobs_of_a_site() -> None:
    assert asked(MIYABI, ["7.opbs"], site_says(active=ACTIVE)).jobs["7.opbs"].state == "RUNNING"
    ended = asked(MIYABI, ["7.opbs"], site_says(ended=ENDED)).jobs["7.opbs"]
    assert (ended.state, ended.exit_code) == ("SUCCEEDED", 0)
    failed = ENDED.replace("Exit_status = 0", "Exit_status = 1")
    assert asked(MIYABI, ["7.opbs"], site_says(ended=failed)).jobs["7.opbs"].state == "FAILED"
    assert asked(MIYABI, ["7.opbs"], site_says()).jobs == {}


def test_absent_needs_both_sentences_to_their_end() -> None:
    first, second = (said(["qstat", *past, "-f", "7.opbs"], "No matching job found. \n") for past in ([], ["-H"]))
    assert MIYABI.parse_status([first, second], ["7.opbs"]).jobs == {}
    for odd in (
        said(["qstat", "-H", "-f", "7.opbs"], "No matching job found."),
        said(["qstat", "-H", "-f", "7.opbs"], "No matching job found. \n", code=1),
        said(["qstat", "-H", "-f", "7.opbs"]),
        said(["qstat", "-H", "-f", "8.opbs"], "No matching job found. \n"),
        said(["qstat", "-f", "7.opbs"], "No matching job found. \n"),
    ):
        with pytest.raises(SchedulerError):
            MIYABI.parse_status([first, odd], ["7.opbs"])
    with pytest.raises(SchedulerError):
        MIYABI.parse_status([first], ["7.opbs"])


def test_many_jobs_of_a_site_are_read_from_its_table() -> None:
    ids = ["7.opbs", *(f"{number}.opbs" for number in range(100, 120))]
    rows = "".join(row(number, "QUEUED") for number in range(100, 119))
    answers = site_says(ended=ENDED, table=HEADING + rows)
    assert MIYABI.status_argv(ids) == [["qstat"]]
    jobs = asked(MIYABI, ids, answers).jobs
    assert jobs["7.opbs"].state == "SUCCEEDED" and jobs["118.opbs"].state == "QUEUED" and "119.opbs" not in jobs
    planned = row(100, "QUEUED").replace(" 09/04 04:30:53  ", "(09/04 04:30:53) ")
    assert (
        asked(MIYABI, ids, {**answers, "qstat": said(["qstat"], HEADING + rows + planned)}).jobs["100.opbs"].start
        is None
    )
    odd = HEADING + "".join(row(number, "BROKEN") for number in range(100, 120))
    with pytest.raises(SchedulerError):  # a word that is not known, and nothing else about 20 jobs
        asked(MIYABI, ids[1:], {**answers, "qstat": said(["qstat"], odd)})


def test_number_at_the_cut_is_not_used() -> None:
    table = HEADING + row(1234, "RUNNING")
    for end in range(len(table)):
        found = miyabi.table(said(["qstat"], table[:end]))
        assert found is None or found[0] == [] or end == len(table)


def test_jobs_of_a_site_are_found_by_their_whole_names() -> None:
    argv = [["qstat", "-ll"], ["qstat", "-H", "-ll"]]
    assert MIYABI.find_argv("hk-abcdefgh") == argv
    none = said(argv[1], "No finished job found. \n")

    def find(out: str, ended: CommandOutput = none) -> list[str]:
        return MIYABI.parse_find_named([said(argv[0], out), ended], "hk-abcdefgh")

    assert find(HEADING + row(12, "QUEUED") + row(9, "RUNNING") + row(8, "HELD", "hk-zzzzzzzz")) == ["9", "12"]
    assert find("No unfinished job found. \n") == []
    assert find("No unfinished job found. \n", said(argv[1], HEADING + row(3, "FINISH"))) == ["3"]
    full = said(argv[1], HEADING + "".join(row(number, "FINISH", "other") for number in range(1, 101)))
    for doubtful in (
        lambda: find(HEADING + row(12, "QUEUED", "hk-abcdefg")),  # cut to ten letters
        lambda: find(HEADING + row(12, "QUEUED", "other") + "12 a line that is no job\n"),
        lambda: find(HEADING + row(12, "QUEUED")[:-20]),
        lambda: find("No unfinished job found. \n", full),
        lambda: find(""),
        lambda: find("<html>"),
    ):
        with pytest.raises(SchedulerError):
            doubtful()


def test_queues_of_a_site() -> None:
    assert MIYABI.queues_argv() == [["qstat", "--rsc"]] or MIYABI.queues_argv() == ["qstat", "--rsc"]
    queues = {queue.name: queue for queue in MIYABI.parse_queues(said(["qstat", "--rsc"], RSC))}
    assert list(queues) == [
        "debug-g", "short-g", "regular-g", "interact-g", "coupler-g", "debug-mig", "short-mig", "regular-mig",
        "interact-mig", "debug-c", "short-c", "regular-c",
    ]  # fmt: skip
    assert all(queue.enabled and queue.nodes is None for queue in queues.values())
    assert queues["regular-g"].note == "small-g medium-g large-g x-large-g"
    closed = MIYABI.parse_queues(said(["qstat", "--rsc"], RSC.replace("[ENABLE, START]", "[DISABLE, START]")))
    assert not any(queue.enabled for queue in closed)


@pytest.mark.parametrize("option", ["-x", "-Q", "-q", "-u"])
def test_option_that_the_sites_qstat_refuses_names_the_dialect(option: str) -> None:
    answer = said(["qstat", option], "", f"{REFUSED}{option}\n", 2)
    assert f"{REFUSED}-q\n" in TEXT.replace("$ qstat -q\n", "")
    for call in (
        lambda: PBS.parse_status([answer, *_further(PBS, answer)], ["7.opbs"]),
        lambda: PBS.parse_queues(answer),
        lambda: PBS.parse_accounting([answer], ["7.opbs"]),
    ):
        with pytest.raises(SchedulerError) as caught:
            call()
        assert "dialect.history: H" in caught.value.hint and caught.value.exit_code == 2


def _further(scheduler: Pbs, answer: CommandOutput) -> list[CommandOutput]:
    assert scheduler.follow_up_argv([answer], ["7.opbs"]) == []
    return []


@pytest.mark.parametrize(
    "answer",
    [
        said(["qstat", "-f", "0.pbslogin"], "", "qstat: 0.pbslogin Job has finished, use -x or -H to obtain …\n", 35),
        said(["qstat", "-H", "-f", "0.pbslogin"], "", "qstat: invalid option\nusage: qstat [-f]\n", 2),
    ],
)
def test_pbs_behind_a_dialect_of_a_site_names_the_dialect(answer: CommandOutput) -> None:
    with pytest.raises(SchedulerError) as caught:
        MIYABI.parse_status([answer], ["0.pbslogin"])
    assert "dialect.history: x" in caught.value.hint


# ---- cut off: what `support/truncated/pbs.py` has no case for


def test_cut_words_about_unknown_jobs_name_no_other_job() -> None:
    err = "qstat: Unknown Job Id 1001.pbslogin\n"
    for end in range(len(err)):
        answer = said([*PAST, "10", "100", "1", "1001"], listed(5), err[:end], 153)
        assert set(PBS.parse_status([answer], ["5", "1", "10", "100", "1001"]).jobs) == {"5", "1", "10", "100", "1001"}


@pytest.mark.parametrize("name", ["qstat_Q_f.json", "queue_never_enabled.txt", "miyabi_qstat.txt"])
def test_cut_list_of_queues_opens_none(name: str) -> None:
    scheduler, argv, whole = PBS, ["qstat", "-Q", "-f"], ""
    if name == "miyabi_qstat.txt":
        scheduler, argv, whole = MIYABI, ["qstat", "--rsc"], RSC
    elif name.endswith(".txt"):
        whole = "".join(answer.stdout for line, answer in recorded(name).items() if "-f" in line)
    else:
        whole = "Queue: a\n    state_count = Transit:0 Queued:1 \n    resources_max.nodect = 16\n    enabled = True\n" \
                "    started = True\n\nQueue: b\n    enabled = True\n    started = False\n\n"  # fmt: skip
    good = {queue.name: queue for queue in scheduler.parse_queues(said(argv, whole))}
    for end in range(len(whole)):
        try:
            found = scheduler.parse_queues(said(argv, whole[:end]))
        except SchedulerError:
            continue
        assert all(queue.enabled <= good[queue.name].enabled for queue in found)
        assert all(queue.nodes in (None, good[queue.name].nodes) for queue in found)


def test_cut_list_of_ids_is_an_error() -> None:
    whole = "920.pbslogin\n921.pbslogin\n"
    for end in range(1, len(whole)):
        if whole[:end].endswith("\n"):
            continue
        with pytest.raises(SchedulerError):
            PBS.parse_find([said(["qselect", "-x"], whole[:end]), said(["qselect"])])


def test_sizes_of_arrays() -> None:
    assert [text.indices(each) for each in ("1-6", "0-3", "1-9:2", "1-3,7", "5")] == [6, 4, 5, 4, 1]
    assert min(text.indices(each) for each in ("", "x", "1-", "1-6\udcff")) > 10**6


def test_array_whose_subjobs_are_not_all_shown_did_not_succeed() -> None:
    parent, *subjobs = blocks_of("array_by_user.txt")[-4:]
    ids = ["914[].pbslogin"]
    good = [each.replace("Exit_status = 1", "Exit_status = 0") for each in (parent, *subjobs)]
    assert PBS.parse_status([said(PAST, "".join(good))], ids).jobs[ids[0]].state == "SUCCEEDED"
    assert PBS.parse_status([said(PAST, "".join([parent, *subjobs]))], ids).jobs[ids[0]].state == "FAILED"
    for shown in range(3):
        assert PBS.parse_status([said(PAST, "".join(good[: 1 + shown]))], ids).jobs[ids[0]].state == "UNKNOWN"


def test_letter_that_is_not_known_leaves_the_state_to_the_run() -> None:
    job = PBS.parse_status([said(PAST, listed(5, letter="Y"))], ["5.pbslogin"]).jobs["5.pbslogin"]
    assert (job.state, job.raw) == ("UNKNOWN", "Y")
    assert decide(Markers(job_id="5.pbslogin", submitting=1.0, started=2.0, claimed=True), job).state == "RUNNING"


# ---- what a job asked for


def test_a_job_has_what_the_server_recorded() -> None:
    assert PBS.details_argv("1017.pbh")[0][0] == "qstat"
    answer = said(["qstat"], (SAMPLES / "qstat_x_f_w_4_ranks.txt").read_text("utf-8"))
    folder = "/lustre/gi99/u01/p1/runs/20261128-142643-p1-4p-tsy2ixjs"
    assert PBS.parse_details([answer], "1017.pbh") == JobDetails(
        nodes=2, processes=4, gpus_per_node=0, walltime=600, queue="h-debug", group="gi99",
        output=f"{folder}/logs/scheduler.log",
    )  # fmt: skip
    assert PBS.parse_details([answer], "1018.pbh") == JobDetails()
    ranks = "    Resource_List.mpiprocs = 4\n"
    chunks = answer.stdout.replace(ranks, "").replace("select = 2:mpiprocs=2", "select = 2:ncpus=1+ncpus=4")
    assert PBS.parse_details([said(["qstat"], chunks)], "1017.pbh").processes == 3, "a chunk has one rank"
    gpus = answer.stdout.replace(ranks, ranks + "    Resource_List.ngpus = 8\n    Resource_List.mem = 64gb\n")
    details = PBS.parse_details([said(["qstat"], gpus)], "1017.pbh")
    assert (details.gpus_per_node, details.memory) == (4, 32 * 2**30)
    output = answer.stdout.replace("logs/scheduler.log", "logs/")
    assert PBS.parse_details([said(["qstat"], output)], "1017.pbh").output == f"{folder}/logs/1017.pbh.OU"
