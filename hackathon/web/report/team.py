"""What the report says of one team: its problem and model, what was done, and what its best study reached."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hackathon.index.catalog import Catalog
from hackathon.index.memory import Memory
from hackathon.index.studies import StudyRuns, TeamRuns, by_study, by_team, reached, results_of
from hackathon.profiling.sentences import sentences
from hackathon.scaling.show import number, percent
from hackathon.scaling.table import SUCCEEDED
from hackathon.text.messages import localized, message
from hackathon.web.page.dates import joined, listed
from hackathon.web.page.sanitize import block, line
from hackathon.web.views.before_after import BeforeAfter, change

if TYPE_CHECKING:
    from hackathon.config.event import Team

LONGEST = 2000
"""Letters of what a team did that a report repeats."""
STEPS = 6
"""Changes of parameters that a sentence names."""


@dataclass(frozen=True)
class BestSpeedup:
    """The point with a team's largest speed-up beyond its study's base."""

    speedup: float
    efficiency: float
    processes: int
    base: int
    """Processes of the base."""
    mode: str
    """`weak`, `strong` or empty."""
    clusters: tuple[str, ...]
    unit: str
    value: float | None
    base_value: float | None
    study: str
    """The id of the study."""
    step: tuple[str, ...] = ()
    """Where the time of a step goes at that point, in words, with what to try."""


@dataclass(frozen=True)
class TeamResult:
    """One team in the report."""

    name: str
    problem: str
    model: str
    came: bool
    people: int
    done: str
    """What it did, in the words of the organiser; empty without any."""
    from_records: str
    """The same from the records; empty where nothing was measured twice or the organiser tells it."""
    state: str
    """`best`: it has a speed-up; `base`: it measured and has none; `failed`: no run succeeded; `none`: no run is on
    record."""
    runs: int
    succeeded: int
    best: BestSpeedup | None = None

    @property
    def sentence(self) -> str:
        """What its studies reached, in words."""
        if self.best is None:
            return message(f"report.team_{self.state}")
        best = self.best
        about = [message(f"report.mode_{best.mode}")] if best.mode else []
        about += [", ".join(best.clusters)] if best.clusters else []
        if best.value is not None and best.base_value is not None:
            about.append(f"{number(best.base_value)} → {number(best.value)} {best.unit}")
        return message(
            "report.team_best", speedup=number(best.speedup, 3), efficiency=percent(best.efficiency),
            processes=processes(best.processes), base=processes(best.base), about=message("report.comma").join(about),
        )  # fmt: skip


def processes(count: int) -> str:
    """Return a number of processes in words."""
    return message("report.processes_one" if count == 1 else "report.processes_many", count=count)


def team_results(source: Catalog) -> list[TeamResult]:
    """Return what each team of the event reached, in the order of `hackathon.yaml`, in the current language."""
    return [_result(team, team.team, source.memory) for team in by_team(source) if team.team is not None]


def strangers(source: Catalog) -> list[str]:
    """Return the names of teams and projects that have runs and are not in `hackathon.yaml`."""
    return [team.name for team in by_team(source) if team.team is None and team.runs]


def _result(team: TeamRuns, entry: "Team", memory: Memory) -> TeamResult:
    studies = by_study(team.runs, memory)
    best = best_of(studies)
    done = " ".join(block(localized(entry.done), LONGEST).split())
    succeeded = sum(run.state == SUCCEEDED for run in team.work)
    compared = None if done or not entry.took_part else change(team.work, studies)
    return TeamResult(
        name=line(team.name, 100),
        problem=line(localized(team.title), 300),
        model=line(entry.model, 300),
        came=entry.took_part,
        people=len(entry.members),
        done=done,
        from_records=changed_text(compared) if compared else "",
        state=_state(len(team.work), succeeded, best),
        runs=len(team.work),
        succeeded=succeeded,
        best=best if entry.took_part else None,
    )


def _state(runs: int, succeeded: int, best: BestSpeedup | None) -> str:
    if not runs:
        return "none"
    return "best" if best else "base" if succeeded else "failed"


def best_of(studies: Sequence[StudyRuns]) -> BestSpeedup | None:
    """Return the point with the largest speed-up among studies; None when none goes beyond its base."""
    found = reached(studies)
    if found is None:
        return None
    study = found.series
    results = results_of(study)
    by_size = {point["processes"]: point for point in results["points"]}
    base = by_size.get(results["base_processes"])
    return BestSpeedup(
        speedup=found.speedup,
        efficiency=found.efficiency,
        processes=found.processes,
        base=results["base_processes"],
        mode=study.mode,
        clusters=tuple(sorted({line(run.cluster, 60) for run in study.runs if run.cluster})),
        unit=line(results["unit"] or results["metric"], 40),
        value=by_size[found.processes]["value"],
        base_value=base["value"] if base else None,
        study=study.id,
        step=tuple(sentences(found.processes, by_size[found.processes]["shares"])),
    )


def changed_text(found: BeforeAfter) -> str:
    """Return what changed between a team's first measurement and its best one, as a sentence."""
    before, after = found.before, found.after
    if before.processes == after.processes:
        rise = message("report.rise_same", processes=processes(after.processes))
    else:
        rise = message("report.rise_more", before=processes(before.processes), after=processes(after.processes))
    text = message(
        "report.rise", how=rise, metric=metric_name(before.metric), before=number(before.value),
        after=number(after.value), unit=before.unit,
    )  # fmt: skip
    if found.changed:
        steps = [f"{each.name}: {each.before} → {each.after}" for each in found.changed[:STEPS]]
        text = joined(text, message("report.changed", steps=listed(steps)))
    return text


def metric_name(metric: str) -> str:
    """Return what a metric is called; one that only its own program knows stays as it is."""
    return message("report.throughput") if metric == "samples_per_s" else metric
