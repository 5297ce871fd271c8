"""Mask a rendered page: every text, every visible attribute, and its data.

Views compute with the original values, so that their links and keys work, and no view can forget to mask.
"""

import json
import re
from collections.abc import Container
from html import escape, unescape

from hackathon.diagnosis.scrub import REMOVED, is_secret
from hackathon.web.masking.mask import Mask

_TAG = re.compile(r"(<[^>]*>)")
_READ = re.compile(r'(\s(?:aria-[a-z]+|title|alt|content|value|label|placeholder|datetime|data-[\w-]+|href)=")([^"]*)"')
_KEY_LINE = re.compile(r"\s*(?:\S{0,60} )?[A-Za-z0-9+/=]{16,80}\s*\Z")
_VERBATIM = ("pre", "textarea")
_LABELS, _VALUES = ("tr", "th", "dt"), ("td", "dd")
_DATA = ' type="application/json"'


def mask_page(page: str, mask: Mask, own: Container[str] = ()) -> str:
    """Return an HTML page masked, and without the empty lines and indentation of its template.

    Addresses in `own` stay: they are files of the site, whose names are masked already.
    """
    pieces = _TAG.split(page)
    verbatim, inside_key = 0, False
    label, labelled = "", False
    has_key = "PRIVATE KEY" in page
    tag = ""
    for number, piece in enumerate(pieces):
        if number % 2:
            tag = piece
            name = piece[1:10].lstrip("/").split(" ")[0].rstrip(">").lower()
            if name in _VERBATIM:
                verbatim += -1 if piece.startswith("</") else 1
            if name in _LABELS and not piece.startswith("</"):
                label, labelled = "", name != "tr"
            elif name in _LABELS or name in _VALUES:
                labelled = False
            if '="' in piece:
                pieces[number] = _READ.sub(lambda match: _attribute(match, mask, own), piece)
        elif piece:
            if tag.startswith("<style"):
                continue
            if tag.startswith("<script"):
                pieces[number] = _data(piece, mask) if _DATA in tag else piece
                continue
            if not piece.strip():
                pieces[number] = piece if verbatim else "\n" if "\n" in piece else " "
                continue
            if has_key:
                begins, ends = "BEGIN " in piece, "-----END" in piece
                if inside_key and not begins and (ends or _KEY_LINE.match(unescape(piece))):
                    pieces[number] = REMOVED
                    inside_key = not ends
                    continue
                inside_key = "PRIVATE KEY" in piece and begins and not ends
            if labelled:
                label += unescape(piece)
            elif label and is_secret(label.strip()):  # the value is in the next cell
                pieces[number] = mask.entry(label.strip(), piece)
                continue
            pieces[number] = _text(piece, mask)
    return "".join(pieces)


def _attribute(match: re.Match[str], mask: Mask, own: Container[str]) -> str:
    if match[1] == ' href="' and (match[2].partition("#")[0] in own or match[2].startswith("#")):
        return match[0]
    return f'{match[1]}{_text(match[2], mask)}"'


def _text(raw: str, mask: Mask) -> str:
    plain = unescape(raw) if "&" in raw else raw
    masked = mask.text(plain)
    return raw if masked == plain else escape(masked)


def _data(raw: str, mask: Mask) -> str:
    try:
        value = mask.value(json.loads(raw))
    except ValueError:
        return escape(mask.text(raw))
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
