"""Collectives of a GPU belong to the step that launched them, whenever they run there."""

import io

from hackathon.profiling.traces.report import Profile, profile_of
from hackathon.profiling.traces.trace import read_stream
from support.traces import MadeTrace

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
