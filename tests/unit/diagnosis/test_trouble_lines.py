"""Where a tool names a failure in its own words, the lines are shown, and no cause is claimed."""

from pathlib import Path

import pytest

from hackathon.diagnosis.examine import diagnose_files
from hackathon.diagnosis.show import lines_of
from support.paths import SAMPLES

STEPS = [f"epoch {number} step 20 loss 2.{number} 118.0 samples/s" for number in range(1, 7)]
LINES = [
    "E: Unable to locate package libfrob-dev",
    "tar: Unexpected EOF in archive",
    "[fatal] framer: the data path prefix does not exist",
    "Aborting: no frobnicator was detected",
    "!!! Training ended: shard index out of range at sample 1204",
    "frob_loader: 0 images in ./train",
]


def shown(path: Path, *lines: str) -> str:
    path.write_text("\n".join(lines) + "\n")
    return "\n".join(text for text, _ in lines_of(diagnose_files([path], [path.name]), path.name))


@pytest.mark.parametrize("line", LINES)
def test_a_line_in_a_tools_own_words_is_shown(line: str, tmp_path: Path) -> None:
    text = shown(tmp_path / "job.log", "Loading modules", *STEPS, line, "cleaning up")
    assert "No known failure was found. If it failed, read these lines first:" in text
    assert f"  job.log:8\n    {line}" in text and "cause" not in text.lower() and "Loading" not in text


@pytest.mark.parametrize(
    "line",
    [
        "INFO: gocryptfs not found, will not be able to use it",
        "2026-11-30 10:00:00 WARNING frob: cannot use the fast path",
        "frob: could not map the window, falling back to copies",
        "validation error: 0.0123",
        "finished with 0 errors",
        "perl: warning: Setting locale failed.",  # a rule says that it is harmless
    ],
)
def test_what_tells_no_failure_is_not_shown(line: str, tmp_path: Path) -> None:
    assert "read these lines" not in shown(tmp_path / "job.log", *STEPS, line)
    assert "read these lines" not in shown(tmp_path / "job.log", "frob: the index could not be read", *STEPS)
    assert "read these lines" not in shown(tmp_path / "job.log", LINES[0], "Training finished.")


def test_each_kind_of_line_is_shown_once_with_its_rank(tmp_path: Path) -> None:
    text = shown(tmp_path / "job.log", *[f"[rank{rank}]: shard {rank}.bin is truncated" for rank in range(4)])
    assert text.count("is truncated") == 1 and "job.log:4, rank 3" in text


@pytest.mark.parametrize(
    "line",
    ["cp: cannot stat 'train.tar': No such file or directory", "ln: failed to create symbolic link 'a': File exists"],
)
def test_the_systems_own_text_of_an_error_is_a_cause(line: str, tmp_path: Path) -> None:
    assert f"Probable cause: file system: A file or folder that is needed is missing, or one is in the way: {line}" in (
        shown(tmp_path / "job.log", "Loading modules", line, "cleaning up")
    )
    assert "ause" not in shown(tmp_path / "job.log", line, *STEPS)  # the training went on
    assert "ause" not in shown(tmp_path / "job.log", f"class names: ['{line}']")


@pytest.mark.parametrize("path", sorted((SAMPLES / "clean").glob("*.log")), ids=lambda path: path.stem)
def test_of_a_healthy_log_few_lines_are_shown(path: Path) -> None:
    assert len(diagnose_files([path]).unknown) <= 3


MEMBER = "Initializing distributed: GLOBAL_RANK: {}, MEMBER: {}/4"
CANCELLED = "slurmstepd: error: *** JOB 7 ON node1 CANCELLED AT 2026-11-30T10:00:00 ***"


def test_members_that_lightning_waits_for_are_missed(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    text = shown(path, MEMBER.format(0, 1), MEMBER.format(2, 3), CANCELLED)
    assert "Lightning's 4 processes did not all meet: the log shows 2 of them" in text and "Probable cause" in text
    assert "Follow-on error: scheduler: The job was cancelled" in text
    met = "All distributed processes registered. Starting with 4 processes"
    everyone = [MEMBER.format(rank, rank + 1) for rank in range(4)]
    for lines in ([MEMBER.format(0, 1), met], [MEMBER.format(0, 1), *STEPS], everyone, [MEMBER.format(2, 3)]):
        assert "Lightning" not in shown(path, *lines, CANCELLED)
    assert "Lightning" not in shown(path, MEMBER.format(0, 1), "CUDA out of memory", CANCELLED)


@pytest.mark.parametrize(
    ("line", "title"),
    [
        (
            "sbatch: error: invalid partition specified: gpu",
            "There is no such queue or partition here, or you may not use it",
        ),
        ("qsub: would exceed limit on resource ngpus", "The job asks for more than the queue allows"),
    ],
)
def test_what_is_not_known_is_left_out_of_a_title(line: str, title: str, tmp_path: Path) -> None:
    assert f"Cause: scheduler: {title}\n" in shown(tmp_path / "job.log", line)


@pytest.mark.parametrize(
    "lines",
    [
        ("rm: cannot remove '/tmp/mps': No such file or directory", "Test set: accuracy 9841/10000"),
        ("mkdir: cannot create directory 'logs': File exists", "The selected data set is wide"),
        ("cat: /sys/class/infiniband/mlx5_0/rate: No such file or directory",),
        ("training finished", "cp: cannot stat 'x': No such file or directory"),
        ("cp: cannot stat 'x': No such file or directory", "a", "b", "c"),
        ("info: cache file /tmp/x: No such file or directory",),
    ],
)
def test_a_command_that_scripts_go_on_after_is_no_cause(lines: tuple[str, ...], tmp_path: Path) -> None:
    assert "ause" not in shown(tmp_path / "job.log", "Loading modules", *lines)


@pytest.mark.parametrize("line", ["ERROR: learning rate must be positive", "FATAL: config not readable"])
def test_an_error_line_comes_before_a_command_that_failed(line: str, tmp_path: Path) -> None:
    text = shown(tmp_path / "job.log", "cp: cannot stat 'x': No such file or directory", line)
    assert f"happened first: {line}" in text


@pytest.mark.parametrize(
    "line", ["Terminated workers: 0", "9 passed, 0 failed", "+ rm -f out/error.log", "-- Looking for x - not found"]
)
def test_counts_of_zero_and_traces_of_shells_are_not_shown(line: str, tmp_path: Path) -> None:
    assert "read these lines" not in shown(tmp_path / "job.log", line)
