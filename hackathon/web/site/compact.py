"""Shorten a page without changing its elements, attributes and texts, by omitting optional parts of HTML.

These are white space beside blocks, end tags that the next tag implies (HTML standard, section 13.1.2.4), and quotes
around simple values. Preformatted texts, scripts and styles stay unchanged.
"""

import re

_TAG = re.compile(r"(<[^>]*>)")
_VALUE = re.compile(r'="([^"]*)"')
_PLAIN = re.compile(r"[A-Za-z0-9_.:#%,()+*!?;/|@~\u0080-\uffff-]+\Z")
_VERBATIM = frozenset({"pre", "textarea", "script", "style"})
_BLOCKS = frozenset(
    {
        "html", "head", "meta", "link", "title", "body", "header", "footer", "main", "nav", "section", "div", "p", "ul",
        "ol", "li", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "figcaption",
        "details", "summary", "h1", "h2", "h3", "h4", "pre", "form", "script", "style", "blockquote", "hr", "br",
    }
)  # fmt: skip
_ENDS_PARAGRAPH = frozenset(
    {
        "blockquote", "details", "div", "dl", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4",
        "header", "hr", "main", "nav", "ol", "p", "pre", "section", "table", "ul",
    }
)  # fmt: skip
_IMPLIED = {
    "li": frozenset({"li", "/ul", "/ol"}), "dt": frozenset({"dt", "dd"}), "dd": frozenset({"dt", "dd", "/dl", "/div"}),
    "td": frozenset({"td", "th", "/tr"}), "th": frozenset({"td", "th", "/tr"}),
    "tr": frozenset({"tr", "/tbody", "/thead"}), "thead": frozenset({"tbody"}), "tbody": frozenset({"tbody", "/table"}),
    "caption": frozenset({"thead", "tbody"}),
    "p": _ENDS_PARAGRAPH
    | {"/div", "/section", "/main", "/footer", "/li", "/dd", "/td", "/th", "/figure", "/details", "/header", "/form"},
}  # fmt: skip
"""Element → the tags before which its end tag is optional; `/x` is the end of a parent."""


def compact(page: str) -> str:
    """Return a shorter page that browsers parse to the same document."""
    tokens = [token for token in _TAG.split(page) if token]
    names = [_name(token) for token in tokens]
    parts: list[str] = []
    verbatim = 0
    for number, token in enumerate(tokens):
        name = names[number]
        if name.lstrip("/") in _VERBATIM:
            verbatim += -1 if name.startswith("/") else 1
            parts.append(_short(token))
        elif not name:
            raw = verbatim and names[number - 1] in ("script", "style")
            text = token if verbatim else _text(token, names, number)
            parts.append(text if raw else text.replace("&#39;", "'").replace("&#34;", '"'))
        elif not name.startswith("/"):
            parts.append(_short(token))
        elif not _is_implied(name[1:], _following(tokens, names, number)):
            parts.append(token)
    return "".join(parts)


def _name(token: str) -> str:
    """Return an element's name, `/name` for its end tag, empty for a text."""
    if not token.startswith("<"):
        return ""
    return token[1:-1].split(None, 1)[0].rstrip("/").lower() if len(token) > 2 else "<"


def _text(text: str, names: list[str], number: int) -> str:
    before = names[number - 1].lstrip("/") if number else "html"
    after = names[number + 1].lstrip("/") if number + 1 < len(names) else "html"
    if before in _BLOCKS:
        text = text.lstrip("\n ")
    if after in _BLOCKS:
        text = text.rstrip("\n ")
    return text


def _following(tokens: list[str], names: list[str], number: int) -> str:
    """Return the name of the next tag; empty if a text precedes it."""
    for index in range(number + 1, len(tokens)):
        if names[index]:
            return names[index]
        if tokens[index].strip("\n "):
            return ""
    return "/html"


def _is_implied(name: str, following: str) -> bool:
    if name in ("html", "body"):
        return True
    return following in _IMPLIED.get(name, ())


def _short(tag: str) -> str:
    """Return a start tag without optional quotes."""
    if '="' not in tag:
        return tag
    if not tag.endswith("/>"):
        return _VALUE.sub(_unquoted, tag)
    inside = _VALUE.sub(_unquoted, tag[:-2].rstrip())
    return f"{inside}/>" if inside.endswith('"') else f"{inside} />"


def _unquoted(match: re.Match[str]) -> str:
    value = match[1]
    if _PLAIN.match(value) and not value.endswith("/"):
        return f"={value}"
    return f'="{value.replace("&#39;", chr(39))}"'
