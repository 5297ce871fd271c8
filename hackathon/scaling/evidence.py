"""Collect recorded facts that limit the gain of advice on a run: its parameters, speedup tables, the network.

Files of a run are data. Whether a recipe accepts a value is looked up in the recipe itself; the user's own program
accepts other numbers and switches for the parameters that it was started with.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hackathon.config.records import Scalar
from hackathon.jobs.settings import value_text
from hackathon.profiling.gains import GainEvidence, TunedOption
from hackathon.profiling.outcomes import Change
from hackathon.profiling.shares import RunShares
from hackathon.runs.directory import RunDirectory, find_runs
from hackathon.runs.record import SPEEDUP_TAG, RunRecord
from hackathon.scaling.cluster_measurements import measured
from hackathon.text.errors import HackathonError
from hackathon.text.json_fields import listed, mapping_of, text_of
from hackathon.text.numbers import finite

RUNS = 200
"""Newest runs of a project that are searched for tables and profiles."""
ROWS = 100
"""Rows of a table that count."""
PROFILE_TAG = "profile"
LENGTH = frozenset({"epochs", "steps", "steps_per_epoch", "seed", "checkpoint_every", "snapshot_every", "resume"})
"""Parameters for the length of a training, not its speed."""
FIELDS = ("recipe", "cluster", "queue", "launcher", "nodes", "processes_per_node", "threads", "gpus_per_node")
"""Fields of a request that may affect the speed besides the parameters."""


def evidence_of(run: RunDirectory, *, before: str = "", shares: RunShares | None = None) -> GainEvidence:
    """Return what decides about the gain of a change, apart from the shares of time of a run.

    `before`: only speedup tables of runs before this id count; nobody could use a later one.
    `shares`: the run's own; if they do not show the communication, a profile is read, which takes seconds.
    """
    record = run.known()
    unknown = shares is not None and record.processes > 1 and shares.mean.waiting is None
    return GainEvidence(
        framework=record.framework,
        own_program=not record.recipe,
        parameters=_scalars(record.parameters),
        takes=_takes(record),
        threads=record.threads,
        gpus=record.gpus_per_node,
        tuned=_tables(run, record, before),
        network=_network(record),
        processes=record.processes or 1,
        profiled=_profiled(run) if unknown else None,
    )


def _profiled(run: RunDirectory) -> RunShares | None:
    """Return the shares in a profile of the same program with as many processes; None without one.

    The newest one counts, unless its steps do not last as long as their work. Reading traces takes seconds.
    """
    from hackathon.profiling.traces.recording import recordings, trace_files
    from hackathon.profiling.traces.report import read_profile

    record = run.known()
    for other in find_runs(run.path.parent)[:RUNS]:
        its = other.known()
        if PROFILE_TAG not in its.tags or its.processes != record.processes or not _same_program(record, its, {}):
            continue
        files = trace_files(other)
        if len(files) == record.processes:
            try:
                profile = read_profile(list(files.values()), recordings(other))
            except HackathonError:
                continue
            return None if profile.off_pace else profile.shares
    return None


def changes(before: RunRecord, after: RunRecord, programs: tuple[str, str] = ("", "")) -> list[Change]:
    """Return the differences between two runs, parameters first. `programs`: digests of their programs, if known."""
    old, new = _scalars(before.parameters), _scalars(after.parameters)
    differences = [
        Change(name, _text(old.get(name)), _text(new.get(name)))
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name) and name not in LENGTH
    ]
    differences += [
        Change(name, _text(getattr(before, name)), _text(getattr(after, name)))
        for name in FIELDS
        if getattr(before, name) != getattr(after, name)
    ]
    own = {name: (mapping_of(record.raw.get("variables"))) for name, record in (("old", before), ("new", after))}
    differences += [
        Change(f"env.{name}"[:80], text_of(own["old"].get(name)) or "–", text_of(own["new"].get(name)) or "–")
        for name in sorted({*own["old"], *own["new"]})
        if own["old"].get(name) != own["new"].get(name)
    ]
    if all(programs) and programs[0] != programs[1]:
        differences.append(Change("program", "", "", parameter=False))
    return differences


def program_digest(run: RunDirectory) -> str:
    """Return the digest of a run's program; empty when unknown."""
    return text_of(run.files.json("source.json").get("digest"))


