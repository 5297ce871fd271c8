"""Tables for pandas and polars, which are imported only here and only when a table is asked for."""

from collections.abc import Mapping, Sequence
from typing import Any

from hackathon.api.libraries import library

Columns = Mapping[str, Sequence[Any]]
"""Name → values, one for each row."""


def columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Columns:
    """Return the columns of rows."""
    return {name: [row[number] for row in rows] for number, name in enumerate(names)}


def to_pandas(table: Columns) -> Any:
    """Return a `pandas.DataFrame`. Raises RequestError where pandas is not installed."""
    return library("pandas").DataFrame(dict(table))


def to_polars(table: Columns) -> Any:
    """Return a `polars.DataFrame`. Raises RequestError where polars is not installed."""
    return library("polars").DataFrame(dict(table), strict=False)
