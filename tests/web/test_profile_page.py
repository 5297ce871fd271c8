"""The page of a profile in headless Chromium: at any width, in both languages, for screen readers, and valid."""

import re
from pathlib import Path

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import Browser

from hackathon.cli.main import run as hackathon
from support.pages.browser import DESKTOP, PHONE, Look, Visitor, html_problems, looks
from support.traces import MadeTrace, gloo_traces

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
HOSTILE = "<script>alert(1)</script> aten::" + "verylongname" * 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of a run on CPUs with a late rank and names that somebody made up, and of one on GPUs."""
    made = tmp_path_factory.mktemp("pages")
    traces = gloo_traces(4, {2: 12.0})
    for step in range(6):
        traces[0].operator(32 * step + 5, 32 * step + 6, HOSTILE)
    for event in (event for trace in traces for event in trace.events if event["name"] == "aten::mm"):
        event["args"] = {"Input Dims": [[512, 256], [256, 1024]], "Input type": ["float", "float"]}
    files = [str(trace.write(made)) for trace in traces]
    assert hackathon(["profile", "--html", str(made / "cpu.html"), "--from", *files]) == 0
    gpu = MadeTrace(0, 1)
    for step in range(4):
        gpu.step(step, 40 * step, 40 * step + 40)
        gpu.copy(40 * step, 40 * step + 2)
        gpu.operator(40 * step, 40 * step + 30)
        gpu.kernel(40 * step + 3, 40 * step + 39, "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_" + "tilesize64x" * 20)
    gpu.memory(1.0, int(5e9), 1)
    assert hackathon(["profile", "--html", str(made / "gpu.html"), "--from", str(gpu.write(made, packed=True))]) == 0
    return made


@pytest.mark.parametrize("name", ["cpu.html", "cpu.ja.html", "gpu.html", "gpu.ja.html"])
def test_it_fits_screens_and_runs_nothing(browser: Browser, folder: Path, name: str) -> None:
    context = browser.new_context(viewport=DESKTOP)  # type: ignore[arg-type]
    visitor = Visitor(context, "file://")
    assert visitor.visit((folder / name).as_uri()).problems == []
    if name in ("cpu.html", "gpu.ja.html"):
        ways = (Look(PHONE, axe="all"), Look(PHONE, "dark", axe="colours"))
    else:
        ways = (Look(PHONE),)
    assert looks(visitor.page, f"profile-{name}", *ways) == {}
    assert visitor.problems == []
    assert any(name.partition(".")[0] in address for address in visitor.links())
    context.close()


def test_the_picture_has_a_bar_for_each_rank_and_what_it_waits_for(browser: Browser, folder: Path) -> None:
    page = browser.new_page(viewport=DESKTOP)
    page.goto((folder / "cpu.html").as_uri())
    waiting = page.eval_on_selector_all(
        ".steps rect.part-waiting", "all => all.map(each => +each.getAttribute('width'))"
    )
    assert len(waiting) == 3 and all(width == pytest.approx(930 * 12 / 32, rel=0.01) for width in waiting)
    assert page.inner_text("h1").startswith("Rank 2 is late")
    page.close()


def test_its_html_is_valid(folder: Path, tmp_path: Path) -> None:
    for page in folder.glob("*.html"):  # the checker knows no CSS of today, which the pages of sites have in a file
        text = re.sub(r"<style>.*?</style>", "<style></style>", page.read_text(), flags=re.DOTALL)
        (tmp_path / page.name).write_text(text)
    assert html_problems(tmp_path) == []
