"""Keep a stage's parameters, gradients and optimizer states in main memory; the device has two blocks at a time.

A block is an operator, or a module, with trainable parameters. While a block computes, the next one is copied to the
device, forward and backward; its gradients are moved to the host as soon as they exist, and the optimizer works there.
So the device has at most two blocks of parameters and one of gradients, as a plan assumes: three times the largest
block. A parameter keeps its storage object; while it is on the host this has 0 bytes, so that tensors that autograd
saved see the restored content. That works on a CPU too, where the "device" is a second copy.

It does not support torch.autocast, which keeps a copy of each parameter that it converts: refused. On CUDA the host's
copies are pinned and a side stream copies; this was written without a GPU, and its speed was not measured.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakMethod, finalize, ref

import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


@dataclass(eq=False)
class Offloaded:
    """One parameter: its copy on the host, and its leaf in each block that reads it; the leaves share one storage."""

    name: str
    host: nn.Parameter
    storage: torch.UntypedStorage
    leaves: list[nn.Parameter] = field(default_factory=list)
    version: int = -1
    """Version of the host's copy that is on the device; −1: none, or an old one."""
    ready: torch.cuda.Event | None = None
    """Set while a side stream copies."""
    sum_of_pass: Tensor | None = None
    """Tied only: the sum of gradients in this backward pass; autograd also sums them before it adds to `grad`."""

    @property
    def bytes(self) -> int:
        """Bytes of the parameter."""
        return self.host.untyped_storage().nbytes()


