"""The words of a drawing apart from its shapes: one drawing then serves every language.

Titles of axes and letters beside marks take no part in the layout but for a margin, so they are drawn as stand-ins and
put in afterwards. Tooltips are not drawn at all.
"""

from collections.abc import Mapping
from html import escape
from typing import Any

LONGEST = 40
"""Letters of a word that is put in afterwards; the engine cuts longer ones to the room they have."""
_STAND_IN = "Words{:02d}"


def wordless(spec: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return a Vega-Lite specification with stand-ins for its words and without tooltips, and the words in order."""
    words: list[str] = []
    return _walk(spec, words), words


def with_words(svg: str, words: list[str]) -> str:
    """Return a drawing with the words in place of their stand-ins, as text."""
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
    # a line break, or a stand-in's own form, is left to the engine
    return (
        isinstance(value, str) and 0 < len(value) <= LONGEST and value.isprintable() and not value.startswith("Words")
    )
