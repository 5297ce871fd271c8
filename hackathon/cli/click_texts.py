"""Let click say its own texts (usage, options, wrong usage) in the reader's language.

click asks gettext for them, by a function `_` of each of its modules; the catalogue takes its place where it knows the
text. Imported only where the language is not English.
"""

import importlib
from gettext import ngettext as plain_ngettext

from hackathon.text.catalogue.cli.click import MESSAGES
from hackathon.text.messages import message

MODULES = ("core", "decorators", "exceptions", "formatting", "parser", "types")
_KEYS = {english: key for key, (english, _) in MESSAGES.items()}


def install() -> None:
    """Let click's modules ask the catalogue; a text that it lacks stays English."""
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
