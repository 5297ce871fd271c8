"""The published site is whole, safe, the same without a network, names nobody, and is made anew only where it must."""

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from hackathon.cli.main import run as hackathon
from hackathon.config.load import load_event
from hackathon.index import gather as gathering
from hackathon.index.catalog import Catalog
from hackathon.index.gather import gather
from hackathon.scaling import plot
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.messages import speaking
from hackathon.web.page import figures
from hackathon.web.site import build as making
from hackathon.web.site import switch as swap
from hackathon.web.site.downloads import all_csv, safe_cell
from hackathon.web.site.leak_check import residues
from hackathon.web.site.publish import Published, publish
from hackathon.web.site.site_map import stable_name
from support.pages.rendered import Page
from support.paths import ROOT
from support.samples.event import write_event
from support.samples.runs import DEFAULT, HOSTS, USER, Sample, write_run, write_study

SECOND = f"team-{stable_name('ブリザード')}.html"
"""The page of the second team of `event`."""
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}日本\x1b[31m"
ENDING = b"\xff</code></pre><script>alert(3)</script>"


def _source(folder: Path, *, event: bool = True) -> Catalog:
    """Return what is read of an event's folder, or of a project's."""
    index = folder / "index" / "runs.sqlite3"
    if event:
        return gather(folder, load_event(folder), ask=False, index=index, diagnose=False)
    return gather(None, None, [folder], ask=False, index=index, diagnose=False)


def _allow(folder: Path, **rules: object) -> None:
    path = folder / "hackathon.yaml"
    value = yaml.safe_load(path.read_text("utf-8"))
    value["publish"] = rules
    path.write_text(yaml.safe_dump(value, allow_unicode=True), "utf-8")


def _all_text(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of all that a site gives out, crates opened."""
    for path in folder.rglob("*"):
        if path.name == "vega.js" or not path.is_file():
            continue
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    yield f"{path.name}:{name}", archive.read(name).decode("utf-8", "replace")
        else:
            yield path.name, path.read_text("utf-8")


@pytest.fixture(scope="module")
def event(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("event") / "hackathon-2026"
    write_event(folder, 2)
    _allow(folder, board=True, runs="best")
    return folder


@pytest.fixture(scope="module")
def published(event: Path, warm_cache: Path) -> Published:
    pytest.importorskip("vl_convert")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(warm_cache))
        patch.setenv("HACKATHON_LANG", "en")
        found = publish(_source(event), event.parent / "out")
    assert found.warnings == []
    return found


@pytest.fixture(scope="module")
def site(published: Published) -> Path:
    return published.folder


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What looks at no picture waits for none: drawings are those of the site that most tests share."""
    picture = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path stroke="#000" d="M0,0L9,9"/></svg>'
    monkeypatch.setattr(figures, "pictures", lambda specs, form: [picture for _ in specs])
    monkeypatch.setitem(making.FILES, "vega.js", lambda cache: b"// Vega")


@pytest.mark.slow
def test_a_runs_page_leads_to_its_crate(site: Path) -> None:
    pages = [path for path in site.glob("run-*.html") if not path.name.endswith(".ja.html")]
    assert pages
    for path in pages:
        [crate] = [link["href"] for link in Page(path.read_text("utf-8")).named("a") if "download" in link]
        assert crate == f"crates/{path.stem.removeprefix('run-')}.zip" and (site / crate).is_file()


@pytest.mark.slow
def test_every_link_leads_to_a_file_and_every_language_is_there(site: Path) -> None:
    names = {path.name for path in site.iterdir()}
    kinds = ("index", "teams", "scaling", "board", "cluster", "team-aurora")
    assert {f"{kind}{language}.html" for kind in kinds for language in ("", ".ja")} <= names
    assert {"results.csv", "results.json", "style.css", "plots.js", "tables.js", "vega.js"} <= names
    reached = {"index.html"}
    for path in site.glob("*.html"):
        page = Page(path.read_text(encoding="utf-8"))
        ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
        assert len(ids) == len(set(ids)), "two things share a name"
        for link in page.named("a"):
            target = link["href"] or ""
            assert target.startswith(("#", "https://")) or (site / target.partition("#")[0]).is_file(), target
            reached.add(target)
        assert page.tags[0] == ("html", {"lang": "ja" if path.name.endswith(".ja.html") else "en"})
    left = {path.name for path in site.glob("*.html")} - reached
    assert not left, "no way leads to these pages"


def test_the_first_page_shows_the_event(site: Path) -> None:
    text = Page((site / "index.html").read_text(encoding="utf-8")).text
    told = ("Deep-learning hackathon 2026", "1–2 March 2026 (Sun–Mon)", "Kashiwa", "aurora", "気象レーダーの短時間予測")
    for said in told:
        assert said in text, said
    assert "深層学習ハッカソン 2026" in (site / "index.ja.html").read_text(encoding="utf-8")


def test_the_entry_leads_to_the_site(published: Published) -> None:
    entry = (published.folder.parent / "index.html").read_text(encoding="utf-8")
    page = Page(entry)
    assert "Deep-learning hackathon 2026" in page.text
    assert page.named("a")[0]["href"] == "site/index.html" and "0; url=site/index.html" in entry
    assert "default-src 'none'" in entry


def test_nothing_is_asked_of_other_sites_and_only_own_scripts_run(site: Path) -> None:
    for path in site.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        page = Page(text)
        assert not {tag for tag, _ in page.tags} & {"iframe", "img", "object", "embed", "form", "base"}
        for script in page.named("script"):
            assert script.get("type") == "application/json" or script.get("src") in ("plots.js", "tables.js")
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
        assert (policy["content"] or "").startswith("default-src 'none'") and "http" not in (policy["content"] or "")


def test_nobody_and_nothing_of_the_machine_is_named(event: Path, site: Path) -> None:
    found = load_event(event)
    people = [member for team in found.teams for member in team.members]
    secret = [USER, *(host.split(".")[0] for host in (*HOSTS, "login02.x", "pbs-admin.x")), str(event.parent),
              "pz0425", os.uname().nodename, *(member.user for member in people), *(member.name for member in people),
              *(team.group or "-" for team in found.teams)]  # fmt: skip
    word = re.compile("|".join(rf"(?<![A-Za-z0-9_]){re.escape(each)}(?![A-Za-z0-9_])" for each in secret), re.I)
    seen = 0
    for name, text in _all_text(site):
        seen += 1
        match = word.search(text)
        assert match is None, (name, match)
    assert seen > 60


def test_what_the_event_allows_is_shown(event: Path, tmp_path: Path) -> None:
    folder = tmp_path / "event"
    shutil.copytree(event, folder)
    _allow(folder, users=True, hosts=True, groups=True, paths=True, runs="best")
    text = " ".join(text for name, text in _all_text(publish(_source(folder), tmp_path / "out").folder))
    for said in (USER, HOSTS[0].split(".")[0], "pz0425", f"/lustre/pz0425/{USER}/digits"):
        assert said in text, said
    _allow(folder, teams=False, crates=False, runs="none")
    quiet = publish(_source(folder), tmp_path / "quiet")
    assert not [name for name in quiet.files if name.startswith(("crates/", "run-", "board"))]
    for name, text in _all_text(quiet.folder):
        assert not re.search("aurora|ブリザード", name + text), name
    assert "team-2" in (quiet.folder / "teams.html").read_text() and (quiet.folder / "team-team-2.html").is_file()


@pytest.mark.slow
def test_names_that_are_words_of_the_site_break_no_link(tmp_path: Path) -> None:
    folder = tmp_path / "event"
    write_event(folder, 1)
    path = folder / "hackathon.yaml"
    path.write_text(path.read_text("utf-8").replace("u00a", "team").replace("u00b", "run").replace("u00c", "style"))
    found = publish(_source(folder), tmp_path / "out", languages=["en"])
    for name in found.pages:
        page = Page((found.folder / name).read_text(encoding="utf-8"))
        for each in (*page.named("a"), *page.named("link")):
            target = (each.get("href") or "").partition("#")[0]
            assert not target or target.startswith("https://") or (found.folder / target).is_file(), target


SECRETS = (
    "hf_QxYzAbCdEfGhIjKlMnOpQrStUv", "AKIAQ3EGRIWQXV7TABCD", "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "hunter2hunter2", "someone@example.org", "10.23.45.67", "fe80::dead:beef",
)  # fmt: skip


def test_secrets_stay_here_wherever_they_stand(tmp_path: Path) -> None:
    folder = tmp_path / "event"
    hidden = f"use {' and '.join(SECRETS[:3])} --password={SECRETS[3]} ask {SECRETS[4]} on {SECRETS[5]} or {SECRETS[6]}"
    write_event(folder, 1, hostile=hidden)
    for run in sorted((folder / "aurora" / "train" / "runs").iterdir())[:14]:
        shutil.rmtree(run)
    _allow(folder, board=True, runs="all", logs=True, source=True)
    for request in folder.glob("*/train/runs/*/request.json"):
        value = json.loads(request.read_text())
        value["command"] = ["python", "train.py", f"--password={SECRETS[3]}", "--token", SECRETS[0]]
        value["note"] = hidden
        request.write_text(json.dumps(value))
    for log in folder.glob("*/train/runs/*/logs/*.log"):
        log.write_text(f"{log.read_text()}\nWANDB_API_KEY={SECRETS[3]}\n{hidden}\n")
    found = publish(_source(folder), tmp_path / "out")
    for name, text in _all_text(found.folder):
        for secret in SECRETS:
            assert secret not in text, name
    assert {"secret", "e-mail", "address"} <= set(found.mask.counts)
    assert residues(found.folder, list(found.files), found.mask) == []
    random = "Zk3vQ9xT7mLp2RwY8sBn4HdJ6fGc1KaE"
    (found.folder / "teams.html").write_text(f"<p>{random} {SECRETS[2]}</p>")
    left = residues(found.folder, ["teams.html"], found.mask)
    assert {(each.kind, each.file) for each in left} == {("random", "teams.html"), ("secret", "teams.html")}
    assert random not in str(left)


@pytest.mark.slow
def test_hostile_text_stays_text(tmp_path: Path) -> None:
    write_event(tmp_path / "event", 2, hostile=HOSTILE, names=[HOSTILE, "../../etc"])
    _allow(tmp_path / "event", board=True, runs="all", logs=True)
    for number, run in enumerate(sorted((tmp_path / "event").rglob("runs/*"))):
        if number % 5:
            shutil.rmtree(run)
    for request in (tmp_path / "event").rglob("request.json"):
        value = json.loads(request.read_text())
        value |= {"command": ["python", HOSTILE], "cluster": HOSTILE, "queue": HOSTILE, "metric": HOSTILE,
                  "parameters": {HOSTILE: HOSTILE}}  # fmt: skip
        request.write_text(json.dumps(value))
        (request.parent / "job.sh").write_bytes(
            f"echo {HOSTILE}\n".encode() + b"\xff</code></pre><script>alert(3)</script>"
        )
    found = publish(_source(tmp_path / "event"), tmp_path / "out")
    assert {Path(name).parent.as_posix() for name in found.files} <= {".", "crates"}
    for name in found.pages:
        page = Page((found.folder / name).read_text(encoding="utf-8"))
        assert not page.named("img") and all(script.get("src") or script.get("type") for script in page.named("script"))
        assert "\x1b" not in page.text


def test_cells_are_no_formulas(tmp_path: Path) -> None:
    for cell in ("=1+1", "+1", "-cmd", "@sum", "\t=1", "\r=1", " =1", "＝1"):
        assert str(safe_cell(cell)).startswith("'") or cell == "+1", cell
    assert [safe_cell(cell) for cell in (-1.5, "-1.5", "+1", "plain", None)] == [-1.5, "-1.5", "+1", "plain", None]
    formula = '=HYPERLINK("http://x","y")'
    samples = [Sample(1, 10.0, note=formula), Sample(2, 19.0, note="-2+3")]
    study = write_study(tmp_path / "p", samples, title=formula)
    found = publish(_source(tmp_path / "p", event=False), tmp_path / "out", studies=[study.id])
    (name,) = [name for name in found.files if name.endswith(".csv")]
    for text in ((found.folder / name).read_text(), all_csv([[formula, "-x", -1.0]])):
        cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
        assert not [cell for cell in cells if cell[:1] in "=+@\t\r" and cell]
        assert not [cell for cell in cells if cell[:1] == "-" and not re.fullmatch(r"-[\d.e]+", cell)]
    assert "'-2+3" in (found.folder / name).read_text() and "-1.0" in all_csv([[-1.0]])


def test_downloads_hold_the_numbers(site: Path) -> None:
    rows = list(csv.DictReader((site / "results.csv").open(encoding="utf-8")))
    points = json.loads((site / "results.json").read_text(encoding="utf-8"))["points"]
    assert len(rows) == len(points) == 2 * 2 * 5
    assert {row["team"] for row in rows} == {"aurora", "ブリザード"}
    assert [float(row["value"]) for row in rows] == [point["value"] for point in points]
    study = next(site.glob("study-*tuned*.json"))
    assert [point["processes"] for point in json.loads(study.read_text())["points"]] == [1, 2, 4, 8, 16]


def test_studies_of_a_project_without_an_event(tmp_path: Path) -> None:
    study = write_study(tmp_path / "p", DEFAULT)
    write_study(tmp_path / "p", [Sample(4, None, "QUEUED")], title="waiting")
    found = publish(_source(tmp_path / "p", event=False), tmp_path / "out", title="Digits", studies=[study.id])
    assert {f"study-{study.id}.html", f"study-{study.id}.csv", "index.html", "index.ja.html"} <= set(found.files)
    assert not [name for name in found.files if "waiting" in name or name.startswith(("teams", "team-", "results"))]
    page = Page((found.folder / f"study-{study.id}.html").read_text(encoding="utf-8"))
    assert "16: 69.5 %" in str([each.get("aria-label") for each in page.named("div")])
    assert "Digits" in page.text and len(page.named("h1")) == 1


def test_missing_and_half_written_files_leave_gaps(tmp_path: Path) -> None:
    study = write_study(tmp_path / "p", DEFAULT[:3])
    source = _source(tmp_path / "p", event=False)
    runs = [tmp_path / "p" / "runs" / run.id for run in source.summaries]
    (runs[0] / "request.json").write_text('{"name": "torch-d')
    (runs[0] / "source.json").write_text("[]")
    shutil.rmtree(runs[0] / "env")
    shutil.rmtree(runs[1])
    (runs[2] / "events/job.jsonl").write_bytes(b'\xff\xfe{"event"\n[1]\n')
    os.mkfifo(runs[2] / "events/rank-9.jsonl")
    for again in (source, _source(tmp_path / "p", event=False)):
        found = publish(again, tmp_path / "out", languages=["ja"], studies=[study.id])
        assert f"study-{study.id}.html" in found.files


@pytest.mark.slow
def test_pages_come_without_their_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "draw.py").write_text("import os; os.kill(os.getpid(), 11)")
    program = plot.PROGRAM
    monkeypatch.setattr(plot, "PROGRAM", tmp_path / "draw.py")
    monkeypatch.setattr(figures, "pictures", plot.pictures)
    study = write_study(tmp_path / "p", [Sample(1, 7.0), Sample(2, 13.25)])
    found = publish(_source(tmp_path / "p", event=False), tmp_path / "out", languages=["en"], studies=[study.id])
    assert "signal 11" in " ".join(found.warnings)
    page = Page((found.folder / f"study-{study.id}.html").read_text())
    assert "could not be drawn" in page.text and "13.25" in page.text
    monkeypatch.setattr(plot, "PROGRAM", program)
    again = publish(_source(tmp_path / "p", event=False), tmp_path / "out", languages=["en"], studies=[study.id])
    assert {name.partition("-")[0] for name in again.made} == {"study", "run"} and again.warnings == []


def test_an_empty_site_and_a_folder_that_can_not_be_written(tmp_path: Path) -> None:
    found = publish(Catalog(), tmp_path / "out", title="t", languages=["en"])
    assert "no studies yet" in (found.folder / "index.html").read_text()
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError) as caught:
        publish(Catalog(), tmp_path / "file" / "site", title="t")
    assert caught.value.exit_code == 2
    (tmp_path / "mine" / "site").mkdir(parents=True)
    (tmp_path / "mine" / "site" / "thesis.html").write_text("mine")
    with pytest.raises(RequestError, match="not created by"):
        publish(Catalog(), tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["site"]


@pytest.mark.slow
def test_only_what_has_changed_is_made_anew(event: Path, tmp_path: Path) -> None:
    folder, out = tmp_path / "event", tmp_path / "out"
    shutil.copytree(event, folder)
    first = publish(_source(folder), out)
    assert set(first.made) == set(first.files) and SECOND in first.files
    again = publish(_source(folder), out)
    assert again.made == [] and again.files == first.files
    before = {name: (first.folder / name).stat() for name in first.files}
    write_run(folder / "aurora" / "train" / "runs", Sample(4, 400.0, note="a late try"), 9, name="single")
    third = publish(_source(folder), out)
    made = set(third.made)
    assert {"team-aurora.html", "index.html", "teams.ja.html"} <= made
    assert not {SECOND, "style.css", "vega.js"} & made
    assert not [name for name in made if name.startswith("crates/")]
    assert "a late try" in (third.folder / "team-aurora.html").read_text()
    kept = (third.folder / SECOND).stat()
    assert kept.st_mtime_ns == before[SECOND].st_mtime_ns
    (third.folder / SECOND).unlink()
    assert SECOND in publish(_source(folder), out).made


@pytest.mark.slow
def test_an_unchanged_site_is_recognised_without_loading_what_makes_pages(
    event: Path, tmp_path: Path, warm_cache: Path
) -> None:
    pytest.importorskip("vl_convert")
    code = (
        "import sys; from pathlib import Path; from hackathon.config.load import load_event;"
        "from hackathon.index.gather import gather; from hackathon.web.site.publish import publish;"
        "folder, place = Path(sys.argv[1]), Path(sys.argv[2]);"
        "found = publish(gather(folder, load_event(folder), ask=False, index=place / 'i.sqlite3'), place / 'out');"
        "print(len(found.made), *sys.modules)"
    )
    told = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code, str(event), str(tmp_path)],
            env={**os.environ, "XDG_CACHE_HOME": str(warm_cache)}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        told.append(done.stdout.split())
    assert int(told[0][0]) > 10 and "hackathon.web.site.build" in told[0]
    heavy = {"hackathon.web.site.build", "hackathon.index.reader", "jinja2", "hackathon.prediction.forecast"}
    assert told[1][0] == "0" and not heavy & set(told[1])


