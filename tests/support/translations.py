"""The texts of code and templates with their translations, as `po/update.py` collects them."""

import importlib.util
import sys
from functools import cache
from types import ModuleType
from typing import Any

from support.paths import ROOT

LANGUAGES = ("ja",)


@cache
def update() -> ModuleType:
    """Return `po/update.py` as a module."""
    spec = importlib.util.spec_from_file_location("po_update", ROOT / "po" / "update.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["po_update"] = module
    spec.loader.exec_module(module)
    return module


@cache
def texts() -> dict[Any, list[str]]:
    """Return the texts with the files that have them."""
    places: dict[Any, list[str]] = update().texts()
    return places


@cache
def pairs(language: str = "ja") -> tuple[tuple[str, str, str], ...]:
    """Return (files, English, translation) of every text; the form for many where there are two."""
    catalogue = update().read(language)
    rows = []
    for text, files in texts().items():
        message = catalogue.get(text.english, context=text.context or None)
        translation = message.string if message is not None else ""
        rows.append(
            (
                " ".join(files),
                text.many or text.english,
                translation if isinstance(translation, str) else translation[-1],
            )
        )
    return tuple(rows)
