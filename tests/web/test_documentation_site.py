"""The site that `make site` builds: no broken link, nothing from the Internet, and a search that works in a folder."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser, expect

from support.pages.browser import PHONE
from support.paths import ROOT

pytest.importorskip("mkdocs")
pytest.importorskip("mkdocs_static_i18n")
pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documentation")
    environment = os.environ | {"SITE_PAGES": str(folder / "pages"), "NO_MKDOCS_2_WARNING": "1"}
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder / "site")]
    for command in ([sys.executable, "docs/build.py", str(folder / "pages")], build):
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return folder / "site"


class Links(HTMLParser):
    """Ids of an HTML page, links to other pages, and addresses of what a browser loads with it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.resources: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids |= {value for name in ("id", "name") if (value := values.get(name))}
        if tag == "a" and values.get("href"):
            self.links.add(str(values["href"]))
        elif tag == "link" and values.get("rel") in ("stylesheet", "icon"):
            self.resources.add(str(values["href"]))
        elif values.get("src"):
            self.resources.add(str(values["src"]))


def test_every_link_and_file_of_the_site_is_there(site: Path) -> None:
    pages = {path: Links(path) for path in site.rglob("*.html")}
    topics = {path.name.split(".")[0] for path in (ROOT / "docs").glob("*/*.md")}
    for folder in (site, site / "ja"):
        assert topics <= {path.stem for path in pages if path.parent.parent == folder}
    broken = []
    for path, page in pages.items():
        for link in page.links | page.resources:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                assert link in page.links, f"{path}: {link} is loaded from the Internet"
                continue
            target = (site if path.name == "404.html" else path.parent) / unquote(parts.path).lstrip("/")
            target = Path(os.path.normpath(target if parts.path else path))
            target = target / "index.html" if target.is_dir() else target
            fragment = unquote(parts.fragment)
            if not target.is_file() or (fragment and target in pages and fragment not in pages[target].ids):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken


def test_each_page_of_a_language_is_written_in_it(site: Path) -> None:
    for name in ("index", "how-to/faq", "reference/glossary", "how-to/my-job-failed"):
        english, japanese = ((site / folder / f"{name}.html").read_text(encoding="utf-8") for folder in ("", "ja"))
        assert re.search(r"<h1[^>]*>[^<]*[ぁ-んァ-ヶ一-龠]", japanese) or name == "index"
        assert not re.search(r"<h1[^>]*>[^<]*[ぁ-んァ-ヶ一-龠]", english)
        assert "[日本語]" not in english
        assert ">English</a>" not in japanese.partition("<article")[2].partition("</article")[0]


@pytest.mark.parametrize(("folder", "words", "heading"), [
    ("", "walltime", "Train longer than the walltime"), ("ja/", "制限時間", "制限時間より長く学習する"),
])  # fmt: skip
def test_a_page_opened_from_a_folder_can_be_searched(
    site: Path, browser: Browser, folder: str, words: str, heading: str
) -> None:
    page = browser.new_page(viewport=PHONE)
    page.goto((site / folder / "index.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("label[for=__search]").first.click()
    field = page.get_by_role("textbox")
    field.fill(words)
    field.press("Shift")  # the theme listens to keys
    result = page.locator(".md-search-result__item").filter(has_text=heading).first
    expect(result).to_be_visible(timeout=60_000)
    results = page.locator(".md-search-result__item > a").evaluate_all("all => all.map(each => each.href)")
    assert results and all(("/ja/" in address) == bool(folder) for address in results), "the reader's language alone"
    result.locator("a").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(heading)
    page.close()
