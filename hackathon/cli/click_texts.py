"""Translate click's own texts (usage, options, wrong usage).

click gets them from gettext, by a function `_` in each of its modules; the catalogue replaces it for texts that it
contains. Imported only if the language is not English.
"""

import importlib
from gettext import ngettext as plain_ngettext

from hackathon.text.catalogue.cli.click import MESSAGES
from hackathon.text.messages import message

MODULES = ("core", "decorators", "exceptions", "formatting", "parser", "types")
_KEYS = {english: key for key, (english, _) in MESSAGES.items()}


def install() -> None:
    """Let click's modules use the catalogue; a text missing there stays English."""
    for name in MODULES:
        module = importlib.import_module(f"click.{name}")
        for word, function in (("_", _translated), ("ngettext", _counted)):
            if hasattr(module, word):
                setattr(module, word, function)


def _translated(text: str) -> str:
    key = _KEYS.get(text)
    return text if key is None else message(f"click.{key}")


def _counted(singular: str, many: str, count: int) -> str:
    return _translated(plain_ngettext(singular, many, count))
