"""The files of a team's slides: one page for a browser, or Markdown for Marp with its plot."""

import base64
import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hackathon.config.event import Publish
from hackathon.index.catalog import Catalog
from hackathon.scaling.plot import pictures, plot_spec
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.messages import _, language
from hackathon.text.paths import shipped
from hackathon.web.masking.event_mask import mask_of
from hackathon.web.masking.mask import Mask
from hackathon.web.masking.names import named
from hackathon.web.page.markdown import render_markdown
from hackathon.web.page.pages import allowed
from hackathon.web.report.drawings import signed_drawing
from hackathon.web.report.files import environment, run_folder
from hackathon.web.report.signed_files import MARK, signed
from hackathon.web.report.slides import Deck, deck

SUFFIXES = (".html", ".md")
"""The formats: a page for any browser, Markdown for Marp."""
OWN = Publish(users=True, groups=True, hosts=True, logs=True, paths=True, source=True, board=True)
"""The team shows its own work: only secrets, e-mail addresses and network addresses are masked."""


def slide_files(source: Catalog, team: str, name: str) -> tuple[dict[str, str], str] | None:
    """Return name → signed text of a deck in the current language and its plot, and why there is no plot, or "".

    None if there is no such team. `name`: the deck's file. `….html` embeds its plot; beside `….md`, for Marp, it is
    `<stem>-speedup.svg`. Raises RequestError for another suffix.
    """
    suffix = Path(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise RequestError("slides.suffix", "{file} is not a name for slides; it must end with .html or .md", file=name)
    content = deck(source, team)
    if content is None:
        return None
    unmasked, results = content
    mask = mask_of(source, [named(run_folder(run.project, run.id)) for run in source.summaries], OWN)
    slides: Deck = mask.value(unmasked)
    if suffix == ".html":
        text, trouble = _page(slides, results, mask)
        return {name: text}, trouble
    plot = f"{Path(name).stem}-speedup.svg"
    files: dict[str, str] = {}
    trouble = ""
    if results is not None:
        drawing, trouble = _drawing(results, mask)
        files |= {plot: drawing} if drawing else {}
    text = render_markdown(
        "slides.md.j2", language(), deck=slides, plot=quote(plot) if plot in files else "", mark=MARK, title=slides.team
    )
    return {name: signed(text), **files}, trouble


def _page(slides: Deck, results: Mapping[str, Any] | None, mask: Mask) -> tuple[str, str]:
    """Return the deck as one signed page that loads nothing, and why there is no plot."""
    drawing, trouble = _drawing(results, mask) if results is not None else ("", "")
    page: str = environment().get_template("slides.html.j2").render(
        language=language(), deck=slides, mark=MARK, style=_style(),
        policy=f"default-src 'none'; style-src {allowed(_style())}; img-src data:; base-uri 'none'; form-action 'none'",
        plot=f"data:image/svg+xml;base64,{base64.b64encode(drawing.encode()).decode()}" if drawing else "",
    )  # fmt: skip
    return signed(page), trouble


@functools.cache
def _style() -> str:
    return shipped("templates", "report", "slides.css").read_text(encoding="utf-8")


def _drawing(results: Mapping[str, Any], mask: Mask) -> tuple[str, str]:
    """Return the drawing of a study on white, and why there is none."""
    spec = {**plot_spec(results, title=""), "background": "#ffffff"}
    try:
        (raw,) = pictures([spec], "svg")
    except HackathonError as error:
        return "", _("the plots could not be drawn: {reason}", reason=error.message)
    return signed_drawing(raw.decode("utf-8", "replace"), mask), ""


def default_name(team: str) -> str:
    """Return the file name of a team's deck: `slides-aurora.html`; letters of all languages stay."""
    plain = re.sub(r"[^\w-]+", "-", team).strip("-")[:60]
    return f"slides-{plain}.html" if plain else "slides.html"
