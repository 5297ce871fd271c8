"""The Now page: who needs help, in the order of urgency, and calm when nobody does."""

import os
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hackathon.access.permissions import user_name
from hackathon.board.board import open_board, reply
from hackathon.board.directory import make_place
from hackathon.board.entry import Entry, encode
from hackathon.board.post import post
from hackathon.config.event import Event, Member, Team, Tutor
from hackathon.index.catalog import Catalog
from hackathon.index.projects import ProjectFolder
from hackathon.index.record import CauseText, RunEntry
from hackathon.text.errors import RequestError
from hackathon.text.messages import speaking
from hackathon.text.told import Worded
from hackathon.text.units import format_moment
from hackathon.web.attention.now import now_view
from hackathon.web.routing.registry import values_of
from hackathon.web.views.trouble import clock
from support.pages.rendered import HOSTILE, harmless, page, read

NOW = 1_772_420_400.0
"""2026-03-02 12:00 in Japan."""
ME = user_name(os.geteuid())
MINUTE = 60.0


@pytest.fixture(autouse=True)
def japan(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def run(number: int = 1, **values: Any) -> RunEntry:
    """A run that goes on well, unless told otherwise."""
    usual: dict[str, Any] = {
        "id": f"20260302-11{number % 60:02d}00-torch-ddp-4p-abcdef{number % 32 + 10}", "project": "/event/aurora/train",
        "team": "aurora", "name": "torch-ddp", "user": "ada", "cluster": "reedbush-h", "queue": "h-debug",
        "processes": 4, "nodes": 2, "gpus": 4, "walltime": 3600, "state": "RUNNING", "created": NOW - 30 * MINUTE,
        "submitted": NOW - 30 * MINUTE, "started": NOW - 20 * MINUTE, "progress": NOW - 5, "interval": 2.0,
        "value": 4210.0, "unit": "samples/s", "loss": 0.31, "gpu_percent": 92.0, "memory_percent": 61.0,
    }  # fmt: skip
    return RunEntry(**{**usual, **values})


def source(*runs: RunEntry, **values: Any) -> Catalog:
    return Catalog(summaries=runs, now=NOW, live=True, **values)


def failed(number: int = 1, **values: Any) -> RunEntry:
    return run(number, **{"state": "FAILED", "cause": "exit", "ended": NOW - 10 * MINUTE, **values})


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({}, ""),
        ({"state": "QUEUED", "submitted": NOW - 10 * MINUTE}, ""),
        ({"state": "QUEUED", "submitted": NOW - 20 * MINUTE}, "waits"),
        ({"state": "QUEUED", "submitted": NOW - 5, "cause": "never_runs"}, "waits"),
        ({"state": "HELD", "submitted": NOW - 3 * MINUTE}, ""),
        ({"state": "HELD", "submitted": NOW - 10 * MINUTE}, "waits"),
        ({"state": "HELD", "submitted": NOW - 50 * MINUTE, "parent": "segment-before"}, ""),
        ({"state": "HELD", "submitted": NOW - 5, "parent": "segment-before", "cause": "never_runs"}, "waits"),
        ({"progress": NOW - 4 * MINUTE}, ""),
        ({"progress": NOW - 6 * MINUTE}, "stands"),
        ({"progress": NOW - 6 * MINUTE, "interval": 60.0}, ""),  # it writes every minute: 20 of them are not over
        ({"progress": NOW - 18 * MINUTE, "interval": 50.0}, "stands"),
        ({"progress": None, "started": NOW - 4 * MINUTE}, ""),
        ({"progress": None, "started": NOW - 6 * MINUTE}, "stands"),
        ({"progress": NOW - 50 * MINUTE, "started": NOW - MINUTE}, ""),  # the lines of the attempt before
        ({"gpu_percent": 19.0}, "idle"),
        ({"gpu_percent": 19.0, "started": NOW - 2 * MINUTE}, ""),
        ({"gpu_percent": 20.0}, ""),
        ({"gpu_percent": None}, ""),
        ({"memory_percent": 95.0}, ""),
        ({"memory_percent": 96.0}, "memory"),
        ({"warned": ("rank 3: the loss is NaN",)}, "warned"),
        ({"warned": ("the stop file is there",), "walltime": 21 * 60}, ""),  # it ends as it should
        ({"gpus": 0, "gpu_percent": None, "cpu_percent": 60.0}, ""),
        # laptop and others of unknown cores are not judged, 36 cores with 4 processes on 2 nodes do 5 % at most
        ({"gpus": 0, "gpu_percent": None, "cpu_percent": 4.0}, ""),
        ({"gpus": 0, "gpu_percent": None, "cpu_percent": 0.5}, "idle"),
        ({"gpus": 0, "gpu_percent": None, "cpu_percent": 0.5, "cluster": "no-such-profile"}, ""),
        ({"state": "LOST"}, "lost"),
        ({"state": "UNCERTAIN", "started": None}, "lost"),
        ({"state": "UNCERTAIN", "started": None, "submitted": NOW - 5}, ""),  # it is being submitted
        ({"state": "FAILED", "ended": NOW - MINUTE}, "failed"),
        ({"state": "TIMEOUT", "ended": NOW - MINUTE}, "failed"),
        ({"state": "OUT_OF_MEMORY", "ended": NOW - MINUTE}, "failed"),
        ({"state": "NODE_FAILED", "ended": NOW - MINUTE}, "failed"),
        ({"state": "FAILED", "ended": NOW - MINUTE, "cause": "preflight_failed"}, ""),
        ({"state": "FAILED", "ended": NOW - 25 * 60 * MINUTE, "started": NOW - 26 * 60 * MINUTE}, ""),  # yesterday's
        ({"state": "CANCELLED", "ended": NOW - MINUTE}, ""),
        ({"state": "SUCCEEDED", "ended": NOW - MINUTE}, ""),
        ({"state": "SUCCEEDED", "ended": NOW - MINUTE, "check_passed": True}, ""),
        ({"state": "SUCCEEDED", "ended": NOW - MINUTE, "check_passed": False}, "warned"),
        ({"state": "SUCCEEDED", "ended": NOW - MINUTE, "warned": ("all ranks read the same data",)}, "warned"),
        ({"state": "SUCCEEDED", "ended": NOW - MINUTE, "warned": ("stop file",), "walltime": 20 * 60}, ""),
        ({"state": "SUCCEEDED", "ended": NOW - 90 * MINUTE, "started": NOW - 99 * MINUTE, "check_passed": False}, ""),
        ({"state": "CREATED", "submitted": None, "started": None}, ""),
    ],
)
def test_what_needs_somebody(values: dict[str, Any], kind: str) -> None:
    view = now_view(source(run(**values)))
    assert [item.kind for item in view.items] == ([kind] if kind else [])
    open_and_well = values.get("state", "RUNNING") == "RUNNING" and not kind
    assert len(view.well) == open_and_well
    for item in view.items:
        assert item.message and item.advice and item.age and item.run.endswith(item.run_id)