class Streamed:
    """Blocks of parameters, two of which are on the device at a time.

    `enter` and `leave` surround a block's forward pass; hooks of autograd do the rest. Blocks are numbered in their
    running order; another order costs time, not correctness.
    """

    def __init__(
        self,
        blocks: Sequence[Sequence[tuple[str, nn.Parameter]]],
        device: torch.device,
        training: "Streamed | None" = None,
    ) -> None:
        """`blocks`: names and parameters of each. A parameter in several blocks (tied) gets a leaf in each.

        `training`: these blocks evaluate, without gradients, with parameters that another object trains.
        """
        if not any(blocks):
            raise ValueError("offload: no block has a trainable parameter")
        self.device = device
        self._training = training
        self._held: dict[int, Offloaded] = {} if training is None else training._held
        self._there: set[Offloaded] = set() if training is None else training._there
        self._blocks: list[list[Offloaded]] = []
        self._leaves: list[list[nn.Parameter]] = []
        self._own: dict[Offloaded, nn.Parameter] = {}
        self.at_end: list[Callable[[], None]] = []
        """Functions that `close` calls in reverse order: they undo the changes of the code that enters the blocks."""
        for number, block in enumerate(blocks):
            for name, parameter in block:
                if id(parameter) not in self._held:
                    entry = self._held[id(parameter)] = self._take(name, parameter)
                    self._own[entry] = parameter
            unique = list(dict.fromkeys(parameter for _, parameter in block))
            self._blocks.append([self._held[id(parameter)] for parameter in unique])
            self._leaves.append([self._leaf(self._held[id(parameter)], parameter, number) for parameter in unique])
        self.block_bytes = [sum(entry.bytes for entry in block) for block in self._blocks]
        self._backward = -1  # block whose gradients are being computed
        self._task = -1  # pass of autograd that calls `_finish`
        self._gradients = 0
        self.peak = 0
        """Peak bytes of parameters and gradients on the device. A block's gradients count during its backward pass.

        They count from the start of that pass until all of them have left.
        """
        self._copies: torch.cuda.Stream | None = None
        if training is not None:
            self._copies = training._copies
        elif device.type == "cuda":
            self._copies = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        # fused optimizers, and those that write to `data`, do not increase the version of changed tensors
        finalize(self, register_optimizer_step_post_hook(_forgetting(self)).remove)
        self._landing: list[tuple[Offloaded, Tensor, Tensor, torch.cuda.Event]] = []
        self._staging: Tensor | None = None

    # ---- construction

    def _take(self, name: str, parameter: nn.Parameter) -> Offloaded:
        """Move a parameter to the host; leave an empty storage on the device."""
        if parameter.is_meta:
            raise ValueError(f"offload: {name} is on the meta device: give it values first")
        values = parameter.detach().to("cpu", copy=True)
        if self.device.type == "cuda":
            values = values.pin_memory()
        parameter.data = torch.empty_like(values, device=self.device)  # a separate storage
        entry = Offloaded(name, nn.Parameter(values), parameter.untyped_storage())
        entry.storage.resize_(0)
        return entry

    def _leaf(self, entry: Offloaded, parameter: nn.Parameter, block: int) -> nn.Parameter:
        """Return the leaf of a parameter in a block: itself in the first, in others a new one on the same storage.

        So a gradient leaves the device when its block is done, without waiting for those of other blocks.
        """
        if self._training is not None:
            return parameter
        leaf = parameter if not entry.leaves else nn.Parameter(parameter.detach())
        entry.leaves.append(leaf)
        land = WeakMethod(self._land)  # a strong reference from a leaf would keep this object alive forever

        def landed(tensor: Tensor) -> None:
            if (method := land()) is not None:
                method(entry, tensor, block)

        self.at_end.append(leaf.register_post_accumulate_grad_hook(landed).remove)  # type: ignore[no-untyped-call]
        return leaf

    def leaves(self, block: int) -> list[nn.Parameter]:
        """Return a block's leaves, in the order of its parameters, each once."""
        return self._leaves[block]

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Yield the parameters on the host, for the optimizer and checkpoints; each once, under its first name."""
        for entry in self._held.values():
            yield entry.name, entry.host

    def parameters(self) -> list[nn.Parameter]:
        """Return the parameters on the host, for the optimizer. `grad` of each is complete after a backward pass."""
        return [entry.host for entry in self._held.values()]

    def hosts(self) -> dict[int, nn.Parameter]:
        """Return the host's copy of each leaf, by its id()."""
        return {id(leaf): entry.host for entry in self._held.values() for leaf in entry.leaves}

    @property
    def planned(self) -> int:
        """Bytes of parameters and gradients that a plan assumes: two blocks of parameters, one of gradients."""
        return 3 * max(self.block_bytes)

    @property
    def resident(self) -> int:
        """Current bytes of parameters on the device."""
        return sum(entry.storage.nbytes() for entry in self._there)

    # ---- forward and backward

    def enter(self, block: int) -> None:
        """Copy a block's parameters to the device before its forward pass."""
        if torch.is_autocast_enabled(self.device.type):
            raise RuntimeError(
                "offload does not work with torch.autocast, which would keep a copy of each parameter on the device"
            )
        last = len(self._blocks) - 1
        if self._backward == block and self._in_backward():
            following = block - 1  # recomputed just before its backward pass
            self._gradients = self.block_bytes[block]
        else:  # after the last block its backward pass probably follows
            following = block + 1 if block < last else block - 1
        self._show(block, following)

    def leave(self, block: int, output: Any) -> None:
        """Copy a block's parameters to the device again when gradients of its output arrive."""
        nodes = {
            tensor.grad_fn
            for tensor in tree_leaves(output)
            if isinstance(tensor, Tensor) and tensor.grad_fn is not None
        }
        for node in nodes:
            node.register_prehook(lambda _: self._enter_backward(block))

    def _enter_backward(self, block: int) -> None:
        self._collect()
        self._follow()
        if block != self._backward:
            self._gradients = 0  # those of the previous block have left
        self._backward = block
        self._show(block, block - 1 if block else 1)
        self._gradients = self.block_bytes[block]
        self._note()

    def _in_backward(self) -> bool:
        """Return whether autograd is running a backward pass."""
        return torch._C._current_graph_task_id() != -1

    def _follow(self) -> None:
        """Let autograd call `_finish` after this pass."""
        task = torch._C._current_graph_task_id()
        if task != self._task:
            self._task = task
            torch.autograd.Variable._execution_engine.queue_callback(self._finish)

    def _finish(self) -> None:
        """Finish a backward pass: all gradients are in `grad` on the host."""
        self._collect()
        for entry in self._held.values():
            if entry.sum_of_pass is not None:
                _accumulate(entry.host, entry.sum_of_pass)
                entry.sum_of_pass = None
        self._backward, self._gradients, self._task = -1, 0, -1

    def _show(self, block: int, following: int) -> None:
        """Keep a block on the device, copy the following one there, and free all others.

        In a backward pass, recomputation runs forward blocks in the middle of another block's backward pass: that block
        stays. There are no gradients on the device then, so the plan's memory is not exceeded.
        """
        window = [number for number in (block, following) if 0 <= number < len(self._blocks)]
        if self._in_backward() and self._backward not in (-1, block):
            self._collect()
            self._gradients = 0
            window.append(self._backward)
        entries = {entry for number in window for entry in self._blocks[number]}
        for entry in self._there - entries:
            self._free(entry)
        for number in window:
            for entry in self._blocks[number]:
                self._fetch(entry)
        for entry in self._blocks[block]:
            self._await(entry)
        self._note()

    def _note(self) -> None:
        self.peak = max(self.peak, self.resident + self._gradients)

    def _fetch(self, entry: Offloaded) -> None:
        """Copy a parameter to the device, unless the optimizer's current version is there."""
        if entry.version == entry.host._version:
            return
        entry.version = entry.host._version
        entry.storage.resize_(entry.bytes)
        self._there.add(entry)
        values = entry.host.untyped_storage()
        if self._copies is None:
            entry.storage.copy_(values)
            return
        self._copies.wait_stream(torch.cuda.current_stream(self.device))  # earlier users of this memory are done
        with torch.cuda.stream(self._copies):
            entry.storage.copy_(values, non_blocking=True)
            entry.ready = torch.cuda.Event()  # type: ignore[no-untyped-call]
            entry.ready.record()

    def _await(self, entry: Offloaded) -> None:
        """Make the device's next computations wait for a parameter's copy."""
        if entry.ready is not None:
            torch.cuda.current_stream(self.device).wait_event(entry.ready)
            entry.ready = None

    def _free(self, entry: Offloaded) -> None:
        self._await(entry)  # a pending copy may still write
        entry.storage.resize_(0)
        entry.version = -1
        self._there.remove(entry)

    # ---- gradients

    def _land(self, entry: Offloaded, leaf: Tensor, block: int) -> None:
        """Move a gradient off the device as soon as autograd has it."""
        gradient, leaf.grad = leaf.grad, None
        if gradient is None:
            return
        if gradient.layout != torch.strided or gradient.requires_grad:
            raise RuntimeError(f"offload: the gradient of {entry.name} is sparse, or part of a graph")
        self._follow()
        if self._copies is None:
            self._add(entry, gradient)
            return
        staged = self._staged(entry, block, gradient)
        self._copies.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self._copies):
            staged.copy_(gradient, non_blocking=True)
            copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
            copied.record()
        self._landing.append((entry, gradient, staged, copied))

    def _staged(self, entry: Offloaded, block: int, gradient: Tensor) -> Tensor:
        """Return a parameter's part of the pinned buffer, which has room for the gradients of one block."""
        if self._staging is None:
            room = max(self.block_bytes) + 16 * max(len(block) for block in self._blocks)
            self._staging = torch.empty(room, dtype=torch.uint8, pin_memory=True)
        before = self._blocks[block][: self._blocks[block].index(entry)]
        start = sum(-(-entry.bytes // 16) * 16 for entry in before)
        size = gradient.numel() * gradient.element_size()
        return self._staging[start : start + size].view(gradient.dtype).view(gradient.shape)

    def _collect(self) -> None:
        """Add the gradients that have arrived on the host, and free them on the device."""
        for entry, _, staged, copied in self._landing:
            copied.synchronize()
            self._add(entry, staged.clone())
        self._landing.clear()

    def _add(self, entry: Offloaded, gradient: Tensor) -> None:
        if len(entry.leaves) == 1:
            _accumulate(entry.host, gradient)
        else:
            entry.sum_of_pass = gradient if entry.sum_of_pass is None else entry.sum_of_pass.add_(gradient)

    # ---- the end, and a check

    def forget(self) -> None:
        """Copy every parameter again before its next use: the host's copies were changed."""
        for entry in self._held.values():
            entry.version = -1

    def close(self) -> None:
        """Move all parameters and gradients back to the device, and remove the hooks."""
        for callback in reversed(self.at_end):
            callback()
        self._collect()
        for entry, parameter in self._own.items():
            self._fetch(entry)
            self._await(entry)
            if entry.host.grad is not None:
                parameter.grad = entry.host.grad.to(self.device)

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Refuse, by name, each operator that reads a parameter outside the device. Slow: for a first step.

        Otherwise such an operator fails too, but sometimes with a segmentation fault.
        """
        with _Watch({entry.storage._cdata: entry.name for entry in self._held.values()}):
            yield


def _forgetting(streamed: Streamed) -> Callable[..., None]:
    """Return a hook for the steps of any optimizer, after which the device's copies may be old."""
    reference = ref(streamed)

    def forget(*_: Any) -> None:
        if (streamed := reference()) is not None:
            streamed.forget()

    return forget


def _accumulate(parameter: nn.Parameter, gradient: Tensor) -> None:
    """Add to `grad` as autograd does."""
    if parameter.grad is None:
        parameter.grad = gradient
    else:
        parameter.grad.add_(gradient)


class _Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Checks the tensors of each operator: empty storages must not be read."""

    def __init__(self, names: Mapping[int, str]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._names = names

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for leaf in tree_leaves((args, kwargs or {})):
            if isinstance(leaf, Tensor) and leaf.layout == torch.strided and leaf.device.type != "meta":
                storage = leaf.untyped_storage()
                if leaf.numel() and not storage.nbytes() and func is not torch.ops.aten.detach.default:
                    name = self._names.get(storage._cdata, "a tensor")
                    raise RuntimeError(f"{func} reads {name}, which is in main memory: its block was not entered")
        return func(*args, **(kwargs or {}))
