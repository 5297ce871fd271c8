"""Who carries the messages: NCCL or Gloo through torch.distributed, or MPI through mpi4py. Both offer the same methods.

Arrays are PyTorch's, NumPy's or CuPy's; the benchmark uses only arithmetic that all three have.
"""

import importlib.util
import os
import sys
import warnings

from hackathon_runtime import Identity, rendezvous


def connect(backend: str, me: Identity) -> "TorchGroup | MpiGroup":
    """Return the group of all processes; `auto` is nccl where there are GPUs, else gloo, and mpi without PyTorch."""
    torch_is_here = importlib.util.find_spec("torch") is not None
    if backend == "mpi" or (backend == "auto" and not torch_is_here):
        return MpiGroup(me)
    if not torch_is_here:
        sys.exit(f"{backend} needs PyTorch, which is not installed here: --backend mpi takes mpi4py")
    return TorchGroup(backend, me)


class TorchGroup:
    """Processes joined by torch.distributed; alone, just a device to copy on."""

    def __init__(self, backend: str, me: Identity) -> None:
        import torch
        import torch.distributed as dist

        # the names that every release since 2.0 knows; their successors are too young to rely on
        warnings.filterwarnings("ignore", ".*(all_gather_into|reduce_scatter)_tensor` is deprecated", FutureWarning)
        self._torch, self._dist = torch, dist
        gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
        self.name = ("nccl" if gpus else "gloo") if backend == "auto" else backend
        if self.name == "nccl" and not gpus:
            sys.exit("nccl needs a GPU and this process sees none: --backend gloo or mpi")
        on_gpu = self.name == "nccl"
        self._device = torch.device("cuda", me.local_rank % gpus) if on_gpu else torch.device("cpu")
        self.device = torch.cuda.get_device_name(self._device) if on_gpu else "cpu"
        self.rank, self.size = me.rank, me.world_size
        if on_gpu:
            torch.cuda.set_device(self._device)
        elif "OMP_NUM_THREADS" not in os.environ:
            torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // me.local_world_size))
        if self.size > 1:
            address, port = rendezvous(me)
            os.environ.setdefault("MASTER_ADDR", address)
            os.environ.setdefault("MASTER_PORT", str(port))
            dist.init_process_group(self.name, rank=self.rank, world_size=self.size)

    def ramp(self, first: int, count: int):
        """Return the numbers (first + i) mod 251 as float32: small, so that every sum of them is exact."""
        numbers = self._torch.arange(first, first + count, dtype=self._torch.int32, device=self._device)
        return (numbers % 251).to(self._torch.float32)

    def start(self, operation: str, send, receive) -> None:
        """Do the operation; on a GPU it is only begun."""
        if operation == "all-reduce":
            self._dist.all_reduce(receive)
        elif operation == "broadcast":
            self._dist.broadcast(receive, 0)
        elif operation == "all-gather":
            self._dist.all_gather_into_tensor(receive, send)
        elif operation == "reduce-scatter":
            self._dist.reduce_scatter_tensor(receive, send)
        else:
            receive[:] = send

    def finish(self) -> None:
        """Wait until what was begun is done."""
        if self._device.type == "cuda":
            self._torch.cuda.synchronize(self._device)

    def barrier(self) -> None:
        """Wait for all processes."""
        if self.size > 1:
            self._dist.barrier()
            self.finish()

    def slowest(self, seconds: list[float]) -> list[float]:
        """Return, for each repetition, the longest time of all processes."""
        box = self._torch.tensor(seconds, dtype=self._torch.float64, device=self._device)
        if self.size > 1:
            self._dist.all_reduce(box, op=self._dist.ReduceOp.MAX)
        return box.tolist()

    def everyone(self, value):
        """Return every process's value, in the order of ranks."""
        values = [value] * self.size
        if self.size > 1:
            self._dist.all_gather_object(values, value)
        return values

    def close(self) -> None:
        """Leave the group."""
        if self._dist.is_initialized():
            self._dist.destroy_process_group()


class MpiGroup:
    """Processes of one MPI; arrays lie on the GPU where CuPy finds one, which the MPI must have been built for."""

    def __init__(self, me: Identity) -> None:
        joined = any(name.startswith(("OMPI_COMM_WORLD_", "PMI_", "PMIX_", "MPI_LOCAL")) for name in os.environ)
        if me.world_size > 1 and not joined:  # before MPI begins: each process would be an MPI of its own
            sys.exit("no MPI started these processes: --backend mpi wants the launcher mpirun, or srun --mpi=pmix")
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:  # RuntimeError: mpi4py is here, and the MPI library is not
            sys.exit(f"--backend mpi needs mpi4py and an MPI library: {error}")
        self._mpi, self._comm = MPI, MPI.COMM_WORLD
        self.name, self.device = "mpi", "cpu"
        self.rank, self.size = self._comm.rank, self._comm.size
        if (self.rank, self.size) != (me.rank, me.world_size):
            sys.exit(
                f"MPI says process {self.rank} of {self.size}, the launcher process {me.rank} of {me.world_size}: "
                "is this the mpirun of the MPI that mpi4py was built with?"
            )
        import numpy

        self._arrays, self._gpu = numpy, None
        if importlib.util.find_spec("cupy"):
            import cupy

            if cupy.cuda.is_available():
                self._arrays, self._gpu = cupy, cupy.cuda.Device(me.local_rank % cupy.cuda.runtime.getDeviceCount())
                self._gpu.use()
                self.device = cupy.cuda.runtime.getDeviceProperties(self._gpu.id)["name"].decode()

    def ramp(self, first: int, count: int):
        """Return the numbers (first + i) mod 251 as float32: small, so that every sum of them is exact."""
        numbers = self._arrays.arange(first, first + count, dtype=self._arrays.int32)
        return (numbers % 251).astype(self._arrays.float32)

    def start(self, operation: str, send, receive) -> None:
        """Do the operation."""
        if operation == "all-reduce":
            self._comm.Allreduce(self._mpi.IN_PLACE, receive)
        elif operation == "broadcast":
            self._comm.Bcast(receive, 0)
        elif operation == "all-gather":
            self._comm.Allgather(send, receive)
        elif operation == "reduce-scatter":
            self._comm.Reduce_scatter_block(send, receive)
        else:
            receive[:] = send

    def finish(self) -> None:
        """Wait until what was begun is done."""
        if self._gpu:
            self._gpu.synchronize()

    def barrier(self) -> None:
        """Wait for all processes."""
        self.finish()
        self._comm.Barrier()

    def slowest(self, seconds: list[float]) -> list[float]:
        """Return, for each repetition, the longest time of all processes."""
        return [max(times) for times in zip(*self._comm.allgather(seconds), strict=True)]

    def everyone(self, value):
        """Return every process's value, in the order of ranks."""
        return self._comm.allgather(value)

    def close(self) -> None:
        """Leave the group; mpi4py does it by itself at the end."""
