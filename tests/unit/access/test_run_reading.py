"""No command opens a file of a run by its name: each goes through the guarded folder, from the run's descriptor.

The interpreter tells of every file that is opened and every folder that is listed (an audit hook, PEP 578). What is
opened beneath a run with a whole path went round the guard, and it does not matter by which function.
"""

import ast
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hackathon.cli.main import run as command
from support.samples.rich_runs import write_rich
from support.samples.runs import Sample, write_study
from support.trackers import install_mlflow

ROOT = Path(__file__).resolve().parents[3]
READERS = ("cli", "diagnosis", "index", "logs", "readiness", "runs", "scaling", "usage", "web")
"""Packages that read runs."""
ON_OS = frozenset({"open", "scandir", "listdir", "walk", "fwalk"})
MAY_OPEN = {
    "cli/main.py": "/dev/null",
    "diagnosis/bundle.py": "writes the bundle",
    "diagnosis/sources.py": "a folder of logs that the user names and that is no run",
    "diagnosis/teach.py": "the user's own rules",
    "index/listing.py": "the folder `runs` itself",
    "index/projects.py": "folders above runs",
    "runs/clean.py": "sizes of the user's own folders",
    "runs/crate/archive.py": "a zip file that the user names",
    "runs/crate/download.py": "a data set",
    "runs/create.py": "writes a new run",
    "runs/directory.py": "the folder `runs` itself",
    "runs/environment/environments.py": "the project's Python environments",
    "runs/source/selection.py": "the user's own program: which of its files are copied",
    "runs/source/snapshot.py": "the user's own program; writes a snapshot",
    "scaling/fonts.py": "fonts",
    "web/dashboard/endpoint.py": "a lock",
    "web/report/signed_files.py": "writes a report",
    "web/site/manifest.py": "the site that was written",
    "web/site/publish.py": "the site that was written",
    "web/views/board.py": "the board",
    "web/views/published_surveys.py": "surveys",
}
"""Module → what it opens or lists by a name, with `open` or a function of `os`; a guarded path is none of them."""

_opened: list[str] = []
_watched: list[str] = []


def _listen(event: str, arguments: tuple[object, ...]) -> None:
    if not _watched or event not in ("open", "os.listdir", "os.scandir"):
        return
    place = arguments[0]
    name = os.fsdecode(place) if isinstance(place, (str, bytes)) else ""
    writing = event == "open" and isinstance(arguments[2], int) and bool(arguments[2] & (os.O_WRONLY | os.O_RDWR))
    if name.startswith(_watched[0]) and name.removeprefix(_watched[0]).count("/") and not writing:
        _opened.append(f"{event} {name}")


sys.addaudithook(_listen)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with a study and two rich runs, one of them failed; what is opened beneath its runs is written down."""
    folder = tmp_path / "train"
    write_study(folder, [Sample(1, 1200.0), Sample(2, 2300.0)])
    write_rich(folder, 5)
    write_rich(folder, 6, failed=True)
    (folder / "project.yaml").write_text("name: train\nteam: aurora\nrecipe: torch-ddp\ncluster: laptop\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    _opened.clear()
    _watched.append(f"{folder}/runs/")
    yield folder
    _watched.clear()


def run_named(project: Path, *, failed: bool = False) -> str:
    """Return the id of one of the rich runs."""
    return sorted(path.name for path in (project / "runs").iterdir())[-1 if failed else -2]


def test_the_hook_sees_a_file_that_is_opened_by_its_name(project: Path) -> None:
    log = project / "runs" / run_named(project) / "logs" / "rank-0.log"
    log.read_text()
    list(log.parent.iterdir())
    assert _opened == [f"open {log}", f"os.listdir {log.parent}"]


COMMANDS = (
    "status --no-ask", "results --no-ask", "results --no-ask --json", "results {good} --no-ask", "logs {failed}",
    "logs {failed} --raw", "logs {failed} --since 1h --rank 0", "diagnose {failed}", "diagnose", "diagnose --json",
    "diagnose {failed} --bundle {out}.tar.gz", "compare {good} {failed} --no-ask", "predict --processes 4",
    "rerun {good} --dry-run",
    "publish --to {out} --no-ask", "top --once --no-ask", "top --once --no-ask --json", "clean",
    "logs {failed} --attempt 1", "export --to mlflow --no-ask --dir {out}-tracking",
    "status {good} --no-ask", "fetch {good} --to {out}-files", "clean --outputs {good}",
)  # fmt: skip


@pytest.mark.slow
def test_commands_open_files_of_runs_from_the_descriptor_of_the_run(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install_mlflow(monkeypatch)
    good, failed = run_named(project), run_named(project, failed=True)
    wrong = []
    for words in COMMANDS:
        code = command(words.format(good=good, failed=failed, out=tmp_path / "out").split())
        told = capsys.readouterr()
        assert code in (0, 1) and (told.out or told.err), f"{words}: {told.err}"
        wrong += [f"{words}: {each}" for each in dict.fromkeys(_opened)]
        _opened.clear()
    assert not wrong, "\n".join(wrong)


def _opens(path: Path) -> bool:
    """Return whether a module opens or lists something by a name, other than as a method of a path."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id == "open":
            return True
        if isinstance(function, ast.Attribute) and function.attr in ON_OS and ast.unparse(function.value) == "os":
            return True
    return False


def test_only_listed_modules_open_files_by_a_name() -> None:
    modules = [path for package in READERS for path in (ROOT / "hackathon" / package).rglob("*.py")]
    found = {str(path.relative_to(ROOT / "hackathon")) for path in modules if _opens(path)}
    assert found == set(MAY_OPEN), (
        f"take a guarded path (RunDirectory.path, .files), or say why not: {found ^ set(MAY_OPEN)}"
    )


@pytest.mark.parametrize(
    ("language", "words"), [("en", "leads out of the folder"), ("ja", "フォルダーの外を指すリンク")]
)
@pytest.mark.parametrize("name", ["logs", "diagnose"])
def test_a_command_says_which_files_it_does_not_read(
    project: Path, tmp_path: Path, name: str, language: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = run_named(project, failed=True)
    log = project / "runs" / failed / "logs" / "rank-1.log"
    (tmp_path / "secret").write_text("Traceback (most recent call last):\nValueError: a secret word\n")
    log.unlink()
    log.symlink_to(tmp_path / "secret")
    assert command(["--lang", language, name, failed]) in (0, 1)
    told = capsys.readouterr()
    assert str(log) in told.err and words in told.err
    assert "a secret word" not in told.out + told.err
    log.unlink()
    log.write_text("a plain line\n")
    command(["--lang", language, name, failed])
    assert words not in capsys.readouterr().err
