"""The board, the slots of local jobs, `diagnose`, and the index while one file after the other cannot be read.

As on NFS: a file whose handle is stale (ESTALE), or a name that is listed and cannot be opened yet (ENOENT). An error,
or the right answer; nothing is lost, nothing wrong is kept, and the next look is right.
"""

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from hackathon.board.board import find_post, read_board, reply
from hackathon.board.directory import BoardDirectory, make_place
from hackathon.board.entry import Entry
from hackathon.board.people import People
from hackathon.board.store import write_entry
from hackathon.cli.main import run as hackathon
from hackathon.config.rule_files import load_rules
from hackathon.diagnosis.cache import keep
from hackathon.diagnosis.examine import Diagnosis, diagnose_run
from hackathon.diagnosis.scan import RuleSet
from hackathon.index.index import Index
from hackathon.index.projects import ProjectFolder
from hackathon.runs.directory import RunDirectory
from hackathon.runs.status import status
from hackathon.schedulers.local import slots
from hackathon.text.errors import HackathonError
from support.failing import READING, WRITING, failing
from support.runs import append_line
from support.samples.runs import one_run

MOST = 1500
STALE = (errno.ESTALE, READING)
HALF_VISIBLE = (errno.ENOENT, ("open", "stat", "lstat"))
faults = pytest.mark.parametrize(("code", "names"), [STALE, HALF_VISIBLE], ids=["stale", "half-visible"])


# ---- board


@pytest.fixture(params=["sticky", "folders"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> BoardDirectory:
    """A board with a post that was answered and solved, and one that was not."""
    made, _ = make_place(tmp_path / "event", request.param)
    if request.param == "folders":
        (made.folder / People(None).account(os.geteuid())).mkdir(mode=0o755, exist_ok=True)
    first = write_entry(made, Entry("", "post", 0.0, made.board, text="the job hangs"))
    write_entry(made, Entry("", "ask", 0.0, made.board, text="who knows NCCL?"))
    for kind in ("answer", "solve"):
        board = read_board(made, People(None))
        reply(board, find_post(board, first.entry.id), kind, "mend the network")
    return made


def on(place: BoardDirectory) -> dict[str, tuple[str, int]]:
    """Return id of each post → (state, number of answers)."""
    return {post.id: (post.state, len(post.answers)) for post in read_board(place, People(None)).posts}


@faults
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "for-a-while"])
def test_each_call_of_reading_the_board_fails(
    place: BoardDirectory, code: int, names: tuple[str, ...], lasting: bool
) -> None:
    right = on(place)
    assert sorted(right.values()) == [("open", 0), ("solved", 1)]
    for at in range(1, MOST):
        said = ""
        with failing(place.folder, at, code, names, lasting=lasting) as fault:
            try:
                board = read_board(place, People(None))
            except HackathonError as error:
                said = str(error)
        if not fault.refused:
            break
        if not said and {post.id: (post.state, len(post.answers)) for post in board.posts} != right:
            assert board.passed, f"something is missing, and nobody is told: {fault.refused}"
        assert on(place) == right
    assert 5 < at < MOST - 1


@pytest.mark.parametrize(
    ("code", "names"), [STALE, HALF_VISIBLE, (errno.ENOSPC, (*WRITING, "open"))], ids=["stale", "half-visible", "full"]
)
def test_each_call_of_a_post_fails(place: BoardDirectory, code: int, names: tuple[str, ...]) -> None:
    """Who is told that the post is there finds it; who gets an error posts again: nobody's posts are lost."""
    before = on(place)
    for at in range(1, MOST):
        made = None
        with failing(place.folder, at, code, names) as fault:
            try:
                made = write_entry(place, Entry("", "post", 0.0, place.board, text=f"post {at}"))
            except HackathonError:
                pass
        if not fault.refused:
            break
        after = on(place)
        assert before.items() <= after.items(), fault.refused
        assert made is None or made.entry.id in after, fault.refused
        before = after
    assert 1 < at < MOST - 1


# ---- slots


