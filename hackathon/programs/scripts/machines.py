"""The machines that scripts may be for: the user's and the shipped profiles, read when a script is looked at."""

import functools
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.schedulers.scripts import ScriptLanguage, Setting
from hackathon.text.paths import user_config

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster


def machine_of(settings: Iterable[Setting], language: ScriptLanguage) -> "Cluster | None":
    """Return the machine that a script's own settings give away; None where no profile has signs of it."""
    machines = [machine for machine in _machines() if machine.scheduler == language.name and machine.scripts.signs]
    for setting in settings:
        option, _, name = setting.key.partition(" ")
        for machine in machines:
            signs = machine.scripts.signs
            value = signs.get(setting.key)
            resource = signs.get(option) if name else None
            if (value and re.fullmatch(value, setting.value)) or (resource and re.fullmatch(resource, name)):
                return machine
    return None


def machine_with_type(name: str, language: ScriptLanguage) -> "Cluster | None":
    """Return a machine with another scheduler that has a resource type of this name; None where no profile has one."""
    for machine in _machines():
        if machine.scheduler != language.name and machine.dialect.get("queue") == "resource" and name in machine.queues:
            return machine
    return None


def _machines() -> "tuple[Cluster, ...]":
    try:
        folder = user_config()
    except RuntimeError:
        folder = Path()
    return _profiles(folder)


@functools.cache
def _profiles(folder: Path) -> "tuple[Cluster, ...]":
    """Return the profiles that can be read, once for each folder of the user's settings."""
    from hackathon.schedulers.registry import list_clusters

    return tuple(list_clusters()[0])
