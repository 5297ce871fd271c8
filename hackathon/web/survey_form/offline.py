"""The form as a single offline file, and printable slips with links and codes."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hackathon.config.survey import Survey
from hackathon.survey.frozen import promise
from hackathon.text.messages import N_, _, language, speaking
from hackathon.text.paths import shipped
from hackathon.web.page.pages import allowed, environment, style
from hackathon.web.survey_form.form import TOKEN, fields_of, shown

GROUP = 4
"""Characters of a code that form a group on a slip."""


@dataclass(frozen=True)
class Slip:
    """The content of one person's slip."""

    code: str
    link: str = ""
    size: int = 0
    """Modules of the QR code's side including its margin; 0: no code."""
    path: str = ""
    """The QR code's dark modules as an SVG path."""


def offline_page(name: str, digest: str, survey: Survey, event: str) -> str:
    """Return the form in all its languages as one HTML file, which saves an answer for `survey import`.

    The saved file is {"schema_version": 1, "survey", "digest", "token", "values"}; values are texts as typed, or lists
    of chosen options. `digest` identifies the questionnaire.
    """
    forms: list[dict[str, Any]] = []
    for code in survey.languages:
        with speaking(code):
            forms.append({
                "language": code, "heading": shown(survey.title), "introduction": shown(survey.introduction),
                "promise": promise(survey), "fields": fields_of(survey), "event": event,
                "texts": {word: _(text) for word, text in PAGE_WORDS.items()},
            })  # fmt: skip
    with speaking(survey.languages[0]):
        return _page(
            "survey_offline.html.j2", survey.languages[0], script(), heading=shown(survey.title), title=event,
            event=event or shown(survey.title), forms=forms, name=name, digest=digest,
        )  # fmt: skip


PAGE_WORDS = {
    "save": N_("Save the answer as a file"),
    "save_lead": N_(
        "This page works offline and sends nothing: submit the saved file as instructed by the organisers."
    ),
    "saved": N_("Saved: {name}. Submit this file."),
    "code_field": N_("Code"),
    "code_wanted": N_("Enter the code on your slip."),
    "missing": N_("Please answer this question."),
    "too_long": N_("{count} {count:character|characters} too many."),
}


def sheet(survey: Survey, event: str, tokens: Sequence[str], base: str = "") -> str:
    """Return slips to print and cut, one for each token, in the current language.

    `base`: the form's address; empty: codes only.
    """
    slips = [slip(token, base) for token in tokens]
    return _page(
        "survey_sheet.html.j2", language(), "", heading=shown(survey.title), title=event,
        event=event or shown(survey.title), slips=slips, base=base,
    )  # fmt: skip


def slip(token: str, base: str = "") -> Slip:
    """Return the content of a slip; without a QR code if the library for it is not installed."""
    code = " ".join(token[at : at + GROUP] for at in range(0, len(token), GROUP))
    if not base:
        return Slip(code)
    link = f"{base}?{TOKEN}={token}"
    try:
        import segno
    except ImportError:
        return Slip(code, link)
    # Level M survives a fold of the paper; readers need the margin of four modules (ISO/IEC 18004).
    rows = [list(row) for row in segno.make_qr(link, error="m").matrix_iter(border=4)]
    return Slip(code, link, len(rows), _path(rows))


def _path(rows: Sequence[Sequence[int]]) -> str:
    parts: list[str] = []
    for y, row in enumerate(rows):
        x = 0
        while x < len(row):
            end = x
            while end < len(row) and row[end]:
                end += 1
            if end > x:
                parts.append(f"M{x} {y}h{end - x}v1h{x - end}z")
            x = end + 1
    return "".join(parts)


def _page(template: str, code: str, running: str, **values: Any) -> str:
    """Return a page that embeds its style and its script and loads nothing."""
    scripts = f"script-src {allowed(running)}; " if running else ""
    policy = f"default-src 'none'; style-src {allowed(style())}; {scripts}base-uri 'none'; form-action 'none'"
    page: str = (
        environment()
        .get_template(template)
        .render(language=code, others=(), style=style(), policy=policy, script=running, **values)
    )
    return page


@functools.cache
def script() -> str:
    """Return the script of the offline page."""
    return shipped("templates", "pages", "survey_offline.js").read_text(encoding="utf-8")
