"""The PBS stand-in as a test uses it: the environment to run under, and switches for faults and limits."""

import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

STUBS = Path(__file__).resolve().parent / "pbs_stub"
MIYABI = STUBS.with_name("miyabi_stub")
"""A site's own qstat; its folder comes before that of PBS's commands."""


def environment(state: Path, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return an environment in which `qsub`, `qstat` … are the stand-ins, with their state under `state`.

    This interpreter's folder comes behind them: the commands are Python scripts.
    """
    base = os.environ if base is None else base
    folder = Path(sys.executable).parent
    return {
        **{name: value for name, value in base.items() if not name.startswith("PBS_")},
        "PATH": os.pathsep.join((str(STUBS), str(folder), base.get("PATH", os.defpath))),
        "PBS_STUB_DIR": str(state),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def configure(state: Path, **values: object) -> None:
    """Set keys of the server's configuration (`stub_server.CONFIGURATION`), e.g. `history=False`, `user_limit=2`."""
    path = state / "server.json"
    state.mkdir(parents=True, exist_ok=True)
    old = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**old, **values}))


def break_command(state: Path, command: str, fault: str, times: int | None = None) -> None:
    """Let a command fail (`down hang garbage non_utf8 truncated …`) from now on, or the next `times` times."""
    state.mkdir(parents=True, exist_ok=True)
    with (state / "faults").open("a") as stream:
        stream.write(f"{command} {fault} {times or ''}".rstrip() + "\n")


def mend(state: Path) -> None:
    """Take all faults away."""
    (state / "faults").unlink(missing_ok=True)


def stop(state: Path) -> None:
    """End every job and mom that is left; for the end of a test."""
    for path in (state / "pid").glob("*"):
        record = state / "jobs" / f"{path.name}.json"
        numbers = [int(path.read_text())]
        try:
            attributes = json.loads(record.read_text())["attributes"]
            if attributes["job_state"] in "RE":
                numbers.append(int(attributes["session_id"]))
        except (OSError, KeyError, ValueError):
            pass
        tasks = [int(task.suffix[1:]) for task in (state / "tasks").glob(f"{path.name}.*")]
        for number in [*numbers, *tasks]:
            _end(number, state)


def _end(number: int, state: Path) -> None:
    """Kill the session's leader and its group, but only a process that belongs to this state folder."""
    try:
        if f"PBS_STUB_DIR={state.resolve()}".encode() in Path(f"/proc/{number}/environ").read_bytes():
            os.killpg(number, signal.SIGKILL)
    except OSError:
        pass
