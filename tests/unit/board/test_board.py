"""Posts as files, the board as it reads, and `hackathon board` for one user."""

import json
import os
import pwd
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.access.permissions import user_name
from hackathon.board.board import find_post, masked, open_board, read_board, reply, search, similar
from hackathon.board.directory import make_place, open_place
from hackathon.board.entry import (
    KINDS,
    REPLIES,
    SECTIONS,
    Attached,
    BadEntry,
    Entry,
    attach,
    clean,
    decode,
    encode,
    new_id,
)
from hackathon.board.people import People
from hackathon.board.post import post
from hackathon.cli.main import run
from hackathon.config.event import Event, Tutor
from hackathon.diagnosis.findings import Evidence, Finding
from hackathon.text.errors import RequestError
from hackathon.text.messages import speaking

BOARD = "abcdefghabcdefgh"
LINES = st.text(max_size=60).map(lambda text: " ".join(clean(text).split()))
TEXTS = st.text(max_size=300).map(clean)
WHOLE = st.none() | st.integers(-(2**53) + 1, 2**53 - 1)
FINDINGS = st.builds(
    Attached, rule=LINES, part=LINES, level=LINES, message=LINES, advice=TEXTS, file=LINES, line=WHOLE, text=LINES,
    rank=WHOLE, host=LINES,
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)


def finding(rule: str = "nccl-refused", text: str = "rank 3: connection to 10.0.0.7:5001 refused") -> Finding:
    return Finding(rule, "nccl", "root", "NCCL can not connect", Evidence("logs/rank-3.log", 7, text, 3, "g7"), "do it")


@given(
    st.sampled_from(KINDS), st.floats(0, 1e10), TEXTS, LINES, LINES, LINES, LINES, st.none() | FINDINGS,
    st.dictionaries(st.sampled_from(SECTIONS), TEXTS.map(str.strip).filter(bool)),
)  # fmt: skip
def test_an_entry_survives_its_file(
    kind: str,
    moment: float,
    text: str,
    part: str,
    rule: str,
    run_id: str,
    folder: str,
    found: Attached | None,
    sections: dict[str, str],
) -> None:
    to = new_id(7) if kind in REPLIES else ""
    entry = Entry(new_id(1001), kind, moment, BOARD, to, text, part, rule, run_id, folder, found, sections)
    read = decode(encode(entry), f"{entry.id}.json", BOARD)
    assert read == entry
    assert read.uid == 1001


@given(st.binary(max_size=300) | JSON.map(lambda value: json.dumps(value).encode()), st.text(max_size=40))
def test_no_bytes_break_the_reader(raw: bytes, name: str) -> None:
    with pytest.raises(BadEntry):
        decode(raw, name, BOARD)


@given(st.dictionaries(st.sampled_from([*Entry.__dataclass_fields__, "uid", "user", "schema_version"]), JSON))
def test_no_value_of_a_field_breaks_the_reader(changes: dict[str, object]) -> None:
    """What is read has the types that it should have and no control character, whatever stands in the file."""
    entry = Entry(new_id(1001), "post", 5.0, BOARD, text="title")
    raw = json.dumps({**json.loads(encode(entry)), **changes}).encode()
    try:
        read = decode(raw, f"{entry.id}.json", BOARD)
    except BadEntry:
        return
    again = decode(encode(read), f"{entry.id}.json", BOARD)
    assert again == read
    assert (read.id, read.uid) == (entry.id, 1001)
    texts = [read.text, read.title, read.part, read.rule, read.run, read.folder, *read.sections.values()]
    assert not [each for text in texts for each in text if each not in "\n\t" and not each.isprintable()]


