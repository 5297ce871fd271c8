"""The site that a centre puts on its front page: whose it is, who helped, what counts, whom it leaves out."""

import json
import os
import re
import shutil
import struct
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.config.event import EventCluster
from hackathon.config.load import load_event
from hackathon.index.catalog import Catalog
from hackathon.index.gather import gather
from hackathon.index.published import laptops
from hackathon.text.errors import RequestError
from hackathon.web.page import figures
from hackathon.web.page.photographs import cleaned, read_picture
from hackathon.web.site import build as making
from hackathon.web.site.leak_check import residues
from hackathon.web.site.publish import Published, publish
from hackathon.web.site.site_map import stable_name
from support.pages.rendered import Page
from support.samples.event import write_event
from support.samples.photographs import jpeg, png
from support.samples.runs import Sample, write_run, write_study

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ADDRESS = "https://www.example.ac.jp/hackathon"
TUTORS = [
    {"user": "tutor1", "name": "Tutor One", "affiliation": {"en": "A company", "ja": "ある会社"}, "knows": ["NCCL"]},
    {"user": "yamada", "name": "Yamada Hanako", "affiliation": "The computing centre", "knows": ["Horovod"]},
]


def source_of(folder: Path) -> Catalog:
    return gather(folder, load_event(folder), ask=False, index=folder / "index" / "runs.sqlite3", diagnose=False)


def change(folder: Path, **values: Any) -> None:
    path = folder / "hackathon.yaml"
    known = yaml.safe_load(path.read_text("utf-8"))
    path.write_text(yaml.safe_dump({**known, **values}, allow_unicode=True), "utf-8")


def draw_nothing(patch: pytest.MonkeyPatch) -> None:
    picture = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path stroke="#000" d="M0,0L9,9"/></svg>'
    patch.setattr(figures, "pictures", lambda specs, form: [picture for _ in specs])
    patch.setitem(making.FILES, "vega.js", lambda cache: b"// Vega")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    draw_nothing(monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An event of three teams, to be copied."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        folder = write_event(tmp_path_factory.mktemp("base") / "event", 3)
    for project in folder.glob("*/train"):  # one study of each team is enough
        (study,) = [each for each in (project / "studies").iterdir() if "tuned" not in each.name]
        shutil.rmtree(study)
        for run in (project / "runs").iterdir():
            if json.loads((run / "request.json").read_text())["study"]["id"] == study.name:
                shutil.rmtree(run)
    return folder


@pytest.fixture
def folder(base: Path, tmp_path: Path) -> Path:
    shutil.copytree(base, tmp_path / "event")
    return tmp_path / "event"


@pytest.fixture(scope="module")
def quiet(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Published:
    """The site of the event with tutors and without hosts, who gave no leave to be named."""
    folder = tmp_path_factory.mktemp("quiet") / "event"
    shutil.copytree(base, folder)
    change(folder, tutors=TUTORS, hosts=[])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder.parent / "cache"))
        draw_nothing(patch)
        return site(folder)


def site(folder: Path, name: str = "out") -> Published:
    """Publish in one language."""
    return publish(source_of(folder), folder.parent / name, languages=["en"], workers=1)


def read(found: Published, name: str) -> str:
    return (found.folder / name).read_text("utf-8")


