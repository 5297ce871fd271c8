"""Build a recipe's Python environment, detect interrupted builds, and list environments."""

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hackathon.access.written import open_log
from hackathon.config.trust import writable_folder
from hackathon.jobs.environments import RECORD, PythonEnvironment, read_environment
from hackathon.runs.environment.install_plan import BuildCommand, InstallPlan
from hackathon.text.errors import HackathonError, RequestError, UnavailableError
from hackathon.text.files import read_json, write_json, write_whole
from hackathon.text.uptime import born, lives

LOCK = "lock.txt"
"""The installed packages in the format of `pip freeze`, in the environment's folder."""
SHOWN_LINES = 15
_CACHE_MARK = "Signature: 8a477f597d28d172789f06886806bc55\n# Environments: `hackathon env create` makes them again.\n"


@dataclass(frozen=True)
class BuiltEnvironment:
    """The environment that `build` returns."""

    environment: PythonEnvironment
    new: bool
    """False: it existed already."""


def build(plan: InstallPlan, say: Callable[[str], None], *, again: bool = False) -> BuiltEnvironment:
    """Build the environment of a plan unless the same one exists; `say` is called with each command line.

    The record `env.json` is written last: an environment without one was interrupted and is built again. An older
    environment is moved aside meanwhile and restored if the build fails. Raises HackathonError (the installer failed,
    with its last lines and the log), RequestError (another process builds it), UnavailableError (disk full).
    """
    path = plan.path
    try:
        _make_folder(path.parent)
        with _only_builder(path) as builder:
            present = read_environment(path)
            same = present is not None and present.digest == plan.digest and (path / "bin" / "python").exists()
            if present is not None and same and not again:
                return BuiltEnvironment(present, False)
            aside = path.with_name(f".{path.name}.old")
            if present is not None:
                shutil.rmtree(aside, ignore_errors=True)
                path.rename(aside)
            elif path.exists():
                shutil.rmtree(path)
            try:
                _run_all(plan, say, builder)
            except BaseException:
                shutil.rmtree(path, ignore_errors=True)
                if present is not None:
                    aside.rename(path)
                raise
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise UnavailableError(
            "environments.not_written", "{path} cannot be written: {what}", path=path, what=error.strerror or error
        ) from error
    built = read_environment(path)
    assert built is not None
    return BuiltEnvironment(built, True)


def log_of(path: Path) -> Path:
    """Return the path of an environment's build log, which is beside it."""
    return path.with_name(f"{path.name}.log")


def details(path: Path) -> dict[str, Any]:
    """Return the record of a complete environment: variant, python, packages, commands, …; {} without one."""
    value = read_json(path / RECORD)
    return {**value, "path": str(path)} if isinstance(value, dict) else {}


def list_environments(envs: Path) -> list[dict[str, Any]]:
    """Return the records of all complete environments in a folder, by name."""
    try:
        names = sorted(os.listdir(envs))  # noqa: PTH208
    except OSError:
        return []
    return [record for name in names if not name.startswith(".") and (record := details(envs / name))]


def _make_folder(envs: Path) -> None:
    """Create the folder of environments, marked as a cache that is neither source nor worth a backup.

    An existing folder may hold other files, so it is not marked.
    """
    existed = envs.is_dir()
    writable_folder(envs)
    if existed:
        return
    for name, text in ((".gitignore", "*\n"), ("CACHEDIR.TAG", _CACHE_MARK)):
        write_whole(envs / name, text)


