"""Rules are found in logs: whatever launchers, terminals and progress bars did to a message, by every search alike."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.config.load import keep
from hackathon.config.rule import Pattern, Rule
from hackathon.diagnosis import blocks
from hackathon.diagnosis.matcher import ENGINES, SLOW_TO_MAKE, WORTH_A_TABLE, make_matcher
from hackathon.diagnosis.needles import needles_of
from hackathon.diagnosis.scan import LOOKED_AT, RANKS, Hit, LogFile, Scanner, scan

OOM = "CUDA out of memory. Tried to allocate 2.00 GiB"


def rule(name: str, *patterns: Pattern, **more: object) -> Rule:
    return Rule(id=name, part="gpu", level="root", title=name, patterns=list(patterns), **more)  # type: ignore[arg-type]


RULES = [
    rule("oom", Pattern(text="CUDA out of memory")),
    rule("allocate", Pattern(regex=r"Tried to allocate (?P<size>[\d.]+ [KMG]iB)")),
    rule("module", Pattern(regex=r"No module named '?(?P<module>[\w.]+)")),
    rule("segfault", Pattern(text="segmentation fault", ignore_case=True)),
    rule("either", Pattern(regex=r"(?:Broken pipe|Connection reset) by (?P<who>\S+)"), Pattern(text="peer went away")),
    rule("wide", Pattern(regex=r"watchdog.*timed out on rank (?P<rank>\d+)")),
    rule("unless", Pattern(text="unhandled system error"), unless=[Pattern(text="will be tried again")]),
    rule("short", Pattern(text="SIGBUS")),
    rule("japanese", Pattern(text="メモリが足りません")),
    rule("job-only", Pattern(text="CUDA out of memory"), where=["job"]),
]
SCANNERS = {name: Scanner(RULES, name) for name in ENGINES}
SMALL, LARGE = (make_matcher(needles_of(RULES), "ahocorasick", size=size) for size in (0, WORTH_A_TABLE))
MESSAGES = {
    "oom": "RuntimeError: CUDA out of memory. Buy more",
    "allocate": "Tried to allocate 2.00 GiB on GPU 0",
    "module": "ModuleNotFoundError: No module named 'horovod.torch'",
    "segfault": "*** Segmentation Fault at 0x0",
    "either": "write: Connection reset by 10.0.0.1",
    "wide": "the watchdog of the process group has timed out on rank 3",
    "unless": "NCCL failure: unhandled system error",
    "short": "got SIGBUS here",
    "japanese": "エラー: メモリが足りません。",
}
CORES = {
    "oom": "CUDA out of memory",
    "allocate": "Tried to allocate",
    "module": "No module named",
    "segfault": "Segmentation Fault",
    "unless": "unhandled system error",
}
"""What of a message may be torn anywhere."""
NOISE = [
    "step 100 loss 0.25 samples/s 1000.0",
    "n1:4000:4001 [0] NCCL INFO Channel 00/02 : 0 1",
    "CUDA", "CUDA out", "Tried to", "", "  File \"train.py\", line 3, in main", "memory 12 GiB", "watchdog ready",
    "\x1b[32mgood\x1b[0m", "10%|#     | 1/10\r20%|##    | 2/10\r30%|###   | 3/10", "unhandled", "日本語",
]  # fmt: skip
PREFIXES = ["", "[rank1]: ", "[1,1]<stderr>:", "Thu Nov 19 10:00:00 2026[1]<stderr>:", "[default1]:"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def found(path: Path, engine: str | None = None, **more: int) -> list[Hit]:
    scanner = SCANNERS[engine] if engine else SCANNERS["ahocorasick"]
    return scanner.scan([LogFile(path, "log", "rank")], **more)


def by_all(path: Path, content: str | bytes) -> list[Hit]:
    """Return what all three searches find: the same."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    hits = found(path, "re")
    for engine in ENGINES:
        assert found(path, engine) == hits
    return hits


def test_all_three_searches_are_there() -> None:
    assert [scanner.engine for scanner in SCANNERS.values()] == list(ENGINES)