def test_the_most_urgent_comes_first_in_both_languages(tmp_path: Path) -> None:
    event = board_event(tmp_path)
    post(open_board(tmp_path / "shared", tmp_path), "Why does it hang?", kind="ask")
    runs = [
        run(1, warned=("NaN",), team="a"),
        run(2, state="LOST", team="b"),
        run(3, memory_percent=99.0, team="c"),
        run(4, gpu_percent=3.0, team="d"),
        run(5, progress=NOW - 900, team="e", step=340),
        run(6, state="QUEUED", cause="never_runs", reasons=("Can Never Run: not enough nodes",), team="f"),
        failed(7, team="g", reasons=("exit code 1",)),
    ]  # fmt: skip
    runs = [replace(each, project=f"/event/{each.team}") for each in runs]
    looked = source(*runs, run(8), event=event, event_folder=tmp_path)
    view = now_view(looked)
    assert [item.kind for item in view.items] == [
        "stands", "idle", "asked", "failed", "waits", "memory", "lost", "warned"
    ]  # fmt: skip
    assert [item.team for item in view.items] == ["e", "d", "aurora", "g", "f", "c", "b", "a"]
    text = read(page("now", looked)).text
    for words in (
        "1 without progress · 1 with low use · 1 team asks · 1 failure · 1 waiting long", "Why does it hang?",
        "exit code 1", "can never start in h-debug", "not enough nodes",
        "No output for 15 min, at step 340", "utilisation is 3 %", "99 % full", "NaN", "no longer knows the job",
        "Running normally",
    ):  # fmt: skip
        assert words in text
    ja = read(page("now", looked, "ja")).text
    assert "質問 1 チーム · 失敗 1 件" in ja and "15 分前から出力がありません" in ja and "Running normally" not in ja


