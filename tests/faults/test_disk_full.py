"""The disk is full: while a run is made, while it is submitted, while its job runs. A small tmpfs; needs root.

Through the command line, over the local back-end, with the project's runs on the small disk.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.backends import LocalBackend, Site, until
from support.injected import injected
from support.trouble import ask, hidden_in, in_both_languages, later, runs_in, write_project

SIZE = 600 * 1024
"""Bytes of the disk: a run with the 60 kB of source below fits, ten do not."""
WAITS = """
import os, time
from pathlib import Path
go = os.environ["HK_GO"]
Path(f"{go}-{os.environ['RANK']}").touch()
while not Path(go).exists():
    time.sleep(0.05)
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system."""
    if os.geteuid() != 0:
        pytest.skip("a small tmpfs needs root")
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder], capture_output=True)
    if done.returncode:
        pytest.skip("a small tmpfs can not be mounted here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.fixture
def site(disk: Path, tmp_path: Path) -> Iterator[Site]:
    """A project whose `runs` and `studies` lie on the small disk."""
    made = Site(LocalBackend(tmp_path), tmp_path / "project")
    write_project(made.folder, "python waits.py", {"scheduler": "local", "starter": "local", "telemetry_seconds": 1})
    for name in ("runs", "studies"):
        (disk / name).mkdir()
        (made.folder / name).symlink_to(disk / name)
    (made.folder / "data.bin").write_bytes(os.urandom(60_000))
    (made.folder / "waits.py").write_text(WAITS)
    made.more["HK_GO"] = str(tmp_path / "go")
    yield made
    (tmp_path / "go").touch()
    made.backend.stop()


def fill(disk: Path) -> Path:
    """Fill the disk to the last byte and return the file that does."""
    injected()
    path = disk / "full"
    with path.open("ab", buffering=0) as stream:
        for size in (65536, 512, 1):
            try:
                while True:
                    stream.write(b"x" * size)
            except OSError:
                continue
    return path


@pytest.mark.slow
def test_while_runs_are_made(site: Site, disk: Path) -> None:
    (Path(site.more["HK_GO"])).touch()
    injected()
    said = ask(site, "submit", "--repeat", "10")
    # which of the writes finds no room differs; each error says what to do
    assert said.code == 3 and "No space left on device" in said.err and "hint: free some space" in said.err
    # whatever was made is whole, and known; nothing half-done is left
    assert hidden_in(site.folder) == []
    for run in runs_in(site.folder):
        assert (run / "source" / "data.bin").stat().st_size == 60_000
        assert {"job.sh", "rank.sh", "request.json"} <= {path.name for path in run.iterdir()}
    states = ask(site, "status", "--all", "--json").json()["runs"]
    assert len(states) == len(runs_in(site.folder))
    submitted = [state for state in states if state["job_id"]]
    assert submitted, "the disk was too small for one run: the test proves nothing"
    # what did get into the queue is named, and not denied
    assert all(state["run_id"] in said.all for state in submitted), said
    assert "nothing was submitted" not in said.err


def test_when_there_is_no_room_at_all(site: Site, disk: Path) -> None:
    full = fill(disk)
    english, japanese = in_both_languages(site, "submit", code=3)
    assert "No space left on device" in english.err and "hackathon clean" in japanese.err
    scale, _ = in_both_languages(site, "scale", "--processes", "1,2", code=3)
    assert "No space left on device" in scale.err
    assert runs_in(site.folder) == [] and hidden_in(site.folder) == []
    assert list((disk / "studies").iterdir()) == []
    assert not list(site.backend.state.glob("*/jobs/*"))  # type: ignore[attr-defined]
    # and with room it goes on as if nothing had been
    full.unlink()
    (Path(site.more["HK_GO"])).touch()
    assert ask(site, "submit", "--wait").code == 0


@pytest.mark.slow
def test_while_the_job_runs(site: Site, disk: Path) -> None:
    """Markers, telemetry and logs that can not be written never end the job: the scheduler says how it ended."""
    assert ask(site, "submit").code == 0
    (run,) = runs_in(site.folder)
    _begun(site)
    # the last line before the end: room for another one must not be made after the disk is full
    until(lambda: '"ranks_started"' in _text(run / "events" / "job.jsonl"), "the job's own look at its ranks")
    for path in (run / "events").iterdir():  # a page of memory is a block of this disk: no room in the last one either
        with path.open("a") as stream:
            stream.write("\n" * (4096 - path.stat().st_size % 4096))
    full = fill(disk)
    assert ask(site, "status").code == 0
    (Path(site.more["HK_GO"])).touch()
    # the job's own last line had no room, so the answer is the scheduler's: it ran, and ended with 0
    until(lambda: _ended(site), "the job's end as the scheduler has it")
    assert '"ended"' not in _text(run / "events" / "job.jsonl")
    (state,) = ask(site, "status", "--json").json()["runs"]
    assert state["state"] == "SUCCEEDED"
    full.unlink()
    # what was half-written harms nobody
    assert ask(site, "status").code == 0
    assert ask(site, "logs", run.name).code == 0


@pytest.mark.slow
def test_when_the_job_begins(site: Site, disk: Path) -> None:
    """A job that can not even claim its run ends with an error of its own; the run is not lost, nor run twice."""
    site.more["HACKATHON_LOCAL_SLOTS"] = "2"
    assert ask(site, "submit").code == 0
    (first,) = runs_in(site.folder)
    _begun(site)
    assert ask(site, "submit").code == 0
    fill(disk)
    (Path(site.more["HK_GO"])).touch()
    until(lambda: _ended(site, 2), "the end of both jobs")
    states = {state["run_id"]: state for state in ask(site, "status", "--json").json()["runs"]}
    assert states[first.name]["state"] == "SUCCEEDED"
    (second,) = (state for name, state in states.items() if name != first.name)
    # the environment of its ranks could not be written down, so they could not begin: it says so by its exit code
    assert (second["state"], second["exit_code"]) == ("FAILED", 78)


def _begun(site: Site) -> None:
    """Wait until both ranks are in their program, which says so on another disk: none needs room to begin any more."""
    until(lambda: all(Path(f"{site.more['HK_GO']}-{rank}").exists() for rank in (0, 1)), "both ranks")


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _ended(site: Site, count: int = 1) -> bool:
    later()
    states = ask(site, "status", "--json").json()["runs"]
    return len([state for state in states if state["state"] in ("SUCCEEDED", "FAILED")]) == count


@pytest.mark.slow
def test_values_of_a_full_disk_are_whole(site: Site, disk: Path) -> None:
    """Facts that the command line writes are there whole or not at all."""
    assert ask(site, "submit").code == 0
    _begun(site)
    fill(disk)
    said = ask(site, "cancel", runs_in(site.folder)[0].name)
    assert said.code in (0, 3)
    if said.code == 3:
        assert "No space left on device" in said.err
    for path in (disk / "runs").rglob("client/*.json"):
        json.loads(path.read_text())
    assert not list((disk / "runs").rglob("client/.*"))