def test_the_first_place_the_count_and_the_values(log: Path) -> None:
    hits = by_all(log, f"starting\n\n{OOM}\nagain {OOM}\nNo module named 'x.y'\n")
    assert [hit.rule.id for hit in hits] == ["oom", "allocate", "module"]
    assert [(hit.evidence.line, hit.count, hit.values) for hit in hits] == [
        (3, 2, {}), (3, 2, {"size": "2.00 GiB"}), (5, 1, {"module": "x.y"}),
    ]  # fmt: skip
    assert hits[0].evidence.text == OOM and hits[0].evidence.file == "log"
    assert hits[0].order == (0, 10)


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("at", range(1, len("CUDA out of memory")))
def test_a_message_that_is_torn_anywhere(log: Path, prefix: str, at: int) -> None:
    message = "CUDA out of memory"
    torn = f"before\n{prefix}{message[:at]}\n{prefix}{message[at:]}, sorry\nafter\n"
    (hit,) = by_all(log, torn)
    assert hit.rule.id == "oom" and hit.evidence.line == 2
    assert hit.evidence.text == "CUDA out of memory, sorry"
    assert hit.evidence.rank == (1 if prefix else None)


@pytest.mark.parametrize(
    "phrase",
    [
        "which did not receive grad for rank",
        "Expected to have finished reduction in the prior iteration",
        "a bc def ghij",
        "symbol lookup error",
        "ChildFailedError",
        "in the system to satisfy",
    ],
)
@pytest.mark.parametrize("prefix", ["", "[1,1]<stderr>:"])
def test_any_phrase_that_is_torn_anywhere(log: Path, phrase: str, prefix: str) -> None:
    """A launcher that wraps at words swallows the space; a terminal keeps it on one of the two lines."""
    scanners = [Scanner([rule("x", Pattern(text=phrase))], engine) for engine in ENGINES]
    for at in range(1, len(phrase)):
        for first, second in {(phrase[:at], phrase[at:]), (phrase[:at].rstrip(), phrase[at:].lstrip())}:
            log.write_text(f"one\n{prefix}Error: {first}\n{prefix}{second} 3\n")
            for scanner in scanners:
                assert [hit.evidence.line for hit in scanner.scan([LogFile(log, "log")])] == [2], (scanner.engine, at)


@pytest.mark.parametrize("end", ["\r\n", "\n \n", "\n\n", "\x1b[K\n", "\x1b[0m\n\x1b[31m"])
@pytest.mark.parametrize("at", [4, 8, 11, 15])
def test_line_ends_of_all_kinds_in_a_message(log: Path, end: str, at: int) -> None:
    message = "CUDA out of memory"
    (hit,) = by_all(log, f"x{end}RuntimeError: {message[:at]}{end}{message[at:]}{end}")
    assert hit.rule.id == "oom" and "CUDA out of memory" in hit.evidence.text


def test_lines_of_other_ranks_between_the_halves(log: Path) -> None:
    text = (
        "[1,0]<stdout>:step 1\n[1,2]<stderr>:RuntimeError: CUDA out of mem\n[1,0]<stdout>:step 2\n"
        "[1,3]<stdout>:ory card\n[1,1]<stdout>:step 2\n[1,2]<stderr>:ory. Sorry\n"
    )
    (hit,) = by_all(log, text)
    assert (hit.evidence.rank, hit.evidence.line) == (2, 2)
    assert hit.evidence.text == "RuntimeError: CUDA out of memory. Sorry"


def test_a_help_text_over_several_lines(log: Path) -> None:
    pattern = Pattern(
        text="There are not enough slots available in the system to satisfy the 8 slots that were requested"
    )
    text = """--------------------------------------------------------------------------
There are not enough slots available in the system to
satisfy the 8
slots that were requested by the application:

  python
--------------------------------------------------------------------------
"""
    log.write_text(text)
    for engine in ENGINES:
        (hit,) = Scanner([rule("slots", pattern)], engine).scan([LogFile(log, "log")])
        assert hit.evidence.line == 2 and hit.evidence.text.endswith("requested by the application:")


