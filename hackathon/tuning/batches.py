"""The largest batch that fits: the job that looks for it, and what its starts showed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hackathon.config.fields import Scalar
from hackathon.diagnosis.examine import diagnose_files
from hackathon.runs.directory import RunDirectory
from hackathon.text.errors import RequestError
from hackathon.text.json_fields import finite, whole
from hackathon.tuning.measurement import STARTING, SingleProcess, SpeedupMeasurement
from hackathon.tuning.options import BATCH, SAVERS, named
from hackathon.tuning.slots import slot_folders

MARK = "@BATCH@"
STARTS = 16
"""Starts that the job's time is reckoned for."""
MEMORY_RULES = frozenset(
    {
        "gpu-out-of-memory", "gpu-out-of-memory-other", "hardware-memory-exhausted", "job-out-of-memory",
        "scheduler-memory-exceeded",
    }
)  # fmt: skip
"""Ids of the failure rules that say that memory was not enough."""
KILLED = -9


@dataclass(frozen=True)
class BatchProbe:
    """One start with a batch."""

    batch: int
    kind: str
    """`search`, `confirm`, or the setting that lowers memory."""
    fits: bool
    memory: int | None
    seconds: float
    cause: str = ""
    """Id of the failure rule that holds; `killed` for SIGKILL; `unknown` for another failure."""
    folder: str = ""

    @property
    def out_of_memory(self) -> bool:
        """Whether it failed for want of memory."""
        return self.cause in MEMORY_RULES or self.cause == "killed"

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "batch": self.batch, "kind": self.kind, "fits": self.fits, "memory_bytes": self.memory,
            "seconds": self.seconds, "cause": self.cause or None,
        }  # fmt: skip


@dataclass(frozen=True)
class LargestBatch:
    """What the search found."""

    parameter: str
    first: int
    """The batch of the program as it is."""
    limit: int | None
    """Bytes of memory."""
    predicted: int | None
    """From the first two starts that fit."""
    largest: int | None
    """None: nothing fits, or another failure got in the way."""
    recommended: int | None
    confirmed: bool
    """Whether the recommended batch passed a longer start."""
    probes: tuple[BatchProbe, ...]
    other_failure: BatchProbe | None = None
    """A start that failed for another reason than memory: then nothing is known."""
    virtual: bool = False
    """Whether memory is of addresses, as a limit of them counts it."""

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "schema_version": 1, "parameter": self.parameter, "batch": self.first, "limit_bytes": self.limit,
            "memory_of": "addresses" if self.virtual else "device_or_resident", "predicted": self.predicted,
            "largest": self.largest, "recommended": self.recommended, "confirmed": self.confirmed,
            "probes": [each.as_json() for each in self.probes],
            "other_failure": self.other_failure.as_json() if self.other_failure else None,
        }  # fmt: skip


def batch_parameter(program: SingleProcess) -> tuple[str, int]:
    """Return the parameter that is the batch of a process, and its value. Raises RequestError without any."""
    name = named(BATCH, program.declared, program.request)
    value = program.request.parameters.get(name or "")
    if name is None or not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise RequestError("largest_batch.no_parameter", names=", ".join(BATCH))
    return name, value


def batch_measurement(program: SingleProcess, limit: int | None, seconds: int) -> SpeedupMeasurement:
    """Return the job that looks for the largest batch; `limit`: bytes of addresses that each start may have.

    Raises RequestError without a batch among the parameters, without a limit on a machine without
    GPUs, and with one where there are GPUs: CUDA reserves addresses without measure.
    """
    name, first = batch_parameter(program)
    check_limit(program, limit)
    parameter = program.declared[name]
    least, most = int(max(1, parameter.min or 1)), int(parameter.max) if parameter.max is not None else None
    savers = {}
    for declared, (label, value) in SAVERS.items():
        if declared in program.declared and program.request.parameters.get(declared) != value:
            savers[label] = {"command": _template(program, name, first, {declared: value}), "divide": 1}
    if "accumulate" in program.declared:
        savers["accumulate"] = {"command": _template(program, name, first, {"accumulate": 2}), "divide": 2}
    task = {
        "kind": "batches", "mark": MARK, "first": first, "least": least, "most": most, "limit": limit,
        "command": _template(program, name, first, {}), "savers": savers, "seconds": seconds, "starting": STARTING,
    }  # fmt: skip
    return program.measurement(task, program.walltime(STARTS, seconds))


def check_limit(program: SingleProcess, limit: int | None) -> None:
    """Raise RequestError without a limit on a machine without GPUs, and with one where there are GPUs."""
    if limit is None and not program.request.gpus_per_node:
        raise RequestError("largest_batch.no_limit")
    if limit is not None and program.request.gpus_per_node:
        raise RequestError("largest_batch.limit_of_gpu")


def _template(program: SingleProcess, name: str, first: int, settings: Mapping[str, Scalar]) -> list[str]:
    """Return the command with a mark in the place of the batch. Raises RequestError where it does not tell it."""
    other = first + 1 if _allowed(program, name, first + 1) else first - 1
    one = program.command({name: first, **settings})
    two = program.command({name: other, **settings})
    words = []
    for word, changed in zip(one, two, strict=True):
        if word == changed:
            words.append(word)
            continue
        places = [at for at in range(len(word)) if word.startswith(str(first), at)]
        fitting = [at for at in places if word[:at] + str(other) + word[at + len(str(first)) :] == changed]
        if not fitting:
            raise RequestError("largest_batch.not_in_command", name=name)
        words.append(word[: fitting[0]] + MARK + word[fitting[0] + len(str(first)) :])
    if words == one:
        raise RequestError("largest_batch.not_in_command", name=name)
    return words


def _allowed(program: SingleProcess, name: str, value: int) -> bool:
    try:
        program.command({name: value})
    except RequestError:
        return False
    return True


def read_largest(run: RunDirectory, program: SingleProcess) -> LargestBatch | None:
    """Return what a search found; None while it has not come to its end."""
    found = run.files.json("slots/batches.json")
    if not found:
        return None
    task = run.files.json("source/hackathon_speedup.json", 1 << 22)
    name, first = batch_parameter(program)
    probes = tuple(_probe(run, folder) for folder in slot_folders(run))
    searched = [each for each in probes if each.kind == "search"]
    other = next((each for each in searched if not each.fits and not each.out_of_memory), None)
    return LargestBatch(
        parameter=name,
        first=first,
        limit=whole(found.get("limit")),
        predicted=whole(found.get("predicted")),
        largest=None if other else whole(found.get("largest")),
        recommended=None if other else whole(found.get("recommended")),
        confirmed=found.get("confirmed") is True and other is None,
        probes=probes,
        other_failure=other,
        virtual=task.get("limit") is not None,
    )


def _probe(run: RunDirectory, folder: str) -> BatchProbe:
    told = run.files.json(f"{folder}/slot.json")
    failed = told.get("failed") is True
    return BatchProbe(
        batch=whole(told.get("batch")) or 0,
        kind=str(told.get("kind") or ""),
        fits=not failed,
        memory=whole(told.get("memory")),
        seconds=finite(told.get("seconds")) or 0.0,
        cause=cause_of(run, folder, told) if failed else "",
        folder=folder,
    )


def cause_of(run: RunDirectory, folder: str, told: Mapping[str, Any]) -> str:
    """Return why a start failed: a rule of MEMORY_RULES, `killed`, or `unknown`."""
    found = diagnose_files([run.path / folder / "logs" / "rank-0.log"])
    known = [each.rule for each in found.findings if each.rule in MEMORY_RULES]
    return known[0] if known else "killed" if told.get("exit_code") == KILLED else "unknown"
