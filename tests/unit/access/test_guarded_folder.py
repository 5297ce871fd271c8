"""Files of a run are opened beneath its directory: what its owner put there leads nobody to somebody else's files."""

import errno
import gc
import os
import pickle
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hackathon.access.beneath import RefusedFileError
from hackathon.access.guarded_folder import GuardedFolder
from hackathon.access.guarded_path import GuardedPath
from hackathon.runs.directory import RunDirectory, files_of, find_runs, guarded
from hackathon.text.errors import RequestError

OWN, SECRET = b"own line\n", b"what only the reader may read\n"
OTHER, THIRD = 65534, 65533
"""Two accounts that are not the reader."""
PARTS = ("client/created.json", "events/job.jsonl", "logs/job.log", "metrics/rank-0.jsonl", "source/deep/train.py")
root = pytest.mark.skipif(os.geteuid() != 0, reason="two users need root")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with a file in each of its folders."""
    path = tmp_path / "runs" / "20261122-120000-demo-1p-abcdefgh"
    for name in (*PARTS, "request.json"):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(b"{}" if name == "request.json" else OWN)
    return path


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A folder of the reader's with a file of every name that a run has."""
    path = tmp_path / "secret"
    for name in PARTS:
        for place in (path / name, path / Path(name).name):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(SECRET)
    return path


def give(path: Path, owner: int) -> None:
    """Let a folder with all in it belong to an account."""
    for each in (path, *path.rglob("*")):
        os.chown(each, owner, owner, follow_symlinks=False)


def descriptors() -> list[str]:
    """Return the open descriptors of this process, without those of garbage that tests before this one left."""
    gc.collect()
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())


def reason(run: Path, name: str) -> str:
    """Return why a file is refused, after all ways to read it were tried; empty when it is read."""
    files = files_of(run)
    try:
        with files.open(name) as stream:
            assert stream.read() == files.read(name) == (guarded(run) / name).read_bytes()
    except RefusedFileError as error:
        assert files.read(name) is None and files.end(name, 100) is None and files.json(name) == {}
        with pytest.raises(RefusedFileError):
            (guarded(run) / name).read_text()
        with pytest.raises(RefusedFileError):
            (guarded(run) / name).open("rb", buffering=0)
        return error.reason
    return ""


@pytest.mark.parametrize("name", PARTS)
def test_a_link_that_leads_outside_is_refused_at_every_depth(run: Path, secret: Path, name: str) -> None:
    top, deepest = run / name.split("/")[0], run / name
    for place, target in ((deepest, secret / Path(name).name), (deepest.parent, secret), (top, secret / top.name)):
        kept = place.rename(run.parent / "kept")
        for text in (str(target), os.path.relpath(target, place.parent)):
            place.symlink_to(text)
            assert reason(run, name) == "link", (place, text)
            assert name not in files_of(run).files()
            place.unlink()
        kept.rename(place)
    assert reason(run, name) == ""


def test_a_refused_file_says_so_and_one_that_is_not_there_does_not(run: Path, secret: Path) -> None:
    (run / "logs" / "job.log").unlink()
    (run / "logs" / "job.log").symlink_to(secret / "job.log")
    with pytest.raises(RefusedFileError, match="link that leads out") as caught:
        files_of(run).open("logs/job.log")
    assert caught.value.errno == errno.ELOOP and caught.value.filename == f"{run}/logs/job.log"
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.reason, str(again)) == (caught.value.reason, str(caught.value))
    with pytest.raises(FileNotFoundError):
        files_of(run).open("logs/rank-0.log")
    with pytest.raises(NotADirectoryError):
        files_of(run).open("request.json/deeper")
    assert [(each.name, each.reason) for each in RunDirectory(run).refused()] == [("logs/job.log", "link")]


@pytest.mark.parametrize("name", ["/etc/passwd", "../request.json", "logs/../../x", "logs/..", "logs/a\0b"])
def test_a_name_that_leads_outside_is_refused(run: Path, name: str) -> None:
    with pytest.raises(RefusedFileError) as caught:
        files_of(run).open(name)
    assert caught.value.reason == "outside"


