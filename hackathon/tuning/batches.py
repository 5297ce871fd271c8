"""The largest batch that fits: the job that searches it, and the results of its starts."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hackathon.config.records import Scalar
from hackathon.runs.directory import RunDirectory
from hackathon.text.errors import RequestError
from hackathon.text.json_fields import listed, mapping_of, text_of
from hackathon.text.numbers import finite, integer
from hackathon.tuning import fake_step, observer
from hackathon.tuning.measurement import STARTING, SingleProcess, SpeedupMeasurement
from hackathon.tuning.noise import NoiseScale
from hackathon.tuning.options import BATCH, SAVERS, named, takes
from hackathon.tuning.slots import slot_folders

FACT = "largest-batch"
"""Name of the fact: `client/largest-batch.json`."""
MARK = "@BATCH@"
STARTS = 16
"""Starts for which the job's time is computed."""
MEMORY_RULES = frozenset(
    {
        "gpu-out-of-memory", "gpu-out-of-memory-other", "hardware-memory-exhausted", "job-out-of-memory",
        "scheduler-memory-exceeded",
    }
)  # fmt: skip
"""Ids of the failure rules for a lack of memory."""
KILLED = -9
KINDS = ("search", "confirm", *(label for label, _ in SAVERS.values()), "accumulate")
"""Purposes of a start."""
REASONS = ("no-step", "no-backward", "no-growth", "compiled", "failed")
"""Why fake tensors predict nothing.

No step of a torch optimizer, or no backward in it, was observed; the memory does not grow with the batch; the step is
compiled; or the computation failed.
"""
POINTS = 50
"""Batches of a prediction that are read."""
PROBES = 200
"""Starts of a stored search that are read."""


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
    """Id of the matching failure rule; `killed` for SIGKILL; `unknown` for another failure."""
    folder: str = ""

    @property
    def out_of_memory(self) -> bool:
        """Whether it failed for lack of memory."""
        return self.cause in MEMORY_RULES or self.cause == "killed"

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "batch": self.batch, "kind": self.kind, "fits": self.fits, "memory_bytes": self.memory,
            "seconds": self.seconds, "cause": self.cause or None,
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: Mapping[str, Any], folder: str = "") -> "BatchProbe":
        """Return a start from arbitrary JSON values; a kind of another version counts as a search."""
        kind = text_of(value.get("kind"))
        return cls(
            batch=integer(value.get("batch")) or 0,
            kind=kind if kind in KINDS else KINDS[0],
            fits=value.get("fits") is True,
            memory=integer(value.get("memory_bytes")),
            seconds=finite(value.get("seconds")) or 0.0,
            cause=text_of(value.get("cause")),
            folder=folder,
        )


@dataclass(frozen=True)
class FakePrediction:
    """The prediction of fake tensors in the first start for other batches."""

    batch: int | None = None
    """The largest batch that fits; None if unknown."""
    reason: str = ""
    """Why it is unknown: one of REASONS."""
    text: str = ""
    """The error message of the program's Python."""
    points: tuple[tuple[int, int], ...] = ()
    """(batch, peak bytes of tensors)."""

    @classmethod
    def from_json(cls, value: object) -> "FakePrediction | None":
        """Return it from the observer's JSON; None when no prediction was requested."""
        entry = mapping_of(value)
        if not entry:
            return None
        pairs = [listed(pair) for pair in listed(entry.get("points"))[:POINTS]]
        points = tuple((integer(pair[0]) or 0, integer(pair[1]) or 0) for pair in pairs if len(pair) == 2)
        batch, reason = integer(entry.get("batch")), text_of(entry.get("reason"))
        if batch is None and reason not in REASONS:
            reason = "failed"
        return cls(batch, "" if batch is not None else reason, text_of(entry.get("text")), points)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        points = [list(point) for point in self.points]
        return {"batch": self.batch, "reason": self.reason or None, "text": self.text or None, "points": points}

    def memory(self, batch: int, first: int, measured: int) -> int | None:
        """Return the predicted bytes for a batch, given the `measured` ones of the `first` batch; None if unknown.

        Between and beyond the computed batches, memory is interpolated linearly.
        """
        points = dict(self.points)
        if first not in points or len(points) < 2:
            return None
        near = sorted(points, key=lambda size: abs(size - batch))[:2]
        slope = (points[near[1]] - points[near[0]]) / (near[1] - near[0])
        return round(measured - points[first] + points[near[0]] + slope * (batch - near[0]))


