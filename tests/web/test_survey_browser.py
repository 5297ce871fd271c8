"""The form of a survey in headless Chromium: on a phone without scripts, in the dark, with mistakes, as a file."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import Browser, Page, expect

from hackathon.survey.collection import Collection
from hackathon.survey.values import read_stored
from hackathon.web.survey_form.offline import offline_page, sheet
from support.pages.browser import (
    DESKTOP,
    PATIENCE,
    PHONE,
    STICKS_OUT,
    Look,
    axe_problems,
    html_problems,
    looks,
    picture,
)
from support.patience import STRETCH
from support.survey.serving import NAME, QUESTIONS, Served, app_of, ask, served, write_survey

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
HOSTILE = "<script>window.hit=1</script><img src=x onerror=window.hit=2>\"'></textarea><svg onload=window.hit=3>{{7*7}}"
LONG = "w" * 120
MORE = [
    *QUESTIONS,
    {"id": "ten", "kind": "rating", "levels": 10, "target": "high", "text": {"en": f"Ten {LONG}", "ja": "10段階"},
     "low": {"en": "would not recommend it to anybody", "ja": "まったく薦めない"},
     "high": {"en": "would recommend it to everybody", "ja": "ぜひ薦めたい"}},
    {"id": "hostile", "kind": "choice", "text": HOSTILE, "help": HOSTILE, "options": {"a": HOSTILE, "b": LONG}},
]  # fmt: skip


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return write_survey(tmp_path_factory.mktemp("event"), questions=MORE)


@pytest.fixture(scope="module")
def server(survey: Collection) -> Iterator[Served]:
    with served(survey.event_folder, "--tokens", "12") as made:
        yield made


class Looking:
    """A page that notes what should not happen."""

    def __init__(self, browser: Browser, origin: str, **settings: Any) -> None:
        self.context = browser.new_context(**{"viewport": PHONE, "locale": "ja-JP", **settings})
        self.context.set_default_timeout(PATIENCE)
        self.page: Page = self.context.new_page()
        self.problems: list[str] = []
        self.page.on("request", lambda one: self._asks(one.url, origin))
        self.page.on("pageerror", lambda error: self.problems.append(f"script: {error}"))
        self.page.on("console", lambda line: self._says(line.type, line.text))

    def _asks(self, address: str, origin: str) -> None:
        if not address.startswith((origin, "data:", "blob:")):
            self.problems.append(f"asks {address}")

    def _says(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and "responded with a status of 4" not in text:
            self.problems.append(f"console: {text}")

    def sound(self, name: str = "") -> None:
        """See that the page fits, can be used by everybody, and runs nothing that somebody typed."""
        wide, room = self.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide <= room + 1, self.page.evaluate(STICKS_OUT)
        assert axe_problems(self.page) == []
        assert self.page.evaluate("window.hit") is None
        assert self.problems == []
        if name:
            picture(self.page, f"survey-{name}")

    def everywhere(self, name: str) -> None:
        """See the same on a phone, on a desktop, and in the dark."""
        self.sound(name)
        assert looks(self.page, f"survey-{name}", Look(DESKTOP), Look(PHONE, "dark", axe="colours")) == {}
        self.page.emulate_media(color_scheme="light")


def answered(survey: Collection, words: str) -> list[dict[str, Any]]:
    return [dict(each.values) for each in survey.answers() if words in str(each.values.get("free", ""))]


def test_on_a_phone_without_scripts(browser: Browser, server: Served, survey: Collection) -> None:
    looking = Looking(browser, server.origin, java_script_enabled=False, has_touch=True)
    page = looking.page
    page.goto(server.links[0])
    assert page.get_attribute("html", "lang") == "ja"
    page.get_by_role("group", name="講習会時間").get_by_role("radio", name="1 短い").check()
    page.get_by_role("group", name="使ったもの").get_by_label("ディスク").check()
    page.get_by_label("準備時間").fill("１２")
    page.get_by_label("自由記述").fill("電話から\n二行目")
    page.get_by_role("button", name="送信する").tap()
    # a required question is missing: everything that was typed is there, and the way leads to what is missing
    page.get_by_role("alert").wait_for()
    assert page.get_by_role("radio", name="1 短い").is_checked()
    assert page.get_by_label("自由記述").input_value() == "電話から\n二行目"
    picture(page, "survey-phone-ja-wrong")
    page.get_by_role("alert").get_by_role("link", name="満足度").click()
    page.wait_for_url(re.compile("#q-satisfaction-1$"))
    page.get_by_role("group", name="満足度").get_by_role("radio", name="5 満足").check()
    page.get_by_role("button", name="送信する").tap()
    page.get_by_role("heading", level=1, name="ありがとうございました").wait_for()
    picture(page, "survey-phone-ja-done")
    assert answered(survey, "電話から") == [
        {"length": 1, "satisfaction": 5, "used": ("disk",), "hours": 12, "free": "電話から\n二行目"}
    ]
    page.reload()  # sends the same answer again
    assert "受付済みです" in page.get_by_role("heading", level=1).inner_text()
    page.goto(server.links[0])
    assert "使用済み" in page.get_by_role("heading", level=1).inner_text()
    assert len(answered(survey, "電話から")) == 1
    assert looking.context.cookies() == []


def test_an_impatient_finger_counts_once(browser: Browser, server: Served, survey: Collection) -> None:
    looking = Looking(browser, server.origin)
    page = looking.page
    page.goto(server.links[1])
    page.get_by_label("自由記述").fill("二度押し")
    page.get_by_role("radio", name="5 満足").check()
    page.get_by_role("button", name="送信する").dblclick(no_wait_after=True)
    page.get_by_role("heading", level=1, name="ありがとうございました").wait_for()
    assert len(answered(survey, "二度押し")) == 1


def test_every_page_can_be_used_by_everybody(browser: Browser, server: Served) -> None:
    looking = Looking(browser, server.origin)
    page, token = looking.page, server.tokens[2]
    page.goto(f"{server.origin}/?t={token}&lang=ja")
    looking.everywhere("form-ja")
    page.get_by_role("link", name="English").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    assert f"t={token}" in page.url
    looking.everywhere("form-en")
    for target in page.locator("label.level, label.option, button").all():
        box = target.bounding_box()
        assert box and box["height"] >= 44 and box["width"] >= 44, target.inner_html()
    page.locator("textarea[name=q-free]").fill(HOSTILE + "x" * 200)
    page.locator("input[name=q-hours]").fill(HOSTILE)
    page.locator("button").click()
    expect(page.locator("[aria-invalid=true]")).to_have_count(2)
    looking.everywhere("wrong-en")
    page.goto(f"{server.origin}/?lang=ja&t={'a' * 16}")
    looking.everywhere("unknown-ja")
    page.get_by_role("textbox").fill(token.upper())
    page.locator("button").click()
    page.locator("fieldset").nth(3).wait_for()


def test_every_page_is_sound_html(tmp_path: Path) -> None:
    survey = write_survey(tmp_path / "event", questions=MORE)
    tokens, folder = survey.open(2), tmp_path / "pages"
    app = app_of(survey)
    token, good = {"t": tokens[0]}, {"t": tokens[0], "q-satisfaction": "3"}

    async def all_pages() -> dict[str, str]:
        typed = {**token, "q-free": HOSTILE + "\0\x1b\ufffe" + "x" * 200, "q-hours": HOSTILE}
        asked: dict[str, tuple[Any, ...]] = {
            "form": (token,), "english": ({**token, "lang": "en"},), "code": (), "unknown": ({"t": "x"},),
            "wrong": ({}, typed), "done": ({}, good), "again": ({}, good), "spent": (token,),
            "broken": ({}, b""), "empty": ({}, {"t": tokens[1]}),
        }  # fmt: skip
        return {name: (await ask(app, *how)).body for name, how in asked.items()}

    with ThreadPoolExecutor() as apart:  # the browser's tests have a loop of their own in this thread
        pages = apart.submit(asyncio.run, all_pages()).result()
    app.close()
    pages["offline"] = offline_page(NAME, survey.digest, survey.survey, HOSTILE)
    for name, base in (("slips", "https://x.example.org/"), ("codes", "")):
        pages[name] = sheet(survey.survey, HOSTILE, tokens, base)
    folder.mkdir()
    for name, text in pages.items():
        # the checker knows no style sheet of these years
        (folder / f"{name}.html").write_text(re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL), "utf-8")
    # a browser that does not know which keyboard is meant shows any
    assert [
        problem for problem in html_problems(folder) if "“inputmode” attribute is not supported" not in problem
    ] == []


def _import(folder: Path, *files: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "hackathon", "survey", "import", "--survey", NAME, *map(str, files)],
        cwd=folder, env={**os.environ, "HACKATHON_LANG": "en"}, capture_output=True, text=True, timeout=STRETCH * 120,
    )  # fmt: skip


def test_the_offline_page_saves_what_import_takes(
    browser: Browser, server: Served, survey: Collection, tmp_path: Path
) -> None:
    file = tmp_path / "form.html"
    done = subprocess.run(
        [sys.executable, "-m", "hackathon", "survey", "serve", NAME, "--page", str(file)],
        cwd=survey.event_folder, capture_output=True, text=True, timeout=STRETCH * 120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    looking = Looking(browser, file.as_uri(), color_scheme="dark")
    page = looking.page
    page.goto(file.as_uri())
    looking.sound("offline-ja")

    token = server.tokens[3]
    form = page.locator("form:visible")
    form.get_by_role("group", name="講習会時間").get_by_role("radio", name="2").check()
    form.get_by_label("自由記述").fill(f"ネットなし {HOSTILE}")
    form.get_by_role("button").click()
    assert page.evaluate("document.activeElement.name") == "t", "a page without a code can not be saved"
    form.get_by_label("コード").fill(f" {token[:4].upper()}-{token[4:]} ")
    form.get_by_role("button").click()
    assert page.evaluate("document.activeElement.name") == "q-satisfaction"
    # in the other language everything is still there
    page.get_by_role("button", name="English").click()
    assert page.get_attribute("html", "lang") == "en"
    assert form.get_by_role("group", name="Length").get_by_role("radio", name="2").is_checked()
    assert form.get_by_label("No answer").count() == 4 and "必須" not in form.inner_text()
    form.get_by_role("group", name="Satisfaction").get_by_role("radio", name="4").check()
    form.get_by_role("group", name="What did you use?").get_by_label("disk").check()
    form.get_by_role("group", name="What did you use?").get_by_label("GPU").check()
    form.get_by_label("Hours of preparation").fill("7.5")
    looking.sound("offline-en")
    with page.expect_download() as download:
        form.get_by_role("button").click()
    saved = tmp_path / download.value.suggested_filename
    download.value.save_as(saved)
    assert saved.name.startswith(f"answer-{NAME}-") and saved.suffix == ".json"
    assert saved.name in form.get_by_role("status").inner_text()
    written = json.loads(saved.read_text("utf-8"))
    assert {name: written[name] for name in ("schema_version", "survey", "digest")} == {
        "schema_version": 1, "survey": NAME, "digest": survey.digest,
    }  # fmt: skip

    done = _import(survey.event_folder, saved)
    assert done.returncode == 0, done.stderr
    values = {"length": 2, "satisfaction": 4, "used": ("gpu", "disk"), "hours": 7.5, "free": f"ネットなし {HOSTILE}"}
    assert answered(survey, "ネットなし") == [values]
    _import(survey.event_folder, saved)
    assert len(answered(survey, "ネットなし")) == 1
    assert survey.token_state(token) == "spent"


def test_the_offline_page_saves_nothing_that_import_refuses(browser: Browser, tmp_path: Path) -> None:
    questions = [{**each, "required": each["kind"] == "choices"} for each in QUESTIONS]
    survey = write_survey(tmp_path / "event", questions=questions)
    (token,) = survey.open(1)
    file = tmp_path / "form.html"
    file.write_text(offline_page(NAME, survey.digest, survey.survey, "T"), "utf-8")
    looking = Looking(browser, file.as_uri(), locale="en-US")
    page, saves = looking.page, []
    page.on("download", lambda each: saves.append(each))
    page.goto(file.as_uri())
    form = page.locator("form:visible")
    form.get_by_label("code").fill(token)
    boxes, hours = form.get_by_role("group", name="What did you use?"), form.get_by_label("Hours of preparation")
    problem = "field => field.validationMessage"
    form.get_by_role("button").click()
    first = boxes.get_by_role("checkbox").first
    assert page.evaluate("document.activeElement.name") == "q-used"
    assert first.evaluate(problem) == "Please answer this question."
    boxes.get_by_label("disk").check()
    for wrong in ("101", "-0.5", "１０１", "1,000"):
        hours.fill(wrong)
        form.get_by_role("button").click()
        assert page.evaluate("document.activeElement.name") == "q-hours", wrong
        assert "100" in hours.evaluate(problem) and first.evaluate(problem) == ""
    assert saves == [] and not form.get_by_role("status").inner_text()
    for number, right in enumerate(("", "100", "0", "７.5", "8 hours"), 1):
        hours.fill(right)
        with page.expect_download() as download:
            form.get_by_role("button").click()
        saved = tmp_path / f"answer-{number}.json"
        download.value.save_as(saved)
        values = json.loads(saved.read_text("utf-8"))["values"]
        assert read_stored(survey.survey, values)[1] == [], right
    assert looking.problems == []


def test_slips_to_cut(browser: Browser, survey: Collection, tmp_path: Path) -> None:
    folder = survey.event_folder
    done = subprocess.run(
        [sys.executable, "-m", "hackathon", "survey", "serve", NAME, "--tokens", "10", "--url", "https://x.example.org/",
         "--sheet", str(tmp_path / "slips.html"), "--page", str(folder / "form.html")],
        cwd=folder, capture_output=True, text=True, timeout=STRETCH * 120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    address = (tmp_path / "slips.html").as_uri()
    looking = Looking(browser, address)
    looking.page.goto(address)
    looking.sound("slips-phone")
    paper = Looking(browser, address, viewport={"width": 794, "height": 1123})
    paper.page.emulate_media(media="print")
    paper.page.goto(address)
    picture(paper.page, "survey-slips-print")
    assert paper.problems == []
    assert paper.page.locator("li svg").count() == 10
