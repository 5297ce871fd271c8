"""Kernels belong to the operator that launched them, by its id or by the call of the runtime; else to nobody."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.profiling.traces.recording import recording
from hackathon.profiling.traces.report import Profile, read_profile
from hackathon.profiling.traces.roof_sentences import operator_rows
from support.paths import TESTS
from support.traces import MadeTrace

STEPS = 4


class Launching(MadeTrace):
    """A trace whose kernels say who launched them."""

    def launched(
        self, begin: float, end: float, name: str, *, external: int | None = None, correlation: int | None = None
    ) -> None:
        """Add a kernel."""
        told = {"External id": external, "correlation": correlation}
        self.add("kernel", name, begin, end, pid=0, tid=7, device=0, stream=7,
                 **{key: value for key, value in told.items() if value is not None})  # fmt: skip

    def launch(self, at: float, correlation: int, tid: int = 4100) -> None:
        """Add the call of the runtime that launches a kernel."""
        self.add("cuda_runtime", "cudaLaunchKernel", at, at + 0.01, tid=tid, correlation=correlation)


def made(folder: Path, *, links: bool = True) -> Profile:
    """Return the profile of steps of 20 ms: linear (addmm within), a copy kernel by correlation, one of nobody."""
    trace = Launching()
    shape = {"Input Dims": [[50], [100, 200], [200, 50]], "Input type": ["float"] * 3}
    for step in range(STEPS):
        at, number = 20 * step, 100 * step
        trace.step(step, at, at + 20)
        trace.add("cpu_op", "aten::linear", at + 1, at + 3, **{"External id": number + 1})
        trace.add("cpu_op", "aten::addmm", at + 1.5, at + 2.5, **{"External id": number + 2, **shape})
        trace.add("cpu_op", "aten::copy_", at + 3, at + 4, **{"External id": number + 3})
        trace.launch(at + 3.5, number + 50)
        trace.launch(at + 5, number + 51)  # in no operator
        ids: Any = {"external": number + 2} if links else {}
        trace.launched(at + 2, at + 10, "gemm", **ids)
        trace.launched(at + 10, at + 12, "bias", **ids)
        trace.launched(at + 12, at + 16, "elementwise", external=9999, correlation=number + 50 if links else None)
        trace.launched(at + 16, at + 18, "graph", correlation=number + 51 if links else None)
    peaks = {"device_peaks": {"flops_per_s": {"fp32": 1e12}, "bytes_per_s": 1e12}}
    return read_profile([trace.write(folder)], [recording(0, peaks)])


def test_kernels_are_summed_up_by_operator(tmp_path: Path) -> None:
    found = made(tmp_path).device_time
    assert found is not None
    assert [(each.name, each.kernels, each.seconds) for each in found.operators] == [
        ("aten::addmm", 2, pytest.approx(0.010)), ("aten::copy_", 1, pytest.approx(0.004)),
    ]  # fmt: skip
    assert [each.share for each in found.operators] == [pytest.approx(10 / 16), pytest.approx(4 / 16)]
    assert found.known == pytest.approx(14 / 16)
    told = made(tmp_path).to_json()
    assert told["device_operators"][0]["name"] == "aten::addmm" and told["device_operators_known"] == 0.875


def test_nothing_is_said_where_kernels_do_not_tell(tmp_path: Path) -> None:
    found = made(tmp_path, links=False)
    assert found.device_time is None and found.to_json()["device_operators"] == []
    trace = MadeTrace()
    for step in range(STEPS):
        trace.step(step, 10 * step, 10 * step + 10)
        trace.operator(10 * step, 10 * step + 5)
    assert read_profile([trace.write(tmp_path)]).device_time is None, "no device"


def test_the_roof_knows_an_operators_time_only_when_every_kernel_has_one(tmp_path: Path) -> None:
    roof = made(tmp_path).roofline
    assert roof is not None and [each.seconds for each in roof.operators] == [None], "one kernel is nobody's"
    trace = Launching()
    shape = {"Input Dims": [[100, 200], [200, 50]], "Input type": ["float"] * 2}
    for step in range(STEPS):
        at = 20 * step
        trace.step(step, at, at + 20)
        trace.add("cpu_op", "aten::mm", at + 1, at + 4, **{"External id": 10 * step + 1, **shape})
        trace.add("cpu_op", "aten::cublas", at + 2, at + 3, **{"External id": 10 * step + 2})
        trace.launched(at + 2, at + 12, "gemm", external=10 * step + 2)  # of an operator within the counted one
    roof = read_profile([trace.write(tmp_path)]).roofline
    assert roof is not None and [each.seconds for each in roof.operators] == [pytest.approx(0.010)]


LINKS = st.none() | st.integers(-2, 5) | st.floats() | st.text(max_size=2)
CATEGORIES = st.sampled_from(["cpu_op", "kernel", "cuda_runtime"])


@given(st.lists(st.tuples(CATEGORIES, st.floats(0, 50), st.floats(0, 20), LINKS), max_size=30))
def test_whatever_events_say_shares_stay_shares(tmp_path_factory: pytest.TempPathFactory, events: list[Any]) -> None:
    trace = MadeTrace()
    trace.step(1, 0, 30)
    trace.step(2, 30, 60)
    trace.operator(0, 60)
    for category, begin, seconds, link in events:
        trace.add(category, f"{category} {link}", begin, begin + seconds, **{"External id": link, "correlation": link})
    found = read_profile([trace.write(tmp_path_factory.mktemp("t"))]).device_time
    if found is not None:
        assert 0 <= found.known <= 1 + 1e-9  # 0: the only kernel that is linked took no time
        assert sum(each.share for each in found.operators) <= found.known + 1e-9


@pytest.mark.parametrize(("left_over", "known"), [(2, True), (0, True), (-1, False)])
def test_what_a_device_had_left_to_do_at_the_beginning_belongs_to_no_step(
    tmp_path: Path, left_over: int, known: bool
) -> None:
    """The device is one step behind: kernels of before come first, and those of the last step after it."""
    trace = Launching()
    shape = {"Input Dims": [[100, 200], [200, 50]], "Input type": ["float"] * 2}
    for step in range(STEPS):
        at = 10 * step
        trace.step(step, at, at + 10)
        trace.add("cpu_op", "aten::mm", at + 1, at + 2, **{"External id": step + 1, **shape})
        trace.launch(at + 1.5, 100 + step)
        trace.launched(at + 10.5, at + 18.5, "gemm", external=step + 1, correlation=100 + step)
    for number in range(left_over):
        trace.launched(0.5 + 4 * number, 4.5 + 4 * number, "gemm", correlation=10 + number)
    if left_over < 0:  # in the midst of the others: whose it is nobody knows
        trace.launched(28.6, 30.4, "gemm", correlation=10)
    peaks = {"device_peaks": {"flops_per_s": {"fp32": 1e12}, "bytes_per_s": 1e12}}
    roof = read_profile([trace.write(tmp_path)], [recording(0, peaks)]).roofline
    assert roof is not None
    assert [each.seconds for each in roof.operators] == [pytest.approx(0.008) if known else None]


def test_a_recorded_trace_of_an_h100() -> None:
    """Of torch 2.11.0+cu130: eight layers of 4096 × 4096 without bias, 8192 rows, bf16; the device is synchronised
    after the optimizer, where a step ends, so that kernels of the step before come first."""
    peaks = {"device_peaks": {"flops_per_s": {"fp32": 51.2e12, "bf16": 872e12}, "bytes_per_s": 2.87e12}}
    found = read_profile([TESTS / "samples/torch_profiler/h100-rank-0.json.gz"], [recording(0, peaks)])
    assert found.findings == [] and found.to_json()["ranks"][0]["devices"] == ["NVIDIA H100 80GB HBM3"]
    assert found.mean.compute / found.mean.seconds == pytest.approx(0.914, abs=0.002)
    assert found.tensor_core_share == pytest.approx(0.8, abs=0.01)
    roof = found.roofline
    # the gradient of the first input is not needed
    assert roof is not None and roof.flops == pytest.approx(2 * 8192 * 4096**2 * (3 * 8 - 1))
    assert roof.achieved == pytest.approx(569e12, rel=0.02)  # by the program's own clock, not recorded
    (mm,) = roof.operators
    # 230 products took 0.355 ms each, by the kernels' own times
    assert mm.seconds == pytest.approx(23 * 0.3555e-3, rel=0.01)
    assert roof.utilisation_of(mm) == pytest.approx(0.887, abs=0.01)
    assert operator_rows(roof)[0][:4] == ["aten::mm", "6,322", "773,200", "471.9"]
