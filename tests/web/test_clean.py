"""What others wrote comes to a page without anything that steers, hides or has no end; nothing outside is read."""

import os
import socket
import threading
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.runs.directory import files_of
from hackathon.text.messages import speaking
from hackathon.text.printable import printable
from hackathon.web.page import sanitize as clean
from hackathon.web.views.run_view import RunFact
from support.patience import STRETCH
from support.samples.rich_runs import write_rich

ANY = st.text(st.characters(codec=None), max_size=400)


@given(ANY)
@settings(max_examples=300, deadline=None)
def test_no_control_character_is_left_in_any_text(text: str) -> None:
    for shown, kept in ((clean.line(text), "\u200c\u200d"), (clean.block(text), "\n\t\u200c\u200d")):
        bad = [each for each in shown if each not in kept and unicodedata.category(each) in ("Cc", "Cf", "Cs")]
        assert not bad, bad
        shown.encode()  # no half of a pair is left
    assert "\n" not in clean.line(text)


@given(st.binary(max_size=3000))
@settings(max_examples=150, deadline=None)
def test_any_bytes_are_a_log(raw: bytes) -> None:
    folder = _scratch()
    (folder / "rank-0.log").write_bytes(raw)
    found = clean.tail(GuardedFolder(folder), "rank-0.log")
    assert found is not None
    lines, before, size = found
    assert size == len(raw) and before >= 0 and len(lines) <= clean.TAIL_LINES
    assert all(each.isprintable() or set(each) & {"\u200c", "\u200d"} for each in lines)


