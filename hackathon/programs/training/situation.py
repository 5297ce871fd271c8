"""Where and with how many processes a program will run, as far as known."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hackathon.jobs.installed import InstalledPackages
    from hackathon.runs.source.selection import Selection


@dataclass(frozen=True)
class TrainingSituation:
    """None: unknown."""

    processes: int | None = None
    """Requested ranks."""
    nodes: int | None = None
    per_node: int | None = None
    """Ranks per node."""
    cluster: str = ""
    visible: tuple[str, ...] = ()
    """Folders that the cluster's nodes see, if the profile lists them."""
    offline: bool = False
    """The nodes have no Internet access."""
    launcher: str | None = None
    """The launcher of the ranks."""
    launcher_given: bool = False
    """The project names the launcher."""
    gpus: bool | None = None
    """The nodes have GPUs."""
    own_gpus: bool = False
    """Each rank sees only its own GPUs, numbered from 0."""
    words: tuple[str, ...] = ()
    """Words of the project's command."""
    packages: "InstalledPackages | None" = None
    """Packages that the job's Python can import."""
    copy: "Selection | None" = None
    """The files that a run gets."""
    in_place: bool = False
    """The run works in the project's folder itself."""

    def hides(self, text: str) -> bool:
        """Return whether a text is a path in a home directory that the nodes do not see."""
        return bool(re.fullmatch(r"/home/[\w.@+-]+/\S+", text)) and not any(
            text == folder or text.startswith(folder.rstrip("/") + "/") for folder in self.visible
        )

    def meets(self, name: str) -> bool:
        """Return whether all ranks meet although a program sets one of these variables to a fixed value.

        On one node every address of it works; under torchrun no rank listens at another port.
        """
        if name == "MASTER_PORT":
            return self.launcher not in (None, "torchrun")
        return name == "MASTER_ADDR" and self.nodes == 1
