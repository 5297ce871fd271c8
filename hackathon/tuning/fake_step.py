"""One step of a training program: recorded while it runs, then replayed with fake tensors for its memory.

It records calls of the outermost modules, and the use of their results until `backward`. Fake tensors have sizes and no
content, so that a step of any batch costs about a second of CPU. `observer.py` loads this file from its own folder, in
the program's Python; nothing of the toolkit is imported. Needs torch 2.1 or newer.
"""

import contextlib
import weakref
from importlib import import_module
from typing import Any


def loaded(name: str) -> Any:
    """Return an imported module of torch; the toolkit itself never imports it."""
    return import_module(name)


class Unknown(Exception):
    """Nothing can be predicted; `reason` is one of a few words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class OuterTensor:
    """A tensor from outside the step's computation: a batch, or a constant."""

    def __init__(self, tensor: Any, keep: bool) -> None:
        self.content = tensor.detach().clone() if keep else None
        self.shape, self.dtype, self.device = tuple(tensor.shape), tensor.dtype, tensor.device
        self.graded = bool(tensor.requires_grad)


class NotedResult:
    """The origin of a tensor: entry of the tape, position in its result."""

    def __init__(self, entry: int, position: int) -> None:
        self.entry, self.place = entry, position


class NotedCall:
    """A recorded call: a module or a function, its arguments, and the autocast at that time."""

    def __init__(self, target: Any, args: Any, kwargs: Any, autocast: Any, module: bool) -> None:
        self.target, self.args, self.kwargs, self.autocast, self.module = target, args, kwargs, autocast, module


class Noting:
    """Records the calls of modules, and the use of their results, until it is ended.

    It keeps no tensor alive; with `keep` it copies those from outside.
    """

    def __init__(self, tape: Any, keep: bool = False) -> None:
        self.tape, self.keep = tape, keep
        self.kept = 0
        """Bytes of the copies."""
        self.depth = 0
        self.known = None  # type: Any
        self.mode = None  # type: Any
        self.call = None  # type: Any

    def begin(self) -> None:
        """Start recording."""
        torch = loaded("torch")
        TorchFunctionMode = loaded("torch.overrides").TorchFunctionMode
        WeakIdKeyDictionary = loaded("torch.utils.weak").WeakIdKeyDictionary

        noting = self
        self.known = WeakIdKeyDictionary()

        class Watch(TorchFunctionMode):  # type: ignore[misc, valid-type]
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                kwargs = kwargs or {}
                if noting.depth:
                    return func(*args, **kwargs)
                arguments = noting.held((args, kwargs))
                noting.depth += 1
                try:
                    output = func(*args, **kwargs)
                finally:
                    noting.depth -= 1
                if arguments is not None and (func is torch.Tensor.backward or noting.tensors(output)):
                    noting.note(func, arguments, output, False)
                return output

        original = torch.nn.Module.__call__

        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            if noting.depth or not torch.is_grad_enabled() or not module.training:
                return original(module, *args, **kwargs)
            arguments = noting.held((args, kwargs), any_of=False)
            noting.depth += 1
            try:
                output = original(module, *args, **kwargs)
            finally:
                noting.depth -= 1
            noting.note(module, arguments, output, True)
            return output

        self.call = original
        torch.nn.Module.__call__ = call
        self.mode = Watch()
        self.mode.__enter__()

    def end(self) -> None:
        """Stop recording."""
        torch = loaded("torch")

        torch.nn.Module.__call__ = self.call
        self.mode.__exit__(None, None, None)
        self.known = None

    def tensors(self, value: Any) -> Any:
        """Return the tensors in a value, in order."""
        torch = loaded("torch")
        tree_leaves = loaded("torch.utils._pytree").tree_leaves

        return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]

    def held(self, value: Any, any_of: bool = True) -> Any:
        """Return arguments with markers instead of tensors; with `any_of` None unless one is a recorded result."""
        torch = loaded("torch")
        tree_map = loaded("torch.utils._pytree").tree_map

        if any_of and not any(tensor in self.known for tensor in self.tensors(value)):
            return None

        def mark(leaf: Any) -> Any:
            if not isinstance(leaf, torch.Tensor):
                return leaf
            if leaf in self.known:
                return self.known[leaf]
            self.kept += leaf.numel() * leaf.element_size() if self.keep else 0
            return OuterTensor(leaf, self.keep)

        return tree_map(mark, value)

    def note(self, target: Any, arguments: Any, output: Any, module: bool) -> None:
        """Add a call to the tape."""
        number = len(self.tape)
        args, kwargs = arguments
        self.tape.append(NotedCall(target, args, kwargs, autocast(), module))
        for position, tensor in enumerate(self.tensors(output)):
            self.known[tensor] = NotedResult(number, position)


def autocast() -> Any:
    """Return (kind of device, type) of the active autocast; None without one."""
    torch = loaded("torch")

    for kind in ("cuda", "cpu"):
        try:
            if torch.is_autocast_enabled(kind):
                return kind, torch.get_autocast_dtype(kind)
        except TypeError:  # torch before 2.4
            on = torch.is_autocast_enabled if kind == "cuda" else torch.is_autocast_cpu_enabled
            dtype = torch.get_autocast_gpu_dtype if kind == "cuda" else torch.get_autocast_cpu_dtype
            if on():
                return kind, dtype()
    return None


def state_bytes(optimizer: Any) -> int:
    """Return the bytes of an optimizer's state."""
    torch = loaded("torch")
    tree_leaves = loaded("torch.utils._pytree").tree_leaves

    tensors = [leaf for leaf in tree_leaves(list(optimizer.state.values())) if isinstance(leaf, torch.Tensor)]
    return sum(tensor.untyped_storage().nbytes() for tensor in tensors)


