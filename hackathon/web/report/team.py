"""One team in the report: its problem and model, its work, and its main study's result."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hackathon.index.catalog import Catalog
from hackathon.index.outcomes import MainStudy, TeamOutcome
from hackathon.index.studies import by_study, by_team, results_of
from hackathon.profiling.sentences import sentences
from hackathon.scaling.show import MODE_NAMES, number, percent
from hackathon.scaling.table import SUCCEEDED
from hackathon.text.messages import N_, _, localized, pgettext
from hackathon.web.page.dates import joined, listed
from hackathon.web.page.sanitize import block, line
from hackathon.web.views.before_after import BeforeAfter, change

if TYPE_CHECKING:
    from hackathon.config.event import Team

_TEAM_TEXTS = {
    "best": N_("{speedup} times as fast with {processes} as with {base}, parallel efficiency {efficiency} ({about})."),
    "base": N_("No speed-up is recorded."),
    "failed": N_("No results are recorded."),
    "none": N_("No results are recorded."),
}

LONGEST = 2000
"""Characters of a team's own description that a report quotes."""
_KEY_TEXTS = {
    "processes_per_node": N_("processes per node"), "gpus_per_node": N_("GPUs per node"), "threads": N_("threads"),
    "lr": N_("learning rate"), "learning_rate": N_("learning rate"), "batch_size": N_("batch size"),
}  # fmt: skip
STEPS = 6
"""Changes of parameters in a sentence."""


@dataclass(frozen=True)
class BestSpeedup:
    """The best point of a team's main study, or of another project's."""

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
    project: str
    """The name of its project's folder."""
    compared: bool
    """Whether it was measured on a machine of the event."""
    doubted: str
    """The mark of its doubts; empty without doubts."""
    step: tuple[str, ...] = ()
    """The parts of the step time at that point, in words, with what to try."""


@dataclass(frozen=True)
class TeamResult:
    """One team in the report."""

    name: str
    problem: str
    model: str
    came: bool
    people: int
    done: str
    """The organiser's description of its work; empty without one."""
    from_records: str
    """A description from the records; empty with an organiser's description or fewer than two measurements."""
    state: str
    """`best`: it has a speed-up; `base`: it has measurements but no speed-up; `failed`: no run succeeded.

    `none`: it has no runs.
    """
    best: BestSpeedup | None = None
    others: tuple[BestSpeedup, ...] = ()
    """The main studies of its other projects."""

    @property
    def sentence(self) -> str:
        """The result of its main study, in words."""
        return _(_TEAM_TEXTS[self.state]) if self.best is None else speedup_sentence(self.best)

    @property
    def other_sentences(self) -> tuple[tuple[str, str], ...]:
        """(project, its main study's result) of its other projects."""
        return tuple((study.project, speedup_sentence(study)) for study in self.others)


def marked(text: str, doubted: str) -> str:
    """Return a sentence with the mark of the doubts about its number, if there are any."""
    return _("{text} This number is {mark}.", text=text, mark=doubted) if doubted else text


def speedup_sentence(best: BestSpeedup) -> str:
    """Return a study's result in words, with a mark if it is doubted or not comparable."""
    about = [_(MODE_NAMES[best.mode])] if best.mode else []
    about += [", ".join(best.clusters)] if best.clusters else []
    if best.value is not None and best.base_value is not None:
        about.append(f"{number(best.base_value)} → {number(best.value)} {best.unit}")
    text = _(
        "{speedup} times as fast with {processes} as with {base}, parallel efficiency {efficiency} ({about}).",
        speedup=number(best.speedup, 3),
        efficiency=percent(best.efficiency),
        processes=processes(best.processes),
        base=processes(best.base),
        about=_(", ").join(about),
    )
    text = marked(text, best.doubted)
    return text if best.compared else _("Measured on the team’s own computer, not compared: {text}", text=text)


def processes(count: int) -> str:
    """Return a number of processes in words."""
    return pgettext("report", "1 process") if count == 1 else _("{count} processes", count=count)


def team_results(source: Catalog, reached: Iterable[TeamOutcome]) -> list[TeamResult]:
    """Return the results of each team of the event, in the order of `hackathon.yaml`, in the current language."""
    return [_result(outcome, outcome.team.team, source) for outcome in reached if outcome.team.team is not None]


def strangers(source: Catalog) -> list[str]:
    """Return the names of teams and projects with runs that are missing in `hackathon.yaml`."""
    return [team.name for team in by_team(source) if team.team is None and team.runs]


def _result(outcome: TeamOutcome, entry: "Team", source: Catalog) -> TeamResult:
    team, main = outcome.team, outcome.main
    best = best_of(main) if main is not None and entry.took_part else None
    done = " ".join(block(localized(entry.done), LONGEST).split())
    compared = None
    if entry.took_part and not done:
        compared = change(team.work, by_study(team.runs, source.memory), main.run if main is not None else None)
    return TeamResult(
        name=line(team.name, 100),
        problem=line(localized(team.title), 300),
        model=line(entry.model, 300),
        came=entry.took_part,
        people=len(entry.members),
        done=done,
        from_records=changed_text(compared) if compared else "",
        state=_state(outcome),
        best=best,
        others=tuple(map(best_of, outcome.others)) if entry.took_part else (),
    )


def _state(outcome: TeamOutcome) -> str:
    if not outcome.team.work:
        return "none"
    if outcome.main is not None:
        return "best"
    return "base" if any(run.state == SUCCEEDED for run in outcome.team.work) else "failed"


def best_of(main: MainStudy) -> BestSpeedup:
    """Return the report's data about a main study."""
    study = main.series
    results = results_of(study)
    by_size = {point["processes"]: point for point in results["points"]}
    base = by_size.get(results["base_processes"])
    return BestSpeedup(
        speedup=main.speedup,
        efficiency=main.efficiency,
        processes=main.processes,
        base=results["base_processes"],
        mode=results["mode"],
        clusters=tuple(line(cluster, 60) for cluster in main.clusters),
        unit=line(results["unit"] or results["metric"], 40),
        value=by_size[main.processes]["value"],
        base_value=base["value"] if base else None,
        study=study.id,
        project=line(main.project, 100),
        compared=main.compared,
        doubted=main.doubted,
        step=tuple(sentences(main.processes, by_size[main.processes]["shares"])),
    )


def _name(key: str) -> str:
    """Return what readers call a key of a request; a program's own parameters keep their names."""
    text = _KEY_TEXTS.get(key)
    return _(text) if text else key


def changed_text(comparison: BeforeAfter) -> str:
    """Return the changes between a team's first measurement and its best one, as a sentence."""
    before, after = comparison.before, comparison.after
    if before.processes == after.processes:
        rise = _("on {processes}", processes=processes(after.processes))
    else:
        rise = _("(from {before} to {after})", before=processes(before.processes), after=processes(after.processes))
    text = _(
        "{metric} went from {before} to {after} {unit} {how}.",
        how=rise,
        metric=metric_name(before.metric),
        before=number(before.value),
        after=number(after.value),
        unit=before.unit,
    )
    if comparison.changed:
        steps = [f"{_name(change.name)}: {change.before} → {change.after}" for change in comparison.changed[:STEPS]]
        text = joined(text, _("Changed: {steps}.", steps=listed(steps)))
    return text


def metric_name(metric: str) -> str:
    """Return a metric's label; a program's own metric keeps its name."""
    return _("throughput") if metric == "samples_per_s" else metric
