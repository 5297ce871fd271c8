"""A quarter to four at an event: three teams ask, and a tutor helps all of them in headless Chromium."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import pytest

from hackathon.access.permissions import user_name

pytest.importorskip("playwright", reason="no Chromium")

from playwright.sync_api import Browser, Page, expect

from hackathon.board.board import Board, open_board, reply
from hackathon.board.directory import make_place
from hackathon.board.post import finding_of, post, step_time_of
from hackathon.runs.directory import RunDirectory
from support.pages.browser import PATIENCE, PHONE, Look, html_problems, looks
from support.patience import STRETCH, until
from support.samples.event import _unend
from support.samples.runs import Sample, write_run

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
ME = user_name(os.geteuid())
TEAMS = ("aurora", "borealis", "cirrus")
QUESTIONS = ("It crashes\nsince we use 4 GPUs", "4 GPUs are not faster than 1", "Nothing happens any more")
CAUSES = ("out of memory", "waits for data", "No output")
WIDE, LAPTOP = {"width": 1440, "height": 900}, {"width": 1024, "height": 768}
LOOKS = {
    "en": (Look(WIDE), Look(LAPTOP), Look(WIDE, "dark", axe="colours")),
    "ja": (Look(PHONE, axe="all"),),
}


@dataclass
class Scene:
    """An event with a dashboard, and how a browser gets there."""

    folder: Path
    origin: str

    def board(self) -> Board:
        return open_board(self.folder / "shared", self.folder)


@dataclass
class Tutor:
    """Somebody at a browser, whose clicks are counted."""

    page: Page
    clicks: int = 0
    waits: list[str] = field(default_factory=list)

    def click(self, inside: str, name: str | None = None) -> None:
        """Click on an element, or on the button of a name in it, and wait for the page that follows a form."""
        found = self.page.locator(inside)
        self.clicks += 1
        if name is None:
            found.click()
        else:
            with self.page.expect_navigation():
                found.get_by_role("button", name=name, exact=True).click()

    def type(self, inside: str, text: str) -> None:
        self.click(f"{inside} textarea")
        self.page.keyboard.insert_text(text)


def write_scene(folder: Path) -> None:
    """Three teams: out of memory, slow because of its data, and without progress; all ask."""
    now = time.time()
    make_place(folder / "shared", "sticky")
    teams = "".join(
        f"- {{name: {name}, members: [{{user: u{n}, name: Member {n}}}], tutors: [{ME}], seat: table {n}}}\n"
        for n, name in enumerate(TEAMS)
    )
    head = f"title: {{en: Hackathon, ja: ハッカソン}}\nshared: shared\ntutors: [{{user: {ME}, name: Tutor}}]\n"
    text = f"{head}teams:\n{teams}"
    (folder / "hackathon.yaml").write_text(text)
    crashed = Sample(4, None, "FAILED", "exit code 1", exit_code=1)
    broken = write_run(folder / "aurora/train/runs", crashed, 1, team="aurora", start=now - 900)
    (broken / "logs/rank-1.log").write_text(
        "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.90 GiB total)\n"
    )
    slow = write_run(folder / "borealis/train/runs", Sample(1, 900.0), 2, team="borealis", start=now - 900)
    metrics = slow / "metrics/rank-0.jsonl"
    lines = [json.loads(each) for each in metrics.read_text().splitlines()]
    shares = {"data_share": 0.62, "compute_share": 0.3}
    lines = [
        each if each.get("final") else {**each, "interval": [each["step"] - 9, each["step"]], **shares}
        for each in lines
    ]
    metrics.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    still = write_run(folder / "cirrus/train/runs", Sample(4, 1800.0), 3, team="cirrus", start=now - 1500)
    _unend(still)
    for path in still.rglob("*"):
        if path.is_file() and path.parent.name in ("metrics", "logs"):
            os.utime(path, (now - 900, now - 900))
    for text, run in zip(QUESTIONS, (broken, slow, still), strict=True):
        directory = RunDirectory(run)
        found = finding_of(directory) or step_time_of(directory)
        post(open_board(folder / "shared", folder), text, kind="ask", run=run.name, folder=run, finding=found)
    before = post(open_board(folder / "shared", folder), "Out of memory with 64", run=broken.name, folder=broken,
                  finding=finding_of(RunDirectory(broken)))  # fmt: skip
    board = open_board(folder / "shared", folder)
    old = next(each for each in board.posts if each.id == before.entry.id)
    reply(board, old, "solve", "batch_size=32 and gradient accumulation")


@contextlib.contextmanager
def tunnel(path: Path) -> Iterator[int]:
    """Lead a port to a socket as `ssh -L` does, and yield it."""

    def copy(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(str(path))
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=copy, args=pair, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]


@contextlib.contextmanager
def dashboard(folder: Path, runtime: Path) -> Iterator[str]:
    """Run `hackathon dashboard` on its socket; yield the address in a browser."""
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "HACKATHON_LANG": "en", "PYTHONUNBUFFERED": "1"}
    environment.pop("HACKATHON_SHARED", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "hackathon", "dashboard", "--no-ask"], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        said = ""
        while "Ctrl-C" not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
        assert f"in the name of {ME}" in said
        match = re.search(r"ssh -L 8000:(\S+) ", said)
        assert match
        with tunnel(Path(match[1])) as port:
            yield f"http://localhost:{port}"
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(STRETCH * 60)


@contextlib.contextmanager
def scene(folder: Path, cache: Path) -> Iterator[Scene]:
    with tempfile.TemporaryDirectory(prefix="hk-", dir="/tmp") as runtime, pytest.MonkeyPatch.context() as patch:
        patch.delenv("HACKATHON_SHARED", raising=False)
        patch.setenv("XDG_RUNTIME_DIR", runtime)
        patch.setenv("XDG_CACHE_HOME", str(cache))
        write_scene(folder)
        with dashboard(folder, Path(runtime)) as origin:
            yield Scene(folder, origin)


def opened(browser: Browser, scene: Scene, language: str = "en", **options: object) -> Page:
    page = browser.new_context(**options).new_page()  # type: ignore[arg-type]
    page.set_default_timeout(PATIENCE)
    page.said = []  # type: ignore[attr-defined]
    page.on("console", lambda line: page.said.append(line.text) if line.type in ("error", "warning") else None)  # type: ignore[attr-defined]
    page.on("pageerror", lambda error: page.said.append(str(error)))  # type: ignore[attr-defined]
    page.goto(f"{scene.origin}/{language}/now")
    return page


@pytest.mark.parametrize("script", [True, False], ids=["with-scripts", "without"])
def test_three_teams_ask_and_a_tutor_helps_all_of_them(
    browser: Browser, tmp_path: Path, warm_cache: Path, script: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without scripts he helps the first one, by the same forms."""
    number = 3 if script else 1
    with scene(tmp_path, warm_cache) as place:
        page = opened(browser, place, java_script_enabled=script)
        if not script:  # the page loads itself again, except for who reads or writes
            expect(page.locator("textarea").first).to_be_hidden()
            page.get_by_role("link", name="Stop that, to read or write").click()
        expect(page.locator("h1")).to_have_text("3 teams ask")
        expect(page).to_have_title(re.compile(r"^\(3\) "))
        expect(page.locator(".matter")).to_have_count(3)
        tutor, begun = Tutor(page), time.monotonic()
        for question, cause in list(zip(QUESTIONS, CAUSES, strict=True))[:number]:
            request = next(each for each in place.board().of("ask") if each.title == question.splitlines()[0])
            matter = f".matter:has(#post-{request.short})"
            before = tutor.clicks
            if not page.locator(f"{matter} > details[open]").count():
                tutor.click(f"{matter} > details > summary")
            body = page.locator(f"{matter} .matter-body")
            expect(body).to_be_visible()
            expect(page.locator(matter)).to_contain_text(cause)
            expect(body.locator(".help-advice")).to_be_visible()
            assert tutor.clicks - before <= 1, "cause and advice within one click"
            tutor.click(matter, "Take this request")
            expect(page.locator(f"{matter} .matter-body")).to_be_visible()  # the page shows it where it was
            tutor.type(matter, f"About {request.title}: look at the loader")
            tutor.click(matter, "Send the answer")
            tutor.type(matter, "Solved at the table")
            tutor.click(matter, "Send and close")
            expect(page.locator(matter)).to_have_count(0)
        seconds = time.monotonic() - begun
        asked = place.board().of("ask")
        helped = [each for each in asked if each.taken and each.solved and len(each.answers) == 1]
        assert (len(asked), len(helped)) == (3, number)
        left = "^1 without progress · 1 failure" if script else "^2 teams ask"
        expect(page.locator("h1")).to_have_text(re.compile(left))
        assert page.said == []  # type: ignore[attr-defined]
        assert tutor.clicks <= number * 6
        with capsys.disabled():
            print(f"\n  15:40 {'with' if script else 'without'} scripts: {tutor.clicks} clicks, {seconds:.1f} s")
        page.context.close()


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory, warm_cache: Path) -> Iterator[Scene]:
    with scene(tmp_path_factory.mktemp("scene"), warm_cache) as made:
        yield made