@faults
def test_a_place_that_cannot_be_read_is_not_free(tmp_path: Path, code: int, names: tuple[str, ...]) -> None:
    first, second = slots.Ticket(tmp_path, 2), slots.Ticket(tmp_path, 1)
    assert first.join() and first.start(2) and second.join()
    at = 0
    if code == errno.ESTALE:  # the queue lies on the machine's own disk, where names are not half-visible
        for at in range(1, MOST):
            with failing(tmp_path, at, code, names, lasting=True) as fault:
                try:
                    started = second.start(2)
                except OSError:
                    started = False
            if not fault.refused:
                break
            assert not started, fault.refused
        assert 2 < at < MOST - 1
    assert not second.start(2)
    first.leave()
    assert second.start(2)
    second.leave()


# ---- diagnose


@pytest.fixture
def failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A run that failed for want of GPU memory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "diagnose-cache"))
    folder = one_run(tmp_path / "project", "FAILED", 1)
    final = json.loads((folder / "final.json").read_text())
    (folder / "final.json").write_text(json.dumps({**final, "state": "FAILED", "cause": "exit", "exit_code": 1}))
    log = folder / "logs" / "rank-1.log"
    log.parent.mkdir(exist_ok=True)
    log.write_text(
        'Traceback (most recent call last):\n  File "train.py", line 12, in <module>\n    loss.backward()\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.90 GiB total capacity; "
        "13.11 GiB already allocated; 1.02 GiB free; 13.77 GiB reserved in total by PyTorch)\n"
    )
    monkeypatch.chdir(folder.parent.parent)
    return RunDirectory(folder)


@pytest.mark.slow
@faults
def test_each_call_of_diagnose_fails(
    failed: RunDirectory, capsys: pytest.CaptureFixture[str], code: int, names: tuple[str, ...]
) -> None:
    rules = RuleSet(load_rules([])[0])
    kept = failed.path / "client" / "diagnosis.json"

    def look() -> Diagnosis:
        run = RunDirectory(Path(str(failed.path)))
        found = diagnose_run(run, status([run], ask=False)[0], rules=rules)
        keep(run, found)
        return found

    def rule() -> str:
        return str(json.loads(kept.read_text())["en"].get("rule")) if kept.exists() else ""

    assert look().unread == ()
    assert rule() == "gpu-out-of-memory"
    told = 0
    for at in range(1, MOST, 9):  # each of its files is opened the same way: a part of the calls will do
        kept.unlink(missing_ok=True)
        with failing(failed.path, at, code, names, lasting=True) as fault:
            found = look()
        if not fault.refused:
            break
        assert rule() in ("", "gpu-out-of-memory"), f"a wrong cause is kept for good: {fault.refused[0]}"
        wrong = found.root is None or found.root.rule != "gpu-out-of-memory"
        assert found.unread or not wrong, f"nobody is told: {fault.refused[0]}"
        told += wrong
    assert 100 < at < MOST - 1 and told
    assert look().unread == () and rule() == "gpu-out-of-memory"
    with failing(failed.path, 1, code, names, only="/logs", lasting=True):
        assert hackathon(["diagnose", failed.id]) in (0, 1)
    assert "some files cannot be read at the moment" in capsys.readouterr().err


# ---- index


@pytest.mark.slow
@faults
def test_each_call_of_a_refresh_fails(tmp_path: Path, code: int, names: tuple[str, ...]) -> None:
    """What was known before stays, or is told to be unreadable; nothing wrong is kept for the next start."""
    project, store = tmp_path / "project", tmp_path / "store"
    for number, state in enumerate(("SUCCEEDED", "FAILED", "RUNNING")):
        one_run(project, state, number)
    folders = [ProjectFolder(project)]

    def seen(index: Index) -> dict[str, tuple[str, float | None]]:
        return {each.id: (each.state, each.value) for each in index.summaries}

    store.mkdir()
    index = Index(folders, store / "index.sqlite3")
    index.refresh()
    right = seen(index)
    index.close()
    assert len(right) == 3
    for at in range(1, MOST, 4):
        shutil.rmtree(store)
        store.mkdir()
        index = Index(folders, store / "index.sqlite3")
        with failing(project, at, code, names, lasting=True) as fault:
            try:
                index.refresh()
            except OSError:
                pass
            index.close()
        if not fault.refused:
            break
        later = Index(folders, store / "index.sqlite3")
        for _ in range(2):
            for run in project.glob("runs/*"):  # a sign of life, as a run that goes on gives
                os.utime(run / "client")
            later.refresh()
        assert seen(later) == right, fault.refused
        later.close()
    assert 20 < at < MOST - 1
    append_line(next(project.glob("runs/*")) / "events" / "job.jsonl", {"event": "seen"})
