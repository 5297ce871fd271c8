"""The slots of a machine belong to all its users: no lock that another account holds stops a job."""

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hackathon.schedulers.local import slots
from support.accounts import public_folder
from support.local_machine import Machine
from support.patience import PATIENCE, STRETCH

__all__ = ["public_folder"]
EVE = 64002


@pytest.fixture
def place(public_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = public_folder / "slots"
    monkeypatch.setenv("HACKATHON_LOCAL_SLOTS_DIR", str(found))
    slots.prepare(found)
    return found


@pytest.fixture
def machine(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    monkeypatch.setenv("HACKATHON_LOCAL_DIR", str(tmp_path / "local"))
    monkeypatch.setenv("HACKATHON_LOCAL_SLOTS", "1")
    monkeypatch.setenv("HACKATHON_LANG", "en")
    made = Machine(tmp_path)
    yield made
    made.close()


@pytest.fixture
def locks(place: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    if os.geteuid() != 0 or shutil.which("flock") is None:
        pytest.skip("needs root, to be another account, and flock")
    holders: list[subprocess.Popen[bytes]] = []
    yield holders
    for each in holders:
        each.kill()
        each.wait()


def lock(path: Path) -> subprocess.Popen[bytes]:
    """Return a process of eve that holds a lock on a path."""
    words = ["flock", "--exclusive", "--no-fork", str(path), "sh", "-c", "echo; exec sleep 1000"]
    holder = subprocess.Popen(words, user=EVE, group=EVE, extra_groups=[], stdout=subprocess.PIPE)
    assert holder.stdout is not None and holder.stdout.readline() == b"\n"
    return holder


def test_a_lock_on_the_folder_stops_no_job(machine: Machine, place: Path, locks: list[subprocess.Popen[bytes]]) -> None:
    locks.append(lock(place))
    machine.reach(machine.submit("true"), "SUCCEEDED")


@pytest.mark.slow
def test_a_lock_on_a_dead_jobs_place_is_not_believed_for_ever(
    machine: Machine, place: Path, locks: list[subprocess.Popen[bytes]]
) -> None:
    dead = place / f"000000000001.{os.getuid()}"
    dead.write_text("00000001 runs  \n")
    dead.chmod(0o644)
    locks.append(lock(dead))
    assert slots.counts(place) == (1, 0)
    long_ago = time.time() - slots.STALE - 60
    os.utime(dead, (long_ago, long_ago))
    machine.reach(machine.submit("true"), "SUCCEEDED")


def test_jobs_that_ask_at_the_same_moment_never_take_more_than_there_is(place: Path) -> None:
    now, most, done = [0], [0], []
    counted, full = threading.Lock(), threading.Event()

    def job() -> None:
        ticket = slots.Ticket(place, 1)
        while not ticket.join():
            time.sleep(0.001)
        while not ticket.start(2):
            time.sleep(0.001)
        with counted:
            now[0] += 1
            most[0] = max(most[0], now[0])
            if now[0] == 2:
                full.set()
        full.wait(PATIENCE)  # the first one stays until another has come, however slowly that looks for its slot
        time.sleep(0.005)
        with counted:
            now[0] -= 1
            done.append(1)
        ticket.leave()

    jobs = [threading.Thread(target=job) for _ in range(24)]
    for each in jobs:
        each.start()
    for each in jobs:
        each.join(timeout=60 * STRETCH)
    assert (len(done), most[0]) == (24, 2)
    assert list(place.iterdir()) == []
