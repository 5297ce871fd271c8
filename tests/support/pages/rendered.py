"""A view's page as its template renders it, and what is in it for a reader: elements, texts, links."""

from collections import Counter
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

from hackathon.index.catalog import Catalog
from hackathon.text.messages import speaking
from hackathon.web.page.pages import Site, render
from hackathon.web.routing.registry import VIEWS, values_of

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>\"'>{{7*7}}{% raw %} \x1b[31mred\x1b]0;title\x07\x9b2J"
    "\u202eevil\u2066 =cmd|'/c calc'!A0 ### 日本語 🎉 \x00\x08 &amp; ]]> {unknown}"
)
"""What must come out as harmless text wherever people write something."""
NOT_SHOWN = ("\x1b", "\x07", "\x9b", "\x00", "\x08", "\u202e", "\u2066")
_VOID = frozenset({"meta", "link", "br", "img", "input", "hr", "rect"})


class Reader(HTMLParser):
    """Reads a page; what browsers do not show is left out of its text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: Counter[str] = Counter()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.headings: list[str] = []
        self._texts: list[str] = []
        self._inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        if tag not in _VOID:
            self._inside.append(tag)
        if tag in ("h1", "h2", "h3", "h4"):
            self.headings.append("")
        for name, value in attrs:
            self.attributes.add(name)
            if name == "id":
                self.ids.append(value or "")
            if name == "href" and tag == "a":
                self.links.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not {"style", "script", "head"} & set(self._inside):
            self._texts.append(data)
        if {"h1", "h2", "h3", "h4"} & set(self._inside):
            self.headings[-1] += data

    @property
    def text(self) -> str:
        return " ".join("".join(self._texts).split())


class Page(HTMLParser):
    """Every tag with its attributes, in order, and all text of a page, shown or not."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def link(kind: str, key: str) -> str | None:
    """Return an address for every kind; that of a run shows its key."""
    if kind in ("team", "study", "run", "diff", "profile", "speedup"):
        return f"/{kind}?key={quote(key)}" if key else None
    return f"/{kind}" if kind in VIEWS or kind == "home" else None


def page(kind: str, source: Catalog, language: str = "en", key: str = "") -> str:
    """Return a view's page in a language, as the dashboard renders it."""
    with speaking(language):
        found = values_of(kind, key, source)
    assert found is not None, f"no page {kind} {key}"
    template, values = found
    site = Site("Event", live=source.live, masked=not source.live)
    return render(template, site, language, link, now=source.now, here=kind, **values)


def read(html: str) -> Reader:
    """Return what is in a page, having looked that it is sound: one h1, unique ids, nothing that a policy forbids."""
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.elements["h1"] == 1
    assert len(reader.ids) == len(set(reader.ids)), "an id twice"
    assert "style" not in reader.attributes, "a policy without inline style forbids it"
    assert not [name for name in reader.attributes if name.startswith("on")]
    return reader


def harmless(html: str) -> Reader:
    """Return a page that HOSTILE stands in, having looked that all of it came out as text without its steering."""
    reader = read(html)
    assert not reader.elements["script"] and not reader.elements["img"]
    assert not [letter for letter in NOT_SHOWN if letter in html]
    assert "<script>alert(1)</script>" in reader.text, "shown as it was typed"
    assert "{{7*7}}" in reader.text, "no template is made of it"
    return reader


def texts(value: Any) -> Any:
    """Return a record's texts, for tests that look for one anywhere."""
    from dataclasses import fields, is_dataclass

    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from texts(each)
    elif is_dataclass(value):
        for entry in fields(value):
            yield from texts(getattr(value, entry.name))
