"""Logs with holes: a file of 10 GiB that its writer paid nothing for is diagnosed like a small one."""

import io
import json
import os
import time
from pathlib import Path

import pytest

from hackathon.cli.main import run as hackathon
from hackathon.diagnosis.blocks import read_blocks
from hackathon.diagnosis.scan import LogFile
from hackathon.diagnosis.unknown import rarest
from hackathon.logs.lines import read_lines
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


@pytest.mark.parametrize("before", [BEFORE, ""])
def test_a_sparse_log_of_10_gib_is_diagnosed_in_seconds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], before: str
) -> None:
    log = sparse(tmp_path / "job.log", before)
    began = time.monotonic()
    hackathon(["diagnose", "--json", str(log)])
    assert time.monotonic() - began < 20
    value = json.loads(capsys.readouterr().out)
    found = value["findings"][0]
    assert "memory" in found["rule"]
    assert found["evidence"]["line"] == before.count("\n") + 4
    assert found["evidence"]["text"] == "RuntimeError: CUDA error: out of memory"


def test_nothing_but_a_hole_is_no_failure(tmp_path: Path) -> None:
    log = sparse(tmp_path / "job.log", "", "")
    began = time.monotonic()
    hackathon(["diagnose", str(log)])
    assert time.monotonic() - began < 20


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
