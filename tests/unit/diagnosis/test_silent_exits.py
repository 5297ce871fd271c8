"""A rank that ends without a word, or whose word stands among others: launchers and the other ranks tell which.

tests/samples/failures/exits.txt: `%%% name | rule` before each log of torchrun, mpirun, srun or horovodrun; rank 1 of
three calls sys.exit(3) or os._exit(0) in its third step, sleeps there or is killed, or its loader fails; in the logs
named `world` the program waits for a fourth process. Stacks of libraries are left out.
"""

import re
from pathlib import Path

import pytest

from hackathon.config.rule_files import load_rules
from hackathon.diagnosis.examine import Diagnosis, diagnose_files
from hackathon.diagnosis.scan import RuleSet
from support.paths import SAMPLES

RULES = RuleSet(load_rules()[0])
LOGS = {
    heading.split(" | ")[0]: (heading.split(" | ")[1].strip(), text)
    for section in (SAMPLES / "failures" / "exits.txt").read_text().split("%%% ")[1:]
    for heading, _, text in [section.partition("\n")]
}


def diagnosis_of(folder: Path, text: str) -> Diagnosis:
    (folder / "job.log").write_text(text)
    return diagnose_files([folder / "job.log"], rules=RULES)


@pytest.mark.parametrize("name", LOGS)
def test_the_rank_that_ended_is_the_cause(tmp_path: Path, name: str) -> None:
    rule, text = LOGS[name]
    root = diagnosis_of(tmp_path, text).root
    assert root is not None and root.evidence is not None
    assert (root.rule, root.evidence.rank) == (rule, None if name.endswith("-world") else 1)
    if rule == "rank-exited":
        assert "exit code 3" in root.message


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        # it still ran when another one failed
        ("torchrun-early", "Sending process 5018", "Sending process 5019 closing signal SIGTERM\nSending process 5018"),
        # a shell's code, and no code
        ("mpirun-exit3", "Exit code:    3", "Exit code:    127"),
        ("mpirun-exit3", "Exit code:    3", ""),
        # it failed first
        ("mpirun-early", r"\[\[2330,1\],2\]", "[[2330,1],1]"),
        # srun or horovodrun reports its end
        ("srun-early", "task 0: Exited", "tasks 0-1: Exited"),
        ("srun-early", "task 2: Exited with exit code 1", "task 1: Terminated"),
        ("horovodrun-early", "Process 0 exit with status code 143", "Process 1 exit with status code 143"),
        # the launcher says nothing
        ("mpirun-early", r"Process name: .*\n", "\n"),
        # Slurm or srun stopped it with the others
        ("srun-kill", "srun: error: node1: task 1", "slurmstepd: error: *** STEP 8.0 ON node1 ***\n\\g<0>"),
        ("srun-kill", "srun: error: node1: task 1", "srun: Job step aborted: Waiting up to 32 seconds\n\\g<0>"),
        ("srun-kill", r"(.*task 1: Killed\n)(.*)\n", "\\2\n\\1"),
        ("srun-kill", "task 1: Killed", "tasks 1,3: Killed"),
    ],
)
def test_a_rank_is_not_blamed_without_evidence(tmp_path: Path, name: str, old: str, new: str) -> None:
    text, count = re.subn(old, new, LOGS[name][1])
    assert count == 1
    assert diagnosis_of(tmp_path, text).root is None


def on_second_node(text: str) -> str:
    """Return the log with its ranks' numbers, from 0 to 3, shifted by four."""
    return re.sub(r"(?<=^\[rank)\d", lambda match: str(int(match[0]) + 4), text, flags=re.MULTILINE)


def test_ranks_of_other_nodes_are_not_blamed(tmp_path: Path) -> None:
    early = on_second_node(LOGS["mpirun-early"][1]).replace("[[2330,1],2]", "[[2330,1],6]")
    assert diagnosis_of(tmp_path, early).root is None
    waiting = diagnosis_of(tmp_path, on_second_node(LOGS["mpirun-hang"][1])).root
    assert waiting is not None and waiting.rule == "gloo-timeout"
    assert waiting.ranks == (4, 6) and "never joined" not in waiting.message


def test_a_rank_that_failed_by_itself_is_not_one_that_lost_another(tmp_path: Path) -> None:
    old, new = r"(?m)^\[rank2\]: RuntimeError: .*", "[rank2]: ValueError: no colour"
    text, count = re.subn(old, new, LOGS["mpirun-early"][1])
    assert count == 1
    root = diagnosis_of(tmp_path, text).root
    assert root is not None and root.evidence is not None
    assert (root.rule, root.evidence.rank) == ("python-exception", 2)


def test_only_an_exception_of_a_worker_is_the_loaders(tmp_path: Path) -> None:
    text, count = re.subn(r"(?m)^.*_worker_loop\n.*\n", "", LOGS["srun-loader"][1])
    assert count == 1
    root = diagnosis_of(tmp_path, text).root
    assert root is not None and root.rule == "python-exception"


def test_an_exception_of_all_ranks_names_none(tmp_path: Path) -> None:
    """torchrun names the first of them, whatever it is."""
    text, count = re.subn(r"(?m)^torch\.distributed\.DistStoreError: .*", "KeyError: 'pear'", LOGS["torchrun-world"][1])
    assert count == 3
    root = diagnosis_of(tmp_path, text).root
    assert root is not None and root.evidence is not None
    assert (root.rule, root.evidence.rank) == ("exception-key", None)


def test_what_a_rank_said_before_its_exit_wins(tmp_path: Path) -> None:
    text = LOGS["mpirun-exit3"][1]
    said = "[rank1]: FATAL: the lattice has no colour\n"
    diagnosis = diagnosis_of(tmp_path, text.replace("[rank0]: Traceback", f"{said}[rank0]: Traceback", 1))
    assert diagnosis.findings[0].rule != "rank-exited"


@pytest.mark.parametrize(
    ("rank", "said", "rule"),
    [
        (1, "libfoo: ERROR 4711: cannot map the window", "first-event"),
        (1, "epoch 3, error: 0.25", "rank-exited"),
        (0, "libfoo: ERROR 4711: cannot map the window", "rank-exited"),
    ],
)
def test_a_rank_speaks_in_its_own_log(tmp_path: Path, rank: int, said: str, rule: str) -> None:
    """The launcher reports in another file; only the log of the rank that ended first explains it."""
    for number in range(3):
        (tmp_path / f"rank-{number}.log").write_text("step 1\n" + (f"{said}\n" if number == rank else ""))
    text = re.sub(r"^\[rank\d\]: .*\n", "", LOGS["mpirun-exit3"][1], flags=re.M)
    (tmp_path / "job.log").write_text(text)
    names = ["job.log", *(f"rank-{number}.log" for number in range(3))]
    diagnosis = diagnose_files([tmp_path / name for name in names], names, rules=RULES)
    first = diagnosis.findings[0]
    assert first.rule == rule and first.evidence is not None
    assert first.evidence.rank == 1