def test_links_that_stay_in_the_run_are_read(run: Path, tmp_path: Path) -> None:
    (run / "logs" / "latest.log").symlink_to("job.log")
    (run / "source" / "same").symlink_to("deep")
    (run / "source" / "up.py").symlink_to("deep/../deep/train.py")
    (run / "whole").symlink_to(run / "source")
    (tmp_path / "home").symlink_to(tmp_path / "runs")  # /home -> /lustre/home: a link above the run
    far = tmp_path / "home" / run.name
    for place in (run, far):
        for name in ("logs/latest.log", "source/same/train.py", "source/up.py", "whole/same/train.py"):
            assert files_of(place).read(name) == OWN, name
            assert (guarded(place) / name).read_bytes() == OWN
        assert RunDirectory(place).refused() == []
    (run / "absolute").symlink_to(far / "logs")
    assert files_of(far).read("absolute/job.log") == OWN


def test_links_in_a_circle_end(run: Path) -> None:
    (run / "logs" / "loop.log").symlink_to("loop.log")
    (run / "logs" / "a").symlink_to("b")
    (run / "logs" / "b").symlink_to("a")
    for name in ("logs/loop.log", "logs/a", "logs/b/c"):
        assert reason(run, name) == "link"
        assert not files_of(run).is_file(name)


def test_a_link_out_of_the_run_and_back_is_refused(run: Path) -> None:
    (run / "logs" / "again.log").symlink_to(f"../../{run.name}/logs/job.log")
    assert reason(run, "logs/again.log") == "link"


