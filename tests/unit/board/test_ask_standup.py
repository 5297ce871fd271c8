"""Requests for help and the morning round."""

import json
import os
import time
from pathlib import Path

import pytest

from hackathon.access.permissions import user_name
from hackathon.board.board import Board
from hackathon.board.directory import make_place, open_place
from hackathon.board.entry import SECTIONS, Entry, new_id
from hackathon.board.people import People
from hackathon.board.standup import morning_round
from hackathon.board.store import Owned
from hackathon.cli.board.standup import parted
from hackathon.cli.main import run
from hackathon.config.event import Event, Member, Team
from hackathon.text.messages import speaking

ME = user_name(os.geteuid())


@pytest.fixture
def event(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An event whose only member and tutor is this user; the checked shipped rules are kept from test to test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache-of-requests"))
    make_place(tmp_path / "shared", "sticky")
    (tmp_path / "hackathon.yaml").write_text(
        "title: E\nshared: shared\nteams:\n"
        f"- name: Aurora\n  members: [{{user: {ME}, name: Ada}}, {{user: nobody-else}}]\n"
        f"- name: Borealis\n  members: [{{user: someone}}]\n"
        f"tutors: [{{user: {ME}}}]\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def value(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, list[dict[str, object]]]:
    capsys.readouterr()
    assert run([*words, "--json"]) == 0
    found: dict[str, list[dict[str, object]]] = json.loads(capsys.readouterr().out)
    return found


def test_from_a_request_to_its_end(event: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ask", "list"]) == 0
    assert "no open requests" in capsys.readouterr().err
    assert run(["ask", "it hangs\nafter one epoch"]) == 0  # no run here: nothing to attach
    assert "request sent to the tutors" in capsys.readouterr().out
    (request,) = value(capsys, "ask", "list")["requests"]
    name = str(request["short"])
    assert (request["kind"], request["title"], request["state"]) == ("ask", "it hangs", "open")
    assert value(capsys, "board")["posts"] == []  # problems and requests are two lists,
    assert [each["id"] for each in value(capsys, "board", "search", "epoch")["posts"]] == [request["id"]]  # found alike
    assert run(["ask", "take", name]) == 0
    assert "after one epoch" in capsys.readouterr().out
    assert run(["ask", "list"]) == 0
    assert "taken by Ada" in capsys.readouterr().out
    assert run(["ask", "--lang", "ja", "list"]) == 0
    assert "対応中: Ada" in capsys.readouterr().out
    assert run(["ask", "close", name, "wrong interface"]) == 0
    assert value(capsys, "ask", "list")["requests"] == []
    (closed,) = value(capsys, "ask", "list", "--all")["requests"]
    assert (closed["state"], closed["solved"]["text"]) == ("solved", "wrong interface")  # type: ignore[index]


def test_a_post_is_not_taken(event: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["board", "post", "problem"]) == 0
    name = str(value(capsys, "board")["posts"][0]["short"])
    assert run(["ask", "take", name]) == 2
    assert run(["ask", "close", name]) == 2
    assert capsys.readouterr().err.count("this is a post, not a request for help") == 2
    assert run(["ask", "take", "nothing"]) == 2
    assert "no request 'nothing'" in capsys.readouterr().err


def test_a_report_and_the_page_of_all_teams(event: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["standup", "--progress", "replaced since"]) == 0
    assert run(["standup", "--progress", "4 GPUs: 3.7x\x1b[31m", "--solved", "NCCL over ib0\nsee wiki"]) == 0
    assert run(["board", "post", "Loss is NaN", "--part", "numerics"]) == 0
    assert run(["board", "post", "Still open"]) == 0
    posts = value(capsys, "board")["posts"]
    name = next(str(each["short"]) for each in posts if each["title"] == "Loss is NaN")
    assert run(["board", "solve", name, "smaller rate"]) == 0
    capsys.readouterr()
    assert run(["standup", "show"]) == 0
    english = capsys.readouterr().out
    for text in ("Aurora", "Borealis", "Ada", "Progress: 4 GPUs: 3.7x·[31m", "NCCL over ib0\n      see wiki",
                 "no report yet: nobody-else", "no report yet: someone", f"#{name} [numerics] Loss is NaN",
                 "smaller rate", "Still open"):  # fmt: skip
        assert text in english, text
    assert "replaced since" not in english  # a shorter word could be a part of a random name
    assert run(["standup", "show", "--lang", "ja"]) == 0
    japanese = capsys.readouterr().out
    assert "進捗: 4 GPUs" in japanese
    assert "未報告: someone" in japanese
    page = value(capsys, "standup", "show")
    assert [team["team"] for team in page["teams"]] == ["Aurora", "Borealis"]
    (member,) = page["teams"][0]["members"]  # type: ignore[misc]
    assert (member["user"], member["goals"], member["solved"]) == (ME, "", "NCCL over ib0\nsee wiki")  # type: ignore[index]
    assert [each["title"] for each in page["solved"]] == ["Loss is NaN"]
    assert [each["title"] for each in page["waiting"]] == ["Still open"]


def test_which_reports_belong_to_a_morning(tmp_path: Path) -> None:
    """From 06:00 of the day before; the last of each owner; strangers at the end, by their accounts."""
    make_place(tmp_path / "shared", "sticky")
    place = open_place(tmp_path / "shared")
    midnight = time.mktime(time.strptime("2019-01-25", "%Y-%m-%d"))
    nobody = 987_654_321

    def owned(uid: int, hours: float, text: str) -> Owned:
        moment = midnight + 3600 * hours
        return Owned(Entry(new_id(uid), "standup", moment, place.board, sections={"goals": text}), uid)

    me = os.geteuid()
    reports = [
        owned(me, -18.5, "before"), owned(me, -17.5, "yesterday"), owned(me, 8, "today"), owned(me, 24.5, "tomorrow"),
        owned(nobody, 1, "stranger"),
    ]  # fmt: skip
    people = People(Event("E", teams=[Team("Aurora", members=[Member(ME), Member("b")])]))
    page = morning_round(Board(place, people, reports=reports), "2019-01-25")
    assert [(each.user, each.sections["goals"]) for each in page.teams["Aurora"]] == [(ME, "today")]
    assert page.silent == {"Aurora": ["b"]}
    assert [(each.user, each.sections["goals"]) for each in page.teams[""]] == [(f"uid {nobody}", "stranger")]
    first = morning_round(Board(place, people, reports=reports), "2019-01-24")
    assert [each.sections["goals"] for each in first.teams["Aurora"]] == ["yesterday"]
    assert morning_round(Board(place, people), now=midnight + 60).day == "2019-01-25"


@pytest.mark.parametrize("language", ["en", "ja"])
def test_an_edited_template_is_parted_into_its_sections(language: str) -> None:
    from hackathon.cli.board.standup import _template

    with speaking(language):
        template = _template()
    assert parted("\n".join(line for line in template.splitlines() if not line.startswith("# "))) == dict.fromkeys(
        SECTIONS, ""
    )
    lines = template.splitlines()[1:]
    filled = "\n".join(line or f"text {number}\nmore" for number, line in enumerate(lines))
    assert list(parted(filled)) == list(SECTIONS)
    assert all(text.endswith("more") for text in parted(filled).values())
    assert parted("only this")["progress"] == "only this"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["standup", "show", "--day", "tomorrow"], "'tomorrow' is not a date"),
        (["standup", "--progress", " "], "the status report is empty"),
        (["standup"], "use --progress, --goals"),
        (["ask", "--run", "zzz"], "no run 'zzz'"),
        (["ask"], "the text is empty"),
        (["ask", "lits"], "Did you mean 'list'?"),
        (["ask", "--lang", "en", "clsoe", "k7qd"], "Did you mean 'close'?"),
    ],
)
def test_wrong_requests(event: Path, capsys: pytest.CaptureFixture[str], words: list[str], text: str) -> None:
    assert run(words) == 2
    assert text in capsys.readouterr().err