@pytest.mark.parametrize(
    "line",
    [
        " 10%|#   | 1/10\r 20%|##  | 2/10\rCUDA out of memory\r 30%|### | 3/10",
        "\x1b[31m\x1b[1mCUDA out of\x1b[0m memory",
        "CUDA  out \t of memory",
        "\x1b]0;title\x07CUDA out of memory",
        "\0\0\0CUDA out of memory",
    ],
)
def test_progress_bars_colours_and_white_space(log: Path, line: str) -> None:
    (hit,) = by_all(log, f"one\n{line}\nthree\n")
    assert hit.rule.id == "oom" and hit.evidence.line == 2
    assert "%" not in hit.evidence.text and "\x1b" not in hit.evidence.text and "\0" not in hit.evidence.text


def test_bytes_that_are_no_text(log: Path) -> None:
    (hit,) = by_all(log, b"\xff\xfe\x00\n\xc3CUDA out of memory\x80\xff\n" + bytes(range(256)) * 3)
    assert hit.evidence.line == 2 and "CUDA out of memory" in hit.evidence.text


def test_nothing_in_an_empty_a_missing_and_a_forbidden_file(log: Path) -> None:
    assert by_all(log, b"") == []
    assert found(log.with_name("none")) == []
    assert found(log.parent) == []
    log.write_text(OOM)
    hits = SCANNERS["re"].scan([LogFile(log.with_name("none"), "none"), LogFile(log, "log")])
    assert {hit.order[0] for hit in hits} == {1}


def test_a_very_long_line(log: Path) -> None:
    hits = by_all(log, "x" * 300_000 + OOM + "y" * 300_000 + "\nCUDA out of memory\n")
    assert [(hit.rule.id, hit.evidence.line) for hit in hits] == [("oom", 1), ("allocate", 1)]
    assert "CUDA out of memory" in hits[0].evidence.text and len(hits[0].evidence.text) <= 500
    assert hits[0].count == 2


def test_capitals_matter_unless_a_rule_says_otherwise(log: Path) -> None:
    hits = by_all(log, "cuda OUT of memory\nSEGMENTATION fault\nsegmentation\nFault\n")
    assert [(hit.rule.id, hit.evidence.line, hit.count) for hit in hits] == [("segfault", 2, 2)]


def test_a_place_with_a_word_of_unless_is_not_meant(log: Path) -> None:
    assert by_all(log, "unhandled system error\nit will be\ntried again\n") == []
    (hit,) = by_all(
        log, "unhandled system error\n1\n2\n3\n4\nit will be tried again\nunhandled system error, at once\n"
    )
    assert (hit.evidence.line, hit.count) == (1, 2)


def test_what_can_run_over_anything_is_joined_only_over_full_lines(log: Path) -> None:
    assert by_all(log, "watchdog ready\nthe barrier timed out on rank 3\n") == []
    line = "the watchdog of a process group with a name that is really rather long has"
    (hit,) = by_all(log, f"{line}\n timed out on rank 3\n")
    assert hit.values == {"rank": "3"} and hit.evidence.line == 1


def test_a_rule_is_looked_for_only_where_it_says(log: Path) -> None:
    log.write_text(OOM)
    for kind, wanted in (("rank", False), ("job", True), ("other", True)):
        hits = SCANNERS["re"].scan([LogFile(log, "log", kind)])  # type: ignore[arg-type]
        assert ("job-only" in {hit.rule.id for hit in hits}) == wanted


def test_each_rank_of_a_merged_log_has_its_first_place(log: Path) -> None:
    lines = [f"[rank{number % 3}]: {'fine' if number < 6 else OOM}" for number in range(12)]
    hits = [hit for hit in by_all(log, "\n".join(lines)) if hit.rule.id == "oom"]
    assert [(hit.evidence.rank, hit.evidence.line, hit.count) for hit in hits] == [(0, 7, 2), (1, 8, 2), (2, 9, 2)]


