"""Translate click's own texts (usage, options, wrong usage).

click gets them from gettext, by a function `_` in each of its modules; the catalogue replaces it for texts that it
contains. Imported only if the language is not English.
"""

import importlib

from hackathon.text.messages import NP_, pgettext

MODULES = ("core", "decorators", "exceptions", "formatting", "parser", "types")
TEXTS = (
    NP_("click", "Usage:"),
    NP_("click", "Options"),
    NP_("click", "Commands"),
    NP_("click", "Error: {message}"),
    NP_("click", "Try '{command} {option}' for help."),
    NP_("click", "default: {default}"),
    NP_("click", "required"),
    NP_("click", "(dynamic)"),
    NP_("click", "Aborted!"),
    NP_("click", "Show this message and exit."),
    NP_("click", "Got unexpected extra argument ({args})"),
    NP_("click", "Got unexpected extra arguments ({args})"),
    NP_("click", "Missing command."),
    NP_("click", "Missing argument"),
    NP_("click", "Missing option"),
    NP_("click", "No such option {name!r}."),
    NP_("click", "No such command {name!r}."),
    NP_("click", "Did you mean {possibility}?"),
    NP_("click", "(Did you mean one of: {possibilities}?)"),
    NP_("click", "Invalid value: {message}"),
    NP_("click", "Invalid value for {param_hint}: {message}"),
    NP_("click", "Could not open file {filename!r}: {message}"),
    NP_("click", "Option {name!r} does not take a value."),
    NP_("click", "Option {name!r} requires an argument."),
    NP_("click", "{value!r} is not {choice}."),
    NP_("click", "{value!r} is not one of {choices}."),
    NP_("click", "{value} is not in the range {range}."),
    NP_("click", "{value!r} is not a valid {number_type}."),
    NP_("click", "file"),
    NP_("click", "directory"),
    NP_("click", "path"),
    NP_("click", "{name} {filename!r} is a file."),
    NP_("click", "{name} {filename!r} is a directory."),
    NP_("click", "{name} {filename!r} is not readable."),
    NP_("click", "{name} {filename!r} is not writable."),
    NP_("click", "{name} {filename!r} does not exist."),
    NP_("click", "Choose from:\n\t{choices}"),
)
"""What click says, for the translators."""


def install() -> None:
    """Let click's modules use the catalogue; a text missing there stays English."""
    for name in MODULES:
        module = importlib.import_module(f"click.{name}")
        for word, function in (("_", _translated), ("ngettext", _counted)):
            if hasattr(module, word):
                setattr(module, word, function)


def _translated(text: str) -> str:
    return pgettext("click", text)


def _counted(singular: str, many: str, count: int) -> str:
    return _translated(singular if count == 1 else many)
