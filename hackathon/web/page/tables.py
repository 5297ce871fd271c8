"""Tables that a reader sorts, filters and pages through: by options in the page's address, on the rendered rows.

A template puts a table into `{% call listed("points") %}`. Its rows are HTML of the toolkit's templates with all texts
escaped, so every tag is a template's, and rows and cells can be found by their tags. A cell is sorted by its text, or
by its `data-order` if the text has no order ("5 min ago"). Without a server, `tables.js` does the same in the browser;
without that, the rows keep their original order.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

from hackathon.text.messages import _

if TYPE_CHECKING:
    from jinja2.runtime import Context
    from markupsafe import Markup

Pairs = Sequence[tuple[str, str]]

PER_PAGE = 50
"""Rows per page."""
SEARCHED = 10
"""A table with more rows has a filter field."""
TABLES: dict[str, frozenset[str]] = {
    "now": frozenset({"well"}),
    "teams": frozenset({"teams"}),
    "team": frozenset({"studies", "speedups", "runs"}),
    "study": frozenset({"points", "runs", "trials"}),
    "run": frozenset({"ranks", "hosts"}),
    "profile": frozenset({"ranks", "operators", "kernels", "device", "roof"}),
    "scaling": frozenset({"overview", "references"}),
    "cluster": frozenset({"queues", "speeds"}),
    "surveys": frozenset({"surveys"}),
}
"""Kind of page → its tables. Several tables of one name are numbered from 1: `queues2`."""
ABSENT = frozenset({"", "–", "?", "[removed]"})
"""Texts of a cell without a value; it comes last in either direction."""

_NAME = re.compile(r"([a-z]{1,20})(?:[1-9][0-9]?)?\.(sort|find|page)")
_VALUES = {
    "sort": re.compile(r"-?[1-9][0-9]?"),
    "find": re.compile(r".{1,200}", re.DOTALL),
    "page": re.compile(r"[1-9][0-9]{0,5}"),
}
_TABLE = re.compile(
    r"(?P<tag><table\b)(?P<before>[^>]*>.*?<thead[^>]*>)(?P<head>.*?)(?P<between></thead>\s*<tbody>)(?P<rows>.*?)(?P<after></tbody>)",
    re.DOTALL,
)
_ROW = re.compile(r"<tr\b.*?</tr>\s*", re.DOTALL)
_CELL = re.compile(r"<(?P<tag>t[hd])\b(?P<attributes>[^>]*)>(?P<content>.*?)</(?P=tag)>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_SPOKEN = re.compile(r'<span class="spoken">.*?</span>', re.DOTALL)
_ORDER = re.compile(r'\bdata-order="([^"]*)"')
_LABEL = re.compile(r'\baria-label="([^"]*)"')
_NUMBER = re.compile(r"[-+\u2212]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_DIGITS = re.compile(r"([0-9]+)")

Row = TypeVar("Row")
Value = tuple[int, float, tuple[tuple[int, int, str], ...]]


@dataclass(frozen=True)
class PageOptions:
    """A reader's options for a page."""

    address: str
    """The page's address without options."""
    options: Pairs = ()

    def of(self, table: str) -> dict[str, str]:
        """Return the options of one table: sort, find and page, if present."""
        return {name.partition(".")[2]: value for name, value in self.options if name.partition(".")[0] == table}

    def with_(self, table: str, **changed: str) -> list[tuple[str, str]]:
        """Return all options with those of one table changed, on its first page unless a page is named."""
        changed = {"page": "", **changed}
        names = {f"{table}.{name}" for name in changed}
        pairs = [pair for pair in self.options if pair[0] not in names]
        return [*pairs, *((f"{table}.{name}", value) for name, value in changed.items() if value)]

    def fields(self, table: str) -> list[tuple[str, str]]:
        """Return the hidden fields of the filter form of one table."""
        return [*parse_qsl(self.address.partition("?")[2], errors="surrogateescape"), *self.with_(table, find="")]


def asking(address: str, options: Pairs) -> str:
    """Return an address with options, without empty ones."""
    query = urlencode([pair for pair in options if pair[1]], quote_via=quote, safe="", errors="surrogateescape")
    return f"{address}{'&' if '?' in address else '?'}{query}" if query else address


def is_option(kind: str, name: str, value: str) -> bool:
    """Return whether a kind of page has an option's table, and the option has a valid form."""
    match = _NAME.fullmatch(name)
    return bool(match and match[1] in TABLES.get(kind, ()) and _VALUES[match[2]].fullmatch(value))


def kept_options(context: "Context") -> list[tuple[str, str]]:
    """Return the options of all tables, for other forms of the page."""
    page_options: PageOptions | None = context.get("asked")
    return [pair for pair in page_options.options if "." in pair[0]] if page_options else []


def value_of(text: str) -> Value | None:
    """Return the sort key of a text: numbers before everything else, by size, also for digits in names; None: absent.

    Text after a number (a unit, the rest of a date or time) decides between equal numbers.
    """
    text = text.strip()
    if text in ABSENT:
        return None
    match = _NUMBER.match(text)
    number = float(match[0].replace(",", "").replace("\u2212", "-")) if match else 0.0
    parts = _DIGITS.split(text[match.end() if match else 0 :].casefold())
    # Digits as (how many, which), for numbers of any length without converting them.
    remainder = tuple(
        (0, len(part.lstrip("0")), part.lstrip("0")) if index % 2 else (1, 0, part) for index, part in enumerate(parts)
    )
    return (0 if match else 1, number, remainder)


