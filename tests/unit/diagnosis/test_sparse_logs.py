"""Logs with holes: a file of 10 GiB that its writer paid nothing for is diagnosed like a small one."""

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from hackathon.cli.main import run as hackathon
from hackathon.diagnosis.blocks import read_blocks
from hackathon.diagnosis.scan import LogFile
from hackathon.diagnosis.unknown import rarest
from hackathon.logs import follow, lines, merge
from hackathon.logs.lines import read_lines
from hackathon.logs.merge import LogReader
from hackathon.text.files import HOLE

pytestmark = pytest.mark.usefixtures("own_cache")
HUGE = 10 << 30
BEFORE = "loading data\nstep 1 loss 2.5\n"
AFTER = (
    "Traceback (most recent call last):\n"
    '  File "/home/team/train.py", line 8, in <module>\n    f()\n'
    "RuntimeError: CUDA error: out of memory\n"
)


@pytest.fixture(scope="module")
def checked_rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the checked rules are kept: checking them again for every test would take most of the time."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def own_cache(own_home: Path, checked_rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(checked_rules))


def spent() -> float:
    """Return the seconds of a CPU that this process took, and those that it waited for: others do not count."""
    return sum(os.times()[:4])


def sparse(path: Path, before: str = BEFORE, after: str = AFTER, size: int = HUGE) -> Path:
    """Write a log with a hole in the middle."""
    with path.open("wb") as stream:
        stream.write(before.encode())
        stream.truncate(size)
        stream.seek(size)
        stream.write(after.encode())
    if path.stat().st_blocks * 512 > 1 << 20:
        pytest.skip("this file system has no holes")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("before", [BEFORE, ""])
def test_a_sparse_log_of_10_gib_is_diagnosed_in_seconds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], before: str
) -> None:
    log = sparse(tmp_path / "job.log", before)
    began = spent()
    hackathon(["diagnose", "--json", str(log)])
    assert spent() - began < 20
    value = json.loads(capsys.readouterr().out)
    found = value["findings"][0]
    assert "memory" in found["rule"]
    assert found["evidence"]["line"] == before.count("\n") + 4
    assert found["evidence"]["text"] == "RuntimeError: CUDA error: out of memory"


def test_nothing_but_a_hole_is_no_failure(tmp_path: Path) -> None:
    log = sparse(tmp_path / "job.log", "", "")
    began = spent()
    hackathon(["diagnose", str(log)])
    assert spent() - began < 20


def test_what_no_rule_knows_is_shown_from_behind_a_hole(tmp_path: Path) -> None:
    log = sparse(tmp_path / "small.log", after="QuirkError: lattice 9 lost\n", size=3 << 20)
    assert {each.text: each.line for each in rarest([LogFile(log, "job.log")])}["QuirkError: lattice 9 lost"] == 3
    log = sparse(tmp_path / "job.log", after="frobnicator 7: lattice drifted\nQuirkError: lattice 9 lost\n")
    found = rarest([LogFile(log, "job.log")])
    places = {each.text: each.line for each in found}
    assert (places["frobnicator 7: lattice drifted"], places["QuirkError: lattice 9 lost"]) == (3, 4)


def test_lines_are_read_across_a_hole(tmp_path: Path) -> None:
    log = sparse(tmp_path / "job.log", "one\ntw", "o\nthree\n")
    assert list(read_lines(log)) == ["one", "two", "three"]


@pytest.mark.parametrize("ranks", [1, 2000])
def test_logs_read_no_holes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranks: int) -> None:
    """What is counted is the bytes read, also in the small blocks that the logs of thousands of ranks are read in."""
    work = [0]

    class Counted(io.FileIO):
        def readinto(self, buffer: Any) -> Any:
            count = super().readinto(buffer)
            work[0] += count or 0
            return count

    def opened(path: Path) -> io.BufferedReader:
        return io.BufferedReader(Counted(path))

    for module in (merge, follow, lines):
        monkeypatch.setattr(module, "open_regular", opened)
    log = sparse(tmp_path / "rank-0.log", "one\ntw", "o\nthree\n", 1 << 30)
    others = [tmp_path / "missing" / f"rank-{number}.log" for number in range(1, ranks)]
    found = [each.text for each in merge.merged([log, *others], LogReader())]
    assert found == ["one", "two", "three"] and 0 < work[0] < 8 << 20
    work[0] = 0
    (portion,) = follow.follow([log], stop=lambda: True)
    assert [text for _, text in portion] == ["one", "two", "three"] and 0 < work[0] < 8 << 20
    work[0] = 0
    assert lines.line_ends(log, log.stat().st_size) == 3 and 0 < work[0] < 8 << 20


def test_what_is_written_behind_a_hole_is_followed(tmp_path: Path) -> None:
    log = sparse(tmp_path / "job.log", "one\n", "")
    looks = iter((False, False, True))

    def stop() -> bool:
        with log.open("ab") as stream:
            stream.write(b"more\n")
        return next(looks)

    found = [text for portion in follow.follow([log], stop=stop, pause=0) for _, text in portion]
    assert found == ["one", "more", "more", "more"]


def test_zeros_that_take_room_are_passed_over_too_and_every_place_keeps_its_line() -> None:
    zeros = bytes(5 * HOLE)
    raw = b"one\ntwo\n" + zeros + b"three\nfour\n" + zeros + zeros + b"\nfive"
    seen = []
    for block in read_blocks(io.BytesIO(raw), HOLE):
        for word in (b"one", b"two", b"three", b"four", b"five"):
            at = block.text.find(word, block.done, block.end)
            if at >= 0:
                assert raw[block.base + at :].startswith(word)
                seen.append((word, block.line(at)))
        assert len(block.text) <= 3 * HOLE
    assert seen == [(b"one", 1), (b"two", 2), (b"three", 3), (b"four", 4), (b"five", 6)]
    assert os.SEEK_DATA  # a kernel without it could not pass over holes
