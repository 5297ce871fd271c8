"""The stand-ins of batch systems as tests use them: the environment to run under, switches for faults and limits."""

import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path


def environment(state: Path, *folders: Path, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return an environment in which the commands of these folders come first, with their state under `state`.

    This interpreter's folder comes behind them: the commands are Python scripts.
    """
    base = os.environ if base is None else base
    programs = Path(sys.executable).parent
    return {
        **base,
        "PATH": os.pathsep.join((*map(str, folders), str(programs), base.get("PATH", os.defpath))),
        "BATCH_STUB_DIR": str(state),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def configure(state: Path, **values: object) -> None:
    """Set keys of the server's configuration (`CONFIGURATION` of the stand-in), e.g. `history=False`."""
    path = state / "server.json"
    state.mkdir(parents=True, exist_ok=True)
    old = json.loads(path.read_text()) if path.exists() else {}
    _replace(path, json.dumps({**old, **values}))


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
    for path in (state / "pid").glob("[0-9]*"):
        scripts = [int(record.read_text()) for record in (state / "session").glob(path.name)]
        tasks = [int(task.suffix[1:]) for task in (state / "tasks").glob(f"{path.name}.*")]
        for number in [int(path.read_text()), *scripts, *tasks]:
            _end(number, state)


def _replace(path: Path, text: str) -> None:
    """Write a file that moms may read at any moment: they see the old or the new one, never an empty one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    temporary.rename(path)


def _end(number: int, state: Path) -> None:
    """Kill the session's leader and its group, but only a process that belongs to this state folder."""
    try:
        if f"BATCH_STUB_DIR={state.resolve()}".encode() in Path(f"/proc/{number}/environ").read_bytes():
            os.killpg(number, signal.SIGKILL)
    except OSError:
        pass
