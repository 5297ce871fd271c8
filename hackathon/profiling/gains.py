"""Advice with its expected gain. Pure.

A gain is a share of a step: 0.2 saves a fifth of its time. It is computed from measurements: the part's share, the
fraction of it that a change can save, a table of `hackathon speedup`, a fit of `clusters measure`. If these only give
an upper limit, the gain is a bound.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hackathon.config.records import Scalar
from hackathon.profiling.advice import Advice, advice
from hackathon.profiling.shares import PART_TEXTS, RunShares, StepShares, rounded
from hackathon.profiling.switches import LINES, SWITCHES, Switch, acts, names_of, value_for
from hackathon.text.messages import N_, _

_NAME_TEXTS = {
    "slow-loader": N_("slow loader"),
    "host-bound": N_("work of the host"),
    "exposed-communication": N_("exposed communication"),
    "straggler": N_("straggler"),
    "imbalance": N_("imbalance"),
    "measured-option": N_("{settings}, measured"),
    "poor-scaling": N_("poor scaling"),
}

_ADVICE_TEXTS = {
    "measured_option": N_(
        "{settings} is faster on this program: `hackathon speedup` measured {ratio}× with one process"
    ),
    "poor_scaling": N_(
        "{lost} of a step is lost between {base} and {processes} processes, and the program does not tell to what: "
        "`hackathon profile` shows how much of it is communication"
    ),
}

_BASIS_TEXTS = {
    "share": N_("{part} takes {share} of a step; no more than that can be saved"),
    "part": N_("{part} takes {share} of a step; at most {saves} of it can be saved"),
    "network": N_(
        "{part} takes {share} of a step; by the measured network, half the bytes save {saves} of a message of "
        "{size} MiB, and less of shorter ones"
    ),
    "speedup": N_("`hackathon speedup` measured {ratio}× with one process (run {run})"),
    "scaling": N_(
        "the efficiency from {base} to {processes} processes is {efficiency}; no more than the rest can be saved"
    ),
}

TUNED, SCALING = "measured-option", "poor-scaling"
"""Ids of advice without a share: an option in a speedup table; a study that scales badly."""
FEW = "few"
"""A table's verdict on an option with too few rounds: no conclusion."""
LOST = 0.25
"""Share of a step that a study must lose before its scaling alone is worth advice: the 75 % line of its table."""
BUCKET_MB = 25
"""Default MiB of gradients that DistributedDataParallel sends at once. Source: its documentation."""


@dataclass(frozen=True)
class Expected:
    """The expected saving of a change."""

    gain: float
    """Share of a step."""
    bound: bool
    """It is an upper bound, not an estimate."""
    basis: str
    """`share`, `part` (the fraction of the share that can be saved), `network`, `speedup` or `scaling`."""
    low: float | None = None
    high: float | None = None
    """Its interval, if it was measured."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Placeholders of the sentence on its basis."""

    @property
    def text(self) -> str:
        """The gain as text: `at most 24 %`, `31 % (27–35 %)`."""
        if self.bound:
            return _("at most {gain}", gain=percent(self.gain))
        if self.low is None or self.high is None:
            return percent(self.gain)
        return _("{gain} ({low} to {high})", gain=percent(self.gain), low=percent(self.low), high=percent(self.high))

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values, texts in the current language."""
        return {
            "gain": rounded(self.gain), "bound": self.bound, "low": rounded(self.low), "high": rounded(self.high),
            "basis": self.basis, "text": self.text, "why": _(_BASIS_TEXTS[self.basis], **self.values),
        }  # fmt: skip


@dataclass(frozen=True)
class TunedOption:
    """A row of a stored table of `hackathon speedup` for the same program with the same parameters."""

    settings: Mapping[str, Scalar]
    ratio: float
    low: float | None
    high: float | None
    verdict: str
    wins: bool
    run: str


@dataclass(frozen=True)
class GainEvidence:
    """Facts about a run's program and machine besides the shares of its steps."""

    framework: str = ""
    own_program: bool = False
    parameters: Mapping[str, Scalar] = field(default_factory=dict)
    takes: Callable[[str, Scalar], bool] = lambda name, value: False
    """Whether the program declares a parameter and accepts a value for it."""
    threads: int = 0
    """Threads per process; 0: unknown."""
    tuned: tuple[TunedOption, ...] = ()
    network: tuple[float, float] | None = None
    """(minimum seconds of an all-reduce, bytes per second) between as many processes, as measured."""
    efficiency: float | None = None
    """Parallel efficiency of its point in its study."""
    base: int = 0
    """Processes of the reference point of the efficiency."""
    processes: int = 1
    profiled: RunShares | None = None
    """Shares from a profile of the same program, if the run's own records lack communication."""
    gpus: int = 1
    """GPUs per node.

    0: gradients travel by Gloo; the recipes then gather bf16, which older versions of Gloo cannot add.
    """


