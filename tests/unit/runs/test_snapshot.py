"""The copy of the source: what is in it, what is not, and what is said about it."""

import hashlib
import os
import shutil
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.runs.create import create
from hackathon.runs.directory import RunDirectory
from hackathon.runs.source import selection, snapshot
from hackathon.runs.source.provenance import differences
from hackathon.runs.source.snapshot import RUNTIME, take
from hackathon.text.errors import RequestError
from hackathon.text.files import read_json
from support.patience import STRETCH
from support.runs import SCRIPT, new_run, project, request, without_rights


def _git(folder: Path, *words: str) -> str:
    if not shutil.which("git"):
        pytest.skip("no git")
    identity = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    environment = {**os.environ, **identity, "GIT_CONFIG_GLOBAL": "/dev/null"}
    done = subprocess.run(
        ["git", "-C", str(folder), *words], check=True, capture_output=True, text=True, env=environment
    )
    return done.stdout.strip()


def _files(folder: Path) -> set[str]:
    return set(take(folder, runs_folder=folder / "runs").files)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = project(tmp_path / "project")
    (folder / ".gitignore").write_text("data/\n*.pt\n")
    _git(folder, "init", "-q", "-b", "main")
    _git(folder, "add", ".")
    _git(folder, "commit", "-q", "-m", "first")
    return folder