@pytest.mark.slow
def test_the_first_page_says_whose_event_it_is_and_who_helped(folder: Path, tmp_path: Path) -> None:
    (folder / "logo.png").write_bytes(png(40, 20, (b"tEXt", b"Author\0Taro of host login02")))
    change(
        folder, languages=["ja", "en"], logo="logo.png", tutors=TUTORS, report_page=f"{ADDRESS}/report.html",
        lecture_page=f"{ADDRESS}/lectures/", publish={"tutors": True, "address": ADDRESS},
    )  # fmt: skip
    found = publish(source_of(folder), tmp_path / "out")
    page = Page(read(found, "index.html"))
    assert page.tags[0] == ("html", {"lang": "ja"}), "the event's first language has the plain names"
    told = ("計算センター", "A company", "Tutor One", "ある会社", "Yamada Hanako", "NCCL", "開催報告", "講習会資料")
    for said in told:
        assert said in page.text, said
    assert "tutor1" not in read(found, "index.html")
    links = [link["href"] for link in page.named("a")]
    assert f"{ADDRESS}/report.html" in links and f"{ADDRESS}/lectures/" in links
    meta = {each.get("property") or each.get("name"): each.get("content") for each in page.named("meta")}
    assert meta["og:title"] == "深層学習ハッカソン 2026" and meta["og:locale"] == "ja_JP"
    assert meta["og:url"] == f"{ADDRESS}/site/index.html" and meta["og:image"] == f"{ADDRESS}/site/logo.png"
    assert meta["og:site_name"] == "計算センター" and "2026年3月1日" in str(meta["description"])
    other = Page(read(found, "team-aurora.en.html"))
    assert "Tutors" in other.text and "Tutor One" in other.text
    meta = {each.get("property"): each.get("content") for each in other.named("meta")}
    assert meta["og:url"] == f"{ADDRESS}/site/team-aurora.en.html" and str(meta["og:title"]).startswith("aurora")
    (logo,) = page.named("img")
    assert (logo["src"], logo["width"], logo["height"]) == ("logo.png", "40", "20")
    assert b"Taro" not in (found.folder / "logo.png").read_bytes() and found.warnings == []
    assert "class=plot id=all-weak-speedup" in read(found, "index.html"), (
        "the picture of all teams is on the first page"
    )
    assert residues(found.folder, list(found.files), found.mask) == []


def test_without_leave_nobody_is_named_and_nothing_is_told_that_nobody_wrote(quiet: Published) -> None:
    everything = "".join(read(quiet, name) for name in quiet.pages)
    for name in ("Tutor One", "Yamada", "Hanako", "tutor1", "og:url", "og:image", 'rel="canonical"', "logo", "主催"):
        assert name not in everything, name


@pytest.mark.slow
def test_a_tutors_name_is_no_leave_for_a_participant_of_that_name(folder: Path) -> None:
    teams = yaml.safe_load((folder / "hackathon.yaml").read_text())["teams"]
    teams[0]["members"][0] = {"user": "yamada", "name": "Yamada Jiro", "kind": "master"}
    teams[0]["project"] = "by yamada: /home/yamada/data of Yamada Jiro"
    change(folder, tutors=TUTORS, teams=teams, publish={"tutors": True})
    found = site(folder)
    text = read(found, "team-aurora.html")
    assert "yamada" not in text.lower() and "by user: ~/data of user" in Page(text).text
    teams[0]["members"][0] = {"user": "mori", "name": "Mori Jiro", "kind": "master"}
    change(folder, teams=teams)
    text = read(site(folder), "team-aurora.html")
    assert "by yamada: ~/data of Yamada Jiro" in Page(text).text, (
        "the tutor's own name is public, the home is nobody's business"
    )


@pytest.mark.parametrize("why", [{"publish": False}, {"took_part": False}])
@pytest.mark.slow
def test_a_team_that_is_left_out_leaves_nothing(folder: Path, quiet: Published, why: dict[str, bool]) -> None:
    teams = yaml.safe_load((folder / "hackathon.yaml").read_text())["teams"]
    gone = teams[1]
    assert gone["name"] == "ブリザード"
    gone.update(why)
    change(folder, teams=teams, publish={"board": True, "runs": "all"})
    found = site(folder)
    names = set(found.files)
    for name in names:
        raw = (found.folder / name).read_bytes()
        assert gone["name"].encode() not in raw and gone["project"].encode() not in raw, name
    assert not any(stable_name(gone["name"]) in name for name in names)
    rows = json.loads((found.folder / "results.json").read_text())["points"]
    assert {row["team"] for row in rows} == {"aurora", "cirrus"}
    tile = re.search(r"tile-name>Participants<p class=tile-value>(\d+)", read(found, "index.html"))
    assert tile and tile[1] == ("9" if "publish" in why else "6"), "its people count as long as they came"
    kept = [name for name in quiet.files if name.startswith(("team-aurora", "team-cirrus", "study-", "survey-"))]
    assert set(kept) - names == {name for name in kept if name.startswith("study-") and name not in names}
    assert {name for name in names if name.startswith("team-")} == {name for name in kept if name.startswith("team-")}


@pytest.mark.slow
def test_a_post_of_a_team_that_is_left_out_is_not_shown(folder: Path) -> None:
    from hackathon.access.permissions import user_name
    from hackathon.board.board import open_board
    from hackathon.board.post import post

    teams = yaml.safe_load((folder / "hackathon.yaml").read_text())["teams"]
    teams[1]["members"].append({"user": user_name(os.geteuid()), "kind": "master"})
    change(folder, teams=teams, publish={"board": True})
    post(open_board(folder / "shared", folder), "Something of the second team\nin words", kind="ask")
    shown = "Something of the second team"
    assert shown in read(site(folder), "board.html")
    teams[1]["publish"] = False
    change(folder, teams=teams)
    assert shown not in read(site(folder), "board.html")