def test_pipes_sockets_devices_and_folders_block_nobody(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(run / "logs" / "pipe.log")
    monkeypatch.chdir(run / "logs")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.log")
    found: dict[str, str] = {}
    reader = threading.Thread(
        target=lambda: found.update({name: reason(run, f"logs/{name}") for name in ("pipe.log", "socket.log", ".")}),
        daemon=True,
    )
    reader.start()
    reader.join(60)
    assert found == {"pipe.log": "kind", "socket.log": "kind", ".": "kind"}, "a pipe blocks the reader"


@root
def test_a_device_is_refused(run: Path) -> None:
    try:
        os.mknod(run / "logs" / "zero.log", 0o20666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("does not work on this machine")
    assert reason(run, "logs/zero.log") == "kind"


@root
def test_a_file_of_another_owner_is_refused_and_a_team_mate_s_run_is_read(run: Path) -> None:
    give(run, OTHER)
    assert reason(run, "logs/job.log") == ""  # the reader is not the owner: a tutor reads a team's run
    os.chown(run / "logs" / "job.log", THIRD, THIRD)
    assert reason(run, "logs/job.log") == "owner"
    assert [(each.name, each.reason) for each in RunDirectory(run).refused()] == [("logs/job.log", "owner")]


@root
def test_a_second_name_of_somebody_s_file_is_refused(run: Path, secret: Path) -> None:
    give(run, OTHER)
    (run / "logs" / "job.log").unlink()
    os.link(secret / "job.log", run / "logs" / "job.log")  # root's own file: protected_hardlinks lets root do it
    assert reason(run, "logs/job.log") == "owner"
    os.chown(secret / "job.log", THIRD, THIRD)
    assert reason(run, "logs/job.log") == "owner"
    os.chown(secret / "job.log", OTHER, OTHER)
    assert reason(run, "logs/job.log") == ""


@root
@pytest.mark.parametrize(("place", "mode"), [(".", 0o775), (".", 0o757), ("logs", 0o775), ("logs", 0o1777)])
def test_root_s_files_are_read_where_nobody_else_writes(run: Path, place: str, mode: int) -> None:
    for folder in (run, run / "logs"):
        folder.chmod(0o755)
    assert reason(run, "logs/job.log") == ""
    (run / place).chmod(mode)
    assert reason(run, "logs/job.log") == "owner"
    (run / place).chmod(0o755)
    os.chown(run / place, OTHER, OTHER)
    assert reason(run, "logs/job.log") == "owner"


@root
def test_the_reader_s_own_run_may_hold_files_of_root(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(run, OTHER)
    os.chown(run / "logs" / "job.log", 0, 0)  # written from a container, say
    assert reason(run, "logs/job.log") == "owner"
    monkeypatch.setattr(os, "geteuid", lambda: OTHER)
    for folder in (run, run / "logs"):
        folder.chmod(0o755)
    assert reason(run, "logs/job.log") == ""


@root
def test_a_run_in_a_folder_that_a_group_shares_is_read(run: Path) -> None:
    give(run, OTHER)
    os.chown(run.parent, 0, THIRD)
    run.parent.chmod(0o2775)
    for folder in (run, run / "logs"):
        os.chown(folder, OTHER, THIRD)
        folder.chmod(0o2775)
    assert reason(run, "logs/job.log") == ""


@pytest.fixture
def adopted(run: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A run around a job that was submitted by hand, and the folder of that job."""
    job = tmp_path / "job"
    (job / "metrics").mkdir(parents=True)
    (job / "metrics" / "rank-0.jsonl").write_bytes(OWN)
    (job / "slurm-7.out").write_bytes(OWN)
    shutil.rmtree(run / "metrics")
    (run / "metrics").symlink_to(job / "metrics")
    (run / "logs" / "job.log").unlink()
    (run / "logs" / "job.log").symlink_to(job / "slurm-7.out")
    (run / "request.json").write_text(f'{{"in_place": true, "source": "{job}"}}')
    return run, job


def test_an_adopted_run_is_read_where_its_record_says(adopted: tuple[Path, Path], secret: Path) -> None:
    run, job = adopted
    for name in ("metrics/rank-0.jsonl", "logs/job.log"):
        assert reason(run, name) == ""
        assert (guarded(run) / name).is_file() and name not in [each.name for each in RunDirectory(run).refused()]
    assert [str(each.relative_to(run)) for each in guarded(run).glob("metrics/rank-*")] == ["metrics/rank-0.jsonl"]
    (run / "logs" / "far.log").symlink_to(secret / "job.log")
    (run / "logs" / "up.log").symlink_to(job / ".." / "secret" / "job.log")
    (job / "metrics" / "rank-1.jsonl").symlink_to(secret / "rank-0.jsonl")
    for name in ("logs/far.log", "logs/up.log", "metrics/rank-1.jsonl"):
        assert reason(run, name) == "link", name


@root
def test_a_record_that_names_somebody_s_folder_shows_nothing_of_it(adopted: tuple[Path, Path], secret: Path) -> None:
    run, _ = adopted
    give(run, OTHER)
    (run / "request.json").write_text(f'{{"in_place": true, "source": "{secret}"}}')
    os.chown(run / "request.json", OTHER, OTHER)
    (run / "metrics").unlink()
    (run / "metrics").symlink_to(secret / "metrics")
    (run / "logs" / "job.log").unlink()
    (run / "logs" / "job.log").symlink_to(secret / "job.log")
    for name in ("metrics/rank-0.jsonl", "logs/job.log"):
        assert reason(run, name) == "owner"
    assert files_of(run).names("metrics") == []
    source = RunDirectory(run).source()
    assert source == secret and not list(source.rglob("*"))
    with pytest.raises(RefusedFileError):
        (source / "job.log").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["logs/job.log", "logs"])
def test_nothing_is_read_while_a_name_is_swapped_for_a_link(run: Path, secret: Path, name: str) -> None:
    place, aside, link = run / name, run / "aside", run / "link"
    link.symlink_to(secret / name)
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            place.rename(aside)
            link.rename(place)
            place.rename(link)
            aside.rename(place)

    swapping = threading.Thread(target=swap, daemon=True)
    swapping.start()
    seen = set()
    try:
        for _ in range(3000):
            for read in (lambda: files_of(run).read("logs/job.log"), lambda: RunDirectory(run).path / "logs/job.log"):
                found = read()
                try:
                    seen.add(found.read_bytes() if isinstance(found, GuardedPath) else found)
                except OSError:
                    seen.add(None)
    finally:
        over.set()
        swapping.join(60)
    assert OWN in seen and SECRET not in seen


def test_a_huge_file_is_read_up_to_a_limit(run: Path) -> None:
    with (run / "logs" / "job.log").open("ab") as stream:
        stream.truncate(1 << 40)
    files = files_of(run)
    assert files.read("logs/job.log", 9) == OWN
    assert files.end("logs/job.log", 4) == (b"\0" * 4, 1 << 40)
    assert files.json("request.json") == {} and files.text("logs/job.log", 3) == "own"


def test_sizes_are_those_of_files_at_every_depth(run: Path, secret: Path) -> None:
    """A limit on what is read counts what lies in folders of folders, as torchrun's logs do."""
    place = run / "much" / "attempt_0" / "1"
    place.mkdir(parents=True)
    for folder in (run / "much", place):
        (folder / "a.log").write_bytes(b"x" * 7)
    (place / "b.log").symlink_to(secret)
    assert files_of(run).sizes(("much", "nothing")) == [7, 7]
    assert files_of(run).sizes(("much",), 1) == [7]


def test_a_file_that_grows_while_it_is_read_ends(run: Path) -> None:
    path, over = run / "logs" / "job.log", threading.Event()

    def grow() -> None:
        with path.open("ab", buffering=0) as stream:
            while not over.is_set():
                stream.write(b"x" * 4096)

    growing = threading.Thread(target=grow, daemon=True)
    growing.start()
    try:
        for _ in range(100):
            assert len(files_of(run).read("logs/job.log", 100_000) or b"") <= 100_000
    finally:
        over.set()
        growing.join(60)


def test_what_is_held_open_is_the_directory_that_was_opened(run: Path, secret: Path) -> None:
    with files_of(run).held() as files:
        run.rename(run.parent / "moved")
        run.symlink_to(secret)
        assert files.read("logs/job.log") == files.read("events/job.jsonl") == OWN
        assert files.names("logs") == ["job.log"]
    before = len(descriptors())
    for _ in range(20):
        with files_of(run.parent / "moved").held() as files:
            files.read("logs/none")
            files.refused(PARTS)
    assert len(descriptors()) <= before


def answer(files: GuardedFolder, name: str) -> bytes | tuple[str, int | None, str]:
    """Return what stands in a file, or the error with what it says of itself."""
    try:
        with files.open(name) as stream:
            return stream.read()
    except OSError as error:
        return getattr(error, "reason", type(error).__name__), error.errno, str(error.filename)


@pytest.mark.parametrize("owner", [os.geteuid(), pytest.param(OTHER, marks=root)])
def test_a_folder_that_is_held_open_answers_as_one_that_is_not(
    run: Path, secret: Path, owner: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(run, owner)
    logs = run / "logs"
    os.mkfifo(logs / "pipe.log")
    (logs / "far.log").symlink_to(secret / "job.log")
    (logs / "near.log").symlink_to("job.log")
    (logs / "root.log").write_bytes(SECRET)
    (logs / "third.log").write_bytes(SECRET)
    monkeypatch.chdir(logs)  # a socket's address is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.log")
    if os.geteuid() == 0:
        os.chown(logs / "third.log", THIRD, THIRD)
    (run / "far").symlink_to(secret)
    (run / "near").symlink_to("logs")
    lasts = ("job.log", "pipe.log", "far.log", "near.log", "root.log", "third.log", "socket.log", "none", "", ".", "..")
    lasts = (*lasts, "a\0b", "job.log/x", "../logs/job.log", "./job.log", "/job.log")
    names = [f"{above}{last}" for above in ("logs/", "near/", "far/", "", "/", "/logs/", "none/") for last in lasts]
    expected = {name: answer(files_of(run), name) for name in names}
    assert expected["logs/job.log"] == expected["near/near.log"] == OWN
    assert {str(each[0]) for each in expected.values() if isinstance(each, tuple)} > {"link", "kind", "outside"}
    for _ in range(2):
        with files_of(run).held() as files:
            for name in names * 2:
                assert answer(files, name) == expected[name], name


def test_no_descriptor_stays_open(run: Path, secret: Path) -> None:
    os.mkfifo(run / "logs" / "pipe.log")
    (run / "logs" / "far.log").symlink_to(secret / "job.log")
    (run / "logs" / "near.log").symlink_to("job.log")
    before = len(descriptors())
    for name in ("logs/job.log", "logs/pipe.log", "logs/far.log", "logs/near.log", "logs/none", "../x", "logs"):
        files_of(run).read(name)
        files_of(run).is_file(name)
        files_of(run).kinds(name)
        files_of(run).facts([name])
    assert len(descriptors()) <= before


@pytest.fixture
def path(run: Path) -> Iterator[GuardedPath]:
    """The run as a guarded path."""
    yield guarded(run)


def test_a_guarded_path_is_a_path(path: GuardedPath, run: Path) -> None:
    log = path / "logs" / "job.log"
    for each in (
        log, path / "logs/job.log", path.joinpath("logs", "job.log"), (path / "logs" / "x").with_name("job.log"),
        (path / "logs" / "job.txt").with_suffix(".log"), (log / "deeper").parent, pickle.loads(pickle.dumps(log)),
        *path.glob("*/job.log"), *path.rglob("job.log"), *(path / "logs").iterdir(), log.absolute(),
    ):  # fmt: skip
        assert isinstance(each, GuardedPath) and each.read_bytes() == OWN and each == run / "logs" / "job.log"
    assert hash(log) == hash(run / "logs/job.log") and str(log) == str(run / "logs/job.log")
    assert log.read_text() == log.open().read() == OWN.decode()
    assert (
        log.is_file() and not log.is_dir() and log.exists() and not log.is_symlink() and log.stat().st_size == len(OWN)
    )
    assert not isinstance(path.parent, GuardedPath) and path.parent == run.parent
    assert sorted(map(str, path.rglob("*"))) == sorted(map(str, run.rglob("*")))
    assert list(map(str, sorted(path.iterdir()))) == list(map(str, sorted(run.iterdir())))


def test_a_guarded_path_writes_as_its_owner_does(path: GuardedPath) -> None:
    (path / "client" / "new.json").write_text("{}")
    with (path / "client" / "new.json").open("a") as stream:
        stream.write(" ")
    (path / "more").mkdir()
    moved = (path / "client" / "new.json").rename(path / "more" / "new.json")
    assert moved.read_text() == "{} " and not isinstance(moved, GuardedPath)
    (path / "more" / "new.json").unlink()
    assert list((path / "more").iterdir()) == []


def test_a_guarded_path_does_not_leave_its_directory(path: GuardedPath, run: Path, secret: Path) -> None:
    (run / "logs" / "far.log").symlink_to(secret / "job.log")
    for each in (path / "logs" / "far.log", path / "/etc/passwd", path / ".." / "x", path / str(secret / "job.log")):
        assert not each.exists() and not each.is_file() and not each.is_dir()
        for read in (each.read_bytes, each.read_text, each.stat, each.open_regular):
            with pytest.raises(RefusedFileError):
                read()
    with pytest.raises(RefusedFileError):
        list((path / "/etc").iterdir())
    assert (path / "logs" / "far.log").is_symlink() and (path / "logs" / "far.log").lstat().st_size > 0


def test_a_folder_that_several_share_is_read_without_a_look_at_owners(run: Path, secret: Path) -> None:
    files = GuardedFolder(run, any_owner=True)
    (run / "logs" / "far.log").symlink_to(secret / "job.log")
    if os.geteuid() == 0:
        os.chown(run / "logs" / "job.log", THIRD, THIRD)
    assert files.read("logs/job.log") == OWN and files.read("logs/far.log") is None
    (run / "logs" / "near.log").symlink_to("job.log")
    assert files.read("logs/near.log") == OWN
    assert GuardedFolder(run, any_owner=True, links=False).read("logs/near.log") is None


@root
def test_a_run_that_is_a_link_of_others_shows_only_what_is_theirs(run: Path, secret: Path) -> None:
    """`runs/ID -> /home/tutor/own/runs/ID`, made by a participant, by whatever name the tutor opens it."""
    link = run.parent / "20261122-120001-demo-1p-abcdefgi"
    link.symlink_to(secret)
    assert reason(link, "logs/job.log") == ""  # the reader's own link, to the reader's own files
    assert [each.id for each in find_runs(run.parent)] == [link.name, run.name]
    os.chown(link, OTHER, OTHER, follow_symlinks=False)
    assert reason(link, "logs/job.log") == "owner"
    with RunDirectory(link).held():
        assert files_of(link).read("logs/job.log") is None
    assert [each.id for each in find_runs(run.parent)] == [run.name]
    give(secret, OTHER)  # a team mate's runs on another disk
    assert reason(link, "logs/job.log") == ""
    assert link.name in [each.id for each in find_runs(run.parent)]
    folder = run.parent.with_name("linked")
    folder.symlink_to(run.parent)
    os.chown(folder, OTHER, OTHER, follow_symlinks=False)
    with pytest.raises(RequestError) as caught:
        find_runs(folder)
    assert caught.value.id == "runs.folder_unreadable"


def test_what_was_looked_for_too_early_is_forgotten_when_asked_to(run: Path) -> None:
    files = files_of(run)
    for name in ("final.json", "events/rank-0.jsonl"):
        assert files.text(name) == ""
        (run / name).write_text("{}")
    assert files.unsure() == ["events/rank-0.jsonl", "final.json"]
    files.appeared("final.json")
    assert files.unsure() == ["events/rank-0.jsonl"]
    files.appeared()
    assert files.unsure() == []
