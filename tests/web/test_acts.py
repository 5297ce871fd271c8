"""What can be done in the browser, and by whom: the board's forms, and attacks on them through real sockets."""

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.access.ownership import look
from hackathon.access.permissions import user_name
from hackathon.access.trust_record import TRUST, remember
from hackathon.board.board import Board, Post, reply
from hackathon.board.directory import make_place
from hackathon.board.entry import Entry
from hackathon.board.post import post
from hackathon.board.store import write_entry
from hackathon.config.event import Event, Member, Team, Tutor
from hackathon.index.catalog import Catalog
from hackathon.index.record import CauseText, RunEntry, key_of
from hackathon.text.messages import speaking
from hackathon.web.dashboard import acts, stream
from hackathon.web.dashboard.access import same_origin
from hackathon.web.dashboard.endpoint import port_door, socket_door
from hackathon.web.dashboard.form_guard import HOURS, FormGuard
from hackathon.web.dashboard.forms import FormRefused
from support.accounts import public_folder as public_folder  # a fixture
from support.pages.dashboard import Answer, Served, Told, serving
from support.pages.rendered import HOSTILE, NOT_SHOWN, Reader
from support.patience import until
from support.samples.source import event_source

ME = user_name(os.geteuid())
TOLD = {
    "en": CauseText("GPU 0 is out of memory", "Halve the batch.", "CUDA out of memory. Tried", "logs/rank-1.log:17")
}


def event_of(folder: Path, **values: Any) -> Event:
    make_place(folder / "shared", "sticky")
    usual: dict[str, Any] = {
        "teams": [Team("aurora", members=[Member(ME, name="Ada Lovelace")], tutors=[ME])], "tutors": [Tutor(ME)],
    }  # fmt: skip
    return Event("E", shared="shared", **{**usual, **values})


def entry(folder: Path, identifier: str = "20260302-110000-train-4p-abcdefgh", **values: Any) -> RunEntry:
    project = folder / "aurora/train"
    (project / "runs" / identifier).mkdir(parents=True, exist_ok=True)
    usual: dict[str, Any] = {
        "team": "aurora", "name": "train", "user": ME, "cluster": "laptop", "processes": 4, "walltime": 600,
        "state": "FAILED", "rule": "cuda-out-of-memory", "part": "gpu", "told": TOLD, "created": time.time() - 60,
        "started": time.time() - 50, "ended": time.time() - 40,
    }  # fmt: skip
    return RunEntry(identifier, str(project), **{**usual, **values})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.delenv("HACKATHON_SHARED", raising=False)
    with tempfile.TemporaryDirectory(prefix="hk-", dir="/tmp") as name:
        monkeypatch.setenv("XDG_RUNTIME_DIR", name)
        yield tmp_path


@pytest.fixture
def served(folder: Path) -> Iterator[Served]:
    event = event_of(folder)
    source = Catalog((entry(folder),), event=event, event_folder=folder, live=True)
    runtime = Path(os.environ["XDG_RUNTIME_DIR"]) / "in"
    with serving(socket_door(runtime / "s", writes=True), folder / "cache", Told(source)) as made:
        yield made


def board(folder: Path, event: Event | None = None) -> Board:
    from hackathon.board.board import read_board
    from hackathon.board.directory import open_place
    from hackathon.board.people import People

    return read_board(open_place(folder / "shared"), People(event or event_of(folder)))


def ask(folder: Path, text: str = "Why does it hang?", **values: Any) -> Post:
    written = post(board(folder), text, kind="ask", **values)
    return next(each for each in board(folder).posts if each.id == written.entry.id)


def fields(served: Served, request: Post, act: str, text: str = "", **values: str) -> dict[str, str]:
    token = values.pop("token", "") or served.token()
    return {"token": token, "back": "/en/board", "act": act, "post": request.id, "text": text, **values}


def written(folder: Path) -> list[Path]:
    return sorted((folder / "shared/entries").glob("*.json"))


