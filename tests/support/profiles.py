"""Shipped clusters as they are from afar: whatever file systems this machine has, it is not one of theirs."""

import re

from hackathon.text.paths import shipped, user_config

_LINE = re.compile(r" *(- )?visible_from_nodes\b.*\n")


def visible_everywhere(cluster: str) -> None:
    """Give the user a profile of this cluster that names no file systems of its nodes.

    A machine that has them (`/lustre` is on many) is taken for the cluster's, which refuses jobs below pytest's folder.
    """
    folder = user_config() / "clusters"
    folder.mkdir(parents=True, exist_ok=True)
    text = (shipped("templates", "clusters") / f"{cluster}.yaml").read_text()
    (folder / f"{cluster}.yaml").write_text(_LINE.sub("", text))
