"""Measure the peak rates of this process's device: matrix products in each precision, and memory copies.

`hackathon profile` puts this file beside the recorder, which calls it after all other measurements; it takes two to
three seconds. It uses the program's own threads and settings (such as TF32), while the other ranks of the node measure
too, so the result is what one process can reach. Nothing of the toolkit is imported: it runs in the program's Python
(3.6 or newer).
"""

import os
import sys
import time
from typing import Any

SECONDS = 0.5
"""Duration of each measurement."""
SHORTEST = 0.02
"""Minimum seconds of a product: shorter ones measure their launch."""
SIZES = {"cpu": (256, 2048), "cuda": (1024, 8192)}
"""Device → range of matrix rows; doubled until a product takes SHORTEST."""
COPIED = {"cpu": 1 << 26, "cuda": 1 << 29}
"""Device → bytes of a copy: more than its caches."""
PRECISIONS = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}


def device_peaks() -> Any:
    """Return {"device", "flops_per_s": {precision: …}, "bytes_per_s"}: the best measured rates."""
    torch = sys.modules["torch"]  # type: Any
    device = "cuda" if torch.cuda.is_available() and torch.cuda.is_initialized() else "cpu"
    peaks = {"device": device, "flops_per_s": {}, "bytes_per_s": None}  # type: Any
    with torch.no_grad():
        for kind, name in PRECISIONS.items():
            if device == "cpu" and kind == "float16":
                continue  # few CPUs support it, and the others take minutes
            try:
                peaks["flops_per_s"][name] = matmul_rate(torch, device, getattr(torch, kind))
            except Exception:  # unsupported precision, or no memory left
                continue
        try:
            if device == "cuda" and convolves_in_tf32(torch):
                peaks["flops_per_s"]["tf32"] = tf32_rate(torch)
        except Exception:  # an old torch, or settings by the newer interface that the older one cannot return
            pass
        try:
            peaks["bytes_per_s"] = copy_rate(torch, device)
        except Exception:
            pass
    return peaks


def convolves_in_tf32(torch: Any) -> bool:
    """Return whether cuDNN convolves fp32 in TF32: by default from Ampere on."""
    cudnn = torch.backends.cudnn
    forbidden = os.environ.get("NVIDIA_TF32_OVERRIDE") == "0" or torch.version.cuda is None  # ROCm has no cuDNN
    return bool(not forbidden and cudnn.enabled and cudnn.allow_tf32 and torch.cuda.get_device_capability()[0] >= 8)


def tf32_rate(torch: Any) -> float:
    """Return the FLOP/s of a product in TF32, even if the program does not allow it for products."""
    matmul = torch.backends.cuda.matmul
    if matmul.allow_tf32:
        return matmul_rate(torch, "cuda", torch.float32)
    matmul.allow_tf32 = True
    try:
        return matmul_rate(torch, "cuda", torch.float32)
    finally:
        matmul.allow_tf32 = False


def matmul_rate(torch: Any, device: str, kind: Any) -> float:
    """Return the FLOP/s of a product of two square matrices, the fastest of those in SECONDS."""
    size, largest = SIZES[device]
    while True:
        left = torch.ones(size, size, dtype=torch.float32, device=device).to(kind)
        right = torch.ones(size, size, dtype=torch.float32, device=device).to(kind)
        torch.mm(left, right)
        # a process may lose its CPU in one of them
        took = min(seconds_of(torch, device, lambda: torch.mm(left, right)) for _ in range(3))  # noqa: B023
        if took >= SHORTEST or size >= largest:
            break
        size *= 2
    return float(2.0 * size**3 / best(torch, device, lambda: torch.mm(left, right), took))


def copy_rate(torch: Any, device: str) -> float:
    """Return the bytes per second of a copy (read plus written), the fastest of those in SECONDS."""
    source = torch.ones(COPIED[device] // 4, dtype=torch.float32, device=device)
    target = torch.empty_like(source)
    took = seconds_of(torch, device, lambda: target.copy_(source))
    return float(2.0 * COPIED[device] / best(torch, device, lambda: target.copy_(source), took))


def best(torch: Any, device: str, work: Any, fastest: float) -> float:
    """Return the seconds of the fastest of many runs, `fastest` or less."""
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        fastest = min(fastest, seconds_of(torch, device, work))
    return fastest


def seconds_of(torch: Any, device: str, work: Any) -> float:
    """Return the duration of some work, including what it started on the device."""
    if device == "cuda":
        torch.cuda.synchronize()
    begin = time.perf_counter()
    work()
    if device == "cuda":
        torch.cuda.synchronize()
    return max(time.perf_counter() - begin, 1e-9)
