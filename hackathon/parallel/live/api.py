"""AutoParallel: a model that was written for one device, trained by a plan on many."""

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.fx import GraphModule
from torch.utils import _pytree as pytree

from hackathon.parallel.description.built import Built, Capture
from hackathon.parallel.description.choice import plan_for_ranks
from hackathon.parallel.description.refusal import CaptureRefusal, refusal_of, shortened
from hackathon.parallel.fidelity.self_check import LONGEST, SelfCheck, self_check
from hackathon.parallel.live import batches, checkpoint, requirements, seeds
from hackathon.parallel.live.batches import Inputs
from hackathon.parallel.live.capture import NoLossError, Traced, loss_in, named_state
from hackathon.parallel.live.exchange import Messenger
from hackathon.parallel.live.gradients import Reduction, share_buffers
from hackathon.parallel.live.inference import Inference
from hackathon.parallel.live.layout import Layout
from hackathon.parallel.live.offload import Streamed
from hackathon.parallel.live.offload_blocks import stream_graph
from hackathon.parallel.live.plans import RunPlan, check_plan, recomputing, run_plan
from hackathon.parallel.live.ranks import connect, device_of_rank
from hackathon.parallel.live.run import Links, Pipeline
from hackathon.parallel.live.shards import Shards
from hackathon.parallel.live.skeleton import Skeleton
from hackathon.parallel.live.split import StagePart, split
from hackathon.parallel.live.stage import RankStage, bind
from hackathon.parallel.live.state import Holding, gathered, put, replace, take, under_all_names
from hackathon.parallel.modules.chain import ModuleChain
from hackathon.parallel.modules.inference import ModuleInference
from hackathon.parallel.modules.stages import ModuleStages
from hackathon.text.errors import RequestError
from hackathon.text.messages import _, ngettext

Optimizer = Callable[[list[nn.Parameter]], Any]
"""Creates the optimizer of the given parameters, or (optimizer, learning-rate schedule)."""


