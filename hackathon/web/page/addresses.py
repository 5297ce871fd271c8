"""The parts of a page's address: kind, key, and options."""

from typing import NamedTuple

from hackathon.web.page.tables import is_option

Options = tuple[tuple[str, str], ...]
"""Options of an address besides kind and key: (name, value), in their order."""
OPTIONS = {
    "now": frozenset({"reload"}),
    "run": frozenset({"x", "y", "smooth"}),
    "log": frozenset({"find", "line"}),
    "runs": frozenset({"find", "team", "state", "study", "sort", "page"}),
    "compare": frozenset({"run", "x", "y", "smooth"}),
    "scaling": frozenset({"team", "references"}),
    "board": frozenset({"find"}),
}
"""Kind → the options that its `values(source, key, options)` accepts; tables have their own (`is_option`)."""
LONGEST_OPTION, MOST_OPTIONS = 200, 64


class PageAddress(NamedTuple):
    kind: str
    key: str
    language: str
    options: Options = ()


def known_options(kind: str, pairs: Options) -> Options:
    """Return the options that a kind of page accepts, without empty and very long ones."""
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
