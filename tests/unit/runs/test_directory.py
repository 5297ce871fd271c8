"""Runs are named safely, made whole or not at all, and found by any unique part of their id."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hackathon.jobs.request import Request
from hackathon.runs import create as create_module
from hackathon.runs.create import create
from hackathon.runs.directory import RunDirectory, find_run, find_runs, new_run_id, safe_name
from hackathon.runs.record import StudyPoint
from hackathon.runs.source import snapshot
from hackathon.text.errors import HackathonError, RequestError, UnavailableError
from hackathon.text.files import read_json, write_whole
from support.runs import SCRIPT, new_run, project, request, without_rights

RUN_ID = re.compile(r"\d{8}-\d{6}-[A-Za-z0-9][A-Za-z0-9._-]*-\d+p-[a-z2-7]{8}\Z")


@given(st.text(max_size=80), st.integers(1, 10**6))
def test_every_name_gives_a_safe_id(name: str, processes: int) -> None:
    assert RUN_ID.match(new_run_id(name, processes))


@pytest.mark.parametrize(
    ("name", "safe"),
    [("torch-ddp", "torch-ddp"), ("手書き数字", "run"), ("../../etc", "etc"), ("-rf /", "rf"), ("$(reboot)", "reboot")],
)
def test_names_for_files(name: str, safe: str) -> None:
    assert safe_name(name) == safe


def test_ids_sort_by_time_and_differ() -> None:
    assert new_run_id("x", 2, 1_700_000_000.0) < new_run_id("x", 2, 1_700_000_001.0)
    assert len({new_run_id("x", 2, 1.0) for _ in range(200)}) == 200


def test_job_name_suits_older_pbs(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    assert re.fullmatch(r"hk-[a-z2-7]{8}", run.job_name) and len(run.job_name) <= 15
    assert run.id.endswith(run.job_name[3:])


def test_a_run_is_complete(tmp_path: Path) -> None:
    made = request(project(tmp_path), processes=4, parameters={"note": "quote ' and 日本語"})
    study = {"id": "s", "processes": 4, "repeat": 2}
    run = create(made, SCRIPT, runs_folder=tmp_path / "runs", note="メモ", tags=["a"], parent="p", study=study)
    assert run.request() == made
    assert (run.note, run.tags, run.parent, run.study) == ("メモ", ("a",), "p", StudyPoint("s", 4, 2))
    assert (run.path / "job.sh").read_text() == SCRIPT.job and (run.path / "rank.sh").read_text() == SCRIPT.rank
    for name in ("job.sh", "rank.sh"):
        assert os.access(run.path / name, os.X_OK)
    assert not list((run.path / "logs").iterdir())  # the scheduler writes there before the job makes its own folders
    assert (run.path / "source" / "train.py").read_text() == "print('training')\n"
    assert set(run.client("created")) >= {"t", "user", "host", "toolkit_version"}
    assert [path.name for path in run.path.parent.iterdir()] == [run.id]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])  # under 177 only root can use a folder that it makes
@pytest.mark.parametrize(("parent", "folder", "file", "script"), [
    (0o755, 0o755, 0o644, 0o755), (0o750, 0o750, 0o640, 0o750), (0o700, 0o700, 0o600, 0o700),
    (0o2775, 0o2755, 0o644, 0o755), (0o777, 0o755, 0o644, 0o755),
])  # fmt: skip
def test_modes_follow_the_folder(tmp_path: Path, umask: int, parent: int, folder: int, file: int, script: int) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs").chmod(parent)
    source = project(tmp_path)
    (source / "tool.sh").write_text("#!/bin/sh\n")
    (source / "tool.sh").chmod(0o755)
    (source / "deep").mkdir()
    (source / "deep" / "data").write_text("1")
    before = os.umask(umask)
    try:
        run = create(request(source), SCRIPT, runs_folder=tmp_path / "runs")
    finally:
        os.umask(before)
    modes = {str(path.relative_to(run.path)): stat.S_IMODE(path.lstat().st_mode) for path in run.path.rglob("*")}
    for name in ("source", "source/deep", "client", "logs"):
        assert modes[name] == folder, name
    for name in ("request.json", "client/created.json", "source.json", "source/train.py", "source/deep/data"):
        assert modes[name] == file, name
    for name in ("job.sh", "rank.sh", "source/tool.sh"):
        assert modes[name] == script, name
    assert stat.S_IMODE(run.path.stat().st_mode) == folder


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
def test_a_value_that_json_has_not_is_refused(tmp_path: Path, value: object) -> None:
    made = request(project(tmp_path), parameters={"x": value})
    with pytest.raises(RequestError):
        create(made, SCRIPT, runs_folder=tmp_path / "runs")
    assert not list((tmp_path / "runs").iterdir())


def test_bytes_that_are_no_text_survive(tmp_path: Path) -> None:
    note = b"caf\xe9".decode("utf-8", "surrogateescape")
    run = create(request(project(tmp_path)), SCRIPT, runs_folder=tmp_path / "runs", note=note)
    assert RunDirectory(run.path).note == note


def test_nothing_is_left_after_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*words: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(create_module, "_write_rest", broken)
    with pytest.raises(UnavailableError) as caught:
        new_run(tmp_path)
    assert "No space left" in str(caught.value) and caught.value.hint
    assert not list((tmp_path / "runs").iterdir())


def test_interrupted_by_the_user_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*words: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(create_module, "_write_rest", interrupted)
    with pytest.raises(KeyboardInterrupt):
        new_run(tmp_path)
    assert not list((tmp_path / "runs").iterdir())


def _mount(folder: Path, size: str) -> None:
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("a small tmpfs needs root")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True)
    if done.returncode:
        pytest.skip("a small tmpfs can not be mounted here")


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    source = project(tmp_path / "project")
    (source / "data.bin").write_bytes(b"x" * 60_000)
    _mount(tmp_path / "small", "256k")
    try:
        made = []
        with pytest.raises(UnavailableError) as caught:
            for _ in range(10):
                made.append(create(request(source), SCRIPT, runs_folder=tmp_path / "small" / "runs"))
        assert caught.value.id == "runs.disk_full" and caught.value.exit_code == 3
        assert made, "the disk was too small for one run: the test proves nothing"
        left = list((tmp_path / "small" / "runs").iterdir())
        assert sorted(left) == sorted(run.path for run in made)
        assert all((run.path / "source" / "data.bin").stat().st_size == 60_000 for run in made)
    finally:
        subprocess.run(["umount", str(tmp_path / "small")], check=True)


def test_a_folder_of_somebody_else_is_refused() -> None:
    with without_rights() as folder:
        project(folder / "mine")
        (folder / "foreign").mkdir()
        (folder / "foreign").chmod(0o555)
        with pytest.raises(RequestError) as caught:
            create(request(folder / "mine"), SCRIPT, runs_folder=folder / "foreign" / "runs")
        assert caught.value.id == "runs.no_permission" and caught.value.hint


def test_a_folder_in_the_way_is_an_error_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(HackathonError) as caught:
        new_run(tmp_path)
    assert str(tmp_path / "runs") in str(caught.value)


def test_ten_files_a_run_are_cheap(tmp_path: Path) -> None:
    source = project(tmp_path)
    for number in range(9):
        (source / f"part{number}.py").write_text("x = 1\n" * 100)
    taken = snapshot.take(source, runs_folder=tmp_path / "runs")
    runs = [create(request(source), SCRIPT, runs_folder=tmp_path / "runs", source=taken) for _ in range(20)]
    inodes = {(run.path / "source" / "part1.py").stat().st_ino for run in runs}
    assert len(inodes) == 20  # a job that edits its file changes no other run
    assert len({read_json(run.path / "source.json")["digest"] for run in runs}) == 1  # type: ignore[index]


# ---- finding ----
@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    for name in (
        "20260301-100000-digits-2p-aaaabbbb",
        "20260301-110000-digits-4p-ccccdddd",
        "20260302-100000-net-2p-eeeeffff",
    ):
        (folder / name).mkdir(parents=True)
    (folder / ".partial-20260302-100000-net-2p-zzzzzzzz").mkdir()
    (folder / "notes.txt").write_text("no run")
    (folder / "Nov28_10-00-00_host").mkdir()  # TensorBoard writes into `runs`, too
    return folder


def test_newest_first_without_what_is_no_run(runs: Path) -> None:
    assert [run.id[-8:] for run in find_runs(runs)] == ["eeeeffff", "ccccdddd", "aaaabbbb"]
    assert find_runs(runs / "nowhere") == []


@pytest.mark.parametrize(
    "text", ["ccccdddd", "digits-4p", "110000", "20260301-110000-digits-4p-ccccdddd", "dddd/", "0-digits-4"]
)
def test_any_unique_part_names_a_run(runs: Path, text: str) -> None:
    assert find_run(text, runs).id == "20260301-110000-digits-4p-ccccdddd"


def test_short_text_is_a_whole_part_and_no_accident_of_random_letters(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    names = ["20260301-100000-digits-2p-h24ponmd", "20260301-110000-digits-8p-aaaabbbb"]
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "request.json").write_text("{}")
    with pytest.raises(RequestError) as caught:
        find_run("4p", folder)
    assert "h24ponmd" in str(caught.value)  # offered, and nothing is done to it
    assert [find_run(text, folder).id for text in ("2p", "4pon", "8p")] == [names[0], names[0], names[1]]
    made = folder / "20260301-120000-digits-4p-ccccdddd"
    made.mkdir()
    (made / "request.json").write_text("{}")
    assert find_run("4p", folder).id == made.name


def test_several_are_listed(runs: Path) -> None:
    with pytest.raises(RequestError) as caught:
        find_run("digits", runs)
    assert "aaaabbbb" in str(caught.value) and "ccccdddd" in str(caught.value) and caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "near"), [("ccccdddb", "ccccdddd"), ("digit-4p", "ccccdddd"), ("eeeefffe", "eeeeffff")]
)
def test_near_names_are_offered(runs: Path, text: str, near: str) -> None:
    with pytest.raises(RequestError) as caught:
        find_run(text, runs)
    assert near in str(caught.value)


@pytest.mark.parametrize("text", ["", " ", "zzzz9999", "..", "/", "\n", "*"])
def test_nothing_matches_nonsense(runs: Path, text: str) -> None:
    with pytest.raises(RequestError):
        find_run(text, runs)


def test_a_path_names_a_run(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    assert find_run(f"{run.path}", tmp_path / "elsewhere").path == run.path


@given(st.text(max_size=30))
@example("/\0")
def test_finding_never_crashes(text: str) -> None:
    try:
        find_run(text, Path("/nonexistent-folder-of-runs"))
    except RequestError as error:
        assert error.message


def test_a_broken_record_is_an_error(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    for content in ("", "[]", "{"):
        (run.path / "request.json").write_text(content)
        with pytest.raises(RequestError):
            RunDirectory(run.path).record()
    (run.path / "request.json").write_text('{"name": "x"}')
    with pytest.raises(RequestError):
        RunDirectory(run.path).request()


def test_a_newer_record_is_read(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    record = (run.path / "request.json").read_text()
    (run.path / "request.json").write_text(record.replace("{", '{"field_of_tomorrow": [1],', 1))
    assert isinstance(RunDirectory(run.path).request(), Request)


def test_a_whole_id_names_its_run_also_when_another_contains_it(runs: Path) -> None:
    (runs / "20260302-100000-net-2p-eeeeffff-copy").mkdir()
    assert find_run("20260302-100000-net-2p-eeeeffff", runs).id == "20260302-100000-net-2p-eeeeffff"


def test_no_device_or_pipe_is_replaced_by_a_file(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)  # /dev/stdout is a link, too
    for path in (pipe, link):
        with pytest.raises(OSError, match="no regular file"):
            write_whole(path, "x")
    assert stat.S_ISFIFO(pipe.lstat().st_mode) and link.is_symlink() and len(list(tmp_path.iterdir())) == 2


def test_events_of_any_length_take_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "job.jsonl"
    path.write_text('{"event": "started"}\n{"torn')
    os.truncate(path, 3 << 30)  # one line without an end, on a disk that has no room for it
    script = (
        "import resource, sys; from pathlib import Path; from hackathon.text.files import read_lines;"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)); print(list(read_lines(Path(sys.argv[1]))))"
    )
    answer = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False)
    assert answer.stdout == "[{'event': 'started'}]\n", answer.stderr[-300:]