@dataclass(frozen=True)
class LargestBatch:
    """The result of the search."""

    parameter: str
    first: int
    """The batch of the unchanged program."""
    limit: int | None
    """Bytes of memory."""
    predicted: int | None
    """From the first two starts that fit."""
    largest: int | None
    """None: nothing fits, or another failure prevented the search."""
    recommended: int | None
    confirmed: bool
    """Whether the recommended batch passed a longer start."""
    probes: tuple[BatchProbe, ...]
    other_failure: BatchProbe | None = None
    """A start that failed for another reason than memory: then the result is unknown."""
    fake: FakePrediction | None = None
    """The prediction of fake tensors; None when it was not requested."""
    noise: NoiseScale | None = None
    """The noise of batches' gradients; None when it was not measured."""
    virtual: bool = False
    """Whether memory means address space, like its limit."""

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "schema_version": 1, "parameter": self.parameter, "batch": self.first, "limit_bytes": self.limit,
            "memory_of": "addresses" if self.virtual else "device_or_resident", "predicted": self.predicted,
            "predicted_by": self.predicted_by, "fake": self.fake.as_json() if self.fake else None,
            "noise_scale": self.noise.as_json() if self.noise else None,
            "largest": self.largest, "recommended": self.recommended, "confirmed": self.confirmed,
            "probes": [probe.as_json() for probe in self.probes],
            "other_failure": self.other_failure.as_json() if self.other_failure else None,
        }  # fmt: skip

    @property
    def predicted_by(self) -> str | None:
        """`fake-tensors` or `starts`; None without a prediction."""
        if self.predicted is None:
            return None
        return "fake-tensors" if self.fake is not None and self.fake.batch == self.predicted else "starts"

    @property
    def predicted_memory(self) -> tuple[int, int] | None:
        """(Bytes that fake tensors predicted for the largest batch, measured bytes); None when unknown."""
        tried = {probe.batch: probe.memory for probe in self.probes if probe.kind == "search" and probe.fits}
        first, last = tried.get(self.first), tried.get(self.largest or 0)
        if self.fake is None or self.largest is None or first is None or last is None or self.largest == self.first:
            return None
        predicted = self.fake.memory(self.largest, self.first, first)
        return None if predicted is None else (predicted, last)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "LargestBatch | None":
        """Return a kept result; None where none lies there. Whatever else lies there is not known, never an error."""
        first = integer(value.get("batch"))
        if first is None or first < 1:
            return None
        entries = [mapping_of(entry) for entry in listed(value.get("probes"))[:PROBES]]
        probes = tuple(BatchProbe.from_json(entry, f"slots/{number:04d}") for number, entry in enumerate(entries))
        searched = (probe for probe in probes if probe.kind == "search")
        failed = bool(mapping_of(value.get("other_failure")))
        return cls(
            parameter=text_of(value.get("parameter")),
            first=first,
            limit=integer(value.get("limit_bytes")),
            predicted=integer(value.get("predicted")),
            largest=integer(value.get("largest")),
            recommended=integer(value.get("recommended")),
            confirmed=value.get("confirmed") is True,
            probes=probes,
            other_failure=next((probe for probe in searched if not (probe.fits or probe.out_of_memory)), None)
            if failed else None,
            fake=FakePrediction.from_json(value.get("fake")),
            noise=NoiseScale.from_json(value.get("noise_scale")),
            virtual=value.get("memory_of") == "addresses",
        )  # fmt: skip


def batch_parameter(program: SingleProcess) -> tuple[str, int]:
    """Return the parameter for the batch of a process, and its value. Raises RequestError without one."""
    name = named(BATCH, program.declared, program.request)
    value = program.request.parameters.get(name or "")
    if name is None or not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise RequestError(
            "largest_batch.no_parameter",
            "the program declares no batch size ({names}) as a whole number",
            hint="Declare it under `parameters:` in project.yaml and use it in `command`.",
            names=", ".join(BATCH),
        )
    return name, value


def batch_measurement(program: SingleProcess, limit: int | None, seconds: int) -> SpeedupMeasurement:
    """Return the job that searches the largest batch; `limit`: bytes of address space of each start.

    Raises RequestError without a batch among the parameters, without a limit on a machine without GPUs, and with one on
    a machine with GPUs, because CUDA reserves an unpredictable amount of address space.
    """
    name, first = batch_parameter(program)
    check_limit(program, limit)
    parameter = program.declared[name]
    least, most = int(max(1, parameter.min or 1)), int(parameter.max) if parameter.max is not None else None
    savers = {}
    for declared, (label, value) in SAVERS.items():
        offered = declared in program.declared and takes(program.declared[declared], value)
        if offered and program.request.parameters.get(declared) != value:
            savers[label] = {"command": _template(program, name, first, {declared: value}), "divide": 1}
    if "accumulate" in program.declared and takes(program.declared["accumulate"], 2):
        savers["accumulate"] = {"command": _template(program, name, first, {"accumulate": 2}), "divide": 2}
    task = {
        "kind": "batches", "mark": MARK, "first": first, "least": least, "most": most, "limit": limit,
        "command": _template(program, name, first, {}), "savers": savers, "seconds": seconds, "starting": STARTING,
        "observer": {
            "sitecustomize.py": _text(observer.__file__), f"{observer.BESIDE}.py": _text(fake_step.__file__),
        },
    }  # fmt: skip
    return program.measurement(task, program.walltime(STARTS, seconds))