def test_a_request_is_taken_answered_and_closed_in_the_name_of_the_account(served: Served, folder: Path) -> None:
    request = ask(folder)
    html = served.page_with_forms()
    for words in ("Take this request", "Send the answer", "Send and close", 'action="/act"'):
        assert words in html
    taken = served.send(fields(served, request, "take"))
    assert (taken.status, taken.headers["location"]) == (303, f"/en/board?said=take#post-{request.short}")
    after = served.ask("/en/board?said=take").body
    assert "You have taken this request." in after and "Take this request" not in after, "at once"
    assert served.send(fields(served, request, "answer", "Halve the batch.\r\nThen look again.")).status == 303
    assert served.send(fields(served, request, "solve", "It was the batch.")).status == 303
    (found,) = board(folder).posts
    assert found.taken and found.solved and found.taken.uid == found.solved.uid == os.geteuid()
    assert [each.text for each in found.answers] == ["Halve the batch.\nThen look again."]
    assert found.solved.text == "It was the batch."
    assert all(path.stat().st_uid == os.geteuid() for path in written(folder))
    assert "It was the batch." in served.ask("/en/board").body
    assert served.ask("/ja/board?said=solve").body.count("解決済みにしました。") == 1


def test_a_tutor_attaches_another_run_to_a_request(served: Served, folder: Path) -> None:
    run = served.watch.source().summaries[0]
    request = ask(folder, "Why does it hang?", run="20260302-100000-train-4p-wrongone", guessed=True)
    html = served.page_with_forms("/en/now")
    assert "Attach this run" in html and f'<option value="{key_of(run.project, run.id)}">' in html
    assert "The run was guessed from the message" in html
    form = {"token": served.token(), "back": "/en/now", "act": "attach", "post": request.id}
    key = key_of(run.project, run.id)
    answer = served.send({**form, "run": key})
    assert (answer.status, answer.headers["location"]) == (303, f"/en/now?said=attach#post-{request.short}")
    assert served.send({**form, "token": served.token(), "run": key}).status == 303
    (found,) = board(folder).posts
    assert (found.run, found.rule, found.guessed) == (run.id, "cuda-out-of-memory", False)
    assert len(found.answers) == 1, "the same run twice is said once"
    after = served.ask("/en/now?said=attach").body
    assert "The request is about this run now." in after and "guessed from" not in after
    for wrong, status in (
        ({"run": "/nowhere//gone"}, 404),
        ({"run": ""}, 404),
        ({"run": key, "post": "gone"}, 404),
        ({"run": key, "token": "x"}, 403),
        ({"run": key, "rank": "1"}, 400),
    ):
        assert served.send({**form, "token": served.token(), **wrong}).status == status, wrong
    foreign = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert served.send({**form, "token": served.token(), "run": key}, foreign).status == 403
    assert len(board(folder).posts[0].answers) == 1


def test_a_post_carries_what_the_diagnosis_found(served: Served, folder: Path) -> None:
    run = served.watch.source().summaries[0]
    key = key_of(run.project, run.id)
    form = {"token": served.token(), "back": "/en/now", "act": "post", "run": key, "text": "Out of memory\nwith 64"}
    assert served.send(form).status == 303
    assert served.send({**form, "token": served.token(), "text": ""}).status == 303, "a finding is a post by itself"
    first, second = board(folder).posts
    assert (first.title, first.text, first.rule, first.part, first.run) == (
        "Out of memory", "with 64", "cuda-out-of-memory", "gpu", run.id,
    )  # fmt: skip
    assert first.finding and (first.finding.file, first.finding.line) == ("logs/rank-1.log", 17)
    assert second.title == "GPU 0 is out of memory"
    empty = served.send({"token": served.token(), "back": "/en/board", "act": "post", "text": " \n"})
    assert empty.status == 409 and "This was not done" in empty.body and len(written(folder)) == 2


def test_a_post_about_a_run_that_goes_on_is_not_called_one_about_a_failure(served: Served, folder: Path) -> None:
    still = {"state": "RUNNING", "rule": "", "part": "", "told": None, "ended": None, "progress": time.time() - 1500}
    served.watch.tell(entry(folder, started=time.time() - 1800, **still))
    for language, words, wrong in (
        ("en", "Post about this run", "this failure"),
        ("ja", "この実行について", "この失敗"),
    ):
        html = served.page_with_forms(f"/{language}/now")
        assert words in html and wrong not in html


