"""What schedulers account for: Slurm's and PBS's recorded words, and garbage."""

import json
from pathlib import Path
from typing import Any

import pytest

import hackathon.schedulers
from hackathon.schedulers.base import CommandOutput, SchedulerError
from hackathon.schedulers.pbs.commands import Pbs
from hackathon.schedulers.reports import Charge, JobAccounting
from hackathon.schedulers.slurm.commands import Slurm

SCHEDULERS = Path(hackathon.schedulers.__file__).parent


def sacct(text: str, code: int = 0, stderr: str = "") -> CommandOutput:
    return CommandOutput(("sacct",), code, text, stderr)


def test_slurm_bill_of_a_real_server() -> None:
    """Two nodes with GPUs, an array, one that ended at once, one requeued, one cancelled while held, one that runs.

    It was recorded without the column of users, as status_sacct.txt of the same server has it.
    """
    with (SCHEDULERS / "slurm/samples" / "bill_sacct.txt").open(newline="") as stream:
        rows = [line.split("\x1f") for line in stream.read().splitlines()]
    text = "".join("\x1f".join([*row[:6], "root", *row[6:]]) + "\n" for row in rows)
    found = Slurm().parse_accounting([sacct(text)], ["1", "2", "2_2", "3", "15", "16", "17", "99"])
    first = 1795315463.0
    assert found["1"] == JobAccounting((Charge(first, first + 3, 3.0, 2, 4, "j.sh", "root"),))
    assert [charge.seconds for charge in found["2"].charges] == [2.0, 2.0, 2.0]
    assert found["2_2"].charges == (Charge(first, first + 2, 2.0, 1, None, "j.sh", "root"),)
    assert found["3"].charges[0].seconds == 0.0
    assert [charge.seconds for charge in found["15"].charges] == [2.0, 4.0] and found["15"].whole
    assert found["16"] == JobAccounting()
    assert found["17"].charges == (Charge(1795317242.0, None, 20.0, 1, 1, "hk-runs", "root"),)
    assert "99" not in found


def test_slurm_question() -> None:
    (argv,) = Slurm().accounting_argv(["1", "2"])
    assert argv[:5] == ["sacct", "-X", "-D", "-j", "1,2"] and argv[-1].endswith("JobName")


@pytest.mark.parametrize("text", ["garbage\n", "1\x1f2\x1f\n", "x\x1f1\x1f2\x1f3\x1f4\x1f5\x1fu\x1fn\x1f\n"])
def test_slurm_garbage_is_no_account(text: str) -> None:
    with pytest.raises(SchedulerError):
        Slurm().parse_accounting([sacct(text)], ["1"])


def test_slurm_odd_values_cost_nothing() -> None:
    rows = [("1", "Unknown", "Unknown", "0", "0", "", "u", "n"), ("2", "5", "9", "x", "99999999999", "", "u", "n"),
            ("3", "5", "9", "-4", "1", "gres/gpu=x", "", "n|=1")]  # fmt: skip
    text = "".join("\x1f".join(row) + "\x1f\n" for row in rows)
    found = Slurm().parse_accounting([sacct(text)], ["1", "2", "3"])
    assert found["1"] == found["2"] == JobAccounting()
    assert found["3"].charges == (Charge(5.0, 9.0, 0.0, 1, None, "n|=1"),)


def test_slurm_without_accounting_and_with_a_database_that_is_down() -> None:
    none = sacct("", 1, "Slurm accounting storage is disabled\n")
    assert Slurm().parse_accounting([none], ["1"]) == {}
    with pytest.raises(SchedulerError) as caught:
        Slurm().parse_accounting([sacct("", 1, "sacct: error: Problem talking to the database\n")], ["1"])
    assert caught.value.transient


