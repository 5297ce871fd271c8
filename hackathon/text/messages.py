"""Look up the texts for people, in English or Japanese.

A message id is `<module>.<key>`; `<module>` names a module of `hackathon.text.catalogue`, whose folders mirror the
packages (`FOLDERS`). A module is loaded on first use, so that `--help` does not load unused texts. Placeholders are
`str.format` fields; `{jobs} {jobs:job|jobs}` selects the word by the number, and `{run!q}` is quoted for a shell, as
required for every value in a command that somebody may paste.
"""

import importlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from hackathon.text.catalogue import FOLDERS

LANGUAGES = ("en", "ja")
_WORD = re.compile(r"\{(\w+)!q\}")
_PLURAL = re.compile(r"\{(\w+):([^{}|]*)\|([^{}|]*)\}")
_chosen: str | None = None
# A server's threads render pages in both languages at the same time, so a block's choice is valid only for its thread.
_spoken: ContextVar[str | None] = ContextVar("spoken", default=None)
_worded: ContextVar[Callable[[str], str] | None] = ContextVar("worded", default=None)


def set_language(language: str | None) -> None:
    """Choose the language of this process; `None` returns to the environment's."""
    global _chosen
    _chosen = _known(language)


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Choose the language inside a `with` block of this thread: one process may render pages in two languages."""
    token = _spoken.set(_known(language))
    try:
        yield
    finally:
        _spoken.reset(token)


@contextmanager
def worded(change: Callable[[str], str]) -> Iterator[None]:
    """Change every text of the catalogue inside a `with` block of this thread before its placeholders are filled."""
    token = _worded.set(change)
    try:
        yield
    finally:
        _worded.reset(token)


def _known(language: str | None) -> str | None:
    if language is not None and language not in LANGUAGES:
        raise ValueError(f"language must be one of {', '.join(LANGUAGES)}, not {language!r}")
    return language


def language(environment: Mapping[str, str] | None = None) -> str:
    """Return `en` or `ja`: the chosen language, else HACKATHON_LANG, else the locale (LC_ALL, LC_MESSAGES, LANG)."""
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
    name, _, key = identifier.partition(".")
    if name not in FOLDERS:
        return None
    module = importlib.import_module(f"hackathon.text.catalogue.{FOLDERS[name]}.{name}")
    pair: tuple[str, str] | None = module.MESSAGES.get(key)
    return pair


def message(identifier: str, **values: object) -> str:
    """Return the message in the current language with its placeholders filled.

    Raises KeyError for an unknown id: that is a bug, for which a test searches.
    """
    pair = lookup(identifier)
    if pair is None:
        raise KeyError(f"no message {identifier!r} in the catalogue")
    text = pair[LANGUAGES.index(language())]
    change = _worded.get()
    if change is not None:
        text = change(text)
    return _quoted(_counted(text, values), values).format(**values) if values else text


def _quoted(text: str, values: Mapping[str, object]) -> str:
    """Return the text with each `{name!q}` replaced by the value, quoted as a word of a shell command."""
    if "!q}" not in text:
        return text
    import shlex

    return _WORD.sub(lambda field: re.sub(r"[{}]", r"\g<0>\g<0>", shlex.quote(str(values[field[1]]))), text)


def _counted(text: str, values: Mapping[str, object]) -> str:
    """Return the text with each `{count:one|many}` replaced by the word for the count."""
    if "|" not in text:
        return text
    return _PLURAL.sub(lambda field: field[2] if str(values.get(field[1])) == "1" else field[3], text)


def localized(title: object, fallback: str = "") -> str:
    """Return the text of a `{en: …, ja: …}` mapping (or of a plain string) in the current language."""
    if isinstance(title, Mapping):
        for code in (language(), "en", "ja"):
            if title.get(code):
                return str(title[code])
        return fallback
    return str(title) if title else fallback
