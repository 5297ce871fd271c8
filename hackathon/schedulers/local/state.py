"""Records of this user's jobs on this machine, on node-local disk: one directory per job.

`job.json` (the submission), `state.json` (the state, replaced by rename), `script`, `lock` (held by the supervisor
while it lives), `cancel` (a cancellation was requested). One rename creates a job, complete and with its lock held.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hackathon.access.private import TEMPORARY, NotPrivateError, private_folder
from hackathon.schedulers.local import processes
from hackathon.schedulers.local.directives import Directives
from hackathon.text.errors import RequestError, UnavailableError
from hackathon.text.files import read_json, write_json, write_whole
from hackathon.text.paths import user_config
from hackathon.text.uptime import boot

QUEUED, RUNNING, ENDING = "QUEUED", "RUNNING", "ENDING"
OPEN = (QUEUED, RUNNING, ENDING)
KEPT = 30 * 86400.0
"""Seconds for which an ended job is stored."""


def host() -> str:
    """Return this machine's name as in job ids."""
    return os.uname().nodename or "localhost"


def job_id(number: int) -> str:
    """Return `<number>.<host>.local`."""
    return f"{number}.{host()}.local"


def split_id(text: str) -> tuple[int, str] | None:
    """Return (number, host) of a job id, None when it is not one."""
    number, _, origin = text.partition(".")
    name, _, kind = origin.rpartition(".")
    good = number.isascii() and number.isdigit() and len(number) < 16 and name and kind == "local"
    return (int(number), name) if good else None


def root() -> Path:
    """Return this user's directory on node-local disk, created if needed: HACKATHON_LOCAL_DIR, else one in /tmp.

    Raises UnavailableError when it cannot be created, is a link, belongs to another user or is open to others: in /tmp
    anybody could have created it.
    """
    named = os.environ.get("HACKATHON_LOCAL_DIR")
    top = Path(named or TEMPORARY / f"hackathon-local-{os.getuid()}")
    try:
        top = private_folder(top) if named else _own_folder(top)
    except NotPrivateError as error:
        raise UnavailableError(
            "local.not_private",
            "{path} is not private to you, so no job is started from it.",
            hint="It must be your own directory with mode 0700. Choose another one with HACKATHON_LOCAL_DIR.",
            path=top,
        ) from error
    except OSError as error:
        raise UnavailableError(
            "local.unusable", "Cannot use {path}: {reason}", path=top, reason=error.strerror
        ) from error
    own = top / host()
    for part in (own, own / "jobs", own / "supervisors"):
        part.mkdir(mode=0o700, exist_ok=True)
    return own


def _own_folder(usual: Path) -> Path:
    """Return the user's folder on this machine; one with a random name if another user took the usual name.

    The random name is stored in the user's settings, so that later commands find the same jobs. Raises OSError.
    """
    try:
        record = user_config() / "local-jobs" / host()
    except RuntimeError:  # the account has no home
        return private_folder(usual)
    name = ""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        name = record.read_text("ascii").strip()
    if name.startswith(f"{usual.name}-") and "/" not in name:
        return private_folder(usual.with_name(name))
    try:
        return private_folder(usual)
    except NotPrivateError as error:
        if not error.foreign:
            raise
    folder = private_folder(usual.with_name(f"{usual.name}-{os.urandom(8).hex()}"))
    record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(record, f"{folder.name}\n", 0o600)
    return folder


class Job(NamedTuple):
    """A job of this user on this machine."""

    path: Path
    facts: dict[str, Any]
    """job.json: number, name, script, directory, output, after, walltime, slots, boot, token, submitted."""

    @property
    def id(self) -> str:
        """The job's id."""
        return job_id(self.facts["number"])

    def read(self) -> dict[str, Any]:
        """Return the last recorded state; {} when it is unreadable."""
        value = read_json(self.path / "state.json")
        return value if isinstance(value, dict) else {}

    def write(self, value: dict[str, Any]) -> None:
        """Record the state. Raises OSError."""
        write_json(self.path / "state.json", value)

    def told_to_end(self) -> bool:
        """Return True when somebody cancelled it."""
        return (self.path / "cancel").exists()


