"""Jobs on this machine: nothing differs between sites. Inside an allocation each job gets a part of it."""

from dataclasses import dataclass
from typing import ClassVar

from hackathon.schedulers.dialect import Dialect, Header


@dataclass(frozen=True)
class LocalDialect(Dialect):
    """Without keys, jobs share the machine; with them, each has cores and GPUs that no other such job has."""

    this_machine: ClassVar[bool] = True

    cores: str = ""
    """Cores that jobs are given, such as `0-7`. `hackathon tune --inside-allocation` sets these keys itself."""
    cores_each: int = 0
    """Cores of each job; 0: all jobs share the machine's."""
    gpus: str = ""
    """GPUs that jobs are given, such as `0,1`, by number or UUID."""
    gpus_each: int = 0
    """GPUs of each job."""
    step_of: str = ""
    """A Slurm job whose steps the jobs are: Slurm then gives each one its cores and GPUs."""

    @property
    def inside_allocation(self) -> bool:
        """With cores of its own each, jobs share what somebody holds."""
        return self.cores_each > 0

    def command_options(self, header: Header) -> list[str]:
        """Return what the small command is told of a job's part; nothing without one."""
        if not self.cores_each:
            return []
        parts = {"cores": self.cores, "cores-each": self.cores_each, "gpus": self.gpus, "gpus-each": self.gpus_each}
        parts["step-of"] = self.step_of
        return [f"--{name}={value}" for name, value in parts.items() if value]
