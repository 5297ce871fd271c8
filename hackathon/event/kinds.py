"""The kinds of participants, their order and their labels."""

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hackathon.config.check_event import KINDS
from hackathon.text.messages import LANGUAGES, N_, _, localized, translations
from hackathon.text.normalise import unspaced

if TYPE_CHECKING:
    from hackathon.config.event import Event

_KIND_TEXTS = {
    "undergraduate": N_("undergraduate student"),
    "master": N_("master's student"),
    "doctoral": N_("doctoral student"),
    "staff": N_("university staff"),
    "company": N_("company"),
}

OTHER_WORDS = {
    "undergraduate": ("bachelor", "B3", "B4", "学部", "学部生", "学士", "学士課程"),
    "master": ("master's", "masters", "M1", "M2", "修士", "修士学生", "修士課程学生"),
    "doctoral": ("phd", "ph.d.", "D1", "D2", "D3", "博士", "博士学生", "博士課程学生"),
    "staff": ("faculty", "教員", "職員", "教職員", "研究員"),
    "company": ("industry", "会社", "民間企業"),
}
"""Further words for the kinds in tables of participants, besides their ids and labels."""


def kinds_of(event: "Event") -> list[str]:
    """Return an event's kinds in the order of tables: the built-in kinds, then its own."""
    return [*KINDS, *(kind for kind in event.kinds if kind not in KINDS)]


def kind_label(event: "Event", kind: str) -> str:
    """Return a kind's label in the current language; an empty kind is `not told`."""
    if kind in event.kinds:
        return localized(event.kinds[kind], kind)
    if not kind:
        return _("not given")
    return _(_KIND_TEXTS[kind]) if kind in KINDS else kind


def kind_named(event: "Event | None", text: str) -> str | None:
    """Return the kind for a word: its id or its label in any language; None for another word."""
    words = dict(_known_words())
    for kind, label in (event.kinds if event is not None else {}).items():
        texts = [label.get(code, "") for code in LANGUAGES] if isinstance(label, dict) else [label]  # type: ignore[call-overload]
        words.update({_word(word): kind for word in (kind, *texts) if word})
    return words.get(_word(text))


@functools.cache
def _known_words() -> Mapping[str, str]:
    """Return the words for the built-in kinds."""
    words: dict[str, str] = {}
    for kind in KINDS:
        labels = translations(_KIND_TEXTS[kind])
        words.update({_word(word): kind for word in (kind, *labels, *OTHER_WORDS[kind])})
    return words


def _word(text: str) -> str:
    return unspaced(text).replace("’", "'")
