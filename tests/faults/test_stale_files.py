"""Files of runs that a file server refuses for a moment (ESTALE), or lists and does not open yet (ENOENT).

Each call on a project's files fails in turn, and the same call on the same path with it: no traceback, no better state
than before, nothing overwritten, and the next look is right.
"""

import errno
import json
from pathlib import Path

import pytest

from hackathon.cli.main import run as hackathon
from support.failing import READING, failing
from support.samples.runs import one_run

pytestmark = pytest.mark.slow
MOST = 1000


@pytest.fixture
def project(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a run that runs, one that failed, and one that succeeded."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    folder = tmp_path / "project"
    one_run(folder, "SUCCEEDED", 0)
    failed = one_run(folder, "FAILED", 1)
    events = failed / "events" / "job.jsonl"
    events.write_text(events.read_text().replace('"exit_code": 0', '"exit_code": 1'))
    one_run(folder, "RUNNING", 2)
    monkeypatch.chdir(folder)
    return folder


def states(capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """Return the exit code and the states, newest run first, as `status` has them."""
    code = hackathon(["status", "--all", "--no-ask", "--json"])
    out = capsys.readouterr().out
    return code, [each["state"] for each in json.loads(out)["runs"]] if out else []


@pytest.mark.parametrize(
    ("code", "names"),
    [(errno.ESTALE, READING), (errno.ENOENT, ("open", "stat", "lstat"))],
    ids=["stale", "half-visible"],
)
def test_each_call_of_status_fails(
    project: Path, capsys: pytest.CaptureFixture[str], code: int, names: tuple[str, ...]
) -> None:
    right = (0, ["RUNNING", "FAILED", "SUCCEEDED"])
    assert states(capsys) == right
    seals = {path: path.read_bytes() for path in project.rglob("final.json")}
    assert len(seals) == 2
    for at in range(1, MOST, 2):  # most files are looked at by two calls
        with failing(project, at, code, names, lasting=True) as fault:
            exit_code, seen = states(capsys)
        if not fault.refused:
            break
        assert exit_code in (0, 2, 3), fault.refused
        # a run that is not seen is not told; none of those that are told fares better than it did
        assert seen.count("SUCCEEDED") <= 1, fault.refused
        if len(seen) == 3:
            assert seen[0] != "SUCCEEDED" and seen[1] != "SUCCEEDED", fault.refused
        assert {path: path.read_bytes() for path in project.rglob("final.json")} == seals, fault.refused
        assert states(capsys) == right, fault.refused
    assert 20 < at < MOST - 1


@pytest.mark.parametrize(
    ("code", "words"),
    [(errno.ESTALE, ("results", "--json")), (errno.ENOENT, ("top", "--once", "--json", "--no-ask"))],
)
def test_reading_fails_without_a_traceback(
    project: Path, capsys: pytest.CaptureFixture[str], code: int, words: tuple[str, ...]
) -> None:
    names = READING if code == errno.ESTALE else ("open", "stat", "lstat")
    failed = 0
    for at in range(1, MOST, 3):  # a run's folder is opened anew for each of its files: a third of the calls will do
        with failing(project, at, code, names, lasting=True) as fault:
            assert hackathon(list(words)) in (0, 2, 3), fault.refused
        capsys.readouterr()
        if not fault.refused:
            break
        failed += 1
    assert 5 < failed < MOST // 3
    assert states(capsys) == (0, ["RUNNING", "FAILED", "SUCCEEDED"])


def test_a_seal_that_cannot_be_read_is_not_written_anew(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the run's own files say is not all that the seal said: the scheduler may have forgotten the rest."""
    (seal,) = project.glob("runs/*-100400-*/final.json")
    value = json.loads(seal.read_text())
    seal.write_text(json.dumps({**value, "cause": "walltime"}))
    before = seal.read_bytes()
    with failing(project, 1, names=("open",), only=f"{seal.parent.name}/final.json", lasting=True) as fault:
        assert hackathon(["status", "--all", "--no-ask"]) == 0
    assert fault.refused
    assert seal.read_bytes() == before
    capsys.readouterr()
    # one that is damaged says nothing: the run's own files tell
    seal.write_text("{half")
    assert states(capsys)[1] == ["RUNNING", "FAILED", "SUCCEEDED"]
