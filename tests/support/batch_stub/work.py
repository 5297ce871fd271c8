"""The processes of a stand-in's jobs: a mom in the background for each job, its script, tasks on its other hosts."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import store
from virtual_host import on_host

TICK = 0.05
"""Seconds between two looks at the state."""
KEPT = ("HOME", "PATH", "BATCH_STUB_DIR", "BATCH_STUB_PLAIN", "LANG", "TZ")
"""The mom's own variables."""


def begin_mom(program: Path, number: int, **more: str) -> None:
    """Start `program NUMBER` in the background, as the mom of a job; `more` are variables of it."""
    log = (store.folder("log") / f"{number}.mom").open("wb")
    keep = {key: value for key, value in os.environ.items() if key in KEPT}
    mom = subprocess.Popen(
        [sys.executable, str(program), str(number)],
        stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/",
        env={**keep, "BATCH_STUB_DIR": str(store.ROOT.resolve()), **more},
    )  # fmt: skip
    store.put(store.folder("pid") / f"{number}", str(mom.pid))


def start(number: int, host: str, command: list, **options) -> subprocess.Popen:
    """Start a job's script on a host; `options` are those of Popen."""
    process = subprocess.Popen(on_host(host, command), stdin=subprocess.DEVNULL, start_new_session=True, **options)
    store.put(store.folder("session") / f"{number}", str(process.pid))
    return process


def delete(number: int) -> None:
    """Tell the mom to end its job."""
    (store.folder("delete") / str(number)).touch()


def deleted(number: int) -> bool:
    return (store.folder("delete") / str(number)).exists()


def end_within(number: int, process: subprocess.Popen, which: int, seconds: float) -> None:
    """Send a signal to the whole job and wait some seconds for the end of its script."""
    kill(number, process.pid, which)
    deadline = time.time() + seconds
    while process.poll() is None and time.time() < deadline:
        time.sleep(TICK)


def kill(number: int, leader: int, which: int) -> None:
    """Send a signal to every process of the script's session and of the tasks that were started on hosts."""
    sessions = {leader, *(int(path.suffix[1:]) for path in store.folder("tasks").glob(f"{number}.*"))}
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                session = int((entry / "stat").read_text().rpartition(")")[2].split()[3])
            except (OSError, ValueError, IndexError):
                continue
            if session in sessions:
                found.append(int(entry.name))
    for pid in found:  # all at once: of processes that hear it one after the other, the first may tell it on
        try:
            os.kill(pid, which)
        except OSError:
            continue
    if which == signal.SIGKILL:
        for path in store.folder("tasks").glob(f"{number}.*"):
            path.unlink(missing_ok=True)


def record_environment(number: int, variables: dict) -> None:
    """Keep the job's environment for its tasks."""
    store.put(store.folder("aux") / f"{number}.env", json.dumps(variables))


def run_task(number: int, host: str, command: list, cwd: str) -> int:
    """Run a command on a host of the job with the job's environment; return its exit code.

    The mom ends what is left of a task when the job ends; killing the caller does not end the task.
    """
    environment = json.loads((store.folder("aux") / f"{number}.env").read_text())
    task = subprocess.Popen(
        on_host(host, command), stdin=subprocess.DEVNULL, env=environment, cwd=cwd, start_new_session=True
    )
    record = store.folder("tasks") / f"{number}.{task.pid}"
    record.touch()
    code = task.wait()
    record.unlink(missing_ok=True)
    return code if code >= 0 else 128 - code
