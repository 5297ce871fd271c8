"""The index of runs: what it finds, how it follows changes, and what it leaves alone."""

import contextlib
import dataclasses
import errno
import json
import os
import random
import shutil
import sqlite3
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hackathon.config.event import Event, Member, Team, team_folders
from hackathon.config.load import load_event
from hackathon.index import reader as web_reader
from hackathon.index.cause import RunCause
from hackathon.index.index import Index
from hackathon.index.projects import ProjectFolder, bounds_of, find_projects
from hackathon.index.record import CauseText, RunEntry
from hackathon.runs.directory import RunDirectory
from hackathon.runs.status import status
from hackathon.text.files import write_json
from support.runs import NOBODY, append_line
from support.samples.event import write_event
from support.samples.runs import one_run, tree


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A file for the index in a folder of its own."""
    return tmp_path / "private" / "index.sqlite3"


def only(index: Index) -> RunEntry:
    assert len(index.summaries) == 1
    return index.summaries[0]


def test_an_events_runs_are_found_with_their_teams(tmp_path: Path, store: Path) -> None:
    folder = write_event(tmp_path / "event", teams=3)
    event = load_event(folder)
    projects, problems = find_projects(folder, event, [])
    assert [project.team for project in projects] == ["aurora", "cirrus", "ブリザード"] and not problems
    index = Index(projects, store)
    changed = index.refresh()
    assert len(changed) == len(index.summaries) == 66
    assert index.version == 1 and index.refresh() == [] and index.version == 1
    created = [summary.created or 0.0 for summary in index.summaries]
    assert created == sorted(created, reverse=True)
    best = next(summary for summary in index.summaries if summary.team == "cirrus" and summary.state == "SUCCEEDED")
    assert best.value and best.unit == "samples/s" and best.study and best.gpus and best.check_passed is not None
    assert f"{best.project}//{best.id}" in changed


def test_values_are_those_that_results_shows(tmp_path: Path, store: Path) -> None:
    from hackathon.scaling.collect import run_result

    run = one_run(tmp_path)
    index = Index([ProjectFolder(tmp_path)], store)
    index.refresh()
    found = run_result(run, status="SUCCEEDED")
    assert only(index).value == found.value and found.value
    assert (only(index).processes, only(index).nodes) == (found.processes, found.nodes)


def test_a_line_of_metrics_is_seen_and_is_progress(tmp_path: Path, store: Path) -> None:
    run = one_run(tmp_path, "RUNNING")
    index = Index([ProjectFolder(tmp_path)], store)
    index.refresh()
    before = only(index)
    assert before.state == "RUNNING" and before.value
    for number in range(10):
        line = {"t": time.time() + number, "attempt": 1, "step": 900 + number, "samples_per_s": 4321.0, "loss": 0.25}
        append_line(run / "metrics" / "rank-0.jsonl", line)
    assert index.refresh() == [f"{tmp_path}//{run.name}"]
    after = only(index)
    assert (after.value, after.step, after.loss) == (4321.0, 909, 0.25)
    assert after.interval == pytest.approx(1.0, abs=0.5)
    assert after.progress and abs(after.progress - time.time()) < 600


def test_progress_follows_this_hosts_clock_when_the_file_servers_clock_is_wrong(tmp_path: Path, store: Path) -> None:
    run = one_run(tmp_path, "RUNNING")
    log = run / "logs" / "rank-0.log"
    index = Index([ProjectFolder(tmp_path)], store)
    index.refresh()
    for hours in (-5, 7):  # behind, ahead
        with log.open("a") as stream:
            stream.write("step\n")
        then = time.time() + hours * 3600
        for path in (log, run / "logs" / "job.log", run / "metrics" / "rank-0.jsonl"):
            os.utime(path, (then, then))
        assert index.refresh()
        assert abs((only(index).progress or 0.0) - time.time()) < 600
    fresh = Index([ProjectFolder(tmp_path)], store.with_name("other.sqlite3"))
    fresh.refresh()
    assert (only(fresh).progress or 0.0) <= time.time()  # nobody watched: at least it is not in the future


def test_the_end_of_a_run_and_its_seal_are_seen(tmp_path: Path, store: Path) -> None:
    run = one_run(tmp_path, "RUNNING")
    index = Index([ProjectFolder(tmp_path)], store)
    index.refresh()
    ended = {"t": time.time(), "event": "ended", "attempt": 1, "host": "a017", "exit_code": 1, "signal": None}
    append_line(run / "events" / "job.jsonl", ended)
    assert index.refresh()
    assert only(index).state == "FAILED" and only(index).cause == "exit" and not only(index).sealed
    final = {"state": "OUT_OF_MEMORY", "cause": "memory", "attempt": 1, "t_ended": time.time()}
    write_json(run / "final.json", final)
    assert index.refresh()
    assert only(index).state == "OUT_OF_MEMORY" and only(index).sealed
    write_json(run / "client" / "diagnosis.json", {"en": {}, "ja": {}})
    index.refresh()
    assert only(index).told == {}  # looked at, without a cause


def test_a_late_answer_of_a_scheduler_does_not_undo_what_the_run_says(tmp_path: Path, store: Path) -> None:
    """qstat took a minute: meanwhile the job has ended, and what was asked about is no more."""
    run = one_run(tmp_path, "RUNNING")
    key = f"{tmp_path}//{run.name}"
    index = Index([ProjectFolder(tmp_path)], store)
    index.refresh()
    asked = time.time()
    late = status([RunDirectory(run)], ask=False, write=False)[0]
    ended = {"t": time.time(), "event": "ended", "attempt": 1, "host": "a017", "exit_code": 1, "signal": None}
    append_line(run / "events" / "job.jsonl", ended)
    index.refresh()
    assert only(index).state == "FAILED"
    index.seen[run] = {"t": asked, "state": "RUNNING", "raw": "R", "reason": "", "attempt": 1}
    index.refresh({key: late})
    assert only(index).state == "FAILED"
    index.seen[run] = {"t": time.time() + 1, "state": "TIMEOUT", "raw": "TO", "reason": "", "attempt": 1}
    index.refresh({key: late})
    assert only(index).state == "TIMEOUT"


def test_new_runs_are_not_lost_when_reading_them_failed_once(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index([ProjectFolder(tmp_path)], store)
    assert index.refresh() == []
    first, second = one_run(tmp_path, number=0), one_run(tmp_path, number=1)
    real = web_reader.summarise

    def fail(project: ProjectFolder, run: RunDirectory, state: Any, use: Any) -> RunEntry:
        if run.id == first.name:
            raise ImportError("the program was replaced while it ran")
        return real(project, run, state, use)

    monkeypatch.setattr(web_reader, "summarise", fail)
    for _ in range(2):  # it is told as long as it is so
        with pytest.raises(ImportError):
            index.refresh()
        assert [each.id for each in index.summaries] == [second.name]
    monkeypatch.undo()
    index.refresh()
    assert {each.id for each in index.summaries} == {first.name, second.name}


def test_new_runs_come_and_removed_ones_go(tmp_path: Path, store: Path) -> None:
    first = one_run(tmp_path)
    index = Index([ProjectFolder(tmp_path)], store)
    index.refresh()
    second = one_run(tmp_path, number=3)
    assert index.refresh() == [f"{tmp_path}//{second.name}"]
    assert [summary.id for summary in index.summaries] == [second.name, first.name]
    shutil.rmtree(first)
    assert index.refresh() == [f"{tmp_path}//{first.name}"]
    assert [summary.id for summary in index.summaries] == [second.name]
    shutil.rmtree(tmp_path / "runs")
    index.refresh()
    assert index.summaries == ()


def test_new_runs_are_read_in_portions_the_newest_first(tmp_path: Path, store: Path) -> None:
    runs = [one_run(tmp_path, number=number).name for number in range(5)]
    index = Index([ProjectFolder(tmp_path)], store, most=2)
    index.refresh()
    assert [summary.id for summary in index.summaries] == sorted(runs, reverse=True)[:2] and index.pending == 3
    index.refresh()
    index.refresh()
    assert len(index.summaries) == 5 and index.pending == 0


def test_the_file_spares_reading_at_the_next_start(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = one_run(tmp_path)
    one_run(tmp_path, "RUNNING", 2)
    index = Index([ProjectFolder(tmp_path, "aurora")], store)
    index.refresh()
    cause = RunCause("nccl", "nccl-timeout", 3, "a018", (("en", CauseText("it hangs")), ("ja", CauseText("止まる"))))
    key = f"{tmp_path}//{run.name}"
    assert not index.attach(key, cause, "of another state") and not index.attach("gone//x", cause, "")
    assert index.attach(key, cause, index.about(key)) and index.examined(key)
    index.close()
    assert stat.S_IMODE(store.stat().st_mode) == 0o600 and stat.S_IMODE(store.parent.stat().st_mode) == 0o700

    again = Index([ProjectFolder(tmp_path, "aurora")], store)
    assert again.summaries == index.summaries
    assert again.summaries[-1].part == "nccl" and (again.summaries[-1].told or {})["ja"].message == "止まる"
    monkeypatch.setattr("hackathon.index.reader.summarise", lambda *_: pytest.fail("it had not changed"))
    assert again.refresh() == []


@pytest.mark.parametrize("damage", ["garbage", "truncated", "rows", "a folder", "a pipe", "a link"])
def test_a_damaged_file_is_made_anew_or_left_alone(tmp_path: Path, store: Path, damage: str) -> None:
    one_run(tmp_path)
    good = Index([ProjectFolder(tmp_path)], store)
    good.refresh()
    good.close()
    if damage == "garbage":
        store.write_bytes(b"SQLite format 3\0" + os.urandom(9000))
    elif damage == "truncated":
        store.write_bytes(store.read_bytes()[:5000])
    elif damage == "rows":
        with sqlite3.connect(store) as database:
            database.execute("UPDATE runs SET value = '{\"summary\": [1'")
        database.close()
    else:
        store.unlink()
        if damage == "a folder":
            store.mkdir()
        elif damage == "a pipe":
            os.mkfifo(store)
        else:
            (tmp_path / "elsewhere").write_bytes(b"precious")
            store.symlink_to(tmp_path / "elsewhere")
    index = Index([ProjectFolder(tmp_path)], store)
    index.refresh()
    assert only(index).state == "SUCCEEDED"
    assert index.stored == (damage in ("garbage", "truncated", "rows"))
    index.close()
    if index.stored:
        again = Index([ProjectFolder(tmp_path)], store)
        assert again.summaries == index.summaries
    if damage == "a link":
        assert (tmp_path / "elsewhere").read_bytes() == b"precious"


def test_two_processes_share_the_file(tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hackathon.index.store.PATIENCE", 0.05)
    one_run(tmp_path)
    first, second = Index([ProjectFolder(tmp_path)], store), Index([ProjectFolder(tmp_path)], store)
    first.refresh()
    second.refresh()
    assert first.summaries == second.summaries and first.stored and second.stored
    lock = sqlite3.connect(store)
    lock.execute("BEGIN EXCLUSIVE")
    one_run(tmp_path, number=1)
    first.refresh()
    third = Index([ProjectFolder(tmp_path)], store)
    third.refresh()
    assert len(first.summaries) == len(third.summaries) == 2
    assert first.stored and not third.stored  # it does not take the file away from the others
    lock.rollback()
    lock.close()
    one_run(tmp_path, number=2)
    first.refresh()
    fourth = Index([ProjectFolder(tmp_path)], store)
    assert len(fourth.summaries) == 2 and len(fourth.refresh()) == 1


def test_a_file_that_has_grown_too_large_is_begun_anew(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_run(tmp_path)
    index = Index([ProjectFolder(tmp_path)], store)
    index.refresh()
    index.close()
    monkeypatch.setattr("hackathon.index.store.LARGEST", 1000)
    again = Index([ProjectFolder(tmp_path)], store)
    assert again.summaries == () and again.stored
    assert len(again.refresh()) == 1


def test_the_file_lies_on_the_nodes_own_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hackathon.index.store import default_path

    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert default_path() == tmp_path / "hackathon" / "index.sqlite3"
    one_run(tmp_path)
    index = Index([ProjectFolder(tmp_path)])
    index.refresh()
    index.close()
    assert default_path().exists()
    for value in ("relative", str(tmp_path / "gone"), ""):  # after a login without one, or in a job
        monkeypatch.setenv("XDG_RUNTIME_DIR", value)
        assert default_path() == Path(f"/tmp/hackathon-{os.geteuid()}/index.sqlite3")


def test_a_folder_of_the_index_that_others_can_write_is_not_used(tmp_path: Path, store: Path) -> None:
    store.parent.mkdir(mode=0o777)
    store.parent.chmod(0o777)
    one_run(tmp_path)
    index = Index([ProjectFolder(tmp_path)], store)
    index.refresh()
    assert len(index.summaries) == 1 and not index.stored and not store.exists()


@pytest.mark.slow
def test_nothing_is_written_in_runs_not_even_in_own_ones(tmp_path: Path, store: Path) -> None:
    """`status` would seal this user's own ended run and keep the scheduler's word; the index must not."""
    event = write_event(tmp_path / "event", teams=2)
    project = event / "aurora" / "train"
    ended = one_run(project, "RUNNING", 40)
    done = {"t": time.time(), "event": "ended", "attempt": 1, "host": "a017", "exit_code": 0, "signal": None}
    append_line(ended / "events" / "job.jsonl", done)
    before = tree(event)
    projects, _ = find_projects(event, load_event(event), [])
    index = Index(projects, store)
    index.refresh()
    index.refresh()
    runs = [run for _, run in index.asked_about()]
    assert RunDirectory(ended) in runs
    status(runs, ask=True, write=False, seen=index.seen, load=_NoScheduler)
    assert tree(event) == before
    status([RunDirectory(ended)], ask=False)
    assert tree(event) != before  # the comparison sees what writing does


class _NoScheduler:
    """A scheduler whose commands do not exist."""

    name = "none"

    def __init__(self, _: str) -> None:
        pass

    def is_id(self, text: str) -> bool:
        return True

    def environment(self, inherited: dict[str, str], *, submission: bool) -> dict[str, str]:
        return inherited

    def status_argv(self, ids: list[str]) -> list[list[str]]:
        return [["/nonexistent/qstat", *ids]]


def test_links_out_of_the_event_are_not_followed(tmp_path: Path, store: Path) -> None:
    secret = one_run(tmp_path / "elsewhere" / "train")
    event_folder = tmp_path / "event"
    project = event_folder / "alpha" / "train"
    inside = one_run(project)
    (project / "runs" / "20990101-000000-x-1p-aaaaaaaa").symlink_to(secret)
    (project / "runs" / "20990101-000001-x-1p-aaaaaaab").symlink_to(inside)
    (event_folder / "alpha" / "other").symlink_to(tmp_path / "elsewhere" / "train")
    (event_folder / "alpha" / "third").mkdir()
    (event_folder / "alpha" / "third" / "runs").symlink_to(tmp_path / "elsewhere" / "train" / "runs")
    (event_folder / "beta").symlink_to(tmp_path / "elsewhere")
    event = Event(title="x", teams=[Team("alpha"), Team("beta")])
    projects, problems = find_projects(event_folder, event, [])
    assert [project.path for project in projects] == [event_folder / "alpha" / "train"]
    assert len(problems) == 3 and "third/runs" in "".join(problems) and "beta" in "".join(problems)
    index = Index(projects, store, bounds_of(event_folder, event, []))
    index.refresh()
    assert {summary.id for summary in index.summaries} == {inside.name}  # a link to a run is no other run
    assert len(index.outside) == 2


def test_team_folders_are_filled_in_and_hostile_names_are_not(tmp_path: Path) -> None:
    for user in ("ann", "bob"):
        one_run(tmp_path / "lustre" / "gx01" / user / "deep" / "er")
    one_run(tmp_path / "lustre" / "gx01" / "bob" / "a" / "b" / "c" / "too-deep")
    members = [Member("ann"), Member("bob"), Member("../../etc"), Member("..")]
    event = Event(title="x", teams=[Team("t", "gx01", members, folders=["../lustre/{group}/{user}"])])
    (tmp_path / "event").mkdir()
    projects, problems = find_projects(tmp_path / "event", event, [tmp_path / "lustre" / "gx01" / "ann" / "deep"])
    assert [str(project.path.relative_to(tmp_path)) for project in projects] == [
        "lustre/gx01/ann/deep/er", "lustre/gx01/bob/deep/er",
    ]  # fmt: skip
    assert {project.team for project in projects} == {"t"} and not problems


@pytest.mark.parametrize("name", ["~Nebula~", "~root", "~"])
def test_a_teams_name_is_nobodys_home(name: str, tmp_path: Path) -> None:
    assert team_folders(Team(name), tmp_path) == [tmp_path / name]
    assert team_folders(Team("t", folders=["~nobody-has-this-name/x"]), tmp_path)[0].name == "x"


def test_a_folder_without_an_event_is_taken_as_it_is(tmp_path: Path) -> None:
    one_run(tmp_path / "scratch" / "train")
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "runs").symlink_to(tmp_path / "scratch" / "train" / "runs")
    projects, problems = find_projects(None, None, [tmp_path / "train"])
    assert [project.path for project in projects] == [tmp_path / "train"] and not problems
    assert find_projects(None, None, [tmp_path / "gone"])[1]


def test_strange_files_in_a_run_neither_block_nor_break_the_others(tmp_path: Path, store: Path) -> None:
    good = one_run(tmp_path)
    names = ("request.json", "client", "events/job.jsonl", "metrics/rank-0.jsonl", "logs/rank-0.log", "claim/job_id")
    for number, name in enumerate(names):
        run = one_run(tmp_path, "RUNNING", number + 1)
        path = run / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
        os.mkfifo(path)
    texts = {
        "request.json": b'{"name": "\xff\x00", "note": ' + json.dumps("x" * 1_000_000).encode() + b', "tags": 5}',
        "final.json": b'{"state": ["RUNNING"], "attempt": "7", "t_started": "x", "cause": 5, "first_rank": {}}',
        "metrics/rank-0.jsonl": os.urandom(200_000) + b"\n" + b'{"samples_per_s": ' + b"9" * 5000 + b"}\n",
        "events/job.jsonl": b'{"event": "warned", "text": "' + b"y" * 1_000_000 + b'"}\n[1]\n{"event": {}}\n',
        "client/created.json": b'{"t": 1e400, "user": {"a": 1}}',
    }
    for number, (name, raw) in enumerate(texts.items()):
        run = one_run(tmp_path, "RUNNING", number + 20)
        (run / name).write_bytes(raw)
    nested = one_run(tmp_path, "RUNNING", 40)
    (nested / "request.json").write_bytes(b"[" * 200_000)
    empty = tmp_path / "runs" / "20990101-000000-x-1p-bbbbbbbb"
    empty.mkdir()  # no run: nothing in it
    index = Index([ProjectFolder(tmp_path)], store)
    index.refresh()
    by_id = {summary.id: summary for summary in index.summaries}
    assert len(by_id) == 1 + len(names) + len(texts) + 1 and empty.name not in by_id
    assert by_id[good.name].state == "SUCCEEDED"
    for summary in by_id.values():
        assert len(json.dumps(summary.to_json())) < 40_000
        json.dumps(summary.to_json(), ensure_ascii=False).encode()
        assert RunEntry.from_json(json.loads(json.dumps(summary.to_json()))) == dataclasses.replace(summary, use=None)
        assert isinstance(summary.attempt, int) and isinstance(summary.reason, str)


def test_unreadable_runs_are_counted(store: Path) -> None:
    place = Path(tempfile.mkdtemp())
    try:
        place.chmod(0o755)
        one_run(place)
        closed = one_run(place, number=1)
        closed.chmod(0o700 if os.geteuid() == 0 else 0)
        with as_nobody():
            index = Index([ProjectFolder(place)], store)
            index.refresh()
            assert len(index.summaries) == 1 and index.unreadable == {str(place): 1}
        closed.chmod(0o755)
    finally:
        shutil.rmtree(place)


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """Root, who may read everything, is another user for a while."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_telemetry_of_the_last_minutes_is_told(tmp_path: Path, store: Path) -> None:
    run = one_run(tmp_path, "RUNNING")
    (run / "env").mkdir(exist_ok=True)
    write_json(run / "env" / "n1.json", {"gpus": ["Tesla P100-SXM2-16GB, 440.33, 16000 MiB"] * 2})
    rows = ["t,kind,index,utilisation_percent,memory_mib,power_w"]
    for i in range(61):
        for gpu in (0, 1):
            rows.append(f"{1000 + 10 * i},gpu,{gpu},{0 if i < 30 else 90 + gpu},{4000 * (gpu + 1)},100")
        rows += [f"{1000 + 10 * i},cpu,,25,100,", f"{1000 + 10 * i},gpu,2,[N/A],[N/A],[N/A]"]
    rows.append("torn,gpu")
    (run / "telemetry" / "n1.csv").write_text("\n".join(rows))
    index = Index([ProjectFolder(tmp_path)], store)
    index.refresh()
    found = only(index)
    assert found.gpu_percent == pytest.approx(90.5) and found.memory_percent == pytest.approx(50.0)
    assert found.cpu_percent == pytest.approx(25.0)


