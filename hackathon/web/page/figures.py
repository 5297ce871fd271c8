"""Pictures of a page: a Vega-Lite specification, its drawing, and the same numbers as a table."""

import contextlib
import functools
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hackathon.index.memory import Memory
from hackathon.scaling.plot import pictures
from hackathon.text.errors import HackathonError, UnavailableError
from hackathon.text.files import write_whole
from hackathon.text.paths import shipped
from hackathon.web.page.labels import with_words, wordless
from hackathon.web.page.svg import slim

VERSION = "5"
"""Of how a drawing is made from a specification: another one draws anew what a cache holds."""
KEPT = 500
"""Drawings that are kept in memory."""
KEPT_ON_DISK = 20_000
"""Drawings that are kept in a folder, about 4 kB each."""
_SUFFIX = ".svg"
BATCH, ATTEMPTS = 200, 20
"""Drawings that one process makes, and how often it may fail, where many are drawn ahead."""
_KEPT, _GIVEN_UP = "drawings", "given up"
"""Tables of a memory: key → drawing; key of what could not be drawn ahead → why, so that not each page tries again."""
_ahead: ContextVar["Asked | None"] = ContextVar("ahead", default=None)


@dataclass(frozen=True)
class Figure:
    """One picture with everything that a page says about it, in one language."""

    name: str
    """Unique in its page, letters and `-`."""
    title: str
    alt: str
    """What is to be seen, in words, for who cannot see it."""
    spec: Mapping[str, Any]
    """Vega-Lite: no title, no background, no address outside."""
    columns: tuple[str, ...] = ()
    """Heads of the data table."""
    rows: tuple[tuple[str, ...], ...] = ()
    """The same numbers as in the picture."""
    svg: str | None = None
    """The drawing, text as text; None before it is drawn, or when it cannot be."""


@dataclass
class Asked:
    """What is to be drawn at the end of an `ahead` block."""

    specs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    times: int = 0
    """How often figures were asked for that were not drawn yet."""


def drawn(figures: Sequence[Figure], memory: Memory) -> tuple[list[Figure], str]:
    """Return the figures with their drawings, and why some are without one (empty when none is).

    One drawing process for all that were not drawn before, as the memory and its folder have them.
    """
    figures = [replace(figure, spec=themed(figure.spec)) for figure in figures]
    parted = [wordless(figure.spec) for figure in figures]
    keys = [_key(spec) for spec, _ in parted]
    drawings = {key: memory.recall(_KEPT, key) or _read(memory.folder, key) for key in dict.fromkeys(keys)}
    given_up = {key: why for key in drawings if (why := memory.recall(_GIVEN_UP, key))}
    specs = dict(zip(keys, (spec for spec, _ in parted), strict=True))
    missing = [key for key, svg in drawings.items() if not svg and key not in given_up]
    problem = next(iter(given_up.values()), "")
    collector = _ahead.get()
    if collector is not None:
        collector.specs.update((key, specs[key]) for key in missing)
        collector.times += bool(missing)
    elif missing:
        try:
            drawings.update(_draw({key: specs[key] for key in missing}, memory))
        except (HackathonError, ValueError) as error:
            problem = error.message if isinstance(error, HackathonError) else str(error)
    _keep(memory, drawings)
    drawn_figures = [
        replace(figure, svg=with_words(_own_names(svg, figure.name), words)) if (svg := drawings[key]) else figure
        for figure, key, (_, words) in zip(figures, keys, parted, strict=True)
    ]
    return drawn_figures, problem


@contextlib.contextmanager
def ahead(memory: Memory) -> Iterator[Asked]:
    """Only note what is to be drawn until the end of the block, then draw all of it by few processes into a memory.

    Who makes many pages asks for their figures twice: in such a block, and then to have them. Yields what was asked for
    so far.
    """
    requests = Asked()
    token = _ahead.set(requests)
    try:
        yield requests
    finally:
        _ahead.reset(token)
    keys = list(requests.specs)
    todo = [keys[start : start + BATCH] for start in range(0, len(keys), BATCH)]
    failures = 0
    while todo:
        some = todo.pop()
        try:
            _keep(memory, _draw({key: requests.specs[key] for key in some}, memory))
        except (HackathonError, ValueError) as error:
            failures += 1
            if len(some) > 1 and failures < ATTEMPTS and not isinstance(error, UnavailableError):
                todo += [some[: len(some) // 2], some[len(some) // 2 :]]
            else:
                why = error.message if isinstance(error, HackathonError) else str(error)
                for key in some:
                    memory.keep(_GIVEN_UP, key, why, KEPT)


def _keep(memory: Memory, drawings: Mapping[str, str | None]) -> None:
    for key, svg in drawings.items():
        if svg:
            memory.keep(_KEPT, key, svg, max(KEPT, len(drawings)))


def _draw(specs: Mapping[str, Mapping[str, Any]], memory: Memory) -> dict[str, str]:
    """Return drawings by key, and keep them in the memory's folder. Raises as `pictures` does."""
    # The letters are the page's: to measure them in one family is five times as fast as in a list of ten.
    plain = [{**spec, "config": {**spec.get("config", {}), "font": "sans-serif"}} for spec in specs.values()]
    drawings = {}
    for key, picture in zip(specs, (memory.pictures or pictures)(plain, "svg"), strict=True):
        drawings[key] = slim(picture.decode("utf-8", "replace"))
        _write(memory.folder, key, drawings[key])
    return drawings


def themed(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a specification with the letters and greys of all pictures where it has none of its own."""
    return {"background": None, "config": _theme(), **spec}


@functools.cache
def _theme() -> dict[str, Any]:
    theme: dict[str, Any] = json.loads(shipped("templates", "plots", "theme.json").read_text(encoding="utf-8"))
    return theme


def _key(spec: Mapping[str, Any]) -> str:
    text = json.dumps(spec, sort_keys=True)
    return hashlib.sha256(f"{VERSION}\n{text}".encode()).hexdigest()


def _read(folder: Path | None, key: str) -> str | None:
    """Return a drawing from the folder, None when it is not there or not what was written."""
    if folder is None:
        return None
    try:
        digest, _, svg = (folder / f"{key}{_SUFFIX}").read_text("utf-8").partition("\n")
    except (OSError, ValueError):
        return None
    return svg if digest == hashlib.sha256(svg.encode()).hexdigest() else None


def _write(folder: Path | None, key: str, svg: str) -> None:
    if folder is None:
        return
    with contextlib.suppress(OSError):  # a full disk, a folder that is gone: the next one draws it again
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(folder / f"{key}{_SUFFIX}", f"{hashlib.sha256(svg.encode()).hexdigest()}\n{svg}")
        # A page that is watched live leaves a drawing for each change: now and then the oldest go.
        if int(key[:2], 16) == 0:
            drawings = sorted(folder.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_mtime)
            for path in drawings[: -KEPT_ON_DISK or None]:
                path.unlink(missing_ok=True)


def _own_names(svg: str, name: str) -> str:
    # Several pictures lie in one page, and the engine gives all of them the same names for what they refer to inside.
    return re.sub(r'(\bid="|url\(#)', rf"\g<1>{name}-", svg)
