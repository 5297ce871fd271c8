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
"""Version of the conversion from specification to drawing; another version invalidates cached drawings."""
KEPT = 500
"""Drawings that are cached in memory."""
KEPT_ON_DISK = 20_000
"""Drawings that are cached in a folder, about 4 kB each."""
_SUFFIX = ".svg"
BATCH, ATTEMPTS = 200, 20
"""Drawings that one process makes, and how often it may fail, if many are drawn in advance."""
_KEPT, _GIVEN_UP = "drawings", "given up"
"""Tables of a memory: key → drawing; key → why it could not be drawn in advance, so that not every page tries again."""
_ahead: ContextVar["Asked | None"] = ContextVar("ahead", default=None)


@dataclass(frozen=True)
class Figure:
    """One picture with all its texts, in one language."""

    name: str
    """Unique in its page, of letters and `-`."""
    title: str
    alt: str
    """A description in words, for readers who cannot see the picture."""
    spec: Mapping[str, Any]
    """Vega-Lite, without title, background and external addresses."""
    columns: tuple[str, ...] = ()
    """Headers of the data table."""
    rows: tuple[tuple[str, ...], ...] = ()
    """The numbers of the picture."""
    svg: str | None = None
    """The drawing, with texts as text elements; None before it is drawn, or if that failed."""
    narrow: "Figure | None" = None
    """The same picture for a narrow screen; None if one drawing serves all screens."""


@dataclass
class Asked:
    """The figures to draw at the end of an `ahead` block."""

    specs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    times: int = 0
    """How often figures without a drawing were requested."""


def drawn(figures: Sequence[Figure], memory: Memory) -> tuple[list[Figure], str]:
    """Return the figures with their drawings, and why some have none (empty if all have one).

    One process draws all that are neither in the memory nor in its folder.
    """
    narrow = [figure.narrow for figure in figures if figure.narrow is not None]
    if narrow:
        both, problem = drawn([*(replace(figure, narrow=None) for figure in figures), *narrow], memory)
        queue = iter(both[len(figures) :])
        wide = zip(both, figures, strict=False)
        return [replace(new, narrow=next(queue) if old.narrow is not None else None) for new, old in wide], problem
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
    """Collect figures until the end of the block, then draw all of them with few processes into a memory.

    A caller with many pages requests their figures twice: in such a block, and again to get them. Yields the requests
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
    """Return drawings by key, and store them in the memory's folder. Raises as `pictures` does."""
    # The page sets the font: measuring text in one font family is five times as fast as in a list of ten.
    plain = [{**spec, "config": {**spec.get("config", {}), "font": "sans-serif"}} for spec in specs.values()]
    drawings = {}
    for key, picture in zip(specs, (memory.pictures or pictures)(plain, "svg"), strict=True):
        drawings[key] = slim(picture.decode("utf-8", "replace"))
        _write(memory.folder, key, drawings[key])
    return drawings


def themed(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a specification with the fonts and greys of all pictures as defaults."""
    return {"background": None, "config": _theme(), **spec}


@functools.cache
def _theme() -> dict[str, Any]:
    theme: dict[str, Any] = json.loads(shipped("templates", "plots", "theme.json").read_text(encoding="utf-8"))
    return theme


def _key(spec: Mapping[str, Any]) -> str:
    text = json.dumps(spec, sort_keys=True)
    return hashlib.sha256(f"{VERSION}\n{text}".encode()).hexdigest()


def _read(folder: Path | None, key: str) -> str | None:
    """Return a drawing from the folder; None if it is missing or damaged."""
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
    with contextlib.suppress(OSError):  # a full disk, or a deleted folder: the next page draws it again
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(folder / f"{key}{_SUFFIX}", f"{hashlib.sha256(svg.encode()).hexdigest()}\n{svg}")
        # A live page adds a drawing for each change, so the oldest are deleted now and then.
        if int(key[:2], 16) == 0:
            drawings = sorted(folder.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_mtime)
            for path in drawings[: -KEPT_ON_DISK or None]:
                path.unlink(missing_ok=True)


def _own_names(svg: str, name: str) -> str:
    # Several pictures share a page, and the engine uses the same internal ids for all of them.
    return re.sub(r'(\bid="|url\(#)', rf"\g<1>{name}-", svg)
