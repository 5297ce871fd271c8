"""The program of each rank of a job of `hackathon compress`: trainings of all processes, one after another.

    python hackathon_ranks.py            in a folder with hackathon_speedup.py and its task; standard library

Every rank runs it. A training is a slot, as in `hackathon_speedup.py`. Rank 0 creates its folder with a copy of the
program, and chooses the port at which the ranks meet. Each rank starts its process there and records its end; rank 0
sums the results up. A rank that fails ends the slot for the others, which would wait for it.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

try:
    import hackathon_speedup as driver  # type: ignore[import-not-found]
except ImportError:
    from hackathon.tuning import driver

PROGRAM = "hackathon_ranks.py"
WAIT = 120.0
"""Seconds that a rank waits for a file of another one, which may be on a slow file system."""


def _awaited(path: Path, seconds: float) -> dict[str, Any] | None:
    """Return a file of another rank as soon as it exists; None after so many seconds."""
    end = time.monotonic() + seconds
    while True:
        record: dict[str, Any] | None = driver.read_object(path)
        if record is not None or time.monotonic() > end:
            return record
        time.sleep(driver.POLL)


def _prepared(slot: Path, meeting: Path, task: dict[str, Any], done: list[float]) -> None:
    """Create the folder of a slot and publish the meeting port, or that the walltime is nearly over: rank 0."""
    shutil.rmtree(str(slot), ignore_errors=True)
    for name in ("logs", "metrics", "events", "ranks"):
        (slot / name).mkdir(parents=True)
    try:
        driver.hold_to(task, done)
    except SystemExit:
        driver.write_object(meeting, {"over": True})
        raise
    hidden = shutil.ignore_patterns(driver.PROGRAM, driver.TASK, *driver.OTHERS, "__pycache__")
    shutil.copytree(str(Path.cwd()), str(slot / "source"), symlinks=True, ignore=hidden)
    driver.write_object(meeting, {"port": driver.free_port()})


def _environment(slot: Path, port: int, variables: dict[str, str]) -> dict[str, str]:
    """Return the environment of this rank's process: its launcher's, with another meeting point."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("TORCHELASTIC_")}
    env.update(HK_RUN=str(slot), HK_SOURCE=str(slot / "source"), HK_STOP=str(slot / "stop"), MASTER_PORT=str(port))
    env.update(variables)
    return env


def _broken(slot: Path, processes: int) -> bool:
    """Return whether a rank has failed."""
    records = (driver.read_object(slot / "ranks" / f"{rank}.json") for rank in range(processes))
    return any(record is not None and record["failed"] for record in records)


def run_rank(
    slot: Path, task: dict[str, Any], command: list[str], more: dict[str, Any], port: int, rank: int, processes: int
) -> None:
    """Run this rank's process of a slot to its end, and record the end.

    It is stopped after `seconds`, and when another rank has failed.
    """
    env = _environment(slot, port, more.get("variables") or {})
    begin, looked = time.monotonic(), 0.0
    child = driver.start_program(slot, command, env, None, rank=rank)
    driver.children[:] = [child]
    memory: int | None = None
    ended = "itself"
    while child.poll() is None:
        now = time.monotonic()
        memory = max(memory or 0, driver.memory_of(child.pid, False) or 0) or None
        if now - begin > task["seconds"]:
            ended = "late"
        elif now - looked > 1:
            looked = now
            if _broken(slot, processes):
                time.sleep(driver.GRACE)  # most then fail by themselves, and their logs show why
                ended = "itself" if child.poll() is not None else "left"
                break
        if ended != "itself":
            break
        time.sleep(driver.POLL)
    driver.end_start(child)
    driver.children[:] = []
    failed = ended != "itself" or child.returncode != 0
    outcome = {"failed": failed, "ended": ended, "exit_code": child.returncode, "memory": memory}
    driver.write_object(slot / "ranks" / f"{rank}.json", outcome)


def _summed_up(slot: Path, more: dict[str, Any], begin: float, processes: int) -> dict[str, Any]:
    """Record the end of a slot, when all ranks have recorded theirs: rank 0."""
    outcomes = [_awaited(slot / "ranks" / f"{rank}.json", WAIT) for rank in range(processes)]
    first = outcomes[0] or {}
    result = dict(
        more, ended=first.get("ended"), exit_code=first.get("exit_code"), memory=first.get("memory"),
        seconds=round(time.monotonic() - begin, 3),
        failed=any(outcome is None or outcome["failed"] for outcome in outcomes),
    )  # fmt: skip
    shutil.rmtree(str(slot / "source"), ignore_errors=True)
    shutil.rmtree(str(slot / "checkpoints"), ignore_errors=True)
    driver.write_object(slot / "slot.json", result)
    return result


def run_ranks(run: Path, task: dict[str, Any]) -> None:
    """Run all slots of a task in order, as one of the ranks."""
    rank, processes = int(os.environ["HK_RANK"]), int(os.environ["HK_PROCESSES"])
    attempt = os.environ.get("HK_ATTEMPT", "1")
    done: list[float] = []
    for number, more in enumerate(task["slots"]):
        slot = run / "slots" / f"{number:04d}"
        if driver.read_object(slot / "slot.json") is not None:  # from an earlier attempt of the job
            continue
        meeting = run / "slots" / f"meet-{attempt}-{number:04d}.json"
        begin = time.monotonic()
        if rank == 0:
            _prepared(slot, meeting, task, done)
        signal = _awaited(meeting, WAIT + task["seconds"])
        if signal is None:
            raise SystemExit(f"rank {rank}: rank 0 never began slot {number}")
        if signal.get("over"):
            raise SystemExit(0)
        run_rank(slot, task, task["arms"][more["arm"]][more["round"]], more, signal["port"], rank, processes)
        if rank == 0:
            outcome = _summed_up(slot, more, begin, processes)
            done.append(outcome["seconds"])
            print(f"training {number + 1} of {len(task['slots'])}: {json.dumps(outcome)}", flush=True)


if __name__ == "__main__":
    driver.main({"ranks": run_ranks})
