"""What a job lacks is the cause: a line of its environment that failed, a terminal, a keyboard, a screen."""

from pathlib import Path

import pytest

from hackathon.diagnosis import diagnose_run
from hackathon.diagnosis.examine import Diagnosis
from hackathon.runs.directory import RunDirectory
from hackathon.text.files import write_json
from hackathon.text.messages import LANGUAGES, speaking
from support.recorded_run import RecordedRun, T

ACTIVATE = "source /data/my env/bin/activate"
NO_TORCH = "ModuleNotFoundError: No module named 'torch'"
NO_MPIRUN = "hackathon: the job has no command mpirun (launcher) after its environment lines; PATH is /usr/bin:/bin"
MODULE = ("/var/spool/slurmd/job1/slurm_script: line 30: module: command not found",)
BAR = (
    "stty: 'standard input': Inappropriate ioctl for device",
    "Traceback (most recent call last):",
    '  File "/w/source/utils.py", line 45, in <module>',
    "    _, term_width = os.popen('stty size', 'r').read().split()",
    "ValueError: not enough values to unpack (expected 2, got 0)",
)
QUESTION = (
    "Traceback (most recent call last):",
    '  File "/w/source/train.py", line 3, in <module>',
    "    lr = float(input('learning rate? '))",
    "EOFError: EOF when reading a line",
)
WINDOW = (
    "Traceback (most recent call last):",
    '  File "/w/source/train.py", line 9, in <module>',
    "    plt.show()",
    "_tkinter.TclError: no display name and no $DISPLAY environment variable",
)
NOTEBOOK = (
    "Traceback (most recent call last):",
    '  File "/w/source/train.ipynb", line 5, in <module>',
    '    "execution_count": null,',
    "NameError: name 'null' is not defined. Did you mean: 'all'?",
)


def diagnosed(tmp_path: Path, *lines: str, failed: str = "", code: int = 1, job: tuple[str, ...] = ()) -> Diagnosis:
    """Return the diagnosis of a failed run; `failed`: its line of `environment:` that ended with an error."""
    run = RecordedRun(tmp_path / "runs/20261121-185440-own-1p-abcdefgh", 1, ("n1",), command=["python", "train.py"])
    run.log(0, *lines)
    told = f"environment line ended with {code}: {failed}"
    (run.path / "logs/job.log").write_text(
        "".join(f"{line}\n" for line in (*job, *([f"hackathon: {told}"] if failed else [])))
    )
    if failed:
        run.add("events/job.jsonl", {"t": T, "event": "warned", "attempt": 1, "about": "environment", "text": told})
    run.add("events/rank-0.jsonl", {"t": T + 9, "event": "ended", "attempt": 1, "exit_code": 1, "signal": None})
    write_json(run.path / "final.json", {"state": "FAILED", "cause": "exit", "attempt": 1, "exit_code": 1})
    for language in LANGUAGES:
        with speaking(language):
            diagnosis = diagnose_run(RunDirectory(run.path))
            assert diagnosis.root is not None and "{" not in diagnosis.root.message + diagnosis.root.advice
    return diagnosis


@pytest.mark.parametrize(
    ("line", "consequence"),
    [
        (NO_TORCH, "env-module-missing"),
        (NO_MPIRUN, "env-job-lacks-command"),
        (
            "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
            "cuda-library-missing",
        ),
    ],
)
def test_a_line_of_the_environment_that_failed_is_the_cause_of_what_follows(
    tmp_path: Path, line: str, consequence: str
) -> None:
    diagnosis = diagnosed(tmp_path, line, failed=ACTIVATE)
    assert diagnosis.root is not None and diagnosis.root.rule == "env-line-failed"
    assert ACTIVATE in diagnosis.root.message
    levels = {finding.rule: finding.level for finding in diagnosis.findings}
    assert levels[consequence] == "secondary"


def test_the_path_that_the_line_names_is_a_consequence_as_well(tmp_path: Path) -> None:
    missing = "/var/spool/slurmd/job1/slurm_script: line 30: /data/my: No such file or directory"
    diagnosis = diagnosed(tmp_path, NO_TORCH, failed=ACTIVATE, job=(missing,))
    assert [finding.rule for finding in diagnosis.findings if finding.level != "secondary"] == ["env-line-failed"]


@pytest.mark.parametrize(
    ("lines", "root"),
    [
        (("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",), "gpu-out-of-memory-other"),
        (("Traceback (most recent call last):", '  File "/w/source/train.py", line 3, in <module>',
          "ValueError: too many values"), "python-exception"),
        (("python: can't open file '/w/source/trian.py': [Errno 2] No such file or directory",), "env-script-missing"),
        (("FileNotFoundError: [Errno 2] No such file or directory: '/data/train.txt'",), "data-file-missing"),
    ],
)  # fmt: skip
def test_a_line_that_did_no_harm_is_not_spoken_of(tmp_path: Path, lines: tuple[str, ...], root: str) -> None:
    """`module unload` of what is not loaded, or `[ -f file ] && source file`, ends with 1 and means nothing."""
    diagnosis = diagnosed(tmp_path, *lines, failed="[ -f ~/.site ] && source ~/.site")
    assert diagnosis.root is not None and diagnosis.root.rule == root
    assert "env-line-failed" not in {finding.rule for finding in diagnosis.findings}


