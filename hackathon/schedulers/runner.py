"""Run scheduler commands: the only module of this package that does I/O.

Read-only queries are repeated after transient failures; a submission or a cancellation never is.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, TypeVar

from hackathon.schedulers import cache, foreign
from hackathon.schedulers.base import (
    NO_ANSWER,
    UNKNOWN,
    CommandOutput,
    JobState,
    Scheduler,
    SchedulerError,
    StatusAnswer,
    Submission,
)
from hackathon.schedulers.reports import JobAccounting, JobDetails, NodeGroup, QueueInfo
from hackathon.schedulers.words import printable
from hackathon.text.errors import RequestError
from hackathon.text.messages import _

TIMEOUT = 30.0
"""Seconds that a scheduler command may take; HACKATHON_SCHEDULER_TIMEOUT overrides it (see `patience`)."""
LEFT_BEHIND = 3.0
"""Seconds beyond the time limit after which a submission's command ends even if this process was killed."""
OUTPUT_LIMIT = 64 * 2**20
"""Bytes of stdout and stderr together; a thousand jobs in `qstat -f` are about 4 MB."""
BATCH = 400
"""Ids per call: 400 long ids stay below 128 kB, the longest single argument of Linux (execve(2))."""
MAX_AGE = 30.0
"""Seconds for which a status answer is reused."""
DELAYS = (0.5, 2.0)
"""Seconds before the second and third try of a read-only query."""
PIPE_GRACE = 0.5
"""Seconds to read on after the command ended while a child of it still holds its pipes."""

Result = TypeVar("Result")


def patience() -> float:
    """Return the seconds that a scheduler command may take: HACKATHON_SCHEDULER_TIMEOUT (0.1 to 3600), else TIMEOUT.

    Raises RequestError when the variable has another value.
    """
    text = os.environ.get("HACKATHON_SCHEDULER_TIMEOUT", "")
    try:
        seconds = float(text) if text else TIMEOUT
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 3600:
        raise RequestError(
            "schedulers.bad_timeout",
            "HACKATHON_SCHEDULER_TIMEOUT must be from 0.1 to 3600 seconds, not {value!r}.",
            value=text,
        )
    return seconds


def child_environment(scheduler: Scheduler | None = None, *, submission: bool = False) -> dict[str, str]:
    """Return the environment of a scheduler command, without variables of other jobs or that change its behaviour.

    Queries get `LC_ALL=C`. A submission does not, because schedulers pass its environment to the job, and none is known
    to translate its output. `Scheduler.environment` can change the result.
    """
    environment = {name: value for name, value in os.environ.items() if not foreign.leaks(name)}
    environment = _with_own_programs(environment) if submission else {**environment, "LC_ALL": "C"}
    return environment if scheduler is None else scheduler.environment(environment, submission=submission)


def _with_own_programs(environment: dict[str, str]) -> dict[str, str]:
    """Return the environment with this virtual environment's programs first, unless an environment is activated.

    A user who types `.venv/bin/hackathon` means that `.venv`'s python and torchrun; an activated environment takes
    precedence.
    """
    chosen = environment.get("VIRTUAL_ENV") or environment.get("CONDA_PREFIX")
    if chosen or not typed_by_path():
        return environment
    return {**environment, "PATH": f"{sys.prefix}/bin{os.pathsep}{environment.get('PATH', os.defpath)}"}


def typed_by_path() -> bool:
    """Return whether this command is a file in a virtual environment: its `bin/hackathon`, or `-m hackathon`.

    A link to it, such as `~/bin/hackathon`, does not determine the Python of training programs.
    """
    if sys.prefix == sys.base_prefix:
        return False
    folder, __, name = sys.argv[0].rpartition("/")
    # the path may contain links, e.g. if homes are links
    return name == "__main__.py" or (bool(folder) and os.path.realpath(folder) == os.path.realpath(f"{sys.prefix}/bin"))


