"""Pictures of a page: a Vega-Lite specification, its drawing, and the same numbers as a table."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hackathon.scaling.plot import pictures
from hackathon.text.errors import HackathonError

KEPT = 500
"""Drawings that are kept in memory."""
_kept: dict[str, str] = {}


@dataclass(frozen=True)
class Figure:
    """One picture with everything that a page says about it, in one language."""

    name: str
    """Unique in its page, letters and `-`."""
    title: str
    alt: str
    """What is to be seen, in words, for who can not see it."""
    spec: Mapping[str, Any]
    """Vega-Lite: no title, no background, no address outside."""
    columns: tuple[str, ...] = ()
    """Heads of the data table."""
    rows: tuple[tuple[str, ...], ...] = ()
    """The same numbers as in the picture."""
    svg: str | None = None
    """The drawing, text as text; None before it is drawn, or when it can not be."""


def drawn(figures: Sequence[Figure]) -> tuple[list[Figure], str]:
    """Return the figures with their drawings, and why some are without one (empty when none is).

    One drawing process for all that were not drawn before.
    """
    keys = [hashlib.sha256(json.dumps(figure.spec, sort_keys=True).encode()).hexdigest() for figure in figures]
    missing = [number for number, key in enumerate(keys) if key not in _kept]
    problem = ""
    if missing:
        try:
            found = pictures([figures[number].spec for number in missing], "svg")
        except HackathonError as error:
            problem = error.message
        else:
            for number, picture in zip(missing, found, strict=True):
                _kept[keys[number]] = picture.decode("utf-8", "replace")
    made = [
        replace(figure, svg=_own_names(_kept[key], figure.name)) if key in _kept else figure
        for figure, key in zip(figures, keys, strict=True)
    ]
    while len(_kept) > KEPT:
        del _kept[next(iter(_kept))]
    return made, problem


def _own_names(svg: str, name: str) -> str:
    # Several pictures lie in one page, and the engine gives all of them the same names for what they refer to inside.
    return re.sub(r'(\bid="|url\(#)', rf"\g<1>{name}-", svg)