@pytest.mark.parametrize("kind", ["now", "runs", "teams", "team", "cluster"])
def test_no_duration_is_in_english_on_a_japanese_page(kind: str) -> None:
    runs = [
        run(1, progress=NOW - 47 * MINUTE, started=NOW - 90 * MINUTE),
        run(2, progress=None, started=NOW - 30 * 3600, walltime=60 * 3600),
        run(3, state="QUEUED", submitted=NOW - 70 * MINUTE, started=None),
        run(4, state="HELD", submitted=NOW - 50 * 3600, started=None),
        failed(5),
    ]  # fmt: skip
    runs = [replace(entry, project=f"/event/aurora/{entry.id}") for entry in runs]
    looked = source(*runs, event=Event("E", teams=[Team("aurora", members=[Member("ada")])]))
    key = "aurora" if kind == "team" else ""
    text = read(page(kind, looked, "ja", key)).text
    assert not re.findall(r"\d (?:min|h|s|d)(?![\w-])", text), text
    assert kind != "now" or ("47 分前" in text and "2.1 日" in text)


def test_words_of_the_scheduler_are_the_readers() -> None:
    known = Worded.of(RequestError("survey_import.empty", "the file is empty"))
    for kind in ("now", "cluster"):
        text = read(page(kind, source(run(), problems=(known, "plain words")), "ja")).text
        assert "ファイルが空です" in text and "plain words" in text and "the file is empty" not in text


def test_calm() -> None:
    nothing = read(page("now", source()))
    assert "Nothing needs attention" in nothing.headings[0]
    assert "No runs were found." in nothing.text
    good = [run(1), run(2, state="SUCCEEDED", ended=NOW - MINUTE), run(3, state="QUEUED", submitted=NOW - 30)]
    going = read(page("now", source(*good)))
    assert "Nothing needs attention" in going.headings[0]
    assert "All running jobs are making progress" in going.text
    assert "4,210 samples/s" in going.text and "92 %" in going.text
    assert "要対応はありません" in read(page("now", source(*good), "ja")).headings[0]


def test_counts_since_midnight() -> None:
    runs = [
        run(1),
        run(2, state="ENDING"),
        run(3, state="QUEUED"),
        run(4, state="HELD", parent="x"),
        run(5, state="SUCCEEDED", ended=NOW - 11 * 3600),
        run(6, state="SUCCEEDED", ended=NOW - 13 * 3600),  # yesterday evening
        failed(7, ended=NOW - 11 * 3600),
        run(8, state="CREATED"),
    ]
    view = now_view(source(*runs))
    assert (view.running, view.queued, view.ended, view.succeeded) == (2, 2, 2, 1)


