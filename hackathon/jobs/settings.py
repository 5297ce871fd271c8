"""Settings of a study's point: the values besides the process count, as text, as a key and back.

Values are one line of CSV (RFC 4180): a value with a comma or a quotation mark is in quotation marks, and a quotation
mark in it is doubled.
"""

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Mapping

from hackathon.config.records import Scalar

Settings = Mapping[str, Scalar]
"""Name of an axis → value, in the order of the axes; empty in a study that varies the process count alone."""


def point_key(processes: int, settings: Settings) -> str:
    """Return the key of a point: the process count, and with settings a digest of them (8 hexadecimal digits)."""
    if not settings:
        return str(processes)
    text = json.dumps(dict(settings), sort_keys=True, ensure_ascii=True, allow_nan=False)
    return f"{processes}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def settings_in(point: object) -> dict[str, Scalar]:
    """Return the settings of a point in the record of a run or a study; empty for any other value."""
    settings = point.get("settings") if isinstance(point, dict) else None
    if not isinstance(settings, dict):
        return {}
    return {str(name): value for name, value in settings.items() if isinstance(value, (str, int, float, bool))}


def settings_text(settings: Settings, separator: str = ", ") -> str:
    """Return settings as text for users: `lr=0.1, launcher=mpirun`; empty without any."""
    return separator.join(f"{name}={value_text(value)}" for name, value in settings.items())


def value_text(value: Scalar) -> str:
    """Return one value as it is written on the command line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return written([str(value)])


def written(values: Iterable[str], quoted: bool = False) -> str:
    """Return values as on the command line behind `NAME=`, with quotes if needed; `values_of` reads them back.

    `quoted`: with quotes around every value.
    """
    stream = io.StringIO()
    # csv also quotes values with letters of the line terminator
    writer = csv.writer(stream, lineterminator="\r\n", quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL)
    writer.writerow(values)
    return stream.getvalue().removesuffix("\r\n")


def values_of(text: str) -> list[str]:
    """Return the values of `VALUE,VALUE,…`. Raises ValueError for text that is not one line of CSV."""
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise ValueError(str(error)) from None
    if len(rows) != 1:
        raise ValueError("not one line")
    return rows[0]
