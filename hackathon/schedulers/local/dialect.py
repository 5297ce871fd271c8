"""Jobs on this machine: all sites are alike. Inside an allocation each job gets a part of it."""

from dataclasses import dataclass
from typing import ClassVar

from hackathon.schedulers.dialect import Dialect, Header


@dataclass(frozen=True)
class LocalDialect(Dialect):
    """Without keys, jobs share the machine; with them, each job has its own cores and GPUs."""

    this_machine: ClassVar[bool] = True

    cores: str = ""
    """Cores for all jobs, such as `0-7`. `hackathon tune --inside-allocation` sets these keys itself."""
    cores_each: int = 0
    """Cores per job; 0: all jobs share the machine's."""
    gpus: str = ""
    """GPUs for all jobs, such as `0,1`, by number or UUID."""
    gpus_each: int = 0
    """GPUs per job."""
    step_of: str = ""
    """A Slurm job whose steps the jobs are: Slurm then assigns each one its cores and GPUs."""

    @property
    def inside_allocation(self) -> bool:
        """With cores of their own, jobs share the user's allocation."""
        return self.cores_each > 0

    def command_options(self, header: Header) -> list[str]:
        """Return the helper command's options for a job's part; none without one."""
        if not self.cores_each:
            return []
        parts = {"cores": self.cores, "cores-each": self.cores_each, "gpus": self.gpus, "gpus-each": self.gpus_each}
        parts["step-of"] = self.step_of
        return [f"--{name}={value}" for name, value in parts.items() if value]