def check_limit(program: SingleProcess, limit: int | None) -> None:
    """Raise RequestError without a limit on a machine without GPUs, and with one on a machine with GPUs."""
    if limit is None and not program.request.gpus_per_node:
        raise RequestError(
            "largest_batch.no_limit", "a machine without GPUs needs a limit of memory", hint="Give one: --memory 8GB"
        )
    if limit is not None and program.request.gpus_per_node:
        raise RequestError(
            "largest_batch.limit_of_gpu",
            "--memory limits the address space, which CUDA needs much of; with GPUs, the limit is the GPU's memory",
            hint="Leave --memory out.",
        )


def _text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def _template(program: SingleProcess, name: str, first: int, settings: Mapping[str, Scalar]) -> list[str]:
    """Return the command with a marker in place of the batch. Raises RequestError when the batch is not in it."""
    other = first + 1 if _allowed(program, name, first + 1) else first - 1
    command = program.command({name: first, **settings})
    variant = program.command({name: other, **settings})
    words = []
    for word, changed in zip(command, variant, strict=True):
        if word == changed:
            words.append(word)
            continue
        offsets = [at for at in range(len(word)) if word.startswith(str(first), at)]
        fitting = [at for at in offsets if word[:at] + str(other) + word[at + len(str(first)) :] == changed]
        if not fitting:
            raise RequestError(
                "largest_batch.not_in_command", "the command does not contain the value of {name} as it is", name=name
            )
        words.append(word[: fitting[0]] + MARK + word[fitting[0] + len(str(first)) :])
    if words == command:
        raise RequestError(
            "largest_batch.not_in_command", "the command does not contain the value of {name} as it is", name=name
        )
    return words


def _allowed(program: SingleProcess, name: str, value: int) -> bool:
    try:
        program.command({name: value})
    except RequestError:
        return False
    return True


def read_largest(run: RunDirectory, program: SingleProcess) -> LargestBatch | None:
    """Return the result of a search; None before its end."""
    summary = run.files.json("slots/batches.json")
    if not summary:
        return None
    task = run.files.json("source/hackathon_speedup.json", 1 << 22)
    name, first = batch_parameter(program)
    probes = tuple(_probe(run, folder) for folder in slot_folders(run))
    searched = [probe for probe in probes if probe.kind == "search"]
    other = next((probe for probe in searched if not probe.fits and not probe.out_of_memory), None)
    observed = run.files.json(f"{probes[0].folder}/slot.json") if probes else {}
    return LargestBatch(
        parameter=name,
        first=first,
        limit=integer(summary.get("limit")),
        predicted=integer(summary.get("predicted")),
        largest=None if other else integer(summary.get("largest")),
        recommended=None if other else integer(summary.get("recommended")),
        confirmed=summary.get("confirmed") is True and other is None,
        probes=probes,
        other_failure=other,
        fake=FakePrediction.from_json(observed.get("predicted")),
        noise=NoiseScale.of_norms(observed.get("noise")),
        virtual=task.get("limit") is not None,
    )


def _probe(run: RunDirectory, folder: str) -> BatchProbe:
    slot = run.files.json(f"{folder}/slot.json")
    failed = slot.get("failed") is True
    return BatchProbe(
        batch=integer(slot.get("batch")) or 0,
        kind=str(slot.get("kind") or ""),
        fits=not failed,
        memory=integer(slot.get("memory")),
        seconds=finite(slot.get("seconds")) or 0.0,
        cause=cause_of(run, folder, slot) if failed else "",
        folder=folder,
    )


def cause_of(run: RunDirectory, folder: str, slot: Mapping[str, Any]) -> str:
    """Return why a start failed: a rule of MEMORY_RULES, `killed`, or `unknown`."""
    from hackathon.diagnosis.examine import diagnose_files  # pages display batches without it

    diagnosis = diagnose_files([run.path / folder / "logs" / "rank-0.log"])
    rules = [finding.rule for finding in diagnosis.findings if finding.rule in MEMORY_RULES]
    return rules[0] if rules else "killed" if slot.get("exit_code") == KILLED else "unknown"
