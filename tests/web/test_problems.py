"""The problem board as a page: open, answered, solved; people, paths and log lines only where they may be shown."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hackathon.access.permissions import user_name
from hackathon.board.board import Board, open_board, reply
from hackathon.board.directory import make_place
from hackathon.board.entry import Attached, Entry, encode, new_id
from hackathon.board.post import post
from hackathon.config.event import Event, Member, Publish, Team, Tutor
from hackathon.index.catalog import Catalog
from hackathon.index.record import RunEntry
from hackathon.web.routing.registry import values_of
from hackathon.web.views import board as problems
from hackathon.web.views.board import board_view
from support.pages.rendered import HOSTILE, harmless, page, read

ME = user_name(os.geteuid())
FINDING = Attached(
    rule="gpu-out-of-memory", part="gpu", level="cause", message="GPU 1 is out of memory", advice="Halve the batch.",
    file="logs/rank-1.log", line=17, text="CUDA out of memory. Tried to allocate 2 GiB", rank=1, host="a017",
)  # fmt: skip


@pytest.fixture(params=["sticky", "folders"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """An event's folder with a board of either kind."""
    make_place(tmp_path / "shared", request.param)
    text = f"title: E\nshared: shared\ntutors: [{{user: {ME}}}]\nteams: [{{name: aurora, members: [{{user: {ME}}}]}}]\n"
    (tmp_path / "hackathon.yaml").write_text(text)
    return tmp_path


def event(rules: Publish | None = None) -> Event:
    return Event(
        "E", teams=[Team("aurora", members=[Member(ME, name="Ada Lovelace")])], tutors=[Tutor(ME)], shared="shared",
        publish=rules or Publish(),
    )  # fmt: skip


def board(folder: Path) -> Board:
    return open_board(folder / "shared", folder)


def source(folder: Path, *runs: RunEntry, live: bool = True, rules: Publish | None = None) -> Catalog:
    return Catalog(runs, event=event(rules), event_folder=folder, now=time.time(), live=live)


def test_from_a_question_to_its_solution(folder: Path) -> None:
    empty = read(page("board", source(folder)))
    assert "There are no posts yet" in empty.text
    run = folder / "train" / "runs" / "20260302-110000-torch-ddp-4p-abcdefgh"
    asked = post(board(folder), "It hangs\nsince noon", kind="ask", run=run.name, folder=run, finding=FINDING)
    post(board(folder), "Use the other module\n  module load gcc/12\n\n  before cuda")
    looked = source(folder, RunEntry(run.name, str(folder / "train")))
    view = board_view(looked)
    assert [(each.kind, each.title, each.state) for each in view.open] == [
        ("ask", "It hangs", "open"), ("post", "Use the other module", "open"),
    ]  # fmt: skip
    first = view.open[0]
    assert (first.person, first.team, first.text, first.part) == ("Ada Lovelace", "aurora", "since noon", "gpu")
    assert (first.finding, first.advice, first.place) == (FINDING.message, FINDING.advice, "logs/rank-1.log:17")
    assert first.run == f"{folder}/train//{run.name}"
    reader = read(page("board", looked))
    for words in ("Open 2", "Ada Lovelace", "CUDA out of memory", "Halve the batch.", "module load gcc/12"):
        assert words in reader.text
    assert any(address.startswith("/run?key=") for address in reader.links)
    assert board_view(source(folder)).open[0].run == "", "a run that nobody knows has no link"

    identifier = asked.entry.id
    for kind, text in (("take", ""), ("answer", "try --batch-size 32"), ("solve", "that was it")):
        top = next(each for each in board(folder).posts if each.id == identifier)
        reply(board(folder), top, kind, text)
        states = [each.state for each in (lambda v: (*v.open, *v.answered, *v.solved))(board_view(looked))
                  if each.id == identifier]  # fmt: skip
        assert states == [{"take": "taken", "answer": "taken", "solve": "solved"}[kind]]
    (solved,) = board_view(looked).solved
    assert [(step.kind, step.text) for step in solved.steps] == [
        ("take", ""), ("answer", "try --batch-size 32"), ("solve", "that was it"),
    ]  # fmt: skip
    text = read(page("board", looked)).text
    assert "Solved 1" in text and "Ada Lovelace answered" in text and "Solved by Ada Lovelace" in text
    assert "Ada Lovelace さんの回答" in read(page("board", looked, "ja")).text


def test_posts_are_found_by_what_is_shown_of_them(folder: Path) -> None:
    place = open_board(folder / "shared", folder)
    post(place, "Ranks hang at the end of an epoch", kind="ask", finding=FINDING)
    post(place, "NCCL finds no network")
    looked = source(folder)
    assert board_view(looked).all == 2
    for words, titles in (
        ("ranks EPOCH", ["Ranks hang at the end of an epoch"]), ("halve batch", ["Ranks hang at the end of an epoch"]),
        ("n", ["Ranks hang at the end of an epoch", "NCCL finds no network"]), ("nothing has this", []),
        ("Ada", ["Ranks hang at the end of an epoch", "NCCL finds no network"]), ("epoch network", []),
    ):  # fmt: skip
        found = values_of("board", "", looked, (("find", words),))
        assert found is not None
        view = found[1]["view"]
        assert sorted(each.title for each in view.open) == sorted(titles), words
        assert (view.count, view.all, view.find) == (len(titles), 2, words)
    shy = source(folder, live=False, rules=Publish(board=True, logs=False))
    assert board_view(shy, "Ada").count == 0 and board_view(shy, "logs/rank-1.log").count == 0, "what is not shown"


