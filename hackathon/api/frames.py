"""Tables for pandas and polars, which are imported only here and only when a table is asked for."""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from hackathon.text.errors import RequestError

Columns = Mapping[str, Sequence[Any]]
"""Name → values, one for each row."""


def columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Columns:
    """Return the columns of rows."""
    return {name: [row[number] for row in rows] for number, name in enumerate(names)}


def to_pandas(table: Columns) -> Any:
    """Return a `pandas.DataFrame`. Raises RequestError where pandas is not installed."""
    return _library("pandas").DataFrame(dict(table))


def to_polars(table: Columns) -> Any:
    """Return a `polars.DataFrame`. Raises RequestError where polars is not installed."""
    return _library("polars").DataFrame(dict(table), strict=False)


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if (error.name or name).split(".")[0] != name:  # it is installed, and something that it needs is not
            raise
        raise RequestError(
            "api.no_library",
            "{library} is not installed in this Python",
            hint="Install it: pip install {library}",
            library=name,
        ) from None
