"""Generate the lists of the reference: commands, keys of files, clusters, failure rules.

Each list follows the committed page with its name, `docs/reference/NAME.md`, which explains it.
"""

import importlib

LISTS = ("clusters", "commands", "files", "rules")
"""Names of the pages that end in such a list, and of the modules here that return it."""


def made_list(name: str) -> str:
    """Return the list of a page as Markdown, in the current language."""
    text: str = importlib.import_module(f"hackathon.cli.reference.{name}").listing()
    return text


def code(text: str) -> str:
    """Return a text as code, for a cell of a table."""
    return f"`{cell(text)}`"


def cell(text: str) -> str:
    """Return a text as a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")
