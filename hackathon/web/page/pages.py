"""Render views to HTML, with the same templates for the published site and for the live dashboard.

A page is a template `templates/pages/<name>.html.j2` and one record `view`. It refers to other pages by `link(kind,
key)`, which site and dashboard answer with their own addresses, or with None if they have no such page: the template
then shows the words without a link.
"""

import base64
import contextlib
import functools
import hashlib
import json
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hackathon import __version__
from hackathon.scaling import show
from hackathon.scaling.table import SUCCEEDED, TARGET
from hackathon.text.messages import LANGUAGES, N_, NP_, _, ngettext, pgettext, speaking
from hackathon.text.paths import shipped, user_cache
from hackathon.text.units import format_age, format_moment, format_size
from hackathon.web.page.commands import pieces
from hackathon.web.page.tables import PageOptions, asking, kept_options, listed

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from hackathon.web.page.survey_words import ItemView

KINDS = (
    "now", "wall", "teams", "team", "study", "run", "profile", "speedup", "log", "diff", "runs", "compare", "scaling",
    "board", "cluster", "schedule", "survey", "surveys", "home", "file",
)  # fmt: skip
"""Kinds of pages. Keys: team, survey: its name; study, run, profile and speedup: `<project folder>//<id>`.

Diff: two such with `|` between; log: such a one and the log's name with `|` between; file: a path in the site, e.g. a
CSV; the others have none.
"""
MENU = ("now", "schedule", "teams", "runs", "scaling", "board", "survey", "surveys", "cluster")
"""Pages of the menu, in its order; those without an address are left out."""

Link = Callable[[str, str], str | None]
"""(kind, key) → the address, relative to the page being rendered, or None."""


@dataclass(frozen=True)
class Logo:
    """The picture at the top of every page."""

    address: str
    width: int
    """Pixels of the file."""
    height: int


@dataclass(frozen=True)
class About:
    """Data for search engines and chats that preview a link to a page."""

    description: str
    host: str = ""
    """The organiser; empty if none is named."""
    base: str = ""
    """The web address of the folder of the pages, with a trailing `/`; empty if unknown."""
    image: str = ""
    """The web address of a picture; empty without one."""


@dataclass(frozen=True)
class Site:
    """Settings that all pages of a site or dashboard share."""

    title: str
    languages: Sequence[str] = LANGUAGES
    live: bool = False
    """Whether a server updates the pages; `live.js` and the stream exist then."""
    masked: bool = True
    """Whether names of people and machines were masked, which the footer says."""
    scripts: Sequence[str] = ()
    """Addresses of script files for this page, e.g. `vega.js`; all of the same origin."""
    stylesheet: str | None = None
    """The address of the style sheet; None embeds it in the page."""
    acts: str = ""
    """Placeholder for the token in forms, which each answer replaces; empty: no forms."""
    said: str = ""
    """Placeholder for the outcome of the last form, which each answer replaces."""
    policy: str | None = None
    """The Content-Security-Policy for a `meta` element; None: the default below; "": the server sends a header."""
    logo: Logo | None = None
    about: About | None = None
    """None: no preview data, as on an event's own server."""


def render(
    template: str,
    site: Site,
    language: str,
    link: Link,
    *,
    others: Sequence[tuple[str, str]] = (),
    now: float | None = None,
    here: str = "",
    file: str = "",
    asked: PageOptions | None = None,
    **values: Any,
) -> str:
    """Return a page in a language.

    `others`: (language, address) of the same page; `here`: its kind, marked in the menu; `now`: the time of rendering;
    `file`: the page's own name in a site; `asked`: its options, None without a server.
    """
    with speaking(language):
        page: str = environment().get_template(template).render(
            site=site,
            language=language,
            others=others,
            link=lambda kind, key="": link(kind, key),
            here=here,
            file=file,
            asked=asked,
            menu=[(kind, address) for kind in MENU if (address := link(kind, "")) is not None],
            home=link("home", ""),
            style=style() if site.stylesheet is None else "",
            policy=default_policy() if site.policy is None else site.policy,
            now=time.time() if now is None else now,
            target=TARGET,
            succeeded=SUCCEEDED,
            **values,
        )  # fmt: skip
        return page


