"""A source of views over invented run directories, read through the index as dashboard and site read it."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hackathon.config.load import load_event
from hackathon.index.catalog import Catalog
from hackathon.index.index import Index
from hackathon.index.projects import find_projects
from hackathon.text.messages import speaking
from hackathon.web.page.pages import Site, render
from hackathon.web.routing.registry import values_of


def event_source(folder: Path, index: Path, *, live: bool = True, now: float | None = None) -> Catalog:
    """Return the source of an event's folder; `index` is a file that the index may use."""
    event = load_event(folder)
    projects, problems = find_projects(folder, event, [])
    found = Index(projects, index)
    found.refresh()
    return Catalog(
        found.summaries, projects, event, folder, now=time.time() if now is None else now, live=live, problems=problems
    )


def folder_source(folders: Sequence[Path], index: Path, *, live: bool = True) -> Catalog:
    """Return the source of project folders outside any event."""
    projects, problems = find_projects(None, None, folders)
    found = Index(projects, index)
    found.refresh()
    return Catalog(found.summaries, projects, live=live, problems=problems)


def link(kind: str, key: str) -> str | None:
    """Return an address for every page, none for files."""
    return None if kind == "file" else f"/{kind}?{len(key)}"


def page_of(source: Catalog, kind: str, key: str = "", language: str = "en") -> str:
    """Return a page as HTML. Raises LookupError where there is none."""
    with speaking(language):
        found = values_of(kind, key, source)
    if found is None:
        raise LookupError(key)
    template, values = found
    return render(template, Site("Event", live=source.live), language, link, here=kind, now=source.now, **values)


def view_of(source: Catalog, kind: str, key: str = "", language: str = "en") -> Any:
    """Return a page's view record. Raises LookupError where there is none."""
    with speaking(language):
        found = values_of(kind, key, source)
    if found is None:
        raise LookupError(key)
    return found[1]["view"]
