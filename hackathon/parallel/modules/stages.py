"""The stages of a plan that cuts between modules; running them once shows the tensors between stages."""

import contextlib
import copy
import warnings
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from hackathon.parallel.description.refusal import frame_of, shortened
from hackathon.parallel.live import seeds
from hackathon.parallel.live.batches import Inputs
from hackathon.parallel.live.capture import NoLossError
from hackathon.parallel.live.exchange import Messenger, flat_bytes
from hackathon.parallel.live.split import StagePart, Value
from hackathon.parallel.live.state import Holding
from hackathon.parallel.modules.chain import ModuleChain
from hackathon.parallel.modules.children import Children, Handed, ModuleRange, TensorForm, entered, evaluating
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.messages import Message


@dataclass(frozen=True)
class _Seen:
    """Observations from one run of a stage."""

    handed: Handed
    changed: tuple[str, ...]
    """Names of the buffers that its modules changed."""
    writes: bool
    """Whether they changed their input in place."""


@dataclass(frozen=True)
class Evaluation:
    """The stages of an evaluation of one shape, and the whole model's output in their first run."""

    parts: list[StagePart]
    output: Handed
    leaves: list[Any]


class ModuleStages:
    """The stages of a chain of modules. All ranks create one, and call its methods together."""

    def __init__(
        self, model: nn.Module, chain: ModuleChain, loss: Callable[..., Any] | None, stage_of: Mapping[str, int],
        holding: Holding, exchange: Messenger, *, recompute: tuple[bool, ...], precision: torch.dtype | None,
    ) -> None:  # fmt: skip
        self._model, self._exchange, self._holding = model, exchange, holding
        self._recompute, self._precision = recompute, precision
        if not model.training:
            model.train()
        if isinstance(loss, nn.Module):
            loss.to(exchange.device)
        count = len(recompute)
        self._stretches = []
        for stage in range(count):
            mine = [at for at in range(len(chain.paths)) if stage_of[chain.operators[at]] == stage]
            paths = tuple(chain.paths[position] for position in mine)
            modules = tuple(chain.modules[position] for position in mine)
            self._stretches.append(ModuleRange(tuple(mine), paths, modules, stage == count - 1, loss))
        trained = [
            any(parameter.requires_grad for m in s.modules for parameter in m.parameters()) for s in self._stretches
        ]
        self._trains = [any(trained[: stage + 1]) for stage in range(count)]
        """Whether gradients come back to each stage: whether it or one before it has a trainable parameter."""
        own = exchange.layout.own(exchange.rank)
        buffers = dict(model.named_buffers())
        self._writes = True
        self._buffers = [name for name, stages in holding.stages.items() if name in buffers and set(own) & {*stages}]

    # ---- tensors between stages
    def training(self, inputs: Inputs) -> list[StagePart]:
        """Return the stages for micro-batches like this one. The modules run once, on copies of themselves.

        Raises RequestError on all ranks for modules that cannot be separated, or that fail.
        """
        runs, _ = self._walk(inputs, training=True)
        self._writes = runs[0].writes
        for stage, run in enumerate(runs):
            for name in run.changed:
                if len(self._holding.stages[self._holding.aliases[name]]) > 1:
                    raise RequestError(
                        "auto_parallel.shared_buffer",
                        "stage {stage} changes {name}, which another stage holds too: the modules that share "
                        "it must be in one stage",
                        name=name,
                        stage=stage,
                    )
        return self._parts(inputs, runs, training=True)

    def evaluation(self, inputs: Inputs) -> Evaluation:
        """Evaluate one micro-batch, stage after stage; return its output, and the stages for others like it."""
        runs, leaves = self._walk(inputs, training=False)
        return Evaluation(self._parts(inputs, runs, training=False), runs[-1].handed, leaves)

    def _copies(self, stage: int, training: bool) -> bool:
        """Return whether a stage needs copies: of a batch that it changes, of an input for recomputation."""
        return self._writes if stage == 0 else training and self._recompute[stage]

    def _parts(self, inputs: Inputs, runs: list[_Seen], *, training: bool) -> list[StagePart]:
        leaves, value = pytree.tree_flatten(inputs[0][0])
        targets, target = pytree.tree_flatten(inputs[2])
        parts: list[StagePart] = []
        before: tuple[Value, ...] = ()
        for number, (stretch, run) in enumerate(zip(self._stretches, runs, strict=True)):
            ends = stretch.ends and training and stretch.loss is not None
            read = [*range(len(leaves))] if number == 0 else []
            read += [*range(len(leaves), len(leaves) + len(targets))] if ends else []
            module = Children(
                stretch, value, target, run.handed, starts=number == 0, training=training,
                copied=self._copies(number, training),
            )  # fmt: skip
            forms = run.handed.leaves
            sends = () if stretch.ends else tuple(
                Value(
                    f"{number}:{at}", number, (number + 1,), form.shape, form.strides, form.dtype,
                    self._trains[number] and (form.dtype.is_floating_point or form.dtype.is_complex),
                )
                for at, form in enumerate(forms)
            )  # fmt: skip
            results = tuple(at for at, form in enumerate(forms) if isinstance(form, TensorForm)) if stretch.ends else ()
            parts.append(
                StagePart(number, module, stretch.paths, tuple(read), before, sends, results, (), run.changed, True)
            )
            value, before = run.handed.spec, sends
        return parts

    def _walk(self, inputs: Inputs, *, training: bool) -> tuple[list[_Seen], list[Any]]:
        """Run a micro-batch through all stages; return each stage's observations, and the leaves of the output."""
        exchange = self._exchange
        value, target = pytree.tree_map(
            lambda leaf: leaf.to(exchange.device) if isinstance(leaf, torch.Tensor) else leaf, (inputs[0][0], inputs[2])
        )
        runs: list[_Seen] = []
        leaves: list[Any] = []
        for stage, stretch in enumerate(self._stretches):
            source = exchange.layout.rank(stage, 0)
            outcome: _Seen | tuple[str, dict[str, Any]] | None = None
            cause: Exception | None = None
            if exchange.rank == source:
                try:
                    value, outcome = self._run(stage, value, target, training=training)
                except HackathonError as error:
                    outcome, cause = (error.id, dict(error.values)), error
                except NoLossError as error:
                    outcome, cause = (
                        (
                            Message(
                                "auto_parallel.no_loss",
                                "the model returns {kind}, which holds no loss: give loss=, or return a scalar "
                                "named loss",
                            ),
                            {"kind": str(error)},
                        ),
                        error,
                    )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # of torch, about pickled structures
                outcome = exchange.objects_of_all(outcome)[source]
            if isinstance(outcome, tuple):
                raise RequestError(outcome[0], **outcome[1]) from cause
            assert outcome is not None
            runs.append(outcome)
            if not (training and stretch.ends):
                leaves = self._shared(stage, outcome.handed, value, source)
                value = pytree.tree_unflatten(leaves, outcome.handed.spec)
        return runs, leaves

    def _run(self, stage: int, value: Any, target: Any, *, training: bool) -> tuple[Any, _Seen]:
        """Run a stage on this rank; in training on copies of its modules, so that the next step is the first one."""
        stretch = self._stretches[stage]
        modules = nn.ModuleList(stretch.modules)
        if training:
            memo: dict[int, Any] = {id(parameter): parameter for parameter in modules.parameters()}
            modules = nn.ModuleList(copy.deepcopy(list(stretch.modules), memo))
        ran = ModuleRange(stretch.numbers, stretch.paths, tuple(modules), stretch.ends, stretch.loss)
        buffers = {name: (buffer, buffer.clone()) for name, buffer in self._named_buffers(ran)} if training else {}
        at = ["loss"]
        versions: list[tuple[torch.Tensor, int]] = []
        seeds.Moment.micro_batch = 0

        def enters(leaf: Any) -> Any:
            if not isinstance(leaf, torch.Tensor):
                return leaf
            if training and stage and self._trains[stage - 1] and (leaf.is_floating_point() or leaf.is_complex()):
                leaf = leaf.detach().requires_grad_()
            leaf = entered(leaf, copied=self._copies(stage, training))
            versions.append((leaf, leaf._version))
            return leaf

        mode = torch.autocast(self._exchange.device.type, self._precision) if self._precision else None
        try:
            with (
                mode or contextlib.nullcontext(), torch.set_grad_enabled(training),
                contextlib.nullcontext() if training else evaluating(modules),
            ):  # fmt: skip
                output = ran.run(pytree.tree_map(enters, value), target, training=training, report=at.append)
        except (HackathonError, NoLossError):
            raise
        except Exception as error:
            file, line = frame_of(error) or ("?", 0)
            raise RequestError(
                "auto_parallel.module_failed",
                "{path}:{line}: module {module} failed with the example: {words}",
                module=at[-1],
                path=file,
                line=line,
                words=shortened(error),
            ) from error
        if stretch.ends and training and (not isinstance(output, torch.Tensor) or output.dim()):
            raise NoLossError(type(output).__name__)
        handed = Handed.of(output, at[-1], constants=stretch.ends)
        now = dict(self._named_buffers(ran))
        changed = sorted(
            name for name, (buffer, old) in buffers.items()
            # normalisation does not increase the version
            if now.get(name) is not buffer or not torch.equal(buffer, old)
        )  # fmt: skip
        writes = any(tensor._version != version for tensor, version in versions)
        output = pytree.tree_map(lambda leaf: leaf.detach() if isinstance(leaf, torch.Tensor) else leaf, output)
        return output, _Seen(handed, tuple(changed), writes)

    def _named_buffers(self, stretch: ModuleRange) -> list[tuple[str, torch.Tensor]]:
        return [
            (f"{path}.{name}", buffer) for path, module in zip(stretch.paths, stretch.modules, strict=True)
            for name, buffer in module.named_buffers(remove_duplicate=False)
        ]  # fmt: skip

    def _shared(self, stage: int, handed: Handed, value: Any, source: int) -> list[Any]:
        """Return on all ranks the leaves of the rank `source`."""
        exchange = self._exchange
        mine = pytree.tree_flatten(value)[0] if exchange.rank == source else handed.leaves
        leaves = []
        for at, (form, leaf) in enumerate(zip(handed.leaves, mine, strict=True)):
            if not isinstance(form, TensorForm):
                leaves.append(form)
                continue
            tensor = torch.empty_strided(form.shape, form.strides, dtype=form.dtype, device=exchange.device)
            if exchange.rank == source:
                tensor.copy_(leaf)
            if tensor.numel():
                value_ = Value(f"{stage}:{at}", stage, (), form.shape, form.strides, form.dtype, False)
                exchange.broadcast(flat_bytes(value_, tensor), source)
            leaves.append(tensor)
        return leaves

    # ---- buffers
    def buffers(self) -> list[torch.Tensor]:
        """Return this rank's current buffers: a module may have replaced them."""
        return [self._model.get_buffer(name) for name in self._buffers]

    def refresh(self, mine: MutableMapping[str, torch.Tensor]) -> None:
        """Put this rank's current buffers into its state, by canonical name."""
        mine.update(zip(self._buffers, self.buffers(), strict=True))


def one_argument(inputs: Inputs) -> None:
    """Raise RequestError unless the model is called with one positional argument, like a chain."""
    args, kwargs, _ = inputs
    if len(args) != 1 or kwargs:
        raise RequestError(
            "auto_parallel.module_inputs",
            "a model that is run module by module takes one positional argument; here there are {count}, and "
            "the keywords {names}",
            count=len(args),
            names=", ".join(kwargs) or "–",
        )
