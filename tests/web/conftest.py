"""Shared by the tests of pages: one drawing process, one browser for each file, a cache for what takes long to make."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hackathon.scaling import plot
from hackathon.scaling.drawer import Drawer
from hackathon.web.page import figures
from hackathon.web.report import drawings, slide_files

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session", autouse=True)
def one_drawing_process() -> Iterator[None]:
    """Draw by the process that a dashboard has: a start of the engine costs as much as thirty pictures.

    A process that was forked has no part in it. Tests that look at failures of drawing put their own in its place.
    """
    drawer, owner = Drawer(), os.getpid()

    def pictures(specs: Sequence[Mapping[str, Any]], form: str) -> list[bytes]:
        return (drawer.pictures if os.getpid() == owner else plot.pictures)(specs, form)

    with pytest.MonkeyPatch.context() as patch:
        for module in (figures, drawings, slide_files):
            patch.setattr(module, "pictures", pictures)
        yield
    drawer.stop()


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """Start Chromium for all tests of a file; while it runs, `asyncio.run` is refused in this thread."""
    pytest.importorskip("playwright")
    from support.pages.browser import chromium

    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def warm_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for XDG_CACHE_HOME, the same in all workers, that keeps drawings, Vega and compiled templates.

    Not for tests that replace what draws.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "warm-cache"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