@given(st.text())
def test_clean_leaves_no_control_character_and_changes_nothing_twice(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    assert all(each.isprintable() or each in "\n\t" for each in cleaned)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"id": new_id(1001)}, "other_name"),
        ({"id": "../../etc/passwd"}, "other_name"),
        ({"board": "another"}, "other_board"),
        ({"schema_version": 2}, "newer"),
        ({"schema_version": "1"}, "garbage"),
        ({"kind": "admin"}, "garbage"),
        ({"kind": "answer"}, "garbage"),
        ({"to": new_id(7)}, "garbage"),
        ({"time": "now"}, "garbage"),
        ({"time": 1e300}, "garbage"),
        ({"time": 10**400}, "garbage"),
        ({"time": float("nan")}, "garbage"),
        ({"time": True}, "garbage"),
    ],
)
def test_why_a_file_is_not_taken(change: dict[str, object], why: str) -> None:
    entry = Entry(new_id(1001), "post", 5.0, BOARD, text="title")
    with pytest.raises(BadEntry, match=why):
        decode(json.dumps({**json.loads(encode(entry)), **change}).encode(), f"{entry.id}.json", BOARD)


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A board for this user alone, and a folder to work in."""
    place, commands = make_place(tmp_path / "event", "sticky")
    assert (place.problems, commands) == ([], [])
    monkeypatch.setenv("HACKATHON_SHARED", str(tmp_path / "event"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "event"


def test_the_directory_is_sticky_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        make_place(tmp_path / "event", "sticky")
        board = open_board(tmp_path / "event")
        written = post(board, "text")
    finally:
        os.umask(before)
    entries = tmp_path / "event" / "entries"
    assert entries.stat().st_mode & 0o7777 == 0o1777
    assert (entries / f"{written.entry.id}.json").stat().st_mode & 0o777 == 0o644
    again, _ = make_place(tmp_path / "event", "sticky")  # a second time it is looked at, and stays what it is
    assert again.board == board.place.board
    with pytest.raises(RequestError) as caught:
        make_place(tmp_path / "event", "folders")
    assert caught.value.id == "board.other_mode"


def test_a_user_without_an_account_writes_in_a_folder_named_by_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In containers a uid often has no entry in the list of accounts."""

    def unlisted(key: object) -> pwd.struct_passwd:
        raise KeyError(key)

    monkeypatch.setattr(pwd, "getpwuid", unlisted)
    monkeypatch.setattr(pwd, "getpwnam", unlisted)
    make_place(tmp_path / "event", "folders")
    post(open_board(tmp_path / "event"), "NCCL hangs")
    assert [each.title for each in open_board(tmp_path / "event").posts] == ["NCCL hangs"]


def test_search_by_words_part_rule_and_state(shared: Path) -> None:
    board = open_board(shared)
    first = post(board, "NCCL hangs\non two nodes", part="nccl", rule="nccl-hang").entry.id
    second = post(board, "Loss is NaN", part="numerics").entry.id
    third = post(board, "", finding=_attached()).entry.id
    board = open_board(shared)
    reply(board, find_post(board, second), "answer", "Lower the LEARNING rate")
    reply(board, find_post(board, first), "solve", "NCCL_SOCKET_IFNAME")
    posts = open_board(shared).posts

    def found(*words: str, **more: object) -> list[str]:
        return [each.id for each in search(posts, words, **more)]  # type: ignore[arg-type]

    assert found() == [first, second, third]
    assert found("nccl", "NODES") == [first]
    assert found("learning") == [second]
    assert found("nccl", "learning") == []
    assert found(part="nccl") == [first, third]
    assert found(rule="nccl-hang") == [first]
    assert found(unsolved=True) == [second, third]
    assert found("socket_ifname") == [first]
    assert found("10.0.0.7") == [third]


def _attached() -> Attached:
    from hackathon.board.entry import attach

    return attach(finding())


def test_similar_gives_solved_posts_of_the_rule_first_then_of_the_same_line(shared: Path) -> None:
    from hackathon.board.entry import attach

    board = open_board(shared)
    other_rule = finding("", "rank 12: connection to 10.9.9.9:40001 refused")
    ids = {
        "line": post(board, "same line", finding=attach(other_rule)).entry.id,
        "rule": post(board, "same rule", finding=attach(finding(text="another text"))).entry.id,
        "open": post(board, "not solved", finding=attach(finding())).entry.id,
        "else": post(board, "something else", finding=attach(finding("mpi-slots", "not enough slots"))).entry.id,
    }
    for name in ("line", "rule", "else"):
        reply(board, find_post(open_board(shared), ids[name]), "solve", "done")
    assert [each.id for each in similar(finding())] == [ids["rule"], ids["line"]]
    assert [each.id for each in similar(finding("", "nothing like it"))] == []
    assert [each.id for each in similar(finding("unknown-rule"), open_board(shared))] == [ids["line"]]


