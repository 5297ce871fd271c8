"""The stages of a plan that cuts between modules: what goes from stage to stage is learnt by running them once."""

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
from hackathon.parallel.modules.children import Children, Handed, Stretch, TensorForm, entered, evaluating
from hackathon.text.errors import HackathonError, RequestError


@dataclass(frozen=True)
class _Seen:
    """What one run of a stage has shown."""

    handed: Handed
    changed: tuple[str, ...]
    """Names of the buffers that its modules changed."""
    writes: bool
    """Whether they changed what they were given, in place."""


@dataclass(frozen=True)
class Evaluation:
    """The stages of an evaluation of one shape, and what the whole model returned when they were learnt."""

    parts: list[StagePart]
    output: Handed
    leaves: list[Any]


class ModuleStages:
    """The stages of a chain of modules. All ranks make one, and call its methods together."""

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
            paths = tuple(chain.paths[each] for each in mine)
            modules = tuple(chain.modules[each] for each in mine)
            self._stretches.append(Stretch(tuple(mine), paths, modules, stage == count - 1, loss))
        trained = [any(each.requires_grad for m in s.modules for each in m.parameters()) for s in self._stretches]
        self._trains = [any(trained[: stage + 1]) for stage in range(count)]
        """Whether gradients come back to each stage: whether it or one before it has a trainable parameter."""
        own = exchange.layout.place(exchange.rank)[0]
        buffers = dict(model.named_buffers())
        self._writes = True
        self._buffers = [name for name in holding.of_stage(own) if name in buffers]

    # ---- what goes from stage to stage
    def training(self, inputs: Inputs) -> list[StagePart]:
        """Return the stages for micro-batches like this one. The modules run once, on copies of themselves.

        Raises RequestError on all ranks for modules that cannot be parted, or that fail.
        """
        seen, _ = self._walk(inputs, training=True)
        self._writes = seen[0].writes
        for stage, each in enumerate(seen):
            for name in each.changed:
                if len(self._holding.stages[self._holding.aliases[name]]) > 1:
                    raise RequestError("auto_parallel.shared_buffer", name=name, stage=stage)
        return self._parts(inputs, seen, training=True)

    def evaluation(self, inputs: Inputs) -> Evaluation:
        """Evaluate one micro-batch, stage after stage; return its output, and the stages for others like it."""
        seen, leaves = self._walk(inputs, training=False)
        return Evaluation(self._parts(inputs, seen, training=False), seen[-1].handed, leaves)

    def _copies(self, stage: int, training: bool) -> bool:
        """Return whether a stage runs on copies: of the batch if it changes it, of what it needs again to recompute."""
        return self._writes if stage == 0 else training and self._recompute[stage]

    def _parts(self, inputs: Inputs, seen: list[_Seen], *, training: bool) -> list[StagePart]:
        leaves, value = pytree.tree_flatten(inputs[0][0])
        targets, target = pytree.tree_flatten(inputs[2])
        parts: list[StagePart] = []
        before: tuple[Value, ...] = ()
        for number, (stretch, each) in enumerate(zip(self._stretches, seen, strict=True)):
            ends = stretch.ends and training and stretch.loss is not None
            read = [*range(len(leaves))] if number == 0 else []
            read += [*range(len(leaves), len(leaves) + len(targets))] if ends else []
            module = Children(
                stretch, value, target, each.handed, starts=number == 0, training=training,
                copied=self._copies(number, training),
            )  # fmt: skip
            forms = each.handed.leaves
            sends = () if stretch.ends else tuple(
                Value(
                    f"{number}:{at}", number, (number + 1,), form.shape, form.strides, form.dtype,
                    self._trains[number] and (form.dtype.is_floating_point or form.dtype.is_complex),
                )
                for at, form in enumerate(forms)
            )  # fmt: skip
            results = tuple(at for at, form in enumerate(forms) if isinstance(form, TensorForm)) if stretch.ends else ()
            parts.append(
                StagePart(number, module, stretch.paths, tuple(read), before, sends, results, (), each.changed, True)
            )
            value, before = each.handed.spec, sends
        return parts

    def _walk(self, inputs: Inputs, *, training: bool) -> tuple[list[_Seen], list[Any]]:
        """Run a micro-batch through all stages; return what each has shown, and the leaves of the model's output."""
        exchange = self._exchange
        value, target = pytree.tree_map(
            lambda each: each.to(exchange.device) if isinstance(each, torch.Tensor) else each, (inputs[0][0], inputs[2])
        )
        found: list[_Seen] = []
        leaves: list[Any] = []
        for stage, stretch in enumerate(self._stretches):
            source = exchange.layout.rank(stage, 0)
            told: _Seen | tuple[str, dict[str, Any]] | None = None
            cause: Exception | None = None
            if exchange.rank == source:
                try:
                    value, told = self._run(stage, value, target, training=training)
                except HackathonError as error:
                    told, cause = (error.id, dict(error.values)), error
                except NoLossError as error:
                    told, cause = ("auto_parallel.no_loss", {"kind": str(error)}), error
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # of torch, about structures that were pickled
                told = exchange.objects_of_all(told)[source]
            if isinstance(told, tuple):
                raise RequestError(told[0], **told[1]) from cause
            assert told is not None
            found.append(told)
            if not (training and stretch.ends):
                leaves = self._shared(stage, told.handed, value, source)
                value = pytree.tree_unflatten(leaves, told.handed.spec)
        return found, leaves

    def _run(self, stage: int, value: Any, target: Any, *, training: bool) -> tuple[Any, _Seen]:
        """Run a stage on this rank: in training copies of its modules, so that the step to come is the first one."""
        stretch = self._stretches[stage]
        modules = nn.ModuleList(stretch.modules)
        if training:
            memo: dict[int, Any] = {id(each): each for each in modules.parameters()}
            modules = nn.ModuleList(copy.deepcopy(list(stretch.modules), memo))
        ran = Stretch(stretch.numbers, stretch.paths, tuple(modules), stretch.ends, stretch.loss)
        buffers = {name: (each, each.clone()) for name, each in self._named_buffers(ran)} if training else {}
        at = ["loss"]
        given: list[tuple[torch.Tensor, int]] = []
        seeds.Moment.micro_batch = 0

        def enters(each: Any) -> Any:
            if not isinstance(each, torch.Tensor):
                return each
            if training and stage and self._trains[stage - 1] and (each.is_floating_point() or each.is_complex()):
                each = each.detach().requires_grad_()
            each = entered(each, copied=self._copies(stage, training))
            given.append((each, each._version))
            return each

        mode = torch.autocast(self._exchange.device.type, self._precision) if self._precision else None
        try:
            with (
                mode or contextlib.nullcontext(), torch.set_grad_enabled(training),
                contextlib.nullcontext() if training else evaluating(modules),
            ):  # fmt: skip
                made = ran.run(pytree.tree_map(enters, value), target, training=training, told=at.append)
        except (HackathonError, NoLossError):
            raise
        except Exception as error:
            file, line = frame_of(error) or ("?", 0)
            raise RequestError(
                "auto_parallel.module_failed", module=at[-1], path=file, line=line, words=shortened(error)
            ) from error
        if stretch.ends and training and (not isinstance(made, torch.Tensor) or made.dim()):
            raise NoLossError(type(made).__name__)
        handed = Handed.of(made, at[-1], constants=stretch.ends)
        now = dict(self._named_buffers(ran))
        changed = sorted(
            name for name, (each, old) in buffers.items()
            if now.get(name) is not each or not torch.equal(each, old)  # normalisation bumps no version of its own
        )  # fmt: skip
        writes = any(each._version != version for each, version in given)
        made = pytree.tree_map(lambda each: each.detach() if isinstance(each, torch.Tensor) else each, made)
        return made, _Seen(handed, tuple(changed), writes)

    def _named_buffers(self, stretch: Stretch) -> list[tuple[str, torch.Tensor]]:
        return [
            (f"{path}.{name}", each) for path, module in zip(stretch.paths, stretch.modules, strict=True)
            for name, each in module.named_buffers(remove_duplicate=False)
        ]  # fmt: skip

    def _shared(self, stage: int, handed: Handed, value: Any, source: int) -> list[Any]:
        """Return on all ranks the leaves that the rank `source` has."""
        exchange = self._exchange
        mine = pytree.tree_flatten(value)[0] if exchange.rank == source else handed.leaves
        found = []
        for at, (form, each) in enumerate(zip(handed.leaves, mine, strict=True)):
            if not isinstance(form, TensorForm):
                found.append(form)
                continue
            tensor = torch.empty_strided(form.shape, form.strides, dtype=form.dtype, device=exchange.device)
            if exchange.rank == source:
                tensor.copy_(each)
            if tensor.numel():
                value_ = Value(f"{stage}:{at}", stage, (), form.shape, form.strides, form.dtype, False)
                exchange.broadcast(flat_bytes(value_, tensor), source)
            found.append(tensor)
        return found

    # ---- buffers
    def buffers(self) -> list[torch.Tensor]:
        """Return what this rank's buffers are now: a module may have put others into their places."""
        return [self._model.get_buffer(name) for name in self._buffers]

    def refresh(self, mine: MutableMapping[str, torch.Tensor]) -> None:
        """Put what this rank's buffers are now into its state, by canonical name."""
        mine.update(zip(self._buffers, self.buffers(), strict=True))


def one_argument(inputs: Inputs) -> None:
    """Raise RequestError unless the model is called with one positional argument, as a chain is."""
    args, kwargs, _ = inputs
    if len(args) != 1 or kwargs:
        raise RequestError("auto_parallel.module_inputs", count=len(args), names=", ".join(kwargs) or "–")
