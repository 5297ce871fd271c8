"""The published site is whole, safe, the same without a network, and names nobody."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from sample_runs import DEFAULT, HOSTS, USER, Sample, study_results, write_run, write_study

from hackathon.scaling import plot
from hackathon.text.errors import RequestError
from hackathon.web.mask import Mask
from hackathon.web.publish import publish
from hackathon.web.views import study_view

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}日本\x1b[31m"
ROOT = Path(__file__).resolve().parents[2]


class Page(HTMLParser):
    """Collects what a test asks about a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("vl_convert")
    folder = tmp_path_factory.mktemp("site")
    studies = [write_study(folder / "a"), write_study(folder / "b", [Sample(4, None, "QUEUED")], title="waiting")]
    published = publish(studies, folder / "out", title="Hackathon", subtitle="Tokyo", languages=["en", "ja"])
    assert published.warnings == []
    return folder / "out"


def _study_page(site: Path, language: str = "") -> str:
    return (site / f"study-20260301-095900-torch-ddp-kq3v7xya{language}.html").read_text(encoding="utf-8")


def test_every_link_leads_to_a_file_and_every_language_is_there(site: Path) -> None:
    assert {"index.html", "index.ja.html"} <= {path.name for path in site.iterdir()}
    for path in site.glob("*.html"):
        page = Page(path.read_text(encoding="utf-8"))
        names = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
        assert len(names) == len(set(names)), "two pictures share a name"
        for link in page.named("a"):
            target = link["href"] or ""
            assert target.startswith("#") or (site / target).is_file(), target
    assert 'lang="ja"' in _study_page(site, ".ja") and "並列効率" in _study_page(site, ".ja")
    assert "Parallel efficiency" in _study_page(site)


def test_nothing_is_asked_of_other_sites_and_nothing_runs(site: Path) -> None:
    for path in site.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        page = Page(text)
        assert not {tag for tag, _ in page.tags} & {"script", "iframe", "img", "object", "embed", "form", "base"}
        loading = [
            attributes.get(name) or ""
            for tag, attributes in page.tags
            for name in ("src", "href", "srcset", "action", "data", "xlink:href")
            if attributes.get(name) is not None and tag != "a"
        ]
        assert not [address for address in loading if ":" in address or address.startswith("//")]
        assert not re.search(r"url\((?!#)|@import", text)
        assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
        policy = next(each for each in page.named("meta") if each.get("http-equiv") == "Content-Security-Policy")
        assert (policy["content"] or "").startswith("default-src 'none'")


def test_the_page_tells_how_each_run_was_made(site: Path) -> None:
    text = Page(_study_page(site)).text
    for said in (
        "hackathon rerun 20260301-100000-torch-ddp-1p-", "python train.py --batch-size 64", "recipe: scaling.weak",
        "4f1c2a9d0be37f5566c1a2b3c4d5e6f708192a3b", "9c1d9c1d", "torch 1.10.2", "#PBS -l select=4:mpiprocs=2",
        "CUDA error: out of memory", "walltime 00:15:00 exceeded", "second try on the quiet queue", "check passed",
        "482310", "the stop file is there",
    ):  # fmt: skip
        assert said in text, said


def test_tables_and_pictures_can_be_read_aloud(site: Path) -> None:
    page = Page(_study_page(site))
    assert all(cell.get("scope") in ("col", "row") for cell in page.named("th"))
    pictures = [attributes for attributes in page.named("div") if attributes.get("role") == "img"]
    assert len(pictures) == 2
    assert "16: 69.5 %" in (pictures[1]["aria-label"] or "")
    assert len(page.named("h1")) == 1


def test_nobody_and_no_host_is_named(site: Path) -> None:
    for path in site.iterdir():
        text = path.read_text(encoding="utf-8")
        assert USER not in text
        for host in (*HOSTS, "login02", "pbs-admin"):
            assert host.split(".")[0] not in text
    assert "~/digits" in _study_page(site) and "host-1" in _study_page(site)


def test_mask_knows_folders_names_and_hosts() -> None:
    mask = Mask(["alice", "root"], ["node2.site.jp", "node10", "localhost"])
    assert (
        mask.text("/lustre/gi75/alice/data /home/bob/x /root/y alice@node10 Alice") == "~/data ~/x ~/y user@host-2 user"
    )
    assert (
        mask.text("node2.site.jp:8080 node2 node22 chalice root localhost")
        == "host-1:8080 host-1 node22 chalice root localhost"
    )
    assert mask.value({"a": ["node2", ("alice", 1)]}) == {"a": ["host-1", ("user", 1)]}
    assert mask.text("\udcff") == "?"


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    samples = [Sample(1, 10.0, note=HOSTILE, tags=(HOSTILE,)), Sample(2, None, "FAILED", reason=HOSTILE)]
    runs = [write_run(tmp_path / "runs", sample, number) for number, sample in enumerate(samples)]
    for run in runs:
        request = json.loads((run / "request.json").read_text())
        request |= {
            "command": ["python", HOSTILE],
            "cluster": HOSTILE,
            "queue": HOSTILE,
            "parameters": {HOSTILE: HOSTILE},
        }
        (run / "request.json").write_text(json.dumps(request))
        (run / "job.sh").write_bytes(f"echo {HOSTILE}\n".encode() + b"\xff</code></pre><script>alert(3)</script>")
    results = study_results("s", runs) | {"metric": HOSTILE, "unit": HOSTILE, "study": HOSTILE}
    view = study_view({"id": f"../../{HOSTILE}", "name": HOSTILE}, results, runs)
    files = publish([view, view], tmp_path / "out", title=HOSTILE, subtitle=HOSTILE, languages=["en", "ja"])
    assert {path.parent for path in files} == {tmp_path / "out"} and len(set(files)) == 10
    for path in files:
        if path.suffix == ".html":
            text = path.read_text(encoding="utf-8")
            page = Page(text)
            assert not page.named("script") and not page.named("img")
            assert "{{7*7}}" in page.text