@pytest.mark.slow
def test_a_team_without_results_is_shown_without_its_failures(folder: Path) -> None:
    teams = yaml.safe_load((folder / "hackathon.yaml").read_text())["teams"]
    change(folder, teams=[*teams, {"name": "late", "members": [{"user": "u99", "kind": "master"}]}])
    for number in range(3):
        write_run(folder / "late" / "p" / "runs", Sample(4, None, "FAILED", "exit code 1", exit_code=1), number)
    card = read(site(folder), "index.html").split(">late</a>")[1].split("<li")[0]
    assert "No scaling result is published." in card and "/ 3" not in card


@pytest.mark.slow
def test_what_never_became_a_job_is_no_run(folder: Path) -> None:

    def runs() -> int:
        text = read(site(folder), "index.html")
        tile = re.search(r"tile-name>Runs<p class=tile-value>(\d+)", text)
        assert tile
        return int(tile[1])

    before = runs()
    for number, kept in ((1, False), (2, True)):
        run = write_run(folder / "aurora" / "prepared" / "runs", Sample(4, None, "FAILED"), number)
        if not kept:
            for name in ("client/submitted.json", "claim/job_id", "final.json", "events/job.jsonl"):
                (run / name).unlink()
            (run / "claim").rmdir()
            for path in (run / "events").iterdir():
                path.unlink()
    assert runs() == before + 1


@pytest.mark.slow
def test_sums_are_over_all_machines_but_laptops(folder: Path) -> None:
    write_study(folder / "aurora" / "laptop", [Sample(1, 10.0), Sample(2, 400.0)], title="at-home", team="aurora")
    for path in (folder / "aurora" / "laptop" / "runs").iterdir():
        request = json.loads((path / "request.json").read_text())
        (path / "request.json").write_text(json.dumps({**request, "cluster": "laptop", "scheduler": "local"}))
    source = source_of(folder)
    assert {run.cluster for run in source.summaries} == {"laptop", "reedbush-h"}
    assert laptops(source) == {"laptop"}
    text = Page(read(publish(source, folder.parent / "out", languages=["en"]), "index.html")).text
    assert "40 ×" not in text, "the largest speed-up is not that of a laptop"
    assert "Node-hours" in text or "GPU-hours" in text
    only = Catalog(
        summaries=tuple(run for run in source.summaries if run.cluster == "laptop"), event=source.event,
        projects=source.projects,
    )  # fmt: skip
    assert source.event is not None
    home = replace(source.event, clusters={"laptop": EventCluster()})
    assert not laptops(replace(only, event=home)), "an event on laptops is told whole"
    assert not laptops(replace(only, event=None))
    assert laptops(replace(source, event=replace(home, clusters={}))) == {"laptop"}
    for forged in ("", "reedbush-h", "nobody-knows"):
        false = replace(source.summaries[0], id="20260301-090000-x-1p-spyspysp", cluster=forged)
        played = replace(only, event=home, summaries=(*only.summaries, false))
        assert "laptop" not in laptops(played), "what one run says of itself takes nobody's results away"


@pytest.mark.slow
def test_names_of_pages_do_not_depend_on_other_teams(folder: Path, quiet: Published) -> None:
    assert stable_name("Team 1") == "Team-1" and stable_name("aurora") == "aurora"
    assert stable_name("班A") != stable_name("組A") != stable_name("A")
    before = {name for name in quiet.pages if name.startswith("team-")}
    teams = yaml.safe_load((folder / "hackathon.yaml").read_text())["teams"]
    change(folder, teams=[{"name": "新しい"}, *reversed(teams)])
    after = {name for name in site(folder).pages if name.startswith("team-")}
    assert before < after and len(after) == len(before) + 1


