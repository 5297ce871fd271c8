"""Render templates to Markdown in which every value is plain text."""

import functools
import re
from typing import TYPE_CHECKING, Any

from hackathon.scaling import show
from hackathon.text import markdown
from hackathon.text.messages import N_, NP_, _, ngettext, pgettext, speaking
from hackathon.text.paths import shipped
from hackathon.web.page import sanitize as clean
from hackathon.web.page.pages import moment
from hackathon.web.page.survey_words import mean_text, quartiles, target_text

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def escaped(text: str) -> str:
    """Return a text as one line of Markdown for exactly these characters, in a paragraph, heading or table."""
    return markdown.escaped(clean.line(text, clean.BLOCK))


def quoted(text: str) -> "Markup":
    """Return a text as code in a table cell, where a bar needs a backslash even in code (GFM, section 4.10)."""
    from markupsafe import Markup

    plain = " ".join(clean.line(text, clean.BLOCK).split()).replace("|", "\\|")
    if not plain:
        return Markup("")
    fence = "`" * (max((len(ticks) for ticks in re.findall(r"`+", plain)), default=0) + 1)
    room = " " if plain[0] == "`" or plain[-1] == "`" else ""
    return Markup(f"{fence}{room}{plain}{room}{fence}")


def render_markdown(template: str, language: str, **values: Any) -> str:
    """Return a template `templates/report/<name>` in a language, with one empty line between blocks."""
    with speaking(language):
        text: str = environment().get_template(template).render(language=language, **values)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def ruled(columns: int, words: int = 1) -> "Markup":
    """Return the line below a table's headers; all columns after the first `words` are right-aligned."""
    from markupsafe import Markup

    return Markup("|".join(["", *(["---"] * words), *(["---:"] * (columns - words)), ""]))


@functools.cache
def environment() -> "Environment":
    """Return the environment of Markdown templates: values are escaped on output, undefined names are errors."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Environment(
        loader=FileSystemLoader(shipped("templates", "report")),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals.update({"_": _, "N_": N_, "NP_": NP_, "ngettext": ngettext, "pgettext": pgettext, "ruled": ruled})
    templates.filters.update(mean=mean_text, quartiles=quartiles, on_target=target_text)
    templates.filters.update(number=show.number, percent=show.percent, moment=moment, quoted=quoted, state=show.state)
    return templates


def _finalize(value: object) -> "Markup":
    """Return a value as Markdown: output of templates and macros unchanged, everything else as text."""
    from markupsafe import Markup

    return value if isinstance(value, Markup) else Markup(escaped(str(value)))
