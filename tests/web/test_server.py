"""What the dashboard's server does for its viewers: pages made once, kept while fresh, streams that tell and end."""

import concurrent.futures
import gc
import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hackathon.index.catalog import Catalog
from hackathon.index.record import RunEntry
from hackathon.index.studies import run_key
from hackathon.web.dashboard import server, stream
from hackathon.web.dashboard.endpoint import port_door, socket_door
from hackathon.web.dashboard.server import address_of, address_to, link_to
from hackathon.web.dashboard.uvicorn_server import PatientProtocol
from hackathon.web.routing.registry import VIEWS
from support.pages.dashboard import PATIENCE, Served, Told, View, plain_view, serving
from support.samples.runs import Sample, write_study
from support.samples.source import folder_source

RUN = RunEntry("a", "/team")


@pytest.fixture
def view(monkeypatch: pytest.MonkeyPatch) -> Iterator[View]:
    with plain_view(monkeypatch) as made:
        yield made


@pytest.fixture
def served(view: View, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A dashboard whose pages do not grow old, and have time: on a busy machine a test takes longer than they last."""
    monkeypatch.setattr(stream, "OLDEST", 1e5)
    monkeypatch.setattr(stream, "LONGEST_RENDERING", 1e5)
    with (
        tempfile.TemporaryDirectory(prefix="hk-", dir="/tmp") as name,
        serving(socket_door(Path(name) / "s"), tmp_path) as made,
    ):
        yield made


def eventually(true: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_pages_in_both_languages_and_the_way_to_them(served: Served) -> None:
    for wanted, language in (
        ("", "en"),
        ("ja", "ja"),
        ("fr, ja;q=0.8, en;q=0.9", "en"),
        ("ja-JP,en;q=0.3", "ja"),
        ("x;q=y,*", "en"),
    ):
        answer = served.ask("/", headers={"Accept-Language": wanted} if wanted else {})
        assert (answer.status, answer.headers["location"]) == (303, f"/{language}/now"), wanted
    assert served.ask("/ja").headers["location"] == "/ja/now"
    assert served.ask("/ja/").headers["location"] == "/ja/now"
    english, japanese = served.ask("/en/now").body, served.ask("/ja/now").body
    assert '<html lang="en">' in english
    assert '<html lang="ja">' in japanese
    assert 'href="/ja/now" lang="ja"' in english
    assert 'href="/en/now" lang="en"' in japanese
    assert 'href="/ja/teams"' in japanese  # the language goes along from page to page
    assert 'src="/live.js?seen=' in english
    missing = served.ask("/nothing", headers={"Accept-Language": "ja"})
    assert (missing.status, "ページが見つかりません" in missing.body) == (404, True)
    assert served.ask("/ja/run?key=gone").status == 404


def test_keys_of_any_kind_come_back_from_their_address() -> None:
    keys = [
        "/home/u/p//20260301-k3m9",
        "チーム//x",
        "a b&c=d#e?f+g%20;h",
        "../../etc",
        "\udcff\udc80",
        "a|b",
        "<script>",
        "\n\0",
    ]
    for key in keys:
        for kind in ("team", "study", "run", "profile", "speedup", "diff", "survey"):
            path, _, query = address_to("ja", kind, key).partition("?")
            assert address_of(path, query.encode()) == (kind, key, "ja", ())
            assert not set('<>"& \n') & set(path + query)
    assert link_to("en", "run", "") is None
    assert link_to("en", "run", "x" * 5000) is None
    assert link_to("en", "file", "x.csv") is None
    assert link_to("en", "home") == "/en/now"
    assert {link_to("en", kind) for kind in VIEWS} - {None} == {
        "/en/now",
        "/en/wall",
        "/en/teams",
        "/en/runs",
        "/en/compare",
        "/en/scaling",
        "/en/board",
        "/en/cluster",
        "/en/schedule",
        "/en/surveys",
    }


def test_options_are_part_of_an_address_and_only_known_ones() -> None:
    asked = (("find", "日本 &=?#"), ("team", "a b"))
    path, _, query = address_to("en", "runs", "", asked).partition("?")
    assert address_of(path, query.encode()) == ("runs", "", "en", asked)
    assert address_of("/en/runs", b"find=x&key=&other=1&find=") == ("runs", "", "en", (("find", "x"),))
    assert address_of("/en/now", b"find=x") == ("now", "", "en", ())
    assert address_of("/en/runs", b"find=x&" * 300) is None
    assert address_of("/en/runs", b"key=x") is None and address_of("/en/log", b"find=x") is None


def test_a_short_address_leads_to_its_run_or_to_those_it_may_mean(served: Served) -> None:
    runs = [RunEntry(f"20260301-100000-train-4p-{end}", "/team") for end in ("k3x9aaaa", "k3yybbbb", "zzzzcccc")]
    served.watch.tell(*runs)
    eventually(lambda: len(served.dashboard.pages.watch.source().summaries) == 3)
    asked = served.ask("/run/k3x9", headers={"Accept-Language": "ja"})
    assert (asked.status, asked.headers["location"]) == (303, address_to("ja", "run", f"/team//{runs[0].id}"))
    assert served.ask("/run/k3").status == 404  # too short to mean anything
    assert served.ask("/run/20260301").headers["location"] == "/en/runs?find=20260301"
    for part in ("", "nothing", "../../etc/passwd", "%0d%0aSet-Cookie:x", "x" * 3990, "<script>"):
        answer = served.ask(f"/run/{part}")
        assert answer.status == 404 and "set-cookie" not in answer.headers and "<script>" not in answer.body


def test_connections_of_a_port_are_sent_at_once(
    view: View, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # with Nagle's algorithm the second packet of an answer waits for a delayed acknowledgement
    seen = []
    made = PatientProtocol.connection_made

    def look(self: PatientProtocol, transport: Any) -> None:
        connection = transport.get_extra_info("socket")
        seen.append(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        made(self, transport)

    monkeypatch.setattr(PatientProtocol, "connection_made", look)
    with tempfile.TemporaryDirectory(prefix="hk-", dir="/tmp") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        with serving(port_door("127.0.0.1", 0), tmp_path) as served:
            served.enter()
            assert served.ask("/en/teams").status == 200
    assert seen and all(seen)


def test_the_pages_of_the_menu_are_made_before_anybody_asks(served: Served, view: View) -> None:
    assert served.loop is not None
    served.loop.call_soon_threadsafe(served.dashboard.warm)
    eventually(lambda: view.made == 2)
    assert served.ask("/ja/now").status == 200 and view.made == 2


def test_a_page_is_made_once_for_all_viewers(served: Served, view: View) -> None:
    view.pause = 0.3
    with concurrent.futures.ThreadPoolExecutor(20) as viewers:
        answers = list(viewers.map(lambda _: served.ask("/en/now"), range(40)))
    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == 1
    assert (view.made, view.most) == (1, 1)
    served.ask("/ja/now")
    assert view.made == 2


def test_a_page_of_a_moment_ago_is_shown_while_a_new_one_is_made(
    served: Served, view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "SHORTEST_GAP", 0.0)
    monkeypatch.setattr(stream, "STALE", 1e6)
    assert "none" in served.ask("/en/now").body
    view.pause = 0.5
    served.watch.tell(RUN)
    eventually(lambda: served.dashboard.pages.version == served.watch.version)
    assert "none" in served.ask("/en/now").body  # at once
    eventually(lambda: "run-a" in served.ask("/en/now").body)
    assert view.made == 2
    monkeypatch.setattr(stream, "STALE", 0.0)
    monkeypatch.setattr(stream, "LONGEST_GAP", 0.0)
    served.watch.tell(RUN, RunEntry("b", "/team"))
    eventually(lambda: served.dashboard.pages.version == served.watch.version)
    assert "run-b" in served.ask("/en/now").body  # older than that: the viewer waits for the new one


def test_an_old_page_is_made_anew_though_nothing_happened(
    served: Served, view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says how long things take by now."""
    served.ask("/en/now")
    served.ask("/en/now")
    assert view.made == 1
    monkeypatch.setattr(stream, "OLDEST", 0.0)
    served.ask("/en/now")
    assert view.made == 2


def test_nothing_is_said_before_the_first_look(view: View, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 0 of a watcher is before it has looked: an empty page would say that all is well."""
    monkeypatch.setattr(stream, "FIRST_LOOK", 1e5)
    monkeypatch.setattr(stream, "LONGEST_RENDERING", 1e5)
    watch = Told()
    watch.version = 0
    with (
        tempfile.TemporaryDirectory(prefix="hk-", dir="/tmp") as name,
        serving(socket_door(Path(name) / "s"), tmp_path, watch) as served,
    ):
        threading.Timer(0.5, watch.tell, [RUN]).start()
        assert "run-a" in served.ask("/en/now").body
    assert view.made == 1


def test_pages_that_nobody_asks_for_are_let_go(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "KEPT_PAGES", 3)
    for number in range(10):
        assert served.ask(f"/en/run?key={number}").status == 200
    assert len(served.dashboard.pages._kept) == 3


def test_a_page_that_fails_tells_the_terminal_and_not_the_viewer(
    served: Served, view: View, capfd: pytest.CaptureFixture[str]
) -> None:
    view.error = OSError(13, "Permission denied", "/home/secret\x1b[2J/file")
    answer = served.ask("/en/now")
    assert answer.status == 500
    assert "This page could not be created" in answer.body
    assert "secret" not in answer.body
    assert "Traceback" not in answer.body
    told = capfd.readouterr().err
    assert "secret" in told
    assert "\x1b" not in told
    view.error = None
    assert served.ask("/en/now").status == 200  # a failure is not kept


def test_a_page_that_hangs_holds_no_other_up(served: Served, view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def hangs(source: Catalog, key: str) -> dict[str, Any] | None:
        if not key:
            over.wait(PATIENCE)
        return view.values(source, key)

    monkeypatch.setattr(sys.modules["plain_view"], "values", hangs)
    monkeypatch.setattr(stream, "LONGEST_RENDERING", 0.3)
    try:
        answer = served.ask("/en/now")
        assert answer.status == 504
        assert "takes too long" in answer.body
        monkeypatch.setattr(stream, "LONGEST_RENDERING", PATIENCE)  # a good page has its time, too
        assert served.ask("/en/run?key=x").status == 200
    finally:
        over.set()


def test_a_stream_tells_when_its_page_has_changed(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "SHORTEST_GAP", 0.0)
    body = served.ask("/en/now").body
    seen = body.partition("live.js?seen=")[2].partition('"')[0]
    with served.stream("/en/now", seen) as following, served.stream("/ja/run?key=gone") as other:
        assert following.lines("") == ["retry: 2000"]
        other.event()  # it has seen nothing yet
        served.watch.tell(RUN)
        first = following.event()
        assert seen < first
        assert "run-a" in served.ask("/en/now").body
        served.watch.tell(RunEntry("b", "/team"))
        last = following.event()
        assert first < last
    # who was away is told what was missed, and nothing more
    with served.stream("/en/now", last=first) as again:
        assert again.event() == last
    # numbers of a server before this one say nothing
    with served.stream("/en/now", last="00000000.999") as again:
        assert again.event() == last


def test_a_page_that_changes_with_time_alone_is_told(
    served: Served, view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that waits too long by now is no new state of the runs, and yet somebody needs help."""
    monkeypatch.setattr(stream, "SHORTEST_GAP", 0.0)
    monkeypatch.setattr(stream, "OLDEST", 0.3)
    seen = served.ask("/en/now").body.partition("live.js?seen=")[2].partition('"')[0]
    with served.stream("/en/now", seen) as following:
        assert following.lines("retry")
        view.more = "waits"
        assert following.event() > seen
        assert "waits" in served.ask("/en/now").body


def test_a_viewer_is_told_that_a_page_can_not_be_made_any_more(
    served: Served, view: View, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stream, "SHORTEST_GAP", 0.0)
    monkeypatch.setattr(stream, "LONGEST_GAP", 0.2)
    with served.stream("/en/now") as following:
        first = following.event()
        view.error = ValueError("no such filter")
        served.watch.tell(RUN)
        assert following.lines("event:")[-1] == "event: stale"
        made = view.made
        eventually(lambda: view.made > made + 2)
        view.error = None
        assert following.lines("event:")[-1] == "event: fresh"
        following.lines("data:")
        assert following.event() > first
    assert capfd.readouterr().err.count("ValueError: no such filter") == 1  # not once for each try


def test_a_stream_is_silent_when_the_page_stays_as_it_is(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "SHORTEST_GAP", 0.0)
    monkeypatch.setattr(stream, "HEARTBEAT", 0.5)
    nonce = served.dashboard.pages.nonce
    with served.stream("/en/now") as following:
        assert following.event() == f"{nonce}.1"
        served.watch.tell()
        served.watch.tell()
        lines = following.lines(": ")
        assert [line for line in lines if line.startswith("id")] == []
        assert lines[-1] == ": still here"


def test_streams_end_with_the_server_and_leave_nothing_behind(served: Served, view: View) -> None:
    pages = served.dashboard.pages
    with socket.socket() as mark:
        before = mark.fileno()
    streams = []
    for number in range(30):
        opening = served.stream("/en/now" if number % 2 else f"/en/run?key={number % 4}")
        streams.append((opening, opening.__enter__()))
    for _, each in streams:
        each.event()
    assert pages.streams == 30
    for opening, _ in streams[:20]:
        opening.__exit__(None, None, None)
    eventually(lambda: pages.streams == 10)
    with socket.socket() as mark:
        # both ends of a connection lie in this process
        assert mark.fileno() <= before + 2 * 10 + 20
    begun = time.monotonic()
    served.close()
    for _, each in streams[20:]:
        each.lines("nothing")  # to its end
    assert time.monotonic() - begun < PATIENCE
    eventually(lambda: pages.streams == 0)
    for opening, _ in streams[20:]:
        opening.__exit__(None, None, None)


def test_a_reader_that_does_not_read_is_let_go(served: Served, view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    """A send that waits for a viewer who is gone must not wait for ever."""
    monkeypatch.setattr(stream, "SHORTEST_GAP", 0.0)
    monkeypatch.setattr(stream, "HEARTBEAT", 0.0)
    with served.stream("/en/now") as following:
        following.event()
        assert served.dashboard.pages.streams == 1
        served.watch.tell(RUN)
    eventually(lambda: served.dashboard.pages.streams == 0)


def test_opening_and_closing_many_streams_leaves_no_files_and_no_tasks(served: Served, view: View) -> None:
    folder = Path("/proc/self/fd")
    served.ask("/en/now")

    def rounds(count: int) -> int:
        for _ in range(count):
            with served.stream("/en/now") as following:
                following.event()
        eventually(lambda: served.dashboard.pages.streams == 0)
        gc.collect()
        return len(list(folder.iterdir()))

    first = rounds(10)
    eventually(lambda: rounds(40) <= first + 3)
    eventually(lambda: threading.active_count() < 20)  # those of tests before this one end in a moment


def test_the_files_of_the_pages(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, kind in (("style.css", "text/css"), ("live.js", "text/javascript"), ("plots.js", "text/javascript")):
        answer = served.ask(f"/{name}?x=1")
        assert (answer.status, answer.headers["content-type"]) == (200, f"{kind}; charset=utf-8")
    monkeypatch.setitem(server.FILES, "vega.js", lambda cache: b"made in " + os.fsencode(cache.name))
    assert served.ask("/vega.js").body == f"made in {served.dashboard.cache.name}"

    def absent(cache: Path) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(server.FILES, "plots.js", absent)
    served.dashboard._files.clear()
    assert served.ask("/plots.js").status == 404


@pytest.mark.slow
def test_what_pages_of_runs_need_is_there_before_anybody_asks(tmp_path: Path) -> None:
    """One process draws for all of them and ends with the server; rules of diagnosis are made once."""
    pytest.importorskip("vl_convert")
    write_study(
        tmp_path / "train", [Sample(1, 100.0), Sample(2, 180.0), Sample(4, None, "FAILED"), Sample(8, None, "FAILED")]
    )
    source = folder_source([tmp_path / "train"], tmp_path / "index.db")
    with tempfile.TemporaryDirectory(prefix="hk-", dir="/tmp") as name:
        with serving(socket_door(Path(name) / "s"), tmp_path, Told(source)) as served:
            assert served.loop is not None
            served.loop.call_soon_threadsafe(served.dashboard.warm)
            drawer = served.dashboard.drawer
            eventually(lambda: any(address.kind == "run" for address in served.dashboard.pages._kept))
            child, rules = drawer._worker._child, source.memory.recall("rules", "")
            assert child is not None and rules is not None
            held = rules.of([])
            for run in source.summaries:
                page = served.ask(address_to("en", "run", run_key(run)))
                assert page.status == 200 and (run.state == "FAILED" or page.body.count("<svg viewBox") >= 2)
            assert drawer._worker._child is child and child.poll() is None
            assert source.memory.recall("rules", "") is rules and rules.of([]) is held and held.scanner.engine
        eventually(lambda: child.poll() is not None)