class AutoParallel:
    """Trains a model in stages, one process per replica of a stage. All processes call the same methods.

    `plan`: plan.json, or the object in it; None: the operators are measured and the plan is created here, with
    `micro_batches` (default: up to 4 per process, as far as the samples are divisible). `example`: a batch for `step`,
    of the training's size. `loss(output, target)`; without it the model's own output is the loss, or contains it as
    `loss`. Afterwards the model belongs to this object and keeps only the parameters of its stage. `seed`: of dropout
    (default: torch's of rank 0). `schedule`: 1f1b, gpipe, interleaved-1f1b or interleaved-zero-bubble. `precision`:
    None or bf16 (autocast). `max_grad_norm`: clip by the global norm. `compiler`: backend of torch.compile for each
    stage. `timeout`: seconds to wait for another process. `shard`: the replicas of a stage divide its parameters,
    gradients and optimizer states among them (FSDP2). `initialise`: for models built on the meta device, initialises
    the parameters and buffers of one module, after its reset_parameters() or _reset_parameters() if it has one; not
    those of its children. If a plan names modules instead of operators, these modules run unchanged. `check`: whether
    the captured graph is compared with the model before training; `checked` has the result.
    """

    def __init__(
        self, model: nn.Module, *, optimizer: Optimizer, example: Any,
        plan: Path | str | Mapping[str, Any] | None = None, micro_batches: int | None = None,
        loss: Callable[..., Any] | None = None, schedule: str = "1f1b", precision: str | None = None,
        max_grad_norm: float | None = None, compiler: str | None = None, seed: int | None = None,
        device: torch.device | str | None = None, timeout: float = 600.0,
        initialise: Callable[[nn.Module], None] | None = None, shard: bool = False, check: bool = True,
    ) -> None:  # fmt: skip
        self.device = torch.device(device) if device is not None else device_of_rank()
        requirements.check_model(model)
        requirements.check_loss(loss)
        requirements.check_options(schedule, precision)
        self.checked: SelfCheck | None = None
        """The result of the self-check; None when the model is run by its modules."""
        longest = min(LONGEST, timeout / 4)
        if plan is None:
            self.rank, world = connect(self.device, timeout)
            plan = plan_for_ranks(
                model, example, loss, micro_batches, device=self.device, rank=self.rank, processes=world,
                offload=precision is None and compiler is None and not shard, check=check,
                precision=requirements.PRECISIONS[precision] if precision else None, longest=longest,
            )  # fmt: skip
            self.checked, check = SelfCheck.of(plan.get("check")), False
        self.plan: RunPlan = run_plan(plan)
        requirements.check_offload(self.plan, precision, compiler)
        if shard:
            requirements.check_shard(self.plan, compiler)
        self.rank, world = connect(self.device, timeout)
        chunks = requirements.chunks_of(self.plan, world, schedule, compiler=bool(compiler), shard=shard)
        requirements.check_size(self.plan, world, chunks)
        self._loss, self._max_grad_norm = loss, max_grad_norm
        self.training, self.steps = True, 0
        layout = Layout(self.plan.replicas, chunks)
        self.stage, self.replica = layout.place(self.rank)
        self.stages = layout.own(self.rank)
        self._exchange = Messenger(layout, self.rank, self.device, timeout)
        self._precision = requirements.PRECISIONS[precision] if precision else None

        first = batches.even_pieces(batches.inputs_of(example, loss is not None), self.plan.micro_batches)[0]
        chain = ModuleChain.of(model, loss)
        if chain is None or not chain.is_meant_by(self.plan.stage_of):
            chain = None
            requirements.check_hooks(model)
        else:
            requirements.check_modules(self.plan, first, schedule, compiler=bool(compiler), shard=shard)
        self._signature = batches.signature(first)
        try:
            self._skeleton = Skeleton(model, loss)
        except (TypeError, RuntimeError) as error:
            raise RequestError(
                "auto_parallel.not_copied",
                "the model holds something that copy.deepcopy cannot copy: {words}",
                words=shortened(error),
            ) from error
        traced = chain or self._trace(first)
        check_plan(self.plan, traced)
        before, self.plan = self.plan, recomputing(self.plan, traced)
        if self.plan != before and self.rank == 0 and isinstance(traced, Traced):
            print(
                ngettext(
                    "{count} operator stands in torch.utils.checkpoint: the stages with them recompute.",
                    "{count} operators stand in torch.utils.checkpoint: the stages with them recompute.",
                    len(traced.checkpointed),
                    count=len(traced.checkpointed),
                ),
                file=sys.stderr,
            )
        if check and isinstance(traced, Traced):
            built = Built(model, *first[:2], loss, first[2])
            self.checked = self._self_check(Capture(built, self._skeleton, traced), longest)
        parts = [] if isinstance(traced, ModuleChain) else self._split(traced, self.plan.stage_of, first)
        requirements.check_links(parts, layout, self.device)
        if compiler:
            requirements.check_compile(any(part.draws for part in parts))
        self._holding = Holding.of(model, self._skeleton.aliases, traced, self.plan.stage_of)
        seed = self._exchange.objects_of_all(torch.initial_seed() if seed is None else seed)[0]
        self.seed = int(seed)
        self._exchange_groups()
        # a stage whose parameters are streamed does not fit on its device
        parameter_device = torch.device("cpu") if self.plan.offload[self.stage] else self.device
        self._mine = take(model, self._holding, self.stages, self._exchange, self.seed, initialise, parameter_device)
        self._modules: ModuleStages | None = None
        if isinstance(traced, ModuleChain):
            self._modules = ModuleStages(
                model, traced, loss, self.plan.stage_of, self._holding, self._exchange, recompute=self.plan.recompute,
                precision=self._precision,
            )  # fmt: skip
            parts = self._modules.training(first)
            requirements.check_links(parts, layout, self.device)
        bound = dict(self._mine)
        self.sharded: Shards | None = None
        """The parameters of this rank's stage that its replicas divide among them, if they do."""
        if shard and self.plan.replicas[self.stage] > 1:
            self._shard(parts[self.stage], model)
            bound = dict(self._mine)
        self._start(parts, schedule, compiler, optimizer)
        size = batches.samples_of(first)
        if self._modules is not None:
            self._inference: Inference = ModuleInference(self._modules, self._pipeline, size)
        else:
            assert isinstance(traced, Traced)
            self._inference = Inference(
                self._skeleton, traced, self.plan.stage_of, self._holding, bound, self._pipeline, size,
                self._precision, self.streamed, self.sharded,
            )  # fmt: skip
        self._told(parts)

    # ---- construction
    def _trace(self, first: Inputs) -> Traced:
        try:
            return self._skeleton.trace(*first, training=True)
        except NoLossError as error:
            raise RequestError(
                "auto_parallel.no_loss",
                "the model returns {kind}, which holds no loss: give loss=, or return a scalar named loss",
                kind=str(error),
            ) from None
        except Exception as error:
            refusal = refusal_of(error, self._skeleton.model)
            values: dict[str, Any] = dict(refusal.values)
            raise RequestError(refusal.id, **values) from error

    def _self_check(self, capture: Capture, longest: float) -> SelfCheck:
        """Compare model and graph on rank 0. Raises RequestError on all ranks for a difference."""
        outcome: SelfCheck | tuple[str, dict[str, Any]] | None = None
        cause: CaptureRefusal | None = None
        if self.rank == 0:
            try:
                outcome = self_check(
                    capture, lambda: capture.built, device=self.device, precision=self._precision, longest=longest
                )
            except CaptureRefusal as refusal:
                outcome, cause = (refusal.id, dict(refusal.values)), refusal
        outcome = self._exchange.objects_of_all(outcome)[0]
        if isinstance(outcome, tuple):
            raise RequestError(outcome[0], **outcome[1]) from cause
        assert outcome is not None
        return outcome

    def _split(self, traced: Traced, stage_of: Mapping[str, int], inputs: Inputs) -> list[StagePart]:
        leaves = pytree.tree_flatten(inputs)[0]
        shapes = {} if self._precision is None else self._skeleton.shapes(traced, leaves, self._precision, self.device)
        return split(traced, stage_of, stages=len(self.plan.replicas), device=self.device, metadata=shapes)

    def _exchange_groups(self) -> None:
        """Prepare sums over each set of ranks with common parameters: the same on all ranks, in one order."""
        layout = self._exchange.layout
        self._ranks = {name: layout.ranks(stages) for name, stages in self._holding.stages.items()}
        for ranks in sorted({*self._ranks.values(), *(layout.ranks([stage]) for stage in range(len(layout.replicas)))}):
            self._exchange.make_group(ranks)

    def _shard(self, part: StagePart, model: nn.Module) -> None:
        """Divide the parameters of the stage over its replicas; no rank keeps them complete afterwards."""
        aliases = self._skeleton.aliases
        bind(part, under_all_names(self._mine, aliases), self.device)
        tied = {name for name in self._mine if len(self._holding.stages[name]) > 1}
        ranks = self._exchange.layout.ranks([self.stage])
        self.sharded = Shards(part, self._mine, tied, self._exchange, ranks)
        self._mine = {**self._mine, **self.sharded.parameters}
        replace(model, aliases, self.sharded.parameters)

    def _start(self, parts: list[StagePart], schedule: str, compiler: str | None, optimizer: Optimizer) -> None:
        mine = [parts[number] for number in self.stages]
        for part in mine if self._modules is None else ():
            bind(part, under_all_names(self._mine, self._skeleton.aliases), self.device)
        self.streamed: Streamed | None = None
        """The parameters of this rank's stage, if the plan keeps them in main memory."""
        if self.plan.offload[self.stage]:
            assert isinstance(mine[0].module, GraphModule)
            self.streamed = stream_graph(mine[0].module, self.device)
            hosts = {} if self.streamed is None else self.streamed.hosts()
            self._mine = {name: hosts.get(id(tensor), tensor) for name, tensor in self._mine.items()}
        module = None if self.sharded is None else self.sharded.module
        stages = [
            RankStage(
                part, self.device, recompute=self.plan.recompute[part.number], precision=self._precision,
                compiler=compiler, module=module,
            ) for part in mine
        ]  # fmt: skip
        self._pipeline = Pipeline(stages, Links.of(parts), self._exchange, schedule)
        self._parameters = {name: tensor for name, tensor in self._mine.items() if isinstance(tensor, nn.Parameter)}
        divided = () if self.sharded is None else self.sharded.parameters
        self._reduction = Reduction(self._parameters, self._ranks, self._exchange, divided)
        # torch refuses an optimizer without parameters, so a stage without any has an empty one
        own = list(self._parameters.values()) or [nn.Parameter(torch.empty(0, device=self.device))]
        answer = optimizer(own)
        self.optimizer, self.scheduler = answer if isinstance(answer, tuple) else (answer, None)
        requirements.check_optimizer(self.optimizer)
        if self.sharded is not None and self.sharded.is_mixed:
            requirements.check_mixed(self.optimizer)
        graphs = mine if self._modules is None else []
        self._changed = [part.module.get_buffer(name) for part in graphs for name in part.changed]

    def _told(self, parts: list[StagePart]) -> None:
        """Report that the self-check was not run, and how replicas treat statistics of normalisation."""
        if self.rank == 0 and self.checked is not None and self.checked.why_not not in (None, "off"):
            identifier, values = self.checked.sentence
            print(_(identifier, **values), file=sys.stderr)
        stages = [part.number for part in parts if part.changed and self.plan.replicas[part.number] > 1]
        if stages and self.rank == 0:
            print(
                _(
                    "Replicas of stages {stages}: statistics of normalisation are those of the first replica.",
                    stages=", ".join(map(str, stages)),
                ),
                file=sys.stderr,
            )

    # ---- training
    def step(self, batch: Any) -> torch.Tensor:
        """Train with one batch, the same on all processes; return its mean loss over all micro-batches.

        Raises RequestError for a batch that does not match the example, RankLostError if another process has ended.
        """
        if not self.training:
            raise RequestError("auto_parallel.evaluating", "step() in evaluation mode: call train() first")
        with self._exchange.progress.step():
            return self._step(batch)

    def _step(self, batch: Any) -> torch.Tensor:
        inputs = batches.inputs_of(batch, self._loss is not None)
        micro_batches = batches.even_pieces(inputs, self.plan.micro_batches)
        if batches.signature(micro_batches[0]) != self._signature:
            raise RequestError(
                "auto_parallel.other_batch", "this batch differs from the example in shape, type or constants"
            )
        seeds.Moment.seed, seeds.Moment.step = self.seed, self.steps
        self.optimizer.zero_grad(set_to_none=True)
        share = 1.0 / len(micro_batches)
        losses = self._pipeline.step(
            [batches.leaves_of(piece, self.device) for piece in micro_batches],
            lambda loss: torch.full_like(loss, share),
        )
        total = self._mean_loss(losses, batches.checksum(inputs))
        self._reduction.reduce()
        if self._max_grad_norm is not None:
            self._reduction.clip(self._max_grad_norm)
        self.optimizer.step()
        if self.scheduler is not None:
            self.scheduler.step()
        replicas = self._exchange.layout.ranks([self.stage])
        if len(replicas) > 1:
            share_buffers(self._modules.buffers() if self._modules else self._changed, replicas, self._exchange)
        self.steps += 1
        return total

    def _mean_loss(self, losses: torch.Tensor, check: int) -> torch.Tensor:
        """Return the mean loss; refuse batches that differ between processes: their squares would not add up."""
        extra = torch.tensor([float(check), float(check) ** 2], dtype=torch.float64, device=self.device)
        totals = torch.cat([losses, extra])
        self._exchange.sum_over_all(totals)
        if totals[-1].item() * self._exchange.layout.size != totals[-2].item() ** 2:
            raise RequestError(
                "auto_parallel.batches_differ",
                "the processes were given different batches",
                hint="Give all of them the same: seed the loader alike, and use no DistributedSampler.",
            )
        self.losses = totals[: len(losses)].float()
        return self.losses.mean()

    # ---- evaluation
    def train(self, mode: bool = True) -> "AutoParallel":
        """Return to training."""
        self.training = mode
        return self

    def eval(self) -> "AutoParallel":
        """Turn dropout off and let normalisation use its statistics, as in the plain program."""
        return self.train(False)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the model's output in evaluation mode, without gradients, on all processes.

        Samples are split along the first dimension; a result without dimensions, such as a loss, is the mean over them.
        """
        if self.training:
            raise RequestError(
                "auto_parallel.training", "the model's output is given in evaluation mode only: call eval() first"
            )
        seeds.Moment.seed, seeds.Moment.step = self.seed, self.steps
        return self._inference.output((args, kwargs, None))

    def evaluate(self, batch: Any) -> torch.Tensor:
        """Return the loss of a batch in evaluation mode, without gradients."""
        args, kwargs, target = batches.inputs_of(batch, self._loss is not None)
        output = self(*args, **kwargs)
        if self._loss is None:
            return loss_in(output)
        target = pytree.tree_map(lambda e: e.to(self.device) if isinstance(e, torch.Tensor) else e, target)
        if isinstance(self._loss, nn.Module):
            self._loss.to(self.device)  # e.g. weights of classes
        return self._loss(output) if target is None else self._loss(output, target)  # type: ignore[no-any-return]

    # ---- state
    def parameters(self) -> Iterable[nn.Parameter]:
        """Return the parameters of this process."""
        return self._parameters.values()

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Return the complete state by the user's own names, on the CPU of every process. All processes call this."""
        tensors = gathered(self._current(), self._names(), self._holding, self._shapes(), self._exchange, self.sharded)
        return {name: tensors[self._holding.aliases[name]] for name in self._holding.kept}

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Load a complete state, of this object or of the plain program. All processes call this with the same one."""
        for name in self._holding.kept:
            if name not in state:
                raise RequestError("auto_parallel.state_missing", "the state does not hold {name}", name=name)
        for name in state:
            if name not in self._holding.kept:
                raise RequestError(
                    "auto_parallel.state_unknown", "the state holds {name}, which the model does not have", name=name
                )
        tensors = {self._holding.aliases[name]: state[name] for name in self._holding.kept}
        self._put(tensors)

    def save(self, folder: Path | str) -> None:
        """Write a checkpoint: parameters, buffers, optimizer, step. All processes call this; they share the folder."""
        owned = {}
        if self.replica == 0 or self.sharded is not None:
            state = self._current()
            owned = {n: state[n] for n in self._names() if self._holding.owner(n) in self.stages}
        schedule = None if self.scheduler is None else self.scheduler.state_dict()
        facts = {"step": self.steps, "seed": self.seed, "schedule": schedule}
        checkpoint.save(
            Path(folder), owned, self.optimizer, self._exchange, facts, self.sharded, writes=self.replica == 0
        )

    def load(self, folder: Path | str) -> None:
        """Load a checkpoint, written under any plan. All processes call this."""
        record = checkpoint.Checkpoint(folder)
        state = record.state
        checkpoint.complete(state, self._names(), folder)
        self._put(state)
        record.into_optimizer(self.optimizer, self._parameters)
        self.steps, self.seed = int(record.facts["step"]), int(record.facts["seed"])
        schedule = record.schedule
        if self.scheduler is not None and schedule is not None:
            self.scheduler.load_state_dict(schedule)

    def _put(self, state: Mapping[str, torch.Tensor]) -> None:
        put(self._current(), state, [name for name in self._mine if name in state])
        if self.streamed is not None:
            self.streamed.forget()

    def _current(self) -> dict[str, torch.Tensor]:
        """Return this rank's state by canonical name; modules may have replaced their buffers."""
        if self._modules is not None:
            self._modules.refresh(self._mine)
        return self._mine

    def _names(self) -> list[str]:
        """Return the canonical names of a state, in the same order on all processes."""
        return list(dict.fromkeys(self._holding.aliases[name] for name in self._holding.kept))

    def _shapes(self) -> dict[str, torch.Tensor]:
        return dict(named_state(self._skeleton.model))