def test_more_ranks_than_are_kept(log: Path) -> None:
    hits = [
        hit for hit in by_all(log, "".join(f"[rank{n}]: {OOM}\n" for n in range(RANKS + 50))) if hit.rule.id == "oom"
    ]
    assert len(hits) == RANKS
    assert sum(hit.count for hit in hits) == RANKS + 50


def test_the_rank_of_a_file_and_the_time_of_a_line(log: Path) -> None:
    log.write_text("2026-11-21 10:00:00,500 start\n[rank7]: CUDA out of memory\n")
    (hit,) = SCANNERS["re"].scan([LogFile(log, "ranks/3.err", "rank", 3, "n2")])
    assert (hit.evidence.rank, hit.evidence.host) == (3, "n2")
    log.write_text("2026-11-21T10:00:00Z start\nCUDA out of memory\n")
    (hit,) = SCANNERS["re"].scan([LogFile(log, "log", "rank")])
    assert hit.evidence.time == 1795255200


def test_millions_of_hits_are_counted_and_not_looked_at(log: Path) -> None:
    """The work for a place is bounded: the windows that are made for 200,000 places are few."""
    from hackathon.diagnosis import scan as module

    lines = 200_000
    log.write_text("fine\n" + "[rank1]: got SIGBUS here\n" * (lines - 100) + "[rank2]: got SIGBUS here\n" * 100)
    made = []
    original = module.Window
    module.Window = lambda *arguments: made.append(1) or original(*arguments)  # type: ignore[misc, assignment, func-returns-value]
    try:
        first, second = found(log, "ahocorasick")
    finally:
        module.Window = original  # type: ignore[misc]
    assert LOOKED_AT <= len(made) < LOOKED_AT + 1000
    assert (first.evidence.rank, first.evidence.line) == (1, 2)
    assert first.count + second.count == lines


@pytest.mark.slow
def test_a_rare_place_among_very_many_that_only_look_like_it(log: Path) -> None:
    lines = ["Tried to allocate nothing at all"] * 20_000
    lines[15_000] = "Tried to allocate 3.00 GiB"
    hits = by_all(log, "\n".join(lines))
    assert [(hit.rule.id, hit.evidence.line, hit.values["size"]) for hit in hits] == [("allocate", 15_001, "3.00 GiB")]


def _composed(seed: int) -> tuple[bytes, list[tuple[str, int]]]:
    """Return a log of noise and messages, and (rule, line) of every message."""
    chance = random.Random(seed)
    prefix = chance.choice(PREFIXES)
    lines: list[str] = []
    truth = []
    for _ in range(chance.randrange(1, 60)):
        if chance.random() < 0.8:
            lines.append(prefix + chance.choice(NOISE))
            continue
        name = chance.choice(list(MESSAGES))
        message = MESSAGES[name]
        truth.append((name, len(lines) + 1))
        style = chance.randrange(4)
        if style == 0 and name in CORES:
            at = message.index(CORES[name]) + chance.randrange(1, len(CORES[name]))
            lines += [prefix + message[:at], prefix + message[at:]]
        elif style == 1:
            lines.append(f"{prefix}\x1b[31m{message}\x1b[0m")
        elif style == 2:
            lines.append(f" 10%\r 20%\r{prefix}{message}")
        else:
            lines.append(prefix + message)
        # what follows is no part of the message
        lines.append(prefix + "=" * 8)
    end = chance.choice(["\n", "\r\n"])
    raw = end.join(lines).encode()
    return raw if chance.random() < 0.5 else raw + end.encode(), truth