def _fill(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def test_git_decides_what_is_source(repository: Path) -> None:
    _fill(repository, "new.py", "data/big.bin", "model.pt", "runs/x/request.json", "studies/s/study.json", "src/a/b.py")
    assert _files(repository) == {".gitignore", "train.py", "new.py", "src/a/b.py"}


def test_commit_branch_and_difference_are_recorded(repository: Path) -> None:
    clean = take(repository)
    assert clean.git == {"commit": _git(repository, "rev-parse", "HEAD"), "branch": "main", "dirty": False}
    assert clean.diff == b""
    (repository / "train.py").write_text("print('changed')\n")
    changed = take(repository)
    assert changed.git is not None and changed.git["dirty"] is True
    assert b"+print('changed')" in changed.diff
    run = create(request(repository), SCRIPT, runs_folder=repository / "runs", source=changed)
    assert (run.path / "source.diff").read_bytes() == changed.diff
    assert read_json(run.path / "source.json")["git"] == changed.git  # type: ignore[index]


def test_a_project_in_a_part_of_a_repository_takes_that_part(repository: Path) -> None:
    _fill(repository, "team/own.py", "other/not.py")
    assert _files(repository / "team") == {"own.py"}


def test_deleted_and_unmerged_names_are_no_trouble(repository: Path) -> None:
    (repository / "train.py").unlink()
    assert _files(repository) == {".gitignore"}


def test_a_repository_before_its_first_commit(tmp_path: Path) -> None:
    folder = project(tmp_path)
    _git(folder, "init", "-q", "-b", "main")
    taken = take(folder)
    assert set(taken.files) == {"train.py"} and taken.git == {"commit": None, "branch": "main", "dirty": True}


def test_a_repository_inside_is_walked(repository: Path) -> None:
    inner = project(repository / "library")
    _git(inner, "init", "-q")
    assert "library/train.py" in _files(repository)
    assert not any(".git/" in name for name in _files(repository))


def test_a_broken_repository_is_a_plain_folder(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / ".git").mkdir()
    taken = take(folder)
    assert set(taken.files) == {"train.py"} and taken.git is None
    assert any("git" in warning for warning in taken.warnings)


def test_a_repository_that_git_refuses_is_told_with_its_reason(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    [warning] = [text for text in take(repository).warnings if "git" in text]
    assert "git refuses" in warning and "dubious ownership" in warning and "respond" not in warning


def test_without_git_a_plain_folder(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "train.py" in take(repository).files


def test_another_repository_in_the_environment_is_not_asked(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert take(repository).git is not None


def test_no_command_of_the_repository_is_run(repository: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    _git(repository, "config", "core.fsmonitor", str(trap))
    _git(repository, "config", "diff.external", str(trap))
    for name in ("clean", "process", "smudge"):
        _git(repository, "config", f"filter.x.y.{name}", str(trap))
    (repository / ".gitattributes").write_text("*.py filter=x.y\n")
    _git(repository, "config", "remote.origin.url", f"ext::{trap} %S x")
    _git(repository, "config", "protocol.ext.allow", "always")
    _git(repository, "config", "remote.origin.promisor", "true")
    _git(repository, "config", "extensions.partialClone", "origin")
    (repository / "train.py").write_text("changed\n")
    taken = take(repository)
    for objects in (repository / ".git" / "objects").glob("??"):
        shutil.rmtree(objects)  # what a partial clone has to bring
    take(repository)
    assert taken.files["train.py"].content == b"changed\n"
    assert not (tmp_path / "sprung").exists()


def test_a_plain_folder_without_what_is_made(tmp_path: Path) -> None:
    folder = project(tmp_path)
    _fill(folder, "a/b.py", "runs/20260101-000000-x-1p-abcdefgh/x", "runs/x/request.json", "runs/.partial-x/y",
          "studies/20260101-000000-x-abcdefgh/x", "site/index.html", "site/site/.publication", "__pycache__/x.pyc",
          ".venv/bin/python", "checkpoints/last.pt", "a/__pycache__/x.pyc", "a/runs/kept.py", ".hidden/kept",
          "a/events.out.tfevents.1764.host.1.0")  # fmt: skip
    assert _files(folder) == {"train.py", "a/b.py", "a/runs/kept.py", ".hidden/kept"}


def test_folders_of_the_user_with_the_toolkits_names_are_source(tmp_path: Path) -> None:
    """A package `studies`, pages of a `site`, and what TensorBoard writes beside the runs."""
    folder = project(tmp_path)
    run, study = "20260101-000000-x-1p-abcdefgh", "20260101-000000-x-abcdefgh"
    own = {"runs/__init__.py", "runs/Nov28_10-00-00_host/note.txt", "studies/__init__.py", "studies/a.py", "site/a.css"}
    _fill(folder, *own, f"runs/{run}/source/train.py", f"studies/{study}/study.json")
    assert _files(folder) == {"train.py", *own}
    assert set(take(folder, runs_folder=folder / "studies").files) == {"train.py", *own}


def test_the_runs_folder_is_left_out_wherever_it_lies(tmp_path: Path) -> None:
    folder = project(tmp_path)
    _fill(folder, "out/here/x/request.json", "out/kept")
    assert set(take(folder, runs_folder=folder / "out" / "here").files) == {"train.py", "out/kept"}


def test_too_big_names_the_biggest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project(tmp_path)
    monkeypatch.setattr(selection, "SIZE_LIMIT", 10_000)
    for number in range(9):
        (folder / f"data{number}.bin").write_bytes(b"x" * 2000 * number)
    with pytest.raises(RequestError) as caught:
        take(folder)
    assert "data8.bin" in str(caught.value) and "data0.bin" not in str(caught.value)
    assert "--in-place" in (caught.value.hint or "")
    # without these the rest is small enough
    assert "exclude: [data8.bin, data7.bin, data6.bin, data5.bin, data4.bin, data3.bin]" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("big", "excluded"),
    [
        ("examples/Datasets/MNIST/raw/images", "examples/Datasets"),
        ("lib/data/set.bin", "lib"),  # a program is beside it, and the folder above holds it too
        ("sets/a/set.bin", "sets"),
    ],
)
def test_the_folder_to_exclude_holds_no_program_where_that_is_possible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, big: str, excluded: str
) -> None:
    folder = project(tmp_path)
    _fill(folder, "examples/basics/train.py", "lib/data/read.py", big)
    monkeypatch.setattr(selection, "SIZE_LIMIT", 10_000)
    (folder / big).write_bytes(b"x" * 20_000)
    with pytest.raises(RequestError) as caught:
        take(folder)
    assert f"exclude: [{excluded}]" in (caught.value.hint or "")


def test_the_real_limit_is_fifty_megabytes(tmp_path: Path) -> None:
    folder = project(tmp_path)
    with (folder / "sparse.bin").open("wb") as stream:
        stream.truncate(50_000_001)
    with pytest.raises(RequestError):
        take(folder)
    assert selection.SIZE_LIMIT == 50_000_000


def test_too_many_names_the_fullest_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project(tmp_path)
    monkeypatch.setattr(selection, "COUNT_LIMIT", 20)
    _fill(folder, *(f"images/{number}.png" for number in range(30)))
    with pytest.raises(RequestError) as caught:
        take(folder)
    assert "images/" in str(caught.value) and "exclude: [images]" in (caught.value.hint or "")
    assert set(take(folder, exclude=["images"]).files) == {"train.py"}


@pytest.mark.parametrize("in_git", [True, False])
def test_what_is_excluded_is_linked_and_survives_its_run(tmp_path: Path, in_git: bool) -> None:
    folder = project(tmp_path / "project")
    _fill(folder, "data/images/a.png", "weights/a.pt", "weights/b.pt", "weights/readme.txt")
    _fill(tmp_path, "shared/set.bin")
    (folder / "elsewhere").symlink_to(tmp_path / "shared")
    (folder / "short").symlink_to("data/images")
    if in_git:
        (folder / ".gitignore").write_text("data/\n")
        _git(folder, "init", "-q")
        _git(folder, "add", "-A")
    listed = ("data/", "weights/*.pt", "elsewhere")
    source = take(folder, runs_folder=folder / "runs", exclude=listed)
    assert set(source.files) - {".gitignore"} == {"train.py", "weights/readme.txt"} and not source.warnings
    assert set(source.outside) == {"data", "weights/a.pt", "weights/b.pt", "elsewhere"}
    assert source.digest != take(folder, runs_folder=folder / "runs", exclude=listed[1:]).digest
    run = create(request(folder, exclude=listed), SCRIPT, runs_folder=folder / "runs")
    copy = Path(os.fspath(run.path / "source"))  # as a job sees it: the toolkit itself follows none of these links
    assert (copy / "data").readlink() == folder / "data" and (copy / "short/a.png").read_text() == "data/images/a.png"
    assert (copy / "elsewhere/set.bin").read_text() == "shared/set.bin" and (copy / "weights/b.pt").is_symlink()
    again = snapshot.recorded(copy, read_json(run.path / "source.json"))
    assert again.outside == source.outside and again.digest == source.digest
    assert differences(run) == []
    shutil.rmtree(run.path)
    assert (folder / "data/images/a.png").exists() and (tmp_path / "shared/set.bin").exists()


@pytest.mark.parametrize("pattern", ["/etc", "..", "../other", "a/../../b", "", " ", ".", "**/*.pt", "link/a.png"])
def test_what_cannot_be_excluded(tmp_path: Path, pattern: str) -> None:
    folder = project(tmp_path / "project")
    _fill(tmp_path, "other/a.png")
    (folder / "link").symlink_to(tmp_path / "other")
    with pytest.raises(RequestError) as caught:
        take(folder, exclude=[pattern])
    assert caught.value.id == "runs.exclude_wrong" and caught.value.hint


def test_a_pattern_that_matches_nothing_or_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project(tmp_path)
    (warning,) = take(folder, exclude=["dta"]).warnings
    assert "dta" in warning
    monkeypatch.setattr(selection, "LINKS", 5)
    _fill(folder, *(f"images/{number}.png" for number in range(6)))
    with pytest.raises(RequestError):
        take(folder, exclude=["images/*"])
    assert set(take(folder, exclude=["images", "images/1.png"]).outside) == {"images"}


def test_an_excluded_folder_is_not_walked() -> None:
    with without_rights() as folder:
        project(folder)
        (folder / "data").mkdir()
        (folder / "data/locked").mkdir(mode=0)
        with pytest.raises(RequestError):
            take(folder)
        assert set(take(folder, exclude=["data"]).files) == {"train.py"}


def test_links_that_stay_inside_are_kept(tmp_path: Path) -> None:
    folder = project(tmp_path)
    _fill(folder, "lib/a.py")
    (folder / "alias.py").symlink_to("train.py")
    (folder / "lib" / "up.py").symlink_to("../train.py")
    (folder / "library").symlink_to("lib")
    run = create(request(folder), SCRIPT, runs_folder=folder / "runs")
    copy = run.path / "source"
    assert (copy / "alias.py").readlink() == Path("train.py") and (copy / "library" / "a.py").read_text() == "lib/a.py"
    assert (copy / "lib" / "up.py").resolve() == (copy / "train.py").resolve()
    (copy / "alias.py").write_text("changed by the job")
    assert (folder / "train.py").read_text() == "print('training')\n"


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "lib/../../outside", "{folder}/train.py"])
def test_links_that_lead_out_are_named(tmp_path: Path, target: str) -> None:
    folder = project(tmp_path / "project")
    _fill(tmp_path, "outside")
    _fill(folder, "lib/a.py")
    (folder / "data").symlink_to(target.format(folder=folder))
    with pytest.raises(RequestError) as caught:
        take(folder)
    assert "data → " in str(caught.value) and caught.value.hint


def test_a_link_to_itself_and_a_dangling_one(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "gone").symlink_to("nothing.here")
    assert take(folder).links == {"gone": "nothing.here"}


def test_a_link_to_what_is_ignored_is_warned_of(repository: Path) -> None:
    _fill(repository, "data/big.bin")
    (repository / "input").symlink_to("data")
    taken = take(repository)
    assert any("input" in warning for warning in taken.warnings)


def test_fifos_sockets_and_devices_are_passed_over_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project(tmp_path)
    os.mkfifo(folder / "pipe")
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
        done: list[Any] = []
        thread = threading.Thread(target=lambda: done.append(take(folder)), daemon=True)
        thread.start()
        thread.join(STRETCH * 60)
    assert done, "a FIFO hung the snapshot"
    assert set(done[0].files) == {"train.py"}
    assert len(done[0].warnings) == 2 and "pipe" in "".join(done[0].warnings)


def test_an_unreadable_file_is_named() -> None:
    with without_rights() as folder:
        project(folder)
        (folder / "secret.key").write_text("x")
        (folder / "secret.key").chmod(0)
        with pytest.raises(RequestError) as caught:
            take(folder)
        assert "secret.key" in str(caught.value) and caught.value.exit_code == 2


def test_an_unreadable_folder_is_named() -> None:
    with without_rights() as folder:
        project(folder)
        (folder / "closed").mkdir(mode=0)
        with pytest.raises(RequestError) as caught:
            take(folder)
        assert "closed" in str(caught.value)
        (folder / "closed").chmod(0o700)


@pytest.mark.parametrize(
    "name", [b"two\nlines.py", "手書き.py".encode(), b"caf\xe9.py", b"back\\slash", b" ", b"-rf", b"'$(x)'"]
)
@pytest.mark.parametrize("in_git", [True, False])
def test_odd_names_are_copied_and_checked(tmp_path: Path, name: bytes, in_git: bool) -> None:
    folder = project(tmp_path / "project")
    if in_git:
        _git(folder, "init", "-q")
    with open(os.fsencode(folder) + b"/" + name, "wb") as stream:  # noqa: PTH123
        stream.write(b"content")
    run = create(request(folder), SCRIPT, runs_folder=folder / "runs")
    with open(os.fsencode(run.path) + b"/source/" + name, "rb") as stream:  # noqa: PTH123
        assert stream.read() == b"content"
    live = create(request(folder, in_place=True), SCRIPT, runs_folder=folder / "runs")
    done = subprocess.run(
        ["sha256sum", "--check", "--status", str(live.path / "source.sha256")], cwd=folder, capture_output=True
    )
    assert done.returncode == 0 and not done.stderr
    again = snapshot.recorded(run.path / "source", read_json(run.path / "source.json") or {})
    assert again.digest == take(folder, runs_folder=folder / "runs").digest


@settings(max_examples=40, deadline=None)
@given(
    st.binary(min_size=1, max_size=40).filter(
        lambda raw: b"/" not in raw and b"\0" not in raw and raw not in (b".", b"..", b"-")  # `-` is standard input
    )
)
def test_checksums_are_what_sha256sum_writes(tmp_path_factory: pytest.TempPathFactory, name: bytes) -> None:
    folder = tmp_path_factory.mktemp("names")
    with open(os.fsencode(folder) + b"/" + name, "wb") as stream:  # noqa: PTH123
        stream.write(name)
    taken = take(folder, in_place=True)
    if not taken.files:
        return  # a name that is always left out
    expected = subprocess.run([b"sha256sum", b"--", name], cwd=folder, capture_output=True, check=True).stdout
    assert taken.checksums() == expected


def test_the_runtime_comes_beside_the_program(tmp_path: Path) -> None:
    folder = project(tmp_path)
    _fill(folder, "deep/train.py")
    top = create(request(folder), SCRIPT, runs_folder=folder / "runs")
    assert (top.path / "source" / RUNTIME).is_file()
    deep = create(request(folder, command=("python", "./deep/train.py")), SCRIPT, runs_folder=folder / "runs")
    assert (deep.path / "source" / "deep" / RUNTIME).is_file() and not (deep.path / "source" / RUNTIME).exists()
    (folder / RUNTIME).write_text("own = True\n")
    own = create(request(folder), SCRIPT, runs_folder=folder / "runs")
    assert (own.path / "source" / RUNTIME).read_text() == "own = True\n"
    assert not read_json(own.path / "source.json")["added"]  # type: ignore[index]


def test_the_record_has_hashes(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    record = read_json(run.path / "source.json")
    assert isinstance(record, dict)
    assert record["files"]["train.py"] == hashlib.sha256(b"print('training')\n").hexdigest()
    assert record["size"] == len("print('training')\n") and len(record["digest"]) == 64


def test_in_place_copies_nothing_and_hashes(tmp_path: Path) -> None:
    folder = project(tmp_path)
    run = create(request(folder, in_place=True), SCRIPT, runs_folder=folder / "runs")
    assert not (run.path / "source").exists() and run.source() == folder
    assert "train.py" in (run.path / "source.sha256").read_text()
    (folder / "train.py").write_text("changed while it was queued\n")
    done = subprocess.run(["sha256sum", "--check", "--status", str(run.path / "source.sha256")], cwd=folder)
    assert done.returncode == 1


def test_in_place_takes_a_folder_of_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project(tmp_path)
    monkeypatch.setattr(selection, "SIZE_LIMIT", 1000)
    (folder / "big.bin").write_bytes(b"x" * 5000)
    (folder / "data").symlink_to("/etc")
    assert set(take(folder, in_place=True).files) == {"train.py"}


def test_the_project_edited_while_queued_does_not_change_the_run(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    (tmp_path / "train.py").write_text("edited\n")
    assert (run.path / "source" / "train.py").read_text() == "print('training')\n"


@pytest.mark.parametrize("name", ["../escape", "/etc/escape", "a/../../escape"])
def test_a_hostile_record_can_not_write_outside(tmp_path: Path, name: str) -> None:
    run = new_run(tmp_path / "project")
    with pytest.raises(RequestError):
        snapshot.recorded(run.path / "source", {"files": {name: "0"}})


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RequestError):
        take(tmp_path / "nowhere")


def test_equal_sources_have_equal_digests(tmp_path: Path) -> None:
    first, second = take(project(tmp_path / "a")), take(project(tmp_path / "b"))
    assert first.digest == second.digest
    (tmp_path / "b" / "train.py").chmod(0o755)
    assert first.digest != take(tmp_path / "b").digest


def test_a_change_between_two_runs_is_seen(tmp_path: Path) -> None:
    runs: list[RunDirectory] = []
    for word in ("one", "two"):
        project(tmp_path)
        (tmp_path / "x.py").write_text(word)
        runs.append(create(request(tmp_path), SCRIPT, runs_folder=tmp_path / "runs"))
    assert [(run.path / "source" / "x.py").read_text() for run in runs] == ["one", "two"]


@pytest.mark.parametrize("kind", ["fifo", "link"])
def test_a_file_that_becomes_something_else_while_it_is_read(tmp_path: Path, kind: str) -> None:
    if kind == "fifo":
        os.mkfifo(tmp_path / "changed")
    else:
        (tmp_path / "changed").symlink_to("/etc/passwd")
    raised: list[RequestError] = []

    def read() -> None:
        try:
            snapshot.read_entry(tmp_path, "changed")
        except RequestError as error:
            raised.append(error)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(STRETCH * 60)
    assert raised


def test_records_on_another_disk_are_no_part_of_the_source(tmp_path: Path) -> None:
    """`runs` may be a link, and so may a run in it; a linked folder without records is the user's."""
    folder, disk = tmp_path / "project", tmp_path / "disk"
    for path in (folder / "studies", disk / "runs" / "20260301-100000-toy-2p-abcdefgh", disk / "run", disk / "own"):
        path.mkdir(parents=True)
    (folder / "train.py").write_text("pass\n")
    (folder / "runs").symlink_to(disk / "runs")
    (folder / "studies" / "20260301-100000-toy-abcdefgh").symlink_to(disk / "run")
    assert [*selection.select(folder).sizes] == ["train.py"]
    (folder / "runs").unlink()
    (folder / "runs").symlink_to(disk / "own")
    assert [*selection.select(folder).sizes] == ["train.py"]  # empty: the next run will lie there
    (disk / "own" / "mine.txt").write_text("mine\n")
    with pytest.raises(RequestError, match="runs"):
        selection.select(folder)
