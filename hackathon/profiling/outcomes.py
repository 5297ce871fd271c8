"""Compare the expected gain of advice with the gain between two measurements. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hackathon.profiling.gains import (
    TUNED,
    Expected,
    GainEvidence,
    advice_on,
    attempts,
    expected_of,
    name_of,
    percent,
    settings_words,
)
from hackathon.profiling.shares import PART_TEXTS, RunShares, mean_of_runs, rounded
from hackathon.profiling.switches import names_of
from hackathon.text.messages import N_, _

_CHANGED_TEXTS = {
    "others": N_("nothing that the advice names was changed, but: {what}"),
    "nothing": N_("nothing that is on record was changed"),
    "program": N_("the program"),
}

VERDICT_TEXTS = {
    "came-true": N_("came true"),
    "not": N_("did not help"),
    "noise": N_("inside the noise"),
    "unknown": N_("not known"),
    "untried": N_("not tried"),
}

_REASON_TEXTS = {
    "faster": N_("faster, by more than the repeats differ"),
    "slower": N_("slower, by more than the repeats differ"),
    "share": N_("it is faster, but the share of {part} has not fallen: something else did it"),
    "noise": N_("the difference does not exceed that of the repeats"),
    "once": N_("each side ran once, so the noise is not known: repeat it (`--repeat 3`)"),
    "unmeasured": N_("a side has no throughput to compare"),
}

CHANGED = 0.03
"""Share of a step by which a part must fall to count as fallen: the accuracy of its measurement."""
CAME_TRUE, NOT, NOISE, UNKNOWN = "came-true", "not", "noise", "unknown"


@dataclass(frozen=True)
class MeasuredGain:
    """The relative reduction of the time per sample, with its 95 % interval."""

    gain: float
    low: float
    high: float
    repeated: bool
    """Whether at least one side was measured twice, so that the noise is known."""
    differs: bool
    """Whether it exceeds the noise."""


@dataclass(frozen=True)
class Change:
    """A parameter, or another recorded property, that differs between two runs."""

    name: str
    before: str
    after: str
    parameter: bool = True


@dataclass(frozen=True)
class AdviceOutcome:
    """A piece of advice for the older runs, with its outcome."""

    id: str
    part: str
    verdict: str
    """CAME_TRUE, NOT, NOISE or UNKNOWN."""
    reason: str
    """`faster`, `slower`, `share` (faster, but the part's share has not fallen), `noise`, `once` or `unmeasured`."""
    expected: Expected
    measured: MeasuredGain | None
    changed: tuple[Change, ...]
    """The changes that the advice names."""
    others: tuple[Change, ...]
    """Other changes."""
    settings: Mapping[str, Any]
    part_before: float | None = None
    part_after: float | None = None
    """The part's share of a step before and after."""

    @property
    def beyond(self) -> bool:
        """Whether the saving exceeds what the advice can explain."""
        most = self.expected.gain if self.expected.bound or self.expected.high is None else self.expected.high
        return self.verdict == CAME_TRUE and self.measured is not None and self.measured.low > most

    @property
    def name(self) -> str:
        """A short name of the advice."""
        return name_of(self.id, self.settings)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values, texts in the current language."""
        measured = self.measured
        return {
            "id": self.id, "part": self.part or None, "verdict": self.verdict, "reason": self.reason,
            "expected": self.expected.to_json(),
            "measured": None if measured is None else {
                "gain": rounded(measured.gain), "low": rounded(measured.low), "high": rounded(measured.high),
                "repeated": measured.repeated,
            },
            "beyond_expected": self.beyond,
            "changed": [
                {"name": change.name, "before": change.before, "after": change.after} for change in self.changed
            ],
            "other_changes": [
                {"name": change.name, "before": change.before, "after": change.after} for change in self.others
            ],
            "part_share": {"before": rounded(self.part_before), "after": rounded(self.part_after)},
            "message": self.message,
        }  # fmt: skip

    @property
    def verdict_text(self) -> str:
        """The verdict as a short text."""
        return _(VERDICT_TEXTS[self.verdict])

    @property
    def measured_text(self) -> str:
        """The measured gain as text; `–` without one."""
        if self.measured is None:
            return "–"
        if not self.measured.repeated:
            return percent(self.measured.gain)
        low, high = percent(self.measured.low), percent(self.measured.high)
        return _("{gain} ({low} to {high})", gain=percent(self.measured.gain), low=low, high=high)

    @property
    def changed_text(self) -> str:
        """The changes that the advice names: `workers 0 → 4`; empty without any."""
        return _(", ").join(f"{change.name} {change.before} → {change.after}" for change in self.changed)

    @property
    def message(self) -> str:
        """The outcome in one or two sentences, in the current language."""
        sentence = _(
            "advice on {name}: {verdict}; expected gain {expected}, measured {measured}",
            name=self.name,
            verdict=self.verdict_text,
            expected=self.expected.text,
            measured=self.measured_text,
        )
        more = [_(_REASON_TEXTS[self.reason], part=_(PART_TEXTS[self.part]) if self.part else "")]
        if self.changed:
            more.append(_("changed as advised: {what}", what=self.changed_text))
        elif self.others:
            changes = _(", ").join(_change(change) for change in self.others)
            more.append(_("nothing that the advice names was changed, but: {what}", what=changes))
        else:
            more.append(_("nothing that is on record was changed"))
        if self.beyond:
            more.append(_("more than this advice can explain: something else helped too"))
        return sentence + "".join(_("; {text}", text=text) for text in more)


def _change(change: Change) -> str:
    if change.parameter:
        return f"{change.name} {change.before} → {change.after}"
    return _(_CHANGED_TEXTS[change.name])


def outcomes(
    old: Sequence[RunShares], new: Sequence[RunShares], evidence: GainEvidence, measured: MeasuredGain | None,
    changes: Sequence[Change],
) -> list[AdviceOutcome]:  # fmt: skip
    """Return the outcome of each piece of advice for the older runs, the largest expected gain first.

    All runs have equally many processes. `evidence`: on the older runs; `changes`: differences between the sides. An
    option of a speedup table counts only if it was changed.
    """
    suggestions = advice_on(old, evidence)
    before = mean_of_runs(old) if old else None
    after = mean_of_runs(new) if new else None
    parameters = {change.name for change in changes if change.parameter}
    offered = attempts(suggestions, before, evidence)
    entries = []
    for suggestion in suggestions:
        mine = parameters & names_of(suggestion.id)
        expectations = [its.expected for its in offered if its.id == suggestion.id and mine & set(its.settings)]
        expected = max(expectations, key=lambda its: its.gain, default=expected_of(suggestion, sorted(mine), evidence))
        shares = (before.share(suggestion.part) if before else None, after.share(suggestion.part) if after else None)
        # a part that is unknown on one side cannot count as fallen
        shares = shares if after is not None and getattr(after, suggestion.part) is not None else (shares[0], None)
        verdict, reason = _verdict(measured, shares)
        entries.append(
            AdviceOutcome(
                suggestion.id, suggestion.part, verdict, reason, expected, measured,
                tuple(change for change in changes if change.name in mine),
                tuple(change for change in changes if change.name not in mine), {}, *shares,
            )
        )  # fmt: skip
    for attempt in offered:
        mine = parameters & set(attempt.settings)
        if attempt.id != TUNED or not mine or not _was_set(attempt.settings, changes):
            continue
        verdict, reason = _verdict(measured, (None, None))
        entries.append(
            AdviceOutcome(
                TUNED, "", verdict, reason, attempt.expected, measured,
                tuple(change for change in changes if change.name in mine),
                tuple(change for change in changes if change.name not in mine), attempt.settings,
            )
        )  # fmt: skip
    return sorted(entries, key=lambda entry: -entry.expected.gain)


def _was_set(settings: Mapping[str, Any], changes: Sequence[Change]) -> bool:
    after = {change.name: change.after for change in changes if change.parameter}
    return all(settings_words({name: value}) == f"{name}={after.get(name)}" for name, value in settings.items())


def _verdict(measured: MeasuredGain | None, shares: tuple[float | None, float | None]) -> tuple[str, str]:
    if measured is None:
        return UNKNOWN, "unmeasured"
    if not measured.repeated:
        return UNKNOWN, "once"
    if not measured.differs:
        return NOISE, "noise"
    if measured.gain <= 0:
        return NOT, "slower"
    before, after = shares
    if before is not None and after is not None and before - after < CHANGED:
        return NOT, "share"
    return CAME_TRUE, "faster"
