"""Following gives every complete line once, from every rank."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hackathon.logs import follow as following
from hackathon.logs.follow import follow, offset_of_last, tail


def _steps(*steps: Callable[[], object]) -> Callable[[], bool]:
    """Return a `stop` that does the next step at each look and ends after the last."""
    left: Iterator[Callable[[], object]] = iter(steps)

    def stop() -> bool:
        for step in left:
            step()
            return False
        return True

    return stop


def _flat(portions: Iterator[list[tuple[Path, str]]]) -> list[tuple[str, str]]:
    return [(path.stem, line) for portion in portions for path, line in portion]


def _append(path: Path, text: str) -> None:
    with path.open("a", newline="") as stream:
        stream.write(text)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    return tmp_path


def test_new_lines_of_all_ranks_come_once_and_whole(run: Path) -> None:
    zero, one, job = (run / "logs" / name for name in ("rank-0.log", "rank-1.log", "job.log"))
    _append(zero, "a\nb\n")
    stop = _steps(
        lambda: _append(zero, "hal"),
        lambda: (_append(zero, "f\n"), _append(one, "later\n")),
        lambda: _append(job, "bye"),
    )
    assert _flat(follow(run, stop=stop, pause=0)) == [
        ("rank-0", "a"),
        ("rank-0", "b"),
        ("rank-0", "half"),
        ("rank-1", "later"),
        ("job", "bye"),
    ]


def test_only_chosen_ranks_and_only_what_comes_after_the_start(run: Path) -> None:
    logs = run / "logs"
    for rank in range(12):
        _append(logs / f"rank-{rank}.log", "".join(f"{rank}:{i}\n" for i in range(50)))
    starts = {path: offset_of_last(path, 2) for path in logs.glob("rank-*.log")}
    found = _flat(follow(run, ranks={2, 11}, starts=starts, stop=_steps()))
    assert found == [("rank-2", "2:48"), ("rank-2", "2:49"), ("rank-11", "11:48"), ("rank-11", "11:49")]
    assert len(_flat(follow(run, ranks={3}, stop=_steps()))) == 50


def test_what_was_written_between_two_looks_comes_in_portions(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "PORTION", 10)
    _append(run / "logs" / "rank-0.log", "".join(f"{i}\n" for i in range(25)))
    assert [len(portion) for portion in follow(run, stop=_steps())] == [10, 10, 5]


def test_a_cut_file_and_a_replaced_file_begin_anew(run: Path) -> None:
    path = run / "logs" / "rank-0.log"
    _append(path, "one\ntwo\n")

    def replace() -> None:
        other = run / "other"
        other.write_text("replaced with a longer text\n")
        other.rename(path)

    found = _flat(follow(run, stop=_steps(lambda: None, lambda: path.write_text("cut\n"), replace), pause=0))
    assert [line for _, line in found] == ["one", "two", "cut", "replaced with a longer text"]


def test_a_file_that_vanishes_ends_nothing(run: Path) -> None:
    path = run / "logs" / "rank-0.log"
    _append(path, "x\n")
    assert _flat(follow([path], stop=_steps(lambda: None, path.unlink), pause=0)) == [("rank-0", "x")]


def test_tail_reads_from_the_end(tmp_path: Path) -> None:
    path = tmp_path / "rank-0.log"
    path.write_bytes(b"".join(b"line %d\n" % i for i in range(200_000)) + b"10%\r20%\r\nunfinished")
    assert tail(path, 3) == ["10%", "20%", "unfinished"]
    assert tail(path, 4)[0] == "line 199999"
    assert tail(path, 0) == [] and tail(tmp_path / "missing", 5) == []
    path.write_bytes(b"x" * 1_000_000)
    assert tail(path, 1) == ["x" * 65536]
