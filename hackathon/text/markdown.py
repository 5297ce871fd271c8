"""Escape other people's texts in Markdown with backslashes.

CommonMark allows a backslash before any ASCII punctuation (section 2.4). GitHub's tables, strikethrough, formulas and
addresses without brackets (GFM, sections 4.10, 6.5, 6.9) are covered too.
"""

import re

_ACTIVE = re.compile(r"[\\`*\[\]<>|~$]|&(?=#?\w+;)")
_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_HASH = re.compile(r"(?:(?<=\s)|^)#|#(?=\s|$)")
_BEGINNING = re.compile(r"([-+])(?=[\s+-]|$)|(=)(?==*\s*$)|(\d{1,9})([.)])(?=\s|$)")
_ADDRESS = re.compile(r":(?=//)|(?<=www)\.|(?<=[\w.+-])@(?=\w)|(?<=mailto):|(?<=xmpp):", re.IGNORECASE)


def escaped(text: str) -> str:
    """Return a text as one line of Markdown that renders literally in a paragraph, a heading or a table."""
    marked = _ACTIVE.sub(lambda match: f"\\{match[0]}", " ".join(text.split()))
    marked = _ADDRESS.sub(lambda match: f"\\{match[0]}", marked)
    marked = _HASH.sub(r"\\#", _UNDERSCORE.sub(r"\\_", marked))
    return _BEGINNING.sub(_beginning, marked, count=1) if _BEGINNING.match(marked) else marked


def _beginning(match: re.Match[str]) -> str:
    sign = match[1] or match[2]
    return f"\\{sign}" if sign else f"{match[3]}\\{match[4]}"
