"""Classify an event of a trace by its category and name."""

import re
from enum import IntEnum
from typing import Any

STEP = re.compile(r"ProfilerStep#(\d{1,9})\Z")


class Kind(IntEnum):
    """The kinds of events that matter here."""

    IGNORED = 0
    OPERATOR = 1
    """An operator on the CPU (`aten::mm`)."""
    BLOCKING = 2
    """An operator in which the CPU starts a collective or waits for one."""
    RANGE = 3
    """A named part of the program: `record_function`, `Optimizer.step#SGD.step`."""
    LOADER = 4
    """The program waits for its next batch."""
    LAUNCH = 5
    """A call of the device's runtime on the CPU."""
    KERNEL = 6
    COLLECTIVE = 7
    """A collective: a kernel on the device, or else work of the process's communication thread."""
    COPY_IN = 8
    """Memory copied from host to device."""
    COPY = 9
    """Memory copied elsewhere, or set, on the device."""
    STEP = 10
    """A step, as reported by the program."""


ON_DEVICE = frozenset({Kind.KERNEL, Kind.COPY_IN, Kind.COPY})
"""Kinds that exist only on a device; collectives may be there too."""
_KERNEL_COLLECTIVE = re.compile(r"(nccl|rccl)(dev)?_?kernel|^(nccl|rccl|oneccl|hccl)", re.IGNORECASE)
_HOST_COLLECTIVE = re.compile(r"(gloo|mpi|ucc|tf):")
_BLOCKING = re.compile(r"wait_tensor|\Ac10d::|\Arecord_param_comms")
_LOADER = re.compile(r"enumerate\(DataLoader\)|(data|dataloader|load_data|data_loading|next_batch)\Z", re.IGNORECASE)
_LAUNCHES = frozenset({"cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime", "runtime", "privateuse1_runtime"})
_WHAT = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|send_?recv|barrier|gather|scatter|reduce"
    r"|send|recv", re.IGNORECASE,
)  # fmt: skip
TOGETHER = frozenset({"allreduce", "allgather", "reducescatter", "alltoall", "barrier"})
"""Collectives that no rank can leave before all have entered them."""
_TENSOR_CORE = re.compile(
    r"[hs]884|[hsc]1688|i8816|16816|i16832|hmma|imma|gmma|tensorop|nvjet|xmma_\w*gemm_(?!f32f32_f32f32)|flash_(fwd|bwd)|fmha",
    re.IGNORECASE,
)


def kind_of(category: str, name: str) -> Kind:
    """Return the kind of an event with a duration.

    Categories are those of libkineto (`ActivityType`, "Operator" and "Kernel" in old ones).
    """
    category = category.lower()
    if category in ("cpu_op", "operator"):
        if _HOST_COLLECTIVE.match(name):
            return Kind.COLLECTIVE
        return Kind.BLOCKING if _BLOCKING.search(name) else Kind.OPERATOR
    if category == "user_annotation":
        return _range(name)
    if category == "kernel":
        return Kind.COLLECTIVE if _KERNEL_COLLECTIVE.search(name) else Kind.KERNEL
    if category in ("gpu_memcpy", "memcpy"):
        return Kind.COPY_IN if "htod" in name.lower() else Kind.COPY
    if category in ("gpu_memset", "memset"):
        return Kind.COPY
    if category in _LAUNCHES:
        return Kind.LAUNCH
    return Kind.IGNORED


def _range(name: str) -> Kind:
    if STEP.match(name):
        return Kind.STEP
    if _HOST_COLLECTIVE.match(name):
        return Kind.COLLECTIVE
    return Kind.LOADER if _LOADER.match(name) else Kind.RANGE


def collective_of(name: str, arguments: dict[str, Any]) -> str:
    """Return the kind of a collective in lower case (`allreduce`), empty when its name does not contain it."""
    label = arguments.get("Collective name")
    match = _WHAT.search(label) if isinstance(label, str) else None
    match = match or _WHAT.search(name)
    return match.group().lower().replace("_", "") if match else ""


def uses_tensor_cores(kernel: str) -> bool:
    """Return whether a kernel has the name of one of cuBLAS, cuDNN or CUTLASS that uses Tensor Cores.

    Source: the list of the TensorBoard plug-in of torch.profiler, and Hopper's names (`gmma`, `nvjet`). cuDNN's `xmma`
    kernels contain the types of their inputs, outputs and sums; those of plain float32 do not use Tensor Cores.
    """
    return _TENSOR_CORE.search(kernel) is not None
