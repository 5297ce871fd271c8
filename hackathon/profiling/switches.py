"""Tables of parameters and code lines that act on the part of a step in a piece of advice. Pure.

A parameter is named only for a program that declares it and accepts the value. Its saving is a bound by arithmetic:
gradients in two bytes instead of four are half the bytes, so they save at most half of the transfer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from hackathon.config.records import Scalar

WORKERS = 4
"""Loader workers per process that are tried first."""


@dataclass(frozen=True)
class Switch:
    """A parameter that acts on a part."""

    parameter: str
    advice: str
    """Id of the advice that it answers."""
    saves: float
    """Upper bound of the saved share of the part's time, 0…1."""
    rule: Literal["value", "workers", "double"] = "value"
    """`value`: set to `value`; `workers`: raised to WORKERS; `double`: doubled."""
    value: Scalar = True
    halves_bytes: bool = False
    """Whether it saves bytes, not operations: a measurement of the network then narrows the bound."""
    where: tuple[str, tuple[Scalar, ...]] = ("", ())
    """(Another parameter, the values of it with which this one acts); irrelevant if the program lacks that one."""


AHEAD = ("iterator", ("multithread", "multiprocess"))
NCCL = ("communicator", ("pure_nccl",))
"""Conditions: workers need a parallel iterator; ChainerMN's fp16 and double buffering need pure_nccl."""
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
"""`keep_gathered` of FSDP saves one of its three transfers: gathering for backward (Zhao et al. 2023)."""

OFF: Mapping[str, tuple[Scalar, ...]] = {"hook": ("none",), "compression": ("none",), "iterator": ("serial",)}
"""Parameter → values that the suggested one improves on; for other values this is unknown."""

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
"""(framework, id of advice) → lines for the user's own program, and the upper bound of the saved share."""


def names_of(advice: str) -> frozenset[str]:
    """Return the parameters that a piece of advice may name."""
    return frozenset(switch.parameter for switch in SWITCHES if switch.advice == advice)


def acts(switch: Switch, parameters: Mapping[str, Scalar]) -> bool:
    """Return whether a program has a parameter and the parameter acts with the current values of the others."""
    name, values = switch.where
    return switch.parameter in parameters and (name not in parameters or parameters[name] in values)


def value_for(switch: Switch, now: Scalar | None, threads: int) -> Scalar | None:
    """Return the value to set a parameter to; None if it has that value, or if no value can be recommended.

    `threads`: per process, 0: unknown. More workers than threads would take turns.
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
