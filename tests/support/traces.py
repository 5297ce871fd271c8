"""Traces as torch.profiler writes them, made up: with operators on the CPU, or with kernels as libkineto has them.

Times are in milliseconds. The fields of device events follow libkineto's `output_json.cpp`.
"""

import gzip
import json
from pathlib import Path
from typing import Any

BASE = 1_790_857_026_000_000_000
MAIN, COMMUNICATION = 4100, 4101
COMPUTE_STREAM, NCCL_STREAM = 7, 20


class MadeTrace:
    """The trace of one rank; `ahead`: milliseconds by which its host's clock is ahead of the true time."""

    def __init__(self, rank: int = 0, processes: int = 1, host: str = "node1", ahead: float = 0.0) -> None:
        self.rank, self.processes, self.host, self.ahead = rank, processes, host, ahead
        self.events: list[dict[str, Any]] = []
        self.pid = 1000 + rank

    def add(self, category: str, name: str, begin: float, end: float, *, pid: Any = None, tid: Any = MAIN,
            **arguments: Any) -> None:  # fmt: skip
        """Add an event with a duration."""
        self.events.append(
            {"ph": "X", "cat": category, "name": name, "pid": self.pid if pid is None else pid, "tid": tid,
             "ts": 1e6 + 1e3 * (begin + self.ahead), "dur": 1e3 * (end - begin), "args": arguments}
        )  # fmt: skip

    def step(self, number: int, begin: float, end: float) -> None:
        """Add what `profiler.step()` marks."""
        self.add("user_annotation", f"ProfilerStep#{number}", begin, end)

    def operator(self, begin: float, end: float, name: str = "aten::mm") -> None:
        """Add an operator of the main thread."""
        self.add("cpu_op", name, begin, end)

    def loader(self, begin: float, end: float) -> None:
        """Add the waiting for a batch."""
        self.add("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", begin, end)

    def gloo(self, begin: float, end: float, what: str = "all_reduce") -> None:
        """Add a collective as gloo's thread runs it."""
        self.add("user_annotation", f"gloo:{what}", begin, end, tid=COMMUNICATION)

    def kernel(self, begin: float, end: float, name: str = "sm90_xmma_gemm_bf16bf16_bf16f32", stream: int = 7) -> None:
        """Add a kernel of the rank's GPU."""
        self.add("kernel", name, begin, end, pid=self.rank, tid=stream, device=self.rank, context=1, stream=stream,
                 correlation=len(self.events), grid=[1, 1, 1], block=[128, 1, 1])  # fmt: skip

    def nccl(self, begin: float, end: float, what: str = "AllReduce", **arguments: Any) -> None:
        """Add a collective as NCCL's kernel runs it."""
        more = {"Collective name": what.lower(), "Process Group Name": "0", "In msg nelems": 1024, **arguments}
        self.add("kernel", f"ncclDevKernel_{what}_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", begin, end,
                 pid=self.rank, tid=NCCL_STREAM, device=self.rank, stream=NCCL_STREAM, **more)  # fmt: skip

    def copy(self, begin: float, end: float, way: str = "HtoD (Pinned -> Device)") -> None:
        """Add a copy of memory."""
        self.add("gpu_memcpy", f"Memcpy {way}", begin, end, pid=self.rank, tid=COMPUTE_STREAM, device=self.rank,
                 stream=COMPUTE_STREAM, bytes=1 << 20)  # fmt: skip

    def memory(self, at: float, total: int, device_type: int) -> None:
        """Add what `profile_memory=True` writes at each allocation."""
        self.events.append(
            {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": self.pid, "tid": MAIN,
             "ts": 1e6 + 1e3 * at, "args": {"Total Allocated": total, "Device Type": device_type, "Bytes": total}}
        )  # fmt: skip

    def value(self) -> dict[str, Any]:
        """Return the trace as JSON values, its fields in the order of torch 2.13."""
        group = {"backend": "gloo", "rank": self.rank, "world_size": self.processes, "pg_count": 1}
        return {
            "schemaVersion": 1, "deviceProperties": [],
            **({"distributedInfo": group} if self.processes > 1 else {}), "host_name": self.host,
            "displayTimeUnit": "ms", "baseTimeNanoseconds": BASE, "traceEvents": self.events, "traceName": "trace.json",
        }  # fmt: skip

    def text(self) -> bytes:
        """Return the file's content."""
        return json.dumps(self.value(), indent=1).encode()

    def write(self, folder: Path, *, packed: bool = False) -> Path:
        """Write the file and return its path."""
        path = folder / f"rank-{self.rank}.json{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(self.text()) if packed else self.text())
        return path


def gloo_traces(processes: int, late: dict[int, float], steps: int = 6, host: str = "node1") -> list[MadeTrace]:
    """Return traces whose steps have 1 ms loader, 3 ms Python, 12 ms operators and 4 ms all-reduce.

    `late`: rank → milliseconds of Python more. Who is not the latest waits in the all-reduce for it.
    """
    most = max(late.values(), default=0.0)
    length = 20 + most
    made = []
    for rank in range(processes):
        trace = MadeTrace(rank, processes, host)
        more = late.get(rank, 0.0)
        for step in range(steps):
            at = step * length
            trace.step(step, at, at + length)
            trace.loader(at, at + 1)
            trace.operator(at + 4 + more, at + 16 + more)
            trace.gloo(at + 16 + more, at + 20 + most)
        made.append(trace)
    return made
