"""Separate the words of a drawing from its shapes, so that one drawing serves every language.

Axis titles and texts beside marks affect the layout only by a margin, so they are drawn as placeholders and inserted
afterwards. Tooltips are not drawn at all.
"""

from collections.abc import Mapping
from html import escape
from typing import Any

LONGEST = 40
"""The most characters of a word that is inserted afterwards.

The engine truncates longer ones to the available space.
"""
_STAND_IN = "Words{:02d}"


def wordless(spec: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return a Vega-Lite specification with placeholders for its words and without tooltips, and the words in order."""
    words: list[str] = []
    return _walk(spec, words), words


def with_words(svg: str, words: list[str]) -> str:
    """Return a drawing with its words in place of the placeholders, as text."""
    for number, word in enumerate(words):
        svg = svg.replace(f">{_STAND_IN.format(number)}<", f">{escape(word, quote=False)}<")
    return svg


def _walk(value: Any, words: list[str]) -> Any:
    if isinstance(value, list):
        return [_walk(entry, words) for entry in value]
    if not isinstance(value, Mapping):
        return value
    spec = {name: _walk(entry, words) for name, entry in value.items() if name not in ("encoding", "data", "datasets")}
    spec.update({name: value[name] for name in ("data", "datasets") if name in value})
    if "encoding" in value:
        channels = {name: entry for name, entry in value["encoding"].items() if name != "tooltip"}
        for name, key in (("x", "title"), ("y", "title"), ("text", "value")):
            channel = channels.get(name)
            if isinstance(channel, Mapping) and _is_word(channel.get(key)):
                channels[name] = {**channel, key: _STAND_IN.format(len(words))}
                words.append(channel[key])
        spec["encoding"] = channels
    return spec


def _is_word(value: object) -> bool:
    # the engine draws texts with a line break, or in the form of a placeholder
    return (
        isinstance(value, str) and 0 < len(value) <= LONGEST and value.isprintable() and not value.startswith("Words")
    )
