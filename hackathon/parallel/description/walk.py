"""Convert a captured model to graph.json: operators with times and bytes, tensors, shared parameters, glue."""

import operator
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.utils._pytree import tree_flatten, tree_map, tree_map_only

from hackathon.parallel.description.measure import Signature, Times
from hackathon.parallel.description.work import OperatorPasses, TensorFact, fact_of, facts_in, look
from hackathon.parallel.live.capture import Captured, user_name

_EMPTY = OperatorPasses((), (), None, (), (), (), 0.0, 0.0)
_RECURRENT = ("aten.lstm.", "aten.gru.", "aten.rnn_tanh.", "aten.rnn_relu.")
"""Operators whose library decides at run time how much it keeps."""
_RUN_AT_MOST = 1e9
"""Bytes up to which they really run to measure it."""
ATTENTION = torch.ops.aten.scaled_dot_product_attention.default


@dataclass(frozen=True)
class HeldTensor:
    """A tensor in the graph: its facts, and its memory."""

    fact: TensorFact
    root: tuple[str, int]
    """("operator", number), ("input", number) or ("parameter", identity), followed by the number of the output."""
    size: float
    """Bytes of that memory."""


@dataclass
class OperatorRow:
    """An operator of the graph."""

    name: str
    module: str
    signature: int | None
    """Its number in `Walk.signatures`; None: it takes no time."""
    output: float
    """Bytes of its tensors."""
    gradient: float
    """Bytes of the gradients that come back to it."""
    saved: float = 0.0
    workspace: float = 0.0


