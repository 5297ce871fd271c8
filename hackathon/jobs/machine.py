"""What `auto` means in a cluster profile: the machine that we are on."""

import os
import shutil
from pathlib import Path


def cores() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0))


def gpus() -> int:
    """Return the NVIDIA GPUs of this machine as the driver lists them, without starting a program."""
    try:
        return sum(1 for _ in Path("/proc/driver/nvidia/gpus").iterdir())
    except OSError:
        return 0


def likely_cluster() -> str | None:
    """Return the profile to take when nobody named one: a machine without a scheduler is a laptop.

    A machine with `sbatch` is taken for the generic `slurm`; with `qsub` the sites differ too much to guess (None).
    """
    if shutil.which("sbatch"):
        return "slurm"
    if shutil.which("qsub") or Path("/etc/pbs.conf").exists():
        return None
    return "laptop"