def test_nothing_is_written_for_an_event_that_nobody_trusted(
    folder: Path, public_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "settings"))
    source = Catalog((entry(folder),), event=event_of(public_folder), event_folder=public_folder, live=True)
    file = public_folder / "hackathon.yaml"
    file.write_text("title: E\nshared: shared\n")
    file.chmod(0o666)  # anybody could have written it, and named any directory as its board
    request = ask(public_folder)
    before = written(public_folder)
    about = {"back": "/en/now", "run": key_of(source.summaries[0].project, source.summaries[0].id), "text": "mine"}
    with serving(socket_door(folder / "door" / "s", writes=True), folder / "cache", Told(source)) as served:
        for form in (
            fields(served, request, "take"),
            {**about, "token": served.token(), "act": "post"},
            {**about, "token": served.token(), "act": "tell", "wanted": "rerun"},
        ):
            answer = served.send(form)
            assert answer.status == 409 and "hackathon trust" in answer.body, form["act"]
        assert written(public_folder) == before
        monkeypatch.setenv("HACKATHON_SHARED", str(public_folder / "shared"))  # the account itself names the board
        assert served.send(fields(served, request, "take")).status == 303
        monkeypatch.delenv("HACKATHON_SHARED")
        remember(look(file), TRUST)
        assert served.send(fields(served, request, "answer", "Halve the batch.")).status == 303
        (folder / "settings").rename(folder / "forgotten")
        file.chmod(0o644)  # nobody else can write it any more
        assert served.send(fields(served, request, "solve", "It was the batch.")).status == 303
    assert len(written(public_folder)) == len(before) + 3


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://evil.example", "Sec-Fetch-Site": ""},
        {"Origin": "http://localhost:8001", "Sec-Fetch-Site": "same-site"},  # another port is another origin
        {"Origin": "http://localhost:8001", "Sec-Fetch-Site": ""},
        {"Origin": "https://localhost"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},  # a sandboxed frame
        {"Origin": "null"},
        {"Origin": "", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "", "Sec-Fetch-Site": "none"},  # typed into the address bar: that sends no form
        {"Origin": "", "Sec-Fetch-Site": ""},
        {"Content-Type": "text/plain"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/json"},
    ],
)
def test_forms_of_other_pages_are_refused(served: Served, folder: Path, headers: dict[str, str]) -> None:
    request = ask(folder)
    before = written(folder)
    answer = served.send(fields(served, request, "take"), headers)
    assert answer.status == (415 if "Content-Type" in headers else 403)
    assert written(folder) == before


def test_two_origins_are_none() -> None:
    good = [(b"host", b"localhost"), (b"origin", b"http://localhost")]
    assert same_origin(good) and same_origin([good[0], (b"sec-fetch-site", b"same-origin")])
    assert not same_origin([*good, (b"origin", b"http://localhost")]) and not same_origin([good[0]])
    assert not same_origin([*good, (b"host", b"localhost")]) and not same_origin([good[1]])


def test_a_token_is_of_one_browser_one_server_and_some_hours(served: Served, folder: Path) -> None:
    request = ask(folder)
    token, cookie = served.token(), served.cookie
    other = replace(served, cookie="")
    foreign = other.token()
    assert other.cookie != cookie
    guard = FormGuard()
    session = cookie.partition("=")[2].partition(".")[0]
    bad = ["", "x", token[:-1], f"{token}0", token.upper(), foreign, guard.token(session), f"0.{'0' * 32}.{'0' * 64}"]
    before = written(folder)
    for each in bad:
        answer = served.send({**fields(served, request, "answer", "kept words", token="y"), "token": each})
        assert answer.status == 403, each
        assert "kept words" in answer.body, "what was typed is not lost"
    for without in ("", "hackathon-00000000=x", cookie[:-1], cookie.replace("=", "=a")):
        thief = replace(served, cookie=without)
        assert thief.send(fields(thief, request, "take", token=token)).status == 403, without
    assert written(folder) == before
    own = guard.token("s", now=1e9)
    assert guard.knows(own, "s", 1e9) and guard.knows(own, "s", 1e9 + HOURS)
    assert not guard.knows(own, "s", 1e9 + HOURS + 2) and not guard.knows(own, "s", 1e9 - 9)
    assert not guard.knows(own, "t", 1e9) and not guard.knows(guard.token("", now=1e9), "", 1e9)