class Walk:
    """Visits a captured graph once, without running it, and finds each operator's work and memory."""

    def __init__(self, captured: Captured, *, flash: bool = False) -> None:
        """`flash`: attention keeps no matrix of weights even with dropout, as on GPUs but not on CPUs."""
        self.captured, self.flash = captured, flash
        self.module = captured.train.module
        self.entries: list[OperatorRow] = []
        self.numbers: dict[fx.Node, int] = {}
        self.signatures: list[Signature] = []
        self.counts: list[int] = []
        self.unseen: list[str] = []
        """Operators that cannot run on fake tensors: only their inputs and outputs are known."""
        self.tensors: dict[fx.Node, Any] = {}
        """Node of a parameter or buffer → the tensor."""
        self._known: dict[Any, tuple[int | None, OperatorPasses]] = {}
        self._values: dict[fx.Node, Any] = {}
        self._kept: set[tuple[str, int]] = set()
        self._grad = True
        for number, node in enumerate(self.module.graph.nodes):
            self._step(number, node)

    def _step(self, number: int, node: fx.Node) -> None:
        if node.op == "placeholder":
            value = node.meta.get("val")
            self._values[node] = _held(_facts_of(value, gradient=False), lambda at: ("input", number * 10_000 + at))
        elif node.op == "get_attr":
            attribute = operator.attrgetter(str(node.target))(self.module)
            self._values[node] = attribute
            if isinstance(attribute, torch.Tensor):
                self.tensors[node] = attribute
                fact = fact_of(attribute)
                self._values[node] = HeldTensor(fact, ("parameter", id(attribute)), fact.bytes)
        elif node.op == "call_function":
            self._operator(node)
        elif node.op == "call_module":
            self._values[node] = None  # the guards of torch.export

    def _operator(self, node: fx.Node) -> None:
        number = len(self.entries)
        self.numbers[node] = number
        inside: Any = fx.map_arg((node.args, node.kwargs), self._values.get)
        args, kwargs = inside
        if node.target is torch._C._set_grad_enabled:
            self._grad = bool(args[0])
        if node.target is operator.getitem:
            value: Any = args[0][args[1]]
            leaves = [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, HeldTensor)]
            self._values[node] = value
            self.entries.append(OperatorRow(node.name, self.captured.modules[node.name], None, *_sizes(leaves)))
            return
        signature, work = self._work(node, args, kwargs)
        inputs = [tensor for tensor in tree_flatten((args, kwargs))[0] if isinstance(tensor, HeldTensor)]
        outputs: list[HeldTensor] = []

        def held(fact: TensorFact) -> HeldTensor:
            at = len(outputs)
            same = work.same[at] if at < len(work.same) else None
            if same is not None:
                outputs.append(HeldTensor(fact, inputs[same].root, inputs[same].size))
            else:
                outputs.append(HeldTensor(fact, ("operator", number * 10_000 + at), fact.bytes))
            return outputs[-1]

        self._values[node] = tree_map_only(TensorFact, held, work.outputs)
        entry = OperatorRow(
            node.name, self.captured.modules[node.name], signature, *_sizes(outputs), work.kept_inside, work.workspace
        )  # fmt: skip
        self.entries.append(entry)
        for saved in [*(inputs[at] for at in work.kept_inputs), *(outputs[at] for at in work.kept_outputs)]:
            self._keep(saved, entry)

    def _keep(self, tensor: HeldTensor, reader: OperatorRow) -> None:
        """Count memory that is kept once: for the operator that created it, or the first that keeps an input."""
        kind, number = tensor.root
        if kind == "parameter" or tensor.root in self._kept:
            return
        self._kept.add(tensor.root)
        owner = self.entries[number // 10_000] if kind == "operator" else reader
        owner.saved += tensor.size

    def _work(self, node: fx.Node, args: Any, kwargs: Any) -> tuple[int | None, OperatorPasses]:
        args, kwargs = tree_map_only(HeldTensor, lambda tensor: tensor.fact, (args, kwargs))
        args, kwargs = tree_map_only(torch.device, lambda _: torch.device("cpu"), (args, kwargs))
        if self.flash and node.target is ATTENTION:
            args, kwargs = (*args[:4], 0.0, *args[5:]) if len(args) > 4 else args, {**kwargs}
            kwargs.pop("dropout_p", None)
        leaves, spec = tree_flatten((args, kwargs))
        key = (node.target, self._grad, str(spec), tuple(leaf if _hashable(leaf) else id(leaf) for leaf in leaves))
        if key not in self._known:
            self._known[key] = self._looked(node, args, kwargs)
        number, work = self._known[key]
        if number is not None:
            self.counts[number] += 1
        return number, work

    def _looked(self, node: fx.Node, args: Any, kwargs: Any) -> tuple[int | None, OperatorPasses]:
        if node.target is torch._C._set_grad_enabled or not _returns_tensors(node):
            return None, _EMPTY if node.meta.get("val") is None else OperatorPasses(
                (), (), node.meta["val"], (), (), (), 0.0, 0.0
            )
        real = str(node.target).startswith(_RECURRENT)
        real = real and sum(fact.bytes for fact in facts_in((args, kwargs))) <= _RUN_AT_MOST
        work = None
        for device in ("cpu", "meta"):  # a part of the model may create tensors on the device of the capture
            with suppress(Exception):
                work = look(node.target, args, kwargs, grad=self._grad, device=device, real=real and device == "cpu")
                break
        if work is None:
            self.unseen.append(node.name)
            facts = _facts_of(node.meta.get("val"), gradient=any(fact.gradient for fact in facts_in((args, kwargs))))
            saved = tuple(at for at, fact in enumerate(facts_in((args, kwargs))) if fact.gradient)
            size = float(sum(fact.bytes for fact in facts_in((args, kwargs, facts))))
            work = OperatorPasses((), (), facts, (None,) * len(facts_in(facts)), saved, (), 0.0, size)
        self.signatures.append(Signature(node.target, args, kwargs, self._grad, work))
        self.counts.append(0)
        return len(self.signatures) - 1, work

    # ---- graph.json

    def graph(self, times: Times) -> dict[str, Any]:
        """Return graph.json."""
        rows, checkpointed = [], set(self.captured.train.checkpointed)
        for entry in self.entries:
            forward, backward = times.seconds[entry.signature] if entry.signature is not None else (0.0, 0.0)
            row: dict[str, Any] = {"name": entry.name, "module": entry.module, "forward": forward}
            row |= {"backward": backward, "parameters": 0, "saved": entry.saved, "workspace": entry.workspace}
            if entry.name in checkpointed:
                row["checkpointed"] = True
            rows.append(row)
        aliases = self._place(rows)
        return {
            "schema_version": 1, "operators": rows, "edges": list(self._edges()), "aliases": aliases,
            "glued": [list(pair) for pair in self.captured.glued],
        }  # fmt: skip

    def _place(self, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Assign parameters and buffers to the operators that read them; return those that several operators share."""
        readers: dict[str, set[int]] = {}
        tensors: dict[str, torch.Tensor] = {}
        for node, tensor in self.tensors.items():
            name = self.name(node)
            tensors[name] = tensor
            readers.setdefault(name, set()).update(self.numbers[user] for user in node.users if user in self.numbers)
        aliases = []
        for name, users in readers.items():
            tensor = tensors[name]
            trainable = isinstance(tensor, torch.nn.Parameter) and tensor.requires_grad
            kind = "parameters" if trainable else "frozen" if isinstance(tensor, torch.nn.Parameter) else "buffers"
            size = fact_of(tensor).bytes
            for user in users:
                rows[user][kind] = rows[user].get(kind, 0) + size
            if trainable and len(users) > 1:
                aliases.append({"operators": [rows[user]["name"] for user in sorted(users)], "bytes": size})
        return aliases

    def name(self, node: fx.Node) -> str:
        """Return the user's first name of a parameter or buffer."""
        name = user_name(str(node.target))
        return self.captured.aliases.get(name, name)

    def _edges(self) -> Iterator[dict[str, Any]]:
        for node, number in self.numbers.items():
            entry = self.entries[number]
            for user in node.users:
                if user in self.numbers:
                    yield {
                        "from": entry.name, "to": self.entries[self.numbers[user]].name, "bytes": entry.output,
                        "gradient_bytes": entry.gradient,
                    }  # fmt: skip


def _held(facts: Any, root: Any) -> Any:
    count = iter(range(10_000))
    return tree_map_only(TensorFact, lambda fact: HeldTensor(fact, root(next(count)), fact.bytes), facts)


def _facts_of(value: Any, gradient: bool) -> Any:
    def fact(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        return fact_of(leaf, gradient and (leaf.is_floating_point() or leaf.is_complex()))

    return tree_map(fact, value)


def _sizes(tensors: Iterable[HeldTensor]) -> tuple[float, float]:
    outputs = list(tensors)
    return float(sum(tensor.fact.bytes for tensor in outputs)), float(
        sum(tensor.fact.bytes for tensor in outputs if tensor.fact.gradient)
    )


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _returns_tensors(node: fx.Node) -> bool:
    return any(isinstance(leaf, torch.Tensor) for leaf in tree_flatten(node.meta.get("val"))[0])