@given(st.text(st.characters(exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp", "Zs", "Co", "Cn")), max_size=80))
def test_words_of_every_language_stay(text: str) -> None:
    assert clean.line(text) == text and clean.block(text) == text


def test_escapes_and_direction_marks_go_and_emoji_stay_whole() -> None:
    assert clean.line("\x1b[31mred\x1b[0m \x1b]0;title\x07ok\x00\u202egpj.exe") == "red ok··gpj.exe"
    assert clean.line("👩‍🔬 日本語\tx") == "👩‍🔬 日本語 x"
    assert clean.block("a\r\nb\rc\td") == "a\nb\nc\td"
    assert printable("a\nb\x07") == "a b·"


def test_long_lines_and_texts_are_cut_with_a_remark() -> None:
    with speaking("en"):
        shown = clean.line("x" * 1_000_000)
        assert len(shown) < clean.LINE + 80 and shown.endswith("more characters are not shown]")
        block = clean.block(f"{'y' * 5000}\nshort\n" * 100)
        assert "short" in block and max(map(len, block.split("\n"))) < clean.LINE + 80
        assert len(clean.block("line\n" * 1_000_000)) < clean.BLOCK + 80
    with speaking("ja"):
        assert "省略" in clean.line("x" * 10_000)


def test_a_record_is_cleaned_whole() -> None:
    row = RunFact("\x1b[1mname", "a\x00b", "file\u202e")
    assert clean.value({"\x07": [row, ("\x1b[0m", 1, None)]}) == {"·": [RunFact("name", "a·b", "file·"), ("", 1, None)]}


def test_the_tail_of_a_log_is_its_last_lines_and_of_a_bar_the_last_state(tmp_path: Path) -> None:
    bar = "".join(f"\r{i} %" for i in range(100))
    (tmp_path / "a.log").write_text("".join(f"line {i}\n" for i in range(1000)) + f"{bar}\n\x1b[31mend")
    found = clean.tail(GuardedFolder(tmp_path), "a.log")
    assert found is not None
    lines, before, size = found
    assert lines[-3:] == ["line 999", "99 %", "end"] and len(lines) == clean.TAIL_LINES
    assert before > 0 and size == (tmp_path / "a.log").stat().st_size


def test_a_line_of_megabytes_and_binary_are_shown_in_part(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"first\n" + b"z" * 3_000_000 + b"\nlast\n")
    (tmp_path / "b.log").write_bytes(bytes(range(256)) * 100)
    with speaking("en"):
        lines, before, _ = clean.tail(GuardedFolder(tmp_path), "a.log") or ([], 0, 0)
        assert lines[-1] == "last" and before > 2_000_000 and max(map(len, lines)) < clean.LINE + 80
        binary, _, _ = clean.tail(GuardedFolder(tmp_path), "b.log") or ([], 0, 0)
    assert "\ufffd" in "".join(binary)


def test_nothing_is_read_through_a_link_that_leads_outside(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("password")
    (tmp_path / "runx").mkdir()
    (tmp_path / "runx" / "beside").write_text("password")
    run = tmp_path / "run"
    (run / "logs").mkdir(parents=True)
    (run / "logs" / "own.log").write_text("own")
    (run / "logs" / "same.log").symlink_to("own.log")
    (run / "logs" / "far.log").symlink_to(tmp_path / "secret")
    (run / "logs" / "loop.log").symlink_to("loop.log")
    (run / "folder").symlink_to(tmp_path)
    inside = GuardedFolder(run)
    assert inside.read("logs/same.log") == b"own"
    for name in ("logs/far.log", "logs/loop.log", "folder/secret", "../secret", "logs/../../secret", "../runx/beside"):
        assert inside.read(name) is None and inside.end(name, 10) is None, name
    assert inside.names("folder") == []
    assert [each.name for each in inside.refused(("logs", "folder"))] == ["folder", "logs/far.log", "logs/loop.log"]
    assert inside.facts(("logs", "folder")) == inside.facts(("logs",))


def test_pipes_sockets_and_unreadable_files_block_nobody(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    os.mkfifo(tmp_path / "logs/pipe.log")
    os.mkfifo(tmp_path / "request.json")
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(tmp_path / "logs")
        try:
            listening.bind("s.log")
        finally:
            os.chdir(here)
        done = threading.Event()
        found: list[object] = []

        def read() -> None:
            inside = GuardedFolder(tmp_path)
            found.extend([inside.read("logs/pipe.log"), inside.json("request.json"), inside.read("logs/s.log")])
            found.append([each.name for each in inside.refused(("logs", "request.json"))])
            done.set()

        threading.Thread(target=read, daemon=True).start()
        assert done.wait(60 * STRETCH), "a pipe blocks the reader"
    assert found == [None, {}, None, ["logs/pipe.log", "logs/s.log", "request.json"]]


@pytest.mark.parametrize(
    "content", [b"", b"[1]", b"{", b"[" * 100_000, b"\xff\xfe{}", b'{"a": NaN}' * 2], ids=lambda each: str(each[:8])
)
def test_broken_json_is_an_empty_record(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.json").write_bytes(content)
    assert GuardedFolder(tmp_path).json("a.json") == {}
    assert list(GuardedFolder(tmp_path).lines("a.json")) == []


def test_files_are_read_up_to_a_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    inside = GuardedFolder(tmp_path)
    assert inside.read("a", 4) == b"0123" and inside.end("a", 4) == (b"6789", 10)
    (tmp_path / "a.jsonl").write_text('{"n": 1}\n{"n": 2}\n{"n": 3')
    assert [line["n"] for line in inside.lines("a.jsonl")] == [1, 2]
    assert [line["n"] for line in inside.lines("a.jsonl", 18)] == [2]


def test_an_adopted_run_shows_the_logs_of_its_job_and_no_file_elsewhere(tmp_path: Path) -> None:
    job = tmp_path / "job"
    job.mkdir()
    (job / "out.log").write_text("from the job")
    (tmp_path / "secret").write_text("password")
    run = write_rich(tmp_path / "project")
    for name, target in (("job.log", job / "out.log"), ("rank-7.log", tmp_path / "secret")):
        (run / "logs" / name).unlink(missing_ok=True)
        (run / "logs" / name).symlink_to(target)
    assert files_of(run).read("logs/job.log") is None
    (run / "client/adopted.json").write_text(f'{{"t": 1, "directory": "{job}"}}')
    assert files_of(run).read("logs/job.log") == b"from the job"
    assert files_of(run).read("logs/rank-7.log") is None


_folder: list[Path] = []


def _scratch() -> Path:
    """Return one folder for all examples of a property."""
    import tempfile

    if not _folder:
        _folder.append(Path(tempfile.mkdtemp(prefix="hackathon-clean-")))
    return _folder[0]


@pytest.fixture(scope="module", autouse=True)
def _no_folder_stays() -> object:
    yield
    import shutil

    for each in _folder:
        shutil.rmtree(each, ignore_errors=True)
    _folder.clear()