@pytest.fixture
def failed(event: Path) -> str:
    """A project in the event with a rule of its own; return the id of its run that failed, older than a good one."""
    (event / "templates" / "rules").mkdir(parents=True)
    (event / "templates" / "rules" / "own.yaml").write_text(
        "rules:\n- id: whale\n  part: nccl\n  level: root\n  title: {en: a whale ate the link, ja: クジラ}\n"
        "  patterns: [{text: link was eaten by a whale}]\n"
    )
    (event / "project.yaml").write_text("name: own\ncommand: python train.py\n")
    for name, state in (
        ("20190101-090000-own-2p-aaaaaaaa", "FAILED"),
        ("20190102-090000-own-2p-bbbbbbbb", "SUCCEEDED"),
    ):
        path = event / "runs" / name
        (path / "logs").mkdir(parents=True)
        (path / "request.json").write_text(json.dumps({"name": "own", "processes": 2, "scheduler": "local"}))
        (path / "logs" / "rank-1.log").write_text("epoch 1\n" + "link was eaten by a whale\n" * (state == "FAILED"))
        (path / "final.json").write_text(json.dumps({"state": state, "cause": "", "job_id": "7", "attempt": 1}))
    return "20190101-090000-own-2p-aaaaaaaa"


def test_a_request_carries_the_newest_failure_and_where_to_look(
    event: Path, failed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ask"]) == 0  # the diagnosis says enough
    assert f"about run {failed} (guessed): [nccl] a whale ate the link" in capsys.readouterr().out
    (request,) = value(capsys, "ask", "list")["requests"]
    assert (request["title"], request["part"], request["rule"]) == ("a whale ate the link", "nccl", "whale")
    assert request["folder"] == str(event / "runs" / failed)
    finding = request["finding"]
    assert isinstance(finding, dict)
    assert (finding["file"], finding["line"], finding["rank"]) == ("logs/rank-1.log", 2, 1)
    assert run(["ask", "take", str(request["short"])]) == 0
    out = capsys.readouterr().out
    assert "diagnosis: a whale ate the link" in out
    assert "logs/rank-1.log:2 (rank 1" in out
    assert str(event / "runs" / failed) in out
    assert run(["ask", "why?", "--no-run"]) == 0
    assert run(["ask", "why slow?", "--run", "bbbbbbbb"]) == 0
    requests = value(capsys, "ask", "list")["requests"]
    assert [(each["run"], each["finding"]) for each in requests[1:]] == [
        ("", None),
        ("20190102-090000-own-2p-bbbbbbbb", None),
    ]


def test_a_post_carries_a_run_s_finding_and_is_found_for_the_next_one(
    event: Path, failed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from hackathon.board.board import similar
    from hackathon.diagnosis import diagnose

    assert run(["board", "post", "--run", "aaaaaaaa"]) == 0
    assert run(["board", "post", "--run", "bbbbbbbb", "nothing to see"]) == 0
    assert "no known failure was found" in capsys.readouterr().err
    first, second = value(capsys, "board")["posts"]
    assert (first["rule"], first["run"], second["finding"]) == ("whale", failed, None)
    assert [each["id"] for each in value(capsys, "board", "--rule", "whale")["posts"]] == [first["id"]]
    (finding,) = diagnose([event / "runs" / failed], folders=[event])
    assert similar(finding) == []
    assert run(["board", "solve", str(first["short"]), "feed it"]) == 0
    capsys.readouterr()
    assert [each.id for each in similar(finding)] == [first["id"]]
    assert run(["diagnose", failed]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "similar problems, solved:"
    assert lines[1] == f"  a whale ate the link (`hackathon board show {first['short']}`)"
    assert lines[2] == "    → feed it"
    assert [each["id"] for each in value(capsys, "diagnose", failed)["similar"]] == [first["id"]]


def test_a_failure_that_no_rule_knows_is_told_by_its_first_rank_s_last_words_and_found_for_the_next_one(
    event: Path, failed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run_of = event / "runs" / failed
    (run_of / "logs" / "rank-1.log").write_text("begin\nthe flux capacitor 7 grumbles\n")
    (run_of / "logs" / "job.log").write_text("Primary job  terminated normally, but 1 process returned\n")
    assert run(["ask"]) == 0
    assert f"about run {failed} (guessed): " in capsys.readouterr().out
    (request,) = value(capsys, "ask", "list")["requests"]
    assert (request["part"], request["rule"], request["title"]) == ("", "", request["finding"]["message"])  # type: ignore[index]
    assert request["finding"]["text"] == "the flux capacitor 7 grumbles"  # type: ignore[index]
    assert run(["ask", "close", str(request["short"]), "feed it"]) == 0
    (run_of / "logs" / "rank-1.log").write_text("begin\nthe flux capacitor 8 grumbles\n")
    assert [each["id"] for each in value(capsys, "diagnose", failed)["similar"]] == [request["id"]]
    (run_of / "logs" / "rank-1.log").write_text("begin\nthe horn section 8 grumbles\n")
    assert value(capsys, "diagnose", failed)["similar"] == []
    launcher = value(capsys, "diagnose", failed)
    assert [each["rule"] for each in launcher["findings"]] == ["mpi-rank-failed"]
    assert not any(
        "Primary job" in str(each["text"]) for each in launcher["unknown"]
    )  # it follows, and is told already