NAMES = st.sampled_from(sorted(acts.FIELDS)) | st.text(max_size=8)
VALUES = st.sampled_from([*acts.ACTS, "yes", "/en/now"]) | st.text(max_size=20)


@given(st.lists(st.tuples(NAMES, VALUES), max_size=10))
def test_any_fields_are_a_wish_of_ours_or_refused(pairs: list[tuple[str, str]]) -> None:
    try:
        token, wish = acts.wish_of(pairs)
    except FormRefused as refused:
        assert refused.status == 400
        return
    given_fields = dict(pairs)
    assert len(given_fields) == len(pairs) and set(given_fields) <= acts.FIELDS
    assert wish.act == given_fields["act"] in acts.ACTS and token == given_fields.get("token", "")
    assert wish.sure == (given_fields.get("sure") == "yes")
    guard = FormGuard()
    assert not any(guard.knows(text, "session") for pair in pairs for text in pair)


def test_the_same_form_again_does_nothing_again(served: Served, folder: Path) -> None:
    request = ask(folder)
    form = fields(served, request, "answer", "Once.")
    answers: list[Answer] = []
    senders = [threading.Thread(target=lambda: answers.append(served.send(form))) for _ in range(6)]
    for each in senders:
        each.start()
    for each in senders:
        each.join()
    answers.append(served.send(form))
    assert {(each.status, each.headers["location"]) for each in answers} == {(303, answers[0].headers["location"])}
    assert [each.text for each in board(folder).posts[0].answers] == ["Once."]
    assert served.send({**form, "text": "Twice."}).status == 303, "Back, and other words: another answer"
    assert served.send(fields(served, request, "answer", "Once.")).status == 303, "the same words from another page"
    assert [each.text for each in board(folder).posts[0].answers] == ["Once.", "Twice.", "Once."]


@pytest.mark.parametrize(
    "change",
    [
        {"user": "root"}, {"uid": "0"}, {"author": "ada"}, {"id": "20260101-000000-0-aaaaaaaa"}, {"time": "0"},
        {"board": "x"}, {"kind": "ready"}, {"act": "standup"}, {"act": ""}, {"act": "init"},
        {"back": "//evil.example/"}, {"back": "https://evil.example/en/now"},
        {"back": "/style.css"}, {"back": ""}, {"back": "/en/now\r\nX: y"},
    ],
)  # fmt: skip
def test_a_form_names_no_account_and_leads_nowhere_else(served: Served, folder: Path, change: dict[str, str]) -> None:
    request = ask(folder)
    before = written(folder)
    answer = served.send({**fields(served, request, "take"), **change})
    assert answer.status == 400 and "location" not in answer.headers
    assert written(folder) == before


def test_fields_twice_too_many_or_too_long_are_refused(served: Served, folder: Path) -> None:
    request = ask(folder)
    form = list(fields(served, request, "answer", "a").items())
    assert served.send([*form, ("text", "b")]).status == 400
    assert served.send([*form, *((f"x{n}", "") for n in range(30))]).status == 400
    assert served.send({**dict(form), "text": "x" * 100_001}).status == 413
    assert served.ask("/act", method="GET").status == 404
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        assert served.ask("/act", method=method).status == 405
    for path in ("/en/now", "/", "/stream?page=/en/now", "/act/", "//act"):
        assert served.ask(path, method="POST", headers={"Origin": "http://localhost"}).status == 405
    assert served.send(dict(form), host="evil.example").status == 421
    assert len(written(folder)) == 1
    back = served.send({**dict(form), "back": "/en/board?key=%0d%0aSet-Cookie:x&said=take"})
    assert back.status in (303, 400) and not back.cookies and "evil" not in back.headers.get("location", "")