@pytest.mark.slow
def test_what_the_organiser_corrects_beside_the_runs_comes_online(event: Path, tmp_path: Path) -> None:
    folder, out = tmp_path / "event", tmp_path / "out"
    shutil.copytree(event, folder)
    references = folder / "templates" / "plots" / "references.yaml"
    profile = folder / "templates" / "clusters" / "reedbush-h.yaml"
    for path in (references, profile):
        path.parent.mkdir(parents=True)
        shutil.copy(ROOT / "templates" / path.parent.name / path.name, path)
    first = publish(_source(folder), out, languages=["en"])
    assert publish(_source(folder), out, languages=["en"]).made == []
    told = yaml.safe_load(references.read_text("utf-8"))
    told["target"]["title"] = "a corrected rule of thumb"
    references.write_text(yaml.safe_dump(told, allow_unicode=True), "utf-8")
    second = publish(_source(folder), out, languages=["en"])
    assert "a corrected rule of thumb" in (second.folder / "scaling.html").read_text("utf-8")
    title = re.compile(r"^title:.*$", re.MULTILINE)
    profile.write_text(title.sub("title: Reedbush, corrected", profile.read_text("utf-8"), count=1), "utf-8")
    assert "Reedbush, corrected" in (publish(_source(folder), out, languages=["en"]).folder / "cluster.html").read_text(
        "utf-8"
    )
    project = folder / "aurora" / "train" / "project.yaml"
    project.write_text("title: Ice in satellite images\n", "utf-8")
    named = set(publish(_source(folder), out, languages=["en"]).made)
    assert "team-aurora.html" in named and SECOND not in named  # pages of all teams may name its main study
    profile.write_text("title: [\n", "utf-8")  # a wrong file is told on the page, and that is no change each time
    assert "cluster.html" in publish(_source(folder), out, languages=["en"]).made
    assert publish(_source(folder), out, languages=["en"]).made == []
    assert set(first.files) == set(second.files)


