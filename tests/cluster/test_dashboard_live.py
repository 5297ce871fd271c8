"""A tutor watches the dashboard while a team's job fails on the real Slurm."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("playwright")
from backends import Site, SlurmBackend
from browsing import DESKTOP, Visitor, chromium
from playwright.sync_api import TimeoutError
from slurm import SlurmLab

pytestmark = [pytest.mark.slurm, pytest.mark.browser, pytest.mark.timeout(300)]
PATIENCE = 60_000
"""Milliseconds; tutors were promised ten seconds, which is measured and printed: a busy machine says nothing of it."""


def test_a_failed_job_appears_without_a_reload(slurm: SlurmLab, tmp_path: Path) -> None:
    backend = SlurmBackend(slurm)
    site = Site(backend, tmp_path / "event" / "aurora" / "train")
    site.write_project("python program.py fail", processes=2)
    (site.folder / "program.py").write_text("import time\ntime.sleep(3)\nimport nosuchmodule\n")
    (tmp_path / "event" / "hackathon.yaml").write_text("title: Live\nteams: [{name: aurora}, {name: cirrus}]\n")
    dashboard = subprocess.Popen(
        [sys.executable, "-m", "hackathon", "dashboard", "--port", "0"],
        cwd=tmp_path / "event", env=backend.environment() | {"PYTHONUNBUFFERED": "1", "HACKATHON_LANG": "en"},
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        assert dashboard.stdout is not None
        said = ""
        while (enter := re.search(r"(http://[^/]+)/enter\?token=\w+", said)) is None:
            line = dashboard.stdout.readline()
            assert line, said
            said += line
        with chromium() as browser:
            visitor = Visitor(browser.new_context(viewport=DESKTOP), enter[1])
            visitor.visit(enter[0])
            assert visitor.page.url.endswith("/en/now")
            visitor.page.evaluate("window.untouched = true")
            run = site.submit()
            ended = run.await_end()["t"]
            page = visitor.page.locator("main")
            try:
                page.get_by_text("nosuchmodule").first.wait_for(timeout=PATIENCE)
            except TimeoutError:
                dashboard.send_signal(signal.SIGINT)
                said = dashboard.communicate(timeout=60)[0]
                pytest.fail(f"not told on the page: {page.inner_text()}\n{site.state(run)}\n{said}")
            seen = time.time()
            text = page.inner_text()
            assert "aurora" in text and "part: env" in text
            assert visitor.page.evaluate("window.untouched") is True  # it is the page that was opened
            assert visitor.problems == []
            print(f"told {seen - ended:.1f} s after the job's end")
    finally:
        dashboard.send_signal(signal.SIGINT)
        assert dashboard.wait(60) == 0
        backend.stop()