@dataclass(frozen=True)
class Attempt:
    """One attempt with its expected gain."""

    id: str
    part: str
    """The part whose share must fall; empty for a measured option."""
    expected: Expected
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    """Parameters to set, or `env.VARIABLE`; empty without a suitable parameter."""
    lines: str = ""
    """Lines for the user's own program."""
    advice: Advice | None = None
    ruled_out: tuple[str, ...] = ()
    """Settings that did not help according to a speedup table."""

    @property
    def message(self) -> str:
        """The problem and the remedy, in the current language."""
        if self.advice is not None:
            return self.advice.message
        key = self.id.replace("-", "_")
        return _(_ADVICE_TEXTS[key], settings=settings_words(self.settings), **self.expected.values)

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables to set; empty if parameters are enough."""
        return {
            name.removeprefix("env."): str(value) for name, value in self.settings.items() if name.startswith("env.")
        }

    @property
    def confirm(self) -> str:
        """The measurement that shows whether it helps."""
        if not self.part:
            return _("if it helps, the throughput rises by more than the repeats differ")
        return _("if it helps, the share of {part} falls", part=_(PART_TEXTS[self.part]))

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values, texts in the current language."""
        return {
            "id": self.id, "part": self.part or None, "rank": self.advice.rank if self.advice else None,
            "message": self.message, "expected": self.expected.to_json(), "settings": dict(self.settings),
            "ruled_out": list(self.ruled_out), "environment": self.environment, "lines": self.lines or None,
            "confirm": self.confirm,
        }  # fmt: skip


def advice_on(runs: Sequence[RunShares], evidence: GainEvidence) -> list[Advice]:
    """Return the advice from shares of runs with equally many processes; a profile supplies missing shares."""
    suggestions = advice(runs)
    parts = {suggestion.part for suggestion in suggestions}
    profiled = advice([evidence.profiled]) if evidence.profiled is not None else []
    more = [
        suggestion
        for suggestion in profiled
        if suggestion.part not in parts and suggestion.part in ("communication", "waiting")
    ]
    return sorted([*suggestions, *more], key=lambda suggestion: -suggestion.gain)


def attempts(suggestions: Sequence[Advice], mean: StepShares | None, evidence: GainEvidence) -> list[Attempt]:
    """Return the attempts, the largest expected gain first; none for a healthy run without measurements.

    `suggestions`: the advice from the shares; `mean`: the shares over the ranks.
    """
    candidates = [attempt for suggestion in suggestions for attempt in _of_advice(suggestion, evidence)]
    named = {name for attempt in candidates for name in attempt.settings}
    candidates += [
        Attempt(TUNED, "", _tuned_gain(row, mean, evidence), row.settings)
        for row in evidence.tuned
        if row.wins and not set(row.settings) <= named and not _is_set(row.settings, evidence)
    ]
    candidates += _scaling(suggestions, mean, evidence)
    return sorted(candidates, key=lambda attempt: -attempt.expected.gain)


def expected_of(advice: Advice, changed: Sequence[str], evidence: GainEvidence) -> Expected:
    """Return the gain that advice promised for the changed parameters: that of the best of them."""
    switches = [switch for switch in SWITCHES if switch.advice == advice.id and switch.parameter in changed]
    if not switches:
        return _share(advice)
    return max((_gain(advice, switch, evidence) for switch in switches), key=lambda expected: expected.gain)


def percent(share: float) -> str:
    """Return a share in percent, with one decimal below 10 %."""
    return f"{100 * share:.1f} %" if abs(share) < 0.0995 else f"{100 * share:.0f} %"


def settings_words(settings: Mapping[str, Scalar]) -> str:
    """Return settings as they are typed."""
    from hackathon.jobs.settings import settings_text

    return settings_text(settings)


def name_of(identifier: str, settings: Mapping[str, Scalar]) -> str:
    """Return a short name for a piece of advice."""
    return _(_NAME_TEXTS[identifier], settings=settings_words(settings))


