"""Numbers, doubts and shares are the same whether each reads the Meters' files itself or all read them once."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.diagnosis.doubts import judge
from hackathon.logs import meter_files
from hackathon.logs.final import final_numbers
from hackathon.logs.meter_files import MeterFiles
from hackathon.logs.metrics import rank_files
from hackathon.profiling.meters import shares_of_run
from hackathon.runs.directory import RunDirectory, guarded
from support.samples.runs import Sample, write_run

ODD = st.sampled_from(
    [b"", b"{", b'{"t": 1', b"[1]", b"\x1b[1m", b"\r", b"\0\0", b"\xff", "損失".encode(), b'{"t": "NaN"}']
)
VALUE = st.one_of(st.integers(-3, 900), st.floats(0.001, 1e6), st.sampled_from(["NaN", "x", None, True]))
LINE = st.fixed_dictionaries(
    {"step": st.integers(0, 40)},
    optional={
        "attempt": st.sampled_from([1, 1, 1, 2, "2", None, 2**40]), "samples_per_s": VALUE, "loss": VALUE,
        "seconds": VALUE, "final": st.booleans(), "warmup": st.booleans(), "data_share": st.floats(0, 1),
        "compute_share": st.floats(0, 1), "interval": st.lists(st.integers(0, 9), max_size=2), "t": VALUE,
    },
)  # fmt: skip
FILE = st.lists(st.one_of(LINE.map(lambda each: json.dumps(each).encode()), ODD), max_size=12)


@pytest.mark.slow
@given(files=st.lists(FILE, min_size=1, max_size=3), end=st.sampled_from([b"\n", b"", b"\r\n"]), small=st.booleans())
@settings(max_examples=60, deadline=None)
def test_reading_once_changes_nothing(files: list[list[bytes]], end: bytes, small: bool) -> None:
    kept = meter_files.SMALL
    with TemporaryDirectory() as place:
        path = write_run(Path(place) / "runs", Sample(len(files), 100.0))
        for rank, lines in enumerate(files):
            (path / "metrics" / f"rank-{rank}.jsonl").write_bytes(b"\n".join(lines) + end)
        run = RunDirectory(path)
        record = run.known()
        try:
            meter_files.SMALL = 200 if small else kept
            meters = MeterFiles(rank_files(guarded(path) / "metrics", ".jsonl"))
            alone, together = (final_numbers(path, record, over=True, meters=each) for each in (None, meters))
            assert repr(alone) == repr(together)
            assert repr(judge(path, record, alone)) == repr(judge(path, record, alone, meters))
            assert repr(shares_of_run(path, len(files))) == repr(shares_of_run(path, len(files), meters))
        finally:
            meter_files.SMALL = kept


def test_a_small_file_is_opened_once(tmp_path: Path) -> None:
    path = tmp_path / "rank-0.jsonl"
    path.write_text('{"step": 1}\n{"step": 2}\n')
    meters = MeterFiles([path])
    assert meters.objects(path, 100) == [{"step": 1}, {"step": 2}]
    path.unlink()
    assert meters.objects(path, 100) == [{"step": 1}, {"step": 2}]
    assert meters.objects(path, 23) is None  # it asks for less than the file has


def test_files_that_are_long_or_no_regular_ones_are_left_to_those_who_ask(tmp_path: Path) -> None:
    (tmp_path / "rank-0.jsonl").write_bytes(b'{"step": 1}\n' * 10_000)
    (tmp_path / "rank-1.jsonl").mkdir()
    files = [tmp_path / f"rank-{rank}.jsonl" for rank in range(3)]
    assert [MeterFiles(files).objects(file, 1 << 30) for file in files] == [None, None, None]
    many = [tmp_path / f"rank-{rank}.jsonl" for rank in range(10, 40)]
    for file in many:
        file.write_bytes(b'{"step": 1}\n' * 5_000)
    meters = MeterFiles(many)
    held = [meters.objects(file, 1 << 30) is not None for file in many]
    assert held.count(True) == meter_files.TOGETHER // (12 * 5_000)