@pytest.mark.slow
def test_what_is_gone_leaves_the_site(event: Path, tmp_path: Path) -> None:
    folder, out = tmp_path / "event", tmp_path / "out"
    shutil.copytree(event, folder)
    assert SECOND in publish(_source(folder), out, languages=["en"]).files
    (out / "foreign.txt").write_text("mine")
    run = next((folder / "aurora" / "train" / "runs").glob("*torch-ddp-16p*"))
    shutil.rmtree(run)
    value = yaml.safe_load((folder / "hackathon.yaml").read_text("utf-8"))
    del value["teams"][1]
    (folder / "hackathon.yaml").write_text(yaml.safe_dump(value, allow_unicode=True), "utf-8")
    found = publish(_source(folder), out, languages=["en"])
    names = {path.name for path in found.folder.rglob("*")}
    assert not [name for name in names if run.name in name] and SECOND not in names
    assert "ブリザード" not in " ".join(path.read_text("utf-8") for path in found.folder.glob("*.html"))
    assert (out / "foreign.txt").read_text() == "mine" and not list(out.glob(".publishing-*"))


def _shown(out: Path) -> dict[str, bytes]:
    """Return the pages that a reader of `out/index.html` reaches."""
    led = re.search(r'url=([^/"]+)/', (out / "index.html").read_text())
    assert led is not None
    folder = out / led[1]
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.suffix == ".html"}


