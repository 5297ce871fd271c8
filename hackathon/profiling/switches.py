"""Which parameter or which lines act on the part of a step that advice is about, as data. Pure.

A parameter is named only for a program that declares it and takes the value. What it saves is a bound by arithmetic:
gradients in two bytes instead of four are half the bytes, so they save at most half of the transfer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from hackathon.config.fields import Scalar

WORKERS = 4
"""Loader workers of a process that are tried first."""


@dataclass(frozen=True)
class Switch:
    """A parameter that acts on a part."""

    parameter: str
    advice: str
    """Id of the advice that it answers."""
    saves: float
    """The most of the part's time that it saves, 0…1."""
    rule: Literal["value", "workers", "double"] = "value"
    """`value`: set to `value`; `workers`: raised to WORKERS; `double`: doubled."""
    value: Scalar = True
    halves_bytes: bool = False
    """Whether it saves bytes, not operations: then a measurement of the network narrows the bound."""
    where: tuple[str, tuple[Scalar, ...]] = ("", ())
    """(Another parameter, the values of it with which this one acts); a program without that one needs none of them."""


AHEAD = ("iterator", ("multithread", "multiprocess"))
NCCL = ("communicator", ("pure_nccl",))
"""Where workers do something (a serial iterator has none), and where ChainerMN takes fp16 and double buffering."""
SWITCHES = (
    Switch("workers", "slow-loader", 1.0, "workers", where=AHEAD),
    Switch("num_workers", "slow-loader", 1.0, "workers"),
    Switch("iterator", "slow-loader", 1.0, value="multiprocess"),
    Switch("hook", "exposed-communication", 0.5, value="bf16", halves_bytes=True),
    Switch("compression", "exposed-communication", 0.5, value="fp16", halves_bytes=True),
    Switch("allreduce_fp16", "exposed-communication", 0.5, value=True, halves_bytes=True, where=NCCL),
    Switch("accumulate", "exposed-communication", 0.5, "double"),
    Switch("double_buffering", "exposed-communication", 1.0, value=True, where=NCCL),
    Switch("keep_gathered", "exposed-communication", 1 / 3, value=True),
)
"""`keep_gathered` of FSDP spares one of its three transfers: gathering for backward (Zhao et al. 2023)."""

OFF: Mapping[str, tuple[Scalar, ...]] = {"hook": ("none",), "compression": ("none",), "iterator": ("serial",)}
"""Parameter → values of which the suggested one is an improvement; of others nobody knows."""

LINES: Mapping[tuple[str, str], tuple[str, float]] = {
    ("torch", "slow-loader"): (
        "loader = DataLoader(data, batch_size=64, num_workers=4, persistent_workers=True)", 1.0,
    ),
    ("chainer", "slow-loader"): (
        "train = chainer.iterators.MultiprocessIterator(train, 64, n_processes=4)", 1.0,
    ),
    ("torch", "exposed-communication"): (
        "from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook\n"
        "model.register_comm_hook(None, bf16_compress_hook)  # model: DistributedDataParallel", 0.5,
    ),
    ("horovod", "exposed-communication"): (
        "optimizer = hvd.DistributedOptimizer(optimizer, compression=hvd.Compression.fp16)", 0.5,
    ),
}  # fmt: skip
"""(framework, id of advice) → what a program of one's own needs, and the most of the part's time that it saves."""


def names_of(advice: str) -> frozenset[str]:
    """Return the parameters that a piece of advice may name."""
    return frozenset(switch.parameter for switch in SWITCHES if switch.advice == advice)


def acts(switch: Switch, parameters: Mapping[str, Scalar]) -> bool:
    """Return whether a program with these parameters has a switch, and it acts with the others as they are."""
    name, values = switch.where
    return switch.parameter in parameters and (name not in parameters or parameters[name] in values)


def value_for(switch: Switch, now: Scalar | None, threads: int) -> Scalar | None:
    """Return what to set a parameter to; None where it is there already, or nothing can be said of its value.

    `threads`: of a process, 0: not known. More workers than that would take turns.
    """
    if switch.rule == "value":
        values = OFF.get(switch.parameter, (False,))
        return switch.value if now is None or now in values else None
    if isinstance(now, bool) or not isinstance(now, int):
        return None
    if switch.rule == "double":
        return 2 * now if now > 0 else None
    workers = min(WORKERS, max(2, threads)) if threads else WORKERS
    return workers if now < workers else None
