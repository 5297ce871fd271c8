"""The chart of step shares on a phone: its letters can be read, and the page does not say the chart again as text."""

import json
from pathlib import Path

import pytest

pytest.importorskip("playwright")
pytest.importorskip("vl_convert")
from playwright.sync_api import Browser

from support.pages.browser import DESKTOP, PHONE
from support.samples.runs import Sample, write_study
from support.samples.source import folder_source, page_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]
LETTERS = """selector => [...document.querySelectorAll(selector)].map(text => {
    const svg = text.closest('svg');
    return parseFloat(getComputedStyle(text).fontSize) * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
})"""


@pytest.mark.parametrize("language", ["en", "ja"])
def test_letters_of_step_shares_on_a_phone(browser: Browser, tmp_path: Path, language: str) -> None:
    study = write_study(tmp_path / "net", [Sample(size, 900.0 * size) for size in (1, 2, 16)], team="")
    shares = {"data_share": 0.12, "compute_share": 0.6, "communication_share": 0.2}
    for metrics in (tmp_path / "net" / "runs").glob("*/metrics/rank-0.jsonl"):
        rows = [json.loads(line) for line in metrics.read_text().splitlines()]
        measured = [
            row if row.get("final") or row.get("warmup")
            else {**row, "interval": [row["step"] - 9, row["step"]], **shares}
            for row in rows
        ]  # fmt: skip
        metrics.write_text("".join(f"{json.dumps(row)}\n" for row in measured))
    source = folder_source([tmp_path / "net"], tmp_path / "index.sqlite")
    html = page_of(source, "study", f"{study.project}//{study.id}", language)
    page = browser.new_page(viewport=PHONE)  # type: ignore[arg-type]
    page.set_content(html)
    assert page.locator("#shares").is_hidden() and page.locator(".plot.narrow").is_visible()
    sizes = page.evaluate(LETTERS, ".plot.narrow text")
    assert len(sizes) > 10 and min(sizes) >= 11
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    names = {"en": ("1 process", "16 processes", "communication"), "ja": ("1 プロセス", "16 プロセス", "通信")}
    told = page.locator(".plot.narrow").text_content() or ""
    assert all(name in told for name in names[language])
    assert "12 %" not in page.locator(".remarks").first.inner_text(), "the chart has it"
    page.set_viewport_size(DESKTOP)  # type: ignore[arg-type]
    assert page.locator("#shares").is_visible() and page.locator(".plot.narrow").is_hidden()
    page.close()
