"""The published site: static pages of studies that need no server, no script and no other site."""

import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hackathon.scaling import show
from hackathon.scaling.plot import PANELS, panel, pictures, plot_spec
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.files import write_whole
from hackathon.text.messages import LANGUAGES, message, speaking
from hackathon.text.messages import language as current_language
from hackathon.web.pages import Link, Site, render
from hackathon.web.views import StudyView

ABANDONED = 3600.0
"""Seconds after which a temporary folder of a killed publication is removed by the next one."""
_TEMPORARY = ".publishing-"


class Published(list[Path]):
    """The files of a published site, pages first; `warnings` tells what is missing in them."""

    def __init__(self, files: Sequence[Path], warnings: Sequence[str]) -> None:
        super().__init__(files)
        self.warnings = list(warnings)


def publish(
    studies: Sequence[StudyView],
    directory: Path,
    *,
    title: str,
    subtitle: str = "",
    languages: Sequence[str] | None = None,
    now: float | None = None,
) -> Published:
    """Write `index.html`, a page, a CSV and a JSON file for each study, in every language, and return the files.

    The first of `languages` (default: the current one, then the others) has the plain names, others `.<language>.html`.
    Everything is made in a temporary folder first and then put in place file by file, the index last: a publication
    that fails or is killed leaves the pages that were there. Foreign files in the folder are left alone. A plot that
    can not be drawn becomes a warning, the page comes with its table. Raises RequestError when the folder can not be
    written.
    """
    chosen = list(languages or dict.fromkeys((current_language(), *LANGUAGES)))
    moment = time.time() if now is None else now
    names = _file_names(studies)
    site = Site(title, subtitle, chosen)
    warnings: list[str] = []
    try:
        with _temporary(directory) as folder:
            drawn = [_draw(study, chosen, warnings) for study in studies]
            files: list[str] = []
            for study, name, plots in zip(studies, names, drawn, strict=True):
                for language in chosen:
                    page = render(
                        "study.html.j2", site, language, _links(language, chosen), now=moment, here="study",
                        others=_others(name, language, chosen),
                        study=study, plots=plots.get(language, {}), base_name=name,
                    )  # fmt: skip
                    files.append(_file(name, language, chosen))
                    write_whole(folder / files[-1], page)
                files += [f"{name}.csv", f"{name}.json"]
                with speaking("en"):
                    write_whole(folder / f"{name}.csv", show.render(study.results, "csv"))
                    write_whole(folder / f"{name}.json", show.render(study.results, "json"))
            listed = sorted(zip(studies, names, strict=True), key=lambda pair: pair[0].created or 0.0, reverse=True)
            for language in reversed(chosen):
                page = render(
                    "index.html.j2", site, language, _links(language, chosen), now=moment, here="home",
                    others=_others("index", language, chosen),
                    studies=[(study, _file(name, language, chosen)) for study, name in listed],
                )  # fmt: skip
                files.append(_file("index", language, chosen))
                write_whole(folder / files[-1], page)
            for name in files:
                (folder / name).replace(directory / name)
    except OSError as error:
        raise RequestError("web.cannot_write", path=directory, reason=error.strerror or error) from None
    return Published([directory / name for name in sorted(files, key=_pages_first)], warnings)


def _pages_first(name: str) -> tuple[bool, bool, str]:
    return not name.endswith(".html"), not name.startswith("index"), name


@contextmanager
def _temporary(directory: Path) -> Iterator[Path]:
    """Make a folder inside `directory` (renames must stay on one file system); remove it and abandoned ones."""
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob(f"{_TEMPORARY}*"):
        if time.time() - old.stat().st_mtime > ABANDONED:
            shutil.rmtree(old, ignore_errors=True)
    folder = directory / f"{_TEMPORARY}{os.getpid()}-{os.urandom(4).hex()}"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _file_names(studies: Sequence[StudyView]) -> list[str]:
    """Return a file name without suffix for each study: ASCII, without path, none twice."""
    names: list[str] = []
    for study in studies:
        plain = re.sub(r"[^A-Za-z0-9_-]+", "-", study.id).strip("-")[:100]
        name = f"study-{plain}" if plain else "study"
        number = 2
        while name in names:
            name = f"{name.removesuffix(f'-{number - 1}')}-{number}"
            number += 1
        names.append(name)
    return names


def _file(name: str, language: str, languages: Sequence[str]) -> str:
    return f"{name}.html" if language == languages[0] else f"{name}.{language}.html"


def _links(language: str, languages: Sequence[str]) -> Link:
    return lambda kind, key: _file("index", language, languages) if kind == "home" else None


def _others(name: str, language: str, languages: Sequence[str]) -> list[tuple[str, str]]:
    return [(other, _file(name, other, languages)) for other in languages if other != language]


def _draw(study: StudyView, languages: Sequence[str], warnings: list[str]) -> dict[str, dict[str, str]]:
    """Return language → panel → SVG of a study, all drawn by one child process; {} and a warning when it fails."""
    if study.best is None:
        return {}
    wanted = [(language, name) for language in languages for name in PANELS]
    try:
        specs = [_for_page(plot_spec(study.results, language=language), name) for language, name in wanted]
        drawn = pictures(specs, "svg")
    except HackathonError as error:
        warnings.append(message("web.no_plot", study=study.id, reason=error.message))
        return {}
    found: dict[str, dict[str, str]] = {}
    for (language, name), picture in zip(wanted, drawn, strict=True):
        # Two pictures lie in one page, and the engine gives both the same names for what they refer to inside.
        text = re.sub(r'(\bid="|url\(#)', rf"\g<1>{name}-", picture.decode("utf-8", "replace"))
        found.setdefault(language, {})[name] = text
    return found


def _for_page(spec: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a panel without background and title: the page gives both, in its own colours and letters."""
    # "fit": both pictures have the same size whatever their labels need, so that they line up side by side.
    size = {"width": 440, "height": 340, "autosize": {"type": "fit", "contains": "padding"}}
    chart = {**panel(spec, name), "background": None, "padding": 2, **size}
    chart.pop("title", None)
    return chart