def qstat(jobs: dict[str, dict[str, Any]]) -> str:
    """Return recorded JSON in the text form that the same server prints with -f."""
    lines: list[str] = []
    for name, job in jobs.items():
        lines.append(f"Job Id: {name}")
        for key, value in job.items():
            if isinstance(value, dict):
                lines += [f"    {key}.{part} = {each}" for part, each in value.items()]
            else:
                lines.append(f"    {key} = {value}")
        lines.append("")
    return "\n".join([*lines, ""])


@pytest.fixture(scope="module")
def recorded() -> dict[str, dict[str, Any]]:
    jobs: dict[str, dict[str, Any]] = json.loads((SCHEDULERS / "pbs/samples" / "qstat_x_f_finished.json").read_text())[
        "Jobs"
    ]
    return jobs


def test_pbs_bill_of_a_real_server(recorded: dict[str, dict[str, Any]]) -> None:
    ids = list(recorded)
    found = Pbs().parse_accounting([CommandOutput(("qstat",), 0, qstat(recorded), "")], ids)
    assert set(found) == set(ids)
    (charge,) = found["0.pbslogin"].charges
    # 07:07:15 to 07:07:36 by the server's clock; resources_used.walltime = 00:00:20 is what sites charge
    assert (charge.seconds, charge.nodes, charge.gpus) == (20.0, 2, 4) and charge.end == charge.start + 21
    assert (charge.name, f"{charge.owner}@") == ("probe_job", "tester@")
    for name, job in recorded.items():
        if "stime" not in job:
            assert found[name] == JobAccounting(), name


def test_pbs_running_waiting_and_rerun(recorded: dict[str, dict[str, Any]]) -> None:
    job = recorded["0.pbslogin"]
    kinds = {"1.s": {**job, "job_state": "R"}, "2.s": {**job, "job_state": "Q", "run_count": 1},
             "3.s": {**job, "run_count": 3}}  # fmt: skip
    found = Pbs().parse_accounting([CommandOutput(("qstat",), 0, qstat(kinds), "")], [*kinds, "4.s"])
    assert (found["1.s"].charges[0].end, found["1.s"].charges[0].seconds) == (None, None)
    assert found["2.s"] == JobAccounting(
        (), whole=False
    )  # it ran once, and waits again: that life stands in no account
    assert len(found["3.s"].charges) == 1 and not found["3.s"].whole
    assert "4.s" not in found


def test_pbs_arrays_count_their_subjobs() -> None:
    jobs = json.loads((SCHEDULERS / "pbs/samples" / "qstat_x_t_f_array_some_deleted_finished.json").read_text())["Jobs"]
    parent = next(name for name in jobs if "[]" in name)
    account = Pbs().parse_accounting([CommandOutput(("qstat",), 0, qstat(jobs), "")], [parent])[parent]
    began = [name for name, job in jobs.items() if "[]" not in name and "stime" in job]
    assert len(account.charges) == len(began) > 0


def test_pbs_errors() -> None:
    unknown = CommandOutput(("qstat",), 153, "", "qstat: Unknown Job Id 9.s\n")
    assert Pbs().parse_accounting([unknown], ["9.s"]) == {}
    with pytest.raises(SchedulerError):
        Pbs().parse_accounting([CommandOutput(("qstat",), 255, "", "Connection refused\n")], ["9.s"])


@pytest.mark.parametrize("job_id", ["--help", "1,--all", "-Q", "", "1 2", "x", "9" * 300, "1\n2", "by-hand.1"])
def test_texts_that_are_no_ids_are_not_asked(job_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They come from records that anybody can write."""
    from hackathon.schedulers import runner

    calls = tmp_path / "calls"
    for command in ("sacct", "qstat"):
        (tmp_path / command).write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >>{calls}\nexit 0\n')
        (tmp_path / command).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert runner.accounting(Slurm(), [job_id]) == {} and runner.accounting(Pbs(), [job_id]) == {}
    assert not calls.exists()
    runner.accounting(Slurm(), [job_id, "7", "8_1"])
    assert "-j 7,8_1 " in calls.read_text()