def test_two_exceptions_are_not_alike_because_no_rule_knows_either(shared: Path) -> None:
    from hackathon.board.entry import attach

    board = open_board(shared)
    written = post(board, "x", finding=attach(finding("python-exception", "KeyError: 'train_images'"))).entry.id
    reply(board, find_post(open_board(shared), written), "solve", "done")
    assert similar(finding("python-exception", "ValueError: 7 is not 8")) == []
    assert [each.id for each in similar(finding("python-exception", "KeyError: 'train_images'"))] == [written]


def test_similar_without_a_board_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert similar(finding()) == []
    monkeypatch.setenv("HACKATHON_SHARED", str(tmp_path / "nothing"))
    assert similar(finding()) == []


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("rank 3: open /home/a/x.py failed", "rank 11: open /lustre/b/c/y.py failed", True),
        ("[g7:1234] connection 10.0.0.1 refused", "[g12:99] connection 10.0.0.25 refused", True),
        ("at 0x7f00aa bad", "at 0x55ee12 bad", True),
        ("out of memory", "out of bounds", False),
    ],
)
def test_masked_lines(one: str, other: str, same: bool) -> None:
    assert (masked(one) == masked(other)) == same


def test_a_part_of_the_id_names_a_post(shared: Path) -> None:
    board = open_board(shared)
    ids = [post(board, f"number {number}").entry.id for number in range(3)]
    board = open_board(shared)
    for each in ids:
        assert find_post(board, each[-8:]).id == find_post(board, f"#{each[-8:]}").id == find_post(board, each).id
    with pytest.raises(RequestError, match="3 posts match"):
        find_post(board, ids[0][:8])
    with pytest.raises(RequestError, match="no post"):
        find_post(board, "zzzzzzzzz")
    with pytest.raises(RequestError):
        find_post(board, "")


def test_who_is_a_tutor_is_decided_by_the_account(shared: Path) -> None:

    me = user_name(os.geteuid())
    place = open_place(shared)
    asked = post(read_board(place, People(None)), "help", kind="ask").entry.id
    strangers = read_board(place, People(Event("E", tutors=[Tutor("somebody-else", name=me)])))
    with pytest.raises(RequestError) as caught:
        reply(strangers, find_post(strangers, asked), "take")
    assert caught.value.id == "board.only_tutors"
    tutors = read_board(place, People(Event("E", tutors=[Tutor(me)])))
    reply(tutors, find_post(tutors, asked), "take")
    assert read_board(place, tutors.people).posts[0].state == "taken"
    assert read_board(place, strangers.people).posts[0].state == "open"


def test_texts_have_a_limit(shared: Path) -> None:
    with pytest.raises(RequestError) as caught:
        post(open_board(shared), "x" * 200_000)
    assert caught.value.id == "board.text_long"
    with pytest.raises(RequestError) as caught:
        post(open_board(shared), " \n ")
    assert caught.value.id == "board.no_text"


# ---- the command line


def test_what_a_killed_post_left_goes_with_the_next_one(shared: Path) -> None:
    folder = open_place(shared).folder
    old, new, other = (folder / f".x-{number}.json.77.0123abcd.tmp" for number in range(3))
    for path in (old, new, other):
        path.write_text("{")
    hour = time.time() - 3700
    os.utime(old, (hour, hour))
    if os.geteuid() == 0:
        os.utime(other, (hour, hour))
        os.chown(other, 71002, 71002)
    post(open_board(shared), "title")
    assert not old.exists() and new.exists() and other.exists()


def said(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert run([*words, "--json"]) == 0
    value: dict[str, object] = json.loads(capsys.readouterr().out)
    return value


def test_from_a_post_to_its_solution(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["board"]) == 0
    assert "no posts yet" in capsys.readouterr().err
    name = str(said(capsys, "board", "post", "Loss is NaN\nafter 200 steps", "--part", "numerics")["short"])
    assert run(["board", "answer", name, "which learning rate?"]) == 0
    assert run(["board"]) == 0
    out = capsys.readouterr().out
    assert name in out
    assert "answered" in out
    assert run(["board", "solve", name, "0.1 instead of 10"]) == 0
    assert run(["board", "show", name]) == 0
    out = capsys.readouterr().out
    assert [
        word for word in ("Loss is NaN", "[solved]", "after 200 steps", "which learning", "0.1") if word not in out
    ] == []
    assert said(capsys, "board", "list", "--unsolved")["posts"] == []
    (found,) = said(capsys, "board", "search", "nan", "200")["posts"]  # type: ignore[misc]
    assert (found["short"], found["state"], found["part"]) == (name, "solved", "numerics")  # type: ignore[index]
    assert run(["board", "--lang", "ja"]) == 0
    assert "解決済み" in capsys.readouterr().out


def test_the_text_comes_from_stdin(
    shared: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("題\n本文\n".encode() + b"\xff")))
    name = str(said(capsys, "board", "post", "-")["short"])
    value = said(capsys, "board", "show", name)["post"]
    assert (value["title"], value["text"]) == ("題", "本文\n\ufffd")  # type: ignore[index]


