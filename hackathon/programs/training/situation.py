"""Where and how large a program is to run, as far as it is known when it is read."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hackathon.jobs.installed import InstalledPackages


@dataclass(frozen=True)
class TrainingSituation:
    """None: not known."""

    processes: int | None = None
    """Ranks that somebody asked for."""
    nodes: int | None = None
    per_node: int | None = None
    """Ranks on a node."""
    cluster: str = ""
    visible: tuple[str, ...] = ()
    """Folders that the cluster's nodes see, where the profile says so."""
    offline: bool = False
    """The nodes have no Internet access."""
    launcher: str | None = None
    """What starts the ranks."""
    launcher_given: bool = False
    """The project says what starts the ranks."""
    gpus: bool | None = None
    """The nodes have GPUs."""
    own_gpus: bool = False
    """Each rank sees only its own GPUs, numbered from 0."""
    words: tuple[str, ...] = ()
    """Words of the project's command."""
    packages: "InstalledPackages | None" = None
    """What the job's Python can import."""

    def hides(self, text: str) -> bool:
        """Return whether a text is a path in a home directory that the nodes do not see."""
        return bool(re.fullmatch(r"/home/[\w.@+-]+/\S+", text)) and not any(
            text == folder or text.startswith(folder.rstrip("/") + "/") for folder in self.visible
        )

    def meets(self, name: str) -> bool:
        """Return whether all ranks meet though a program sets one of these variables to a fixed value.

        On one node they meet at any address of it; under torchrun nobody listens at another port.
        """
        if name == "MASTER_PORT":
            return self.launcher not in (None, "torchrun")
        return name == "MASTER_ADDR" and self.nodes == 1
