"""What the stand-ins of batch systems keep: jobs as JSON files under $BATCH_STUB_DIR, configuration, faults.

No line of product code. A stand-in has a folder of its own (`pbs_stub`, …) with its commands, its words and their
samples; they put this folder on their path. A job is `{"number", …}`; the other keys are the stand-in's.

`$BATCH_STUB_DIR/server.json` (all keys optional) changes the stand-in's configuration. `$BATCH_STUB_DIR/faults` holds
lines `command fault [count]`, e.g. `qstat down 2`; `*` is every command; with a count the line is used that often.
Faults of any command: down (each stand-in's own words), hang, garbage, non_utf8.
"""

import contextlib
import fcntl
import json
import os
import sys
import time
from pathlib import Path

ROOT = Path(os.environ.get("BATCH_STUB_DIR", "/tmp/batch_stub"))
DEFAULTS: dict = {}
"""The stand-in's configuration, put here by it: `hosts`, its nodes' names, and whatever else it wants."""
RUNNER = "mom"
"""What faults call the process that looks after one job: `*` does not mean it."""


def configuration() -> dict:
    """Return DEFAULTS with the keys of server.json put over them."""
    try:
        return {**DEFAULTS, **json.loads((ROOT / "server.json").read_text())}
    except FileNotFoundError:
        return dict(DEFAULTS)


@contextlib.contextmanager
def locked():
    """Hold the server's lock."""
    ROOT.mkdir(parents=True, exist_ok=True)
    with (ROOT / "lock").open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def next_number(first: int = 1) -> int:
    """Return a job number that was never used; needs the lock."""
    path = ROOT / "next"
    number = int(path.read_text()) if path.exists() else first
    put(path, str(number + 1))
    return number


def folder(name: str) -> Path:
    """Return a folder of the state, made when missing."""
    path = ROOT / name
    path.mkdir(parents=True, exist_ok=True)
    return path


def read(number: int) -> dict:
    return json.loads((folder("jobs") / f"{number}.json").read_text())


def write(job: dict) -> None:
    """Replace a job's record, so that readers see the old or the new one."""
    put(folder("jobs") / f"{job['number']}.json", json.dumps(job))


def put(path: Path, text: str) -> None:
    """Replace a file at once, for whoever reads it at any moment; the name of the new one is no record's."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    temporary.rename(path)


def all_jobs() -> list:
    """Return all jobs in the order of their numbers."""
    return [read(int(path.stem)) for path in sorted(folder("jobs").glob("*.json"), key=lambda path: int(path.stem))]


def alive(pid) -> bool:
    try:
        return Path(f"/proc/{int(pid)}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, ValueError, TypeError):
        return False


def fault(command: str) -> str:
    """Return the fault that is to happen now, or ""; a counted one is used up by this."""
    path = ROOT / "faults"
    if not path.exists():
        return ""
    with locked():
        lines = path.read_text().splitlines()
        for position, line in enumerate(lines):
            name, kind, *count = [*line.split(), "", ""][:3] if line.strip() else ["", "", ""]
            if name not in (command, "*") or (command == RUNNER and name == "*"):
                continue
            if count[0]:
                left = int(count[0]) - 1
                lines[position] = f"{name} {kind} {left}" if left else ""
                put(path, "\n".join(lines))
            return kind
    return ""


def general_fault(command: str, down) -> str:
    """Do what a fault of any command does; return the fault when it is the command's own. `down(command)` ends it."""
    kind = fault(command)
    if kind == "hang":
        time.sleep(3600)
    if kind == "down":
        down(command)
    if kind == "garbage":
        print("<html><body>502 Bad Gateway</body></html>")
        sys.exit(0)
    if kind == "non_utf8":
        # openpbs: pbsdsh_tmrsh_behaviour.txt, bytes of uninitialised memory in a message
        sys.stdout.buffer.write(b"\xfe\xffmH\x80\x81: \xc3\x28\n")
        sys.stdout.flush()
        sys.exit(0)
    return kind


def fail(text: str, code: int) -> None:
    print(text, file=sys.stderr)
    sys.exit(code)
