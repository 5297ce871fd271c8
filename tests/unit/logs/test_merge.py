"""All ranks' logs as one: by time, folded, no more read than is asked for."""

import json
import os
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hackathon.cli.main import run as command
from hackathon.logs.collapse import fold, parse_ranks, ranks_text
from hackathon.logs.merge import Line, LogReader, complete_end, lines_between, merged, offset_since
from hackathon.text.files import open_regular
from hackathon.text.units import parse_moment

TEN = time.mktime((2026, 11, 21, 10, 0, 0, 0, 0, -1))


def _stamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(TEN + seconds)) + f",{int(seconds % 1 * 1000):03d}"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run directory of two ranks on two hosts that began at ten; rank 1 ended first."""
    path = tmp_path / "runs" / "20261121-095900-demo-2p-abcdefgh"
    for folder in ("logs", "events", "client"):
        (path / folder).mkdir(parents=True)
    (path / "request.json").write_text(json.dumps({"name": "demo", "processes": 2}))
    for rank, end in ((0, 30), (1, 20)):
        events = [("started", 0), ("ended", end)]
        (path / "events" / f"rank-{rank}.jsonl").write_text(
            "".join(
                json.dumps({"t": TEN + t, "event": event, "attempt": 1, "host": f"n{rank}"}) + "\n"
                for event, t in events
            )
        )
    monkeypatch.chdir(tmp_path)
    return path


def _write(run: Path, name: str, *lines: str, end: str = "\n") -> Path:
    path = run / "logs" / name
    path.write_bytes("".join(line + end for line in lines).encode())
    os.utime(path, (TEN + 60, TEN + 60))
    return path


def _texts(run: Path, **options: object) -> list[str]:
    return [line.text for line in merged(run, LogReader(run, TEN + 60), **options)]  # type: ignore[arg-type]


def test_lines_come_by_time_and_those_without_one_stay_behind_theirs(run: Path) -> None:
    _write(run, "rank-0.log", f"{_stamp(1)} a", "  more of a", f"{_stamp(5)} d")
    _write(run, "rank-1.log", "[rank1]: early", "[rank1]:[E1121 10:00:03.000000000 x.cpp:1] c", f"{_stamp(2)} quoted")
    _write(run, "job.log", f"[1,0]<stdout>:{_stamp(4)} from the job")
    assert _texts(run) == ["a", "  more of a", "early", "x.cpp:1] c", "quoted", "from the job", "d"]
    found = {line.text: line for line in merged(run, LogReader(run, TEN + 60))}
    assert (found["x.cpp:1] c"].rank, found["x.cpp:1] c"].host, found["x.cpp:1] c"].level) == (1, "n1", "E")
    assert found["a"].time == TEN + 1 and found["  more of a"].time is None
    assert (found["from the job"].rank, found["from the job"].source) == (0, "job")


def test_logs_without_times_come_in_the_order_in_which_their_ranks_ended(run: Path) -> None:
    _write(run, "rank-0.log", "Traceback of 0", "Connection closed by peer")
    _write(run, "rank-1.log", "Traceback of 1", "ValueError")
    _write(run, "job.log", "mpirun: a rank ended")
    assert _texts(run) == [
        "Traceback of 1", "ValueError", "Traceback of 0", "Connection closed by peer", "mpirun: a rank ended",
    ]  # fmt: skip


def test_a_time_before_the_run_or_in_the_future_is_a_quotation(run: Path) -> None:
    _write(run, "rank-0.log", "1999-01-01 00:00:00 built", "2096-01-01 00:00:00 expires", f"{_stamp(1)} now")
    times = [line.time for line in merged(run, LogReader(run, TEN + 60))]
    assert times == [None, None, TEN + 1]


def test_only_some_ranks_also_from_the_log_of_all(run: Path) -> None:
    _write(run, "job.log", *(f"{rank}: step {step}" for step in range(30) for rank in range(4)), "epilogue")
    assert _texts(run, ranks={2, 3}, lines=2) == ["step 29", "step 29"]
    assert len(_texts(run, ranks={1})) == 30


def test_progress_bars_leave_their_last_state(run: Path) -> None:
    path = run / "logs" / "rank-0.log"
    path.write_bytes(
        b"start\n" + b"".join(b"\r%3d%%|##" % i for i in range(101)) + b"\nafter\r\n\x1b[1mbold\x1b[0m\n 5%\r 6%"
    )
    assert _texts(run) == ["start", "100%|##", "after", "bold", " 6%"]
    assert _texts(run, lines=3) == ["after", "bold", " 6%"]
    assert complete_end(path) == path.stat().st_size - 3


def test_since_begins_at_the_time(run: Path) -> None:
    _write(run, "rank-0.log", *(f"{_stamp(i)} line {i}" for i in range(10)))
    old = _write(run, "rank-1.log", "undated")
    os.utime(old, (TEN, TEN))
    assert _texts(run, since=TEN + 7) == ["line 7", "line 8", "line 9"]
    os.utime(old, (TEN + 60, TEN + 60))
    (run / "events" / "rank-1.jsonl").unlink()
    assert _texts(run, since=TEN + 8) == ["line 8", "line 9", "undated"]


class _Counted:
    """Counts the bytes that are read from files with one name."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.bytes = 0

        def opened(path: Path) -> object:
            stream = open_regular(path)
            return _CountedStream(stream, self) if path.name == name else stream

        for module in ("follow", "lines", "merge"):
            monkeypatch.setattr(f"hackathon.logs.{module}.open_regular", opened)