def run(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    timeout: float | None = None,
    environment: Mapping[str, str] | None = None,
    wrapper: Sequence[str] = (),
) -> CommandOutput:
    """Return the output of a command. `environment` replaces the child's environment; `timeout` is in seconds.

    The command gets its own process group, which is killed on timeout, on too much output and on Ctrl-C. Raises
    SchedulerError: command missing (not transient, but exit code 3, as the machine is the problem), timeout
    (transient).
    """
    seconds = patience() if timeout is None else timeout
    command = os.path.basename(argv[0])  # noqa: PTH119
    try:
        process = subprocess.Popen(
            [*wrapper, *argv],
            cwd=cwd,
            env=dict(child_environment() if environment is None else environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        if cwd is not None and not Path(cwd).is_dir():
            raise _environment_error(
                "schedulers.command_unusable",
                "Cannot start {command}: {reason}",
                hint="Run the command by hand. You may have to load a module first.",
                command=command,
                reason=error,
            ) from error
        raise _environment_error(
            "schedulers.command_missing",
            "`{command}` was not found on this machine",
            hint="Run it on a login node of the cluster. You may have to load a module first.",
            command=command,
        ) from error
    except (OSError, ValueError) as error:  # not executable, argument list too long, a null byte in an argument
        raise _environment_error(
            "schedulers.command_unusable",
            "Cannot start {command}: {reason}",
            hint="Run the command by hand. You may have to load a module first.",
            command=command,
            reason=error,
        ) from error
    try:
        stdout, stderr = _collect(process, command, seconds)
    except BaseException:
        _kill(process)
        raise
    return CommandOutput(tuple(argv), process.returncode, _text(stdout), _text(stderr))


def _collect(process: "subprocess.Popen[bytes]", command: str, timeout: float) -> tuple[bytearray, bytearray]:
    """Return stdout and stderr when the process has ended; raise SchedulerError after the timeout."""
    assert process.stdout is not None and process.stderr is not None
    buffers: dict[IO[bytes], bytearray] = {process.stdout: bytearray(), process.stderr: bytearray()}
    deadline, ended = time.monotonic() + timeout, None
    with selectors.DefaultSelector() as selector, process.stdout, process.stderr:
        for stream in buffers:
            selector.register(stream, selectors.EVENT_READ, stream)
        while selector.get_map():
            now = time.monotonic()
            if now >= deadline:
                raise SchedulerError(
                    "schedulers.timeout",
                    "{command} did not answer within {seconds} s.",
                    hint="The scheduler is busy or down. Try again later, or allow more time: "
                    "HACKATHON_SCHEDULER_TIMEOUT=120.",
                    transient=True,
                    command=command,
                    seconds=f"{timeout:g}",
                )
            if ended is None and process.poll() is not None:
                ended = now
            if ended is not None and now > ended + PIPE_GRACE:
                break
            for key, __ in selector.select(min(0.1, deadline - now)):
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    selector.unregister(key.fileobj)
                buffers[key.data] += chunk
            if sum(map(len, buffers.values())) > OUTPUT_LIMIT:
                raise SchedulerError(
                    "schedulers.too_much_output",
                    "{command} printed more than {limit} bytes and was stopped.",
                    transient=False,
                    command=command,
                    limit=OUTPUT_LIMIT,
                )
        stdout, stderr = buffers.values()
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise SchedulerError(
            "schedulers.timeout",
            "{command} did not answer within {seconds} s.",
            hint="The scheduler is busy or down. Try again later, or allow more time: HACKATHON_SCHEDULER_TIMEOUT=120.",
            transient=True,
            command=command,
            seconds=f"{timeout:g}",
        ) from error
    return stdout, stderr


def _kill(process: "subprocess.Popen[bytes]") -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)  # the child is the leader of its own group
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.wait()


def _text(raw: bytearray) -> str:
    return bytes(raw).decode("utf-8", "surrogateescape")


def _environment_error(identifier: str, text: str, /, *, hint: str = "", **values: object) -> SchedulerError:
    error = SchedulerError(identifier, text, hint=hint, transient=False, **values)
    error.exit_code = 3  # the machine is wrong, not the request
    return error


def _patiently(ask: Callable[[], Result], delays: Sequence[float]) -> Result:
    """Return the result of `ask`; repeat it after transient failures, but not after a timeout, which took long."""
    for delay in delays:
        try:
            return ask()
        except SchedulerError as error:
            if not error.transient or error.id == "schedulers.timeout":
                raise
        time.sleep(delay)
    return ask()


def submit(scheduler: Scheduler, submission: Submission) -> str:
    """Submit a job once and return its id.

    Raises SchedulerError. After a transient one (no answer, garbage, connection lost) the job may exist: search it by
    name (`find`) before submitting again.
    """
    if submission.after is not None:
        _require_id(scheduler, submission.after[1])
    argv = scheduler.submit_argv(submission)
    seconds = patience()
    wrapper = _limited(argv[0], seconds + LEFT_BEHIND)
    environment = child_environment(scheduler, submission=True)
    answer = run(argv, cwd=submission.directory, timeout=seconds, environment=environment, wrapper=wrapper)
    if wrapper and answer.exit_code in (126, 127) and answer.stderr.startswith(f"{wrapper[0]}: "):
        # the program exists but cannot be started, e.g. its interpreter is missing
        reason = answer.stderr.strip().removeprefix(f"{wrapper[0]}: ")
        raise _environment_error(
            "schedulers.command_unusable",
            "Cannot start {command}: {reason}",
            hint="Run the command by hand. You may have to load a module first.",
            command=os.path.basename(argv[0]),  # noqa: PTH119
            reason=reason,
        )
    try:
        return scheduler.parse_submit(answer)
    except SchedulerError:
        for undo in scheduler.undo_argv(answer):
            _ask_if_possible(scheduler, undo, seconds)
        raise


def _limited(command: str, seconds: float) -> list[str]:
    """Return a prefix that ends a command after some seconds even if its parent was killed.

    The submission of a dead parent must not reach the scheduler minutes later, when another process has searched for
    its job, missed it and submitted again. The prefix is empty without coreutils' `timeout` or without the command.
    """
    limiter = _on_path("timeout")
    return [limiter, "--signal=KILL", f"{seconds:g}"] if limiter and _on_path(command) else []


def _on_path(command: str) -> str | None:
    if os.path.dirname(command):  # noqa: PTH120
        return command if os.access(command, os.X_OK) else None
    for folder in os.get_exec_path():
        path = os.path.join(folder, command)  # noqa: PTH118
        if os.access(path, os.X_OK) and not os.path.isdir(path):  # noqa: PTH112
            return path
    return None


def status(
    scheduler: Scheduler, ids: Sequence[str], *, timeout: float | None = None, delays: Sequence[float] = DELAYS
) -> StatusAnswer:
    """Return the states of jobs, queried in batches; `asked` has the time of the answer for every id.

    `parse_status` gets the answers of `status_argv`, then those of `follow_up_argv`. A text that cannot be an id is
    UNKNOWN and not queried: it would be an option, or spoil the answer about the others.
    """
    answer = StatusAnswer()
    unique = dict.fromkeys(ids)
    askable = [job_id for job_id in unique if scheduler.is_id(job_id)]
    for job_id in unique.keys() - set(askable):
        reason = _(
            "{job_id!r} is not a job ID of the scheduler {scheduler}, so no command is run with it.",
            scheduler=scheduler.name,
            job_id=printable(job_id),
        )
        answer.jobs[job_id] = JobState(UNKNOWN, "", reason=reason)
        answer.asked[job_id] = time.time()
    for first in range(0, len(askable), BATCH):
        part = askable[first : first + BATCH]
        part_answer = _patiently(lambda part=part: _ask_status(scheduler, part, timeout), delays)  # type: ignore[misc]
        answer.jobs.update(part_answer.jobs)
        answer.asked.update(part_answer.asked)
    return answer


def _ask_status(scheduler: Scheduler, ids: list[str], timeout: float | None) -> StatusAnswer:
    began = time.time()
    first, *further_argvs = scheduler.status_argv(ids)
    answers = [_ask(scheduler, first, timeout), *(_ask_if_possible(scheduler, argv, timeout) for argv in further_argvs)]
    for further in (scheduler.follow_up_argv, scheduler.fall_back_argv):
        answers += [_ask_if_possible(scheduler, argv, timeout) for argv in further(answers, ids)]
    return StatusAnswer(scheduler.parse_status(answers, ids).jobs, dict.fromkeys(ids, began))


def _ask(scheduler: Scheduler, argv: Sequence[str], timeout: float | None = None) -> CommandOutput:
    return run(argv, timeout=timeout, environment=child_environment(scheduler))


def _ask_if_possible(scheduler: Scheduler, argv: Sequence[str], timeout: float | None) -> CommandOutput:
    """Return the answer of a second command; if the command is missing or hangs, an answer with NO_ANSWER.

    An accounting database that does not answer must not hide the controller's answer.
    """
    try:
        return _ask(scheduler, argv, timeout)
    except SchedulerError as error:
        return CommandOutput(tuple(argv), NO_ANSWER, "", str(error))


def status_cached(
    scheduler: Scheduler, cluster_name: str, ids: Sequence[str], max_age: float = MAX_AGE
) -> StatusAnswer:
    """Return the states of jobs; only ids without an answer younger than `max_age` seconds are queried, in one batch.

    Absent jobs are cached as well; `asked` has the time. An unusable cache is ignored. Raises SchedulerError when the
    scheduler has to be queried and does not answer.
    """
    path = cache.cache_file(scheduler.name, cluster_name)
    cached = cache.read(path, time.time(), max_age)
    unique = list(dict.fromkeys(ids))
    missing = [job_id for job_id in unique if job_id not in cached]
    if missing:
        answer = status(scheduler, missing)
        cached.update({job_id: (answer.asked[job_id], answer.jobs.get(job_id)) for job_id in missing})
        cache.write(path, cached)
    return StatusAnswer(
        {job_id: state for job_id in unique if (state := cached[job_id][1]) is not None},
        {job_id: cached[job_id][0] for job_id in unique},
    )


def accounting(scheduler: Scheduler, ids: Sequence[str]) -> dict[str, JobAccounting]:
    """Return what the scheduler accounts for under job ids, asked in batches; ids that it does not know are left out.

    Ids may come from anybody's records: invalid ones are not queried (`can_account`). A scheduler without accounting
    returns nothing. Raises SchedulerError when it has to be queried and does not answer.
    """

    def ask(part: list[str]) -> dict[str, JobAccounting]:
        answers = [_ask(scheduler, argv) for argv in scheduler.accounting_argv(part)]
        if answers:
            answers += [_ask(scheduler, argv) for argv in scheduler.follow_up_argv(answers, part)]
        return scheduler.parse_accounting(answers, part) if answers else {}

    accounts: dict[str, JobAccounting] = {}
    accountable = [job_id for job_id in dict.fromkeys(ids) if scheduler.can_account(job_id)]
    for first in range(0, len(accountable), BATCH):
        part = accountable[first : first + BATCH]
        accounts |= _patiently(lambda part=part: ask(part), DELAYS)  # type: ignore[misc]
    return accounts


def forget(scheduler: Scheduler, cluster_name: str, ids: Iterable[str]) -> None:
    """Drop cached answers about jobs (e.g. a cancelled one), so that the next query reaches the scheduler."""
    path = cache.cache_file(scheduler.name, cluster_name)
    cached, unwanted = cache.read(path, time.time(), MAX_AGE), set(ids)
    if not unwanted.isdisjoint(cached):
        cache.write(path, {job_id: entry for job_id, entry in cached.items() if job_id not in unwanted})


def cancel(scheduler: Scheduler, job_id: str, *, timeout: float | None = None) -> bool:
    """Cancel one job; return False when it had already ended. Raises SchedulerError."""
    _require_id(scheduler, job_id)
    return scheduler.parse_cancel(_ask(scheduler, scheduler.cancel_argv(job_id), timeout))


def _require_id(scheduler: Scheduler, job_id: str) -> None:
    """Raise SchedulerError for a text that cannot be a job id: ids are read from files, and `-f` is an option."""
    if not scheduler.is_id(job_id):
        text = printable(job_id)
        raise SchedulerError(
            "schedulers.not_an_id",
            "{job_id!r} is not a job ID of the scheduler {scheduler}, so no command is run with it.",
            hint="The ID was read from the run's files (claim/job_id or client/*.json). Check it, or see the queue "
            "for the job.",
            transient=False,
            scheduler=scheduler.name,
            job_id=text,
        )


def find(scheduler: Scheduler, name: str, *, delays: Sequence[float] = DELAYS) -> list[str]:
    """Return the ids of jobs of that name, ended ones too, oldest first. Raises SchedulerError."""

    def ask() -> list[str]:
        return scheduler.parse_find_named([_ask(scheduler, argv) for argv in scheduler.find_argv(name)], name)

    return _patiently(ask, delays)


def details(scheduler: Scheduler, job_id: str) -> JobDetails:
    """Return what the scheduler recorded of a job's request; empty where it does not tell."""
    answers = []
    for argv in scheduler.details_argv(job_id) if scheduler.is_id(job_id) else ():
        with contextlib.suppress(SchedulerError):
            answers.append(_ask(scheduler, argv))
    return scheduler.parse_details(answers, job_id)


def queues(scheduler: Scheduler, *, delays: Sequence[float] = DELAYS) -> list[QueueInfo]:
    """Return the scheduler's queues. Raises SchedulerError."""
    return _patiently(lambda: scheduler.parse_queues(_ask(scheduler, scheduler.queues_argv())), delays)


def nodes(scheduler: Scheduler, *, timeout: float | None = None, delays: Sequence[float] = DELAYS) -> list[NodeGroup]:
    """Return the machine's nodes; none when the scheduler does not report them to users. Raises SchedulerError."""
    argvs = scheduler.nodes_argv()
    if not argvs:
        return []

    def ask() -> list[NodeGroup]:
        answers = [_ask(scheduler, argv, timeout) for argv in argvs]
        further = scheduler.nodes_follow_up_argv(answers)
        return scheduler.parse_nodes(answers + [_ask_if_possible(scheduler, argv, timeout) for argv in further])

    return _patiently(ask, delays)
