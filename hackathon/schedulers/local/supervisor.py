"""The process that supervises one job: waits in the queue, runs the script, and ends all processes it started.

It survives the submitting command (double fork, own session) and is the parent of all orphans below it, so that no
process escapes by changing its session. Limits: when the supervisor itself gets SIGKILL, the kernel kills the script,
and the script's children are killed at the next status query if they kept their environment. Programs that run as
another user (set-uid) cannot be killed.
"""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from hackathon.schedulers.local import processes, slots, state
from hackathon.schedulers.local.share import Part, UnitTicket
from hackathon.schedulers.local.state import Job
from hackathon.text.uptime import clock

WATCHED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
RESTORED = (*WATCHED, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
POLL = 0.25
"""Seconds between two checks of the `cancel` file."""


def grace() -> float:
    """Return the seconds between TERM and KILL: HACKATHON_LOCAL_GRACE, else 5."""
    try:
        return max(0.0, float(os.environ.get("HACKATHON_LOCAL_GRACE", "5")))
    except ValueError:
        return 5.0


def launch(job: Job, lock: int, total: int) -> None:
    """Start the supervisor of a job and return when it runs; raise OSError when no process can be created."""
    reading, writing = os.pipe()
    mask = os.umask(0)
    os.umask(mask)
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            if os.fork():
                os._exit(0)
            _leave_the_terminal(job, keep={lock, writing})
            Supervisor(job, total, mask).run(ready=writing)
        except BaseException:
            _complain()
        os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        pipe.read()
    if os.waitpid(child, 0)[1]:
        raise OSError("no process for the supervisor")


def _leave_the_terminal(job: Job, keep: set[int]) -> None:
    os.umask(0o077)
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDONLY)
    log = os.open(job.path / "supervisor.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(number, target)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        if int(name) > 2 and int(name) not in keep:
            try:
                os.close(int(name))
            except OSError:
                pass


def _complain() -> None:
    import traceback

    traceback.print_exc()
    sys.stderr.flush()


class Supervisor:
    """One job from the queue to its end."""

    def __init__(self, job: Job, total: int, mask: int) -> None:
        self.job = job
        self.total = total
        self.mask = mask
        self.now: dict[str, Any] = {"state": state.QUEUED}
        part = job.facts.get("part")
        self.share = UnitTicket(state.root() / "units", Part(**part)) if part else None
        """The job's own cores and GPUs; None when it waits for slots of the machine."""
        self.ticket = self.share or slots.Ticket(slots.place(), job.facts["slots"])
        self.script = 0
        self.status: int | None = None
        """Wait status of the script once it has ended."""
        self.told = False
        self.unsaved = False
        self.touched, self.clock = time.monotonic(), clock()

    def run(self, ready: int) -> None:
        """Supervise the job, then end the process."""
        signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
        processes.adopt_orphans()
        registration = state.register()
        os.write(ready, b"+")
        os.close(ready)
        if self._wait_for_turn():
            cause = self._run_script()
            self._end_tree()
            self.ticket.leave()
            self._finish(cause)
        else:
            self.ticket.leave()
            self._save_at_last()
        registration.unlink(missing_ok=True)
        os._exit(0)

    # ---- before

    def _wait_for_turn(self) -> bool:
        """Return True when the script may start; False when the job ended in the queue."""
        if self.job.facts["after"] and not self._wait_for_other(*self.job.facts["after"]):
            return False
        self._note(reason="slots")
        joined = False
        while not self._cancelled():
            try:
                joined = joined or self.ticket.join()
                if joined and self.ticket.start(self.total):
                    return True
            except OSError:  # the entry was deleted from /tmp or the disk is full: take a new one
                self._new_place()
                joined = False
                self._pause(1)
            self._pause(POLL)
        self._note(state="CANCELLED", reason="cancelled", started=False, end=time.time())
        return False

    def _new_place(self) -> None:
        try:
            self.ticket.leave()
            slots.prepare(slots.place())
        except Exception:
            _complain()

    def _wait_for_other(self, condition: str, number: int) -> bool:
        self._note(reason="dependency", other=state.job_id(number))
        while not self._cancelled():
            other = state.load(number)
            word = state.settle(other)["state"] if other else "FAILED"
            if word not in state.OPEN:
                if condition == "any" or word == "SUCCEEDED":
                    return True
                self._note(state="CANCELLED", reason="dependency_failed", started=False, end=time.time())
                return False
            self._pause(2 * POLL)
        self._note(state="CANCELLED", reason="cancelled", started=False, end=time.time())
        return False

    # ---- during

    def _run_script(self) -> str:
        """Run the script; return why it ended: `ended`, `walltime`, `cancelled` or `not_started`."""
        mine = {} if self.share is None else {"cores": self.share.cores, "gpus": self.share.gpus}
        self._note(state=state.RUNNING, reason="", started=True, start=time.time(), **mine)
        deadline = time.monotonic() + self.job.facts["walltime"]
        failure = self._start_script()
        if failure:
            self._note(words=failure)
            return "not_started"
        while self.status is None:
            left = deadline - time.monotonic()
            if self._cancelled():
                return "cancelled"
            if left <= 0:
                return "walltime"
            self._pause(min(POLL, left))
        return "ended"

    def _start_script(self) -> str:
        """Start bash on the script; return why that failed, empty when it runs."""
        reading, writing = os.pipe()
        supervisor = os.getpid()
        self.script = os.fork()
        if self.script == 0:
            try:
                processes.die_with_parent(supervisor)
                os.setsid()
                self._become_script()
            except BaseException as error:
                os.write(writing, (str(error) or "?").encode("utf-8", "replace")[:400])
            os._exit(126)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            return pipe.read().decode("utf-8", "replace")

    def _become_script(self) -> None:
        facts = self.job.facts
        os.umask(self.mask)
        os.chdir(facts["directory"])
        output = os.open(facts["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
        os.dup2(output, 1)
        os.dup2(output, 2)
        # The script would inherit Python's ignored signals and the blocked ones.
        for number in RESTORED:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, set())
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HACKATHON_JOB_")}
        environment |= {"HACKATHON_JOB_ID": self.job.id, "HACKATHON_JOB_NAME": facts["name"]}
        environment |= {"HACKATHON_SUBMIT_DIR": facts["directory"], "PWD": facts["directory"]}
        environment["HACKATHON_JOB_TOKEN"] = facts["token"]
        words = ["bash", str(self.job.path / "script")]
        if self.share is not None:
            self.share.bind()
            environment |= self.share.variables()
            words = self.share.argv(words, facts["name"], facts["directory"])
        os.execvpe(words[0], words, environment)

    # ---- after

    def _end_tree(self) -> None:
        """End every descendant: TERM to the script, then to the others, then KILL to all.

        The script has half the grace period to end its own processes: a second TERM may disturb a program that is
        saving its state.
        """
        if not self._left(set()):
            return
        self._note(state=state.ENDING)
        began, patience = time.monotonic(), grace()
        if self.status is None:
            processes.send([self.script], signal.SIGTERM, signal.SIGCONT)
        while self.status is None and time.monotonic() < began + patience / 2:
            self._pause(0.05)
        pids = [pid for pid in self._left(set()) if pid != self.script]
        forbidden = processes.send(pids, signal.SIGTERM, signal.SIGCONT)
        while self._left(forbidden) and time.monotonic() < began + patience:
            self._pause(0.05)
        pause = 0.02
        while left := self._left(forbidden):
            forbidden |= processes.send(left, signal.SIGKILL)
            self._pause(pause)
            pause = min(2 * pause, 1.0)

    def _left(self, forbidden: set[int]) -> list[int]:
        self._reap()
        pids = processes.descendants(os.getpid(), state.is_supervisor)
        return [pid for pid in pids if pid not in forbidden]

    def _finish(self, cause: str) -> None:
        self._reap()
        result: dict[str, Any] = {"end": time.time(), "exit_code": None, "signal": None}
        if self.status is not None and cause != "not_started":
            code = os.waitstatus_to_exitcode(self.status)
            result |= {"exit_code": code} if code >= 0 else {"signal": -code}
        words = {"walltime": "TIMEOUT", "cancelled": "CANCELLED", "not_started": "FAILED"}
        success = "SUCCEEDED" if result["exit_code"] == 0 else "FAILED"
        reason = "" if cause == "ended" else cause
        self._note(state=words.get(cause, success), reason=reason, started=cause != "not_started", **result)
        self._save_at_last()

    # ---- at any time

    def _pause(self, seconds: float) -> None:
        """Wait; a child's end or a signal ends the wait."""
        signal_info = signal.sigtimedwait(WATCHED, max(0.0, seconds))
        if signal_info is not None and signal_info.si_signo != signal.SIGCHLD:
            self.told = True
        self._reap()
        if self.unsaved:
            self._note()
        if time.monotonic() > self.touched + slots.FRESH or abs(clock() - self.clock) > slots.JUMPED:
            self._keep_fresh()

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.script:
                self.status = status

    def _cancelled(self) -> bool:
        # Without its directory the job could never be cancelled: somebody deleted it.
        return self.told or self.job.told_to_end() or not self.job.path.exists()

    def _note(self, **changes: Any) -> None:
        """Record the job's state; when the disk is full, try again later."""
        self.now |= changes
        try:
            self.job.write(self.now)
            self.unsaved = False
        except OSError:
            self.unsaved = True

    def _save_at_last(self) -> None:
        """Wait until the end is recorded, for an hour at most."""
        for _ in range(3600):
            if not self.unsaved or not self.job.path.exists():
                return
            self._pause(1)

    def _keep_fresh(self) -> None:
        self.touched, self.clock = time.monotonic(), clock()
        try:
            self.ticket.touch()
            top: Path = self.job.path
            for path in (*top.iterdir(), top, top.parent, top.parent.parent, top.parent.parent.parent):
                os.utime(path)
        except OSError:
            _complain()
