"""What an address asks of a page: its kind, its key, and options."""

from typing import NamedTuple

from hackathon.web.page.tables import is_option

Options = tuple[tuple[str, str], ...]
"""What an address asks of a page beside its kind and key: (name, value), in the order given."""
OPTIONS = {
    "run": frozenset({"x", "y", "smooth"}),
    "log": frozenset({"find", "line"}),
    "runs": frozenset({"find", "team", "state", "study", "sort", "page"}),
    "compare": frozenset({"run", "x", "y", "smooth"}),
    "scaling": frozenset({"team", "references"}),
    "board": frozenset({"find"}),
}
"""Kind → the options that its `values(source, key, options)` takes; its tables have their own (`is_option`)."""
LONGEST_OPTION, MOST_OPTIONS = 200, 64


class PageAddress(NamedTuple):
    """What page is asked for."""

    kind: str
    key: str
    language: str
    options: Options = ()


def known_options(kind: str, pairs: Options) -> Options:
    """Return those options that a kind of page takes, without empty and endless ones."""
    names = OPTIONS.get(kind, frozenset())
    options = [
        (name, value)
        for name, value in pairs
        if (name in names and 0 < len(value) <= LONGEST_OPTION) or is_option(kind, name, value)
    ]
    return tuple(options[:MOST_OPTIONS])


def option(options: Options, name: str, default: str = "") -> str:
    """Return the first value of an option."""
    return next((value for key, value in options if key == name), default)
