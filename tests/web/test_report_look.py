"""The report's HTML in headless Chromium: at any width and on paper, from a disk, for screen readers, and valid."""

from pathlib import Path

import pytest

pytest.importorskip("playwright")
pytest.importorskip("vl_convert")
from playwright.sync_api import Browser

from hackathon.board.directory import make_place
from hackathon.cli.main import run as hackathon
from support.event_2019 import event_2019
from support.pages.browser import DESKTOP, PHONE, Look, Visitor, html_problems, looks
from support.samples.photographs import png
from support.samples.runs import Sample, write_study
from support.survey.closed import write_survey

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
WIDE, SMALL = {"width": 1440, "height": 900}, {"width": 1024, "height": 768}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report on the event of 2019, two of whose teams measured."""
    event = tmp_path_factory.mktemp("event")
    event_2019(event, lessons=[{"en": "Check early.", "ja": "準備の確認を早めに行う。"}])
    make_place(event / "shared", "sticky")
    write_survey(event)
    for name, speed in (("Aurora", 1900.0), ("ひので", 1700.0)):
        write_study(event / name / "train", [Sample(1, 1000.0), Sample(2, speed), Sample(4, 1.8 * speed)], team=name)
    target = tmp_path_factory.mktemp("report")
    (event / "hall.png").write_bytes(png(640, 360))
    text = (event / "hackathon.yaml").read_text("utf-8")
    article = (
        "report:\n  authors: [Hanako Suzuki]\n  photographs:\n  - {file: hall.png, caption: {en: The hall, ja: 会場}}\n"
    )
    (event / "hackathon.yaml").write_text(text + article, "utf-8")
    assert hackathon(["event", "report", str(event), "--to", str(target), "--no-ask"]) == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(event)
        for language, ending in (("en", ""), ("ja", ".ja")):
            words = ["slides", "Aurora", "--to", str(target / f"slides{ending}.html"), "--no-ask", "--lang", language]
            assert hackathon(words) == 0
    return target


@pytest.mark.parametrize("name", ["slides.html", "slides.ja.html"])
def test_slides_fit_a_screen_and_print_one_a_page(browser: Browser, folder: Path, name: str) -> None:
    context = browser.new_context(viewport=WIDE)  # type: ignore[arg-type]
    visitor = Visitor(context, "file://")
    assert visitor.visit((folder / name).as_uri()).problems == []
    for viewport in (WIDE, SMALL, PHONE):
        assert looks(visitor.page, name, Look(viewport, axe="all" if viewport == PHONE else "")) == {}
        if viewport != PHONE:
            heights = visitor.page.eval_on_selector_all(
                ".slide",
                "all => all.map(each => each.getBoundingClientRect().height / each.getBoundingClientRect().width)",
            )
            assert all(height == pytest.approx(9 / 16, abs=0.01) for height in heights), "a slide holds what is on it"
    assert visitor.problems == []
    context.close()
    page = browser.new_page(viewport=DESKTOP)
    page.goto((folder / name).as_uri())
    slides = page.locator(".slide").count()
    page.locator(".blank").last.click()
    page.keyboard.type("64 processes. ")
    assert "64 processes." in page.locator(".blank").last.inner_text(), "a team writes in the page"
    paper = page.pdf(prefer_css_page_size=True)
    assert paper.count(b"/Type /Page\n") == slides
    page.close()


@pytest.mark.parametrize("name", ["report.html", "report.ja.html"])
def test_it_fits_screens_and_paper(browser: Browser, folder: Path, name: str) -> None:
    context = browser.new_context(viewport=DESKTOP)  # type: ignore[arg-type]
    visitor = Visitor(context, "file://")
    assert visitor.visit((folder / name).as_uri()).problems == []
    assert looks(visitor.page, name, Look(DESKTOP), Look(PHONE, axe="all")) == {}
    assert visitor.problems == []
    context.close()
    page = browser.new_page(viewport=DESKTOP)
    page.goto((folder / name).as_uri())
    page.emulate_media(media="print")
    paper = page.pdf(prefer_css_page_size=True)
    # A4 in points, ISO 216
    assert b"/MediaBox [0 0 594.95996 841.91998]" in paper or b"/MediaBox [0 0 595" in paper
    assert 2 <= paper.count(b"/Type /Page\n") <= 8
    page.close()


def test_its_html_is_valid(folder: Path) -> None:
    assert html_problems(folder) == []
