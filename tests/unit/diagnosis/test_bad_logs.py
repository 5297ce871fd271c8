"""Logs that repeat a failure: what is rare among the repeats is found, and nothing is left out silently."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from hackathon.cli.main import run as command
from hackathon.config.rule_files import load_rules
from hackathon.diagnosis import repeats, scan
from hackathon.diagnosis.examine import diagnose_files
from hackathon.diagnosis.scan import Hit, LogFile, Scanner
from hackathon.diagnosis.window import line_start

RULES = load_rules()[0]
CAUSE = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
MEGABYTE = 1 << 20
BLOCK = MEGABYTE // 8


def retry(chance: random.Random, errno: str = "111 - Connection refused") -> str:
    stamp = f"{chance.randrange(24):02d}:{chance.randrange(60):02d}:00.{chance.randrange(10**9):09d}"
    return (
        f"[rank{chance.randrange(8)}]:[W1121 {stamp} socket.cpp:752] [c10d] The client socket has failed to connect to "
        f"[n2.cluster]:29500 (errno: {errno}).\n"
    )


def warning(chance: random.Random) -> str:
    rank, line = chance.randrange(8), chance.randrange(400)
    return (
        f"n{rank}:{4000 + rank}:{5000 + line} [{rank % 4}] misc/socket.cc:{line} NCCL WARN socketStartConnect: Connect "
        f"to 10.0.0.{rank}<{40000 + line}> failed : Software caused connection abort\n"
        f"[rank{rank}]: Traceback (most recent call last):\n"
        f'[rank{rank}]:   File "/home/z30100/train.py", line {line}, in step\n'
        f"[rank{rank}]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:{line}, "
        "unhandled system error, NCCL version 2.21.5\n"
    )


def repeated(piece: Callable[[random.Random], str], size: int) -> str:
    chance = random.Random(1)
    pieces = []
    while size > 0:
        pieces.append(piece(chance))
        size -= len(pieces[-1])
    return "".join(pieces)


def hits_in(path: Path, text: str) -> list[Hit]:
    path.write_text(text)
    return Scanner(RULES).scan([LogFile(path, "log")], size=BLOCK)


def test_a_number_that_tells_a_line_from_its_repeats_is_found(tmp_path: Path) -> None:
    before, after = repeated(retry, 3 * BLOCK), repeated(retry, BLOCK)
    other = "[rank3]:[W1121 10:11:12.123456789 socket.cpp:752] [c10d] The client socket has failed to connect to "
    other += "[n2.cluster]:29500 (errno: 113 - Connection refused).\n"  # the same but for a number
    hits = {hit.rule.id: hit for hit in hits_in(tmp_path / "log", before + other + after)}
    assert hits["rendezvous-no-route"].evidence.line == before.count("\n") + 1
    assert hits["rendezvous-no-route"].evidence.rank == 3
    assert "rendezvous-no-route" not in {hit.rule.id for hit in hits_in(tmp_path / "log", before + after)}


@pytest.mark.parametrize("piece", [retry, warning])
def test_a_failure_among_repeats_is_the_cause(tmp_path: Path, piece: Callable[[random.Random], str]) -> None:
    log = tmp_path / "job.log"
    log.write_text(repeated(piece, 2 * MEGABYTE) + CAUSE + repeated(piece, MEGABYTE))
    diagnosis = diagnose_files([log], rules=RULES)
    assert diagnosis.root is not None and diagnosis.root.part == "gpu" and diagnosis.slow == ()


@pytest.mark.parametrize("piece", [retry, warning])
def test_the_work_does_not_grow_with_the_repeats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: Callable[[random.Random], str]
) -> None:
    read: list[int] = []

    def counted(text: bytes, position: int) -> int:
        read.append(position)
        return line_start(text, position)

    monkeypatch.setattr(scan, "line_start", counted)  # each line that is looked at
    text = repeated(piece, 2 * BLOCK)
    hits = hits_in(tmp_path / "log", text)
    few, counts = len(read), {(hit.rule.id, hit.evidence.rank): hit.count for hit in hits}
    hits = hits_in(tmp_path / "log", text + repeated(piece, 4 * BLOCK))
    assert {(hit.rule.id, hit.evidence.rank) for hit in hits} == set(counts)
    assert len(read) - few < 1.5 * few


def test_repeats_hide_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rules match rare lines among repeats, at the same places, as when every line is read."""
    chance = random.Random(7)
    rare = [
        f"{line}\n"
        for rule in RULES
        if rule.sample is not None and rule.patterns and not rule.fact and chance.random() < 0.08
        for line in rule.sample.text.splitlines()
    ]
    rare = [f"{chance.randrange(8)}: {line}" if chance.random() < 0.3 else line for line in rare]
    lines = (repeated(retry, 2 * BLOCK) + repeated(warning, 2 * BLOCK)).splitlines(keepends=True)
    chance.shuffle(lines)
    for line in rare:
        lines.insert(chance.randrange(len(lines) // 2, len(lines)), line)
    text = repeated(retry, 2 * BLOCK) + "".join(lines)
    fewer = {hit.rule.id: hit.evidence.line for hit in reversed(hits_in(tmp_path / "log", text))}
    monkeypatch.setattr(repeats, "KINDS", 0)
    every = {hit.rule.id: hit.evidence.line for hit in reversed(hits_in(tmp_path / "log", text))}
    assert len(every) > 20
    assert fewer == every


def test_a_line_of_megabytes_is_not_left_out_silently(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "job.log"
    log.write_text(repeated(retry, 2 * MEGABYTE).replace("\n", " ") + "\n" + CAUSE)
    assert command(["diagnose", "job.log", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["findings"][0]["part"] == "gpu" and answer["findings"][0]["evidence"]["line"] == 2
    assert answer["left_out"]
    assert command(["diagnose", "job.log"]) == 0
    report = capsys.readouterr().out
    assert "not applied to all lines" in report and all(rule in report for rule in answer["left_out"])
    assert report.rstrip().splitlines()[-1].startswith("  ")  # the cause is still the last


def test_nothing_is_left_out_of_other_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bar.log").write_text(
        "".join(f"\r{step % 100:3d}%|####      | {step}/99999 [00:10<00:20, 9.8it/s]" for step in range(40_000)) + CAUSE
    )
    (tmp_path / "bad.log").write_text(repeated(retry, 2 * MEGABYTE) + CAUSE)
    for name in ("bar.log", "bad.log"):
        assert command(["diagnose", name, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["left_out"] == []
        assert command(["diagnose", name]) == 0
        assert "not applied" not in capsys.readouterr().out
