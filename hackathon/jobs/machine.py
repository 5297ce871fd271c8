"""The values of `auto` in a cluster profile: the machine on which the toolkit runs."""

import os
from pathlib import Path

from hackathon.schedulers import registry
from hackathon.text.paths import shipped


def cores() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0))


def gpus() -> int:
    """Return the number of NVIDIA GPUs that the driver lists, without starting a program."""
    try:
        return sum(1 for _ in Path("/proc/driver/nvidia/gpus").iterdir())
    except OSError:
        return 0


def likely_cluster() -> str | None:
    """Return the profile to use when the user names none: a machine without a scheduler is a laptop.

    A scheduler whose sites are alike has a shipped profile of its own name. None if they differ too much to guess.
    """
    names = registry.here()
    if not names:
        return "laptop"
    dialect = registry.dialect_type(names[0])
    if dialect is None or not dialect.sites_are_alike:
        return None
    return names[0] if shipped("templates", "clusters", f"{names[0]}.yaml").is_file() else None