def _publish_and_die(limit: int, source: Catalog, out: Path, plain: bool) -> bool:
    """Publish in a child that is killed before its so-many-th write, rename, exchange or removal; False: it was not."""
    child = os.fork()
    if child == 0:
        count = 0

        def stop(function: Callable[..., object]) -> Callable[..., object]:
            def wrapped(*values: object, **named: object) -> object:
                nonlocal count
                count += 1
                if count == limit:
                    os.kill(os.getpid(), signal.SIGKILL)
                return function(*values, **named)

            return wrapped

        try:
            exchange = (lambda one, other: False) if plain else swap._exchange
            making.write_whole, swap.write_whole = stop(making.write_whole), stop(swap.write_whole)
            Path.rename, swap._exchange, shutil.rmtree = stop(Path.rename), stop(exchange), stop(shutil.rmtree)
            publish(source, out, title="NEW", languages=["en"], workers=1)
            os._exit(0)
        finally:
            os._exit(1)
    _, ended = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(ended) in (0, -signal.SIGKILL)
    return os.WIFSIGNALED(ended)


@pytest.mark.slow
@pytest.mark.parametrize("plain", [False, True])
def test_a_killed_publication_leaves_the_old_site_or_the_new_one(tmp_path: Path, plain: bool) -> None:
    """Killed at every step, also where a file system can not exchange folders."""
    write_study(tmp_path / "old", [Sample(1, 1000.0)])
    write_study(tmp_path / "new", [Sample(1, 9000.0)], title="other")
    old, new = _source(tmp_path / "old", event=False), _source(tmp_path / "new", event=False)
    whole = publish(new, tmp_path / "whole", title="NEW", languages=["en"])
    first = tmp_path / "first"
    publish(old, first, title="OLD", languages=["en"])
    (first / "foreign.txt").write_text("mine")
    outcomes = []
    for limit in range(1, 100):
        out = tmp_path / f"out-{limit}"
        shutil.copytree(first, out, symlinks=True)
        before = _shown(out)
        killed = _publish_and_die(limit, new, out, plain)
        after = _shown(out)
        assert (out / "foreign.txt").read_text() == "mine"
        if after != before:
            assert set(after) == set(whole.pages) and all(b"OLD" not in page for page in after.values())
            assert all(page.rstrip().endswith(b"</footer>") for page in after.values())  # what follows may be left out
        outcomes.append(f"{'old' if after == before else 'new'}{' killed' if killed else ''}")
        if not killed:
            break
    assert outcomes == sorted(outcomes, key=["old killed", "new killed", "new"].index)
    assert outcomes.count("old killed") >= 5 and outcomes.count("new killed") >= 1 and outcomes[-1] == "new"


