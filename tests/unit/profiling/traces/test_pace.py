"""The time of a step is told where the device keeps pace with the program in the steps that count."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from hackathon.profiling.shares import RunShares, StepShares
from hackathon.profiling.traces.report import Profile, profile_of
from hackathon.profiling.traces.roof_sentences import roof_sentences
from hackathon.profiling.traces.trace import read_stream
from hackathon.runs.directory import RunDirectory
from hackathon.scaling.evidence import evidence_of
from support.recorded_run import RecordedRun
from support.traces import MadeTrace

KERNELS = 20
GPU, HOST = 100.0, 20.0
"""Milliseconds that a step takes on the device, and that the program needs to launch it."""


def never(step: int) -> bool:
    return False


def always(step: int) -> bool:
    return True


def each(steps: int, at: int) -> Callable[[int], bool]:
    return lambda step: step % steps == at


def queued(
    queue: float, first: int, steps: int = 10, sync: Callable[[int], bool] = never, *, seen: bool = False,
    rank: int = 0, processes: int = 1,
) -> MadeTrace:  # fmt: skip
    """Return a trace of some steps from the `first` on of a program that launches up to `queue` steps ahead.

    `sync`: the steps at whose beginning it waits for its device; `seen`: whether kernels of the step before the window
    are in the trace, without their launches.
    """
    trace = MadeTrace(rank, processes)
    host = device = 0.0
    done: list[float] = []
    for step in range(first + steps):
        begin = host
        host = max(host, device) if sync(step) else host
        for _ in range(KERNELS):
            if len(done) >= queue * KERNELS:
                host = max(host, done[-int(queue * KERNELS)])
            at, start = host, max(device, host)
            host, device = host + HOST / KERNELS, start + GPU / KERNELS
            done.append(device)
            if step >= first:
                trace.add("cpu_op", "aten::mm", at, at + 0.9, **{
                    "Input Dims": [[64, 64], [64, 64]], "Input type": ["float"] * 2, "Concrete Inputs": ["", ""],
                })  # fmt: skip
                trace.add("cuda_runtime", "cudaLaunchKernel", at, at + 0.5, correlation=len(done))
            if step >= first - seen:
                trace.add("kernel", "gemm", start, device, pid=rank, tid=7, device=rank, stream=7,
                          correlation=len(done) if step >= first else 0)  # fmt: skip
        if step >= first:
            trace.step(step, begin, host)
            if processes > 1:
                trace.add("cuda_runtime", "cudaLaunchKernelExC", host - 0.2, host - 0.1, correlation=10**6 + step)
                trace.nccl(device, device + 1, correlation=10**6 + step)
    return trace


def profiled(*traces: MadeTrace) -> Profile:
    return profile_of([read_stream(io.BytesIO(each.text()), f"rank-{each.rank}.json") for each in traces])


@pytest.mark.parametrize("seen", [False, True])
@pytest.mark.parametrize(
    "queue, first, steps, sync",
    [
        (3.4, 3, 10, always),  # synchronous
        (3.4, 3, 3, always),
        (3.4, 12, 10, never),  # a full pipeline
        (1, 1, 10, never),
        (3.4, 12, 10, each(10, 2)),  # .item() in the first step
        (3.4, 12, 10, each(10, 5)),
    ],
)
def test_healthy_programs_are_told_the_time_of_their_steps(
    queue: float, first: int, steps: int, sync: Callable[[int], bool], seen: bool
) -> None:
    profile = profiled(queued(queue, first, steps, sync, seen=seen))
    assert profile.remarks == [] and profile.findings == [] and "nothing stands out" in profile.verdict
    assert profile.roofline is not None and profile.mean.steps == steps
    assert profile.mean.seconds == pytest.approx(0.1, rel=0.1)


def test_a_kernel_that_waits_for_its_copy_does_not_wait_for_earlier_steps() -> None:
    trace = MadeTrace()
    for step in range(3):
        trace.step(step, 100 * step, 100 * step + 100)
        trace.copy(100 * step + 1, 100 * step + 60)
        trace.add("cuda_runtime", "cudaLaunchKernel", 100 * step + 1, 100 * step + 2, correlation=step + 1)
        trace.add("kernel", "gemm", 100 * step + 60, 100 * step + 99, pid=0, tid=7, device=0, stream=7,
                  correlation=step + 1)  # fmt: skip
    assert [finding.id for finding in profiled(trace).findings] == ["copies"]


@pytest.mark.parametrize("seen", [False, True])
@pytest.mark.parametrize("steps", [10, 20])
def test_steps_in_which_the_queue_fills_are_left_out(steps: int, seen: bool) -> None:
    profile = profiled(queued(3.4, 1, steps, seen=seen))
    assert profile.remarks == [] and 3 <= profile.mean.steps < steps
    assert profile.mean.seconds == pytest.approx(0.1, rel=0.1)


@pytest.mark.parametrize("seen", [False, True])
def test_a_device_that_is_ever_further_behind_or_catches_up_makes_the_time_of_a_step_unknown(seen: bool) -> None:
    behind = profiled(queued(99, 1, seen=seen))
    assert "falls behind" in behind.verdict and any("longer" in each for each in behind.remarks)
    # 80 ms a step that wait for the device since its last .item() are waited for in the last step
    catching_up = profiled(queued(50, 12, sync=each(20, 1), seen=seen))
    assert catching_up.mean.seconds > 0.15
    assert "earlier" in catching_up.verdict and any("earlier" in each for each in catching_up.remarks)
    for profile in (behind, catching_up):
        assert "no verdict" in profile.verdict and profile.findings == [] and profile.roofline is None
        assert len(profile.remarks) == 1 and "pace" in roof_sentences(profile)[0]


def test_a_profile_whose_time_is_not_known_gives_no_evidence(tmp_path: Path) -> None:
    run = RunDirectory(RecordedRun(tmp_path / "20260101-000001-own-2p-aaaaaaaa").path)
    shares = RunShares(2, (StepShares(0, 5, 0.1, 0.0, 0.0, 0.1, unknown=(("waiting", "unmatched"),)),))
    for number, (queue, first) in enumerate([(3.4, 12), (99, 1)], 2):
        profile = RecordedRun(tmp_path / f"20260101-00000{number}-own-2p-aaaaaaaa", tags=["profile"]).path / "profile"
        profile.mkdir()
        for rank in range(2):
            queued(queue, first, rank=rank, processes=2).write(profile)
        assert (evidence_of(run, shares=shares).profiled is None) == (queue == 99)