def step_bytes(tape: Any, first: int, batch: int) -> int:
    """Return the peak bytes of tensors in a step, by fake tensors; `first`: the batch of the tape."""
    torch = loaded("torch")
    FakeTensorMode = loaded("torch._subclasses.fake_tensor").FakeTensorMode
    TorchDispatchMode = loaded("torch.utils._python_dispatch").TorchDispatchMode
    tree_leaves = loaded("torch.utils._pytree").tree_leaves

    class Living(TorchDispatchMode):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__()
            self.sizes = {}  # type: dict[int, int]
            self.now = self.most = 0

        def see(self, tensor: Any) -> None:
            storage = tensor.untyped_storage()
            key = storage._cdata
            if key in self.sizes:
                return
            self.sizes[key] = storage.nbytes()
            self.now += self.sizes[key]
            self.most = max(self.most, self.now)
            weakref.finalize(storage, self.drop, key)

        def drop(self, key: int) -> None:
            self.now -= self.sizes.pop(key, 0)

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            output = func(*args, **(kwargs or {}))
            for leaf in tree_leaves(output):
                if isinstance(leaf, torch.Tensor):
                    self.see(leaf)
            return output

    living, fakes = Living(), {}  # type: Any, dict[int, Any]
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:

        def faked(tensor: Any) -> Any:
            if id(tensor) not in fakes:
                fakes[id(tensor)] = mode.from_tensor(tensor)
                living.see(fakes[id(tensor)])
            return fakes[id(tensor)]

        def empty(leaf: OuterTensor) -> Any:
            shape = list(leaf.shape)
            if shape and shape[0] and shape[0] % first == 0:
                shape[0] = shape[0] // first * batch
            return torch.empty(shape, dtype=leaf.dtype, device=leaf.device)

        with living:
            replay(tape, empty, faked)
    return int(living.most)


def replay(tape: Any, content: Any, own: Any) -> None:
    """Compute a step again; `content`: returns the tensor of a leaf, `own`: returns the tensor for a parameter.

    A result is dropped after its last use, as in the program. Raises Unknown for a step without `backward`.
    """
    torch = loaded("torch")
    functional_call = loaded("torch.func").functional_call
    pytree = loaded("torch.utils._pytree")
    tree_leaves, tree_map = pytree.tree_leaves, pytree.tree_map
    if not backwards(tape):
        raise Unknown("no-backward")
    results, last = {}, {}  # type: dict[int, Any], dict[int, int]
    for number, entry in enumerate(tape):
        for leaf in tree_leaves((entry.args, entry.kwargs)):
            if isinstance(leaf, NotedResult):
                last[leaf.entry] = number

    def value(leaf: Any) -> Any:
        if isinstance(leaf, NotedResult):
            return results[leaf.entry][leaf.place]
        if not isinstance(leaf, OuterTensor):
            return leaf
        return content(leaf).requires_grad_(True) if leaf.graded else content(leaf)

    for number, entry in enumerate(tape):
        args, kwargs = tree_map(value, (entry.args, entry.kwargs))
        with torch.autocast(*entry.autocast) if entry.autocast else contextlib.nullcontext():
            if entry.module:
                module = getattr(entry.target, "_orig_mod", entry.target)  # of torch.compile
                mine = {name: own(parameter) for name, parameter in module.named_parameters()}
                mine.update((name, own(buffer)) for name, buffer in module.named_buffers())
                output = functional_call(module, mine, args, kwargs)
            else:
                output = entry.target(*args, **kwargs)
        del args, kwargs
        if number in last:
            results[number] = [leaf for leaf in tree_leaves(output) if isinstance(leaf, torch.Tensor)]
        del output
        for former in [key for key in results if last[key] <= number]:
            del results[former]


def backwards(tape: Any) -> int:
    """Return how often a step calls `backward`: once for each of its batches."""
    backward = loaded("torch").Tensor.backward
    return sum(entry.target is backward for entry in tape)


class Weights:
    """Copies of the current parameters and buffers: all gradients use these, while the program continues."""

    def __init__(self, tape: Any) -> None:
        self.copies = {}  # type: dict[int, Any]
        for entry in tape:
            for tensor in [*entry.target.parameters(), *entry.target.buffers()] if entry.module else []:
                self.copies[id(tensor)] = tensor.detach().clone()

    def gradient(self, tape: Any) -> Any:
        """Return the gradient of a step whose leaves were copied, as one vector."""
        torch = loaded("torch")
        copies = {}  # type: dict[int, Any]

        def own(tensor: Any) -> Any:
            if id(tensor) not in copies:
                copies[id(tensor)] = self.copies[id(tensor)].clone().requires_grad_(tensor.requires_grad)
            return copies[id(tensor)]

        replay(tape, lambda leaf: leaf.content.clone(), own)
        gradients = [tensor.grad.detach().flatten().float() for tensor in copies.values() if tensor.grad is not None]
        return torch.cat(gradients)


def norms(weights: Weights, tapes: Any) -> Any:
    """Return (mean of the squared norms of each step's gradient, squared norm of their mean)."""
    total, squares = None, 0.0  # type: Any, float
    for tape in tapes:
        gradient = weights.gradient(tape)
        squares += float(gradient.square().sum()) / len(tapes)
        total = gradient / len(tapes) if total is None else total.add_(gradient, alpha=1 / len(tapes))
    return squares, float(total.square().sum())
