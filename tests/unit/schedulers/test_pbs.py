"""PBS: argv, parsers over recorded output, tables row by row."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.schedulers.base import CommandOutput, JobState, SchedulerError, Submission
from hackathon.schedulers.pbs import commands, parse
from hackathon.schedulers.pbs.text import moment
from support.pbs_samples import SAMPLES, as_text

PBS = commands.Pbs()


def answer(stdout: str = "", stderr: str = "", code: int = 0, command: str = "qstat") -> CommandOutput:
    return CommandOutput((command,), code, stdout, stderr)


def recorded(name: str) -> list[tuple[str, CommandOutput]]:
    """Return (command line, answer) of every `$ command` block of a sample."""
    text = (SAMPLES / name).read_text("utf-8", "surrogateescape")
    pattern = r"^\$ (.*)\n\[stdout\]\n((?:.*\n)*?)\[stderr\]\n((?:.*\n)*?)\[exit\] (\d+)$"
    return [
        (line, CommandOutput(tuple(line.split()), int(code), out, err))
        for line, out, err, code in re.findall(pattern, text, re.MULTILINE)
    ]


def states(name: str, *ids: str) -> dict[str, JobState]:
    return PBS.parse_status([answer(as_text(name))], list(ids)).jobs


def test_submission_names_only_what_is_not_in_the_script(tmp_path: Path) -> None:
    submission = Submission(tmp_path / "job.sh", tmp_path, "hk-abcdefgh", tmp_path / "logs" / "pbs.txt", ("ok", "7.s"))
    assert PBS.submit_argv(submission) == [
        "qsub", "-N", "hk-abcdefgh", "-o", "logs/pbs.txt", "-j", "oe", "-W", "depend=afterok:7.s", "job.sh",
    ]  # fmt: skip
    shell = PBS.shell(["-q", "debug", "-j", "oe"], tmp_path / "shell.sh")
    assert (shell.argv, shell.reads_rcfile) == (["qsub", "-I", "-q", "debug"], False)


def test_every_recorded_submission_is_understood() -> None:
    seen = 0
    for name in ("qsub_ok.txt", "qsub_errors.txt", "qsub_misc.txt"):
        for line, said in recorded(name):
            # `-z` suppresses the id, `-W block` gives the job's exit code: the toolkit uses neither.
            if " -z" in line or "block=true" in line:
                continue
            seen += 1
            if said.exit_code == 0:
                assert PBS.parse_submit(said) == said.stdout.strip()
            else:
                with pytest.raises(SchedulerError) as caught:
                    PBS.parse_submit(said)
                assert caught.value.message and "usage:" not in caught.value.message
    assert seen > 60


@pytest.mark.parametrize("code", parse.REFUSALS)
def test_refusals_row_by_row(code: int) -> None:
    key, transient = parse.REFUSALS[code]
    with pytest.raises(SchedulerError) as caught:
        PBS.parse_submit(answer("", "qsub: the reason", code, "qsub"))
    assert caught.value.id == f"schedulers.{key}" and caught.value.transient is transient
    assert caught.value.exit_code == (3 if transient else 2)
    assert "the reason" in caught.value.message


def test_unknown_refusal_shows_the_words_and_the_code() -> None:
    with pytest.raises(SchedulerError, match=r"exit 77.*qsub: your project has 3 tokens left"):
        PBS.parse_submit(answer("", "qsub: your project has 3 tokens left\nusage: qsub [-a]", 77, "qsub"))


def test_a_site_may_print_lines_around_the_id() -> None:
    assert PBS.parse_submit(answer("** 12 tokens left **\n123.server\n", command="qsub")) == "123.server"
    for garbage in ("", "<html>", "Submitted\n"):
        with pytest.raises(SchedulerError) as caught:
            PBS.parse_submit(answer(garbage, command="qsub"))
        assert caught.value.transient  # there may be a job: look for it by name


@pytest.mark.parametrize("letter", parse.LETTERS)
def test_letters_row_by_row(letter: str) -> None:
    text = f"Job Id: 5.s\n    job_state = {letter}\n    Exit_status = 0\n\n"
    state = PBS.parse_status([answer(text)], ["5.s"]).jobs["5.s"]
    expected = parse.LETTERS[letter]
    assert state.state == ("SUCCEEDED" if expected == "FINISHED" else expected) and state.raw == letter


def test_a_letter_that_nobody_knows_stays_visible() -> None:
    state = PBS.parse_status([answer("Job Id: 5.s\n    job_state = Y\n\n")], ["5.s"]).jobs["5.s"]
    assert (state.state, state.raw) == ("UNKNOWN", "Y")


@pytest.mark.parametrize("status", parse.ENDINGS)
def test_negative_endings_row_by_row(status: int) -> None:
    text = f"Job Id: 5.s\n    job_state = F\n    Exit_status = {status}\n\n"
    state = PBS.parse_status([answer(text)], ["5.s"]).jobs["5.s"]
    assert (state.state, state.started) == parse.ENDINGS[status] and state.exit_code == status


@pytest.mark.parametrize(
    ("job_id", "state", "exit_code", "signal", "started"),
    [
        ("30.pbslogin", "SUCCEEDED", 0, None, True),
        ("31.pbslogin", "FAILED", 3, None, True),
        ("32.pbslogin", "FAILED", 139, 11, True),
        ("33.pbslogin", "TIMEOUT", -29, None, True),
        ("34.pbslogin", "CANCELLED", 271, 15, True),
        ("35.pbslogin", "OUT_OF_MEMORY", -27, None, True),
        ("37.pbslogin", "FAILED", 127, None, True),
        ("39.pbslogin", "FINISHED", None, None, False),  # dependency not met
        ("17.pbslogin", "FINISHED", None, None, False),
        ("43.pbslogin", "CANCELLED", None, None, False),  # deleted while held
        ("44.pbslogin", "CANCELLED", None, None, False),  # deleted while queued
        ("19[].pbslogin", "UNKNOWN", None, None, True),  # its subjobs were not asked for
    ],
)
def test_finished_jobs(job_id: str, state: str, exit_code: int | None, signal: int | None, started: bool) -> None:
    found = states("qstat_x_f_finished.json", job_id)[job_id]
    assert (found.state, found.exit_code, found.signal, found.started) == (state, exit_code, signal, started)
    assert found.raw == "F" and found.end is not None and (found.start is not None) is started


def test_why_a_job_never_ran_is_told() -> None:
    found = states("qstat_x_f_finished.json", "39.pbslogin", "22.pbslogin")
    assert "afterok:31.pbslogin" in found["39.pbslogin"].reason
    assert found["22.pbslogin"].reason.startswith("Can Never Run")


def test_held_with_exit_status_is_not_finished() -> None:
    found = states("qstat_f_prologue_fail_held.json", "1117.pbslogin")["1117.pbslogin"]
    assert (found.state, found.reason) == ("HELD", "job held, too many failed attempts to run")
    assert found.exit_code is None and found.end is None


def test_queued_jobs() -> None:
    found = states("qstat_f_mixed_queued_waiting.json", "22.pbslogin", "23.pbslogin", "26.pbslogin", "28.pbslogin")
    assert found["22.pbslogin"].never_runs and found["22.pbslogin"].state == "QUEUED"
    assert not found["23.pbslogin"].never_runs
    assert found["26.pbslogin"].state == "HELD" and found["28.pbslogin"].state == "ENDING"
    assert found["28.pbslogin"].exit_code is None


def test_hosts_and_times_of_a_running_job() -> None:
    said = dict(recorded("qstat_running.txt"))["qstat -f"]
    found = PBS.parse_status([said], ["0.pbslogin"]).jobs["0.pbslogin"]
    assert (found.state, found.name, found.hosts) == ("RUNNING", "probe_job", ("pn01",))
    assert found.start == moment("Sat Nov 21 07:07:15 2026") is not None
    # wrapped lines are put together again
    assert found.reason == "Job run at Sat Nov 21 at 07:07 on (pn01:ncpus=4:ngpus=2)+(pn01:ncpus=4:ngpus=2)"


def test_array_counts_every_subjob() -> None:
    found = states("qstat_x_t_f_array_some_deleted_finished.json", "1001[].pbslogin", "1001[6].pbslogin")
    assert found["1001[].pbslogin"].state == "FAILED"  # although the parent's Exit_status is 0
    assert found["1001[6].pbslogin"].state == "SUCCEEDED"
    assert PBS.status_argv(["1001[].s"]) == [["qstat", "-x", "-t", "-f", "-w", "1001[].s"]]
    assert PBS.status_argv(["1.s", "2.s"]) == [["qstat", "-x", "-f", "-w", "1.s", "2.s"]]


def test_unknown_ids_are_absent_and_the_others_good() -> None:
    text = as_text("qstat_x_f_finished.json")
    said = answer(text, "qstat: Unknown Job Id 9999.pbslogin\n", 153)
    jobs = PBS.parse_status([said], ["33.pbslogin", "9999.pbslogin"]).jobs
    assert set(jobs) == {"33.pbslogin"} and jobs["33.pbslogin"].state == "TIMEOUT"
    line, alone = recorded("qstat_errors.txt")[0]
    assert line == "qstat 9999" and PBS.parse_status([alone], ["9999"]).jobs == {}


def test_finished_without_history_option() -> None:
    _, said = recorded("qstat_errors.txt")[1]
    assert PBS.parse_status([said], ["0.pbslogin"]).jobs["0.pbslogin"].state == "FINISHED"


def test_server_down_is_transient_and_never_absence() -> None:
    for _, said in recorded("qstat_server_down.txt"):
        with pytest.raises(SchedulerError) as caught:
            PBS.parse_status([said], ["9999"])
        assert caught.value.transient and caught.value.id == "schedulers.server_down"


def test_a_block_that_is_missing_or_cut_off_is_not_absence() -> None:
    text = as_text("qstat_x_f_finished.json")
    jobs = PBS.parse_status([answer(text)], ["33.pbslogin", "9999.pbslogin"]).jobs
    assert jobs["9999.pbslogin"].state == "UNKNOWN"
    cut = text[: text.index("Exit_status = 271")]  # job 34: F is printed, how it ended is not
    assert PBS.parse_status([answer(cut)], ["33.pbslogin", "34.pbslogin"]).jobs["34.pbslogin"].state == "UNKNOWN"


@pytest.mark.parametrize("text", ["", "<html>502</html>", "\udcfe\udcffmH: \udcc3(\n", "Job Id", "{}"])
def test_garbage_is_an_error(text: str) -> None:
    for call in (
        lambda: PBS.parse_status([answer(text)], ["1.s"]),
        lambda: PBS.parse_submit(answer(text, command="qsub")),
    ):
        with pytest.raises(SchedulerError) as caught:
            call()
        caught.value.message.encode("utf-8")  # fit to be printed


def test_bytes_that_are_not_utf8_do_not_matter() -> None:
    text = as_text("qstat_x_f_finished.json").replace("Variable_List = ", "Variable_List = X=\udcff\udcfe,")
    assert PBS.parse_status([answer(text)], ["33.pbslogin"]).jobs["33.pbslogin"].state == "TIMEOUT"


def test_ids_are_the_same_with_other_forms_of_the_host() -> None:
    text = "Job Id: 33.pbslogin\n    job_state = R\n\n"
    for asked in ("33", "33.pbslogin", "33.pbslogin.example.org"):
        assert PBS.parse_status([answer(text)], [asked]).jobs[asked].state == "RUNNING"
    with pytest.raises(SchedulerError):
        PBS.parse_status([answer(text)], ["33.other"])


def test_follow_up_for_old_servers_and_for_servers_without_history() -> None:
    ids = ["1.s"]
    assert PBS.follow_up_argv([answer("", "qstat: invalid option -- 'w'\nusage:", 2)], ids) == [
        ["qstat", "-x", "-f", "1.s"]
    ]
    no_history = answer("", "qstat: PBS is not configured to maintain job history", 36)
    assert PBS.follow_up_argv([no_history], ids) == [["qstat", "-f", "1.s"]]
    assert PBS.follow_up_argv([answer("", "qstat: Unknown Job Id 1.s", 153)], ids) == []
    live = answer("Job Id: 1.s\n    job_state = R\n\n")
    assert PBS.parse_status([no_history, live], ids).jobs["1.s"].state == "RUNNING"


def test_cancel() -> None:
    told = dict(recorded("qdel.txt"))
    assert PBS.parse_cancel(told["qdel 34.pbslogin"]) is True
    assert PBS.parse_cancel(told["qdel 0"]) is False
    assert PBS.parse_cancel(told["qdel 9999"]) is False
    with pytest.raises(SchedulerError) as caught:
        PBS.parse_cancel(told["qdel 44"])
    assert caught.value.id == "schedulers.not_authorised"
    with pytest.raises(SchedulerError) as caught:
        PBS.parse_cancel(answer("", "Connection refused\nCouldn't connect to cluster: pbslogin", 162, "qdel"))
    assert caught.value.transient
    with pytest.raises(SchedulerError) as caught:
        PBS.parse_cancel(dict(recorded("job_control.txt"))["qdel 1114.pbslogin"])
    assert caught.value.id == "schedulers.node_down" and caught.value.transient


def test_find() -> None:
    assert PBS.parse_find([answer("12.s\n9.s\n"), answer("12.s\n")]) == ["9.s", "12.s"]
    assert PBS.parse_find([answer("", "no job history", 36), answer("12.s\n")]) == ["12.s"]
    for broken in ([answer("", "Connection refused", 255), answer("")], [answer("<html>"), answer("")]):
        with pytest.raises(SchedulerError):
            PBS.parse_find(broken)


def test_queues() -> None:
    lines = []
    for name, attributes in json.loads((SAMPLES / "qstat_Q_f.json").read_text())["Queue"].items():
        lines.append(f"Queue: {name}")
        for key, value in attributes.items():
            for inner, entry in value.items() if isinstance(value, dict) else [("", value)]:
                lines.append(f"    {key}{'.' if inner else ''}{inner} = {entry}")
        lines.append("")
    queues = {queue.name: queue for queue in PBS.parse_queues(answer("\n".join(lines)))}
    assert list(queues) == ["workq", "h-small", "stopped", "disabled", "rt"]
    assert (queues["workq"].running, queues["workq"].queued, queues["workq"].enabled) == (3, 1, True)
    assert queues["h-small"].walltime == 3600
    assert not queues["stopped"].enabled and not queues["disabled"].enabled


@given(
    st.text(alphabet=st.sampled_from("Job Id:=\n\t 0123456789.s[]FQR_stateExit-\udcff"), max_size=200),
    st.integers(0, 255),
)
def test_parsers_raise_nothing_but_scheduler_errors(text: str, code: int) -> None:
    ids = ["1.s", "2[].s"]
    said = answer(text, text, code)
    for call in (
        lambda: PBS.parse_status([said], ids),
        lambda: PBS.parse_submit(said),
        lambda: PBS.parse_cancel(said),
        lambda: PBS.parse_find([said, said]),
        lambda: PBS.parse_queues(said),
        lambda: PBS.follow_up_argv([said], ids),
    ):
        try:
            call()
        except SchedulerError as error:
            assert error.message
