"""Where and how large a program is to run, as far as it is known when it is read."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Situation:
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
    launcher: bool = False
    """The project says which launcher starts the ranks."""
