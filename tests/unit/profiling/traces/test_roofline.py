"""FLOPs by the recorded shapes agree with torch's own counter, and nothing is said of what is not known."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.profiling.traces.recording import recording
from hackathon.profiling.traces.report import Profile, read_profile
from hackathon.profiling.traces.roof_sentences import operator_rows, roof_sentences
from hackathon.profiling.traces.roofline import PROBE, Peak, Peaks, peaks_of
from hackathon.profiling.traces.work import work_of
from hackathon.text.messages import speaking
from support.traces import MadeTrace

FLOAT = {"Input type": ["float", "float"]}


def shaped(name: str, *dims: list[int], kind: str = "float", words: tuple[str, ...] = ()) -> Any:
    return work_of(name, {"Input Dims": list(dims), "Input type": [kind] * len(dims), "Concrete Inputs": list(words)})


def made(
    folder: Path, *, shapes: bool = True, kind: str = "float", nested: bool = False, kernels: bool = False
) -> Path:
    """Write the trace of three steps of 10 ms, each with a product of 100 × 200 and 200 × 50 in 5 ms."""
    trace = MadeTrace()
    for step in range(3):
        at = 10 * step
        trace.step(step, at, at + 10)
        dims = {"Input Dims": [[100, 200], [200, 50]], "Input type": [kind, kind]} if shapes else {}
        trace.add("cpu_op", "aten::mm", at + 2, at + 7, **dims)
        if nested:  # what a counted operator calls itself is counted with it
            trace.add("cpu_op", "aten::mm", at + 3, at + 4, **dims)
        if kernels:
            trace.kernel(at + 2, at + 7)
    return trace.write(folder)


FLOPS = 2 * 100 * 200 * 50
BYTES = 4 * (100 * 200 + 200 * 50 + 100 * 50)


def profile(
    file: Path, flops: float | None = 1e9, memory: float | None = 1e9, declared: Peaks | None = None
) -> Profile:
    probed = {"flops_per_s": {"fp32": flops} if flops else {}, "bytes_per_s": memory}
    return read_profile([file], [recording(0, {"device_peaks": probed})], declared)


@pytest.mark.parametrize("nested", [False, True])
def test_achieved_rates_and_mfu_by_hand(tmp_path: Path, nested: bool) -> None:
    roof = profile(made(tmp_path, nested=nested)).roofline
    assert roof is not None
    assert roof.flops == pytest.approx(FLOPS) and roof.bytes == pytest.approx(BYTES)
    assert roof.achieved == pytest.approx(FLOPS / 0.01) and roof.utilisation == pytest.approx(FLOPS / 0.01 / 1e9)
    (mm,) = roof.operators
    assert mm.seconds == pytest.approx(0.005) and mm.intensity == pytest.approx(FLOPS / BYTES)
    assert roof.utilisation_of(mm) == pytest.approx(FLOPS / 0.005 / 1e9)
    assert roof.bound_of(mm) == "compute"  # 14 FLOPs a byte, and both peaks meet at one
    low = profile(made(tmp_path), memory=1e7).roofline
    assert low is not None and low.bound_of(low.operators[0]) == "memory"


def test_what_is_not_known_is_not_told(tmp_path: Path) -> None:
    assert profile(made(tmp_path, shapes=False)).roofline is None
    without = profile(made(tmp_path), None, None).roofline
    assert without is not None and without.utilisation is None and without.bound_of(without.operators[0]) is None
    other = profile(made(tmp_path, kind="c10::BFloat16")).roofline
    assert other is not None and other.utilisation is None and other.bytes == pytest.approx(BYTES / 2)
    bare = profile(made(tmp_path), memory=None).roofline
    assert bare is not None and bare.utilisation is not None and bare.bound_of(bare.operators[0]) is None
    on_gpu = profile(made(tmp_path, kernels=True)).roofline
    assert on_gpu is not None and on_gpu.operators[0].seconds is None and on_gpu.utilisation is not None
    unmarked = MadeTrace()
    unmarked.add("cpu_op", "aten::mm", 0, 1, **{"Input Dims": [[2, 2], [2, 2]], "Input type": ["float", "float"]})
    assert profile(unmarked.write(tmp_path)).roofline is None


def test_the_profile_of_a_cluster_counts_on_its_gpus_alone(tmp_path: Path) -> None:
    declared = Peaks({"fp32": Peak(2e9, "tsubame4")}, Peak(3e9, "tsubame4"))
    cpu = profile(made(tmp_path), declared=declared)
    assert cpu.peaks.flops["fp32"].source == PROBE
    gpu = profile(made(tmp_path, kernels=True), declared=declared)
    assert gpu.peaks == declared
    # TF32 is faster than fp32 can be: then the measured peak is the one to compare with
    fast = profile(made(tmp_path, kernels=True), 8e9, declared=declared)
    assert fast.peaks.flops["fp32"] == Peak(8e9, PROBE)


def test_fp32_convolutions_count_at_the_peak_of_tf32_where_the_probe_saw_that_it_is_allowed(tmp_path: Path) -> None:
    words = ["", "", "", "[1]", "[0]", "[1]", "False", "[0]", "1"]
    trace = MadeTrace()
    for step in range(3):
        trace.step(step, 10 * step, 10 * step + 10)
        shapes = {"Input Dims": [[1, 10, 100], [20, 10, 1], [20]], "Concrete Inputs": words}
        trace.add("cpu_op", "aten::convolution", 10 * step + 1, 10 * step + 3, **shapes, **FLOAT)
        trace.kernel(10 * step + 1, 10 * step + 3)
    file, flops = trace.write(tmp_path), 2 * 100 * 20 * 10

    def mfu(declared: dict[str, float], **probed: float) -> tuple[float | None, list[tuple[str, str]]]:
        known = Peaks({name: Peak(value, "ours") for name, value in declared.items()})
        told = recording(0, {"device_peaks": {"flops_per_s": probed, "bytes_per_s": 1e9}})
        roof = read_profile([file], [told], known if declared else None).roofline
        assert roof is not None and roof.flops == flops
        return roof.utilisation, [(name, peak.source) for name, peak in roof.sources]

    in_fp32, in_tf32 = pytest.approx(flops / 0.01 / 1e7), pytest.approx(flops / 0.01 / 8e7)
    assert mfu({}, fp32=1e7) == (in_fp32, [("fp32", PROBE)])
    assert mfu({}, fp32=1e7, tf32=8e7) == (in_tf32, [("tf32", PROBE)])
    assert mfu({"fp32": 1e7}, fp32=1e7, tf32=8e7) == (in_tf32, [("tf32", PROBE)])
    assert mfu({"fp32": 1e7, "tf32": 8e7}, fp32=1e7, tf32=7e7) == (in_tf32, [("tf32", "ours")])
    # what was not measured is not used by this program
    assert mfu({"fp32": 1e7, "tf32": 8e7}, fp32=1e7) == (in_fp32, [("fp32", "ours")])
    # a product of matrices is not convolved
    mm = profile(made(tmp_path)).roofline
    assert mm is not None and set(mm.operators[0].by_precision) == {"fp32"}


def test_a_rank_without_a_probe_leaves_the_peak_unknown_and_the_least_counts() -> None:
    told = [recording(rank, {"device_peaks": {"flops_per_s": {"fp32": value}, "bytes_per_s": value}})
            for rank, value in enumerate((3.0, 2.0))]  # fmt: skip
    assert peaks_of(told) == Peaks({"fp32": Peak(2.0, PROBE)}, Peak(2.0, PROBE))
    assert peaks_of([*told, recording(2, {})]) == Peaks({}, None)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_words_name_the_peak(tmp_path: Path, language: str) -> None:
    with speaking(language):
        told = " ".join(roof_sentences(profile(made(tmp_path))))
        assert "MFU 20.0 %" in told and "fp32" in told and "{" not in told
        assert "MFU" in " ".join(roof_sentences(profile(made(tmp_path), None)))
        (line,) = roof_sentences(profile(made(tmp_path, shapes=False)))
        assert line and "{" not in line
        roof = profile(made(tmp_path)).roofline
        assert roof is not None
        (row,) = operator_rows(roof)
        assert row[0] == "aten::mm" and row[1] == "0.002"


def test_operators_by_hand() -> None:
    assert shaped("aten::mm", [3, 4], [4, 5]).flops == 120
    assert shaped("aten::addmm", [5], [3, 4], [4, 5]).bytes == 4 * (5 + 12 + 20 + 15)
    assert shaped("aten::bmm", [2, 3, 4], [2, 4, 5], kind="c10::Half").precision == "fp16"
    words = ("", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1")
    convolution = shaped("aten::convolution", [4, 3, 32, 32], [8, 3, 3, 3], [8], words=words)
    assert convolution.flops == 442368 == 2 * 4 * 8 * 16 * 16 * 27
    # groups: each result needs half of the channels, and so does each gradient (torch's counter takes all for weights)
    words = ("", "", "", "[0]", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "2", "[True, True, False]")
    backward = shaped("aten::convolution_backward", [2, 8, 12, 12], [2, 8, 14, 14], [8, 4, 3, 3], words=words)
    assert backward.flops == 2 * (2 * 2 * 8 * 144 * 4 * 9)
    attention = shaped("aten::_scaled_dot_product_flash_attention_for_cpu", *[[2, 4, 16, 8]] * 3)
    assert attention.flops == 2 * 2 * (2 * 4 * 16 * 16 * 8)
    backward = shaped("aten::_scaled_dot_product_flash_attention_backward", *[[2, 4, 16, 8]] * 4)
    assert backward.flops == pytest.approx(2.5 * attention.flops)
    for nothing in (
        shaped("aten::mm", [3, 4], [5, 4]), shaped("aten::mm", [3, 4]), shaped("aten::relu", [3]),
        shaped("aten::mm", [3, 4], [4, 5], kind="c10::complex<float>"), work_of("aten::mm", {}),
        shaped("aten::convolution", [4, 3, 32, 32], [8, 3, 3, 3], [8], words=(*words[:6], "True", *words[7:])),
    ):  # fmt: skip
        assert nothing is None


wild = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=5),
    max_leaves=12,
)
names = st.sampled_from([
    "aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::convolution", "aten::convolution_backward",
    "aten::_scaled_dot_product_flash_attention", "aten::_scaled_dot_product_cudnn_attention_backward",
])  # fmt: skip
dims = st.lists(st.lists(st.integers(0, 10**13) | st.floats(0, 100), max_size=9), max_size=4)


@given(names, dims | wild, st.lists(st.just("float"), min_size=1, max_size=4) | wild, wild)
def test_whatever_stands_in_a_trace_is_work_or_nothing(name: str, dims: Any, kinds: Any, words: Any) -> None:
    found = work_of(name, {"Input Dims": dims, "Input type": kinds, "Concrete Inputs": words})
    assert found is None or (0 <= found.flops < 1e30 and 0 <= found.bytes < 1e33)
    json.dumps(found and [found.flops, found.bytes], allow_nan=False)


PROGRAM = """
import json, sys
import torch
from torch.profiler import profile, supported_activities
from torch.utils.flop_counter import FlopCounterMode
torch.set_num_threads(1)
mlp = torch.nn.Sequential(torch.nn.Linear(24, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8))
convolutions = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, stride=2, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3, dilation=2),
    torch.nn.Flatten(), torch.nn.LazyLinear(4))