@pytest.mark.slow
def test_a_part_of_the_work_that_dies_leaves_the_old_site(
    event: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = _source(event)
    out = tmp_path / "out"
    before = publish(replace(source, summaries=source.summaries[:9]), out, languages=["en"])
    old = {name: (before.folder / name).read_bytes() for name in before.files}
    work = making._work

    def dies(*values: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(making, "_work", dies)
    with pytest.raises(HackathonError, match="killed"):
        publish(source, out, languages=["en"], workers=2)
    assert {name: (before.folder / name).read_bytes() for name in before.files} == old
    monkeypatch.setattr(making, "_work", work)
    two = publish(source, out, languages=["en"], workers=2)
    one = publish(source, tmp_path / "alone", languages=["en"], workers=1)
    assert two.files.keys() == one.files.keys() and dict(two.mask.counts).keys() == dict(one.mask.counts).keys()
    assert (two.folder / "team-aurora.html").read_text().split("<footer")[0] == (
        (one.folder / "team-aurora.html").read_text().split("<footer")[0]
    )


def test_abandoned_folders_go_with_the_next_publication(tmp_path: Path) -> None:
    old, young = tmp_path / ".publishing-1-a", tmp_path / ".publishing-2-b"
    for folder in (old, young):
        folder.mkdir()
    os.utime(old, (0, 0))
    publish(Catalog(), tmp_path, title="t", languages=["en"])
    assert not old.exists() and young.exists()


def test_a_file_system_that_can_not_exchange_keeps_one_site_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(swap, "_exchange", lambda one, other: False)
    for title in ("one", "two", "three"):
        found = publish(Catalog(), tmp_path, title=title, languages=["en"])
        assert swap.live_folder(tmp_path) == found.folder
        for each in tmp_path.iterdir():
            os.utime(each, (time.time() - 2 * swap.ABANDONED,) * 2)
    publish(Catalog(), tmp_path, title="four", languages=["en"])
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) <= 2
    assert "four" in (swap.live_folder(tmp_path) or tmp_path).joinpath("index.html").read_text()


def test_the_command_checks_and_publishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    write_event(tmp_path / "event", 1)
    monkeypatch.chdir(tmp_path / "event" / "aurora")
    assert hackathon(["publish"]) == 2
    assert "--to" in capsys.readouterr().err
    before = sorted(path.name for path in tmp_path.iterdir() if path.name != "hackathon")
    assert hackathon(["publish", "--check", "--no-ask"]) == 0
    told = capsys.readouterr().out
    assert "aurora: pages 5, studies 2, runs with a page 2, RO-Crates 20" in told
    assert re.search(r"people +\d+ +.*tanaka07", told) and "Nothing in it looks like private data" in told
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "hackathon") == before
    assert hackathon(["publish", "--to", str(tmp_path / "out dir"), "--no-ask"]) == 0
    told = capsys.readouterr().out
    assert "rsync -az '" in told and os.uname().nodename.split(".")[0] in told and str(tmp_path / "out dir") in told
    assert (tmp_path / "out dir" / "index.html").is_file()
    for own in (".", "..", str(tmp_path), "train"):  # a copy of these would take the runs along
        assert hackathon(["publish", "--to", own, "--no-ask"]) == 2
        assert "--to site" in capsys.readouterr().err
    assert not (tmp_path / "event" / "index.html").exists()