def test_a_read_only_dashboard_takes_nothing_and_shows_no_form(folder: Path) -> None:
    event = event_of(folder)
    source = Catalog((entry(folder),), event=event, event_folder=folder, live=True)
    request = ask(folder)
    runtime = Path(os.environ["XDG_RUNTIME_DIR"]) / "in"
    for opening in (socket_door(runtime / "r"), port_door("127.0.0.1", 0)):
        with serving(opening, folder / "cache", Told(source)) as served:
            if served.door.token:
                served.enter()
            for path in ("/en/now", "/en/board"):
                answer = served.ask(path)
                assert (
                    'method="post"' not in answer.body
                    and 'name="token"' not in answer.body
                    and "textarea" not in answer.body
                )
                assert answer.cookies == []
            assert served.send(fields(served, request, "take", token="x")).status == 405
    assert len(written(folder)) == 1


def test_a_port_that_writes_is_for_one_browser(folder: Path) -> None:
    event = event_of(folder)
    source = Catalog((entry(folder),), event=event, event_folder=folder, live=True)
    request = ask(folder)
    with serving(port_door("127.0.0.1", 0, writes=True), folder / "cache", Told(source)) as served:
        address = f"/enter?token={served.door.token}"
        assert served.ask(address, method="HEAD").status == 405, "a look at the address does not use it up"
        assert served.ask("/enter?token=wrong").status == 403
        served.enter()
        late = replace(served, cookie="")
        assert late.ask(address).status == 403 and late.ask(address).cookies == []
        assert late.ask("/en/now").status == 403
        assert served.ask(address).status == 303, "the same browser may"
        host = f"localhost:{served.door.port}"
        assert late.send(fields(late, request, "take", token=served.token()), host=host).status == 403
        assert served.send(fields(served, request, "take"), host=host).status == 303
        answer = served.ask("/en/board")
        assert answer.headers["referrer-policy"] == "same-origin"
        assert "form-action 'self'" in answer.headers["content-security-policy"]


def test_who_is_no_tutor_takes_nothing(folder: Path) -> None:
    event = event_of(folder, tutors=[], teams=[Team("aurora", members=[Member(ME)])])
    source = Catalog((), event=event, event_folder=folder, live=True)
    request = ask(folder)
    runtime = Path(os.environ["XDG_RUNTIME_DIR"]) / "in"
    with serving(socket_door(runtime / "s", writes=True), folder / "cache", Told(source)) as served:
        assert "Take this request" not in served.page_with_forms() and "Send and close" in served.page_with_forms()
        refused = served.send(fields(served, request, "take", "typed words"))
        assert refused.status == 409 and "typed words" in refused.body
        assert not board(folder, event).posts[0].taken
        assert served.send(fields(served, request, "solve", "found it")).status == 303, "one's own request"


def test_two_tutors_at_once_lose_nothing(served: Served, folder: Path) -> None:
    """Also where both have read the board before either wrote: then both files are there, and both texts are shown."""
    request = ask(folder)
    place = board(folder).place
    for kind, text in (("take", "I come at four"), ("take", "I am there"), ("solve", "the batch"), ("solve", "a link")):
        write_entry(place, Entry("", kind, 0.0, place.board, to=request.id, text=text))
        time.sleep(0.002)
    found = board(folder).posts[0]
    assert found.taken and found.solved
    shown = served.ask("/en/board").body
    for text in ("I come at four", "I am there", "the batch", "a link"):
        assert text in shown
    assert (
        served.send(fields(served, request, "solve", "and a third")).headers["location"].startswith("/en/board?said=")
    )
    assert "and a third" in served.ask("/en/board").body
    count = len(written(folder))
    assert served.send(fields(served, request, "solve")).status == 303
    assert len(written(folder)) == count, "nothing to say: nothing is written"
    both = ask(folder, "another")
    forms = [fields(served, both, "answer", f"answer {n}") for n in range(8)]
    senders = [threading.Thread(target=served.send, args=(each,)) for each in forms]
    for each in senders:
        each.start()
    for each in senders:
        each.join()
    assert {each.text for each in board(folder).posts[1].answers} == {f"answer {n}" for n in range(8)}


