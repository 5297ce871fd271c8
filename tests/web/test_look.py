"""Colours can be read and told apart, in light and dark; the pages' frame is sound."""

import itertools
import json
import re
from collections.abc import Iterator

import pytest

from hackathon.text.messages import speaking
from hackathon.text.paths import shipped
from hackathon.web.page.pages import MENU, Site, environment, style
from hackathon.web.views.overview import COLOURS

Colour = tuple[float, float, float]
PAPERS = ("paper", "card")
WORDS = ("ink", "quiet", "accent", "good", "warn", "bad")
"""Colours that texts have on paper and on cards."""
SOFT = (("good", "good-soft"), ("warn", "warn-soft"), ("bad", "bad-soft"), ("ink", "warn-soft"), ("ink", "code"),
        ("band-ink", "band"), ("band-ink", "band-mark"), ("accent", "accent-soft"), ("ink", "accent-soft"),
        ("quiet", "code"))  # fmt: skip
LEAST_TEXT, LEAST_SHAPE, LEAST_APART = 4.5, 3.0, 0.06
SEEING = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
"""How people see linear colours; Machado, Oliveira and Fernandes 2009, severity 1."""


def _schemes() -> dict[str, dict[str, str]]:
    """Return the variables of the light and of the dark page."""
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", part))
        for part in re.findall(r":root \{(.*?)\n\s*\}", style().partition("@media print")[0], re.DOTALL)[:2]
    )
    assert len(light) > 20 and len(dark) > 20
    return {"light": light, "dark": {**light, **dark}}


def _linear(colour: str) -> Colour:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return red, green, blue


def _contrast(one: str, other: str) -> float:
    """Return the contrast of WCAG 2.2."""
    light, dark = sorted(
        (sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), _linear(each), strict=True))
         for each in (one, other)), reverse=True,
    )  # fmt: skip
    return (light + 0.05) / (dark + 0.05)


def _seen(colour: str, how: str) -> Colour:
    """Return how a colour looks to somebody, in OKLab (Ottosson 2020), where distances are what eyes tell apart."""
    parts = _linear(colour)
    rows = SEEING[how]
    red, green, blue = (
        min(1.0, max(0.0, sum(weight * part for weight, part in zip(row, parts, strict=True)))) for row in rows
    )
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def _distance(one: str, other: str) -> float:
    """Return the least distance of two colours for anybody."""
    pairs = ((_seen(one, how), _seen(other, how)) for how in SEEING)
    return min(sum((a - b) ** 2 for a, b in zip(*pair, strict=True)) ** 0.5 for pair in pairs)


def _teams(scheme: dict[str, str]) -> list[str]:
    return [scheme["accent"], *(scheme[f"team-{number}"] for number in range(2, len(COLOURS) + 1))]


@pytest.mark.parametrize("name", ["light", "dark"])
def test_every_text_can_be_read(name: str) -> None:
    scheme = _schemes()[name]
    pairs = [*itertools.product(WORDS, PAPERS), *SOFT]
    weak = {pair: round(_contrast(scheme[pair[0]], scheme[pair[1]]), 2) for pair in pairs}
    assert {pair: found for pair, found in weak.items() if found < LEAST_TEXT} == {}
    # The 75 % line is called by its name in the pictures.
    assert _contrast(scheme["target"], scheme["card"]) >= LEAST_TEXT


@pytest.mark.parametrize("name", ["light", "dark"])
def test_every_line_can_be_seen_and_told_from_the_others(name: str) -> None:
    scheme = _schemes()[name]
    teams = _teams(scheme)
    for colour in (*teams, scheme["reference"], scheme["target"]):
        assert _contrast(colour, scheme["card"]) >= LEAST_SHAPE, colour
    near = {pair: round(_distance(*pair), 3) for pair in itertools.combinations(teams, 2)}
    assert {pair: found for pair, found in near.items() if found < LEAST_APART} == {}
    assert {team: found for team in teams if (found := _distance(team, scheme["target"])) < LEAST_APART} == {}


def test_the_light_page_has_the_colours_of_the_pictures() -> None:
    assert tuple(_teams(_schemes()["light"])) == COLOURS


def test_every_colour_of_a_picture_changes_with_the_page() -> None:
    rules = re.sub(r"\s+", " ", style())
    for colour in _colours():
        assert f'[fill="{colour}"]' in rules or f'[stroke="{colour}"]' in rules, colour
    for colour in COLOURS:
        assert f'.plot [fill="{colour}"]' in rules and f'.plot [stroke="{colour}"]' in rules
        assert f'.mark [fill="{colour}"]' in rules


def _colours() -> Iterator[str]:
    folder = shipped("templates", "plots")
    for path in sorted(folder.glob("*.json")):
        text = path.read_text(encoding="utf-8")
        json.loads(text)
        # Titles are the page's: they are only in pictures for files.
        yield from re.findall(r"#[0-9a-f]{6}", text.replace('"title": {"color": "#1b2733"', ""))
    yield from COLOURS


def test_no_template_steps_around_the_policy() -> None:
    """Styles and scripts come from files; markup from outside only where drawing, our style or our script is meant."""
    for path in sorted(shipped("templates", "pages").glob("*.j2")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r'\s(style|on[a-z]+)="', text), path.name
        assert "|safe" not in text.replace(" ", ""), path.name
        outside = {"style", "script", "fig.svg", "fig.narrow.svg", "drawn"}
        assert set(re.findall(r"markup\(([^)]*)\)", text)) <= outside, path.name
        for line in re.findall(r'{%\s*from "parts.html.j2" import [^%]*\bfigure\b[^%]*%}', text):
            assert "with context" in line, f"{path.name}: its pictures would never become interactive"


def _page(here: str, language: str, scripts: tuple[str, ...] = ()) -> str:
    text = '{% extends "layout.html.j2" %}{% block content %}<h1>x</h1>{% endblock %}'
    made = environment().from_string(text)
    link = {kind: f"/{kind}" for kind in MENU if kind not in ("board", "survey", "surveys")}.get
    with speaking(language):
        return made.render(
            site=Site("Event <b>", scripts=scripts), language=language, others=[("ja", "/ja")], here=here, policy="",
            menu=[(kind, address) for kind in MENU if (address := link(kind))], home="/", style=style(), now=0.0,
        )  # fmt: skip


def test_the_menu_marks_the_page_and_leaves_out_what_is_not_there() -> None:
    html = _page("teams", "en")
    menu = html.partition('<nav class="menu"')[2].partition("</nav>")[0]
    assert re.findall(r'href="([^"]*)"', menu) == ["/now", "/schedule", "/teams", "/runs", "/scaling", "/cluster"]
    assert re.findall(r'href="([^"]*)" aria-current="page"', menu) == ["/teams"]
    assert "チーム" in _page("teams", "ja").partition('<nav class="menu"')[2]
    assert 'aria-current="page"' not in _page("run", "en") and 'href="/teams" aria-current="true"' in _page("run", "en")
    assert 'aria-current="' not in _page("home", "en")
    assert "Event &lt;b&gt;" in html and "<b>" not in html
    assert "<script" not in html
    assert '<script src="/plots.js" defer></script>' in _page("teams", "en", ("/plots.js",))


def test_the_style_sheet_is_one_small_file() -> None:
    text = style()
    assert len(text.encode()) < 46_000
    assert text.count("{") == text.count("}")
    assert not re.search(r"url\(|@import|expression\(", text)
