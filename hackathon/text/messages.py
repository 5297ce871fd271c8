"""Look up the texts a person reads, in English or Japanese.

A message id is `<package>.<key>`; `<package>` names a module of `hackathon.text.catalogue`, loaded when first needed,
so that `--help` does not pay for texts it does not show. Placeholders are `str.format` fields.
"""

import importlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

LANGUAGES = ("en", "ja")
_chosen: str | None = None
# A server's threads make pages in both languages at the same time: a block's choice holds for its own thread only.
_spoken: ContextVar[str | None] = ContextVar("spoken", default=None)


def set_language(language: str | None) -> None:
    """Choose the language for this process; `None` returns to the environment's."""
    global _chosen
    _chosen = _known(language)


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Choose the language inside a `with` block of this thread: one process makes pages in two languages."""
    token = _spoken.set(_known(language))
    try:
        yield
    finally:
        _spoken.reset(token)


def _known(language: str | None) -> str | None:
    if language is not None and language not in LANGUAGES:
        raise ValueError(f"language must be one of {', '.join(LANGUAGES)}, not {language!r}")
    return language


def language(environment: Mapping[str, str] | None = None) -> str:
    """Return `en` or `ja`: what was chosen, else HACKATHON_LANG, else the locale (LC_ALL, LC_MESSAGES, LANG)."""
    chosen = _spoken.get() or _chosen
    if chosen is not None:
        return chosen
    environment = os.environ if environment is None else environment
    for name in ("HACKATHON_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = environment.get(name, "")
        if value:
            return "ja" if value.lower().startswith("ja") else "en"
    return "en"


def lookup(identifier: str) -> tuple[str, str] | None:
    """Return (English, Japanese) of a message id, or None when the catalogue does not have it."""
    package, _, key = identifier.partition(".")
    try:
        module = importlib.import_module(f"hackathon.text.catalogue.{package}")
    except ModuleNotFoundError:
        return None
    pair: tuple[str, str] | None = module.MESSAGES.get(key)
    return pair


def message(identifier: str, **values: object) -> str:
    """Return the message in the current language with its placeholders filled.

    Raises KeyError for an unknown id: that is a defect of the program, and a test looks for it.
    """
    pair = lookup(identifier)
    if pair is None:
        raise KeyError(f"no message {identifier!r} in the catalogue")
    text = pair[LANGUAGES.index(language())]
    return text.format(**values) if values else text


def localized(title: object, fallback: str = "") -> str:
    """Return the text of a `{en: …, ja: …}` mapping (or of a plain string) in the current language."""
    if isinstance(title, Mapping):
        for code in (language(), "en", "ja"):
            if title.get(code):
                return str(title[code])
        return fallback
    return str(title) if title else fallback