def ordered(rows: Iterable[Row], value: Callable[[Row], Any], *, descending: bool) -> list[Row]:
    """Return rows sorted by a value, stable; rows without one (None) come last in either direction."""
    pairs = [(value(row), row) for row in rows]
    present = sorted((pair for pair in pairs if pair[0] is not None), key=lambda pair: pair[0], reverse=descending)
    return [row for _, row in present] + [row for key, row in pairs if key is None]


def listed(context: "Context", name: str, caller: "Callable[[], Markup]") -> "Markup":
    """Return the table of a template's block with the reader's options; one without rows stays unchanged."""
    table = caller()
    site, options = context.get("site"), context.get("asked")
    match = _TABLE.search(table) if site is not None and (options or site.scripts) else None
    rows = _ROW.findall(match["rows"]) if match else []
    if match is None or len(rows) < 2:
        return table
    if options is None:
        label = type(table).escape(_("Filter"))
        return _joined(table, match, match["head"], match["rows"], f'data-list="{label}"')
    parts: Any = context.environment.get_template("table_parts.html.j2").module
    return _Listed(name, options, table, match, rows, parts).shown()


def _joined(table: "Markup", match: re.Match[str], head: str, rows: str, attribute: str) -> "Markup":
    inner = f"{match['tag']} {attribute}{match['before']}{head}{match['between']}{rows}{match['after']}"
    return type(table)(f"{table[: match.start()]}{inner}{table[match.end() :]}")


class _Listed:
    """One table being rendered."""

    def __init__(
        self, name: str, options: PageOptions, table: "Markup", match: re.Match[str], rows: list[str], parts: Any
    ) -> None:
        self.name, self.asked, self.made, self.found, self.all, self.parts = name, options, table, match, rows, parts
        wish = options.of(name)
        self.heads = list(_CELL.finditer(match["head"]))
        self.sort, self.descending = int(wish.get("sort", "0").removeprefix("-")), wish.get("sort", "")[:1] == "-"
        if not (0 < self.sort <= len(self.heads)) or not _seen(self.heads[self.sort - 1]["content"]):
            self.sort = 0
        self.find = " ".join(wish.get("find", "").split())
        words = self.find.casefold().split()
        self.rows = [row for row in rows if all(word in _text(row, " ").casefold() for word in words)]
        if self.sort:
            self.rows = ordered(self.rows, lambda row: value_of(_cell(row, self.sort)), descending=self.descending)
        self.pages = max(1, math.ceil(len(self.rows) / PER_PAGE))
        self.page = min(self.pages, int(wish.get("page", "1")))

    def shown(self) -> "Markup":
        """Return the table with links in its headers, a filter field above it and links to its other pages below it."""
        label = _LABEL.search(self.made[: self.found.start()])
        title = unescape(label[1]) if label else self.name
        rows = "".join(self.rows[(self.page - 1) * PER_PAGE : self.page * PER_PAGE])
        body = _joined(self.made, self.found, self._head(), rows, f'id="list-{self.name}"')
        finder = ""
        if len(self.all) > SEARCHED or self.find:
            finder = self.parts.finder(
                f"{self.asked.address.partition('?')[0]}#list-{self.name}", f"{self.name}.find", title,
                self.asked.fields(self.name), self.find, len(self.rows), len(self.all), self._address(find=""),
            )  # fmt: skip
        before = self._address(page=str(self.page - 1)) if self.page > 1 else ""
        after = self._address(page=str(self.page + 1)) if self.page < self.pages else ""
        pager = self.parts.pager(title, self.page, self.pages, before, after)
        return type(self.made)(f"{finder}{body}{pager}")

    def _address(self, **changed: str) -> str:
        return f"{asking(self.asked.address, self.asked.with_(self.name, **changed))}#list-{self.name}"

    def _head(self) -> str:
        """Return the headers; visible ones are links that sort, numbers with the largest first."""
        markup, end = "", 0
        for column, head in enumerate(self.heads, 1):
            markup, end = markup + self.found["head"][end : head.start()], head.end()
            if not _seen(head["content"]):
                markup += head[0]
                continue
            values = (value_of(_cell(row, column)) for row in self.all)
            first = next((value for value in values if value is not None), None)
            largest = first is not None and first[0] == 0
            direction = ("ascending", "descending")[self.descending] if column == self.sort else ""
            if direction:
                largest = not self.descending
            content = type(self.made)(head["content"])
            link = self.parts.head(content, self._address(sort=f"{'-' * largest}{column}"), direction)
            attribute = f' aria-sort="{direction}"' if direction else ""
            markup += f"<{head['tag']}{head['attributes']}{attribute}>{link}</{head['tag']}>"
        return markup + self.found["head"][end:]


def _text(markup: str, between: str = "") -> str:
    return " ".join(unescape(_TAG.sub(between, markup)).split())


def _seen(content: str) -> str:
    """Return the visible text of a header."""
    return _text(_SPOKEN.sub("", content))


def _cell(row: str, column: int) -> str:
    """Return the text by which a cell of a row is sorted; empty if the row has no such cell."""
    for number, cell in enumerate(_CELL.finditer(row), 1):
        if number == column:
            own = _ORDER.search(cell["attributes"])
            return unescape(own[1]) if own else _text(cell["content"])
    return ""
