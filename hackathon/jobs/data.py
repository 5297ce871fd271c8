"""The data that a program needs: where they are, which are missing, and the variables for a job."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hackathon.text.files import read_json

FOLDER = "data"
"""Beside `runs`: on the shared file system, where every node sees it."""
RECORDS = ".hackathon"
"""In FOLDER: one record per name, written last, when the data are complete."""

VARIABLES = ("HK_DATA", "HK_STAGE")
"""Variables that `variables` sets."""


def record_of(folder: Path, name: str) -> dict[str, Any] | None:
    """Return the record of fetched data, or None; `folder` is FOLDER with its path."""
    value = read_json(folder / RECORDS / f"{name}.json")
    return value if isinstance(value, dict) and isinstance(value.get("files"), list) else None


def missing(folder: Path, entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of data that are not fetched, or from another address or with another checksum than declared."""
    names = []
    for entry in entries:
        record = record_of(folder, str(entry["name"]))
        same = record is not None and all(record.get(key) == entry.get(key) for key in ("url", "sha256", "unpack"))
        if not same or not (folder / str(entry["name"])).exists():
            names.append(str(entry["name"]))
    return names


def variables(data: Iterable[Mapping[str, Any]], folder: Path) -> dict[str, str]:
    """Return the variables of a job with data as double-quoted shell text: HK_DATA, and HK_STAGE if data are staged."""
    entries = list(data)
    staged = " ".join(str(entry["name"]) for entry in entries if entry.get("stage"))
    # nodes may know only one of a path's names, so links are not resolved
    path = re.sub(r'([\\"$`])', r"\\\1", str(folder.absolute()))
    return {"HK_DATA": path} | ({"HK_STAGE": staged} if staged else {})
