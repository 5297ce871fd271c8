"""Find reasons to doubt the result of a successful run in its own records.

The checks and limits are those of the shipped rules `silent-*` (a test compares them). A project's rules are ignored
here, so that everybody sees the same doubts about a result.
"""

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean, median

from hackathon.diagnosis.facts import FactHit, RunFacts
from hackathon.diagnosis.silent import data, numerics, training, worlds
from hackathon.logs.final import THROUGHPUTS, Numbers
from hackathon.logs.meter_files import MeterFiles
from hackathon.logs.metrics import rank_files
from hackathon.logs.recorded import contradicts, work_of_step
from hackathon.runs.record import RunRecord
from hackathon.scaling.doubts import FALSE, SEVERITIES, Doubt, RunJudgement
from hackathon.scaling.table import lower_is_better

SAME_DATA = {"distinct": 0.5}
SAME_LOSS = {"values": 4, "different": 3, "digits": 4}
NAN_LOSS = {"values": 2}
FLAT_LOSS = {"values": 8, "steps": 200, "printed": 30, "improvement": 0.005, "spread": 0.015}
"""Limits of the rules `silent-same-data`, `-same-loss`, `-nan-loss` and `-flat-loss`."""
BY_TEXT = {
    "fixed-world": ("several-worlds", "fixed"),
    "not-averaged": ("several-worlds", "apart"),
    "around-wrapper": ("several-worlds", "around"),
    "same-data": ("identical-ranks", "text"),
    "same-stream": ("identical-ranks", "stream"),
    "divided-batch": ("work-mismatch", "divided"),
}
"""Rule about a program's text → (id, kind) of the doubt."""
APART = {"": worlds.several_worlds, "launched": worlds.own_launcher, "spawned": worlds.own_ranks}
"""Kind of the doubt `several-worlds` → the check that finds it."""
RECORDED = {
    "no-group": ("no-group", "recorded"),
    "small-world": ("several-worlds", "recorded"),
    "no-collective": ("no-group", "silent"),
    "outside": ("outside-steps", ""),
    "beside": ("outside-steps", "beside"),
}
"""Kind of `worlds.Apart` → (id, kind) of the doubt."""
STEPS = 10
"""Least steps after the first ones of a throughput that is not doubted."""
SLOW_START, FEW, SHIFT = 0.8, 4, 0.02
"""Share of the others' median below which a first value is warm-up; values needed; share by which a mean moves."""


def judge(run: Path, record: RunRecord, numbers: Numbers, meters: MeterFiles | None = None) -> RunJudgement:
    """Return the doubts about a successful run; `numbers`: its final numbers; `meters`: files that are already read.

    A doubt needs evidence: missing, half-written or malformed records raise none. The one exception is a rank's log
    that is shorter now than when the rank ended.
    """
    facts = RunFacts(run, record=record, meters=meters)
    work = training.samples_per_step(facts) or work_of_step(facts.recordings, record.processes)
    doubts: list[Doubt] = []
    if record.processes > 1:
        doubts += _identical(facts)
        doubts += _recorded(facts) or _apart(facts) or _unproved(facts)
        doubts += _by_text(facts, {doubt.id for doubt in doubts}, work)
    doubts += _undivided(facts, {doubt.id for doubt in doubts})
    doubts += _log_cut(facts)
    doubts += _bad_loss(facts)
    doubts += _check_failed(record, numbers)
    doubts += _warm_up(facts, record, numbers)
    doubts += _contradicted(numbers)
    if not any(doubt.id == "few-steps" for doubt in doubts):
        doubts += _few_steps(facts, record, numbers)
    false = any(SEVERITIES[doubt.id] == FALSE for doubt in doubts)
    if not false and (how := numbers.sure.get(numbers.metric)) in ("unsure", "coarse") and numbers.value is not None:
        doubts.append(Doubt(f"{how}-metric", {"metric": numbers.metric, "processes": str(record.processes)}))
    return RunJudgement(tuple(doubts), work)


def _identical(facts: RunFacts) -> list[Doubt]:
    for hit in data.same_data(facts, SAME_DATA):
        if hit.values["distinct"] == "1":
            values = {"ranks": hit.values["of"], "count": hit.values["batches"]}
            return [Doubt("identical-ranks", values, "batches", _place(hit))]
    for hit in data.same_loss(facts, SAME_LOSS):
        values = {"ranks": hit.values["of"], "count": hit.values["values"], "first": hit.values["first"]}
        return [Doubt("identical-ranks", values, "losses", _place(hit))]
    return []


def _undivided(facts: RunFacts, doubted: set[str]) -> list[Doubt]:
    """Report data that is not divided among the ranks, unless the ranks are known to train separately."""
    observed = None if doubted & {"identical-ranks", "several-worlds", "no-group"} else data.undivided(facts)
    if observed is None:
        return []
    kind, hit = observed
    return [Doubt("undivided-data", hit.values, kind, _place(hit))]


def _log_cut(facts: RunFacts) -> list[Doubt]:
    """Report a rank's log that is shorter than when the rank ended: lines that another check needs may be lost."""
    for rank, events in sorted(facts.rank_events.items()):
        name = f"logs/rank-{rank}.log"
        ended = [event["log_bytes"] for event in events if isinstance(event.get("log_bytes"), int)]
        try:
            size = (facts.path / name).stat().st_size
        except FileNotFoundError:
            size = 0
        except OSError:
            continue
        if ended and size < ended[-1]:
            return [Doubt("log-cut", {"rank": str(rank), "size": str(size), "bytes": str(ended[-1])}, evidence=name)]
    return []