def with_efficiency(evidence: GainEvidence, point: Mapping[str, Any], base: int | None) -> GainEvidence:
    """Return the evidence with the efficiency of its point in a study."""
    return replace(evidence, efficiency=finite(point.get("efficiency")), base=base or 0)


def _scalars(values: Mapping[str, Any]) -> dict[str, Scalar]:
    return {str(name): value for name, value in values.items() if isinstance(value, (str, int, float, bool))}


def _text(value: Any) -> str:
    if value is None or value == "":
        return "–"
    return value_text(value)[:80] if isinstance(value, (str, int, float, bool)) else "–"


def _takes(record: RunRecord) -> Callable[[str, Scalar], bool]:
    """Return a function that decides whether a run's program accepts a value for a parameter."""
    if not record.recipe:
        own = _scalars(record.parameters)
        # the user's own program may accept any text, but its meaning is unknown
        return lambda name, value: name in own and type(own[name]) is type(value) and not isinstance(value, str)
    from hackathon.config.load import load_recipe

    if "/" in record.recipe:  # another user's record must not name a file to read
        return lambda name, value: False
    try:
        declared = load_recipe(record.recipe)[0].parameters
    except (HackathonError, OSError):
        return lambda name, value: False

    def takes(name: str, value: Scalar) -> bool:
        from hackathon.jobs.parameters import read_value

        try:
            return name in declared and read_value(name, declared[name], value) == value
        except HackathonError:
            return False

    return takes


def _same_program(run: RunRecord, other: RunRecord, without: Mapping[str, Any]) -> bool:
    """Return whether two runs have the same program and parameters, except some and those for its length."""
    left = {*LENGTH, *without}
    pairs = ({name: value for name, value in record.parameters.items() if name not in left} for record in (run, other))
    return (run.name, run.recipe) == (other.name, other.recipe) and next(pairs) == next(pairs)


def _tables(run: RunDirectory, record: RunRecord, before: str) -> tuple[TunedOption, ...]:
    """Return the options of the newest speedup table for the same program on the same cluster."""
    for other in find_runs(run.path.parent)[:RUNS]:
        if before and other.id >= before:
            continue
        its = other.known()
        if SPEEDUP_TAG not in its.tags or its.cluster != record.cluster:
            continue
        rows = [_row(mapping_of(row), other.id) for row in listed(other.client("speedup").get("options"))[:ROWS]]
        options = tuple(row for row in rows if row is not None and _same_program(record, its, row.settings))
        if options:
            return options
    return ()


def _row(value: Mapping[str, Any], run: str) -> TunedOption | None:
    """Return a measured row that keeps the training unchanged; None for others and for invalid rows."""
    ratio, settings = finite(value.get("ratio")), _scalars(mapping_of(value.get("settings")))
    if value.get("verdict") == "failed" and settings:
        return TunedOption(settings, 1.0, None, None, "failed", False, run)
    if ratio is None or ratio <= 0 or not settings or value.get("kind") == "batch":
        return None
    low, high = finite(value.get("low")), finite(value.get("high"))
    return TunedOption(settings, ratio, low, high, text_of(value.get("verdict")), value.get("wins") is True, run)


def _network(record: RunRecord) -> tuple[float, float] | None:
    """Return (minimum seconds of an all-reduce, bytes per second) as measured with as many processes."""
    if not record.cluster or "/" in record.cluster:
        return None
    for entry in measured(record.cluster):
        if entry["processes"] != record.processes:
            continue
        fits = mapping_of(mapping_of(entry["operations"].get("all-reduce")).get("fits"))
        line = mapping_of(fits.get("large"))
        start, speed = finite(line.get("alpha_us")), finite(line.get("beta_gb_s"))
        if start is not None and speed is not None and start >= 0 and speed > 0:
            return start / 1e6, speed * 1e9
    return None