def _of_advice(advice: Advice, evidence: GainEvidence) -> list[Attempt]:
    candidates: list[Attempt] = []
    out: list[str] = []
    for switch in SWITCHES:
        if switch.advice != advice.id or not acts(switch, evidence.parameters):
            continue
        value = value_for(switch, evidence.parameters[switch.parameter], evidence.threads)
        if value == "bf16" and not evidence.gpus:
            value = "fp16"
        rows = [row for row in evidence.tuned if set(row.settings) == {switch.parameter} and row.verdict != FEW]
        out += [settings_words(row.settings) for row in rows if not row.wins]
        best = max((row for row in rows if row.wins), key=lambda row: row.ratio, default=None)
        if best is not None and not _is_set(best.settings, evidence):
            candidates.append(
                Attempt(advice.id, advice.part, _tuned(best, evidence, advice), best.settings, advice=advice)
            )
        elif value is not None and not rows and evidence.takes(switch.parameter, value):
            gain = _gain(advice, switch, evidence)
            candidates.append(Attempt(advice.id, advice.part, gain, {switch.parameter: value}, advice=advice))
    if candidates:
        return candidates
    if out:
        return [Attempt(advice.id, advice.part, _share(advice), advice=advice, ruled_out=tuple(out))]
    lines, saves = LINES.get((evidence.framework, advice.id), ("", 1.0))
    lines = lines if evidence.gpus else lines.replace("bf16", "fp16")
    if not evidence.own_program or names_of(advice.id) & set(evidence.parameters):
        return [Attempt(advice.id, advice.part, _share(advice), advice=advice)]
    gain = _share(advice) if saves == 1.0 else _part(advice, saves)
    if lines and advice.id == "exposed-communication":
        gain = _gain(advice, next(switch for switch in SWITCHES if switch.parameter == "hook"), evidence)
    return [Attempt(advice.id, advice.part, gain, lines=lines, advice=advice)]


def _share(advice: Advice) -> Expected:
    return Expected(advice.gain, True, "share", values=_words(advice, 1.0))


def _part(advice: Advice, saves: float) -> Expected:
    return Expected(advice.gain * saves, True, "part", values=_words(advice, saves))


def _gain(advice: Advice, switch: Switch, evidence: GainEvidence) -> Expected:
    saves = switch.saves
    if switch.halves_bytes and evidence.network is not None and evidence.framework in ("torch", "horovod"):
        start, speed = evidence.network
        size = evidence.parameters.get("bucket_mb", BUCKET_MB)
        if isinstance(size, (int, float)) and not isinstance(size, bool) and size > 0 and speed > 0:
            transfer = size * 2**20 / speed
            saves = 0.5 * transfer / (start + transfer)
            values = {**_words(advice, saves), "size": f"{size:g}"}
            return Expected(advice.gain * saves, True, "network", values=values)
    return _share(advice) if saves >= 1.0 else _part(advice, saves)


def _words(advice: Advice, saves: float) -> dict[str, str]:
    return {"part": _(PART_TEXTS[advice.part]), "share": percent(advice.gain), "saves": percent(saves)}


def _is_set(settings: Mapping[str, Scalar], evidence: GainEvidence) -> bool:
    return all(evidence.parameters.get(name) == value for name, value in settings.items())


def _tuned(row: TunedOption, evidence: GainEvidence, advice: Advice) -> Expected:
    """Return a table's gain for an option that the advice is about, at most the share of the part."""
    return _measured(row, evidence, 1.0, advice.gain)


def _tuned_gain(row: TunedOption, mean: StepShares | None, evidence: GainEvidence) -> Expected:
    """Return a table's gain for an option.

    A single process does not communicate, so it is a gain of the rest of the step.
    """
    outside = (mean.share("communication", "waiting") if mean is not None else None) or 0.0
    return _measured(row, evidence, 1.0 - outside, 1.0)


def _measured(row: TunedOption, evidence: GainEvidence, scale: float, most: float) -> Expected:
    def saved(ratio: float | None) -> float | None:
        return None if ratio is None or ratio <= 0 else min(most, scale * (1 - 1 / ratio))

    values = {"ratio": f"{row.ratio:.2f}", "run": row.run[-8:]}
    # measured in one process: with more processes it is the saving of a step without communication
    bound = evidence.processes > 1
    low, high = (None, None) if bound else (saved(row.low), saved(row.high))
    return Expected(saved(row.ratio) or 0.0, bound, "speedup", low, high, values)


def _scaling(suggestions: Sequence[Advice], mean: StepShares | None, evidence: GainEvidence) -> list[Attempt]:
    """Return the attempt for bad scaling, if the shares do not show its cause."""
    explained = mean is not None and mean.communication is not None
    lost = 1 - evidence.efficiency if evidence.efficiency is not None else 0.0
    if explained or suggestions or evidence.processes <= evidence.base or lost < LOST:
        return []
    values = {
        "lost": percent(lost), "efficiency": percent(1 - lost), "base": str(evidence.base),
        "processes": str(evidence.processes),
    }  # fmt: skip
    return [Attempt(SCALING, "", Expected(lost, True, "scaling", values=values))]