def create(facts: dict[str, Any], script: bytes, directives: Directives) -> tuple[Job, int]:
    """Create a job; return it with the descriptor of its held lock. Before the last step no job exists.

    Raises UnavailableError (disk full, no permission) and then leaves nothing.
    """
    top = root()
    new = top / f".new-{os.getpid()}-{os.urandom(4).hex()}"
    lock = -1
    try:
        new.mkdir(mode=0o700)
        lock = os.open(new / "lock", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        write_whole(new / "script", script)
        number = _next_number(top)
        token = os.urandom(8).hex()
        own = {"number": number, "boot": boot(), "token": token, "submitted": time.time()}
        own |= {"walltime": directives.walltime, "slots": directives.slots}
        write_json(new / "job.json", {**facts, **own})
        write_json(new / "state.json", {"state": QUEUED})
        path = top / "jobs" / str(number)
        new.rename(path)
    except BaseException as error:
        shutil.rmtree(new, ignore_errors=True)
        if lock >= 0:
            os.close(lock)
        if isinstance(error, OSError):
            raise UnavailableError(
                "local.unusable", "Cannot use {path}: {reason}", path=top, reason=error.strerror
            ) from error
        raise
    return Job(path, {**facts, **own}), lock


def _next_number(top: Path) -> int:
    """Return an unused number for a job of this user on this machine.

    The first number is random: training programs derive their port from it, and users of one machine should differ.
    """
    file = os.open(top / "counter", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        text = os.read(file, 32).strip()
        last = int(text) if text.isdigit() else 0
        numbers = [int(path.name) for path in (top / "jobs").iterdir() if path.name.isdigit()]
        number = max([last, *numbers]) or 1000 + int.from_bytes(os.urandom(2), "big") % 8000
        os.pwrite(file, f"{number + 1:020d}\n".encode(), 0)
        return number + 1
    finally:
        os.close(file)


def load(number: int) -> Job | None:
    """Return a job by its number, None without one."""
    path = root() / "jobs" / str(number)
    facts = read_json(path / "job.json")
    return Job(path, facts) if isinstance(facts, dict) else None


def jobs() -> Iterator[Job]:
    """Yield all jobs, oldest first."""
    numbers = sorted(int(path.name) for path in (root() / "jobs").iterdir() if path.name.isdigit())
    for number in numbers:
        job = load(number)
        if job is not None:
            yield job


def settle(job: Job) -> dict[str, Any]:
    """Return a job's state; end a job whose supervisor is gone, so that nothing runs forever."""
    now = job.read()
    if now and now.get("state") not in OPEN:
        return now
    lock = _take(job)
    if lock < 0:
        return now or {"state": QUEUED}
    try:
        now = job.read()  # it may have ended since
        if now and now.get("state") not in OPEN:
            return now
        restarted = job.facts.get("boot") != boot()
        if not restarted:
            _end_leftovers(job)
        ran = now.get("state") in (RUNNING, ENDING)
        cause = "restarted" if restarted else "supervisor_died"
        ended = {**now, "state": "NODE_FAILED" if ran else "FAILED", "reason": cause, "started": ran}
        ended["end"] = time.time()
        try:
            job.write(ended)
        except OSError:
            pass  # disk full: the next query comes to the same result
        return ended
    finally:
        os.close(lock)


def _take(job: Job) -> int:
    """Return the job's lock, -1 while its supervisor lives."""
    try:
        lock = os.open(job.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return -1
    except OSError as error:
        raise UnavailableError(
            "local.unusable", "Cannot use {path}: {reason}", path=job.path, reason=error.strerror
        ) from error
    return lock


def _end_leftovers(job: Job) -> None:
    """Kill the processes that a dead supervisor left: those with the job's token in their environment."""
    for _ in range(20):
        left = processes.with_variable(f"HACKATHON_JOB_TOKEN={job.facts['token']}", is_supervisor)
        if not left:
            return
        processes.send(left, signal.SIGKILL)
        time.sleep(0.02)


def register() -> Path:
    """Record that this process is a supervisor, and return the file."""
    path = root() / "supervisors" / str(processes.identity(os.getpid()))
    path.touch()
    return path


def is_supervisor(pid: int) -> bool:
    """Return True for the supervisor of a job of this user: a job may submit another one, which outlives it."""
    name = processes.identity(pid)
    return name is not None and (root() / "supervisors" / name).exists()


def forget_old(now: float) -> None:
    """Remove jobs that ended long ago, interrupted submissions, and the files of dead supervisors."""
    top = root()
    for job in jobs():
        end = job.read().get("end")
        if isinstance(end, float) and end < now - KEPT:
            shutil.rmtree(job.path, ignore_errors=True)
    for path in top.glob(".new-*"):
        with contextlib.suppress(FileNotFoundError):  # another process's submission, which has become a job meanwhile
            if path.lstat().st_mtime < now - 3600:
                shutil.rmtree(path, ignore_errors=True)
    for path in (top / "supervisors").iterdir():
        pid = path.name.partition("-")[0]
        if pid.isdigit() and processes.identity(int(pid)) != path.name:
            path.unlink(missing_ok=True)


def script_of(path: Path) -> bytes:
    """Return the bytes of a job script; raise RequestError when it is unreadable."""
    try:
        return path.read_bytes()
    except OSError as error:
        words = error.strerror or errno.errorcode.get(error.errno or 0, "?")
        raise RequestError(
            "local.no_script", "The job script {path} cannot be read: {reason}", path=path, reason=words
        ) from error