@functools.cache
def style() -> str:
    """Return the style sheet of all pages."""
    return shipped("templates", "pages", "style.css").read_text(encoding="utf-8")


@functools.cache
def default_policy() -> str:
    """Return the policy of a page with an embedded style and no scripts."""
    return f"default-src 'none'; style-src {allowed(style())}; base-uri 'none'; form-action 'none'"


def allowed(text: str) -> str:
    """Return the policy source that allows an embedded style or script (CSP level 3, section 2.3.1)."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@functools.cache
def environment() -> "Environment":
    """Return the templates' environment: everything is escaped, and undefined names are errors."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
    from markupsafe import Markup

    from hackathon.access.private import private_cache

    templates = Environment(
        loader=FileSystemLoader(shipped("templates", "pages")),
        undefined=StrictUndefined,
        auto_reload=False,  # a running server keeps the templates that match its code when the program is replaced
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    with contextlib.suppress(RuntimeError):  # this user has no known home
        # a template's compiled code also depends on the options above
        options = (templates.autoescape, templates.trim_blocks, templates.lstrip_blocks)
        templates.bytecode_cache = private_cache(user_cache() / "pages", f"{__version__} {options}")
    templates.globals.update({"_": _, "N_": N_, "NP_": NP_, "ngettext": ngettext, "pgettext": pgettext})
    templates.globals.update(
        processes=_processes,
        remarks=show.remarks,
        share_hints=show.share_hints,
        check_rule=show.check_rule,
        varied_settings=show.varied,
        settings_label=show.label,
        below_target=show.below_target,
        basis=show.basis,
        doubt_mark=show.doubt_mark,
        markup=Markup,
        listed=pass_context(listed),
        kept_options=pass_context(kept_options),
    )
    templates.filters.update(
        number=show.number, percent=show.percent, spread=show.spread, state=show.state, moment=moment, span=span,
        size=format_size, spec=_spec, code=_code, pieces=pieces, part=_part, mean=_mean, quartiles=_quartiles,
        asking=asking, age=format_age,
        shell=shlex.quote,  # other people's names in a command for copying
    )  # fmt: skip
    return templates


def _spec(spec: Mapping[str, Any]) -> "Markup":
    """Return a specification as JSON for a `script` element, without `<`, `>` and `&` in its texts.

    Numbers have six digits, which is more than a plot can show.
    """
    from markupsafe import Markup

    text = json.dumps(_rounded(spec), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)


def _code(text: str) -> "Markup":
    """Return a text with the parts between backticks as code; everything in it is escaped."""
    from markupsafe import Markup, escape

    marked = (Markup("<code>{}</code>").format(part) if kind else escape(part) for part, kind in pieces(text))
    return Markup("").join(marked)


def _part(part: str) -> str:
    from hackathon.diagnosis.show import part_name

    return part_name(part)


def _mean(item: "ItemView") -> str:
    from hackathon.web.page.survey_words import mean_text

    return mean_text(item)


def _quartiles(item: "ItemView") -> str:
    from hackathon.web.page.survey_words import quartiles

    return quartiles(item)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        short = float(f"{value:.6g}")
        return int(short) if short.is_integer() and abs(short) < 1e15 else short
    if isinstance(value, Mapping):
        return {key: _rounded(entry) for key, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, (list, tuple)) else value


def _processes(count: int) -> str:
    if not count:
        return _("processes not known")
    return _(N_("{count} process") if count == 1 else NP_("web", "{count} processes"), count=count)


def moment(seconds: float | None) -> str:
    """Return a moment as `2026-03-01 10:15 JST`; – for None."""
    return "–" if seconds is None else format_moment(seconds, "%Y-%m-%d %H:%M %Z")


def span(seconds: float) -> str:
    """Return a duration as on a clock, e.g. `0:02:20` for 140 s."""
    minutes, remainder = divmod(max(0, round(seconds)), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{remainder:02d}"
