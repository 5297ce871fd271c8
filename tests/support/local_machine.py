"""A `local` scheduler of its own for a test: jobs, waiting for conditions, and nothing left running afterwards."""

from pathlib import Path

from hackathon.schedulers import runner
from hackathon.schedulers.base import JobState, Submission
from hackathon.schedulers.local import processes, state
from hackathon.schedulers.local.commands import Local
from support.patience import until


class Machine:
    """Jobs of one test, below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scheduler = Local()
        self.ids: list[str] = []
        self.options: tuple[str, ...] = ()
        """What the dialect adds to each submission."""

    def submit(
        self,
        body: str,
        *,
        head: str = "#HK walltime=3600\n",
        name: str = "hk-abcdefgh",
        after: tuple[str, str] | None = None,
        directory: Path | None = None,
    ) -> str:
        """Submit a script and return its job id."""
        directory = directory or self.folder / f"run-{len(self.ids)}"
        directory.mkdir(exist_ok=True)
        script = directory / "job.sh"
        script.write_text(f"#!/bin/bash\n{head}{body}\n")
        job_id = runner.submit(
            self.scheduler, Submission(script, directory, name, directory / "output", after, self.options)
        )
        self.ids.append(job_id)
        return job_id

    def state(self, job_id: str) -> JobState:
        """Return what the scheduler says now."""
        return runner.status(self.scheduler, [job_id]).jobs[job_id]

    def reach(self, job_id: str, word: str) -> JobState:
        """Wait until a job is in a state, and return it."""
        until(lambda: self.state(job_id).state == word)
        return self.state(job_id)

    def supervisor(self, job_id: str) -> int:
        """Return the process number of a job's supervisor."""
        log = self.path(job_id) / "supervisor.log"
        for path in (state.root() / "supervisors").iterdir():
            pid = path.name.partition("-")[0]
            if alive(int(pid)) and Path(f"/proc/{pid}/fd/2").readlink() == log:
                return int(pid)
        raise AssertionError("no supervisor")

    def path(self, job_id: str) -> Path:
        """Return where the job's state lies."""
        return state.root() / "jobs" / job_id.partition(".")[0]

    def close(self) -> None:
        """End all jobs and see that no process of them is left."""
        for job_id in self.ids:
            runner.cancel(self.scheduler, job_id)
        for job_id in self.ids:
            until(lambda job_id=job_id: self.state(job_id).state not in state.OPEN)  # type: ignore[misc]


def alive(pid: int) -> bool:
    """Return True while a process is there and not a zombie."""
    return processes.identity(pid) is not None


def read_pid(path: Path) -> int:
    """Wait for a file that holds a process number."""
    until(lambda: path.exists() and path.read_text().strip().isdigit())
    return int(path.read_text())