class _CountedStream:
    def __init__(self, stream: object, counted: _Counted) -> None:
        self._stream, self._counted = stream, counted

    def __enter__(self) -> "_CountedStream":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()  # type: ignore[attr-defined]

    def seek(self, *arguments: int) -> int:
        return self._stream.seek(*arguments)  # type: ignore[attr-defined, no-any-return]

    def write(self, data: bytes) -> int:
        return self._stream.write(data)  # type: ignore[attr-defined, no-any-return]

    def read(self, size: int) -> bytes:
        data: bytes = self._stream.read(size)  # type: ignore[attr-defined]
        self._counted.bytes += len(data)
        return data


@pytest.fixture
def huge(run: Path) -> Path:
    """A log of 10 GB whose middle is a hole, with times at its beginning and end."""
    path = run / "logs" / "rank-0.log"
    with path.open("wb") as stream:
        stream.writelines(f"{_stamp(i)} begin {i}\n".encode() for i in range(100))
        stream.seek(10 << 30)
        stream.write(b"\n")
        stream.writelines(f"{_stamp(1000 + i)} end {i}\n".encode() for i in range(100_000))
    return path


@pytest.mark.slow
def test_of_a_log_of_10_gb_only_the_end_is_read(run: Path, huge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = _Counted(monkeypatch, huge.name)
    reader = LogReader(run, TEN + 200_000)
    assert [line.text for line in merged(run, reader, lines=3)] == ["end 99997", "end 99998", "end 99999"]
    assert 0 < counted.bytes < 3 << 20
    counted.bytes = 0
    found = [line.text for line in merged(run, reader, since=TEN + 1000 + 99_990)]
    assert found == [f"end {i}" for i in range(99_990, 100_000)]
    assert counted.bytes < 64 << 20


def test_following_reads_only_what_is_new(
    run: Path, huge: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counted = _Counted(monkeypatch, huge.name)
    looks: list[int] = []

    def over(_: object) -> bool:
        looks.append(counted.bytes)
        with huge.open("ab") as stream:
            stream.write(b"x" * 99 + b"\n")
        return len(looks) > 4

    monkeypatch.setattr("hackathon.cli.run.logs._over", over)
    monkeypatch.setattr("hackathon.logs.follow.time.sleep", lambda _: None)
    assert command(["logs", "-f", "-n", "2"]) == 0
    assert [after - before for before, after in pairwise(looks)] == [100] * 4
    assert looks[0] < 3 << 20
    assert capsys.readouterr().out.count("x" * 99) == 5


def test_lines_of_many_files_are_read_in_small_blocks(run: Path) -> None:
    path = _write(run, "rank-0.log", *(f"line {i}" for i in range(1000)))
    assert list(lines_between(path, 0, path.stat().st_size, 7)) == [f"line {i}" for i in range(1000)]
    assert offset_since(path, TEN, LogReader(run, TEN + 60)) is None


def _line(rank: int | None, text: str, at: float | None = None) -> Line:
    return Line(text, rank, "", at, f"rank-{rank}")


def _folded(lines: list[Line], window: int = 300) -> list[tuple[str, list[int]]]:
    return [(group.line.text, group.ranks) for group in fold(lines, window)]


def test_the_same_words_of_several_ranks_are_shown_once() -> None:
    lines = [_line(rank, text) for rank in range(4) for text in ("a", *(["own"] if rank == 2 else []), "b", "b")]
    assert _folded(lines) == [("a", [0, 1, 2, 3]), ("own", [2]), ("b", [0, 1, 2, 3]), ("b", [0, 1, 2, 3])]


def test_what_lies_far_apart_is_not_folded() -> None:
    assert len(_folded([_line(0, "a", 1.0), _line(1, "a", 1000.0)])) == 2
    assert len(_folded([_line(0, "a", 1.0), _line(1, "a", 1.5)])) == 1
    assert len(_folded([_line(None, "a"), _line(1, "a")])) == 2
    assert len(_folded([_line(0, "a"), *(_line(0, str(i)) for i in range(20)), _line(1, "a")], window=5)) == 22


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abcd"), st.booleans()), max_size=40), st.integers(1, 9))
def test_folding_keeps_each_ranks_lines_in_their_order(entries: list[tuple[int, str, bool]], window: int) -> None:
    lines = [_line(rank, text, float(i) if dated else None) for i, (rank, text, dated) in enumerate(entries)]
    found = _folded(lines, window)
    for rank in range(4):
        assert [text for text, ranks in found if rank in ranks] == [line.text for line in lines if line.rank == rank]


@given(st.sets(st.integers(0, 10_000), min_size=1, max_size=50))
def test_ranks_are_read_as_they_are_written(ranks: set[int]) -> None:
    assert parse_ranks(ranks_text(ranks)) == ranks


@given(st.text(max_size=12))
@example("9" * 400)
def test_other_texts_are_no_ranks_and_no_times(text: str) -> None:
    for read in (parse_ranks, lambda each: parse_moment(each, TEN)):
        try:
            read(text)
        except ValueError:
            continue


def test_times_as_people_write_them() -> None:
    assert parse_moment("10m", TEN) == TEN - 600
    assert parse_moment("09:30", TEN) == TEN - 1800
    assert parse_moment("10:00:01", TEN) == TEN + 1 - 86400
    assert parse_moment("2026-11-21 09:59", TEN) == TEN - 60
    assert parse_moment("2026-11-21T10:00:00Z", TEN) - parse_moment("2026-11-21T10:00:00+09:00", TEN) == 9 * 3600


def test_the_command_shows_who_and_when(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write(run, "rank-0.log", f"{_stamp(1)} hello", f"{_stamp(3)} E own\a words")
    _write(run, "rank-1.log", f"[rank1]: {_stamp(2)} hello", "plain")
    assert command(["logs"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        "10:00:01 [ranks 0-1] hello",
        "[rank 1 n1] plain",
        "10:00:03 [rank 0 n0] E own· words",
    ]
    assert run.name in shown.err
    assert command(["logs", "demo", "--rank", "1", "--grep", "^pl.in$"]) == 0
    assert capsys.readouterr().out == "[rank 1 n1] plain\n"
    assert command(["logs", "--grep", "l", "-n", "1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert command(["logs", "--grep", "nothing such"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "" and "no line" in shown.err
    assert command(["logs", "--raw", "--rank", "1"]) == 0
    assert capsys.readouterr().out == f"[rank1]: {_stamp(2)} hello\nplain\n"
    assert command(["logs", "--path", "--rank", "0-5"]) == 0
    assert [Path(line).name for line in capsys.readouterr().out.splitlines()] == ["rank-0.log", "rank-1.log"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [(["--rank", "x"], "0-3"), (["--since", "soon"], "10m"), (["--grep", "("], "regular"), (["--raw", "-f"], "--raw")],
)
def test_wrong_requests_are_told(
    run: Path, arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(["logs", *arguments]) == 2
    assert word in capsys.readouterr().err