def test_the_pages_are_sound_and_fit(browser: Browser, standing: Scene, tmp_path: Path) -> None:
    for language, ways in LOOKS.items():
        page = opened(browser, standing, language, viewport=ways[0].viewport)
        run = page.locator(".matter-runs a").first.get_attribute("href")
        for kind in ("now", "board", "run", "question"):
            if kind == "question":
                with page.expect_navigation():
                    page.locator("#run-bar button").click()
            elif kind != "now":
                page.goto(f"{standing.origin}{run}" if kind == "run" else f"{standing.origin}/{language}/{kind}")
            page.locator("main details > summary").evaluate_all(
                "all => all.forEach(each => each.parentElement.open = true)"
            )
            assert looks(page, f"tutor-{language}-{kind}", *ways) == {}
            if kind in ("now", "board"):
                (tmp_path / f"{kind}.{language}.html").write_text(page.request.get(page.url).text())
            page.emulate_media(color_scheme="light")
        assert page.said == []  # type: ignore[attr-defined]
        page.context.close()
    assert html_problems(tmp_path) == []


def test_buttons_copy_and_what_is_typed_stays_while_the_page_changes(browser: Browser, standing: Scene) -> None:
    page = opened(browser, standing, permissions=["clipboard-read", "clipboard-write"], viewport=WIDE)
    matter = page.locator(".matter").first
    matter.locator("summary").first.click()
    wanted = matter.locator("button.copy").first.get_attribute("data-copy")
    matter.locator("button.copy").first.click()
    until(lambda: page.evaluate("navigator.clipboard.readText()") == wanted)
    page.locator("button.copy[data-link]").first.click()
    link = f"{standing.origin}/en/run?key="
    until(lambda: page.evaluate("navigator.clipboard.readText()").startswith(link))
    matter.locator("textarea").fill("half an ans")
    page.evaluate("document.querySelector('.matter').mark = 1")
    written = post(standing.board(), "A fourth question", kind="ask")
    expect(page.locator(".matter")).to_have_count(4)  # nobody loads the page anew
    assert page.evaluate("document.querySelector('.matter').mark") == 1
    expect(matter.locator("textarea")).to_have_value("half an ans")
    assert matter.locator("details").first.get_attribute("open") is not None
    expect(page).to_have_title(re.compile(r"^\(4\) "))
    matter.get_by_role("button", name="Send the answer", exact=True).click()  # its token is still good
    expect(page.locator(".act-said")).to_have_text("Your answer was sent.")
    page.wait_for_url(lambda url: "said=" not in url)  # it is not said again when the page is loaded anew
    board = standing.board()
    reply(board, next(each for each in board.posts if each.id == written.entry.id), "solve")
    expect(page.locator(".matter")).to_have_count(3)
    page.context.close()


