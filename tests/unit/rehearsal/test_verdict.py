"""What a rehearsal says of a run that printed nothing: the program's line where it was."""

from pathlib import Path

import pytest

from hackathon.rehearsal.rehearsal import note_end
from hackathon.rehearsal.understood import understand
from hackathon.rehearsal.verdict import RehearsalFinding, findings
from hackathon.runs.directory import RunDirectory
from hackathon.runs.states import RunStatus
from support.recorded_run import RecordedRun

TORCH = "/env/lib/python3.11/site-packages/torch"
BUILD = (f"{TORCH}/utils/file_baton.py", 50), (f"{TORCH}/utils/cpp_extension.py", 2400)
READS = (("/env/lib/python3.11/socket.py", 7),)


def silent_run(folder: Path, *frames: tuple[str, int]) -> RehearsalFinding:
    """Return the only finding about a run that was ended without a value, while rank 0 was in these lines."""
    run = RunDirectory(RecordedRun(folder / "run", 1).path)
    (run.path / "client").mkdir()
    note_end(run, "silent")
    if frames:
        (run.path / "stacks").mkdir()
        lines = [f'  File "{path.format(source=run.path / "source")}", line {line} in wait\n' for path, line in frames]
        stack = "Current thread 0x00007ff80d821b80 (most recent call first):\n" + "".join(lines)
        (run.path / "stacks" / "rank-0.txt").write_text(stack)
    (finding,) = findings([understand(run, RunStatus(run.id, "CANCELLED"))])
    return finding


@pytest.mark.parametrize(
    ("frames", "rule", "place"),
    [
        ((), "silent", ("runs/run/logs/rank-0.log", 0)),
        ((*READS, ("{source}/lib/data.py", 12), ("{source}/train.py", 3)), "silent", ("lib/data.py", 12)),
        (READS, "silent", ("runs/run/logs/rank-0.log", 0)),
        ((*BUILD, ("{source}/train.py", 3)), "builds-extension", ("train.py", 3)),
    ],
)
def test_a_run_without_values_is_told_with_its_line(
    tmp_path: Path, frames: tuple[tuple[str, int], ...], rule: str, place: tuple[str, int]
) -> None:
    finding = silent_run(tmp_path, *frames)
    assert (finding.rule, finding.severity, (finding.path, finding.line)) == (rule, "error", place)
    assert ("torch_extensions" if rule == "builds-extension" else "--seconds") in finding.advice


@pytest.mark.parametrize(("losses", "steps", "rule"), [(3, 0, "few-for-throughput"), (40, 0, "no-throughput"),
                                                       (40, 2, "few-for-throughput")])  # fmt: skip
def test_a_run_of_a_few_steps_needs_more_time(tmp_path: Path, losses: int, steps: int, rule: str) -> None:
    made = RecordedRun(tmp_path / "run", 2)
    made.log(0, *(f"step {step} loss 0.5" for step in range(losses)))
    run = RunDirectory(made.path)
    (run.path / "client").mkdir()
    if steps:
        (run.path / "steps").mkdir()
        (run.path / "steps" / "rank-0.json").write_text(f'{{"steps": {steps}}}')
    note_end(run, "seconds")
    problems = findings([understand(run, RunStatus(run.id, "CANCELLED"))])
    assert [problem.rule for problem in problems if problem.severity == "error"] == [rule]
    assert ("--seconds" in problems[0].advice) and not (rule.startswith("few") and problems[1:])
