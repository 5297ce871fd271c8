"""What Slurm's commands printed, as cases of `support.truncation`."""

from collections.abc import Iterator
from pathlib import Path

from hackathon.schedulers.base import CommandOutput
from hackathon.schedulers.slurm import commands
from support.truncation import Other, Status

SAMPLES = Path(commands.__file__).parent / "samples"
SLURM = commands.Slurm()
ENDS = (commands.RECORD + "\n", commands.FIELD + "\n", "\n")
"""Records end so, and nothing ends the list of them; the exit codes are lines."""

_COLUMNS = "a table for people: the toolkit asks for other columns"
NOT_ASKED = {
    "scontrol_oneline_4_tasks.txt": "asked for a number of processes: test_slurm.py cuts it",
    "scontrol_oneline_no_tasks.txt": "asked for a number of processes: test_slurm.py cuts it",
    "squeue_o_format.txt": _COLUMNS,
    "sacct_P_failures.txt": _COLUMNS,
    "sacct_P_full_with_duplicates.txt": _COLUMNS,
    "sacct_oom_cgroup.txt": _COLUMNS,
    "sacct_D_requeue.txt": _COLUMNS,
    "sbatch_error_bad_account.txt": "accepted there: the words are sbatch's without --parsable",
    "sbatch_error_bad_partition.txt": "a refusal says nothing about a job, whole or cut",
    "sbatch_error_bad_reservation.txt": "a refusal says nothing about a job, whole or cut",
    "sbatch_error_gres.txt": "a refusal says nothing about a job, whole or cut",
    "sbatch_error_too_many_nodes.txt": "an id alone, see `submission`",
}
"""Sample → why it is no case."""


def _said(name: str, *argv: str) -> CommandOutput:
    with (SAMPLES / name).open(encoding="utf-8", errors="surrogateescape", newline="") as stream:
        return CommandOutput(argv, 0, stream.read(), "")


def cases() -> Iterator[Status | Other]:
    ids = ["1", "3", "15", "16", "17", "18", "19", "20", "21", "21_0", "21_2", "22", "23", "24"]
    queue, accounts = _said("status_squeue.txt", "squeue"), _said("status_sacct.txt", "sacct")
    yield Status("status_squeue.txt and status_sacct.txt", SLURM, ids, [queue, accounts], ENDS)
    nothing = CommandOutput(("squeue",), 0, "", "")
    yield Status("status_sacct.txt alone", SLURM, ids, [nothing, accounts], ENDS)
    disabled = CommandOutput(("sacct",), 1, "", "Slurm accounting storage is disabled\n")
    codes = CommandOutput(("squeue",), 0, f"{'15':<64}{'768':<16}\n{'16':<64}{'9':<16}\n{'23':<64}{'15':<16}\n", "")
    yield Status("status_squeue.txt without accounts", SLURM, ids, [queue, disabled, codes], ENDS)
    yield Other("bill_sacct.txt", _with_users(_said("bill_sacct.txt", "sacct")), _bill)
    yield Other("sinfo_queues.txt", _said("sinfo_queues.txt", "sinfo"), lambda said: set(SLURM.parse_queues(said)))
    yield Other("sinfo_nodes.txt", _said("sinfo_nodes.txt", "sinfo"), _shapes)
    named = CommandOutput(("squeue",), 0, "1734\n1735_[0-3]\n", "")
    yield Other("ids by name", named, lambda said: set(SLURM.parse_find([said])))
    yield Other(
        "submission", CommandOutput(("sbatch",), 0, "1734;cluster\n", ""), lambda said: {SLURM.parse_submit(said)}
    )


def _bill(answer: CommandOutput) -> set[object]:
    bill = SLURM.parse_accounting([answer], ["1", "2", "3", "15", "16", "17"])
    return {(job_id, charge) for job_id, account in bill.items() for charge in account.charges}


def _with_users(answer: CommandOutput) -> CommandOutput:
    """Return the bill with the column of users, without which it was recorded."""
    rows = [line.split("\x1f") for line in answer.stdout.splitlines()]
    text = "".join("\x1f".join([*row[:6], "root", *row[6:]]) + "\n" for row in rows)
    return CommandOutput(answer.argv, 0, text, "")


def _shapes(answer: CommandOutput) -> set[object]:
    """Return each shape without its partitions, of which a part shows fewer."""
    return {(group.nodes, group.cpus, group.memory, group.gpus) for group in SLURM.parse_nodes([answer])}