def _bad_loss(facts: RunFacts) -> list[Doubt]:
    for hit in numerics.nan_loss(facts, NAN_LOSS):
        return [Doubt("bad-loss", {name: hit.values[name] for name in ("rank", "value")}, "value", _place(hit))]
    for hit in numerics.flat_loss(facts, FLAT_LOSS):
        return [Doubt("flat-loss", {name: hit.values[name] for name in ("steps", "first", "last")}, "", _place(hit))]
    return []


def _contradicted(numbers: Numbers) -> list[Doubt]:
    """Report a printed throughput that is far above the recorded one."""
    printed, recorded = numbers.value, numbers.recorded.get(numbers.metric)
    if not contradicts(numbers.metric, printed, recorded):
        return []
    values = {"printed": f"{printed:.4g}", "recorded": f"{recorded:.4g}", "unit": numbers.unit}
    return [Doubt("metric-contradicted", values)]


def _check_failed(record: RunRecord, numbers: Numbers) -> list[Doubt]:
    check = record.check
    value = numbers.values.get(check.metric) if check is not None else None
    if check is None or value is None or check.passes(value):
        return []
    bounds = [
        f"{sign} {bound:.4g}" for sign, bound in (("≥", check.at_least), ("≤", check.at_most)) if bound is not None
    ]
    return [Doubt("check-failed", {"metric": check.metric, "value": f"{value:.4g}", "rule": ", ".join(bounds)})]


def _recorded(facts: RunFacts) -> list[Doubt]:
    """Report ranks that exchange nothing, according to their recorders."""
    observed = worlds.apart(facts)
    if observed is None:
        return []
    identifier, kind = RECORDED[observed.kind]
    return [Doubt(identifier, observed.hit.values, kind, _place(observed.hit))]


def _unproved(facts: RunFacts) -> list[Doubt]:
    """Report ranks that exchanged nothing in so few recorded steps that this may be right."""
    hit = worlds.unproved(facts)
    return [Doubt("few-steps", hit.values, "apart", _place(hit))] if hit is not None else []


def _few_steps(facts: RunFacts, record: RunRecord, numbers: Numbers) -> list[Doubt]:
    """Report a throughput of few steps, unless the project says how to measure it."""
    timed = [rank.timed for rank in facts.recordings.values() if rank.timed is not None]
    if not timed or min(timed) >= STEPS or numbers.metric not in THROUGHPUTS or numbers.metric in record.metrics:
        return []
    evidence = f"steps/rank-{min(facts.recordings)}.json"
    return [Doubt("few-steps", {"steps": str(min(timed))}, evidence=evidence)]


def _apart(facts: RunFacts) -> list[Doubt]:
    """Report ranks that do not work together, by the program's text, unless their recorders saw that they do."""
    meets = worlds.meets(facts)
    for kind, check in APART.items():
        # a process that starts ranks of its own may happen to make as many as the run has
        for hit in check(facts, {}) if kind or not meets else ():
            return [Doubt("several-worlds", hit.values, kind, _place(hit))]
    return [Doubt("no-group", hit.values, evidence=_place(hit)) for hit in worlds.no_group(facts, {})]


def _by_text(facts: RunFacts, doubted: set[str], work: float | None) -> list[Doubt]:
    """Report programs whose ranks train separately, read the same data or split one batch, by their text.

    A split batch is not a doubt if the samples of a step are known: the study is then strong scaling.
    """
    if doubted & {"identical-ranks", "several-worlds", "no-group"}:
        return []
    doubts: dict[str, Doubt] = {}
    for finding in worlds.by_text(facts, tuple(BY_TEXT)):
        if finding.rule == "divided-batch" and (facts.record.mode != "weak" or work):
            continue
        identifier, kind = BY_TEXT[finding.rule]
        values = {"processes": str(facts.record.processes)}
        location = f"{finding.evidence.file}:{finding.evidence.line}"
        doubts.setdefault(identifier, Doubt(identifier, values, kind, location))
    for hit in worlds.swallowed(facts, {}):
        doubts.setdefault(
            "work-mismatch", Doubt("work-mismatch", {"text": hit.values["text"]}, "swallowed", _place(hit))
        )
    return list(doubts.values())


def _warm_up(facts: RunFacts, record: RunRecord, numbers: Numbers) -> list[Doubt]:
    """Report a metric that is the mean of logged values whose first one is far slower than the others."""
    entry: Mapping[str, object] = record.metrics.get(numbers.metric, {})
    if entry.get("reduce") != "mean" or entry.get("skip_first") or not entry.get("pattern"):
        return []
    files = rank_files(facts.path / "logs", ".log")
    values = training.pattern_values(str(entry["pattern"]), files[0]) if files else []
    steady = values[1:]
    if len(values) < FEW or not all(value > 0 for value in values):
        return []
    speed = values[0] / median(steady)
    if (1 / speed if lower_is_better(str(entry.get("unit") or "")) else speed) >= SLOW_START:
        return []
    with_it, without = fmean(values), fmean(steady)
    if abs(with_it / without - 1) <= SHIFT:
        return []
    return [
        Doubt(
            "warm-up-included",
            {"value": f"{with_it:.4g}", "without": f"{without:.4g}"},
            evidence=f"logs/{files[0].name}",
        )
    ]


def _place(hit: FactHit) -> str:
    evidence = hit.evidence
    if evidence is None:
        return ""
    return f"{evidence.file}:{evidence.line}" if evidence.line else evidence.file