def test_what_was_taken_by_somebody_else_is_told(served: Served, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = ask(folder)
    reply(board(folder), request, "take")
    wish = acts.FormWish("take", "/en/now", request.id)
    assert acts.perform(wish, served.watch.source()).said == "said_take", "by oneself"
    before = len(written(folder))
    monkeypatch.setattr(acts.os, "geteuid", lambda: 4_000_001)
    assert acts.perform(wish, served.watch.source()).said == "said_take_before"
    assert len(written(folder)) == before


@pytest.mark.parametrize("language", ["en", "ja"])
def test_nothing_that_is_typed_gets_out_of_its_place(served: Served, folder: Path, language: str) -> None:
    request = ask(folder, HOSTILE)
    place = f"/{language}/board"
    for act in ("answer", "take", "solve"):
        assert served.send(fields(served, request, act, HOSTILE, back=place)).status == 303
    token = served.token()
    assert served.send({"token": token, "back": place, "act": "post", "text": f"{HOSTILE}\n{HOSTILE}"}).status == 303
    other = ask(folder, f"{HOSTILE} again")
    failing = [
        served.send({**fields(served, other, "answer", HOSTILE), "token": HOSTILE}),
        served.send({**fields(served, other, "answer", HOSTILE), "post": HOSTILE}),
        served.send({"token": served.token(), "back": place, "act": "cancel", "run": HOSTILE, "text": HOSTILE}),
    ]
    assert [each.status for each in failing] == [403, 404, 404]
    pages = [served.ask(place).body, served.ask(f"/{language}/now").body, *(each.body for each in failing)]
    pages.append(served.ask(f"{place}?said=%3Cscript%3Ealert(1)%3C/script%3E&said=take").body)
    for html in pages:
        reader = Reader()
        reader.feed(html)
        assert "onerror" not in reader.attributes and not reader.elements["img"]
        scripts = re.findall(r"<script\b[^>]*>", html)
        assert scripts and all(re.fullmatch(r'<script src="/[a-z]+\.js\?[^"<>]*" defer>', each) for each in scripts), (
            scripts
        )
        assert not [letter for letter in NOT_SHOWN if letter in html]
    assert "alert(1)" not in pages[-1].split("<main")[0]
    assert pages[0].count("&lt;script&gt;alert(1)") >= 5


def test_a_new_request_is_on_the_page_within_a_moment(
    served: Served, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody's runs change: the board itself is watched."""
    monkeypatch.setattr(stream, "OLDEST", 1e6)
    assert "Please come" not in served.ask("/en/now").body
    ask(folder, "Please come")
    until(lambda: "Please come" in served.ask("/en/now").body)


def test_the_teams_of_a_tutor_have_an_address(served: Served) -> None:
    page = served.ask(f"/en/now?tutor={ME}")
    assert page.status == 200 and "GPU 0 is out of memory" in page.body
    assert f'value="/en/now?tutor={ME}"' in page.body, "a form leads back to where it stood"
    assert served.ask("/en/now?tutor=nobody").status == 404
    assert served.ask("/en/now?tutor=").status == 200
    assert served.ask("/en/teams?tutor=nobody").status == 200, "other pages have none"
    form = {"token": served.token(), "back": f"/en/now?tutor={ME}", "act": "post", "text": "x"}
    assert served.send(form).headers["location"].startswith(f"/en/now?tutor={ME}&said=post#post-")


@pytest.mark.slow
def test_one_s_own_run_is_cancelled_and_submitted_again_after_a_question(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the very commands, in the project's folder; a module that lies there under our name is not loaded."""
    project = folder / "event/aurora/train"
    project.mkdir(parents=True)
    make_place(folder / "event/shared", "sticky")
    (folder / "event/hackathon.yaml").write_text("title: E\nshared: shared\nteams: [{name: aurora}]\n")
    (project / "train.py").write_text("import time\ntime.sleep(600)\n")
    (project / "hackathon.py").write_text("open('loaded', 'w')\nraise SystemExit(1)\n")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("HACKATHON_CLUSTER", raising=False)

    def hackathon(*words: str) -> None:
        command = [sys.executable, "-P", "-m", "hackathon", *words]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def source() -> Catalog:
        return event_source(folder / "event", folder / "index.db")

    hackathon("init", "--command", "python train.py", "--name", "train", "--cluster", "laptop")
    hackathon("submit", "--launcher", "local")
    runtime = Path(os.environ["XDG_RUNTIME_DIR"]) / "in"
    with serving(socket_door(runtime / "s", writes=True), folder / "cache", Told(source())) as served:
        (run,) = source().summaries
        form = {"token": served.token(), "back": "/en/now", "act": "cancel", "run": key_of(run.project, run.id)}
        question = served.send(form)
        assert question.status == 200 and "Cancel this run?" in question.body and run.id in question.body
        assert not (project / "runs" / run.id / "client/cancelled.json").exists(), "nothing without a yes"
        assert 'name="sure" value="yes"' in question.body
        done = served.send({**form, "sure": "yes"})
        assert (done.status, done.headers["location"]) == (303, "/en/now?said=cancel")
        assert (project / "runs" / run.id / "client/cancelled.json").exists()
        # asked by a command: what was cancelled before its script could write tells only the scheduler
        until(lambda: hackathon("status") or source().summaries[0].state == "CANCELLED")
        again = {**form, "token": served.token(), "act": "rerun"}
        assert "Run this again?" in served.send(again).body
        assert [served.send({**again, "sure": "yes"}).status for _ in range(2)] == [303, 303]
        assert len(source().summaries) == 2, "the same form twice: one run"
        newest = max(source().summaries, key=lambda each: each.created or 0.0)
        served.watch.tell(*source().summaries)
        until(lambda: served.dashboard.pages.version == served.watch.version)
        ends = {**form, "token": served.token(), "run": key_of(newest.project, newest.id), "sure": "yes"}
        assert served.send(ends).status == 303
        wrong = served.send({**ends, "token": served.token(), "run": key_of(newest.project, "no-such-run")})
        assert wrong.status == 404
        hidden = newest.id[:-1]
        (project / "runs" / newest.id).rename(project / "runs" / hidden)
        failing = served.send({**ends, "token": served.token()})
        assert failing.status == 409 and "another account" in failing.body, "it is gone since the page was made"
        (project / "runs" / hidden).rename(project / "runs" / newest.id)
    assert not (project / "loaded").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_runs_of_others_are_neither_cancelled_nor_run(served: Served, folder: Path) -> None:
    run = served.watch.source().summaries[0]
    directory = Path(run.project) / "runs" / run.id
    os.chown(directory, 64123, 64123)
    key = key_of(run.project, run.id)
    for act in ("cancel", "rerun"):
        for sure in ({}, {"sure": "yes"}):
            form = {"token": served.token(), "back": "/en/now", "act": act, "run": key, **sure}
            answer = served.send(form)
            assert answer.status == 409 and "belongs to another account" in answer.body
    assert list(directory.iterdir()) == []
    now = served.ask("/en/now").body
    assert "Ask the team to run it again" in now and 'value="rerun"' in now and ">Run again" not in now
    assert f"hackathon rerun {run.id}" in now
    told = {"token": served.token(), "back": "/en/now", "act": "tell", "run": key, "wanted": "rerun"}
    assert served.send(told).status == 303
    (found,) = board(folder).posts
    assert found.kind == "post" and f"hackathon rerun {run.id}" in found.title and found.run == run.id
    request = ask(folder, "and now?", run=run.id)
    assert served.send({**told, "token": served.token(), "wanted": "cancel"}).status == 303
    answered = next(each for each in board(folder).posts if each.id == request.id)
    assert f"hackathon cancel {run.id}" in answered.answers[0].text, "an answer to the request about it"
    assert served.send({**told, "token": served.token(), "wanted": "rm -rf /"}).status == 400


def test_a_finding_keeps_its_place_and_all_its_languages(folder: Path) -> None:
    run = entry(folder, told={"en": TOLD["en"], "ja": replace(TOLD["en"], message="GPU 0 のメモリ不足")})
    found = acts.attached(run)
    assert found and found.said["ja"][0] == "GPU 0 のメモリ不足" and found.line == 17
    with speaking("ja"):
        assert acts.attached(run).message == "GPU 0 のメモリ不足"  # type: ignore[union-attr]
    for place in ("", "logs/a:b", "logs/rank-1.log:99999999999999999999", "C:"):
        odd = acts.attached(replace(run, told={"en": replace(TOLD["en"], place=place)}))
        assert odd and odd.line is None
    assert acts.attached(replace(run, told=None)) is None
