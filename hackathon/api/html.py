"""HTML of objects for notebooks. Every text is escaped; pictures are images, in which no script runs."""

import base64
from collections.abc import Iterable, Sequence
from html import escape

from hackathon.text.printable import printable

_CARD = "border-left:4px solid #b45309;padding:.4em .8em;margin:.4em 0"


def text(value: object) -> str:
    """Return a value as HTML text."""
    return escape(printable(str(value)))


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Return a table; numbers are on the right."""
    head = "".join(f"<th>{text(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    title = f"<caption>{text(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def paragraphs(lines: Iterable[str]) -> str:
    """Return one paragraph for each line."""
    return "".join(f"<p>{text(line)}</p>" for line in lines)


def card(lines: Iterable[tuple[str, bool]]) -> str:
    """Return a card with these lines; True marks a heading. Indented lines keep their indentation."""
    inside = "\n".join(f"<b>{text(line)}</b>" if heading else text(line) for line, heading in lines)
    return f'<div style="{_CARD}"><pre style="white-space:pre-wrap;margin:0">{inside}</pre></div>'


def picture(svg: bytes, alternative: str) -> str:
    """Return an image of an SVG."""
    return f'<img alt="{text(alternative)}" src="data:image/svg+xml;base64,{base64.b64encode(svg).decode()}">'


def _cell(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f'<td style="text-align:right">{value:g}</td>' if isinstance(value, float) else f"<td>{value}</td>"
    return f"<td>{'' if value is None else text(value)}</td>"