def test_a_failure_that_a_success_followed_is_over() -> None:
    broken = failed(1, created=NOW - 60 * MINUTE, ended=NOW - 50 * MINUTE)
    after = run(2, state="SUCCEEDED", created=NOW - 40 * MINUTE, ended=NOW - 20 * MINUTE)
    assert now_view(source(after, broken)).count == 0
    at_once = replace(after, created=NOW - 60 * MINUTE)  # a point of the same study, not a repair
    assert now_view(source(at_once, broken)).count == 1
    for other in ({"user": "bob"}, {"name": "own-model"}, {"project": "/event/borealis"}):
        assert now_view(source(replace(after, **other), broken)).count == 1
    silent = replace(after, check_passed=False, created=NOW - 41 * MINUTE)
    assert now_view(source(after, silent)).count == 0 and now_view(source(silent)).count == 1
    (item,) = now_view(source(run(3, created=NOW - 5 * MINUTE, submitted=NOW - 5 * MINUTE), broken)).items
    assert item.newer == "RUNNING"
    assert "newer run: RUNNING" in read(page("now", source(run(3, created=NOW - 5 * MINUTE), broken))).text


def test_everybodys_last_failure_comes_before_further_ones() -> None:
    def at(number: int, minutes: float, **values: Any) -> RunEntry:
        return failed(number, ended=NOW - minutes * MINUTE, **{"rule": "cuda-out-of-memory", **values})

    other: dict[str, Any] = {"team": "borealis", "project": "/event/borealis", "user": "eve"}
    runs = [
        at(1, 2), at(2, 3, name="own-model"), at(3, 9, user="bob"),  # one team and cause: told once, whatever its name
        at(4, 5, rule="nccl-timeout"),  # the same name and another cause
        at(5, 30, rule="no-module", **other),
        at(6, 1, team="cirrus", project="/event/cirrus", name="n", user="cy", rule="bad-loss"),
        run(7, team="cirrus", project="/event/cirrus", name="n", user="cy", created=NOW - MINUTE, submitted=NOW - 10),
    ]  # fmt: skip
    items = now_view(source(*runs)).items
    assert [(item.team, item.cause, item.more) for item in items] == [
        ("aurora", "cuda-out-of-memory", 2), ("borealis", "no-module", 0), ("aurora", "nccl-timeout", 0),
        ("cirrus", "bad-loss", 0),
    ]  # fmt: skip
    assert items[0].run_id == runs[0].id, "the newest of them stands for all"
    assert sorted(each.name for each in items[0].runs) == ["own-model", "torch-ddp", "torch-ddp"]
    html = page("now", source(*runs))
    assert "2 more runs with the same cause" in read(html).text
    assert read(html).headings[0] == "6 failures", "runs are counted, not lines"
    assert len({item.id for item in items}) == 4


def test_failures_that_nobody_diagnosed_share_no_cause() -> None:
    def of(team: str, number: int, **values: Any) -> RunEntry:
        return failed(number, **{"team": team, "project": f"/event/{team}", **values})

    unknown = now_view(source(*(of(team, n) for n, team in enumerate("abcd", 1)), of("a", 5)))
    assert [(item.team, item.more) for item in unknown.items] and all(item.more == 0 for item in unknown.items)
    assert len(unknown.items) == 5 and "same cause" not in read(page("now", source(of("a", 1), of("a", 2)))).text
    told = {"en": CauseText("GPU out of memory", "", "CUDA out of memory", "")}
    one = of("a", 1, rule="cuda-out-of-memory", told=told)
    assert [item.more for item in now_view(source(one, of("a", 2))).items] == [0, 0], "one of them is not diagnosed"
    assert [item.more for item in now_view(source(one, replace(one, id="run-2"))).items] == [1]