def test_a_choice_is_made_again_while_a_page_is_on_its_way_and_a_post_is_not_sent_twice(
    browser: Browser, standing: Scene
) -> None:
    page = opened(browser, standing)
    page.goto(f"{standing.origin}/en/board")
    page.evaluate(
        "() => { const field = document.querySelector('main input[type=search]');"
        " for (field.value of ['first', 'second']) field.form.requestSubmit() }"
    )
    page.wait_for_url(re.compile("find=(first|second)"))
    assert "find=second" in page.url, "what was chosen last"
    kept_back = page.evaluate(
        "() => { const form = document.querySelector('#form-new'); const found = [];"
        " document.addEventListener('submit', (sent) => { found.push(sent.defaultPrevented); sent.preventDefault() });"
        " form.requestSubmit(); form.requestSubmit(); return found }"
    )
    assert kept_back == [False, True]
    page.context.close()


def test_who_wishes_is_notified_also_behind_other_pages(browser: Browser, standing: Scene) -> None:
    page = opened(browser, standing, permissions=["notifications"], viewport=WIDE)
    page.evaluate(
        "() => { window.told = []; window.Notification = class { static permission = 'granted';"
        " static requestPermission() { return Promise.resolve('granted') }"
        " constructor(what) { window.told.push(what) } } }"
    )
    notify = page.get_by_role("button", name="Notify me")
    expect(notify).to_have_attribute("aria-pressed", "false")
    notify.click()
    expect(notify).to_have_attribute("aria-pressed", "true")
    page.evaluate(
        "() => { Object.defineProperty(document, 'hidden', { get: () => true });"
        " document.dispatchEvent(new Event('visibilitychange')) }"
    )
    written = post(standing.board(), "Please come to table 7", kind="ask")
    until(lambda: page.evaluate("window.told.length") > 0)
    assert "Please come to table 7" in page.evaluate("window.told[0]")
    board = standing.board()
    reply(board, next(each for each in board.posts if each.id == written.entry.id), "solve")
    page.context.close()