heads = torch.nn.MultiheadAttention(16, 2, batch_first=True)
data = {"mlp": torch.randn(16, 24), "convolutions": torch.randn(2, 3, 32, 32)}
sequence = torch.randn(2, 5, 16)
def train(name):
    if name == "products":
        left = torch.randn(3, 4, 5, requires_grad=True)
        torch.baddbmm(torch.zeros(3, 4, 6), left, torch.randn(3, 5, 6)).sum().backward()
    elif name == "attention":
        heads(sequence, sequence, sequence, need_weights=True)[0].sum().backward()
    else:
        {"mlp": mlp, "convolutions": convolutions}[name](data[name]).sum().backward()
for name in ("mlp", "convolutions", "attention", "products"):
    train(name)
    with FlopCounterMode(display=False) as counter:
        train(name)
    with profile(activities=list(supported_activities()), record_shapes=True) as recorded:
        with torch.profiler.record_function("ProfilerStep#0"):
            train(name)
    recorded.export_chrome_trace(f"{sys.argv[1]}/{name}.json")
    with open(f"{sys.argv[1]}/{name}.txt", "w") as stream:
        stream.write(str(counter.get_total_flops()))
"""


@pytest.mark.torch
@pytest.mark.slow
def test_flops_agree_with_torch_and_with_the_analytical_count(tmp_path: Path) -> None:
    import subprocess
    import sys

    pytest.importorskip("torch")
    subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], check=True, timeout=300)
    for name in ("mlp", "convolutions", "attention", "products"):
        roof = read_profile([tmp_path / f"{name}.json"]).roofline
        assert roof is not None, name
        assert roof.flops == pytest.approx(int((tmp_path / f"{name}.txt").read_text())), name
        if name == "mlp":  # forward, the gradient of both weights, and of the hidden layer
            assert roof.flops == pytest.approx(2 * 16 * (2 * (24 * 32 + 32 * 8) + 32 * 8))


@pytest.mark.torch
@pytest.mark.slow
def test_the_probe_measures_products_and_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from hackathon.profiling import device_probe

    monkeypatch.setattr(device_probe, "SECONDS", 0.05)
    monkeypatch.setitem(device_probe.SIZES, "cpu", (64, 256))
    found = device_probe.device_peaks()
    assert found["device"] in ("cpu", "cuda") and found["flops_per_s"]["fp32"] > 0 and found["bytes_per_s"] > 0


@pytest.mark.torch
def test_the_probe_measures_tf32_where_cudnn_convolves_in_it_and_leaves_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch = pytest.importorskip("torch")
    from hackathon.profiling import device_probe

    matmul, allowed = torch.backends.cuda.matmul, []

    def rate(torch: Any, device: str, kind: Any) -> float:
        allowed.append(matmul.allow_tf32)
        return 8.0 if kind == torch.float32 and matmul.allow_tf32 else 1.0

    for name, value in {"is_available": True, "is_initialized": True}.items():
        monkeypatch.setattr(torch.cuda, name, lambda value=value: value)
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    monkeypatch.setattr(device_probe, "matmul_rate", rate)
    monkeypatch.setattr(device_probe, "copy_rate", lambda *_: 1.0)

    def probed(capability: int = 8) -> dict[str, float]:
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (capability, 0))
        found: dict[str, float] = device_probe.device_peaks()["flops_per_s"]
        return found

    assert not matmul.allow_tf32 and torch.backends.cudnn.allow_tf32
    assert probed() == {"fp32": 1.0, "bf16": 1.0, "fp16": 1.0, "tf32": 8.0}
    assert allowed == [False] * 3 + [True] and not matmul.allow_tf32
    assert "tf32" not in probed(7)
    with monkeypatch.context() as other:
        other.setenv("NVIDIA_TF32_OVERRIDE", "0")
        assert "tf32" not in probed()
    with monkeypatch.context() as other:
        other.setattr(torch.version, "cuda", None)  # ROCm: MIOpen has no TF32
        assert "tf32" not in probed()
    with monkeypatch.context() as other:
        other.setattr(torch.backends.cudnn, "allow_tf32", False)
        assert "tf32" not in probed()
    with monkeypatch.context() as other:
        other.setattr(matmul, "allow_tf32", True)
        assert probed()["fp32"] == probed()["tf32"] == 8.0 and matmul.allow_tf32


@pytest.mark.parametrize(("plain", "told"), [(0.006, True), (0.0098, False)])
def test_the_mfu_without_the_recording_is_told_where_recording_costs_much(
    tmp_path: Path, plain: float, told: bool
) -> None:
    seconds = {"before": [plain] * 3, "recorded": [0.01] * 3, "after": []}
    peaks = {"flops_per_s": {"fp32": 2e9}, "bytes_per_s": 1e9}
    found = read_profile([made(tmp_path)], [recording(0, {"device_peaks": peaks, "seconds": seconds})])
    sentences = roof_sentences(found)
    assert found.roofline is not None and found.roofline.utilisation == pytest.approx(0.1)
    sentence = "Recording makes a step 67 % longer: without it the MFU is about 16.7 %"
    assert (sentence in sentences) is told
    assert any("Recording makes" in each for each in sentences) is told