@pytest.mark.slow
@settings(max_examples=150)
@given(st.integers(0, 1 << 32))
def test_composed_logs_are_read_alike_by_all_searches(seed: int) -> None:
    import tempfile

    raw, truth = _composed(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        hits = by_all(path, raw)
        lines = {(hit.rule.id, hit.evidence.line) for hit in hits}
        first = {name: min(line for other, line in truth if other == name) for name, _ in truth}
        assert set(first.items()) <= lines, (raw, lines)
        # however the log is cut into blocks
        for size in (50, 333, 4096):
            assert found(path, "re", size=size) == hits


@settings(max_examples=200)
@given(st.binary(max_size=400), st.integers(1, 100))
def test_any_bytes_are_read_by_all_searches_in_any_blocks(raw: bytes, size: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        assert by_all(path, raw) == found(path, "re", size=size)


@settings(max_examples=100)
@given(
    st.lists(st.sampled_from([b"a", b"bc" * 40, b"\n", b"\r\n", b"\n\n\n", b"x" * 3000]), max_size=80),
    st.integers(1, 500),
)
def test_blocks_look_at_every_byte_once(pieces: list[bytes], size: int) -> None:
    import io

    raw = b"".join(pieces)
    at = 0
    for block in blocks.read_blocks(io.BytesIO(raw), size):
        assert block.text == raw[block.base : block.base + len(block.text)]
        assert block.base + block.done == at
        assert block.lines_before == raw.count(b"\n", 0, block.base)
        at = block.base + block.end
    assert at == len(raw)


def test_a_message_over_the_border_of_two_blocks(log: Path) -> None:
    filler = "step 1 loss 0.5\n"
    for offset in range(-60, 20, 7):
        before = filler * (blocks.SIZE // len(filler) - 10)
        before += "." * (blocks.SIZE - len(before) + offset - 1) + "\n"
        log.write_text(before + "RuntimeError: CUDA out of mem\nory\n" + filler * 100)
        (hit,) = found(log, "ahocorasick")
        assert (hit.rule.id, hit.evidence.line, hit.count) == ("oom", before.count("\n") + 1, 1)


def test_standard_input_of_any_size() -> None:
    code = (
        "from pathlib import Path; from hackathon.config.rule import Pattern, Rule\n"
        "from hackathon.diagnosis.scan import LogFile, scan\n"
        "rule = Rule(id='x', part='gpu', level='root', title='x', patterns=[Pattern(text='CUDA out of memory')])\n"
        "print([(hit.evidence.file, hit.evidence.line) for hit in scan([LogFile(Path('-'), '-')], [rule])])"
    )
    given = b"line\n" * 500_000 + b"CUDA out of memory\n"
    done = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, check=True, timeout=120)
    assert done.stdout.decode().strip() == "[('-', 500001)]"


@pytest.mark.slow
def test_memory_is_bounded(log: Path) -> None:
    """A log of 200 MB without a single line end and one with lines take the same few megabytes."""
    code = (
        "import re, sys; from pathlib import Path; from hackathon.config.rule_files import load_rules\n"
        "from hackathon.diagnosis.scan import LogFile, scan\n"
        "hits = scan([LogFile(Path(sys.argv[1]), 'log')], load_rules()[0])\n"
        # not getrusage: that begins with the peak of the process which started this one
        "status = Path('/proc/self/status').read_text()\n"
        "print(len(hits), int(re.search(r'VmHWM:\\s+(\\d+) kB', status)[1]) // 1024)"
    )
    for piece in (b"x" * 100, b"step 1 loss 0.5 samples/s 100.0\n"):
        with log.open("wb") as stream:
            for _ in range(100):
                stream.write(piece * (1_000_000 // len(piece)))
            stream.write(b"\nCUDA out of memory. Tried to allocate 2.00 GiB\n")
        done = subprocess.run([sys.executable, "-c", code, str(log)], capture_output=True, check=True, timeout=300)
        megabytes = int(done.stdout.split()[1])
        assert megabytes < 200


def test_without_the_libraries_the_plain_search_is_used(monkeypatch: pytest.MonkeyPatch, log: Path) -> None:
    monkeypatch.setitem(sys.modules, "hyperscan", None)
    assert make_matcher(needles_of(RULES)).name == "ahocorasick"
    with pytest.raises(ImportError):
        make_matcher(needles_of(RULES), "hyperscan")
    monkeypatch.setitem(sys.modules, "ahocorasick_rs", None)
    log.write_text(OOM)
    scanner = Scanner(RULES)
    assert [hit.rule.id for hit in scanner.scan([LogFile(log, "log", "rank")])] == ["oom", "allocate"]
    assert scanner.engine == "re"
    assert [hit.rule.id for hit in scan([LogFile(log, "log", "rank")], RULES)] == ["oom", "allocate"]


def test_a_compiled_search_is_kept_and_a_damaged_one_is_made_anew(own_home: Path) -> None:
    pytest.importorskip("hyperscan")
    folder = own_home / "cache/hackathon/rules"
    needles = needles_of(RULES)
    text = blocks.Block(OOM.encode())
    wanted = sorted(make_matcher(needles, "hyperscan").present(text))
    assert wanted
    (file,) = folder.iterdir()
    written = file.stat().st_mtime_ns
    assert sorted(make_matcher(needles, "hyperscan").present(text)) == wanted
    assert file.stat().st_mtime_ns == written
    content = file.read_bytes()
    for damaged in (b"", content[:100], content[:-8] + b"deadbeef", b"\0" * len(content)):
        file.write_bytes(damaged)
        assert sorted(make_matcher(needles, "hyperscan").present(text)) == wanted
        assert file.read_bytes() == content


def test_little_to_read_does_not_wait_for_a_slow_compiler(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("hyperscan")
    log.write_text(OOM)
    scanner = Scanner(RULES)
    first = scanner.scan([LogFile(log, "log", "rank")])
    assert scanner.engine == "ahocorasick"
    with monkeypatch.context() as much:
        much.setattr("hackathon.diagnosis.scan._bytes", lambda path: 1 << 30)
        assert scanner.scan([LogFile(log, "log", "rank")]) == first
    assert scanner.engine == "hyperscan"
    # now it is in the cache
    again = Scanner(RULES)
    assert again.scan([LogFile(log, "log", "rank")]) == first
    assert again.engine == "hyperscan"


def test_a_table_is_made_for_much_to_read_and_finds_the_same(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hyperscan", None)
    log.write_text(OOM)
    scanner, found = Scanner(RULES), []
    for size, enough in ((10, WORTH_A_TABLE), (WORTH_A_TABLE, SLOW_TO_MAKE), (10, SLOW_TO_MAKE)):
        monkeypatch.setattr("hackathon.diagnosis.scan._bytes", lambda path, size=size: size)
        found.append(scanner.scan([LogFile(log, "log", "rank")]))
        assert scanner._matcher is not None and scanner._matcher.enough == enough
    assert found[0] and found[0] == found[1] == found[2]


@given(st.lists(st.sampled_from([OOM, "CUDA", "out of mem", "ory\n", "RuntimeError: ", "x"]), max_size=8))
def test_an_automaton_with_and_without_a_table_finds_the_same(parts: list[str]) -> None:
    text = blocks.Block("".join(parts).encode())
    assert sorted(SMALL.present(text)) == sorted(LARGE.present(text))


def test_no_rules_find_nothing(log: Path) -> None:
    log.write_text(OOM)
    for engine in ENGINES:
        assert Scanner([], engine).scan([LogFile(log, "log")]) == []


@pytest.mark.parametrize("damage", [None, [], [None], [[1, 2]] * 201, {"a": 1}])
def test_stored_analyses_of_patterns_change_nothing(own_home: Path, damage: object) -> None:
    patterns = [Pattern(text=f"quark number {number} is out") for number in range(199)]
    rules = [*RULES[1:3], rule("many", *patterns), rule("wrong", Pattern(regex="(["))]
    folder = own_home / "cache/hackathon/config"
    first = needles_of(rules)
    (stored,) = folder.glob("*.json")
    if damage is not None:
        keep(stored.stem, damage)
    for again in (needles_of(rules), needles_of(rules)):
        assert [(needle.literal, needle.folded, needle.wanted) for needle in again] == [
            (needle.literal, needle.folded, needle.wanted) for needle in first
        ]
    assert list(folder.glob("*.json")) == [stored] and needles_of(RULES) and list(folder.glob("*.json")) == [stored]