def test_one_cause_of_several_teams_is_one_matter() -> None:
    told = {"en": CauseText("GPU out of memory", "Halve the batch.", "CUDA out of memory. Tried", "logs/rank-1.log:17")}

    def of(team: str, number: int, **values: Any) -> RunEntry:
        usual = {"team": team, "project": f"/event/{team}", "rule": "cuda-out-of-memory", "part": "gpu", "told": told}
        return failed(number, **{**usual, **values})

    runs = [*(of(team, n) for n, team in enumerate("abcd", 1)), of("a", 5), of("e", 6, rule="nccl-timeout")]
    together, alone = now_view(source(*runs)).items
    assert [each.team for each in together.items] == list("abcd") and together.more == 4 and alone.team == "e"
    text = read(page("now", source(*runs))).text
    assert "4 teams a, b, c, d GPU out of memory" in text and text.count("Halve the batch.") == 2
    # any exception is not one cause: what its last line says is
    lines = {n: {"en": CauseText(f"{n}", "", f"ValueError: bad value {n}", "")} for n in ("shape", "device")}
    other = [of("a", 1, rule="python-exception", told=lines["shape"])]
    assert len(now_view(source(*other, of("b", 2, rule="python-exception", told=lines["shape"]))).items) == 1
    assert len(now_view(source(*other, of("b", 2, rule="python-exception", told=lines["device"]))).items) == 2


def test_what_is_over_for_an_hour_is_folded_and_not_counted() -> None:
    runs = [
        failed(1, ended=NOW - 59 * MINUTE, rule="a"),
        failed(2, ended=NOW - 61 * MINUTE, rule="b", created=NOW - 90 * MINUTE),
        failed(3, ended=NOW - 200 * MINUTE, rule="a", created=NOW - 300 * MINUTE),  # the same matter as the first
        run(4, state="QUEUED", submitted=NOW - 300 * MINUTE),  # it goes on
    ]
    view = now_view(source(*runs))
    assert [(item.kind, item.cause) for item in view.items] == [("failed", "a"), ("waits", "waits")]
    assert [item.cause for item in view.old] == ["b"] and view.count == 2
    reader = read(page("now", source(*runs)))
    assert reader.headings[0] == "2 failures · 1 waiting long" and "1 matter older than an hour" in reader.text
    assert read(page("now", source(runs[1]))).headings[0] == "Nothing needs attention"


def test_the_teams_of_a_tutor(tmp_path: Path) -> None:
    teams = [Team("aurora", tutors=[ME], seat="table 3"), Team("borealis", tutors=["ada", "cy"]), Team("cirrus")]
    event = Event("E", teams=teams, tutors=[Tutor("ada", name="Ada L.")])
    runs = [failed(n, team=each.name, project=f"/e/{each.name}", rule=each.name) for n, each in enumerate(teams)]
    runs += [failed(9, team="aurora", project="/e/aurora", part="nccl", ended=NOW - 30 * 3600 * MINUTE)]
    looked = source(*runs, event=event)
    assert len(now_view(looked).items) == 3
    (mine,) = now_view(looked, ME).items
    assert (mine.team, mine.tutors, mine.seat, mine.history) == ("aurora", (ME,), "table 3", (("nccl", 1),))
    view = now_view(looked, "ada")
    assert [item.team for item in view.items] == ["borealis"] and view.me == ME and view.tutor == "ada"
    assert view.items[0].tutors == ("Ada L.", "cy")
    assert [each for each, _ in view.tutors] == [ME, "ada", "cy"]
    text = read(page("now", looked, key="ada")).text
    assert "borealis" in text and "table 3" not in text and "My teams" in text and "Ada L." in text
    assert values_of("now", "nobody", looked) is None


def test_a_diagnosis_speaks_the_readers_language() -> None:
    told = {
        "en": CauseText(
            "GPU 1 is out of memory", "Halve the batch.", "CUDA out of memory. Tried", "logs/rank-1.log:17"
        ),
        "ja": CauseText("GPU 1 のメモリが不足", "バッチを半分に", "CUDA out of memory. Tried", "logs/rank-1.log:17"),
    }
    looked = source(failed(part="gpu", told=told, reasons=("exit code 1",)))
    (item,) = now_view(looked).items
    assert (item.message, item.advice, item.part) == ("GPU 1 is out of memory", "Halve the batch.", "gpu")
    text = read(page("now", looked)).text
    assert "logs/rank-1.log:17" in text and "CUDA out of memory. Tried" in text and "exit code" not in text
    with speaking("ja"):
        assert now_view(looked).items[0].message == "GPU 1 のメモリが不足"
    only = source(failed(told={"ja": told["ja"]}))
    assert now_view(only).items[0].message == "GPU 1 のメモリが不足", "better in another language than not at all"
    untold = now_view(source(failed(reasons=())))
    assert untold.items[0].message == "The run failed: FAILED"
    assert untold.items[0].advice == f"hackathon diagnose {untold.items[0].run_id}"