def test_missing_and_half_written_files_leave_gaps(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / "runs", sample, number) for number, sample in enumerate(DEFAULT[:3])]
    results = study_results("s", runs)
    (runs[0] / "request.json").write_text('{"name": "torch-d')
    (runs[0] / "source.json").write_text("[]")
    shutil.rmtree(runs[0] / "env")
    shutil.rmtree(runs[1])
    (runs[2] / "events/job.jsonl").write_bytes(b'\xff\xfe{"event"\n[1]\n')
    view = study_view({}, results, runs)
    publish([view], tmp_path / "out", title="t", languages=["ja"])
    assert "torch-ddp-1p" in (tmp_path / "out" / "study-s.html").read_text()


def test_the_page_comes_without_its_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "draw.py").write_text("import os; os.kill(os.getpid(), 11)")
    monkeypatch.setattr(plot, "PROGRAM", tmp_path / "draw.py")
    published = publish([write_study(tmp_path)], tmp_path / "out", title="t", languages=["en"])
    assert len(published.warnings) == 1 and "signal 11" in published.warnings[0]
    page = Page(next(path for path in published if path.name.startswith("study-")).read_text())
    assert "could not be drawn" in page.text and "13,395 ± 121" in page.text


def test_an_empty_site_and_a_folder_that_can_not_be_written(tmp_path: Path) -> None:
    publish([], tmp_path / "out", title="t", languages=["en"])
    assert "no study yet" in (tmp_path / "out" / "index.html").read_text()
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError) as caught:
        publish([], tmp_path / "file" / "site", title="t")
    assert caught.value.exit_code == 2


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = [{root!r}, {here!r}]
import hackathon.web.publish as p
from sample_runs import Sample, write_study
count, limit = 0, int(sys.argv[1])
def stop(function):
    def wrapped(*values):
        global count
        count += 1
        if count == limit:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*values)
    return wrapped
p.write_whole = stop(p.write_whole)
Path.replace = stop(Path.replace)
p._draw = lambda *values: {{}}
study = write_study(Path(sys.argv[2]) / str(limit), [Sample(1, 9000.0)])
p.publish([study], Path(sys.argv[2]) / "out", title="NEW", languages=["en", "ja"])
"""


def test_a_killed_publication_leaves_whole_pages(tmp_path: Path) -> None:
    """Killed before each write and each rename: every page is the old one or the new one, and the old until renames."""
    old = [write_study(tmp_path / "old", [Sample(1, 1000.0)])]
    out = tmp_path / "out"
    program = tmp_path / "killed.py"
    program.write_text(KILLED.format(root=str(ROOT), here=str(Path(__file__).parent)))
    ended = 0
    for limit in range(1, 20, 3):
        shutil.rmtree(out, ignore_errors=True)
        files = publish(old, out, title="OLD", languages=["en", "ja"])
        before = {path.name: path.read_bytes() for path in files}
        (out / "foreign.txt").write_text("mine")
        child = subprocess.run([sys.executable, str(program), str(limit), str(tmp_path)], check=False, timeout=60)
        after = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
        assert after.pop("foreign.txt") == b"mine" and after.keys() == before.keys()
        changed = [name for name in before if after[name] != before[name]]
        if child.returncode == -signal.SIGKILL:
            ended += 1
            assert limit > len(before) or not changed
            for name in after:
                assert name.endswith((".csv", ".json")) or after[name].rstrip().endswith(b"</html>")
        else:
            assert child.returncode == 0 and len(changed) == len(before)
            assert not list(out.glob(".publishing-*"))
    assert ended >= 3


def test_abandoned_folders_go_with_the_next_publication(tmp_path: Path) -> None:
    old, young = tmp_path / ".publishing-1-a", tmp_path / ".publishing-2-b"
    for folder in (old, young):
        folder.mkdir()
    os.utime(old, (0, 0))
    publish([], tmp_path, title="t")
    assert not old.exists() and young.exists()


def _contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two colours (WCAG 2.2, definition of relative luminance)."""

    def luminance(color: str) -> float:
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_text_has_contrast_in_light_and_dark() -> None:
    style = (ROOT / "templates" / "pages" / "style.css").read_text()
    light, dark = (
        dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", part)) for part in style.split("* {")[0].split("@media")
    )
    for colors in (light, light | dark):
        for text, ground in (
            ("ink", "paper"), ("quiet", "paper"), ("quiet", "card"), ("accent", "paper"), ("accent", "card"),
            ("warn", "card"), ("good", "good-soft"), ("warn", "warn-soft"), ("bad", "bad-soft"),
            ("band-ink", "band"), ("ink", "code"),
        ):  # fmt: skip
            assert _contrast(colors[text], colors[ground]) >= 4.5, (text, ground)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "width", "dark"), [("index.html", 1280, False), ("study.html", 1280, True), ("study.ja.html", 500, False)]
)
def test_chromium_shows_the_page(site: Path, tmp_path: Path, name: str, width: int, dark: bool) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here")
    page = site / name.replace("study", "study-20260301-095900-torch-ddp-kq3v7xya")
    common: list[Any] = [
        browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        f"--user-data-dir={tmp_path}/profile", f"--window-size={width},900",
        *(["--blink-settings=preferredColorScheme=0"] if dark else []),
    ]  # fmt: skip
    picture = tmp_path / "page.png"
    subprocess.run([*common, f"--screenshot={picture}", page.as_uri()], check=True, timeout=120, capture_output=True)
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 20_000
