"""The index's record of each run, from which every view of dashboard and site starts."""

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from hackathon.profiling.shares import RunShares
from hackathon.runs.lives import RunUse
from hackathon.runs.record import NO_RESULTS, PROBE_TAG
from hackathon.scaling.doubts import FALSE, SEVERITIES, Doubt
from hackathon.text.messages import language
from hackathon.text.told import Told


def key_of(project: str, identifier: str) -> str:
    """Return the key `<project folder>//<id>` of a run or a study."""
    return f"{project}//{identifier}"


def parts_of(key: str) -> tuple[str, str]:
    """Return (project folder, id) of a run's or a study's key; ("", key) of anything else."""
    project, _, identifier = key.rpartition("//")
    return project, identifier


@dataclass(frozen=True)
class CauseText:
    """The cause of a failure for a page, in one language."""

    message: str
    advice: str = ""
    evidence: str = ""
    """The line that shows it; empty if a fact shows it."""
    place: str = ""
    """The position of that line: `logs/rank-1.log:17`; empty without one."""
    causes: tuple[tuple[str, str], ...] = ()
    """(possible reason, a command that confirms it or ""), the most frequent first."""

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "CauseText":
        """Return the cause from its JSON values. Raises TypeError or ValueError for invalid values."""
        causes = tuple((str(text), str(check)) for text, check in value.get("causes") or ())
        return cls(**{**value, "causes": causes})