def board_event(folder: Path) -> Event:
    make_place(folder / "shared", "sticky")
    members = [Member(ME, name="Ada Lovelace"), Member("ada", name="Augusta")]
    text = f"title: E\nshared: shared\ntutors: [{{user: {ME}}}]\nteams: [{{name: aurora, members: [{{user: {ME}}}]}}]\n"
    (folder / "hackathon.yaml").write_text(text)
    return Event("E", teams=[Team("aurora", members=members), Team("borealis")], tutors=[Tutor(ME)], shared="shared")


def test_requests_for_help(tmp_path: Path) -> None:
    event = board_event(tmp_path)
    broken = failed(1, project=str(tmp_path / "aurora"), user=ME)

    def view(**values: Any) -> Any:
        return now_view(source(broken, event=event, event_folder=tmp_path, **values))

    def board() -> Any:
        return open_board(tmp_path / "shared", tmp_path)

    post(board(), "first: it hangs\nsince noon", kind="ask")
    post(board(), "a remark for all", kind="post")
    post(board(), "second: look at my run", kind="ask", run=broken.id, folder=tmp_path / "aurora/runs" / broken.id)
    first, second = view().items
    assert (first.message, first.person, first.team, first.run) == ("first: it hangs", "Ada Lovelace", "aurora", "")
    assert first.advice == f"Take this request: hackathon ask take {first.post}"
    # the failure that it is about is the same matter, told once, with its cause and its state as they are now
    assert second.finding == "The run failed: FAILED" and second.state == "FAILED" and len(second.runs) == 1
    assert (second.kind, second.run, second.name) == ("asked", f"{tmp_path}/aurora//{broken.id}", "torch-ddp")
    html = page("now", source(broken, event=event, event_folder=tmp_path))
    assert f"/board#post-{first.post}" in read(html).links
    assert f'id="post-{first.post}"' in page("board", source(broken, event=event, event_folder=tmp_path))
    assert len(view(team="aurora").items) == 2
    assert not now_view(source(event=event, event_folder=tmp_path, team="borealis")).items

    reply(board(), board().of("ask")[0], "take")
    taken = view().items
    assert [item.message for item in taken] == ["second: look at my run", "first: it hangs"], "who is helped can wait"
    assert taken[1].helper == "Ada Lovelace" and not taken[1].advice
    assert "taken by Ada Lovelace" in read(page("now", source(event=event, event_folder=tmp_path))).text
    for request in board().of("ask"):
        reply(board(), request, "solve", "done")
    assert [item.kind for item in view().items] == ["failed"], "the failure itself is still there"


def test_two_requests_of_one_short_name_have_places_of_their_own(tmp_path: Path) -> None:
    """Who writes files by hand chooses the end of a name."""
    event = board_event(tmp_path)
    place = open_board(tmp_path / "shared", tmp_path).place
    for day in "12":
        name = f"2026010{day}-000000-{os.geteuid()}-abcdefgh"
        twin = Entry(name, "ask", 1.7e9, place.board, text=f"twin {day}")
        (place.folder / f"{name}.json").write_bytes(encode(twin))
    looked = source(event=event, event_folder=tmp_path)
    view = now_view(looked)
    assert [item.anchor for item in view.items] == ["post-abcdefgh", ""] and len({item.id for item in view.items}) == 2
    assert read(page("now", looked)).text.count("twin") == 2