def test_why_the_line_failed_comes_first_where_it_is_known(tmp_path: Path) -> None:
    diagnosis = diagnosed(tmp_path, NO_TORCH, failed="module load cuda", code=127, job=MODULE)
    assert diagnosis.root is not None and diagnosis.root.rule == "env-module-command-missing"


def test_without_a_line_that_failed_the_module_is_the_cause(tmp_path: Path) -> None:
    diagnosis = diagnosed(tmp_path, NO_TORCH)
    assert diagnosis.root is not None and diagnosis.root.rule == "env-module-missing"


@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        (BAR, "env-no-terminal"),
        (QUESTION, "env-no-keyboard"),
        (WINDOW, "env-no-screen"),
        (NOTEBOOK, "env-program-is-notebook"),
    ],
)
def test_a_terminal_a_keyboard_or_a_screen_that_is_missing_is_named(
    tmp_path: Path, lines: tuple[str, ...], rule: str
) -> None:
    diagnosis = diagnosed(tmp_path, *lines)
    assert diagnosis.root is not None and diagnosis.root.rule == rule


@pytest.mark.parametrize(
    "lines",
    [
        ("bash: cannot set terminal process group (-1): Inappropriate ioctl for device", "ValueError: x"),
        ("EOFError: Ran out of input",),
        ("UserWarning: FigureCanvasAgg is non-interactive, and thus cannot be shown", "ValueError: x"),
        ("NameError: name 'null' is not defined",),
    ],
)
def test_messages_that_look_alike_are_of_something_else(tmp_path: Path, lines: tuple[str, ...]) -> None:
    traceback = ("Traceback (most recent call last):", '  File "/w/source/train.py", line 3, in <module>')
    diagnosis = diagnosed(tmp_path, *lines[:-1], *traceback, lines[-1])
    assert not {finding.rule for finding in diagnosis.findings} & {
        "env-no-terminal", "env-no-keyboard", "env-no-screen", "env-program-is-notebook",
    }  # fmt: skip


MISSING = "FileNotFoundError: [Errno 2] No such file or directory: '{}'"


def _of_project(tmp_path: Path, message: str) -> Diagnosis:
    """Return the diagnosis of a run whose project has more files than its copy."""
    project = tmp_path / "project"
    for name in ("data/train.txt", "studies/__init__.py", "../shared/x.txt", "train.py"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("")
    run = RecordedRun(
        project / "runs/20260101-120000-own-1p-abcdefgh", 1, command=["python", "train.py"], source=str(project)
    )
    run.program("")
    run.log(
        0,
        "Traceback (most recent call last):",
        '  File "/w/source/train.py", line 3, in <module>',
        message.format(run.path),
    )
    run.add("events/rank-0.jsonl", {"t": T + 9, "event": "ended", "attempt": 1, "exit_code": 1, "signal": None})
    write_json(run.path / "final.json", {"state": "FAILED", "cause": "exit", "attempt": 1, "exit_code": 1})
    return diagnose_run(RunDirectory(run.path))


@pytest.mark.parametrize(
    ("message", "rule", "advice"),
    [
        (MISSING.format("data/train.txt"), "data-not-copied", "`exclude: [data]`"),
        (MISSING.format("./data/train.txt"), "data-not-copied", "`exclude: [data]`"),
        (MISSING.format("{}/source/data/train.txt"), "data-not-copied", "`exclude: [data]`"),
        ("ModuleNotFoundError: No module named 'studies'", "data-not-copied", "`exclude: [studies]`"),
        (MISSING.format("../shared/x.txt"), "data-above-project", "/shared/x.txt"),
    ],
)
def test_what_the_project_has_and_the_copy_lacks_is_the_cause(
    tmp_path: Path, message: str, rule: str, advice: str
) -> None:
    root = _of_project(tmp_path, message).root
    assert root is not None and root.rule == rule and advice in root.advice and root.ranks == (0,)


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        (MISSING.format("data/other.txt"), "data-file-missing"),
        (MISSING.format("/data/train.txt"), "data-file-missing"),
        (MISSING.format("../shared/y.txt"), "data-file-missing"),
        (MISSING.format("train.py"), "data-file-missing"),  # the copy has it: something else changed the folder
        ("ModuleNotFoundError: No module named 'data2'", "env-module-missing"),
    ],
)
def test_what_the_project_lacks_too_is_missing(tmp_path: Path, message: str, rule: str) -> None:
    root = _of_project(tmp_path, message).root
    assert root is not None and root.rule == rule