def test_an_answered_post_stands_between(folder: Path) -> None:
    post(board(folder), "How do I load CUDA?")
    reply(board(folder), board(folder).posts[0], "answer", "module load cuda")
    view = board_view(source(folder))
    assert ([each.title for each in view.answered], view.open, view.solved) == (["How do I load CUDA?"], (), ())
    assert "Answered 1" in read(page("board", source(folder))).text


def test_a_site_shows_what_the_event_allows(folder: Path) -> None:
    run = folder / "train" / "runs" / "some-run"
    post(board(folder), "It hangs", kind="ask", run=run.name, folder=run, finding=FINDING)
    assert values_of("board", "", source(folder, live=False)) is None, "the board is not published unless it is allowed"
    shy = board_view(source(folder, live=False, rules=Publish(board=True))).open[0]
    assert (shy.person, shy.folder, shy.evidence, shy.place) == ("", "", "", "")
    assert (shy.team, shy.finding, shy.title) == ("aurora", FINDING.message, "It hangs")
    html = page("board", source(folder, live=False, rules=Publish(board=True)))
    assert "Ada" not in html and "CUDA out of memory" not in html and "rank-1.log" not in html and str(run) not in html
    assert board_view(source(folder, live=False, rules=Publish(board=True, teams=False))).open[0].team == ""
    everything = Publish(board=True, users=True, logs=True, paths=True)
    open_ = board_view(source(folder, live=False, rules=everything)).open[0]
    assert (open_.person, open_.place, open_.folder) == ("Ada Lovelace", "logs/rank-1.log:17", str(run))
    named = board_view(source(folder)).open[0]
    assert (named.person, named.evidence) == ("Ada Lovelace", FINDING.text)


def test_a_board_is_read_again_only_when_something_came(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    post(board(folder), "first")
    looked, reads = source(folder), []
    original = problems.read_board
    monkeypatch.setattr(problems, "read_board", lambda *given: reads.append(1) or original(*given))
    for each in (folder / "shared").rglob("*"):
        os.utime(each, (time.time() - 60, time.time() - 60))
    for _ in range(5):
        assert len(board_view(looked).open) == 1
    assert len(reads) == 1
    post(board(folder), "second")
    assert len(board_view(looked).open) == 2, "what came a moment ago is there"
    post(board(folder), "third")
    assert len(board_view(looked).open) == 3, "a directory's time may not tell two changes of one moment"
    assert board_view(replace(looked, event=replace(event(), teams=[]))).open[0].team == "", (
        "another event, other names"
    )


def test_without_a_board_and_with_a_broken_one(tmp_path: Path) -> None:
    nobody = Catalog(event=Event("E"), event_folder=tmp_path, live=True)
    assert "This event has no problem board" in read(page("board", nobody)).text
    assert "no problem board" in read(page("board", Catalog(live=True))).text
    broken = Catalog(event=Event("E", shared="gone"), event_folder=tmp_path, live=True)
    assert "there is no board in" in read(page("board", broken)).text


def test_what_is_no_post_is_counted_and_passed_over(tmp_path: Path) -> None:
    make_place(tmp_path / "shared", "sticky")
    entries = tmp_path / "shared" / "entries"
    (entries / "garbage.json").write_bytes(b"\xff\x00{")
    (entries / "link.json").symlink_to("/etc/passwd")
    os.mkfifo(entries / "pipe.json")
    place = board(tmp_path).place
    twin = new_id(os.geteuid())
    for second in ("01", "02"):  # the same random end, by hand
        made = Entry(f"{twin[:13]}{second}{twin[15:]}", "post", time.time(), place.board, text=f"twin {second}")
        (entries / f"{made.id}.json").write_bytes(encode(made))
        (entries / f"{made.id}.json").chmod(0o644)
    looked = source(tmp_path)
    view = board_view(looked)
    assert view.passed == 3 and len(view.open) == 2
    assert len({each.anchor for each in view.open}) == 2
    assert "3 files are not valid posts" in read(page("board", looked)).text


def test_an_old_board_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_place(tmp_path / "shared", "sticky")
    monkeypatch.setattr(problems, "SHOWN", 2)
    for number in range(4):
        made = post(board(tmp_path), f"number {number}")
        top = next(each for each in board(tmp_path).posts if each.id == made.entry.id)
        reply(board(tmp_path), top, "solve", "so")
    view = board_view(source(tmp_path))
    assert ([each.title for each in view.solved], view.older, view.count) == (["number 3", "number 2"], 2, 4)
    assert "Solved 4" in read(page("board", source(tmp_path))).text


@pytest.mark.parametrize("language", ["en", "ja"])
def test_nothing_that_people_write_gets_out_of_its_place(folder: Path, language: str) -> None:
    finding = Attached(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, 3, HOSTILE, 1, HOSTILE)
    made = post(board(folder), f"{HOSTILE}\n{HOSTILE}\n{'x' * 90_000}", kind="ask", run="r", finding=finding)
    top = next(each for each in board(folder).posts if each.id == made.entry.id)
    for kind in ("take", "answer", "solve"):
        reply(board(folder), top, kind, HOSTILE)
    raw = json.loads((next((folder / "shared").rglob(f"{made.entry.id}.json"))).read_text())
    assert "\x1b" in json.dumps(raw).encode().decode("unicode_escape"), "the file itself holds it"
    looked = replace(source(folder), event=replace(event(), teams=[Team(HOSTILE, members=[Member(ME, name=HOSTILE)])]))
    html = page("board", looked, language)
    harmless(html)
    assert len(html) < 60_000, "a text without end is cut"