def test_a_request_from_a_project_shows_its_team(tmp_path: Path) -> None:
    event = replace(board_event(tmp_path), teams=[])
    folder = tmp_path / "cirrus"
    post(open_board(tmp_path / "shared", tmp_path), "help", kind="ask", run="gone", folder=folder / "train/runs/gone")
    looked = source(event=event, event_folder=tmp_path, projects=(ProjectFolder(folder, "cirrus"),))
    assert now_view(looked).items[0].team == "cirrus"


def test_a_board_that_can_not_be_read_is_told_and_harms_nothing(tmp_path: Path) -> None:
    event = Event("E", shared="nowhere")
    looked = source(failed(), event=event, event_folder=tmp_path, problems=("qstat: timeout",))
    view = now_view(looked)
    assert view.count == 1 and view.problems[0] == "qstat: timeout" and "there is no board" in view.problems[1]
    assert "qstat: timeout" in read(page("now", looked)).text


def test_long_lists_are_cut_and_counted() -> None:
    runs = [failed(1, team=f"t{n}", rule=f"r{n}") for n in range(230)] + [run(2, user=f"w{n}") for n in range(55)]
    view = now_view(source(*runs))
    assert (view.count, len(view.items), view.left) == (230, 200, 30)
    assert (len(view.well), view.well_left) == (40, 15)
    text = read(page("now", source(*runs))).text
    assert "230 failures" in text and "30 more are not shown" in text and "15 more are running normally" in text


@pytest.mark.parametrize("language", ["en", "ja"])
def test_nothing_that_people_write_gets_out_of_its_place(tmp_path: Path, language: str) -> None:
    event = replace(board_event(tmp_path), teams=[Team(HOSTILE, members=[Member(ME, name=HOSTILE)])])
    post(open_board(tmp_path / "shared", tmp_path), HOSTILE, kind="ask")
    words: dict[str, Any] = dict.fromkeys(
        ("id", "project", "team", "name", "user", "cluster", "queue", "note", "unit", "part", "rule", "host"), HOSTILE
    )
    told = {language: CauseText(HOSTILE, f"{HOSTILE}\n{HOSTILE}", HOSTILE, HOSTILE)}
    runs = [
        failed(1, **words, told=told),
        failed(2, **words, reasons=(HOSTILE,)),
        run(3, **{**words, "state": "QUEUED", "cause": "never_runs", "reasons": (HOSTILE,)}),
        run(4, **words, warned=(HOSTILE,)),
        run(5, **words),
    ]
    runs = [replace(each, project=f"{each.project}/{n}") for n, each in enumerate(runs)]
    html = page("now", source(*runs, event=event, event_folder=tmp_path, problems=(HOSTILE,)), language)
    reader = harmless(html)
    assert "onerror" not in reader.attributes
    assert reader.text.count("日本語 🎉") > 15


def test_ten_thousand_runs_are_a_moment(capsys: pytest.CaptureFixture[str]) -> None:
    """Old runs are passed by: what is shown of 10,000 is what is shown of the recent ones alone."""
    old = [
        failed(n, ended=NOW - 2 * 86400, created=NOW - 3 * 86400, started=NOW - 3 * 86400, user=f"u{n % 50}")
        for n in range(9800)
    ]
    recent = [failed(n, user=f"u{n % 50}", name=f"n{n}") for n in range(100)] + [run(n) for n in range(100)]
    begin = time.perf_counter()
    view = now_view(source(*recent, *old))
    with capsys.disabled():
        print(f"\n  now_view of 10,000 runs: {1e3 * (time.perf_counter() - begin):.1f} ms")
    assert view == now_view(source(*recent))


def test_moments_that_no_clock_knows_are_a_dash() -> None:
    assert [format_moment(each, "%Y") for each in (1e20, -1e20, float("inf"), float("nan"))] == ["–"] * 4
    assert [clock(NOW, each) for each in (None, 1e30)] == ["–", "–"] and clock(1e30, NOW) == clock(0.0, NOW)
    assert clock(NOW, NOW) == "12:00" and clock(NOW, NOW - 86400) == "2026-03-01 12:00"
