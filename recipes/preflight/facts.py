"""What this process and its node have: versions, GPUs, InfiniBand, shared memory, disk, limits. Judges nothing."""

from __future__ import annotations

import glob
import locale
import os
import platform
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
from importlib import metadata
from typing import Any

PACKAGES = (
    "torch", "torchvision", "lightning", "tensorflow", "tensorflow-cpu", "keras", "tf-keras", "chainer", "horovod",
    "mpi4py", "numpy", "cupy", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x", "nvidia-nccl-cu11", "nvidia-nccl-cu12",
    "nvidia-nccl-cu13", "jax", "deepspeed", "transformers",
)  # fmt: skip
VARIABLES = (
    "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_IB_DISABLE", "NCCL_NET", "NCCL_P2P_DISABLE",
    "NCCL_SHM_DISABLE", "NCCL_ALGO", "NCCL_PROTO", "OMP_NUM_THREADS",
)  # fmt: skip
INFINIBAND = "/sys/class/infiniband"
SHARED_MEMORY = "/dev/shm"


def of_rank() -> dict[str, Any]:
    """Return what may differ from rank to rank: Python, packages, variables, limits, place for temporary files."""
    return {
        "python": platform.python_version(), "executable": os.path.realpath(sys.executable),
        "machine": platform.machine(), "libc": " ".join(platform.libc_ver()), "packages": packages(),
        "variables": {name: os.environ[name] for name in VARIABLES if name in os.environ},
        "open_files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "locked_memory": resource.getrlimit(resource.RLIMIT_MEMLOCK)[0],
        "locale": wrong_locale(), "tmp": writable(tempfile.gettempdir()),
    }  # fmt: skip


def of_node() -> dict[str, Any]:
    """Return what a node has; one rank of each node tells it."""
    return {
        "gpus": gpus(), "infiniband": infiniband(), "shm": writable(SHARED_MEMORY), "kernel": platform.release(),
        "interfaces": sorted(name for _, name in socket.if_nameindex()),
    }  # fmt: skip


def packages() -> dict[str, str]:
    """Return the versions of the frameworks that are installed, without importing any of them."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = str(metadata.version(name))
        except metadata.PackageNotFoundError:
            continue
        except Exception as error:  # broken metadata can raise anything
            found[name] = f"unreadable: {error}"
    return found


def gpus(seconds: float = 30) -> dict[str, Any]:
    """Return {names, driver} of the node's GPUs as nvidia-smi tells them, or {problem}; no nvidia-smi: no GPUs."""
    if not shutil.which("nvidia-smi"):
        return {"names": [], "driver": None}
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(
            query, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return {"names": [], "driver": None, "problem": f"no answer in {seconds:.0f} s"}
    except OSError as error:
        return {"names": [], "driver": None, "problem": str(error)}
    text = done.stdout.decode("utf-8", "replace").strip()
    if done.returncode:
        if "No devices were found" in text:
            return {"names": [], "driver": None}
        return {"names": [], "driver": None, "problem": " ".join(text.split())[:200]}
    rows = [line.rpartition(",") for line in text.splitlines() if "," in line]
    return {"names": [row[0].strip() for row in rows], "driver": rows[0][2].strip() if rows else None}


def infiniband() -> list[dict[str, Any]]:
    """Return the ports of InfiniBand and RoCE devices as the kernel tells them."""
    ports = []
    for folder in sorted(glob.glob(os.path.join(INFINIBAND, "*", "ports", "*"))):
        state = _line(os.path.join(folder, "state"))  # `4: ACTIVE`
        name = f"{folder.split(os.sep)[-3]}:{os.path.basename(folder)}"
        ports.append({
            "port": name, "state": state.partition(":")[2].strip() or state,
            "rate": _line(os.path.join(folder, "rate")), "layer": _line(os.path.join(folder, "link_layer")),
        })  # fmt: skip
    return ports


def writable(folder: str) -> dict[str, Any]:
    """Return {path, size, free} in bytes of a folder in which a file can be written, else with the problem."""
    found: dict[str, Any] = {"path": folder}
    try:
        room = os.statvfs(folder)
        found.update(size=room.f_frsize * room.f_blocks, free=room.f_frsize * room.f_bavail)
        with tempfile.TemporaryFile(dir=folder) as stream:
            stream.write(b"\0" * 65536)
            stream.flush()
    except OSError as error:
        found["problem"] = error.strerror or str(error)
    return found


def wrong_locale() -> str | None:
    """Return the locale that is asked for and not installed on this node, None when all is well."""
    try:
        locale.setlocale(locale.LC_ALL, "")
    except locale.Error:
        return next((os.environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if os.environ.get(name)), "?")
    return None


def _line(path: str) -> str:
    try:
        with open(path) as stream:
            return stream.read().strip()
    except OSError:
        return ""
