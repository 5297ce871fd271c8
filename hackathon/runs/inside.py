"""A run's folder as somebody else's, who may have put anything there."""

from pathlib import Path

from hackathon.text.inside import Inside


def inside_of(run: Path) -> Inside:
    """Return the reader of a run's folder: links lead nowhere outside, but in an adopted run to its job's own folder.

    What the owner of the folder could have copied there is all that such a link can show.
    """
    own = Inside(run)
    folder = own.json("client/adopted.json").get("directory")
    return Inside(run, [Path(folder)]) if isinstance(folder, str) and folder.startswith("/") else own
