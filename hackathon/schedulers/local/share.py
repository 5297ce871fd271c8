"""A job's part of an allocation: cores and GPUs that no other job of this user on this machine has.

Each core and each GPU is a file in the user's own folder, locked (flock) by its job's supervisor: the kernel releases
it when the supervisor ends, for any reason. Jobs that are steps of a Slurm job need no files: Slurm assigns each step
its part (`srun --exact`), and lets those wait that do not fit.
"""

import fcntl
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hackathon.text.errors import RequestError

MOST = 100_000
"""Number of cores or GPUs from which a list must be a mistake."""
_UNIT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}\Z", re.ASCII)
_RANGE = re.compile(r"(\d{1,6})-(\d{1,6})\Z", re.ASCII)
_STEP_OF = re.compile(r"\d{1,15}(_\d{1,9})?\Z", re.ASCII)


class Part(NamedTuple):
    """The part of an allocation that a job needs."""

    cores: str = ""
    """Cores to choose from, as `0-3,8`; empty for steps, whose cores Slurm chooses."""
    cores_each: int = 1
    gpus: str = ""
    """GPUs to choose from."""
    gpus_each: int = 0
    step_of: str = ""
    """The Slurm job whose step it is; empty without one."""

    @classmethod
    def of(cls, words: Sequence[str]) -> "Part":
        """Return the part of `--cores=0-3 --cores-each=2 …`. Raises RequestError."""
        values: dict[str, Any] = {}
        for word in words:
            name, sign, value = word.removeprefix("--").partition("=")
            name = name.replace("-", "_")
            if not sign or not value or name in values:
                raise RequestError(
                    "local.part", "The part of an allocation that a job shall have is not valid: {word}", word=word
                )
            if name in ("cores_each", "gpus_each") and value.isascii() and value.isdigit() and 0 < int(value) <= MOST:
                values[name] = int(value)
            elif (name in ("cores", "gpus") and units(value)) or (name == "step_of" and _STEP_OF.match(value)):
                values[name] = value
            else:
                raise RequestError(
                    "local.part", "The part of an allocation that a job shall have is not valid: {word}", word=word
                )
        part = cls(**values)
        enough = part.step_of or (
            len(units(part.cores)) >= part.cores_each and len(units(part.gpus)) >= part.gpus_each
        )  # fmt: skip
        if not enough:
            raise RequestError(
                "local.part",
                "The part of an allocation that a job shall have is not valid: {word}",
                word=" ".join(words),
            )
        return part


def units(text: str) -> list[str]:
    """Return the names in a list such as `0-3,8` or `GPU-1f2e,GPU-3a4b`, each once; none for invalid text."""
    names: dict[str, None] = {}
    for word in text.split(",") if text else ():
        ends = _RANGE.match(word)
        if ends is not None:
            low, high = int(ends[1]), int(ends[2])
            if low > high or high - low >= MOST:
                return []
            names |= dict.fromkeys(map(str, range(low, high + 1)))
        elif _UNIT.match(word):
            names[word] = None
        else:
            return []
    return list(names)


class UnitTicket:
    """The cores and GPUs of one job; replaces a `slots.Ticket`."""

    def __init__(self, folder: Path, part: Part) -> None:
        self.folder = folder
        self.part = part
        self.cores: list[str] = []
        self.gpus: list[str] = []
        self._files: list[int] = []

    def join(self) -> bool:
        """Create the folder of the files. Raises OSError."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        return True

    def start(self, total: int) -> bool:
        """Return True when the job has all its units; until then it has none. Raises OSError.

        Only one job at a time takes units, so that two never wait for each other's.
        """
        if self.part.step_of:
            return True
        turn = os.open(self.folder / "turn", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(turn, fcntl.LOCK_EX)
            self.cores = self._take("core", units(self.part.cores), self.part.cores_each)
            self.gpus = self._take("gpu", units(self.part.gpus), self.part.gpus_each)
        finally:
            os.close(turn)
        if len(self.cores) < self.part.cores_each or len(self.gpus) < self.part.gpus_each:
            self.leave()
            return False
        return True

    def _take(self, kind: str, names: Sequence[str], count: int) -> list[str]:
        taken: list[str] = []
        for name in names:
            if len(taken) == count:
                break
            file = os.open(self.folder / f"{kind}-{name}", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
                continue
            self._files.append(file)
            taken.append(name)
        return taken

    def touch(self) -> None:
        """Mark the files as used, for programs that clean /tmp."""
        for file in self._files:
            os.utime(file)

    def leave(self) -> None:
        """Release everything."""
        for file in self._files:
            os.close(file)
        self._files, self.cores, self.gpus = [], [], []

    # ---- in the process that becomes the job's script

    def bind(self) -> None:
        """Bind this process and its children to the job's cores; missing cores are ignored."""
        available = os.sched_getaffinity(0)
        cores = {int(name) for name in self.cores if name.isdigit()} & available
        if cores:
            os.sched_setaffinity(0, cores)

    def variables(self) -> Mapping[str, str]:
        """Return the environment variables that describe the job's part to programs."""
        if self.part.step_of:
            return {}
        mine = ",".join(self.gpus)
        # otherwise mpirun binds the first ranks of every job to the same cores
        unbound = {"OMPI_MCA_hwloc_base_binding_policy": "none", "PRTE_MCA_hwloc_default_binding_policy": "none"}
        return {**unbound, "CUDA_VISIBLE_DEVICES": mine} if self.part.gpus else unbound

    def argv(self, words: Sequence[str], name: str, directory: str) -> list[str]:
        """Return the command that runs a script: these words, or srun with them as a separate step.

        `--mem=0`: a step without a memory request takes all of its node's memory, so that the next step waits.
        """
        part = self.part
        if not part.step_of:
            return list(words)
        return [
            "srun", f"--jobid={part.step_of}", "--exact", "--nodes=1", "--ntasks=1",
            f"--cpus-per-task={part.cores_each}", f"--gres={f'gpu:{part.gpus_each}' if part.gpus_each else 'none'}",
            "--mem=0", "--kill-on-bad-exit=1", "--input=none", "--unbuffered", f"--job-name={name}",
            f"--chdir={directory}", *words,
        ]  # fmt: skip