def test_another_page_in_the_same_browser_changes_nothing(browser: Browser, standing: Scene, tmp_path: Path) -> None:
    """A page of somebody else, on another port of the same name, sends a form: with our cookie, and a stolen token."""
    import functools
    import http.server

    page = opened(browser, standing)
    request = standing.board().of("ask")[0]
    token = page.locator('input[name="token"]').first.get_attribute("value")
    values = {"token": token, "back": "/en/now", "act": "answer", "post": request.id, "text": "EVIL"}
    inputs = "".join(f'<input name="{name}" value="{value}">' for name, value in values.items())
    form = f'<form id="f" method="post" action="{standing.origin}/act">{inputs}</form>'
    (tmp_path / "form.html").write_text(f"{form}<script>document.getElementById('f').submit()</script>")
    sent: dict[str, object] = {"method": "POST", "mode": "no-cors", "credentials": "include", "body": urlencode(values)}
    sent["headers"] = {"Content-Type": "application/x-www-form-urlencoded"}
    call = f"fetch('{standing.origin}/act', {json.dumps(sent)})"
    (tmp_path / "fetch.html").write_text(f"<script>{call}.finally(() => document.title = 'sent')</script>")
    (tmp_path / "frame.html").write_text(f'<iframe src="{standing.origin}/en/now"></iframe>')
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as evil:
        threading.Thread(target=evil.serve_forever, daemon=True).start()
        for host in ("localhost", "127.0.0.1"):
            there = f"http://{host}:{evil.server_address[1]}"
            page.goto(f"{there}/form.html")
            page.wait_for_url(f"{standing.origin}/act")
            expect(page.locator("body")).to_contain_text(re.compile("another page|token is missing"))
            page.goto(f"{there}/fetch.html")
            expect(page).to_have_title("sent")
        page.goto(f"{there}/frame.html")
        assert not any("Hackathon" in frame.content() for frame in page.frames[1:])
        evil.shutdown()
    assert not [each for found in standing.board().posts for each in found.answers if "EVIL" in each.text]
    page.context.close()
