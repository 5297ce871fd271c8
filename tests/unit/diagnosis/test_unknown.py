"""Of a failure that nobody has seen before, the lines are shown that somebody who knows the program wants to see."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.diagnosis import unknown
from hackathon.diagnosis.scan import LogFile
from hackathon.diagnosis.unknown import is_error, masked, rarest
from support.paths import SAMPLES


def _files(tmp_path: Path, *texts: str) -> list[LogFile]:
    found = []
    for rank, text in enumerate(texts):
        path = tmp_path / f"rank-{rank}.log"
        path.write_text(text)
        found.append(LogFile(path, path.name, "rank", rank, f"n{rank // 2}"))
    return found


def _usual(rank: int, steps: int = 300) -> str:
    lines = [f"rank {rank} of 4 on n{rank}: loading /data/part-{rank}.bin"]
    lines += [f"step {step} loss {2 / (step + 1):.4f} {step * 1.5:.1f} samples/s" for step in range(steps)]
    return "\n".join(lines) + "\n"


def test_the_odd_line_before_the_error_is_found_among_many(tmp_path: Path) -> None:
    odd = "frobnicator 7: lattice drifted, falling back to the slow path\n"
    error = 'Traceback (most recent call last):\n  File "x.py", line 3, in f\n    g()\nQuirkError: lattice 9 lost\n'
    files = _files(tmp_path, _usual(0), _usual(1) + odd + _usual(1, 40) + error, _usual(2), _usual(3))
    found = rarest(files, 6)
    texts = [evidence.text for evidence in found]
    assert odd.strip() in texts and "QuirkError: lattice 9 lost" in texts
    place = found[texts.index(odd.strip())]
    assert (place.file, place.line, place.rank, place.host) == ("rank-1.log", 302, 1, "n0")
    assert len(found) <= 6 and sum(text.startswith("step") for text in texts) <= 1
    assert all(evidence.rank == 1 for evidence in found)


def test_a_healthy_log_has_nothing_to_read(tmp_path: Path) -> None:
    healthy = _usual(0) + "test error: 0.0123\nfinished with 0 errors\nError rate: 3 %\n"
    files = _files(tmp_path, healthy)
    assert rarest(files) == []
    assert rarest(files, 3, failed=True)[-1].text == "Error rate: 3 %"
    assert rarest([LogFile(tmp_path / "missing", "missing")], failed=True) == [] and rarest([]) == []


def test_of_a_huge_log_only_the_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    with path.open("wb") as stream:
        stream.write(b"odd beginning of it all\n")
        for _ in range(1000):
            stream.write(b"the same words again\n" * 50)
        stream.seek(1 << 28)
        stream.write(b"\n" + b"more of the same\n" * 1000 + b"quaint warning about cell 4\nRuntimeError: unheard of\n")
    read = 0
    original = unknown._cut

    def counted(path: Path, start: int, end: int) -> list[str]:
        nonlocal read
        read += end - start
        return original(path, start, end)

    unknown._cut = counted
    try:
        found = rarest([LogFile(path, "big.log")], 5)
    finally:
        unknown._cut = original
    assert read <= unknown.READ
    texts = [evidence.text for evidence in found]
    assert {"odd beginning of it all", "quaint warning about cell 4", "RuntimeError: unheard of"} <= set(texts)
    assert [evidence.line for evidence in found][-1] == 1 + 50_000 + 1 + 1000 + 2


def test_prefixes_are_facts_and_do_not_make_lines_differ(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    lines = [f"{rank}: step {step}" for step in range(50) for rank in range(4)]
    path.write_text("\n".join([*lines, "2: odd words of one rank", "2: ValueError: bad"]))
    found = rarest([LogFile(path, "job.log", "job")], 3)
    assert [(evidence.text, evidence.rank) for evidence in found][-2:] == [
        ("odd words of one rank", 2), ("ValueError: bad", 2),
    ]  # fmt: skip


def test_what_differs_between_ranks_and_runs_is_masked() -> None:
    assert masked("rank 3 at /home/a/x.py:12 0xdeadbeef 1.5e-3 on n12") == masked("rank 14 at /b/c/d.py:9 0x1 2 on n7")
    assert masked("alpha failed") != masked("beta failed")
    assert is_error("x.y.ZError: a") and is_error("Segmentation fault (core dumped)") and is_error("Killed")
    assert not is_error("error=0.02") and not is_error("no errors") and not is_error("loss 3")


@given(st.text(max_size=300))
def test_no_text_breaks_the_masks(text: str) -> None:
    assert masked(masked(text)) is not None
    is_error(text)


@pytest.mark.parametrize("path", sorted((SAMPLES / "clean").glob("*.log")), ids=lambda path: path.stem)
def test_of_a_real_healthy_log_nothing_is_to_read(path: Path) -> None:
    assert rarest([LogFile(path, path.name)]) == []