def test_the_text_comes_from_the_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hackathon.cli.board import board_io as sharing

    editor = tmp_path / "my editor"
    editor.write_text('#!/bin/sh\nprintf "title\\nbody\\n# left out\\n#kept\\n" > "$2"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", f"'{editor}' --wait")
    monkeypatch.delenv("VISUAL", raising=False)
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)
    assert sharing._edited("# template") == "title\nbody\n#kept"
    monkeypatch.setenv("EDITOR", "false")
    with pytest.raises(RequestError) as caught:
        sharing._edited("")
    assert caught.value.id == "board.no_editor"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["board", "post"], "the text is empty"),
        (["board", "post", "x", "--part", "engine"], "no part 'engine'"),
        (["board", "show", "nothing"], "no post 'nothing'"),
        (["board", "solve", "nothing"], "no post 'nothing'"),
        (["board", "--shared", "/nonexistent"], "no board in /nonexistent"),
        (["board", "nonsense"], "nonsense"),
    ],
)
def test_wrong_requests(shared: Path, capsys: pytest.CaptureFixture[str], words: list[str], text: str) -> None:
    assert run(words) == 2
    assert text in capsys.readouterr().err


def test_where_the_board_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["board"]) == 2
    assert "HACKATHON_SHARED" in capsys.readouterr().err
    (tmp_path / "hackathon.yaml").write_text("title: E\nshared: of event\n")
    inside = tmp_path / "team" / "project"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    assert run(["board", "init"]) == 0
    assert f"shared: {tmp_path / 'of event'}" in capsys.readouterr().out
    assert run(["board", "post", "in the event's"]) == 0
    monkeypatch.setenv("HACKATHON_SHARED", str(tmp_path / "of shell"))
    assert run(["board", "init"]) == 0
    capsys.readouterr()
    assert said(capsys, "board")["posts"] == []
    assert len(said(capsys, "board", "--shared", str(tmp_path / "of event"))["posts"]) == 1  # type: ignore[arg-type]


def test_an_event_beside_the_board_counts_only_when_its_keepers_wrote_it(shared: Path, tmp_path: Path) -> None:
    from hackathon.board.directory import find_people

    event = shared / "hackathon.yaml"
    event.write_text("title: Beside\n")
    place = open_place(shared)
    found = find_people(place, Path("/"))
    assert found is not None
    assert found.title == "Beside"
    event.chmod(0o666)
    assert find_people(place, Path("/")) is None
    event.chmod(0o644)
    assert find_people(replace(place, keepers=frozenset({12345})), Path("/")) is None


def test_a_post_carries_no_time_of_its_own_choosing(shared: Path) -> None:
    before = time.time()
    written = post(open_board(shared), "now")
    assert before - 1 <= written.entry.time <= time.time() + 1
    assert open_board(shared).posts[0].time == written.entry.time


def test_a_finding_is_shown_in_the_language_of_the_reader(shared: Path) -> None:
    said = {"en": ("NCCL cannot connect", "Do it."), "ja": ("NCCL が接続できません", "対処してください。")}
    with speaking("ja"):
        written = replace(finding(), message=said["ja"][0], advice=said["ja"][1], said=said)
        post(open_board(shared), "", finding=attach(written))
    for code, (text, advice) in said.items():
        with speaking(code):
            board = open_board(shared)
            [shown] = board.posts
            assert shown.finding is not None
            assert (shown.title, shown.finding.message, shown.finding.advice) == (text, text, advice)
            assert [each.id for each in search(board.posts, ["接続"])] == [shown.id], "found in any language"


def test_a_post_of_before_keeps_the_language_it_was_written_in(shared: Path) -> None:
    post(open_board(shared), "", finding=attach(finding()))
    with speaking("ja"):
        [shown] = open_board(shared).posts
    assert shown.finding is not None and shown.finding.message == "NCCL can not connect"