def test_pictures_hold_only_what_is_seen() -> None:
    picture = cleaned(png(7, 5, (b"tEXt", b"Author\0Taro"), (b"eXIf", b"secret"), (b"gAMA", b"\0\0\xb1\x8f")))
    assert (picture.suffix, picture.width, picture.height, picture.media_type) == (".png", 7, 5, "image/png")
    assert b"Taro" not in picture.raw and b"secret" not in picture.raw and b"gAMA" in picture.raw
    assert cleaned(picture.raw) == picture
    for orientation, size in ((1, (40, 30)), (6, (30, 40))):
        photo = cleaned(jpeg(orientation))
        assert (photo.suffix, photo.width, photo.height) == (".jpg", *size)
        assert b"Taro" not in photo.raw and b"35.9" not in photo.raw and b"adobe" not in photo.raw
        assert b"ICC_PROFILE" in photo.raw and photo.raw.endswith(b"\x12\xff\0\x34\xff\xd0\x56\xff\xd9")
        assert cleaned(photo.raw) == photo and (b"Exif" in photo.raw) == (orientation != 1)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([png(), jpeg(6)]), st.lists(st.tuples(st.integers(0, 900), st.integers(0, 255)), max_size=4),
    st.integers(0, 900),
)  # fmt: skip
def test_a_damaged_picture_is_refused_or_clean(raw: bytes, changes: list[tuple[int, int]], end: int) -> None:
    damaged = bytearray(raw)
    for place, value in changes:
        damaged[place % len(damaged)] = value
    try:
        found = cleaned(bytes(damaged[: max(2, end)]))
    except (ValueError, IndexError, struct.error):
        return
    assert cleaned(found.raw).raw == found.raw and found.width > 0


def test_what_is_no_picture_of_the_event_does_not_go_out(tmp_path: Path) -> None:
    folder = tmp_path / "event"
    folder.mkdir()
    (tmp_path / "outside.png").write_bytes(png())
    (folder / "link.png").symlink_to(tmp_path / "outside.png")
    (folder / "text.png").write_text("no picture")
    (folder / "drawing.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
    (folder / "good.png").write_bytes(png())
    assert read_picture(folder, "good.png").width == 40
    expected = {
        "../outside.png": "site.picture_outside", str(tmp_path / "outside.png"): "site.picture_outside",
        "link.png": "site.picture_unreadable", "none.png": "site.picture_unreadable", "": "site.picture_outside",
        "text.png": "site.picture_kind", "drawing.svg": "site.picture_kind",
    }  # fmt: skip
    for name, identifier in expected.items():
        with pytest.raises(RequestError) as caught:
            read_picture(folder, name)
        assert caught.value.id == identifier, name
    with pytest.raises(RequestError) as caught:
        read_picture(folder, "good.png", 10)
    assert caught.value.id == "site.picture_large"


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_first_page_in_a_browser(
    browser: "Browser", tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warm_cache: Path
) -> None:
    """At any width, light, dark and on paper, in both languages: sound, readable, and nothing asked of another host."""
    pytest.importorskip("vl_convert")
    from support.pages.browser import PHONE, Look, Visitor, html_problems, looks

    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(warm_cache))
    monkeypatch.setitem(making.FILES, "vega.js", lambda cache: b"// Vega")
    folder = write_event(tmp_path / "event", 3)
    (folder / "logo.png").write_bytes(png(120, 60))
    change(
        folder, languages=["ja", "en"], logo="logo.png", tutors=TUTORS, report_page=f"{ADDRESS}/report.html",
        lecture_page=f"{ADDRESS}/lectures/", publish={"tutors": True, "address": ADDRESS},
    )  # fmt: skip
    found = publish(source_of(folder), tmp_path / "out")
    (tmp_path / "checked").mkdir()
    wide = {"width": 1440, "height": 900}
    for name, ways in (
        ("index.en.html", (Look(wide), Look(PHONE, "dark", axe="colours"))),
        ("index.html", (Look(PHONE), Look(wide, axe="all"))),
    ):
        context = browser.new_context(viewport=wide)  # type: ignore[arg-type]
        visitor = Visitor(context, "file://")
        visit = visitor.visit((found.folder / name).as_uri())
        assert looks(visitor.page, f"site-{name}", *ways) == {}
        assert visit.problems == visitor.problems == [], name
        (tmp_path / "checked" / name).write_text(visit.source, "utf-8")
        if name == "index.html":
            paper = visitor.page.pdf(prefer_css_page_size=True)
            assert 1 <= paper.count(b"/Type /Page\n") <= 3
            shown = visitor.page.evaluate(
                "[document.querySelector('.logo').naturalWidth, document.querySelectorAll('.plot').length]"
            )
            assert shown == [120, 2]
        context.close()
    assert html_problems(tmp_path / "checked") == []