@dataclass(frozen=True)
class RunEntry:
    """One run in the index. Times are seconds since 1970; None is unknown."""

    id: str
    project: str
    """The project's folder, absolute; with `id` it makes the key."""
    team: str = ""
    name: str = ""
    """Its recipe or project."""
    study: str = ""
    """The id of its study."""
    settings: dict[str, str | int | float | bool] = field(default_factory=dict)
    """The settings that the study varies besides the process count."""
    user: str = ""
    cluster: str = ""
    queue: str = ""
    job_id: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()
    parent: str = ""
    processes: int = 0
    nodes: int = 0
    gpus: int = 0
    """GPUs of all its nodes; 0 on machines without GPUs."""
    walltime: int = 0
    """Requested seconds."""
    state: str = "CREATED"
    """One of runs.states.STATES."""
    cause: str = ""
    """RunStatus.cause."""
    reasons: tuple[Told | str, ...] = ()
    """RunStatus.reasons, with the scheduler's own words unchanged."""
    sealed: bool = False
    stale_seconds: float | None = None
    created: float | None = None
    submitted: float | None = None
    started: float | None = None
    ended: float | None = None
    attempt: int = 1
    removed: bool = False
    """Whether it was cleaned up: only its record and its use are left."""
    use: RunUse | None = None
    """The source of its hours; None if the run's files contain no credible data."""
    metric: str = "samples_per_s"
    value: float | None = None
    """The metric at the end (`logs.final`), or for an unfinished run over the last intervals."""
    unit: str = ""
    loss: float | None = None
    step: int | None = None
    progress: float | None = None
    """Modification time of the newest metric or log file."""
    interval: float | None = None
    """Seconds between its newest metric lines; None if it writes none."""
    numbers: tuple[tuple[str, float], ...] = ()
    """(name, value) of its final numbers, including NaN and infinities; () while it is unfinished."""
    whole: bool = True
    """Whether all sources of its numbers were read."""
    doubts: tuple[Doubt, ...] = ()
    """Reasons, from its own records, why its value may be wrong."""
    work: float | None = None
    """Samples per step over all processes; None if unknown."""
    recorded: tuple[tuple[str, float], ...] = ()
    """(name, value) of the throughput that its recorders counted; () while it is unfinished."""
    origins: tuple[tuple[str, str], ...] = ()
    """(name, source) of its final numbers (`logs.final`); () while it is unfinished."""
    shares: RunShares | None = None
    """The parts of its step time; None if unknown, or if it did not succeed."""
    check_passed: bool | None = None
    gpu_percent: float | None = None
    """Mean utilisation of its GPUs over the last minutes, 0…100."""
    memory_percent: float | None = None
    """The highest share of a GPU's memory in use over the last minutes, 0…100."""
    cpu_percent: float | None = None
    part: str = ""
    """The failure's part (a finding's); empty if nothing was diagnosed or the run did not fail."""
    rule: str = ""
    rank: int | None = None
    host: str = ""
    told: dict[str, CauseText] | None = None
    """Language → the cause; None before the diagnosis."""
    warned: tuple[Told | str, ...] = ()
    """Texts of the job's `warned` events, and why its numbers cannot be read."""
    silent: dict[str, tuple[str, ...]] | None = None
    """Language → silent errors of a run that did not fail; None before the check."""

    @property
    def was_job(self) -> bool:
        """Whether it became a job, or may have; a run that was only prepared, or refused, does not count for a team."""
        return bool(self.job_id or self.started) or self.state == "UNCERTAIN"

    @property
    def reason(self) -> str:
        """RunStatus.explanation in the current language; if this version lacks its texts, only the scheduler's."""
        try:
            return ": ".join(map(str, self.reasons))
        except (LookupError, TypeError, ValueError, AttributeError):
            return ": ".join(reason for reason in self.reasons if isinstance(reason, str))

    @property
    def warnings(self) -> tuple[str, ...]:
        """The job's warnings, the doubts about its result and its silent errors, each once."""
        doubts = (doubt.message for doubt in self.doubts)
        return tuple(dict.fromkeys((*map(str, self.warned), *doubts, *(self.silent or {}).get(language(), ()))))

    def told_in(self, language: str) -> CauseText | None:
        """Return the cause in a language, else in any; None before the diagnosis."""
        by_language = self.told or {}
        return by_language.get(language) or next(iter(by_language.values()), None)

    @property
    def probe(self) -> bool:
        """Whether it is the small job of `hackathon ready`, which is used time but not the team's work."""
        return self.name == PROBE_TAG and PROBE_TAG in self.tags and not self.study

    @property
    def rehearsal(self) -> bool:
        """Whether it is a run of `hackathon try` or `hackathon speedup`: used time, ended early, and not a result."""
        return bool(NO_RESULTS & set(self.tags)) and not self.study

    @property
    def is_false(self) -> bool:
        """Whether its own records show that its result is false."""
        return any(SEVERITIES[doubt.id] == FALSE for doubt in self.doubts)

    @property
    def adopted(self) -> bool:
        """Whether its job was submitted by hand and adopted later."""
        return self.use is not None and self.use.adopted

    @property
    def seconds(self) -> float | None:
        """Its duration; None for a run that did not start or has not ended."""
        return None if self.started is None or self.ended is None else max(0.0, self.ended - self.started)

    def to_json(self) -> dict[str, Any]:
        """Return the summary as JSON values, without its job's use."""
        return asdict(replace(self, use=None))

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "RunEntry":
        """Return a summary from JSON values; fields that this version does not have are dropped."""
        values = {name: entry for name, entry in value.items() if name in _FIELDS}
        values["tags"] = tuple(values.get("tags") or ())
        for name in ("reasons", "warned"):
            values[name] = tuple(
                Told(**entry) if isinstance(entry, dict) else entry for entry in values.get(name) or ()
            )
        if values.get("silent"):
            values["silent"] = {code: tuple(texts) for code, texts in values["silent"].items()}
        values["doubts"] = tuple(Doubt.from_json(doubt) for doubt in values.get("doubts") or ())
        shares = values.get("shares")
        values["shares"] = RunShares.from_fields(shares) if shares is not None else None
        for name in ("numbers", "recorded"):
            values[name] = tuple((str(metric), float(amount)) for metric, amount in values.get(name) or ())
        values["origins"] = tuple((str(metric), str(source)) for metric, source in values.get("origins") or ())
        texts_by_language = values.get("told")
        values["told"] = (
            {code: CauseText.from_json(entry) for code, entry in texts_by_language.items()}
            if isinstance(texts_by_language, dict)
            else None
        )
        return cls(**values)


_FIELDS = frozenset(entry.name for entry in fields(RunEntry))