def test_a_full_disk_leaves_the_index_in_memory(tmp_path: Path, store: Path) -> None:
    """The pages that the database may have are limited: it then answers as on a full disk."""
    for number in range(12):
        one_run(tmp_path, number=number)
    index = Index([ProjectFolder(tmp_path)], store)
    assert index.stored
    database = index._stored._database
    assert database is not None
    database.execute("PRAGMA max_page_count = 3")
    index.refresh()
    assert len(index.summaries) == 12 and not index.stored
    assert index.refresh() == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with no room, where this user may mount one."""

    if os.geteuid() != 0:
        pytest.skip("a small tmpfs needs root")
    place = tmp_path / "disk"
    place.mkdir(mode=0o700)
    command = ["mount", "-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("a small tmpfs can not be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=False)


@pytest.mark.slow
def test_a_small_disk_that_is_really_full(small_disk: Path, tmp_path: Path) -> None:
    for number in range(80):
        one_run(tmp_path, number=number)
    index = Index([ProjectFolder(tmp_path)], small_disk / "private" / "index.sqlite3")
    index.refresh()
    assert len(index.summaries) == 80 and not index.stored
    again = Index([ProjectFolder(tmp_path)], small_disk / "private" / "index.sqlite3")
    again.refresh()
    assert again.summaries == index.summaries


def test_a_file_that_is_damaged_anywhere_loses_nothing(tmp_path: Path, store: Path) -> None:
    for number in range(3):
        one_run(tmp_path, number=number)
    good = Index([ProjectFolder(tmp_path)], store)
    good.refresh()
    wanted, raw = good.summaries, store.read_bytes()
    good.close()
    chance = random.Random(23)
    for turn in range(30):
        torn = bytearray(raw)
        for _ in range(chance.choice((1, 5, 60))):
            place = chance.randrange(len(torn) if turn % 2 else 400)
            torn[place : place + 9] = chance.randbytes(9)
        store.write_bytes(torn)
        index = Index([ProjectFolder(tmp_path)], store)
        index.refresh()
        assert index.summaries == wanted, turn
        index.close()
    name = raw.index(b"sqlite_autoindex_runs")
    store.write_bytes(raw[: name + 18] + b"\x87" + raw[name + 19 :])  # a name that is no text
    index = Index([ProjectFolder(tmp_path)], store)
    index.refresh()
    assert index.summaries == wanted and index.stored
    index.close()


def test_an_index_on_a_disk_that_is_read_only_is_kept_in_memory(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_run(tmp_path)
    Index([ProjectFolder(tmp_path)], store).close()

    def refused(path: Path, mode: int) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "chmod", refused)
    index = Index([ProjectFolder(tmp_path)], store)
    index.refresh()
    assert only(index).state == "SUCCEEDED" and not index.stored
