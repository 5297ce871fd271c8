"""Collectives of a GPU belong to the step that launched them, whenever they run there."""

import io
import json

import pytest

from hackathon.profiling.traces.report import Profile, profile_of
from hackathon.profiling.traces.trace import read_stream
from support.traces import MadeTrace, gloo_traces

COMPUTED, REDUCED = 85.0, 95.0


def pair(*, ahead: float = 98, launches: bool, late: float = 0, host: str = "node1") -> Profile:
    """Return the profile of two ranks whose GPUs do the same at once, while the program of rank 1 is `ahead`.

    `late`: milliseconds by which the kernels of rank 0 take longer.
    """
    made = []
    for rank in range(2):
        trace = MadeTrace(rank, 2, host if rank else "node1")
        for step in range(12):
            at, begin = 100.0 * step, 100.0 * step - ahead * rank
            if 1 <= step < 11:
                trace.step(step, begin, begin + 100)
            if launches:
                trace.add("cuda_runtime", "cudaLaunchKernelExC", begin + 5, begin + 5.1, correlation=step + 1)
            more = late if rank == 0 else 0
            trace.kernel(at, at + COMPUTED - 10 + more)
            told = {"correlation": step + 1} if launches else {}
            trace.nccl(at + COMPUTED - 10 + more, at + REDUCED, **told)
            trace.kernel(at + REDUCED, at + 100)
        made.append(trace)
    return profile_of([read_stream(io.BytesIO(each.text()), f"rank-{each.rank}.json") for each in made])


def test_a_program_that_is_a_step_ahead_makes_nobody_late() -> None:
    for host in ("node1", "node2"):
        for launches in (True, False):
            found = pair(launches=launches, host=host)
            assert found.findings == [] and not any(seconds for _, seconds in found.shares.caused), (host, launches)
            assert abs(found.clocks[1].shift - (found.traces[1].origin - found.traces[0].origin)) < 1
    assert [each.waiting for each in pair(launches=True).shares.ranks] == [0, 0]
    # without launches the steps of the collectives are not known, so waiting is not
    assert [each.waiting for each in pair(launches=False).shares.ranks] == [None, None]
    assert pair(launches=False, ahead=0).shares.ranks[0].waiting == 0


def test_a_late_rank_is_found_though_the_other_program_is_ahead() -> None:
    (found,) = pair(launches=True, late=10).findings
    assert (found.id, found.rank) == ("late-rank", 0) and "10 ms" in found.advice and "compute" in found.advice


def two_hosts(*, ahead: float, late: float = 0, long: float = 14.8, bucket: bool = False) -> Profile:
    """Return the profile of a TensorFlow program on two hosts, whose kernels do not say by what they were launched.

    `ahead`: milliseconds by which the clock of node1 is ahead; `bucket`: a second collective 5 ms before the first.
    """
    made = []
    for rank in range(2):
        trace = MadeTrace(rank, 2, f"node{rank}", ahead=ahead * rank)
        for step in range(10):
            at, begin = 100.0 * step, 100.0 * step + 90 - long + late * rank
            trace.step(step, at, at + 100)
            trace.kernel(at + 2, begin - 5 * bucket)
            if bucket:
                trace.nccl(begin - 5, at + 85)
            trace.nccl(begin, at + 90)
        made.append(trace)
    read = [json.dumps({"framework": "tensorflow", **each.value()}).encode() for each in made]
    return profile_of([read_stream(io.BytesIO(each), f"rank-{rank}.json") for rank, each in enumerate(read)])


@pytest.mark.parametrize("long", [14.8, 1.5])
def test_collectives_without_launches_align_two_hosts_by_their_ends(long: float) -> None:
    for ahead in (0, 2, -8, 20):
        found = two_hosts(ahead=ahead, long=long)
        assert found.findings == [] and found.remarks == [] and found.clocks[1].basis == "collectives", ahead
        assert [each.waiting for each in found.shares.ranks] == pytest.approx([0, 0])
    (late,) = two_hosts(ahead=5, late=10).findings
    assert (late.id, late.rank) == ("late-rank", 1) and "10 ms" in late.message


def test_between_hosts_whose_clocks_are_not_aligned_waiting_is_not_known() -> None:
    """The clocks differ by more than half of what is between two collectives, so that any two could be a pair."""
    found = two_hosts(ahead=8, long=4, bucket=True)
    assert found.findings == [] and found.shares.caused == () and found.clocks[1].basis == "unaligned"
    assert [each.waiting for each in found.shares.ranks] == [None, None]
    (remark,) = found.remarks
    assert "clocks" in remark and "waiting" in remark
    # two steps are too few to align the clocks by, with or without launches
    few = gloo_traces(2, {}, steps=2)
    few[1].host = "node2"
    for event in few[1].events:
        event["ts"] += 8e3
    short = profile_of([read_stream(io.BytesIO(each.text()), f"rank-{each.rank}.json") for each in few])
    assert [each.waiting for each in short.shares.ranks] == [None, None] and short.findings == []