@pytest.mark.slow
def test_the_command_says_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gathering, "_diagnose", lambda index, folders: [])
    write_event(tmp_path / "event", 1, hostile="Zk3vQ9xT7mLp2RwY8sBn4HdJ6fGc1KaE")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path / "event")
    assert hackathon(["publish", "--check", "--no-ask"]) == 1
    told = capsys.readouterr().out
    assert "looks like a key: Zk3vQ9xT…" in told and "7mLp2RwY8sBn4HdJ6fGc1KaE" not in told


def test_a_study_of_a_project_in_an_event_follows_its_rules(event: Path, tmp_path: Path) -> None:
    folder = tmp_path / "event"
    shutil.copytree(event, folder)
    _allow(folder, teams=False)
    project = folder / "aurora" / "train"
    source = replace(_source(project, event=False), event=load_event(folder), event_folder=folder)
    study = source.summaries[-1].study
    found = publish(source, tmp_path / "out", studies=[study], title="one")
    assert f"study-{study}.html" in found.files and "teams.html" not in found.files
    for name, text in _all_text(found.folder):
        assert "aurora" not in text and "u00a" not in text, name


def test_texts_speak_both_languages(site: Path) -> None:
    with speaking("ja"):
        assert "並列効率" in next(site.glob("study-*.ja.html")).read_text(encoding="utf-8")
    assert "Parallel efficiency" in next(
        path for path in site.glob("study-*.html") if ".ja." not in path.name
    ).read_text(encoding="utf-8")


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
