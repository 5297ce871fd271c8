"""The texts a person reads: English where they are written in the code, translated when they are shown.

`_("{path} cannot be read: {reason}", path=path, reason=reason)` returns a text in the reader's language.
Placeholders are `str.format` fields. `{run!q}` is quoted for a shell, as every value in a command must be that somebody
may paste. `{jobs:job|jobs}` chooses the word by a number where `ngettext` cannot: in a text with several numbers, or
one that is shown later. Without values a text is shown as it stands, braces too. `N_` marks a text that is shown later;
`Message` gives a text the id by which records, JSON and other programs know it.

English needs no file. Another language is loaded from `hackathon/locale` when it is first spoken.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gettext import GNUTranslations

LANGUAGES = ("en", "ja")
_WORD = re.compile(r"\{(\w+)!q\}")
_PLURAL = re.compile(r"\{(\w+):([^{}|]*)\|([^{}|]*)\}")
_CONTEXT = "\x04"
"""What separates a context from its text, in files of gettext, too."""
_chosen: str | None = None
# A server's threads make pages in both languages at the same time: a block's choice holds for its own thread only.
_spoken: ContextVar[str | None] = ContextVar("spoken", default=None)
_worded: ContextVar[Callable[[str], str] | None] = ContextVar("worded", default=None)
_catalogues: dict[str, "GNUTranslations"] = {}


class Message(str):
    """The id of a message, with its English text and with what to do about it; as text it is the id alone."""

    text: str
    hint: str

    def __new__(cls, identifier: str, text: str, *, hint: str = "") -> "Message":
        message = super().__new__(cls, identifier)
        message.text, message.hint = text, hint
        return message

    def __reduce__(self) -> tuple[Callable[[str, str, str], "Message"], tuple[str, str, str]]:
        return _message, (str(self), self.text, self.hint)


def _message(identifier: str, text: str, hint: str) -> Message:
    return Message(identifier, text, hint=hint)


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


@contextmanager
def worded(change: Callable[[str], str]) -> Iterator[None]:
    """Change every text inside a `with` block of this thread before its placeholders are filled."""
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


def _(text: str, /, **values: object) -> str:
    """Return a text, or that of a `Message`, in the current language with its placeholders filled."""
    return _filled(_translated(text.text if isinstance(text, Message) else text, language()), values)


def ngettext(one: str, many: str, count: object, /, **values: object) -> str:
    """Return the text for one or for many in the current language, with its placeholders filled."""
    spoken = language()
    if spoken == "en":
        return _filled(one if str(count) == "1" else many, values)
    return _filled(_catalogue(spoken).ngettext(one, many, 1 if str(count) == "1" else 2), values)


def pgettext(context: str, text: str, /, **values: object) -> str:
    """Return a text whose translation depends on where it stands, with its placeholders filled."""
    return _(f"{context}{_CONTEXT}{text}", **values)


def N_(text: str, /) -> str:
    """Mark a text for translation and return it as it is: it is shown later, by `_`."""
    return text


def NP_(context: str, text: str, /) -> str:
    """Mark a text whose translation depends on where it stands; `_` shows it."""
    return f"{context}{_CONTEXT}{text}"


def texts_of(identifier: str) -> dict[str, str]:
    """Return `text` and `hint` of a `Message`, in English: what one process writes of a failure for another."""
    message = identifier if isinstance(identifier, Message) else Message(identifier, "")
    return {"text": message.text, "hint": message.hint}


def translations(text: str) -> tuple[str, ...]:
    """Return a text in every language, to recognise what was written in any."""
    return tuple(_translated(text, code) for code in LANGUAGES)


def _translated(text: str, spoken: str) -> str:
    if spoken == "en":
        return text.partition(_CONTEXT)[2] or text
    translated = _catalogue(spoken).gettext(text)
    return translated.partition(_CONTEXT)[2] or translated  # the text itself, where nobody has translated it


def _catalogue(spoken: str) -> "GNUTranslations":
    if spoken not in _catalogues:
        from hackathon.text.locale import catalogue

        _catalogues[spoken] = catalogue(spoken)
    return _catalogues[spoken]


def _filled(text: str, values: Mapping[str, object]) -> str:
    change = _worded.get()
    if change is not None:
        text = change(text)
    return _quoted(_counted(text, values), values).format(**values) if values else text


def _quoted(text: str, values: Mapping[str, object]) -> str:
    """Return the text with each `{name!q}` replaced by the value as a word for a shell: it stands in a command."""
    if "!q}" not in text:
        return text
    import shlex

    return _WORD.sub(lambda field: re.sub(r"[{}]", r"\g<0>\g<0>", shlex.quote(str(values[field[1]]))), text)


def _counted(text: str, values: Mapping[str, object]) -> str:
    """Return the text with each `{count:one|many}` replaced by the word that goes with the count."""
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