@contextlib.contextmanager
def _only_builder(path: Path) -> Iterator[Path]:
    """Yield a lock file that keeps others from building the same environment.

    It holds the host and the processes of the build. If they no longer exist on this host, the build was interrupted.
    """
    marker = path.with_name(f".{path.name}.building")
    words = json.dumps(_builders(os.getpid()))
    for attempt in range(2):
        try:
            descriptor = os.open(marker, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            other = read_json(marker)
            other = other if isinstance(other, dict) else {}
            host, processes = other.get("host"), other.get("processes") or []
            began = other.get("born") or [None] * len(processes)
            if attempt or host != os.uname().nodename or any(map(lives, processes, began)):
                listed = ", ".join(str(number) for number in processes)
                raise RequestError(
                    "environments.busy",
                    "{path} is being built on {host} (process {processes})",
                    hint="wait for it; if that process no longer runs, delete {marker}",
                    path=path,
                    host=host or "?",
                    processes=listed or "?",
                    marker=marker,
                ) from None
            marker.unlink(missing_ok=True)
        else:
            os.write(descriptor, words.encode())
            os.close(descriptor)
            break
    try:
        yield marker
    finally:
        marker.unlink(missing_ok=True)


def _builders(*processes: int) -> dict[str, Any]:
    return {"host": os.uname().nodename, "processes": processes, "born": [born(process) for process in processes]}


def _run_all(plan: InstallPlan, say: Callable[[str], None], marker: Path) -> None:
    log = log_of(plan.path)
    os.close(open_log(log))
    environ = plan.environ(os.environ)
    say(plan.lines[0])
    for command in plan.commands:
        say(command.line)
        _run(command, environ, log, marker)
    frozen = _run(plan.freeze, environ, log, marker)
    lock = "".join(line + "\n" for line in frozen.splitlines() if line and not line.startswith("#"))
    write_whole(plan.path / LOCK, lock)
    lines = [line.partition("==") for line in lock.splitlines()]
    write_json(
        plan.path / RECORD,
        {
            "name": plan.name,
            "variant": plan.variant,
            "digest": plan.digest,
            "built": time.strftime("%Y-%m-%d %H:%M:%S"),
            "host": os.uname().nodename,
            "commands": plan.lines,
            "packages": {name.partition(" @ ")[0]: version or name for name, _, version in lines},
        },
    )


def _run(command: BuildCommand, environ: dict[str, str], log: Path, marker: Path) -> str:
    """Run one command and return its output, which is also written to the log. Raises HackathonError."""
    with log.open("ab") as stream:
        stream.write(f"$ {command.line}\n".encode("utf-8", "surrogateescape"))
        stream.flush()
        begin = stream.tell()
        try:
            process = subprocess.Popen(
                command.argv, env={**environ, **command.variables}, stdin=subprocess.DEVNULL, stdout=stream,
                stderr=subprocess.STDOUT, cwd="/", start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise HackathonError(
                "environments.failed",
                "this command failed with exit code {code}:\n  {line}\n{tail}",
                hint="see its full output in {log}",
                line=command.line,
                code=error,
                log=log,
                tail="",
            ) from error
        try:
            _pass_on_nice(process.pid)
            # another build must not start while the installer of an interrupted one still runs
            write_json(marker, _builders(os.getpid(), process.pid))
            code = process.wait()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    with log.open("rb") as stream:
        stream.seek(begin)
        printed = stream.read().decode("utf-8", "replace")
    if code:
        tail = "\n".join(f"  {_printable(line)}" for line in printed.splitlines()[-SHOWN_LINES:])
        raise HackathonError(
            "environments.failed",
            "this command failed with exit code {code}:\n  {line}\n{tail}",
            hint="see its full output in {log}",
            line=command.line,
            code=code,
            log=shlex.quote(str(log)),
            tail=tail,
        )
    return printed


def _pass_on_nice(process: int) -> None:
    """Give a session the nice value of this process.

    Linux shares the processor among sessions first (autogroups, sched(7)): a new session gets its full share, and the
    nice value of its processes counts only within it.
    """
    if value := os.nice(0):
        with contextlib.suppress(OSError):  # a kernel without autogroups
            Path(f"/proc/{process}/autogroup").write_text(str(value))


def _printable(line: str) -> str:
    return "".join(character if character.isprintable() else " " for character in line)
