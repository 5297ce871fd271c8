"""The published site: static pages of studies that need no server, no script and no other site."""

import base64
import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.scaling import show
from hackathon.scaling.plot import PANELS, panel, pictures, plot_spec
from hackathon.scaling.table import SUCCEEDED, TARGET
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.files import write_whole
from hackathon.text.messages import LANGUAGES, message, speaking
from hackathon.text.messages import language as current_language
from hackathon.text.paths import shipped
from hackathon.web.views import StudyView

if TYPE_CHECKING:
    from jinja2 import Environment

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
    warnings: list[str] = []
    try:
        with _temporary(directory) as folder:
            drawn = [_draw(study, chosen, warnings) for study in studies]
            files: list[str] = []
            for study, name, plots in zip(studies, names, drawn, strict=True):
                for language in chosen:
                    values = {"study": study, "plots": plots.get(language, {}), "base_name": name}
                    page = _page("study.html.j2", language, chosen, name, title, subtitle, moment, values)
                    files.append(_file(name, language, chosen))
                    write_whole(folder / files[-1], page)
                files += [f"{name}.csv", f"{name}.json"]
                with speaking("en"):
                    write_whole(folder / f"{name}.csv", show.render(study.results, "csv"))
                    write_whole(folder / f"{name}.json", show.render(study.results, "json"))
            listed = sorted(zip(studies, names, strict=True), key=lambda pair: pair[0].created or 0.0, reverse=True)
            for language in reversed(chosen):
                page = _page("index.html.j2", language, chosen, "index", title, subtitle, moment, {"studies": listed})
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


def _page(
    template: str, language: str, languages: Sequence[str], name: str, title: str, subtitle: str, now: float,
    values: Mapping[str, Any],
) -> str:  # fmt: skip
    with speaking(language):
        style = shipped("templates", "pages", "style.css").read_text(encoding="utf-8")
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        page: str = (
            _environment()
            .get_template(template)
            .render(
                site_title=title,
                site_subtitle=subtitle,
                language=language,
                others=[(other, _file(name, other, languages)) for other in languages if other != language],
                index=_file("index", language, languages),
                page_of=lambda base: _file(base, language, languages),
                style=style,
                policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
                now=now,
                target=TARGET,
                succeeded=SUCCEEDED,
                **values,
            )
        )
        return page


def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(shipped("templates", "pages")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        t=message,
        processes=_processes,
        remarks=show.remarks,
        check_rule=show.check_rule,
        below_target=show.below_target,
        markup=Markup,
    )
    environment.filters.update(
        number=show.number, percent=show.percent, spread=show.spread, state=show.state, moment=_moment, span=_span
    )
    return environment


def _processes(count: int) -> str:
    return message("web.processes_one" if count == 1 else "web.processes_count", count=count)


def _moment(seconds: float | None) -> str:
    """Return a moment as `2026-03-01 10:15 JST`; – for None."""
    if seconds is None:
        return "–"
    try:
        return time.strftime("%Y-%m-%d %H:%M %Z", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return "–"


def _span(seconds: float) -> str:
    """Return a duration as `2 min 20 s` would be typed on a clock: `0:02:20`."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
